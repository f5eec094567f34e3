"""The lemma base: known truths per format, known falsehoods found, two ways of deciding that agree; the notes' two lemmas."""

import pytest

from glyptic import theorems
from glyptic.errors import FormatError
from glyptic.numbers import Exact, Fixed, Float, Ieee, Q, parse_format
from glyptic.prove import B, Claim, Proved, Refuted, Values, variables
from glyptic.prove.methods import smt
from glyptic.theorems.lemma_base import STATEMENTS, arguments, decide, lemmas, table

(x,) = variables("x")
FALSE_BY_ROUNDING = (
    "overwriting by a difference",
    "adding and taking away",
    "sums associate",
    "products distribute",
    "halving and doubling",
)


def statement(name: str):
    return next(one for one in STATEMENTS if one.name == name)


@pytest.mark.parametrize("s", range(2, 17))
def test_the_two_lemmas_of_the_notes(s: int) -> None:
    """((x+B)+B)−B = 0, and x > 0 ⇒ [[x·B]·B] = B, for every value of F(s): both solvers, no simplification."""
    format = Fixed(s)
    for claim in (
        Claim(Values("x", format), x + B + B - B == 0),
        Claim(Values("x", format), x * B * B == B, requires=x > 0),
    ):
        verdict = smt.check(claim, format)
        assert isinstance(verdict, Proved)
        assert [said.endswith("unsat") for said in verdict.solvers] == [True, True]


@pytest.mark.parametrize("name", ["float:1,2", "float:2,3", "float:3,4", "fp8_e4m3", "fp16", "bf16"])
def test_floats_need_three_products(name: str) -> None:
    format = parse_format(name)
    two = smt.check(Claim(Values("x", format), x * B * B == B, requires=x > 0), format)
    assert isinstance(two, Refuted)
    three = smt.check(Claim(Values("x", format), x * B * B * B == B, requires=x > 0), format)
    assert isinstance(three, Proved)


@pytest.mark.parametrize("name", ["fixed:1", "fixed:2", "float:1,1", "float:1,2", "q:2,2", "ieee:3,1,normal"])
def test_facts_of_small_formats(name: str) -> None:
    """Decided by running all values; what constructions decide by argument is the same."""
    format = parse_format(name)
    found = {lemma.name: lemma for lemma in lemmas(format)}
    assert all(lemma.holds is not None for lemma in found.values())
    assert found["saturates"].holds == found["saturation"].holds
    assert found["subnormal"].holds == found["differences"].holds
    assert found["exp-vanishes"].holds == found["exp of −B"].holds
    for known in (
        "adding 0",
        "subtracting itself",
        "multiplying by 0",
        "gate shut",
        "sums commute",
        "sums are monotone",
    ):
        assert found[known].holds
    assert found["negating twice"].holds == (not format.twos_complement)
    assert all(not found[name].holds and found[name].counterexample for name in FALSE_BY_ROUNDING)


@pytest.mark.parametrize("name", FALSE_BY_ROUNDING)
@pytest.mark.parametrize("format", [Fixed(4), parse_format("fp8_e5m2")], ids=str)
def test_what_rounding_breaks_is_found(name: str, format) -> None:
    claim = statement(name).claim(format)
    verdict = smt.check(claim, format)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample.observed


def test_one_and_b_do_not_decide_in_the_smallest_formats() -> None:
    """softmax(1, B) = (1, 1) in F(1), F(1,1), F(2,1): the errata's tie."""
    for format, holds in ((Fixed(1), False), (Float(1, 1), False), (Float(2, 1), False), (Fixed(2), True)):
        lemma = next(lemma for lemma in arguments(format) if lemma.statement == "softmax(1, B) is decisive")
        assert lemma.holds == holds


def test_known_answers() -> None:
    assert not next(lemma for lemma in arguments(Float(1, 1)) if lemma.name == "exp-vanishes").holds
    assert decide(statement("exp of −B"), Float(1, 1)).counterexample.startswith("x = -∞: [exp x] is 1/4")
    assert not decide(statement("differences"), Ieee(4, 3, subnormals=False)).holds
    assert decide(statement("zero by saturation"), Q(4, 4)).holds is False
    assert decide(statement("negation and sums"), parse_format("fp16")).proof.startswith("argument")
    assert decide(statement("multiplying by 1"), parse_format("float:1,1")).holds


def test_rules_that_terms_use_are_decided_without_them() -> None:
    """Negation commutes with rounding, differences tell apart: by both solvers, over circuits that are not simplified."""
    cases = [(format, "negation and products") for format in (Fixed(2), Float(1, 2))]
    names = ("negation and sums", "differences", "order is a sign", "parts")
    cases += [(format, name) for format in (Fixed(4), Float(2, 2)) for name in names]
    for format, name in cases:
        verdict = smt.check(statement(name).claim(format), format)
        assert isinstance(verdict, Proved), (name, format)
        assert not any("monotone" in text or "tell apart" in text for text in verdict.assumptions)


def test_the_table_and_what_is_refused() -> None:
    shown = table(arguments(Fixed(1)))
    assert "softmax(1, ∞) = (1, 1)" in shown
    assert theorems.lemmas is lemmas
    with pytest.raises(FormatError, match="not rounded"):
        lemmas(Exact())
