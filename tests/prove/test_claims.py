"""Claims as values: how they read, what they refuse, and that they survive JSON."""

import json

import numpy as np
import pytest
from tests.prove.examples import broken, doubled, identity, last_token

from glyptic import prove
from glyptic.errors import FormatError
from glyptic.exact import Transformer
from glyptic.exact.random import random_transformer
from glyptic.languages import tomita
from glyptic.numbers import Exact, Fixed
from glyptic.prove import (
    LEAST,
    B,
    Claim,
    ClaimError,
    Values,
    accepted,
    after,
    answer,
    at,
    before,
    defined,
    exp,
    holds,
    inputs,
    layers,
    logit,
    relu,
    token,
    variables,
)
from glyptic.prove.claims.evaluation import constant_in
from glyptic.prove.claims.expressions import Constant, Operation
from glyptic.prove.portable.claims import claim_from_json, claim_to_json, digest

x, y = variables("x y")


def test_claims_read_as_the_notes_write():
    claim = Claim(Values("x y"), ~(x == y) >> (x - y != 0), requires=(x > 0) & (y > 0), name="differences")
    assert str(claim) == "differences: for all x, y, if x > 0 ∧ y > 0: ¬x = y ⇒ [x − y] ≠ 0"
    assert str(-B) == "−B"
    assert str((1 - x) * 2 / x) == "[[[1 − x]·2] / x]"
    assert str(answer("a") != "TIE") == "answer(a) ≠ TIE"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Claim(Values("x"), y == 0), "no variable 'y'; its variables: x"),
        (lambda: Claim(layers(doubled(Fixed(3))), after("z") == 0), "no coordinate 'z'; there are x, y"),
        (lambda: Claim(layers(doubled(Fixed(3))), after("y", 4) == 0), "position 4 is not among the positions 0 to 0"),
        (lambda: Claim(layers(doubled(Fixed(3))), after("y", of="b") == 0), "no transformer 'b'"),
        (lambda: Claim(layers(doubled(Fixed(3))), x == 0), "no variable 'x'"),
        (lambda: Claim(layers(doubled(Fixed(3)), free=["w"]), after("y") == 0), "no coordinate 'w'"),
        (lambda: Claim(layers(doubled(Fixed(3)), free=[]), after("y") == 0), "nothing is free"),
        (lambda: Claim(Values("x"), answer() == "YES"), "needs a transformer"),
        (
            lambda: Claim(inputs(doubled(Fixed(3)), max_length=2), at("layer.7.after", "x") == 0),
            "no stage 'layer.7.after'",
        ),
        (
            lambda: Claim(inputs(doubled(Fixed(3)), max_length=3), token(2) == "1"),
            "position 2 does not exist .* min_length=3",
        ),
        (lambda: Claim(inputs(doubled(Fixed(3)), max_length=99), answer() == "NO"), "has 16 positions; .* need 99"),
        (
            lambda: Claim(inputs(doubled(Fixed(3)), doubled(Fixed(4)), max_length=2), answer("a") == "NO"),
            "different formats",
        ),
        (
            lambda: Claim(layers(doubled(Fixed(3))), accepted(tomita(1))),
            "about inputs; this claim is about values of x@0",
        ),
        (lambda: Claim(layers(doubled(Fixed(3))), holds(len)), r"len\(input\) is about inputs"),
        (lambda: Claim(layers(doubled(Fixed(3))), token(0) == "1"), "token@0 is about inputs"),
        (lambda: Claim(Values("x"), accepted(tomita(1))), "about inputs; this claim is about x, which has none"),
        (lambda: Claim(Values("x"), token(0) == "1"), "token@0 is about inputs"),
        (lambda: Claim(Values("x x"), x == 0), "named twice"),
        (
            lambda: Claim(inputs(doubled(Fixed(3)), max_length=2), answer() != "YESS"),
            "answer is never 'YESS'; it is one of NO, YES, TIE, UNDEFINED",
        ),
        (lambda: Claim(layers(doubled(Fixed(3))), answer() != "YESS"), "answer is never 'YESS'"),
        (
            lambda: Claim(inputs(doubled(Fixed(3)), max_length=2), answer() == "NO", requires=token(0) == "2"),
            "token@0 is never '2'; it is one of 0, 1",
        ),
        (lambda: Claim(inputs(last_token(Fixed(2), 8), max_length=2, steps=2), answer(step=2) == "0"), "no such step"),
        (
            lambda: Claim(inputs(last_token(Fixed(2), 8), max_length=3, steps=lambda n: n), answer(step=1) == "0"),
            "the shortest chain of thought has 1",
        ),
        (lambda: Claim(layers(doubled(Fixed(3))), answer(step=1) == "NO"), "no such step"),
        (lambda: prove.decisive(doubled(Fixed(3)), 2, steps=2), "does not read its answer 'NO'"),
        (lambda: prove.decisive(doubled(Fixed(3)), 2, steps=lambda n: 0), "takes at least one"),
        (
            lambda: Claim(layers(doubled(Fixed(3)), free=["x"], positions=20, from_positions=["y"]), after("y") == 0),
            "has 16 positions, so the 20 that are asked for",
        ),
        (
            lambda: Claim(layers(doubled(Fixed(3)), identity(Fixed(3), ("x", "y")), last=1), after("y", of="a") == 0),
            "layers 0 to 0 are asked for; the transformer has 0",
        ),
        (lambda: prove.language(identity(Fixed(3), ("A", "B")), tomita(1), 2), "never answers 'YES'"),
        (lambda: prove.check(Claim(Values("x"), x == x)), "format that is not said"),
        (lambda: bool(x < y), "not a bool"),
        (lambda: x + "infinity", "'infinity' is not a value"),
    ],
)
def test_a_claim_on_what_does_not_exist_is_one_sentence(make, sentence):
    with pytest.raises(ClaimError, match=sentence) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_constant_that_the_format_does_not_have_is_refused():
    with pytest.raises(FormatError, match=r"a constant of the claim.*1/16 is not a value of fixed:3"):
        prove.check(Claim(Values("x"), x * 0.0625 == 0), Fixed(3))


