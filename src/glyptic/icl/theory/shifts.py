"""One formula for every shift between training and test.

The trained model is ŷ = bᵀPx_q with b = (1/M) Σ y_i x_i, whatever it is shown. Let the test prompts have context inputs
N(0, Λ'), a query of second moment Λ_q independent of them, tasks of second moment W = E wwᵀ, label noise s²: then

    E(ŷ − ⟨w, x_q⟩)² = tr(Λ_q (PᵀΛ' − I) W (PᵀΛ' − I)ᵀ) + (1/M) tr(PΛ_qPᵀΣ'),   Σ' = tr(Λ'W)Λ' + Λ'WΛ' + s²Λ'.

The first part stays for M → ∞: zero-ish if Λ' = Λ whatever the query and the task, large as soon as Λ' ≠ Λ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from glyptic.arguments import Seed, checked
from glyptic.icl.theory.problem import (
    Array,
    Problem,
    as_finite,
    as_square,
    length_or_limit,
    non_negative,
    require_semidefinite,
)
from glyptic.showing import Showing


@dataclass(frozen=True, eq=False)
class Shift(Showing):
    """The law of the test prompts; singular matrices are welcome (a subspace, a fixed task)."""

    name: str
    context_covariance: Array
    """Λ', (d, d)."""
    query_moment: Array
    """Λ_q = E x_q x_qᵀ, (d, d)."""
    task_moment: Array
    """W = E wwᵀ, (d, d): wwᵀ for one task, Ψ for a prior."""
    noise_variance: float = 0.0

    def __post_init__(self) -> None:
        d = len(as_square("context covariance Λ'", self.context_covariance))
        for field, name in _MATRICES:
            matrix = as_square(name, getattr(self, field), d)
            require_semidefinite(name, matrix)
            object.__setattr__(self, field, matrix)
        object.__setattr__(self, "noise_variance", non_negative("noise variance s²", self.noise_variance))

    @property
    def signal_power(self) -> float:
        """E⟨w, x_q⟩² = tr(Λ_qW): the risk of always answering 0."""
        return float(np.sum(self.query_moment * self.task_moment))

    def sample(self, rng: np.random.Generator, prompts: int, M: int) -> tuple[Array, Array, Array, Array]:
        """x (prompts, M, d), y (prompts, M), x_q (prompts, d) and the target ⟨w, x_q⟩ (prompts,), all Gaussian."""
        d = len(self.task_moment)
        root_x, root_q, root_w = (_root(getattr(self, field)) for field, _ in _MATRICES)
        w = rng.standard_normal((prompts, d)) @ root_w
        x = rng.standard_normal((prompts, M, d)) @ root_x
        x_q = rng.standard_normal((prompts, d)) @ root_q
        y = np.einsum("pmd,pd->pm", x, w)
        if self.noise_variance:
            y += np.sqrt(self.noise_variance) * rng.standard_normal((prompts, M))
        return x, y, x_q, np.einsum("pd,pd->p", w, x_q)


_MATRICES = (
    ("context_covariance", "context covariance Λ'"),
    ("query_moment", "query moment Λ_q"),
    ("task_moment", "task moment W"),
)


@checked
def shifted_risk(P: ArrayLike, shift: Shift, M: float) -> float:
    """E(ŷ − ⟨w, x_q⟩)² of ŷ = bᵀPx_q under the shift, exactly; `M` is M, or `float("inf")`.

    >>> from glyptic.icl.theory.optimum import optimal_map
    >>> problem = Problem.isotropic(2, N=18)
    >>> scaled = Shift("twice as large", 4 * np.eye(2), 4 * np.eye(2), np.eye(2))
    >>> round(shifted_risk(optimal_map(problem), scaled, float("inf")), 6)       # 2 · 4 · (4 · 6/7 − 1)²
    47.183673
    """
    L, Q, W = shift.context_covariance, shift.query_moment, shift.task_moment
    P = as_finite("the model's map P", P, L.shape)
    M = length_or_limit("test length M", M)
    lack = P.T @ L - np.eye(len(L))
    sigma = (np.sum(L * W) + shift.noise_variance) * L + L @ W @ L
    return float(np.sum(Q * (lack @ W @ lack.T)) + np.sum((P @ Q @ P.T) * sigma) / M)


@checked
def standard_shifts(problem: Problem, seed: Seed = 0) -> tuple[Shift, ...]:
    """No shift and those that `glyptic icl shift` compares; the first five leave Λ alone, the last four do not.

    >>> [shift.name for shift in standard_shifts(Problem.isotropic(4, 20))][:3]
    ['none', 'one task, thrice as long', 'sparse tasks']
    """
    L, Psi, d, s2 = problem.covariance, problem.prior, problem.d, problem.noise_variance
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(d)
    w *= 3 * np.sqrt(np.trace(Psi)) / np.linalg.norm(w)
    half = np.diag((np.arange(d) < (d + 1) // 2).astype(float))
    rest = np.eye(d) - half
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    shifts = (
        Shift("none", L, L, Psi, s2),
        Shift("one task, thrice as long", L, L, np.outer(w, w), s2),
        Shift("sparse tasks", L, L, half @ Psi @ half, s2),
        Shift("queries thrice as large", L, 9 * L, Psi, s2),
        Shift("queries in half the space", L, rest @ L @ rest, Psi, s2),
        Shift("label noise + 1", L, L, Psi, s2 + 1),
        Shift("inputs half as large", L / 4, L / 4, Psi, s2),
        Shift("inputs twice as large", 4 * L, 4 * L, Psi, s2),
        Shift("inputs turned", turn @ L @ turn.T, turn @ L @ turn.T, Psi, s2),
        Shift("inputs in a subspace", half @ L @ half, L, Psi, s2),
    )
    return tuple(shift for shift in shifts if shift.signal_power > 0)  # in one dimension there is no half of the space


def _root(matrix: Array) -> Array:
    """The symmetric square root, also of a singular matrix."""
    eigenvalues, basis = np.linalg.eigh(matrix)
    return (basis * np.sqrt(np.maximum(eigenvalues, 0))) @ basis.T
