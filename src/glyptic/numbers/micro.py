# The first argument of an intrinsic is the compiler's, which type checkers do not know.
# mypy: disable-error-code="call-arg"
"""Matrix products and attention by tiles (`tiles`): which tile goes where, and which clamps a running bound shows to be idle.

Results are the same as those of the loops in `products`, which remain for what has no room here (`steps.have_room`) and for fused
readings. Arrays are at least a vector wide: callers pad what is narrower. The last tile of a row may lie over the one before it.
"""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from glyptic.numbers.kernels import _bits, _constants, _float, compiled, highest, product_limit, sum_growth
from glyptic.numbers.machines import SHAPES
from glyptic.numbers.products import divide_by_totals, table_exps
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


@compiled
def sizes_of(x, rule, worthwhile):
    """Bounds on |x| in each row: as they are, or B where looking for them is not worthwhile."""
    sizes = np.full(x.shape[0], np.float64(highest(rule)))
    if worthwhile:
        for i in range(x.shape[0]):
            sizes[i] = largest_in(x[i])
    return sizes


@compiled
def level_for(bound, most, rule):
    """Which clamps are needed where sums stay below `bound` and products below `most`."""
    if most >= np.float64(product_limit(rule)):
        return CLAMP_ALL
    return CLAMP_SUMS if bound >= np.float64(highest(rule)) else NO_CLAMPS


@compiled
def dense_product(factors, nudged, magnitudes, rows, x, bias, floor, least, wrapped):
    """The larger of `floor` and [W X + b], by tiles; |w| is at most `magnitudes` (k, blocks) in each block of rows.

    No stretch of terms has fewer clamps than `least`.
    """
    width = x.shape[1]
    blocks, rule = factors.shape[0], wrapped.rule
    levels = _dense_levels(magnitudes, sizes_of(x, rule, rows >= 3 * ROWS), least, rule)
    y = np.empty((rows, width), x.dtype)
    across = tile_width(x, wrapped)
    if width >= across:
        for first in range(0, width, across):
            for block in range(blocks):
                dense_tile(factors, nudged, levels, x, bias, y, block, min(first, width - across), floor, wrapped)
        return y
    across = vector_width(x, wrapped)
    for first in range(0, width, across):
        for block in range(blocks):
            narrow_dense_tile(factors, nudged, levels, x, bias, y, block, min(first, width - across), floor, wrapped)
    return y


