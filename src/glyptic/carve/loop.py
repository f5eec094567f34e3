"""Loop a block: the same layers several times, with the same weights (a looped transformer written out)."""

from __future__ import annotations

from typing import Annotated

from glyptic.arguments import Count, checked
from glyptic.carve.frames import carved, clobbers
from glyptic.errors import ModelError
from glyptic.exact import Transformer
from glyptic.exact.history import moved

_MOST_LAYERS = 10_000


@checked
def block(transformer: Transformer, first: int, last: int, times: Annotated[int, Count(0, _MOST_LAYERS)]) -> Transformer:
    """Layers first … last − 1 done `times` times in place of once; 0 leaves them out. Weights are shared, not copied.

    >>> from glyptic.exact import random_transformer
    >>> from glyptic.numbers import Fixed
    >>> len(block(random_transformer(Fixed(4)), 0, 2, times=5).layers)
    10
    """
    layers = transformer.layers
    if not 0 <= first < last <= len(layers):
        raise ModelError(f"layers {first} to {last} are not a block; there are {len(layers)} layers, counted from 0.")
    size = last - first
    if len(layers) + size * (times - 1) > _MOST_LAYERS:
        raise ModelError(f"{times} times {size} layers are more than the {_MOST_LAYERS} layers that are written out.")

    def rounds(layer: int) -> tuple[int, ...]:
        """The places of a layer in what is written out."""
        if first <= layer < last:
            return tuple(layer + size * done for done in range(times))
        return (layer if layer < first else layer + size * (times - 1),)

    written_out = layers[:first] + layers[first:last] * times + layers[last:]
    looped = transformer.replace(layers=written_out, history=moved(transformer.history, rounds))
    name = f"loop.block, {times} times layers {first}–{last - 1}"
    touches = [clobbers(transformer.coordinates, "what the block makes of them, again and again")]
    return carved(transformer, looped, name, touches, place=last)
