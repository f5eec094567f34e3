"""The language of claims: expressions over named values, written with Python's operators, read as the notes are.

Arithmetic is that of the format: every `+`, `-`, `*`, `/` is rounded, and prints in brackets, as the notes write it. An
expression holds no numbers of any engine; `evaluation` gives it a value over fractions, kernels or solver terms.

>>> x, y = variables("x y")
>>> print((x > 0) >> (x * B * B == B))
x > 0 ⇒ [[x·B]·B] = B
>>> print(before("x", 0) == after("y", 1))
before.x@0 = after.y@1
>>> print((x == 0) == (abs(x) < LEAST))
x = 0 ⇔ |x| < least
>>> print(let("d", maximum(x, y) - y, lambda d: where(d > 0, d, 1) != 0))
let d = [max(x, y) − y]: (d if d > 0 else 1) ≠ 0

What is printed determines the expression; conditions have two exceptions, which `conditions` tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, Literal, NoReturn

from glyptic.arguments import checked
from glyptic.languages.automata import Automaton
from glyptic.prove.claims.conditions import (
    TRUE,
    Accepted,
    ClaimError,
    Comparison,
    Condition,
    Defined,
    Equivalence,
    Holds,
    Implication,
    Junction,
    Let,
    Negation,
    Node,
    SameChains,
    SameWord,
    condition,
)

# Values of the format -------------------------------------------------------------------------------------------------


def _operator(name: str, turned: bool = False) -> Callable[[Any, Any], Operation]:
    """A rounded operation of a value and another; turned, of another and the value."""
    return lambda x, y: Operation(name, (value(y), x) if turned else (x, value(y)))


def _comparison(how: Literal["=", "≠", "<", "≤", ">", "≥"]) -> Callable[[Any, Any], Comparison]:
    return lambda x, y: Comparison(how, x, value(y))


class Value(Node):
    """A number of the format; operators build rounded operations and comparisons."""

    __hash__ = object.__hash__
    __add__, __radd__ = _operator("add"), _operator("add", turned=True)
    __sub__, __rsub__ = _operator("subtract"), _operator("subtract", turned=True)
    __mul__, __rmul__ = _operator("multiply"), _operator("multiply", turned=True)
    __truediv__, __rtruediv__ = _operator("divide"), _operator("divide", turned=True)
    __eq__, __ne__ = _comparison("="), _comparison("≠")  # type: ignore[assignment]
    __lt__, __le__ = _comparison("<"), _comparison("≤")
    __gt__, __ge__ = _comparison(">"), _comparison("≥")

    def __neg__(self) -> Value:
        return Operation("subtract", (Constant(Fraction(0)), self))

    def __abs__(self) -> Operation:
        return Operation("abs", (self,))

    def _no_logic(self, other: Any = None) -> NoReturn:
        raise ClaimError(f"{self} is a value; & | ~ >> combine conditions, in parentheses: (x > 0) & ~(y > 0).")

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __rshift__ = __rrshift__ = __invert__ = _no_logic


class Variable(Value):
    """A value free in the whole format."""

    name: str

    def __str__(self) -> str:
        return name_of_value(self.name)


class Coordinate(Value):
    """A residual coordinate: `stage` is before, after (of layers), or the name of a traced part (of a run)."""

    stage: str
    coordinate: str
    position: int
    of: str = ""

    def __str__(self) -> str:
        return f"{_whose(self.of)}{self.stage}.{_name(self.coordinate, '@')}@{self.position}"


class Logit(Value):
    """θ_OUTPUT h_n for one answer, before softmax."""

    answer: str
    of: str = ""

    def __str__(self) -> str:
        return f"{_whose(self.of)}logit({_name(self.answer, ')')})"


class Attention(Value):
    """What a head gives at a query's position to a key's: its score, as it enters the softmax, or its weight."""

    what: Literal["score", "weight"]
    layer: int  # counted as in the whole transformer
    head: int
    query: int
    key: int
    of: str = ""

    def __str__(self) -> str:
        return f"{_whose(self.of)}{self.what}({self.layer}.{self.head}: {self.query}→{self.key})"

    def stage(self) -> str:
        """The name of the traced part that it is an entry of."""
        return f"layer.{self.layer}.head.{self.head}.{self.what}s"


class Parameter(Value):
    """An entry of a weight array, called as `glyptic.exact.parts.parts` calls it: a constant, or free."""

    part: str
    index: tuple[int, ...]
    of: str = ""

    def __str__(self) -> str:
        return f"{_whose(self.of)}{entry_name(self.part, self.index)}"


class Constant(Value):
    """A number, or one that depends on the format: B, -B, least, -least."""

    number: Any

    DEPENDING: ClassVar = ("B", "-B", "least", "-least")

    def __neg__(self) -> Constant:
        if not isinstance(self.number, str):
            return Constant(-self.number)
        return Constant(self.number[1:] if self.number.startswith("-") else f"-{self.number}")

    def __str__(self) -> str:
        return str(self.number).replace("-", "−")


class Operation(Value):
    """A rounded operation: add, subtract, multiply, divide, exp, relu, root; or, exact, abs, max, min.

    |x| is the larger of x and [0 − x]: where −B has no opposite, in two's complement, |−2^m| is B.
    """

    name: str
    arguments: tuple[Value, ...]

    SIGNS: ClassVar = {"add": " + ", "subtract": " − ", "multiply": "·", "divide": " / "}

    def __str__(self) -> str:
        if self.name in self.SIGNS:
            return "[" + self.SIGNS[self.name].join(map(str, self.arguments)) + "]"
        if self.name == "abs":
            return f"|{self.arguments[0]}|"
        shown = ", ".join(map(str, self.arguments))
        return f"{self.name}({shown})" if self.name in ("relu", "max", "min") else f"[{self.name} {shown}]"


class Choice(Value, shows="({0.then} if {0.condition} else {0.otherwise})"):
    """One value where a condition is true, another where it is false; where it is neither, this does not exist."""

    condition: Condition
    then: Value
    otherwise: Value


class Local(Value, shows="{0.name}"):
    """A name that a `let` around it binds."""

    name: str


class LetValue(Value, shows="(let {0.name} = {0.value}: {0.body})"):
    """A value in which a name stands for another."""

    name: str
    value: Value
    body: Value


RESERVED = ("B", "least", "if", "else", "let", "true", "false", "answer", "relu", "max", "min", "exp", "root")


def name_of_value(name: str) -> str:
    """A name as it prints: one word as it is, anything else, and words that mean something already, in quotes."""
    return name if name.isidentifier() and name not in RESERVED else repr(name)


def entry_name(part: str, index: tuple[int, ...]) -> str:
    """An entry of an array as it prints.

    >>> entry_name("layers.0.feed_forward.w1", (0, 1))
    'layers.0.feed_forward.w1[0,1]'
    """
    return f"{part}[{','.join(map(str, index))}]"


def _whose(of: str) -> str:
    return f"{of if of.isidentifier() else repr(of)}:" if of else ""


def _name(name: str, end: str) -> str:
    """A name as it is, or in quotes where one could not tell where it ends."""
    return repr(name) if end in name or name[:1] in ("'", '"') else name


def value(x: Any) -> Value:
    """A number as people write it, or a value as it is."""
    if isinstance(x, Value):
        return x
    if isinstance(x, str) and x in Constant.DEPENDING:
        return Constant(x)
    try:
        if isinstance(x, Node | str | bool):
            raise TypeError
        return Constant(Fraction(x))
    except (TypeError, ValueError, OverflowError):
        said = str(x) if isinstance(x, Node) else repr(x)
        raise ClaimError(f"{said} is not a value; write a number, B, -B, least, a variable or a coordinate.") from None


B = Constant("B")
LEAST = Constant("least")


@checked
def variables(names: str) -> tuple[Variable, ...]:
    """Variables free in the whole format: x, y = variables("x y")."""
    return tuple(map(Variable, names.split()))


@checked
def before(coordinate: str, position: int = 0, of: str = "") -> Coordinate:
    """A coordinate of the residual that enters the layers."""
    return Coordinate("before", coordinate, position, of)


@checked
def after(coordinate: str, position: int = 0, of: str = "") -> Coordinate:
    """A coordinate of the residual that leaves the layers."""
    return Coordinate("after", coordinate, position, of)


@checked
def at(stage: str, coordinate: str, position: int = -1, of: str = "") -> Coordinate:
    """A coordinate at a stage of a run, such as layer.0.after_attention; positions may count from the end."""
    return Coordinate(stage, coordinate, position, of)


@checked
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


def maximum(x: Any, *more: Any) -> Value:
    """The largest of some values."""
    return reduce(lambda a, b: Operation("max", (a, b)), map(value, (x, *more)))


def minimum(x: Any, *more: Any) -> Value:
    """The smallest of some values."""
    return reduce(lambda a, b: Operation("min", (a, b)), map(value, (x, *more)))


def where(test: Condition, then: Any, otherwise: Any) -> Choice:
    """`then` where the condition is true, `otherwise` where it is false."""
    return Choice(condition(test), value(then), value(otherwise))


def softmax(*scores: Any) -> tuple[Operation, ...]:
    """[[exp a_i] / [[exp a_1] + [exp a_2] + …]], each step rounded, summed from left to right.

    >>> print(softmax(0, B)[1])
    [[exp B] / [[exp 0] + [exp B]]]
    """
    if not scores:
        raise ClaimError("softmax of nothing; give it at least one score.")
    exps = [exp(score) for score in scores]
    total = reduce(lambda a, b: a + b, exps)
    return tuple(each / total for each in exps)


@checked
def let(name: str, bound: Any, body: Callable[[Local], Any]) -> Let | LetValue:
    """What `body` makes of a name that stands for a value: a condition or a value.

    >>> x, y = variables("x y")
    >>> print(let("d", x - y, lambda d: d * d >= 0))
    let d = [x − y]: [d·d] ≥ 0
    """
    made = body(Local(name))
    return Let(name, value(bound), made) if isinstance(made, Condition) else LetValue(name, value(bound), value(made))


@checked
def score(layer: int, head: int, query: int, key: int, of: str = "") -> Attention:
    """The score of a key for a query, in a head: the inner product, scaled if the transformer scales it."""
    return Attention("score", layer, head, query, key, of)


@checked
def attention_weight(layer: int, head: int, query: int, key: int, of: str = "") -> Attention:
    """The weight that a head gives a key at a query."""
    return Attention("weight", layer, head, query, key, of)


@checked
def parameter(part: str, *index: int, of: str = "") -> Parameter:
    """An entry of a weight array: parameter("layers.0.feed_forward.w1", 0, 1)."""
    return Parameter(part, index, of)


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


class Answer(Word):
    """The answer of a transformer: of the last step of its chain of thought, or of step `step` (from 0)."""

    of: str = ""
    step: int = -1

    def __str__(self) -> str:
        where = [_whose(self.of)[:-1]] * bool(self.of) + [f"step {self.step}"] * (self.step != -1)
        return f"answer({', '.join(where)})" if where else "answer"


class Token(Word, shows="token@{0.position}"):
    """The input's token at a position, which may count from the end."""

    position: int


