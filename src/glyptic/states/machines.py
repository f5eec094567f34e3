"""The exact automaton of a transformer, as a value: a Moore machine over its vocabulary, whose outputs are its answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from glyptic.arguments import Count, Seconds, Writable, checked, shown
from glyptic.errors import InputError
from glyptic.exact.answers import UNDEFINED, WORDS_BELOW
from glyptic.exact.stages import ErrorAt
from glyptic.exact.transformer import Input, Transformer, tokens_of
from glyptic.exact.undefined import Undefined
from glyptic.languages.automata import Automaton
from glyptic.numbers.hosts import Engine
from glyptic.showing import Showing
from glyptic.states.budget import MOST_STATES, Budget, Report, StateCount
from glyptic.states.classes import Asked, classes
from glyptic.states.extraction import Extracted, extract
from glyptic.text import printable, table

if TYPE_CHECKING:
    from glyptic.states.kinds import LanguageKind

UNSAID = -3  # the output of the start, before any token
_WORDS = ("", *WORDS_BELOW)  # of the numbers −3, −2, −1
_SHOWN_ROWS = 40


@dataclass(frozen=True, eq=False)
class Machine(Showing):
    """After each token a state, and at each state the answer to what was read: of a transformer, the same on every input.

    >>> from glyptic import programs
    >>> M = programs.open("occurs", "fixed:2").machine()
    >>> M.answer("0001"), M.answer("0" * 1000), M.minimal()
    ('YES', 'NO', <Machine of occurs in fixed:2: 3 states over 0 1>)
    """

    name: str
    format: str
    vocabulary: tuple[str, ...]
    answers: tuple[str, ...]
    moves: np.ndarray = field(repr=False)  # (states, tokens): the next state; −1 where there is no further position
    numbers: np.ndarray = field(repr=False)  # (states,): of the answer, TIED, UNDEFINED; of the start, 0, UNSAID
    place: np.ndarray = field(repr=False)  # (states,): which place of 0/0 was met, or −1
    places: tuple[ErrorAt, ...] = field(default=(), repr=False)
    searched: tuple[int, ...] = ()  # how many states the search of each layer found

    def __len__(self) -> int:
        return len(self.moves)

    def __repr__(self) -> str:
        over = printable(" ".join(self.vocabulary))
        return f"<Machine of {self.name or 'a transformer'} in {self.format}: {len(self):,} states over {over}>"

    @property
    def endless(self) -> bool:
        """Whether inputs of every length are read."""
        return bool((self.moves >= 0).all())

    # Reading ------------------------------------------------------------------------------------------------------------

    def state(self, text: Input) -> int:
        """The state after a text."""
        return self._path(text)[-1]

    def answer(self, text: Input) -> str:
        """The answer to a text; TIE, or UNDEFINED where a run meets 0/0."""
        return self.word_of(self.state(text))

    def undefined(self, text: Input) -> Undefined | None:
        """The 0/0 that a run of this text meets first, with its place, if it meets any."""
        if not self.places:
            raise InputError("a smallest machine does not know the places of 0/0; ask the one that it was made from.")
        path = self._path(text)
        place = int(self.place[path[-1]])
        if place < 0:
            return None
        position = len(path) - 2
        while place != len(self.places) - 1 and position > 0 and self.place[path[position]] == place:  # the output has no memory
            position -= 1
        return self.places[place](position)

    def read(self, tokens: np.ndarray) -> np.ndarray:
        """The states after token numbers (length, batch), as (batch,); −1 for what is too long."""
        state = np.zeros(tokens.shape[1], np.int64)
        for row in tokens:
            state = np.where(state < 0, -1, self.moves[state, row])
        return state

    def word_of(self, state: int) -> str:
        """The answer at a state; of the start there is none."""
        return (*self.answers, *_WORDS)[self.numbers[state]]

    def _path(self, text: Input) -> list[int]:
        path = [0]
        for token in tokens_of(text, self.vocabulary):
            following = int(self.moves[path[-1], self.vocabulary.index(token)])
            if following < 0:
                raise InputError(f"the input has more tokens than the {len(path) - 1} that this machine reads.")
            path.append(following)
        return path

    # Shortest words -----------------------------------------------------------------------------------------------------

    @cached_property
    def _parents(self) -> tuple[np.ndarray, np.ndarray]:
        parent, by = np.full(len(self), -1), np.full(len(self), -1)
        seen, front = np.zeros(len(self), bool), np.array([0])
        seen[0] = True
        while len(front):
            reached, source = self.moves[front].ravel(), np.repeat(front, self.moves.shape[1])
            token = np.tile(np.arange(self.moves.shape[1]), len(front))
            new = np.flatnonzero((reached >= 0) & ~seen[reached])
            front, first = np.unique(reached[new], return_index=True)
            order = np.argsort(first)
            front, first = front[order], new[first[order]]
            parent[front], by[front], seen[front] = source[first], token[first], True
        return parent, by

    def word(self, state: int) -> tuple[str, ...]:
        """The shortest text that leads to a state, first in the order of the vocabulary among those of its length."""
        parent, by = self._parents
        if not 0 <= state < len(self) or (state and parent[state] < 0):
            raise InputError(f"there is no state {shown(state)}; states are 0 to {len(self) - 1}.")
        word: list[str] = []
        while state:
            word.append(self.vocabulary[by[state]])
            state = int(parent[state])
        return tuple(reversed(word))

    # Other machines -----------------------------------------------------------------------------------------------------

    def minimal(self, asked: Asked | None = None) -> Machine:
        """The smallest machine with the same answers; it knows no places of 0/0. `asked` may raise on the way."""
        _, states, moves = classes(self.moves, self.numbers, asked)
        return replace(self, moves=moves, numbers=self.numbers[states], place=np.full(len(moves), -1), places=())

    def language(self, answer: str = "YES", asked: Asked | None = None) -> Automaton:
        """The smallest automaton of the texts that get an answer, TIE and UNDEFINED included; the empty text is not among them.

        >>> from glyptic import languages, programs
        >>> M = programs.open("occurs", "fixed:2").machine()
        >>> M.language("YES").equivalent(languages.regular("0*1(0|1)*"))
        True
        """
        known = (*self.answers, *_WORDS)
        if answer not in known or not answer:
            raise InputError(f"{shown(answer)} is no answer of this machine; there are {', '.join(filter(None, known))}.")
        said = self.numbers == (known.index(answer) if answer in self.answers else known.index(answer) - len(known))
        _, states, moves = classes(self.moves, np.where(said, 1, 0), asked)
        beyond = len(moves)  # reached where there is no further position
        listed = [tuple(beyond if t < 0 else t for t in row) for row in moves.tolist()]
        if not self.endless:
            listed.append((beyond,) * len(self.vocabulary))
        accepting = frozenset(np.flatnonzero(said[states]).tolist())
        made = Automaton(self.vocabulary, tuple(listed), accepting, 0, f"{answer} of {self.name or 'a transformer'}")
        return made.minimal() if not self.endless else made

    @checked
    def kind(self, answer: str = "YES", asked: Asked | None = None) -> LanguageKind:
        """What kind of language an answer has: star-free, piecewise testable, …, each with what shows it."""
        from glyptic.states.kinds import kind_of

        return kind_of(self.language(answer, asked), asked=asked)

    def expression(self, answer: str = "YES", asked: Asked | None = None) -> str:
        """A regular expression of the texts that get an answer, as `glyptic.languages.regular` reads it."""
        from glyptic.states.expressions import expression_of

        return expression_of(self.language(answer, asked), asked)

    def draw(self, path: Any) -> Any:
        """Draw this machine into a file (.svg, .png, .pdf), its moves beside it as .csv; gives the files."""
        from glyptic.states.pictures import draw_machine

        return draw_machine(self, path)

    def __str__(self) -> str:
        """A table: of each state the shortest text that leads there, its answer, and where each token leads."""
        shown_states = range(min(len(self), _SHOWN_ROWS))
        rows = [
            (state, self._spelt(state), self.word_of(state) or "–", *("–" if t < 0 else t for t in self.moves[state].tolist()))
            for state in shown_states
        ]
        left = len(self) - len(rows)
        more = [f"… and {left:,} states more"] if left else []
        listed = table(["state", "text", "answer", *self.vocabulary], rows, "lll" + "r" * len(self.vocabulary))
        return "\n".join([repr(self)[1:-1], "", listed, *more])

    def _spelt(self, state: int) -> str:
        return spelt(self.word(state), self.vocabulary)


def spelt(word: Sequence[str], vocabulary: Iterable[str]) -> str:
    """A text as people write it; the empty one as ε, a long one cut."""
    text = ("" if all(len(token) == 1 for token in vocabulary) else " ").join(word)
    return "ε" if not text else text if len(text) <= 40 else f"{text[:32]}… ({len(word)} tokens)"


@checked
def machine(
    transformer: Transformer,
    states: StateCount = MOST_STATES,
    *,
    length: Annotated[int, Count()] | None = None,
    seconds: Seconds | None = None,
    engine: Engine = "auto",
    progress: Any = None,
    journal: Annotated[str | Path, Writable()] | None = None,
) -> Machine:
    """The exact automaton of a causal transformer: where its positions repeat, for every length, else to its longest input.

    Over the budget of `states`, or of seconds, it is refused: `TooManyStates` says how far the search came. `length` ends it at
    shorter inputs; `progress` is called with a `SearchProgress` twice a second. A search that was interrupted with a `journal`,
    or went over its budget, goes on from there when it is started again.
    """
    report: Report | None = progress if callable(progress) else None
    budget = Budget(states, seconds=seconds, report=report)
    found = extract(transformer, budget, engine=engine, length=length, journal=journal)
    return of_extracted(transformer, found)


def of_extracted(transformer: Transformer, found: Extracted) -> Machine:
    """What a search found, as a machine."""
    numbers = found.answers.copy()
    numbers[0] = UNSAID
    assert UNDEFINED > UNSAID
    return Machine(
        transformer.name,
        str(transformer.format),
        transformer.vocabulary,
        transformer.answers,
        found.moves,
        numbers,
        np.where(np.arange(len(numbers)) > 0, found.place, -1),
        found.places,
        found.sizes,
    )
