"""Claims by bounds: the verdicts of enumeration on random dense layers, ends that hold at every point, and some depth."""

from functools import reduce

import numpy as np
import pytest
from tests.prove.examples import doubled

from glyptic import prove
from glyptic.exact import Options, Sizes, random_transformer
from glyptic.numbers import Fixed, Float, Ieee, Q
from glyptic.prove import Claim, Proved, Refuted, Unknown, Vacuous, Values, variables
from glyptic.prove.claims.claim import exists, inputs, layers
from glyptic.prove.claims.evaluation import value
from glyptic.prove.claims.expressions import (
    after,
    answer,
    before,
    defined,
    exp,
    logit,
    minimum,
    parameter,
    relu,
    root,
    where,
)
from glyptic.prove.elements.batches import setting_of_codes
from glyptic.prove.methods import bounds
from glyptic.prove.methods.bounds import boxes
from glyptic.prove.methods.bounds.boxes import BoxSetting
from glyptic.prove.verdicts.minimise import fails

x, y = variables("x y")
SMALL = reduce(lambda a, b: a & b, (abs(before(f"x{k}")) <= 1 for k in range(4)))
FORMATS = [Fixed(1), Fixed(1, "even"), Q(1, 2), Float(2, 1), Ieee(3, 1, subnormals=False)]


def agree(claim: Claim):
    """Bounds say what enumeration says; a counterexample need not be the smallest, but it is one."""
    found = prove.check(claim, method="bounds")
    run = prove.check(claim, method="enumerate", workers=1, progress=False)
    assert type(found) is type(run), (str(claim), found, run)
    return found


def dense(format, seed: int, options: Options = Options(), depth: int = 2, width: int = 2):  # noqa: B008
    sizes = Sizes(layers=depth, heads=0, width=width, hidden=width + 1, density=1.0)
    return random_transformer(format, seed, sizes, options)


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_random_dense_layers_as_by_enumeration(format, products) -> None:
    kinds = set()
    for seed, options in enumerate([Options(products=products), Options(products=products, answer="logits", ties="first")]):
        T = dense(format, seed, options)
        subject = layers(T)
        claims = [
            Claim(subject, abs(after("x0")) <= 1, requires=abs(before("x0")) + abs(before("x1")) <= 1),
            Claim(subject, after("x0") <= before("x1")),
            Claim(subject, answer() != "YES", requires=before("x0") > before("x1")),
            Claim(subject, (answer() == "YES") | (logit("YES") <= logit("NO")) | (answer() == "TIE")),
            Claim(subject, defined()),
            Claim(subject, (after("x1") / before("x0") >= 0) | (before("x0") == 0)),
            Claim(subject, where(before("x0") > 0, after("x0"), parameter("output", 0, 0)) != minimum(after("x1"), 1)),
            Claim(subject, after("x0") >= 0, requires=before("x0") * before("x0") < 0),
            exists(subject, after("x0") == after("x1"), requires=before("x0") != before("x1")),
        ]
        for claim in claims:
            found = agree(claim)
            kinds.add(type(found))
            if isinstance(found, Refuted) and found.counterexample is not None:
                assert found.smallest == "locally"
    assert {Proved, Refuted, Vacuous} <= kinds


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_claims_on_values_as_by_enumeration(format) -> None:
    for ensures, requires in [
        (x * y >= 0, (x > 0) & (y > 0)),
        (root(x) * root(x) <= x + 1, prove.TRUE),
        (root(x) >= 0, x >= 0),
        (x / y <= x, y >= 1),
        (exp(x) >= 1, x >= 0),
        (relu(x) - relu(-x) == x, prove.TRUE),
        ((x < y) == (y > x), prove.TRUE),
        (x + y - y == x, prove.TRUE),
    ]:
        agree(Claim(Values("x y", format), ensures, requires=requires))


@pytest.mark.parametrize("format", [Fixed(3), Float(3, 2, "even"), Q(2, 2)], ids=str)
def test_the_ends_hold_at_every_point_of_a_box(format) -> None:
    """Every expression of a claim, at points of random boxes, against a run of the engine."""
    chance = np.random.default_rng(1)
    T = dense(format, 3, Options(products="fused"), depth=3, width=3)
    claim = Claim(layers(T), (after("x0") == 0) | (answer() == "YES"))
    ends = chance.integers(format.min_code, format.max_code + 1, (2, 3, 200))
    low, high = ends.min(axis=0), ends.max(axis=0)
    boxes = BoxSetting(claim, low, high)
    expressions = [
        *(after(f"x{k}") for k in range(3)),
        logit("YES"),
        after("x0") * after("x1") - logit("NO"),
        after("x0") / before("x1"),
        abs(after("x2")) / (exp(before("x0")) + 1),
        where(after("x0") < after("x1"), after("x0"), root(abs(after("x2")))),
    ]
    for _ in range(5):
        points = chance.integers(low, high + 1)
        run = setting_of_codes(claim, points)
        for expression in expressions:
            span, real = value(expression, boxes), value(expression, run)
            inside = (span.numbers.low <= real.numbers) & (real.numbers <= span.numbers.high)
            assert np.all(inside | real.missing), str(expression)
            assert np.all(span.missing.possible | ~real.missing)
            assert np.all(real.missing | ~span.missing.sure)
    exact = BoxSetting(claim, points, points)
    for expression in expressions:
        span, real = value(expression, exact), value(expression, run)
        assert np.all((span.numbers.low == real.numbers) & (span.numbers.high == real.numbers) | real.missing)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_dense_layers_of_width_4_in_fixed_4(depth) -> None:
    """More than 10^10 values enter; `auto` tries bounds before it asks solvers."""
    T = dense(Fixed(4), 2, depth=depth, width=4)
    for ensures in (abs(after("x0")) <= 14, abs(logit("YES") - logit("NO")) <= 15):
        verdict = prove.check(Claim(layers(T), ensures, requires=SMALL))
        assert isinstance(verdict, Proved), verdict
        assert verdict.method == "bounds"
        assert verdict.solvers[0].endswith(" boxes")


