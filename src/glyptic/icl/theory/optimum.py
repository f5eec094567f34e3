"""Where training ends: the global minimum of the population loss, in closed form.

Flip the sign of w and of the label noise: the part of ŷ that is linear in b = (1/N) Σ y_i x_i flips, the rest does not,
and the target ⟨w, x_q⟩ flips. The cross term vanishes, so with X = p2 K + p1 kᵀ

    2L(θ) = E(bᵀXx_q − ⟨w, x_q⟩)² + E(the even part of ŷ)²,
    even part = p1ᵀ(Σx_ix_iᵀ/N)Kx_q + p2 (Σy_i²/N) kᵀx_q + (p1ᵀx_q)(x_qᵀKx_q)/N.

The first is a strictly convex quadratic of X with minimiser P* = C⁻¹ΛΨ, C = (1+1/N) ΛΨΛ + (tr(ΛΨ)+s²)/N · Λ; the second is zero
exactly if p2 k = 0 and one of p1, K is 0. So the minima are p1 = k = 0, p2 K = P*; and, only when Ψ (hence P*) has rank one, as
for d = 1, also p2 = 0, K = 0, p1 kᵀ = P*. If Ψ is invertible then P* = Γ⁻¹, which for Ψ = I, s = 0 is Zhang et al.'s Γ.
"""

from __future__ import annotations

import numpy as np

from glyptic.arguments import checked
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.problem import Array, Problem, ProblemError


@checked
def gamma(problem: Problem) -> Array:
    """Γ = (1+1/N) Λ + (tr(ΛΨ)+s²)/N · Ψ⁻¹, (d, d): the ridge-like matrix that the trained model inverts.

    >>> gamma(Problem([1.0, 0.5], N=10)).diagonal()           # 1.1 λ_i + 0.1 tr Λ
    array([1.25, 0.7 ])
    """
    if np.linalg.matrix_rank(problem.prior, hermitian=True) < problem.d:
        raise ProblemError("Γ needs an invertible prior Ψ: for a singular one use optimal_map, which is its limit.")
    N, tau = problem.N, problem.label_power
    return (1 + 1 / N) * problem.covariance + tau / N * np.linalg.inv(problem.prior)


@checked
def optimal_map(problem: Problem) -> Array:
    """P*, (d, d): the trained model predicts ŷ = bᵀP*x_q with b = (1/M) Σ y_i x_i. Symmetric; Γ⁻¹ if Ψ is invertible.

    >>> optimal_map(Problem([1.0, 0.5], N=10)).diagonal() * [1.25, 0.7]
    array([1., 1.])
    """
    N, tau = problem.N, problem.label_power
    # C⁻¹ΛΨ with Λ cancelled on the left: nothing is lost when Λ is ill-conditioned or Ψ singular.
    P = np.linalg.solve((1 + 1 / N) * problem.prior @ problem.covariance + tau / N * np.eye(problem.d), problem.prior)
    return (P + P.T) / 2


@checked
def optimal_blocks(problem: Problem) -> Blocks:
    """The minimum that the flow from Zhang et al.'s start reaches: p2 = ‖P*‖_F^½, K = P*/p2, so that p2² = ‖K‖²_F.

    For Ψ = I, s = 0 these are W^PV = [tr Γ⁻²]^(1/4) diag(0, 1) and W^KQ = [tr Γ⁻²]^(−1/4) diag(Γ⁻¹, 0).

    >>> blocks = optimal_blocks(Problem.isotropic(4, 10))
    >>> bool(np.isclose(blocks.p2 ** 4, 4 / 1.5 ** 2)), abs(blocks.balance) < 1e-12
    (True, True)
    """
    P = optimal_map(problem)
    p2 = np.sqrt(np.linalg.norm(P))
    return Blocks(np.zeros(problem.d), p2, P / p2, np.zeros(problem.d))


@checked
def minimum_loss(problem: Problem) -> float:
    """L* = ½ tr(ΛΨ − ΛΨΛP*), written as (1/2N) tr(Λ(ΨΛ + (tr ΛΨ + s²) I)P*) so that large N cancels nothing.

    >>> d, N = 5, 20
    >>> bool(np.isclose(2 * minimum_loss(Problem.isotropic(d, N)), d * (d + 1) / (N + d + 1)))
    True
    """
    L, tau = problem.covariance, problem.label_power
    rest = problem.prior @ L + tau * np.eye(problem.d)
    return float(np.trace(L @ rest @ optimal_map(problem)) / (2 * problem.N))


@checked
def curvature(problem: Problem) -> Array:
    """C = (1+1/N) ΛΨΛ + (tr(ΛΨ)+s²)/N · Λ, (d, d); with X = p2 K the loss is L* + ½ tr((X−P*)ᵀC(X−P*)Λ)."""
    L, N = problem.covariance, problem.N
    return (1 + 1 / N) * L @ problem.prior @ L + problem.label_power / N * L


@checked
def excess(problem: Problem, blocks: Blocks) -> float:
    """L(θ) − L* ≥ 0; free of cancellation when p1 = k = 0, so that 1e-20 is told from 1e-16.

    >>> problem = Problem([1.0, 0.5], N=10)
    >>> excess(problem, optimal_blocks(problem)) < 1e-30
    True
    """
    if blocks.d != problem.d:
        raise ProblemError(f"the weights have dimension {blocks.d}, but the covariance Λ has {problem.d}.")
    if np.any(blocks.p1) or np.any(blocks.k):
        return loss(problem, blocks) - minimum_loss(problem)
    difference = blocks.p2 * blocks.K - optimal_map(problem)
    return float(np.sum((curvature(problem) @ difference) * (difference @ problem.covariance)) / 2)
