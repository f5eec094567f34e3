"""The factor on scores: nn multiplies those of all heads by one number, an exact head divides its own by [√d_k].

The two are the same where 1/[√d_k] is nn's number: then W_Q goes over as it is, and comes back as it was. Otherwise the
number has to be multiplied into W_Q, which rounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from glyptic.exact import Head
from glyptic.nn import ModelConfig
from glyptic.numbers import AnyFormat
from glyptic.numbers.reference import root_rounded


def root(rows: int, format: AnyFormat) -> Fraction:
    """[√d_k], by the function that the engines use."""
    return root_rounded(Fraction(rows), format)


def common_root(heads: Iterable[Head], format: AnyFormat) -> Fraction:
    """The root that nn's factor stands for: of heads whose queries are not 0, the largest."""
    return max((root(len(head.query), format) for head in heads if head.query.any()), default=Fraction(1))


@dataclass(frozen=True)
class Factor:
    """How exact heads get nn's factor: divide by [√rows] if `scale`, and multiply W_Q by `folded`."""

    scale: bool
    rows: int
    folded: float = 1.0


def factor_of(config: ModelConfig, format: AnyFormat, used: int, scale: bool | None) -> Factor:
    """The factor of a decoder; `used` rows of each head's W_Q and W_K are not 0, `scale` is what the caller asks for."""
    size, own = config.head_size, config.attention_scale
    if scale is False or (scale is None and own == 1.0):
        return Factor(False, size, config.scale)
    if own is None:
        return Factor(True, size)
    for rows in (size, *range(max(used, 1), size)):  # rows of zeros may be left out, and [√d_k] counts rows
        if own == 1 / float(root(rows, format)):
            return Factor(True, rows)
    return Factor(True, size, own * float(root(size, format))) if scale else Factor(False, size, own)
