"""The journal of an enumeration: which units are done and what they came to, so that an interruption loses nothing.

The file is rewritten whole, under a temporary name, and renamed; it has the digest of its job, so that it is never taken
for another's. A unit is entered once: a second result for it, from a worker thought dead, is dropped.
"""

from __future__ import annotations

import json
import time
from dataclasses import astuple
from pathlib import Path
from typing import Any

from glyptic.errors import FileError
from glyptic.exact.files import write_whole
from glyptic.prove.enumeration.units import Tally

KIND, VERSION = "glyptic.prove.enumeration.journal", 1
_SECONDS_BETWEEN_WRITES = 0.5


class Journal:
    """Finished units of one job, in memory and, if a path is given, in a file."""

    def __init__(self, digest: str, units: int, path: Path | None = None) -> None:
        self.digest, self.path = digest, path
        self.done: dict[int, Tally] = {} if path is None or not path.exists() else _read(path, digest, units)
        self.resumed = len(self.done)
        self._written = 0.0
        if path is not None:
            self.write()  # at once, so that a place that cannot be written is known before the work

    def enter(self, number: int, tally: Tally) -> bool:
        """Enter a unit's result; False if it is there already."""
        if number in self.done:
            return False
        self.done[number] = tally
        if self.path is not None and time.monotonic() - self._written > _SECONDS_BETWEEN_WRITES:
            self.write()
        return True

    def write(self) -> None:
        """Write the file, if there is one."""
        if self.path is None:
            return
        content: dict[str, Any] = {"kind": KIND, "version": VERSION, "job": self.digest}
        content["done"] = {str(number): list(astuple(tally)) for number, tally in sorted(self.done.items())}
        try:
            write_whole(self.path, (json.dumps(content) + "\n").encode())
        except OSError as error:
            raise FileError(f"cannot write the journal {self.path}: {error.strerror or error}.") from None
        self._written = time.monotonic()

    def remove(self) -> None:
        """The job is decided: the journal has served."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _read(path: Path, digest: str, units: int) -> dict[int, Tally]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise FileError(f"cannot read the journal {path}: {error.strerror or error}.") from None
    except ValueError:
        raise FileError(f"{path} is not a journal (it is not JSON); delete it, or name another.") from None
    if not isinstance(content, dict) or (content.get("kind"), content.get("version")) != (KIND, VERSION):
        raise FileError(f"{path} is not a journal of version {VERSION}; delete it, or name another.")
    if content.get("job") != digest:
        raise FileError(f"{path} is the journal of another claim or model; delete it, or name another.")
    try:
        done = {int(number): _tally(*entry) for number, entry in content["done"].items()}
        if not all(0 <= number < units for number in done):
            raise ValueError("a unit that is none of the job's")
        return done
    except (KeyError, TypeError, ValueError, AttributeError):
        raise FileError(f"{path} is damaged: its list of finished units cannot be read; delete it.") from None


def _tally(inputs: int, satisfying: int, failures: int, example: list[int] | None, skipped: bool) -> Tally:
    if not all(type(n) is int for n in (inputs, satisfying, failures, *(example or ()))):
        raise TypeError("counts and examples are integers")
    return Tally(inputs, satisfying, failures, None if example is None else tuple(example), bool(skipped))
