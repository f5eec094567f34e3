"""A claim tried by trainings: what there is to train, what is measured of each, and what comes out of all.

Every training is kept as it ends, and counts again only for the very same question; so an experiment that was stopped goes on.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import torch

from glyptic import figures
from glyptic.arguments import checked, refused
from glyptic.files import KeptFile, make_folder
from glyptic.nn import Model
from glyptic.progress import progress_bar
from glyptic.train.plan import Plan, RunSeed
from glyptic.train.task import Task
from glyptic.train.tasks import registry
from glyptic.train.trainer import train

StudyName = Literal["chain", "norms", "places", "positions"]
STUDIES: tuple[StudyName, ...] = get_args(StudyName)
SEEDS = (0, 1, 2)
Row = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """One training: what tells it from the others, the task, fields of the model that differ from the task's own, the plan."""

    labels: Mapping[str, Any]
    task: str
    model: Mapping[str, Any]
    plan: Plan
    asked: Mapping[str, Any] = field(default_factory=dict)
    """What else decides the measure."""

    @property
    def name(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.labels.items())

    def question(self) -> str:
        said = [self.task, dict(self.model), asdict(self.plan), dict(self.asked), torch.__version__]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()

    def trained(self) -> tuple[Model, Task]:
        """The model with its last weights."""
        task = registry.open(self.task)
        config = task.config().replace(**self.model)  # type: ignore[typeddict-item]
        return train(task, self.plan, config=config, progress=False).model, task


def with_seeds(trials: Sequence[Trial], seeds: Sequence[int]) -> list[Trial]:
    """Each training with each seed: of the start, of the batches and of what is asked. All of one seed come first."""
    return [
        replace(trial, labels={**trial.labels, "seed": seed}, plan=replace(trial.plan, seed=seed))
        for seed in seeds
        for trial in trials
    ]


class Study(Protocol):
    """What a module of this folder has."""

    CLAIM: str

    def trials(self, small: bool) -> list[Trial]:
        """What there is to train, with each seed."""

    def measured(self, trial: Trial) -> Row:
        """Numbers by name, of a training."""

    def draw(self, rows: Sequence[Row]) -> Any:
        """A figure of all rows: labels and numbers of each trial."""

    def verdict(self, rows: Sequence[Row]) -> str:
        """Whether the claim holds, with the numbers that say so."""


@dataclass(frozen=True)
class Studied:
    """What an experiment has come to."""

    name: str
    claim: str
    verdict: str
    rows: list[Row]
    paths: list[Path]


@checked
def experiment(
    name: StudyName, out: Path, *, small: bool = False, seeds: tuple[RunSeed, ...] = SEEDS, progress: bool = True
) -> Studied:
    """Run an experiment into a folder: its figure (.svg, .png), its data (.csv), and what it keeps meanwhile (.json)."""
    if not seeds or len({*seeds}) < len(seeds):
        raise refused("seeds", seeds, "one seed or several, each once")
    study: Study = importlib.import_module(f"glyptic.train.experiments.{name}")  # type: ignore[assignment]
    make_folder(out)
    suffix = "-small" if small else ""
    kept = KeptFile(
        out / f"{name}{suffix}.json", "trainings of an experiment", {"kind": "glyptic experiment", "name": name}
    )
    rows: list[Row] = []
    trials = with_seeds(study.trials(small), seeds[:1] if small else seeds)
    for trial in progress_bar(trials, desc=name, unit="training", disable=not progress):
        found = kept.find(trial.name, trial.question, lambda row: row["numbers"])
        if found is None:
            found = study.measured(trial)
            kept.enter(trial.name, trial.question(), {"numbers": found})
        rows.append({**trial.labels, **found})
    paths = figures.save(study.draw(rows), rows, out / f"{name}{suffix}")
    return Studied(name, study.CLAIM, study.verdict(rows), rows, paths)
