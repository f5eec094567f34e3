"""BatchNorm against LayerNorm: a ViT on handwritten digits, with batches from 1 image to 64, each having seen as many images.

BatchNorm here pools over all tokens of the batch, so that a batch of one image has five to take statistics of. Looked at are the
accuracy in inference, and how much the loss on the very same images differs between statistics of the batch and running ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from glyptic import figures
from glyptic.train.experiments.study import Row, Trial
from glyptic.train.plan import Plan
from glyptic.train.tasks.images import ImageTask, as_numbers

CLAIM = (
    "BatchNorm fails at batch size 1 and differs between training and inference; LayerNorm works and is the same "
    "(deep-learning class)."
)
_NORMS = {"layer": "theory", "batch": "measured"}


def trials(small: bool) -> list[Trial]:
    """The rate falls with √batch, as the noise of a gradient rises."""
    images, batches = (64, (1, 16)) if small else (12_800, (1, 4, 16, 64))
    return [
        Trial(
            {"norm": norm, "batch": batch}, "digits", {"layers": 2, "patch_size": 4, "dropout": 0.0, "norm": norm}, plan
        )
        for batch in batches
        for plan in [
            Plan(steps=images // batch, batch=batch, rate=0.003 * (batch / 64) ** 0.5, evaluate=10**9, record=10**9)
        ]
        for norm in _NORMS
    ]


def measured(trial: Trial) -> Row:
    """The loss in training mode is of batches as large as those that were trained with."""
    model, task = trial.trained()
    assert isinstance(task, ImageTask)
    size, images = trial.plan.batch, as_numbers(task.pixels[task.held])
    labels = torch.from_numpy(task.labels[task.held])
    with torch.no_grad():
        found = task.evaluate(model, 0)
        model.train()
        running = {name: buffer.clone() for name, buffer in model.named_buffers()}
        logits = torch.cat([model(part) for part in images.split(size)])
        for name, buffer in model.named_buffers():  # looking has no effect
            buffer.copy_(running[name])
        as_trained = float(torch.nn.functional.cross_entropy(logits, labels))
    return {"accuracy": found["accuracy"], "loss in inference": found["loss"], "loss as in training": as_trained}


def draw(rows: Sequence[Row]) -> Any:
    figure, (left, right) = figures.new(1, 2)
    for norm, colour in _NORMS.items():
        own = [row for row in rows if row["norm"] == norm]
        batches, shade = [row["batch"] for row in own], figures.COLOURS[colour]
        left.plot(batches, [row["accuracy"] for row in own], marker="o", color=shade, label=f"{norm.title()}Norm")
        for style, what in (("-", "loss in inference"), ("--", "loss as in training")):
            right.plot(
                batches,
                [row[what] for row in own],
                style,
                marker="o",
                color=shade,
                label=f"{norm.title()}Norm, {what[5:]}",
            )
    figures.log_axis(right, "y")
    left.set_ylabel("accuracy on unseen digits")
    right.set_ylabel("loss on the same unseen digits")
    for place in (left, right):
        place.set_xlabel("images in a batch")
        figures.log_axis(place, "x", sorted({row["batch"] for row in rows}))
        place.legend()
    return figure


def verdict(rows: Sequence[Row]) -> str:
    alone = {row["norm"]: row for row in rows if row["batch"] == 1}
    gaps = {
        norm: max(abs(row["loss in inference"] - row["loss as in training"]) for row in rows if row["norm"] == norm)
        for norm in _NORMS
    }
    fails = alone["batch"]["accuracy"] < alone["layer"]["accuracy"] - 0.1
    differs = gaps["batch"] > 0.01 and gaps["layer"] < 1e-4
    return (
        f"batch size 1: {_said(fails)}, BatchNorm reaches {alone['batch']['accuracy']:.1%} and LayerNorm "
        f"{alone['layer']['accuracy']:.1%}; training = inference: {_said(differs)}, the loss differs by up to "
        f"{gaps['batch']:.3g} with BatchNorm and {gaps['layer']:.1g} with LayerNorm"
    )


def _said(holds: bool) -> str:
    return "confirmed" if holds else "refuted"
