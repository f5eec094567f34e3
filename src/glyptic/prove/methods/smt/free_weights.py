"""Weights as terms: a transformer made ready to run over solver terms, with some entries of its arrays free.

Arrays are prepared without their zeros (`Scalarwise.weights`); an entry that is free is put where it belongs, zero or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from glyptic.exact.forward import Prepared, PreparedHead, PreparedLayer
from glyptic.prove.claims.claim import Entry
from glyptic.prove.methods.smt.terms import Scalar

_PLACES = {  # where a prepared feed-forward or norm, which are tuples, has its parts
    "feed_forward": ("w1", "b1", "w2", "b2"),
    **dict.fromkeys(("attention_norm", "feed_forward_norm", "final_norm"), ("gain", "bias", "epsilon")),
}


def with_terms(prepared: Prepared, entries: Mapping[Entry, Scalar]) -> Prepared:
    """The same weights, but for these entries."""
    for (part, index), term in entries.items():
        path = part.split(".")
        prepared = _changed(prepared, path, lambda array, i=index, t=term: _put(array, i, t))  # type: ignore[misc]
    return prepared


def _changed(whole: Any, path: list[str], change: Any) -> Any:
    """A prepared part with one of its arrays, at the end of a path of names and numbers, changed."""
    name, *rest = path
    if isinstance(whole, Prepared | PreparedLayer | PreparedHead):
        assert name in {field.name for field in fields(whole)}
        inner = getattr(whole, name)
        if name in _PLACES:
            rest = [str(_PLACES[name].index(rest[0]))]
        return replace(whole, **{name: _changed(inner, rest, change) if rest else change(inner)})
    number = int(name)
    inner = _changed(whole[number], rest, change) if rest else change(whole[number])
    return (*whole[:number], inner, *whole[number + 1 :])


def _put(array: Any, index: tuple[int, ...], term: Scalar) -> Any:
    """An entry exchanged: of a matrix, kept as the (column, value) pairs of its rows; or of a vector (n, 1, 1)."""
    if isinstance(array, list):
        row, column = index
        pairs = sorted([*((k, w) for k, w in array[row] if k != column), (column, term)], key=lambda pair: pair[0])
        return [*array[:row], pairs, *array[row + 1 :]]
    changed = np.array(array, dtype=object)
    changed[(*index, 0, 0)] = term
    return changed
