"""Evaluating an expression: over kernels or fractions here, over solver terms in `glyptic.prove.methods.smt`, by the same walk.

A `Setting` says what names stand for and how truth values combine; the arithmetic is any of `glyptic.numbers`.

Not everything exists: a division by 0, the root of a negative number, a coordinate of a run that met 0/0. A comparison that reads
such a thing is neither true nor false, and conditions combine as in Kleene's logic: a premise that is false makes an implication
true whatever the conclusion reads; an equivalence is neither where one of its sides is, and a choice does not exist where its
condition is neither. A precondition is met, and a claim holds, only where it comes out true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from glyptic.errors import GlypticError
from glyptic.numbers import AnyFormat, Arithmetic, encode
from glyptic.numbers.formats import Exact
from glyptic.prove.claims import expressions as e

Array = Any
Mask = Any  # two-valued: an array of bools, or a solver's condition


class Inexpressible(GlypticError):
    """Something that a setting or its arithmetic does not cover; what decides the claim answers Unknown with this reason."""


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


Read = e.Variable | e.Coordinate | e.Logit | e.Attention | e.Parameter  # what a setting gives the values of
Bound = Mapping[str, Partial]  # what the names that a `let` binds stand for


class Setting(Protocol):
    """What an expression needs to have a value; arrays are of one shape, one element an input."""

    arithmetic: Arithmetic

    def read(self, node: Read) -> Partial:
        """The values that a name stands for."""

    def replaced(self, x: Array, where: Mask, number: int) -> Array:
        """x with a stand-in, where it must not be computed with; terms may stay as they are."""

    def chosen(self, where: Mask, x: Array, y: Array) -> Array:
        """x where a condition holds, else y."""

    def larger(self, x: Array, y: Array) -> Array:
        """The larger of x and y."""

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


def truth(node: e.Condition, setting: Setting, bound: Bound = MappingProxyType({})) -> Truth:
    """Where a condition is true and where it is false; `bound` are the names that a `let` around it binds."""
    match node:
        case e.Comparison(how, left, right):
            x, y = value(left, setting, bound), value(right, setting, bound)
            there = setting.negation(setting.either([x.missing, y.missing]))
            met = setting.compare(how, x.numbers, y.numbers)
            return Truth(setting.both([met, there]), setting.both([setting.negation(met), there]))
        case e.Junction() | e.Negation() | e.Implication() | e.Equivalence():
            return _combined(node, [truth(part, setting, bound) for part in node.children()], setting)  # type: ignore[arg-type]
        case e.Let(name, meant, body):
            return truth(body, setting, {**bound, name: value(meant, setting, bound)})
        case e.SameWord(left, right):
            said = setting.same_word(left, right)
        case e.Accepted() | e.Holds() | e.Defined() | e.SameChains():
            said = setting.decide(node)
        case _:
            raise AssertionError(f"not a condition: {node}")
    return Truth(said, setting.negation(said))


def _combined(node: e.Condition, parts: list[Truth], setting: Setting) -> Truth:
    """Kleene's connectives."""
    both, either = setting.both, setting.either
    match node, parts:
        case e.Junction("and"), _:
            return Truth(both([part.true for part in parts]), either([part.false for part in parts]))
        case e.Junction("or"), _:
            return Truth(either([part.true for part in parts]), both([part.false for part in parts]))
        case e.Negation(), [inner]:
            return Truth(inner.false, inner.true)
        case e.Implication(), [a, b]:
            return Truth(either([a.false, b.true]), both([a.true, b.false]))
        case e.Equivalence(), [a, b]:
            alike = either([both([a.true, b.true]), both([a.false, b.false])])
            return Truth(alike, either([both([a.true, b.false]), both([a.false, b.true])]))
    raise AssertionError(f"not a connective: {node}")


def value(node: e.Value, setting: Setting, bound: Bound = MappingProxyType({})) -> Partial:
    """The values of an expression, rounded at every operation."""
    match node:
        case e.Constant(number):
            return Partial(constant(number, setting.arithmetic), setting.either([]))
        case e.Operation(name, arguments):
            return _operated(name, [value(argument, setting, bound) for argument in arguments], setting)
        case e.Choice(condition, then, otherwise):
            sides = value(then, setting, bound), value(otherwise, setting, bound)
            return _chosen(truth(condition, setting, bound), *sides, setting)
        case e.LetValue(name, meant, body):
            return value(body, setting, {**bound, name: value(meant, setting, bound)})
        case e.Local(name):
            return bound[name]
        case e.Variable() | e.Coordinate() | e.Logit() | e.Attention() | e.Parameter():
            return setting.read(node)
    raise AssertionError(f"not a value: {node}")


def _chosen(test: Truth, then: Partial, otherwise: Partial, setting: Setting) -> Partial:
    """Missing where the condition is neither true nor false, and where the side that it chooses is missing."""
    there = setting.either([
        setting.both([test.true, setting.negation(then.missing)]),
        setting.both([test.false, setting.negation(otherwise.missing)]),
    ])
    return Partial(setting.chosen(test.true, then.numbers, otherwise.numbers), setting.negation(there))


