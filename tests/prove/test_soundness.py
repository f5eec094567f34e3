"""Nothing is proved from terms that are wrong, or from a domain that leaves values out."""

import random
from bisect import bisect_right
from itertools import pairwise
from typing import Any

import pytest

from glyptic.carve.building import Draft, Unit
from glyptic.errors import InputError
from glyptic.exact import Layer, Transformer
from glyptic.numbers import Fixed, Format, parse_format
from glyptic.prove import (
    B,
    Claim,
    Proved,
    Refuted,
    Unknown,
    Vacuous,
    Values,
    Verdict,
    after,
    answer,
    before,
    check,
    defined,
    exists,
    exp,
    inputs,
    layers,
    variables,
)
from glyptic.prove.methods import bounds, smt, symbolic
from glyptic.prove.methods.smt import attention_terms, bits
from glyptic.prove.methods.smt.agreement import disagreement
from glyptic.prove.methods.smt.bits import Bits
from glyptic.prove.methods.smt.circuits_fixed import FixedCircuits
from glyptic.prove.methods.smt.exp_staircase import Staircase, exp_code, exp_staircase
from glyptic.prove.methods.smt.questions import pose
from glyptic.theorems.proving import FIXED, THEOREMS, TheoremJob, prove, theorem
from glyptic.theorems.theorem import plain

(x,) = variables("x")
ENCLOSED = ["fixed:10", "ieee:5,9", "fp16", "q:6,10"]  # formats in which exp has no table


def split_scores(format: Format) -> Transformer:
    """p = relu(x) by a feed-forward, then two heads, one of which scores on p and one on x."""
    names = ("x", "p", "o", "one")
    draft = Draft(format, names)
    writing = draft.feed_forward([Unit({"x": 1}, {"p": 1})])
    heads = [
        draft.head(query=[{"one": 1}], key=[{key: 1}], value=[{"x": 1}], output=[{"o": 1}]) for key in ("p", "x")
    ]
    return plain(format, "rounded", names).replace(layers=(Layer((), writing), Layer(tuple(heads), None)))


def of_split_scores(format: Format, ensures: Any) -> Claim:
    return Claim(layers(split_scores(format), free=["x"], fixed={("one", 0): 1}), ensures)


def asserted_in_every_case(self: attention_terms.Terms, function: str, code: Bits, stairs: Staircase) -> Bits:
    """How an exp was enclosed once: what holds in one case only, put into the domain of all."""
    if stairs.exact:
        return attention_terms._climb(code, stairs.starts, stairs.lows)
    image = self.fresh(f"{function}.{len(self.exps)}", stairs.lows[0], stairs.highs[-1]).code
    low, high = (attention_terms._climb(code, stairs.starts, side) for side in (stairs.lows, stairs.highs))
    self.domain += [bits.opposite(bits.less(image, low)), bits.opposite(bits.less(high, image))]
    for p, exp_p, _ in self.exps:
        self.domain.append(bits.either(bits.less(code, p), bits.opposite(bits.less(image, exp_p))))
        self.domain.append(bits.either(bits.less(p, code), bits.opposite(bits.less(exp_p, image))))
    self.exps.append((code, image, function))
    return image


@pytest.mark.parametrize("name", ENCLOSED)
def test_what_one_case_knows_of_exp_is_not_asserted_in_the_others(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    for ensures in (defined(), before("x") >= -1):
        verdict = smt.check(of_split_scores(format, ensures), format)
        assert isinstance(verdict, Refuted), verdict


@pytest.mark.parametrize("name", ["fp16", "ieee:5,9"])
def test_the_counterexample_is_the_one_that_enumeration_finds(name: str) -> None:
    claim = of_split_scores(parse_format(name), defined())  # type: ignore[arg-type]
    by_solvers, by_running = check(claim, method="smt"), check(claim, method="enumerate", progress=False)
    assert by_solvers.counterexample == by_running.counterexample  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["fixed:10", "fp16", "q:6,10"])
def test_nothing_is_proved_from_a_domain_that_leaves_values_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    monkeypatch.setattr(attention_terms.Terms, "_climbed", asserted_in_every_case)
    verdict = smt.check(of_split_scores(format, defined()), format)
    assert isinstance(verdict, Unknown) and "a fault in the solvers' terms" in verdict.reason


