"""BatchNorm against LayerNorm: a ViT on handwritten digits, with batches from 1 image to 64, each having seen as many images.

BatchNorm here pools over all tokens of the batch, so that a batch of one image has five to take statistics of. Looked at are the
accuracy in inference, and how much the loss on the very same images differs between statistics of the batch and running ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from glyptic import figures
from glyptic.train.experiments.seeds import band, shares, values
from glyptic.train.experiments.study import Row, Trial
from glyptic.train.plan import Plan
from glyptic.train.tasks.images import ImageTask, as_numbers

CLAIM = (
    "BatchNorm fails at batch size 1 and differs between training and inference; LayerNorm works and is the same "
    "(deep-learning class)."
)
_NORMS = {"layer": "theory", "batch": "measured"}
_LOSSES = {"loss in inference": "-", "loss as in training": "--"}


def trials(small: bool) -> list[Trial]:
    """The rate falls with √batch, as the noise of a gradient rises."""
    images, batches = (64, (1, 16)) if small else (12_800, (1, 4, 16, 64))
    plans = [
        Plan(steps=images // batch, batch=batch, rate=0.003 * (batch / 64) ** 0.5, evaluate=10**9, record=10**9)
        for batch in batches
    ]
    model = {"layers": 2, "patch_size": 4, "dropout": 0.0}
    return [
        Trial({"norm": norm, "batch": plan.batch}, "digits", model | {"norm": norm}, plan) for plan in plans for norm in _NORMS
    ]


def measured(trial: Trial) -> Row:
    """The loss in training mode is of batches as large as those that were trained with."""
    model, task = trial.trained()
    assert isinstance(task, ImageTask)
    seen = task.sides == "evaluated"
    size, images, labels = trial.plan.batch, as_numbers(task.pixels[seen]), torch.from_numpy(task.labels[seen])
    with torch.no_grad():
        found = task.evaluate(model, trial.plan.seed)
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
        batches, shade, called = sorted({row["batch"] for row in rows}), figures.COLOURS[colour], f"{norm.title()}Norm"
        band(left, batches, [values(rows, "accuracy", norm=norm, batch=batch) for batch in batches], shade, called)
        for what, style in _LOSSES.items():
            found = [values(rows, what, norm=norm, batch=batch) for batch in batches]
            band(right, batches, found, shade, f"{called}, {what[5:]}", style)
    figures.log_axis(right, "y")
    left.set_ylabel("accuracy on unseen digits")
    right.set_ylabel("loss on the same unseen digits")
    for place in (left, right):
        place.set_xlabel("images in a batch")
        figures.log_axis(place, "x", sorted({row["batch"] for row in rows}))
        place.legend()
    return figure


def verdict(rows: Sequence[Row]) -> str:
    """Each part must hold with every seed."""
    alone = {norm: values(rows, "accuracy", norm=norm, batch=1) for norm in _NORMS}
    gaps = {
        norm: max(abs(row["loss in inference"] - row["loss as in training"]) for row in rows if row["norm"] == norm)
        for norm in _NORMS
    }
    fails = max(alone["batch"]) < min(alone["layer"]) - 0.1
    differs = gaps["batch"] > 0.01 and gaps["layer"] < 1e-4
    return (
        f"batch size 1: {_said(fails)}, BatchNorm reaches {shares(alone['batch'])} and LayerNorm "
        f"{shares(alone['layer'])}; training = inference: {_said(differs)}, the loss differs by up to "
        f"{gaps['batch']:.3g} with BatchNorm and {gaps['layer']:.1g} with LayerNorm"
    )


def _said(holds: bool) -> str:
    return "confirmed" if holds else "refuted"