def test_a_constant_is_a_number_or_one_of_four_names():
    """The word "1000" was read as the least value."""
    for wrong in ("1000", "--B", "", "leastB", "b"):
        with pytest.raises(ClaimError, match="is not a constant; write a number, or 'B', '-B', 'least', '-least'"):
            prove.check(Claim(Values("x"), x >= Constant(wrong), requires=x > 0), Fixed(2))
        with pytest.raises(ClaimError, match="is not a constant"):
            prove.check(Claim(layers(doubled(Fixed(2)), free=["x"], fixed={("y", 0): wrong}), after("y") == 0))
    with pytest.raises(ClaimError, match="exact has no least"):
        constant_in("-least", Exact())


def test_an_operation_is_one_of_those_there_are():
    """A name that an arithmetic has for something else is not called."""
    for name in ("values", "__init__", "codes"):
        with pytest.raises(ClaimError, match="is not an operation; there are add, subtract"):
            prove.check(Claim(Values("x"), Operation(name, (x,)) == 0), Fixed(2))


def test_a_block_says_all_that_enters_it():
    T = doubled(Fixed(2))
    plain = layers(T, free=["x"])
    assert str(plain) == "values of x@0 in fixed:2, entering layers 0 to 0 of T"
    others = [
        layers(T, free=[("x", 0)], positions=2),
        layers(T, free=["x"], fixed={("y", 0): -1}),
        layers(T, free=["x"], fixed={("y", 0): "-B"}),
        layers(T, free=["x"], from_positions=("y",)),
    ]
    assert len({str(each) for each in (plain, *others)}) == 5
    whole = layers(T, free=[("x", 1)], positions=2, fixed={("x", 0): "-B"}, from_positions=("y",))
    assert str(whole).endswith("of T at 2 positions with x@0 = −B, y from the position embedding")


