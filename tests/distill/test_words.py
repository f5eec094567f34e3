"""What deciders say of all words, from one pass over the longest: as if each word had been run alone."""

import numpy as np
import pytest
import torch

from glyptic.distill.decider import language_task
from glyptic.distill.words import all_words, automaton_of, exact_answers, float_answers, truth_of, words_for
from glyptic.errors import InputError
from glyptic.exact import Sizes, random_transformer
from glyptic.exact.answers import named
from glyptic.exact.options import Options
from tests.distill.deciders import untrained


def spelt(words, row: int, place: int) -> str:
    return "".join(words.alphabet[letter] for letter in words.letters[row, : place + 1])


@pytest.mark.parametrize(
    ("format", "options"), [("fixed:3", Options()), ("fixed:2", Options(norm="pre")), ("fixed:4", Options(answer="logits"))]
)
def test_every_beginning_is_answered_as_the_word_alone(format: str, options: Options) -> None:
    T = random_transformer(format, seed=3, sizes=Sizes(layers=2, heads=2, width=4), options=options)
    words = all_words(T.vocabulary, 5)
    answers = exact_answers(T, words)
    texts = [(row, place) for row, place in np.argwhere(words.counted)]
    assert len({spelt(words, *each) for each in texts}) == words.count == sum(2**n for n in range(1, 6))
    alone = T.run_batch([spelt(words, *each) for each in texts]).answers
    assert [named(T, [int(answers[each])])[0] for each in map(tuple, texts)] == list(alone)


def test_places_of_zero_over_zero_are_told() -> None:
    """In fixed:2, where a norm of equal coordinates is 0/0, some runs have no answer: never a right one."""
    found = set()
    for seed in range(6):
        T = random_transformer("fixed:1", seed=seed, sizes=Sizes(layers=1, heads=1, width=2), options=Options(norm="pre"))
        words = all_words(T.vocabulary, 4)
        answers = exact_answers(T, words)
        for row, place in np.argwhere(words.counted)[::3]:
            expected = T.run_batch([spelt(words, row, place)]).answers[0]
            assert named(T, [int(answers[row, place])])[0] == expected
            found.add(expected)
    assert "UNDEFINED" in found


def test_the_float_decider_says_what_it_says_of_each_word() -> None:
    decider = untrained()
    words = all_words(decider.alphabet, 4)
    said = float_answers(decider.model, words)
    for row, place in np.argwhere(words.counted):
        tokens = torch.from_numpy(words.letters[row : row + 1, : place + 1])
        assert said[row, place] == decider.model(tokens).argmax(-1).item()


def test_words_that_are_drawn_are_counted_once() -> None:
    language = language_task("dyck:2,16").language
    words = words_for(language, 16)
    assert not words.complete
    texts = [spelt(words, row, place) for row, place in np.argwhere(words.counted)]
    assert len(set(texts)) == len(texts) == words.count
    assert 0.2 < words.share(truth_of(language, words) == 1) < 0.6, "odd lengths have no members"


REGULAR_OR_NOT = ("majority:7", "palindromes:6", "dyck:1,8", "dyck:2,5", "tomita:4,7", "majority:4,b,abc")


@pytest.mark.parametrize("task", [f"{name},held_out=0" for name in REGULAR_OR_NOT])
def test_the_automaton_is_the_language_to_its_length(task: str) -> None:
    found = language_task(task)
    words = all_words(found.language.alphabet, found.max_length)
    automaton = automaton_of(found.language, found.max_length, task)
    truth = truth_of(found.language, words)
    for row, place in np.argwhere(words.counted):
        assert automaton.accepts(spelt(words, row, place)) == truth[row, place], spelt(words, row, place)


def test_a_language_of_too_many_words_is_refused() -> None:
    with pytest.raises(InputError, match=r"has 4\^16 words of length 16, too many to list; ask for a smaller max_length"):
        automaton_of(language_task("dyck:2,16").language, 16, "dyck:2")


def test_shortest_words_come_in_order() -> None:
    words = all_words(("a", "b"), 3)
    assert words.shortest(np.ones_like(words.counted), 6) == ["a", "b", "aa", "ab", "ba", "bb"]
    assert words.shortest(words.letters == 1, 3) == ["b", "ab", "bb"]
