"""Transformers as JSON and back, whole: names, options, and every array as its shape and its nonzero codes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from glyptic.errors import FileError, FormatError
from glyptic.exact import Norm, Options, Transformer
from glyptic.exact.answers import WORDS_BELOW
from glyptic.exact.files import StoredArrays, names_as_json
from glyptic.exact.parts import parts
from glyptic.numbers import AnyFormat, parse_format
from glyptic.prove.portable.reading import JsonPart, is_coordinate, is_token
from glyptic.text import quoted

Json = dict[str, Any]

MOST_WEIGHTS = 1 << 24  # of a transformer that is read, zeros included
_MOST_NAMES = 1 << 13


def transformer_to_json(transformer: Transformer) -> Json:
    """A transformer as plain JSON values."""
    return {
        **names_as_json(transformer),
        "heads": [len(layer.heads) for layer in transformer.layers],
        "arrays": {name: _array_to_json(array) for name, array, _ in parts(transformer)},
    }


def _array_to_json(array: np.ndarray) -> Json:
    flat = array.ravel()
    places = np.flatnonzero(flat)
    return {"shape": list(array.shape), "places": places.tolist(), "codes": flat[places].tolist()}


def fingerprint(transformer: Transformer) -> str:
    """The sha256 of everything that a transformer computes with: all but its name, and the history of how it was made."""
    content = {name: part for name, part in transformer_to_json(transformer).items() if name != "name"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def difference(one: Transformer, other: Transformer) -> str | None:
    """The first part in which two transformers differ, names of the whole apart; None if there is none."""
    a, b = transformer_to_json(one), transformer_to_json(other)
    for part in ("format", "vocabulary", "coordinates", "answers", "options", "choices", "heads", "period"):
        if a.get(part) != b.get(part):
            return part
    both = dict.fromkeys((*a["arrays"], *b["arrays"]))  # an array that only one of them has is a difference too
    return next((name for name in both if a["arrays"].get(name) != b["arrays"].get(name)), None)


# Reading ----------------------------------------------------------------------------------------------------------------


def transformer_from_json(part: JsonPart) -> Transformer:
    """The inverse; what does not fit together is refused, by the transformer's own checks or before."""
    names = ("name", "format", "vocabulary", "coordinates", "answers", "options", "heads", "arrays")
    given = part.record(*names, optional=("choices", "period"))
    format = format_from_json(given["format"])
    arrays = _Arrays(given["arrays"], format, _chosen(given.get("choices")))
    layers = arrays.layers(given["heads"].wholes(0, _MOST_NAMES))
    made = Transformer(
        format,
        _names(given["vocabulary"], is_token),
        _names(given["coordinates"], is_coordinate),
        arrays.take("token_embedding"),
        arrays.take("position_embedding"),
        layers,
        arrays.take("output"),
        _names(given["answers"], is_token, WORDS_BELOW),
        _options(given["options"]),
        arrays.optional(Norm, "final_norm"),
        given["name"].text(),
        embedding_norm=arrays.optional(Norm, "embedding_norm"),
        output_bias=arrays.take("output_bias") if "output_bias" in arrays.left else None,
        period=given["period"].whole(1, MOST_WEIGHTS) if "period" in given else None,
    )
    arrays.all_taken()
    return made


def format_from_json(part: JsonPart) -> AnyFormat:
    """A number format by its name, written as the format itself writes it."""
    text = part.text(100)
    try:
        format = parse_format(text)
    except FormatError as error:
        raise FileError(f"{part.place}: {error}") from None
    if str(format) != text:
        part.refuse(f"{quoted(str(format))}, which it means")
    return format


def _names(part: JsonPart, may_be: Any, taken: Iterable[str] = ()) -> tuple[str, ...]:
    names = part.texts(_MOST_NAMES)
    for item, name in zip(part.items(), names, strict=True):
        if not may_be(name) or name in taken:
            item.refuse("a name that can be printed in a claim and not be taken for more than a name")
    return names


def _chosen(part: JsonPart | None) -> dict[str, Any]:
    """Choices beside the arrays: words, or true of a layer that is parallel; which are known, the parts say."""
    if part is None:
        return {}
    return {name: each.flag() if name.endswith(".parallel") else each.text() for name, each in part.entries(_MOST_NAMES).items()}


def _options(part: JsonPart) -> Options:
    given = part.record(*(field.name for field in fields(Options)))
    return Options(**{name: each.flag() if name == "scale" else each.text() for name, each in given.items()})  # type: ignore[arg-type]


class _Arrays(StoredArrays):
    """Arrays as their nonzero codes, of a file that nobody vouches for."""

    def __init__(self, part: JsonPart, format: AnyFormat, chosen: dict[str, Any]) -> None:
        super().__init__(part.place, part.entries(), chosen)
        self.format, self.room = format, MOST_WEIGHTS

    def all_taken(self) -> None:
        for name in self.left:
            raise FileError(f"{self.place} has {quoted(name)}, which is not a part of the transformer.")
        for name in self.chosen:
            raise FileError(f"choices has {quoted(name)}, which no part of the transformer has.")

    def read(self, part: JsonPart) -> np.ndarray:
        given = part.record("shape", "places", "codes")
        shape = given["shape"].wholes(0, MOST_WEIGHTS, count=2)
        size = prod(shape)
        self.room -= size
        if self.room < 0:
            given["shape"].refuse(f"of {MOST_WEIGHTS:,} weights at most, all arrays together", f"{shape}")
        places = given["places"].wholes(0, size - 1, count=size)
        if any(a >= b for a, b in pairwise(places)):
            given["places"].refuse("in ascending order, none twice", "not")
        widest = (1 << 63) - 1
        codes = given["codes"].wholes(max(-widest, self.format.min_code), min(widest, self.format.max_code))
        if len(codes) != len(places) or 0 in codes:
            given["codes"].refuse("the nonzero codes, one for each place", f"{len(codes)} codes for {len(places)} places")
        array = np.zeros(size, np.int64)
        array[places] = codes
        return array.reshape(shape)
