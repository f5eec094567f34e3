"""What the convergence theorem of Zhang, Frei and Bartlett asks of the start, and what it promises along the way."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import ArrayLike

from glyptic.arguments import checked
from glyptic.icl.names import Sigma
from glyptic.icl.theory.loss import gradient
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import excess, gamma, optimal_map
from glyptic.icl.theory.problem import Array, Problem, ProblemError, as_finite


class AboveThreshold(UserWarning):
    """The start is larger than the theorem allows: the flow goes on, without its guarantee."""


@checked
def threshold(problem: Problem) -> float:
    """The largest σ of the theorem: σ²‖Γ‖_op √d < 2.

    >>> round(threshold(Problem.isotropic(4, 10)), 6)                      # Γ = 1.5 I: √(2/3)
    0.816497
    """
    return float(np.sqrt(2 / (np.linalg.norm(gamma(problem), 2) * np.sqrt(problem.d))))


@checked
def initial_blocks(problem: Problem, sigma: Sigma | None = None, theta: ArrayLike | None = None) -> Blocks:
    """W^PV = σ diag(0, 1), W^KQ = σ diag(ΘΘᵀ, 0), with ΘΘᵀ scaled to Frobenius norm 1.

    By default σ is half the theorem's threshold, and Θ = I.

    >>> initial_blocks(Problem.isotropic(4, 10), sigma=0.1).K.diagonal()
    array([0.05, 0.05, 0.05, 0.05])
    """
    whole = np.linalg.matrix_rank(problem.prior, hermitian=True) == problem.d
    if sigma is None:  # a singular Ψ has no Γ, and the theorem no threshold
        sigma = threshold(problem) / 2 if whole else float(np.sqrt(np.linalg.norm(optimal_map(problem)))) / 2
    outer = _outer(problem, theta)
    if whole and sigma >= threshold(problem):
        warnings.warn(
            f"σ = {sigma:g} is not below the theorem's threshold {threshold(problem):.4g} (σ²‖Γ‖√d < 2): "
            "the flow goes on, but its convergence is no longer guaranteed.",
            AboveThreshold,
            stacklevel=2,
        )
    zero = np.zeros(problem.d)
    return Blocks(zero, sigma, sigma * outer, zero)


def _outer(problem: Problem, theta: ArrayLike | None) -> Array:
    """ΘΘᵀ of Frobenius norm 1."""
    Theta = np.eye(problem.d) if theta is None else as_finite("Θ", theta, (problem.d, problem.d))
    if not np.any(Theta):
        raise ProblemError("Θ is zero, so ΘΛ = 0 and the theorem does not apply: give Θ a nonzero entry.")
    Theta = Theta / np.abs(Theta).max()
    outer = Theta @ Theta.T
    return np.asarray(outer / np.linalg.norm(outer))


@checked
def pl_ratio(problem: Problem, blocks: Blocks) -> float:
    """‖∇L‖² / (L − L*) at one point."""
    slope = gradient(problem, blocks).vector()
    above = excess(problem, blocks)
    return float(slope @ slope / above) if above > 0 else float("nan")


@checked
def pl_constant(problem: Problem, sigma: Sigma, theta: ArrayLike | None = None) -> float:
    """μ = σ²‖ΛΘ‖²_F (2 − √dσ²‖Γ‖) / (√d ‖Λ‖² tr(Γ⁻¹Λ⁻¹) tr(Λ⁻¹)), for Ψ = I; positive below the threshold.

    >>> 0 < pl_constant(Problem.isotropic(4, 10), sigma=0.1) < 1e-2
    True
    """
    if not np.allclose(problem.prior, np.eye(problem.d)):
        raise ProblemError("μ is stated for the prior Ψ = I only: change variables to w of covariance I first.")
    outer = _outer(problem, theta)
    L, G, root = problem.covariance, gamma(problem), np.sqrt(problem.d)
    above = sigma**2 * np.trace(L @ outer @ L) * (2 - root * sigma**2 * np.linalg.norm(G, 2))
    below = root * np.linalg.norm(L, 2) ** 2 * np.trace(np.linalg.inv(L @ G)) * np.trace(np.linalg.inv(L))
    return float(above / below)
