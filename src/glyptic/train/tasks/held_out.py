"""Which examples training never sees: a matter of the example alone, so that no list of them need be kept.

An example is a row of whole numbers. A hash of the row decides, one in so many being held out; the seed of a run has no part in
it, so that runs can be compared, and a run of today may be evaluated tomorrow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from glyptic.errors import InputError

Rows = NDArray[np.int64]  # (examples, places)
_TRIES = 200


def prefixes(rows: Rows, one_in: int, longest_kept: int = 0) -> NDArray[np.bool_]:
    """(B, T) → for each beginning of each row whether it is held out; those up to `longest_kept` never are.

    >>> words = np.array([[0, 1, 1, 0], [0, 1, 1, 1]])
    >>> held = prefixes(words, 2)
    >>> held.shape, bool((held[0, :3] == held[1, :3]).all())
    ((2, 4), True)
    """
    held = np.zeros(rows.shape, dtype=bool)
    if one_in == 0:
        return held
    state = np.full(len(rows), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for place in range(rows.shape[1]):
        state = _mixed(state ^ (rows[:, place].astype(np.uint64) + np.uint64(1)))
        if place >= longest_kept:
            held[:, place] = state % np.uint64(one_in) == 0
    return held


def whole(rows: Rows, one_in: int) -> NDArray[np.bool_]:
    """(B, T) → which rows are held out, (B,)."""
    return prefixes(rows, one_in, rows.shape[1] - 1)[:, -1]


def drawn(draw: Callable[[int], Rows], count: int, one_in: int, held: bool) -> Rows:
    """`count` rows of what `draw(n)` gives, all held out or none."""
    if one_in == 0:
        return draw(count)
    found: list[Rows] = []
    missing = count
    for _ in range(_TRIES):
        rows = draw(missing * one_in if held else missing + missing // one_in + 8)
        found.append(rows[whole(rows, one_in) == held][:missing])
        missing -= len(found[-1])
        if not missing:
            return np.concatenate(found)
    what = "held out" if held else "not held out"
    raise InputError(
        f"of {count} examples {missing} that are {what} were not found; make the task larger, or choose another held_out."
    )


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of a number depends on every bit of x (Steele, Lea and Flood's SplitMix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
