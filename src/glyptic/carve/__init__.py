"""Constructions: `Transformer -> Transformer`, by the names of coordinates, each with a frame and a price.

    building      weights by name: hidden units, heads, rows       coordinates   widen, rename, permute, free, append
    flags, gates  where we are: positions, complements, codes      facts         what a construction needs of a format
    frames        what a construction did: `T.frame()`             amplify       from the least value to B
    add           add a vector, set it, copy coordinates           zero          clear coordinates
    ignore        layers that leave coordinates alone              linear        h_j ← M h_i; in place; affine
    lookup        fetch from the position that a code names        deciding      from logits to a decision
    normalize     0–1, ∞, ±∞                                       closure       ~a, a & b, a | b, a ^ b, majority, …
    beside        several transformers side by side in one         compose       b after a; b on a's chain of thought
    loop          a block several times                            notes         the notes' constructions, as printed
    examples      built-in deciders
"""

import importlib
from typing import Any

from glyptic.carve.coordinates import append, free, permute, rename, widen
from glyptic.carve.facts import FactError

_MODULES = (
    "add", "amplify", "beside", "building", "closure", "compose", "coordinates", "deciding", "examples",
    "facts", "flags", "frames", "gates", "ignore", "linear", "lookup", "loop", "normalize", "notes", "zero",
)

__all__ = ["FactError", "append", "free", "permute", "rename", "widen", *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"glyptic.carve.{name}")
    raise AttributeError(f"module 'glyptic.carve' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
