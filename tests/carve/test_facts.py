"""Each fact against its own statement, over all values (or pairs) of small formats."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from glyptic.carve import FactError, add, facts, linear, lookup, normalize, zero
from glyptic.carve.amplify import plan
from glyptic.errors import FormatError
from glyptic.exact import Head, Layer, Options, random_transformer
from glyptic.numbers import NAMED, Exact, Fixed, Float, Format, Ieee, Q, encode, number
from glyptic.numbers.exponential import exp_rounded
from tests.carve.support import FORMATS, NORMAL, TINY, all_codes, blank, laid_out, run_added, through

SMALL = [
    *(f for f in FORMATS if f.size < 130),
    *(f.with_ties(t) for f in (Fixed(1), Float(1, 1), Float(2, 1), Ieee(2, 1), NORMAL) for t in ("zero", "even")),  # type: ignore[arg-type]
    *(f.with_ties(t) for f in (Q(2, 2), Q(0, 3), Q(3, 0)) for t in ("zero", "even")),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_facts_are_what_enumeration_says(format: Format) -> None:
    values = set(format.values())
    B = format.max
    for fact, holds in {
        facts.ONE: 1 in values,
        facts.SYMMETRIC: all(-x in values for x in values),
        facts.SATURATES: all(format.round(format.round(x + B) + B) == B for x in values),
        facts.SUBNORMAL: all(format.round(x - y) != 0 for x, y in product(values, values) if x != y),
        facts.EXP_VANISHES: exp_rounded(-B, format) == 0,
    }.items():
        broken = fact.broken(format)
        assert (broken is None) == holds, fact.name
        assert broken is None or broken.value in values


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_the_number_of_products_is_that_of_the_slowest_value(format: Format) -> None:
    def steps(x: Fraction) -> int | None:
        for count in range(20):
            if x == format.max:
                return count
            x = format.round(x * format.max)
        return None

    counts = [steps(x) for x in format.values() if x > 0]
    slowest = None if None in counts else max(counts)  # type: ignore[type-var]
    assert facts.products_to_top(format) == slowest
    assert (facts.PRODUCTS.broken(format) is None) == (slowest is not None)


def test_the_table_of_the_notes() -> None:
    assert [facts.products_to_top(Fixed(s)) for s in (1, 2, 3, 8)] == [None, 2, 2, 2]
    assert [facts.products_to_top(Float(e, s)) for e, s in ((1, 1), (1, 2), (2, 2), (3, 2), (5, 8))] == [None, 3, 3, 3, 3]
    assert [bool(facts.decides("1", "B").broken(f)) for f in (Fixed(1), Float(1, 1), Float(2, 1), Fixed(2))] == [1, 1, 1, 0]


@pytest.mark.parametrize("products", ["rounded", "fused"])
@pytest.mark.parametrize("format", [f for f in SMALL if not f.twos_complement] + [NAMED["fp16"], NAMED["bf16"]], ids=str)
def test_the_plan_takes_every_positive_value_to_the_top(format: Format, products: str) -> None:
    found = plan(format, products)
    assert found is not None

    def add(total: Fraction, unit: Fraction) -> Fraction:
        term = unit * format.max
        return format.round(total + (term if products == "fused" else format.round(term)))

    def sums(x: Fraction, copies: int, start: Fraction) -> Fraction:
        for _ in range(copies):
            start = add(start, format.round(x * format.max))
        return start

    some = [x for x in format.values() if x > 0] if format.size < 600 else [format.value(c) for c in (1, 2, 3, 999, 20000)]
    for x in some:
        for copies in found.early:
            x = format.round(x + sums(x, copies, Fraction(0)))
        assert sums(x, found.copies, Fraction(0)) == format.max
        assert sums(x, found.swing, -format.max) == format.max
        assert format.round(x * format.max) >= found.threshold > 0


@pytest.mark.parametrize("kind", ["softmax", "max-subtracted"])
@pytest.mark.parametrize("logits", [("1", "0"), ("1", "B"), ("B", "-B"), ("0", "0")])
def test_decisive_outcomes_are_those_that_run_so(logits: tuple[str, str], kind: str) -> None:
    """Against a transformer whose logits they are."""
    for format in SMALL:
        if 1 in format:
            T = blank(format, "n y", options=Options(attention=kind))  # type: ignore[arg-type]
            bias = dict(zip("ny", logits, strict=True))
            T = add.vector(T.replace(output=format.code(1) * np.eye(2, dtype=np.int64)), bias)
            want = "TIE" if logits == ("0", "0") else "NO" if logits != ("1", "B") else "YES"
            decisive = T.answer("·", engine="reference") == want != "TIE"
            assert decisive == (facts.decides(*logits, subtract=kind == "max-subtracted").broken(format) is None), format


def test_a_construction_is_refused_where_its_fact_fails_and_names_the_value() -> None:
    T = random_transformer(Q(3, 2))
    with pytest.raises(FactError, match=r"zero.at rests on .−x is a value.*-8 is a value and 8 is not.*force=True"):
        zero.at(T, at=1)
    with pytest.raises(FactError) as caught:
        zero.by_saturation(T, at=1)
    assert caught.value.value == -8
    assert len(zero.at(T, at=1, force=True).layers) == len(T.layers) + 1


def test_exact_rationals_break_what_needs_a_largest_value() -> None:
    assert facts.SATURATES.broken(Exact()) is not None
    assert facts.EXP_VANISHES.broken(Exact()) is not None
    assert facts.SUBNORMAL.broken(Exact()) is None


def test_scores_divided_by_a_root_need_a_smaller_exp() -> None:
    assert facts.EXP_VANISHES.broken(Fixed(2)) is None
    broken = facts.scaled_exp_vanishes(16).broken(Fixed(2))
    assert broken is not None
    assert broken.value == -1  # [√16] = 15/4 = B: the count 16 is not rounded before its root


# Each fact against the engine that runs transformers, in every format of few bits ----------------------------------------


def weights_of_scores(format: Format, key_width: int, options: Options) -> list[Fraction]:
    """The weights that a head, d_k wide, gives to a score of −B and to one of 0, by a run."""
    T = blank(format, "k one", 2, options=options)
    key = np.zeros((key_width, 2), np.int64)
    key[0, 0] = query = format.code(1)
    reading = np.zeros((key_width, 2), np.int64)
    reading[0, 1] = query
    head = Head(reading, key, np.zeros((1, 2), np.int64), np.zeros((2, 1), np.int64))
    embedding = np.array([[-format.max_code, 0], [0, query]])  # position 0 asks nothing, and is never 0/0
    made = T.replace(layers=(Layer((head,)),), position_embedding=embedding)
    return list(made.run("··", trace="*weights", engine="reference").trace["layer.0.head.0.weights"][1])


@pytest.mark.parametrize("format", TINY, ids=str)
def test_exp_vanishes_where_a_head_of_the_engine_gives_nothing_to_minus_b(format: Format) -> None:
    if 1 not in format:
        return
    for scale, key_width in [(False, 1), *((True, width) for width in range(1, 13))]:
        fact = facts.scaled_exp_vanishes(key_width) if scale else facts.EXP_VANISHES
        found = weights_of_scores(format, key_width, Options(scale=scale))
        assert (fact.broken(format) is None) == (found == [0, 1]), (scale, key_width)


@pytest.mark.parametrize("format", TINY, ids=str)
def test_facts_of_sums_hold_where_what_rests_on_them_runs_right(format: Format) -> None:
    """Forced where they fail: saturation clears nothing, x⁺ and x⁻ do not make x, and a difference vanishes."""
    if 1 not in format:
        return
    x = all_codes(format)[None, None]
    for fact, build in ((facts.SATURATES, zero.by_saturation), (facts.SYMMETRIC, zero.at)):
        T = blank(format, "x")
        done = build(T, None, force=True)  # type: ignore[operator]
        assert (not run_added(T, done, x)["x"].any()) == (fact.broken(format) is None), fact.name
    if facts.SYMMETRIC.broken(format) is None:
        T, pairs = blank(format, "x y"), np.stack(np.meshgrid(x[0, 0], x[0, 0])).reshape(2, 1, -1)
        kept = run_added(T, linear.into(T, [[1, -1]], ["x", "y"], ["d"]), pairs)["d"] != 0
        right = bool((kept == (pairs[0] != pairs[1])).all())
        assert right == (facts.SUBNORMAL.broken(format) is None)


@pytest.mark.parametrize("length", [3, 20])
@pytest.mark.parametrize("scale", [False, True])
def test_a_look_up_is_refused_or_right_in_every_small_format(length: int, scale: bool) -> None:
    """fixed:1, fixed:3 and ieee:2,1 were accepted with scores divided by a root, and wrong."""
    refused = 0
    for format in TINY:
        T = blank(format, "x", length, options=Options(scale=scale))
        try:
            done = lookup.position(T, ["x"], ["y"], lambda i: i // 2)
        except (FactError, FormatError):
            refused += 1
            continue
        h = np.random.default_rng(0).choice(all_codes(format), (1, length, 6))
        out, undefined = through(done, laid_out(T, done, h))
        assert not undefined, format
        assert (out[done.coordinate("y")] == h[0, [i // 2 for i in range(length)]]).all(), format
    assert 0 < refused < len(TINY)


@pytest.mark.parametrize("build", [normalize.zero_one, normalize.infinity, normalize.plus_minus])
@pytest.mark.parametrize("length", [3, 20])
def test_a_one_layer_normalization_with_divided_scores_is_refused_or_right_in_every_small_format(build, length: int) -> None:
    """At a position that is hardly apart from the others its head gave something to them too."""
    refused = 0
    for format in TINY:
        if 1 not in format:
            continue
        T = blank(format, "n y", length, options=Options(scale=True))
        T = T.replace(output=format.code(1) * np.eye(2, dtype=np.int64))
        try:
            done = build(T, one_layer=True)
        except (FactError, FormatError):
            refused += 1
            continue
        h = np.random.default_rng(1).choice(all_codes(format), (2, length, 6))
        got, B = run_added(T, done, h), format.max_code
        says = h[1] > h[0]
        no, yes = {
            normalize.zero_one: (h[0], h[1]),
            normalize.infinity: (np.full_like(h[0], format.code(1)), np.where(says, B, 0)),
            normalize.plus_minus: (np.where(says, -B, B), np.where(says, B, -B)),
        }[build]
        assert (got["NO"] == no).all(), format
        assert (got["YES"] == yes).all(), format
    assert 0 < refused < len(TINY)


@pytest.mark.parametrize("kind", ["softmax", "max-subtracted"])
def test_an_outcome_is_decisive_where_a_run_says_so_in_every_small_format(kind: str) -> None:
    for format in TINY:
        if 1 not in format:
            continue
        for logits in (("1", "0"), ("1", "B"), ("B", "-B"), ("-B", "B")):
            T = blank(format, "n y", options=Options(attention=kind))  # type: ignore[arg-type]
            embedding = encode([list(logits)], format)
            made = T.replace(output=format.code(1) * np.eye(2, dtype=np.int64), position_embedding=embedding)
            largest = "NO" if number(logits[0], format) > number(logits[1], format) else "YES"
            said = made.run_batch(["·"], engine="reference").answers[0]
            fact = facts.decides(*logits, subtract=kind == "max-subtracted")
            assert (fact.broken(format) is None) == (said == largest), (format, logits)
