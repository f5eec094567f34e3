"""Where the cells of a sweep run: this process, its own workers, or a Ray or Dask cluster, all through joblib."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed, parallel_config
from tqdm.auto import tqdm

from glyptic.errors import MissingExtra
from glyptic.icl.problem import ProblemError

BACKENDS = ("loky", "ray", "dask", "sequential")


def scatter(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    backend: str = "loky",
    workers: int = 2,
    progress: bool = True,
) -> list[Any]:
    """[function(*a) for a in arguments], on the workers of a backend, with a progress bar.

    >>> scatter(pow, [(2, 3), (3, 2)], "sequential", workers=1, progress=False)
    [8, 9]
    """
    if workers < 1:
        raise ProblemError(f"{workers} workers do no work: use at least 1.")
    bar = tqdm(total=len(arguments), desc="cells", disable=not progress, leave=False)

    class Counted(Parallel):
        """Reports what is done: joblib calls this after every batch, whatever the backend."""

        def print_progress(self) -> None:
            bar.update(self.n_completed_tasks - bar.n)

    with bar, _backend(backend, workers):
        return list(Counted()(delayed(function)(*each) for each in arguments))


@contextmanager
def _backend(name: str, workers: int) -> Iterator[None]:
    """joblib set to the backend; a local Ray or Dask cluster is started if none is there, and stopped at the end."""
    if name not in BACKENDS:
        raise ProblemError(f"no backend {name!r}; there are {', '.join(BACKENDS)}.")
    if name in ("loky", "sequential"):
        with parallel_config(backend=name, n_jobs=workers):
            yield
    else:
        with (_ray if name == "ray" else _dask)(workers), parallel_config(backend=name, n_jobs=workers):
            yield


@contextmanager
def _ray(workers: int) -> Iterator[None]:
    """The cluster that RAY_ADDRESS names, or one of this machine."""
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise MissingExtra("the backend ray is not installed: pip install 'glyptic[cluster]'.") from None
    register_ray()
    mine = not ray.is_initialized()
    if mine:
        local: dict[str, Any] = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": workers, "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **local)
    try:
        yield
    finally:
        if mine:
            ray.shutdown()


@contextmanager
def _dask(workers: int) -> Iterator[None]:
    """The cluster that DASK_SCHEDULER_ADDRESS names, or one of this machine."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("the backend dask is not installed: pip install 'glyptic[cluster]'.") from None
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    local: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with Client(address) if address else Client(**local):
        yield
