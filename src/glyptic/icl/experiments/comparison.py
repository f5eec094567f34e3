"""Everybody on the same prompts: a trained decoder, the exact linear attention and the baselines of Garg et al."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from glyptic.arguments import Count, Seed, check_fields
from glyptic.icl.experiments import baselines
from glyptic.icl.experiments.curves import Curve, curve, squared_error, wrong_sign
from glyptic.icl.experiments.prompt_shifts import shift_named
from glyptic.icl.experiments.prompts import Prompts, sample
from glyptic.icl.experiments.tasks import LinearTask, task_named
from glyptic.icl.names import Dimension, Length, PromptCount
from glyptic.icl.theory.lsa import predict
from glyptic.icl.theory.optimum import optimal_blocks
from glyptic.icl.theory.problem import Array, Problem, ProblemError

# The learners that Garg et al. hold their transformer against on each task, and what else suits it.
SUITED: dict[str, tuple[str, ...]] = {
    "noisy": ("ridge", "ols", "knn", "average"),
    "sparse": ("lasso", "ols", "knn", "average"),
    "tree": ("cart", "boosting", "knn", "ols"),
    "relu": ("net", "ols", "knn", "boosting"),
}


@dataclass(frozen=True)
class LearnerComparison:
    """What is compared, and on how many prompts; the decoder is left out when it gets no training steps."""

    task: str = "noisy"
    shift: str = "none"
    d: Dimension = 5
    N: Length = 20  # of the decoder's and the linear attention's training; test prompts are asked after 0 … N examples
    every: Annotated[int, Count(1)] = 2  # a point of the curve at each so many examples
    baselines: tuple[str, ...] = ("ols", "ridge", "lasso", "knn", "average", "cart", "boosting", "net")
    prompts: PromptCount = 1000
    slow_prompts: PromptCount = 200  # for those that take tens of milliseconds a fit
    steps: Annotated[int, Count(0, 10**8)] = 0
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.baselines and not self.steps and self.task not in ("linear", "noisy"):
            raise ProblemError("nobody is compared: name a baseline, or give the decoder training steps.")
        for name in self.baselines:  # refused before anything is trained
            baselines.baseline_named(name, 0.0)
        task_named(self.task, self.d), shift_named(self.shift)

    @property
    def counts(self) -> list[int]:
        """0, every, 2·every, … up to all examples."""
        return [*range(0, self.N, self.every), self.N]


def compare(comparison: LearnerComparison, checkpoint: Path | None = None, progress: bool = True) -> list[Curve]:
    """A curve for each learner, on prompts that none of them was trained on.

    >>> few = LearnerComparison(task="linear", d=2, N=4, baselines=("ols", "average"), prompts=50)
    >>> [one.name for one in compare(few, progress=False)]
    ['linear attention, exact', 'least squares', 'averaging']
    """
    c = comparison
    task = task_named(c.task, c.d)
    mistake = wrong_sign if c.task == "classification" else squared_error
    shift = shift_named(c.shift)
    test = sample(task, np.random.default_rng([c.seed, 3]), c.prompts, c.N, shift)
    curves = []
    if c.steps:
        answer = _decoder_answers(c, test, checkpoint, progress)
        curves.append(curve("decoder, trained", answer, test, c.counts, mistake))
    if isinstance(task, LinearTask):
        problem = Problem.isotropic(c.d, c.N, noise_variance=task.noise_variance)
        answer = _linear_attention_answers(problem, test, c.counts)
        curves.append(curve("linear attention, exact", answer, test, c.counts, mistake))
    for name in c.baselines:
        baseline = baselines.baseline_named(name, task.noise_variance, baselines.ridge_is_optimal(task, shift))
        shown = test.first(c.slow_prompts) if baseline.slow else test
        answer = baselines.answers(baseline, shown, c.counts, progress)
        curves.append(curve(baseline.label, answer, shown, c.counts, mistake))
    return curves


def _decoder_answers(c: LearnerComparison, test: Prompts, checkpoint: Path | None, progress: bool) -> Array:
    """Trained on the task without the shift; a checkpoint that exists is used, or trained on."""
    from glyptic.icl.experiments.decoder import DecoderLearner, decoder_plan
    from glyptic.icl.experiments.training import answers, train

    learner = DecoderLearner(c.d, c.N, seed=c.seed)
    plan = decoder_plan(c.d, 0.25, c.N, c.steps, seed=c.seed)
    train(learner, task_named(c.task, c.d), plan, checkpoint=checkpoint, progress=progress)
    return answers(learner, test, c.counts)


def _linear_attention_answers(problem: Problem, test: Prompts, counts: Sequence[int]) -> Array:
    """Trained to its exact minimum with N examples, asked after each count; it answers 0 before the first."""
    trained = optimal_blocks(problem)
    columns = [np.zeros(test.count)] if counts[0] == 0 else []
    for k in counts[len(columns) :]:
        query = test.query_x[:, k]
        exists = np.isfinite(query.sum(axis=1))
        answer = predict(trained, test.context_x[:, :k], test.context_y[:, :k], np.where(exists[:, None], query, 0.0))
        columns.append(np.where(exists, answer, np.nan))
    return np.stack(columns, axis=1)
