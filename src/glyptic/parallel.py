"""Where work runs: threads of this process, worker processes, a Ray or a Dask cluster; and when a worker is lost.

    auto         threads where all the work is compiled, which only its caller knows; else processes
    threads      of this process: nothing to start and nothing to send, but Python itself runs one at a time
    loky         processes of this machine
    ray, dask    a cluster
    sequential   one after the other, here

Results come in any order, as they are done. A cluster that is already there is used: Ray's by RAY_ADDRESS, Dask's by
DASK_SCHEDULER_ADDRESS; else one is started on this machine and stopped at the end.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, TypeVar

from joblib import Parallel, delayed, parallel_config

from glyptic.arguments import Count
from glyptic.cores import WorkerLost, as_worker, cores, in_order
from glyptic.errors import InputError
from glyptic.extras import brought_by
from glyptic.progress import progress_bar

_SECONDS_AN_ORPHAN_MAY_LIVE = 0.5
_SECONDS_TO_ANSWER = 10.0  # that a cluster has; Ray alone would try for minutes, and then end the process
_ADDRESS = re.compile(r"(?:[a-z]+://)?\[?([^/\]]+)\]?:([0-9]{1,5})/?")
_DEATHS = 5  # of workers, after which their work is not tried again
Name = TypeVar("Name", bound=Hashable)
Result = TypeVar("Result")
BACKENDS = ("auto", "threads", "loky", "ray", "dask", "sequential")


def stream(
    function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], backend: str = "auto", workers: int | None = None
) -> Iterator[Any]:
    """function(*a) for each a, in the order in which they finish; arguments are taken from the iterable as workers get free.

    >>> sorted(stream(pow, [(2, 3), (3, 2)], "sequential"))
    [8, 9]
    """
    if backend not in BACKENDS:
        raise InputError(f"no backend {backend!r}; there are {', '.join(BACKENDS)}.")
    workers = cores() if workers is None else Count(1, 1024)("workers", workers)
    backend = "loky" if backend == "auto" else backend
    if backend == "sequential" or (workers == 1 and backend in ("loky", "threads")):
        for each in arguments:
            yield function(*each)
        return
    if backend == "threads":
        yield from in_order(lambda each: function(*each), arguments, workers)
        return
    with brought_by(f"the backend {backend}"):
        lost = _lost(backend)
    try:
        with _set_up(backend, workers):
            if backend == "ray":  # its joblib backend gives results only all together: so a few at a time
                rest = iter(arguments)
                with Parallel() as parallel:
                    while wave := list(islice(rest, 4 * workers)):
                        yield from parallel(delayed(as_worker)(function, *each) for each in wave)
            else:
                yield from Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs")(
                    delayed(as_worker)(function, *each) for each in arguments
                )
    except lost as error:
        cause = str(error).strip().partition("\n")[0]
        raise WorkerLost(
            f"a worker of {backend} died ({type(error).__name__}: {cause}); look at its memory."
        ) from error


def gather(
    function: Callable[..., Result],
    work: Mapping[Name, tuple[Any, ...]],
    backend: str = "auto",
    workers: int | None = None,
    *,
    known: Mapping[Name, Result] | None = None,
    keep: Callable[[Name, Result], object] | None = None,
    progress: str | None = None,
) -> dict[Name, Result]:
    """function(*arguments) for all of the work, by name, without what is `known`; `progress` names what a progress bar counts.

    Each result is given to `keep` once, as it comes. What a worker that died had is given to others, until too many have died.

    >>> gather(pow, {"eight": (2, 3), "nine": (3, 2)}, "sequential", known={"nine": 9}, keep=print)
    eight 8
    {'eight': 8, 'nine': 9}
    """
    done = {name: result for name, result in (known or {}).items() if name in work}
    deaths = 0
    with progress_bar(total=len(work), initial=len(done), desc=progress or "", disable=progress is None) as bar:
        while len(done) < len(work):
            left = ((function, name, arguments) for name, arguments in work.items() if name not in done)
            try:
                for name, result in stream(_named, left, backend, workers):
                    if name not in done:
                        done[name] = result
                        bar.update()
                        if keep is not None:
                            keep(name, result)
            except WorkerLost:
                deaths += 1
                if deaths > _DEATHS:
                    raise
    return {name: done[name] for name in work}


def _named(function: Callable[..., Result], name: Name, arguments: tuple[Any, ...]) -> tuple[Name, Result]:
    return name, function(*arguments)


def _lost(backend: str) -> tuple[type[BaseException], ...]:
    """The errors by which a backend tells that a worker died."""
    if backend == "loky":
        from joblib.externals.loky.process_executor import BrokenProcessPool, TerminatedWorkerError

        return BrokenProcessPool, TerminatedWorkerError
    if backend == "ray":
        import ray.exceptions

        return ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    return KilledWorker, CommClosedError


@contextmanager
def _set_up(name: str, workers: int) -> Iterator[None]:
    if name == "loky":
        mortal: dict[str, Any] = {"initializer": _end_with, "initargs": (os.getpid(),)}
        with parallel_config(backend="loky", n_jobs=workers, inner_max_num_threads=1, **mortal):
            yield
    else:
        with (_ray if name == "ray" else _dask)(workers), parallel_config(backend=name, n_jobs=workers):
            yield


def _end_with(parent: int) -> None:
    """In a worker: end soon after the process that it works for, however that one ended.

    A parent that is killed tells nobody, and workers would go on with what they have, then wait for minutes; but whoever loses
    their parent gets another. (PR_SET_PDEATHSIG would not do: it fires when the *thread* that began the worker ends.)
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_SECONDS_AN_ORPHAN_MAY_LIVE)
        os._exit(1)

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True, name="end with parent").start()


def _refuse_unreachable(variable: str) -> str | None:
    """The address of a cluster that an environment variable names, if one does; somebody must answer there."""
    address = os.environ.get(variable)
    where = _ADDRESS.fullmatch(address or "")
    if where is not None:  # else a name such as `auto` or `local`
        try:
            socket.create_connection((where[1], int(where[2])), timeout=_SECONDS_TO_ANSWER).close()
        except (OSError, OverflowError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or str(error)
            nobody = f"{variable} is {address!r}, where nobody answers ({why})"
            raise InputError(f"{nobody}; start the cluster, or unset the variable.") from None
    return address


@contextmanager
def _ray(workers: int) -> Iterator[None]:
    with brought_by("the backend ray"):
        import ray
        from ray.util.joblib import register_ray
    register_ray()
    mine = not ray.is_initialized()
    if mine:
        _refuse_unreachable("RAY_ADDRESS")
        local: dict[str, Any] = {} if "RAY_ADDRESS" in os.environ else {"num_cpus": workers, "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **local)
    try:
        yield
    finally:
        if mine:
            ray.shutdown()


@contextmanager
def _dask(workers: int) -> Iterator[None]:
    with brought_by("the backend dask"):
        from distributed import Client, get_client
    try:
        get_client()  # one that the caller has opened
    except ValueError:
        pass
    else:
        yield
        return
    address = _refuse_unreachable("DASK_SCHEDULER_ADDRESS")
    local: dict[str, Any] = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with Client(address) if address else Client(**local):
        yield
