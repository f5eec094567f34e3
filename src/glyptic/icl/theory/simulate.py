"""The same risks by sampling: what every formula of this room is held against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from glyptic.arguments import Seed, checked
from glyptic.icl.names import Dimension, Length, PromptCount, Variance
from glyptic.icl.theory.labels import LabelLaw
from glyptic.icl.theory.lsa import Blocks, predict
from glyptic.icl.theory.problem import Array, ProblemError, as_finite, as_square, require_definite
from glyptic.progress import progress_bar

Sampler = Callable[[np.random.Generator, int, int], tuple[Array, Array, Array, Array]]
"""(rng, prompts, M) → x (prompts, M, d), y (prompts, M), x_q (prompts, d), target (prompts,)."""


@dataclass(frozen=True)
class Estimate:
    """A mean over sampled prompts and its standard error."""

    mean: float
    standard_error: float

    def sigmas(self, exact: float) -> float:
        """How many standard errors the mean lies above an exact value."""
        if self.standard_error == 0:  # every prompt gave the same
            return 0.0 if self.mean == exact else float(np.copysign(np.inf, self.mean - exact))
        return (self.mean - exact) / self.standard_error


@checked
def simulated_risk(
    model: Blocks | ArrayLike, sampler: Sampler, M: Length, prompts: PromptCount, seed: Seed = 0, label: str = ""
) -> Estimate:
    """E(ŷ − target)² over sampled prompts, in chunks of bounded memory.

    The model is a transformer's `Blocks`, asked by `predict`, or only a map P, which answers ŷ = bᵀPx_q.

    >>> from glyptic.icl.theory.labels import linear
    >>> simulated_risk(np.zeros((1, 1)), law_sampler(linear([1.0]), np.eye(1)), 3, 10_000).mean.__round__(1)   # E y²
    1.0
    """
    if prompts < 2:
        raise ProblemError("one prompt has no standard error: ask for at least 2.")
    blocks = model if isinstance(model, Blocks) else _through_labels(as_finite("P", model, (None, None)))
    if M * blocks.d > 10**8:
        raise ProblemError(f"a prompt of M = {M} examples in dimension {blocks.d} does not fit into memory: take fewer.")
    left = prompts
    rng, chunk = np.random.default_rng(seed), max(1, 500_000 // (M * blocks.d))
    total = squares = 0.0
    with progress_bar(total=left, desc=label or "prompts", unit="prompt") as bar:
        while left:
            size = min(chunk, left)
            x, y, x_query, target = sampler(rng, size, M)
            errors = (predict(blocks, x, y, x_query) - target) ** 2
            total, squares, left = total + float(errors.sum()), squares + float(errors @ errors), left - size
            bar.update(size)
    mean = total / prompts
    return Estimate(float(mean), float(np.sqrt((squares / prompts - mean**2) / prompts)))


def _through_labels(P: Array) -> Blocks:
    """The transformer whose prediction is bᵀPx_q: p2 = 1, K = P."""
    return Blocks(np.zeros(len(P)), 1.0, P, np.zeros(len(P)))


def law_sampler(law: LabelLaw, covariance: ArrayLike) -> Sampler:
    """Prompts whose examples follow the label law, with inputs N(0, Λ); the target is f(x_q) = E[y|x_q]."""
    matrix = as_square("covariance Λ", covariance)
    require_definite("covariance Λ", matrix)
    root = np.linalg.cholesky(matrix).T

    def sample(rng: np.random.Generator, prompts: int, M: int) -> tuple[Array, Array, Array, Array]:
        x = rng.standard_normal((prompts, M + 1, len(root))) @ root
        y = law.sample(rng, x)
        return x[:, :M], y[:, :M], x[:, M], law.mean(x[:, M])

    return sample


@checked
def exponential_sampler(d: Dimension, noise_variance: Variance = 0.0) -> Sampler:
    """Prompts that draw their own Λ = diag(λ), λ_i ~ Exp(1): the law of `RandomDiagonal(d)`."""

    def sample(rng: np.random.Generator, prompts: int, M: int) -> tuple[Array, Array, Array, Array]:
        deviations = np.sqrt(rng.standard_exponential((prompts, 1, d)))
        x = rng.standard_normal((prompts, M + 1, d)) * deviations
        w = rng.standard_normal((prompts, d))
        y = np.einsum("pmd,pd->pm", x, w)
        noisy = y[:, :M] + np.sqrt(noise_variance) * rng.standard_normal((prompts, M))
        return x[:, :M], noisy, x[:, M], y[:, M]

    return sample
