"""gelu, gelu_tanh and silu: the reference against FLINT's balls and against mpmath, the compiled engine against the reference."""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.numbers.families import small_formats
from tests.numbers.test_larger_formats import LARGE, codes_of, relaxed

from glyptic.errors import FormatError
from glyptic.numbers import Exact, Format, Reference, parse_format
from glyptic.numbers import fast as fast_module
from glyptic.numbers.activations import TURNS, activate_floats, activation_rounded, activation_table
from glyptic.numbers.fast import Fast

KINDS = ("gelu", "gelu_tanh", "silu")


def ball(kind: str, x: Fraction) -> flint.arb:
    """The value by the textbook's formula, in balls: an upper bound of what is not known comes with it."""
    y = flint.arb(flint.fmpq(x.numerator, x.denominator))
    if kind == "silu":
        return y / (1 + (-y).exp())
    if kind == "gelu":
        return y * (-y / flint.arb(2).sqrt()).erfc() / 2
    inner = (2 / flint.arb.pi()).sqrt() * (y + flint.arb(flint.fmpq(44715, 1000000)) * y**3)
    return y * (1 + inner.tanh()) / 2


def by_arb(kind: str, x: Fraction, format: Format) -> Fraction:
    for precision in (200, 1000, 5000, 40000):
        flint.ctx.prec = precision
        low, high = (_fraction(end) for end in (ball(kind, x).lower(), ball(kind, x).upper()))
        if format.round(low) == format.round(high):
            return format.round(low)
    raise AssertionError("no precision decides")


def _fraction(x: flint.arb) -> Fraction:
    mantissa, exponent = x.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["fixed:1", "fixed:3", "fixed:4/even", "q:3,2", "float:2,2", "fp8_e4m3", "fp6_e3m2"])
def test_all_values_against_arb(kind: str, name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    for x in format.values():
        assert activation_rounded(kind, x, format) == by_arb(kind, x, format), x


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["fixed:8", "fixed:16/even", "fixed:30", "float:5,10", "fp16", "bf16", "fp32", "ieee:11,52"])
def test_some_values_against_arb(kind: str, name: str) -> None:
    format, rng = parse_format(name), np.random.default_rng(3)
    assert isinstance(format, Format)
    near = [format.code(format.round(Fraction(x))) for x in rng.normal(0, 3, 60).tolist()]
    anywhere = rng.integers(format.min_code, format.max_code, 20).tolist()
    for code in [1, -1, format.max_code, format.min_code, *near, *anywhere]:
        x = format.value(code)
        if abs(x) < 2000:
            assert activation_rounded(kind, x, format) == by_arb(kind, x, format), x


@pytest.mark.parametrize("kind", KINDS)
def test_all_values_of_all_small_formats_compiled(kind: str) -> None:
    for format in small_formats(300):
        codes = np.arange(format.min_code, format.max_code + 1)
        fast, reference = Fast(format), Reference(format)
        wanted = reference.codes(reference.activate(kind, reference.values(codes)))
        assert np.array_equal(fast.codes(fast.activate(kind, fast.values(codes))), wanted), str(format)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in LARGE if not name.startswith(("fixed:17", "q:12,16"))])
@settings(relaxed, max_examples=12)
@given(data=st.data())
def test_larger_formats_compiled(kind: str, name: str, data: st.DataObject) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    usual = st.floats(-9, 9).map(lambda x: format.code(format.round(Fraction(x))))
    codes = np.array(data.draw(st.lists(st.one_of(codes_of(format), usual), min_size=8, max_size=8)))
    fast, reference = Fast(format), Reference(format)
    wanted = reference.codes(reference.activate(kind, reference.values(codes)))
    assert fast.codes(fast.activate(kind, fast.values(codes))).tolist() == wanted.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["fixed:8", "fixed:8/even", "fp16", "bf16/zero"])
