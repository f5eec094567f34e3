"""Flags: coordinates that the position embedding sets and nothing else writes, so that layers know where they are.

    position(T, 3)             1 at position 3, 0 elsewhere
    positions(T, {1, 4})       1 at each of several
    complement(T, {3})         0 there, 1 elsewhere: what gates a hidden unit off
    codes(T)                   position numbers in binary, ±1 a bit, and a constant 1: what look-up compares
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from glyptic.carve.coordinates import fresh, widen
from glyptic.carve.facts import ONE
from glyptic.carve.frames import carved, writes
from glyptic.errors import ModelError
from glyptic.exact import Transformer
from glyptic.numbers import encode


def position(transformer: Transformer, i: int, name: str = "") -> Transformer:
    """A flag that is 1 at position i alone; its name is `is_i` unless given.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> T = position(random_transformer(Fixed(4), sizes=Sizes(layers=0)), 1)
    >>> [int(h["is_1"]) for h in T.run("0101", trace="embedding").residual["embedding"]]
    [0, 1, 0, 0]
    """
    return positions(transformer, {i}, name or f"is_{i}")


def positions(transformer: Transformer, chosen: Iterable[int], name: str = "") -> Transformer:
    """A flag that is 1 at several positions."""
    places = checked(transformer, chosen)
    return _column(transformer, name or "is_" + "_".join(map(str, places)), flag_column(transformer, places))


def complement(transformer: Transformer, chosen: Iterable[int], name: str = "") -> Transformer:
    """A flag that is 0 at the chosen positions and 1 elsewhere."""
    places = checked(transformer, chosen)
    return _column(transformer, name or "not_" + "_".join(map(str, places)), flag_column(transformer, places, False))


def codes(
    transformer: Transformer, name: str = "place", of: Callable[[int], int] = lambda i: i, constant: str = ""
) -> Transformer:
    """⌈log2 n_max⌉ coordinates name.0, name.1, … with the bits of `of(position)` as ±1, and a constant 1 if named.

    >>> from glyptic.exact import random_transformer
    >>> from glyptic.numbers import Fixed
    >>> codes(random_transformer(Fixed(4)), constant="one").coordinates[-4:]
    ('place.0', 'place.1', 'place.2', 'one')
    """
    length = transformer.max_length
    numbers = [of(i) for i in range(length)]
    checked(transformer, numbers)
    columns = {
        f"{name}.{bit}": [1 if number >> bit & 1 else -1 for number in numbers] for bit in range(code_width(length))
    }
    if constant:
        columns[constant] = [1] * length
    return carved(transformer, widen(transformer, columns, positions=columns), "flags.codes", [], [ONE])


def code_width(length: int) -> int:
    """How many bits tell `length` positions apart; at least one."""
    return max(1, (length - 1).bit_length())


def checked(transformer: Transformer, chosen: Iterable[int]) -> tuple[int, ...]:
    """Positions, ascending, each one that exists."""
    places = tuple(sorted(set(chosen)))
    for i in places:
        if not 0 <= i < transformer.max_length:
            raise ModelError(f"position {i} does not exist; positions go from 0 to {transformer.max_length - 1}.")
    return places


def flag_column(transformer: Transformer, places: Iterable[int], wanted: bool = True) -> list[int]:
    """1 at the places and 0 elsewhere; the other way round if not wanted."""
    chosen = set(places)
    return [int((i in chosen) == wanted) for i in range(transformer.max_length)]


def _column(transformer: Transformer, name: str, column: list[int]) -> Transformer:
    wide = widen(transformer, [name], positions={name: column})
    return carved(transformer, wide, "flags.positions", [writes([name], f"1 at {column.count(1)} positions")], [ONE])


def ensure(transformer: Transformer, columns: Mapping[str, Sequence[int]]) -> tuple[Transformer, dict[str, str]]:
    """Coordinates with these columns of the position embedding, kept by all layers: those that are there, else new
    ones.

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
    return (widen(transformer, new, positions=new) if new else transformer), names


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
        if layer.feed_forward is not None:
            written += [layer.feed_forward.w2[k], layer.feed_forward.b2[k : k + 1]]
    return not any(array.any() for array in written)


__all__ = ["codes", "complement", "ensure", "flag_column", "position", "positions"]
