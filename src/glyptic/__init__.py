"""Glyptic: carve transformers, run them in the arithmetic of a proof, prove what they compute, look inside.

>>> from glyptic import Fixed
>>> Fixed(8).max
Fraction(65535, 256)
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from glyptic.exact import FeedForward, Head, Layer, Options, Transformer, load
    from glyptic.numbers import Exact, Fixed, Float, Ieee, Q, parse_format

# Loaded on first use, so that `import glyptic` costs next to nothing and never touches torch.
_NAMES = {
    **dict.fromkeys(("Exact", "Fixed", "Float", "Ieee", "Q", "parse_format"), "glyptic.numbers"),
    **dict.fromkeys(("FeedForward", "Head", "Layer", "Options", "Transformer", "load"), "glyptic.exact"),
}
_ROOMS = ("numbers", "exact", "carve", "prove", "nn", "bridge", "icl")

__all__ = [
    "Exact",
    "FeedForward",
    "Fixed",
    "Float",
    "Head",
    "Ieee",
    "Layer",
    "Options",
    "Q",
    "Transformer",
    "load",
    "parse_format",
]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    if name in _ROOMS:
        from glyptic.extras import brought_by

        with brought_by(f"glyptic.{name}"):
            return importlib.import_module(f"glyptic.{name}")
    raise AttributeError(f"module 'glyptic' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES, *_ROOMS])
