"""Zhang et al.'s limits under covariate shift, exact and trained.

Trained on x ~ N(0, I), linear attention answers ŷ = bᵀPx_q. Shown inputs c times as large, it tends with M → ∞ to
c²⟨w, x_q⟩ (up to γ = 1 + (d+1)/N): it learns from long contexts only if c = 1. Training on a new random diagonal
covariance in every prompt does not help: for Exp(1) the answer tends to ⅓⟨w, x_q⟩ on inputs N(0, I).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glyptic import figures
from glyptic.icl.experiments.prompt_shifts import scaled_inputs
from glyptic.icl.experiments.prompts import ORDINARY, PromptShift, gaussian_inputs, sample
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.theory.lsa import Blocks, predict
from glyptic.icl.theory.optimum import gamma, optimal_map
from glyptic.icl.theory.problem import Array, Problem
from glyptic.icl.theory.random_covariance import RandomDiagonal
from glyptic.icl.theory.shifts import Shift, shifted_risk

SLOPE = r"$s$ in $\hat y \approx s\,\langle w, x_q\rangle$"


def _exponential_covariance(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
    deviations = np.sqrt(rng.exponential(1.0, (prompts, 1, d)))
    context, query = gaussian_inputs(rng, prompts, N, d)
    return context * deviations, query * deviations


RANDOM_COVARIANCE = PromptShift("random-covariance", "Λ = diag(λ), λ ~ Exp(1) for each prompt", _exponential_covariance)


def trained_blocks(d: int, N: int, random_covariance: bool, steps: int, seed: int) -> Blocks:
    """All weights after training by Adam from Zhang et al.'s start."""
    from glyptic.icl.experiments.learners import LinearAttention
    from glyptic.icl.experiments.training import PromptPlan, train
    from glyptic.icl.theory.theorem import initial_blocks

    learner = LinearAttention(initial_blocks(Problem.isotropic(d, N), sigma=0.3))
    plan = PromptPlan(steps=steps, N=N, rate=0.02, batch=512, seed=seed)
    train(learner, LinearTask(d), plan, RANDOM_COVARIANCE if random_covariance else ORDINARY, progress=False)
    return learner.blocks()


def exact_risk(d: int, N: int, c: float, M: float) -> float:
    """Risk of the exact minimum at N on inputs c times as large, with w ~ N(0, I)."""
    eye = np.eye(d)
    P = optimal_map(Problem.isotropic(d, N))
    return shifted_risk(P, Shift("scaled", c**2 * eye, c**2 * eye, eye), M)


