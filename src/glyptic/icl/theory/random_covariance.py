"""Training when every prompt draws its own covariance Λ. It does not cure covariate shift, and here is by how much.

The best map over all prompts solves a linear equation, the average over Λ of what the optimum of one Λ solves:

    E[C_Λ P Λ] = E[ΛΨΛ],      C_Λ = (1+1/N) ΛΨΛ + (tr(ΛΨ)+s²)/N · Λ.

For Λ = diag(λ) with independent λ_i of moments m1, m2, m3 and Ψ = I, P = p·I with
p = m2 / ((1+1/N) m3 + (m3 + (d−1) m1 m2 + s² m2)/N). As N → ∞ p → m2/m3: for λ ~ Exp(1) that is 2/6, so on prompts
with Λ = I the model answers ⅓⟨w, x_q⟩ however long the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glyptic.arguments import Count
from glyptic.icl.theory.optimum import curvature
from glyptic.icl.theory.problem import (
    Array,
    Problem,
    ProblemError,
    as_finite,
    finite,
    length_or_limit,
    non_negative,
    positive_count,
)


def optimal_map_over(problems: Sequence[Problem]) -> Array:
    """P, (d, d), of the model trained on prompts from these problems in equal shares.

    >>> from glyptic.icl.theory.optimum import optimal_map
    >>> one = Problem([1.0, 0.5], N=10)
    >>> bool(np.allclose(optimal_map_over([one, one]), optimal_map(one)))
    True
    """
    if not all(isinstance(problem, Problem) for problem in problems):
        raise ProblemError("a mixture is a list of problems, of which each is a Problem.")
    if not problems or len({problem.d for problem in problems}) != 1:
        raise ProblemError("a mixture needs at least one problem, and all of the same dimension d.")
    d = problems[0].d
    matrix, signal = np.zeros((d * d, d * d)), np.zeros((d, d))
    for problem in problems:
        L = problem.covariance
        matrix += np.kron(curvature(problem), L)
        signal += L @ problem.prior @ L
    return np.asarray(np.linalg.solve(matrix, signal.ravel()).reshape(d, d), dtype=np.float64)


@dataclass(frozen=True)
class RandomDiagonal:
    """Λ = diag(λ) with d independent λ_i, known by their first three moments; Exp(1) by default.

    >>> round(RandomDiagonal(d=5).trained_map(10**9), 6)
    0.333333
    """

    d: int
    moments: tuple[float, float, float] = (1.0, 2.0, 6.0)
    """E λ, E λ², E λ³."""
    noise_variance: float = 0.0

    def __post_init__(self) -> None:
        Count(1, 1000)("d", self.d)
        non_negative("noise variance s²", self.noise_variance)
        m1, m2, m3 = as_finite("moments", self.moments, (3,))
        if not (np.isfinite(self.moments).all() and m1 > 0 and m2 >= m1**2 and m1 * m3 >= m2**2):
            raise ProblemError(f"no positive random variable has the moments {self.moments}: check E λ, E λ², E λ³.")

    def trained_map(self, N: int) -> float:
        """p: the model trained with N examples a prompt is ŷ = p ⟨b, x_q⟩."""
        return self.moments[1] / self._square(positive_count("training length N", N))

    def risk(self, p: float, M: float) -> float:
        """E(ŷ − ⟨w, x_q⟩)² of ŷ = p ⟨b, x_q⟩ on fresh prompts of this law with M examples.

        >>> exp = RandomDiagonal(d=5)
        >>> round(exp.risk(exp.trained_map(10**9), 10**9), 4)       # 5 (1 − 2²/6): it never learns, although M = ∞
        1.6667
        """
        m1, m2, _ = self.moments
        p = finite("map p", p)
        M = length_or_limit("test length M", M)
        return self.d * (m1 - 2 * p * m2 + p**2 * self._square(M))

    def _square(self, length: float) -> float:
        """E[e_iᵀbbᵀe_i λ_i]/λ-free part: (1+1/n) m3 + (m3 + (d−1) m1 m2 + s² m2)/n."""
        m1, m2, m3 = self.moments
        return (1 + 1 / length) * m3 + (m3 + (self.d - 1) * m1 * m2 + self.noise_variance * m2) / length
