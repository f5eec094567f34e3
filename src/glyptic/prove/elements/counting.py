"""How many elements a claim ranges over, how they are numbered, and which of two counts as the smaller."""

from __future__ import annotations

import numpy as np

from glyptic.errors import FormatError
from glyptic.numbers import Codes, Exact, Format
from glyptic.prove.claims.claim import Claim, Inputs, Layers, Values
from glyptic.prove.elements.batches import free_names

_MOST_BITS = 14_000  # Python refuses to write more than 4,300 digits


def describe(claim: Claim) -> str:
    """What an enumeration ranges over, with its size."""
    subject = claim.subject
    if isinstance(subject, Inputs):
        count = "" if subject.endless else f"{_written(subject.count)} "
        return f"all {count}{subject}, over {' '.join(subject.vocabulary)}"
    return f"all {count_values(claim):,} {'' if isinstance(subject, Layers) else 'values of '}{subject}"


def _written(count: int | float) -> str:
    """A count in figures; one of more digits than Python writes, by the power of two below it."""
    whole = int(count)
    return f"{whole:,}" if whole.bit_length() < _MOST_BITS else f"more than 2^{whole.bit_length() - 1}"


def count_values(claim: Claim) -> int:
    """How many combinations of free values there are."""
    subject = claim.subject
    assert isinstance(subject, Values | Layers)
    if subject.format is None:
        raise FormatError("the claim is about values of a format: check(claim, format=Fixed(4)).")
    if isinstance(subject.format, Exact):
        raise FormatError("exact rationals cannot be enumerated; choose a finite format, such as fixed:4.")
    return subject.format.size ** len(free_names(claim))


def numbered_codes(claim: Claim, first: int, last: int) -> Codes:
    """The combinations number first … last − 1 of the free values, as codes (free, batch).

    Free weights, the last of the names, change most slowly: a batch runs each of their values once, with many columns.
    """
    format = claim.subject.format
    assert isinstance(format, Format)
    free = len(free_names(claim))
    weights = len(claim.subject.free_weights) if isinstance(claim.subject, Layers) else 0
    index = np.arange(first, last)
    places = [(free - 1 - weights - k) % free for k in range(free)]  # of the digit, from the fastest
    rows = [index // format.size**place % format.size + format.min_code for place in places]
    return np.array(rows, np.int64)


def smaller(claim: Claim, a: tuple[int, ...] | None, b: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The smaller of two counterexamples: shorter, then first in the order of the vocabulary; or nearer to 0."""
    if a is None or b is None:
        return b if a is None else a
    return min(a, b, key=input_size if isinstance(claim.subject, Inputs) else codes_size)


def input_size(tokens: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return len(tokens), tokens


def codes_size(codes: tuple[int, ...]) -> tuple[int, tuple[tuple[int, bool], ...]]:
    """The order of values: by the sum of their distances from 0, in ranks; then one by one, positive before negative."""
    return sum(map(abs, codes)), tuple((abs(code), code < 0) for code in codes)
