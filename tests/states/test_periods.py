"""Positions that repeat, in other rooms: the linter, closure, and claims on layers whose values come from the positions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.states.sampling import long_texts, sampled

from glyptic import lint, programs, prove
from glyptic.errors import GlypticError
from glyptic.exact import Transformer
from glyptic.prove import Claim, Proved, check, layers
from glyptic.prove.claims import expressions as e


def turning(period: int, beginning: int) -> Transformer:
    """It says whether the last position is one of the beginning, and, after that, by turns."""
    rows = [[1, 0]] * beginning + [[0, 1 if k % 2 else -1] for k in range(period)]
    return Transformer.of("fixed:4", "ab", ["first", "turn"], [[0, 0], [0, 0]], [[1, 1], [-1, -1]], ["YES", "NO"],
                          position_embedding=rows, period=period)  # fmt: skip


def test_the_linter_knows_what_repeats() -> None:
    """A flag in the beginning is at one position; one in a period of several rows is at infinitely many."""
    rows = [[0], [1], [0]]
    flagged = Transformer.of(
        "fixed:4", "ab", ["second"], [[0], [0]], [[1], [-1]], ["YES", "NO"], position_embedding=rows, period=1
    )
    repeated = flagged.replace(period=2)
    bounded = flagged.replace(period=None)

    def told(transformer: Transformer) -> bool:
        return any(finding.rule == "fixed last position" for finding in lint.lint(transformer))

    assert told(flagged) and told(bounded) and not told(repeated)


def test_closure_of_periods_that_differ() -> None:
    """Of two and three positions in turn, with beginnings of none and one: what they say together, to lengths beyond both."""
    A, B = turning(2, 0), turning(3, 1)
    texts = ["a" * n for n in range(1, 40)]
    says = [{text: T.answer(text) == "YES" for text in texts} for T in (A, B)]
    both, either, none = A & B, A | B, ~A
    assert both.max_length == either.max_length == none.max_length == float("inf")
    assert both.period % 6 == 0 and both.beginning >= 1
    for text in texts:
        a, b = (said[text] for said in says)
        assert (both.answer(text) == "YES") == (a and b)
        assert (either.answer(text) == "YES") == (a or b)
        assert (none.answer(text) == "YES") == (not a)


def test_closure_of_one_with_a_table_ends_with_it() -> None:
    bounded = turning(2, 0).to_length(5)
    assert (turning(3, 1) & bounded).max_length == 5


@pytest.mark.parametrize("seed", range(3))
def test_closure_as_machines(seed: int) -> None:
    """De Morgan, for every length: of turns, and of a letter that occurs."""
    A, B = turning(2, 1), programs.open("occurs:a,ab", "fixed:4")
    C = turning((1, 3, 4)[seed], seed)
    for one, other in ((A, B), (B, C), (C, A)):
        same = prove.equivalent(~(one & other), ~one | ~other, progress=False)
        assert isinstance(same, Proved), same


@pytest.mark.parametrize(("period", "beginning"), [(1, 0), (2, 0), (2, 1), (3, 2)])
def test_layers_take_their_values_from_positions_that_repeat(period: int, beginning: int) -> None:
    """More positions than there are rows: what enters is what a run has there."""
    rows = [[0, k + 1] for k in range(beginning + period)]
    transformer = Transformer.of(
        "fixed:6", "a", ["free", "row"], [[0, 0]], [[0, 1]], ["YES"], position_embedding=rows, period=period
    )
    subject = layers(transformer, positions=7, free=[("free", 0)], from_positions=["row"])
    read = [int(number) for number in transformer.run("a" * 7, trace="embedding").trace["embedding"][1]]
    assert read == [k + 1 if k < beginning else beginning + 1 + (k - beginning) % period for k in range(7)]
    for position, number in enumerate(read):
        right, wrong = (Claim(subject, e.before("row", position) == value) for value in (number, number + 1))
        assert isinstance(check(right, progress=False), Proved) and not isinstance(check(wrong, progress=False), Proved)
    bounded = transformer.replace(period=None)
    with pytest.raises(GlypticError, match="positions"):
        Claim(layers(bounded, positions=7, free=[("free", 0)], from_positions=["row"]), e.before("row", 0) == 1)


def test_sampled_periods_are_the_same_written_otherwise() -> None:
    for seed in range(40):
        transformer = sampled(seed)
        if transformer.period == 1 and len(transformer.position_embedding) == 1:
            continue
        longer = transformer.repeating(2 * transformer.period, beginning=transformer.beginning + 1)
        texts = [text for n in (1, 2, 3, 4) for text in product(transformer.vocabulary, repeat=n)]
        texts += long_texts(transformer, 5, 30, seed)
        one, other = transformer.run_batch(texts), longer.run_batch(texts)
        assert np.array_equal(one.numbers, other.numbers) and np.array_equal(one.logits, other.logits)
    with pytest.raises(GlypticError, match="do not repeat every 3"):
        turning(2, 0).repeating(3)
