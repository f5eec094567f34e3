"""The claim language: each node means the same by enumeration, by solvers and to an evaluator apart; and prints as one thing."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.prove.making import Making
from tests.prove.plainly import settling

from glyptic import prove
from glyptic.numbers import parse_format
from glyptic.prove import (
    LEAST,
    B,
    Claim,
    Proved,
    Refuted,
    Vacuous,
    Values,
    answer,
    attention_weight,
    defined,
    exists,
    let,
    maximum,
    minimum,
    parameter,
    root,
    score,
    softmax,
    variables,
    where,
)
from glyptic.prove.claims import expressions as e

x, y = variables("x y")
QUIET = {"progress": False, "workers": 1}


# Every node, by three ways -----------------------------------------------------------------------------------------------------


def same_by_all(claim, format):
    """The verdicts of both methods, held to what the plain evaluator finds, the smallest example among it."""
    met, found = settling(claim, format)
    for method in ("enumerate", "smt"):
        verdict = prove.check(claim, format, method=method, count_all=method == "enumerate", **QUIET)
        if claim.quantifier == "some":
            assert type(verdict) is (Proved if found else Refuted), (str(verdict), found)
            shown = verdict.witness if found else verdict.counterexample
        else:
            assert type(verdict) is (Refuted if found else Proved if met else Vacuous), (str(verdict), found, met)
            shown = verdict.counterexample if found else None
            if method == "enumerate" and found:
                assert (verdict.failures, verdict.satisfying) == (len(found), met)
        if found:
            smallest = dict(zip(claim.subject.names, found[0], strict=True))
            shown_codes = {name: format.code(_read(text, format)) for name, text in shown.values.items()}
            assert shown_codes == smallest, str(verdict)
            assert verdict.smallest == "globally"
        else:
            assert shown is None


def _read(text, format):
    return {"∞": format.max, "-∞": -format.max}.get(text) if "∞" in text else Fraction(text)


FORMATS = ["fixed:1", "fixed:2", "float:1,2", "q:2,2", "fixed:2/even", "fp8_e4m3"]


@pytest.mark.parametrize("name", FORMATS)
def test_random_claims_come_out_the_same_by_enumeration_by_solvers_and_by_an_evaluator_of_its_own(name):
    format = parse_format(name)
    kinds = set()
    for seed in range(40 if format.size < 100 else 20):
        making = Making(f"{name} {seed}", ["x", "y"] if format.size < 40 and seed % 3 == 0 else ["x"])
        requires = making.condition(1) if seed % 2 else e.TRUE
        quantifier = "some" if seed % 4 == 3 else "all"
        claim = Claim(Values(making.names), making.condition(3), requires, quantifier=quantifier)
        same_by_all(claim, format)
        kinds |= {type(node).__name__ for node in claim.ensures.parts()}
    assert {"Choice", "Equivalence", "Let", "LetValue", "Local", "Operation"} <= kinds or format.size >= 100


WRITTEN = {
    "the size of a number": abs(x) == maximum(x, 0 - x),
    "no size is negative": abs(x) >= 0,
    "a size has no sign": abs(-x) == abs(x),
    "least and largest add up": maximum(x, y) + minimum(x, y) == x + y,
    "three": maximum(x, y, 0) >= minimum(x, 0, y),
    "a choice": where(x > y, x, y) == maximum(x, y),
    "a choice of what is not there": where(x >= 0, root(x), 0) >= 0,
    "the side not chosen may be missing": where(y == 0, 0, x / y) == where(y != 0, x / y, 0),
    "where the condition is neither": where(root(x) > 0, 1, 1) == 1,
    "an order and a sign": (x > y) == (x - y > 0),
    "one or the other": (x > 0) != (x <= 0),
    "neither, on one side": (root(x) >= 0) == (x >= 0),
    "neither, negated": ~((root(x) >= 0) == (x >= 0)),
    "a local": let("d", x - y, lambda d: (d == 0) == (x == y)),
    "a local that is missing but not read": let("r", 1 / x, lambda r: (x == 0) | (r != 0)),
    "a local in a value": let("d", x - y, lambda d: d * d) >= 0,
    "a local in a local": let("d", x - y, lambda d: let("s", abs(d), lambda s: s >= d)),
    "softmax": softmax(x, y)[0] <= 1,
    "softmax decides": (softmax(x, y)[0] > softmax(x, y)[1]) == (x > y),
}


SMALL = ["fixed:1", "q:1,1", "q:1,1/even"]
LARGER = [pytest.param(name, marks=pytest.mark.slow) for name in ("fixed:2", "float:1,2", "q:2,2", "q:2,2/even")]


@pytest.mark.parametrize("name", [*SMALL, *LARGER])
@pytest.mark.parametrize("said", WRITTEN.values(), ids=WRITTEN.keys())
def test_what_the_new_words_mean(said, name):
    format = parse_format(name)
    same_by_all(Claim(Values("x y"), said), format)
    same_by_all(exists(Values("x y"), ~said), format)
    same_by_all(Claim(Values("x y"), x == y, requires=~said), format)


def test_in_two_s_complement_the_size_of_the_smallest_is_the_largest():
    claim = Claim(Values("x"), abs(x) == B, requires=x <= -B)
    for method in ("enumerate", "smt"):
        assert prove.check(claim, "q:2,2", method=method, **QUIET)


# Printing ----------------------------------------------------------------------------------------------------------------------


def built(node):
    """An expression as nested tuples, with a conjunction or disjunction of one condition read as that condition."""
    if isinstance(node, e.Junction) and len(node.conditions) == 1:
        return built(node.conditions[0])
    if isinstance(node, e.Node):
        return (type(node).__name__, *(built(getattr(node, name)) for name in node.__dataclass_fields__))
    return tuple(map(built, node)) if isinstance(node, tuple) else node


def expressions():
    """Conditions out of few names, so that two are often alike; no local has the name of a variable, as a claim demands."""
    names = st.sampled_from(["x", "e", "B", "answer", "x = y", "a'b"])
    words = st.one_of(
        st.builds(e.Answer, st.sampled_from(["", "a"]), st.sampled_from([-1, 0])), st.builds(e.Token, st.just(0))
    )
    texts = st.builds(e.Text, st.sampled_from(["YES", "answer", "(", "a b", "token@0"]))
    leaves = st.one_of(
        st.builds(e.Variable, names),
        st.builds(e.Local, st.just("d")),
        st.builds(e.Constant, st.sampled_from([Fraction(1), Fraction(-1, 2), "B", "-B", "least"])),
        st.builds(e.Coordinate, st.just("before"), st.sampled_from(["x", "x@0", "y.x"]), st.just(0), st.just("")),
        st.builds(e.Logit, st.sampled_from(["NO", "a)", "'a"]), st.sampled_from(["", "a"])),
        st.builds(e.Attention, st.sampled_from(["score", "weight"]), *map(st.just, (0, 1, 1, 0))),
        st.builds(e.Parameter, st.just("output"), st.sampled_from([(), (0,), (0, 1)]), st.sampled_from(["", "a"])),
    )
    same = st.builds(e.SameWord, words, texts)

    def values(conditions, values):
        one, two = st.sampled_from(["abs", "exp", "relu", "root"]), st.sampled_from(["add", "divide", "max", "min"])
        return st.one_of(
            st.builds(lambda name, a: e.Operation(name, (a,)), one, values),
            st.builds(lambda name, a, b: e.Operation(name, (a, b)), two, values, values),
            st.builds(e.Choice, conditions, values, values),
            st.builds(e.LetValue, st.just("d"), values, values),
        )

    def deeper(conditions):
        inner = st.recursive(leaves, lambda below: values(conditions, below), max_leaves=4)
        junction = st.builds(
            lambda how, parts: e.Junction(how, tuple(parts)),
            st.sampled_from(["and", "or"]),
            st.lists(conditions, max_size=3),
        )
        return st.one_of(
            st.builds(e.Comparison, st.sampled_from("=≠<"), inner, inner),
            junction,
            st.builds(e.Negation, conditions),
            st.builds(e.Implication, conditions, conditions),
            st.builds(e.Equivalence, conditions, conditions),
            st.builds(e.Let, st.just("d"), inner, conditions),
        )

    compared = st.builds(e.Comparison, st.sampled_from("=≠<"), leaves, leaves)
    return st.recursive(st.one_of(compared, same), deeper, max_leaves=5)


_SEEN: dict = {}  # what printed as this text before: every pair of examples is compared


@settings(max_examples=300, deadline=None)
@given(expressions())
def test_two_expressions_never_print_the_same(condition):
    text = str(condition)
    assert _SEEN.setdefault(text, built(condition)) == built(condition)


def combined(conditions):
    """Everything that one connective makes of some conditions."""
    for one in conditions:
        yield from (e.Negation(one), e.Junction("and", (one,)), e.Let("d", x, one))
        for two in conditions:
            yield from (e.Implication(one, two), e.Equivalence(one, two))
            yield from (e.Junction(how, (one, two)) for how in ("and", "or"))


def computed(values, conditions):
    """Everything that one operation makes of some values."""
    for one in values:
        yield from (e.Operation(name, (one,)) for name in ("abs", "exp", "relu", "root"))
        for two in values:
            yield from (
                e.Operation(name, (one, two)) for name in ("add", "subtract", "multiply", "divide", "max", "min")
            )
            yield e.LetValue("d", one, two)
            yield from (e.Choice(test, one, two) for test in conditions)


def test_no_two_small_expressions_print_the_same():
    """All of two levels, some of three: 20,000 expressions, each pair compared by way of a dictionary."""
    leaves = [x, e.Local("d"), B, -B, e.Constant(Fraction(1, 2)), e.Variable("B"), e.Variable("x + x")]
    atoms = [x == 0, x != 0, answer() == "YES", e.Junction("and", ()), defined()]
    texts = {}
    once = list(combined(atoms))
    several = [*once[::3], *(e.Negation(one) for one in once[::4])]
    values = list(computed(leaves, atoms[:2]))
    nested = list(computed(values[::37], once[::23]))
    compared = [e.Comparison("=", one, x) for one in (*leaves, *values, *nested)]
    for condition in (*atoms, *once, *combined(several), *compared):
        assert texts.setdefault(str(condition), built(condition)) == built(condition), str(condition)
    assert len(texts) > 10_000


def test_a_conjunction_of_one_disjunction_is_negated_as_a_whole():
    one = e.Junction("and", (e.Junction("or", (x > 0, y > 0)),))
    assert str(e.Negation(one)) == "¬(x > 0 ∨ y > 0)"


def test_the_new_words_read_as_the_notes_would_write_them():
    said = let("d", x - y, lambda d: (abs(d) <= LEAST) == (where(d > 0, maximum(x, y), minimum(x, y)) == 0))
    assert str(said) == "let d = [x − y]: |d| ≤ least ⇔ (max(x, y) if d > 0 else min(x, y)) = 0"
    assert str(said >> (x == 0)) == f"({said}) ⇒ x = 0"
    assert str(softmax(x, 0, y)[2]) == "[[exp y] / [[[exp x] + [exp 0]] + [exp y]]]"
    assert str(score(1, 0, -1, 2) + attention_weight(0, 1, 1, 0, "a")) == "[score(1.0: -1→2) + a:weight(0.1: 1→0)]"
    assert str(parameter("output", 0, 1, of="b")) == "b:output[0,1]"
    assert str(exists(Values("x"), x == 1, requires=x > 0)) == "for some x, with x > 0: x = 1"
    assert (
        str(Claim(Values("x"), x == 1, requires=let("d", x, lambda d: d > 0)))
        == "for all x, if (let d = x: d > 0): x = 1"
    )
