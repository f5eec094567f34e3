"""Regular languages as values: complete deterministic automata, and what can be done with them.

>>> ends = Automaton(("0", "1"), ((0, 1), (0, 1)), frozenset({1}), name="ends in 1")
>>> (ends & ~ends).accepts("01"), ends.difference(ends | ~ends), ends.equivalent(~~ends)
(False, (), True)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from numbers import Integral
from operator import and_, or_
from typing import TypeVar

import numpy as np

from glyptic.arguments import checked, is_list, refused, shown
from glyptic.errors import InputError
from glyptic.showing import Showing
from glyptic.text import printable

_State = TypeVar("_State", bound=Hashable)
_MOST_STATES = 1 << 14


@dataclass(frozen=True)
class Automaton(Showing):
    """A complete deterministic automaton; states are numbers, moves[state][symbol's number] the next state."""

    alphabet: tuple[str, ...]
    moves: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]
    start: int = 0
    name: str = "automaton"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise refused("name", self.name, "a text")
        lists = {"moves": "a list, for each state, of its next states", "accepting": "a set of states"}
        for field, wanted in lists.items():
            if not is_list(getattr(self, field)) or (field == "moves" and not all(map(is_list, self.moves))):
                raise refused(field, getattr(self, field), wanted)
        if not isinstance(self.alphabet, Iterable) or not all(isinstance(symbol, str) for symbol in self.alphabet):
            raise refused("alphabet", self.alphabet, "a list of symbols, which are texts")
        states, named, size = range(len(self.moves)), printable(self.name), len(self.alphabet)
        if len(set(self.alphabet)) < size:
            raise InputError(f"{named}: a symbol is twice in the alphabet {_listed(self.alphabet)}.")
        for state in (self.start, *self.accepting, *(t for row in self.moves for t in row)):
            if not isinstance(state, Integral) or isinstance(state, bool) or state not in states:
                raise InputError(f"{named}: there is no state {shown(state)}; states are 0 to {len(states) - 1}.")
        for state, row in enumerate(self.moves):
            if len(row) != size:
                raise InputError(f"{named}: state {state} has {len(row)} moves; the alphabet has {size} symbols.")
        object.__setattr__(self, "alphabet", tuple(self.alphabet))  # lists do as well, and are kept as what can be a key
        object.__setattr__(self, "moves", tuple(tuple(map(int, row)) for row in self.moves))
        object.__setattr__(self, "accepting", frozenset(map(int, self.accepting)))

    def accepts(self, text: Iterable[str]) -> bool:
        """Whether a text, or a sequence of tokens, is in the language."""
        if not isinstance(text, Iterable):
            raise refused("text", text, "a text, or a list of tokens")
        state = self.start
        for symbol in text:
            state = self.moves[state][self._number(symbol)]
        return state in self.accepting

    def accepts_all(self, tokens: np.ndarray, vocabulary: Sequence[str]) -> np.ndarray:
        """For token numbers (length, batch) of a vocabulary: which are in the language, as booleans (batch,)."""
        if not isinstance(tokens, np.ndarray) or tokens.ndim != 2 or (tokens.size and tokens.dtype.kind not in "iu"):
            raise refused("tokens", tokens, "an array of whole numbers, (length, batch)")
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < len(vocabulary):
            raise refused("tokens", tokens, f"numbers from 0 to {len(vocabulary) - 1}, of the vocabulary's tokens")
        table = np.array(self.moves)[:, [self._number(token) for token in vocabulary]]
        state = np.full(tokens.shape[1], self.start)
        for row in tokens:
            state = table[state, row]
        return np.isin(state, list(self.accepting))

    def _number(self, symbol: str) -> int:
        if symbol not in self.alphabet:
            raise InputError(f"{printable(self.name)}: {shown(symbol)} is not in the alphabet {_listed(self.alphabet)}.")
        return self.alphabet.index(symbol)

    def complement(self) -> Automaton:
        """The automaton of all other texts."""
        return replace(self, accepting=frozenset(range(len(self.moves))) - self.accepting, name=f"not {self.name}")

    @checked
    def product(self, other: Automaton, joined: Callable[[bool, bool], bool], name: str = "") -> Automaton:
        """Both read a text side by side, and what they say is joined; the smallest automaton of that."""

        def accepting(pair: tuple[int, int]) -> bool:
            return joined(pair[0] in self.accepting, pair[1] in other.accepting)

        name = name or f"({self.name} with {other.name})"
        return explored((self.start, other.start), self._beside(other), accepting, self.alphabet, name).minimal()

    @checked
    def intersection(self, other: Automaton) -> Automaton:
        """The smallest automaton of the texts that are in both languages."""
        return self.product(other, and_, f"({self.name} and {other.name})")

    @checked
    def union(self, other: Automaton) -> Automaton:
        """The smallest automaton of the texts that are in one of the languages, or in both."""
        return self.product(other, or_, f"({self.name} or {other.name})")

    __and__, __or__, __invert__ = intersection, union, complement

    @checked
    def difference(self, other: Automaton) -> tuple[str, ...] | None:
        """A shortest text that is in one of the languages alone, as its symbols; None if they are the same language."""
        after, words = self._beside(other), {(self.start, other.start): ()}

        def spelt(pair: tuple[int, int]) -> Sequence[tuple[int, int]]:
            for symbol, following in zip(self.alphabet, after(pair), strict=True):
                words.setdefault(following, (*words[pair], symbol))  # type: ignore[arg-type]
            return after(pair)

        pairs = walk((self.start, other.start), spelt)
        return next((words[a, b] for a, b in pairs if (a in self.accepting) != (b in other.accepting)), None)

    @checked
    def equivalent(self, other: Automaton) -> bool:
        """Whether both have the same language."""
        return self.difference(other) is None

    def _beside(self, other: Automaton) -> Callable[[tuple[int, int]], Sequence[tuple[int, int]]]:
        if set(self.alphabet) != set(other.alphabet):
            alphabets = f"{_listed(self.alphabet)} and {_listed(other.alphabet)}"
            both = f"{printable(self.name)} and {printable(other.name)}"
            raise InputError(f"{both} have two alphabets, {alphabets}; they must have one.")
        place = [other.alphabet.index(symbol) for symbol in self.alphabet]
        return lambda pair: [(self.moves[pair[0]][k], other.moves[pair[1]][p]) for k, p in enumerate(place)]

    def minimal(self) -> Automaton:
        """The smallest automaton of the same language (Hopcroft's refinement), its states in the order of discovery."""
        reached = list(walk(self.start, self.moves.__getitem__))
        block = _refined(reached, self.moves, self.accepting)
        numbers: dict[int, int] = {}
        for state in reached:
            numbers.setdefault(block[state], len(numbers))
        example = {numbers[block[state]]: state for state in reached}
        moves = tuple(tuple(numbers[block[t]] for t in self.moves[example[n]]) for n in range(len(numbers)))
        accepting = frozenset(numbers[block[s]] for s in reached if s in self.accepting)
        return replace(self, moves=moves, accepting=accepting, start=numbers[block[self.start]])


