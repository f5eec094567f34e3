"""Evaluating an expression: over kernels or fractions here, over solver terms in `glyptic.prove.smt`, by the same walk.

A `Setting` says what names stand for and how truth values combine; the arithmetic is any of `glyptic.numbers`.

Not everything exists: a division by 0, the root of a negative number, a coordinate of a run that met 0/0. A comparison that reads
such a thing is neither true nor false, and conditions combine as in Kleene's logic: a premise that is false makes an implication
true whatever the conclusion reads. A precondition is met, and a claim holds, only where it comes out true.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from glyptic.numbers import AnyFormat, Arithmetic, encode
from glyptic.numbers.formats import Exact
from glyptic.prove import expressions as e

Array = Any
Mask = Any  # two-valued: an array of bools, or a solver's condition


@dataclass(frozen=True)
class Partial:
    """Numbers, and where they do not exist (there they are stand-ins, and mean nothing)."""

    numbers: Array
    missing: Mask


@dataclass(frozen=True)
class Truth:
    """Where a condition is true, and where it is false; it may be neither."""

    true: Mask
    false: Mask


class Setting(Protocol):
    """What an expression needs to have a value; arrays are of one shape, one element an input."""

    arithmetic: Arithmetic

    def read(self, node: e.Variable | e.Coordinate | e.Logit) -> Partial:
        """The values that a name stands for."""

    def replaced(self, x: Array, where: Mask, number: int) -> Array:
        """x with a stand-in, where it must not be computed with; terms may stay as they are."""

    def compare(self, how: str, x: Array, y: Array) -> Mask:
        """x how y, how one of = ≠ < ≤ > ≥."""

    def same_word(self, left: e.Word, right: e.Word) -> Mask:
        """Whether two words are the same."""

    def both(self, parts: Sequence[Mask]) -> Mask:
        """Conjunction; of none, true."""

    def either(self, parts: Sequence[Mask]) -> Mask:
        """Disjunction; of none, false."""

    def negation(self, part: Mask) -> Mask:
        """Not."""

    def decide(self, node: e.Accepted | e.Holds | e.Defined | e.SameChains) -> Mask:
        """A condition on the input or the run as a whole."""


def truth(node: e.Condition, setting: Setting) -> Truth:
    """Where a condition is true and where it is false."""
    match node:
        case e.Comparison(how, left, right):
            x, y = value(left, setting), value(right, setting)
            there = setting.negation(setting.either([x.missing, y.missing]))
            met = setting.compare(how, x.numbers, y.numbers)
            return Truth(setting.both([met, there]), setting.both([setting.negation(met), there]))
        case e.Junction("and", conditions):
            parts = [truth(part, setting) for part in conditions]
            return Truth(setting.both([part.true for part in parts]), setting.either([part.false for part in parts]))
        case e.Junction(_, conditions):
            parts = [truth(part, setting) for part in conditions]
            return Truth(setting.either([part.true for part in parts]), setting.both([part.false for part in parts]))
        case e.Negation(part):
            inner = truth(part, setting)
            return Truth(inner.false, inner.true)
        case e.Implication(premise, conclusion):
            a, b = truth(premise, setting), truth(conclusion, setting)
            return Truth(setting.either([a.false, b.true]), setting.both([a.true, b.false]))
        case e.SameWord(left, right):
            met = setting.same_word(left, right)
        case e.Accepted() | e.Holds() | e.Defined() | e.SameChains():
            met = setting.decide(node)
        case _:
            raise AssertionError(f"not a condition: {node}")
    return Truth(met, setting.negation(met))


def value(node: e.Value, setting: Setting) -> Partial:
    """The values of an expression, rounded at every operation."""
    match node:
        case e.Constant(number):
            return Partial(constant(number, setting.arithmetic), setting.either([]))
        case e.Operation(name, arguments):
            return _operated(name, [value(argument, setting) for argument in arguments], setting)
        case e.Variable() | e.Coordinate() | e.Logit():
            return setting.read(node)
    raise AssertionError(f"not a value: {node}")


ARITHMETIC = ("add", "subtract", "multiply", "divide", "exp", "relu", "root")  # what may be asked of an arithmetic
_OUTSIDE = {
    "divide": ("=", 1),
    "root": ("<", 0),
}  # how the last operand compares with 0 where there is no result; a stand-in


def _operated(name: str, operands: list[Partial], setting: Setting) -> Partial:
    numbers, missing = [x.numbers for x in operands], [x.missing for x in operands]
    if name in _OUTSIDE:
        how, stand_in = _OUTSIDE[name]
        outside = setting.compare(how, numbers[-1], constant(0, setting.arithmetic))
        numbers[-1] = setting.replaced(numbers[-1], outside, stand_in)
        missing.append(outside)
    if name not in ARITHMETIC:  # a claim that was read from a file does not choose the attribute
        raise e.ClaimError(f"{name!r} is not an operation; there are {', '.join(ARITHMETIC)}.")
    return Partial(getattr(setting.arithmetic, name)(*numbers), setting.either(missing))


def constant(number: Any, arithmetic: Arithmetic) -> Array:
    """A constant of the arithmetic's format, of shape (1,); one that the format does not have is an error."""
    given = [constant_in(number, arithmetic.format)]
    return arithmetic.values(encode(given, arithmetic.format, part="a constant of the claim"))


