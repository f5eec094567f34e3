"""Every format with at most 512 values: all pairs for +, −, ×, ÷ and all values for exp and √, compiled = reference."""

from fractions import Fraction
from math import gcd

import numpy as np
import pytest

from glyptic.numbers import Format, Reference
from glyptic.numbers.fast import Fast
from tests.numbers.families import small_formats


def rounded_codes(format: Format, exact: list[tuple[int, int]], seen: dict[tuple[int, int], int]) -> list[int]:
    """Codes of exact quotients n/d, each distinct one rounded once by the reference."""
    out = []
    for key in exact:
        code = seen.get(key)
        if code is None:
            code = seen[key] = format.code(format.round(Fraction(*key)))
        out.append(code)
    return out


@pytest.mark.parametrize("format", small_formats(), ids=str)
def test_all_pairs(format: Format) -> None:
    codes = np.arange(format.min_code, format.max_code + 1)
    fast = Fast(format)
    x = fast.values(np.repeat(codes, len(codes)))
    y = fast.values(np.tile(codes, len(codes)))
    # Values as integers over one denominator, so that exact results are pairs of integers.
    values = [format.value(int(code)) for code in codes]
    bottom = max(value.denominator for value in values)
    tops = [int(value * bottom) for value in values]

    seen: dict[tuple[int, int], int] = {}
    sums = rounded_codes(format, [(a + b, bottom) for a in tops for b in tops], seen)
    assert np.array_equal(fast.codes(fast.add(x, y)), sums)
    differences = rounded_codes(format, [(a - b, bottom) for a in tops for b in tops], seen)
    assert np.array_equal(fast.codes(fast.subtract(x, y)), differences)
    products = rounded_codes(format, [(a * b, bottom * bottom) for a in tops for b in tops], {})
    assert np.array_equal(fast.codes(fast.multiply(x, y)), products)

    divisors = fast.values(codes) != 0
    quotients = [_reduced(a, b) for a in tops for b in tops if b]
    left, right = x.reshape(len(codes), -1)[:, divisors], y.reshape(len(codes), -1)[:, divisors]
    assert np.array_equal(fast.codes(fast.divide(left, right)).ravel(), rounded_codes(format, quotients, {}))


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
