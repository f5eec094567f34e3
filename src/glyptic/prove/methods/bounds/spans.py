"""Intervals in rounded arithmetic, many at once: rounding is monotone, so the ends of a result are roundings of ends.

Nothing is widened for safety and nothing needs to be: an end is a value of the format, computed by the engine itself. At a single
point an interval is that value.

>>> from glyptic.numbers import Fixed, Reference
>>> A = SpanArithmetic(Reference(Fixed(2)))
>>> x = A.between(np.array([-4]), np.array([8]))          # from −1 to 2, in units of 1/4
>>> [str(end[0]) for end in A.multiply(x, x)]
['-2', '15/4']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from glyptic.numbers import Arithmetic, Codes, Format, encode
from glyptic.prove.claims.evaluation import ConditionSetting

Array = Any


class Span(NamedTuple):
    """From low to high, both included; arrays in the representation of an arithmetic."""

    low: Array
    high: Array


@dataclass(frozen=True)
class Maybe:
    """Where a condition surely holds, and where it may."""

    sure: np.ndarray
    possible: np.ndarray


class SpanArithmetic:
    """Operations on spans, by those of an engine on their ends."""

    def __init__(self, engine: Arithmetic) -> None:
        assert isinstance(engine.format, Format)
        self.engine, self.format = engine, engine.format
        self.least, self.most = (engine.values(np.array([c])) for c in (self.format.min_code, self.format.max_code))

    def values(self, codes: Codes) -> Span:
        return Span(*(self.engine.values(np.asarray(codes)),) * 2)

    def between(self, low: Codes, high: Codes) -> Span:
        return Span(self.engine.values(low), self.engine.values(high))

    def add(self, x: Span, y: Span) -> Span:
        return Span(self.engine.add(x.low, y.low), self.engine.add(x.high, y.high))

    def subtract(self, x: Span, y: Span) -> Span:
        return Span(self.engine.subtract(x.low, y.high), self.engine.subtract(x.high, y.low))

    def multiply(self, x: Span, y: Span) -> Span:
        return _hull([self.engine.multiply(a, b) for a in x for b in y])

    def divide(self, x: Span, y: Span) -> Span:
        """Anything at all where y may be 0."""
        zero = self.engine.values(np.array([0]))
        one = self.engine.values(encode([1], self.format, nearest=True))
        open = (y.low <= zero) & (y.high >= zero)
        ends = [np.where(open, one, end) for end in y]
        found = _hull([self.engine.divide(a, b) for a in x for b in ends])
        return Span(np.where(open, self.least, found.low), np.where(open, self.most, found.high))

    def exp(self, x: Span) -> Span:
        return Span(*map(self.engine.exp, x))

    def root(self, x: Span) -> Span:
        return Span(*map(self.engine.root, x))

    def relu(self, x: Span) -> Span:
        return Span(*map(self.engine.relu, x))

    def larger(self, x: Span, y: Span) -> Span:
        return Span(*(np.where(a < b, b, a) for a, b in zip(x, y, strict=True)))


def _hull(corners: list[Array]) -> Span:
    return Span(reduce(lambda a, b: np.where(b < a, b, a), corners), reduce(lambda a, b: np.where(a < b, b, a), corners))


class SpanSetting(ConditionSetting):
    """Truth over boxes, as `evaluation` asks for it; what names stand for is for the subclass."""

    arithmetic: Any  # SpanArithmetic
    size: int

    def replaced(self, x: Span, where: Maybe, number: int) -> Span:
        """Where x is surely outside; else it keeps what may be inside: roots of what is not negative, any divisor."""
        stand_in = self.arithmetic.values(encode([number], self.arithmetic.format, nearest=True)).low
        if number == 0:  # a root
            return Span(*(np.where(end < stand_in, stand_in, end) for end in x))
        return Span(*(np.where(where.sure, stand_in, end) for end in x))

    def chosen(self, where: Maybe, x: Span, y: Span) -> Span:
        either = _hull([x.low, y.low]).low, _hull([x.high, y.high]).high
        chosen = (
            np.where(where.sure, a, np.where(where.possible, both, b)) for a, b, both in zip(x, y, either, strict=True)
        )
        return Span(*chosen)

    def larger(self, x: Span, y: Span) -> Span:
        return self.arithmetic.larger(x, y)

    def compare(self, how: str, x: Span, y: Span) -> Maybe:
        if how in ("≠", "≥"):
            return self.negation(self.compare({"≠": "=", "≥": "<"}[how], x, y))
        if how == ">":
            return self.compare("<", y, x)
        if how == "≤":
            return self.negation(self.compare("<", y, x))
        if how == "<":
            return Maybe(np.asarray(x.high < y.low, bool), np.asarray(x.low < y.high, bool))
        points = (x.low == x.high) & (y.low == y.high) & (x.low == y.low)
        return Maybe(np.asarray(points, bool), np.asarray((x.low <= y.high) & (y.low <= x.high), bool))

    def both(self, parts: Sequence[Maybe]) -> Maybe:
        every = np.ones(self.size, bool)
        return Maybe(*(reduce(np.logical_and, (getattr(p, w) for p in parts), every) for w in ("sure", "possible")))

    def either(self, parts: Sequence[Maybe]) -> Maybe:
        none = np.zeros(self.size, bool)
        return Maybe(*(reduce(np.logical_or, (getattr(p, w) for p in parts), none) for w in ("sure", "possible")))

    def negation(self, part: Maybe) -> Maybe:
        return Maybe(~part.possible, ~part.sure)
