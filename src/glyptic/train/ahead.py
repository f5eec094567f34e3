"""Batches drawn one step ahead, in a thread, while the step before runs: nobody waits for data, and the data are the same."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from glyptic.train.task import Minibatch


class Ahead:
    """Draws batch t + 1 while step t runs; what goes wrong there is raised here, when its batch is asked for.

    >>> import torch
    >>> with Ahead(lambda step: Minibatch((), torch.tensor([step]), tokens=1), end=2) as batches:
    ...     [batches.take(step).targets.item() for step in range(2)]
    [0, 1]
    """

    def __init__(self, draw: Callable[[int], Minibatch], end: int) -> None:
        self._draw, self._end = draw, end
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="batches")
        self._next: tuple[int, Future[Minibatch]] | None = None

    def __enter__(self) -> Ahead:
        return self

    def __exit__(self, *_: Any) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def take(self, step: int) -> Minibatch:
        ready = self._next[1] if self._next is not None and self._next[0] == step else self._pool.submit(self._draw, step)
        batch = ready.result()
        self._next = (step + 1, self._pool.submit(self._draw, step + 1)) if step + 1 < self._end else None
        return batch
