"""Regular languages as values: finite automata, regular expressions, and the seven languages of Tomita (1982).

>>> even = regular("(0*10*1)*0*", name="an even number of 1s")
>>> even.accepts("0110"), even.accepts("0111"), len(even.moves)
(True, False, 2)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated

import numpy as np

from glyptic.arguments import Count, checked, shown
from glyptic.errors import InputError


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
            if symbol not in self.alphabet:
                raise InputError(f"{self.name}: {symbol!r} is not in the alphabet {' '.join(self.alphabet)}.")
            state = self.moves[state][self.alphabet.index(symbol)]
        return state in self.accepting

    def accepts_all(self, tokens: np.ndarray, vocabulary: Sequence[str]) -> np.ndarray:
        """For token numbers (length, batch) of a vocabulary: which are in the language, as booleans (batch,)."""
        missing = [token for token in vocabulary if token not in self.alphabet]
        if missing:
            raise InputError(f"{self.name}: the token {missing[0]!r} is not in the alphabet {' '.join(self.alphabet)}.")
        table = np.array(self.moves)[:, [self.alphabet.index(token) for token in vocabulary]]
        state = np.full(tokens.shape[1], self.start)
        for row in tokens:
            state = table[state, row]
        return np.isin(state, list(self.accepting))

    def complement(self) -> Automaton:
        """The automaton of all other texts."""
        return replace(self, accepting=frozenset(range(len(self.moves))) - self.accepting, name=f"not {self.name}")

    def minimal(self) -> Automaton:
        """The smallest automaton of the same language (Moore's refinement)."""
        reached = [self.start]
        for state in reached:
            reached += [s for s in dict.fromkeys(self.moves[state]) if s not in reached]
        block = {state: int(state in self.accepting) for state in reached}
        while True:
            signature = {s: (block[s], *(block[t] for t in self.moves[s])) for s in reached}
            numbers = {sign: i for i, sign in enumerate(dict.fromkeys(signature[s] for s in reached))}
            refined = {s: numbers[signature[s]] for s in reached}
            if len(set(refined.values())) == len(set(block.values())):
                break
            block = refined
        block = refined  # numbered in the order of discovery, so the start is 0
        example = {number: state for state, number in reversed(refined.items())}
        moves = tuple(tuple(block[t] for t in self.moves[example[n]]) for n in range(len(example)))
        accepting = frozenset(block[s] for s in reached if s in self.accepting)
        return replace(self, moves=moves, accepting=accepting, start=block[self.start])


# Regular expressions, by Brzozowski's derivatives ---------------------------------------------------------------------

_LONGEST, _DEEPEST = 400, 20  # of an expression: it is read, and derived, by recursion
_MOST_STATES = 1 << 14
_NEVER, _EMPTY = ("never",), ("empty",)
_Regex = tuple
_SIGNS = tuple(".|*+?()")


@checked
def regular(expression: str, alphabet: Sequence[str] = "01", name: str = "") -> Automaton:
    """The minimal automaton of a regular expression: symbols, `.` (any), `|` (or), `*`, `+`, `?` and parentheses.

    Theorists write + for union, programmers for one or more; where it could be either, nobody's reading is taken.

    >>> regular("(0|1)*1+").accepts("011")
    True
    >>> regular("(0+1)*")
    Traceback (most recent call last):
    glyptic.errors.InputError: '(0+1)*': the + at place 2 could be a union or "one or more"; write | for a union, (0|1)*, or
    parentheses around what is repeated, (0+)1.
    """
    _refuse_two_readings(expression)
    nested = max(accumulate((character == "(") - (character == ")") for character in expression), default=0)
    if nested > _DEEPEST or len(expression) > _LONGEST:
        deep, long = f"nested too deeply, {nested} parentheses in each other", f"too long, {len(expression):,} characters"
        most = f"{_DEEPEST} and {_LONGEST:,} can be read; make an Automaton."
        raise InputError(f"{expression[:40]!r}…: an expression {deep if nested > _DEEPEST else long}; {most}")
    parsed = _Parser(expression, tuple(alphabet)).whole()
    states: dict[_Regex, int] = {parsed: 0}
    moves: list[tuple[int, ...]] = []
    for state in (queue := [parsed]):
        if len(states) > _MOST_STATES:
            raise InputError(f"{shown(expression)} has more than {_MOST_STATES:,} states; automata of so many are not made.")
        row = []
        for symbol in alphabet:
            after = _derivative(state, symbol)
            if after not in states:
                states[after] = len(states)
                queue.append(after)
            row.append(states[after])
        moves.append(tuple(row))
    accepting = frozenset(number for regex, number in states.items() if _nullable(regex))
    return Automaton(tuple(alphabet), tuple(moves), accepting, 0, name or expression).minimal()


def _refuse_two_readings(expression: str) -> None:
    """A + with something on both sides; before the end, ), | or another sign it can only repeat."""
    between = re.search(r"\+(?=[^)|*+?])", expression)
    if between is not None:
        raise InputError(
            f"{shown(expression)}: the + at place {between.start()} could be a union or \"one or more\"; write | for a union, "
            "(0|1)*, or parentheses around what is repeated, (0+)1."
        )


class _Parser:
    """Recursive descent. A regex is a tuple: (never), (empty), (symbol, c), (then, r, s), (or, {r, s…}), (star, r)."""

    def __init__(self, text: str, alphabet: tuple[str, ...]) -> None:
        both = [symbol for symbol in alphabet if symbol in _SIGNS and symbol in text]
        if both:
            raise InputError(f"{text!r}: {both[0]!r} is a sign of expressions and a symbol of the alphabet; make an Automaton.")
        self.text, self.alphabet, self.at = text, alphabet, 0

    def whole(self) -> _Regex:
        regex = self.alternatives()
        if self.at < len(self.text):
            raise InputError(f"{self.text!r}: nothing opens the ) at place {self.at}.")
        return regex

    def next(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def alternatives(self) -> _Regex:
        regex = self.sequence()
        while self.next() == "|":
            self.at += 1
            regex = _either(regex, self.sequence())
        return regex

    def sequence(self) -> _Regex:
        regex: _Regex = _EMPTY
        while self.next() not in ("", "|", ")"):
            regex = _then(regex, self.repeated())
        return regex

    def repeated(self) -> _Regex:
        regex = self.atom()
        while self.next() in ("*", "+", "?") and self.next():
            sign = self.next()
            self.at += 1
            regex = {"*": _star(regex), "+": _then(regex, _star(regex)), "?": _either(regex, _EMPTY)}[sign]
        return regex

    def atom(self) -> _Regex:
        symbol = self.next()
        self.at += 1
        if symbol == "(":
            regex = self.alternatives()
            if self.next() != ")":
                raise InputError(f"{self.text!r}: a ( is not closed.")
            self.at += 1
            return regex
        if symbol == ".":
            regex = _NEVER
            for one in self.alphabet:
                regex = _either(regex, ("symbol", one))
            return regex
        if symbol not in self.alphabet:
            known = " ".join(self.alphabet)
            raise InputError(f"{self.text!r}: {symbol!r} at place {self.at - 1} is not in the alphabet {known}.")
        return ("symbol", symbol)


def _either(r: _Regex, s: _Regex) -> _Regex:
    options = frozenset().union(*(x[1] if x[0] == "or" else {x} for x in (r, s))) - {_NEVER}
    return _NEVER if not options else next(iter(options)) if len(options) == 1 else ("or", options)


def _then(r: _Regex, s: _Regex) -> _Regex:
    if _NEVER in (r, s):
        return _NEVER
    if r == _EMPTY or s == _EMPTY:
        return s if r == _EMPTY else r
    return ("then", r[1], _then(r[2], s)) if r[0] == "then" else ("then", r, s)


def _star(r: _Regex) -> _Regex:
    return _EMPTY if r in (_NEVER, _EMPTY) else r if r[0] == "star" else ("star", r)


def _nullable(r: _Regex) -> bool:
    match r[0]:
        case "then":
            return _nullable(r[1]) and _nullable(r[2])
        case "or":
            return any(map(_nullable, r[1]))
    return r[0] in ("empty", "star")


def _derivative(r: _Regex, symbol: str) -> _Regex:
    """The regex of what may follow `symbol`."""
    match r[0]:
        case "symbol":
            return _EMPTY if r[1] == symbol else _NEVER
        case "then":
            rest = _then(_derivative(r[1], symbol), r[2])
            return _either(rest, _derivative(r[2], symbol)) if _nullable(r[1]) else rest
        case "or":
            result = _NEVER
            for option in r[1]:
                result = _either(result, _derivative(option, symbol))
            return result
        case "star":
            return _then(_derivative(r[1], symbol), r)
    return _NEVER


TOMITA_EXPRESSIONS = {
    1: "1*",
    2: "(10)*",
    4: "(1|01|001)*(0|00)?",
    5: "(00|11|(01|10)(00|11)*(01|10))*",
    6: "(0(01)*(1|00)|1(10)*(0|11))*",
    7: "0*1*0*1*",
}
# Tomita 3 forbids an odd run of 1s with an odd run of 0s right after it: this is what it forbids.
TOMITA_3_FORBIDDEN = "((0|1)*0)?1(11)*0(00)*(1(0|1)*)?"


@checked
def tomita(number: Annotated[int, Count(1, 7)]) -> Automaton:
    """Tomita's language of a number from 1 to 7, as its minimal automaton."""
    if number == 3:
        return replace(regular(TOMITA_3_FORBIDDEN).complement().minimal(), name="Tomita 3")
    return regular(TOMITA_EXPRESSIONS[number], name=f"Tomita {number}")


# Names that say what the language is ------------------------------------------------------------------------------------

_LONGEST_NAME, _MOST_PAIRS = 200, 500  # beyond, an expression is not compared: it may have very many states


def named_truly(automaton: Automaton) -> bool | None:
    """Whether a name that says the language says the right one; None if it says none, or one too long to be compared.

    >>> even = regular("(0*10*1)*0*")
    >>> named_truly(even), named_truly(even.complement()), named_truly(tomita(3))
    (True, True, True)
    >>> named_truly(replace(even, name="(0|1)*1")), named_truly(replace(even, name="Tomita 1"))
    (False, False)
    >>> named_truly(replace(even, name="an even number of 1s")) is None
    True
    """
    name, swapped = automaton.name, False
    while name.startswith("not "):
        name, swapped = name.removeprefix("not "), not swapped
    meant = automaton if not swapped else automaton.complement()
    if re.fullmatch(r"Tomita [0-9]+", name):
        known = name.removeprefix("Tomita ") in map(str, range(1, 8))
        return known and set(meant.alphabet) == {"0", "1"} and _same_language(meant, tomita(int(name[7:])))
    nested = max(accumulate((character == "(") - (character == ")") for character in name), default=0)
    if len(name) > _LONGEST_NAME or nested > _DEEPEST:
        return None
    try:
        return _is_language_of(meant, _Parser(name, meant.alphabet).whole())
    except (InputError, RecursionError):
        return None


def _same_language(one: Automaton, other: Automaton) -> bool:
    """Both read the same texts side by side, as far as there are new pairs of states."""
    seen = {(one.start, other.start)}
    for a, b in (queue := list(seen)):
        if (a in one.accepting) != (b in other.accepting):
            return False
        for number, symbol in enumerate(one.alphabet):
            pair = one.moves[a][number], other.moves[b][other.alphabet.index(symbol)]
            if pair not in seen:
                seen.add(pair)
                queue.append(pair)
    return True


def _is_language_of(automaton: Automaton, expression: _Regex) -> bool | None:
    """The same with the derivatives of an expression as states; None if there are too many."""
    seen = {(automaton.start, expression)}
    for state, regex in (queue := list(seen)):
        if (state in automaton.accepting) != _nullable(regex):
            return False
        for number, symbol in enumerate(automaton.alphabet):
            pair = automaton.moves[state][number], _derivative(regex, symbol)
            if pair not in seen:
                seen.add(pair)
                queue.append(pair)
        if len(seen) > _MOST_PAIRS:
            return None
    return True


__all__ = ["TOMITA_3_FORBIDDEN", "TOMITA_EXPRESSIONS", "Automaton", "named_truly", "regular", "tomita"]
