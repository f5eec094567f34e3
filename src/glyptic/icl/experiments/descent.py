"""L layers of linear attention against L steps of gradient descent, over depth and N (Ahn et al., von Oswald et al.).

With x ~ N(0, I) and steps a_1 … a_L, gradient descent on the examples leaves the error p(S)w, S = XᵀX/N, where
p(s) = Π(1 − a_l s) is a polynomial of degree L with p(0) = 1. Its risk, E tr p(S)², is quadratic in the coefficients of
p, so the best steps come from one least-squares problem over eigenvalues of S, and are its inverse roots: p is
orthogonal with respect to s·dμ(s), hence its roots are real and positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glyptic.icl import figures
from glyptic.icl.experiments import plots
from glyptic.icl.experiments.baselines import one_example_too_few
from glyptic.icl.experiments.learners import DeepLinearAttention
from glyptic.icl.experiments.prompts import sample
from glyptic.icl.experiments.tasks import Linear
from glyptic.icl.experiments.training import Plan, answers, train
from glyptic.icl.theory.problem import Array, Problem, positive_count


@dataclass(frozen=True)
class BestDescent:
    """The best L-step gradient descent for x ~ N(0, I), w ~ N(0, I) and N examples."""

    steps: tuple[float, ...]  # a_1 … a_L, largest first
    risk: float  # E(ŷ − ⟨w, x_q⟩)²


def best_descent(d: int, N: int, layers: int, samples: int = 40_000) -> BestDescent:
    """The steps by least squares over the eigenvalues of sampled S; for one step the risk is known exactly.

    >>> bool(abs(best_descent(5, 20, layers=1).risk - 30 / 26) < 0.01)       # d(d+1)/(N+d+1)
    True
    """
    positive_count("number of steps", layers)
    s = np.linalg.eigvalsh(sampled_moments(d, N, samples)).ravel()
    powers = s[:, None] ** np.arange(1, layers + 1)
    coefficients = np.linalg.lstsq(powers, -np.ones_like(s), rcond=None)[0]
    polynomial = np.concatenate([coefficients[::-1], [1.0]])  # highest power first
    roots = np.roots(polynomial).real
    return BestDescent(tuple(sorted(1.0 / roots, reverse=True)), float(d * np.mean(np.polyval(polynomial, s) ** 2)))


def sampled_moments(d: int, N: int, samples: int = 40_000) -> Array:
    """S = XᵀX/N, (samples, d, d), always the same ones: what is compared on them shares its sampling error.

    By Bartlett's decomposition: a triangular factor instead of N inputs.
    """
    rng = np.random.default_rng([positive_count("dimension d", d), positive_count("N", N)])
    if d > N:
        x = rng.standard_normal((samples, N, d))
        return x.transpose(0, 2, 1) @ x / N
    factor = np.tril(rng.standard_normal((samples, d, d)), -1)
    factor[:, np.arange(d), np.arange(d)] = np.sqrt(rng.chisquare(N - np.arange(d), (samples, d)))
    return factor @ factor.transpose(0, 2, 1) / N


def descent_risk(preconditioners: Sequence[Array], moments: Array) -> Array:
    """‖(I − SA_1)…(I − SA_L)‖²_F, (samples,): the risk given the inputs of a prompt, averaged over w and x_q."""
    eye = np.eye(moments.shape[1])
    residual = eye
    for A in preconditioners:
        residual = residual @ (eye - moments @ A)
    return np.sum(residual**2, axis=(1, 2))


def trained_risk(d: int, N: int, layers: int, sparse: bool = True, steps: int = 1500, seed: int = 0) -> float:
    """Train L layers of linear attention by Adam; its risk, over the moments of `best_descent` if it is a descent."""
    learner = DeepLinearAttention(d, layers, sparse)
    train(learner, Linear(d), Plan(steps=steps, examples=N, rate=0.02, clip=10.0, seed=seed), progress=False)
    if sparse:
        return float(descent_risk(list(learner.preconditioners.detach().numpy()), sampled_moments(d, N)).mean())
    test = sample(Linear(d), np.random.default_rng([seed, 1, 1]), 20_000, N)
    return float(np.mean((answers(learner, test, [N])[:, 0] - test.target[:, N]) ** 2))


def draw(axes: Any, rows: Sequence[dict[str, Any]], d: int) -> None:
    """Risk against depth: lines the best descent, circles trained layers, diamonds layers with all entries trained."""
    for index, N in enumerate(sorted({row["N"] for row in rows})):
        colour = figures.SERIES[index]
        axes.plot([], [], color=colour, linewidth=4, label=f"N = {N}")
        mine = sorted((row for row in rows if row["N"] == N and row["sparse"]), key=lambda row: row["layers"])
        layers = [row["layers"] for row in mine]
        axes.plot(layers, [row["descent"] for row in mine], color=colour)
        axes.plot(layers, [row["risk"] for row in mine], "o", color=colour)
        free = sorted((row for row in rows if row["N"] == N and not row["sparse"]), key=lambda row: row["layers"])
        axes.plot([row["layers"] for row in free], [row["risk"] for row in free], "D--", color=colour, linewidth=1)
    styles = {"best L steps of gradient descent": "-", "L trained layers": "o", "all entries trained (GD++)": "D--"}
    for label, style in styles.items():
        axes.plot([], [], style, color=figures.COLOURS["muted"], label=label)
    few = one_example_too_few(Problem.isotropic(d, 20))
    axes.plot([1], [few["N - 1"]], "x", color=figures.COLOURS["bad"], markersize=9, markeredgewidth=2)
    text = f"one example too few (N = 20):\n{few['N - 1']:.3f} instead of {few['N']:.3f}"
    arrow = {"arrowstyle": "-", "color": figures.COLOURS["bad"], "shrinkB": 7}
    place = {"xytext": (2.1, 1.7), "color": figures.COLOURS["bad"], "fontsize": 9.5, "arrowprops": arrow}
    axes.annotate(text, (1, few["N - 1"]), **place)
    axes.set(xlabel="layers = steps, L", ylabel=plots.RISK)
    plots.log_axis(axes, "y")
    plots.plain_ticks(axes.xaxis, sorted({row["layers"] for row in rows}))
    plots.finish(axes, loc="lower left")
