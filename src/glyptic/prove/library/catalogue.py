"""The theorems of the constructions: for each, a claim about all values of a format, made from what `glyptic.carve` builds."""

from glyptic.prove.library.deciders import DECIDERS, decider
from glyptic.prove.library.primitives import PRIMITIVES
from glyptic.prove.library.theorem import Theorem

THEOREMS: tuple[Theorem, ...] = (*PRIMITIVES, *DECIDERS)

__all__ = ["THEOREMS", "Theorem", "decider"]
