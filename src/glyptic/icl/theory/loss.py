"""The population loss L(θ) = ½ E(ŷ − ⟨w, x_q⟩)² of linear attention, exactly, on all (d+1)² weights; no sampling.

Write z_i = (x_i, y_i), z_q = (x_q, 0), p = (p1, p2), W = [K; kᵀ] and S = Cov(z_i | w). Then

    ŷ = pᵀGWx_q + (p1ᵀx_q)(x_qᵀKx_q)/N,       G = (1/N) Σ z_i z_iᵀ,

and the square of ŷ − ⟨w, x_q⟩ falls into four expectations, one function each (the two others are odd in w: zero):

    2L = E(pᵀGWx_q)²  +  E((p1ᵀx_q)(x_qᵀKx_q))²/N²  +  2E[first · second]/N  −  2E[pᵀGWx_q ⟨w, x_q⟩]  +  tr(ΛΨ).

All are Gaussian moments (Isserlis), so L is a polynomial of degree 4 in θ. Each function returns its value and its
gradient, the latter written backwards by hand. They use no conjugate, hence accept complex θ: the Hessian is the
complex-step derivative of the gradient, exact to rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glyptic.arguments import checked
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.problem import Array, Problem, ProblemError

Term = tuple[Any, Any, Any, Any, Any]  # value, ∂p1, ∂p2, ∂K, ∂k


@checked
def loss(problem: Problem, blocks: Blocks) -> float:
    """L(θ), exact.

    >>> zero = Blocks(p1=[0, 0], p2=0.0, K=[[0, 0], [0, 0]], k=[0, 0])
    >>> loss(Problem([1.0, 0.5], N=8), zero)             # ½ E⟨w, x_q⟩² = ½ tr Λ
    0.75
    """
    return float(_loss_and_gradient(problem, blocks)[0])


@checked
def gradient(problem: Problem, blocks: Blocks) -> Blocks:
    """∇L(θ), exact, block by block.

    >>> start = Blocks(p1=[0, 0], p2=1.0, K=[[0, 0], [0, 0]], k=[0, 0])
    >>> gradient(Problem([1.0, 0.5], N=8), start).K      # −p2 Λ²
    array([[-1.  ,  0.  ],
           [ 0.  , -0.25]])
    """
    return _loss_and_gradient(problem, blocks)[1]


@checked
def loss_and_gradient(problem: Problem, blocks: Blocks) -> tuple[float, Blocks]:
    """Both at the price of the gradient."""
    value, slope = _loss_and_gradient(problem, blocks)
    return float(value), slope


@checked
def hessian(problem: Problem, blocks: Blocks) -> Array:
    """∇²L(θ), ((d+1)², (d+1)²), in the order of `Blocks.vector`.

    >>> problem = Problem.isotropic(1, 5)
    >>> hessian(problem, Blocks(p1=[0], p2=0.0, K=[[0]], k=[0])).round(3)     # a saddle: L falls along p2 = K
    array([[ 0.,  0.,  0., -1.],
           [ 0.,  0., -1.,  0.],
           [ 0., -1.,  0.,  0.],
           [-1.,  0.,  0.,  0.]])
    """
    theta, step = blocks.vector().astype(complex), 1e-40
    rows = []
    for index in range(len(theta)):
        theta[index] += 1j * step
        rows.append(_loss_and_gradient(problem, Blocks.from_vector(theta))[1].vector().imag / step)
        theta[index] -= 1j * step
    matrix = np.array(rows)
    return (matrix + matrix.T) / 2


def _loss_and_gradient(problem: Problem, blocks: Blocks) -> tuple[Any, Blocks]:
    if blocks.d != problem.d:
        raise ProblemError(f"the weights have dimension {blocks.d}, but the covariance Λ has dimension {problem.d}.")
    terms = (_context, _query, _cross, _target)
    value, p1, p2, K, k = (sum(parts) for parts in zip(*(term(problem, blocks) for term in terms), strict=True))
    value = value + np.sum(problem.covariance * problem.prior)
    return value / 2, Blocks(p1 / 2, p2 / 2, K / 2, k / 2)


def _context(problem: Problem, blocks: Blocks) -> Term:
    """E(pᵀGWx_q)² = (1+1/N) E(pᵀSWx_q)² + (1/N) E[(pᵀSp)(x_qᵀWᵀSWx_q)], by the Wishart law of G."""
    L, Psi, N, tau = problem.covariance, problem.prior, problem.N, problem.label_power
    p1, p2, K, k = blocks.p1, blocks.p2, blocks.K, blocks.k
    once, twice = 1 + 1 / N, 1 / N
    L_Psi = L @ Psi
    L_Psi_L = L_Psi @ L
    power2 = tau**2 + 2 * np.sum(L_Psi * L_Psi.T)  # E(y²)² given w, averaged: E(wᵀΛw + s²)²
    KL, Lk, b = K @ L, L @ k, L @ p1
    M, h, c, q = KL @ K.T, K @ Lk, k @ Lk, p1 @ b
    L_Psi_b, Psi_L_h = L_Psi @ b, L_Psi.T @ h
    label, shared = b @ (Psi @ b) + p2**2 * power2, q * tau + p2**2 * power2
    trace_ML, trace_M = np.sum(M * L), np.sum(M * L_Psi_L)
    A1 = b @ M @ b + p2**2 * trace_M + 2 * p2 * (tau * (b @ h) + h @ L_Psi_b) + c * label
    A2 = trace_ML * (q + p2**2 * tau) + 4 * p2 * (h @ L_Psi_b) + c * shared

    for_M = once * (np.outer(b, b) + p2**2 * L_Psi_L) + twice * (q + p2**2 * tau) * L
    for_h = once * 2 * p2 * (tau * b + L_Psi_b) + twice * 4 * p2 * L_Psi_b
    for_b = once * 2 * (M @ b + p2 * (tau * h + Psi_L_h) + c * (Psi @ b)) + twice * 4 * p2 * Psi_L_h
    for_q = twice * (trace_ML + c * tau)
    for_p2 = once * 2 * (p2 * trace_M + tau * (b @ h) + h @ L_Psi_b + c * p2 * power2)
    for_p2 = for_p2 + twice * (2 * p2 * tau * trace_ML + 4 * (h @ L_Psi_b) + 2 * c * p2 * power2)
    for_K = 2 * for_M @ KL + np.outer(for_h, Lk)
    for_k = KL.T @ for_h + 2 * (once * label + twice * shared) * Lk
    return once * A1 + twice * A2, L @ for_b + 2 * for_q * b, for_p2, for_K, for_k


def _query(problem: Problem, blocks: Blocks) -> Term:
    """E((p1ᵀx_q)(x_qᵀKx_q))²/N²: the query token also attends to itself."""
    L, N2 = problem.covariance, problem.N**2
    K = (blocks.K + blocks.K.T) / 2
    b, LK = L @ blocks.p1, L @ K
    v, q, trace, square = K @ b, blocks.p1 @ b, np.trace(LK), np.sum(LK * LK.T)
    value = q * (trace**2 + 2 * square) + 4 * trace * (b @ v) + 8 * (v @ L @ v)
    for_v = 4 * trace * b + 16 * (L @ v)
    for_K = (2 * q * trace + 4 * (b @ v)) * L + 4 * q * (LK @ L) + _symmetric(np.outer(for_v, b))
    for_p1 = 2 * (trace**2 + 2 * square) * b + L @ (4 * trace * v + K @ for_v)
    return value / N2, for_p1 / N2, 0.0, for_K / N2, np.zeros(problem.d)


def _cross(problem: Problem, blocks: Blocks) -> Term:
    """(2/N) E[pᵀSWx_q · (p1ᵀx_q)(x_qᵀKx_q)] = (2/N) ⟨E pᵀSW, E[x_q (p1ᵀx_q)(x_qᵀKx_q)]⟩."""
    L, N, tau = problem.covariance, problem.N, problem.label_power
    p2, K, k = blocks.p2, (blocks.K + blocks.K.T) / 2, blocks.k
    b, trace = L @ blocks.p1, np.sum(L * K)
    mean = blocks.K.T @ b + p2 * tau * k
    cubic = trace * b + 2 * L @ (K @ b)
    for_v = 2 * L @ mean
    for_K = np.outer(b, cubic) + (b @ mean) * L + _symmetric(np.outer(for_v, b))
    for_p1 = L @ (blocks.K @ cubic + trace * mean + K @ for_v)
    scale = 2 / N
    return (
        scale * (mean @ cubic),
        scale * for_p1,
        scale * tau * (k @ cubic),
        scale * for_K,
        scale * p2 * tau * cubic,
    )


def _target(problem: Problem, blocks: Blocks) -> Term:
    """−2E[pᵀSWx_q ⟨w, x_q⟩] = −2(p1ᵀΛΨΛk + p2 tr(KΛΨΛ)): what pulls θ away from zero."""
    signal = problem.covariance @ problem.prior @ problem.covariance
    for_p2 = np.sum(blocks.K * signal)
    value = blocks.p1 @ signal @ blocks.k + blocks.p2 * for_p2
    return -2 * value, -2 * signal @ blocks.k, -2 * for_p2, -2 * blocks.p2 * signal, -2 * signal @ blocks.p1


def _symmetric(matrix: Array) -> Array:
    return (matrix + matrix.T) / 2
