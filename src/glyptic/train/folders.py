"""A run as a folder, of which every file is whole at any time, but for the last line of its metrics:

    run.json        what it is a run of: the task by its name, the model, the plan; versions
    metrics.jsonl   a row of JSON a record: step, loss, rate, tokens, seconds, and what evaluations gave; `glyptic look` draws it
    best/           the weights of the best evaluation: a folder that `nn.load` opens, with the task's own files beside them
    last/           those of the last checkpoint, with the optimizer's moments and state.json, from which the run goes on

Each of best/ and last/ is exchanged in one step. Rows are added before last/ is written, so that whoever goes on finds all of
them, and leaves out those of steps that will be done again, and a last one that a kill broke off.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from glyptic import nn
from glyptic.arguments import Count, Number, fitting, is_list, shown
from glyptic.errors import FileError, GlypticError
from glyptic.files import (
    Content,
    append,
    parse_json,
    quoted_path,
    read_bytes,
    read_json,
    recover,
    sentences,
    take_lock,
    write_folder,
    write_whole,
)
from glyptic.nn.checkpoints.folders import OURS, files_of
from glyptic.nn.checkpoints.stored import read_headers, read_numbers
from glyptic.nn.config import ModelConfig
from glyptic.train.plan import Plan
from glyptic.train.task import Task

KIND = "glyptic run"
RUN, METRICS, STATE, MOMENTS = "run.json", "metrics.jsonl", "state.json", "optimizer.safetensors"
Which = Literal["best", "last"]
Row = dict[str, float]
_IDENTITY = ("task", "task_digest", "start", "model", "plan")
_MOST_ROWS = 1 << 28  # bytes
_OF_MOMENTS = re.compile(rf"{re.escape(MOMENTS)}|shard-\d+-model-\d+-of-\d+\.safetensors")  # shards as torch names them


@dataclass(frozen=True)
class RunProgress:
    """Where a run is, besides its weights and moments."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    """Of the steps since the last row."""
    best: float | None = None
    stale: int = 0
    """Evaluations since the best one."""
    ended: str = ""
    """Why the run ended before its last step, if it did: patience, or reach."""


@dataclass(frozen=True)
class RunFolder:
    """A folder that holds a run, or is to hold one."""

    place: Path

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Make the folder that of this run; one that holds another run, or anything else, is refused and stays as it is."""
        if (self.place / RUN).exists():
            return self._compare(identity)
        with sentences(self.place):
            there = [name for name in os.listdir(self.place) if not name.startswith(".")] if self.place.exists() else []
        if there:
            raise FileError(f"{quoted_path(self.place)} is taken, and not by a training run; name a new folder for this one.")
        content = {"kind": KIND, **identity}
        write_folder(self.place, {RUN: (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()})

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else trains in this folder meanwhile: two would read and write each other's halves. A killed one lets go."""
        handle = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if not take_lock(handle):
                said = f"{quoted_path(self.place)} is being trained by another process; wait for it, or name another folder."
                raise FileError(said)
            yield
        finally:
            os.close(handle)

    def _compare(self, identity: Mapping[str, Any]) -> None:
        there = self.identity()
        for part in _IDENTITY:
            old, new = there.get(part), json.loads(json.dumps(identity[part]))
            if old != new:
                raise FileError(
                    f"{quoted_path(self.place)} holds another training run, {_difference(part, old, new)}; "
                    "name another folder for this one."
                )

    def identity(self) -> dict[str, Any]:
        """What run.json says."""
        if not (self.place / RUN).exists():
            raise FileError(f"{quoted_path(self.place)} is not the folder of a training run: it has no {RUN}.")
        found = read_json(self.place / RUN)
        if not isinstance(found, dict) or found.get("kind") != KIND or not isinstance(found.get("task"), str):
            raise FileError(f"{quoted_path(self.place / RUN)} is not that of a training run of this version.")
        return found

    @property
    def task(self) -> str:
        """The name by which the task is opened."""
        return str(self.identity()["task"])

    def check_data(self, task: Task) -> None:
        """Refuse the task of the run's name if its data are others now: what it holds out may be what the run has learned."""
        known = self.identity().get("task_digest")
        if known != _digest_of(task):
            raise FileError(
                f"{quoted_path(self.place)} was trained on other data than {shown(task.name)} has now, so that what is held out "
                "now may have been learned; bring those data back to their place, or train anew."
            )

    @property
    def plan(self) -> Plan:
        try:
            return Plan(**self.identity()["plan"])
        except (KeyError, TypeError, GlypticError) as error:
            why = error if isinstance(error, GlypticError) else "its plan is not one of this version"
            raise FileError(f"{quoted_path(self.place / RUN)}: {why}") from None

    def model(self, which: Which = "best") -> nn.Model:
        """The weights of the best evaluation, or the last ones, in inference mode."""
        self.identity()
        if not (self.place / which).exists():
            raise FileError(f"{quoted_path(self.place)} has no {which}/: its run has saved none yet.")
        found = nn.load(self.place / which)
        refuse_lost(found.state_dict(), self.place / which)
        return found

    # ------------------------------------------------------------------ metrics

    def rows(self) -> list[Row]:
        """All rows of the metrics; none if there is no file yet."""
        path = self.place / METRICS
        if not path.exists():
            return []
        *whole, last = read_bytes(path, _MOST_ROWS, "a file of metrics").split(b"\n")
        where = quoted_path(path)
        try:
            lines = enumerate(whole, 1)
            rows = [parse_json(line, f"line {number} of {where}", "a row of metrics", nan=True) for number, line in lines]
            if last.endswith(b"}"):  # else a kill broke it off: it is of a step after the checkpoint, which is done again
                rows.append(parse_json(last, f"the last line of {where}", "a row of metrics", nan=True))
        except FileError as error:
            said = str(error).removesuffix(" (line 1).").rstrip(".")
            raise FileError(f"{said}; remove that line, and the run goes on.") from None
        if not all(isinstance(row, dict) and isinstance(row.get("step"), int | float) for row in rows):
            raise FileError(f"{quoted_path(path)} is not a file of metrics: a row is an object with a step.")
        return rows

    def check_there(self) -> None:
        """Refuse to write where the run is gone: what would be made anew has no run.json, and nothing opens it."""
        if not (self.place / RUN).exists():
            raise FileError(
                f"{quoted_path(self.place / RUN)} has been removed while the run was training, and no run opens without it; "
                "train anew, into a folder that stays."
            )

    def write_rows(self, rows: Iterable[Row]) -> None:
        """These and no others."""
        write_whole(self.place / METRICS, "".join(map(_line, rows)).encode(), "the metrics")

    def add_row(self, row: Row) -> bool:
        """One more, below those that are there; False if there is no file any more."""
        if not (self.place / METRICS).exists():
            return False
        append(self.place / METRICS, _line(row).encode(), "the metrics")
        return True

    # ------------------------------------------------------------------ checkpoints

    def save(self, which: Which, config: ModelConfig, weights: dict[str, Tensor], beside: Mapping[str, Content]) -> None:
        """Write a checkpoint in one step; weights that are not finite are no checkpoint."""
        if lost := [name for name, weight in weights.items() if not bool(torch.isfinite(weight).all())]:
            raise FileError(f"{which}/ is not written: {lost[0]} is not finite any more; use a smaller rate.")
        files = {**files_of(config, weights), **beside}
        write_folder(self.place / which, files, OURS, overwrite=True)
        if which == "last":
            self.tidy(files)

    def tidy(self, names: Iterable[str]) -> None:
        """Remove moments in last/ that are not of its checkpoint: a run with more processes had more shards. What has a name
        that runs do not give is the user's.
        """
        kept = set(names)
        for path in (self.place / "last").glob("*.safetensors"):
            if _OF_MOMENTS.fullmatch(path.name) and path.name not in kept:
                path.unlink(missing_ok=True)

    def progress(self) -> RunProgress | None:
        """Where the last checkpoint stands; None if there is none."""
        if not (self.place / "last").exists():
            return None
        recover(self.place / "last")
        path = self.place / "last" / STATE
        found = read_json(path)
        if not isinstance(found, dict):
            raise FileError(f"{quoted_path(path)} is not the state of a run: it must be an object.")
        given = {name: value for name, value in found.items() if name != "moments"}
        try:
            state = RunProgress(**given)
            for each in fields(RunProgress):
                fitting(_STATE[each.name], each.name, getattr(state, each.name))
        except (TypeError, GlypticError) as error:
            why = error if isinstance(error, GlypticError) else "it has other fields than this version writes"
            raise FileError(f"{quoted_path(path)} is not the state of a run: {str(why).rstrip('.')}.") from None
        if state.step and not self.moments():  # AdamW would begin anew, and nobody would be told
            raise FileError(f"{quoted_path(path)} names no moments after step {state.step}; remove last/ to start anew.")
        return state

    def moments(self) -> list[Path]:
        """The files that hold the optimizer's moments in last/; state.json names them."""
        names = read_json(self.place / "last" / STATE).get("moments")
        if not is_list(names) or not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise FileError(f"{quoted_path(self.place / 'last' / STATE)} must name its moments, files beside it.")
        return [self.place / "last" / name for name in names]

    def restore_weights(self, model: nn.Model) -> None:
        """Give a model the weights of the last checkpoint."""
        found = nn.load(self.place / "last")
        if found.config != model.config:
            name = next(name for name, value in found.config.to_dict().items() if value != model.config.to_dict()[name])
            raise FileError(
                f"{quoted_path(self.place / 'last')} holds another model than the run's: its {name} is "
                f"{shown(getattr(found.config, name))}, not {shown(getattr(model.config, name))}."
            )
        refuse_lost(found.state_dict(), self.place / "last")
        model.load_state_dict(found.state_dict())

    def check_moments(self) -> None:
        """Refuse files of moments that are not there or damaged; no numbers are read."""
        for path in self.moments():
            if not path.is_file():
                raise FileError(f"cannot read {quoted_path(path)}: there is no such file; remove last/ to start anew.")
        read_headers(dict.fromkeys(self.moments()))

    def read_moments(self) -> dict[str, Tensor]:
        self.check_moments()
        found = read_numbers(self.moments())
        refuse_lost(found, self.place / "last")
        return found


def _line(row: Row) -> str:
    return json.dumps(row) + "\n"


def refuse_lost(tensors: Mapping[str, Tensor], place: Path) -> None:
    """Numbers that are not finite are no checkpoint of ours, whoever wrote them."""
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise FileError(f"{quoted_path(place)}: {name} is not finite; remove that folder, and train with a smaller rate.")


_Whole = Annotated[int, Count(0)]
_Finite = Annotated[float, Number()]
_STATE = {
    **{"step": _Whole, "tokens": _Whole, "stale": _Whole, "seconds": Annotated[float, Number(least=0)]},
    **{"losses": list[_Finite], "best": _Finite | None, "ended": Literal["", "patience", "reach"]},
}


def state_file(progress: RunProgress, moments: Iterable[str]) -> bytes:
    """state.json, which names the files of moments beside it."""
    return (json.dumps({**asdict(progress), "moments": sorted(moments)}) + "\n").encode()


def identity_of(task: Task, start: str, config: ModelConfig, plan: Plan) -> dict[str, Any]:
    """What makes a run this one, as run.json holds it; versions are told and not compared."""
    import glyptic

    return {
        "task": task.name,
        "task_digest": _digest_of(task),
        "start": start,
        "model": config.to_dict(),
        "plan": asdict(plan),
        "versions": {"glyptic": glyptic.__version__, "torch": torch.__version__},
    }


def _digest_of(task: Task) -> str:
    return hashlib.sha256(repr(task).encode()).hexdigest()[:16]


def load_run(folder: str | os.PathLike[str]) -> RunFolder:
    """The run that a folder holds."""
    run = RunFolder(Path(folder))
    run.identity()
    return run


def _difference(part: str, old: Any, new: Any) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        name = next(name for name in {**new, **old} if old.get(name) != new.get(name))
        return f"whose {part} has {name} {shown(old.get(name))}, not {shown(new.get(name))}"
    said = {"task_digest": "of the same task with other data", "start": "which began with other weights"}
    return said.get(part, f"of the task {shown(old)}")
