"""Add a vector at chosen positions, set one, and copy coordinates.

    vector      h_i += v             1 feed-forward, 1 hidden unit, 1 flag: relu(flag) = 1 at i and 0 elsewhere
    overwrite   h_i := v             2 feed-forwards: clear first (h + [v − h] is not v once rounded), then add
    copy        target += source     1 feed-forward, 2 hidden units a pair: source⁺ and source⁻
    move        target := source     2 feed-forwards: clear the target, then copy
"""

from __future__ import annotations

from collections.abc import Mapping

from glyptic.arguments import checked
from glyptic.carve import names
from glyptic.carve.building import Draft, Number, Unit, carry, clear
from glyptic.carve.coordinates import append, refuse_norms
from glyptic.carve.facts import ONE, SYMMETRIC, require
from glyptic.carve.flags import At, Places, flagged, places_of
from glyptic.carve.frames import carved, reads, writes
from glyptic.errors import ModelError
from glyptic.exact import Transformer
from glyptic.exact.history import Touch


@checked
def vector(
    transformer: Transformer, v: Mapping[str, Number], at: At = None, *, place: int | None = None, force: bool = False
) -> Transformer:
    """h_i += v at the positions `at` (everywhere, if None), after the last layer or before layer `place`.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = vector(random_transformer(Fixed(4), sizes=Sizes(layers=0)), {"x0": 2, "x1": "-B"}, at=1)
    >>> run = T.run("000", trace=True)
    >>> before, after = run.residual["embedding"], run.residual["layer.0.after_feed_forward"]
    >>> [int(b["x0"] - a["x0"]) for a, b in zip(before, after)]
    [0, 2, 0]
    """
    refuse_norms(transformer)
    names.keys(transformer, v, "v")
    require([ONE], transformer.format, "add.vector", force)
    places = places_of(transformer, at)
    wide, flag = flagged(transformer, places, wanted=True)
    ff = Draft(wide.format, wide.coordinates).feed_forward([Unit({flag: 1}, v)] if flag else [], {} if flag else v)
    touches = [reads(flag and [flag]), writes(v, "+ " + _shown(v), places)]
    after = append(wide, ff, place=place)
    return carved(transformer, after, "add.vector", touches, [ONE], place)


@checked
def overwrite(
    transformer: Transformer, v: Mapping[str, Number], at: At = None, *, place: int | None = None, force: bool = False
) -> Transformer:
    """h_i := v in the coordinates that v names: cleared by one feed-forward, added by the next."""
    refuse_norms(transformer)
    names.keys(transformer, v, "v")
    require([ONE, SYMMETRIC], transformer.format, "add.overwrite", force)
    places = places_of(transformer, at)
    wide, off = flagged(transformer, places)
    draft = Draft(wide.format, wide.coordinates)
    # relu(1 − off): 1 where the gate is open.
    units = [Unit({off: -1}, v, bias=1)] if off else []
    layers = draft.feed_forward(clear(v, off)), draft.feed_forward(units, {} if off else v)
    touches = [reads(off and [off]), reads(v, places), writes(v, _shown(v), places)]
    after = append(wide, *layers, place=place)
    return carved(transformer, after, "add.overwrite", touches, [ONE, SYMMETRIC], place)


@checked
def copy(
    transformer: Transformer, pairs: Mapping[str, str], at: At = None, *, place: int | None = None, force: bool = False
) -> Transformer:
    """target += source for each {target: source}, all at once, at the positions `at`.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.carve import widen
    >>> from glyptic.numbers import Fixed
    >>> T = copy(widen(random_transformer(Fixed(4), sizes=Sizes(layers=0)), ["y"]), {"y": "x0"})
    >>> all(h["y"] == h["x0"] for h in T.run("010", trace="*feed_forward").residual["layer.0.after_feed_forward"])
    True
    """
    refuse_norms(transformer)
    _check_pairs(transformer, pairs)
    require([ONE, SYMMETRIC], transformer.format, "add.copy", force)
    places = places_of(transformer, at)
    wide, off = flagged(transformer, places)
    ff = Draft(wide.format, wide.coordinates).feed_forward(_copying(pairs, off))
    touches = [reads(off and [off]), *_copy_touches(pairs, "+ {}", places)]
    return carved(transformer, append(wide, ff, place=place), "add.copy", touches, [ONE, SYMMETRIC], place)


@checked
def move(
    transformer: Transformer, pairs: Mapping[str, str], at: At = None, *, place: int | None = None, force: bool = False
) -> Transformer:
    """target := source for each {target: source}; no target is a source, so that clearing it loses nothing."""
    refuse_norms(transformer)
    _check_pairs(transformer, pairs)
    require([ONE, SYMMETRIC], transformer.format, "add.move", force)
    for target in pairs:
        if target in pairs.values():
            raise ModelError(f"coordinate {target!r} is a target and a source; move it through another coordinate.")
    places = places_of(transformer, at)
    wide, off = flagged(transformer, places)
    draft = Draft(wide.format, wide.coordinates)
    layers = draft.feed_forward(clear(pairs, off)), draft.feed_forward(_copying(pairs, off))
    touches = [reads(off and [off]), reads(pairs, places), *_copy_touches(pairs, "{}", places)]
    after = append(wide, *layers, place=place)
    return carved(transformer, after, "add.move", touches, [ONE, SYMMETRIC], place)


def _check_pairs(transformer: Transformer, pairs: Mapping[str, str]) -> None:
    names.keys(transformer, pairs, "pairs")
    for source in pairs.values():
        names.existing(transformer, [source], "pairs")


def _copying(pairs: Mapping[str, str], off: str) -> list[Unit]:
    return [unit for target, source in pairs.items() for unit in carry(source, {target: 1}, off)]


def _copy_touches(pairs: Mapping[str, str], value: str, places: Places) -> list[Touch]:
    written = [writes([target], value.format(source), places) for target, source in pairs.items()]
    return [reads(dict.fromkeys(pairs.values()), places), *written]


def _shown(v: Mapping[str, Number]) -> str:
    return "(" + ", ".join(map(str, v.values())) + ")"
