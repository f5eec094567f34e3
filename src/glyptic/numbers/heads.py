# The first argument of an intrinsic is the compiler's, which type checkers do not know.
# mypy: disable-error-code="call-arg"
"""A head's softmax attention in one go, where exp is a table: from queries, keys and values to mixtures.

A query at a time, for some vectors of the batch: its scores, exps and weights lie side by side, those of the keys that it sees
and no others, in an array that stays in the nearest cache. Nothing of the size (queries, keys, batch) is ever there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from glyptic.numbers.compiling import inlined
from glyptic.numbers.kernels import _larger, by_float64, compiled, highest, integer_quotient, quotient, rounded, summed
from glyptic.numbers.micro import mixture_level, pairs_level, vector_width
from glyptic.numbers.tiles import ROWS, mixture_tile, score_tile

VECTORS = 4  # of the batch that go through at once


class Softmax(NamedTuple):
    """What a format makes of scores: exp as a table from the code `first` on, 2^f, the rule of quotients, the unit."""

    first: int
    table: np.ndarray
    scale: float
    rule64: Any
    unit: np.floating


class SeenKeys(NamedTuple):
    """The keys that each query sees, one query after another, and where those of each begin."""

    starts: np.ndarray
    keys: np.ndarray
    all: int  # keys

    @staticmethod
    def of(visible: np.ndarray) -> SeenKeys:
        """From booleans (n_q, n_k)."""
        starts = np.zeros(len(visible) + 1, np.int64)
        np.cumsum(visible.sum(axis=1), out=starts[1:])
        return SeenKeys(starts, np.flatnonzero(visible) % visible.shape[1], visible.shape[1])


class Desk(NamedTuple):
    """What one query's weights are worked out on; some vectors wide."""

    rows: np.ndarray  # 0, 1, 2, …
    weights: np.ndarray  # (keys · width,)
    totals: np.ndarray  # (width,)
    divisors: np.ndarray  # the same, and 1 for 0

    @staticmethod
    def of(keys: int, lanes: int, dtype: Any) -> Desk:
        width = VECTORS * lanes
        return Desk(np.arange(keys), np.empty(keys * width, dtype), np.empty(width, dtype), np.empty(width, dtype))


def softmax_attention(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    visible: np.ndarray,
    lanes: int,
    softmax: Softmax,
    least: int,
    rule: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """The mixtures (c, n_q, batch), and where a denominator is 0, (n_q, batch).

    queries (c, n_q, batch), keys and values (c, n_k, batch), at least a vector wide; visible (n_q, n_k).
    """
    n_q, batch = queries.shape[1:]
    mixed = np.empty((values.shape[0], n_q, batch), values.dtype)
    zero, found = np.zeros((n_q, batch), np.bool_), np.zeros(1, np.int64)
    seen, desk = SeenKeys.of(visible), Desk.of(visible.shape[1], lanes, queries.dtype)
    whole = batch - batch % lanes
    pieces = [(0, whole)] if whole == batch else [(0, whole), (batch - lanes, batch)]  # the last vector lies over another
    for begin, end in pieces:
        attend_columns(queries, keys, values, seen, begin, end, softmax, desk, mixed, zero, found, least, rule)
    return mixed, zero


@compiled
def attend_columns(queries, keys, values, seen, begin, end, softmax, desk, mixed, zero, found, least, wrapped):
    """Columns begin … end − 1, whole vectors, of mixtures and zeros; how many denominators are 0 is added to found[0]."""
    n_q, depth = queries.shape[1], values.shape[0]
    across, rule, unit = vector_width(queries, wrapped), wrapped.rule, softmax.unit
    level = pairs_level(queries, keys, unit, least, n_q >= ROWS, rule)
    mixing = mixture_level(softmax.scale, values, seen.all, unit, least, rule)  # no weight is larger than 1
    for at in range(begin, end, VECTORS * across):
        width = min(VECTORS * across, end - at)
        totals, divisors = desk.totals[:width], desk.divisors[:width]
        for i in range(n_q):
            own = seen.keys[seen.starts[i] : seen.starts[i + 1]]
            weights = desk.weights[: own.size * width].reshape(own.size, width)
            for column in range(0, width, across):
                for key in range(0, own.size, ROWS):
                    score_tile(queries, keys, own, desk.rows, unit, weights, i, key, at + column, column, level, wrapped)
            zeros = weigh(weights, totals, divisors, softmax, rule)
            if zeros and own.size:
                found[0] += zeros
                for b in range(width):
                    zero[i, at + b] = totals[b] == 0
            for column in range(0, width, across):
                for c in range(0, depth, ROWS):
                    mixture_tile(weights, values, desk.rows, own, unit, mixed, i, c, column, at + column, mixing, wrapped)


@inlined
def weigh(scores, totals, divisors, softmax, rule):
    """Scores (keys, width) of one query become [e_j / D], in their place, and totals D, sum(e_1, e_2, …): how many of them are 0.

    Where D is 0, so is every e_j, and stays so.
    """
    flat, table, first = scores.ravel(), softmax.table, softmax.first
    for b in range(flat.size):
        index = np.int64(flat[b]) - first
        flat[b] = table[min(max(index, 0), table.size - 1)]
    for b in range(totals.size):
        totals[b] = 0
    for j in range(scores.shape[0]):
        row = scores[j]
        for b in range(totals.size):
            totals[b] = summed(totals[b] + row[b], rule)
    zeros = 0
    for b in range(totals.size):
        zeros += totals[b] == 0
        divisors[b] = _larger(totals[b], totals.dtype.type(1))
    _divide(scores, divisors, softmax.scale, rule, softmax.rule64)
    return zeros


@inlined
def _divide(shares, divisors, scale, rule, rule64):
    if share_in_host(divisors[0], scale, rule):
        factor = divisors.dtype.type(scale)
        for j in range(shares.shape[0]):
            row = shares[j]
            for b in range(row.size):
                row[b] = rounded(factor * row[b] / divisors[b], rule)
    elif by_float64(rule64):
        for j in range(shares.shape[0]):
            row = shares[j]
            for b in range(row.size):
                row[b] = quotient(np.float64(row[b]), np.float64(divisors[b]), scale, rule64)
    else:
        for j in range(shares.shape[0]):
            row = shares[j]
            for b in range(row.size):
                row[b] = integer_quotient(np.float64(row[b]), np.float64(divisors[b]), scale, rule64)


def share_in_host(x, scale, rule):
    """Whether the host itself decides [2^f · e / D] where 0 ≤ e ≤ D ≤ B: a host of P bits, B · 2^f < 2^P.

    A quotient that is no tie is 1 / 2D away from all of them, more than half of the host's last place below 2^f; and 2^f · e is
    exact. Rounding never falls, so the host's quotient lies on the same side of every tie, or on the tie itself.
    """
    raise NotImplementedError("compiled code only")


@overload(share_in_host)
def _share_in_host(x, scale, rule):
    limit = 2.0**24 if x.bitwidth == 32 else 2.0**53
    return lambda x, scale, rule: np.float64(highest(rule)) * scale < limit
