"""Make vectors zero, in all or in chosen coordinates.

    at, everywhere    h_k − h_k⁺ + h_k⁻ = [h_k − h_k] = 0: 1 feed-forward, 2 hidden units a coordinate; at chosen
                      positions they are relu(±h_k − B·off), off = 1 elsewhere, and relu(±h_k − B) = 0 for every h_k
    by_saturation     the notes' ((h + B) + B) − B = 0: 3 feed-forwards of 1 hidden unit, which is cheaper in units
"""

from __future__ import annotations

from collections.abc import Iterable

from glyptic.arguments import checked
from glyptic.carve import names as named
from glyptic.carve.building import Draft, Number, Unit, clear
from glyptic.carve.coordinates import append, refuse_norms
from glyptic.carve.facts import ONE, SATURATES, SYMMETRIC, require
from glyptic.carve.flags import ensure, flag_column
from glyptic.carve.frames import carved, reads, writes
from glyptic.carve.gates import At, gate, places_of
from glyptic.exact import Transformer


@checked
def at(
    transformer: Transformer,
    positions: At,
    names: Iterable[str] | None = None,
    *,
    place: int | None = None,
    force: bool = False,
) -> Transformer:
    """h_i := 0 at the positions (None: all) in the named coordinates (None: all there are), by one feed-forward.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = at(random_transformer(Fixed(4), sizes=Sizes(layers=0)), 1)
    >>> h = T.run("000", trace=True).residual["layer.0.after_feed_forward"]
    >>> [all(vector[f"x{k}"] == 0 for k in range(6)) for vector in h]
    [False, True, False]
    """
    refuse_norms(transformer)
    require([ONE, SYMMETRIC], transformer.format, "zero.at", force)
    places = places_of(transformer, positions)
    chosen = transformer.coordinates if names is None else named.existing(transformer, names)
    wide, off = gate(transformer, places)
    ff = Draft(wide.format, wide.coordinates).feed_forward(clear(chosen, off))
    touches = [reads(off and [off]), reads(chosen, places), writes(chosen, "0", places)]
    after = append(wide, ff, place=place)
    return carved(transformer, after, "zero.at" if off else "zero.everywhere", touches, [ONE, SYMMETRIC], place)


@checked
def everywhere(
    transformer: Transformer, names: Iterable[str] | None = None, *, place: int | None = None, force: bool = False
) -> Transformer:
    """The named coordinates (None: all) become 0 at every position."""
    return at(transformer, None, names, place=place, force=force)


@checked
def by_saturation(
    transformer: Transformer,
    positions: At,
    names: Iterable[str] | None = None,
    *,
    place: int | None = None,
    force: bool = False,
) -> Transformer:
    """The same by +B, +B, −B: nothing is read but the flag, which is not among the coordinates that become 0."""
    refuse_norms(transformer)
    require([ONE, SATURATES], transformer.format, "zero.by_saturation", force)
    places = places_of(transformer, positions)
    chosen = transformer.coordinates if names is None else named.existing(transformer, names)
    flags: dict[str, str] = {}
    wide = transformer
    if places is not None:
        flag = "is_" + "_".join(map(str, places))
        wide, flags = ensure(transformer, {flag: flag_column(transformer, places)})
    draft = Draft(wide.format, wide.coordinates)

    def adding(weight: Number) -> object:
        v = dict.fromkeys(chosen, weight)
        return draft.feed_forward([Unit({name: 1}, v) for name in flags.values()], {} if flags else v)

    after = append(wide, *map(adding, ("B", "B", "-B")), place=place)  # type: ignore[arg-type]
    touches = [reads(flags.values()), writes(chosen, "0", places)]
    return carved(transformer, after, "zero.by_saturation", touches, [ONE, SATURATES], place)
