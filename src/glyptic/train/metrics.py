"""Rows of metrics told to others as well: TensorBoard and Weights & Biases, where their packages are installed.

The run's own metrics.jsonl is always written; these are for those who look at runs elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from glyptic.errors import MissingExtra

LogName = Literal["tensorboard", "wandb"]


class MetricsLog(Protocol):
    """Somebody who is told every row."""

    def write(self, row: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class TensorBoardLog:
    """Event files in RUN/tensorboard; those of steps that are done again after a resume are purged."""

    @staticmethod
    def load() -> Any:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise _missing("tensorboard") from None
        return SummaryWriter

    def __init__(self, folder: Path, step: int) -> None:
        self._writer: Any = self.load()(str(folder / "tensorboard"), purge_step=step)

    def write(self, row: Mapping[str, float]) -> None:
        for name, value in row.items():
            if name != "step":
                self._writer.add_scalar(name, value, int(row["step"]))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()


class WandbLog:
    """A run of wandb, in the mode that the environment says (WANDB_MODE=offline writes to RUN/wandb and sends nothing)."""

    @staticmethod
    def load() -> Any:
        try:
            import wandb
        except ImportError:
            raise _missing("wandb") from None
        return wandb.init

    def __init__(self, folder: Path, step: int) -> None:
        self._run: Any = self.load()(project="glyptic", name=folder.absolute().name, dir=str(folder), resume="allow")

    def write(self, row: Mapping[str, float]) -> None:
        self._run.log({name: value for name, value in row.items() if name != "step"}, step=int(row["step"]))

    def close(self) -> None:
        self._run.finish()


LOGS: dict[str, type[TensorBoardLog] | type[WandbLog]] = {"tensorboard": TensorBoardLog, "wandb": WandbLog}


def check_logs(names: Sequence[LogName]) -> None:
    """Refuse those whose packages are missing, before anything is begun."""
    for name in names:
        LOGS[name].load()


def open_logs(names: Sequence[LogName], folder: Path, step: int) -> list[MetricsLog]:
    """Those that are asked for, from a step on."""
    return [LOGS[name](folder, step) for name in dict.fromkeys(names)]


def _missing(package: str) -> MissingExtra:
    return MissingExtra(f"logging to {package} needs the package {package}, which is not installed: pip install {package}.")
