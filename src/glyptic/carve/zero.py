"""Make vectors zero, in all or in chosen coordinates.

    at, everywhere    h_k − h_k⁺ + h_k⁻ = [h_k − h_k] = 0: 1 feed-forward, 2 hidden units a coordinate; at chosen
                      positions they are relu(±h_k − B·off), off = 1 elsewhere, and relu(±h_k − B) = 0 for every h_k
    by_saturation     the notes' ((h + B) + B) − B = 0: 3 feed-forwards of 1 hidden unit, which is cheaper in units
"""

from __future__ import annotations

from collections.abc import Iterable

from glyptic.arguments import checked
from glyptic.carve.building import Draft, Number, Unit, clear
from glyptic.carve.coordinates import append, refuse_norms
from glyptic.carve.facts import ONE, SATURATES, SYMMETRIC, require
from glyptic.carve.flags import At, flagged, places_of
from glyptic.carve.frames import carved, reads, writes
from glyptic.carve.names import chosen
from glyptic.exact import FeedForward, Transformer

Names = Iterable[str] | None  # coordinates, or (None) all there are


@checked
def at(
    transformer: Transformer, names: Names = None, at: At = None, *, place: int | None = None, force: bool = False
) -> Transformer:
    """The named coordinates (None: all) become 0 at the positions `at` (None: all), by one feed-forward.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = at(random_transformer(Fixed(4), sizes=Sizes(layers=0)), at=1)
    >>> h = T.run("000", trace=True).residual["layer.0.after_feed_forward"]
    >>> [all(vector[f"x{k}"] == 0 for k in range(6)) for vector in h]
    [False, True, False]
    """
    refuse_norms(transformer)
    require([ONE, SYMMETRIC], transformer.format, "zero.at", force)
    cleared, places = chosen(transformer, names), places_of(transformer, at)
    wide, off = flagged(transformer, places)
    after = append(wide, Draft(wide.format, wide.coordinates).feed_forward(clear(cleared, off)), place=place)
    touches = [reads(off and [off]), reads(cleared, places), writes(cleared, "0", places)]
    return carved(transformer, after, "zero.at" if off else "zero.everywhere", touches, [ONE, SYMMETRIC], place)


@checked
def everywhere(
    transformer: Transformer, names: Names = None, *, place: int | None = None, force: bool = False
) -> Transformer:
    """The named coordinates (None: all) become 0 at every position."""
    return at(transformer, names, place=place, force=force)


@checked
def by_saturation(
    transformer: Transformer, names: Names = None, at: At = None, *, place: int | None = None, force: bool = False
) -> Transformer:
    """The same by +B, +B, −B: nothing is read but the flag, which is not among the coordinates that become 0."""
    refuse_norms(transformer)
    require([ONE, SATURATES], transformer.format, "zero.by_saturation", force)
    cleared, places = chosen(transformer, names), places_of(transformer, at)
    wide, flag = flagged(transformer, places, wanted=True)
    draft = Draft(wide.format, wide.coordinates)

    def adding(weight: Number) -> FeedForward:
        v = dict.fromkeys(cleared, weight)
        return draft.feed_forward([Unit({flag: 1}, v)] if flag else [], {} if flag else v)

    after = append(wide, *map(adding, ("B", "B", "-B")), place=place)
    touches = [reads(flag and [flag]), writes(cleared, "0", places)]
    return carved(transformer, after, "zero.by_saturation", touches, [ONE, SATURATES], place)
