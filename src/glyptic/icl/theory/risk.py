"""The risk of the trained model on any law of (x, y) with x ~ N(0, Λ), split into its three causes.

The trained model predicts ŷ = x_qᵀP*b with b = (1/M) Σ y_i x_i. With f(x) = E[y|x], a = Λ⁻¹E[xy] and Σ = Cov(xy),

    E(ŷ − f(x_q))²  =  min_w E(⟨w, x⟩ − f(x))²    floor: what no linear predictor can do
                     + (1/M) tr(ΣP*ΛP*)            variance: the test context is short
                     + ‖(P*Λ − I)a‖²_Λ             bias: the training contexts were short

A risk of this room never counts the noise of the query's own label. The theorem's E(ŷ − y)² does: it is larger by E Var(y|x),
which no predictor changes and which `Risk.noise_variance` holds.

Since P*Λ − I = −(1/N) P*(Λ + (tr(ΛΨ)+s²)Ψ⁻¹), the bias falls as 1/N², the variance as 1/M. For Ψ = I, s = 0 the bias is
the theorem's (1/N²)[‖a‖²_{Γ⁻²Λ³} + 2tr(Λ)‖a‖²_{Γ⁻²Λ²} + tr(Λ)²‖a‖²_{Γ⁻²Λ}].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from glyptic.arguments import checked
from glyptic.icl.theory.optimum import optimal_map
from glyptic.icl.theory.problem import (
    Array,
    Problem,
    ProblemError,
    as_finite,
    as_square,
    length_or_limit,
    non_negative,
    require_definite,
    require_semidefinite,
)
from glyptic.showing import Showing


@dataclass(frozen=True, eq=False)
class Moments:
    """All that the risk needs to know of a law of (x, y)."""

    a: Array
    """(d,): Λ⁻¹E[xy], the best linear predictor."""
    xy_covariance: Array
    """(d, d): Cov(xy)."""
    floor: float
    """min_w E(⟨w, x⟩ − f(x))² = E f² − aᵀΛa, f(x) = E[y|x]."""
    noise_variance: float = 0.0
    """E Var(y|x): what even f(x) misses of y."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", as_finite("a", self.a, (None,)))
        object.__setattr__(self, "xy_covariance", as_square("covariance Σ of xy", self.xy_covariance, len(self.a)))
        object.__setattr__(self, "floor", non_negative("floor min_w E(⟨w,x⟩−f(x))²", self.floor))
        object.__setattr__(self, "noise_variance", non_negative("noise variance E Var(y|x)", self.noise_variance))
        require_semidefinite("covariance Σ of xy", self.xy_covariance)
        if max(np.abs(self.a).max(initial=0), np.abs(self.xy_covariance).max()) > 1e100:
            raise ProblemError("the moments are above 1e100: change the units, so that they are near 1.")


@dataclass(frozen=True)
class Risk(Showing):
    """E(ŷ − f(x_q))² and its three parts; beside it the noise of the query's label, which is no part of it."""

    floor: float
    variance: float
    bias: float
    noise_variance: float = 0.0

    @property
    def total(self) -> float:
        """The risk."""
        return self.floor + self.variance + self.bias

    @property
    def with_noise(self) -> float:
        """E(ŷ − y)², as Zhang et al. state it."""
        return self.total + self.noise_variance


@checked
def risk(problem: Problem, moments: Moments, M: float) -> Risk:
    """The theorem; `M` is M, and `float("inf")` gives the limit of long test contexts.

    >>> problem = Problem.isotropic(2, N=18)                  # Γ = (1 + 3/18) I
    >>> noiseless = Moments(a=[1, 0], xy_covariance=[[2, 0], [0, 1]], floor=0)     # y = x_1
    >>> parts = risk(problem, noiseless, M=30)
    >>> round(parts.variance * 30 / 3 * (7 / 6) ** 2, 12), round(parts.bias * 7 ** 2, 12), parts.floor
    (1.0, 1.0, 0.0)
    """
    if len(moments.a) != problem.d:
        raise ProblemError(f"the moments have dimension {len(moments.a)}, but the covariance Λ has {problem.d}.")
    M = length_or_limit("test length M", M)
    P, L = optimal_map(problem), problem.covariance
    lack = P @ L @ moments.a - moments.a
    variance = np.sum(moments.xy_covariance * (P @ L @ P)) / M
    return Risk(moments.floor, float(variance), float(lack @ L @ lack), moments.noise_variance)


@checked
def theorem_bias(problem: Problem, a: ArrayLike) -> float:
    """The bias as Zhang et al. print it, three weighted norms over N²; for Ψ = I. A second road to `risk(…).bias`.

    >>> problem, a = Problem([1.0, 0.5], N=9), np.array([1.0, -2.0])
    >>> same = risk(problem, Moments(a, np.eye(2), 0.0), 7).bias
    >>> bool(np.isclose(theorem_bias(problem, a), same, rtol=1e-13))
    True
    """
    if not np.allclose(problem.prior, np.eye(problem.d)):
        raise ProblemError("the theorem's three norms are stated for the prior Ψ = I: use risk(…).bias.")
    a, L, tau, P = as_finite("a", a, (problem.d,)), problem.covariance, problem.label_power, optimal_map(problem)
    P2 = P @ P
    norms = [float(a @ P2 @ np.linalg.matrix_power(L, power) @ a) for power in (3, 2, 1)]
    return (norms[0] + 2 * tau * norms[1] + tau**2 * norms[2]) / problem.N**2


def estimate_moments(x: ArrayLike, y: ArrayLike, covariance: ArrayLike | None = None) -> Moments:
    """The moments of a sample, x (n, d) and y (n,), for a law that has no formula; Λ known or estimated too.

    A sample does not tell noise from what is not linear: both are in its floor, min_w E(⟨w, x⟩ − y)², and the noise is 0.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100_000, 2))
    >>> estimate_moments(x, np.sign(x[:, 0])).a.round(2)                   # √(2/π) e_1
    array([ 0.8, -0. ])
    """
    x = as_finite("x", x, (None, None))
    y = as_finite("y", y, (len(x),))
    if len(x) <= x.shape[1]:
        raise ProblemError(f"{len(x)} examples cannot estimate moments in dimension {x.shape[1]}: give more than d.")
    L = x.T @ x / len(x) if covariance is None else as_square("covariance Λ", covariance, x.shape[1])
    require_definite("covariance Λ of x", L)
    xy = x * y[:, None]
    mean = xy.mean(axis=0)
    a = np.linalg.solve(L, mean)
    return Moments(a, xy.T @ xy / len(x) - np.outer(mean, mean), max(float(y @ y / len(x) - a @ L @ a), 0.0))


def slope(lengths: ArrayLike, values: ArrayLike) -> float:
    """The exponent of a power law, by least squares on logarithms.

    >>> round(slope([10, 100, 1000], [1e-2, 1e-4, 1e-6]), 12)
    -2.0
    """
    lengths, values = as_finite("lengths", lengths, (None,)), as_finite("values", values, (None,))
    if len(lengths) != len(values) or len(lengths) < 2 or min(lengths.min(), values.min()) <= 0:
        raise ProblemError("a slope needs two or more positive lengths and as many positive values.")
    return float(np.polyfit(np.log(lengths), np.log(values), 1)[0])
