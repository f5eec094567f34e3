"""Evaluating an expression: over kernels or fractions here, over solver terms in `glyptic.prove.smt`, by the same walk.

A `Setting` says what names stand for and how truth values combine; the arithmetic is any of `glyptic.numbers`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from glyptic.numbers import AnyFormat, Arithmetic, encode
from glyptic.numbers.formats import Exact
from glyptic.prove import expressions as e

Array = Any
Truth = Any


class Setting(Protocol):
    """What an expression needs to have a value; arrays are of one shape, one element an input."""

    arithmetic: Arithmetic

    def read(self, node: e.Variable | e.Coordinate | e.Logit) -> Array:
        """The values that a name stands for."""

    def divide(self, x: Array, y: Array) -> Array:
        """[x / y]; where y is 0 the setting notes that the input is undefined."""

    def compare(self, how: str, x: Array, y: Array) -> Truth:
        """x how y, how one of = ≠ < ≤ > ≥."""

    def same_word(self, left: e.Word, right: e.Word) -> Truth:
        """Whether two words are the same."""

    def both(self, parts: Sequence[Truth]) -> Truth:
        """Conjunction; of none, true."""

    def either(self, parts: Sequence[Truth]) -> Truth:
        """Disjunction; of none, false."""

    def negation(self, part: Truth) -> Truth:
        """Not."""

    def decide(self, node: e.Accepted | e.Holds | e.Defined) -> Truth:
        """A condition on the input as a whole, or on the run's being defined."""


def truth(node: e.Condition, setting: Setting) -> Truth:
    """Where a condition holds."""
    match node:
        case e.Comparison(how, left, right):
            return setting.compare(how, value(left, setting), value(right, setting))
        case e.SameWord(left, right):
            return setting.same_word(left, right)
        case e.Junction("and", conditions):
            return setting.both([truth(part, setting) for part in conditions])
        case e.Junction(_, conditions):
            return setting.either([truth(part, setting) for part in conditions])
        case e.Negation(part):
            return setting.negation(truth(part, setting))
        case e.Implication(premise, conclusion):
            return setting.either([setting.negation(truth(premise, setting)), truth(conclusion, setting)])
        case e.Accepted() | e.Holds() | e.Defined():
            return setting.decide(node)
    raise AssertionError(f"not a condition: {node}")


def value(node: e.Value, setting: Setting) -> Array:
    """The values of an expression, rounded at every operation."""
    match node:
        case e.Constant(number):
            return constant(number, setting.arithmetic)
        case e.Operation(name, arguments):
            operands = [value(argument, setting) for argument in arguments]
            return setting.divide(*operands) if name == "divide" else getattr(setting.arithmetic, name)(*operands)
        case e.Variable() | e.Coordinate() | e.Logit():
            return setting.read(node)
    raise AssertionError(f"not a value: {node}")


def constant(number: Any, arithmetic: Arithmetic) -> Array:
    """A constant of the arithmetic's format, of shape (1,); one that the format does not have is an error."""
    given = [constant_in(number, arithmetic.format)]
    return arithmetic.values(encode(given, arithmetic.format, part="a constant of the claim"))


def constant_in(number: Any, format: AnyFormat) -> Any:
    """B and least as numbers of the format; others as they are."""
    if isinstance(number, str) and not isinstance(format, Exact):
        size = format.max if number.endswith("B") else format.least
        return -size if number.startswith("-") else size
    return number


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "≠": np.not_equal,
    "<": np.less,
    "≤": np.less_equal,
    ">": np.greater,
    "≥": np.greater_equal,
}
WORDS_BELOW = ("UNDEFINED", "TIE")  # answers −2 and −1 of the engines


@dataclass
class Batch:
    """A setting of numpy arrays, of shape (batch,): many concrete inputs at once, in either engine."""

    arithmetic: Arithmetic
    size: int
    read_value: Callable[[Any], Array]  # of a Variable, Coordinate or Logit
    words: Mapping[Any, tuple[np.ndarray, tuple[str, ...]]] = field(default_factory=dict)  # numbers from −2; names
    decide_input: Callable[[Any], np.ndarray] | None = None
    undefined: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.undefined = np.zeros(self.size, bool)

    def read(self, node: Any) -> Array:
        return self.read_value(node)

    def divide(self, x: Array, y: Array) -> Array:
        zero = np.asarray(y == 0, bool)
        self.undefined |= zero
        one = self.arithmetic.values(encode([1], self.arithmetic.format, nearest=True))
        return self.arithmetic.divide(x, np.where(zero, one, y))

    def compare(self, how: str, x: Array, y: Array) -> np.ndarray:
        return np.asarray(_COMPARE[how](x, y), bool)

    def same_word(self, left: e.Word, right: e.Word) -> np.ndarray:
        (a, names_a), (b, names_b) = self._word(left), self._word(right)
        common = {name: number for number, name in enumerate(dict.fromkeys((*names_a, *names_b)))}
        tables = [np.array([common[name] for name in names]) for names in (names_a, names_b)]
        return tables[0][a + 2] == tables[1][b + 2]

    def _word(self, node: e.Word) -> tuple[np.ndarray, tuple[str, ...]]:
        """Numbers (batch,), where −2 is the first of the names."""
        if isinstance(node, e.Text):
            return np.array([-2]), (node.text,)
        return self.words[word_key(node)]

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


def word_key(node: e.Word) -> tuple[Any, ...]:
    """What tells words apart: nodes themselves do not compare."""
    return ("answer", node.of, node.step) if isinstance(node, e.Answer) else ("token", node.position)  # type: ignore[attr-defined]
