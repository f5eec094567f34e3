"""Every constructor at the edges of what it admits: codes there and back, and the compiled arithmetic against the reference."""

from fractions import Fraction

import numpy as np
import pytest
from tests.numbers.edges import admitted, biased_codes, constructed

from glyptic.errors import FormatError
from glyptic.numbers import (
    Exact,
    Fixed,
    Float,
    Format,
    Ieee,
    Q,
    Reference,
    as_format,
    check_width,
    decode,
    encode,
    parse_format,
    to_float64,
)
from glyptic.numbers.fast import Fast
from glyptic.numbers.hosts import refusal

CONSTRUCTED = constructed()
READINGS = ("rounded", "fused", "unrounded")
LARGEST = {products: admitted(fused=products != "rounded") for products in READINGS}


# Codes ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("float:5,15", 4),
        ("float:6,15", 1),
        ("ieee:8,30", 1),
        ("ieee:5,30", 1),
        ("ieee:10,23", 1),
        ("float:5,16", 1),
        ("ieee:8,31", 1),
        ("ieee:9,23", 4),
        ("float:9,12", 2.0**200),
    ],
)
def test_a_number_is_stored_as_itself_where_codes_pass_31_bits(name: str, number: float) -> None:
    format = parse_format(name)
    for given in (number, [number], np.array([number], np.float64), [Fraction(number)]):
        assert decode(encode(given, format), format).ravel().tolist() == [Fraction(number)]


def assert_codes_return(format: Format, rng: np.random.Generator, count: int) -> None:
    codes = biased_codes(format, rng, count)
    values = decode(codes, format)
    assert [format.code(value) for value in values] == codes.tolist()
    assert np.array_equal(encode(values, format), codes) and np.array_equal(encode(values, format, nearest=True), codes)
    order = np.argsort(codes, kind="stable")
    assert (np.diff(codes[order]) == 0).tolist() == [a == b for a, b in zip(values[order], values[order][1:], strict=False)]
    try:
        doubles = to_float64(codes, format)
    except FormatError:
        doubles = np.array([])
    if doubles.size:
        assert [Fraction(x) for x in doubles.tolist()] == values.tolist()
        assert np.array_equal(encode(doubles, format), codes)
        loose = np.concatenate([doubles, doubles * 0.75, doubles + doubles[::-1] / 2, np.nextafter(doubles, np.inf)])
        loose = loose[np.isfinite(loose)]
        nearest = [format.code(format.round(Fraction(x))) for x in loose.tolist()]
        assert encode(loose, format, nearest=True).tolist() == nearest
    if refusal(format) is None:
        fast = Fast(format)
        assert np.array_equal(fast.codes(fast.values(codes)), codes)


