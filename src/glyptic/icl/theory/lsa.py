"""Linear self-attention, the model of the theory: softmax attention with the softmax removed.

    E = [ x_1 … x_n  x_q ]            f(E) = E + W^PV E · (Eᵀ W^KQ E) / ρ        ŷ = f(E)[last row, last column]
        [ y_1 … y_n   0  ]

ρ is the number of examples shown: N in training, M at test. Of the two (d+1)×(d+1) matrices the prediction reads only

    W^PV = [ ·    · ]      W^KQ = [ K   · ]      ŷ = [p1ᵀ p2] (E Eᵀ/ρ) [K; kᵀ] x_q
           [ p1ᵀ  p2]             [ kᵀ  · ]

and these four, (d+1)² numbers in all, are `Blocks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from glyptic.arguments import checked
from glyptic.icl.theory.problem import Array, ProblemError, as_finite
from glyptic.showing import Showing


@dataclass(frozen=True, eq=False)
class Blocks(Showing):
    """The weights that the prediction reads. Also the type of a gradient, which has the same four parts.

    >>> blocks = Blocks(p1=[0, 0], p2=2.0, K=[[1, 0], [0, 1]], k=[0, 0])
    >>> blocks.d, blocks.vector().shape
    (2, (9,))
    """

    p1: Array
    """(d,): how the value of a token reads its input x."""
    p2: Any
    """scalar: how the value of a token reads its label y."""
    K: Array
    """(d, d): the score between a context input (row) and the query (column)."""
    k: Array
    """(d,): the score between a context label and the query."""

    def __post_init__(self) -> None:
        # Complex numbers pass: the Hessian is the complex-step derivative of the gradient.
        if not np.iscomplexobj(self.K):
            K = as_finite("K", self.K)
            d = len(K) if K.ndim else 0
            object.__setattr__(self, "K", as_finite("K", K, (d, d)))
            object.__setattr__(self, "p1", as_finite("p1", self.p1, (d,)))
            object.__setattr__(self, "k", as_finite("k", self.k, (d,)))
            object.__setattr__(self, "p2", float(as_finite("p2", self.p2, ())))

    @property
    def d(self) -> int:
        return len(self.p1)

    @property
    def balance(self) -> float:
        """‖p‖² − ‖[K; kᵀ]‖²: constant along the flow, since the loss sees only products of p with K and k."""
        return float(self.p1 @ self.p1 + self.p2**2 - np.sum(self.K**2) - self.k @ self.k)

    def matrices(self) -> tuple[Array, Array]:
        """W^PV and W^KQ, (d+1, d+1) each, zero where the prediction does not look."""
        d = self.d
        W_pv, W_kq = np.zeros((d + 1, d + 1)), np.zeros((d + 1, d + 1))
        W_pv[d, :d], W_pv[d, d] = self.p1, self.p2
        W_kq[:d, :d], W_kq[d, :d] = self.K, self.k
        return W_pv, W_kq

    def vector(self) -> NDArray[Any]:
        """All (d+1)² numbers in a row: p1, p2, K by rows, k."""
        return np.concatenate([self.p1, [self.p2], self.K.ravel(), self.k])

    @staticmethod
    def from_vector(vector: NDArray[Any]) -> Blocks:
        d = round(len(vector) ** 0.5) - 1
        if (d + 1) ** 2 != len(vector):
            raise ProblemError(f"{len(vector)} numbers are not the (d+1)² weights of any d.")
        return Blocks(vector[:d], vector[d], vector[d + 1 : -d].reshape(d, d), vector[-d:])


def prompt(x: ArrayLike, y: ArrayLike, x_query: ArrayLike) -> Array:
    """E, (…, d+1, n+1), of inputs x (…, n, d), labels y (…, n) and a query (…, d), whose label slot is 0.

    >>> prompt([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0], [7.0, 8.0])
    array([[1., 3., 7.],
           [2., 4., 8.],
           [5., 6., 0.]])
    """
    x, y, x_query = as_finite("x", x), as_finite("y", y), as_finite("x_query", x_query)
    if x.ndim < 2 or x.shape[:-1] != y.shape or x.shape[:-2] + x.shape[-1:] != x_query.shape:
        raise ProblemError(
            f"the prompt's parts disagree: x {x.shape}, y {y.shape}, query {x_query.shape}; "
            "they have to be (…, n, d), (…, n) and (…, d)."
        )
    if x.shape[-2] == 0:
        raise ProblemError("the prompt shows no example (M = 0): the mean of y·x over none does not exist.")
    tokens = np.concatenate([x, y[..., None]], axis=-1)
    query = np.concatenate([x_query, np.zeros((*x_query.shape[:-1], 1))], axis=-1)
    return np.swapaxes(np.concatenate([tokens, query[..., None, :]], axis=-2), -1, -2)


@checked
def linear_attention(
    E: Array, W_pv: Array, W_kq: Array, rho: float | None = None, attend_query: bool = True
) -> Array:
    """One layer, E + W^PV E (Eᵀ W^KQ E)/ρ; ρ is the number of examples, n, unless given.

    Without `attend_query` no token reads the last one: Ahn et al.'s mask, which stacked layers need (see `depth`).

    >>> E = prompt([[1.0], [2.0]], [1.0, 2.0], [3.0])
    >>> W_pv, W_kq = Blocks(p1=[0], p2=1.0, K=[[0.4]], k=[0]).matrices()
    >>> round(float(linear_attention(E, W_pv, W_kq)[-1, -1]), 6)          # 0.4 · 3 · (1·1 + 2·2)/2
    3.0
    """
    if not E.shape[-2:-1] == W_pv.shape[:1] == W_pv.shape[1:] == W_kq.shape[:1] == W_kq.shape[1:]:
        raise ProblemError(f"E has shape {E.shape}, W^PV {W_pv.shape}, W^KQ {W_kq.shape}: their d + 1 have to agree.")
    rho = E.shape[-1] - 1 if rho is None else rho
    if not 0 < rho < np.inf:
        raise ProblemError(f"the layer divides by ρ = {rho}: show it at least one example, or give a positive ρ.")
    scores = np.swapaxes(E, -1, -2) @ W_kq @ E / rho
    values = W_pv @ E
    if not attend_query:
        values = np.concatenate([values[..., :-1], np.zeros_like(values[..., -1:])], axis=-1)
    return E + values @ scores


@checked
def predict(blocks: Blocks, x: ArrayLike, y: ArrayLike, x_query: ArrayLike) -> Array:
    """ŷ for a batch of prompts, by the short formula: (p·EEᵀ/n)·[K; kᵀ] x_q, O(n d) a prompt.

    >>> round(float(predict(Blocks(p1=[0], p2=1.0, K=[[0.4]], k=[0]), [[1.0], [2.0]], [1.0, 2.0], [3.0])), 6)
    3.0
    """
    E = prompt(x, y, x_query)
    if E.shape[-2] != blocks.d + 1:
        raise ProblemError(f"the prompt has dimension {E.shape[-2] - 1}, but the weights have dimension {blocks.d}.")
    values = np.concatenate([blocks.p1, [blocks.p2]]) @ E  # (…, n+1): each token's value
    keys = np.vstack([blocks.K, blocks.k]).T @ E  # (…, d, n+1): each token's score against a query direction
    summary = np.einsum("...dn,...n->...d", keys, values) / (E.shape[-1] - 1)
    return np.einsum("...d,...d->...", summary, np.asarray(x_query, dtype=np.float64))
