"""One process of several that torchrun has started, and the runs that they do one after another:

whole     nothing happens
killed    one process is killed once, at a step; when all are started again, runs before it are found finished
stopped   Ctrl-C comes to one of them; given again, the run goes on
asleep    a step takes long, the first time, in all of them: as long as whoever looks at their markers needs to interrupt them
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from glyptic.train import train
from tests.train.small import PLAN, Progressions, digest


class Dies(Progressions):
    """The second process is killed, the first time that a step is reached; or interrupted there."""

    def __init__(self, at: int, marker: Path | None) -> None:
        super().__init__()
        object.__setattr__(self, "at", at)
        object.__setattr__(self, "marker", marker)

    def __repr__(self) -> str:
        return repr(Progressions())

    def batch(self, seed: int, step: int, size: int) -> Any:
        if step == self.at and os.environ["RANK"] == str(int(os.environ["WORLD_SIZE"]) - 1):  # type: ignore[attr-defined]
            if self.marker is None:  # type: ignore[attr-defined]
                os.kill(os.getpid(), signal.SIGINT)
            elif not self.marker.exists():  # type: ignore[attr-defined]
                self.marker.touch()  # type: ignore[attr-defined]
                os.kill(os.getpid(), signal.SIGKILL)
        return super().batch(seed, step, size)


ASLEEP = 13


class Sleeps(Progressions):
    """Drawing the batch of a step takes long, the first time in each process, and a file says that it has begun."""

    def __init__(self, out: Path) -> None:
        super().__init__()
        object.__setattr__(self, "marker", out / f"asleep-{os.environ['RANK']}")

    def __repr__(self) -> str:
        return repr(Progressions())

    def batch(self, seed: int, step: int, size: int) -> Any:
        if step == ASLEEP and not self.marker.exists():  # type: ignore[attr-defined]
            time.sleep(0.5)  # until the step before is done
            self.marker.write_text(str(os.getpid()))  # type: ignore[attr-defined]
            time.sleep(1.5)
        return super().batch(seed, step, size)


RUNS = {
    "whole": lambda out: Progressions(),
    "killed": lambda out: Dies(15, out / "marker"),
    "stopped": lambda out: Dies(13, None),
    "asleep": Sleeps,
}


def main(place: str, strategy: Any, accumulate: str, *names: str) -> None:
    out, found = Path(place), {}
    config, plan = Progressions().config().replace(dropout=0.0), replace(PLAN, accumulate=int(accumulate))
    for name in names:
        kind = name.partition("-")[0]
        task = Progressions() if name.endswith("-again") else RUNS[kind](out)
        try:
            trained = train(task, plan, config=config, out=out / kind, strategy=strategy, progress=False)
            found[name] = digest(trained.model)
        except KeyboardInterrupt:
            assert name in ("stopped", "asleep")
    if os.environ["RANK"] == "0":
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
