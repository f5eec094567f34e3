"""Facts about a format that constructions rest on, each decided for the format at hand, with the value that breaks it.

    ONE            1 is a value
    SYMMETRIC      −x is a value for every value x (false in two's complement, at its smallest value)
    SATURATES      (x + B) + B = B for every x (false in two's complement, at its smallest value)
    SUBNORMAL      x ≠ y ⇒ [x − y] ≠ 0 (false without subnormals)
    EXP_VANISHES   [exp(−B)] = 0 (false in float:1,1, where it is 1/4); `scaled_exp_vanishes`: of −B / [√d_k]
    PRODUCTS       some number of products by B takes every x > 0 to B: see `products_to_top`
    decides(u, v)  the rounded softmax of the logits (u, v) has one largest share

Each is computed by the functions that run transformers: `format.round`, the `Reference` arithmetic, the divisor of
`exact.forward`. A construction asks `require`; what does not hold is a `FactError` that names the fact and the value,
unless forced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import cast

from glyptic.errors import GlypticError
from glyptic.exact.forward import score_divisor
from glyptic.numbers import AnyFormat, Attention, Exact, Reference, as_format, number


class FactError(GlypticError, ValueError):
    """A construction asked for in a format in which it is wrong; `fact` and `value` say why."""

    def __init__(self, message: str, fact: Fact, value: Fraction | None) -> None:
        super().__init__(message)
        self.fact, self.value = fact, value


@dataclass(frozen=True)
class Broken:
    """Where a fact fails: a value of the format, and what happens there."""

    value: Fraction
    happens: str


@dataclass(frozen=True)
class Fact:
    """A statement about formats; `broken` decides it, giving what breaks it or None.

    >>> from glyptic.numbers import Fixed, Float
    >>> EXP_VANISHES.broken(Fixed(2)), EXP_VANISHES.broken(Float(1, 1)).happens
    (None, 'exp(-3/2) rounds to 1/4')
    """

    name: str
    statement: str
    broken: Callable[[AnyFormat], Broken | None]


def require(facts: Iterable[Fact], format: str | AnyFormat, construction: str, force: bool = False) -> None:
    """Refuse a construction whose facts fail in the format."""
    format = as_format(format)
    for fact in facts:
        broken = None if force else fact.broken(format)
        if broken is not None:
            raise FactError(
                f"{construction} rests on “{fact.statement}”, which is false in {format}: {broken.happens}; "
                "choose another format, or pass force=True to build it nevertheless.",
                fact,
                broken.value,
            )


def _one(format: AnyFormat) -> Broken | None:
    return None if 1 in format else Broken(format.round(1), f"the nearest value to 1 is {format.round(1)}")


def _symmetric(format: AnyFormat) -> Broken | None:
    # Every other format is the set of ±(significand · power of two): symmetric by definition.
    if not format.twos_complement:
        return None
    return Broken(format.min, f"{format.min} is a value and {-format.min} is not")


def _saturates(format: AnyFormat) -> Broken | None:
    """x + B ≥ min + B, and adding B once more reaches B if min + B ≥ 0: the smallest x decides."""
    if isinstance(format, Exact):
        return Broken(Fraction(0), "nothing saturates")
    once = format.round(format.min + format.max)
    twice = format.round(once + format.max)
    happens = f"({format.min} + B) + B = {twice}, and B is {format.max}"
    return None if twice == format.max else Broken(format.min, happens)


def _subnormal(format: AnyFormat) -> Broken | None:
    """Values are multiples of one unit, 2^q_min; with subnormals (and in fixed point) that unit is a value, so a
    difference that is not 0 is at least the least value, and rounds to no less. Without, the two least values are
    the closest pair there is.
    """
    if isinstance(format, Exact) or format.is_fixed or format.subnormals:
        return None
    y, x = format.value(1), format.value(2)
    return Broken(x, f"[{x} − {y}] = 0") if format.round(x - y) == 0 else None


def _exp_vanishes(format: AnyFormat) -> Broken | None:
    if isinstance(format, Exact):
        return Broken(Fraction(-1), "exact has no B, and exp(−1) is irrational")
    least = Reference(format).scalar_exp(-format.max)
    return None if least == 0 else Broken(-format.max, f"exp({-format.max}) rounds to {least}")


def products_to_top(format: str | AnyFormat) -> int | None:
    """How many products by B take every positive value to B; None if some value never gets there.

    x ↦ [x·B] is monotone, so the least value is the last to arrive, and it arrives or stalls within as many steps
    as there are binades.

    >>> from glyptic.numbers import Fixed, Float
    >>> [products_to_top(format) for format in (Fixed(2), Float(3, 2), Fixed(1))]
    [2, 3, None]
    """
    return _products_to_top(as_format(format))


@lru_cache(maxsize=256)
def _products_to_top(format: AnyFormat) -> int | None:
    x, steps = format.least, 0
    while x < format.max:
        grown = format.round(x * format.max)
        if grown <= x:
            return None
        x, steps = grown, steps + 1
    return steps


def _products(format: AnyFormat) -> Broken | None:
    if products_to_top(format) is not None:
        return None
    x = format.least
    while (grown := format.round(x * format.max)) > x:
        x = grown
    return Broken(x, f"[{x}·B] = {grown}, with B = {format.max}")


ONE = Fact("one", "1 is a value", _one)
SYMMETRIC = Fact("symmetric", "−x is a value for every value x", _symmetric)
SATURATES = Fact("saturates", "(x + B) + B = B for every x", _saturates)
SUBNORMAL = Fact("subnormal", "x ≠ y ⇒ [x − y] ≠ 0", _subnormal)
EXP_VANISHES = Fact("exp-vanishes", "[exp(−B)] = 0", _exp_vanishes)
PRODUCTS = Fact("products", "products by B take every x > 0 to B", _products)


def scaled_exp_vanishes(key_width: int) -> Fact:
    """With scores divided by [√d_k]: [exp([−B / [√d_k]])] = 0."""

    def broken(format: AnyFormat) -> Broken | None:
        if isinstance(format, Exact):
            return _exp_vanishes(format)
        arithmetic = Reference(format)
        score = arithmetic.scalar_divide(-format.max, score_divisor(key_width, format))
        least = arithmetic.scalar_exp(score)
        happens = f"the score −B/√{key_width} is {score}, and its exp rounds to {least}"
        return None if least == 0 else Broken(score, happens)

    return Fact("exp-vanishes", f"[exp(−B/√{key_width})] = 0", broken)


def decides(*logits: str, subtract: bool = False) -> Fact:
    """The rounded softmax of these logits has one largest share, at the largest logit; with or without the maximum
    subtracted first.

    >>> from glyptic.numbers import Fixed
    >>> decides("1", "B").broken(Fixed(1)).happens
    'softmax(1, ∞) = (1, 1)'
    """

    def broken(format: AnyFormat) -> Broken | None:
        x, kind = [number(logit, format) for logit in logits], "max-subtracted" if subtract else "softmax"
        shares, undefined = Reference(format).distribute(x, cast(Attention, kind))
        if not undefined and shares.count(max(shares)) == 1 and shares.index(max(shares)) == x.index(max(x)):
            return None
        from glyptic.exact.report import show_number

        shown = ", ".join(show_number(value, format) for value in x)
        result = "0/0" if undefined else f"({', '.join(map(str, shares))})"
        return Broken(max(x), f"softmax({shown}) = {result}")

    return Fact("decides", f"softmax({', '.join(logits)}) is decisive", broken)


__all__ = [
    "EXP_VANISHES",
    "ONE",
    "PRODUCTS",
    "SATURATES",
    "SUBNORMAL",
    "SYMMETRIC",
    "Broken",
    "Fact",
    "FactError",
    "decides",
    "products_to_top",
    "require",
    "scaled_exp_vanishes",
]
