"""What kind of language: known languages, definitions by brute force, and the theorem on transformers without positions."""

from itertools import product

import numpy as np
import pytest
from tests.states.sampling import sampled

from glyptic import programs
from glyptic.errors import InputError
from glyptic.languages import regular, tomita
from glyptic.languages.automata import Automaton
from glyptic.states import TooManyStates, kind_of, machine
from glyptic.states.expressions import expression_of
from glyptic.states.kinds import is_aperiodic

# expression: star-free, modulus, R-trivial, piecewise testable, locally testable
KNOWN = {
    "(0*10*1)*0*": (False, 2, False, False, False),
    "(0*10*10*1)*0*": (False, 3, False, False, False),
    "0*1.*": (True, None, True, True, True),
    ".*0.*1.*0.*": (True, None, True, True, False),
    "1.*": (True, None, True, False, True),
    ".*1": (True, None, False, False, True),
    "(01)*": (True, None, False, False, True),
    ".*00.*": (True, None, False, False, True),
    "(00)*": (False, 2, False, False, False),
    "0*10*": (True, None, True, True, False),
    "(.*0.*1.*0.*)&(.*1)": (True, None, False, False, False),
}


@pytest.mark.parametrize("expression", KNOWN)
def test_known_languages(expression: str) -> None:
    kind = kind_of(regular(expression))
    assert (kind.star_free, kind.modulus, kind.r_trivial, kind.piecewise_testable, kind.locally_testable) == KNOWN[expression]


def test_cycles_of_several_lengths_are_told_apart() -> None:
    """a = (0 1)(2 3 4): no state is on a cycle of 6."""
    moves = ((1, 2), (0, 0), (3, 0), (4, 2), (2, 3))
    kind = kind_of(Automaton(("a", "b"), moves, frozenset({0, 2}), 0, "two cycles"))
    assert kind.modulus == 6
    assert "a leads states round in cycles of 3 (state 2) and 2 (state 0), by which words are counted modulo 6" in str(kind)


def test_what_shows_a_kind_has_symbols_that_are_signs_in_brackets() -> None:
    assert "it has ⟨(⟩(⟨(⟩)*" in str(kind_of(Automaton(("(", "*"), ((1, 2), (1, 2), (2, 2)), frozenset({1}), 0, "signs")))


def test_the_languages_of_tomita() -> None:
    kinds = [kind_of(tomita(n)) for n in range(1, 8)]
    assert [kind.star_free for kind in kinds] == [True, True, False, True, False, False, True]
    assert [kind.modulus for kind in kinds] == [None, None, 2, None, 2, 3, None]


def test_sizes() -> None:
    words = [w for n in range(1, 7) for w in product("01", repeat=n)]
    for expression in ("~(.*)", "()", "0|1", "..*", ".*", ".|..", "...*", "0*", "~(0|1)", "01*", "(.)?"):
        automaton = regular(expression)
        kind, inside = kind_of(automaton), [automaton.accepts(word) for word in words]
        assert kind.empty == (not any(inside)) and kind.universal == all(inside)
        assert kind.finite == (not any(inside[-(2**6) :])) and kind.cofinite == all(inside[-(2**6) :])


@pytest.mark.parametrize("expression", [".*01.*", "(0|11)*", "~(.*)", "()", "0*1*0*", ".", "0(10)*|1*", *KNOWN])
def test_expressions_say_the_language(expression: str) -> None:
    automaton = regular(expression)
    assert regular(expression_of(automaton)).equivalent(automaton)


def test_symbols_that_are_signs_are_put_in_brackets() -> None:
    assert "⟨(⟩" in programs.open("nested", "fixed:2").machine().expression()


def test_transformers_without_positions_are_star_free() -> None:
    """The theorem: a machine with a cycle in it would be a bug of ours; positions in turn count modulo their period."""
    tried = 0
    for seed in range(80):
        transformer = sampled(seed)
        if len(transformer.position_embedding) > 1:
            continue
        try:
            small = machine(transformer, 3000).minimal()
        except TooManyStates:
            continue
        aperiodic = is_aperiodic(small.moves, 3000)
        assert aperiodic is not False, seed
        tried += aperiodic is True
    assert tried >= 25


def test_positions_in_turn_count_modulo_their_period() -> None:
    """The check can fail: with two positions in turn a machine has a cycle of two."""
    periods = set()
    for seed in range(60):
        transformer = sampled(seed)
        if transformer.period == 2:
            try:
                periods.add(is_aperiodic(machine(transformer, 2000).minimal().moves, 2000))
            except TooManyStates:
                continue
    assert False in periods


def test_a_monoid_that_is_too_large_is_not_decided() -> None:
    kind = kind_of(programs.open("averaging-majority", "fixed:3").machine().language(), 50)
    assert kind.elements is None and kind.star_free is None and kind.locally_testable is None
    assert "not decided" in str(kind)
    assert is_aperiodic(np.array([[1, 0], [0, 1]]), 1) is None


def test_what_the_automaton_alone_shows_is_decided_without_its_monoid() -> None:
    """Whatever is said of a monoid that is too large is what is said of it where it is listed."""
    names, decided = ("star_free", "modulus", "r_trivial", "piecewise_testable", "locally_testable"), set()
    for text in ("(0*10*1)*0*", "0|01|110", "~(0|01)", ".*01.*", "0*1.*", ".*1", "(01)*", ".*"):
        small, whole = kind_of(regular(text), 1), kind_of(regular(text))
        for name in names:
            said = getattr(small, name)
            assert said is None or said == getattr(whole, name), (text, name)
            decided |= {name} if said is not None else set()
        assert all(getattr(small, name) is not False or name in small.shows for name in ("star_free", "piecewise_testable"))
    assert decided == {"star_free", "r_trivial", "piecewise_testable", "locally_testable"}
    assert kind_of(regular("(0*10*1)*0*"), 1).piecewise_testable is False
    for elements in (0, -1):
        with pytest.raises(InputError, match="elements"):
            kind_of(regular("0*"), elements)
