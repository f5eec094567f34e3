"""The theorems of the constructions: for each, a claim about all values of a format, made from what `glyptic.carve` builds."""

from glyptic.theorems.deciders import DECIDERS, decider
from glyptic.theorems.primitives import PRIMITIVES
from glyptic.theorems.theorem import Theorem

THEOREMS: tuple[Theorem, ...] = (*PRIMITIVES, *DECIDERS)

__all__ = ["THEOREMS", "Theorem", "decider"]
