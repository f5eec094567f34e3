"""Where the printed constructions fail: each search goes through inputs from the smallest, and tries what replaces it
too.

Positions and coordinates count from 0. Data are put straight into the residual stream, so that all values are met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from glyptic.carve import ignore, linear, normalize, zero
from glyptic.carve.notes import normalization, primitives
from glyptic.carve.notes.values import all_codes, answers, carrier, push, rising_pairs
from glyptic.exact import FeedForward, Layer, Sizes, Transformer, random_transformer
from glyptic.exact.running import prepared_for
from glyptic.numbers import Codes, Format, decode, encode

SWAP = [[0, 1], [1, 0]]
DATA = ("h1", "h2")


def stream(transformer: Transformer, data: Codes) -> Codes:
    """Data (d, n, batch) in coordinates h1, h2, …; the others as the position embedding has them."""
    d, n, batch = data.shape
    residual = np.repeat(transformer.position_embedding[:n].T[:, :, None], batch, axis=2)
    for k in range(d):
        residual[transformer.coordinate(f"h{k + 1}")] = data[k]
    return residual


def random_data(format: Format, *shape: int, seed: int = 0) -> Codes:
    return np.random.default_rng(seed).integers(format.min_code, format.max_code + 1, shape)


# h_j ← M h_i -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Linear:
    """h_j ← M h_i over all i < j < 4 and all input lengths to 4."""

    runs: int
    undefined: int
    smallest: tuple[int, int, int, int] | None  # the input's length, i, j, and the position of 0/0
    wrong: int  # of the runs that are defined and reach j, those in which some h_j is not M h_i
    reached: int


Builder = Callable[[Transformer, Any, int, int], Transformer]


def linear_replacement(transformer: Transformer, matrix: Any, source: int, target: int) -> Transformer:
    return linear.between(transformer, matrix, source, target)


def linear_runs(format: Format, build: Builder = primitives.linear, longest: int = 4) -> Linear:
    """The printed h_j ← M h_i (or another) on random vectors, M the exchange of two coordinates."""
    runs = undefined = wrong = reached = 0
    smallest = None
    for n, i in product(range(1, longest + 1), range(longest)):
        for j in range(i + 1, longest):
            data = random_data(format, 2, n, 50)
            made = build(carrier(format, 2, longest), SWAP, i, j)
            out, failures = push(made, stream(made, data))
            runs += 1
            if failures:
                undefined += 1
                smallest = smallest or (n, i, j, failures[0].position)
            elif j < n:
                reached += 1
                after = out[[made.coordinate(name) for name in DATA], j]
                wrong += not np.array_equal(after, data[::-1, i])
    return Linear(runs, undefined, smallest, wrong, reached)


def who_is_corrupted(
    format: Format, source: int, target: int, length: int, build: Builder = primitives.linear
) -> list[str]:
    """What each position has become after h_j ← M h_i, over 200 random streams."""
    data = random_data(format, 2, length, 200)
    made = build(carrier(format, 2, length), SWAP, source, target)
    out, failures = push(made, stream(made, data))
    undefined = {failure.position for failure in failures.values()}
    after = out[[made.coordinate(name) for name in DATA]]
    moved = data[::-1, source]

    def verdict(p: int) -> str:
        total = _rounded_sum(format, data[:, p], moved)
        candidates = {"M h_i": moved, "h": data[:, p], "h + M h_i": total}
        found = [name for name, expected in candidates.items() if np.array_equal(after[:, p], expected)]
        return "0/0" if p in undefined else found[0] if found else "something else"

    return [verdict(p) for p in range(length)]


def _rounded_sum(format: Format, x: Codes, y: Codes) -> Codes:
    total = np.vectorize(format.round, otypes=[object])(decode(x, format) + decode(y, format))
    return encode(total, format)


# Normalization -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kept:
    """Of the pairs (T_NO, T_SI) on which T is decisive, how many keep their answer, and what the others get."""

    decisive: int
    kept: int
    instead: str


NAMES = {-1: "TIE", -2: "0/0", 0: "NO", 1: "YES"}


def printed_zero_one(transformer: Transformer) -> Transformer:
    """0–1 normalization as printed, of inputs of one token: i = j = n = 1."""
    return normalization.zero_one(transformer, length=1)


def lengths_with_a_fixed_last(format: Format, last: int, longest: int) -> list[tuple[int, int, int]]:
    """0–1 normalization by a working h_n ← Θ h_n at one fixed n: for each length, (length, random streams, kept
    answers).

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


def yes_after(format: Format, normalized: Callable[[Transformer], Transformer]) -> int:
    """How many of all pairs T_SI > T_NO are answered YES after a normalization."""
    made = normalized(carrier(format, 2))
    out, _ = push(made, stream(made, rising_pairs(format)[:, None, :]))
    return int((answers(made, out[:, 0]) == 1).sum())


@dataclass(frozen=True)
class Comparison:
    """W_1's last row over all pairs: it should leave something positive where T_SI > T_NO, and 0 where T_NO > T_SI."""

    pairs: int
    wrong_if_yes: int
    wrong_if_no: int


