"""How a positive value, however small, becomes B: copies and layers that normalization follows, from the format.

A feed-forward takes x > 0 to Σ_c [B·relu([B·x])], c equal hidden units added up: two products by B and c terms. All
of it is monotone in x, so the least value decides whether one layer reaches B, with how many copies, or how many
layers must come before:

    fixed F(s), s ≥ 2     [B·least] = 1, so one copy
    floats F(e, s)        [B·least] ≈ ½ and [B·½] ≈ B/2, so three copies (two reach only the neighbour of B)
    fixed F(1)            three copies; F(1, 1) needs one layer before, which brings 1/4 to 1
    fp16                  [B·least] ≈ 1/256: 257 copies would do; one layer before, of one copy, is cheaper
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from glyptic.carve.building import Unit
from glyptic.carve.facts import Broken, Fact
from glyptic.numbers import AnyFormat, Exact, Format, Products, as_format
from glyptic.numbers.arithmetic import check_products

_MOST_COPIES, _MOST_LAYERS = 64, 3


@dataclass(frozen=True)
class Amplification:
    """`early` gives the copies of each layer that only enlarges; `copies` those of the last, where x > 0 becomes B.

    `swing` copies take a sum from −B to B, or back. `threshold` is [B·x] for the least x that the last layer meets:
    what relu(threshold − B·x) compares with.
    """

    early: tuple[int, ...]
    copies: int
    swing: int
    threshold: Fraction


def plan(format: str | AnyFormat, products: Products = "rounded", least: Fraction | None = None) -> Amplification | None:
    """The shortest way from the least value (or another) to B; None where sums and products by B stall below it.

    >>> from glyptic.numbers import Fixed, Float
    >>> plan(Fixed(8)), plan(Float(3, 2)).copies, plan(Float(1, 1)).early
    (Amplification(early=(), copies=1, swing=2, threshold=Fraction(1, 1)), 3, (1,))
    """
    check_products(products)
    return _shortest(as_format(format), products, least)


@lru_cache(maxsize=256)
def _shortest(format: AnyFormat, products: Products, least: Fraction | None) -> Amplification | None:
    if isinstance(format, Exact):
        return None
    x = format.least if least is None else least
    return next(filter(None, (_plan(format, products, x, layers) for layers in range(_MOST_LAYERS))), None)


def _plan(format: Format, products: Products, x: Fraction, layers: int) -> Amplification | None:
    """With so many layers before the last; of each, one copy if that will do, else as many as still enlarge."""
    unit = format.round(x * format.max)
    if layers == 0:
        copies, swing = (copies_to_top(format, products, unit, start) for start in (Fraction(0), -format.max))
        return Amplification((), copies, swing, unit) if copies and swing else None
    for copies in (1, _most_copies(format, products, unit)):
        rest = _plan(format, products, format.round(x + sum_of(format, products, unit, copies)), layers - 1)
        if rest is not None:
            return replace(rest, early=(copies, *rest.early))
    return None


def sum_of(format: Format, products: Products, unit: Fraction, copies: int, start: Fraction = Fraction(0)) -> Fraction:
    """start + B·unit + … + B·unit, as a row of W_2 adds it up."""
    term = unit * format.max if products == "fused" else format.round(unit * format.max)
    for _ in range(copies):
        start = format.round(start + term)
    return start


def copies_to_top(format: Format, products: Products, unit: Fraction, start: Fraction = Fraction(0)) -> int:
    """How many copies of B·unit take a sum from `start` to B; 0 if it stalls, or takes too many."""
    for copies in range(1, 2 * _MOST_COPIES + 1):
        grown = sum_of(format, products, unit, 1, start)
        if grown == format.max:
            return copies
        if grown <= start:
            return 0
        start = grown
    return 0


def _most_copies(format: Format, products: Products, unit: Fraction) -> int:
    """As many as still enlarge a sum from 0."""
    copies, total = 0, Fraction(0)
    while copies < _MOST_COPIES and (grown := sum_of(format, products, unit, 1, total)) > total:
        copies, total = copies + 1, grown
    return max(1, copies)


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
