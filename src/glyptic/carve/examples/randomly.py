"""A random transformer among the deciders."""

from __future__ import annotations

from typing import Annotated

from glyptic.arguments import Count, Seed, checked
from glyptic.carve.building import format_of
from glyptic.carve.examples.parts import Length
from glyptic.exact import Sizes, Transformer, random_transformer
from glyptic.numbers import AnyFormat


@checked
def random(
    format: AnyFormat | str, seed: Seed = 0, layers: Annotated[int, Count(0, 1000)] = 2, max_length: Length = 12
) -> Transformer:
    """A random transformer by seed; it decides nothing in particular, and need not be decisive.

    >>> from glyptic.numbers import Fixed
    >>> random(Fixed(4), seed=7).same_as(random(Fixed(4), seed=7))
    True
    """
    made = random_transformer(format_of(format), seed, Sizes(layers=layers, max_length=max_length))
    return made.replace(name=f"random:{seed},{layers},{max_length}")
