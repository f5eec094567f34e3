"""The reference arithmetic: exact fractions, one rounding after every operation. Everything else is checked against it.

>>> from glyptic.numbers import Fixed
>>> R = Reference(Fixed(3))
>>> B, x = R.format.max, Fraction(-5, 8)
>>> R.scalar_subtract(R.scalar_add(R.scalar_add(x, B), B), B)     # ((x + B) + B) − B = 0 for every x
Fraction(0, 1)
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import get_args

import numpy as np

from glyptic.errors import FormatError
from glyptic.numbers.arithmetic import Activation, Products
from glyptic.numbers.codes import Codes, check_width, decode
from glyptic.numbers.exponential import exp_rounded
from glyptic.numbers.formats import AnyFormat, Exact
from glyptic.numbers.scalarwise import Scalarwise


class Reference(Scalarwise):
    """Fractions, rounded to a format after each operation."""

    zero = Fraction(0)
    readings = get_args(Products)

    @property
    def one(self) -> Fraction:  # type: ignore[override]
        return self.format.round(1)

    def scalar_add(self, a: Fraction, b: Fraction) -> Fraction:
        return self.format.round(a + b)

    def scalar_subtract(self, a: Fraction, b: Fraction) -> Fraction:
        return self.format.round(a - b)

    def scalar_multiply(self, a: Fraction, b: Fraction) -> Fraction:
        return self.format.round(a * b)

    def scalar_fused(self, total: Fraction, a: Fraction, b: Fraction) -> Fraction:
        return self.format.round(total + a * b)

    def sum_of_products(self, pairs: Iterable[tuple[Fraction, Fraction]]) -> Fraction:
        """Li et al.'s sum(x ⊙ y) to the letter: the first rounding is that of the first sum (of one product, its own)."""
        first, *rest = [a * b for a, b in pairs] or [self.zero]
        for product in rest:
            first = self.format.round(first + product)
        return self.format.round(first)

    def scalar_divide(self, a: Fraction, b: Fraction) -> Fraction:
        return self.format.round(a / b)

    def scalar_divide_by_count(self, a: Fraction, count: int) -> Fraction:
        return self.format.round(a / count)

    def scalar_exp(self, a: Fraction) -> Fraction:
        return _exp(a, self.format)

    def scalar_activation(self, kind: Activation, a: Fraction) -> Fraction:
        from glyptic.numbers.activations import activation_rounded

        return activation_rounded(kind, a, self.format)

    def scalar_root(self, a: Fraction) -> Fraction:
        return root_rounded(a, self.format)

    def scalar_larger(self, a: Fraction, b: Fraction) -> Fraction:
        return max(a, b)

    def scalar_equal(self, a: Fraction, b: Fraction) -> bool:
        return a == b

    def values(self, codes: Codes) -> np.ndarray:
        return decode(np.asarray(codes), self.format)

    def codes(self, values: np.ndarray) -> Codes:
        if isinstance(self.format, Exact):  # a run leaves the grid of the weights: its values stand for themselves
            return np.asarray(values, dtype=object)
        check_width(self.format)
        flat = [self.format.code(value) for value in np.ravel(values)]
        return np.array(flat, np.int64).reshape(np.shape(values))


@lru_cache(maxsize=1 << 16)
def _exp(x: Fraction, format: AnyFormat) -> Fraction:
    return exp_rounded(x, format)


def root_rounded(x: Fraction, format: AnyFormat) -> Fraction:
    """[√x], from the integer square root of x in units far below the format's: a remainder only says "a little more"."""
    if isinstance(format, Exact):
        top, bottom = isqrt(x.numerator), isqrt(x.denominator)
        if top * top != x.numerator or bottom * bottom != x.denominator:
            raise FormatError(f"the square root of {x} is irrational; use a finite format for this operation.")
        return Fraction(top, bottom)
    shift = 2 * format.precision + 4 - format.least_exponent  # finer than half a last place wherever √x may lie
    scaled = (x.numerator << 2 * shift) // x.denominator
    floor = isqrt(scaled)
    exact = Fraction(floor, 1 << shift) ** 2 == x
    return format.round(Fraction(2 * floor + (not exact), 1 << (shift + 1)))
