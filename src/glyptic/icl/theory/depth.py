"""L layers of sparse linear attention are exactly L steps of preconditioned gradient descent on the prompt.

Take W^PV = diag(0, 1) and W^KQ = diag(−A_l, 0) in layer l, and let no token attend to the query. The inputs never change; the
label row does: with R(w) = (1/2n) Σ (⟨w, x_i⟩ − y_i)², w_0 = 0 and w_{l+1} = w_l − A_l ∇R(w_l), by induction

    label of token i after l layers = y_i − ⟨w_l, x_i⟩,       label of the query = −⟨w_l, x_q⟩,

since a layer adds −(1/n) Σ_i (y_i − ⟨w_l, x_i⟩) x_iᵀA_l x_j = ∇R(w_l)ᵀA_l x_j to token j (A_l symmetric). The
prediction is minus the query's label. If the query is attended to, layer 2 already differs: its label is no longer 0.

For x ~ N(0, I), w ~ N(0, I) and scalar steps A_l = a_l I the error is p(S)w and a part of the noise, S = XᵀX/N,
p(s) = Π(1 − a_l s). So p has degree L and p(0) = 1, and with q(s) = (1 − p(s))/s the risk, E tr p(S)² + (s²/N) E tr q(S)²S,
is a quadratic of p's coefficients whose own coefficients are moments E tr S^k, k ≤ 2L, exact by `wishart_moments`. Its minimum is
a linear system in fractions; p is orthogonal with respect to a positive measure, hence its roots are real and positive, and the
best steps are their inverses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from glyptic.arguments import Count, checked
from glyptic.icl.names import Dimension, Length, Variance
from glyptic.icl.theory.lsa import Blocks, linear_attention, prompt
from glyptic.icl.theory.problem import Array, ProblemError, as_square


@checked
def wishart_moments(d: Dimension, N: Length, highest: Annotated[int, Count(0, 24)]) -> tuple[int, ...]:
    """E tr W^k for k = 0 … highest, of a Wishart matrix W = XᵀX, X of N rows from N(0, I_d): by a recursion in whole numbers.

    Write t_k = tr W^k (t_0 = d) and let F be a product of such traces. Integrating by parts over every entry of X (Stein),

        E[t_k F] = (N + k − 1) E[t_{k−1} F] + Σ_{j=0}^{k−2} E[t_{j+1} t_{k−2−j} F] + Σ_{t_m in F} 2m E[t_{k+m−1} F/t_m],

    since ∂W/∂X_ia = e_a x_iᵀ + x_i e_aᵀ. Every term on the right has a degree less by one, so it ends.

    >>> wishart_moments(1, 5, 3)                                             # χ² with 5 degrees: 5, 5·7, 5·7·9
    (1, 5, 35, 315)
    >>> wishart_moments(3, 10, 2)                                            # d, dN, dN(N + d + 1)
    (3, 30, 420)
    """

    @cache
    def mean(powers: tuple[int, ...]) -> int:
        """E of the product of t_k over the powers, which are sorted and above 0."""
        if not powers:
            return 1
        *rest, k = powers
        total = (N + k - 1) * product(rest, k - 1)
        total += sum(product(rest, j + 1, k - 2 - j) for j in range(k - 1))
        return total + sum(2 * m * product([*rest[:i], *rest[i + 1 :]], k + m - 1) for i, m in enumerate(rest))

    def product(rest: list[int], *more: int) -> int:
        powers = sorted(power for power in (*rest, *more) if power)
        return d ** (len(rest) + len(more) - len(powers)) * mean(tuple(powers))

    return tuple(product([], k) for k in range(highest + 1))


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


@dataclass(frozen=True)
class BestDescent:
    """The best L-step gradient descent for x ~ N(0, I), w ~ N(0, I) and N examples."""

    steps: tuple[float, ...]
    """a_1 … a_L, largest first."""
    risk: float
    """E(ŷ − ⟨w, x_q⟩)²."""


@checked
def best_descent(d: Dimension, N: Length, layers: Annotated[int, Count(1, 12)], noise_variance: Variance = 0.0) -> BestDescent:
    """Its steps and its risk, exactly: nothing is sampled, and fractions are rounded only at the end.

    >>> best_descent(5, 20, layers=1)                                        # one step: 1/γ, and d(d+1)/(N+d+1) = 30/26
    BestDescent(steps=(0.7692307692307693,), risk=1.1538461538461537)
    """
    moments = [Fraction(m, N**k) for k, m in enumerate(wishart_moments(d, N, 2 * layers))]
    drag = Fraction(noise_variance) / N
    powers = range(1, layers + 1)
    matrix = [[moments[j + k] + drag * moments[j + k - 1] for k in powers] for j in powers]
    coefficients = _solved(matrix, [-moments[j] for j in powers])
    risk = moments[0] + sum(c * moments[j] for c, j in zip(coefficients, powers, strict=True))
    roots = np.roots([1.0, *map(float, coefficients)])  # of sᴸp(1/s): the steps themselves
    return BestDescent(tuple(sorted(roots.real.tolist(), reverse=True)), float(risk))


def _solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss's elimination in fractions. The matrix is that of products of independent powers of S: no pivot is zero."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i, pivot in enumerate(rows):
        for j, row in enumerate(rows):
            if j != i and row[i]:
                factor = row[i] / pivot[i]
                rows[j] = [a - factor * b for a, b in zip(row, pivot, strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def _checked(preconditioners: Sequence[ArrayLike], d: int) -> list[Array]:
    if len(preconditioners) == 0:
        raise ProblemError("no preconditioner was given: L layers take L of them, d × d each.")
    return [as_square("preconditioner A", A, d) for A in preconditioners]
