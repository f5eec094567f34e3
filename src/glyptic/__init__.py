"""Glyptic: carve transformers, run them in the arithmetic of a proof, prove what they compute, look inside.

>>> from glyptic import Fixed
>>> Fixed(8).max
Fraction(65535, 256)
"""

from typing import TYPE_CHECKING

__version__ = "0.1.0"

# Loaded on first use, so that `import glyptic` costs next to nothing and never touches torch.
if TYPE_CHECKING:
    from glyptic import bridge as bridge
    from glyptic import carve as carve
    from glyptic import distill as distill
    from glyptic import exact as exact
    from glyptic import icl as icl
    from glyptic import languages as languages
    from glyptic import lint as lint
    from glyptic import look as look
    from glyptic import nn as nn
    from glyptic import notes as notes
    from glyptic import numbers as numbers
    from glyptic import programs as programs
    from glyptic import prove as prove
    from glyptic import states as states
    from glyptic import studies as studies
    from glyptic import theorems as theorems
    from glyptic.exact import FeedForward as FeedForward
    from glyptic.exact import Head as Head
    from glyptic.exact import Layer as Layer
    from glyptic.exact import Options as Options
    from glyptic.exact import Transformer as Transformer
    from glyptic.exact import load as load
    from glyptic.numbers import Exact as Exact
    from glyptic.numbers import Fixed as Fixed
    from glyptic.numbers import Float as Float
    from glyptic.numbers import Ieee as Ieee
    from glyptic.numbers import Q as Q
    from glyptic.numbers import parse_format as parse_format
else:
    from glyptic.lazy import lazily

    __getattr__, __dir__, __all__ = lazily(__name__)