def comparison(format: Format, d: int, columns: tuple[int, int] | None = None) -> Comparison:
    """The printed layer in d coordinates (columns: where −1 and 1 stand instead)."""
    made = carrier(format, d).replace(layers=(normalization.comparison(format, d, columns),))
    pairs = rising_pairs(format)

    def last(of: Codes) -> Codes:
        data = np.zeros((d, 1, of.shape[1]), np.int64)
        data[:2, 0] = of
        return push(made, data)[0][-1, 0]

    return Comparison(pairs.shape[1], int((last(pairs) <= 0).sum()), int((last(pairs[::-1]) != 0).sum()))


Normalized = Callable[[Transformer], Transformer]


def printed_infinity(transformer: Transformer, columns: tuple[int, int] | None = None) -> Transformer:
    """The printed steps over a linear transformation that works; `columns` mends the comparison."""
    names = transformer.coordinates

    def linear_map(of: Transformer, matrix: Any) -> Transformer:
        return linear.in_place(of, matrix, names)

    return normalization.infinity(transformer, linear_map, columns)


def answers_kept(format: Format, normalized: Normalized, d: int = 4) -> Kept:
    """Over all pairs of values (T_NO, T_SI) on which T is decisive, h = (T_NO, T_SI, 0, …) in d coordinates."""
    bench = carrier(format, d)
    made = normalized(bench)
    pairs, before = decisive_pairs(format)
    data = np.zeros((d, 1, pairs.shape[1]), np.int64)
    data[:2, 0] = pairs
    out, _ = push(made, stream(made, data))
    after = answers(made, out[:, 0])
    lost = sorted({NAMES[int(number)] for number in after[after != before]})
    return Kept(len(before), int((after == before).sum()), " ".join(lost))


def short_of_infinity(format: Format, d: int = 4) -> tuple[int, int]:
    """Of all pairs T_SI > T_NO, those after which the printed steps, the comparison mended, do not end in (1, ∞)."""
    made = printed_infinity(carrier(format, d), columns=(0, 1))
    pairs = rising_pairs(format)
    data = np.zeros((d, 1, pairs.shape[1]), np.int64)
    data[:2, 0] = pairs
    out, _ = push(made, stream(made, data))
    return int((out[1, 0] != format.max_code).sum()), pairs.shape[1]


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


# Flags, zeros, ignored coordinates ------------------------------------------------------------------------------------


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
    made = zero.by_saturation(bench, 0, ["h1"]) if replaced else primitives.make_zero(bench, "flag")
    added = primitives.add_vector(made, "flag", [1] + [0] * (made.width - 1))
    values = all_codes(format)
    after, later = (push(t, stream(t, values[None, None]))[0] for t in (made, added))
    h, flag, one = made.coordinate("h1"), made.coordinate("flag"), format.code(1)
    return Zeroed(
        len(values), int((after[h] == 0).sum()), int((after[flag] == one).sum()), int((later[h] == one).sum())
    )


def left_over(made: Transformer) -> dict[str, Fraction]:
    """Coordinates that are not 0 in the last vector at the end, the data being 0."""
    data = np.zeros((2, made.max_length, 1), np.int64)
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


def one_hot_is_exact(format: Format) -> bool:
    """Whether the printed head gives h_2 = [M h_1] with i = 1, j = 2, for M of 1, ½ and −1 and all values of a
    coordinate.
    """
    bench = carrier(format, 2, 3)
    matrix = [[1, Fraction(1, 2)], [0, -1]]
    made = bench.replace(
        coordinates=(*bench.coordinates, "at", "not"),
        layers=(Layer((primitives.linear_head(format, 4, matrix),)),),
        **{
            part: np.pad(getattr(bench, part), ((0, 0), (0, 2)))
            for part in ("token_embedding", "position_embedding", "output")
        },
    )
    h = random_data(format, 2, 3, 400)
    h[0, 1, : format.size] = all_codes(format)[:400]
    h[:, 2] = 0
    one = format.code(1)
    flags = np.array([[0, one, 0], [one, 0, one]])[:, :, None].repeat(400, axis=2)
    out, _ = push(made, np.concatenate([h, flags]))
    expected = bench.replace(output=encode(matrix, format))
    prepared = prepared_for(expected)
    product_ = prepared.arithmetic.codes(
        prepared.arithmetic.linear(prepared.output, prepared.arithmetic.values(h[:, 1:2]))
    )
    return bool(np.array_equal(out[:2, 2], product_[:, 0]))


def vectors_added(format: Format) -> str:
    """Of all vectors v = (v_1, 0), how many the printed layer adds exactly at the flag and nowhere else."""
    bench = primitives.embedding_with_flag(carrier(format, 1, 2), 1)
    right = 0
    for code in all_codes(format):
        made = primitives.add_vector(bench, "flag", [format.value(int(code)), 0])
        out, _ = push(made, stream(made, np.zeros((1, 2, 1), np.int64)))
        right += out[0, :, 0].tolist() == [0, int(code)]
    return f"{right} of {format.size}"


def flag_to_the_letter(format: Format, position: int) -> tuple[str, list[int]]:
    """The shortest input over 0 and 1 that θ'_TE, read to the letter, flags otherwise than at the position; its flags."""
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
