"""Task diversity (Raventós et al. 2023): with how many training tasks does a decoder stop memorising them?

Trained on a pool of T tasks, the best learner *on the pool* is dMMSE, which knows the T tasks; the best on new tasks is
ridge, which knows none. A decoder is dMMSE-like for few tasks, ridge-like for many: the threshold is where it becomes
closer to ridge, measured by its answers to prompts about new tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glyptic.icl import figures
from glyptic.icl.experiments import plots
from glyptic.icl.experiments.bayes import discrete_answers, ridge_answers
from glyptic.icl.experiments.decoder import DecoderLearner, decoder_plan
from glyptic.icl.experiments.prompts import Array, Task, sample
from glyptic.icl.experiments.tasks import Linear, TaskPool
from glyptic.icl.experiments.training import answers, train

Row = dict[str, Any]


def measure_pool(d: int, tasks: int, noise: float, examples: int, steps: int, seed: int, prompts: int = 2000) -> Row:
    """Train a decoder on T tasks; mean squared errors and distances over all queries, divided by d."""
    pool = TaskPool.draw_pool(d, tasks, noise, seed)
    learner = DecoderLearner(d, examples, seed=seed)
    train(learner, pool, decoder_plan(d, noise, examples, steps, seed=seed), progress=False)
    row: Row = {}
    laws: dict[str, Task] = {"new": Linear(d, noise), "pool": pool}
    for name, law in laws.items():
        test = sample(law, np.random.default_rng([seed, 2]), prompts, examples)
        counts = range(examples + 1)
        model = answers(learner, test, counts)
        discrete, ridge = discrete_answers(test, pool.weights, noise, counts), ridge_answers(test, noise, counts)
        row |= {
            f"{name}_decoder": _apart(model, test.target, d),
            f"{name}_dmmse": _apart(discrete, test.target, d),
            f"{name}_ridge": _apart(ridge, test.target, d),
            f"{name}_decoder_to_dmmse": _apart(model, discrete, d),
            f"{name}_decoder_to_ridge": _apart(model, ridge, d),
        }
    return row


def _apart(one: Array, other: Array, d: int) -> float:
    return float(np.mean((one - other) ** 2) / d)


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
    lines = {"new_dmmse": ("dMMSE: knows the T tasks", "--"), "new_ridge": ("ridge: Bayes-optimal", "--")}
    for index, (key, (label, style)) in enumerate({"new_decoder": ("trained decoder", "-"), **lines}.items()):
        marker = "o" if key == "new_decoder" else None
        risk_axes.plot(tasks, [row[key] for row in rows], style, color=colours[index], label=label, marker=marker)
    for colour, (key, label) in zip(colours[1:], {"dmmse": "dMMSE", "ridge": "ridge"}.items(), strict=False):
        distance = [row[f"new_decoder_to_{key}"] for row in rows]
        distance_axes.plot(tasks, distance, "o-", color=colour, label=f"distance to {label}")
    found = threshold(rows)
    if found is not None:
        distance_axes.axvline(found, color=figures.COLOURS["muted"], linewidth=1, linestyle=":")
        place = {"xycoords": ("data", "axes fraction"), "va": "top"}
        distance_axes.annotate(f" threshold T ≈ {found:.0f}", (found, 0.97), **place)
    for axes, title in ((risk_axes, "risk on new tasks"), (distance_axes, "what the decoder answers like")):
        axes.set_xlabel("training tasks, T")
        plots.log_axis(axes, "x", tasks)
        plots.finish(axes, title)
    risk_axes.set_ylim(bottom=0)
    plots.log_axis(distance_axes, "y")
    risk_axes.set_ylabel(r"$E(\hat y - f(x_q))^2/d$, mean over queries")
    distance_axes.set_ylabel(r"$E(\hat y - \hat y\,')^2/d$, mean over queries")