def test_a_wrong_circuit_is_noticed_before_anything_is_proved_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    right = FixedCircuits.add

    def one_too_many(self: FixedCircuits, a: Bits, b: Bits) -> Bits:
        return bits.add(right(self, a, b), bits.constant(1, self.width))

    claim = Claim(Values("x", Fixed(6)), x + 0 > x, requires=x < 1)
    assert isinstance(smt.check(claim, Fixed(6)), Refuted)
    monkeypatch.setattr(FixedCircuits, "add", one_too_many)
    verdict = smt.check(claim, Fixed(6))
    assert isinstance(verdict, Unknown) and "not what a run gives" in verdict.reason


def test_a_wrong_rule_of_simplification_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were relu(x) taken for x, a feed-forward that writes the one would be proved to write the other."""
    subject = layers(split_scores(Fixed(6)), last=1, free=["x"], fixed={("one", 0): 1})
    claim = Claim(subject, after("p") == before("x"))
    assert isinstance(smt.check(claim, Fixed(6)), Refuted)
    monkeypatch.setattr(attention_terms.Terms, "_relu", lambda self, a: a)
    verdict = smt.check(claim, Fixed(6))
    assert isinstance(verdict, Unknown) and "not what a run gives" in verdict.reason


def test_both_sides_of_every_case_are_among_the_points() -> None:
    """A fault at one single value next to a case's boundary is found, which chance would not find."""
    format = parse_format("fp16")
    assert isinstance(format, Format)
    claim = of_split_scores(format, before("x") >= -B)
    question = pose(claim, format)
    assert disagreement(claim, question) is None
    boundary = question.conditions[0]
    from glyptic.prove.methods.smt.agreement import _Trial

    points = _Trial(claim, question, format).points()
    met = bits.compute([boundary], {"v0": points[0]})[0]
    steps = sorted(zip(points[0].tolist(), met.tolist(), strict=True))
    assert any(b[0] - a[0] == 1 and a[1] != b[1] for a, b in pairwise(steps))


