# The first argument of an intrinsic is the compiler's, which type checkers do not know.
# mypy: disable-error-code="call-arg"
"""Several layers in one call of compiled code, a few inputs of the batch at a time.

What lies between layers then stays in a core's own cache, and threads meet only between calls of some length: those that come
back from short ones wait for each other. Here are layers of softmax heads whose exp is a table and of ReLU feed-forwards, without
norms; all others go step by step.

Arrays of a *part* of the batch are (coordinates, positions, width), width being whole vectors; what the batch does not fill is of
no account. All are made before the call, and the pieces of it are called by their addresses: so there is little to compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from glyptic.numbers.compiling import address_of, called_at, inlined
from glyptic.numbers.heads import Desk, SeenKeys, Softmax, attend_columns
from glyptic.numbers.kernels import compiled, summed
from glyptic.numbers.maps import Maps, joined, put_map
from glyptic.numbers.tiles import WIDE

# A constant is a type of its own to the compiler, which would compile what it is handed to once more: so these are not.
_NONE, _ONE = np.int64(0), np.int64(1)

_PART_BYTES = 1 << 19  # of a part's arrays, where it has more than one vector: about half of a core's own cache
_HIDDEN_BYTES = 1 << 17  # of hidden units that are there at once


class LayerMaps(NamedTuple):
    """A layer as its affine maps: queries, keys and values of all heads; what each head puts out; the feed-forward's two."""

    projections: Maps | None
    widths: tuple[tuple[int, int, int], ...]  # of each head: coordinates of queries, keys, values
    outputs: tuple[Maps, ...]
    feed_forward: tuple[Maps, ...]


class LayerStack(NamedTuple):
    """Layers as arrays."""

    maps: Maps
    layers: np.ndarray  # (layers, 4): heads; the maps of projections, of the first output, the first of the feed-forward, or −1
    widths: np.ndarray  # (heads of all layers, 3)

    @property
    def kept(self) -> int:
        """Coordinates of keys and values, of all heads."""
        return int(self.widths[:, 1:].sum())


class Room(NamedTuple):
    """Where a part's arrays are, for as many coordinates as a layer may have; `…_rows` are (coordinates, positions · width)."""

    part: np.ndarray
    part_rows: np.ndarray
    projected: np.ndarray
    projected_rows: np.ndarray
    keys: np.ndarray  # of all positions, where there are earlier ones
    values: np.ndarray
    mixed: np.ndarray
    mixed_rows: np.ndarray
    total_rows: np.ndarray  # of heads
    hidden_rows: np.ndarray  # (units, as many columns as are there at once)
    zero: np.ndarray  # (positions, width)
    found: np.ndarray  # (1,)


def stacked(layers: Sequence[LayerMaps]) -> LayerStack | None:
    """All arrays one after another; None where there is no map at all."""
    table: list[tuple[int, int, int, int]] = []
    maps: list[Maps] = []
    for of in layers:
        projections, first = len(maps), len(maps) + (of.projections is not None)
        units = first + len(of.outputs) if of.feed_forward else -1
        table.append((len(of.widths), projections, first, units) if of.outputs else (0, -1, -1, units))
        maps += [*([] if of.projections is None else [of.projections]), *of.outputs, *of.feed_forward]
    widths = np.array([width for of in layers for width in of.widths], np.int64).reshape(-1, 3)
    return LayerStack(joined(maps), np.array(table, np.int64), widths) if maps else None


