"""Regular expressions, with intersection and complement, as automata: by Brzozowski's derivatives (1964).

    either = both ("|" both)*       both = texts ("&" texts)*       texts = repeated*       repeated = one ("*" | "+" | "?")*
    one    = symbol | "." | "(" either ")" | "~(" either ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from glyptic.arguments import checked, shown
from glyptic.errors import InputError
from glyptic.languages.automata import Automaton, explored

DEEPEST, _LONGEST = 20, 400  # of an expression: it is read, and derived, by recursion
_MOST_WORK = 10_000_000  # parts looked at; some seconds
_SIGNS = tuple(".|&~*+?()")


@dataclass(frozen=True, eq=False, slots=True)
class Regex:
    """One of Regexes, which makes each once: two that are equal are one."""

    kind: str  # never, empty, symbol, then, or, star, not
    parts: Any  # of a symbol itself, of `or` a frozenset, else a tuple
    nullable: bool  # whether the empty text is one of its texts


class Regexes:
    """The parts of one expression and all that is derived from it, each once, and each derivative taken once.

    What are plainly the same are one: an expression then has finitely many derivatives (Brzozowski, theorem 5.2). They may be
    very large, so what is done is counted, and has an end.
    """

    def __init__(self, text: str) -> None:
        self.text, self.work = text, 0
        self.made: dict[tuple[str, Any], Regex] = {}
        self.derived: dict[tuple[Regex, str], Regex] = {}
        self.never, self.empty = self.make("never", (), False), self.make("empty", (), True)
        self.every = self.negated(self.never)

    def make(self, kind: str, parts: Any, nullable: bool) -> Regex:
        self.work += 1 + len(parts)
        if self.work > _MOST_WORK:
            raise _too_large(self.text)
        made = self.made.get((kind, parts))
        return made if made is not None else self.made.setdefault((kind, parts), Regex(kind, parts, nullable))

    def symbol(self, symbol: str) -> Regex:
        return self.make("symbol", symbol, False)

    def either(self, *regexes: Regex) -> Regex:
        options = frozenset().union(*(r.parts if r.kind == "or" else {r} for r in regexes)) - {self.never}
        if not options or self.every in options:
            return self.every if options else self.never
        return next(iter(options)) if len(options) == 1 else self.make("or", options, any(r.nullable for r in options))

    def then(self, r: Regex, s: Regex) -> Regex:
        if self.never in (r, s):
            return self.never
        if self.empty in (r, s):
            return s if r is self.empty else r
        first, rest = (r.parts[0], self.then(r.parts[1], s)) if r.kind == "then" else (r, s)
        return self.make("then", (first, rest), first.nullable and rest.nullable)

    def star(self, r: Regex) -> Regex:
        return self.empty if r in (self.never, self.empty) else r if r.kind == "star" else self.make("star", (r,), True)

    def repeated(self, r: Regex, sign: str) -> Regex:
        """By one of * + ?; two that differ, one after the other, are *, and so is the + of what may be empty."""
        if sign == "?":
            return self.either(r, self.empty)
        return self.star(r) if sign == "*" or r.nullable else self.then(r, self.star(r))

    def negated(self, r: Regex) -> Regex:
        return r.parts[0] if r.kind == "not" else self.make("not", (r,), not r.nullable)

    def derivative(self, r: Regex, symbol: str) -> Regex:
        """The regex of what may follow `symbol`."""
        if (r, symbol) not in self.derived:
            self.derived[r, symbol] = self._derived(r, symbol)
        return self.derived[r, symbol]

    def _derived(self, r: Regex, symbol: str) -> Regex:
        match r.kind:
            case "symbol":
                return self.empty if r.parts == symbol else self.never
            case "then":
                rest = self.then(self.derivative(r.parts[0], symbol), r.parts[1])
                return self.either(rest, self.derivative(r.parts[1], symbol)) if r.parts[0].nullable else rest
            case "or":
                return self.either(*(self.derivative(option, symbol) for option in r.parts))
            case "star":
                return self.then(self.derivative(r.parts[0], symbol), r)
            case "not":
                return self.negated(self.derivative(r.parts[0], symbol))
        return self.never


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
    try:
        start, after = parse(expression, symbols)
        return explored(start, after, lambda regex: regex.nullable, symbols, name or expression).minimal()
    except RecursionError:
        raise _too_large(expression) from None


def _too_large(expression: str) -> InputError:
    return InputError(f"{shown(expression)}: an expression whose derivatives grow too large; make an Automaton.")


def depth(expression: str) -> int:
    """How many parentheses are in each other."""
    return max(accumulate((character == "(") - (character == ")") for character in expression), default=0)


def parse(expression: str, alphabet: tuple[str, ...]) -> tuple[Regex, Callable[[Regex], list[Regex]]]:
    """The expression; and, of it and of what that gives, what may follow each symbol."""
    both = [symbol for symbol in alphabet if symbol in _SIGNS and symbol in expression]
    if both:
        what = f"{both[0]!r} is a sign of expressions and a symbol of the alphabet"
        raise InputError(f"{expression!r}: {what}; make an Automaton.")
    parser = _Parser(expression, alphabet)
    regex = parser.either()
    if parser.at < len(expression):
        raise InputError(f"{expression!r}: nothing opens the ) at place {parser.at}.")
    return regex, lambda regex: [parser.all.derivative(regex, symbol) for symbol in alphabet]


class _Parser:
    """Recursive descent; `at` is the place of what is read next."""

    def __init__(self, text: str, alphabet: tuple[str, ...]) -> None:
        self.text, self.alphabet, self.at, self.all = text, alphabet, 0, Regexes(text)

    def sees(self, signs: str) -> bool:
        return self.text[self.at : self.at + 1] in tuple(signs)

    def takes(self, sign: str) -> bool:
        there = self.sees(sign)
        self.at += there
        return there

    def either(self) -> Regex:
        regex = self.both()
        while self.takes("|"):
            regex = self.all.either(regex, self.both())
        return regex

    def both(self) -> Regex:
        begun, regex = self.at, self.texts()
        while self.sees("&"):
            place = self.at
            self.at += 1
            regex = self.all.negated(self.all.either(self.all.negated(regex), self.all.negated(self.texts())))
            if place == begun or self.at == place + 1:
                raise InputError(f"{self.text!r}: a side of the & at place {place} is empty; write () for the empty text.")
        return regex

    def texts(self) -> Regex:
        regex = self.all.empty
        while self.at < len(self.text) and not self.sees("|&)"):
            regex = self.all.then(regex, self.repeated())
        return regex

    def repeated(self) -> Regex:
        begun, regex = self.at, self.one()
        if self.text[begun] == "~" and self.sees("*+?"):
            raise self.two_readings(begun, f"~((…){self.text[self.at]}) or (~(…)){self.text[self.at]}")
        signs = set()
        while self.sees("*+?"):
            signs.add(self.text[self.at])
            self.at += 1
        return self.all.repeated(regex, signs.pop() if len(signs) == 1 else "*") if signs else regex

    def one(self) -> Regex:
        begun = self.at
        if self.takes("~"):
            if not self.sees("(~"):
                raise self.two_readings(begun, "~(…)")
            return self.all.negated(self.one())
        if self.takes("("):
            regex = self.either()
            if not self.takes(")"):
                raise InputError(f"{self.text!r}: a ( is not closed.")
            return regex
        symbol = self.text[begun]
        self.at += 1
        if symbol != "." and symbol not in self.alphabet:
            longer = next((each for each in self.alphabet if len(each) > 1), None)
            remedy = f"; in expressions every character is a symbol, so {longer!r} cannot be written: make an Automaton"
            known = " ".join(self.alphabet) + (remedy if longer else "")
            raise InputError(f"{self.text!r}: {symbol!r} at place {begun} is not in the alphabet {known}.")
        return self.all.either(*map(self.all.symbol, self.alphabet if symbol == "." else (symbol,)))

    def two_readings(self, place: int, remedy: str) -> InputError:
        return InputError(f"{self.text!r}: how far the ~ at place {place} goes can be read in two ways; write {remedy}.")


__all__ = ["regular"]
