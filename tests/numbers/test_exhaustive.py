"""Every format with at most 512 values: all pairs for +, −, ×, ÷ and all values for exp and √, compiled = reference.

Rounding never falls, so it is a staircase whose steps are the middles between neighbours. `Staircase` asks the reference on, just
below and just above every middle, and then knows what the reference says of any exact result; that makes all pairs cheap.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from tests.numbers.families import small_formats

from glyptic.numbers import Format, Reference, to_float64
from glyptic.numbers.fast import Fast


class Staircase:
    """The reference's rounding of exact results, given as the nearest double and the sign of what it leaves out."""

    def __init__(self, format: Format) -> None:
        values, little = list(format.values()), format.least / 2**60
        middles = [(a + b) / 2 for a, b in pairwise(values)]
        for below, middle, above in zip(values, middles, values[1:], strict=False):
            assert (format.round(middle - little), format.round(middle + little)) == (below, above)
        assert format.round(values[0] - 1) == values[0] and format.round(values[-1] + 1) == values[-1]
        self.first = format.min_code
        self.middles = np.array([float(middle) for middle in middles])  # p + 1 bits: exact
        assert all(Fraction(double) == middle for double, middle in zip(self.middles, middles, strict=True))
        self.on_middle = np.array([format.code(format.round(middle)) for middle in middles] + [0])

    def __call__(self, near: np.ndarray, rest: np.ndarray) -> np.ndarray:
        step = np.searchsorted(self.middles, near)  # how many middles lie below
        on_middle = near == np.append(self.middles, np.inf)[step]
        beside = self.first + step + (on_middle & (rest > 0))
        return np.where(on_middle & (rest == 0), self.on_middle[step], beside)


def two_sum(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x + y as the nearest double and what it leaves out (Knuth)."""
    near = x + y
    back = near - x
    return near, (x - (near - back)) + (y - back)


@pytest.mark.parametrize("format", small_formats(), ids=str)
def test_all_pairs(format: Format) -> None:
    codes = np.arange(format.min_code, format.max_code + 1)
    left, right = np.repeat(codes, len(codes)), np.tile(codes, len(codes))
    x, y = to_float64(left, format), to_float64(right, format)
    fast, reference = Fast(format), Staircase(format)

    def ours(operation: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return fast.codes(getattr(fast, operation)(fast.values(a), fast.values(b)))

    assert np.array_equal(ours("add", left, right), reference(*two_sum(x, y)))
    assert np.array_equal(ours("subtract", left, right), reference(*two_sum(x, -y)))
    assert np.array_equal(ours("multiply", left, right), reference(x * y, np.zeros_like(x)))  # 16 bits: exact
    some = right != 0
    quotient = x[some] / y[some]
    rest = (x[some] - quotient * y[some]) * np.sign(y[some])  # exact where the quotient is a middle, and only used there
    assert np.array_equal(ours("divide", left[some], right[some]), reference(quotient, rest))


@pytest.mark.parametrize("format", small_formats(), ids=str)
def test_all_values(format: Format) -> None:
    codes = np.arange(format.min_code, format.max_code + 1)
    fast, reference = Fast(format), Reference(format)
    exact = reference.values(codes)
    assert np.array_equal(fast.codes(fast.exp(fast.values(codes))), reference.codes(reference.exp(exact)))
    assert np.array_equal(fast.codes(fast.relu(fast.values(codes))), reference.codes(reference.relu(exact)))
    positive = codes[codes >= 0]
    roots = reference.codes(reference.root(reference.values(positive)))
    assert np.array_equal(fast.codes(fast.root(fast.values(positive))), roots)
    for count in (1, 2, 3, 7, 1000):
        shares = reference.codes(reference.divide_by_count(exact, count))
        assert np.array_equal(fast.codes(fast.divide_by_count(fast.values(codes), count)), shares)