@pytest.mark.parametrize("said", [None, 1, "yes", [], np.int64(1)], ids=repr)
def test_a_predicate_says_true_or_false(said):
    """None, what a function without a return gives, was taken for False, and the claim Proved."""

    def forgetful(text):
        return said

    T = identity(Fixed(3))
    claim = Claim(inputs(T, max_length=3), answer() != "TIE", requires=~holds(forgetful, "forgetful"))
    with pytest.raises(ClaimError, match=r"the predicate forgetful answers .* to '0'; it must say True or False") as caught:
        prove.check(claim, progress=False, workers=1)
    assert "\n" not in str(caught.value)
    either = Claim(inputs(T, max_length=2), holds(lambda text: np.bool_(True)))
    assert prove.check(either, progress=False, workers=1)


def all_kinds_of_claims():
    T, U = random_transformer(Fixed(4), 1), random_transformer(Fixed(4), 2)
    yield Claim(Values("x y", Fixed(3)), (x + y) * 0.5 / 2 >= exp(-B) - relu(x), requires=(x < LEAST) | (y != 1))
    yield Claim(
        layers(T, U, free=[("x0", 1)], positions=2, fixed={("x1", 0): "-B"}), after("x2", 1, "a") == before("x2", 1, "b")
    )
    ensures = (answer() == "YES") >> (accepted(tomita(3)) & defined() & (at("embedding", "x0", 0) > logit("NO")))
    yield Claim(inputs(T, max_length=4, min_length=2, steps=1), ensures, token(-1) == "1", "a claim")


@pytest.mark.parametrize("claim", all_kinds_of_claims(), ids=["values", "block", "inputs"])
def test_claims_survive_json(claim):
    again = claim_from_json(json.loads(json.dumps(claim_to_json(claim))))
    assert str(again) == str(claim)
    assert digest(again) == digest(claim)
    assert type(prove.check(again, method="enumerate", progress=False)) is type(
        prove.check(claim, method="enumerate", progress=False)
    )


def test_the_digest_sees_every_weight():
    T = random_transformer(Fixed(4), 1)
    claims = [
        Claim(inputs(each, max_length=3), answer() == "YES") for each in (T, broken(T, "layers.1.feed_forward.w2"))
    ]
    assert digest(claims[0]) != digest(claims[1])


def test_the_digest_sees_what_a_predicate_was_made_with():
    """A journal or a kept sweep must not go on with another predicate of the same name and code."""
    T = identity(Fixed(3))

    def of(words, least=0):
        def chosen(text, shortest=least):
            return text in words and len(text) >= shortest

        return digest(Claim(inputs(T, max_length=3), answer() == "NO", requires=holds(chosen)))

    assert of({"0", "01"}) == of({"01", "0"})
    assert len({of({"0"}), of({"1"}), of(("0",)), of(("0",), 1), of(frozenset({"0", "1"}))}) == 5


def test_an_input_is_printed_as_it_is_read_where_tokens_are_longer_than_characters():
    """Of the tokens a, b and ab, 'ab' is one token and 'a b' are two: T.run reads it so, and so it is printed."""
    T = Transformer.of(Fixed(2), ["a", "b", "ab"], ("x", "y"), [[1, 0], [0, 1], [1, 0]], np.eye(2), ("NO", "YES"), max_length=2)
    verdict = prove.check(Claim(inputs(T, max_length=2, min_length=2), answer() == "NO"), progress=False)
    assert verdict.counterexample.input == ("a", "b") and str(verdict.counterexample) == "input 'a b': answer is YES"
    assert T.run("a b").answer == "YES" and T.run("ab").answer == "NO"


def test_a_block_of_two_transformers_says_which_layers_of_each_it_runs():
    one, two = doubled(Fixed(2)), doubled(Fixed(2)).replace(name="longer")
    two = two.replace(layers=two.layers * 2)
    assert "entering layers 0 to 0 of a and layers 0 to 1 of longer" in str(layers(one, two, free=["x"]))
    assert "entering layers 0 to 0 of a and longer" in str(layers(one, two, free=["x"], last=1))
    assert "entering the output of a and layers 1 to 1 of longer" in str(layers(one, two, free=["x"], first=1))
