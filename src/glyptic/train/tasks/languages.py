"""Languages as they are learned from: which beginnings of a word are members, and members of a length, drawn at random.

Random words of most languages are nearly all NO, so members are drawn by counting what can still become one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from glyptic.languages import Automaton

Letters = NDArray[np.int64]  # (words, places): numbers of letters
Verdict = NDArray[np.bool_]


class FormalLanguage(Protocol):
    """What a task needs to know of a language."""

    @property
    def alphabet(self) -> tuple[str, ...]: ...

    def beginnings(self, words: Letters) -> Verdict:
        """(B, T) → whether the first t + 1 letters of each word are a member, (B, T)."""

    def members(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        """`count` members of a length; None if there are none."""

    def others(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        """`count` words of a length that are no members, or hardly ever; None if there are none."""


@dataclass(frozen=True)
class Regular:
    """The language of an automaton; its members are drawn each with the same probability."""

    automaton: Automaton

    @property
    def alphabet(self) -> tuple[str, ...]:
        return self.automaton.alphabet

    def beginnings(self, words: Letters) -> Verdict:
        moves, accepting = (
            np.array(self.automaton.moves),
            np.isin(range(len(self.automaton.moves)), [*self.automaton.accepting]),
        )
        state = np.full(len(words), self.automaton.start)
        found = np.empty(words.shape, dtype=bool)
        for place in range(words.shape[1]):
            state = moves[state, words[:, place]]
            found[:, place] = accepting[state]
        return found

    def members(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        """
        >>> from glyptic.languages import regular
        >>> Regular(regular("(01)*")).members(np.random.default_rng(0), 4, 2).tolist()
        [[0, 1, 0, 1], [0, 1, 0, 1]]
        """
        return self._walked(rng, length, count, True)

    def others(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        """Each as likely as the other too: random words may be nearly all members."""
        return self._walked(rng, length, count, False)

    def _walked(self, rng: np.random.Generator, length: int, count: int, accepted: bool) -> Letters | None:
        moves = np.array(self.automaton.moves)
        goal = (np.isin(range(len(moves)), [*self.automaton.accepting]) == accepted).astype(float)
        return walked(rng, [moves] * length, goal, self.automaton.start, count)


def walked(
    rng: np.random.Generator, moves: list[NDArray[np.int64]], goal: NDArray[np.float64], start: int, count: int
) -> Letters | None:
    """Paths from `start` by moves[t][state, letter] to a state with goal > 0, each as likely as the other; (count, len(moves)).

    `goal[s]` becomes, a step further from the end each time, in proportion to the number of ways from s to the goal.
    """
    ways = [goal]
    for table in reversed(moves):
        before = ways[-1][table].sum(axis=1)
        if not before.any():
            return None
        ways.append(before / before.max())  # a factor for all states changes no choice, and nothing overflows
    ways.reverse()
    if not ways[0][start]:
        return None
    state, letters = np.full(count, start), np.empty((count, len(moves)), dtype=np.int64)
    for place, table in enumerate(moves):
        share = ways[place + 1][table[state]].cumsum(axis=1)
        letters[:, place] = (rng.random(count)[:, None] * share[:, -1:] >= share).sum(axis=1)
        state = table[state, letters[:, place]]
    return letters


@dataclass(frozen=True)
class Majority:
    """More than half of the letters are one letter."""

    alphabet: tuple[str, ...]
    letter: int

    def beginnings(self, words: Letters) -> Verdict:
        return np.where(words == self.letter, 1, -1).cumsum(axis=1) > 0

    def members(self, rng: np.random.Generator, length: int, count: int) -> Letters:
        """The votes are drawn, more than half, and shuffled; the other letters are any."""
        votes = rng.integers(length // 2 + 1, length + 1, count)
        yes = rng.permuted(np.arange(length)[None, :] < votes[:, None], axis=1)
        letters = np.array([k for k in range(len(self.alphabet)) if k != self.letter] or [self.letter])
        return np.where(yes, self.letter, letters[rng.integers(0, len(letters), yes.shape)])

    def others(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        """In the same way, with at most half of the votes."""
        votes = rng.integers(0, length // 2 + 1, count)
        yes = rng.permuted(np.arange(length)[None, :] < votes[:, None], axis=1)
        letters = np.array([k for k in range(len(self.alphabet)) if k != self.letter])
        return (
            None if not len(letters) else np.where(yes, self.letter, letters[rng.integers(0, len(letters), yes.shape)])
        )


@dataclass(frozen=True)
class Palindromes:
    """Words that read the same backwards."""

    alphabet: tuple[str, ...]

    def beginnings(self, words: Letters) -> Verdict:
        found = np.empty(words.shape, dtype=bool)
        for end in range(words.shape[1]):
            found[:, end] = (words[:, : end + 1] == words[:, end::-1][:, : end + 1]).all(axis=1)
        return found

    def members(self, rng: np.random.Generator, length: int, count: int) -> Letters:
        half = rng.integers(0, len(self.alphabet), (count, (length + 1) // 2))
        return np.concatenate([half, half[:, : length // 2][:, ::-1]], axis=1)

    def others(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        return rng.integers(0, len(self.alphabet), (count, length))


@dataclass(frozen=True)
class Dyck:
    """Balanced brackets of several kinds, never deeper than `depth`; letters 2k and 2k + 1 open and close kind k."""

    alphabet: tuple[str, ...]
    depth: int

    def beginnings(self, words: Letters) -> Verdict:
        count, length = words.shape
        rows, stack = np.arange(count), np.full((count, self.depth + 2), -1)
        height, fine = np.zeros(count, dtype=np.int64), np.ones(count, dtype=bool)
        found = np.empty(words.shape, dtype=bool)
        for place in range(length):
            kind, closes = words[:, place] // 2, words[:, place] % 2 == 1
            fine &= np.where(closes, stack[rows, height] == kind, height < self.depth)
            height = np.where(fine, height + np.where(closes, -1, 1), 0)  # of a word that is lost nothing matters
            opened = fine & ~closes
            stack[rows[opened], height[opened]] = kind[opened]
            found[:, place] = fine & (height == 0)
        return found

    def members(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        """Heights first, each path from 0 to 0 as likely as the other; then kinds, which a closing one takes from its partner."""
        deepest = min(self.depth, length // 2)
        heights, lost = np.arange(deepest + 2), deepest + 1  # one state more for what has left the range
        up = np.where(heights < deepest, heights + 1, lost)
        down = np.where((heights > 0) & (heights < lost), heights - 1, lost)
        goal = (heights == 0).astype(float)
        closes = walked(rng, [np.stack([up, down], axis=1)] * length, goal, 0, count)
        if closes is None:
            return None
        kinds, rows = rng.integers(0, len(self.alphabet) // 2, closes.shape), np.arange(count)
        stack, height = np.zeros((count, deepest + 1), dtype=np.int64), np.zeros(count, dtype=np.int64)
        letters = np.empty_like(closes)
        for place in range(length):
            shut = closes[:, place] == 1
            stack[rows[~shut], height[~shut]] = kinds[~shut, place]
            height = np.where(shut, height - 1, height)
            letters[:, place] = 2 * stack[rows, height] + shut
            height = np.where(shut, height, height + 1)
        return letters

    def others(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        return rng.integers(0, len(self.alphabet), (count, length))


@dataclass(frozen=True)
class Tabled:
    """A language that is known word by word, up to a length: `tables[n - 1]` has an entry for each word of n letters in order."""

    alphabet: tuple[str, ...]
    digest: str
    tables: tuple[Verdict, ...] = field(repr=False, compare=False)

    def beginnings(self, words: Letters) -> Verdict:
        number, found = np.zeros(len(words), dtype=np.int64), np.empty(words.shape, dtype=bool)
        for place in range(words.shape[1]):
            number = number * len(self.alphabet) + words[:, place]
            found[:, place] = self.tables[place][number]
        return found

    def members(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        return self._drawn(rng, length, count, self.tables[length - 1])

    def others(self, rng: np.random.Generator, length: int, count: int) -> Letters | None:
        return self._drawn(rng, length, count, ~self.tables[length - 1])

    def _drawn(self, rng: np.random.Generator, length: int, count: int, wanted: Verdict) -> Letters | None:
        """
        >>> table = Tabled(("0", "1"), "", (np.array([True, False]), np.array([False, True, True, False])))
        >>> np.unique(table.members(np.random.default_rng(0), 2, 20), axis=0).tolist()
        [[0, 1], [1, 0]]
        """
        numbers = np.flatnonzero(wanted)
        if not len(numbers):
            return None
        chosen = numbers[rng.integers(0, len(numbers), count)]
        return chosen[:, None] // len(self.alphabet) ** np.arange(length)[::-1] % len(self.alphabet)


def classes_to(language: FormalLanguage, max_length: int) -> set[bool]:
    """Whether there are members among the words of 1 to max_length letters, and others.

    >>> from glyptic.languages import regular
    >>> classes_to(Regular(regular("00000")), 4), sorted(classes_to(Regular(regular("00000")), 5))
    ({False}, [False, True])
    """
    found: set[bool] = set()
    if isinstance(language, Regular):
        automaton = language.automaton
        states, seen = {automaton.start}, set[int]()
        for _ in range(max_length):
            states = {after for state in states for after in automaton.moves[state]}
            if states <= seen or len(found) == 2:
                break
            seen |= states
            found = {state in automaton.accepting for state in seen}
        return found
    rng = np.random.default_rng(0)
    for length in range(1, max_length + 1):
        for drawn in (language.members(rng, length, 8), language.others(rng, length, 8)):
            if drawn is not None:
                found |= set(language.beginnings(drawn)[:, -1].tolist())
        if len(found) == 2:
            break
    return found


def words_of(rng: np.random.Generator, language: FormalLanguage, length: int, count: int) -> Letters:
    """Words of one length to learn from, members and others as evenly as the language admits.

    Half are members. Of the others half are members with up to three letters drawn anew, since what is nearly a member teaches
    most; those that still are members are drawn anew as the other half is, which is any of the others.
    """
    size, half = len(language.alphabet), count - count // 2
    members = language.members(rng, length, half + count // 4)
    others = language.others(rng, length, count // 2)
    if members is None or others is None:
        only = members if others is None else language.others(rng, length, count)
        assert only is not None  # a word is a member or it is none
        return only[np.arange(count) % len(only)]
    near = members[half:].copy()
    for _ in range(3):
        rows = np.flatnonzero(rng.random(len(near)) < 2 / 3)
        near[rows, rng.integers(0, length, len(rows))] = rng.integers(0, size, len(rows))
    others[: len(near)] = np.where(language.beginnings(near)[:, -1:], others[: len(near)], near)
    for _ in range(50):
        wrong = np.flatnonzero(language.beginnings(others)[:, -1])
        again = language.others(rng, length, len(wrong)) if len(wrong) else None
        if again is None:
            break
        others[wrong] = again
    return rng.permutation(np.concatenate([members[:half], others]))