class Text(Word):
    """A word itself."""

    text: str

    def __str__(self) -> str:
        return self.text if re.fullmatch(r"\w+", self.text) and self.text != "answer" else repr(self.text)


def word(x: Any) -> Word:
    """A word as it is, or a string as a word."""
    if isinstance(x, Word):
        return x
    if isinstance(x, str):
        return Text(x)
    raise ClaimError(f"{x!r} is not a word; compare answers and tokens with strings.")


@checked
def answer(of: str = "", step: int = -1) -> Answer:
    """The answer of the transformer, or of the one of that name."""
    return Answer(of, step)


@checked
def token(position: int) -> Token:
    """The input's token at a position."""
    return Token(position)


# Conditions on the input as a whole ------------------------------------------------------------------------------------


@checked
def accepted(automaton: Automaton) -> Accepted:
    """The input is in the automaton's language."""
    return Accepted(automaton)


@checked
def holds(predicate: Callable[[Any], bool], name: str = "") -> Holds:
    """A Python predicate is true of the input."""
    return Holds(predicate, name or getattr(predicate, "__qualname__", "predicate"))


@checked
def defined(of: str = "") -> Defined:
    """The run meets no 0/0."""
    return Defined(of)


__all__ = [
    "LEAST",
    "RESERVED",
    "TRUE",
    "Accepted",
    "Answer",
    "Attention",
    "B",
    "Choice",
    "ClaimError",
    "Comparison",
    "Condition",
    "Constant",
    "Coordinate",
    "Defined",
    "Equivalence",
    "Holds",
    "Implication",
    "Junction",
    "Let",
    "LetValue",
    "Local",
    "Logit",
    "Negation",
    "Node",
    "Operation",
    "Parameter",
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
    "attention_weight",
    "before",
    "condition",
    "defined",
    "entry_name",
    "exp",
    "holds",
    "let",
    "logit",
    "maximum",
    "minimum",
    "name_of_value",
    "parameter",
    "relu",
    "root",
    "score",
    "softmax",
    "token",
    "value",
    "variables",
    "where",
    "word",
]
