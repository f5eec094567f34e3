"""Norms after the sum (post, as Vaswani et al. have it) against norms before each part (pre): does warming up matter, and depth?

A decider of brackets, at three rates, with a warm-up and without, ten layers deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from glyptic import figures
from glyptic.train.experiments.study import Row, Trial
from glyptic.train.plan import Plan

CLAIM = (
    "A deep post-norm transformer needs a warm-up of its rate and a pre-norm one does not (Xiong et al., 2020, on the two "
    "layers that the lectures write)."
)
_STEPS = 400
_WARMUPS = (0, 100)
_PLACES = {"post": "measured", "pre": "theory"}


def trials(small: bool) -> list[Trial]:
    rates, layers, steps = ((0.001,), 2, 4) if small else ((0.0005, 0.002, 0.008), 10, _STEPS)
    return [
        Trial(
            {"place": place, "warmup": warmup, "rate": rate},
            "dyck:2,16",
            {"layers": layers, "width": 32, "heads": 4, "norm_place": place},
            Plan(steps=steps, batch=64, rate=rate, warmup=min(warmup, steps), evaluate=10**9, record=10**9, clip=None),
        )
        for place in _PLACES
        for warmup in _WARMUPS
        for rate in rates
    ]


def measured(trial: Trial) -> Row:
    model, task = trial.trained()
    with torch.no_grad():
        found = task.evaluate(model, 0)
    return {"loss": found["loss"], "balanced": found["balanced"]}


def draw(rows: Sequence[Row]) -> Any:
    figure, axes = figures.new()
    for place, colour in _PLACES.items():
        for warmup, style in zip(_WARMUPS, ("--", "-"), strict=True):
            line = [(row["rate"], row["balanced"]) for row in rows if (row["place"], row["warmup"]) == (place, warmup)]
            label = f"{place}-norm, {'no warm-up' if not warmup else f'{warmup} steps of warm-up'}"
            axes.plot(*zip(*line, strict=True), style, marker="o", color=figures.COLOURS[colour], label=label)
    axes.set_xlabel("rate")
    axes.set_ylabel("accuracy on unseen words, balanced")
    axes.set_title("Dyck-2, ten layers")
    figures.log_axis(axes, "x", sorted({row["rate"] for row in rows}))
    axes.legend()
    return figure


def verdict(rows: Sequence[Row]) -> str:
    best = {
        (place, warmup): max(row["balanced"] for row in rows if (row["place"], row["warmup"]) == (place, warmup))
        for place in _PLACES
        for warmup in _WARMUPS
    }
    mean = {
        key: sum(row["balanced"] for row in rows if (row["place"], row["warmup"]) == key)
        / sum((row["place"], row["warmup"]) == key for row in rows)
        for key in best
    }
    helped = {place: mean[place, _WARMUPS[1]] - mean[place, 0] for place in _PLACES}
    holds = helped["post"] > 0.05 and abs(helped["pre"]) < 0.05
    said = ", ".join(
        f"{place}-norm {mean[place, 0]:.1%} without and {mean[place, _WARMUPS[1]]:.1%} with (best {best[place, 0]:.1%}, "
        f"{best[place, _WARMUPS[1]]:.1%})"
        for place in _PLACES
    )
    return f"{'confirmed' if holds else 'refuted'}: mean accuracy over rates, without a warm-up and with one: {said}"
