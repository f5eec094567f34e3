"""What a cell computes: functions from parameters to rows.

`risk` is E(ŷ − ⟨w, x_q⟩)² after M examples, `standard_error` that of the estimate (0 where it is exact). What trains
imports torch when it is called, and takes one thread: cells run side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glyptic.icl.experiments.bayes import ridge_answers
from glyptic.icl.experiments.prompts import Prompts, PromptShift, anisotropic, sample
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.lsa import predict
from glyptic.icl.theory.optimum import optimal_blocks
from glyptic.icl.theory.problem import Array, Problem
from glyptic.icl.theory.problem import spectrum as spectrum_named
from glyptic.icl.theory.theorem import initial_blocks

Row = dict[str, Any]
VERSION = 5  # raise it when a measure computes something else: cells of another version are not reused


def risk(d: int, N: int, M: int, spectrum: str, noise_variance: float, seed: int, prompts: int) -> list[Row]:
    """Linear attention trained to its minimum at N and asked after M: exact and sampled; ridge beside it."""
    trained = optimal_blocks(_problem(d, N, spectrum, noise_variance))
    exact = 2.0 * loss(_problem(d, M, spectrum, noise_variance), trained)
    drawn = sample(LinearTask(d, noise_variance), np.random.default_rng([seed, d, N, M]), prompts, M, _law(d, spectrum))
    linear = predict(trained, drawn.context_x, drawn.context_y, drawn.query_x[:, -1])
    return [
        {"learner": "linear attention, exact", "risk": exact, "standard_error": 0.0},
        _sampled("linear attention, sampled", linear, drawn),
        _sampled("ridge, Bayes-optimal", ridge_answers(drawn, noise_variance, [M])[:, 0], drawn),
    ]


def train(d: int, N: int, M: int, spectrum: str, noise_variance: float, seed: int, prompts: int) -> list[Row]:
    """Linear attention trained at N by 600 steps of Adam, and the exact minimum at N: both risks at M, exact."""
    import torch

    from glyptic.icl.experiments.learners import LinearAttention
    from glyptic.icl.experiments.training import PromptPlan
    from glyptic.icl.experiments.training import train as fit

    torch.set_num_threads(1)
    problem = _problem(d, N, spectrum, noise_variance)
    learner = LinearAttention(initial_blocks(problem, sigma=0.1))
    plan = PromptPlan(steps=600, N=N, rate=0.05, seed=seed)
    fit(learner, LinearTask(d, noise_variance), plan, _law(d, spectrum), progress=False)
    test = _problem(d, M, spectrum, noise_variance)
    return [
        {"learner": "linear attention, exact", "risk": 2.0 * loss(test, optimal_blocks(problem)), "standard_error": 0.0},
        {"learner": "linear attention, Adam", "risk": 2.0 * loss(test, learner.blocks()), "standard_error": 0.0},
    ]


def depth(d: int, N: int, layers: int, sparse: bool, steps: int, seed: int) -> list[Row]:
    """L trained layers of linear attention, and the best L steps of gradient descent."""
    import torch

    from glyptic.icl.experiments.descent import trained_risk
    from glyptic.icl.theory.depth import best_descent

    torch.set_num_threads(1)
    risk, error = trained_risk(d, N, layers, sparse, steps, seed)
    return [{"risk": risk, "standard_error": error, "descent": best_descent(d, N, layers).risk}]


def diversity(d: int, tasks: int, noise_variance: float, N: int, steps: int, seed: int) -> list[Row]:
    """A decoder trained on a pool of tasks, against dMMSE and ridge, on new tasks and on the pool."""
    import torch

    from glyptic.icl.experiments.diversity import measure_pool

    torch.set_num_threads(1)
    return [measure_pool(d, tasks, noise_variance, N, steps, seed)]


def comparison(task: str, d: int, N: int, steps: int, prompts: int, slow_prompts: int, seed: int) -> list[Row]:
    """A decoder trained on a task of Garg et al., and the baselines that suit it, against the number of examples."""
    import torch

    from glyptic.icl.experiments.comparison import SUITED, LearnerComparison, compare

    torch.set_num_threads(1)
    settings: Row = {"task": task, "d": d, "N": N, "steps": steps, "seed": seed}
    sizes: Row = {"prompts": prompts, "slow_prompts": slow_prompts, "baselines": SUITED[task]}
    curves = compare(LearnerComparison(**settings, **sizes), progress=False)
    return [row for one in curves for row in one.rows()]


def covariate(d: int, N: int, random_covariance: bool, steps: int, seed: int) -> list[Row]:
    """Linear attention trained by Adam on one covariance, or on a new random one in every prompt; all its weights."""
    import torch

    from glyptic.icl.experiments.covariate import trained_blocks

    torch.set_num_threads(1)
    return [{"weights": trained_blocks(d, N, random_covariance, steps, seed).vector().tolist()}]


MEASURES: dict[str, Callable[..., list[Row]]] = {
    "risk": risk,
    "train": train,
    "depth": depth,
    "diversity": diversity,
    "comparison": comparison,
    "covariate": covariate,
}


def _problem(d: int, N: int, name: str, noise_variance: float) -> Problem:
    return Problem(spectrum_named(name, d), N, noise_variance=noise_variance)


def _law(d: int, name: str) -> PromptShift:
    return anisotropic(spectrum_named(name, d))


def _sampled(name: str, answer: Array, prompts: Prompts) -> Row:
    error = (answer - prompts.target[:, -1]) ** 2
    mean, spread = error.mean().round(12), (error.std() / np.sqrt(len(error))).round(12)  # least squares: 0, not 1e-30
    return {"learner": name, "risk": float(mean), "standard_error": float(spread)}
