"""The normalizations as printed, over all pairs (T_NO, T_SI) of a format: the answers they keep, where they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.carve import linear, normalize
from glyptic.exact import Transformer
from glyptic.notes import normalization
from glyptic.notes.bench import ANSWERS, answers, carrier, push, random_data, rising_pairs, stream
from glyptic.notes.failures.linear import SWAP, linear_replacement
from glyptic.numbers import Codes, Format, decode, encode

Normalized = Callable[[Transformer], Transformer]


def printed_zero_one(transformer: Transformer) -> Transformer:
    """0–1 normalization as printed, of inputs of one token: i = j = n = 1."""
    return normalization.zero_one(transformer, length=1)


def printed_infinity(transformer: Transformer, columns: tuple[int, int] | None = None) -> Transformer:
    """The printed steps over a linear transformation that works; `columns` mends the comparison."""
    names = transformer.coordinates

    def linear_map(of: Transformer, matrix: Any) -> Transformer:
        return linear.in_place(of, matrix, names)

    return normalization.infinity(transformer, linear_map, columns)


@dataclass(frozen=True)
class KeptAnswers:
    """Of the pairs (T_NO, T_SI) on which T is decisive, how many keep their answer, and what the others get."""

    decisive: int
    kept: int
    instead: str


def answers_kept(format: Format, normalized: Normalized, d: int = 4) -> KeptAnswers:
    """Over all pairs of values (T_NO, T_SI) on which T is decisive, h = (T_NO, T_SI, 0, …) in d coordinates."""
    bench = carrier(format, d)
    made = normalized(bench)
    pairs, before = decisive_pairs(format)
    data = np.zeros((d, 1, pairs.shape[1]), np.int64)
    data[:2, 0] = pairs
    out, _ = push(made, stream(made, data))
    after = answers(made, out[:, 0])
    lost = sorted({ANSWERS[int(number)] for number in after[after != before]})
    return KeptAnswers(len(before), int((after == before).sum()), " ".join(lost))


def decisive_pairs(format: Format) -> tuple[Codes, np.ndarray]:
    """All pairs of different values on which softmax decides, (2, pairs), and its answers."""
    rising = rising_pairs(format)
    pairs = np.concatenate([rising, rising[::-1]], axis=1)
    said = answers(carrier(format, 2), pairs)
    return pairs[:, said >= 0], said[said >= 0]


def final_vectors(format: Format, normalized: Normalized) -> dict[str, set[tuple[Fraction, ...]]]:
    """For each answer of T the last vectors that there are at the end, over all decisive pairs."""
    made = normalized(carrier(format, 2))
    pairs, said = decisive_pairs(format)
    out = push(made, stream(made, pairs[:, None, :]))[0][:, 0]
    return {
        name: {tuple(decode(vector, format)) for vector in np.unique(out[:, said == number], axis=1).T}
        for number, name in enumerate(("NO", "YES"))
    }


def lengths_with_a_fixed_last(format: Format, last: int, longest: int) -> list[tuple[int, int, int]]:
    """0–1 normalization by a working h_n ← Θ h_n at one fixed n: for each length, (length, random streams, kept answers).

    T answers by the coordinates h2 (NO) and h1 (YES), so that its output matrix is not the projection already.
    """
    bench = carrier(format, 2, longest)
    bench = bench.replace(output=encode(SWAP, format))
    moved = linear_replacement(bench, SWAP, last - 1, last - 1)
    made = moved.replace(output=normalization.projection(moved))
    rows = []
    for n in range(1, longest + 1):
        data = random_data(format, 2, n, 400)
        before = answers(bench, data[:, -1])
        out, _ = push(made, stream(made, data))
        decisive = before >= 0
        rows.append((n, int(decisive.sum()), int((answers(made, out[:, -1]) == before)[decisive].sum())))
    return rows


def kept_at_length(format: Format, length: int) -> int:
    """The same streams of a length through `normalize.zero_one`, which knows of no length: the answers it keeps."""
    bench = carrier(format, 2, length)
    bench = bench.replace(output=encode(SWAP, format))
    made = normalize.zero_one(bench)
    data = random_data(format, 2, length, 400)
    before = answers(bench, data[:, -1])
    out, _ = push(made, stream(made, data))
    return int(((answers(made, out[:, -1]) == before) & (before >= 0)).sum())


@dataclass(frozen=True)
class WrongComparisons:
    """W_1's last row over all pairs: it should leave something positive where T_SI > T_NO, and 0 where T_NO > T_SI."""

    pairs: int
    wrong_if_yes: int
    wrong_if_no: int


def comparison(format: Format, d: int, columns: tuple[int, int] | None = None) -> WrongComparisons:
    """The printed layer in d coordinates (columns: where −1 and 1 stand instead)."""
    made = carrier(format, d).replace(layers=(normalization.comparison(format, d, columns),))
    pairs = rising_pairs(format)

    def last(of: Codes) -> Codes:
        data = np.zeros((d, 1, of.shape[1]), np.int64)
        data[:2, 0] = of
        return push(made, data)[0][-1, 0]

    return WrongComparisons(pairs.shape[1], int((last(pairs) <= 0).sum()), int((last(pairs[::-1]) != 0).sum()))


def short_of_infinity(format: Format, d: int = 4) -> tuple[int, int]:
    """Of all pairs T_SI > T_NO, those after which the printed steps, the comparison mended, do not end in (1, ∞)."""
    made = printed_infinity(carrier(format, d), columns=(0, 1))
    pairs = rising_pairs(format)
    data = np.zeros((d, 1, pairs.shape[1]), np.int64)
    data[:2, 0] = pairs
    out, _ = push(made, stream(made, data))
    return int((out[1, 0] != format.max_code).sum()), pairs.shape[1]


def yes_after(format: Format, normalized: Normalized) -> int:
    """How many of all pairs T_SI > T_NO are answered YES after a normalization."""
    made = normalized(carrier(format, 2))
    out, _ = push(made, stream(made, rising_pairs(format)[:, None, :]))
    return int((answers(made, out[:, 0]) == 1).sum())
