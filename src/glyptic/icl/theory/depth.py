"""L layers of sparse linear attention are exactly L steps of preconditioned gradient descent on the prompt.

Take W^PV = diag(0, 1) and W^KQ = diag(−A_l, 0) in layer l, and let no token attend to the query. The inputs never
change; the label row does: with R(w) = (1/2n) Σ (⟨w, x_i⟩ − y_i)², w_0 = 0 and w_{l+1} = w_l − A_l ∇R(w_l), by
induction

    label of token i after l layers = y_i − ⟨w_l, x_i⟩,       label of the query = −⟨w_l, x_q⟩,

since a layer adds −(1/n) Σ_i (y_i − ⟨w_l, x_i⟩) x_iᵀA_l x_j = ∇R(w_l)ᵀA_l x_j to token j (A_l symmetric). The
prediction is minus the query's label. If the query is attended to, layer 2 already differs: its label is no longer 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from glyptic.icl.theory.lsa import Blocks, linear_attention, prompt
from glyptic.icl.theory.problem import Array, ProblemError, as_square


def sparse_lsa(x: ArrayLike, y: ArrayLike, x_query: ArrayLike, preconditioners: Sequence[ArrayLike]) -> Array:
    """The prediction of L layers of linear attention, run layer by layer on the prompt matrix.

    >>> x, y, x_q = np.eye(2), np.array([1.0, 2.0]), np.array([1.0, 1.0])
    >>> float(sparse_lsa(x, y, x_q, [np.eye(2), np.eye(2)]))            # w: 0 → (½, 1) → (¾, 3/2)
    2.25
    """
    E = prompt(x, y, x_query)
    d = E.shape[-2] - 1
    for A in _checked(preconditioners, d):
        W_pv, W_kq = Blocks(np.zeros(d), 1.0, -A, np.zeros(d)).matrices()
        E = linear_attention(E, W_pv, W_kq, attend_query=False)
    return -E[..., -1, -1]


def preconditioned_gd(x: ArrayLike, y: ArrayLike, x_query: ArrayLike, preconditioners: Sequence[ArrayLike]) -> Array:
    """⟨w_L, x_q⟩ after w ← w − A_l ∇R(w), l = 1 … L, from w = 0: least squares by gradient descent.

    >>> x, y, x_q = np.eye(2), np.array([1.0, 2.0]), np.array([1.0, 1.0])
    >>> float(preconditioned_gd(x, y, x_q, [np.eye(2), np.eye(2)]))
    2.25
    """
    prompt(x, y, x_query)  # the same checks as the model's
    x, y, x_query = (np.asarray(part, dtype=np.float64) for part in (x, y, x_query))
    w = np.zeros_like(x_query)
    for A in _checked(preconditioners, x.shape[-1]):
        residual = np.einsum("...nd,...d->...n", x, w) - y
        slope = np.einsum("...nd,...n->...d", x, residual) / x.shape[-2]
        w = w - slope @ A
    return np.einsum("...d,...d->...", w, x_query)


def _checked(preconditioners: Sequence[ArrayLike], d: int) -> list[Array]:
    if len(preconditioners) == 0:
        raise ProblemError("no preconditioner was given: L layers take L of them, d × d each.")
    return [as_square("preconditioner A", A, d) for A in preconditioners]
