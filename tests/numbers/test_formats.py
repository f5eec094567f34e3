"""The sets of numbers: sizes, limits, names, codes, rounding by its definition."""

import re
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.numbers.families import small_formats, varied

from glyptic.errors import FormatError
from glyptic.numbers import (
    Exact,
    Fixed,
    Float,
    Format,
    Ieee,
    Q,
    Reference,
    check_codes,
    check_width,
    decode,
    encode,
    exp_rounded,
    number,
    parse_format,
    same_numbers,
    to_float64,
)

SMALL = small_formats(64)


def test_limits_of_the_paper() -> None:
    """Section 1 of the notes: B and the smallest positive value."""
    for s in range(1, 6):
        assert Fixed(s).max == 2**s - Fraction(1, 2**s)
        assert Fixed(s).least == Fraction(1, 2**s)
        assert Fixed(s).size == 2 * (2 ** (2 * s) - 1) + 1
        for e in range(1, 5):
            assert Float(e, s).max == Fixed(s).max * 2 ** (2 ** (e - 1) - 1)
            assert Float(e, s).least == Fraction(1, 2 ** (s + 2 ** (e - 1)))
    assert Float(0, 3) == Fixed(3)


def test_the_papers_set_to_the_letter() -> None:
    """F(e, s) is all S · 2^(E−s): the codes enumerate exactly that set, once each."""
    for e, s in [(1, 1), (2, 1), (1, 2), (2, 2), (3, 2)]:
        exponents = range(-(2 ** (e - 1)), 2 ** (e - 1))
        literal = {k * Fraction(2) ** (E - s) for E in exponents for k in range(-(2 ** (2 * s)) + 1, 2 ** (2 * s))}
        assert list(Float(e, s).values()) == sorted(literal)


def test_machine_limits() -> None:
    assert float(parse_format("fp16").max) == np.finfo(np.float16).max
    assert float(parse_format("fp16").least) == 2.0**-24
    assert float(parse_format("fp32").max) == np.finfo(np.float32).max
    assert parse_format("fp8_e4m3").max == 448 and parse_format("fp8_e5m2").max == 57344
    assert (Q(4, 4).min, Q(4, 4).max) == (-16, Fraction(255, 16))
    assert Ieee(5, 10, subnormals=False).least == Fraction(1, 2**14)


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_codes_are_ranks(format: Format) -> None:
    values = list(format.values())
    assert values == sorted(set(values)) and len(values) == format.size
    assert [format.code(value) for value in values] == list(range(format.min_code, format.max_code + 1))
    assert format.value(0) == 0 and all(value in format for value in values)
    assert format.neighbours(values[0])[0] is None and format.neighbours(values[-1])[1] is None
    assert format.neighbours(0) == (format.value(-1), format.least)
    assert Fraction(1, 3) not in format and "1" not in format


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_rounding_by_its_definition(format: Format) -> None:
    """The nearest value; at a tie the smaller, or the one whose significand is even; beyond the ends, the end."""
    values = list(format.values())
    for a, b in pairwise(values):
        third, middle = (2 * a + b) / 3, (a + b) / 2
        assert format.round(third) == a and format.round((a + 2 * b) / 3) == b
        assert format.round(middle) == (min(a, b, key=abs) if format.ties == "zero" else _even(format, a, b))
    assert format.round(format.max + 1000) == format.max and format.round(format.min - 1000) == format.min


def _even(format: Format, a: Fraction, b: Fraction) -> Fraction:
    # Ranks of neighbours have the parity of their significands, as in IEEE's encodings; without subnormals 0 is even too.
    codes = (format.code(a), format.code(b))
    if 0 in codes:
        return Fraction(0)
    return a if (abs(codes[0]) + format._missing) % 2 == 0 else b


@pytest.mark.parametrize(
    "name",
    [
        "fixed:8",
        "fixed:8/even",
        "float:5,10",
        "q:4,4",
        "ieee:5,10",
        "ieee:4,3,normal",
        "fp16",
        "fp16/zero",
        "bf16",
        "exact",
        "exact:6",
    ],
)
def test_names_read_back(name: str) -> None:
    assert str(parse_format(name)) == name


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("fixed", "not a format"),
        ("fixed:", "not a format"),
        ("fixed:x", "not a format"),
        ("fixed:8,2", "not a format"),
        ("fp17", "not a format"),
        ("exact:0", "not a format"),
        ("fixed:0", "between 1 and 512"),
        ("float:17,2", "between 0 and 16"),
        ("q:0,0", "at least 1"),
        ("ieee:1,2", "between 2 and 15"),
        ("fixed:8/up", "tie rule"),
        ("float:-1,2", "between"),
        ("", "not a format"),
    ],
)
def test_unknown_names(text: str, part: str) -> None:
    with pytest.raises(FormatError, match=part):
        parse_format(text)


def test_bad_values() -> None:
    with pytest.raises(FormatError, match="nearest is 1/4"):
        Fixed(2).code(Fraction(3, 8))
    with pytest.raises(FormatError, match="codes from -15 to 15"):
        Fixed(2).value(16)
    with pytest.raises(FormatError, match=r"bias\[1\]: 1/3 is not a value"):
        encode([1, "1/3"], Fixed(2), "bias")
    with pytest.raises(FormatError, match=r"w\[0, 1\]: 100 is not a value of fixed:2; the nearest is 15/4"):
        encode(np.array([[1.0, 100.0]]), Fixed(2), "w")
    with pytest.raises(FormatError, match="largest value is written B"):
        encode(np.array([np.inf]), Fixed(2))
    with pytest.raises(FormatError, match="largest value is written B"):
        number(float("nan"), Fixed(2))
    with pytest.raises(FormatError, match="'one' is not a number"):
        number("one", Fixed(2))
    with pytest.raises(FormatError, match=r"output\[1\]: code 99"):
        check_codes(np.array([1, 99]), Fixed(2), "output")
    with pytest.raises(FormatError, match="fixed:31 is the widest"):
        encode([1], Fixed(32))
    with pytest.raises(FormatError, match="does not fit in float64"):
        to_float64(np.array([1]), Fixed(30))
    with pytest.raises(FormatError, match="no largest value"):
        Exact().max  # noqa: B018
    with pytest.raises(FormatError, match="use exact:3"):
        Exact(2).code(Fraction(1, 3))


