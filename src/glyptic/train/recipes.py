"""Recipes: a plain file (TOML) for a result, with what it should reach and what it did.

    about = "one line"
    task = "tomita:4,held_out=0"        # a name that the registry opens
    [model]                             # fields of the model that differ from the task's own
    [plan]                              # fields of the plan that differ from the usual
    [reach]                             # the least that the last evaluation must give; of loss, the most
    [reached]                           # what it gave when it was last run, with seconds of processor time and the processor

`glyptic train --recipe FILE` trains by one, `glyptic recipes` runs them all and says whether they reach what they should.
"""

from __future__ import annotations

import math
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glyptic.arguments import checked, shown
from glyptic.errors import FileError, GlypticError
from glyptic.files import quoted_path, read_bytes
from glyptic.nn.config import ModelConfig, known
from glyptic.train.plan import Plan
from glyptic.train.task import Task
from glyptic.train.tasks import registry

_PARTS: dict[str, type] = {"about": str, "task": str, "model": dict, "plan": dict, "reach": dict, "reached": dict}
_MOST_BYTES = 1 << 16
_SMALL = 4  # steps


@dataclass(frozen=True)
class Recipe:
    """What a file of recipes/ says; made by `read_recipe`, which checks it."""

    name: str
    about: str
    task: str
    model: Mapping[str, Any]
    plan: Plan
    reach: Mapping[str, float]
    reached: Mapping[str, Any]

    def open(self) -> tuple[Task, ModelConfig]:
        """The task, and the model's config, which the task has accepted."""
        task = registry.open(self.task)
        config = task.config().replace(**self.model)  # type: ignore[typeddict-item]
        task.check(config)
        return task, config


@dataclass(frozen=True)
class RecipeResult:
    """What a recipe has come to."""

    name: str
    metrics: Mapping[str, float]
    steps: int
    seconds: float
    """Of processor time."""
    missed: str
    """Which measure is short of what it should be; empty if none is."""


@checked
def read_recipe(path: str | Path) -> Recipe:
    """The recipe in a file; what it says and is not meant is refused with its place."""
    where = quoted_path(path)
    try:
        found = tomllib.loads(read_bytes(path, _MOST_BYTES, "a recipe").decode())
    except UnicodeDecodeError as error:
        raise FileError(f"{where} is not a recipe: it is not UTF-8 (byte {error.start}).") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileError(f"{where} is not a recipe: {str(error)[:200]}.") from None
    for name, value in found.items():
        if name not in _PARTS or not isinstance(value, _PARTS[name]):
            parts = ", ".join(_PARTS)
            raise FileError(f"{where}: {shown(name)} is not a part of a recipe, or not of its kind; parts are {parts}.")
    if "task" not in found:
        raise FileError(f'{where}: the task is missing; write task = "parity:16", say.')
    reach = found.get("reach", {})
    for name, value in reach.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise FileError(f"{where}: [reach] {name} is {shown(value)}, and must be a number.")
    try:
        known(found.get("model", {}))
        known(found.get("plan", {}), kind=Plan)
        plan = Plan(**found.get("plan", {}))
    except GlypticError as error:
        raise FileError(f"{where}: {error}") from None
    about, model, reached = found.get("about", ""), found.get("model", {}), found.get("reached", {})
    return Recipe(Path(path).stem, about, found["task"], model, plan, reach, reached)


@checked
def run_recipe(recipe: Recipe, out: Path | None = None, *, small: bool = False, progress: bool = True) -> RecipeResult:
    """Train as a recipe says; `small` takes a few steps, to see that all of it runs, and judges nothing."""
    from glyptic.train.trainer import train

    task, config = recipe.open()
    plan = recipe.plan
    if small:
        batch = plan.accumulate * max(1, 8 // plan.accumulate)
        plan = replace(
            plan, steps=_SMALL, batch=batch, warmup=min(plan.warmup, 2), evaluate=_SMALL, save=_SMALL, record=2
        )
    begun = time.process_time()
    done = train(task, plan, config=config, out=out, progress=progress)
    seconds = time.process_time() - begun
    last = done.rows[-1]
    metrics = {
        name.removeprefix("evaluation_"): value for name, value in last.items() if name.startswith("evaluation_")
    }
    return RecipeResult(recipe.name, metrics, done.step, seconds, "" if small else _missed(recipe, metrics))


def _missed(recipe: Recipe, metrics: Mapping[str, float]) -> str:
    for name, least in recipe.reach.items():
        if name not in metrics:
            return f"{name}, which the evaluation does not give; it gives {', '.join(metrics)}"
        value = metrics[name]
        if not (value <= least if name in ("loss", "wrong") else value >= least):
            return f"{name} is {value:.4g} instead of {least:g}"
    return ""


def recipes_in(folder: Path) -> list[Path]:
    """The recipes of a folder, in the order of their names."""
    found = sorted(folder.glob("*.toml")) if folder.is_dir() else []
    if not found:
        raise FileError(f"{quoted_path(folder)} has no recipes (.toml) in it.")
    return found


def listed(recipes: Sequence[Recipe]) -> str:
    """A table in Markdown of what recipes should reach and did, as docs/tasks.md has it."""
    rows = ["| recipe | task | should reach | reached | steps | seconds |", "|---|---|---|---|---:|---:|"]
    for recipe in recipes:
        wanted = ", ".join(f"{name} {value:g}" for name, value in recipe.reach.items())
        measured = ", ".join(f"{name} {recipe.reached[name]:g}" for name in recipe.reach if name in recipe.reached)
        steps, seconds = (recipe.reached.get(name, "") for name in ("steps", "seconds"))
        link = f"[{recipe.name}](../recipes/{recipe.name}.toml)"
        rows.append(f"| {link} | `{recipe.task}` | {wanted} | {measured} | {steps} | {seconds} |")
    return "\n".join(rows)