def constant_in(number: Any, format: AnyFormat) -> Any:
    """B and least as numbers of the format; others as they are."""
    if not isinstance(number, str):
        return number
    if number not in ("B", "-B", "least", "-least"):
        raise e.ClaimError(f"{number!r} is not a constant; write a number, or 'B', '-B', 'least', '-least'.")
    if isinstance(format, Exact):
        raise e.ClaimError(f"{format} has no {number.removeprefix('-')}; choose a finite format, such as fixed:8.")
    size = format.max if number.endswith("B") else format.least
    return -size if number.startswith("-") else size


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "≠": np.not_equal,
    "<": np.less,
    "≤": np.less_equal,
    ">": np.greater,
    "≥": np.greater_equal,
}
WORDS_BELOW = ("UNDEFINED", "TIE")  # answers −2 and −1 of the engines
NumberedWords = tuple[
    np.ndarray, tuple[str, ...]
]  # numbers (batch,) from −2, and the names that these have from there on


@dataclass
class Batch:
    """A setting of numpy arrays, of shape (batch,): many concrete inputs at once, in either engine."""

    arithmetic: Arithmetic
    size: int
    read_value: Callable[[Any], Partial]  # of a Variable, Coordinate or Logit
    read_word: Callable[[Any], NumberedWords] | None = None  # of an Answer or a Token
    decide_input: Callable[[Any], np.ndarray] | None = None

    def read(self, node: Any) -> Partial:
        return self.read_value(node)

    def replaced(self, x: Array, where: np.ndarray, number: int) -> Array:
        stand_in = self.arithmetic.values(encode([number], self.arithmetic.format, nearest=True))
        return np.where(where, stand_in, x)

    def compare(self, how: str, x: Array, y: Array) -> np.ndarray:
        return np.asarray(_COMPARE[how](x, y), bool)

    def same_word(self, left: e.Word, right: e.Word) -> np.ndarray:
        (a, names_a), (b, names_b) = self.word(left), self.word(right)
        common = {name: number for number, name in enumerate(dict.fromkeys((*names_a, *names_b)))}
        tables = [np.array([common[name] for name in names]) for names in (names_a, names_b)]
        return tables[0][a + 2] == tables[1][b + 2]

    def word(self, node: e.Word) -> NumberedWords:
        """The word at each element."""
        if isinstance(node, e.Text):
            return np.array([-2]), (node.text,)
        assert self.read_word is not None
        return self.read_word(node)

    def both(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        out = np.ones(self.size, bool)
        for part in parts:
            out &= part
        return out

    def either(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        out = np.zeros(self.size, bool)
        for part in parts:
            out |= part
        return out

    def negation(self, part: np.ndarray) -> np.ndarray:
        return ~part

    def decide(self, node: Any) -> np.ndarray:
        assert self.decide_input is not None
        return self.decide_input(node)
