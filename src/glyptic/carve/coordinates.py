"""The residual stream's coordinates: widen it, rename, permute and free coordinates, append layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import replace
from typing import Any

import numpy as np

from glyptic.arguments import checked, is_list, refused, shown
from glyptic.carve import names as named
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Layer, Transformer
from glyptic.exact.history import moved, renamed
from glyptic.exact.transformer import map_codes
from glyptic.numbers import Codes, Exact, encode


@checked
def append(transformer: Transformer, *layers: Layer | FeedForward | Head, place: int | None = None) -> Transformer:
    """More layers, at the end or before layer `place`; a bare feed-forward or head becomes a layer of its own. What the
    history says of later layers moves with them.
    """
    old, new = transformer.layers, tuple(map(as_layer, layers))
    at = len(old) if place is None else place
    if not 0 <= at <= len(old):
        raise ModelError(f"place {at} is not one between layers; there are {len(old)}, so 0 to {len(old)}.")
    history = moved(transformer.history, lambda layer: (layer + len(new) if layer >= at else layer,))
    return transformer.replace(layers=(*old[:at], *new, *old[at:]), history=history)


def as_layer(part: Layer | FeedForward | Head) -> Layer:
    if isinstance(part, FeedForward):
        return Layer((), part)
    if not isinstance(part, Head | Layer):
        raise refused("a layer", part, "a Layer, a FeedForward or a Head")
    return Layer((part,)) if isinstance(part, Head) else part


def refuse_norms(transformer: Transformer) -> None:
    """LayerNorm and RMSNorm take their means over all coordinates, and layers read what they made of them: no construction
    holds there. Nor where the first product of a sum is left unrounded, for then a zero beside it counts.
    """
    norms = {"final_norm": transformer.final_norm, "embedding_norm": transformer.embedding_norm}
    alone = next((name for name, norm in norms.items() if norm is not None), None)
    if transformer.options.norm != "none" or alone is not None:
        said = f"options.norm is {transformer.options.norm!r}" + (f" and there is {alone}" if alone else "")
        raise ModelError(
            f"{said}: LayerNorm and RMSNorm go over all coordinates in order, so none can be added, moved or read exactly; "
            "carve transformers whose options.norm is 'none', without other norms."
        )
    if transformer.options.products == "unrounded":
        raise ModelError(
            "options.products is 'unrounded': the first two coordinates are summed before anything is rounded, so what is "
            "added, moved or read beside them changes sums; carve transformers whose products are rounded or fused."
        )


def refuse_output_bias(transformer: Transformer, construction: str) -> None:
    """Constructions that take the output's matrix apart know of no bias beside it."""
    if transformer.output_bias is not None:
        raise ModelError(
            f"{construction}: the transformer has an output_bias, and only the output's matrix is carried over; "
            "bring it into a normal form first, with normalize.zero_one, which has none."
        )


def fresh(coordinates: Sequence[str], name: str) -> str:
    """The name itself if it is free, else name.2, name.3, …"""
    taken, count, new = set(coordinates), 1, name
    while new in taken:
        count += 1
        new = f"{name}.{count}"
    return new


@checked
def widen(
    transformer: Transformer,
    names: Iterable[str],
    *,
    first: bool = False,
    positions: Mapping[str, Sequence[Any]] | None = None,
) -> Transformer:
    """New coordinates, 0 everywhere, not read, not written: at the end, or `first`. Zero columns do not change a sum.

    `positions` gives some of them a column of the position embedding, one number for each position.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = random_transformer(Fixed(4), sizes=Sizes(layers=0))
    >>> wide = widen(T, ["flag"], positions={"flag": [1] + [0] * (T.max_length - 1)})
    >>> wide.run("01", trace="embedding").residual["embedding"][0]["flag"]
    Fraction(1, 1)
    """
    none = isinstance(names, list | tuple | dict) and not names
    new = () if none else named.targets(names, "names")
    return transformer.replace(**widened(transformer, new, first, positions))


def widened(
    transformer: Transformer,
    names: tuple[str, ...],
    first: bool = False,
    positions: Mapping[str, Sequence[Any]] | None = None,
) -> dict[str, Any]:
    """What `widen` changes, for those that change more at once (a Transformer checks all its weights when it is made)."""
    refuse_norms(transformer)
    for name in names:
        if name in transformer.coordinates:
            raise ModelError(f"there is a coordinate {name!r} already; choose another name.")
    more = len(names)
    pad = (more, 0) if first else (0, more)
    order = names + transformer.coordinates if first else transformer.coordinates + names
    embedding = _padded(transformer.position_embedding, pad, columns=True)
    for name, column in (positions or {}).items():
        if name not in names:
            raise ModelError(f"positions has a column for {shown(name)}, which is not one of the new coordinates.")
        if not is_list(column) or not isinstance(column, Sized):
            raise refused(f"positions, {shown(name)},", column, f"a list of {len(embedding)} numbers")
        if len(column) != len(embedding):
            raise ModelError(f"positions, {name}: {len(column)} numbers; there are {len(embedding)} positions.")
        embedding[:, order.index(name)] = encode(column, transformer.format, f"position_embedding, {name}")
    return {
        "coordinates": order,
        "token_embedding": _padded(transformer.token_embedding, pad, columns=True),
        "position_embedding": embedding,
        "layers": tuple(widen_layer(layer, pad) for layer in transformer.layers),
        "output": _padded(transformer.output, pad, columns=True),
    }


