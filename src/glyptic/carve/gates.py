"""Where a feed-forward acts: everywhere, or at chosen positions by a flag that turns its hidden units off
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral

from glyptic.carve import names
from glyptic.carve.flags import ensure, flag_column
from glyptic.exact import Transformer

At = int | Iterable[int] | None  # a position, several, or (None) all
Places = tuple[int, ...] | None


def places_of(transformer: Transformer, at: At) -> Places:
    """The positions meant, ascending; None for all."""
    if at is None:
        return None
    return names.places(transformer, [at] if isinstance(at, Integral) else at, "at")


def gate(transformer: Transformer, places: Places) -> tuple[Transformer, str]:
    """The transformer with a coordinate that is 0 at the places and 1 elsewhere, and its name; no name for
    everywhere.
    """
    if places is None:
        return transformer, ""
    name = "not_" + "_".join(map(str, places))
    wide, named = ensure(transformer, {name: flag_column(transformer, places, wanted=False)})
    return wide, named[name]
