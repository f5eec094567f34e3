"""What the theory's tests share: random problems, and the loss by Gauss–Hermite quadrature, exact for polynomials."""

from __future__ import annotations

import numpy as np

from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.problem import Problem


def random_problem(rng: np.random.Generator, d: int, N: int, noise_variance: float = 0.0, prior: bool = False) -> Problem:
    """Λ, and Ψ if asked, without any structure: they do not commute."""
    A, B = rng.standard_normal((2, d, d))
    return Problem(A @ A.T + 0.2 * np.eye(d), N, B @ B.T + 0.1 * np.eye(d) if prior else None, noise_variance)


def random_blocks(rng: np.random.Generator, d: int) -> Blocks:
    return Blocks.from_vector(rng.standard_normal((d + 1) ** 2))


def root(matrix: np.ndarray) -> np.ndarray:
    eigenvalues, basis = np.linalg.eigh(matrix)
    return basis * np.sqrt(np.maximum(eigenvalues, 0))


def quadrature(problem: Problem) -> tuple[np.ndarray, ...]:
    """Weights and prompts x, y, x_q, w of a tensor grid that integrates the squared error exactly.

    Its degree is 4 in every x_i, in w and in the noise, 6 in x_q: three Gauss nodes reach degree 5, four degree 7.
    """
    d, N, s2 = problem.d, problem.N, problem.noise_variance
    sizes = [3] * (N * d) + [3] * d + [4] * d + [3] * (N if s2 else 0)
    rules = [np.polynomial.hermite_e.hermegauss(size) for size in sizes]
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*(r[0] for r in rules), indexing="ij")], axis=-1)
    weights = np.stack([axis.ravel() for axis in np.meshgrid(*(r[1] for r in rules), indexing="ij")], axis=-1)
    weight = np.prod(weights, axis=-1)
    x = nodes[:, : N * d].reshape(-1, N, d) @ root(problem.covariance).T
    w = nodes[:, N * d : N * d + d] @ root(problem.prior).T
    x_query = nodes[:, N * d + d : N * d + 2 * d] @ root(problem.covariance).T
    y = np.einsum("bnd,bd->bn", x, w)
    if s2:
        y = y + np.sqrt(s2) * nodes[:, N * d + 2 * d :]
    return weight / weight.sum(), x, y, x_query, w
