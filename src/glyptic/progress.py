"""How far something long has come, on standard error: a bar on a terminal or in a notebook, a plain line now and then in a log.

A bar is drawn over itself many times a second, which in a file or in the log of a server is thousands of lines of one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from contextlib import suppress
from typing import Any, TextIO

_DELAY = 1.0  # seconds: what is done sooner needs no bar
_BETWEEN = 30.0  # seconds between two lines of a log


def progress_bar(
    items: Iterable[Any] | None = None,
    *,
    desc: str = "",
    total: float | None = None,
    initial: int = 0,
    unit: str = "it",
    unit_scale: bool = False,
    disable: bool = False,
) -> Any:
    """A bar over some items, or one that `update()` moves, as tqdm has it; where nobody can see it move, lines.

    >>> for layer in progress_bar(["embedding", "block"], desc="layers"):
    ...     print(layer)
    embedding
    block
    """
    where = sys.stderr
    if disable or where is None or _redraws(where):
        from tqdm.auto import tqdm

        return tqdm(
            items, desc=desc or None, total=total, initial=initial, unit=unit, unit_scale=unit_scale,
            disable=disable or where is None, delay=_DELAY, leave=False, dynamic_ncols=True,
        )  # fmt: skip
    return Lines(items, desc=desc, total=total, initial=initial, unit=unit, file=where)


def tell(bar: Any, said: str) -> None:
    """Something worth a line of its own in a log, such as an evaluation; on a terminal the bar itself shows what matters."""
    if isinstance(bar, Lines):
        bar.tell(said)


def _redraws(stream: TextIO) -> bool:
    """Whether what is written after a carriage return takes the place of what stood there."""
    if type(stream).__module__.partition(".")[0] == "ipykernel":  # a notebook's
        return True
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # closed
        return False


class Lines:
    """What a bar says, as a line at most every half minute. It has those of tqdm's methods that are used here.

    >>> lines = Lines(desc="training", total=2000, initial=1000, unit="step", file=sys.stdout)
    >>> lines.update(10)
    >>> lines.tell("accuracy 0.5")
    training: 1,010 of 2,000 (50 %), accuracy 0.5
    """

    def __init__(
        self, items: Iterable[Any] | None = None, *, desc: str = "", total: float | None = None, initial: int = 0,
        unit: str = "it", file: TextIO,
    ) -> None:  # fmt: skip
        self.items, self.desc, self.unit, self.file = items, desc, unit, file
        self.total = len(items) if total is None and isinstance(items, Sized) else total
        self.n = self.initial = initial
        self.postfix = ""
        self.began = self.told = time.monotonic()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        for item in self.items or ():
            yield item
            self.update()

    def update(self, n: int = 1) -> None:
        self.n += n
        if time.monotonic() - self.told >= _BETWEEN:
            self.tell(self.postfix)

    def tell(self, said: str) -> None:
        """A line now, whenever the last one was."""
        self.told = time.monotonic()
        parts = [self._so_far(), *([said] if said else []), *self._time_left()]
        line = f"{self.desc}: {', '.join(parts)}" if self.desc else ", ".join(parts)
        with suppress(OSError, ValueError):  # a full disk or a closed pipe is no reason to end what is reported on
            print(line, file=self.file, flush=True)

    def _so_far(self) -> str:
        if self.total is None:
            return f"{self.n:,} {self.unit.strip()}"
        return f"{self.n:,} of {self.total:,} ({self.n / max(1, self.total):.0%})".replace("%", " %")

    def _time_left(self) -> list[str]:
        passed, done = self.told - self.began, self.n - self.initial
        if self.total is None or not done or passed < _DELAY:
            return []
        return [f"{_clock(passed * (self.total - self.n) / done)} left"]

    def set_description(self, desc: str, refresh: bool = False) -> None:
        self.desc = desc

    def set_postfix_str(self, said: str, refresh: bool = False) -> None:
        self.postfix = said

    def close(self) -> None:
        """Nothing to clear away."""


def _clock(seconds: float) -> str:
    """
    >>> _clock(75), _clock(7265)
    ('1:15', '2:01:05')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
