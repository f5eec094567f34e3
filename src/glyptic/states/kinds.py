"""What kind of language an automaton has, read off its syntactic monoid; each answer with the words that show it.

The monoid is that of the maps w ↦ (q ↦ q·w) of the smallest automaton. Star-free: no map goes round in a cycle (Schützenberger).
R-trivial: no word leads from a state to another and back. Piecewise testable: the monoid is J-trivial (Simon). Locally testable:
for every idempotent e of a word that is not empty, e·S·e is commutative and idempotent (Brzozowski and Simon; McNaughton).
Whether the empty text is in the language changes none of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import lcm
from typing import Annotated

import numpy as np

from glyptic.arguments import Count, checked
from glyptic.languages.automata import Automaton
from glyptic.states.classes import Asked
from glyptic.states.expressions import quoted
from glyptic.states.tables import RowTable

MOST_ELEMENTS = 20_000
_CALLED = {"r_trivial": "R-trivial", "star_free": "star-free"}
_MOST_ENTRIES = 1 << 26  # elements times states


@dataclass(frozen=True)
class LanguageKind:
    """What a language is; None where its monoid is too large for the question. `shows` has for each answer what shows it."""

    name: str
    states: int
    elements: int | None  # of the syntactic monoid
    empty: bool
    universal: bool  # all texts but perhaps the empty one
    finite: bool
    cofinite: bool
    star_free: bool | None
    modulus: int | None  # by which something is counted, where it is not star-free
    r_trivial: bool
    piecewise_testable: bool | None
    locally_testable: bool | None
    shows: dict[str, str]

    def __str__(self) -> str:
        words = {True: "yes", False: "no", None: "not decided"}
        names = ("empty", "universal", "finite", "cofinite", "piecewise_testable", "locally_testable", "r_trivial", "star_free")
        width = max(map(len, names))
        size = "too large to list" if self.elements is None else f"{self.elements:,} elements"
        lines = [f"{self.name}: {self.states:,} states, syntactic monoid of {size}"]
        for name in names:
            said = f"  {_CALLED.get(name, name.replace('_', ' ')):<{width}}  {words[getattr(self, name)]}"
            lines.append(said + (f": {self.shows[name]}" if name in self.shows else ""))
        return "\n".join(lines)


@checked
def kind_of(automaton: Automaton, elements: Annotated[int, Count()] = MOST_ELEMENTS, asked: Asked | None = None) -> LanguageKind:
    """What kind of language an automaton has; `asked` is called now and then, and may raise.

    A monoid of more `elements` is not listed; then what the automaton alone does not show is not decided.

    >>> from glyptic.languages import regular
    >>> print(kind_of(regular(".*01.*")))
    .*01.*: 3 states, syntactic monoid of 5 elements
      empty               no: it has 01
      universal           no: it lacks 0
      finite              no: it has (1)*01
      cofinite            no: it lacks (1)*
      piecewise testable  yes
      locally testable    yes
      R-trivial           yes: a state that is left is never met again
      star-free           yes: no word leads states round in a cycle
    """
    small = automaton.minimal()
    moves = np.array(small.moves)
    accepting = np.isin(np.arange(len(moves)), list(small.accepting))
    shows: dict[str, str] = {}
    monoid = _Monoid.of(moves, elements, small.alphabet, asked)
    empty = _first(small, accepting, shows, "empty", "it has")
    universal = _first(small, ~accepting, shows, "universal", "it lacks")
    finite, cofinite = _ends(small, accepting, shows, "finite", "has"), _ends(small, ~accepting, shows, "cofinite", "lacks")
    r_trivial = _ordered(small, shows)
    modulus = piecewise = local = None
    if monoid is not None:
        modulus, piecewise, local = monoid.modulus(shows), monoid.left_trivial(shows), monoid.locally_testable(shows)
    elif finite or cofinite:
        piecewise = local = True  # a word that is long enough leads to one state, whatever came before and comes after
    if not r_trivial:
        piecewise, shows["piecewise_testable"] = False, shows["r_trivial"]
    elif modulus is None:
        modulus, shows["star_free"] = 1, shows["r_trivial"]  # no word leads states round, for none is met again
    star_free = None if modulus is None else modulus == 1
    if local is None and star_free is False:
        local, shows["locally_testable"] = False, shows["star_free"]
    return LanguageKind(
        automaton.name, len(moves), None if monoid is None else len(monoid.maps), empty, universal, finite, cofinite, star_free,
        None if modulus in (None, 1) else modulus, r_trivial, piecewise, local, shows,
    )  # fmt: skip


def is_aperiodic(moves: np.ndarray, elements: int = MOST_ELEMENTS) -> bool | None:
    """Whether no word leads some states round in a cycle; None where there are too many maps to tell."""
    monoid = _Monoid.of(moves, elements, tuple(map(str, range(moves.shape[1]))))
    return None if monoid is None else monoid.modulus({}) == 1


def _spelt(word: Iterable[str]) -> str:
    listed = list(word)
    return ("" if all(len(token) == 1 for token in listed) else " ").join(listed) or "ε"


@dataclass(frozen=True)
class _Monoid:
    """The maps of all words, that of the empty one first; each with the one it came from and the symbol that came after."""

    maps: np.ndarray  # (elements, states)
    after: np.ndarray  # (elements, symbols): the map of the word with one more symbol at its end
    before: np.ndarray  # (elements, symbols): and at its beginning
    parent: np.ndarray
    symbol: np.ndarray
    alphabet: tuple[str, ...]
    asked: Asked

    @staticmethod
    def of(moves: np.ndarray, most: int, alphabet: tuple[str, ...], asked: Asked | None = None) -> _Monoid | None:
        states, symbols = moves.shape
        if states * most > _MOST_ENTRIES:
            most = _MOST_ENTRIES // states
        table = RowTable(states, np.int32)
        table.add(np.arange(states)[None])
        parent, symbol, after, done = [np.array([-1])], [np.array([-1])], [], 0
        asked = asked or (lambda: None)
        while done < len(table):
            asked()
            rows, first = table.rows[done:].copy(), done
            done = len(table)
            grown = np.stack([moves[rows, a] for a in range(symbols)], axis=1).reshape(-1, states)
            numbers = table.add(grown)
            new, at = np.unique(numbers, return_index=True)
            at = at[new >= done]
            parent.append(first + at // symbols)
            symbol.append(at % symbols)
            after.append(numbers.reshape(-1, symbols))
            if len(table) > most:
                return None
        maps = table.rows.copy()
        before = np.stack([table.add(maps[:, moves[:, a]]) for a in range(symbols)], axis=1)
        return _Monoid(maps, np.concatenate(after), before, np.concatenate(parent), np.concatenate(symbol), alphabet, asked)

    def word(self, element: int) -> list[str]:
        word: list[str] = []
        while element:
            word.append(self.alphabet[self.symbol[element]])
            element = int(self.parent[element])
        return word[::-1]

    def some_word(self, element: int) -> list[str]:
        """A word of an element that is not empty: the identity may be the map of others than the empty word."""
        if element:
            return self.word(element)
        place, symbol = (int(x) for x in np.argwhere(self.after == 0)[0])
        return [*self.word(place), self.alphabet[symbol]]

    def modulus(self, shows: dict[str, str]) -> int:
        """The greatest number by which a word's repetitions are counted; 1 if there is none."""
        worst = 1
        for element in range(len(self.maps)):
            self.asked()
            cycles = _cycles(self.maps[element])
            period = lcm(*cycles)
            if period > worst:
                worst, (length, state) = period, next(iter(cycles.items()))
                where = f"state {state} round in a cycle of {length}" if length == period else f"states {_round(cycles)}"
                shows["star_free"] = f"{_spelt(self.word(element))} leads {where}"
        if worst == 1:
            shows["star_free"] = "no word leads states round in a cycle"
        return worst

    def left_trivial(self, shows: dict[str, str]) -> bool:
        """Whether no two maps are made of each other by words put before them."""
        cycle = _cycle(self.before)
        if cycle is None:
            return True
        u, v = (_spelt(self.word(element)) for element in cycle)
        shows["piecewise_testable"] = f"words before {u} and {v} make either of the other"
        return False

    def locally_testable(self, shows: dict[str, str]) -> bool | None:
        """Whether e·S·e is commutative and idempotent for every idempotent e of a word that is not empty."""
        found = np.unique(np.concatenate([self.after.ravel()])) if len(self.maps) > 1 else np.zeros(0, int)
        maps = self.maps[found]
        for e in maps[[bool((m[m] == m).all()) for m in maps]]:
            self.asked()
            inner = np.unique(e[maps[:, e]], axis=0)  # q ↦ ((q·e)·s)·e
            for i, s in enumerate(inner):
                self.asked()
                if (s[s] != s).any() or any((s[t] != t[s]).any() for t in inner[:i]):
                    around = _spelt(self.some_word(int(np.flatnonzero((self.maps == e).all(axis=1))[0])))
                    shows["locally_testable"] = f"what stands between two {around} counts by its order or number"
                    return False
            if len(inner) > 400:
                return None
        return True


