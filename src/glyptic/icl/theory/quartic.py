"""The same loss as one tensor, for many weights at once.

ŷ is bilinear in p = (p1, p2) and W = [K; kᵀ], so L is quadratic in each:

    L(p, W) = ½ Σ T[a,a',b,b'] p_a p_a' W_b W_b' − Σ S[a,b] p_a W_b + ½ tr(ΛΨ).

T and S are read off exact Hessians of `loss` (at p = 0 the pp-block is T·W·W; polarise in W). They hold O(d⁶) numbers:
meant for d ≤ 5, where a thousand flows then cost a few matrix products a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from glyptic.icl.theory.loss import hessian
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.problem import Array, Problem, ProblemError


@dataclass(frozen=True, eq=False)
class Quartic:
    """The loss of one problem; weights are rows of a (B, (d+1)²) array in the order of `Blocks.vector`.

    >>> from glyptic.icl.theory.loss import loss
    >>> problem, theta = Problem([1.0, 0.5], N=8), np.arange(9.0) / 10
    >>> quartic = Quartic.of(problem)
    >>> bool(np.isclose(quartic.loss(theta[None])[0], loss(problem, Blocks.from_vector(theta)), rtol=1e-12))
    True
    """

    tensor: Array  # ((d+1)², n²), n = d(d+1): T with both index pairs flattened
    signal: Array  # (d+1, n): S
    constant: float

    @staticmethod
    def of(problem: Problem) -> Quartic:
        if problem.d > 5:
            raise ProblemError(f"the tensor of the loss has O(d⁶) entries: d = {problem.d} is too large, take d ≤ 5.")
        m, n = problem.d + 1, problem.d * (problem.d + 1)

        def pp_block(W: Array) -> Array:
            return hessian(problem, Blocks.from_vector(np.concatenate([np.zeros(m), W])))[:m, :m]

        unit = np.eye(n)
        squares = [pp_block(row) for row in unit]
        tensor = np.zeros((m, m, n, n))
        for b, c in combinations_with_replacement(range(n), 2):
            mixed = squares[b] if b == c else (pp_block(unit[b] + unit[c]) - squares[b] - squares[c]) / 2
            tensor[:, :, b, c] = tensor[:, :, c, b] = mixed
        signal = -hessian(problem, Blocks.from_vector(np.zeros(m * m)))[:m, m:]
        return Quartic(tensor.reshape(m * m, n * n), signal, float(np.sum(problem.covariance * problem.prior)) / 2)

    def loss(self, theta: Array) -> Array:
        """L for each row, (B,)."""
        p, W = self._split(theta)
        quadratic = np.einsum("ba,bac,bc->b", p, self._seen_by_p(W), p)
        return quadratic / 2 - np.einsum("ba,ac,bc->b", p, self.signal, W) + self.constant

    def gradient(self, theta: Array) -> Array:
        """∇L for each row, (B, (d+1)²)."""
        p, W = self._split(theta)
        by_p = np.einsum("bac,bc->ba", self._seen_by_p(W), p) - W @ self.signal.T
        seen_by_W = (_outer(p) @ self.tensor).reshape(len(p), W.shape[1], W.shape[1])
        by_W = np.einsum("bac,bc->ba", seen_by_W, W) - p @ self.signal
        return np.concatenate([by_p, by_W], axis=1)

    def hessian(self, theta: Array) -> Array:
        """∇²L at one vector, ((d+1)², (d+1)²): `loss.hessian` without its complex steps."""
        p, W = theta[: len(self.signal)], theta[len(self.signal) :]
        m, n = len(p), len(W)
        tensor = self.tensor.reshape(m, m, n, n)
        by_W = tensor @ W  # (m, m, n)
        mixed = 2 * np.einsum("acb,c->ab", by_W, p) - self.signal
        return np.block([[by_W @ W, mixed], [mixed.T, np.einsum("a,acbe,c->be", p, tensor, p)]])

    def _split(self, theta: Array) -> tuple[Array, Array]:
        m = len(self.signal)
        return theta[:, :m], theta[:, m:]

    def _seen_by_p(self, W: Array) -> Array:
        m = len(self.signal)
        return (_outer(W) @ self.tensor.T).reshape(len(W), m, m)


def _outer(rows: Array) -> Array:
    return (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
