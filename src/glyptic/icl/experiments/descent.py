"""L layers of linear attention against L steps of gradient descent, over depth and N (Ahn et al., von Oswald et al.).

The best descent and its risk are exact (`theory.depth.best_descent`). Trained layers have matrices instead of steps; their risk
is sampled as the exact one plus their difference on common S = XᵀX/N, which scatters far less than either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glyptic import figures
from glyptic.icl.experiments.baselines import one_example_too_few
from glyptic.icl.experiments.learners import DeepLinearAttention
from glyptic.icl.experiments.prompts import sample
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.experiments.training import PromptPlan, answers, train
from glyptic.icl.names import RISK
from glyptic.icl.theory.depth import best_descent
from glyptic.icl.theory.problem import Array, Problem, positive_count


def sampled_moments(d: int, N: int, prompts: int = 40_000) -> Array:
    """S = XᵀX/N, (prompts, d, d), always the same ones: what is compared on them shares its sampling error.

    By Bartlett's decomposition: a triangular factor instead of N inputs.
    """
    rng = np.random.default_rng([positive_count("dimension d", d), positive_count("N", N)])
    if d > N:
        x = rng.standard_normal((prompts, N, d))
        return x.transpose(0, 2, 1) @ x / N
    factor = np.tril(rng.standard_normal((prompts, d, d)), -1)
    factor[:, np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(N - np.arange(d), (prompts, d)))
    return factor @ factor.transpose(0, 2, 1) / N


def descent_risk(preconditioners: Sequence[Array], moments: Array) -> Array:
    """‖(I − SA_1)…(I − SA_L)‖²_F, (prompts,): the risk given the inputs of a prompt, averaged over w and x_q."""
    eye = np.eye(moments.shape[1])
    residual = eye
    for A in preconditioners:
        residual = residual @ (eye - moments @ A)
    return np.sum(residual**2, axis=(1, 2))


def trained_risk(d: int, N: int, layers: int, sparse: bool = True, steps: int = 1500, seed: int = 0) -> tuple[float, float]:
    """Train L layers of linear attention by Adam; its risk and the standard error of that."""
    learner = DeepLinearAttention(d, layers, sparse)
    train(learner, LinearTask(d), PromptPlan(steps=steps, N=N, rate=0.02, clip=10.0, seed=seed), progress=False)
    if not sparse:
        test = sample(LinearTask(d), np.random.default_rng([seed, 1, 1]), 100_000, N)
        return _mean_and_error((answers(learner, test, [N])[:, 0] - test.target[:, N]) ** 2)
    best, moments = best_descent(d, N, layers), sampled_moments(d, N)
    ours = descent_risk(list(learner.preconditioners.detach().numpy()), moments)
    difference, error = _mean_and_error(ours - descent_risk([step * np.eye(d) for step in best.steps], moments))
    return best.risk + difference, error


def _mean_and_error(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def draw(axes: Any, rows: Sequence[dict[str, Any]], d: int) -> None:
    """Risk against depth: lines the best descent, circles trained layers, diamonds layers with all entries trained."""
    for index, N in enumerate(sorted({row["N"] for row in rows})):
        colour = figures.SERIES[index]
        axes.plot([], [], color=colour, linewidth=4, label=f"N = {N}")
        mine = sorted((row for row in rows if row["N"] == N and row["sparse"]), key=lambda row: row["layers"])
        layers = [row["layers"] for row in mine]
        axes.plot(layers, [row["descent"] for row in mine], color=colour)
        axes.errorbar(layers, *_points(mine), fmt="o", color=colour, capsize=3)
        free = sorted((row for row in rows if row["N"] == N and not row["sparse"]), key=lambda row: row["layers"])
        axes.errorbar([row["layers"] for row in free], *_points(free), fmt="D--", color=colour, linewidth=1, capsize=3)
    styles = {
        "best L steps of gradient descent, exact": "-",
        "L trained layers, ± 2 s.e.": "o",
        "all entries trained (GD++), ± 2 s.e.": "D--",
    }
    for label, style in styles.items():
        axes.plot([], [], style, color=figures.COLOURS["muted"], label=label)
    few = one_example_too_few(Problem.isotropic(d, 20))
    axes.plot([1], [few["N - 1"]], "x", color=figures.COLOURS["bad"], markersize=9, markeredgewidth=2)
    text = f"one example too few (N = 20):\n{few['N - 1']:.3f} instead of {few['N']:.3f}"
    arrow = {"arrowstyle": "-", "color": figures.COLOURS["bad"], "shrinkB": 7}
    place = {"xytext": (2.1, 1.7), "color": figures.COLOURS["bad"], "fontsize": 9.5, "arrowprops": arrow}
    axes.annotate(text, (1, few["N - 1"]), **place)
    axes.set(xlabel="layers = steps, L", ylabel=RISK)
    figures.log_axis(axes, "y")
    figures.plain_ticks(axes.xaxis, sorted({row["layers"] for row in rows}))
    figures.titled(axes, legend="lower left")


def _points(rows: Sequence[dict[str, Any]]) -> tuple[list[float], list[float]]:
    return [row["risk"] for row in rows], [2 * row["standard_error"] for row in rows]
