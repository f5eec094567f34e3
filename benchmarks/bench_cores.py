"""Cores, memory, starting: two threads against one, a million inputs in how much memory, the first run of a fresh install.

By the clock, since cores are what is measured; rounds take turns. Beside each ratio stands the machine's own at that moment: two
loops that share nothing, on two threads, against one. Two virtual cores may be one, and others may work on them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from multiprocessing import get_context
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numba import njit

from benchmarks.timing import row
from glyptic import programs
from glyptic.exact import Options, Sizes, Transformer, random_transformer, run_stream
from glyptic.prove import Proved, check
from glyptic.prove.questions import decisiveness

MILLION = 10**6
FIRST_RUN = """
import time
start = time.process_time()
from glyptic import programs
T = programs.open("parity:8", "fixed:8")
loaded = time.process_time()
T.answer("0110")
print(loaded - start, time.process_time() - loaded)
"""


def rows() -> list[dict]:
    return [*_batch_rows(), _enumeration_row(), *_memory_rows(), *_starting_rows()]


@njit(nogil=True)
def _spin(times: int) -> float:
    x = 1.0
    for _ in range(times):
        x = x * 1.0000001 + 1e-9
    return x


def _clock(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _spun(threads: int, times: int = 100_000_000) -> float:
    def run() -> None:
        workers = [threading.Thread(target=_spin, args=(times,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return _clock(run)


def two_against_one(one: Callable[[], Any], two: Callable[[], Any], rounds: int) -> tuple[float, float, float]:
    """One thread's time over that of two, the same of loops that share nothing, and one thread's seconds: medians of rounds."""
    _spin(10)
    ratios, limits, seconds = [], [], []
    for _ in range(rounds):
        limits.append(2 * _spun(1) / _spun(2))
        seconds.append(_clock(one))
        ratios.append(seconds[-1] / _clock(two))
    return median(ratios), median(limits), median(seconds)


def _said(ratio: float, limit: float, seconds: float) -> str:
    own = f"of the machine's own {limit:.2f} at that time: {ratio / limit:.2f}"
    return f"by the clock, one thread {seconds:.1f} s; {own}; load {os.getloadavg()[0]:.1f}"


def _model() -> Transformer:
    """Six layers, d = 128, two heads, 2 % of the weights, as in `exact`."""
    sizes = Sizes(layers=6, heads=2, width=128, key_width=8, value_width=8, hidden=256, max_length=32, density=0.02)
    return random_transformer("fixed:8", 15, sizes, Options(answer="logits"))


def _batch_rows() -> list[dict]:
    model, rng = _model(), np.random.default_rng(2)
    texts = ["".join(word) for word in np.where(rng.random((10_000, 32)) < 0.5, "0", "1")]
    one, two = (model.run_batch(texts[:2000], workers=n) for n in (1, 2))
    assert np.array_equal(one.logits, two.logits)
    found = two_against_one(lambda: model.run_batch(texts, workers=1), lambda: model.run_batch(texts, workers=2), 5)
    return [row("batch of 10,000, 6 layers, d = 128, n = 32: two threads / one", found[0], ">= 1.8", _said(*found))]


def _enumeration_row() -> dict:
    claim = decisiveness(programs.open("contains:101101,19", "fixed:8"))

    def run(workers: int) -> None:
        verdict = check(claim, method="enumerate", workers=workers, progress=False)
        assert isinstance(verdict, Proved) and verdict.inputs == 2**20 - 2

    found = two_against_one(lambda: run(1), lambda: run(2), 9)
    return row("enumeration of 1,048,574 inputs, 6 layers: two threads / one", found[0], ">= 1.7", _said(*found))


def _million() -> Any:
    return map("".join, product("01", repeat=20))


def _peak(kind: str) -> tuple[float, float, float]:
    """MiB before and at most, and seconds of the processor, for a million inputs of length 20, in a process of its own."""
    model = programs.open("parity:20", "fixed:8")
    texts = (text for text, _ in zip(_million(), range(MILLION), strict=False))
    model.run_batch(["01" * 10] * 20_000)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time()
    if kind == "batch":
        answered = len(model.run_batch(texts).numbers)
    else:
        answered = sum(len(batch.trace["logits"]) for batch in run_stream(model, texts, trace=True))
    assert answered == MILLION
    return before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time() - start


def _memory_rows() -> list[dict]:
    found = []
    for kind, about, target in (
        ("batch", "1,000,000 inputs of length 20, parity:20, run_batch", "<= 200"),
        ("stream", "the same with every stage traced, run_stream", "<= 400"),
    ):
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:
            before, most, seconds = alone.submit(_peak, kind).result()
        note = f"peak of the process beyond that of 20,000 inputs, {before:.0f} MiB; {seconds:.0f} s of the processor"
        found.append(row(f"{about}: memory", most - before, target, note, unit="MiB"))
    return found


def _starting_rows() -> list[dict]:
    """A fresh process with an empty folder of compiled kernels, then another with what the first left there."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        runs = [
            subprocess.run([sys.executable, "-c", FIRST_RUN], env=environment, check=True, capture_output=True, text=True)
            for _ in range(2)
        ]
    (loaded, first), (_, later) = (map(float, run.stdout.split()) for run in runs)
    note = f"CPU time of the first answer of parity:8 in fixed:8; loading takes {loaded:.1f} s besides"
    return [
        row("first run of a fresh install: compiling kernels", first, "", note, "s"),
        row("the same in every later process", later, "<= 1", "kernels read from the folder where they are kept", "s"),
    ]