@compiled
def _dense_levels(magnitudes, sizes, least, rule):
    """The clamps of each stretch of terms, (stretches, blocks): what is added to a sum is bounded term by term.

    A bound on |[w·x]|: the product, what rounding adds to it and to a subnormal, and 1 % for this reckoning itself (`_grown`).
    """
    terms, blocks = magnitudes.shape
    growth = np.float64(sum_growth(rule))
    levels = np.empty(((terms + TERMS - 1) // TERMS, blocks), np.int64)
    bound, most = np.zeros(blocks), np.zeros(blocks)
    for stretch in range(levels.shape[0]):
        first, last = TERMS * stretch, min(terms, TERMS * (stretch + 1))
        most[:] = 0.0
        for k in range(first, last):
            size, of = sizes[k] * growth * 1.01, magnitudes[k]
            for block in range(blocks):
                product = of[block] * size + 1.0
                bound[block] += product
                most[block] = product if product > most[block] else most[block]
        grown = growth ** (last - first)
        for block in range(blocks):
            bound[block] *= grown
            levels[stretch, block] = max(least, level_for(bound[block], most[block], rule))
            bound[block] = min(bound[block], np.float64(highest(rule)))
    return levels


@compiled
def sparse_product(starts, columns, factors, nudged, magnitudes, x, bias, floor, least, wrapped):
    """The same with W compressed by rows; `magnitudes` are |w|."""
    rows, width, rule = starts.size - 1, x.shape[1], wrapped.rule
    sizes = sizes_of(x, rule, columns.size >= 2 * x.shape[0])  # one pass over x, to save clamps in two or more
    levels = _sparse_levels(starts, columns, magnitudes, sizes, least, rule)
    y = np.empty((rows, width), x.dtype)
    across = WIDE * vector_width(x, wrapped)
    if width >= across:
        for first in range(0, width, across):
            at = min(first, width - across)
            for i in range(rows):
                sparse_tile(starts, columns, factors, nudged, levels, x, bias, y, i, at, floor, wrapped)
        return y
    across = vector_width(x, wrapped)
    for first in range(0, width, across):
        at = min(first, width - across)
        for i in range(rows):
            narrow_sparse_tile(starts, columns, factors, nudged, levels, x, bias, y, i, at, floor, wrapped)
    return y


@compiled
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
    out = np.zeros((n_q, n_k, batch), queries.dtype)
    level = _pairs_level(queries, keys, unit, least, n_q >= ROWS, wrapped.rule)
    for column in range(0, batch, across):
        at = min(column, batch - across)
        for i in range(n_q):
            for first in range(0, n_k, ROWS):
                if visible[i, first : first + ROWS].any():
                    score_tile(queries, keys, visible, unit, out, i, first, at, level, wrapped)
    return out


@compiled
def _pairs_level(left, right, unit, least, worthwhile, rule):
    """The clamps of ⟨l, r⟩ for any columns of two arrays (c, n, batch)."""
    depth = left.shape[0]
    lefts = sizes_of(left.reshape(depth, left.size // max(depth, 1)), rule, worthwhile)
    rights = sizes_of(right.reshape(depth, right.size // max(depth, 1)), rule, worthwhile)
    bound, most, growth = 0.0, 0.0, np.float64(sum_growth(rule))
    for c in range(depth):
        product = lefts[c] * np.float64(unit) * rights[c] * growth * 1.01 + 1.0
        bound, most = (bound + product) * growth, max(most, product)
    return max(least, level_for(bound, most, rule))


@compiled
def attention_mixture(weights, values, visible, unit, least, wrapped):
    """Σ_j s_ij v_j over the visible j, in order: (n_q, n_k, batch), (c, n_k, batch) -> (c, n_q, batch)."""
    n_q, batch = weights.shape[0], weights.shape[2]
    depth, across = values.shape[0], vector_width(values, wrapped)
    out = np.zeros((depth, n_q, batch), values.dtype)
    level = _mixture_level(weights, values, unit, least, wrapped.rule)
    for i in range(n_q):
        seen = np.flatnonzero(visible[i])
        for column in range(0, batch, across):
            for first in range(0, depth, ROWS):
                mixture_tile(weights, values, seen, unit, out, i, first, min(column, batch - across), level, wrapped)
    return out


@compiled
def softmax_attention(queries, keys, values, visible, first, table, scale, rule64, seen, unit, least, wrapped):
    """A head whose exp is a table (`products.table_exps`), from scores to mixture; and where a denominator is 0, (n_q, batch)."""
    scores = attention_scores(queries, keys, seen, unit, least, wrapped)
    shares = table_exps(scores, visible, first, table)
    totals = divide_by_totals(shares, visible, scale, wrapped.rule, rule64)
    zero = np.zeros(totals.shape, np.bool_)
    for i in range(zero.shape[0]):
        if visible[i].any():
            for b in range(zero.shape[1]):
                zero[i, b] = totals[i, b] == 0
    return attention_mixture(shares, values, seen, unit, least, wrapped), zero


@compiled
def _mixture_level(weights, values, unit, least, rule):
    """The clamps of all mixtures: as for a matrix of weights none of which is larger than the largest."""
    growth, weight, value = np.float64(sum_growth(rule)), largest_in(weights.ravel()), largest_in(values.ravel())
    most = np.float64(weight) * np.float64(unit) * np.float64(value) * growth * 1.01 + 1.0
    bound = most * weights.shape[1] * growth ** weights.shape[1]
    return max(least, level_for(bound, most, rule))
