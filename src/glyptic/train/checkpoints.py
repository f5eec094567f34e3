"""A small run in one file: weights, moments of the optimizer, step and history; for runs that are part of something larger."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from glyptic.errors import FileError
from glyptic.files import parse_json, quoted_path, read_bytes, write_whole

History = list[dict[str, float]]


@dataclass(frozen=True)
class Checkpoint:
    """Where a run is saved and what it is a run of: a file of another run is refused, never overwritten."""

    path: Path
    identity: str

    def save(self, learner: nn.Module, optimizer: torch.optim.Optimizer, step: int, history: History) -> None:
        """The file is always whole: that of this step, or of the one that was saved before."""
        tensors = {f"weight.{name}": value for name, value in learner.state_dict().items()}
        for index, state in optimizer.state_dict()["state"].items():
            tensors |= {f"moment.{index}.{name}": torch.as_tensor(value) for name, value in state.items()}
        for name in history[0] if history else ():
            tensors[f"history.{name}"] = torch.tensor([row[name] for row in history], dtype=torch.float64)
        tensors = {name: value.contiguous() for name, value in tensors.items()}
        data = save(tensors, metadata={"step": str(step), "identity": self.identity})
        write_whole(self.path, data, "the checkpoint", parents=True)

    def resume(self, learner: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[int, History]:
        """Step and history, with learner and optimizer brought back to them; (0, []) if nothing was saved yet."""
        if not self.path.exists():
            return 0, []
        metadata, tensors = self._read()
        if metadata.get("identity") != self.identity:
            raise FileError(f"{quoted_path(self.path)} holds another training run: remove it, or save this one elsewhere.")
        try:
            return self._restore(metadata, tensors, learner, optimizer)
        except (KeyError, ValueError, RuntimeError):
            raise self._not_one("its parts do not fit together") from None

    @staticmethod
    def _restore(
        metadata: dict[str, str], tensors: dict[str, torch.Tensor], learner: nn.Module, optimizer: torch.optim.Optimizer
    ) -> tuple[int, History]:
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
        data = read_bytes(self.path, what="a checkpoint")
        try:
            tensors = load(data)
        except (SafetensorError, ValueError) as error:
            raise self._not_one(str(error)) from None
        header = parse_json(data[8 : 8 + int.from_bytes(data[:8], "little")], quoted_path(self.path), "a checkpoint")
        return header.get("__metadata__", {}), tensors

    def _not_one(self, why: str) -> FileError:
        return FileError(f"{quoted_path(self.path)} is not a checkpoint ({why}): remove it to start anew.")


def fingerprint(learner: nn.Module) -> str:
    """The kind of the learner and a digest of its starting weights: size, seed and scale of the start are in it.

    >>> fingerprint(nn.Linear(1, 1)).partition(" ")[0]
    'Linear'
    """
    digest = hashlib.sha256()
    for name, value in learner.state_dict().items():
        digest.update(f"{name} {tuple(value.shape)}".encode() + value.detach().cpu().numpy().tobytes())
    return f"{type(learner).__name__} {digest.hexdigest()[:16]}"