def widen_layer(layer: Layer, pad: tuple[int, int]) -> Layer:
    """A layer in a wider residual: so many coordinates more before its own, so many after."""

    def head(of: Head) -> Head:
        read = {name: _padded(getattr(of, name), pad, columns=True) for name in ("query", "key", "value")}
        return replace(of, **read, output=_padded(of.output, pad, columns=False), output_bias=_longer(of.output_bias, pad))

    ff = layer.feed_forward
    if ff is not None:
        gate = None if ff.gate is None else _padded(ff.gate, pad, columns=True)
        w1, w2 = _padded(ff.w1, pad, columns=True), _padded(ff.w2, pad, columns=False)
        ff = replace(ff, w1=w1, w2=w2, b2=_padded(ff.b2[:, None], pad, columns=False)[:, 0], gate=gate)
    return replace(layer, heads=tuple(map(head, layer.heads)), feed_forward=ff)


def _longer(vector: Codes | None, pad: tuple[int, int]) -> Codes | None:
    return None if vector is None else _padded(vector[:, None], pad, columns=False)[:, 0]


def _padded(codes: Codes, pad: tuple[int, int], columns: bool) -> Codes:
    before, after = pad
    m, k = codes.shape
    if columns:
        out = np.empty((m, before + k + after), np.int64)
        out[:, :before] = out[:, before + k :] = 0
        out[:, before : before + k] = codes
    else:
        out = np.empty((before + m + after, k), np.int64)
        out[:before] = out[before + m :] = 0
        out[before : before + m] = codes
    return out


@checked
def rename(transformer: Transformer, names: Mapping[str, str]) -> Transformer:
    """Other names for some coordinates."""
    for old in named.keys(transformer, names, "names"):
        named.new_name(names[old], f"the new name of {old}")
    return transformer.replace(
        coordinates=tuple(names.get(old, old) for old in transformer.coordinates),
        history=tuple(renamed(frame, lambda old: names.get(old, old)) for frame in transformer.history),
    )


@checked
def permute(transformer: Transformer, order: Sequence[str], *, force: bool = False) -> Transformer:
    """The coordinates in another order. Sums run in coordinate order and are not associative once rounded, so an
    order that rearranges what some row reads is refused, unless forced.
    """
    refuse_norms(transformer)
    listed = named.existing(transformer, order, "order")
    if len(listed) < transformer.width:
        missing = next(name for name in transformer.coordinates if name not in listed)
        raise ModelError(f"an order must name each of the coordinates once, and {shown(missing)} is missing.")
    places = np.array([transformer.coordinate(name) for name in listed])
    if not force and not isinstance(transformer.format, Exact):
        _check_sums_keep_order(transformer, places)
    return _take_coordinates(transformer, places)


def _check_sums_keep_order(transformer: Transformer, places: np.ndarray) -> None:
    rank = np.argsort(places)  # the new place of each old coordinate
    commute = 2 if transformer.options.products == "rounded" else 1  # [x + y] = [y + x]; fused rounds x first
    for name, matrix in readers(transformer):
        for i, row in enumerate(matrix):
            new = rank[np.flatnonzero(row)]
            if (np.diff(np.concatenate([np.sort(new[:commute]), new[commute:]])) < 0).any():
                raise ModelError(
                    f"{name}[{i}] adds up its coordinates in their order, which this permutation changes, and rounded "
                    "sums depend on it; keep the order of what it reads, or pass force=True."
                )


@checked
def free(transformer: Transformer, names: Iterable[str]) -> Transformer:
    """Without some coordinates; one that something reads is refused, and the reader named."""
    refuse_norms(transformer)
    chosen = [transformer.coordinate(name) for name in named.existing(transformer, names)]
    for name, matrix in readers(transformer):
        for k in chosen:
            if matrix[:, k].any():
                raise ModelError(f"coordinate {transformer.coordinates[k]!r} is read by {name}; ignore it there first.")
    return _take_coordinates(transformer, np.setdiff1d(np.arange(transformer.width), chosen))


def readers(transformer: Transformer) -> list[tuple[str, Codes]]:
    """Every matrix whose columns are coordinates, with its name."""
    found = []
    for l, layer in enumerate(transformer.layers):
        for h, head in enumerate(layer.heads):
            found += [(f"layers.{l}.heads.{h}.{part}", getattr(head, part)) for part in ("query", "key", "value")]
        if layer.feed_forward is not None:
            found.append((f"layers.{l}.feed_forward.w1", layer.feed_forward.w1))
            if layer.feed_forward.gate is not None:
                found.append((f"layers.{l}.feed_forward.gate", layer.feed_forward.gate))
    return [*found, ("output", transformer.output)]


def _take_coordinates(transformer: Transformer, places: np.ndarray) -> Transformer:
    """Keep these coordinates, in this order."""

    rows = ("w2", "b2", ".output", ".output_bias")  # of layers: the output of all is read by columns, and its bias by neither
    columns = ("query", "key", "value", "w1", "gate", "output", "embedding")

    def taken(codes: Codes, name: str) -> Codes:
        if name.endswith(rows):
            return codes[places]
        return codes[:, places] if name.endswith(columns) else codes

    return map_codes(transformer, taken, coordinates=tuple(transformer.coordinates[k] for k in places))
