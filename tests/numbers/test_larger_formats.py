"""Formats too large to exhaust: Hypothesis, biased to ties, subnormals and saturation; compiled = reference."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from glyptic.numbers import Format, Reference, encode, parse_format
from glyptic.numbers.fast import Fast

LARGE = [
    f"{name}/{ties}"
    for name in (
        *("fixed:5", "fixed:8", "fixed:9", "fixed:13", "fixed:17", "q:8,8", "q:12,16"),
        *("float:3,5", "float:5,5", "float:5,10", "float:6,12", "fp16", "bf16", "fp32", "ieee:6,9,normal"),
    )
    for ties in ("zero", "even")
]
relaxed = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def codes_of(format: Format) -> st.SearchStrategy[int]:
    """Codes, often of subnormals, near the largest, near powers of two, or near 1."""
    top, half = format.max_code, 1 << (format.precision - 1)
    one = format.code(format.round(1))
    three_halves = format.code(format.round(Fraction(3, 2)))  # times an odd number of units it is a tie
    centres = [0, top, -top, one, -one, half, -half, one // 2, three_halves, -three_halves]
    near = st.builds(lambda c, d: c + d, st.sampled_from(centres), st.integers(-3, 3))
    return st.one_of(near, st.integers(format.min_code, top), st.integers(-300, 300)).filter(
        lambda code: format.min_code <= code <= top
    )


def near_tie(format: Format, code: int, step: int) -> int | None:
    """A code whose value, added to that of `code`, lands on or beside the middle between two neighbours."""
    target = (format.value(code) + format.value(max(format.min_code, min(format.max_code, code + step)))) / 2
    difference = format.round(target - format.value(code))
    return format.code(difference)


@pytest.mark.parametrize("name", LARGE)
@relaxed
@given(data=st.data())
def test_elementwise(name: str, data: st.DataObject) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    left = data.draw(st.lists(codes_of(format), min_size=6, max_size=6))
    right = data.draw(st.lists(codes_of(format), min_size=4, max_size=4))
    right += [near_tie(format, left[4], 1), near_tie(format, left[5], -1)]
    fast, reference = Fast(format), Reference(format)
    x, y = np.array(left), np.array(right)
    for name_of in ("add", "subtract", "multiply"):
        ours = getattr(fast, name_of)(fast.values(x), fast.values(y))
        theirs = getattr(reference, name_of)(reference.values(x), reference.values(y))
        assert fast.codes(ours).tolist() == reference.codes(theirs).tolist(), name_of
    y = np.where(y == 0, 1, y)
    quotients = reference.codes(reference.divide(reference.values(x), reference.values(y)))
    assert fast.codes(fast.divide(fast.values(x), fast.values(y))).tolist() == quotients.tolist()
    roots = reference.codes(reference.root(reference.values(abs(x).clip(max=format.max_code))))
    assert fast.codes(fast.root(fast.values(abs(x).clip(max=format.max_code)))).tolist() == roots.tolist()
    exps = reference.codes(reference.exp(reference.values(x)))
    assert fast.codes(fast.exp(fast.values(x))).tolist() == exps.tolist()


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize(
    "name",
    [
        *("fixed:3/zero", "fixed:8/zero", "fixed:8/even", "fixed:13/zero", "q:5,6/even"),
        *("float:3,4/zero", "float:5,5/even", "fp16/even", "bf16/zero", "fp32/even"),
    ],
)
@relaxed
@given(data=st.data())
def test_inner_products(name: str, products: str, data: st.DataObject) -> None:
    """Sums of up to fourteen products, of which some saturate on the way and come back."""
    format = parse_format(name)
    assert isinstance(format, Format)
    length = data.draw(st.integers(1, 14))
    draw = st.lists(codes_of(format), min_size=length, max_size=length)
    weights, x = np.array([data.draw(draw), data.draw(draw)]), np.array([data.draw(draw)]).T[:, :, None]
    fast, reference = Fast(format, products), Reference(format, products)  # type: ignore[arg-type]
    ours = fast.codes(fast.linear(fast.weights(weights), fast.values(x)))
    theirs = reference.codes(reference.linear(reference.weights(weights), reference.values(x)))
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("ties", ["zero", "even"])
@pytest.mark.parametrize("name", ["float:5,3", "float:5,5", "fp8_e4m3", "fp8_e5m2", "bf16"])
def test_long_sums_that_rounding_takes_to_the_top(name: str, ties: str) -> None:
    """Each term is a little more than half a last place, so every sum rounds up: exactly below B, rounded beyond it.

    The bounds by which the kernel drops its clamps must count every one of these roundings.
    """
    format = parse_format(f"{name}/{ties}")
    assert isinstance(format, Format)
    small, count = Fraction(3, 4) / 2**format.precision, int(0.55 * 2**format.precision) + 1
    rows = [[start, *[small] * count] for start in ("1/2", "9/16", "5/8", "3/4", "-9/16")]
    weights = np.repeat(encode(rows, format, nearest=True), 3, axis=0)
    weights[-3:, 1:] *= -1
    x = np.full((count + 1, 64, 1), format.max_code)
    x[:, 1] -= 1
    fast, reference = Fast(format), Reference(format)
    ours = fast.codes(fast.linear(fast.weights(weights), fast.values(x)))
    theirs = reference.codes(reference.linear(reference.weights(weights[::3]), reference.values(x[:, :2])))
    assert np.array_equal(ours[::3, :2], theirs)
    assert (np.abs(theirs) == format.max_code).any()


def test_a_sum_that_rounding_alone_takes_to_the_top() -> None:
    """9/16 · 448 and eight times 5/128 · 448: each sum rounds up; without the clamp the last is 512, beyond e4m3's 448."""
    format = parse_format("fp8_e4m3")
    assert isinstance(format, Format)
    weights = encode([["9/16", *["5/128"] * 8]] * 24, format)
    x = np.full((9, 64, 1), format.max_code)
    fast = Fast(format)
    assert (fast.codes(fast.linear(fast.weights(weights), fast.values(x))) == format.max_code).all()


