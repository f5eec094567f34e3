"""Several heads of linear attention: ŷ = Σ_h [p1_hᵀ p2_h] (EEᵀ/N) [K_h; k_hᵀ] x_q. Do more heads remove the spurious minima?

ŷ is linear in B = Σ_h p_h W_hᵀ, W = [K; kᵀ] as a row, so the loss is one *convex* quadratic of the (d+1) × d(d+1) matrix B,

    L(B) = ½ ⟨B, M B⟩ − ⟨S, B⟩ + ½ tr ΛΨ,

and H heads reach the matrices of rank at most H. Its least value over all B is L*, that of one head: the argument of `optimum`
about odd and even parts never uses the rank. Hence

* a critical point at which one head is zero (p_h = 0, W_h = 0) is global, or a saddle: if L > L* then ∇_B L ≠ 0 by
convexity, and
  L falls along δp_h ⊗ δW_h against it. So every spurious minimum of one head is a *saddle* of two, with the second at zero;
* with H ≥ d + 1 heads no minimum is spurious (Laurent and von Brecht 2018: factors without a bottleneck, a convex loss).

Between, for 2 ≤ H ≤ d, flows are counted: for d = 2 none was lost; for d = 3 two heads have a minimum of rank two of
their own. M is computed by Gauss–Hermite quadrature over w and x_q, exact for polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.integrate import solve_ivp

from glyptic.arguments import Count, Seed, checked
from glyptic.icl.names import Deviation
from glyptic.icl.theory.flow import slowest_time
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Array, Problem, ProblemError


@dataclass(frozen=True, eq=False)
class ConvexLoss:
    """L as a quadratic of B, flattened: a row for each entry of p, in it W in the order of `Blocks.vector`.

    >>> from glyptic.icl.theory.optimum import optimal_blocks
    >>> problem = Problem([1.0, 0.5], 10)
    >>> theta = optimal_blocks(problem).vector()
    >>> loss = ConvexLoss.of(problem)
    >>> bool(np.isclose(loss.value(np.outer(theta[:3], theta[3:])), minimum_loss(problem)))
    True
    """

    matrix: Array  # M, ((d+1)n, (d+1)n), n = d(d+1)
    signal: Array  # S, (d+1, n)
    constant: float

    @staticmethod
    def of(problem: Problem) -> ConvexLoss:
        d, N = problem.d, problem.N
        if d > 4:
            raise ProblemError(f"the quadratic of the loss has O(d⁶) entries: d = {d} is too large here, take d ≤ 4.")
        weights, w = _gaussian(problem.prior, 3)  # degree 4
        query_weights, x = _gaussian(problem.covariance, 4)  # degree 6
        S = _covariances(problem, w)  # of z = (x, y) given w
        twice = np.einsum("q,qai,qce->aice", weights, S, S)
        # E G_ai G_ce for the Wishart mean G of N vectors z, averaged over w
        second = twice + (np.einsum("acie->aice", twice) + np.einsum("aeic->aice", twice)) / N
        mean = np.einsum("q,qai->ai", weights, S)
        own = np.zeros((len(x), d + 1, d + 1, d))  # the query's own token, (x_q, 0): x_a x_i x_j / N
        own[:, :d, :d] = np.einsum("qa,qi,qj->qaij", x, x, x) / N
        across = np.einsum("ai,q,qj,qcek->aijcek", mean, query_weights, x, own)
        matrix = np.einsum("aice,jk->aijcek", second, problem.covariance) + across + np.einsum("cekaij->aijcek", across)
        matrix += np.einsum("q,qaij,qcek->aijcek", query_weights, own, own)
        signal = np.einsum("q,qai,qk,jk->aij", weights, S, w, problem.covariance)
        size, n = (d + 1) ** 2 * d, d * (d + 1)
        return ConvexLoss(matrix.reshape(size, size), signal.reshape(d + 1, n), problem.signal_power / 2)

    def value(self, B: Array) -> float:
        """L(B), B of shape (d+1, n)."""
        flat = B.ravel()
        return float(flat @ self.matrix @ flat / 2 - flat @ self.signal.ravel() + self.constant)

    def slope(self, B: Array) -> Array:
        """∇_B L, (…, d+1, n)."""
        flat = B.reshape(*B.shape[:-2], -1)
        return (flat @ self.matrix).reshape(B.shape) - self.signal


def _gaussian(covariance: Array, nodes: int) -> tuple[Array, Array]:
    """Weights and points of a tensor rule for N(0, covariance)."""
    eigenvalues, basis = np.linalg.eigh(covariance)
    x, weight = np.polynomial.hermite_e.hermegauss(nodes)
    d = len(covariance)
    points = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
    weights = np.prod(np.stack(np.meshgrid(*[weight / weight.sum()] * d, indexing="ij"), axis=-1), axis=-1).ravel()
    return weights, points @ (basis * np.sqrt(np.maximum(eigenvalues, 0))).T


def _covariances(problem: Problem, w: Array) -> Array:
    """Cov (x, y) given each w: [Λ, Λw; wᵀΛ, wᵀΛw + s²], (…, d+1, d+1)."""
    L, Lw = problem.covariance, w @ problem.covariance
    S = np.zeros((len(w), problem.d + 1, problem.d + 1))
    S[:, :-1, :-1], S[:, :-1, -1], S[:, -1, :-1] = L, Lw, Lw
    S[:, -1, -1] = np.einsum("qd,qd->q", Lw, w) + problem.noise_variance
    return S


@dataclass(frozen=True)
class HeadEnds:
    """Where flows of H heads end."""

    losses: tuple[float, ...]
    """The loss at the end of every flow."""
    minimum: float
    """L*."""

    @property
    def share(self) -> float:
        """The share of the flows that end more than a hundredth above L*: some are slow on the last part of the way."""
        return float(np.mean([loss > self.minimum * 1.01 for loss in self.losses]))


@checked
def head_flows(
    problem: Problem,
    heads: Annotated[int, Count(1, 16)],
    starts: Annotated[int, Count(1, 10**5)] = 100,
    deviation: Deviation = 0.1,
    seed: Seed = 0,
) -> HeadEnds:
    """Gradient flows of all weights of H heads from Gaussian starts; d ≤ 4.

    >>> head_flows(Problem([1.0, 0.5], 10), heads=2, starts=10).share
    0.0
    """
    loss, rng, m = ConvexLoss.of(problem), np.random.default_rng(seed), problem.d + 1
    n = m * problem.d
    first = deviation * rng.standard_normal((starts, heads, m + n))

    def velocity(_: float, state: Array) -> Array:
        theta = state.reshape(-1, heads, m + n)
        p, W = theta[..., :m], theta[..., m:]
        slope = loss.slope(np.einsum("bha,bhc->bac", p, W))
        return -np.concatenate([np.einsum("bac,bhc->bha", slope, W), np.einsum("bac,bha->bhc", slope, p)], axis=-1).ravel()

    ends: list[float] = []
    band = heads * (m + n) - 1
    for batch in np.array_split(first, max(1, starts // 25)):
        settings = {"method": "LSODA", "rtol": 1e-7, "atol": 1e-10 * min(1.0, deviation), "lband": band, "uband": band}
        solution = solve_ivp(velocity, (0.0, 300 * slowest_time(problem)), batch.ravel(), **settings)
        if not solution.success:
            raise ProblemError(f"the flows of {heads} heads were not solved ({solution.message}): use a smaller deviation.")
        theta = solution.y[:, -1].reshape(-1, heads, m + n)
        ends += [loss.value(np.einsum("ha,hc->ac", one[:, :m], one[:, m:])) for one in theta]
    return HeadEnds(tuple(ends), minimum_loss(problem))
