"""Known answers: Tomita's languages, the notes' errata, claims that rounding alone makes false; and mutations of each."""

import numpy as np
import pytest
from tests.prove.examples import averaging_majority, broken, identity, last_token

from glyptic import prove
from glyptic.carve import normalize
from glyptic.exact import FeedForward, Layer, Transformer
from glyptic.exact.random import random_transformer
from glyptic.languages import tomita
from glyptic.numbers import Exact, Fixed, Float, Ieee
from glyptic.programs import by_name, recogniser
from glyptic.prove import B, Claim, Proved, Refuted, Values, answer, before, inputs, layers, logit, variables

QUIET = {"progress": False, "workers": 1}
x, y, z = variables("x y z")


@pytest.mark.parametrize("number", range(1, 8))
def test_tomita_to_length_14(number):
    automaton = tomita(number)
    verdict = prove.language(recogniser(automaton, Fixed(2), 14), automaton, **QUIET)
    assert isinstance(verdict, Proved)
    assert verdict.inputs == 2**15 - 2
    assert prove.decisive(recogniser(automaton, Float(2, 2), 10), **QUIET)
    assert prove.never_zero_attention(recogniser(automaton, Float(2, 2), 10), **QUIET)


PARTS = [
    "token_embedding",
    "position_embedding",
    "layers.0.heads.0.query",
    "layers.1.heads.0.key",
    "layers.2.heads.0.value",
    "layers.1.heads.0.output",
    "layers.1.feed_forward.w1",
    "layers.2.feed_forward.w2",
    "output",
]


@pytest.mark.parametrize("part", PARTS)
def test_one_weight_broken_is_refuted(part):
    automaton = tomita(6)
    T = recogniser(automaton, Fixed(2), 8)
    assert prove.language(T, automaton, **QUIET)
    verdict = prove.language(broken(T, part), automaton, **QUIET)
    assert isinstance(verdict, Refuted)
    text = "".join(verdict.counterexample.input)
    assert verdict.counterexample.observed["input ∈ Tomita 6"] == str(automaton.accepts(text)).lower()
    assert verdict.counterexample.observed["answer"] != ("YES" if automaton.accepts(text) else "NO")
    other = prove.equivalent(T, broken(T, part), 8, **QUIET)
    assert other.counterexample.input == verdict.counterexample.input


@pytest.mark.parametrize(
    "claim",
    [
        Claim(Values("x y"), x + (y - x) == y, name="overwriting by adding the difference"),
        Claim(Values("x y z"), (x + y) + z == x + (y + z), name="sums associate"),
        Claim(Values("x y"), (x * y == 0) >> ((x == 0) | (y == 0)), name="no zero divisors"),
        Claim(Values("x y"), (x / y) * y == x, requires=y != 0, name="a quotient times the divisor"),
    ],
    ids=lambda claim: claim.name,
)
@pytest.mark.parametrize("format", [Fixed(2), Float(1, 2), Ieee(3, 2)], ids=str)
def test_true_of_the_rationals_and_false_by_rounding_alone(claim, format):
    """Each is an identity of the rationals; the counterexample is run again in fractions by `refutation`."""
    assert isinstance(prove.check(claim, format, **QUIET), Refuted)


def test_differences_vanish_only_without_subnormals():
    claim = Claim(Values("x y"), (x - y == 0) >> (x == y))
    assert prove.check(claim, Ieee(3, 2), **QUIET)
    verdict = prove.check(claim, Ieee(3, 2, subnormals=False), **QUIET)
    assert isinstance(verdict, Refuted)


def test_averaging_is_right_but_for_rounding():
    def more_ones(text):
        return 2 * text.count("1") > len(text)

    assert prove.language(averaging_majority(Exact(), 5), more_ones, **QUIET)
    assert prove.language(averaging_majority(Fixed(4), 10), more_ones, **QUIET)
    verdict = prove.language(averaging_majority(Fixed(1), 10), more_ones, **QUIET)
    assert "".join(verdict.counterexample.input) == "1111000"  # four votes of 1/2 saturate at B = 3/2