def in_scope(node: e.Node, setting: Setting, bound: Bound = MappingProxyType({})) -> Iterator[tuple[e.Node, Bound]]:
    """A node and all below it, each with what the names bound around it stand for."""
    yield node, bound
    for child in node.children():
        inner = bound
        if isinstance(node, e.Let | e.LetValue) and child is node.body:
            inner = {**bound, node.name: value(node.value, setting, bound)}
        yield from in_scope(child, setting, inner)


# The operations are these and no others: a name out of a file chooses among them, and gets nothing else.
OPERATIONS: dict[str, tuple[int, Callable[..., Array]]] = {  # with how many operands each takes
    "add": (2, lambda setting, x, y: setting.arithmetic.add(x, y)),
    "subtract": (2, lambda setting, x, y: setting.arithmetic.subtract(x, y)),
    "multiply": (2, lambda setting, x, y: setting.arithmetic.multiply(x, y)),
    "divide": (2, lambda setting, x, y: setting.arithmetic.divide(x, y)),
    "exp": (1, lambda setting, x: setting.arithmetic.exp(x)),
    "relu": (1, lambda setting, x: setting.arithmetic.relu(x)),
    "root": (1, lambda setting, x: setting.arithmetic.root(x)),
    "abs": (1, lambda setting, x: setting.larger(x, setting.arithmetic.subtract(constant(0, setting.arithmetic), x))),
    "max": (2, lambda setting, x, y: setting.larger(x, y)),
    "min": (2, lambda setting, x, y: setting.chosen(setting.compare("<", y, x), y, x)),
}
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
    _, operation = OPERATIONS[name]
    return Partial(operation(setting, *numbers), setting.either(missing))


def constant(number: Any, arithmetic: Arithmetic) -> Array:
    """A constant of the arithmetic's format, of shape (1,); one that the format does not have is an error."""
    given = [constant_in(number, arithmetic.format)]
    return arithmetic.values(encode(given, arithmetic.format, part="a constant of the claim"))


def constant_in(number: Any, format: AnyFormat) -> Any:
    """B and least as numbers of the format; others as they are."""
    if not isinstance(number, str):
        return number
    if number not in e.Constant.DEPENDING:
        raise e.ClaimError(f"{number!r} is not a constant; write a number, or 'B', '-B', 'least', '-least'.")
    if isinstance(format, Exact):
        raise e.ClaimError(f"{format} has no {number.removeprefix('-')}; choose a finite format, such as fixed:8.")
    size = format.max if number.endswith("B") else format.least
    return -size if number.startswith("-") else size


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal,
    "≠": np.not_equal,
    "<": np.less,
    "≤": np.less_equal,
    ">": np.greater,
    "≥": np.greater_equal,
}
NumberedWords = tuple[
    np.ndarray, tuple[str, ...]
]  # numbers (batch,) from −2, and the names that these have from there on


@dataclass
class BatchSetting:
    """A setting of numpy arrays, of shape (batch,): many concrete inputs at once, in either engine."""

    arithmetic: Arithmetic
    size: int
    read_value: Callable[[Any], Partial]  # of what `Read` lists
    read_word: Callable[[Any], NumberedWords] | None = None  # of an Answer or a Token
    decide_input: Callable[[Any], np.ndarray] | None = None

    def read(self, node: Any) -> Partial:
        return self.read_value(node)

    def replaced(self, x: Array, where: np.ndarray, number: int) -> Array:
        stand_in = self.arithmetic.values(encode([number], self.arithmetic.format, nearest=True))
        return np.where(where, stand_in, x)

    def chosen(self, where: np.ndarray, x: Array, y: Array) -> Array:
        return np.where(where, x, y)

    def larger(self, x: Array, y: Array) -> Array:
        return np.maximum(x, y)

    def compare(self, how: str, x: Array, y: Array) -> np.ndarray:
        return np.asarray(COMPARISONS[how](x, y), bool)

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


class ConditionSetting(Setting):
    """A setting of one element, arrays of shape (1,), in which truth values are conditions; what they are is for the subclass."""

    arithmetic: Any  # on scalars that can be compared: `equal`, `less`, `choose`

    def chosen(self, where: Mask, x: Array, y: Array) -> Array:
        return alone(self.arithmetic.choose(where, x[0], y[0]))

    def larger(self, x: Array, y: Array) -> Array:
        return alone(self.arithmetic.scalar_larger(x[0], y[0]))

    def compare(self, how: str, x: Array, y: Array) -> Mask:
        a, b, arithmetic = x[0], y[0], self.arithmetic
        if how in ("=", "≠"):
            same = arithmetic.equal(a, b)
            return same if how == "=" else self.negation(same)
        less = arithmetic.less(a, b) if how in ("<", "≥") else arithmetic.less(b, a)
        return less if how in ("<", ">") else self.negation(less)

    def same_word(self, left: e.Word, right: e.Word) -> Mask:
        a, b = self.word(left), self.word(right)
        return self.either([self.both([a[name], b[name]]) for name in a if name in b])

    def word(self, node: e.Word) -> Mapping[str, Mask]:
        """Each word with the condition under which it is the one."""
        raise NotImplementedError


def alone(scalar: Any) -> np.ndarray:
    """An array of one object."""
    out = np.empty(1, dtype=object)
    out[0] = scalar
    return out
