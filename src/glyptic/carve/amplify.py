"""How a positive value, however small, becomes B: the plan of copies and layers that normalization follows, from the format.

A feed-forward takes x > 0 to Σ_c [B·relu([B·x])], c equal hidden units added up: two products by B and c terms. All of it
is monotone in x, so the least value decides whether one layer reaches B, with how many copies, or how many layers must
come before:

    fixed F(s), s ≥ 2     [B·least] = 1, so one copy
    floats F(e, s)        [B·least] ≈ ½ and [B·½] ≈ B/2, so three copies (two reach only the neighbour of B)
    fixed F(1)            three copies; F(1, 1) needs one layer before, which brings 1/4 to 1
    fp16                  [B·least] ≈ 1/256: 257 copies would do; one layer before, of one copy, is cheaper
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from glyptic.carve.building import Unit
from glyptic.carve.facts import Broken, Fact
from glyptic.numbers import AnyFormat, Exact, Format, Products

_MOST_COPIES, _MOST_LAYERS = 64, 3


@dataclass(frozen=True)
class Plan:
    """`early` gives the copies of each layer that only enlarges; `copies` those of the last, where x > 0 becomes B.

    `threshold` is [B·x] for the least x that the last layer meets: what relu(threshold − B·x) compares with.
    """

    early: tuple[int, ...]
    copies: int
    threshold: Fraction


@lru_cache(maxsize=256)
def plan(format: AnyFormat, products: Products = "rounded", least: Fraction | None = None) -> Plan | None:
    """The shortest way from the least value (or another) to B; None where sums and products by B stall below it.

    >>> from glyptic.numbers import Fixed, Float
    >>> plan(Fixed(8)), plan(Float(3, 2)).copies, plan(Float(1, 1)).early
    (Plan(early=(), copies=1, threshold=Fraction(1, 1)), 3, (1,))
    """
    if isinstance(format, Exact):
        return None
    x = format.least if least is None else least
    return next(filter(None, (_plan(format, products, x, layers) for layers in range(_MOST_LAYERS))), None)


def _plan(format: Format, products: Products, x: Fraction, layers: int) -> Plan | None:
    """With so many layers before the last; of each, one copy if that will do, else as many as still enlarge."""
    unit = format.round(x * format.max)
    most = _copies(format, products, unit)
    if layers == 0:
        return Plan((), most, unit) if _sum(format, products, unit, most) == format.max else None
    for copies in (1, most):
        rest = _plan(format, products, format.round(x + _sum(format, products, unit, copies)), layers - 1)
        if rest is not None:
            return Plan((copies, *rest.early), rest.copies, rest.threshold)
    return None


def _sum(format: Format, products: Products, unit: Fraction, copies: int) -> Fraction:
    term, total = unit * format.max, Fraction(0)
    for _ in range(copies):
        total = format.round(total + (term if products == "fused" else format.round(term)))
    return total


def _copies(format: Format, products: Products, unit: Fraction) -> int:
    """As many as still enlarge the sum."""
    copies = 1
    while copies < _MOST_COPIES and _sum(format, products, unit, copies) < _sum(format, products, unit, copies + 1):
        copies += 1
    return copies


def reaches_top(products: Products) -> Fact:
    """The fact that there is a plan."""

    def broken(format: AnyFormat) -> Broken | None:
        if isinstance(format, Exact):
            return Broken(Fraction(1), "exact has no largest value B")
        return None if plan(format, products) else Broken(format.least, f"{format.least} stalls below B = {format.max}")

    return Fact("reaches-B", "sums of products by B take every x > 0 to B", broken)


def enlarge(coordinate: str, copies: int) -> list[Unit]:
    """An early layer's units: x += Σ B·relu(B·x) − Σ B·relu(−B·x), so that x keeps its sign and 0 stays 0."""
    up = Unit({coordinate: "B"}, {coordinate: "B"})
    down = Unit({coordinate: "-B"}, {coordinate: "-B"})
    return [up] * copies + [down] * copies