@pytest.mark.parametrize("ties", ["zero", "even"])
@pytest.mark.parametrize("name", ["float:2,3", "float:5,10", "fp8_e4m3", "fp16", "bf16", "fp32", "ieee:5,6,normal"])
def test_fused_sums_beside_a_tie(name: str, ties: str) -> None:
    """A product that is a tie, and a term so small that the host itself rounds it away."""
    format = parse_format(f"{name}/{ties}")
    assert isinstance(format, Format)
    fast, reference, rng = Fast(format, "fused"), Reference(format, "fused"), np.random.default_rng(3)
    unit = Fraction(1, 1 << (format.precision - 1))
    for _ in range(60):
        odd = 1 + (2 * int(rng.integers(1 << (format.precision - 2))) + 1) * unit  # odd · 3/2 is a tie
        small = format.least * int(rng.choice([1, -1])) * 2 ** int(rng.integers(0, 6))
        terms = [[odd, Fraction(3, 2)], [small, Fraction(1)]]
        for order in (terms, terms[::-1], [[-a, b] for a, b in terms]):
            weights, x = encode([[a for a, _ in order]], format), encode([[[b]] for _, b in order], format)
            ours = fast.codes(fast.linear(fast.weights(weights), fast.values(x)))
            theirs = reference.codes(reference.linear(reference.weights(weights), reference.values(x)))
            assert ours.tolist() == theirs.tolist(), order


few = settings(relaxed, max_examples=12)
ATTENTION = ["fixed:3/zero", "fixed:8/even", "q:5,6/zero", "float:3,4/zero", "fp8_e4m3/even", "fp16/zero", "bf16/even"]


@pytest.mark.parametrize("products", ["rounded", pytest.param("fused", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ATTENTION)
@few
@given(data=st.data())
def test_attention(name: str, products: str, data: st.DataObject) -> None:
    """Iterated sums, scores, softmax in every variant, mixtures: kernels of their own, on values of all sizes."""
    format = parse_format(name)
    assert isinstance(format, Format)
    draw = st.lists(codes_of(format), min_size=18, max_size=18)
    queries, keys, values = (np.array(data.draw(draw)).reshape(2, 3, 3) for _ in range(3))
    visible = np.tril(np.ones((3, 3), bool))
    results = []
    for engine in (Fast(format, products), Reference(format, products)):  # type: ignore[arg-type]
        q, k, v = (engine.values(each) for each in (queries, keys, values))
        scores = engine.scores(q, k, visible)
        found = [engine.codes(engine.total(k)), np.where(visible[:, :, None], engine.codes(scores), 0)]
        for kind in ("softmax", "max-subtracted", "leftmost", "rightmost", "average"):
            shares, undefined = engine.attention_weights(scores, visible, kind)  # type: ignore[arg-type]
            defined = ~np.asarray(undefined, bool)[:, None]
            found += [np.where(defined, engine.codes(shares), 0), defined]
            found += [np.where(defined[:, 0], engine.codes(engine.mixture(shares, v, visible)), 0)]
        results.append(found)
    for ours, theirs in zip(*results, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["fixed:8", "fixed:8/even", "fp16", "float:5,5", "bf16"])
def test_dense_products_with_and_without_saturation(name: str) -> None:
    """Enough rows for the kernel that looks for bounds: some rows saturate, some provably cannot."""
    format = parse_format(name)
    assert isinstance(format, Format)
    rng = np.random.default_rng(1)
    scales = np.array([1 / 16, 1, 1 / 8, 20])[rng.integers(0, 4, (24, 1))]
    weights = encode(scales * rng.integers(-16, 17, (24, 24)) / 16, format, nearest=True)
    x = encode(rng.integers(-80, 81, (24, 3, 7)) / 16, format, nearest=True)
    fast, reference = Fast(format), Reference(format)
    ours = fast.codes(fast.linear(fast.weights(weights), fast.values(x)))
    theirs = reference.codes(reference.linear(reference.weights(weights), reference.values(x)))
    assert np.array_equal(ours, theirs)
    assert (np.abs(theirs) == format.max_code).any() or not format.is_fixed


def test_sums_are_not_associative() -> None:
    """((x + B) + B) − B = 0 for every x: the reason why the order of sums is part of the semantics."""
    format = parse_format("fixed:4")
    reference, top = Reference(format), format.max
    for x in format.values():  # type: ignore[union-attr]
        assert reference.sum([x, top, top, -top]) == 0
    assert reference.sum([top, -top, Fraction(1)]) == 1 != reference.sum([top, Fraction(1), -top])