def test_every_value_of_formats_in_use_compiled(kind: str, name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    codes = np.arange(format.min_code, format.max_code + 1)
    fast, reference = Fast(format), Reference(format)
    wanted = reference.codes(reference.activate(kind, reference.values(codes)))
    assert np.array_equal(fast.codes(fast.activate(kind, fast.values(codes))), wanted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["fixed:17", "q:12,16"])
def test_wide_tables_are_right_where_they_begin_and_end(kind: str, name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    first, table = activation_table(kind, format)
    last = first + len(table) - 1
    assert table[0] == 0 and table[-1] == last  # and what lies beyond is 0, or x itself
    rng = np.random.default_rng(0)
    for code in [first - 1, first, last, last + 1, *rng.integers(first, last, 60).tolist()]:
        wanted = format.code(activation_rounded(kind, format.value(code), format))
        assert wanted == (table[code - first] if first <= code <= last else max(code, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_what_lies_beside_a_boundary_goes_to_the_enclosure(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a margin that is far too wide nearly everything is asked of the enclosure, and all is as before."""
    format = parse_format("fixed:6")
    assert isinstance(format, Format)
    x = np.arange(-400, 400) / 64
    before = activate_floats(kind, x, format)
    monkeypatch.setattr("glyptic.numbers.activations._MARGIN", 0.2)
    assert np.array_equal(activate_floats(kind, x, format), before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_double_that_is_wrong_in_its_last_bits_is_noticed_by_nobody(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An erfc or exp that errs by 2^−43 changes nothing: the margin is there for it; one that errs by 2^−20 does."""
    from glyptic.numbers import activations

    format, true = parse_format("fixed:12"), activations._tail_floats
    assert isinstance(format, Format)
    x = np.arange(-40000, 40000) / 4096
    right = activate_floats(kind, x, format)
    for error, noticed in ((2.0**-43, False), (-(2.0**-43), False), (2.0**-14, True)):
        monkeypatch.setattr(activations, "_tail_floats", lambda kind, y, e=error: true(kind, y) * (1 + e))
        assert (activate_floats(kind, x, format) != right).any() == noticed


@pytest.mark.parametrize("kind", KINDS)
def test_where_it_turns(kind: str) -> None:
    """To the left of the turn it falls, to the right it rises, and nowhere is it below the bound: what solvers are told."""
    left, right, least = TURNS[kind]
    format = parse_format("fixed:10")
    assert isinstance(format, Format)
    values = [(x, activation_rounded(kind, x, format)) for x in (Fraction(k, 1024) for k in range(-9000, 9000))]
    falling = [y for x, y in values if x <= left]
    rising = [y for x, y in values if x >= right]
    assert falling == sorted(falling, reverse=True) and rising == sorted(rising)
    flint.ctx.prec = 200
    around = [left, *(left + (right - left) * k / 10 for k in range(11)), right]
    assert all(_fraction(ball(kind, x).lower()) > least for x in around)
    step = (right - left) / 8
    assert ball(kind, left - step) > ball(kind, left) and ball(kind, right + step) > ball(kind, right)


def test_a_broken_table_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    format = parse_format("fixed:3")
    assert isinstance(format, Format)
    first, table = fast_module._activation_table("gelu", format, np.dtype(np.float32))
    wrong = table.copy()
    wrong[len(wrong) // 2 + 3] += 1
    monkeypatch.setattr(fast_module, "_activation_table", lambda *_: (first, wrong))
    codes = np.arange(format.min_code, format.max_code + 1)
    fast, reference = Fast(format), Reference(format)
    wanted = reference.codes(reference.activate("gelu", reference.values(codes)))
    assert not np.array_equal(fast.codes(fast.activate("gelu", fast.values(codes))), wanted)


def test_ends_and_refusals() -> None:
    wide = parse_format("float:16,8")
    assert isinstance(wide, Format)
    for kind in KINDS:  # neither overflows a double nor fills the memory
        assert activation_rounded(kind, wide.max, wide) == wide.max and activation_rounded(kind, wide.min, wide) == 0
        assert activation_rounded(kind, wide.least, wide) in (0, wide.least)  # x/2 lies a little above a tie
        assert activation_rounded(kind, Fraction(0), Exact()) == 0
        with pytest.raises(FormatError, match="not known to be rational"):
            activation_rounded(kind, Fraction(1), Exact())
    assert activation_rounded("relu", Fraction(-3), Exact()) == 0
    with pytest.raises(FormatError, match="is not one of relu, gelu, gelu_tanh, silu"):
        activation_rounded("swish", Fraction(1), "fixed:4")  # type: ignore[arg-type]
