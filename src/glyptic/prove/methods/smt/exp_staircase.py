"""exp as a step function of codes: [exp x] never falls, so a few thousand steps describe it wholly in a small format.

In a wider one a coarser staircase encloses it from both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from glyptic.numbers import Format, encode, to_float64
from glyptic.numbers.exponential import exp_floats, exp_rounded

MOST_STEPS = 4096  # above, a table would be most of the question
_MOST_CODES = 1 << 17
_ANCHORS = 256


@dataclass(frozen=True)
class Staircase:
    """From code starts[k] up to the next start (or the end), [exp] has a code between lows[k] and highs[k]: one if `exact`."""

    starts: tuple[int, ...]
    lows: tuple[int, ...]
    highs: tuple[int, ...]
    end: int  # the last code that it speaks of

    @property
    def exact(self) -> bool:
        return self.lows == self.highs


def exp_code(code: int, format: Format) -> int:
    """The code of [exp x] for the value x of a code."""
    return format.code(exp_rounded(format.value(code), format))


@lru_cache(maxsize=64)
def exp_staircase(format: Format, low: int, high: int) -> Staircase:
    """[exp] over the codes low … high.

    >>> from glyptic.numbers import Fixed
    >>> steps = exp_staircase(Fixed(1), -3, 3)      # [exp] of −1.5 … 1.5 in units of ½
    >>> list(zip(steps.starts, steps.lows))
    [(-3, 0), (-2, 1), (0, 2), (1, 3)]
    """
    least, most = exp_code(low, format), exp_code(high, format)
    if least == most:
        return Staircase((low,), (least,), (least,), high)
    first = _first(lambda code: exp_code(code, format) > least, low, high)  # both ends are flat, and may be long
    last = _first(lambda code: exp_code(code, format) >= most, low, high)
    if last - first < _MOST_CODES and format.precision <= 40 and format.least_exponent > -1000 and format.max < 2**1000:
        codes = np.arange(first, last + 1)
        images = encode(exp_floats(to_float64(codes, format), format), format)
        jumps = np.flatnonzero(np.diff(images)) + 1
        starts = [first, *codes[jumps].tolist()]
        values = [int(images[0]), *images[jumps].tolist()]
        if first > low:
            starts, values = [low, *starts], [least, *values]
        if len(starts) <= MOST_STEPS:
            return Staircase(tuple(starts), tuple(values), tuple(values), high)
    spread = (first + (last - first) * k // (_ANCHORS - 1) for k in range(_ANCHORS))
    exactly_at = (code for code in (0, 1) if low <= code <= high)  # exp 0 = 1 is what most proofs need to know of exp
    anchors = sorted({low, *exactly_at, *spread})
    ends = [*(code - 1 for code in anchors[1:]), high]
    lows, highs = (tuple(exp_code(code, format) for code in side) for side in (anchors, ends))
    return Staircase(tuple(anchors), lows, highs, high)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first code of low … high where a condition that never turns false again holds; `high` if it does nowhere."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high
