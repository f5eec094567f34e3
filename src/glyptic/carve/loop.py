"""Loop a block: the same layers several times, with the same weights (a looped transformer written out)."""

from __future__ import annotations

from glyptic.carve.frames import carved, clobbers
from glyptic.errors import ModelError
from glyptic.exact import Transformer


def block(transformer: Transformer, first: int, last: int, times: int) -> Transformer:
    """Layers first … last − 1 done `times` times in place of once; 0 leaves them out. Weights are shared, not
    copied.

    >>> from glyptic.exact import random_transformer
    >>> from glyptic.numbers import Fixed
    >>> len(block(random_transformer(Fixed(4)), 0, 2, times=5).layers)
    10
    """
    layers = transformer.layers
    if not 0 <= first < last <= len(layers):
        raise ModelError(f"layers {first} to {last} are not a block; there are {len(layers)} layers, counted from 0.")
    if times < 0:
        raise ModelError(f"times is {times}; a block is done 0 times or more.")
    looped = transformer.replace(layers=layers[:first] + layers[first:last] * times + layers[last:])
    name = f"loop.block, {times} times layers {first}–{last - 1}"
    touches = [clobbers(transformer.coordinates, "what the block makes of them, again and again")]
    return carved(transformer, looped, name, touches, place=first)
