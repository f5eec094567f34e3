"""The best possible answers, for all prompts at once: ridge when tasks are Gaussian, dMMSE when they are T given ones.

Both are posterior means, so no learner has a smaller risk on its own law of tasks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glyptic.arguments import Seed, checked
from glyptic.icl.experiments.prompts import Prompts
from glyptic.icl.names import Dimension, Length, PromptCount, Variance
from glyptic.icl.theory.problem import Array, ProblemError, as_finite


@checked
def ridge_answers(prompts: Prompts, noise_variance: Variance, counts: Sequence[int]) -> Array:
    """x_qᵀ(XᵀX + s²I)⁻¹Xᵀy from the first k examples, w ~ N(0, I): (B, len(counts)); s = 0 is least squares.

    >>> from glyptic.icl.experiments.prompts import sample
    >>> from glyptic.icl.experiments.tasks import LinearTask
    >>> prompts = sample(LinearTask(d=3), np.random.default_rng(0), prompts=100, N=3)
    >>> bool(np.allclose(ridge_answers(prompts, 0.0, [3])[:, 0], prompts.target[:, 3]))
    True
    """
    columns = []
    for k in counts:
        x, y = prompts.context_x[:, :k], prompts.context_y[:, :k]
        gram = x.transpose(0, 2, 1) @ x + noise_variance * np.eye(x.shape[2])
        inverse = np.linalg.inv(gram) if noise_variance else np.linalg.pinv(gram, hermitian=True)
        weights = np.einsum("bij,bnj,bn->bi", inverse, x, y)
        columns.append(np.einsum("bi,bi->b", weights, prompts.query_x[:, k]))
    return np.stack(columns, axis=1)


@checked
def discrete_answers(prompts: Prompts, pool: Array, noise_variance: Variance, counts: Sequence[int]) -> Array:
    """dMMSE of Raventós et al.: the posterior mean when w is one of the rows of `pool` (T, d), all equally likely.

    >>> from glyptic.icl.experiments.prompts import sample
    >>> from glyptic.icl.experiments.tasks import TaskPool
    >>> pool = TaskPool.draw_pool(d=3, tasks=4, noise_variance=1e-4, seed=0)
    >>> prompts = sample(pool, np.random.default_rng(0), prompts=100, N=2)
    >>> answer = discrete_answers(prompts, pool.weights, 1e-4, [2])         # 2 < d examples tell 4 tasks apart
    >>> bool(np.mean((answer[:, 0] - prompts.target[:, 2]) ** 2) < 0.1)
    True
    """
    pool = as_finite("pool of tasks", pool, (None, prompts.query_x.shape[2]))
    if noise_variance == 0:
        raise ProblemError("dMMSE needs label noise: without it the posterior is not defined, so use noise_variance > 0.")
    fits = np.einsum("bnd,td->btn", prompts.context_x, pool)
    misfit = np.cumsum((prompts.context_y[:, None, :] - fits) ** 2, axis=2)  # after 1 … N examples
    misfit = np.concatenate([np.zeros_like(misfit[:, :, :1]), misfit], axis=2)
    columns = []
    for k in counts:
        logits = -misfit[:, :, k] / (2.0 * noise_variance)
        posterior = np.exp(logits - logits.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
        columns.append(np.einsum("bt,td,bd->b", posterior, pool, prompts.query_x[:, k]))
    return np.stack(columns, axis=1)


@checked
def ridge_risk(d: Dimension, noise_variance: Variance, N: Length, prompts: PromptCount = 4000, seed: Seed = 0) -> Array:
    """Risk of Bayes-optimal ridge after k = 0 … N examples, x ~ N(0, I): E tr(XᵀX/s² + I)⁻¹, sampled, (N + 1,).

    >>> ridge_risk(5, 0.25, N=2).round(2)[0]                          # nothing seen: E⟨w, x⟩² = d
    np.float64(5.0)
    """
    if noise_variance == 0:
        raise ProblemError("the risk of ridge needs a noise variance above 0: without it d examples leave none.")
    x = np.random.default_rng(seed).standard_normal((prompts, N, d))
    outer = np.cumsum(np.einsum("bni,bnj->bnij", x, x), axis=1)
    traces = np.trace(np.linalg.inv(outer / noise_variance + np.eye(d)), axis1=2, axis2=3)
    return np.concatenate([[float(d)], traces.mean(axis=0)])
