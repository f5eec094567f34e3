"""What a machine is meant to decide, where no automaton can: counters, beside which it is walked until they differ."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from glyptic.arguments import checked, shown
from glyptic.errors import InputError
from glyptic.languages.automata import Automaton
from glyptic.states.classes import Asked
from glyptic.states.machines import Machine

_MOST_PAIRS = 2_000_000


class NoDifference(InputError):
    """None was found among as many pairs as are looked at, up to a `length`: there may be one farther on."""

    def __init__(self, name: str, length: int, pairs: int) -> None:
        super().__init__(f"no difference from {name} was found up to length {length}, among {pairs:,} pairs.")
        self.length = length


@dataclass(frozen=True)
class Intended:
    """A language by a state that each token moves, and which states are in it; there may be infinitely many.

    >>> counter = Intended("more a than b", 0, lambda count, token: count + (1 if token == "a" else -1), lambda count: count > 0)
    >>> counter.has("aab"), counter.has("ab")
    (True, False)
    """

    name: str
    start: Hashable
    after: Callable[[Hashable, str], Hashable]
    accepts: Callable[[Hashable], bool]

    def has(self, text: str | tuple[str, ...]) -> bool:
        """Whether a text is in the language."""
        state = self.start
        for token in text:
            state = self.after(state, token)
        return self.accepts(state)


@checked
def of_automaton(automaton: Automaton) -> Intended:
    """The language of an automaton."""
    number = {symbol: k for k, symbol in enumerate(automaton.alphabet)}
    return Intended(
        automaton.name,
        automaton.start,
        lambda state, token: automaton.moves[state][number[token]],  # type: ignore[call-overload]
        lambda state: state in automaton.accepting,
    )


def majority(letter: str, vocabulary: Sequence[str]) -> Intended:
    """Whether a letter is more than half of all tokens."""
    if letter not in vocabulary:
        raise InputError(f"majority: {shown(letter)} is not in the vocabulary {shown(vocabulary)}.")
    return Intended(
        f"more than half are {letter}",
        0,
        lambda count, token: count + (1 if token == letter else -1),  # type: ignore[operator]
        lambda count: count > 0,  # type: ignore[operator]
    )


def balanced(pair: Sequence[str]) -> Intended:
    """Whether brackets are balanced, to any depth; −1 is where a bracket closed that nothing had opened."""
    if len(pair) != 2:
        raise InputError(f"balanced: brackets are two tokens, one that opens and one that closes, and there are {len(pair)}.")
    return Intended(
        "balanced brackets",
        0,
        lambda depth, token: -1 if depth == -1 else depth + (1 if token == pair[0] else -1),  # type: ignore[operator]
        lambda depth: depth == 0,
    )


def first_difference(
    machine: Machine, intended: Intended, yes: str = "YES", no: str | None = "NO", asked: Asked | None = None
) -> tuple[str, ...] | None:
    """A shortest text that gets another answer than yes, if it is in the language, or no, if it is not; None if there is none.

    Where `no` is None, texts that are not in the language may get any answer but yes.

    Where the language has infinitely many states the search ends with the first difference, or, after two million pairs, with
    `NoDifference`, which says how far it came.

    >>> from glyptic import programs
    >>> "".join(first_difference(programs.open("averaging-majority", "fixed:1").machine(), majority("1", "01")))
    '1111000'
    """
    queue: list[tuple[int, Hashable]] = [(0, intended.start)]
    came: list[tuple[int, int]] = [(-1, -1)]  # of each pair the one before it, and the token
    known = {queue[0]}
    for place, (state, meant) in enumerate(queue):
        if asked is not None:
            asked()
        for number, token in enumerate(machine.vocabulary):
            following = int(machine.moves[state, number])
            pair = (following, intended.after(meant, token))
            if following < 0 or pair in known:
                continue
            known.add(pair)
            queue.append(pair)
            came.append((place, number))
            said, inside = machine.word_of(following), intended.accepts(pair[1])
            if (said == yes) != inside or (not inside and no is not None and said != no):
                return _word(machine, came, len(came) - 1)
        if len(queue) > _MOST_PAIRS:
            length = len(_word(machine, came, place))
            raise NoDifference(intended.name, length, len(queue))
    return None


def _word(machine: Machine, came: list[tuple[int, int]], place: int) -> tuple[str, ...]:
    word: list[str] = []
    while place > 0:
        place, number = came[place]
        word.append(machine.vocabulary[number])
    return tuple(reversed(word))
