"""Pretraining on T fixed tasks, without end: what linear attention then answers on these tasks, and on new ones.

The question is that of Lu, Letey, Zavatone-Veth, Maiti and Pehlevan, *Asymptotic theory of in-context learning by
linear attention*. The tasks w_1 … w_T are drawn once from N(0, Ψ); every prompt of the pretraining takes one of them.
With p1 = 0 and p2 = 1 the model is linear in h = (b, ȳ²), b = (1/N) Σ y_i x_i, ȳ² = (1/N) Σ y_i², and its population
loss is a quadratic of X = [K; kᵀ]:

    ŷ = hᵀXx_q,     2L = tr Λ(XᵀAX − XᵀB − BᵀX + R),     X* = A⁻¹B,
    A = mean_j [(1 + 1/N) g_j g_jᵀ + (v_j/N) S_j],   B = mean_j g_j w_jᵀ,   R = mean_j w_j w_jᵀ,
    S_j = [Λ, Λw_j; w_jᵀΛ, v_j],   v_j = w_jᵀΛw_j + s²,   g_j = (Λw_j, v_j),

since EEᵀ/N is a Wishart mean given w_j. Without the label block (k = 0) only R enters, and X* is `optimal_map` for
the prior Ψ = R; where every task comes with its negative that is the minimum over all four blocks, by the argument of
`optimum`. The risk on new tasks has the same form, with the Gaussian averages of A and B.

Over the draw of the tasks risks are averaged by sampling, each draw exact. As d, N and T grow in proportion the
average has a limit: with Σ = Λ^½ΨΛ^½, c = (tr Σ + s²)/(N + 1), q = N/(N + 1) the trained map is Λ^½KΛ^½ = q R'(R' +
c)⁻¹, R' = Λ^½RΛ^½ the sample covariance of T draws from N(0, Σ), and all traces follow from one number ζ,

    c = ζ (1 − (1/T) tr Σ(Σ + ζ)⁻¹),      tr ΣF → T(ζ/c − 1),   tr F → (d − df)/c,   F = (R' + c)⁻¹,   df = tr Σ(Σ + ζ)⁻¹,

and its derivative by c (`diversity_limit`). For Λ = Ψ = I and long prompts the risk on new tasks tends to max(0, d −
T): the directions that no task showed. The label block is not in the limit: it lets the model answer by the mean of
the tasks, which adds about d/T to the risk on new ones, beside risks that grow with d.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from glyptic.arguments import Count, Seed, checked
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import optimal_blocks, optimal_map
from glyptic.icl.theory.problem import Array, Problem, ProblemError, as_finite, length_or_limit
from glyptic.progress import progress_bar

TaskCount = Annotated[int, Count(1, 10**6)]
Draws = Annotated[int, Count(2, 10**6)]


@checked
def pretrained_blocks(problem: Problem, pool: ArrayLike, label_block: bool = True) -> Blocks:
    """The minimum over K, and k with the label block, at p1 = 0, p2 = 1, of the loss on a pool of tasks, (T, d), in equal shares.

    The problem's prior plays no part. A single task without noise leaves one direction open (⟨w, b⟩ = ȳ² on every
    prompt): the X of least norm is taken, at which gradient descent on X from 0 ends.

    >>> problem = Problem.isotropic(2, N=10)
    >>> model = pretrained_blocks(problem, [[1.0, 0.0], [-1.0, 0.0]])
    >>> model.K.round(4)                                                 # q/(1 + c), c = 1/11: the other axis was never needed
    array([[0.8333, 0.    ],
           [0.    , 0.    ]])
    """
    w = _tasks(problem, pool)
    if not np.any(w):
        raise ProblemError("the tasks are all zero, so there is nothing to learn: give at least one w ≠ 0.")
    if not label_block:
        seen = Problem(problem.covariance, problem.N, w.T @ w / len(w), problem.noise_variance)
        return Blocks(np.zeros(problem.d), 1.0, optimal_map(seen), np.zeros(problem.d))
    moments = _Moments.of_tasks(problem, w, problem.N)
    X = _least_norm(moments.A, moments.B)
    return Blocks(np.zeros(problem.d), 1.0, X[:-1], X[-1])


@checked
def pool_risk(problem: Problem, blocks: Blocks, pool: ArrayLike, M: float) -> float:
    """E(ŷ − ⟨w, x_q⟩)² on prompts of M examples about a pool of tasks, (T, d), in equal shares; p1 = 0.

    >>> problem, pool = Problem.isotropic(2, N=10), [[1.0, 0.0], [-1.0, 0.0]]
    >>> round(pool_risk(problem, pretrained_blocks(problem, pool), pool, M=10), 4)      # 1 − K_11
    0.1667
    """
    return _Moments.of_tasks(problem, _tasks(problem, pool), length_or_limit("test length M", M)).risk(problem, blocks)


@checked
def new_task_risk(problem: Problem, blocks: Blocks, M: float) -> float:
    """E(ŷ − ⟨w, x_q⟩)² on prompts of M examples about new tasks w ~ N(0, Ψ); p1 = 0.

    >>> problem = Problem.isotropic(2, N=10)
    >>> blind = pretrained_blocks(problem, [[1.0, 0.0], [-1.0, 0.0]])
    >>> round(new_task_risk(problem, blind, M=10), 4)                                      # more than the unseen axis' 1
    1.2361
    """
    return _Moments.of_prior(problem, length_or_limit("test length M", M)).risk(problem, blocks)


@dataclass(frozen=True)
class DiversityLimit:
    """Risks as d, N, M and T grow in proportion, the deterministic equivalents at this d, N, M, T."""

    new: float
    """on new tasks"""
    pool: float
    """on the tasks of the pretraining"""


@checked
def diversity_limit(problem: Problem, tasks: TaskCount, M: float) -> DiversityLimit:
    """The average over the draw of so many tasks in the proportional limit, trained on N examples and asked after M.

    >>> problem = Problem.isotropic(20, N=10**6)
    >>> [round(diversity_limit(problem, T, float("inf")).new, 2) for T in (5, 15, 40)]     # max(0, d − T)
    [15.0, 5.0, 0.0]
    """
    M = length_or_limit("test length M", M)
    root = _root(problem.covariance)
    sigma = np.maximum(np.linalg.eigvalsh(root @ problem.prior @ root), 0.0)
    d, power = problem.d, problem.label_power
    c = power / (problem.N + 1)
    zeta = _effective_ridge(sigma, c, tasks)
    slope = 1 / (1 - np.sum((sigma / (sigma + zeta)) ** 2) / tasks)  # dζ/dc
    F = zeta * np.sum(1 / (sigma + zeta)) / c  # (d − df)/c without its cancellation
    FF = F / c - slope * np.sum(sigma / (sigma + zeta) ** 2) / c
    identity = (float(d), F, FF)
    new = (float(sigma.sum()), tasks * (zeta / c - 1), tasks * (zeta - c * slope) / c**2)
    pool = (float(sigma.sum()), d - c * F, F - c * FF)  # R'F = 1 − cF
    q = problem.N / (problem.N + 1)
    return DiversityLimit(*(_spectral_risk(q, c, power / M, 1 / M, identity, weighted) for weighted in (new, pool)))


def _spectral_risk(q: float, c: float, spread: float, own: float, identity: Any, weighted: Any) -> float:
    """tr V(Q − 1)² + spread · tr Q² + own · tr VQ² of Q = q(1 − cF), from the traces of 1, F, F² alone and times V."""
    plain, (v, vF, vFF) = np.array(identity), weighted
    bias = (1 - q) ** 2 * v + 2 * (1 - q) * q * c * vF + q * q * c * c * vFF
    square = q * q * np.array([1.0, -2 * c, c * c])
    return float(bias + spread * (square @ plain) + own * (square @ np.array([v, vF, vFF])))


def _effective_ridge(sigma: Array, c: float, T: int) -> float:
    """ζ, the only root above c: what the ridge c amounts to beside the whole covariance, seen through T draws of it."""

    def lack(zeta: float) -> float:
        return float(zeta * (1 - np.sum(sigma / (sigma + zeta)) / T) - c)

    highest = c + float(sigma.sum()) / T
    return float(brentq(lack, c, highest * (1 + 1e-12), xtol=1e-300, rtol=1e-14))


@checked
def diversity_rows(
    problem: Problem, tasks: Sequence[int], M: float, draws: Draws = 100, label_block: bool = True, seed: Seed = 0
) -> list[dict[str, Any]]:
    """For every number T of tasks: the risks on new tasks and on the pool, averaged over draws of the pool, with standard errors.

    Each draw is exact. Beside them the proportional limit, and `best`: the risk of pretraining on ever new tasks.

    >>> [row] = diversity_rows(Problem.isotropic(3, N=6), [4], M=6, draws=50)
    >>> bool(row["pool"] < row["best"] < row["new"])
    True
    """
    M = length_or_limit("test length M", M)
    best = new_task_risk(problem, optimal_blocks(problem), M)
    rows = []
    for T in progress_bar([Count(1, 10**6)("tasks", T) for T in tasks], desc="numbers of tasks"):
        rng = np.random.default_rng([seed, T])
        seen = np.array([_one_draw(problem, T, M, label_block, rng) for _ in range(draws)])
        mean, error = seen.mean(axis=0), seen.std(axis=0, ddof=1) / np.sqrt(draws)
        limit = diversity_limit(problem, T, M)
        row = {"tasks": T, "new": mean[0], "new_standard_error": error[0], "pool": mean[1], "pool_standard_error": error[1]}
        rows.append(row | {"new_limit": limit.new, "pool_limit": limit.pool, "best": best})
    return rows


def _one_draw(problem: Problem, T: int, M: float, label_block: bool, rng: np.random.Generator) -> tuple[float, float]:
    pool = rng.standard_normal((T, problem.d)) @ _root(problem.prior)
    blocks = pretrained_blocks(problem, pool, label_block)
    return new_task_risk(problem, blocks, M), pool_risk(problem, blocks, pool, M)


@dataclass(frozen=True, eq=False)
class _Moments:
    """E hhᵀ, E hwᵀ and E wwᵀ of prompts of some length: all that the risk of hᵀXx_q asks for."""

    A: Array  # (d+1, d+1)
    B: Array  # (d+1, d)
    R: Array  # (d, d)

    @staticmethod
    def of_tasks(problem: Problem, w: Array, M: float) -> _Moments:
        L, T, d = problem.covariance, len(w), problem.d
        Lw = w @ L
        v = np.sum(Lw * w, axis=1) + problem.noise_variance
        g = np.column_stack([Lw, v])
        A = (1 + 1 / M) * g.T @ g / T
        A[:d, :d] += v.mean() / M * L
        A[:d, d] += Lw.T @ v / (T * M)
        A[d, :d] = A[:d, d]
        A[d, d] += v @ v / (T * M)
        return _Moments(A, g.T @ w / T, w.T @ w / T)

    @staticmethod
    def of_prior(problem: Problem, M: float) -> _Moments:
        """Odd moments of w vanish, and E v² = (tr ΛΨ + s²)² + 2 tr (ΛΨ)²."""
        L, Psi, d, t = problem.covariance, problem.prior, problem.d, problem.label_power
        A = np.zeros((d + 1, d + 1))
        A[:d, :d] = (1 + 1 / M) * L @ Psi @ L + t / M * L
        A[d, d] = (1 + 2 / M) * (t * t + 2 * np.sum((L @ Psi) * (L @ Psi).T))
        return _Moments(A, np.vstack([L @ Psi, np.zeros(d)]), Psi)

    def risk(self, problem: Problem, blocks: Blocks) -> float:
        if blocks.d != problem.d:
            raise ProblemError(f"the weights have dimension {blocks.d}, but the covariance Λ has {problem.d}.")
        if np.any(blocks.p1):
            raise ProblemError("the risk on a set of tasks is computed for p1 = 0: set p1 to zero, or sample prompts.")
        X = blocks.p2 * np.vstack([blocks.K, blocks.k])
        return float(np.sum(problem.covariance * (X.T @ self.A @ X - 2 * X.T @ self.B + self.R)))


def _tasks(problem: Problem, pool: ArrayLike) -> Array:
    w = as_finite("the pool of tasks", pool, (None, problem.d))
    if not len(w):
        raise ProblemError("the pool of tasks is empty: give at least one w.")
    if np.any(w) and not 1e-40 < np.abs(w).max() < 1e30:  # the loss has their fourth powers
        raise ProblemError(f"the tasks are of size {np.abs(w).max():.3g}: change the units, so that they are near 1.")
    return w


def _least_norm(A: Array, B: Array) -> Array:
    """The X of least norm with AX = B; A is positive semidefinite, its last row in other units than the rest."""
    units = 1 / np.sqrt(np.maximum(A.diagonal(), np.finfo(float).tiny))
    eigenvalues, basis = np.linalg.eigh(A * np.outer(units, units))
    kept = eigenvalues > 100 * len(A) * np.finfo(float).eps * eigenvalues[-1]
    half = units[:, None] * basis
    X: Array = half[:, kept] @ ((half[:, kept].T @ B) / eigenvalues[kept, None])
    if not kept.all():
        idle = half[:, ~kept] / np.linalg.norm(half[:, ~kept], axis=0)  # no QR: it would lose entries of 1e-20 beside 1
        X = X - idle @ np.linalg.solve(idle.T @ idle, idle.T @ X)
    return X


def _root(matrix: Array) -> Array:
    """The symmetric square root, also of a singular matrix."""
    eigenvalues, basis = np.linalg.eigh(matrix)
    root: Array = (basis * np.sqrt(np.maximum(eigenvalues, 0))) @ basis.T
    return root
