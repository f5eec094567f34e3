"""The operations of a format on flat arrays of codes, by an arithmetic of either engine."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.numbers import Arithmetic, Codes, Format


class Scalars:
    """Every operation rounded; arrays of codes, broadcast.

    >>> from glyptic.numbers import Fixed, Reference
    >>> of = Scalars(Reference(Fixed(1)))
    >>> of.add(np.array([1, 3]), np.array([1, 1])).tolist()      # 1/2 + 1/2 = 1, B + 1/2 = B
    [2, 3]
    """

    def __init__(self, arithmetic: Arithmetic) -> None:
        self.arithmetic = arithmetic
        self.format: Format = arithmetic.format  # type: ignore[assignment]  # rationals are refused before
        self.products = arithmetic.products
        self.one = self.format.code(self.format.round(Fraction(1)))
        self.has_one = self.format.value(self.one) == 1

    def add(self, x: Codes, y: Codes) -> Codes:
        return self._each(self.arithmetic.add, x, y)

    def subtract(self, x: Codes, y: Codes) -> Codes:
        return self._each(self.arithmetic.subtract, x, y)

    def multiply(self, x: Codes, y: Codes) -> Codes:
        return self._each(self.arithmetic.multiply, x, y)

    def divide(self, x: Codes, y: Codes) -> Codes:
        """[x / y]; y is nowhere 0."""
        return self._each(self.arithmetic.divide, x, y)

    def exp(self, x: Codes) -> Codes:
        return self._each(self.arithmetic.exp, x)

    def inverse(self, count: int) -> int:
        """The code of [[1] / count]."""
        return self.format.code(self.format.round(self.format.round(Fraction(1)) / count))

    def largest_count(self) -> int:
        """The least count c from which on [[1] / c] is 0: larger counts need not be told apart."""
        low, high = 0, 1
        while self.inverse(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.inverse(middle) else (low, middle)
        return high

    def sum_of_products(self, weights: Codes, values: Codes) -> Codes:
        """⟨w, v⟩ in the transformer's reading of products, (terms, n) each -> (n,)."""
        w, v = (self.arithmetic.values(np.ascontiguousarray(each)) for each in np.broadcast_arrays(weights, values))
        mixture = self.arithmetic.mixture(w[None], v[None], np.ones((1, len(w)), bool))
        return np.asarray(self.arithmetic.codes(mixture))[0, 0]

    def mixed_further(self, total: Codes, weight: Codes, value: Codes) -> Codes:
        """A running sum of products with one more: [t + [w·v]], or [t + w·v] where products are not rounded."""
        if self.products == "rounded":
            return self.add(total, self.multiply(weight, value))
        shape = np.broadcast_shapes(np.shape(total), np.shape(weight), np.shape(value))
        t, w, v = (np.broadcast_to(each, shape).ravel() for each in (total, weight, value))
        if self.has_one:  # [1·t + w·v]
            return self.sum_of_products(np.stack([np.full_like(t, self.one), w]), np.stack([t, v])).reshape(shape)
        of, terms = self.format, zip(t.tolist(), w.tolist(), v.tolist(), strict=True)
        found = [of.code(of.round(of.value(a) + of.value(b) * of.value(c))) for a, b, c in terms]
        return np.array(found, np.int64).reshape(shape)

    def _each(self, operation: Any, *codes: Codes) -> Codes:
        spread = np.broadcast_arrays(*codes)
        shape = spread[0].shape
        flat = [self.arithmetic.values(np.ascontiguousarray(each).reshape(1, 1, -1)) for each in spread]
        return np.asarray(self.arithmetic.codes(operation(*flat))).reshape(shape)
