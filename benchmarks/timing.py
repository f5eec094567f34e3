"""A timer that knows a busy machine.

Contestants take turns, round after round, so that a disturbance meets all of them; what is measured is the CPU time of
this process (time spent waiting for a busy core does not count); each round gives one ratio, and the median over rounds
is the result. Everything runs on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Contestant = Callable[[], Any]


@dataclass(frozen=True)
class Timings:
    """CPU seconds of one call, by contestant and round."""

    rounds: Mapping[str, Sequence[float]]

    def seconds(self, name: str) -> float:
        """The median over rounds."""
        return median(self.rounds[name])

    def speed(self, ours: str, theirs: str) -> float:
        """How many times as fast as `theirs` `ours` is: the median of the rounds' own ratios.

        >>> Timings({"a": [1.0, 2.0, 1.0], "b": [2.0, 4.0, 9.0]}).speed("a", "b")
        2.0
        """
        return median(b / a for a, b in zip(self.rounds[ours], self.rounds[theirs], strict=True))

    def fastest(self, names: Sequence[str]) -> str:
        """The contestant with the least median."""
        return min(names, key=self.seconds)


def contest(
    contestants: Mapping[str, Contestant], *, rounds: int = 7, warm_up: int = 1, least_seconds: float = 0.02
) -> Timings:
    """Let contestants run in turn; each turn lasts `least_seconds` or longer and is divided by its number of calls.

    The order rotates from round to round, so that nobody always follows the one that empties the caches.
    """
    calls = {name: _calls_needed(run, warm_up, least_seconds) for name, run in contestants.items()}
    measured: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            measured[name].append(_cpu_seconds(contestants[name], calls[name]))
    return Timings(measured)


def _cpu_seconds(run: Contestant, calls: int) -> float:
    start = time.process_time()
    for _ in range(calls):
        run()
    return (time.process_time() - start) / calls


def _calls_needed(run: Contestant, warm_up: int, least_seconds: float) -> int:
    for _ in range(warm_up):
        run()
    if least_seconds <= 0:
        return 1
    once = _cpu_seconds(run, 1)
    return max(1, round(least_seconds / max(once, 1e-9)))


def row(name: str, value: float, target: str, note: str = "", unit: str = "×") -> dict[str, object]:
    """One line of a benchmark's result."""
    return {"name": name, "value": float(f"{value:.4g}"), "unit": unit, "target": target, "note": note}


def one_thread() -> None:
    """Measure on one thread: torch, BLAS and what they start."""
    import torch
    from threadpoolctl import threadpool_limits

    torch.set_num_threads(1)
    threadpool_limits(1)