def test_numbers_as_written() -> None:
    F = Fixed(3)
    assert [number(text, F) for text in ("B", "-B", "∞", "−∞", "1/2", "0.25", 2)] == [
        F.max, -F.max, F.max, -F.max, Fraction(1, 2), Fraction(1, 4), 2,
    ]  # fmt: skip
    assert number(np.float32(0.5), F) == Fraction(1, 2)


@pytest.mark.parametrize("format", varied(), ids=str)
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no fault
@given(data=st.data())
def test_encoding_round_trips(format: Format, data: st.DataObject) -> None:
    """encode ∘ decode = id, by doubles and by fractions; rounding while encoding is the format's own."""
    codes = np.array(data.draw(st.lists(st.integers(format.min_code, format.max_code), min_size=1, max_size=8)))
    assert np.array_equal(encode(decode(codes, format), format), codes)
    assert np.array_equal(encode(to_float64(codes, format), format), codes)
    loose = data.draw(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=8))
    nearest = [format.code(format.round(Fraction(x))) for x in loose]
    assert encode(np.array(loose), format, nearest=True).tolist() == nearest


def test_exact_rounds_nothing() -> None:
    exact = Exact(6)
    assert exact.round(Fraction(1, 7)) == Fraction(1, 7) and Fraction(1, 7) in exact
    assert exact.value(exact.code(Fraction(5, 3))) == Fraction(5, 3)
    assert exact.with_ties("even") is exact
    assert encode(["1/3"], exact).tolist() == [2]


@pytest.mark.parametrize(
    ("values", "name", "message"),
    [
        ([[1, 2], [3]], "fixed:2", "rows have different lengths"),
        (["1e30"], "exact", "too large for a code of 64 bits"),
        ([2**53 + 1], "float:8,12", "9007199254740993 is not a value of float:8,12"),
        ([2**70], "fixed:2", "the nearest is 15/4"),
    ],
)
def test_numbers_that_cannot_be_written(values: list, name: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        encode(values, parse_format(name))


def test_floats_beyond_doubles() -> None:
    """Exponents of 11 and 12 bits reach further than a double's; its own numbers are still values."""
    for name in ("float:11,4", "ieee:12,3"):
        format = parse_format(name)
        assert [format.value(int(code)) for code in encode([0.5, 1.25, -3.0], format)] == [Fraction(1, 2), Fraction(5, 4), -3]


def test_a_sign_is_written_once() -> None:
    with pytest.raises(FormatError, match="'fixed:--8' is not a format"):
        parse_format("fixed:--8")


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64])
def test_numbers_of_few_bits_make_the_same_formats_and_values(kind: type) -> None:
    """1 << 10 of eight bits is 0: once Fixed(np.int8(5)) was another set of numbers under the same name."""
    makers: list[Any] = [(Fixed, (5,)), (Fixed, (33,)), (Float, (4, 7)), (Ieee, (8, 9))]
    makers += [(Q, (6, 6)), (Q, (60, 60)), (Exact, (3,))]
    for made, sizes in makers:
        plain, few = made(*sizes), made(*map(kind, sizes))
        assert few == plain and str(few) == str(plain)
        assert few.value(kind(100)) == plain.value(100) and few.code(kind(2)) == plain.code(2)


def test_a_number_of_thousands_of_digits_is_refused_in_a_sentence() -> None:
    for text, size in (("1e9999", "near 2^33215"), ("-1e9999", "near −2^33215"), ("1e-9999", "near 2^-33216")):
        with pytest.raises(FormatError, match=re.escape(size)):
            encode(text, "fixed:3")


def test_formats_are_taken_by_name_by_every_function_that_wants_one() -> None:
    one = np.array([4])
    assert decode(one, "fixed:2")[0] == to_float64(one, "fixed:2")[0] == number("1", "fixed:2") == 1
    assert exp_rounded(Fraction(0), "fixed:2") == 1
    assert same_numbers("fixed:2", "fixed:2/even") and number("B", "fixed:2") == Fixed(2).max
    check_width("fixed:2")
    check_codes(one, "fixed:2", "it")
    for codes in ("x", [[1, 2], [3]], {1: 2}, [1.5], None):
        for function in (decode, to_float64, lambda given, format: check_codes(given, format, "it")):
            with pytest.raises(FormatError, match="no array of codes"):
                function(codes, "fixed:2")
    for wrong in (3, None, "fixed", np.zeros(2)):
        for function in (lambda format: decode(one, format), lambda format: number(1, format), check_width):
            with pytest.raises(FormatError):
                function(wrong)


@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.array([]), ["zero"], 1, None, {}])
def test_arrays_and_lists_are_no_words(wrong: object) -> None:
    """A comparison with an array is an array, whose truth Python refuses to say."""
    given: Any = wrong
    makers = (Fixed(2).with_ties, lambda word: Fixed(2, word), lambda word: Reference("fixed:2", word))
    for make in (*makers, lambda word: Ieee(3, 2, subnormals=word)):
        with pytest.raises(FormatError):
            make(given)
