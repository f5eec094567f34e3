"""How many cores work is spread over, said once for everything; and threads that work on them.

`workers=` says it where work is asked for, `--workers` on the command line. Where neither does, the environment's GLYPTIC_WORKERS
does; else it is every core that this process may use, by its affinity and its control group. Work that was given to a worker is
spread no further. Threads serve compiled work, which lets others run beside it: results are the same with any number of them.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from math import ceil
from pathlib import Path
from typing import TypeVar

from glyptic.errors import GlypticError, InputError

SETTING = "GLYPTIC_WORKERS"
_MOST = 1024
_AHEAD = 2  # pieces a worker that are given out before the first of them is taken: none waits for another
Piece = TypeVar("Piece")
Result = TypeVar("Result")
_this_thread = threading.local()


class WorkerLost(GlypticError):
    """A worker died with its work undone; what it was given must be given again."""


class WorkStopped(GlypticError):
    """Nobody waits any more for what this thread works on; raised in its worker, and seen by no one."""


def cores() -> int:
    """How many workers there are where nobody says otherwise; 1 in a worker, whose work is not spread further."""
    if getattr(_this_thread, "is_worker", False):
        return 1
    given = os.environ.get(SETTING, "").strip()
    if not given:
        return max(1, min(_allowed(), _quota()))
    if not (given.isascii() and given.isdigit() and len(given) <= 4 and 1 <= int(given) <= _MOST):
        raise InputError(f"{SETTING} is {given[:40]!r}; it must be a whole number from 1 to {_MOST}, or be unset.")
    return int(given)


def _allowed() -> int:
    """The cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _quota(root: Path = Path("/sys/fs/cgroup")) -> int:
    """How many cores' time a control group leaves a container, rounded up; where none is told, as many as one likes."""
    try:
        if (root / "cpu.max").exists():
            quota, period = (root / "cpu.max").read_text().split()
        else:
            quota, period = ((root / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        limited = quota.strip() not in ("max", "-1") and int(quota) > 0 and int(period) > 0
        return ceil(int(quota) / int(period)) if limited else _MOST
    except (OSError, ValueError):
        return _MOST


def as_worker(function: Callable[..., Result], *arguments: object) -> Result:
    """function(*arguments), whose own work is not spread any further.

    >>> as_worker(cores)
    1
    """
    before = getattr(_this_thread, "is_worker", False)
    _this_thread.is_worker = True
    try:
        return function(*arguments)
    finally:
        _this_thread.is_worker = before


def stop_if_unwanted() -> None:
    """What takes longer asks now and then: raises `WorkStopped` in a thread for which nobody waits any more (after Ctrl-C)."""
    unwanted = getattr(_this_thread, "unwanted", None)
    if unwanted is not None and unwanted.is_set():
        raise WorkStopped("nobody waits for this any more.")


def in_order(function: Callable[[Piece], Result], pieces: Iterable[Piece], workers: int) -> Iterator[Result]:
    """function(piece) for each piece, by so many threads; results come in the order of the pieces, and so do errors.

    Who asks for results is one of them: it takes pieces as they are needed, and works on those that nobody has begun while it
    waits, so that no core changes hands for each result. Few results wait at any time. Whoever stops asking, by an error or
    Ctrl-C, stops the workers.

    >>> list(in_order(abs, [-3, 2, -1], 2))
    [3, 2, 1]
    """
    if workers == 1:
        for piece in pieces:  # unlike map(), which a StopIteration would end without a word
            yield function(piece)
        return
    unwanted, rest = threading.Event(), iter(pieces)
    failed: Exception | None = None
    waiting: deque[tuple[Piece, Future[Result]]] = deque()

    def begin() -> None:
        _this_thread.unwanted = unwanted

    with ThreadPoolExecutor(workers - 1, "glyptic", begin) as pool:
        try:
            while True:
                try:
                    for piece in islice(rest, _AHEAD * workers - len(waiting)):
                        waiting.append((piece, pool.submit(as_worker, function, piece)))
                except Exception as error:  # of the pieces: told in its turn, after the results before it
                    failed, rest = error, iter(())
                if not waiting:
                    if failed is not None:
                        raise failed
                    return
                while not waiting[0][1].done():
                    place = next((k for k, (_, future) in enumerate(waiting) if future.cancel()), None)
                    if place is None:  # all are begun
                        break
                    waiting[place] = waiting[place][0], _done_here(function, waiting[place][0])
                yield waiting.popleft()[1].result()
        except BaseException:
            unwanted.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _done_here(function: Callable[[Piece], Result], piece: Piece) -> Future[Result]:
    """What became of a piece that was worked on in this thread; its error is told in its turn, but for Ctrl-C."""
    future: Future[Result] = Future()
    try:
        future.set_result(as_worker(function, piece))
    except Exception as error:
        future.set_exception(error)
    return future
