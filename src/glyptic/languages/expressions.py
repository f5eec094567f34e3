"""Regular expressions, with intersection and complement, as automata: by Brzozowski's derivatives (1964).

    either = both ("|" both)*       both = texts ("&" texts)*       texts = repeated*       repeated = one ("*" | "+" | "?")*
    one    = symbol | "." | "(" either ")" | "~(" either ")"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from glyptic.arguments import checked, shown
from glyptic.errors import InputError
from glyptic.languages.automata import Automaton, explored

DEEPEST, _LONGEST = 20, 400  # of an expression: it is read, and derived, by recursion
Regex = tuple  # (never), (empty), (symbol, c), (then, r, s), (or, {r, s…}), (star, r), (not, r)
_NEVER, _EMPTY = ("never",), ("empty",)
_EVERY = ("not", _NEVER)
_SIGNS = tuple(".|&~*+?()")


@checked
def regular(expression: str, alphabet: Sequence[str] = "01", name: str = "") -> Automaton:
    """The minimal automaton of a regular expression: symbols, `.` (any), `|` (or), `&` (and), `~(…)` (all other texts), `*`, `+`,
    `?` and parentheses. From the closest: repetition, one after the other, &, |.

    Theorists write + for union, programmers for one or more; where it could be either, nobody's reading is taken. Nor is it of
    ~0*, which some end before the star.

    >>> regular("(0|1)*1+").accepts("011")
    True
    >>> regular("~(.*11.*)&(..)*").accepts("0101"), regular("~(.*11.*)&(..)*").accepts("0110")
    (True, False)
    >>> regular("(0+1)*")
    Traceback (most recent call last):
    glyptic.errors.InputError: '(0+1)*': the + at place 2 could be a union or "one or more"; write | for a union, (0|1)*, or
    parentheses around what is repeated, (0+)1.
    """
    between = re.search(r"\+(?=[^)|&*+?])", expression)  # something is on both sides; else it can only repeat
    if between is not None:
        raise InputError(
            f"{shown(expression)}: the + at place {between.start()} could be a union or \"one or more\"; write | for a union, "
            "(0|1)*, or parentheses around what is repeated, (0+)1."
        )
    if (nested := depth(expression)) > DEEPEST or len(expression) > _LONGEST:
        deep, long = f"nested too deeply, {nested} parentheses in each other", f"too long, {len(expression):,} characters"
        most = f"{DEEPEST} and {_LONGEST:,} can be read; make an Automaton."
        raise InputError(f"{expression[:40]!r}…: an expression {deep if nested > DEEPEST else long}; {most}")
    symbols = tuple(alphabet)
    after = cache(lambda regex: tuple(derivative(regex, symbol) for symbol in symbols))
    return explored(parse(expression, symbols), after, nullable, symbols, name or expression).minimal()


def depth(expression: str) -> int:
    """How many parentheses are in each other."""
    return max(accumulate((character == "(") - (character == ")") for character in expression), default=0)


def parse(expression: str, alphabet: tuple[str, ...]) -> Regex:
    """The expression as nested tuples."""
    both = [symbol for symbol in alphabet if symbol in _SIGNS and symbol in expression]
    if both:
        what = f"{both[0]!r} is a sign of expressions and a symbol of the alphabet"
        raise InputError(f"{expression!r}: {what}; make an Automaton.")
    parser = _Parser(expression, alphabet)
    regex = parser.either()
    if parser.at < len(expression):
        raise InputError(f"{expression!r}: nothing opens the ) at place {parser.at}.")
    return regex


class _Parser:
    """Recursive descent; `at` is the place of what is read next."""

    def __init__(self, text: str, alphabet: tuple[str, ...]) -> None:
        self.text, self.alphabet, self.at = text, alphabet, 0

    def sees(self, signs: str) -> bool:
        return self.text[self.at : self.at + 1] in tuple(signs)

    def takes(self, sign: str) -> bool:
        there = self.sees(sign)
        self.at += there
        return there

    def either(self) -> Regex:
        regex = self.both()
        while self.takes("|"):
            regex = _either(regex, self.both())
        return regex

    def both(self) -> Regex:
        begun, regex = self.at, self.texts()
        while self.sees("&"):
            place = self.at
            self.at += 1
            regex = _not(_either(_not(regex), _not(self.texts())))
            if place == begun or self.at == place + 1:
                raise InputError(f"{self.text!r}: a side of the & at place {place} is empty; write () for the empty text.")
        return regex

    def texts(self) -> Regex:
        regex: Regex = _EMPTY
        while self.at < len(self.text) and not self.sees("|&)"):
            regex = _then(regex, self.repeated())
        return regex

    def repeated(self) -> Regex:
        begun, regex = self.at, self.one()
        if self.text[begun] == "~" and self.sees("*+?"):
            raise self.two_readings(begun, f"~((…){self.text[self.at]}) or (~(…)){self.text[self.at]}")
        while self.sees("*+?"):
            sign = self.text[self.at]
            regex = {"*": _star(regex), "+": _then(regex, _star(regex)), "?": _either(regex, _EMPTY)}[sign]
            self.at += 1
        return regex

    def one(self) -> Regex:
        begun = self.at
        if self.takes("~"):
            if not self.sees("(~"):
                raise self.two_readings(begun, "~(…)")
            return _not(self.one())
        if self.takes("("):
            regex = self.either()
            if not self.takes(")"):
                raise InputError(f"{self.text!r}: a ( is not closed.")
            return regex
        symbol = self.text[begun]
        self.at += 1
        if symbol != "." and symbol not in self.alphabet:
            known = " ".join(self.alphabet)
            raise InputError(f"{self.text!r}: {symbol!r} at place {begun} is not in the alphabet {known}.")
        regex = _NEVER
        for chosen in self.alphabet if symbol == "." else (symbol,):
            regex = _either(regex, ("symbol", chosen))
        return regex

    def two_readings(self, place: int, remedy: str) -> InputError:
        return InputError(f"{self.text!r}: how far the ~ at place {place} goes can be read in two ways; write {remedy}.")


# Each makes one tuple of what are plainly the same: an expression then has finitely many derivatives (Brzozowski, theorem 5.2).


def _either(r: Regex, s: Regex) -> Regex:
    options = frozenset().union(*(x[1] if x[0] == "or" else {x} for x in (r, s))) - {_NEVER}
    if not options or _EVERY in options:
        return _EVERY if options else _NEVER
    return next(iter(options)) if len(options) == 1 else ("or", options)


def _then(r: Regex, s: Regex) -> Regex:
    if _NEVER in (r, s):
        return _NEVER
    if r == _EMPTY or s == _EMPTY:
        return s if r == _EMPTY else r
    return ("then", r[1], _then(r[2], s)) if r[0] == "then" else ("then", r, s)


def _star(r: Regex) -> Regex:
    return _EMPTY if r in (_NEVER, _EMPTY) else r if r[0] == "star" else ("star", r)


def _not(r: Regex) -> Regex:
    return r[1] if r[0] == "not" else ("not", r)


def nullable(r: Regex) -> bool:
    """Whether the empty text is one of the regex."""
    match r[0]:
        case "then":
            return nullable(r[1]) and nullable(r[2])
        case "or":
            return any(map(nullable, r[1]))
        case "not":
            return not nullable(r[1])
    return r[0] in ("empty", "star")


def derivative(r: Regex, symbol: str) -> Regex:
    """The regex of what may follow `symbol`."""
    match r[0]:
        case "symbol":
            return _EMPTY if r[1] == symbol else _NEVER
        case "then":
            rest = _then(derivative(r[1], symbol), r[2])
            return _either(rest, derivative(r[2], symbol)) if nullable(r[1]) else rest
        case "or":
            result = _NEVER
            for option in r[1]:
                result = _either(result, derivative(option, symbol))
            return result
        case "star":
            return _then(derivative(r[1], symbol), r)
        case "not":
            return _not(derivative(r[1], symbol))
    return _NEVER


__all__ = ["regular"]
