"""The risk of the trained model on any law of (x, y) with x ~ N(0, Λ), split into its three causes.

The trained model predicts ŷ = x_qᵀP*b with b = (1/M) Σ y_i x_i. With a = Λ⁻¹E[xy] and Σ = Cov(xy),

    E(ŷ − y)²  =  min_w E(⟨w, x⟩ − y)²          floor: what no linear predictor can do
                + (1/M) tr(ΣP*ΛP*)               variance: the test context is short
                + ‖(P*Λ − I)a‖²_Λ                bias: the training contexts were short

Since P*Λ − I = −(1/N) P*(Λ + (tr(ΛΨ)+s²)Ψ⁻¹), the bias falls as 1/N², the variance as 1/M. For Ψ = I, s = 0 the bias is
the theorem's (1/N²)[‖a‖²_{Γ⁻²Λ³} + 2tr(Λ)‖a‖²_{Γ⁻²Λ²} + tr(Λ)²‖a‖²_{Γ⁻²Λ}].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from glyptic.icl.theory.optimum import optimal_map
from glyptic.icl.theory.problem import (
    Array,
    Problem,
    ProblemError,
    as_finite,
    as_square,
    non_negative,
    positive_count,
    require_definite,
)


@dataclass(frozen=True, eq=False)
class Moments:
    """All that the risk needs to know of a law of (x, y)."""

    a: Array
    """(d,): Λ⁻¹E[xy], the best linear predictor."""
    sigma: Array
    """(d, d): Cov(xy)."""
    floor: float
    """min_w E(⟨w, x⟩ − y)² = E y² − aᵀΛa."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", as_finite("a", self.a, (None,)))
        object.__setattr__(self, "sigma", as_square("covariance Σ of xy", self.sigma, len(self.a)))
        object.__setattr__(self, "floor", non_negative("floor min_w E(⟨w,x⟩−y)²", self.floor))


@dataclass(frozen=True)
class Risk:
    """E(ŷ − y)² and its three parts."""

    floor: float
    variance: float
    bias: float

    @property
    def total(self) -> float:
        return self.floor + self.variance + self.bias


def risk(problem: Problem, moments: Moments, test_length: float) -> Risk:
    """The theorem; `test_length` is M, and `float("inf")` gives the limit of long test contexts.

    >>> problem = Problem.isotropic(2, context_length=18)                  # Γ = (1 + 3/18) I
    >>> noiseless = Moments(a=[1, 0], sigma=[[2, 0], [0, 1]], floor=0)     # y = x_1
    >>> parts = risk(problem, noiseless, test_length=30)
    >>> round(parts.variance * 30 / 3 * (7 / 6) ** 2, 12), round(parts.bias * 7 ** 2, 12), parts.floor
    (1.0, 1.0, 0.0)
    """
    if len(moments.a) != problem.d:
        raise ProblemError(f"the moments have dimension {len(moments.a)}, but the covariance Λ has {problem.d}.")
    M = test_length if test_length == np.inf else positive_count("test context length M", test_length)
    P, L = optimal_map(problem), problem.covariance
    lack = P @ L @ moments.a - moments.a
    variance = np.sum(moments.sigma * (P @ L @ P)) / M
    return Risk(moments.floor, float(variance), float(lack @ L @ lack))


def theorem_bias(problem: Problem, a: ArrayLike) -> float:
    """The bias as Zhang et al. print it, three weighted norms over N²; for Ψ = I. A second road to `risk(…).bias`.

    >>> problem, a = Problem([1.0, 0.5], context_length=9), np.array([1.0, -2.0])
    >>> same = risk(problem, Moments(a, np.eye(2), 0.0), 7).bias
    >>> bool(np.isclose(theorem_bias(problem, a), same, rtol=1e-13))
    True
    """
    if not np.allclose(problem.prior, np.eye(problem.d)):
        raise ProblemError("the theorem's three norms are stated for the prior Ψ = I: use risk(…).bias.")
    a, L, tau, P = as_finite("a", a, (problem.d,)), problem.covariance, problem.label_power, optimal_map(problem)
    P2 = P @ P
    norms = [float(a @ P2 @ np.linalg.matrix_power(L, power) @ a) for power in (3, 2, 1)]
    return (norms[0] + 2 * tau * norms[1] + tau**2 * norms[2]) / problem.context_length**2


def estimate_moments(x: ArrayLike, y: ArrayLike, covariance: ArrayLike | None = None) -> Moments:
    """The moments of a sample, x (n, d) and y (n,), for a law that has no formula; Λ known or estimated too.

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
    return float(np.polyfit(np.log(as_finite("lengths", lengths)), np.log(as_finite("values", values)), 1)[0])
