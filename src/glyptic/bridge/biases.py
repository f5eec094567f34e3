"""Biases as a column: [W | b] applied to (x, 1). Exact attention has no biases, so the residual gets a coordinate `one`.

Without norms it starts as 1 and nobody writes it. A pre-norm decoder reads the residual through LayerNorm, whose mean and
variance must not notice the new coordinate. So in the residual it carries the **mean** of the d others: every matrix that
writes gets one more row, the mean of its rows. The mean over d + 1 coordinates is then the mean over d, and the variance

    variance' = variance · d/(d + 1),     so with   ε' = ε · d/(d + 1)   and   γ' = γ · √(d/(d + 1))

the normed coordinates are what they were. The norm's own γ = 0 and β = 1 for `one` make it 1 where it is read. Where the
output reads without a final norm `one` is not 1, and a post-norm decoder writes after the norm: there biases are refused
unless they are zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Matrix = np.ndarray  # of float64


@dataclass(frozen=True)
class Stream:
    """How the d coordinates of a decoder lie in the residual of an exact transformer."""

    has_one: bool
    normed: bool

    def written(self, matrix: Matrix) -> Matrix:
        """Rows of a matrix (d, m) or vector (d,) that writes into the residual."""
        if not self.has_one:
            return matrix
        extra = matrix.mean(axis=0) if self.normed else np.zeros(matrix.shape[1:])
        return np.concatenate([matrix, extra[None]])

    def embedded(self, table: Matrix, one: float) -> Matrix:
        """A table (n, d) of vectors that start a residual; `one` is what they add up to without norms."""
        if not self.has_one:
            return table
        extra = table.mean(axis=1) if self.normed else np.full(len(table), one)
        return np.concatenate([table, extra[:, None]], axis=1)

    def read(self, matrix: Matrix, bias: Matrix | None) -> Matrix:
        """A matrix (m, d) that reads the (normed) residual, with its bias as the last column."""
        if not self.has_one:
            return matrix
        column = np.zeros(len(matrix)) if bias is None else bias
        return np.concatenate([matrix, column[:, None]], axis=1)

    def norm(self, gain: Matrix, bias: Matrix, epsilon: float) -> tuple[Matrix, Matrix, float]:
        """γ, β and ε over the coordinates, `one` included."""
        if not self.has_one:
            return gain, bias, epsilon
        share = len(gain) / (len(gain) + 1)
        return np.append(gain * share**0.5, 0.0), np.append(bias, 1.0), epsilon * share
