"""Task diversity (Raventós et al. 2023): with how many training tasks does a decoder stop memorising them?

Trained on a pool of T tasks, the best learner *on the pool* is dMMSE, which knows the T tasks; the best on new tasks is
ridge, which knows none. A decoder is dMMSE-like for few tasks, ridge-like for many: the threshold is where it becomes
closer to ridge, measured by its answers to prompts about new tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glyptic import figures
from glyptic.icl.experiments.bayes import discrete_answers, ridge_answers
from glyptic.icl.experiments.decoder import DecoderLearner, decoder_plan
from glyptic.icl.experiments.prompts import PromptTask, sample
from glyptic.icl.experiments.tasks import LinearTask, TaskPool
from glyptic.icl.experiments.training import answers, train

Row = dict[str, Any]


def measure_pool(d: int, tasks: int, noise_variance: float, N: int, steps: int, seed: int, prompts: int = 10_000) -> Row:
    """Train a decoder on T tasks; mean squared errors and distances over all queries, divided by d."""
    pool = TaskPool.draw_pool(d, tasks, noise_variance, seed)
    learner = DecoderLearner(d, N, seed=seed)
    train(learner, pool, decoder_plan(d, noise_variance, N, steps, seed=seed), progress=False)
    row: Row = {}
    laws: dict[str, PromptTask] = {"new": LinearTask(d, noise_variance), "pool": pool}
    for name, law in laws.items():
        test = sample(law, np.random.default_rng([seed, 2]), prompts, N)
        counts = range(N + 1)
        model = answers(learner, test, counts)
        discrete = discrete_answers(test, pool.weights, noise_variance, counts)
        ridge = ridge_answers(test, noise_variance, counts)
        pairs = {"decoder": (model, test.target), "dmmse": (discrete, test.target), "ridge": (ridge, test.target)}
        pairs |= {"decoder_to_dmmse": (model, discrete), "decoder_to_ridge": (model, ridge)}
        for what, (one, other) in pairs.items():
            squares = np.mean((one - other) ** 2, axis=1) / d  # of each prompt
            row[f"{name}_{what}"] = float(squares.mean())
            row[f"{name}_{what}_standard_error"] = float(squares.std() / np.sqrt(len(squares)))
    return row


def threshold(rows: Sequence[Row]) -> float | None:
    """The number of tasks from which the decoder stays closer to ridge, between two measured T; None if it never does.

    >>> near = {"new_decoder_to_dmmse": 1.0, "new_decoder_to_ridge": 4.0}
    >>> far = {"new_decoder_to_dmmse": 4.0, "new_decoder_to_ridge": 1.0}
    >>> threshold([{"tasks": 4, **near}, {"tasks": 16, **far}])
    8.0
    """
    ordered = sorted(rows, key=lambda row: row["tasks"])
    lead = [float(np.log(row["new_decoder_to_ridge"] / row["new_decoder_to_dmmse"])) for row in ordered]
    if lead[-1] >= 0:
        return None
    last = max((index for index, value in enumerate(lead) if value >= 0), default=None)
    if last is None:
        return float(ordered[0]["tasks"])
    share = lead[last] / (lead[last] - lead[last + 1])  # linear in log T
    low, high = np.log(ordered[last]["tasks"]), np.log(ordered[last + 1]["tasks"])
    return float(np.round(np.exp(low + share * (high - low)), 6))


def draw(risk_axes: Any, distance_axes: Any, rows: Sequence[Row]) -> None:
    """Left: risk on new tasks. Right: which of the two the decoder answers like."""
    rows = sorted(rows, key=lambda row: row["tasks"])
    tasks = [row["tasks"] for row in rows]
    colours = figures.SERIES
    lines = {"new_dmmse": ("dMMSE: knows the T tasks", "--"), "new_ridge": ("ridge: Bayes-optimal on new tasks", "--")}
    for index, (key, (label, style)) in enumerate({"new_decoder": ("trained decoder", "-"), **lines}.items()):
        marker = "o" if key == "new_decoder" else None
        _draw_line(risk_axes, rows, key, label, color=colours[index], linestyle=style, marker=marker)
    for colour, (key, label) in zip(colours[1:], {"dmmse": "dMMSE", "ridge": "ridge"}.items(), strict=False):
        _draw_line(distance_axes, rows, f"new_decoder_to_{key}", f"distance to {label}", color=colour, marker="o")
    found = threshold(rows)
    if found is not None:
        distance_axes.axvline(found, color=figures.COLOURS["muted"], linewidth=1, linestyle=":")
        place = {"xycoords": ("data", "axes fraction"), "va": "top"}
        distance_axes.annotate(f" threshold T ≈ {found:.0f}", (found, 0.97), **place)
    for axes, title in ((risk_axes, "risk on new tasks"), (distance_axes, "what the decoder answers like")):
        axes.set_xlabel("training tasks, T")
        figures.log_axis(axes, "x", tasks)
        figures.titled(axes, title)
    risk_axes.set_ylim(bottom=0)
    figures.log_axis(distance_axes, "y")
    risk_axes.set_ylabel(r"$E(\hat y - f(x_q))^2/d$, mean over queries")
    distance_axes.set_ylabel(r"$E(\hat y - \hat y\,')^2/d$, mean over queries")


def _draw_line(axes: Any, rows: Sequence[Row], key: str, label: str, **style: Any) -> None:
    """A quantity against T, ± 2 standard errors over the test prompts."""
    error = [2 * row[f"{key}_standard_error"] for row in rows]
    axes.errorbar([row["tasks"] for row in rows], [row[key] for row in rows], yerr=error, label=label, capsize=3, **style)
