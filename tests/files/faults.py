"""A file layer that fails: each system call that a write makes can be refused, or be the last one before a kill.

`Calls` takes the place of the functions of `os` (and the lock and the exchange) through which Glyptic writes, and counts them.
"""

import errno
import fcntl
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from glyptic.files import folders

ASKING = ("listdir", "scandir", "stat", "lstat", "fstat")  # calls that change nothing
WATCHED = [
    *((os, name) for name in ("open", "write", "fsync", "close", "replace", "rename", "mkdir", "rmdir", "unlink")),
    *((os, name) for name in ("chmod", "fchmod", *ASKING)),
    (fcntl, "flock"),
    (folders, "exchange"),
]
ERRORS = (errno.ENOSPC, errno.EACCES, errno.EIO)
KILLED = 137


class Calls:
    """Counts calls; the one whose number is `at` meets its fate instead."""

    def __init__(self, at: int | None, fate: Callable[[str], None]) -> None:
        self.at, self.fate, self.names = at, fate, list[str]()
        self.removing = False  # whether it was met while something was removed, which then stays

    def watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.names.append(name)
            if len(self.names) - 1 != self.at:
                return real(*arguments, **named)
            if name == "close":  # a handle is given back even so
                real(*arguments)
            if name == "write":  # what fails, fails half-way
                real(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            self.removing = any(frame.function in ("remove", "rmtree") for frame in inspect.stack(0))
            return self.fate(name)

        return call


@contextmanager
def calls(at: int | None = None, fate: Callable[[str], None] = lambda name: None) -> Iterator[Calls]:
    """Inside, every watched call is counted."""
    counter = Calls(at, fate)
    with pytest.MonkeyPatch.context() as patch:
        for module, name in WATCHED:
            patch.setattr(module, name, counter.watched(name, getattr(module, name)))
        yield counter


def failing(code: int) -> Callable[[str], None]:
    """The fate of a call that the system refuses."""

    def fate(name: str) -> None:
        raise OSError(code, os.strerror(code))

    return fate


def killed(write: Callable[[], object], at: int) -> None:
    """Write in a process of its own, which is gone at that call: nothing is cleaned up."""
    child = os.fork()
    if child == 0:
        try:
            with calls(at, lambda name: os._exit(KILLED)):
                write()
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == KILLED


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """All that is below a folder: contents of files, None for a folder. (Metadata of safetensors come in any order.)"""
    held = {path: path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}
    return {
        str(path.relative_to(folder)): bytes(sorted(data)) if data and path.suffix == ".safetensors" else data
        for path, data in held.items()
    }
