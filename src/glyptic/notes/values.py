"""What the notes' proofs say of numbers, counted over all values of a format."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from glyptic.exact.answers import TIED, UNDEFINED, decide
from glyptic.exact.running import prepared_for
from glyptic.exact.stages import UNWATCHED
from glyptic.notes.bench import answers, carrier, rising_pairs
from glyptic.numbers import Format, encode


@dataclass(frozen=True)
class Verdicts:
    """What softmax says of the pairs with T_SI > T_NO, where the notes read YES."""

    pairs: int
    ties: int
    undefined: int
    reversed: int
    first_tie: tuple[Fraction, Fraction] | None  # the smallest in absolute value


def larger_means_yes(format: Format) -> Verdicts:
    """How often T_SI > T_NO is not answered YES, over all pairs of values."""
    pairs = rising_pairs(format)
    said = answers(carrier(format, 2), pairs)
    tied = pairs[:, said == TIED]
    first = None
    if tied.size:
        best = np.lexsort((np.abs(tied[0]), np.abs(tied).max(axis=0)))[0]
        first = (format.value(int(tied[0, best])), format.value(int(tied[1, best])))
    return Verdicts(pairs.shape[1], tied.shape[1], int((said == UNDEFINED).sum()), int((said == 0).sum()), first)


def softmax(format: Format, *logits: str) -> tuple[Fraction, ...]:
    """The rounded softmax of two logits, which the notes read as (NO, YES)."""
    prepared = prepared_for(carrier(format, 2))
    last = prepared.arithmetic.values(encode(logits, format)[:, None, None])
    _, probabilities, _ = decide(prepared, last, 0, UNWATCHED)
    assert probabilities is not None
    return tuple(format.value(int(code)) for code in probabilities[0])


@dataclass(frozen=True)
class ProductsByB:
    """How many products by B take every positive value to B."""

    products: int | None  # None: some value never gets there
    after_two: int  # positive values that two products do not take to B
    positive: int
    smallest: Fraction | None  # the smallest of them
    below_one: int  # positive values x with x < 1/B, which the notes exclude


def products_by_b(format: Format) -> ProductsByB:
    """x·B, (x·B)·B, … for every positive x."""
    positive = [format.value(code) for code in range(1, format.max_code + 1)]
    short = [x for x in positive if format.round(format.round(x * format.max) * format.max) != format.max]
    counts = [_products_to_largest(format, x) for x in positive]
    most = None if None in counts else max(count for count in counts if count is not None)
    below = sum(x * format.max < 1 for x in positive)
    return ProductsByB(most, len(short), len(positive), min(short, default=None), below)


def _products_to_largest(format: Format, x: Fraction) -> int | None:
    count = 0
    while x != format.max:
        after = format.round(x * format.max)
        if after == x:
            return None
        x, count = after, count + 1
    return count


def not_zeroed(format: Format) -> list[Fraction]:
    """The values x for which ((x + B) + B) − B is not 0."""
    b, rounded = format.max, format.round
    return [x for x in format.values() if rounded(rounded(rounded(x + b) + b) - b) != 0]


def not_overwritten(format: Format) -> tuple[int, int]:
    """For how many pairs (h, t) h + (t − h) is not t, and how many pairs there are."""
    values, rounded = list(format.values()), format.round
    wrong = sum(rounded(h + rounded(t - h)) != t for h in values for t in values)
    return wrong, len(values) ** 2
