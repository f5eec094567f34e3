"""Linear and affine maps of the residual: into other coordinates, in place, and from one position to another.

    into       target += M·source + b, at every position       1 feed-forward, 2 hidden units a row of M
    in_place   h := M·h + b, at every position                 2 feed-forwards, a scratch coordinate for each row
    between    h_j := M·h_i                                    2 layers, 1 head, a scratch coordinate a row, 3 flags

A row m of M is two hidden units, relu(m·h) and relu(−m·h): the first is the positive part of the rounded inner
product, term by term, rounded or fused, and the second, since negation commutes with rounding, its negative part.
Their difference is [M·h] exactly. Overwriting in one step, by adding t − h, is not exact; so the map goes to
scratch, the old values are cleared, and the new ones copied.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np

from glyptic.arguments import checked, is_list, refused
from glyptic.carve import names as named
from glyptic.carve.building import Draft, Number, Row, Unit, carry, clear, negated
from glyptic.carve.coordinates import append, fresh, refuse_norms, widen
from glyptic.carve.facts import EXP_VANISHES, ONE, SYMMETRIC, require
from glyptic.carve.flags import flagged
from glyptic.carve.frames import carved, reads, writes
from glyptic.carve.lookup import check_seen
from glyptic.errors import ModelError
from glyptic.exact import Layer, Transformer


@checked
def into(
    transformer: Transformer,
    matrix: Any,
    source: Sequence[str],
    target: Sequence[str],
    bias: Sequence[Number] | None = None,
    *,
    clear_source: bool = False,
    place: int | None = None,
    force: bool = False,
) -> Transformer:
    """target += M·source + b at every position; targets that do not exist are made. The source is kept, or cleared.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = into(random_transformer(Fixed(4), sizes=Sizes(layers=0)), [[1, -2]], ["x0", "x1"], ["y"], bias=[3])
    >>> h = T.run("01", trace=True).residual["layer.0.after_feed_forward"][1]
    >>> h["y"] == h["x0"] - 2 * h["x1"] + 3
    True
    """
    facts = _require(transformer, "linear.into", force)
    source, target = named.existing(transformer, source, "source"), named.targets(target)
    rows = _rows(matrix, source, target, bias)
    for name in target:
        if name in source:
            raise ModelError(f"coordinate {name!r} is a source and a target; use in_place.")
    wide = widen(transformer, [name for name in target if name not in transformer.coordinates])
    units = _mapping(rows, target) + (clear(source) if clear_source else [])
    ff = Draft(wide.format, wide.coordinates).feed_forward(units, _bias(target, bias))
    cleared = [writes(source, "0")] if clear_source else []
    touches = [reads(source), writes(target, "+ M·source" + (" + b" if bias is not None else "")), *cleared]
    return carved(transformer, append(wide, ff, place=place), "linear.into", touches, facts, place)


@checked
def in_place(
    transformer: Transformer,
    matrix: Any,
    names: Sequence[str] | None = None,
    bias: Sequence[Number] | None = None,
    *,
    place: int | None = None,
    force: bool = False,
) -> Transformer:
    """The named coordinates (None: all) become M·h + b at every position; M is square."""
    facts = _require(transformer, "linear.in_place", force)
    chosen = named.chosen(transformer, names)
    rows = _rows(matrix, chosen, chosen, bias)
    scratch = _scratch(transformer, chosen)
    wide = widen(transformer, scratch)
    draft = Draft(wide.format, wide.coordinates)
    first = draft.feed_forward(_mapping(rows, scratch) + clear(chosen), _bias(scratch, bias))
    second = draft.feed_forward(_moving(scratch, chosen) + clear(scratch))
    touches = [reads(chosen), writes(chosen, "M·h" + (" + b" if bias is not None else "")), writes(scratch, "0")]
    return carved(transformer, append(wide, first, second, place=place), "linear.in_place", touches, facts, place)


@checked
def between(
    transformer: Transformer,
    matrix: Any,
    names: Sequence[str] | None = None,
    *,
    i: int,
    j: int,
    place: int | None = None,
    force: bool = False,
) -> Transformer:
    """h_j := M·h_i in the named coordinates (None: all); everything else, at j and elsewhere, stays as it is. i = j may be.

    Layer A, attention: the query is −B at j and 0 elsewhere, the key 0 at i and 1 elsewhere, so that j attends to i
    alone and all others, whose scores are 0, to everything alike (never 0/0); M·h_i goes to scratch. Then main is
    cleared at j. Layer B: main += scratch at j, and scratch is cleared everywhere.
    """
    named.places(transformer, [i, j])
    check_seen(transformer, j, i)
    facts = _require(transformer, "linear.between", force)
    if transformer.options.attention in ("softmax", "max-subtracted"):
        facts.append(EXP_VANISHES)
        require([EXP_VANISHES], transformer.format, "linear.between", force)
    chosen = named.chosen(transformer, names)
    rows = _rows(matrix, chosen, chosen, None)
    wide, here = flagged(transformer, (j,), wanted=True)
    wide, elsewhere = flagged(wide, (i,))
    wide, off = flagged(wide, (j,))
    scratch = _scratch(wide, chosen)
    wide = widen(wide, scratch)
    draft = Draft(wide.format, wide.coordinates)
    head = draft.head([{here: "-B"}], [{elsewhere: 1}], rows, [{name: 1} for name in scratch])
    first = Layer((head,), draft.feed_forward(clear(chosen, off)))
    second = draft.feed_forward(_moving(scratch, chosen, off) + clear(scratch))
    flags = dict.fromkeys((here, elsewhere, off))
    touches = [reads(flags), reads(chosen, sorted({i, j})), writes(chosen, f"M·h_{i}", [j]), writes(scratch, "0")]
    return carved(transformer, append(wide, first, second, place=place), "linear.between", touches, facts, place)


def _require(transformer: Transformer, construction: str, force: bool) -> list:
    refuse_norms(transformer)
    require([ONE, SYMMETRIC], transformer.format, construction, force)
    return [ONE, SYMMETRIC]


def _rows(matrix: Any, source: Sequence[str], target: Sequence[str], bias: Sequence[Number] | None) -> list[Row]:
    """The matrix as rows by name, in the order of the coordinates; its shape is checked."""
    rows = len(matrix) if is_list(matrix) and isinstance(matrix, Sized) else 0
    if rows != len(target):
        raise ModelError(f"the matrix has {rows} rows, and must have {len(target)}, of {len(source)} numbers each.")
    try:
        entries = np.asarray(matrix, dtype=object)
    except ValueError:  # rows of arrays of different shapes
        raise refused("the matrix", matrix, f"of shape {(len(target), len(source))}") from None
    if entries.shape != (len(target), len(source)):
        raise ModelError(f"the matrix has shape {entries.shape}; it must be {(len(target), len(source))}.")
    if bias is not None and not (is_list(bias) and isinstance(bias, Sequence | np.ndarray)):
        raise refused("the bias", bias, f"a list of {len(target)} numbers")
    if bias is not None and len(bias) != len(target):
        raise ModelError(f"the bias has {len(bias)} entries; it must have {len(target)}.")
    return [dict(zip(source, row.tolist(), strict=True)) for row in entries]


def _mapping(rows: Sequence[Row], target: Sequence[str]) -> list[Unit]:
    """target += M·source: each row's positive and negative part."""
    return [
        unit
        for row, name in zip(rows, target, strict=True)
        for unit in (Unit(row, {name: 1}), Unit({of: negated(w) for of, w in row.items()}, {name: -1}))
    ]


def _moving(source: Sequence[str], target: Sequence[str], off: str = "") -> list[Unit]:
    return [unit for s, t in zip(source, target, strict=True) for unit in carry(s, {t: 1}, off)]


def _scratch(transformer: Transformer, names: Sequence[str]) -> list[str]:
    made: list[str] = []
    for name in names:
        made.append(fresh((*transformer.coordinates, *made), f"{name}'"))
    return made


def _bias(target: Sequence[str], bias: Sequence[Number] | None) -> Row:
    return {} if bias is None else dict(zip(target, bias, strict=True))


__all__ = ["between", "in_place", "into"]
