"""Flags, added vectors, zeros and ignored coordinates as printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from glyptic.carve import ignore, zero
from glyptic.exact import FeedForward, Layer, Sizes, Transformer, random_transformer
from glyptic.notes import primitives
from glyptic.notes.bench import all_codes, carrier, push, random_data, stream
from glyptic.numbers import Format, decode, encode


def vectors_added(format: Format) -> str:
    """Of all vectors v = (v_1, 0), how many the printed layer adds exactly at the flag and nowhere else."""
    bench = primitives.embedding_with_flag(carrier(format, 1, 2), 1)
    right = 0
    for code in all_codes(format):
        made = primitives.add_vector(bench, "flag", [format.value(int(code)), 0])
        out, _ = push(made, stream(made, np.zeros((1, 2, 1), np.int64)))
        right += out[0, :, 0].tolist() == [0, int(code)]
    return f"{right} of {format.size}"


@dataclass(frozen=True)
class Zeroed:
    """Over all values: how many become 0, how many leave the flag at 1, and how many get a vector added afterwards."""

    values: int
    zero: int
    flag_kept: int
    added_after: int


def make_zero(format: Format, replaced: bool = False) -> Zeroed:
    """((h + ∞) + ∞) − ∞ in every coordinate, then one more vector (1, 0) at the same flag."""
    bench = primitives.embedding_with_flag(carrier(format, 1), 0)
    made = zero.by_saturation(bench, ["h1"], at=0) if replaced else primitives.make_zero(bench, "flag")
    added = primitives.add_vector(made, "flag", [1] + [0] * (made.width - 1))
    values = all_codes(format)
    after, later = (push(t, stream(t, values[None, None]))[0] for t in (made, added))
    h, flag, one = made.coordinate("h1"), made.coordinate("flag"), format.code(1)
    return Zeroed(
        len(values), int((after[h] == 0).sum()), int((after[flag] == one).sum()), int((later[h] == one).sum())
    )


def left_over(made: Transformer) -> dict[str, Fraction]:
    """Coordinates that are not 0 in the last vector at the end, the data being 0."""
    data = np.zeros((2, len(made.position_embedding), 1), np.int64)
    out, _ = push(made, stream(made, data))
    last = decode(out[:, -1, 0], made.format)
    return {name: value for name, value in zip(made.coordinates, last, strict=True) if value != 0}


def smallest_ignored(format: Format) -> tuple[str, Fraction, Fraction] | None:
    """The feed-forward of d = 2 with the fewest weights, all 1, that does not touch h1 and is changed by ignoring it.

    Returns its weights and what h2 = 1 becomes: as it should, and as printed.
    """
    for units in range(1, 9):
        for chosen in combinations(range(8), units):
            weights = np.zeros(8, int)
            weights[list(chosen)] = 1
            w1, w2 = weights[:4].reshape(2, 2), weights[4:].reshape(2, 2)
            if w1[:, 0].any() or w2[0].any():  # it reads or writes h1
                continue
            layer = Layer((), FeedForward.of(format, w1, [0, 0], w2, [0, 0]))
            made = carrier(format, 2).replace(layers=(layer,))
            data = encode([[[0]], [[1]]], format)
            right, printed = (push(t, data)[0][1, 0, 0] for t in (made, primitives.ignoring(made, "h1")))
            if right != printed:
                names = [f"{m}[{a + 1},{b + 1}]" for m, w in (("W_1", w1), ("W_2", w2)) for a, b in np.argwhere(w)]
                return " = ".join(names) + " = 1", format.value(int(right)), format.value(int(printed))
    return None


@dataclass(frozen=True)
class Ignored:
    """Random layers, d = 4, all matrices 4 × 4, each told to ignore one coordinate."""

    cases: int
    printed_differs: int  # from the layer that neither reads nor writes the coordinate and is otherwise itself
    replacement_leaks: int  # it wrote the coordinate, or another one's result depended on it


def ignored_at_random(format: Format, cases: int) -> Ignored:
    """How often the printed way changes more than the coordinate, and the replacement less than it should."""
    differs = leaks = 0
    sizes = Sizes(layers=1, heads=1, width=4, key_width=4, value_width=4, hidden=4, max_length=3)
    for seed in range(cases):
        k = seed % 4
        made = random_transformer(format, seed, sizes)
        printed, replacement = primitives.ignoring(made, f"x{k}"), ignore.coordinates(made, [f"x{k}"])
        data = random_data(format, 4, 3, 2, seed=seed)
        others = [c for c in range(4) if c != k]
        data[others, :, 1] = data[others, :, 0]  # two streams that differ in the ignored coordinate only
        right, _ = push(replacement, data)
        differs += not np.array_equal(push(printed, data)[0][others], right[others])
        leaks += not np.array_equal(right[k], data[k]) or not np.array_equal(right[others, :, 0], right[others, :, 1])
    return Ignored(cases, differs, leaks)


def flag_to_the_letter(format: Format, position: int) -> tuple[str, list[int]]:
    """The shortest input over 0 and 1 that θ'_TE, to the letter, flags otherwise than at the position; its flags."""
    bench = Transformer.of(format, "01", ["h1"], [[0], [0]], [[0], [0]], ["NO", "YES"], max_length=3)
    letter = primitives.embedding_with_flag(bench, position, to_the_letter=True)
    for text in _texts("01", 3):
        flags = [int(h["flag"]) for h in letter.run(text, trace="embedding").residual["embedding"]]
        if flags != [int(p == position) for p in range(len(text))]:
            return text, flags
    raise AssertionError("to the letter, the formula would be right on all inputs up to length 3")


def _texts(alphabet: str, longest: int) -> Iterator[str]:
    for n in range(1, longest + 1):
        yield from map("".join, product(alphabet, repeat=n))