def sampled_answers(trained: Blocks, c: float, M: int) -> tuple[Array, Array]:
    """ŷ and ⟨w, x_q⟩ on sampled prompts with M examples, on fewer if they are long: they scatter less."""
    prompts = max(4000, 400_000 // M)
    rng = np.random.default_rng(M)
    drawn = sample(LinearTask(trained.d), rng, prompts, M, scaled_inputs(c))
    return predict(trained, drawn.context_x, drawn.context_y, drawn.query_x[:, -1]), drawn.target[:, -1]


def slope(answer: Array, target: Array) -> tuple[float, float]:
    """The number s for which ŷ ≈ s·⟨w, x_q⟩, by least squares, and its standard error (each prompt has its own spread)."""
    found = float(answer @ target / (target @ target))
    return found, float(np.sqrt(np.sum(((answer - found * target) * target) ** 2)) / (target @ target))


def draw_risk(
    axes: Any, trained: Blocks, N: int, scales: Sequence[float], lengths: Sequence[int]
) -> list[dict[str, Any]]:
    """Risk per unit of signal against M: lines the exact minimum, points the trained model, dots the limit M → ∞."""
    rows = []
    d = trained.d
    for index, c in enumerate(scales):
        colour = figures.SERIES[index]
        signal = d * c**2
        line = [exact_risk(d, N, c, M) / signal for M in lengths]
        axes.plot(lengths, line, color=colour, label=f"inputs × {c:g}")
        axes.axhline(exact_risk(d, N, c, np.inf) / signal, color=colour, linewidth=1, linestyle=":")
        for M, exact in zip(lengths, line, strict=True):
            answer, target = sampled_answers(trained, c, M)
            squares = (answer - target) ** 2 / signal
            mean, error = float(squares.mean()), float(squares.std() / np.sqrt(len(squares)))
            axes.errorbar([M], [mean], yerr=[2 * error], fmt="o", color=colour, markersize=4, capsize=2)
            rows.append(_row("risk / signal", c, N, M, exact, mean, error))
    axes.set(xlabel="test length M", ylabel=r"risk $/\ E\langle w, x_q\rangle^2$")
    figures.log_axis(axes, "x", lengths[::2])
    axes.set(yscale="log", ylim=(0.01, 150))
    figures.log_axis(axes, "y")
    figures.titled(axes, "only the training covariance is learned from", "upper center", columns=3)
    return rows


def draw_scale(axes: Any, trained: Blocks, N: int, scales: Sequence[float], M: int) -> list[dict[str, Any]]:
    """ŷ ≈ s·⟨w, x_q⟩: s against the scale of the inputs, with the limit c²."""
    rows = []
    fine = np.linspace(min(scales), max(scales), 100)
    factor = 1.0 / gamma(Problem.isotropic(trained.d, N))[0, 0]
    axes.plot(fine, fine**2, "--", color=figures.COLOURS["muted"], label="c², the limit N, M → ∞")
    axes.plot(fine, factor * fine**2, color=figures.COLOURS["theory"], label=f"c²/γ, exact for N = {N}")
    for c in scales:
        measured, error = slope(*sampled_answers(trained, c, M))
        axes.errorbar([c], [measured], yerr=[2 * error], fmt="o", color=figures.COLOURS["measured"], capsize=3)
        rows.append(_row("slope, trained on one Λ", c, N, M, factor * c**2, measured, error))
    axes.axhline(1.0, color=figures.COLOURS["muted"], linewidth=1, linestyle=":")
    axes.set(xlabel="inputs times c", ylabel=SLOPE)
    axes.plot([], [], "o", color=figures.COLOURS["measured"], label=f"trained, M = {M}, ± 2 s.e.")
    figures.titled(axes, r"scaled inputs: $\hat y \to c^2\langle w, x_q\rangle$")
    return rows


def draw_random(axes: Any, d: int, models: dict[int, Blocks], M: int) -> list[dict[str, Any]]:
    """Trained on a random covariance in every prompt, asked on N(0, I): s against N, with the limit ⅓."""
    rows = []
    law = RandomDiagonal(d)
    fine = np.unique(np.geomspace(min(models), 8 * max(models), 60).round().astype(int))
    axes.plot(fine, [law.trained_map(int(N)) for N in fine], color=figures.COLOURS["theory"], label="exact")
    for N, trained in models.items():
        measured, error = slope(*sampled_answers(trained, 1.0, M))
        axes.errorbar([N], [measured], yerr=[2 * error], fmt="o", color=figures.COLOURS["measured"], capsize=3)
        rows.append(_row("slope, trained on random Λ", 1.0, N, M, law.trained_map(N), measured, error))
    axes.plot([], [], "o", color=figures.COLOURS["measured"], label=f"trained, M = {M}, ± 2 s.e.")
    axes.axhline(1 / 3, color=figures.COLOURS["muted"], linestyle="--", label="⅓, the limit N, M → ∞")
    axes.set(xlabel="training length N", ylabel=SLOPE, ylim=(0, 0.4))
    figures.log_axis(axes, "x", [min(models) * 2**power for power in range(7)])
    figures.titled(axes, r"random covariances: $\hat y \to \frac{1}{3}\langle w, x_q\rangle$", "lower right")
    return rows


def _row(quantity: str, c: float, N: int, M: int, exact: float, sampled: float, error: float) -> dict[str, Any]:
    return {"quantity": quantity, "c": c, "N": N, "M": M, "exact": exact, "sampled": sampled, "standard_error": error}
