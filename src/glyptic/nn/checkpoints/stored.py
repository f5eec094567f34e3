"""Tensors in a folder: `model.safetensors`, or the shards that its index names.

Names, kinds and shapes are read first, so that a file which does not hold the model of its config is refused before any number
is read. Nothing is believed twice: what the index says of a shard must be what the shard holds.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from glyptic.errors import FileError
from glyptic.files import quoted_path, read_json
from glyptic.nn.speed.machine import check_memory
from glyptic.text import quoted

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
KINDS = {
    **{"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16, "BOOL": torch.bool},
    **{"F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "I64": torch.int64, "I32": torch.int32},
    **{"I16": torch.int16, "U8": torch.uint8, "C64": torch.complex64},
}
SHOWN = 8  # names in an error before "and 12 more"


def shards(folder: Path) -> dict[Path, set[str] | None]:
    """The files that hold the tensors, and the names that an index promises in each; None: there is no index."""
    single, index = folder / SINGLE, folder / INDEX
    if os.path.lexists(single):
        return {single: None}
    if os.path.lexists(index):
        return dict(_from_index(folder, index))
    if list(folder.glob("*.bin")) or list(folder.glob("*.pt")):
        raise FileError(
            f"{quoted_path(folder)} holds pickled weights only, which can run code; convert them to model.safetensors."
        )
    raise FileError(f"{quoted_path(folder)} has no model.safetensors.")


def _from_index(folder: Path, index: Path) -> Mapping[Path, set[str]]:
    where, found = quoted_path(index), read_json(index)
    names = found.get("weight_map") if isinstance(found, dict) else None
    if not isinstance(names, dict) or not names or not all(isinstance(shard, str) for shard in names.values()):
        raise FileError(f"{where} has no weight_map, an object from names of tensors to names of files.")
    promised: dict[Path, set[str]] = {}
    for name, shard in names.items():
        if not shard or shard in (".", "..") or "\0" in shard or Path(shard).name != shard:
            raise FileError(f"{where} names a file outside its folder, {quoted(shard, 80)}.")
        promised.setdefault(folder / shard, set()).add(name)
    return promised


def read_headers(files: Mapping[Path, set[str] | None]) -> dict[str, Tensor]:
    """Names, shapes and kinds of all tensors; no numbers."""
    found: dict[str, Tensor] = {}
    for path, promised in files.items():
        with _opened(path) as file:
            here = {name: _header(file.get_slice(name)) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if promised is not None and promised != here.keys():
            raise FileError(f"{quoted_path(path)} does not hold the tensors that {INDEX} says; {listed(promised ^ here.keys())}.")
        found.update(here)
    return found


def read_numbers(files: Sequence[Path]) -> dict[str, Tensor]:
    """All tensors. A copy is aligned in memory and independent of the file, which a view into it is not."""
    check_memory(sum(path.stat().st_size for path in files), "the weights of this folder")
    found: dict[str, Tensor] = {}
    for path in files:
        with _opened(path) as file:
            found.update({name: file.get_tensor(name).clone() for name in file.keys()})  # noqa: SIM118
    return found


def listed(names: Any) -> str:
    """Names in a sentence: the first few, each fit to print."""
    several = sorted(names)
    more = f" and {len(several) - SHOWN} more" if len(several) > SHOWN else ""
    return ", ".join(name if name.isprintable() and len(name) <= 200 else quoted(name) for name in several[:SHOWN]) + more


class _opened:
    """An open safetensors file; one that is not there, not a file or not what it says is refused in a sentence."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Any:
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):  # a pipe would be waited for
                raise FileError(f"cannot read {quoted_path(self.path)}: it is not a regular file.")
            self.file = safe_open(self.path, framework="pt")
            return self.file.__enter__()
        except (SafetensorError, OSError, ValueError, RuntimeError, MemoryError) as error:
            raise self._damaged(error) from None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.file.__exit__(kind, error, trace)
        if isinstance(error, SafetensorError | OSError | ValueError | RuntimeError | OverflowError | MemoryError):
            raise self._damaged(error) from None

    def _damaged(self, error: BaseException) -> FileError:
        if isinstance(error, FileError):
            return error
        if isinstance(error, OSError) and error.strerror:
            return FileError(f"cannot read {quoted_path(self.path)}: {error.strerror}.")
        why = quoted(" ".join(str(error).split()), 200)
        return FileError(f"{quoted_path(self.path)} is damaged or not a safetensors file: {why}.")


def _header(stored: Any) -> Tensor:
    """Shape and kind of a tensor in a file."""
    return torch.empty(stored.get_shape(), dtype=KINDS.get(stored.get_dtype(), torch.int8), device="meta")