@pytest.mark.parametrize("name", ["fixed:4", "fp16", "q:3,3", "fixed:12"])
def test_exp_may_be_flat_over_a_range(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    for low, high in ((format.min_code, format.min_code + 3), (format.max_code - 3, format.max_code)):
        stairs = exp_staircase(format, low, high)
        assert stairs.exact and stairs.lows == (exp_code(low, format),)


@pytest.mark.parametrize("name", ["fp16", "fixed:10", "q:6,10", "ieee:5,9,normal"])
def test_enclosures_hold_and_are_exact_where_proofs_look(name: str) -> None:
    """At 0, at both ends, and wherever exp is flat; elsewhere the true exp lies between the two staircases."""
    format = parse_format(name)
    assert isinstance(format, Format)
    stairs = exp_staircase(format, format.min_code, format.max_code)
    assert not stairs.exact

    def step(code: int) -> tuple[int, int]:
        k = bisect_right(stairs.starts, code) - 1
        return stairs.lows[k], stairs.highs[k]

    for code in (0, format.min_code, format.max_code):
        assert step(code) == (exp_code(code, format),) * 2
    chance = random.Random(3)
    beside = [start + by for start in stairs.starts for by in (-1, 0) if format.min_code <= start + by]
    for code in [*beside, *(chance.randint(format.min_code, format.max_code) for _ in range(500))]:
        low, high = step(code)
        assert low <= exp_code(code, format) <= high


def test_masked_scores_over_which_exp_is_flat_are_decided() -> None:
    """relu(x) − B … −B: every score lies where exp is 0, so attention is 0/0 for every x."""
    format = Fixed(4)
    draft = Draft(format, ("x", "p", "o", "one"))
    writing = draft.feed_forward([Unit({"x": 1}, {"p": 1})], {"p": "-B"})
    head = draft.head(query=[{"one": 1}], key=[{"p": "1/16"}], value=[{"x": 1}], output=[{"o": 1}])
    built = plain(format, "rounded", ("x", "p", "o", "one")).replace(layers=(Layer((), writing), Layer((head,), None)))
    claim = Claim(layers(built, free=["x"], fixed={("one", 0): 1}), ~defined())
    assert type(check(claim, method="smt")) is type(check(claim, method="enumerate"))


# Who decided ---------------------------------------------------------------------------------------------------------------


def test_a_verdict_says_when_no_solver_was_asked() -> None:
    simplified = prove(TheoremJob("zero.at", "fixed:3")).verdict
    assert isinstance(simplified, Proved) and "no solver was asked" in str(simplified) and "unsat" not in str(simplified)
    assert any("simplified rightly" in one for one in simplified.assumptions)
    claim = theorem("zero.at").claim(Fixed(3), "rounded")
    asked = smt.check(claim, Fixed(3), terms="plain")
    assert isinstance(asked, Proved) and sum(said.endswith("unsat") for said in asked.solvers) == 2


def test_solvers_are_asked_until_two_agree() -> None:
    claim = Claim(Values("x", Fixed(6)), exp(x) >= 0)
    found = smt.check(claim, Fixed(6))
    assert isinstance(found, Proved) and len(found.solvers) == 2
    assert len(smt.check(claim, Fixed(6), solvers=("cvc5", "z3", "bitwuzla")).solvers) == 3  # type: ignore[union-attr]


def test_a_precondition_that_folds_away_is_vacuous_by_no_solver() -> None:
    found = smt.check(Claim(Values("x", Fixed(2)), x == x, requires=x < x), Fixed(2))
    assert isinstance(found, Vacuous) and any("no solver was asked" in one for one in found.assumptions)


# With and without simplification -------------------------------------------------------------------------------------------

QUICK = ["zero.at", "lookup.fetch", "normalize.zero_one, one layer", "closure.negation"]


def plainly(name: str, scope: str) -> Verdict | None:
    """A theorem in plain terms, by one solver: the second opinion is the simplifier's."""
    return prove(TheoremJob(name, scope, seconds=600, terms="plain")).verdict


@pytest.mark.parametrize("name", QUICK)
def test_plain_terms_confirm_what_the_simplifier_says(name: str) -> None:
    for scope in ("fixed:2", "float:1,2"):
        assert type(prove(TheoremJob(name, scope)).verdict) is type(plainly(name, scope)) is Proved, scope


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in THEOREMS])
@pytest.mark.parametrize("scope", [*FIXED, "fixed:2/even", "fixed:2 fused", "float:1,2", "fp8_e5m2"])
def test_plain_terms_confirm_the_whole_library_in_small_formats(scope: str, name: str) -> None:
    assert type(prove(TheoremJob(name, scope)).verdict) is type(plainly(name, scope))


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in THEOREMS])
def test_plain_terms_confirm_the_whole_library_in_half_precision(name: str) -> None:
    assert isinstance(plainly(name, "fp16"), Proved)


# Every method by itself ----------------------------------------------------------------------------------------------------


def test_each_method_answers_a_claim_of_existence_by_itself() -> None:
    """A method looks for an element that settles a claim: of existence, the one it finds proves it."""
    there, nowhere = exists(Values("x", Fixed(2)), x * x == 2 * x, x > 0), exists(Values("x", Fixed(2)), x > x)
    for method in (lambda claim: smt.check(claim, Fixed(2)), bounds.check, lambda claim: check(claim, method="enumerate")):
        found = method(there)
        assert isinstance(found, Proved) and found.witness is not None and found.witness.values == {"x": "2"}
        assert isinstance(method(nowhere), Refuted)
    T = split_scores(Fixed(2))
    assert isinstance(symbolic.check(exists(inputs(T, max_length=2), answer() == "TIE")), Proved)


@pytest.mark.parametrize(
    "means",
    [
        {"terms": "plain", "method": "bounds"},
        {"terms": "plain", "method": "enumerate"},
        {"terms": "best"},
        {"method": "guess"},
        {"journal": "j.json", "method": "smt"},
        {"journal": "j.json", "method": "symbolic"},
        {"megabytes": 100, "method": "bounds"},
    ],
)
def test_what_would_have_no_effect_is_refused(means: Any) -> None:
    with pytest.raises(InputError, match=r"leave it out\.|must be one of"):
        check(Claim(Values("x", Fixed(2)), x == x), **means)


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan")])
@pytest.mark.parametrize("method", ["auto", "enumerate", "smt", "bounds"])
def test_a_limit_that_leaves_no_time_is_refused_by_every_method(method: Any, seconds: float) -> None:
    with pytest.raises(InputError, match="must be a number above 0"):
        check(Claim(Values("x", Fixed(2)), x == x), method=method, seconds=seconds)
