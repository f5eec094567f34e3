"""*Primitives of transformers* (9 October 2025) as printed: flags, add a vector, make it zero, ignore a coordinate,
h_j ← M h_i.

Faithful to the letter, so that what fails can be seen to fail (`docs/errata.md`); what works is in `glyptic.carve`. The notes
count from 1, with n for the last; here positions and coordinates count from 0, as everywhere in Glyptic. ∞ is B.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from glyptic.errors import InputError, ModelError
from glyptic.exact.parts import newer_parts
from glyptic.exact.transformer import Transformer
from glyptic.exact.weights import FeedForward, Head, Layer
from glyptic.numbers import AnyFormat, Codes, encode, number

AT_SOURCE, NOT_SOURCE, AT_TARGET = "at_source", "not_source", "at_target"


def embedding_with_flag(
    transformer: Transformer,
    position: int,
    name: str = "flag",
    *,
    complement: bool = False,
    to_the_letter: bool = False,
) -> Transformer:
    """One more coordinate, the last: 1 at a position and 0 elsewhere (the complement: 0 there and 1 elsewhere).

    The formula is printed for θ'_TE, which is a function of tokens; `to_the_letter` flags the token of that *number* instead.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = embedding_with_flag(random_transformer(Fixed(4), sizes=Sizes(layers=0)), position=2)
    >>> [int(h["flag"]) for h in T.run("0110", trace="embedding").residual["embedding"]]
    [0, 0, 1, 0]
    """
    wide = _extended_by_zeros(transformer, name)
    part = "token_embedding" if to_the_letter else "position_embedding"
    embedding = getattr(wide, part).copy()
    _check_position(position, len(embedding), part)
    one = encode(1, transformer.format)
    embedding[:, -1] = one if complement else 0
    embedding[position, -1] = 0 if complement else one
    return wide.replace(**{part: embedding})


def add_vector(transformer: Transformer, flag: str, vector: Sequence[Any]) -> Transformer:
    """FF(h_j) = 𝕀(j = i) · v: W_1 = id, W_2 has v in the flag's column, b_1 = b_2 = 0."""
    d, k = transformer.width, transformer.coordinate(flag)
    w2 = np.zeros((d, d), np.int64)
    w2[:, k] = encode(vector, transformer.format, "v")
    zeros = np.zeros(d, np.int64)
    return _then(transformer, Layer((), FeedForward(_identity(transformer.format, d), zeros, w2, zeros.copy())))


def make_zero(transformer: Transformer, flag: str, coordinates: Sequence[str] | None = None) -> Transformer:
    """h_i ← ((h_i + ∞) + ∞) − ∞ by adding three vectors: ∞ in every coordinate, as printed, or in chosen ones only."""
    wanted = transformer.coordinates if coordinates is None else coordinates
    chosen = [name in wanted for name in transformer.coordinates]
    for sign in ("B", "B", "-B"):
        transformer = add_vector(transformer, flag, [sign if inside else 0 for inside in chosen])
    return transformer


def ignoring(transformer: Transformer, coordinate: str) -> Transformer:
    """Zeros in the row **and** the column of that number in every matrix and vector of every layer.

    The notes' matrices are d × d; where one has fewer rows (or columns) than that, it has nothing to put to zero there.
    """
    _check_plain(transformer)
    k = transformer.coordinate(coordinate)

    def cleared(array: Codes) -> Codes:
        out = array.copy()
        for axis in range(out.ndim):
            if k < out.shape[axis]:
                out[(slice(None),) * axis + (k,)] = 0
        return out

    def layer(of: Layer) -> Layer:
        heads = tuple(Head(*map(cleared, (h.query, h.key, h.value, h.output))) for h in of.heads)
        ff = of.feed_forward
        ff = ff and FeedForward(cleared(ff.w1), cleared(ff.b1), cleared(ff.w2), cleared(ff.b2))
        return replace(of, heads=heads, feed_forward=ff)

    return transformer.replace(layers=tuple(map(layer, transformer.layers)))


def linear(transformer: Transformer, matrix: Any, source: int, target: int) -> Transformer:
    """h_j ← M h_i for positions i = source, j = target; M is over the given transformer's coordinates.

    The notes ask for i < j; i = j is let through, to show what comes of it. Flags come first: one at j, for the zeroing, and
    the last two, (1, 0) at i and (0, 1) elsewhere. Then h_j is made zero in the coordinates of T, and one head adds M h_i.
    """
    if not 0 <= source <= target:
        raise InputError(
            f"h_{target} ← M h_{source}: a decoder sees no later position; the source must not come after the target."
        )
    names = transformer.coordinates
    flagged = embedding_with_flag(transformer, target, AT_TARGET)
    flagged = embedding_with_flag(flagged, source, AT_SOURCE)
    flagged = embedding_with_flag(flagged, source, NOT_SOURCE, complement=True)
    return _then(make_zero(flagged, AT_TARGET, names), Layer((linear_head(flagged.format, flagged.width, matrix),)))


def linear_head(format: AnyFormat, width: int, matrix: Any) -> Head:
    """The printed head: W_Q all 0 but −∞ in the last corner, W_K all 0 but 1 there, W_V = id, W_O = M (with zeros around it)."""
    query, key = (_corner(format, width, corner) for corner in ("-B", 1))
    m = encode(matrix, format, "M")
    output = np.zeros((width, width), np.int64)
    output[: m.shape[0], : m.shape[1]] = m
    return Head(query, key, _identity(format, width), output)


# Small parts --------------------------------------------------------------------------------------------------------


def _then(transformer: Transformer, *layers: Layer) -> Transformer:
    return transformer.replace(layers=transformer.layers + layers)


def _identity(format: AnyFormat, d: int) -> Codes:
    return np.eye(d, dtype=np.int64) * encode(1, format)


def _corner(format: AnyFormat, d: int, corner: int | str) -> Codes:
    matrix = np.zeros((d, d), np.int64)
    matrix[-1, -1] = encode(number(corner, format), format)
    return matrix


def _extended_by_zeros(transformer: Transformer, name: str) -> Transformer:
    """One more coordinate, zero in all matrices, embeddings and the output."""
    _check_plain(transformer)

    def column(array: Codes) -> Codes:
        return np.pad(array, ((0, 0), (0, 1)))

    def row(array: Codes) -> Codes:
        return np.pad(array, ((0, 1),) + ((0, 0),) * (array.ndim - 1))

    def layer(of: Layer) -> Layer:
        heads = tuple(Head(column(h.query), column(h.key), column(h.value), row(h.output)) for h in of.heads)
        ff = of.feed_forward
        return replace(of, heads=heads, feed_forward=ff and FeedForward(column(ff.w1), ff.b1, row(ff.w2), row(ff.b2)))

    return transformer.replace(
        coordinates=(*transformer.coordinates, name),
        token_embedding=column(transformer.token_embedding),
        position_embedding=column(transformer.position_embedding),
        layers=tuple(map(layer, transformer.layers)),
        output=column(transformer.output),
    )


def _check_plain(transformer: Transformer) -> None:
    """The notes' transformers have matrices, relu and nothing else; other parts would be lost."""
    for name in newer_parts(transformer):
        raise ModelError(f"{name} is a part that the notes' transformers do not have; their constructions say nothing of it.")


def _check_position(position: int, count: int, part: str) -> None:
    if not 0 <= position < count:
        raise InputError(f"no place {position} in {part}, which has {count} rows; choose one from 0 to {count - 1}.")