def _refined(states: list[int], moves: Sequence[Sequence[int]], accepting: frozenset[int]) -> dict[int, int]:
    """For each state the number of its class: those of one class accept the same texts. In n log n steps (Hopcroft, 1971)."""
    before: list[dict[int, list[int]]] = [{} for _ in moves[states[0]]]
    for state in states:
        for k, following in enumerate(moves[state]):
            before[k].setdefault(following, []).append(state)
    classes = [{s for s in states if (s in accepting) == yes} for yes in (False, True)]
    block = {s: int(s in accepting) for s in states}
    waiting = {0, 1}
    while waiting:
        splitter = list(classes[waiting.pop()])
        for into in before:
            hit: dict[int, set[int]] = {}
            for state in (s for t in splitter for s in into.get(t, ())):
                hit.setdefault(block[state], set()).add(state)
            for old, part in hit.items():
                if len(part) == len(classes[old]):
                    continue
                classes[old] -= part
                classes.append(part)
                block.update(dict.fromkeys(part, len(classes) - 1))
                smaller = old if old not in waiting and len(classes[old]) < len(part) else len(classes) - 1
                waiting.add(smaller)
    return block


def _listed(alphabet: Sequence[str]) -> str:
    return printable(" ".join(alphabet))


def walk(start: _State, after: Callable[[_State], Iterable[_State]]) -> Iterator[_State]:
    """Every state that is reached from a start, once, the nearest first.

    >>> list(walk(6, lambda n: {n // 2, n // 3}))
    [6, 2, 3, 0, 1]
    """
    seen = {start}
    for state in (queue := [start]):
        yield state
        new = [s for s in dict.fromkeys(after(state)) if s not in seen]
        seen.update(new)
        queue += new


def explored(
    start: _State,
    after: Callable[[_State], Sequence[_State]],
    accepting: Callable[[_State], bool],
    alphabet: tuple[str, ...],
    name: str,
) -> Automaton:
    """The automaton whose states are values of any kind, where after(state) has one state for each symbol."""
    states = list(islice(walk(start, after), _MOST_STATES + 1))
    if len(states) > _MOST_STATES:
        raise InputError(f"{shown(name)} has more than {_MOST_STATES:,} states; automata of so many are not made.")
    number = {state: k for k, state in enumerate(states)}
    moves = tuple(tuple(number[s] for s in after(state)) for state in states)
    return Automaton(alphabet, moves, frozenset(k for state, k in number.items() if accepting(state)), 0, name)


__all__ = ["Automaton", "explored", "walk"]
