"""The loss as a function of p = (p1, p2) alone: ℓ(p) = min_W L(p, W), which has the critical points of L in d + 1 numbers.

For fixed p ≠ 0 the loss is a quadratic of W = [K; kᵀ], strictly convex if Ψ is invertible: ŷ vanishes for almost all prompts
only if its odd part does, X = p2 K + p1 kᵀ = 0, and its even part, p2 k = 0 and one of p1, K is 0; together W = 0. Hence

    L(p, W) = ½ WᵀA(p)W − b(p)ᵀW + ½ tr ΛΨ,      W(p) = A⁻¹b,      ℓ(p) = ½ tr ΛΨ − ½ bᵀA⁻¹b,

and (p, W), p ≠ 0, is critical for L exactly if W = W(p) and ∇ℓ(p) = 0. There ∇²ℓ is the Schur complement of A in ∇²L, so both
have the same number of negative eigenvalues (Sylvester): *the minima of L are those of ℓ*. Scaling p changes nothing, so ℓ
lives on a sphere of dimension d. If p = 0, a critical point is a saddle: the block of ∇²L for W is 0, the mixed one is not.

If Λ and Ψ are diagonal, changing the sign of a coordinate is a symmetry; at p1 = e_i all but two directions are odd under one,
so a point of the *axis* (cos φ e_i, sin φ) that is critical along the axis is critical for L.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, least_squares

from glyptic.icl.theory.problem import Array, Problem
from glyptic.icl.theory.quartic import Quartic


@dataclass(frozen=True, eq=False)
class Profile:
    """ℓ of one problem.

    >>> from glyptic.icl.theory.optimum import minimum_loss
    >>> problem = Problem([1.0, 0.5], 10)
    >>> bool(np.isclose(Profile.of(problem).loss(np.array([0.0, 0.0, 1.0])), minimum_loss(problem)))     # p1 = 0
    True
    """

    quartic: Quartic

    @staticmethod
    def of(problem: Problem) -> Profile:
        return Profile(Quartic.of(problem))

    def weights(self, p: Array) -> Array:
        """(p, W(p)) in the order of `Blocks.vector`."""
        return np.concatenate([p, np.linalg.solve(self._curvature(p), p @ self.quartic.signal)])

    def loss(self, p: Array) -> float:
        """ℓ(p)."""
        signal = p @ self.quartic.signal
        return float(self.quartic.constant - signal @ np.linalg.solve(self._curvature(p), signal) / 2)

    def gradient(self, p: Array) -> Array:
        """∇ℓ(p) = ∂L/∂p at (p, W(p)), (d + 1,)."""
        return self.quartic.gradient(self.weights(p)[None])[0, : len(p)]

    def hessian(self, p: Array) -> Array:
        """∇²ℓ(p), (d + 1, d + 1): the Schur complement."""
        whole, m = self.quartic.hessian(self.weights(p)), len(p)
        mixed = whole[:m, m:]
        return whole[:m, :m] - mixed @ np.linalg.solve(whole[m:, m:], mixed.T)

    def critical_near(self, p: Array) -> Array | None:
        """A unit vector with ∇ℓ = 0, by Levenberg–Marquardt from here; None if it finds none."""

        def off(q: Array) -> Array:
            return np.append(self.gradient(q) / self.quartic.constant, q @ q - 1)

        def slope(q: Array) -> Array:
            return np.vstack([self.hessian(q) / self.quartic.constant, 2 * q])

        found = least_squares(off, p / np.linalg.norm(p), jac=slope, method="lm", xtol=1e-15, ftol=1e-15, max_nfev=200)
        return found.x if np.linalg.norm(found.fun) < 1e-10 else None

    def along(self, axis: Array, angles: Array) -> Array:
        """ℓ at (cos φ · axis, sin φ) for every angle φ: from all signal through p1·k (0) to all through p2·K (π/2)."""
        return np.array([self.loss(_at(axis, angle)) for angle in angles])

    def critical_on(self, axis: Array, grid: int = 400) -> list[Array]:
        """The unit vectors (cos φ · axis, sin φ), 0 < φ < π/2, at which ℓ is critical along the axis: sign changes of dℓ/dφ."""
        # Small p2 is where the points of large N are (tan² φ ~ 1/√N): the grid is geometric there.
        angles = np.unique(np.concatenate([np.geomspace(1e-5, 0.1, grid), np.linspace(0.1, np.pi / 2 - 1e-3, grid)]))

        def slope(angle: float) -> float:
            turned = np.append(-np.sin(angle) * axis, np.cos(angle))
            return float(self.gradient(_at(axis, angle)) @ turned)

        slopes = np.array([slope(angle) for angle in angles])
        changes = np.nonzero(slopes[:-1] * slopes[1:] < 0)[0]
        roots = [brentq(slope, angles[i], angles[i + 1], xtol=1e-15, rtol=1e-14) for i in changes]
        return [_at(axis, root) for root in roots]

    def _curvature(self, p: Array) -> Array:
        n = self.quartic.signal.shape[1]
        return (np.outer(p, p).ravel() @ self.quartic.tensor).reshape(n, n)


def _at(axis: Array, angle: float) -> Array:
    return np.append(np.cos(angle) * axis, np.sin(angle))
