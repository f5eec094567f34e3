"""Every format with at most 512 values: all pairs for +, −, ×, ÷ and all values for exp and √, compiled = reference.

Pairs of the largest (more than 140 values) are marked slow but for one of each kind: `make test-all` runs them all.
"""

from fractions import Fraction
from math import gcd

import numpy as np
import pytest
from tests.numbers.families import small_formats

from glyptic.numbers import Format, Reference
from glyptic.numbers.fast import Fast


class Rounded:
    """Codes of exact quotients n/d, each distinct one rounded once by the reference."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self.codes = {value: code for code, value in enumerate(format.values(), format.min_code)}
        self.seen: dict[tuple[int, int], int] = {}

    def __call__(self, exact: list[tuple[int, int]]) -> list[int]:
        for key in set(exact) - self.seen.keys():
            self.seen[key] = self.codes[self.format.round(Fraction(*key))]
        return [self.seen[key] for key in exact]


ONE_OF_EACH = {"fixed:4", "q:4,4/even", "float:4,2", "ieee:4,3/even", "ieee:4,3,normal", "fp8_e4m3", "fp8_e5m2/zero"}


def in_order_of_cost() -> list:
    formats = small_formats()
    slow = [f for f in formats if f.size > 140 and str(f) not in ONE_OF_EACH]
    return [f for f in formats if f not in slow] + [pytest.param(f, marks=pytest.mark.slow) for f in slow]


@pytest.mark.parametrize("format", in_order_of_cost(), ids=str)
def test_all_pairs(format: Format) -> None:
    codes = np.arange(format.min_code, format.max_code + 1)
    fast = Fast(format)
    x = fast.values(np.repeat(codes, len(codes)))
    y = fast.values(np.tile(codes, len(codes)))
    # Values as integers over one denominator, so that exact results are pairs of integers.
    values = [format.value(int(code)) for code in codes]
    bottom = max(value.denominator for value in values)
    tops = [int(value * bottom) for value in values]

    rounded = Rounded(format)
    sums = rounded([(a + b, bottom) for a in tops for b in tops])
    assert np.array_equal(fast.codes(fast.add(x, y)), sums)
    differences = rounded([(a - b, bottom) for a in tops for b in tops])
    assert np.array_equal(fast.codes(fast.subtract(x, y)), differences)
    products = rounded([(a * b, bottom * bottom) for a in tops for b in tops])
    assert np.array_equal(fast.codes(fast.multiply(x, y)), products)

    divisors = fast.values(codes) != 0
    quotients = [_reduced(a, b) for a in tops for b in tops if b]
    left, right = x.reshape(len(codes), -1)[:, divisors], y.reshape(len(codes), -1)[:, divisors]
    assert np.array_equal(fast.codes(fast.divide(left, right)).ravel(), rounded(quotients))


def _reduced(a: int, b: int) -> tuple[int, int]:
    common = gcd(a, b) if b > 0 else -gcd(a, b)
    return a // common, b // common


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
