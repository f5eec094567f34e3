"""Trains in children that are killed at random moments, until one ends; prints the digest of its weights and of the rows.

Run as a script, so that children are forked where nothing was computed yet.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from glyptic import nn
from glyptic.train import load_run, train
from tests.train.small import LONGER, Progressions, digest


def train_in_a_child(out: Path) -> int:
    child = os.fork()
    if not child:
        status = 1
        try:
            train(Progressions(), LONGER, out=out, progress=False)
            status = 0
        finally:
            os._exit(status)
    return child


def step_of(out: Path) -> int:
    """The step of the last checkpoint."""
    progress = load_run(out).progress() if (out / "run.json").exists() else None
    return 0 if progress is None else progress.step


def killed_in_time(child: int, out: Path, before: int, wait: float) -> bool:
    """Kill a child some seconds after it has saved something; False if it ends before that."""
    end = float("inf")
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, status
            return False
        if end == float("inf") and step_of(out) > before:
            end = time.monotonic() + wait
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def main(out: Path, seed: int, kills: int) -> None:
    rng, killed = random.Random(seed), []
    while killed_in_time(train_in_a_child(out), out, step_of(out), rng.uniform(0.0, 0.1) if len(killed) < kills else 600.0):
        killed.append(step_of(out))
    losses = [row["loss"] for row in load_run(out).rows() if "loss" in row]
    print(json.dumps({"weights": digest(nn.load(out / "last")), "losses": losses, "killed": killed}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
