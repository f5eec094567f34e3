"""The trainer against the bare training step of `bench_nn_training`; two processes (DDP) against one with as many threads.

A step of the trainer is a whole one: a batch drawn in its thread, dropout's seed, the norm of the gradient and clipping, rows of
metrics at every tenth step. The bare step has the same model, optimizer and batch, and does nothing else. Two processes of one
thread each are compared with one process of two threads, by the wall clock, on the same global batch; both go through
`torchrun`, take turns, and leave out their first steps. That needs a machine that has nothing else to do, and says so if not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks import nn_peers
from benchmarks.nn_peers import LARGE, SMALL, Size
from benchmarks.timing import row
from glyptic import nn
from glyptic.train import Minibatch, Plan, train

SIZES = {"1 M": SMALL, "10 M": LARGE}
STEPS, ROUNDS = {"1 M": 30, "10 M": 8}, 3


@dataclass(frozen=True)
class RandomTokens:
    """Language modelling on random tokens, as the bare step has it; and the clock at every step."""

    size: Size
    measure = "loss"
    name = "random"

    def config(self) -> nn.ModelConfig:
        return nn_peers.ours(self.size).config

    def check(self, config: nn.ModelConfig) -> None: ...

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        generator = torch.Generator().manual_seed(step)
        tokens = torch.randint(self.size.vocabulary, (size, self.size.context + 1), generator=generator)
        return Minibatch((tokens[:, :-1],), tokens[:, 1:], size * self.size.context)

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> torch.Tensor:
        logits = model(batch.inputs[0])
        return F.cross_entropy(logits.flatten(0, 1).float(), batch.targets.flatten())

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        return {"loss": 0.0}

    def files(self) -> Mapping[str, bytes]:
        return {}


def plan_of(size: Size, steps: int) -> Plan:
    return Plan(steps=steps, batch=size.batch, rate=1e-4, record=10, evaluate=10**6, save=10**6)


def trainer_seconds(size: Size, steps: int) -> float:
    """CPU seconds of a step, by the difference between a long run and a short one: what a run costs once is left out."""
    taken = []
    for count in (2, steps + 2):
        start = time.process_time()
        train(RandomTokens(size), plan_of(size, count), progress=False)
        taken.append(time.process_time() - start)
    return (taken[1] - taken[0]) / steps


def bare_seconds(size: Size, steps: int) -> float:
    from benchmarks.bench_nn_training import training_step

    step = training_step(nn_peers.ours(size), size, torch.float32)
    step()
    start = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - start) / steps


def against_bare(size: Size) -> dict[str, Any]:
    torch.set_num_threads(1)
    steps, ratios, trainers = STEPS[size.name], [], []
    for turn in range(ROUNDS):
        contest = [trainer_seconds, bare_seconds]
        found = {run: run(size, steps) for run in (contest if turn % 2 else reversed(contest))}
        ratios.append(found[bare_seconds] / found[trainer_seconds])
        trainers.append(found[trainer_seconds])
    note = f"tokens/s: {size.batch * size.context / median(trainers):,.0f}; batch {size.batch}; {nn_peers.versions()}"
    return row(f"trainer, {size.name}, float32, against the bare training step", median(ratios), ">= 0.95", note)


def processes(size: Size, count: int, threads: int) -> float:
    """Wall seconds of a step under torchrun, as the processes themselves measure it."""
    words = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    words += ["-m", "benchmarks.bench_trainer", size.name]
    root = Path(__file__).parents[1]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run([sys.executable, *words], cwd=root, env=environment, capture_output=True, text=True, check=True)
    return float(json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))["seconds"])


def against_one_process(size: Size) -> dict[str, Any]:
    ratios, seconds, load = [], [], os.getloadavg()[0]
    for turn in range(ROUNDS):
        found = {count: processes(size, count, 2 // count) for count in ((1, 2) if turn % 2 else (2, 1))}
        ratios.append(found[1] / found[2])
        seconds.append(found[2])
    note = f"{1e3 * median(seconds):.0f} ms a step; wall clock, batch {size.batch}, gloo; {nn_peers.versions()}"
    busy = load > (os.cpu_count() or 1)  # threads that wait for each other then wait for strangers
    note = f"says nothing: others kept this machine busy (load {load:.0f}); {note}" if busy else note
    name = f"DDP, {size.name}, two processes of a thread against one of two"
    return row(name, median(ratios), "" if busy else ">= 1.0", note)


def worker(size: Size) -> None:
    """One process of `processes`."""
    taken = []
    for count in (2, STEPS[size.name] + 2):
        start = time.perf_counter()
        train(RandomTokens(size), plan_of(size, count), progress=False)
        taken.append(time.perf_counter() - start)
    if os.environ["RANK"] == "0":
        print(json.dumps({"seconds": (taken[1] - taken[0]) / STEPS[size.name]}), flush=True)


def rows() -> list[dict[str, Any]]:
    found = [against_bare(size) for size in SIZES.values()]
    return found + [against_one_process(size) for size in SIZES.values()]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        worker(SIZES[sys.argv[1]])
    else:
        for line in rows():
            print(line)