def test_amplification_of_the_notes():
    two = Claim(Values("x"), x * B * B == B, requires=x > 0)
    three = Claim(Values("x"), x * B * B * B == B, requires=x > 0)
    assert all(prove.check(two, Fixed(s), **QUIET) for s in (2, 3, 6))
    assert not any(prove.check(two, format, **QUIET) for format in (Fixed(1), Float(1, 2), Float(3, 3)))
    assert all(prove.check(three, format, **QUIET) for format in (Float(1, 2), Float(3, 3)))


def test_the_answer_is_not_the_larger_logit():
    T = identity(Fixed(3))
    claim = Claim(layers(T), answer() == "YES", requires=logit("YES") > logit("NO"))
    verdict = prove.check(claim, count_all=True, **QUIET)
    assert (verdict.satisfying, verdict.failures) == (8001, 1154 + 820)  # the notes' table for F(3): ties, 0/0
    patched = T.with_options(answer="logits")
    assert prove.check(Claim(layers(patched), answer() == "YES", requires=before("NO") < before("YES")), **QUIET)


def test_zero_attention_is_found_with_its_input():
    broken_down = random_transformer(Fixed(3), 1)
    verdict = prove.never_zero_attention(broken_down, 5, **QUIET)
    assert isinstance(verdict, Refuted)
    with pytest.raises(ArithmeticError, match="softmax is 0/0"):
        broken_down.run(verdict.counterexample.input, engine="reference")
    assert not prove.decisive(broken_down, 5, **QUIET)


def test_one_weight_broken_in_a_look_up_is_zero_attention_and_undecided():
    T = recogniser(tomita(6), Fixed(2), 6)
    off = broken(T, "layers.0.heads.0.key")  # the score loses one of its bits, and is −B everywhere
    for question in (prove.never_zero_attention, prove.decisive):
        assert question(T, **QUIET)
        assert question(off, **QUIET).counterexample.input == ("0",)


@pytest.mark.parametrize("normalized", [normalize.zero_one, normalize.infinity, normalize.plus_minus])
@pytest.mark.parametrize("format", [Fixed(4), Float(3, 3)], ids=str)
def test_normalization_keeps_every_answer(normalized, format):
    T = by_name("parity:8", format)
    U = normalized(T)
    assert prove.equivalent(T, U, 8, **QUIET).inputs == 510
    turned = broken(U, "output", code=format.code(-1))  # 0 in its place would not do: ±∞ leaves a margin
    assert isinstance(prove.equivalent(T, turned, 8, **QUIET), Refuted)


def test_equivalence_of_a_transformer_with_itself_under_other_options():
    T = recogniser(tomita(2), Fixed(3), 8)
    assert prove.equivalent(T, T.with_options(answer="logits"), 8, **QUIET)
    assert prove.equivalent(T, T.with_options(attention="leftmost"), 8, **QUIET)
    assert not prove.equivalent(T, T.with_options(mask="strict"), 8, **QUIET)


def test_every_step_of_a_chain_is_compared_where_lengths_take_different_steps():
    """The last token repeated, and the same exchanged at positions 1 and 2: two wrongs make length 2 end as it should."""
    F = Fixed(2)
    exchange = FeedForward.of(F, [[1, 0, 1], [0, 1, 1]], [-1, -1], [[-1, 1], [1, -1], [0, 0]], [0, 0, 0])
    rest = {"position_embedding": [[0, 0, int(i in (1, 2))] for i in range(3)], "layers": [Layer((), exchange)]}
    twice = Transformer.of(F, "01", ("zero", "one", "flip"), np.eye(3)[:2], np.eye(3)[:2], "01", **rest)
    once = last_token(F, 3)
    subject = inputs(once, twice, max_length=2, steps=lambda n: n)
    assert prove.check(Claim(subject, answer("a") == answer("b")), **QUIET)
    verdict = prove.equivalent(once, twice, 2, steps=lambda n: n, **QUIET)
    assert isinstance(verdict, Refuted)
    assert verdict.counterexample.input == ("0", "0")
    assert prove.equivalent(once, once, 2, steps=lambda n: n, **QUIET)
