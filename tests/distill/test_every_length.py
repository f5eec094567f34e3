"""The automaton of a decider without positions: told where there is one, and true; elsewhere the reason."""

from glyptic.distill.every_length import machine_of
from glyptic.distill.fine_tuning import in_format
from glyptic.distill.straight import latents_of
from glyptic.distill.words import all_words, exact_answers, truth_of
from glyptic.languages import regular
from glyptic.numbers import as_format
from tests.distill.deciders import ends_in_one, untrained


def test_positions_end_and_so_do_words() -> None:
    T = ends_in_one().unrounded(6).in_format("fixed:6")
    assert machine_of(T, regular("(0|1)*1")).startswith("none: each position has a vector of its own")


def test_the_first_wrong_word_is_that_of_all_words() -> None:
    decider = untrained(positions="none")
    unrounded = decider.unrounded(6)
    T = in_format(unrounded, latents_of(unrounded), as_format("fixed:2"), saturate=True)
    words = all_words(decider.alphabet, 6)
    wrong = words.shortest(exact_answers(T, words) != truth_of(decider.task.language, words), 1)
    said = machine_of(T, decider.task.language.automaton)
    assert "states" in said and (f"wrong first on {wrong[0]!r}" in said if wrong else "for every length" in said)
