"""What a theorem of the catalogue is, and the few ways in which such claims are put.

Residuals enter with every main coordinate free at every position; flags and codes hold what the position embedding writes,
scratch holds 0. A claim says what the coordinates are afterwards, all of them: what is written, and that the rest is preserved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

from glyptic.exact import Options, Transformer
from glyptic.numbers import Format, Products
from glyptic.prove.claims.claim import Claim, layers
from glyptic.prove.claims.expressions import TRUE, Condition, Value, after, before

MAIN = ("x", "y")
POSITIONS = 3

Maker = Callable[[Format, Products], Claim]


@dataclass(frozen=True)
class Theorem:
    """A construction, what it does in words, and the claim that says so in a format."""

    name: str
    says: str
    claim: Maker


def plain(
    format: Format, products: Products, names: Sequence[str] = MAIN, output: Any = None, positions: int = POSITIONS
) -> Transformer:
    """A decider without layers whose logits are `output` times its coordinates: the first two, unless said."""
    d = len(names)
    theta = output or [[int(k == i) for k in range(d)] for i in range(2)]
    zeros, options = [[0] * d] * 2, Options(products=products)
    return Transformer.of(format, "01", names, zeros, theta, ["NO", "YES"], max_length=positions, options=options)


def everything(conditions: Iterable[Condition]) -> Condition:
    """All of some conditions."""
    always: Condition = TRUE
    return reduce(lambda a, b: a & b, conditions, always)


def about(built: Transformer, ensures: Condition, positions: int = POSITIONS, free: Sequence[str] = MAIN) -> Claim:
    """A claim about the layers of what was built, flags and codes coming from the position embedding."""
    flags = tuple(n for k, n in enumerate(built.coordinates) if n not in free and built.position_embedding[:, k].any())
    return Claim(layers(built, free=free, positions=positions, from_positions=flags), ensures)


def become(
    built: Transformer,
    wanted: Mapping[tuple[str, int], Value | int],
    positions: int = POSITIONS,
    free: Sequence[str] = MAIN,
) -> Claim:
    """After the layers, the places named hold the values named; all others hold what they held before."""
    conditions = [
        after(name, i) == wanted.get((name, i), before(name, i))
        for name, i in product(built.coordinates, range(positions))
    ]
    return about(built, everything(conditions), positions, free)
