"""What shows the kind of a language is read again from its sentence, and holds of the automaton."""

from __future__ import annotations

import re

import numpy as np
import pytest

from glyptic.languages import Automaton, regular, tomita
from glyptic.states import LanguageKind, kind_of

EXPRESSIONS = (
    *("(0*10*1)*0*", "(0*10*10*1)*0*", "0*1.*", ".*0.*1.*0.*", "1.*", ".*1", "(01)*", ".*00.*", "(00)*", "0*10*"),
    *("~(.*)", "()", "0|1", "..*", ".*", ".|..", "0*", "~(0|1)", "01*", "(0|11)*", "0(10)*|1*", "(0*10*1)*0*1", "(000|11)*"),
    *("01.*", "10.*|0", "11.*", ".1.*", "..0.*", "1*01.*"),
)


def some() -> list[Automaton]:
    """Known languages, those of Tomita, and automata with random moves."""
    rng, made = np.random.default_rng(3), [*map(regular, EXPRESSIONS), *(tomita(n) for n in range(1, 8))]
    for _ in range(80):
        states, letters = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        moves = tuple(map(tuple, rng.integers(0, states, (states, letters)).tolist()))
        accepting = frozenset(np.flatnonzero(rng.integers(0, 2, states)).tolist())
        made.append(Automaton(tuple("012"[:letters]), moves, accepting, name="random"))
    return made


@pytest.fixture(scope="module")
def kinds() -> list[tuple[Automaton, LanguageKind]]:
    return [(automaton.minimal(), kind_of(automaton)) for automaton in some()]


def parts(pattern: str, said: str) -> tuple[str, ...]:
    """What a sentence names, which must be of the form."""
    found = re.fullmatch(pattern, said)
    assert found is not None, said
    return found.groups()


def after(automaton: Automaton, state: int, word: str) -> int:
    for symbol in word.replace("ε", ""):
        state = automaton.moves[state][automaton.alphabet.index(symbol)]
    return state


def maps(automaton: Automaton, word: str) -> tuple[int, ...]:
    return tuple(after(automaton, state, word) for state in range(len(automaton.moves)))


def accepts(automaton: Automaton, word: str) -> bool:
    return after(automaton, automaton.start, word) in automaton.accepting


def test_words_that_are_there_and_words_that_are_not(kinds: list[tuple[Automaton, LanguageKind]]) -> None:
    met = 0
    for automaton, kind in kinds:
        assert ("empty" in kind.shows, "universal" in kind.shows) == (not kind.empty, not kind.universal)
        if not kind.empty:
            assert accepts(automaton, parts(r"it has (\d+)", kind.shows["empty"])[0])
        if not kind.universal:
            assert not accepts(automaton, parts(r"it lacks (\d+)", kind.shows["universal"])[0])
        met += not kind.empty and not kind.universal
    assert met > 60


def test_infinitely_many_words_that_are_there_or_not(kinds: list[tuple[Automaton, LanguageKind]]) -> None:
    """What goes round in a cycle is repeated as often as one likes."""
    met = {"finite": 0, "cofinite": 0}
    for automaton, kind in kinds:
        for name, verb, inside in (("finite", "has", True), ("cofinite", "lacks", False)):
            assert (name in kind.shows) == (not getattr(kind, name))
            if name in kind.shows:
                come, around, rest = parts(rf"it {verb} (\d*)\((\d+)\)\*(\d*)", kind.shows[name])
                assert all(accepts(automaton, come + around * n + rest) == inside for n in range(1, 12))
                met[name] += 1
    assert min(met.values()) > 60


def test_states_that_lead_to_each_other(kinds: list[tuple[Automaton, LanguageKind]]) -> None:
    met = 0
    for automaton, kind in kinds:
        if kind.r_trivial:
            assert kind.shows["r_trivial"] == "a state that is left is never met again"
            for state in range(len(automaton.moves)):  # every cycle is a loop: nothing leads back in as many steps as states
                front, passed = {t for t in automaton.moves[state] if t != state}, set[int]()
                while front - passed:
                    passed |= front
                    front = {t for s in front for t in automaton.moves[s]}
                assert state not in passed
            continue
        form = r"(\d+) leads from state (\d+) to state (\d+), and (\d+) back"
        there, p, q, back = parts(form, kind.shows["r_trivial"])
        assert p != q and after(automaton, int(p), there) == int(q) and after(automaton, int(q), back) == int(p)
        met += 1
    assert met > 40


def test_words_that_count(kinds: list[tuple[Automaton, LanguageKind]]) -> None:
    met = set()
    for automaton, kind in kinds:
        if kind.star_free:
            assert kind.modulus is None and kind.shows["star_free"] == "no word leads states round in a cycle"
            continue
        word, state, length = parts(r"(\d+) leads state (\d+) round in a cycle of (\d+)", kind.shows["star_free"])
        assert kind.modulus is not None
        way = [after(automaton, int(state), word * n) for n in range(int(length) + 1)]
        assert int(length) == kind.modulus or kind.modulus % len(set(way)) == 0
        assert way[0] == way[len(set(way))] and len(set(way)) > 1, kind.shows
        power = maps(automaton, word * 60)
        assert maps(automaton, word * (60 + kind.modulus)) == power and maps(automaton, word * 61) != power
        met.add(kind.modulus)
    assert met >= {2, 3}


def test_words_before_words(kinds: list[tuple[Automaton, LanguageKind]]) -> None:
    """Two maps of which each is the other with a word before it, found again among all words of some length."""
    met = 0
    for automaton, kind in kinds:
        said = kind.shows.get("piecewise_testable", "")
        found = re.fullmatch(r"words before (\w+) and (\w+) make either of the other", said)
        if kind.piecewise_testable:
            assert not said
        elif found is None:
            assert said == kind.shows["r_trivial"]
        else:
            u, v = (maps(automaton, word) for word in found.groups())
            assert u != v and v in before(automaton, u) and u in before(automaton, v)
            met += 1
    assert met >= 5


def before(automaton: Automaton, one: tuple[int, ...]) -> set[tuple[int, ...]]:
    """All maps that some words before make of one."""
    found, queue = {one}, [one]
    for each in queue:
        for k in range(len(automaton.alphabet)):
            made = tuple(each[row[k]] for row in automaton.moves)
            if made not in found:
                found.add(made)
                queue.append(made)
    return found


def test_what_stands_between_two_words(kinds: list[tuple[Automaton, LanguageKind]]) -> None:
    """Of an idempotent that is shown: something between counts by its number, or two things by their order."""
    met = 0
    for automaton, kind in kinds:
        assert ("locally_testable" in kind.shows) == (kind.locally_testable is False)
        if kind.locally_testable is not False:
            continue
        said = kind.shows["locally_testable"]
        word = parts(r"what stands between two (\d+) counts by its order or number", said)[0]
        e = maps(automaton, word)
        assert maps(automaton, word * 2) == e
        states = range(len(e))
        inner = {tuple(e[s[e[q]]] for q in states) for s in before(automaton, tuple(states))}
        number = any(tuple(s[s[q]] for q in states) != s for s in inner)
        order = any(tuple(s[t[q]] for q in states) != tuple(t[s[q]] for q in states) for s in inner for t in inner)
        assert number or order
        met += 1
    assert met > 20
