"""Compiling the kernels: where what is compiled is kept, and a word to whoever waits for it.

numba keeps what it has compiled beside the source; where that cannot be written, in the user's cache folder; NUMBA_CACHE_DIR
names another. Where none of these can be written, kernels are compiled anew in every process, rather than not at all. What was
compiled counts as long as no file of this room and of the kernel's own has changed, for kernels are made of pieces of many; numba
alone looks at one.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba import njit, typeof, types
from numba.core import cgutils, event
from numba.extending import intrinsic

SECONDS_OF_SILENCE = 2.0


def compiled(function: Callable[..., Any]) -> Any:
    """A kernel: it lets other threads run, is kept when compiled, and divides as IEEE 754 does."""
    how: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        kernel: Any = njit(function, cache=True, **how)
    except RuntimeError:  # "no locator available": there is no folder to write to
        return njit(function, **how)
    with suppress(AttributeError):  # numba's own, of which nothing is promised; without it there is its own rule
        rooms = Path(__file__).parent, Path(function.__code__.co_filename).parent
        file = kernel._cache._cache_file
        file._source_stamp = file._source_stamp, *map(_sources, rooms)
    return kernel


@cache
def _sources(room: Path) -> str:
    """Of what state all files of a room are."""
    states = [(file.name, file.stat().st_mtime_ns, file.stat().st_size) for file in sorted(room.glob("*.py"))]
    return hashlib.sha256(repr(states).encode()).hexdigest()


def inlined(function: Callable[..., Any]) -> Any:
    """A piece of the one kernel that calls it, which saves compiling it twice."""
    return njit(function, inline="always")


@intrinsic
def called_at(context, address, given):  # type: ignore[no-untyped-def]
    """A kernel of no result, by its address (`address_of`), with a tuple of what it takes: so it is no part of its caller's code.

    numba would link it in, and optimise it once more for every caller.
    """

    def generate(target, builder, signature, args):  # type: ignore[no-untyped-def]
        convention, kinds = target.call_conv, signature.args[1].types
        pointer = builder.inttoptr(args[0], convention.get_function_type(types.none, kinds).as_pointer())
        status, _ = convention.call_function(builder, pointer, types.none, kinds, cgutils.unpack_tuple(builder, args[1]))
        with cgutils.if_unlikely(builder, status.is_error):  # there is no memory
            convention.return_status_propagate(builder, status)
        return target.get_dummy_value()

    return types.void(address, given), generate


def address_of(kernel: Any, *given: Any) -> int:
    """Where the code of a kernel stands that is compiled for such arguments."""
    kinds = tuple(map(typeof, given))
    kernel.compile(kinds)
    compiled = kernel.overloads[kinds]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


class _Waiting(event.Listener):  # type: ignore[misc]  # numba has no types
    """Counts the seconds for which a process has waited for its kernels, and says so once when they get long."""

    def __init__(self) -> None:
        self.waited, self.depth, self.started, self.told = 0.0, 0, 0.0, False
        self.place: str | None = None  # where the kernel is kept that all this compiling is for
        self.alarm: threading.Timer | None = None

    def on_start(self, event: Any) -> None:
        if self._is_ours(event):
            self.depth += 1
            if self.depth == 1 and not self.told:
                self.started, self.place = time.monotonic(), event.data["dispatcher"].stats.cache_path
                self.alarm = threading.Timer(max(0.0, SECONDS_OF_SILENCE - self.waited), self._tell)
                self.alarm.daemon = True
                self.alarm.start()

    def on_end(self, event: Any) -> None:
        if self._is_ours(event):
            self.depth -= 1
            if self.depth == 0 and self.alarm is not None:
                self.alarm.cancel()
                self.alarm = None
                self.waited += time.monotonic() - self.started

    @staticmethod
    def _is_ours(event: Any) -> bool:
        return str(getattr(event.data["dispatcher"].py_func, "__module__", "")).startswith("glyptic.")

    def _tell(self) -> None:
        """On standard error, to a person: in a terminal or a notebook."""
        if self.told:
            return
        self.told = True
        if "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty()):
            kept = f"once: they are kept in {self.place}" if self.place else "in every process: no folder can keep them"
            print(f"glyptic: compiling kernels for this processor, some ten seconds, {kept}.", file=sys.stderr, flush=True)


WAITING = _Waiting()
event.register("numba:compile", WAITING)
