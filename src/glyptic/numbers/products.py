"""Inner products, compiled: the matrix product and the two steps of attention, every product and sum rounded.

All of them add up left to right, as the semantics demands, and run along the last axis (columns, or the batch), so that the
machine works on many independent sums at once. Left factors come as numbers, right factors in host units: see `kernels`.
"""

from __future__ import annotations

import numpy as np

from glyptic.numbers.kernels import (
    SumsBounded,
    Unbounded,
    accumulated,
    begins_with_a_product,
    by_float64,
    compiled,
    highest,
    integer_quotient,
    product_limit,
    quotient,
    sum_growth,
    summed,
)

_BLOCK = 1024  # columns worked on at once: one block of results and four of operands fit in the first-level cache


@compiled
def sparse_product(starts, columns, weights, x, largest, rule):
    """Y = W X with W compressed by rows: Y[i] = [… [[w·x] + [w·x]] …], zeros skipped ([t + 0] = t and [0·x] = 0).

    `largest` bounds |x| in each row; clamps that these bounds make idle are dropped.
    """
    rows, width = starts.size - 1, x.shape[1]
    y = np.empty((rows, width), x.dtype)
    for first in range(0, width, _BLOCK):
        last = min(width, first + _BLOCK)
        for i in range(rows):
            terms = slice(starts[i], starts[i + 1])
            _sum_row(columns[terms], weights[terms], x, first, largest, y[i, first:last], rule)
    return y


@compiled
def _sum_row(columns, weights, x, first, largest, y, rule):
    """y = Σ w·x over one row's terms, in a block of columns from `first`; `bound` is a bound on |y| so far."""
    top, limit, growth = np.float64(highest(rule)), np.float64(product_limit(rule)), np.float64(sum_growth(rule))
    begun = _begin(columns, weights, x, first, y, rule)
    odd, bound = begun + (columns.size - begun) % 4, 0.0
    if odd > begun:
        _add_few(columns[begun:odd], weights[begun:odd], x, first, y, rule)
        for k in range(odd):
            bound = (bound + _largest_product(weights[k], largest[columns[k]], growth)) * growth
    for at in range(odd, columns.size, 4):  # four terms a pass: the running sum stays in a register
        most = 0.0
        for k in range(at, at + 4):
            product = _largest_product(weights[k], largest[columns[k]], growth)
            bound, most = (bound + product) * growth, max(most, product)
        if most >= limit:
            _add_four(columns[at : at + 4], weights[at : at + 4], x, first, y, rule)
        elif bound >= top:
            _add_four(columns[at : at + 4], weights[at : at + 4], x, first, y, SumsBounded(rule))
        else:
            _add_four(columns[at : at + 4], weights[at : at + 4], x, first, y, Unbounded(rule))
        bound = min(bound, top)


@compiled
def _begin(columns, weights, x, first, y, rule):
    """y = 0, or the first product where it is left unrounded: beside a second, for [w·x + 0] is [w·x]. How many are done."""
    if begins_with_a_product(rule) and columns.size > 1 and columns[0] == 0 and columns[1] == 1:
        y[:] = weights[0] * x[0, first : first + y.size]
        return 1
    y[:] = 0
    return 0


@compiled
def _largest_product(weight, largest, growth):
    """A bound on |[w·x]|: the product, what rounding adds to a normal or to a subnormal, and 1 % for these sums themselves."""
    return abs(weight) * largest * growth * 1.01 + 1.0


@compiled
def _add_few(columns, weights, x, first, y, rule):
    """y += w·x for one, two or three terms, in one pass."""
    last = first + y.size
    w0, x0 = weights[0], x[columns[0], first:last]
    if columns.size == 1:
        for j in range(y.size):
            y[j] = accumulated(y[j], w0, x0[j], rule)
        return
    w1, x1 = weights[1], x[columns[1], first:last]
    if columns.size == 2:
        for j in range(y.size):
            y[j] = accumulated(accumulated(y[j], w0, x0[j], rule), w1, x1[j], rule)
        return
    w2, x2 = weights[2], x[columns[2], first:last]
    for j in range(y.size):
        y[j] = accumulated(accumulated(accumulated(y[j], w0, x0[j], rule), w1, x1[j], rule), w2, x2[j], rule)


