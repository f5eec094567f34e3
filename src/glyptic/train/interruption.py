"""Ctrl-C waits for the step to end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_ONE_PRESS = 2.0  # seconds within which torchrun hands on what the terminal may have said already


@contextmanager
def interruption() -> Iterator[Callable[[], bool]]:
    """Inside, Ctrl-C is noted instead of raised; the value tells whether it came. A second Ctrl-C raises at once.

    An interrupt in the middle of an optimizer step would save weights of two steps in one file. Under torchrun one Ctrl-C may
    come twice: torchrun tells its workers, and where these have no session of their own the terminal has told them already.
    """
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came.is_set
        return
    first = 0.0

    def note(number: int, frame: Any) -> None:
        nonlocal first
        if not came.is_set():
            first = time.monotonic()
            came.set()
        elif "TORCHELASTIC_RUN_ID" not in os.environ or time.monotonic() - first > _ONE_PRESS:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield came.is_set
    finally:
        signal.signal(signal.SIGINT, before)
