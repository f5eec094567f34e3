"""The learning rate as a function of the step."""

from __future__ import annotations

import math
from typing import Literal

ScheduleKind = Literal["cosine", "inverse_sqrt", "constant"]


def rate_at(step: int, rate: float, steps: int, warmup: int = 0, kind: ScheduleKind = "cosine") -> float:
    """The rate of a step (the first is 0) of a run of `steps`: it rises in a line over `warmup` steps to `rate`, then

        cosine         falls to 0 at the end
        inverse_sqrt   falls as 1/√(step + 1): with rate = (D · warmup)^−½ this is Vaswani et al.'s, of a model of width D
        constant       stays

    >>> [rate_at(step, 1.0, steps=4, warmup=2) for step in range(4)]
    [0.5, 1.0, 1.0, 0.5]
    >>> [round(rate_at(step, 1.0, steps=100, warmup=4, kind="inverse_sqrt"), 3) for step in (0, 3, 15, 63)]
    [0.25, 1.0, 0.5, 0.25]
    """
    rise = min(1.0, (step + 1) / warmup) if warmup else 1.0
    if kind == "inverse_sqrt":
        return rate * min(rise, math.sqrt(max(1, warmup) / (step + 1)))
    progress = max(0, step - warmup) / max(1, steps - warmup)
    return rate * rise * (0.5 * (1.0 + math.cos(math.pi * progress)) if kind == "cosine" else 1.0)