@compiled
def _add_four(columns, weights, x, first, y, rule):
    last = first + y.size
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    x0, x1 = x[columns[0], first:last], x[columns[1], first:last]  # contiguous, which the compiler must see
    x2, x3 = x[columns[2], first:last], x[columns[3], first:last]
    for j in range(y.size):
        total = accumulated(y[j], w0, x0[j], rule)
        total = accumulated(total, w1, x1[j], rule)
        total = accumulated(total, w2, x2[j], rule)
        y[j] = accumulated(total, w3, x3[j], rule)


@compiled
def attention_scores(queries, keys, visible, rule):
    """⟨q_i, k_j⟩ for the visible pairs: (c, n_q, batch), (c, n_k, batch) -> (n_q, n_k, batch); the others are 0."""
    depth, n_q, batch = queries.shape
    n_k = keys.shape[1]
    out = np.zeros((n_q, n_k, batch), queries.dtype)
    for i in range(n_q):
        for j in range(n_k):
            if visible[i, j]:
                total = out[i, j]
                begun = 0
                if begins_with_a_product(rule) and depth > 1:
                    total[:] = queries[0, i] * keys[0, j]
                    begun = 1
                for c in range(begun, depth):
                    q, k = queries[c, i], keys[c, j]
                    for b in range(batch):
                        total[b] = accumulated(total[b], q[b], k[b], rule)
    return out


@compiled
def attention_mixture(weights, values, visible, rule):
    """Σ_j s_ij v_j over the visible j, in order: (n_q, n_k, batch), (c, n_k, batch) -> (c, n_q, batch)."""
    n_q, n_k, batch = weights.shape
    depth = values.shape[0]
    out = np.zeros((depth, n_q, batch), values.dtype)
    for i in range(n_q):
        begin = begins_with_a_product(rule) and np.count_nonzero(visible[i]) > 1
        for j in range(n_k):
            if visible[i, j] and begin:
                begin = False
                for c in range(depth):
                    out[c, i] = weights[i, j] * values[c, j]
            elif visible[i, j]:
                w = weights[i, j]
                for c in range(depth):
                    total, v = out[c, i], values[c, j]
                    for b in range(batch):
                        total[b] = accumulated(total[b], w[b], v[b], rule)
    return out


@compiled
def total_visible(x, visible, rule):
    """sum(x_i1, x_i2, …) over the visible, left to right: (n_q, n_k, batch) -> (n_q, batch)."""
    n_q, n_k, batch = x.shape
    out = np.zeros((n_q, batch), x.dtype)
    for i in range(n_q):
        total = out[i]
        for j in range(n_k):
            if visible[i, j]:
                for b in range(batch):
                    total[b] = summed(total[b] + x[i, j, b], rule)
    return out


@compiled
def table_exps(scores, visible, first, table):
    """exp of the visible scores of fixed point, by table; beyond its ends exp is its first entry, 0, or its last, B."""
    n_q, n_k, batch = scores.shape
    out = np.zeros_like(scores)
    for i in range(n_q):
        for j in range(n_k):
            if visible[i, j]:
                score, result = scores[i, j], out[i, j]
                for b in range(batch):
                    index = np.int64(score[b]) - first
                    result[b] = table[min(max(index, 0), table.size - 1)]
    return out


@compiled
def table_activations(x, first, table):
    """An activation of fixed point, by table; before it the activation is 0, behind it x itself."""
    out = np.empty_like(x)
    flat, result = x.ravel(), out.ravel()
    for i in range(flat.size):
        index = np.int64(flat[i]) - first
        if index < 0:
            result[i] = 0
        else:
            result[i] = table[index] if index < table.size else flat[i]
    return out


@compiled
def divide_by_totals(exps, visible, scale, rule, rule64):
    """Put [e_ij / D_i] in the place of the visible e_ij, where D_i = [[e_i1 + e_i2] + …]; what comes back is D, (n_q, batch).

    Where D_i is 0, so is every e_ij, and stays so. `rule64` is the rule of float64, in which quotients are rounded.
    """
    n_q, n_k, batch = exps.shape
    totals = total_visible(exps, visible, rule)
    floating = by_float64(rule64)
    divisors = np.empty(batch)
    for i in range(n_q):
        for b in range(batch):
            divisors[b] = totals[i, b] if totals[i, b] != 0 else 1.0
        for j in range(n_k):
            if visible[i, j]:
                e = exps[i, j]
                if floating:
                    for b in range(batch):
                        e[b] = quotient(np.float64(e[b]), divisors[b], scale, rule64)
                else:
                    for b in range(batch):
                        e[b] = integer_quotient(np.float64(e[b]), divisors[b], scale, rule64)
    return totals
