"""Affine maps for tiles: their arrays, as they lie in memory, and the one kernel that applies any of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from glyptic.numbers.kernels import compiled
from glyptic.numbers.micro import put_dense, put_sparse
from glyptic.numbers.tiles import ROWS


class Maps(NamedTuple):
    """Maps W x + b, their arrays one after another: left factors as `steps.Left` has them, and sizes of weights.

    A dense W has those of `tiles.ROWS` rows side by side, (blocks, k, rows), and the largest sizes in them, (k, blocks). A sparse
    one has its nonzero entries row by row, in column order.
    """

    table: np.ndarray  # (maps, 7): dense, rows, terms, and where factors, magnitudes, starts and the bias begin
    factors: np.ndarray
    nudged: np.ndarray
    magnitudes: np.ndarray
    starts: np.ndarray  # of a sparse one's rows
    columns: np.ndarray  # beside its factors
    biases: np.ndarray  # one for each row of all blocks of rows


class TiledMatrix(NamedTuple):
    """W alone, as maps of which there is one."""

    dense: bool
    rows: int
    maps: Maps

    def with_bias(self, bias: np.ndarray | None) -> Maps:
        """W x + b: a bias (rows, 1, 1), or 0."""
        biases = np.zeros(self.rows + ROWS, self.maps.factors.dtype)
        if bias is not None:
            biases[: self.rows] = bias[:, 0, 0]
        return self.maps._replace(biases=biases)


_NONE = np.zeros(0, np.int64)


def dense(factors: np.ndarray, nudged: np.ndarray, magnitudes: np.ndarray, rows: int) -> TiledMatrix:
    """All entries, in blocks of rows."""
    table = np.array([[1, rows, factors.shape[1], 0, 0, 0, 0]])
    arrays = factors.ravel(), nudged.ravel(), magnitudes.ravel(), _NONE, np.zeros(factors.size, np.int64)
    return TiledMatrix(True, rows, Maps(table, *arrays, np.zeros(0, factors.dtype)))


def sparse(
    starts: np.ndarray, columns: np.ndarray, factors: np.ndarray, nudged: np.ndarray, magnitudes: np.ndarray, terms: int
) -> TiledMatrix:
    """The nonzero entries."""
    rows = len(starts) - 1
    table = np.array([[0, rows, terms, 0, 0, 0, 0]])
    return TiledMatrix(False, rows, Maps(table, factors, nudged, magnitudes, starts, columns, np.zeros(0, factors.dtype)))


def joined(all: Sequence[Maps]) -> Maps:
    """All of several, in their order."""
    arrays = {name: [getattr(each, name) for each in all] for name in Maps._fields}
    begins = {name: np.cumsum([0, *map(len, arrays[name])])[:-1] for name in ("factors", "magnitudes", "starts", "biases")}
    tables = [each.table.copy() for each in all]
    for k, table in enumerate(tables):
        table[:, 3:] += [begins[name][k] for name in ("factors", "magnitudes", "starts", "biases")]
    return Maps(np.concatenate(tables), *(np.concatenate(arrays[name]) for name in Maps._fields[1:]))


@compiled
def put_map(maps, number, x, first, last, y, into, onto, floor, least, wrapped):
    """The larger of `floor` and [W x + b], for columns first … last − 1 of x (rows, width), into y from column `into` on.

    If `onto` is 1 it is added to what is there; then the columns are whole vectors. No stretch of terms has fewer clamps than
    `least`.
    """
    own = maps.table[number]
    rows, terms, factor, magnitude, start = own[1], own[2], own[3], own[4], own[5]
    x, y, bias = x[:terms], y[:rows], maps.biases[own[6] :]
    factors, nudged, magnitudes = maps.factors[factor:], maps.nudged[factor:], maps.magnitudes[magnitude:]
    if own[0]:
        put_dense(factors, nudged, magnitudes, x, first, last, bias, y, into, onto, floor, least, wrapped)
    else:
        starts, columns = maps.starts[start : start + rows + 1], maps.columns[factor:]
        put_sparse(starts, columns, factors, nudged, magnitudes, x, first, last, bias, y, into, onto, floor, least, wrapped)
