"""Conditions: what is true or false of each input; comparisons, their combinations, and membership in a language.

They are built by the operators of `expressions`, combined by & | ~ >> (implies) and == (iff), and print as logic is written: what
is printed determines the condition, but that one condition alone in a conjunction or disjunction prints as itself, and that
names of automata and predicates print as they are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NoReturn, dataclass_transform

from glyptic.errors import GlypticError
from glyptic.languages.automata import Automaton

if TYPE_CHECKING:
    from glyptic.prove.claims.expressions import Value, Word


class ClaimError(GlypticError, ValueError):
    """A claim that cannot be read: a name that does not exist, a position out of reach, a condition used as a bool."""


@dataclass_transform(frozen_default=True, eq_default=False)
class Node:
    """Anything in an expression; equality is a condition, so nodes are told apart by identity.

    What has fields is a frozen dataclass, and `shows` is how it prints, if that is a matter of its fields alone.
    """

    __hash__ = object.__hash__

    def __init_subclass__(cls, shows: str = "") -> None:
        if "__annotations__" in vars(cls):
            dataclass(frozen=True, eq=False)(cls)
        if shows:
            cls.__str__ = lambda self: shows.format(self)  # type: ignore[method-assign]

    def children(self) -> Iterator[Node]:
        """The nodes that this one is made of."""
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Node):
                    yield item

    def parts(self) -> Iterator[Node]:
        """This node and all below it."""
        yield self
        for child in self.children():
            yield from child.parts()

    def __bool__(self) -> bool:
        raise ClaimError(f"{self} is not a bool: compare it, and combine comparisons by & | ~ >>.")


class Condition(Node):
    """True or false of each input; combined by & | ~ >> (implies), == (iff) and != (either, not both)."""

    __hash__ = object.__hash__

    def __and__(self, other: Condition) -> Condition:
        return Junction("and", (*_flat("and", self), *_flat("and", condition(other))))

    def __or__(self, other: Condition) -> Condition:
        return Junction("or", (*_flat("or", self), *_flat("or", condition(other))))

    def __rand__(self, other: Any) -> Condition:
        return condition(other) & self

    def __ror__(self, other: Any) -> Condition:
        return condition(other) | self

    def __invert__(self) -> Condition:
        return self.part if isinstance(self, Negation) else Negation(self)

    def __rshift__(self, other: Condition) -> Condition:
        return Implication(self, condition(other))

    def __rrshift__(self, other: Any) -> Condition:
        return Implication(condition(other), self)

    def __eq__(self, other: object) -> Equivalence:  # type: ignore[override]
        return Equivalence(self, condition(other))

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        return Negation(Equivalence(self, condition(other)))

    def _no_order(self, other: Any) -> NoReturn:
        raise ClaimError(f"the condition {self} is not a number, and has no order; combine conditions by & | ~ >> ==.")

    __lt__ = __le__ = __gt__ = __ge__ = _no_order

    def __format__(self, how: str) -> str:
        """As it prints, or, with "()", as it does within another."""
        return inside(self) if how == "()" else str(self)

    def __bool__(self) -> bool:
        raise ClaimError(f"the condition {self} is not a bool: write & | ~ >> for and, or, not, implies; no a < b < c.")


def condition(x: Any) -> Condition:
    """A condition as it is; anything else is refused."""
    if isinstance(x, Condition):
        return x
    said = "a value" if isinstance(x, Node) else f"Python's {type(x).__name__}"
    raise ClaimError(f"{x} is {said}, not a condition; comparisons go in parentheses: (x > 0) & (y > 0).")


class Comparison(Condition, shows="{0.left} {0.how} {0.right}"):
    how: Literal["=", "≠", "<", "≤", ">", "≥"]
    left: Value
    right: Value


class SameWord(Condition, shows="{0.left} = {0.right}"):
    left: Word
    right: Word


class Junction(Condition):
    """All of some conditions, or any of them; all of none is true."""

    how: Literal["and", "or"]
    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        if not self.conditions:
            return "true" if self.how == "and" else "false"
        if len(self.conditions) == 1:
            return str(self.conditions[0])
        sign = " ∧ " if self.how == "and" else " ∨ "
        return sign.join(map(inside, self.conditions))


class Negation(Condition):
    part: Condition

    def __str__(self) -> str:
        if isinstance(self.part, SameWord):
            return f"{self.part.left} ≠ {self.part.right}"
        return f"¬{inside(self.part)}"


class Implication(Condition, shows="{0.premise:()} ⇒ {0.conclusion:()}"):
    premise: Condition
    conclusion: Condition


class Equivalence(Condition, shows="{0.left:()} ⇔ {0.right:()}"):
    """Both sides are true, or both are false; where one of them is neither, so is this."""

    left: Condition
    right: Condition


class Let(Condition, shows="let {0.name} = {0.value}: {0.body}"):
    """A condition in which a name stands for a value; `expressions.let` makes it."""

    name: str
    value: Value
    body: Condition


class Accepted(Condition, shows="input ∈ {0.automaton.name}"):
    """The input is in the language of an automaton."""

    automaton: Automaton


class Holds(Condition, shows="{0.name}(input)"):
    """A Python predicate is true of the input, given as a string (or a tuple of tokens longer than one character)."""

    predicate: Callable[[Any], bool]
    name: str


class Defined(Condition):
    """The run meets no 0/0; with attention=True, none in its layers (0/0 in the output's softmax is allowed).

    Of layers it is about those that are run; whether the output's softmax is 0/0 is told by the answer UNDEFINED.
    """

    of: str = ""
    attention: bool = False

    def __str__(self) -> str:
        what = "no 0/0 in attention or a norm" if self.attention else "no 0/0"
        return f"{what}{' of ' * bool(self.of)}{self.of}"


class SameChains(Condition, shows="every step's answer({0.left}) = answer({0.right})"):
    """Two transformers give the same answers at every step of their chains of thought, however many there are."""

    left: str
    right: str


TRUE = Junction("and", ())


def _flat(how: str, condition: Condition) -> tuple[Condition, ...]:
    return condition.conditions if isinstance(condition, Junction) and condition.how == how else (condition,)


def inside(condition: Condition) -> str:
    """A condition as it prints within another: in parentheses, if it is made of several."""
    shown = condition
    while isinstance(shown, Junction) and len(shown.conditions) == 1:
        shown = shown.conditions[0]
    compound = isinstance(shown, Implication | Equivalence | Let) or (isinstance(shown, Junction) and shown.conditions)
    return f"({shown})" if compound else str(shown)
