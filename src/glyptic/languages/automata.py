"""Regular languages as values: complete deterministic automata, and what can be done with them.

>>> ends = Automaton(("0", "1"), ((0, 1), (0, 1)), frozenset({1}), name="ends in 1")
>>> (ends & ~ends).accepts("01"), ends.difference(ends | ~ends), ends.equivalent(~~ends)
(False, (), True)
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import and_, or_
from typing import TypeVar

import numpy as np

from glyptic.arguments import shown
from glyptic.errors import InputError

_State = TypeVar("_State", bound=Hashable)
_MOST_STATES = 1 << 14


@dataclass(frozen=True)
class Automaton:
    """A complete deterministic automaton; states are numbers, moves[state][symbol's number] the next state."""

    alphabet: tuple[str, ...]
    moves: tuple[tuple[int, ...], ...]
    accepting: frozenset[int]
    start: int = 0
    name: str = "automaton"

    def __post_init__(self) -> None:
        states = range(len(self.moves))
        wrong = [s for s in (self.start, *self.accepting, *(t for row in self.moves for t in row)) if s not in states]
        if wrong:
            raise InputError(f"{self.name}: there is no state {wrong[0]}; states are 0 to {len(self.moves) - 1}.")
        for state, row in enumerate(self.moves):
            if len(row) != len(self.alphabet):
                size = len(self.alphabet)
                raise InputError(f"{self.name}: state {state} has {len(row)} moves; the alphabet has {size} symbols.")

    def accepts(self, text: Iterable[str]) -> bool:
        """Whether a text, or a sequence of tokens, is in the language."""
        state = self.start
        for symbol in text:
            state = self.moves[state][self._number(symbol)]
        return state in self.accepting

    def accepts_all(self, tokens: np.ndarray, vocabulary: Sequence[str]) -> np.ndarray:
        """For token numbers (length, batch) of a vocabulary: which are in the language, as booleans (batch,)."""
        table = np.array(self.moves)[:, [self._number(token) for token in vocabulary]]
        state = np.full(tokens.shape[1], self.start)
        for row in tokens:
            state = table[state, row]
        return np.isin(state, list(self.accepting))

    def _number(self, symbol: str) -> int:
        if symbol not in self.alphabet:
            raise InputError(f"{self.name}: {symbol!r} is not in the alphabet {' '.join(self.alphabet)}.")
        return self.alphabet.index(symbol)

    def complement(self) -> Automaton:
        """The automaton of all other texts."""
        return replace(self, accepting=frozenset(range(len(self.moves))) - self.accepting, name=f"not {self.name}")

    def product(self, other: Automaton, joined: Callable[[bool, bool], bool], name: str = "") -> Automaton:
        """Both read a text side by side, and what they say is joined; the smallest automaton of that."""

        def accepting(pair: tuple[int, int]) -> bool:
            return joined(pair[0] in self.accepting, pair[1] in other.accepting)

        name = name or f"({self.name} with {other.name})"
        return explored((self.start, other.start), self._beside(other), accepting, self.alphabet, name).minimal()

    def intersection(self, other: Automaton) -> Automaton:
        """The smallest automaton of the texts that are in both languages."""
        return self.product(other, and_, f"({self.name} and {other.name})")

    def union(self, other: Automaton) -> Automaton:
        """The smallest automaton of the texts that are in one of the languages, or in both."""
        return self.product(other, or_, f"({self.name} or {other.name})")

    __and__, __or__, __invert__ = intersection, union, complement

    def difference(self, other: Automaton) -> tuple[str, ...] | None:
        """A shortest text that is in one of the languages alone, as its symbols; None if they are the same language."""
        after, words = self._beside(other), {(self.start, other.start): ()}

        def spelt(pair: tuple[int, int]) -> Sequence[tuple[int, int]]:
            for symbol, following in zip(self.alphabet, after(pair), strict=True):
                words.setdefault(following, (*words[pair], symbol))  # type: ignore[arg-type]
            return after(pair)

        pairs = walk((self.start, other.start), spelt)
        return next((words[a, b] for a, b in pairs if (a in self.accepting) != (b in other.accepting)), None)

    def equivalent(self, other: Automaton) -> bool:
        """Whether both have the same language."""
        return self.difference(other) is None

    def _beside(self, other: Automaton) -> Callable[[tuple[int, int]], Sequence[tuple[int, int]]]:
        if set(self.alphabet) != set(other.alphabet):
            alphabets = f"{' '.join(self.alphabet)} and {' '.join(other.alphabet)}"
            raise InputError(f"{self.name} and {other.name} have two alphabets, {alphabets}; they must have one.")
        place = [other.alphabet.index(symbol) for symbol in self.alphabet]
        return lambda pair: [(self.moves[pair[0]][k], other.moves[pair[1]][p]) for k, p in enumerate(place)]

    def minimal(self) -> Automaton:
        """The smallest automaton of the same language (Moore's refinement), its states in the order of discovery."""
        reached = list(walk(self.start, self.moves.__getitem__))
        block, blocks = {state: int(state in self.accepting) for state in reached}, 0
        while len(set(block.values())) > blocks:
            blocks = len(set(block.values()))
            numbers: dict[tuple[int, ...], int] = {}
            signature = {s: (block[s], *(block[t] for t in self.moves[s])) for s in reached}
            block = {s: numbers.setdefault(sign, len(numbers)) for s, sign in signature.items()}
        example = {number: state for state, number in reversed(block.items())}
        moves = tuple(tuple(block[t] for t in self.moves[example[n]]) for n in range(len(example)))
        accepting = frozenset(block[s] for s in reached if s in self.accepting)
        return replace(self, moves=moves, accepting=accepting, start=block[self.start])


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
