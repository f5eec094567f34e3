"""A trained learner's curve drawn over the exact one: SGD over the gradient flow, Adam over the minimum it heads for.

SGD with rate η is at time ηn of the flow after n steps, so the two share an axis. Adam has no time of its own; its
curve is drawn against steps, with the exact minimum as the line that it must reach and cannot cross.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from glyptic.icl import figures
from glyptic.icl.experiments import plots
from glyptic.icl.experiments.bayes import ridge_answers
from glyptic.icl.experiments.decoder import DecoderLearner, DecoderSize, decoder_plan
from glyptic.icl.experiments.learners import DeepLinearAttention, Learner, LinearAttention, SoftmaxAttention
from glyptic.icl.experiments.prompts import anisotropic, sample
from glyptic.icl.experiments.tasks import Linear
from glyptic.icl.experiments.training import Curriculum, Plan, answers, train
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem, ProblemError, non_negative, spectrum
from glyptic.icl.theory.reduced import reduced_flow
from glyptic.icl.theory.theorem import initial_blocks

LEARNERS = ("lsa", "softmax", "softmax2", "deep", "decoder")
Row = dict[str, float]


@dataclass(frozen=True)
class Run:
    """One learner on linear regression with x ~ N(0, Λ)."""

    learner: str = "lsa"
    d: int = 5
    N: int = 20
    spectrum: str = "isotropic"
    noise: float = 0.0
    optimizer: Literal["adam", "sgd"] = "adam"
    steps: int = 1000
    batch: int = 256
    rate: float = 0.03
    layers: int = 3
    width: int = 64
    scale: float = 0.3  # σ of Zhang et al.'s start
    curriculum: int = 0  # steps between two raises; 0: none
    seed: int = 0

    def __post_init__(self) -> None:
        if self.learner not in LEARNERS:
            raise ProblemError(f"no learner {self.learner!r}; there are {', '.join(LEARNERS)}.")
        if self.learner == "decoder" and self.noise <= 0:
            raise ProblemError("the decoder is measured against Bayes-optimal ridge: give the task noise > 0, say 0.5.")
        non_negative("label noise s", self.noise)
        _ = self.problem  # a singular Λ, N = 0 and the like are refused before anything is trained

    @property
    def problem(self) -> Problem:
        return Problem(spectrum(self.spectrum, self.d), self.N, noise_variance=self.noise**2)

    @property
    def plan(self) -> Plan:
        raises = Curriculum(1, 3, self.curriculum) if self.curriculum else None
        if self.learner == "decoder":
            base = decoder_plan(self.d, self.noise, self.N, self.steps, self.batch, self.seed)
            return Plan(**{**base.__dict__, "rate": self.rate, "optimizer": self.optimizer, "curriculum": raises})
        return Plan(
            steps=self.steps,
            examples=self.N,
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
            return LinearAttention(initial_blocks(self.problem, self.scale))
        if self.learner == "deep":
            return DeepLinearAttention(self.d, self.layers)
        if self.learner == "decoder":
            return DecoderLearner(self.d, self.N, DecoderSize(self.width, self.layers), self.seed)
        return SoftmaxAttention(self.d, heads=2 if self.learner == "softmax2" else 1, scale=0.1, seed=self.seed)


def fit(run: Run, checkpoint: Path | None = None, progress: bool = True) -> tuple[Learner, list[Row]]:
    """Train; each row of the history has the risk 2L: exact for `lsa`, on 2000 fixed prompts for the others."""
    learner = run.build()
    law = anisotropic(spectrum(run.spectrum, run.d))
    test = sample(Linear(run.d, run.noise), np.random.default_rng([run.seed, 5]), 2000, run.N, law)

    def measure(trained: Any) -> Row:
        if isinstance(trained, LinearAttention):
            return {"risk": 2.0 * loss(run.problem, trained.blocks())}
        return {"risk": float(np.mean((answers(trained, test, [run.N])[:, 0] - test.target[:, -1]) ** 2))}

    history = train(learner, Linear(run.d, run.noise), run.plan, law, measure, checkpoint, progress)
    return learner, history


def summary(run: Run, history: Sequence[Row]) -> list[dict[str, Any]]:
    """The last risk beside the exact minimum of linear attention and the risk of Bayes-optimal ridge."""
    linear = 2.0 * minimum_loss(run.problem)
    law = anisotropic(spectrum(run.spectrum, run.d))
    test = sample(Linear(run.d, run.noise), np.random.default_rng([run.seed, 5]), 2000, run.N, law)
    error = ridge_answers(test, run.noise, [run.N])[:, 0] - test.target[:, -1]
    ridge = float(np.mean(error**2).round(12))  # without noise it is 0 up to rounding
    last = history[-1]["risk"]
    return [
        {"what": f"{run.learner}, trained", "risk": last, "over linear attention": last / linear},
        {"what": "linear attention, exact minimum", "risk": linear, "over linear attention": 1.0},
        {"what": "ridge, Bayes-optimal", "risk": ridge, "over linear attention": ridge / linear},
    ]


def draw(axes: Any, run: Run, history: Sequence[Row]) -> list[dict[str, Any]]:
    """The trained curve over the exact one; returns the data that is drawn."""
    steps = np.array([row["step"] for row in history])
    follows_flow = run.learner == "lsa" and run.optimizer == "sgd"
    x = run.rate * steps if follows_flow else steps
    exact = np.full(len(x), np.nan)
    if follows_flow:
        flow = reduced_flow(run.problem, initial_blocks(run.problem, run.scale), x)
        exact = 2.0 * (minimum_loss(run.problem) + flow.excess())
        axes.plot(x, exact, color=figures.COLOURS["theory"], linewidth=3, alpha=0.6, label="gradient flow, exact")
    risk = [row["risk"] for row in history]
    name = {"sgd": "SGD", "adam": "Adam"}[run.optimizer]
    axes.plot(x, risk, color=figures.COLOURS["measured"], linewidth=1.3, label=f"{run.learner}, {name}")
    minimum, ridge = (row["risk"] for row in summary(run, history)[1:])
    axes.axhline(minimum, color=figures.COLOURS["muted"], linestyle="--", label="minimum of linear attention, exact")
    if ridge > 0 and run.learner == "decoder":
        axes.axhline(ridge, color=figures.COLOURS["good"], linestyle="--", label="ridge, Bayes-optimal")
    axes.set(ylabel=plots.RISK, xlabel="time = rate × steps" if follows_flow else "steps")
    plots.log_axis(axes, "y")
    where = f"d = {run.d}, N = {run.N}, Λ {run.spectrum}, s = {run.noise:g}"
    plots.finish(axes, f"{where}; batch {run.batch}, rate {run.rate:g}")
    return [
        {"step": int(s), "x": float(t), "risk": r, "flow": float(e), "minimum": minimum}
        for s, t, r, e in zip(steps, x, risk, exact, strict=True)
    ]
