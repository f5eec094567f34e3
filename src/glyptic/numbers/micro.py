# The first argument of an intrinsic is the compiler's, which type checkers do not know.
# mypy: disable-error-code="call-arg"
"""Matrix products and attention by tiles (`tiles`): which tile goes where, and which clamps a running bound shows to be idle.

Results are the same as those of the loops in `products`, which remain for what has no room here (`steps.have_room`) and for fused
readings. Arrays are at least a vector wide: callers pad what is narrower. The last tile of a row may lie over the one before it.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from glyptic.numbers.compiling import inlined
from glyptic.numbers.kernels import _bits, _constants, _float, compiled, highest, product_limit, sum_growth
from glyptic.numbers.machines import SHAPES
from glyptic.numbers.steps import CLAMP_ALL, CLAMP_SUMS, NO_CLAMPS
from glyptic.numbers.tiles import (
    ROWS,
    TERMS,
    WIDE,
    dense_tile,
    mixture_tile,
    narrow_dense_tile,
    narrow_sparse_tile,
    score_tile,
    sparse_tile,
)


def tile_width(x, rule):
    """How many columns of x a tile of this machine has."""
    raise NotImplementedError("compiled code only")


def vector_width(x, rule):
    """How many columns a vector has."""
    raise NotImplementedError("compiled code only")


@overload(tile_width)
def _tile_width(x, rule):
    shape = SHAPES[rule.instance_class]
    width = shape.across * shape.bits // x.dtype.bitwidth
    return lambda x, rule: width


@overload(vector_width)
def _vector_width(x, rule):
    width = SHAPES[rule.instance_class].bits // x.dtype.bitwidth
    return lambda x, rule: width


def largest_in(row):
    """The largest |x|, by the bits: their order is that of sizes, and compilers find vectors in it."""
    raise NotImplementedError("compiled code only")


@overload(largest_in)
def _largest_in(row):
    integer, *_ = _constants(row.dtype)
    mask = integer(0x7FFFFFFF if integer is np.int32 else 0x7FFFFFFFFFFFFFFF)

    def by_bits(row):
        top = integer(0)
        for j in range(row.size):
            top = max(top, integer(_bits(row[j]) & mask))
        return _float(top)

    return by_bits


@inlined
def sizes_of(x, first, last, rule, worthwhile):
    """Bounds on |x| in each row, columns first … last − 1: as they are, or B where looking for them is not worthwhile."""
    sizes = np.empty(x.shape[0])
    for i in range(sizes.size):
        sizes[i] = largest_in(x[i, first:last]) if worthwhile else np.float64(highest(rule))
    return sizes


@compiled
def level_for(bound, most, rule):
    """Which clamps are needed where sums stay below `bound` and products below `most`."""
    if most >= np.float64(product_limit(rule)):
        return CLAMP_ALL
    return CLAMP_SUMS if bound >= np.float64(highest(rule)) else NO_CLAMPS


@inlined
def put_dense(factors, nudged, magnitudes, x, first, last, bias, y, into, onto, floor, least, wrapped):
    """All rows of a dense matrix, as `maps.put_map` says; its arrays may be flat."""
    rule, blocks = wrapped.rule, (y.shape[0] + ROWS - 1) // ROWS
    levels = _dense_levels(magnitudes, blocks, sizes_of(x, first, last, rule, y.shape[0] >= 3 * ROWS), least, rule)
    across, at = tile_width(x, wrapped), first
    while at + across <= last:
        for block in range(blocks):
            dense_tile(factors, nudged, levels, x, at, bias, y, into + at - first, onto, block, floor, wrapped)
        at += across
    across = vector_width(x, wrapped)
    while at < last:
        at = min(at, last - across)  # the last vector may lie over the one before it
        for block in range(blocks):
            narrow_dense_tile(factors, nudged, levels, x, at, bias, y, into + at - first, onto, block, floor, wrapped)
        at += across


@inlined
def _dense_levels(magnitudes, blocks, sizes, least, rule):
    """The clamps of each stretch of terms, (stretches, blocks): what is added to a sum is bounded term by term.

    |w| is at most magnitudes[k · blocks + b] in block b of the rows.

    A bound on |[w·x]|: the product, what rounding adds to it and to a subnormal, and 1 % for this reckoning itself (`_grown`).
    """
    terms, growth = sizes.size, np.float64(sum_growth(rule))
    levels = np.empty(((terms + TERMS - 1) // TERMS, blocks), np.int64)
    bound, most = np.zeros(blocks), np.zeros(blocks)
    for stretch in range(levels.shape[0]):
        first, last = TERMS * stretch, min(terms, TERMS * (stretch + 1))
        most[:] = 0.0
        for k in range(first, last):
            size = sizes[k] * growth * 1.01
            for block in range(blocks):
                product = magnitudes[k * blocks + block] * size + 1.0
                bound[block] += product
                most[block] = product if product > most[block] else most[block]
        grown = growth ** (last - first)
        for block in range(blocks):
            bound[block] *= grown
            levels[stretch, block] = max(least, level_for(bound[block], most[block], rule))
            bound[block] = min(bound[block], np.float64(highest(rule)))
    return levels


@inlined
def put_sparse(starts, columns, factors, nudged, magnitudes, x, first, last, bias, y, into, onto, floor, least, wrapped):
    """All rows of a sparse matrix; `magnitudes` are |w|."""
    rows, rule = starts.size - 1, wrapped.rule
    sizes = sizes_of(x, first, last, rule, starts[rows] >= 2 * x.shape[0])  # one pass over x, to save clamps in two or more
    levels = _sparse_levels(starts, columns, magnitudes, sizes, least, rule)
    across, narrow = WIDE * vector_width(x, wrapped), vector_width(x, wrapped)
    for i in range(rows):
        levels[i] = -1 if onto and starts[i] == starts[i + 1] and bias[i] == 0 and floor <= 0 else levels[i]  # adds 0
    at = first
    while at + across <= last:
        for i in range(rows):
            if levels[i] >= 0:
                sparse_tile(starts, columns, factors, nudged, levels, x, at, bias, y, into + at - first, onto, i, floor, wrapped)
        at += across
    while at < last:
        at = min(at, last - narrow)
        place = into + at - first
        for i in range(rows):
            if levels[i] >= 0:
                narrow_sparse_tile(starts, columns, factors, nudged, levels, x, at, bias, y, place, onto, i, floor, wrapped)
        at += narrow


@inlined
def _sparse_levels(starts, columns, magnitudes, sizes, least, rule):
    """The clamps of each row."""
    levels = np.empty(starts.size - 1, np.int64)
    growth = np.float64(sum_growth(rule))
    for i in range(levels.size):
        bound, most = 0.0, 0.0
        for at in range(starts[i], starts[i + 1]):
            product = magnitudes[at] * sizes[columns[at]] * growth * 1.01 + 1.0
            bound, most = (bound + product) * growth, max(most, product)
        levels[i] = max(least, level_for(bound, most, rule))
    return levels


@compiled
def attention_scores(queries, keys, visible, unit, least, wrapped):
    """⟨q_i, k_j⟩ for the visible pairs: (c, n_q, batch), (c, n_k, batch) -> (n_q, n_k, batch); the others are 0."""
    n_q, batch = queries.shape[1:]
    n_k, across = keys.shape[1], vector_width(queries, wrapped)
    out = np.zeros((n_q * n_k, batch), queries.dtype)
    level = pairs_level(queries, keys, unit, least, n_q >= ROWS, wrapped.rule)
    for i in range(n_q):
        seen = np.flatnonzero(visible[i])
        rows = seen + i * n_k
        for column in range(0, batch, across):
            at = min(column, batch - across)
            for first in range(0, seen.size, ROWS):
                score_tile(queries, keys, seen, rows, unit, out, i, first, at, at, level, wrapped)
    return out.reshape(n_q, n_k, batch)


@compiled
def pairs_level(left, right, unit, least, worthwhile, rule):
    """The clamps of ⟨l, r⟩ for any columns of two arrays (c, n, batch)."""
    bound, most, growth = 0.0, 0.0, np.float64(sum_growth(rule))
    for c in range(left.shape[0]):
        one = other = np.float64(highest(rule))
        if worthwhile:
            one, other = np.float64(largest_in(left[c].ravel())), np.float64(largest_in(right[c].ravel()))
        product = one * np.float64(unit) * other * growth * 1.01 + 1.0
        most, bound = max(most, product), (bound + product) * growth
    return max(least, level_for(bound, most, rule))


@compiled
def attention_mixture(weights, values, visible, unit, least, wrapped):
    """Σ_j s_ij v_j over the visible j, in order: (n_q, n_k, batch), (c, n_k, batch) -> (c, n_q, batch)."""
    n_q, n_k, batch = weights.shape
    depth, across = values.shape[0], vector_width(values, wrapped)
    out = np.zeros((depth, n_q, batch), values.dtype)
    level = mixture_level(np.float64(largest_in(weights.ravel())), values, n_k, unit, least, wrapped.rule)
    flat = weights.reshape(n_q * n_k, batch)
    for i in range(n_q):
        seen = np.flatnonzero(visible[i])
        rows = seen + i * n_k
        for column in range(0, batch, across):
            at = min(column, batch - across)
            for first in range(0, depth, ROWS):
                mixture_tile(flat, values, rows, seen, unit, out, i, first, at, at, level, wrapped)
    return out


@compiled
def mixture_level(weight, values, terms, unit, least, rule):
    """The clamps of all mixtures of so many terms: as for a matrix of weights none of which is larger than `weight`."""
    growth, value = np.float64(sum_growth(rule)), largest_in(values.ravel())
    most = weight * np.float64(unit) * np.float64(value) * growth * 1.01 + 1.0
    bound = most * terms * growth**terms
    return max(least, level_for(bound, most, rule))
