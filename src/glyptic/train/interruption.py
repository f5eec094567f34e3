"""Ctrl-C waits for the step to end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def interruption() -> Iterator[Callable[[], bool]]:
    """Inside, Ctrl-C is noted instead of raised; the value tells whether it came. A second Ctrl-C raises at once.

    An interrupt in the middle of an optimizer step would save weights of two steps in one file.
    """
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came.is_set
        return

    def note(number: int, frame: Any) -> None:
        if came.is_set():
            raise KeyboardInterrupt
        came.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)
