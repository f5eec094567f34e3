"""Break one rounding rule, and a comparison with the reference fails: the tests can tell."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from glyptic.errors import FormatError
from glyptic.numbers import Format, Reference, parse_format
from glyptic.numbers import fast as fast_module
from glyptic.numbers.fast import Fast
from glyptic.numbers.kernels import rounding_rule


def told(check: Callable[[Fast, Format], bool]) -> Callable[[Fast, Format], bool]:
    """A number outside the format is no agreement either."""

    def checked(fast: Fast, format: Format) -> bool:
        try:
            return check(fast, format)
        except FormatError:
            return False

    return checked


@told
def agrees(fast: Fast, format: Format) -> bool:
    """Whether +, × and inner products of the fast arithmetic are the reference's."""
    reference = Reference(format, fast.products)
    codes = np.arange(format.min_code, format.max_code + 1)
    codes = codes[:: 1 + 2 * (len(codes) > 150)]
    x, y = np.repeat(codes, len(codes)), np.tile(codes, len(codes))
    for operation in ("add", "multiply"):
        ours = getattr(fast, operation)(fast.values(x), fast.values(y))
        theirs = getattr(reference, operation)(reference.values(x), reference.values(y))
        if not np.array_equal(fast.codes(ours), reference.codes(theirs)):
            return False
    weights = codes[: len(codes) // 4 * 4].reshape(-1, 4)
    columns = np.stack([codes[:4], codes[-4:], codes[1:5]], axis=1)[:, :, None]
    ours = fast.codes(fast.linear(fast.weights(weights), fast.values(columns)))
    return np.array_equal(
        ours, reference.codes(reference.linear(reference.weights(weights), reference.values(columns)))
    )


NAMES = ["fixed:3", "fixed:3/even", "float:3,2", "fp8_e4m3", "ieee:4,3,normal", "q:3,3"]


@pytest.mark.parametrize("name", NAMES)
def test_unbroken(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    assert agrees(Fast(format), format)


def other_ties(format: Format) -> Format:
    return format.with_ties("even" if format.ties == "zero" else "zero")


def no_saturation(format: Format) -> Format:
    return (
        replace(format, top=2 * format.top + 1, precision=format.precision + 1)
        if format.is_fixed
        else replace(format, greatest_exponent=format.greatest_exponent + 1)
    )


def other_subnormals(format: Format) -> Format:
    return replace(format, subnormals=not format.subnormals)


def coarser(format: Format) -> Format:
    return replace(format, least_exponent=format.least_exponent + 1, greatest_exponent=format.greatest_exponent + 1)


# Fixed point is kept in units, so its rule knows neither exponents nor subnormals: those two break floats only.
BROKEN = [(name, broken) for name in NAMES for broken in (other_ties, no_saturation)]
BROKEN += [
    (name, broken) for name in ("float:3,2", "fp8_e4m3", "ieee:4,3,normal") for broken in (other_subnormals, coarser)
]


@pytest.mark.parametrize(("name", "broken"), BROKEN)
def test_broken(name: str, broken) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    fast = Fast(format)
    wrong = rounding_rule(broken(format), fast.host.dtype)
    fast.host = replace(fast.host, rule=wrong)
    fast._inner = wrong
    assert not agrees(fast, format)


@told
def shares_agree(fast: Fast, format: Format) -> bool:
    """Whether quotients, roots, exp and softmax of the fast arithmetic are the reference's."""
    reference, codes = Reference(format), np.arange(format.min_code, format.max_code + 1)
    x, y = np.repeat(codes, len(codes))[::3], np.tile(codes, len(codes))[::3]
    x, y = x[y != 0], y[y != 0]
    positive, scores = codes[codes >= 0], codes[: len(codes) // 3 * 3].reshape(1, 3, -1)
    visible = np.ones((1, 3), bool)
    results = []
    for engine in (fast, reference):
        shares, _ = engine.attention_weights(engine.values(scores), visible, "max-subtracted")
        found = (engine.divide(engine.values(x), engine.values(y)), engine.root(engine.values(positive)), shares)
        results.append([engine.codes(each) for each in (*found, engine.exp(engine.values(codes)))])
    return all(np.array_equal(ours, theirs) for ours, theirs in zip(*results, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_quotients_unbroken(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    assert shares_agree(Fast(format), format)


# A quotient of two normal floats is never a tie, so where there is nothing else the ties cannot matter.
QUOTIENTS = [(name, other_ties) for name in NAMES if name != "ieee:4,3,normal"]
QUOTIENTS += [("ieee:4,3,normal", coarser), ("ieee:4,3,normal", other_subnormals), ("fp8_e4m3", coarser)]


@pytest.mark.parametrize(("name", "broken"), QUOTIENTS)
def test_broken_quotients(name: str, broken) -> None:
    """The rule by which quotients and roots are rounded is that of another format."""
    format = parse_format(name)
    assert isinstance(format, Format)
    fast = Fast(format)
    fast.host = replace(fast.host, rule64=rounding_rule(broken(format), np.float64))
    assert not shares_agree(fast, format)


def test_a_broken_table_of_exp(monkeypatch: pytest.MonkeyPatch) -> None:
    format = parse_format("fixed:3")
    assert isinstance(format, Format)
    first, table = fast_module._table(format, np.dtype(np.float32))
    wrong = table.copy()
    wrong[len(wrong) // 2] += 1
    monkeypatch.setattr(fast_module, "_table", lambda *_: (first, wrong))
    assert not shares_agree(Fast(format), format)


def test_fused_is_not_rounded() -> None:
    """The two readings of an inner product differ, and each engine follows the one it was asked for."""
    format = parse_format("fixed:3")
    assert isinstance(format, Format)
    assert agrees(Fast(format, "fused"), format)
    # In units of 1/8: 2, then −3/2, a tie. Rounded first it is −1 and leaves 1; fused, 2 − 3/2 = 1/2 is itself a tie, to 0.
    weights = np.array([[format.code(Fraction(1)), format.code(Fraction(-3, 8))]])
    x = np.array([[[format.code(Fraction(1, 4))]], [[format.code(Fraction(1, 2))]]])
    for engine in (Fast, Reference):
        rounded, fused = (engine(format, products) for products in ("rounded", "fused"))
        assert rounded.codes(rounded.linear(rounded.weights(weights), rounded.values(x))).item() == 1
        assert fused.codes(fused.linear(fused.weights(weights), fused.values(x))).item() == 0
