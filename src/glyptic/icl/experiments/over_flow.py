"""A trained learner's curve drawn over the exact one: SGD over the gradient flow, Adam over the minimum it heads for.

SGD with rate η is at time ηn of the flow after n steps, so the two share an axis. Adam has no time of its own; its
curve is drawn against steps, with the exact minimum as the line that it must reach and cannot cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from glyptic import figures
from glyptic.arguments import Count, Number, Seed, check_fields, shown
from glyptic.icl.experiments.bayes import ridge_answers
from glyptic.icl.experiments.decoder import DecoderLearner, DecoderSize, decoder_plan
from glyptic.icl.experiments.learners import DeepLinearAttention, Learner, LinearAttention, SoftmaxAttention
from glyptic.icl.experiments.prompts import Array, Prompts, anisotropic, sample
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.experiments.training import Curriculum, PromptPlan, answers, train
from glyptic.icl.names import RISK, Dimension, Length, PromptCount, Sigma, Steps, Variance
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem, ProblemError, spectrum
from glyptic.icl.theory.reduced import reduced_flow
from glyptic.icl.theory.theorem import initial_blocks

LEARNERS = ("lsa", "softmax", "softmax2", "deep", "decoder")
Row = dict[str, float]


@dataclass(frozen=True)
class TrainingRun:
    """One learner on linear regression with x ~ N(0, Λ)."""

    learner: str = "lsa"
    d: Dimension = 5
    N: Length = 20
    spectrum: str = "isotropic"
    noise_variance: Variance = 0.0
    optimizer: Literal["adam", "sgd"] = "adam"
    steps: Steps = 1000
    batch: PromptCount = 256
    rate: Annotated[float, Number(above=0)] = 0.03
    layers: Annotated[int, Count(1, 1000)] = 3
    width: Annotated[int, Count(1, 10**4)] = 64
    sigma: Sigma | None = None  # of Zhang et al.'s start; None: half of the theorem's threshold
    curriculum: Annotated[int, Count(0)] = 0  # steps between two raises; 0: none
    seed: Seed = 0
    prompts: PromptCount = 10_000  # on which learners other than lsa are measured

    def __post_init__(self) -> None:
        check_fields(self)
        if self.learner not in LEARNERS:
            raise ProblemError(f"no learner {shown(self.learner)}; there are {', '.join(LEARNERS)}.")
        if self.learner == "decoder" and self.noise_variance == 0:
            raise ProblemError("the decoder is measured against Bayes-optimal ridge: give the task a noise variance, say 0.25.")
        _ = self.problem  # a singular Λ, N = 0 and the like are refused before anything is trained

    @property
    def problem(self) -> Problem:
        return Problem(spectrum(self.spectrum, self.d), self.N, noise_variance=self.noise_variance)

    @property
    def plan(self) -> PromptPlan:
        raises = Curriculum(1, 3, self.curriculum) if self.curriculum else None
        if self.learner == "decoder":
            base = decoder_plan(self.d, self.noise_variance, self.N, self.steps, self.batch, self.seed)
            return PromptPlan(**{**base.__dict__, "rate": self.rate, "optimizer": self.optimizer, "curriculum": raises})
        return PromptPlan(
            steps=self.steps,
            N=self.N,
            batch=self.batch,
            rate=self.rate,
            optimizer=self.optimizer,
            decay=self.optimizer == "adam",
            clip=1.0 if self.learner == "deep" else None,
            curriculum=raises,
            seed=self.seed,
            record=max(1, self.steps // (100 if self.learner == "lsa" else 40)),
        )

    def build(self) -> Learner:
        if self.learner == "lsa":
            return LinearAttention(initial_blocks(self.problem, self.sigma))
        if self.learner == "deep":
            return DeepLinearAttention(self.d, self.layers)
        if self.learner == "decoder":
            return DecoderLearner(self.d, self.N, DecoderSize(self.width, self.layers), self.seed)
        return SoftmaxAttention(self.d, heads=2 if self.learner == "softmax2" else 1, start=0.1, seed=self.seed)


def fit(run: TrainingRun, checkpoint: Path | None = None, progress: bool = True) -> tuple[Learner, list[Row]]:
    """Train; each row of the history has the risk 2L: exact for `lsa`, on `run.prompts` fixed prompts for the others."""
    learner = run.build()
    law = anisotropic(spectrum(run.spectrum, run.d))
    test = _test_prompts(run)

    def measure(trained: Any) -> Row:
        if isinstance(trained, LinearAttention):
            return {"risk": 2.0 * loss(run.problem, trained.blocks()), "standard_error": 0.0}
        return mean_and_error((answers(trained, test, [run.N])[:, 0] - test.target[:, -1]) ** 2)

    history = train(learner, LinearTask(run.d, run.noise_variance), run.plan, law, measure, checkpoint, progress)
    return learner, history


def _test_prompts(run: TrainingRun) -> Prompts:
    law = anisotropic(spectrum(run.spectrum, run.d))
    return sample(LinearTask(run.d, run.noise_variance), np.random.default_rng([run.seed, 5]), run.prompts, run.N, law)


def mean_and_error(squares: Array) -> Row:
    """The mean of squared errors and its standard error; least squares without noise: 0, not 1e-30."""
    mean, spread = squares.mean(), squares.std() / np.sqrt(len(squares))
    return {"risk": float(mean.round(12)), "standard_error": float(spread.round(12))}


def summary(run: TrainingRun, history: Sequence[Row]) -> list[dict[str, Any]]:
    """The last risk beside the exact minimum of linear attention and the risk of Bayes-optimal ridge, which is sampled."""
    linear, test = 2.0 * minimum_loss(run.problem), _test_prompts(run)
    ridge = mean_and_error((ridge_answers(test, run.noise_variance, [run.N])[:, 0] - test.target[:, -1]) ** 2)
    last = {name: history[-1][name] for name in ("risk", "standard_error")}
    return [
        {"learner": f"{run.learner}, trained", **last, "over linear attention": last["risk"] / linear},
        {"learner": "linear attention, exact minimum", "risk": linear, "standard_error": 0.0, "over linear attention": 1.0},
        {"learner": "ridge, Bayes-optimal", **ridge, "over linear attention": ridge["risk"] / linear},
    ]


def draw(axes: Any, run: TrainingRun, history: Sequence[Row]) -> list[dict[str, Any]]:
    """The trained curve over the exact one; returns the data that is drawn."""
    steps = np.array([row["step"] for row in history])
    follows_flow = run.learner == "lsa" and run.optimizer == "sgd"
    x = run.rate * steps if follows_flow else steps
    columns: dict[str, Any] = {"step": steps.astype(int), "risk": [row["risk"] for row in history]}
    if follows_flow:
        flow = reduced_flow(run.problem, initial_blocks(run.problem, run.sigma), x)
        exact = 2.0 * (minimum_loss(run.problem) + flow.excess())
        columns |= {"time": x, "flow": exact}
        axes.plot(x, exact, color=figures.COLOURS["theory"], linewidth=3, alpha=0.6, label="gradient flow, exact")
    risk = np.array(columns["risk"])
    name = {"sgd": "SGD", "adam": "Adam"}[run.optimizer]
    axes.plot(x, risk, color=figures.COLOURS["measured"], linewidth=1.3, label=f"{run.learner}, {name}")
    if run.learner != "lsa":  # its risk is exact
        columns["standard_error"] = [row["standard_error"] for row in history]
        spread = 2 * np.array(columns["standard_error"])
        band = {"color": figures.COLOURS["measured"], "alpha": 0.2, "linewidth": 0, "label": f"± 2 s.e., {run.prompts:,} prompts"}
        axes.fill_between(x, risk - spread, risk + spread, **band)
    minimum, ridge = (row["risk"] for row in summary(run, history)[1:])
    axes.axhline(minimum, color=figures.COLOURS["muted"], linestyle="--", label="minimum of linear attention, exact")
    if ridge > 0 and run.learner == "decoder":
        axes.axhline(ridge, color=figures.COLOURS["good"], linestyle="--", label="ridge, Bayes-optimal")
    axes.set(ylabel=RISK, xlabel="time = rate × steps" if follows_flow else "steps")
    figures.log_axis(axes, "y")
    where = f"d = {run.d}, N = {run.N}, Λ {run.spectrum}, s² = {run.noise_variance:g}"
    figures.titled(axes, f"{where}; batch {run.batch}, rate {run.rate:g}")
    columns["minimum"] = [minimum] * len(steps)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