@pytest.mark.parametrize("kind", ["fixed", "q", "float", "ieee"])
def test_codes_return_at_the_edges(kind: str) -> None:
    rng = np.random.default_rng(11)
    formats = [format for format in CONSTRUCTED if str(format).startswith(kind)]
    assert len(formats) > 20
    for format in formats[:: 1 + len(formats) // 60]:
        assert_codes_return(format, rng, 12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_codes_return_in_every_format_at_the_edges(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for format in CONSTRUCTED:
        assert_codes_return(format, rng, 40)


# Arithmetic -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["q:24,0", "q:23,0", "q:22,0", "q:52,0", "q:51,0"])
@pytest.mark.parametrize("eighths", [8, 7, 5])
def test_one_times_a_large_whole_number_is_that_number(name: str, eighths: int) -> None:
    """With ties to zero and no fraction bits |x| − ½ once had no room in the host: at B, or only where clamps were dropped."""
    format = parse_format(name)
    assert isinstance(format, Format)
    fast, weights = Fast(format), encode([[1] * 4] * 16, format)
    for number in range(format.max_code // 8 * eighths - 3, format.max_code // 8 * eighths):
        x = np.zeros((4, 64, 1), np.int64)
        x[0] = number
        wide = fast.codes(fast.linear(fast.weights(weights), fast.values(x)))
        alone = fast.codes(fast.linear(fast.weights(weights), fast.values(x[:, :1])))
        assert (wide == number).all() and (alone == number).all()


def test_integers_of_53_bits_leave_no_room_for_a_half() -> None:
    assert "needs 54 bits" in str(refusal(Q(53, 0)))
    assert refusal(Q(52, 0)) is None


def assert_same_arithmetic(format: Format, products: str, rng: np.random.Generator, count: int) -> None:
    fast, reference = Fast(format, products), Reference(format, products)  # type: ignore[arg-type]
    x, y = biased_codes(format, rng, count), biased_codes(format, rng, count)

    def same(operation: str, *codes: np.ndarray) -> None:
        ours, theirs = (engine.codes(getattr(engine, operation)(*map(engine.values, codes))) for engine in (fast, reference))
        assert np.array_equal(ours, theirs), f"{format}, {operation}: {[c[(ours != theirs)][:3] for c in codes]}"

    for operation in ("add", "subtract", "multiply"):
        same(operation, x, y)
    same("divide", x, np.where(y == 0, 1, y))
    same("root", np.minimum(np.abs(x), format.max_code))
    same("exp", x[: count // 2])
    columns = x[: count // 4 * 4].reshape(-1, 4, 1)
    assert np.array_equal(*(engine.codes(engine.total(engine.values(columns))) for engine in (fast, reference)))
    assert np.array_equal(*(engine.codes(engine.divide_by_count(engine.values(x), 7)) for engine in (fast, reference)))


def assert_same_products(format: Format, products: str, rng: np.random.Generator, depth: int, columns: int) -> None:
    """A dense matrix and a sparse one, alone and in a batch of 64 columns, whose bounds the wide path looks for."""
    fast, reference = Fast(format, products), Reference(format, products)  # type: ignore[arg-type]
    weights = biased_codes(format, rng, 16 * depth).reshape(16, depth)
    weights[:4] >>= rng.integers(0, format.precision, (4, depth))
    one = format.code(format.round(1))
    weights[4:6] = rng.choice([one, -one], (2, depth))
    weights[13:] = np.where(rng.random((3, depth)) < 0.5, 0, weights[13:])
    whole = biased_codes(format, rng, depth * 64).reshape(depth, 64, 1)
    for x in (whole, whole // 8 * 7 + 1):  # up to B, and so far from it that single products need no clamp
        wide = fast.codes(fast.linear(fast.weights(weights), fast.values(x)))
        chosen = rng.integers(0, 64, columns)
        theirs = reference.codes(reference.linear(reference.weights(weights), reference.values(x[:, chosen])))
        assert np.array_equal(wide[:, chosen], theirs), format
        for j in chosen[:4]:
            alone = fast.codes(fast.linear(fast.weights(weights), fast.values(x[:, j : j + 1])))
            assert np.array_equal(alone[:, 0], wide[:, j]), format


def assert_same_attention(format: Format, products: str, rng: np.random.Generator) -> None:
    fast, reference = Fast(format, products), Reference(format, products)  # type: ignore[arg-type]
    visible = np.tril(np.ones((3, 3), bool))
    q, k, w = (biased_codes(format, rng, 18) for _ in range(3))
    for operation, left, right in (("scores", (2, 3, 3), (2, 3, 3)), ("mixture", (3, 3, 2), (3, 3, 2))):
        ours, theirs = (
            engine.codes(
                getattr(engine, operation)(engine.values(q.reshape(left)), engine.values(k.reshape(right)), visible)
            )
            for engine in (fast, reference)
        )
        assert np.array_equal(ours, theirs), (format, operation)
    shares = [
        engine.attention_weights(engine.values(w.reshape(3, 3, 2)), visible, "max-subtracted") for engine in (fast, reference)
    ]
    assert np.array_equal(fast.codes(shares[0][0]), reference.codes(shares[1][0])), format


def has_short_table(format: Format) -> bool:
    """Whether the table of exp, as `hosts` reckons it, is soon made."""
    return not format.is_fixed or format.precision << -format.least_exponent < 1 << 14


def test_the_largest_formats_of_every_host_compute_as_the_reference() -> None:
    rng = np.random.default_rng(5)
    formats = [format for format in LARGEST["rounded"] if has_short_table(format)]
    assert {Fast(format).host.dtype for format in formats} == {np.float32, np.float64}
    integers = [format for format in formats if format.is_fixed and format.least_exponent == 0]
    assert len(integers) == 4  # two hosts, two tie rules
    for format in {*integers, *formats[::5]}:
        assert_same_arithmetic(format, "rounded", rng, 24)


# One of each rounding and host, since every one of them is compiled; all formats are in the slow test.
SOME = {
    "rounded": ["q:23,0", "q:52,0", "q:22,1", "fixed:8", "float:6,5", "float:9,12", "ieee:9,23"],
    "fused": ["q:11,0", "q:26,0", "float:9,12", "ieee:9,23"],
    "unrounded": ["q:11,0", "q:26,0", "float:9,12", "ieee:9,23"],
}


@pytest.mark.parametrize(("products", "name"), [(products, name) for products, names in SOME.items() for name in names])
def test_inner_products_in_the_largest_formats(products: str, name: str) -> None:
    format = parse_format(name)
    assert format in LARGEST[products]
    rng = np.random.default_rng(6)
    for depth in (1, 2, 5):
        assert_same_products(format, products, rng, depth, 4)  # type: ignore[arg-type]
    assert_same_attention(format, products, rng)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("products", READINGS)
@pytest.mark.parametrize("seed", range(3))
def test_every_largest_format_computes_as_the_reference(products: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for format in LARGEST[products]:
        if seed == 0 or has_short_table(format):
            assert_same_arithmetic(format, products, rng, 80)
        for depth in (1, 2, 3, 6):
            assert_same_products(format, products, rng, depth, 12)
        for _ in range(3):
            assert_same_attention(format, products, rng)


# What constructors refuse -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fixed:32", "float:5,40", "q:40,40", "ieee:11,60", "ieee:11,60,normal", "float:2,31", "q:64,0"])
def test_formats_wider_than_arrays_are_refused_where_arrays_begin(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    wide = "has .*-bit codes, and arrays of codes have 64 bits"
    for attempt in (
        lambda: encode([1], format),
        lambda: encode("B", name),
        lambda: check_width(format),
        lambda: Reference(format).codes(np.array([Fraction(1)], dtype=object)),
    ):
        with pytest.raises(FormatError, match=wide):
            attempt()
    assert format.value(format.max_code) == format.max and format.code(format.max) == format.max_code  # still a set of numbers


def test_the_sentence_on_wide_formats_is_true() -> None:
    fixed, two = (Fixed(31), Fixed(32)), (Q(60, 3), Q(60, 4))
    for inside, outside in (fixed, two, (Float(5, 29), Float(6, 29)), (Ieee(11, 52), Ieee(11, 53))):
        check_width(inside)
        assert encode("B", inside) == inside.max_code
        with pytest.raises(FormatError, match="fixed:31 is the widest"):
            check_width(outside)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: parse_format("q:1000,1000"), "q:1000,1000: m \\+ f must be at least 1 and at most 1024"),
        (lambda: parse_format("q:-1,3"), "must not be negative"),
        (lambda: parse_format("fixed:" + "9" * 6000), "is not a format"),
        (lambda: parse_format("fixed:\x1b[2J"), r"\\x1b"),
        (lambda: parse_format(8), "8 is not a format"),  # type: ignore[arg-type]
        (lambda: as_format(None), "None is not a format"),  # type: ignore[arg-type]
        (lambda: Fixed(2.5), "2.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: Fixed("8"), "'8' is not a whole number"),  # type: ignore[arg-type]
        (lambda: Fixed(True), "True is not a whole number"),
        (lambda: Float(5, float("nan")), "nan is not a whole number"),  # type: ignore[arg-type]
        (lambda: Q(4, None), "None is not a whole number"),  # type: ignore[arg-type]
        (lambda: Ieee(5.0, 10), "5.0 is not a whole number"),  # type: ignore[arg-type]
        (lambda: Exact(0), "the denominator must be at least 1"),
        (lambda: Exact(0.5), "0.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: Fixed(4, "up"), "the tie rule is 'zero' or 'even', not 'up'"),  # type: ignore[arg-type]
        (lambda: Fixed(4).with_ties("odd"), "not 'odd'"),  # type: ignore[arg-type]
        (lambda: Fixed(4).round("1/3"), "'1/3' is not a number"),  # type: ignore[arg-type]
        (lambda: Fixed(4).round(float("nan")), "nan is not a number"),  # type: ignore[arg-type]
        (lambda: Fixed(4).code(None), "None is not a number"),  # type: ignore[arg-type]
        (lambda: Fixed(4).value("1"), "'1' is not a code"),  # type: ignore[arg-type]
        (lambda: Fixed(4).value(1.5), "1.5 is not a code"),  # type: ignore[arg-type]
        (lambda: encode([1, None], "fixed:4", "bias"), r"bias\[1\]: None is not a number"),
        (lambda: encode([1, float("nan")], "fixed:4", "bias"), r"bias\[1\]: nan is not a number"),
        (lambda: encode(float("nan"), "fixed:4", "bias"), "bias: nan is not a number"),
        (lambda: encode([1j], "fixed:4"), "is not a number"),
        (lambda: encode([{}], "fixed:4"), "is not a number"),
        (lambda: encode("1e99999999", "fixed:4"), "is not a number"),
        (lambda: encode(["x" * 9000], "fixed:4"), "…"),
        (lambda: encode([1], "fixed"), "'fixed' is not a format"),
        (lambda: Reference(Fixed(4), "rounds"), "knows rounded, fused, unrounded"),  # type: ignore[arg-type]
        (lambda: Fast("fixed:4", "rounds"), "knows rounded, fused, unrounded"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_format_or_no_number_is_said_in_a_sentence(make, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        make()
    assert len(str(caught.value)) < 400 and str(caught.value).endswith(".")
