"""Layers that ignore chosen coordinates: they neither read them nor write them.

Reading is by columns: of W_Q, W_K, W_V, W_1, and of a gate. Writing is by rows: of W_O, W_2, and their biases.
(The rows of W_Q, W_K, W_V,
W_1 and the columns of W_O, W_2 are the layer's own units: they have nothing to do with coordinates, and stay.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral

import numpy as np

from glyptic.arguments import checked, refused
from glyptic.carve.coordinates import refuse_norms
from glyptic.carve.frames import carved, clobbers
from glyptic.carve.names import existing, members
from glyptic.exact import Head, Layer, Transformer
from glyptic.numbers import Codes


@checked
def coordinates(transformer: Transformer, names: Iterable[str], layers: Iterable[int] | None = None) -> Transformer:
    """The chosen layers (None: all) without the named coordinates.

    >>> from glyptic.exact import random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = coordinates(random_transformer(Fixed(4)), ["x2"])
    >>> T.layers[0].feed_forward.w1[:, 2].any(), T.layers[0].feed_forward.w2[2].any()
    (np.False_, np.False_)
    """
    refuse_norms(transformer)
    chosen = existing(transformer, names)
    where = np.array([transformer.coordinate(name) for name in chosen], np.intp)
    which = set(range(len(transformer.layers)) if layers is None else _numbers(transformer, layers))
    changed = tuple(layer_without(layer, where) if l in which else layer for l, layer in enumerate(transformer.layers))
    others = [name for name in transformer.coordinates if name not in chosen]
    touches = [clobbers(others, "what the layers make of them without the rest")]
    return carved(transformer, transformer.replace(layers=changed), "ignore.coordinates", touches, place=0)


def _numbers(transformer: Transformer, layers: Iterable[int]) -> list[int]:
    wanted = f"numbers of layers, which go from 0 to {len(transformer.layers) - 1}"
    listed = members(layers, "layers", wanted)
    for number in listed:
        if not isinstance(number, Integral) or isinstance(number, bool) or not 0 <= int(number) < len(transformer.layers):
            raise refused("layers", number, wanted)
    return [int(number) for number in listed]


def layer_without(layer: Layer, where: np.ndarray) -> Layer:
    """A layer that ignores the coordinates at these places."""

    def head(of: Head) -> Head:
        read = {name: _zeroed(getattr(of, name), where, columns=True) for name in ("query", "key", "value")}
        bias = None if of.output_bias is None else _zeroed(of.output_bias, where, columns=False)
        return replace(of, **read, output=_zeroed(of.output, where, columns=False), output_bias=bias)

    ff = layer.feed_forward
    if ff is not None:
        gate = None if ff.gate is None else _zeroed(ff.gate, where, columns=True)
        w1, w2 = _zeroed(ff.w1, where, columns=True), _zeroed(ff.w2, where, columns=False)
        ff = replace(ff, w1=w1, w2=w2, b2=_zeroed(ff.b2, where, columns=False), gate=gate)
    return replace(layer, heads=tuple(map(head, layer.heads)), feed_forward=ff)


def _zeroed(codes: Codes, where: np.ndarray, columns: bool) -> Codes:
    place = (slice(None), where) if columns else (where,)
    if not codes[place].any():
        return codes
    out = codes.copy()
    out[place] = 0
    return out
