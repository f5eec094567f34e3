"""What a search has found so far, in a file: an interrupted search goes on from there when it is started again.

The file is safetensors: arrays of whole numbers, with the digest of the question that they answer and of themselves. It counts
for the same transformer, length and stages only; what is damaged or of another question is refused, and what was found is as good
as whoever wrote the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from glyptic.errors import FileError
from glyptic.exact.files import names_as_json
from glyptic.exact.parts import parts
from glyptic.exact.transformer import Transformer
from glyptic.files import quoted_path, write_whole

_EVERY = 20.0  # seconds between two writes
Arrays = dict[str, np.ndarray]


def question(transformer: Transformer, length: int | None, stages: Sequence[str]) -> str:
    """The digest of what is searched."""
    names = {**names_as_json(transformer), "length": length, "stages": sorted(stages)}
    digest = hashlib.sha256(json.dumps(names, sort_keys=True).encode())
    for name, array, shape in parts(transformer):
        digest.update(f"{name}{shape}".encode() + np.ascontiguousarray(np.asarray(array)).tobytes())
    return digest.hexdigest()


class SearchJournal:
    """The arrays of a search by name: of finished layers, and of the one that is searched now."""

    def __init__(self, path: str | os.PathLike[str], asked: str) -> None:
        self.path, self.asked, self.arrays = Path(path), asked, dict[str, np.ndarray]()
        self.written = time.monotonic()
        if self.path.exists():
            self.arrays = self._read()

    def part(self, prefix: str) -> Arrays:
        """The arrays whose names begin so, without that beginning."""
        return {name.removeprefix(prefix): array for name, array in self.arrays.items() if name.startswith(prefix)}

    def enter(self, prefix: str, arrays: Arrays, *, now: bool = False) -> None:
        """Keep arrays, in place of those of the layer that is searched; write them now, or if it is time to."""
        self.arrays = {name: array for name, array in self.arrays.items() if not name.startswith("now.")}
        self.arrays |= {prefix + name: np.ascontiguousarray(array) for name, array in arrays.items()}
        if now or self.due:
            self.write()

    @property
    def due(self) -> bool:
        return time.monotonic() - self.written > _EVERY

    def write(self) -> None:
        write_whole(self.path, save(self.arrays, _header(self.asked, self.arrays)), "the journal")
        self.written = time.monotonic()

    def _read(self) -> Arrays:
        shown = quoted_path(self.path)
        try:
            with safe_open(self.path, "np") as file:
                about, arrays = file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError, ValueError, TypeError) as error:
            kind = type(error).__name__
            raise FileError(f"{shown} is no journal of a search, or is damaged ({kind}); remove it, or choose another.") from None
        asked = about.get("asked", "")
        if about != _header(asked, arrays):
            raise FileError(f"{shown} is no journal of a search, or is damaged; remove it, or choose another.")
        if asked != self.asked:
            raise FileError(f"{shown} is the journal of another transformer, length or format; choose another file.")
        return arrays


def _header(asked: str, arrays: Arrays) -> dict[str, str]:
    """All that the file says beside its arrays; the seal is over these and the question."""
    digest = hashlib.sha256(asked.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name}{array.dtype}{array.shape}".encode() + array.tobytes())
    return {"kind": "glyptic.states.journal", "asked": asked, "sealed": digest.hexdigest()}


def need(possible: bool) -> None:
    """Refuse a journal that holds what no search finds."""
    if not possible:
        raise FileError("the journal holds what no search of this transformer finds; remove it, or choose another file.")


def within(numbers: np.ndarray, low: int, end: int) -> bool:
    """Whether all numbers are at least `low` and below `end`."""
    return not numbers.size or bool(numbers.min() >= low and numbers.max() < end)
