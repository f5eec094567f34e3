"""Norms after the sum (post, as Vaswani et al. have it) against norms before each part (pre): does warming up matter, and depth?

A decider of brackets, at three rates, with a warm-up and without, ten layers deep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from glyptic import figures
from glyptic.train.experiments.seeds import band, mean, shares, values
from glyptic.train.experiments.study import Row, Trial
from glyptic.train.plan import Plan

CLAIM = (
    "A deep pre-norm transformer is easier to train than a post-norm one; post-norm needs a warm-up of the rate, pre-norm does "
    "not (Xiong et al., 2020)."
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
        found = task.evaluate(model, trial.plan.seed)
    return {"loss": found["loss"], "balanced": found["balanced"]}


def draw(rows: Sequence[Row]) -> Any:
    figure, axes = figures.new()
    for place, colour in _PLACES.items():
        for warmup, style in zip(_WARMUPS, ("--", "-"), strict=True):
            rates = sorted({row["rate"] for row in rows})
            found = [values(rows, "balanced", place=place, warmup=warmup, rate=rate) for rate in rates]
            label = f"{place}-norm, {'no warm-up' if not warmup else f'{warmup} steps of warm-up'}"
            band(axes, rates, found, figures.COLOURS[colour], label, style)
    axes.set_xlabel("rate")
    axes.set_ylabel("accuracy on unseen words, balanced")
    axes.set_title("Dyck-2, ten layers")
    figures.log_axis(axes, "x", sorted({row["rate"] for row in rows}))
    axes.legend()
    return figure


def verdict(rows: Sequence[Row]) -> str:
    """Means over the rates and seeds, and their range over the seeds; a difference of five points counts."""

    def by_seed(place: str, warmup: int) -> list[float]:
        return [mean(values(rows, "balanced", place=place, warmup=warmup, seed=seed)) for seed in seeds]

    seeds = sorted({row["seed"] for row in rows})
    found = {(place, warmup): by_seed(place, warmup) for place in _PLACES for warmup in _WARMUPS}
    bare, warm = ({place: mean(found[place, warmup]) for place in _PLACES} for warmup in _WARMUPS)
    easier = bare["pre"] + warm["pre"] > bare["post"] + warm["post"] + 0.1
    needed, spared = warm["post"] > bare["post"] + 0.05, abs(warm["pre"] - bare["pre"]) < 0.05
    said = ", ".join(
        f"{place}-norm {shares(found[place, 0])} without a warm-up and {shares(found[place, _WARMUPS[1]])} with one"
        for place in _PLACES
    )
    parts = {"easier": easier, "post-norm gains by a warm-up": needed, "pre-norm does not": spared}
    return (
        "; ".join(f"{part}: {'confirmed' if holds else 'refuted'}" for part, holds in parts.items())
        + f"; mean accuracy: {said}"
    )
