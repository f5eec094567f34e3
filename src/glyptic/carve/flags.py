"""Flags: coordinates that the position embedding sets and nothing else writes, so that layers know where they are.

    position(T, 3)             1 at position 3, 0 elsewhere
    positions(T, {1, 4})       1 at each of several
    complement(T, {3})         0 there, 1 elsewhere: what gates a hidden unit off
    codes(T)                   position numbers in binary, ±1 a bit, and a constant 1: what look-up compares

`flagged` is how constructions know where to act: everywhere, or at chosen positions by one of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral

import numpy as np

from glyptic.arguments import checked, refused, shown
from glyptic.carve.coordinates import fresh, widen, widened
from glyptic.carve.facts import ONE, require
from glyptic.carve.frames import carved, writes
from glyptic.carve.names import new_name, places
from glyptic.carve.spaces import Space
from glyptic.errors import ModelError
from glyptic.exact import Transformer
from glyptic.numbers import encode

At = int | Iterable[int] | None  # a position, several, or (None) all
Places = tuple[int, ...] | None


@checked
def position(transformer: Transformer, at: int, name: str = "") -> Transformer:
    """A flag that is 1 at one position alone; its name is `is_3` at position 3, unless given.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = position(random_transformer(Fixed(4), sizes=Sizes(layers=0)), 1)
    >>> [int(h["is_1"]) for h in T.run("0101", trace="embedding").residual["embedding"]]
    [0, 1, 0, 0]
    """
    return _flag(transformer, [at], name, "flags.position")


@checked
def positions(transformer: Transformer, at: Iterable[int], name: str = "") -> Transformer:
    """A flag that is 1 at several positions."""
    return _flag(transformer, at, name, "flags.positions")


@checked
def complement(transformer: Transformer, at: Iterable[int], name: str = "") -> Transformer:
    """A flag that is 0 at these positions and 1 elsewhere."""
    return _flag(transformer, at, name, "flags.complement", wanted=False)


@checked
def codes(
    transformer: Transformer, of: Callable[[int], int] = lambda i: i, name: str = "place", constant: str = ""
) -> Transformer:
    """⌈log2 n_max⌉ coordinates name.0, name.1, … with the bits of `of(position)` as ±1, and a constant 1 if named.

    >>> from glyptic.exact import random_transformer
    >>> from glyptic.numbers import Fixed
    >>> codes(random_transformer(Fixed(4)), constant="one").coordinates[-4:]
    ('place.0', 'place.1', 'place.2', 'one')
    """
    columns = code_columns(new_name(name, "name"), pointed(transformer, of))
    require([ONE], transformer.format, "flags.codes")
    if constant in columns:
        raise ModelError(f"{shown(constant)} is the name of a bit already; choose another for the constant.")
    if constant:
        columns[constant] = [1] * len(transformer.position_embedding)
    return carved(transformer, widen(transformer, columns, positions=columns), "flags.codes", [], [ONE])


def code_columns(name: str, numbers: Sequence[int]) -> dict[str, list[int]]:
    """For each position a number, one of as many as there are positions: the columns of its bits, by name."""
    space = Space.binary(name, len(numbers))
    rows = [space.signs(number) for number in numbers]
    return {bit: [row[bit] for row in rows] for bit in space}


def refuse_repeating(transformer: Transformer, what: str) -> None:
    """Positions without end have no code of finitely many bits."""
    if transformer.period is not None:
        raise ModelError(f"{what} needs a longest input, and positions repeat without end; bound it first: to_length(64).")


def pointed(transformer: Transformer, of: Callable[[int], int]) -> list[int]:
    """of(0), of(1), …: for each position the one that it points at."""
    if not callable(of):
        raise refused("of", of, "a function from positions to positions")
    refuse_repeating(transformer, "a code of its positions")
    numbers = [of(i) for i in range(len(transformer.position_embedding))]
    places(transformer, numbers, "of(position)")
    return [int(number) for number in numbers]


def places_of(transformer: Transformer, at: At) -> Places:
    """The positions meant, ascending; None for all."""
    if at is None:
        return None
    return places(transformer, [at] if isinstance(at, Integral) else at, "at")


def flagged(transformer: Transformer, places: Places, wanted: bool = False) -> tuple[Transformer, str]:
    """The transformer with a coordinate that is 0 at the places and 1 elsewhere (the other way round if wanted), and its
    name; no name for everywhere.
    """
    if places is None:
        return transformer, ""
    name = flag_name(places, wanted)
    wide, named = ensure(transformer, {name: flag_column(transformer, places, wanted)})
    return wide, named[name]


def flag_name(places: Sequence[int], wanted: bool) -> str:
    """is_1_4, not_1_4."""
    return ("is_" if wanted else "not_") + "_".join(map(str, places))


def flag_column(transformer: Transformer, places: Iterable[int], wanted: bool = True) -> list[int]:
    """1 at the places and 0 elsewhere; the other way round if not wanted."""
    chosen = set(places)
    return [int((i in chosen) == wanted) for i in range(len(transformer.position_embedding))]


def _flag(
    transformer: Transformer, at: Iterable[int], name: str, construction: str, wanted: bool = True
) -> Transformer:
    chosen = places(transformer, at, "at")
    flag = new_name(name, "name") if name else flag_name(chosen, wanted)
    require([ONE], transformer.format, construction)
    column = flag_column(transformer, chosen, wanted)
    wide = transformer.replace(**widened(transformer, (flag,), positions={flag: column}))
    return carved(transformer, wide, construction, [writes([flag], f"1 at {column.count(1)} positions")], [ONE])


def ensure(transformer: Transformer, columns: Mapping[str, Sequence[int]]) -> tuple[Transformer, dict[str, str]]:
    """Coordinates with these columns of the position embedding, kept by all layers: those that are there, else new ones.

    Gives the transformer and, for each name asked for, the name that the coordinate has.
    """
    names: dict[str, str] = {}
    new: dict[str, Sequence[int]] = {}
    for name, column in columns.items():
        if _is_intact(transformer, name, column):
            names[name] = name
        else:
            names[name] = fresh((*transformer.coordinates, *new), name)
            new[names[name]] = column
    return transformer.replace(**widened(transformer, tuple(new), positions=new)) if new else transformer, names


def _is_intact(transformer: Transformer, name: str, column: Sequence[int]) -> bool:
    """Whether the coordinate has this column, no token adds to it and no layer writes it."""
    if name not in transformer.coordinates:
        return False
    k = transformer.coordinate(name)
    if not np.array_equal(transformer.position_embedding[:, k], encode(list(column), transformer.format)):
        return False
    written = [transformer.token_embedding[:, k]]
    for layer in transformer.layers:
        written += [head.output[k] for head in layer.heads]
        written += [head.output_bias[k : k + 1] for head in layer.heads if head.output_bias is not None]
        if layer.feed_forward is not None:
            written += [layer.feed_forward.w2[k], layer.feed_forward.b2[k : k + 1]]
    return not any(array.any() for array in written)


__all__ = ["codes", "complement", "position", "positions"]
