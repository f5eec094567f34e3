"""Everything that decides a training run besides the task and the model, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from glyptic.arguments import Count, Number, check_fields
from glyptic.errors import InputError
from glyptic.train.schedule import ScheduleKind

TEST = 2**62  # an evaluation with a seed from here on is a test, so that runs have those below it
RunSeed = Annotated[int, Count(0, TEST - 1)]
TrainingPrecision = Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Plan:
    """How long, how much at a time, how fast, and what is looked at on the way.

    >>> Plan(steps=1000, warmup=100).accumulate
    1
    >>> Plan(batch=64, accumulate=7)
    Traceback (most recent call last):
    glyptic.errors.InputError: accumulate is 7, and a batch of 64 cannot be cut into so many equal pieces;
    use one that divides it.
    """

    steps: Annotated[int, Count(1, 10**9)] = 2000
    """Steps of the optimizer."""
    batch: Annotated[int, Count(1, 10**6)] = 64
    """Sequences in a step, over all processes and pieces together."""
    rate: Annotated[float, Number(above=0, most=1e6)] = 1e-3
    """Greatest learning rate."""
    schedule: ScheduleKind = "cosine"
    """After the warm-up: cosine to 0, inverse_sqrt (Vaswani et al.'s), or constant."""
    warmup: Annotated[int, Count(0, 10**9)] = 100
    """Steps over which the rate rises from 0."""
    weight_decay: Annotated[float, Number(least=0, most=1e6)] = 0.01
    """AdamW's, of matrices and tables; biases and norms have none."""
    beta1: Annotated[float, Number(least=0, most=0.999999)] = 0.9
    """AdamW's memory of the gradient."""
    beta2: Annotated[float, Number(least=0, most=0.999999)] = 0.98
    """AdamW's memory of its square."""
    clip: Annotated[float, Number(above=0, most=1e9)] | None = 1.0
    """Largest norm of the gradient; None: any."""
    smoothing: Annotated[float, Number(least=0, most=0.999999)] = 0.0
    """Label smoothing."""
    accumulate: Annotated[int, Count(1, 10**6)] = 1
    """Pieces that a batch is cut into, one after the other, to save memory."""
    precision: TrainingPrecision = "float32"
    """bfloat16: products under autocast, weights and moments in float32."""
    compile: bool = False
    """Let torch.compile make the step fast; the first ones then take long."""
    record: Annotated[int, Count(1, 10**9)] = 50
    """Steps between two rows of the metrics."""
    evaluate: Annotated[int, Count(1, 10**9)] = 500
    """Steps between two evaluations; the last step has one too."""
    save: Annotated[int, Count(1, 10**9)] = 500
    """Steps between two checkpoints: what a kill can cost at most."""
    patience: Annotated[int, Count(1, 10**9)] | None = None
    """Stop after so many evaluations in a row without a better one; None: never."""
    reach: Annotated[float, Number()] | None = None
    """Stop as soon as an evaluation's measure is as good as this; None: never."""
    seed: RunSeed = 0
    """Of the start, the batches and dropout."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.warmup > self.steps and self.warmup != Plan.warmup:  # who only asks for fewer steps than usual is not refused
            raise InputError(
                f"warmup is {self.warmup}, and the run has {self.steps} steps, so that the rate would never be reached; "
                "use a shorter warmup, or more steps."
            )
        if self.batch % self.accumulate:
            raise InputError(
                f"accumulate is {self.accumulate}, and a batch of {self.batch} cannot be cut into so many equal pieces; "
                "use one that divides it."
            )
