"""What does not exist: 0/0 in a run, division by 0, roots of negative numbers. One rule, the same by enumeration and by solvers.

A run that meets 0/0 answers UNDEFINED and has no values; a comparison that reads what does not exist is neither true nor false;
a precondition is met, and a claim holds, only where it comes out true.
"""

import numpy as np
import pytest
from tests.prove.examples import identity

from glyptic import prove
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Transformer
from glyptic.numbers import Fixed, Float, encode
from glyptic.prove import Claim, Proved, Refuted, Vacuous, Values, root, variables
from glyptic.prove.claims.claim import inputs, layers
from glyptic.prove.claims.expressions import after, answer, at, before, defined, logit

(x,) = variables("x")
QUIET = {"progress": False, "workers": 1}
F = Fixed(2)


def both_ways(claim, kind):
    """The answer by enumeration and by solvers: the same kind, and the same counterexample."""
    run, solved = (prove.check(claim, method=method, **QUIET) for method in ("enumerate", "smt"))
    assert type(run) is type(solved) is kind, (str(claim), str(run), str(solved))
    if kind is Refuted:
        assert run.counterexample == solved.counterexample
    return run


def masked(format=F, name="masked"):
    """One head whose only score is h²-like −B·x: 0/0 where x is large, and x is copied to y where it is 0."""
    head = Head.of(format, [[1, 0]], [["-B", 0]], [[1, 0]], [[0], [1]])
    zeros = np.zeros((2, 2))
    layers = [Layer((head,), None)]
    return Transformer.of(format, "01", ("x", "y"), zeros, np.eye(2), ("NO", "YES"), layers=layers, name=name)


def harmless(format=F):
    """The same coordinates, and nothing that can be 0/0 but the output."""
    return Transformer.of(format, "01", ("x", "y"), np.zeros((2, 2)), np.eye(2), ("NO", "YES"), name="harmless")


def always_undefined(format=F):
    """Its embedding is large, so every run is 0/0 in attention."""
    T = masked(format)
    return T.replace(token_embedding=np.array([[format.code(3), 0]] * 2))


# Runs ------------------------------------------------------------------------------------------------------------------------


NUMBER = logit("NO") == logit("NO")  # true of every number
SAYINGS = [  # what is said; of runs some of which are 0/0; of runs all of which are
    (answer() == "UNDEFINED", Refuted, Proved),
    (answer() != "UNDEFINED", Refuted, Refuted),
    (answer().among("NO", "YES", "TIE", "UNDEFINED"), Proved, Proved),
    (NUMBER, Refuted, Refuted),  # neither true
    (~NUMBER, Refuted, Refuted),  # nor false
    (defined() >> NUMBER, Proved, Proved),
    (NUMBER | (answer() == "UNDEFINED"), Proved, Proved),
    (~(defined() & ~NUMBER), Proved, Proved),
]


@pytest.mark.parametrize(("said", "some", "every"), SAYINGS, ids=[str(saying[0]) for saying in SAYINGS])
def test_a_run_that_meets_0_over_0_answers_undefined_and_has_no_values(said, some, every) -> None:
    both_ways(Claim(layers(masked(), free=["x"]), said), some)
    both_ways(Claim(layers(masked(), free=["y"], fixed={("x", 0): 3}), said), every)
    assert type(prove.check(Claim(inputs(always_undefined(), max_length=3), said), **QUIET)) is every


def test_values_of_undefined_runs_meet_no_precondition_and_hold_no_claim() -> None:
    subject = layers(masked(), free=["x"])
    refuted = both_ways(Claim(subject, after("y") == after("y")), Refuted)
    assert refuted.counterexample.observed == {"after.y@0": "undefined"}
    both_ways(Claim(subject, before("x") == before("x")), Proved)  # what enters is there
    both_ways(Claim(subject, after("y") == after("y"), requires=defined()), Proved)
    both_ways(Claim(subject, before("x") == before("x"), requires=(after("y") == after("y")) & ~defined()), Vacuous)
    stage = "layer.0.after_attention"
    of_inputs = inputs(always_undefined(), max_length=2)
    assert isinstance(prove.check(Claim(of_inputs, at(stage, "x") >= 0), **QUIET), Refuted)
    assert isinstance(prove.check(Claim(of_inputs, defined() >> (at(stage, "x") >= 0)), **QUIET), Proved)
    assert isinstance(prove.check(Claim(of_inputs, answer() == "NO", requires=at(stage, "x") >= 0), **QUIET), Vacuous)


def test_two_transformers_have_each_their_own_0_over_0() -> None:
    subject = layers(masked(), harmless(), free=["x"])
    both_ways(Claim(subject, defined("b")), Proved)
    both_ways(Claim(subject, defined("a")), Refuted)
    both_ways(Claim(subject, after("x", of="b") == before("x", of="b")), Proved)
    both_ways(Claim(subject, (answer("b") != "UNDEFINED") | (before("x", of="a") < 0)), Proved)  # softmax(x, 0), x ≥ 0
    two = inputs(always_undefined(), harmless(), max_length=3)
    assert isinstance(prove.check(Claim(two, defined("b")), **QUIET), Proved)
    assert isinstance(prove.check(Claim(two, defined("a")), **QUIET), Refuted)
    assert isinstance(prove.check(Claim(two, logit("NO", "b") == 0), **QUIET), Proved)
    assert isinstance(prove.equivalent(always_undefined(), harmless(), 3, **QUIET), Refuted)
    assert isinstance(prove.equivalent(always_undefined(), always_undefined(), 3, **QUIET), Proved)


