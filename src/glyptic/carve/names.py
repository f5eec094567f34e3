"""Where coordinates and positions enter a construction: each exists, or is a new name that can be printed, and none comes
twice.

A name that came twice would be two rows or columns to the one who wrote it, and one to a matrix; so it is refused here,
for all constructions.

>>> from glyptic.exact import Sizes, random_transformer
>>> from glyptic.numbers import Fixed
>>> T = random_transformer(Fixed(4), sizes=Sizes(layers=0, width=2))
>>> existing(T, ["x0", "x0"])
Traceback (most recent call last):
glyptic.errors.ModelError: names has 'x0' twice; each coordinate is named once.
>>> places(T, [3, 1])
(1, 3)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from numbers import Integral
from typing import Any

from glyptic.arguments import is_list, refused, shown
from glyptic.errors import ModelError
from glyptic.exact import Transformer

_LONGEST = 1000  # characters of a name
_MOST = 1 << 16  # names or positions in a list


def existing(transformer: Transformer, names: Iterable[str], what: str = "names") -> tuple[str, ...]:
    """Coordinates that are there, one or more."""
    chosen = _listed(names, what)
    for name in chosen:
        transformer.coordinate(name)
    return chosen


def chosen(transformer: Transformer, names: Iterable[str] | None) -> tuple[str, ...]:
    """Coordinates that are there, one or more, or (None) all."""
    return transformer.coordinates if names is None else existing(transformer, names)


def targets(names: Iterable[str], what: str = "target") -> tuple[str, ...]:
    """Coordinates that are there or are to be made, one or more."""
    chosen = _listed(names, what)
    for name in chosen:
        new_name(name, what)
    return chosen


def new_name(name: str, what: str) -> str:
    """A name that a coordinate can be given: on one line, without effect on a terminal."""
    if not isinstance(name, str) or not name or not name.isprintable() or len(name) > _LONGEST:
        raise refused(what, name, f"a name of 1 to {_LONGEST} characters that can be printed")
    return name


def keys(transformer: Transformer, given: Mapping[str, Any], what: str) -> tuple[str, ...]:
    """The coordinates that a mapping speaks of."""
    if not isinstance(given, Mapping):
        raise refused(what, given, "a mapping from names of coordinates, such as {'x': 1}")
    return existing(transformer, given, what)


def places(transformer: Transformer, chosen: Any, what: str = "positions") -> tuple[int, ...]:
    """Positions, ascending, each one that exists; one or more."""
    listed = members(chosen, what, "positions, such as [0, 2]")
    for i in listed:
        if not isinstance(i, Integral) or isinstance(i, bool):
            raise refused(what, i, "whole numbers")
        if not 0 <= int(i) < transformer.max_length:
            raise ModelError(f"position {i} does not exist; positions go from 0 to {transformer.max_length - 1}.")
        if transformer.period is not None and int(i) >= transformer.beginning:
            period = transformer.period
            raise ModelError(
                f"position {i} is among those that repeat every {period}, so it cannot be told from later ones; "
                f"write the transformer with a longer beginning first: repeating({period}, {int(i) + 1})."
            )
    return tuple(sorted({int(i) for i in listed}))


def _listed(names: Any, what: str) -> tuple[str, ...]:
    chosen = members(names, what, "names of coordinates, such as ['x', 'y']")
    for name in chosen:
        if not isinstance(name, str):
            raise refused(what, name, "names of coordinates")
        if chosen.count(name) > 1:
            raise ModelError(f"{what} has {shown(name)} twice; each coordinate is named once.")
    return chosen


def members(given: Any, what: str, wanted: str) -> tuple[Any, ...]:
    """What was listed; a text is one name and no list of letters."""
    if not is_list(given):
        raise refused(what, given, f"a list of {wanted}")
    listed = tuple(islice(given, _MOST + 1))
    if len(listed) > _MOST:
        raise refused(what, given, f"a list of at most {_MOST} {wanted}")
    if not listed:
        raise ModelError(f"{what} is empty; it must have one entry or more.")
    return listed
