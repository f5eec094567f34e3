"""h_j ← M h_i as printed: where it is 0/0, who is corrupted; and that its head, where it is defined, is exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from glyptic.carve import linear
from glyptic.exact import Layer, Transformer
from glyptic.exact.running import prepared_for
from glyptic.notes import primitives
from glyptic.notes.bench import all_codes, carrier, push, random_data, stream
from glyptic.numbers import Codes, Format, decode, encode

SWAP = [[0, 1], [1, 0]]
DATA = ("h1", "h2")
Builder = Callable[[Transformer, Any, int, int], Transformer]


def linear_replacement(transformer: Transformer, matrix: Any, source: int, target: int) -> Transformer:
    return linear.between(transformer, matrix, i=source, j=target)


@dataclass(frozen=True)
class LinearRuns:
    """h_j ← M h_i over all i < j < 4 and all input lengths to 4."""

    runs: int
    undefined: int
    smallest: tuple[int, int, int, int] | None  # the input's length, i, j, and the position of 0/0
    wrong: int  # of the runs that are defined and reach j, those in which some h_j is not M h_i
    reached: int


def linear_runs(format: Format, build: Builder = primitives.linear, longest: int = 4) -> LinearRuns:
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
    return LinearRuns(runs, undefined, smallest, wrong, reached)


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


def one_hot_is_exact(format: Format) -> bool:
    """Whether the printed head gives h_2 = [M h_1] with i = 1, j = 2, for M of 1, ½ and −1 and all values of a coordinate."""
    bench = carrier(format, 2, 3)
    matrix = [[1, Fraction(1, 2)], [0, -1]]
    tokens, positions, output = (
        np.pad(codes, ((0, 0), (0, 2))) for codes in (bench.token_embedding, bench.position_embedding, bench.output)
    )
    made = bench.replace(
        coordinates=(*bench.coordinates, "at", "not"),
        layers=(Layer((primitives.linear_head(format, 4, matrix),)),),
        token_embedding=tokens,
        position_embedding=positions,
        output=output,
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
