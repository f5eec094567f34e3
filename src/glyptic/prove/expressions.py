"""The language of claims: expressions over named values, written with Python's operators, read as the notes are.

Arithmetic is that of the format: every `+`, `-`, `*`, `/` is rounded, and prints in brackets, as the notes write it. An
expression holds no numbers of any engine; `evaluation` gives it a value over fractions, kernels or solver terms.

>>> x, y = variables("x y")
>>> print((x > 0) >> (x * B * B == B))
x > 0 ⇒ [[x·B]·B] = B
>>> print(before("x", 0) == after("y", 1))
before.x@0 = after.y@1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from glyptic.prove.conditions import (
    TRUE,
    Accepted,
    ClaimError,
    Comparison,
    Condition,
    Defined,
    Holds,
    Implication,
    Junction,
    Negation,
    Node,
    SameChains,
    SameWord,
)
from glyptic.prove.languages import Automaton

# Values of the format -------------------------------------------------------------------------------------------------


class Value(Node):
    """A number of the format; operators build rounded operations and comparisons."""

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Operation:
        return Operation("add", (self, value(other)))

    def __radd__(self, other: Any) -> Operation:
        return Operation("add", (value(other), self))

    def __sub__(self, other: Any) -> Operation:
        return Operation("subtract", (self, value(other)))

    def __rsub__(self, other: Any) -> Operation:
        return Operation("subtract", (value(other), self))

    def __mul__(self, other: Any) -> Operation:
        return Operation("multiply", (self, value(other)))

    def __rmul__(self, other: Any) -> Operation:
        return Operation("multiply", (value(other), self))

    def __truediv__(self, other: Any) -> Operation:
        return Operation("divide", (self, value(other)))

    def __rtruediv__(self, other: Any) -> Operation:
        return Operation("divide", (value(other), self))

    def __neg__(self) -> Value:
        return Operation("subtract", (Constant(Fraction(0)), self))

    def __eq__(self, other: object) -> Comparison:  # type: ignore[override]
        return Comparison("=", self, value(other))

    def __ne__(self, other: object) -> Comparison:  # type: ignore[override]
        return Comparison("≠", self, value(other))

    def __lt__(self, other: Any) -> Comparison:
        return Comparison("<", self, value(other))

    def __le__(self, other: Any) -> Comparison:
        return Comparison("≤", self, value(other))

    def __gt__(self, other: Any) -> Comparison:
        return Comparison(">", self, value(other))

    def __ge__(self, other: Any) -> Comparison:
        return Comparison("≥", self, value(other))


@dataclass(frozen=True, eq=False)
class Variable(Value):
    """A value free in the whole format."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Coordinate(Value):
    """A residual coordinate: `stage` is before, after (of a block), or the name of a traced part (of a run)."""

    stage: str
    coordinate: str
    position: int
    of: str = ""

    def __str__(self) -> str:
        return f"{self.of}{':' * bool(self.of)}{self.stage}.{self.coordinate}@{self.position}"


@dataclass(frozen=True, eq=False)
class Logit(Value):
    """θ_OUTPUT h_n for one answer, before softmax."""

    answer: str
    of: str = ""

    def __str__(self) -> str:
        return f"{self.of}{':' * bool(self.of)}logit({self.answer})"


@dataclass(frozen=True, eq=False)
class Constant(Value):
    """A number, or one that depends on the format: B, -B, least, -least."""

    number: Any

    def __neg__(self) -> Constant:
        if not isinstance(self.number, str):
            return Constant(-self.number)
        return Constant(self.number[1:] if self.number.startswith("-") else f"-{self.number}")

    def __str__(self) -> str:
        return str(self.number).replace("-", "−")


@dataclass(frozen=True, eq=False)
class Operation(Value):
    """A rounded operation: add, subtract, multiply, divide, exp, relu, root."""

    name: str
    arguments: tuple[Value, ...]

    SIGNS: ClassVar = {"add": " + ", "subtract": " − ", "multiply": "·", "divide": " / "}

    def __str__(self) -> str:
        if self.name in self.SIGNS:
            return "[" + self.SIGNS[self.name].join(map(str, self.arguments)) + "]"
        return f"[{self.name} {self.arguments[0]}]" if self.name != "relu" else f"relu({self.arguments[0]})"