def test_a_certificate_is_rechecked_by_bounds(tmp_path) -> None:
    claim = Claim(layers(dense(Fixed(4), 2, width=4)), abs(after("x0")) <= 14, requires=SMALL)
    verdict = prove.check(claim)
    assert (type(verdict), verdict.method) == (Proved, "bounds")
    prove.save_certificate(tmp_path / "c.json", claim, verdict)
    assert prove.recheck(tmp_path / "c.json").proved


def test_a_counterexample_in_a_large_format_is_run_in_fractions() -> None:
    T = dense(Fixed(8), 5, depth=2, width=3)
    verdict = prove.check(Claim(layers(T), after("x0") <= before("x0")), method="bounds")
    assert isinstance(verdict, Refuted)
    codes = [Fixed(8).code(prove_number) for prove_number in map(_number, verdict.counterexample.values.values())]
    assert fails(Claim(layers(T), after("x0") <= before("x0")), codes)


def _number(text: str):
    from glyptic.numbers import number

    return number(text, Fixed(8))


def test_what_is_not_bounded_is_said() -> None:
    attentive = random_transformer(Fixed(2), 1)
    assert "attention" in bounds.check(Claim(layers(attentive), after("x0") == 0)).reason
    normed = random_transformer(Fixed(2), 1, Sizes(heads=0), Options(norm="pre"))
    assert "LayerNorm" in bounds.check(Claim(layers(normed), after("x0") == 0)).reason
    assert "inputs" in bounds.check(Claim(inputs(attentive, max_length=2), answer() == "YES")).reason
    hard = Claim(Values("x y", Fixed(8)), x + y == y + x)  # true, but of no box larger than a point
    verdict = bounds.check(hard, boxes=1000)
    assert isinstance(verdict, Unknown)
    assert verdict.reason == "the limit of 1,000 boxes"
    assert bounds.check(hard, seconds=0).reason == "the limit of 0 s of processor time"


def test_ends_taken_the_wrong_way_are_seen(monkeypatch) -> None:
    """Without the exchange of ends under negative weights the bounds are none: the tests above would see it."""
    monkeypatch.setattr(boxes, "doubled", lambda codes: np.kron(codes, np.eye(2, dtype=codes.dtype)))
    with pytest.raises(AssertionError):
        test_the_ends_hold_at_every_point_of_a_box(Fixed(3))


@pytest.mark.parametrize("first", [0, 1])
def test_one_transformer_may_run_in_fractions_beside_another_in_kernels(first) -> None:
    """In fixed:16 rounded products are compiled, and fused ones are not."""
    T = doubled(Fixed(16)).with_options(answer="logits")
    pair = [T, T.with_options(products="fused")]
    subject = layers(pair[first], pair[1 - first], free=["x"])
    claim = Claim(subject, (after("y", 0, "a") + after("y", 0, "b") <= prove.B) & ((answer("a") == "NO") | (answer("b") != "NO")))
    assert isinstance(prove.check(claim, method="bounds", seconds=60), Proved)


@pytest.mark.parametrize("format", ["fixed:40", "q:0,63", "exact"])
def test_formats_whose_boxes_no_array_holds_are_said(format) -> None:
    found = prove.check(Claim(Values("x"), x * x >= 0), format, method="bounds")
    assert isinstance(found, Unknown) and "the method" in found.reason


def test_two_transformers_in_different_hosts_are_compared_by_value() -> None:
    """In fixed:17 products that are rounded run in kernels, fused ones in fractions: the same numbers in different units."""
    format = Fixed(17)
    a = random_transformer(format, 3, Sizes(layers=1, heads=0, width=2, hidden=2, density=1.0), Options(products="rounded"))
    b = a.with_options(products="fused")
    setting = BoxSetting(Claim(layers(a, b), defined("a")), *(np.full((2, 1), 1 << 17),) * 2)
    for side in (before, logit):
        named = "x0" if side is before else a.answers[0]
        one, other = (setting.read(side(named, of=of)).numbers for of in ("a", "b"))
        assert type(one.low) is type(other.low) and one.low.dtype == other.low.dtype
    equal = Claim(layers(a, b), before("x0", of="a") == before("x0", of="b"))
    assert isinstance(bounds.check(equal, boxes=2000), Unknown)  # not one box is certain, and none is refuted
    ends = [setting.read(before("x0", of=of)).numbers.low[0] for of in ("a", "b")]
    assert ends[0] == ends[1]
