"""`glyptic evaluate`: how well the model of a run does on data that it was not trained on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from glyptic.arguments import Readable
from glyptic.train.plan import RunSeed


@dataclass(frozen=True)
class EvaluateCommand:
    """Evaluate the model of a run on the task's held-out data, and print every metric.

    RUN is a folder that `glyptic train` has written. Held-out data are drawn from a seed: that of the run, unless told.

    Examples: glyptic evaluate t4
              glyptic evaluate t4 --which last --seed 7
    """

    run: Annotated[Positional[Path], Readable("folder"), arg(metavar="RUN")]
    """The run's folder."""
    which: Literal["best", "last"] = "best"
    """The weights of the best evaluation, or the last ones."""
    seed: RunSeed | None = None
    """Of the held-out data; that of the run unless told."""

    def main(self) -> None:
        from glyptic.train.evaluation import evaluate

        for name, value in evaluate(self.run, self.which, seed=self.seed).items():
            print(f"{name:<14} {value:.6g}")
