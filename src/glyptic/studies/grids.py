"""Formats by the dozen: `fixed:1..8`, `float:1..3,2..5`, several with spaces between."""

from __future__ import annotations

import re
from itertools import product
from math import prod

from glyptic.errors import FormatError
from glyptic.numbers import AnyFormat, parse_format

MOST_FORMATS = 10_000


def format_grid(text: str) -> list[AnyFormat]:
    """All formats that a text names, ranges written with two dots.

    >>> [str(f) for f in format_grid("fixed:1..3 float:1..2,2 fp16")]
    ['fixed:1', 'fixed:2', 'fixed:3', 'float:1,2', 'float:2,2', 'fp16']
    """
    found: list[AnyFormat] = []
    for word in text.split():
        pieces = re.split(r"(\d+\.\.\d+)", word)
        choices = []
        for piece in pieces:
            ends = re.fullmatch(r"(\d+)\.\.(\d+)", piece)
            if ends and max(len(ends[1]), len(ends[2])) > 4:
                raise FormatError(f"{word[:80]!r}: no format has numbers of so many digits.")
            if ends and int(ends[1]) > int(ends[2]):
                raise FormatError(f"{word!r}: the range {piece} is empty; write the smaller end first.")
            choices.append([str(n) for n in range(int(ends[1]), int(ends[2]) + 1)] if ends else [piece])
        size = prod(map(len, choices))
        if size > MOST_FORMATS:
            raise FormatError(f"{word!r} names {size:,} formats; at most {MOST_FORMATS:,} are taken together.")
        found += [parse_format("".join(chosen)) for chosen in product(*choices)]
    if not found:
        raise FormatError("no formats are named; write, for example, fixed:1..8 float:1..3,1..4.")
    return found