def _round(cycles: dict[int, int]) -> str:
    """Several cycles, longest first, each with a state on it."""
    each = [f"{length} (state {state})" for length, state in cycles.items()]
    return f"round in cycles of {', '.join(each[:-1])} and {each[-1]}, by which words are counted modulo {lcm(*cycles)}"


def _cycles(map: np.ndarray) -> dict[int, int]:
    """The lengths of the cycles that repeating a map runs into, 1 left out, longest first; of each a state on one."""
    power = map
    for _ in range(max(1, len(map)).bit_length()):
        power = power[power]
    on_cycles = np.unique(power)
    moved = map[on_cycles]
    if (moved == on_cycles).all():
        return {}
    found: dict[int, int] = {}
    for start in on_cycles.tolist():
        length, at = 1, int(map[start])
        while at != start:
            length, at = length + 1, int(map[at])
        if length > 1:
            found.setdefault(length, start)
    return dict(sorted(found.items(), reverse=True))


def _components(after: np.ndarray) -> np.ndarray:
    """Of each node a number that it shares with those that it leads to and that lead back."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    nodes, symbols = after.shape
    source = np.repeat(np.arange(nodes), symbols)
    graph = coo_matrix((np.ones(len(source)), (source, after.ravel())), (nodes, nodes))
    return connected_components(graph, directed=True, connection="strong")[1]


def _cycle(after: np.ndarray) -> tuple[int, int] | None:
    """Two different nodes that lead to each other, if there are any."""
    label = _components(after)
    shared = np.flatnonzero(np.bincount(label)[label] > 1)
    return (int(shared[0]), int(np.flatnonzero(label == label[shared[0]])[1])) if len(shared) else None


def _ordered(automaton: Automaton, shows: dict[str, str]) -> bool:
    moves = np.array(automaton.moves)
    cycle = _cycle(moves)
    if cycle is None:
        shows["r_trivial"] = "a state that is left is never met again"
        return True
    p, q = cycle
    there, back = (_spelt(_way(automaton, a, np.arange(len(moves)) == b) or ()) for a, b in ((p, q), (q, p)))
    shows["r_trivial"] = f"{there} leads from state {p} to state {q}, and {back} back"
    return False


def _way(automaton: Automaton, start: int, wanted: np.ndarray, least: int = 0) -> list[str] | None:
    """A shortest word from a state to a wanted one, of at least one symbol if asked; None if there is none."""
    if wanted[start] and not least:
        return []
    came: dict[int, tuple[int, int]] = {}  # of each state the one before it and the symbol
    queue = [start]
    for state in queue:
        for symbol, following in enumerate(automaton.moves[state]):
            if following in came or (following == start and not wanted[start]):
                continue
            came[following] = (state, symbol)
            if wanted[following]:
                return _came_by(automaton, came, start, following)
            queue.append(following)
    return None


def _came_by(automaton: Automaton, came: dict[int, tuple[int, int]], start: int, end: int) -> list[str]:
    state, symbol = came[end]
    word = [automaton.alphabet[symbol]]
    while state != start:
        state, symbol = came[state]
        word.append(automaton.alphabet[symbol])
    return word[::-1]


def _first(automaton: Automaton, wanted: np.ndarray, shows: dict[str, str], name: str, said: str) -> bool:
    """Whether no text but perhaps the empty one leads to a wanted state."""
    shortest = _way(automaton, automaton.start, wanted, 1)
    if shortest is not None:
        shows[name] = f"{said} {_spelt(shortest)}"
    return shortest is None


def _ends(automaton: Automaton, wanted: np.ndarray, shows: dict[str, str], name: str, said: str) -> bool:
    """Whether finitely many texts lead to a wanted state: none goes through a cycle."""
    moves = np.array(automaton.moves)
    leads, before = wanted.copy(), -1
    while before != (before := int(leads.sum())):
        leads |= leads[moves].any(axis=1)
    label = _components(moves)
    turns = (np.bincount(label)[label] > 1) | (moves == np.arange(len(moves))[:, None]).any(axis=1)
    found = np.flatnonzero(leads & turns)
    if not len(found):
        return True
    state = int(found[0])
    here = np.arange(len(moves)) == state
    come, around = _way(automaton, automaton.start, here) or [], _way(automaton, state, here, 1) or []
    after = _way(automaton, state, wanted) or []
    first, repeated, last = ("".join(map(quoted, word)) for word in (come, around, after))
    shows[name] = f"it {said} {first}({repeated})*{last}"
    return False
