"""What an arithmetic must offer for a transformer to run in it: the one interface behind every engine.

The forward pass (`glyptic.exact.forward`) is written once, over these operations. Implementations: `Reference`, in exact
fractions; `Fast`, compiled; and, in `glyptic.prove`, terms of a solver. Arrays have the shape (coordinates, positions, batch).
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, get_args

from glyptic.arguments import is_word, shown
from glyptic.errors import FormatError
from glyptic.numbers.codes import Codes
from glyptic.numbers.formats import AnyFormat

Array = Any
Products = Literal["rounded", "fused", "unrounded"]
Attention = Literal["softmax", "max-subtracted", "leftmost", "rightmost", "average"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
ACTIVATIONS: tuple[str, ...] = get_args(Activation)


def check_products(products: str, known: tuple[str, ...] = get_args(Products)) -> None:
    """A reading of inner products must be one that the arithmetic knows."""
    if not is_word(products, known):
        raise FormatError(f"products={shown(products)}: this arithmetic knows {', '.join(known)}.")


class Arithmetic(Protocol):
    """Operations on arrays of values of one format, every one rounded."""

    @property
    def format(self) -> AnyFormat: ...

    @property
    def products(self) -> Products: ...

    def values(self, codes: Codes) -> Array:
        """Values from codes, in the arithmetic's own representation."""

    def codes(self, values: Array) -> Codes:
        """Codes from values: the inverse."""

    def weights(self, codes: Codes) -> Any:
        """A matrix made ready for `linear`."""

    def linear(self, weights: Any, x: Array) -> Array:
        """W x: (m, k), (k, n, batch) -> (m, n, batch); each entry an inner product, summed left to right."""

    def add(self, x: Array, y: Array) -> Array:
        """[x + y], broadcasting."""

    def subtract(self, x: Array, y: Array) -> Array:
        """[x − y], broadcasting."""

    def multiply(self, x: Array, y: Array) -> Array:
        """[x · y], broadcasting."""

    def divide(self, x: Array, y: Array) -> Array:
        """[x / y], broadcasting; y is nowhere 0."""

    def divide_unless_zero(self, x: Array, y: Array) -> tuple[Array, Array]:
        """[x / y], broadcasting, and where y is 0: there the quotient means nothing."""

    def divide_by_count(self, x: Array, count: int) -> Array:
        """[x / count] for an integer that need not be in the format: the mean of a sum."""

    def root(self, x: Array) -> Array:
        """[√x]; x is nowhere negative."""

    def relu(self, x: Array) -> Array:
        """The larger of x and 0."""

    def activate(self, kind: Activation, x: Array) -> Array:
        """[f(x)], f an activation of feed-forwards (`activations`)."""

    def exp(self, x: Array) -> Array:
        """[exp x]."""

    def total(self, x: Array) -> Array:
        """sum(x_1, x_2, …) along the first axis, left to right: (k, …) -> (1, …)."""

    def scores(self, queries: Array, keys: Array, visible: Array) -> Array:
        """⟨q_i, k_j⟩ where visible[i, j]: (c, n_q, batch), (c, n_k, batch) -> (n_q, n_k, batch)."""

    def attention_weights(self, scores: Array, visible: Array, kind: Attention) -> tuple[Array, Array]:
        """The weights s_ij of (n_q, n_k, batch), and where the denominator is 0, of (n_q, batch)."""

    def mixture(self, weights: Array, values: Array, visible: Array) -> Array:
        """Σ_j s_ij v_j over the visible j in order: (n_q, n_k, batch), (c, n_k, batch) -> (c, n_q, batch)."""


def takes_at_once(arithmetic: Arithmetic) -> bool:
    """Whether an arithmetic takes several operations in one call: `affine`, and `attend`, which is all that a head does."""
    return hasattr(arithmetic, "affine")


def taken_at_once(arithmetic: Arithmetic, weights: Any, bias: Array | None, x: Array, relu: bool = False) -> Array:
    """[W x + b], or the larger of that and 0: in one go where an arithmetic has an `affine` that saves the arrays between."""
    if takes_at_once(arithmetic):
        return arithmetic.affine(weights, bias, x, relu)  # type: ignore[attr-defined]
    product = arithmetic.linear(weights, x)
    total = product if bias is None else arithmetic.add(product, bias)
    return arithmetic.activate("relu", total) if relu else total
