"""The flow from the theorem's start in d + 2 equations instead of (d+1)².

From p1 = k = 0 these stay zero, and with u = p2, C = (1+1/N) ΛΨΛ + (tr(ΛΨ)+s²)/N · Λ (C = ΓΛ if Ψ = I, as in the paper)

    K' = −u²CKΛ + uΛΨΛ,      u' = −tr(uCKΛKᵀ − ΛΨΛKᵀ).

If Λ and Ψ commute, their common eigenbasis makes C = diag(c) and Λ = diag(λ), and with τ = ∫u² dt

    K_ij(t) = K_ij(0) exp(−c_i λ_j τ)                        off the diagonal, in closed form;
    K_ii' = −u²c_iλ_iK_ii + uλ_i²ψ_i,   u',   τ' = u²         the d + 2 equations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from glyptic.arguments import checked
from glyptic.icl.names import Sigma
from glyptic.icl.theory.flow import Times, Tolerance, Trajectory, same_dimension, solve
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import excess, optimal_map
from glyptic.icl.theory.problem import Array, Problem, ProblemError, as_finite
from glyptic.icl.theory.theorem import initial_blocks


@checked
def reduced_flow(
    problem: Problem, start: Blocks | None = None, times: Times | None = None, rtol: Tolerance = 1e-11, atol: Tolerance = 1e-14
) -> Trajectory:
    """The flow from p1 = k = 0 (Θ = I at half the theorem's threshold if no start is given); to its limit, or at the given times.

    >>> path = reduced_flow(Problem([1.0, 0.5, 0.25], 12))
    >>> path.states.shape[1], bool(path.excess()[-1] < 1e-12)
    (5, True)
    """
    start = initial_blocks(problem) if start is None else start
    same_dimension(problem, start)
    if np.any(start.p1) or np.any(start.k):
        raise ProblemError("the reduced flow needs p1 = k = 0 at the start: use full_flow for any other.")
    system = _Diagonal.of(problem, start)
    first = np.concatenate([system.K0.diagonal(), [start.p2, 0.0]])
    path = solve(problem, system.velocity, system.jacobian, first, system.unpack, times, rtol, atol)
    if times is None and not excess(problem, path.end) <= 1e-6 * problem.signal_power:
        raise ProblemError(
            f"by t = {path.times[-1]:.3g} the flow is not at the minimum (L − L* = {excess(problem, path.end):.2g}): "
            "the start is too small, or does not lead there; give a larger σ, or the times."
        )
    return path


@dataclass(frozen=True, eq=False)
class _Diagonal:
    """The system in the eigenbasis; a state is (K_11, …, K_dd, u, τ)."""

    basis: Array  # (d, d), columns are the common eigenvectors
    K0: Array  # (d, d), the start in that basis
    decay: Array  # (d, d), c_i λ_j
    signal: Array  # (d,), λ_i² ψ_i
    weights: Array  # the nonzero off-diagonal c_i λ_j K_ij(0)², which drag on u …
    fading: Array  # … and fade as exp(−2c_iλ_jτ)

    @staticmethod
    def of(problem: Problem, start: Blocks) -> _Diagonal:
        basis, lambdas, psis = common_basis(problem)
        N, K0 = problem.N, basis.T @ start.K @ basis
        c = (1 + 1 / N) * lambdas**2 * psis + problem.label_power / N * lambdas
        decay = np.outer(c, lambdas)
        drag = decay * (K0 - np.diag(K0.diagonal())) ** 2
        present = np.nonzero(drag)
        return _Diagonal(basis, K0, decay, lambdas**2 * psis, drag[present], 2 * decay[present])

    def velocity(self, state: Array) -> Array:
        kappa, u, tau = state[:-2], state[-2], state[-1]
        rates = self.decay.diagonal()
        drag = np.sum(rates * kappa**2) + np.sum(self.weights * np.exp(-self.fading * tau))
        return np.concatenate([u * (self.signal - u * rates * kappa), [self.signal @ kappa - u * drag, u * u]])

    def jacobian(self, state: Array) -> Array:
        kappa, u, tau = state[:-2], state[-2], state[-1]
        rates, off = self.decay.diagonal(), self.weights * np.exp(-self.fading * tau)
        matrix = np.zeros((len(state), len(state)))
        np.fill_diagonal(matrix[:-2, :-2], -u * u * rates)
        matrix[:-2, -2] = matrix[-2, :-2] = self.signal - 2 * u * rates * kappa
        matrix[-2, -2] = -np.sum(rates * kappa**2) - np.sum(off)
        matrix[-2, -1] = u * np.sum(self.fading * off)
        matrix[-1, -2] = 2 * u
        return matrix

    def unpack(self, state: Array) -> Blocks:
        K = self.K0 * np.exp(-self.decay * state[-1])
        np.fill_diagonal(K, state[:-2])
        zero = np.zeros(len(K))
        return Blocks(zero, state[-2], self.basis @ K @ self.basis.T, zero)


@checked
def logistic(problem: Problem, sigma: Sigma, times: ArrayLike) -> Array:
    """u²(t) for Λ = λI, Ψ = ψI and Θ ∝ I, in closed form: logistic with rate 2λ²ψ√d and limit √d/γ, P* = I/γ.

    >>> logistic(Problem.isotropic(4, 10), 0.1, [0.0, 1e9]).round(6)        # from σ² = 0.01 to √4/1.5
    array([0.01    , 1.333333])
    """
    L, Psi, d = problem.covariance, problem.prior, problem.d
    lam, psi = L[0, 0], Psi[0, 0]
    if not (np.allclose(L, lam * np.eye(d)) and np.allclose(Psi, psi * np.eye(d))):
        raise ProblemError("the logistic solution needs isotropic Λ and Ψ: use reduced_flow otherwise.")
    rate, limit = 2 * lam**2 * psi * np.sqrt(d), np.sqrt(d) * optimal_map(problem)[0, 0]
    decay = np.exp(-rate * as_finite("times", times))
    return limit / (1 + (limit / sigma**2 - 1) * decay)


def common_basis(problem: Problem) -> tuple[Array, Array, Array]:
    """An orthogonal basis in which Λ and Ψ are both diagonal, and their diagonals."""
    L, Psi = problem.covariance, problem.prior
    # A generic combination has the common eigenvectors even where one of the two has a repeated eigenvalue.
    _, basis = np.linalg.eigh(L / np.linalg.norm(L) + 0.6180339887 * Psi / np.linalg.norm(Psi))
    diagonals = []
    for name, matrix in (("Λ", L), ("Ψ", Psi)):
        rotated = basis.T @ matrix @ basis
        diagonals.append(rotated.diagonal().copy())
        if np.abs(rotated - np.diag(diagonals[-1])).max() > 1e-9 * np.abs(matrix).max():
            raise ProblemError(f"Λ and Ψ do not commute (no common basis makes {name} diagonal): use full_flow.")
    return basis, diagonals[0], diagonals[1]
