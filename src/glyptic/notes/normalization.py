"""*Normalización de transformers* (23 September 2025) as printed: 0–1 and ∞.

The notes lean on "applying a linear transformation to a vector". `zero_one` uses the one that they print; `infinity`
takes it as an argument, so that each printed step can be tried beside a linear transformation that works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glyptic.errors import ModelError
from glyptic.exact.transformer import Transformer
from glyptic.exact.weights import FeedForward, Layer
from glyptic.notes.primitives import linear
from glyptic.numbers import AnyFormat, decode, encode

LinearMap = Callable[[Transformer, Any], Transformer]  # h ← M h, in place


def zero_one(transformer: Transformer, length: int) -> Transformer:
    """0–1 normalization: h_n ← Θ' h_n with n = `length` fixed, Θ' the output matrix extended by zeros; output (1 0 …), (0 1 …).
    """
    d = transformer.width
    extended = np.zeros((d, d), dtype=object)
    extended[: len(transformer.answers)] = decode(transformer.output, transformer.format)
    moved = linear(transformer, extended, source=length - 1, target=length - 1)
    return moved.replace(output=projection(moved))


def infinity(transformer: Transformer, linear_map: LinearMap, columns: tuple[int, int] | None = None) -> Transformer:
    """∞-normalization of a 0–1 normalized transformer, h = (T_NO, T_SI, 0, …).

    Compare, clear the first two coordinates, move the last to the second, multiply by ∞ twice, and add (1, 0, …).
    `columns` is for the comparison.
    """
    format, d = transformer.format, transformer.width
    if d < 3:
        raise ModelError(f"the printed steps move the last coordinate to the second, which needs d ≥ 3; here d = {d}.")
    done = then(transformer, comparison(format, d, columns))
    without_first_two = np.diag([0, 0] + [1] * (d - 2))
    permutation = np.eye(d, dtype=int)[[0, d - 1, *range(2, d - 1), 1]]
    times_infinity = np.where(np.eye(d, dtype=bool), "B", "0")
    for matrix in (without_first_two, permutation, times_infinity, times_infinity):
        done = linear_map(done, matrix)
    return then(done, one_in_the_first(format, done.width)).replace(output=projection(done))


def comparison(format: AnyFormat, d: int, columns: tuple[int, int] | None = None) -> Layer:
    """W_2 = Id, b_1 = b_2 = 0, and W_1 all zeros but −1, 1 in the last row's last two columns (or others)."""
    w1 = np.zeros((d, d), int)
    w1[-1, list(columns or (d - 2, d - 1))] = -1, 1
    return Layer((), FeedForward.of(format, w1, np.zeros(d), np.eye(d), np.zeros(d)))


def one_in_the_first(format: AnyFormat, d: int) -> Layer:
    """W_1 = W_2 = Id, b_1 = 0, b_2 = (1, 0, …, 0)."""
    return Layer((), FeedForward.of(format, np.eye(d), np.zeros(d), np.eye(d), [1] + [0] * (d - 1)))


def projection(transformer: Transformer) -> np.ndarray:
    """The output matrix of both normalizations: the first unit rows, one for each answer."""
    if transformer.output_bias is not None:
        raise ModelError("output_bias is a part that the notes' transformers do not have; their constructions say nothing of it.")
    return encode(np.eye(len(transformer.answers), transformer.width), transformer.format, "output")


def then(transformer: Transformer, *layers: Layer) -> Transformer:
    """More layers at the end."""
    return transformer.replace(layers=transformer.layers + layers)
