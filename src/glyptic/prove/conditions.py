"""Conditions: what is true or false of each input; comparisons, their combinations, and membership in a language.

They are built by the operators of `expressions`, combined by & | ~ and >> (implies), and print as logic is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from glyptic.errors import GlypticError
from glyptic.prove.languages import Automaton

if TYPE_CHECKING:
    from glyptic.prove.expressions import Value, Word


class ClaimError(GlypticError, ValueError):
    """A claim that cannot be read: a name that does not exist, a position out of reach, a condition used as a bool."""


class Node:
    """Anything in an expression; equality is a condition, so nodes are told apart by identity."""

    def parts(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Node):
                    yield from item.parts()


class Condition(Node):
    """True or false of each input; combined by & | ~ and >> (implies)."""

    def __and__(self, other: Condition) -> Condition:
        return Junction("and", (*_flat("and", self), *_flat("and", other)))

    def __or__(self, other: Condition) -> Condition:
        return Junction("or", (*_flat("or", self), *_flat("or", other)))

    def __invert__(self) -> Condition:
        return self.part if isinstance(self, Negation) else Negation(self)

    def __rshift__(self, other: Condition) -> Condition:
        return Implication(self, other)

    def __bool__(self) -> bool:
        raise ClaimError(f"the condition {self} is not a bool: write & | ~ >> for and, or, not, implies; no a < b < c.")


@dataclass(frozen=True, eq=False)
class Comparison(Condition):
    how: Literal["=", "≠", "<", "≤", ">", "≥"]
    left: Value
    right: Value

    def __str__(self) -> str:
        return f"{self.left} {self.how} {self.right}"


@dataclass(frozen=True, eq=False)
class SameWord(Condition):
    left: Word
    right: Word

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"


@dataclass(frozen=True, eq=False)
class Junction(Condition):
    """All of some conditions, or any of them; all of none is true."""

    how: Literal["and", "or"]
    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        if not self.conditions:
            return "true" if self.how == "and" else "false"
        sign = " ∧ " if self.how == "and" else " ∨ "
        return sign.join(_inside(part) for part in self.conditions)


@dataclass(frozen=True, eq=False)
class Negation(Condition):
    part: Condition

    def __str__(self) -> str:
        if isinstance(self.part, SameWord):
            return f"{self.part.left} ≠ {self.part.right}"
        return f"¬{_inside(self.part)}"


@dataclass(frozen=True, eq=False)
class Implication(Condition):
    premise: Condition
    conclusion: Condition

    def __str__(self) -> str:
        return f"{_inside(self.premise)} ⇒ {_inside(self.conclusion)}"


@dataclass(frozen=True, eq=False)
class Accepted(Condition):
    """The input is in the language of an automaton."""

    automaton: Automaton

    def __str__(self) -> str:
        return f"input ∈ {self.automaton.name}"


@dataclass(frozen=True, eq=False)
class Holds(Condition):
    """A Python predicate is true of the input, given as a string (or a tuple of tokens longer than one character)."""

    predicate: Callable[[Any], bool]
    name: str

    def __str__(self) -> str:
        return f"{self.name}(input)"


@dataclass(frozen=True, eq=False)
class Defined(Condition):
    """The run meets no 0/0; with attention=True, none in its layers (0/0 in the output's softmax is allowed).

    Of a block it is about the layers that are run; whether the output's softmax is 0/0 is told by the answer UNDEFINED.
    """

    of: str = ""
    attention: bool = False

    def __str__(self) -> str:
        what = "no 0/0 in attention" if self.attention else "no 0/0"
        return f"{what}{' of ' * bool(self.of)}{self.of}"


@dataclass(frozen=True, eq=False)
class SameChains(Condition):
    """Two transformers give the same answers at every step of their chains of thought, however many there are."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"every step's answer({self.left}) = answer({self.right})"


TRUE = Junction("and", ())


def _flat(how: str, condition: Condition) -> tuple[Condition, ...]:
    return condition.conditions if isinstance(condition, Junction) and condition.how == how else (condition,)


def _inside(condition: Condition) -> str:
    compound = isinstance(condition, Implication) or (isinstance(condition, Junction) and len(condition.conditions) > 1)
    return f"({condition})" if compound else str(condition)
