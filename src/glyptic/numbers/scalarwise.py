"""Array operations spelled out in scalar ones: short enough to be believed, and shared by every arithmetic on objects.

A subclass gives the scalar operations (`Reference`: fractions; `glyptic.prove`: solver terms); the loops here are the
semantics, to the letter. Zero weights are skipped, which changes nothing: [0·x] = 0 and [t + 0] = t. (Where the first product is
left unrounded its place counts: [x_1·y_1 + 0] rounds it. There the first two columns stay.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from glyptic.numbers.arithmetic import Activation, Attention, Products, check_products
from glyptic.numbers.codes import Codes
from glyptic.numbers.formats import AnyFormat, as_format

Scalar = Any


class Scalarwise:
    """Lifts scalar operations to arrays of objects."""

    readings: tuple[str, ...] = ("rounded", "fused")  # of inner products, that the subclass knows

    def __init__(self, format: str | AnyFormat, products: Products = "rounded") -> None:
        check_products(products, self.readings)
        self.format = as_format(format)
        self.products = products

    # Scalars: for the subclass -----------------------------------------------------------------------------------------

    zero: Scalar
    one: Scalar
    never: Any = False  # what says that a result is defined: a truth value, or a condition that never holds
    condition_type: Any = bool  # the numpy type of such

    def scalar_add(self, a: Scalar, b: Scalar) -> Scalar:
        raise NotImplementedError

    def scalar_subtract(self, a: Scalar, b: Scalar) -> Scalar:
        raise NotImplementedError

    def scalar_multiply(self, a: Scalar, b: Scalar) -> Scalar:
        raise NotImplementedError

    def scalar_fused(self, total: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """[total + a·b], the product unrounded."""
        raise NotImplementedError

    def scalar_divide(self, a: Scalar, b: Scalar) -> Scalar:
        raise NotImplementedError

    def scalar_divide_by_count(self, a: Scalar, count: int) -> Scalar:
        raise NotImplementedError

    def scalar_exp(self, a: Scalar) -> Scalar:
        raise NotImplementedError

    def scalar_activation(self, kind: Activation, a: Scalar) -> Scalar:
        """[f(a)], f not relu."""
        raise NotImplementedError

    def scalar_root(self, a: Scalar) -> Scalar:
        raise NotImplementedError

    def scalar_larger(self, a: Scalar, b: Scalar) -> Scalar:
        raise NotImplementedError

    def scalar_equal(self, a: Scalar, b: Scalar) -> bool:
        raise NotImplementedError

    def scalar_divisor(self, a: Scalar) -> tuple[Scalar, Any]:
        """What may be divided by: a itself, or a stand-in where it is 0; and whether it is."""
        return (self.one, True) if self.scalar_equal(a, self.zero) else (a, self.never)

    # Arrays ------------------------------------------------------------------------------------------------------------

    def weights(self, codes: Codes) -> list[list[tuple[int, Scalar]]]:
        """Each row as its nonzero (column, value) pairs, in column order."""
        values, kept = self.values(codes), codes != 0
        if self.products == "unrounded":
            kept[:, :2] = True
        return [[(int(k), row[k]) for k in np.flatnonzero(keep)] for row, keep in zip(values, kept, strict=True)]

    def values(self, codes: Codes) -> np.ndarray:
        raise NotImplementedError

    def linear(self, weights: list[list[tuple[int, Scalar]]], x: np.ndarray) -> np.ndarray:
        out = _empty((len(weights), *x.shape[1:]))
        for i, row in enumerate(weights):
            for place in np.ndindex(x.shape[1:]):
                out[(i, *place)] = self.inner_product((w, x[(k, *place)]) for k, w in row)
        return out

    def inner_product(self, pairs: Iterable[tuple[Scalar, Scalar]]) -> Scalar:
        """⟨x, y⟩: products rounded and summed left to right, or fused into the running sum, which begins at 0."""
        if self.products == "unrounded":
            return self.sum_of_products(pairs)
        total = self.zero
        for a, b in pairs:
            if self.products == "fused":
                total = self.scalar_fused(total, a, b)
            else:
                total = self.scalar_add(total, self.scalar_multiply(a, b))
        return total

    def sum_of_products(self, pairs: Iterable[tuple[Scalar, Scalar]]) -> Scalar:
        """[[x_1·y_1 + x_2·y_2] + x_3·y_3] + …, no product rounded by itself."""
        raise NotImplementedError

    def sum(self, terms: Iterable[Scalar]) -> Scalar:
        total = self.zero
        for term in terms:
            total = self.scalar_add(total, term)
        return total

    def add(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _each(self.scalar_add, x, y)

    def subtract(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _each(self.scalar_subtract, x, y)

    def multiply(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _each(self.scalar_multiply, x, y)

    def divide(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return _each(self.scalar_divide, x, y)

    def divide_unless_zero(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        divisors, zero = _empty(y.shape), np.full(y.shape, self.never, self.condition_type)
        for place in np.ndindex(y.shape):
            divisors[place], zero[place] = self.scalar_divisor(y[place])
        return self.divide(x, divisors), zero

    def divide_by_count(self, x: np.ndarray, count: int) -> np.ndarray:
        return _each(lambda a: self.scalar_divide_by_count(a, count), x)

    def root(self, x: np.ndarray) -> np.ndarray:
        return _each(self.scalar_root, x)

    def relu(self, x: np.ndarray) -> np.ndarray:
        return _each(lambda a: self.scalar_larger(a, self.zero), x)

    def activate(self, kind: Activation, x: np.ndarray) -> np.ndarray:
        return self.relu(x) if kind == "relu" else _each(lambda a: self.scalar_activation(kind, a), x)

    def exp(self, x: np.ndarray) -> np.ndarray:
        return _each(self.scalar_exp, x)

    def total(self, x: np.ndarray) -> np.ndarray:
        out = _empty((1, *x.shape[1:]))
        for place in np.ndindex(x.shape[1:]):
            out[(0, *place)] = self.sum(x[(k, *place)] for k in range(x.shape[0]))
        return out

    def scores(self, queries: np.ndarray, keys: np.ndarray, visible: np.ndarray) -> np.ndarray:
        out = _empty((*visible.shape, queries.shape[2]), self.zero)
        for i, j, b in np.ndindex(out.shape):
            if visible[i, j]:
                out[i, j, b] = self.inner_product(zip(queries[:, i, b], keys[:, j, b], strict=True))
        return out

    def attention_weights(
        self, scores: np.ndarray, visible: np.ndarray, kind: Attention
    ) -> tuple[np.ndarray, np.ndarray]:
        weights = _empty(scores.shape, self.zero)
        undefined = np.full((scores.shape[0], scores.shape[2]), self.never, self.condition_type)
        for i, b in np.ndindex(undefined.shape):
            seen = np.flatnonzero(visible[i])
            if seen.size:
                row, undefined[i, b] = self.distribute(list(scores[i, seen, b]), kind)
                for j, weight in zip(seen, row, strict=True):
                    weights[i, j, b] = weight
        return weights, undefined

    def distribute(self, scores: list[Scalar], kind: Attention) -> tuple[list[Scalar], Any]:
        """The weights of one query over its visible keys, and whether they are undefined (0/0), or the condition for it."""
        if kind in ("leftmost", "rightmost", "average"):
            return self.hard(scores, kind), self.never
        if kind == "max-subtracted":
            largest = self.largest(scores)
            scores = [self.scalar_subtract(score, largest) for score in scores]
        exps = [self.scalar_exp(score) for score in scores]
        denominator, zero = self.scalar_divisor(self.sum(exps))  # 0 only where all exps are, for none is negative
        return [self.scalar_divide(e, denominator) for e in exps], zero

    def hard(self, scores: list[Scalar], kind: Attention) -> list[Scalar]:
        """Weight 1 on the first or the last of the largest scores, or [1/count] on each of them."""
        largest = self.largest(scores)
        best = [j for j, score in enumerate(scores) if self.scalar_equal(score, largest)]
        chosen = {"leftmost": best[:1], "rightmost": best[-1:], "average": best}[kind]
        share = self.scalar_divide_by_count(self.one, len(chosen))
        return [share if j in chosen else self.zero for j in range(len(scores))]

    def largest(self, scores: list[Scalar]) -> Scalar:
        largest = scores[0]
        for score in scores[1:]:
            largest = self.scalar_larger(largest, score)
        return largest

    def mixture(self, weights: np.ndarray, values: np.ndarray, visible: np.ndarray) -> np.ndarray:
        out = _empty((values.shape[0], weights.shape[0], weights.shape[2]))
        for c, i, b in np.ndindex(out.shape):
            seen = np.flatnonzero(visible[i])
            out[c, i, b] = self.inner_product((weights[i, j, b], values[c, j, b]) for j in seen)
        return out


def _empty(shape: tuple[int, ...], fill: Scalar = None) -> np.ndarray:
    out = np.empty(shape, dtype=object)
    out.fill(fill)
    return out


def _each(operation: Callable[..., Scalar], *arrays: np.ndarray) -> np.ndarray:
    """An operation on every element, broadcasting."""
    spread = np.broadcast_arrays(*arrays)
    out = _empty(spread[0].shape)
    for place in np.ndindex(out.shape):
        out[place] = operation(*(array[place] for array in spread))
    return out
