"""A transformer as data of a page: what `Engine.load` in page/engine/5_models.js reads.

Codes are packed where a typed array holds them (32 bits, or a double below 2^53), else written out as texts.
"""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields
from typing import Any

import numpy as np

from glyptic.arguments import checked
from glyptic.exact.history import frames_as_json
from glyptic.exact.parts import newer_parts
from glyptic.exact.transformer import Transformer
from glyptic.exact.weights import FeedForward, Head, Layer, Norm
from glyptic.look.pages import pack
from glyptic.numbers import Codes

_DOUBLES_HOLD = 1 << 53
_ENDLESS = 128  # positions that a page has of a transformer whose positions repeat


@checked
def exact_data(transformer: Transformer) -> dict[str, Any]:
    """Everything that a page needs to run the transformer, as JSON; parts have the names that they have in Python.

    >>> from glyptic.exact import random_transformer
    >>> data = exact_data(random_transformer("fixed:4"))
    >>> data["format"], data["options"]["mask"], data["layers"][0]["heads"][0]["query"]["shape"]
    ('fixed:4', 'causal', [3, 6])
    """
    if transformer.period is not None:
        transformer = transformer.to_length(_ENDLESS)
    return {
        "name": transformer.name,
        "format": str(transformer.format),
        "vocabulary": list(transformer.vocabulary),
        "answers": list(transformer.answers),
        "coordinates": list(transformer.coordinates),
        "options": asdict(transformer.options),
        "token_embedding": _codes(transformer.token_embedding),
        "position_embedding": _codes(transformer.position_embedding),
        "layers": [_part(layer) for layer in transformer.layers],
        "output": _codes(transformer.output),
        "final_norm": _part(transformer.final_norm),
        "history": frames_as_json(transformer.history),
        "newer": newer_parts(transformer),  # what the page's engine does not compute: with any of these it shows a recording
    }


def _part(of: Any) -> Any:
    if isinstance(of, np.ndarray):
        return _codes(of)
    if isinstance(of, tuple):
        return [_part(item) for item in of]
    if isinstance(of, Layer | Head | FeedForward | Norm):  # their optional parts and choices are in `newer`, by name
        parts = ("heads", "feed_forward", "attention_norm", "feed_forward_norm")
        names = parts if isinstance(of, Layer) else [field.name for field in fields(of) if field.default is MISSING]
        return {name: _part(getattr(of, name)) for name in names}
    return of


def _codes(codes: Codes) -> dict[str, Any]:
    plain = np.asarray(codes)
    most = max((abs(int(end)) for end in (plain.min(), plain.max())), default=0) if plain.size else 0
    if most < 1 << 31:
        return pack(plain.astype(np.int32))
    if most < _DOUBLES_HOLD:
        return pack(plain.astype(np.float64))
    return {"strings": [str(code) for code in plain.ravel().tolist()], "shape": list(plain.shape)}


__all__ = ["exact_data"]
