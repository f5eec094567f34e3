"""Which examples training never sees: a matter of the example alone, so that no list of them need be kept.

An example is a row of whole numbers, or bytes. A hash of it decides, one in so many being held out; the seed of a run has no part
in it, so that runs can be compared, and a run of today may be evaluated tomorrow. The next bit of the same hash cuts what is held
out in two: what evaluations see, and what is kept for the test.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from glyptic.errors import InputError
from glyptic.train.task import Side

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
    for place, state in enumerate(_hashes(rows)):
        if place >= longest_kept:
            held[:, place] = state % np.uint64(one_in) == 0
    return held


def sides(rows: Rows, one_in: int) -> NDArray[np.str_]:
    """(B, T) → the `Side` of each row, (B,).

    >>> words = np.arange(100)[:, None]
    >>> found = sides(words, 5)
    >>> [int((found == side).sum()) for side in ("learned", "evaluated", "tested")]
    [84, 9, 7]
    >>> ((found != "learned") == prefixes(words, 5)[:, -1]).all()
    np.True_
    """
    if one_in == 0:
        return np.full(len(rows), "learned")
    *_, state = _hashes(rows)
    rest, bit = state // np.uint64(one_in), np.uint64(2)
    return np.where(state % np.uint64(one_in) != 0, "learned", np.where(rest % bit == 0, "evaluated", "tested"))


def side_of(data: bytes, one_in: int) -> Side:
    """The side of an example that is bytes; what is there twice is on one side.

    >>> [side_of(word, 2) for word in (b"a", b"b", b"c", b"a")]
    ['learned', 'tested', 'evaluated', 'learned']
    """
    number = int.from_bytes(hashlib.blake2b(data, digest_size=8, key=b"held out").digest(), "big")
    if number % one_in:
        return "learned"
    return "tested" if number // one_in % 2 else "evaluated"


def drawn(
    draw: Callable[[int], Rows], count: int, one_in: int, side: Side, sides_of: Callable[[Rows], NDArray[np.str_]]
) -> Rows:
    """`count` rows of what `draw(n)` gives, all of one side; `sides_of` says on which they are, one in so many being held out."""
    held = side != "learned"
    found: list[Rows] = []
    missing = count
    for _ in range(_TRIES):
        rows = draw(2 * missing * one_in if held else missing + missing // one_in + 8)
        found.append(rows[sides_of(rows) == side][:missing])
        missing -= len(found[-1])
        if not missing:
            return np.concatenate(found)
    what = f"held out, and {side}," if held else "not held out"
    raise InputError(
        f"of {count} examples {missing} that are {what} were not found; make the task larger, or choose another held_out."
    )


def _hashes(rows: Rows) -> Iterator[NDArray[np.uint64]]:
    """Of each beginning of every row, from the shortest."""
    state = np.full(len(rows), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for place in range(rows.shape[1]):
        state = _mixed(state ^ (rows[:, place].astype(np.uint64) + np.uint64(1)))
        yield state


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of a number depends on every bit of x (Steele, Lea and Flood's SplitMix64)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
