"""gelu, gelu_tanh and silu as step functions of codes: 0 up to a code, x itself from another on, and steps between.

f(x) = x − t(|x|) or −t(|x|), and t falls once |x| has passed the place where f turns. So there is a last code before which
[f] is 0, and one from which it is x. Between them a table has every step, or, in a wider format, anchors enclose it: f falls up
to its turn and rises from there, so between two anchors on one side its ends bound it, and about the turn its least value does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from glyptic.numbers import Activation, Format, encode, to_float64
from glyptic.numbers.activations import TURNS, activate_floats, activation_rounded
from glyptic.prove.methods.smt.exp_staircase import _ANCHORS, _MOST_CODES, MOST_STEPS, Staircase, _first

_BEYOND = Fraction(2)  # all turns lie nearer to 0


@dataclass(frozen=True)
class ActivationSteps:
    """[f] over codes: 0 below `first`, x from `identity` on, and the staircase between; None where nothing is between."""

    first: int
    identity: int
    stairs: Staircase | None


def activation_code(kind: Activation, code: int, format: Format) -> int:
    """The code of [f(x)] for the value x of a code."""
    return format.code(activation_rounded(kind, format.value(code), format))


@lru_cache(maxsize=64)
def activation_steps(kind: Activation, format: Format, low: int, high: int) -> ActivationSteps:
    """[f] over the codes low … high.

    >>> from glyptic.numbers import Fixed
    >>> steps = activation_steps("gelu", Fixed(1), -3, 3)      # [gelu] of −1.5 … 1.5 in units of ½
    >>> steps.first, steps.identity, list(zip(steps.stairs.starts, steps.stairs.lows))
    (-3, 3, [(-3, 0), (1, 1), (2, 2)])
    """
    first, identity = _ends(kind, format)
    begin, end = max(low, first), min(high, identity - 1)
    if begin > end:
        return ActivationSteps(first, identity, None)
    stairs = _table(kind, format, begin, end) or _enclosing(kind, format, begin, end)
    return ActivationSteps(first, identity, stairs)


@lru_cache(maxsize=64)
def _ends(kind: Activation, format: Format) -> tuple[int, int]:
    """The first code of which it is not known that [f] is 0 there and before; the first from which on it is x."""
    left, right = (format.code(format.round(x)) for x in (-_BEYOND, _BEYOND))
    first = _first(lambda code: activation_code(kind, code, format) != 0, format.min_code, left)
    if activation_code(kind, format.max_code, format) != format.max_code:
        return first, format.max_code + 1
    return first, _first(lambda code: activation_code(kind, code, format) == code, right, format.max_code)


def _table(kind: Activation, format: Format, low: int, high: int) -> Staircase | None:
    """Every step, if they are not too many."""
    small = format.precision <= 24 or (format.is_fixed and format.precision <= 34)
    if high - low >= _MOST_CODES or not small or format.least_exponent < -500 or format.max >= 2**500:
        return None
    codes = np.arange(low, high + 1)
    images = np.asarray(encode(activate_floats(kind, to_float64(codes, format), format), format))
    jumps = np.flatnonzero(np.diff(images)) + 1
    if len(jumps) >= MOST_STEPS:
        return None
    values = (int(images[0]), *images[jumps].tolist())
    return Staircase((low, *codes[jumps].tolist()), values, values, high)


def _enclosing(kind: Activation, format: Format, low: int, high: int) -> Staircase:
    anchors = sorted({low, *(code for code in (0, 1) if low <= code <= high), *_spread(low, high)})
    ends = [*(code - 1 for code in anchors[1:]), high]
    bounds = [_bounds(kind, format, *pair) for pair in zip(anchors, ends, strict=True)]
    return Staircase(tuple(anchors), tuple(a for a, _ in bounds), tuple(b for _, b in bounds), high)


def _spread(low: int, high: int) -> Iterator[int]:
    return (low + (high - low) * k // (_ANCHORS - 1) for k in range(_ANCHORS))


def _bounds(kind: Activation, format: Format, low: int, high: int) -> tuple[int, int]:
    """The least and the greatest code of [f] over low … high: at its ends, or, if it may turn between them, its least value."""
    images = [activation_code(kind, code, format) for code in (low, high)]
    left, right, least = TURNS[kind]
    if format.value(low) < right and format.value(high) > left:
        images.append(format.code(format.round(least)))
    return min(images), max(images)
