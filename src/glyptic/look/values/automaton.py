"""An automaton, or any machine that gives an output in each state, as the data of its view: a graph through which words run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glyptic.arguments import is_list, refused, shown
from glyptic.errors import InputError
from glyptic.look.pages import View, pack
from glyptic.text import printable

if TYPE_CHECKING:
    from glyptic.languages.automata import Automaton
    from glyptic.states.machines import Machine

LONGEST_WORD = 4096
MOST_MOVES = 1 << 21  # states times symbols, of one page


def automaton_view(automaton: Automaton, word: Iterable[str] = ()) -> View:
    """An automaton, and a word to begin with: a text, or a sequence of symbols.

    >>> from glyptic import languages
    >>> view = automaton_view(languages.tomita(4), "0110")
    >>> view.kind, view.title, view.data["accepting"], view.data["word"]
    ('automaton', 'Tomita 4', [0, 1, 2], [0, 1, 1, 0])
    """
    from glyptic.languages.automata import Automaton

    if not isinstance(automaton, Automaton):
        raise refused("automaton", automaton, "an Automaton")
    return machine_view(
        automaton.alphabet, automaton.moves, automaton.start, accepting=automaton.accepting, word=word, title=automaton.name
    )


def moore_view(machine: Machine, word: Iterable[str] = ()) -> View:
    """The automaton of a transformer, its answers as outputs; what has a longest input leads beyond it to a state of its own."""
    moves = machine.moves.tolist()
    outputs = [machine.word_of(state) or "–" for state in range(len(moves))]
    if not machine.endless:
        moves = [[len(moves) if t < 0 else t for t in row] for row in moves] + [[len(moves)] * len(machine.vocabulary)]
        outputs.append("–")
    title = f"{machine.name or 'a transformer'} in {machine.format}"
    return machine_view(machine.vocabulary, moves, 0, outputs=outputs, word=word, title=title)


def machine_view(
    alphabet: Sequence[str],
    moves: Sequence[Sequence[int]],
    start: int = 0,
    *,
    accepting: Iterable[int] | None = None,
    outputs: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    word: Iterable[str] = (),
    title: str = "machine",
) -> View:
    """A complete deterministic machine: `moves[state][symbol's number]`; states accept, or each has an output (Moore's).

    >>> view = machine_view("ab", [[1, 0], [0, 1]], outputs=["even", "odd"], word="ab")
    >>> view.data["outputs"], view.data["moves"]["shape"]
    (['even', 'odd'], [2, 2])
    """
    table = _table(alphabet, moves, start)
    states = len(table)
    accepted = None if accepting is None else sorted(_state(state, states, "accepting") for state in accepting)
    data = {
        "name": printable(title),
        "alphabet": symbols(alphabet),
        "moves": pack(table),
        "start": int(start),
        "accepting": accepted,
        "outputs": _texts("outputs", outputs, states),
        "names": _texts("names", names, states),
        "word": _numbers(word, alphabet),
    }
    return View("automaton", printable(title), data)


def symbols(alphabet: Sequence[str]) -> list[str]:
    """How the symbols are written: printable, none empty, no two alike; the page reads words in this writing.

    >>> symbols(("0", " ", "", "end"))
    ['0', '␣', 'ε', 'end']
    """
    signs = {" ": "␣", "": "ε"}
    written = [signs.get(symbol, printable(symbol).replace(" ", "␣")) for symbol in alphabet]
    return written if len(set(written)) == len(written) else [f"#{number}" for number in range(len(written))]


def _table(alphabet: Sequence[str], moves: Any, start: Any) -> np.ndarray:
    if len(alphabet) < 1 or not is_list(moves) or len(moves) < 1:
        raise InputError("a machine to be shown has at least one state and one symbol.")
    if any(not is_list(row) or len(row) != len(alphabet) for row in moves):
        raise InputError(f"each state of a machine needs {len(alphabet)} moves, one a symbol.")
    if len(moves) * len(alphabet) > MOST_MOVES:
        size = len(moves) * len(alphabet)
        raise InputError(f"a machine of {size:,} moves is too large for a page; {MOST_MOVES:,} are the most.")
    table = np.array([[_state(target, len(moves), "moves") for target in row] for row in moves], np.int32)
    _state(start, len(moves), "start")
    return table


def _state(state: Any, states: int, where: str) -> int:
    if not isinstance(state, int | np.integer) or isinstance(state, bool) or not 0 <= state < states:
        raise InputError(f"{where}: there is no state {shown(state)}; states are 0 to {states - 1}.")
    return int(state)


def _texts(name: str, texts: Any, states: int) -> list[str] | None:
    """One text a state, made printable: they may come from a file."""
    if texts is None:
        return None
    if not is_list(texts) or len(texts) != states or not all(isinstance(text, str) for text in texts):
        raise refused(name, texts, f"a list of {states} texts, one a state")
    return [printable(text) for text in texts]


def _numbers(word: Iterable[str], alphabet: Sequence[str]) -> list[int]:
    numbers = {symbol: number for number, symbol in enumerate(alphabet)}
    if not isinstance(word, Iterable):
        raise refused("word", word, "a text, or a list of symbols")
    listed = list(word)
    unknown = next((symbol for symbol in listed if symbol not in numbers), None)
    if unknown is not None:
        known = printable(" ".join(alphabet))
        raise InputError(f"{shown(unknown)} is not in the alphabet {known}; write the word in its symbols.")
    if len(listed) > LONGEST_WORD:
        raise InputError(f"a word of {len(listed):,} symbols is too long for a page; {LONGEST_WORD:,} are the most.")
    return [numbers[symbol] for symbol in listed]


__all__ = ["automaton_view", "machine_view"]
