"""Chains of thought to their end: a machine that reads its own answers runs into a cycle, so what becomes of it is decidable.

After any input the chain is a path through finitely many states, each of which says what is read next. It ties or meets 0/0, and
is over; or it says one of the words that stop it; or it comes back to a state where it was, and never stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glyptic.arguments import checked, shown
from glyptic.errors import InputError
from glyptic.exact.answers import UNDEFINED
from glyptic.states.machines import Machine, spelt

NEVER_STOPS = "NEVER STOPS"


@dataclass(frozen=True)
class ClosedLoop:
    """What becomes of the chain after every input: the word it stops with, TIE, UNDEFINED, or that it never stops.

    Steps count answers; `examples` has for each end the shortest input that comes to it, and `longest` an input after which the
    chain takes the most steps to its end, where it has one.
    """

    machine: Machine
    ends: np.ndarray  # (states,) of words, by their number in `words`; of the start −1
    words: tuple[str, ...]
    steps: np.ndarray  # (states,): answers said until then; of what never stops −1
    cycle: np.ndarray  # (states,): of what never stops the answers that repeat, else 0

    def end(self, text: str | Sequence[str]) -> str:
        """What becomes of the chain after a text."""
        return self.words[self.ends[self.machine.state(text)]]

    @property
    def always_stops(self) -> bool:
        """Whether every chain comes to an end, after every input of every length."""
        return NEVER_STOPS not in self._met

    def stops_within(self, steps: int) -> tuple[str, ...] | None:
        """None if every chain stops within so many steps; else a shortest input after which it does not."""
        late = (self.steps < 0) | (self.steps > steps)
        return self._shortest(late)

    def always_ends_with(self, word: str) -> tuple[str, ...] | None:
        """None if every chain ends with a word; else a shortest input after which it does not."""
        if word not in self.words:
            raise InputError(f"{shown(word)} is no end of a chain; there are {', '.join(self.words)}.")
        return self._shortest(self.ends != self.words.index(word))

    @property
    def longest(self) -> int | None:
        """The most steps that any chain takes to its end; None if some never stop."""
        return int(self.steps[1:].max(initial=0)) if self.always_stops else None

    @property
    def examples(self) -> dict[str, tuple[str, ...]]:
        """For each end that there is, the shortest input that comes to it."""
        found = {word: self._shortest(self.ends == self.words.index(word)) for word in self._met}
        return {word: text for word, text in found.items() if text is not None}

    @property
    def _met(self) -> list[str]:
        return [self.words[k] for k in np.unique(self.ends[1:]).tolist()]

    def _shortest(self, wanted: np.ndarray) -> tuple[str, ...] | None:
        states = [s for s in np.flatnonzero(wanted).tolist() if s]
        return min((self.machine.word(state) for state in states), key=len, default=None)

    def __str__(self) -> str:
        lines = [f"the closed loop of {self.machine.name or 'a transformer'} in {self.machine.format}"]
        for word, text in self.examples.items():
            lines.append(f"  {word}: first after {spelt(text, self.machine.vocabulary)}")
        longest = self.longest
        lines.append("  some chains never stop" if longest is None else f"  every chain stops within {longest} steps")
        return "\n".join(lines)


@checked
def closed_loop(machine: Machine, stop: Sequence[str]) -> ClosedLoop:
    """Follow the chain of thought after every input to its end; `stop` are the answers that end it.

    >>> from glyptic.exact import Transformer
    >>> T = Transformer.of("fixed:2", "ab.", ["a", "b"], [[1, 0], [0, 1], [0, 0]], [[0, 0], [1, -1], [-1, 1]],
    ...                    ["a", "b", "."], period=1)                    # after a it says b, after b it stops
    >>> loop = closed_loop(T.machine(), ["."])
    >>> loop.end("a"), loop.end("b"), loop.longest
    ('.', '.', 2)
    """
    missing = [answer for answer in machine.answers if answer not in machine.vocabulary and answer not in stop]
    if missing:
        raise InputError(f"the chain reads its answers, and {shown(missing[0])} is not in the vocabulary; name it in stop.")
    for word in stop:
        if word not in machine.answers:
            raise InputError(f"stop: {shown(word)} is no answer; there are {', '.join(machine.answers)}.")
    if not machine.endless:
        raise InputError("the chain may go on for ever, and the positions do not; take a transformer whose positions repeat.")
    words = (*machine.answers, "TIE", "UNDEFINED", NEVER_STOPS)
    token = [machine.vocabulary.index(answer) if answer in machine.vocabulary else 0 for answer in machine.answers]
    over = np.isin(machine.numbers, [machine.answers.index(word) for word in stop]) | (machine.numbers < 0)
    every = np.arange(len(machine))
    following = np.where(over, every, machine.moves[every, np.array(token)[np.maximum(machine.numbers, 0)]])
    return _followed(machine, over, following, words)


def _followed(machine: Machine, over: np.ndarray, following: np.ndarray, words: tuple[str, ...]) -> ClosedLoop:
    """Every state's end, by following each chain once, as far as what is known already."""
    count = len(machine)
    ends, steps, cycle = np.full(count, -1), np.full(count, -1), np.zeros(count, np.int64)
    known = np.zeros(count, bool)
    last = {"TIE": len(words) - 3, "UNDEFINED": len(words) - 2, NEVER_STOPS: len(words) - 1}
    for start in range(1, count):
        path: list[int] = []
        seen: dict[int, int] = {}
        at = start
        while not known[at] and at not in seen and not over[at]:
            seen[at] = len(path)
            path.append(at)
            at = int(following[at])
        if at in seen and not known[at]:  # round in a cycle
            ends[path], cycle[path], known[path] = last[NEVER_STOPS], len(path) - seen[at], True
            continue
        if not known[at]:
            number = int(machine.numbers[at])
            ends[at] = number if number >= 0 else last["UNDEFINED" if number == UNDEFINED else "TIE"]
            steps[at], known[at] = 1, True
        for back, state in enumerate(reversed(path), 1):
            ends[state], cycle[state], known[state] = ends[at], cycle[at], True
            steps[state] = -1 if steps[at] < 0 else steps[at] + back
    return ClosedLoop(machine, ends, words, steps, cycle)
