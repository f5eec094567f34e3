"""Laws of the label y given x ~ N(0, Λ), each with a sampler and its exact moments: what the risk theorem is tried on.

Most depend on x through s = ⟨w, x⟩ ~ N(0, v), v = wᵀΛw. For y = φ(s), Stein's lemma gives, with m1 = E[sφ]/v,
m2 = E[φ²], m4 = E[s²φ²],

    a = m1 w,      E[xxᵀy²] = m2 Λ + (m4 − v m2)/v² ΛwwᵀΛ,      floor = m2 − m1² v,      no noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from glyptic.arguments import Seed, checked
from glyptic.icl.names import Dimension
from glyptic.icl.theory.problem import Array, ProblemError, as_finite, as_square, non_negative
from glyptic.icl.theory.risk import Moments

Generator = np.random.Generator


@dataclass(frozen=True, eq=False)
class LabelLaw:
    """How labels come from inputs."""

    name: str
    mean: Callable[[Array], Array]
    """x (…, d) → f(x) = E[y|x] (…)."""
    sample: Callable[[Generator, Array], Array]
    """(rng, x (…, d)) → y (…)."""
    moments: Callable[[Array], Moments]
    """Λ → the exact a, Σ and floor."""


def linear(w: ArrayLike, noise_variance: float = 0.0) -> LabelLaw:
    """y = ⟨w, x⟩ + N(0, s²): Σ = (wᵀΛw + s²)Λ + ΛwwᵀΛ.

    >>> linear([1.0, 0.0], noise_variance=0.25).moments(np.eye(2)).xy_covariance
    array([[2.25, 0.  ],
           [0.  , 1.25]])
    """
    w, s2 = as_finite("w", w, (None,)), non_negative("noise variance s²", noise_variance)

    def sample(rng: Generator, x: Array) -> Array:
        return x @ w + np.sqrt(s2) * rng.standard_normal(x.shape[:-1])

    def moments(L: Array) -> Moments:
        return Moments(w, (w @ L @ w + s2) * L + np.outer(L @ w, L @ w), 0.0, s2)

    return LabelLaw("noisy linear" if s2 else "linear", lambda x: x @ w, sample, moments)


def heteroscedastic(w: ArrayLike, direction: ArrayLike) -> LabelLaw:
    """y = ⟨w, x⟩ + ⟨v, x⟩ ε, ε ~ N(0, 1): noise that grows along v; adds (vᵀΛv)Λ + 2ΛvvᵀΛ to Σ.

    >>> heteroscedastic([1.0, 0.0], [0.0, 1.0]).moments(np.eye(2)).noise_variance
    1.0
    """
    w, v = as_finite("w", w, (None,)), as_finite("direction", direction, (None,))

    def sample(rng: Generator, x: Array) -> Array:
        return x @ w + (x @ v) * rng.standard_normal(x.shape[:-1])

    def moments(L: Array) -> Moments:
        Lw, Lv = L @ w, L @ v
        sigma = (w @ Lw + v @ Lv) * L + np.outer(Lw, Lw) + 2 * np.outer(Lv, Lv)
        return Moments(w, sigma, 0.0, float(v @ Lv))

    return LabelLaw("heteroscedastic", lambda x: x @ w, sample, moments)


def quadratic(A: ArrayLike) -> LabelLaw:
    """y = xᵀAx: uncorrelated with x, so a = 0 and the model can only add variance to E y².

    >>> quadratic([[1.0, 0.0], [0.0, -1.0]]).moments(np.eye(2)).floor
    4.0
    """
    A = as_square("quadratic form A", A)

    def mean(x: Array) -> Array:
        return np.einsum("...i,ij,...j->...", x, A, x)

    def moments(L: Array) -> Moments:
        LA = L @ A
        trace, power = np.trace(LA), np.trace(LA) ** 2 + 2 * np.sum(LA * LA.T)
        return Moments(np.zeros(len(A)), power * L + 4 * trace * LA @ L + 8 * LA @ LA @ L, power)

    return LabelLaw("quadratic", mean, lambda rng, x: mean(x), moments)


def sign(w: ArrayLike) -> LabelLaw:
    """y = sign⟨w, x⟩: classification with labels ±1."""
    return _single_index("sign", w, np.sign, lambda v: (np.sqrt(2 / (np.pi * v)), 1.0, v))


def relu(w: ArrayLike) -> LabelLaw:
    """y = max(0, ⟨w, x⟩)."""
    return _single_index("relu", w, lambda s: np.maximum(s, 0), lambda v: (0.5, v / 2, 1.5 * v**2))


def cubic(w: ArrayLike) -> LabelLaw:
    """y = ⟨w, x⟩³: heavy tails, large Σ."""
    return _single_index("cubic", w, lambda s: s**3, lambda v: (3 * v, 15 * v**3, 105 * v**4))


def sine(w: ArrayLike) -> LabelLaw:
    """y = sin⟨w, x⟩."""

    def three(v: float) -> tuple[float, float, float]:
        fast = np.exp(-2 * v)
        return np.exp(-v / 2), (1 - fast) / 2, (v - (v - 4 * v**2) * fast) / 2

    return _single_index("sine", w, np.sin, three)


@checked
def standard_laws(d: Dimension, seed: Seed = 0) -> tuple[LabelLaw, ...]:
    """Eight laws with random directions of norm 1: what `glyptic icl risk` compares.

    >>> [law.name for law in standard_laws(3)][:3]
    ['linear', 'noisy linear', 'heteroscedastic']
    """
    rng = np.random.default_rng(seed)
    w, v = (direction / np.linalg.norm(direction) for direction in rng.standard_normal((2, d)))
    A = rng.standard_normal((d, d)) / d
    return (
        linear(w), linear(w, 0.25), heteroscedastic(w, v / 2),
        sign(w), relu(w), sine(w), cubic(w / 2), quadratic(A + A.T),
    )  # fmt: skip


def _single_index(
    name: str, w: ArrayLike, phi: Callable[[Array], Array], three: Callable[[float], tuple[float, float, float]]
) -> LabelLaw:
    """y = φ(⟨w, x⟩) with `three`: v → (E[sφ]/v, E[φ²], E[s²φ²])."""
    w = as_finite("w", w, (None,))
    if not np.any(w):
        raise ProblemError(f"w is 0, so that every label of the law {name} is that of 0: give w a nonzero entry.")

    def moments(L: Array) -> Moments:
        Lw = L @ w
        v = float(w @ Lw)
        m1, m2, m4 = three(v)
        sigma = m2 * L + ((m4 - v * m2) / v**2 - m1**2) * np.outer(Lw, Lw)
        return Moments(m1 * w, sigma, m2 - m1**2 * v)

    return LabelLaw(name, lambda x: phi(x @ w), lambda rng, x: phi(x @ w), moments)