def value(x: Any) -> Value:
    """A number as people write it, or a value as it is."""
    if isinstance(x, Value):
        return x
    if isinstance(x, str):
        if x.lstrip("-") not in ("B", "least"):
            raise ClaimError(f"{x!r} is not a value; write a number, B, -B, least, a variable or a coordinate.")
        return Constant(x)
    return Constant(Fraction(x))


B = Constant("B")
LEAST = Constant("least")


def variables(names: str) -> tuple[Variable, ...]:
    """Variables free in the whole format: x, y = variables("x y")."""
    return tuple(map(Variable, names.split()))


def before(coordinate: str, position: int = 0, of: str = "") -> Coordinate:
    """A coordinate of the residual that enters a block."""
    return Coordinate("before", coordinate, position, of)


def after(coordinate: str, position: int = 0, of: str = "") -> Coordinate:
    """A coordinate of the residual that leaves a block."""
    return Coordinate("after", coordinate, position, of)


def at(stage: str, coordinate: str, position: int = -1, of: str = "") -> Coordinate:
    """A coordinate at a stage of a run, such as layer.0.after_attention; positions may count from the end."""
    return Coordinate(stage, coordinate, position, of)


def logit(answer: str, of: str = "") -> Logit:
    """The logit of one answer."""
    return Logit(answer, of)


def exp(x: Any) -> Operation:
    """[exp x], correctly rounded."""
    return Operation("exp", (value(x),))


def relu(x: Any) -> Operation:
    """The larger of x and 0."""
    return Operation("relu", (value(x),))


def root(x: Any) -> Operation:
    """[√x]."""
    return Operation("root", (value(x),))


# Words: answers and tokens --------------------------------------------------------------------------------------------


class Word(Node):
    """An answer or a token; TIE and UNDEFINED (a run that met 0/0) are words as well."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> SameWord:  # type: ignore[override]
        return SameWord(self, word(other))

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return ~SameWord(self, word(other))

    def among(self, *words: str) -> Condition:
        """Whether it is one of some words."""
        return Junction("or", tuple(self == one for one in words))


@dataclass(frozen=True, eq=False)
class Answer(Word):
    """The answer of a transformer: of the last step of its chain of thought, or of step `step` (from 0)."""

    of: str = ""
    step: int = -1

    def __str__(self) -> str:
        where = [self.of] * bool(self.of) + [f"step {self.step}"] * (self.step != -1)
        return f"answer({', '.join(where)})" if where else "answer"


@dataclass(frozen=True, eq=False)
class Token(Word):
    """The input's token at a position, which may count from the end."""

    position: int

    def __str__(self) -> str:
        return f"token@{self.position}"


@dataclass(frozen=True, eq=False)
class Text(Word):
    """A word itself."""

    text: str

    def __str__(self) -> str:
        return self.text


def word(x: Any) -> Word:
    """A word as it is, or a string as a word."""
    if isinstance(x, Word):
        return x
    if isinstance(x, str):
        return Text(x)
    raise ClaimError(f"{x!r} is not a word; compare answers and tokens with strings.")


def answer(of: str = "", step: int = -1) -> Answer:
    """The answer of the transformer, or of the one of that name."""
    return Answer(of, step)


def token(position: int) -> Token:
    """The input's token at a position."""
    return Token(position)


# Conditions on the input as a whole ------------------------------------------------------------------------------------


def accepted(automaton: Automaton) -> Accepted:
    """The input is in the automaton's language."""
    return Accepted(automaton)


def holds(predicate: Callable[[Any], bool], name: str = "") -> Holds:
    """A Python predicate is true of the input."""
    return Holds(predicate, name or getattr(predicate, "__qualname__", "predicate"))


def defined(of: str = "") -> Defined:
    """The run meets no 0/0."""
    return Defined(of)


__all__ = [
    "LEAST",
    "TRUE",
    "Accepted",
    "Answer",
    "B",
    "ClaimError",
    "Comparison",
    "Condition",
    "Constant",
    "Coordinate",
    "Defined",
    "Holds",
    "Implication",
    "Junction",
    "Logit",
    "Negation",
    "Node",
    "Operation",
    "SameChains",
    "SameWord",
    "Text",
    "Token",
    "Value",
    "Variable",
    "Word",
    "accepted",
    "after",
    "answer",
    "at",
    "before",
    "defined",
    "exp",
    "holds",
    "logit",
    "relu",
    "root",
    "token",
    "value",
    "variables",
    "word",
]