def room_for(stack: LayerStack, width: int, new: int, all: int, batch: int, lanes: int, dtype: Any) -> Room:
    """Arrays for parts of whole vectors, all about alike, that stay in a core's cache; no less than a tile."""
    rows = stack.maps.table[:, 1]
    projected = int(rows[stack.layers[stack.layers[:, 1] >= 0, 1]].max(initial=0))
    units = int(rows[stack.layers[stack.layers[:, 3] >= 0, 3]].max(initial=0))
    of_keys, of_values = (int(stack.widths[:, side].max(initial=0)) for side in (1, 2))
    a_vector = np.dtype(dtype).itemsize * lanes
    held = a_vector * ((2 * width + projected) * new + (of_keys + of_values) * all)
    most = max(1, _PART_BYTES // max(held, 1), -(-WIDE // max(new, 1)))
    parts = max(1, -(-batch // (most * lanes)))
    across = lanes * max(1, -(-batch // (parts * lanes)))
    tile = WIDE * a_vector
    columns = WIDE * lanes * max(1, _HIDDEN_BYTES // (max(units, 1) * tile))

    def both(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return array, array.reshape(len(array), new * across)

    def written(coordinates: int) -> np.ndarray:
        return np.empty((coordinates, new, across), dtype)

    def partly(coordinates: int, positions: int) -> np.ndarray:
        """Where the batch does not fill a part, there is 0."""
        return np.zeros((coordinates, positions, across), dtype)

    earlier = all if all > new else 0
    return Room(
        *both(partly(width, new)),
        *both(written(projected)),
        partly(of_keys, earlier),
        partly(of_values, earlier),
        *both(written(of_values)),
        both(written(width))[1],
        np.empty((units, max(1, min(columns, new * across))), dtype),
        np.zeros((new, across), np.bool_),
        np.zeros(1, np.int64),
    )


def addresses(stack: LayerStack, softmax: Softmax, least: int, rule: Any) -> tuple[int, int]:
    """Of the kernels that a stack calls, for such arrays."""
    none, host = np.int64(0), stack.maps.factors.dtype
    matrix, cube = np.zeros((1, 1), host), np.zeros((1, 1, 1), host)
    seen, desk = SeenKeys.of(np.ones((1, 1), bool)), Desk.of(1, 1, host)
    flags, found = np.zeros((1, 1), np.bool_), np.zeros(1, np.int64)
    put = address_of(put_map, stack.maps, none, matrix, none, none, matrix, none, none, host.type(0), least, rule)
    attended = (cube, cube, cube, seen, none, none, softmax, desk, cube, flags, found, least, rule)
    return put, address_of(attend_columns, *attended)


@compiled
def run_stack(calls, of, room, desk, x, earlier, after, kept, zero, seen, softmax, least, low, wrapped):
    """Layers over the new positions: x (d, n, batch) -> `after`; how many denominators are 0, and where, (heads, n, batch).

    x may be of one column, which stands for the whole batch. earlier: keys and values of the positions before these,
    (coordinates of all, positions, batch): of each layer and head the keys, then the values. `kept` becomes the same of all
    positions, if it has rows.
    """
    d, batch, width = x.shape[0], after.shape[2], room.part.shape[2]
    zeros = 0
    for begin in range(0, batch, width):
        there = min(width, batch - begin)
        if x.shape[2] == batch:
            copied(x, _NONE, begin, room.part, _NONE, _NONE, _NONE, d, there)
        else:
            for i in range(d):
                for j in range(x.shape[1]):
                    room.part[i, j, :] = x[i, j, 0]
        head, row = _NONE, _NONE
        for l in range(of.layers.shape[0]):
            heads, projections, outputs, units = of.layers[l, 0], of.layers[l, 1], of.layers[l, 2], of.layers[l, 3]
            if heads:
                rows, all, columns, at = room.part_rows, room.projected_rows, room.part_rows.shape[1], _NONE
                called_at(calls[0], (of.maps, projections, rows, _NONE, columns, all, _NONE, _NONE, low, least, wrapped))
                for h in range(heads):
                    _attend(calls, of, room, desk, at, head, row, begin, there, earlier, kept, seen, softmax, least, wrapped)
                    if room.found[0]:
                        zeros += _zeros_of(room, zero, head, begin, there)
                    out, onto = (rows, _ONE) if heads == 1 else (room.total_rows, np.int64(h > 0))
                    mixed = room.mixed_rows
                    called_at(calls[0], (of.maps, outputs + h, mixed, _NONE, columns, out, _NONE, onto, low, least, wrapped))
                    at += of.widths[head, 0] + of.widths[head, 1] + of.widths[head, 2]
                    row += of.widths[head, 1] + of.widths[head, 2]
                    head += 1
                if heads > 1:
                    _add(rows, room.total_rows, wrapped.rule)
            if units >= 0:
                _feed_forward(calls, of, room, units, least, low, wrapped)
        copied(room.part, _NONE, _NONE, after, _NONE, _NONE, begin, d, there)
    return zeros


@inlined
def _attend(calls, of, room, desk, at, head, row, begin, there, earlier, kept, seen, softmax, least, wrapped):
    """One head: what is projected from row `at` on becomes mixtures; earlier keys and values are those from `row` on."""
    q, k, v = of.widths[head, 0], of.widths[head, 1], of.widths[head, 2]
    queries, keys = room.projected[at : at + q], room.projected[at + q : at + q + k]
    values = room.projected[at + q + k : at + q + k + v]
    length, width = earlier.shape[1], room.part.shape[2]
    if length:
        copied(earlier, row, begin, room.keys, _NONE, _NONE, _NONE, k, there)
        copied(keys, _NONE, _NONE, room.keys, _NONE, length, _NONE, k, width)
        copied(earlier, row + k, begin, room.values, _NONE, _NONE, _NONE, v, there)
        copied(values, _NONE, _NONE, room.values, _NONE, length, _NONE, v, width)
        keys, values = room.keys[:k], room.values[:v]
    if kept.shape[0]:
        copied(keys, _NONE, _NONE, kept, row, _NONE, begin, k, there)
        copied(values, _NONE, _NONE, kept, row + k, _NONE, begin, v, there)
    given = (queries, keys, values, seen, _NONE, width, softmax, desk, room.mixed[:v], room.zero, room.found, least, wrapped)
    called_at(calls[1], given)


@compiled
def _zeros_of(room, zero, head, begin, there):
    """Where a head's denominators are 0, in the part of the batch that there is: how many; what told of them is made 0 again."""
    zeros = 0
    for i in range(room.zero.shape[0]):
        for b in range(there):
            zero[head, i, begin + b] = room.zero[i, b]
            zeros += room.zero[i, b]
        room.zero[i] = False
    room.found[0] = 0
    return zeros


@inlined
def _feed_forward(calls, of, room, units, least, low, wrapped):
    """[W_2 max(0, W_1 h + b_1) + b_2], added to the residual, some columns at a time."""
    columns, size, nothing = room.part_rows.shape[1], room.hidden_rows.shape[1], room.part.dtype.type(0)
    hidden = room.hidden_rows
    for begin in range(0, columns, size):
        end = min(columns, begin + size)
        called_at(calls[0], (of.maps, units, room.part_rows, begin, end, hidden, _NONE, _NONE, nothing, least, wrapped))
        called_at(calls[0], (of.maps, units + 1, hidden, _NONE, end - begin, room.part_rows, begin, _ONE, low, least, wrapped))


@compiled
def copied(x, row, column, y, new_row, position, new_column, rows, count):
    """So many columns of all positions of so many rows of x, into y."""
    for c in range(rows):
        for j in range(x.shape[1]):
            source, target = x[row + c, j, column:], y[new_row + c, position + j, new_column:]
            for b in range(count):
                target[b] = source[b]


@compiled
def _add(x, y, rule):
    for i in range(x.shape[0]):
        row, added = x[i], y[i]
        for b in range(row.size):
            row[b] = summed(row[b] + added[b], rule)
