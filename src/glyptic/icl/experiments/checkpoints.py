"""A training run in one file: weights, moments of the optimizer, step and history. Ctrl-C waits for the step to end."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from glyptic.errors import FileError

History = list[dict[str, float]]


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is saved and what it is a run of: a file of another run is refused, never overwritten."""

    path: Path
    identity: str

    def save(self, learner: nn.Module, optimizer: torch.optim.Optimizer, step: int, history: History) -> None:
        """A temporary name first, then renamed: the file is always whole."""
        tensors = {f"weight.{name}": value for name, value in learner.state_dict().items()}
        for index, state in optimizer.state_dict()["state"].items():
            tensors |= {f"moment.{index}.{name}": torch.as_tensor(value) for name, value in state.items()}
        for name in history[0] if history else ():
            tensors[f"history.{name}"] = torch.tensor([row[name] for row in history], dtype=torch.float64)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(self.path.name + ".part")
        tensors = {name: value.contiguous() for name, value in tensors.items()}
        save_file(tensors, temporary, metadata={"step": str(step), "identity": self.identity})
        os.replace(temporary, self.path)

    def resume(self, learner: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[int, History]:
        """Step and history, with learner and optimizer brought back to them; (0, []) if nothing was saved yet."""
        if not self.path.exists():
            return 0, []
        metadata, tensors = self._read()
        if metadata.get("identity") != self.identity:
            raise FileError(f"{self.path} holds another training run: remove it, or save this one elsewhere.")
        parts: dict[str, dict[str, Any]] = {"weight": {}, "moment": {}, "history": {}}
        for name, value in tensors.items():
            kind, _, rest = name.partition(".")
            parts[kind][rest] = value
        learner.load_state_dict(parts["weight"])
        moments: dict[int, dict[str, Any]] = {}
        for name, value in parts["moment"].items():
            index, _, moment = name.partition(".")
            moments.setdefault(int(index), {})[moment] = value
        optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
        columns = {name: value.tolist() for name, value in parts["history"].items()}
        return int(metadata["step"]), [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ]

    def _read(self) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
        try:
            with safe_open(self.path, "pt") as file:
                return file.metadata() or {}, load_file(self.path)
        except SafetensorError as error:
            raise FileError(f"{self.path} is not a checkpoint ({error}): remove it to start anew.") from None


def fingerprint(learner: nn.Module) -> str:
    """The kind of the learner and a digest of its starting weights: size, seed and scale of the start are in it."""
    digest = hashlib.sha256()
    for name, value in learner.state_dict().items():
        digest.update(f"{name} {tuple(value.shape)}".encode() + value.numpy().tobytes())
    return f"{type(learner).__name__} {digest.hexdigest()[:16]}"


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