def test_0_over_0_in_the_output_leaves_the_logits() -> None:
    """Both logits −B: their softmax is 0/0, so there is no answer, but the logits are numbers."""
    low = identity(F).replace(token_embedding=np.full((2, 2), F.code(-F.max)))
    subject = inputs(low, max_length=2)
    assert isinstance(prove.check(Claim(subject, answer() == "UNDEFINED"), **QUIET), Proved)
    assert isinstance(prove.check(Claim(subject, logit("NO") == -prove.B), **QUIET), Proved)
    both_ways(Claim(layers(identity(F)), logit("NO") == before("NO")), Proved)


def test_a_chain_that_has_tied_stays_tied_whatever_its_stand_in_would_meet() -> None:
    """Answers are tokens: every input ties at once, and from the next position on all visible scores would be −B."""
    head = Head.of(F, [[1, 0, 0]], [[0, 1, 0]], [[0, 0, 0]], [[0], [0], [0]])
    rest = {"position_embedding": [[0, 0, 0]] + [["-B", 0, 0]] * 3, "layers": [Layer((head,), None)]}
    T = Transformer.of(F, "01", ("x", "a", "b"), [[0, 1, 1], [0, 1, 1]], [[0, 1, 0], [0, 0, 1]], "01", **rest)
    assert not prove.never_zero_attention(T, 2, **QUIET)
    claim = Claim(inputs(T, max_length=1, steps=3), answer() == "TIE")
    assert isinstance(prove.check(claim, **QUIET), Proved)
    gone = Claim(inputs(T, max_length=1, steps=3), logit("0") == logit("1"))
    assert isinstance(prove.check(gone, **QUIET), Refuted)  # there are no logits after a tie


# Expressions -------------------------------------------------------------------------------------------------------------------


EXPRESSIONS = [
    (root(x) >= 0, x >= 0, Proved),
    (root(x) >= 0, prove.TRUE, Refuted),
    (root(x) < 0, prove.TRUE, Refuted),
    (root(x) <= prove.B, x >= 0, Proved),
    ((x >= 0) >> (root(x) >= 0), prove.TRUE, Proved),
    (x >= 0, root(x) == root(x), Proved),  # an undefined precondition is not met
    (x == x, root(x - x - 1) == root(x - x - 1), Vacuous),
    ((x == 0) | (root(-prove.LEAST) == 1), prove.TRUE, Refuted),
    (x / x == 1, x != 0, Proved),
    (x / x == 1, prove.TRUE, Refuted),
    ((x != 0) >> (x / x == 1), prove.TRUE, Proved),
    (~(x / x != 1), prove.TRUE, Refuted),
    ((x == 0) | (x / prove.relu(-1 * x) < 0) | (x > 0), prove.TRUE, Proved),
    (1 / (x - x) == 1, prove.TRUE, Refuted),
]


@pytest.mark.parametrize("format", [Fixed(2), Float(2, 1)], ids=str)
@pytest.mark.parametrize(("said", "given", "kind"), EXPRESSIONS, ids=[str(each[0]) for each in EXPRESSIONS])
def test_roots_of_negative_numbers_and_division_by_0(format, said, given, kind) -> None:
    both_ways(Claim(Values("x", format), said, requires=given), kind)


def test_what_does_not_exist_is_called_undefined() -> None:
    refuted = prove.check(Claim(Values("x", F), root(x) >= 0), **QUIET)
    assert refuted.counterexample.values == {"x": "-1/4"}
    assert refuted.counterexample.observed == {"[root x]": "undefined"}


def test_answers_read_off_the_logits_are_never_undefined() -> None:
    both_ways(Claim(layers(identity(F).with_options(answer="logits")), answer() != "UNDEFINED"), Proved)
    both_ways(Claim(layers(identity(F)), answer() != "UNDEFINED"), Refuted)


def test_0_over_0_in_a_norm_is_called_by_its_name() -> None:
    """There is no head at all, and every variance is 0: what is refuted must not be said of attention alone."""
    norm = Norm(encode([1, 1], F), encode([0, 0], F), encode(0, F))
    feed = FeedForward.of(F, [[0, 0]], [0], [[0], [0]], [0, 0])
    T = Transformer.of(
        F, "01", ("a", "b"), np.ones((2, 2)), np.eye(2), ("NO", "YES"),
        layers=[Layer((), feed, None, norm)], options=Options(norm="post"),
    )  # fmt: skip
    verdict = prove.never_zero_attention(T, 2, **QUIET)
    assert isinstance(verdict, Refuted) and verdict.claim.endswith("no 0/0 in attention or a norm")
    assert verdict.claim.startswith("never 0/0 in the layers")


def test_no_answer_is_called_undefined() -> None:
    """Else the word of a run that met 0/0 could not be told from it, and bounds would prove that it is never given."""
    with pytest.raises(ModelError, match="answers has 'UNDEFINED', which is the word for a run that met 0/0"):
        identity(F, ("UNDEFINED", "YES"))
