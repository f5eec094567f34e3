"""Recipes: a plain file (TOML) for a result, with what it should reach and what it did.

    about = "one line"
    task = "tomita:4,held_out=0"        # a name that the registry opens
    [model]                             # fields of the model that differ from the task's own
    [plan]                              # fields of the plan that differ from the usual
    [reach]                             # the least that the test at the end must give; of loss, wrong and their like, the most
    [reached]                           # what it gave when it was last run, with seconds of processor time and the processor
    [seeds.1]                           # what it gave with another seed, run once after all of the above was settled

`glyptic train --recipe FILE` trains by one, `glyptic recipes` runs them all and says whether they reach what they should.
"""

from __future__ import annotations

import json
import math
import re
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from glyptic.arguments import checked, shown
from glyptic.errors import FileError, GlypticError
from glyptic.files import quoted_path, read_bytes, write_whole
from glyptic.nn.config import ModelConfig, known
from glyptic.train.memory import held_by_memory
from glyptic.train.plan import TEST, Plan
from glyptic.train.task import AT_LEAST, AT_MOST, Task, good_enough
from glyptic.train.tasks import registry

_PARTS: dict[str, type] = {"about": str, "task": str, "model": dict, "plan": dict, "reach": dict, "reached": dict,
                           "seeds": dict}
_MOST_BYTES = 1 << 16
_SMALL = 4  # steps
_QUOTED = re.compile(r"[^A-Za-z0-9_-]")  # what no bare name of TOML has


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
    seeds: Mapping[str, Mapping[str, Any]]

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
    _check_reach(reach, where)
    try:
        known(found.get("model", {}))
        known(found.get("plan", {}), kind=Plan)
        plan = Plan(**found.get("plan", {}))
    except GlypticError as error:
        raise FileError(f"{where}: {error}") from None
    about, model, reached = found.get("about", ""), found.get("model", {}), found.get("reached", {})
    seeds = found.get("seeds", {})
    if not all(isinstance(row, dict) for row in seeds.values()):
        raise FileError(f"{where}: [seeds] has a table for each seed, such as [seeds.1].")
    return Recipe(Path(path).stem, about, found["task"], model, plan, reach, reached, seeds)


def _check_reach(reach: Mapping[str, Any], where: str) -> None:
    """Numbers, of metrics of which it is known whether more or less is better."""
    for name, value in reach.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise FileError(f"{where}: [reach] {name} is {shown(value)}, and must be a number.")
        if name not in (*AT_LEAST, *AT_MOST):
            metrics = ", ".join((*AT_LEAST, *AT_MOST))
            raise FileError(f"{where}: [reach] {shown(name)} is not a metric that can be reached; these are {metrics}.")


def with_seed(recipe: Recipe, seed: int) -> Recipe:
    """The same with another seed: of the start, the batches, and what is drawn to evaluate on."""
    return replace(recipe, plan=replace(recipe.plan, seed=seed))


def record(path: Path, results: Mapping[int, RecipeResult]) -> None:
    """Write what came of each seed into the recipe's file, instead of what stands there of it: [reached] is that of its own.

    Nothing is written that would not be read again as the same recipe with these results.
    """
    recipe = read_recipe(path)
    write_whole(path, _recorded(path, recipe, {_section(recipe, seed): _rows(recipe, seed, results[seed]) for seed in results}))


def check_recordable(path: Path, seeds: Sequence[int]) -> None:
    """Refuse, before anything is trained, a file into which results of these seeds cannot be written."""
    recipe = read_recipe(path)
    _recorded(path, recipe, {_section(recipe, seed): {"steps": "1"} for seed in seeds})


def _recorded(path: Path, recipe: Recipe, sections: Mapping[str, Mapping[str, str]]) -> bytes:
    """The file with these sections, each in the place of the one that was there, new ones at its end, seeds last."""
    before = read_bytes(path, _MOST_BYTES, "a recipe").decode()
    said = re.split(r"(?m)^(?=\[)", before)
    for section, rows in sorted(sections.items()):
        place = next((place for place, part in enumerate(said) if part.startswith(section)), None)
        if place is None:
            later = (place for place, part in enumerate(said) if part.startswith("[seeds.") and section == "[reached]")
            said.insert(next(later, len(said)), _section_with(f"{section}\n", rows))
        else:
            said[place] = _section_with(said[place], rows)
    text = "\n\n".join(part.strip("\n") for part in said if part.strip("\n")) + "\n"
    wanted = tomllib.loads(before)
    for section, rows in sections.items():
        *above, name = section[1:-1].split(".")
        table = wanted.setdefault(above[0], {}) if above else wanted
        table[name] = tomllib.loads("\n".join(f"{row} = {value}" for row, value in rows.items()))
    if _read_again(text) != wanted:
        raise FileError(
            f"{quoted_path(path)}: results cannot be written into it as it is; write what stands there of them as tables, "
            f"{' and '.join(sorted(sections))}, each once and with its rows below it."
        )
    return text.encode()


def _read_again(text: str) -> Any:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _section_with(before: str, rows: Mapping[str, str]) -> str:
    """A section with other rows. Lines that are comments stay: those below the last row, and these belong to what comes next."""
    header, *lines = before.rstrip("\n").split("\n")
    last = max((place for place, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), default=-1)
    inside = [line for line in lines[: max(0, last)] if line.lstrip().startswith("#")]
    return "\n".join([header, *inside, *(f"{name} = {value}" for name, value in rows.items()), *lines[last + 1 :]])


def _rows(recipe: Recipe, seed: int, done: RecipeResult) -> dict[str, str]:
    """What is written of a result, as TOML writes it."""
    rows = {json.dumps(name) if _QUOTED.search(name) else name: f"{value:.4g}" for name, value in done.metrics.items()}
    rows |= {"steps": f"{done.steps}", "seconds": f"{math.ceil(done.seconds)}"}
    own = seed == recipe.plan.seed and "processor" in recipe.reached
    return rows | ({"processor": json.dumps(recipe.reached["processor"])} if own else {})


def _section(recipe: Recipe, seed: int) -> str:
    return "[reached]" if seed == recipe.plan.seed else f"[seeds.{seed}]"


@checked
def run_recipe(recipe: Recipe, out: Path | None = None, *, small: bool = False, progress: bool = True) -> RecipeResult:
    """Train as a recipe says, then test once, on other held-out data than the evaluations on the way have seen.

    `small` takes a few steps, to see that all of it runs, and judges nothing.
    """
    import torch

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
    with torch.no_grad(), held_by_memory(f"the test of {task.name}", "use a smaller task, or a smaller model"):
        metrics = task.evaluate(done.model, plan.seed if small else TEST + plan.seed)  # a test asks many times as much
    return RecipeResult(recipe.name, metrics, done.step, seconds, "" if small else _missed(recipe, metrics))


def _missed(recipe: Recipe, metrics: Mapping[str, float]) -> str:
    for name, least in recipe.reach.items():
        if name not in metrics:
            return f"{name}, which the evaluation does not give; it gives {', '.join(metrics)}"
        value = metrics[name]
        if not good_enough(name, value, least):
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
    rows = ["| recipe | task | should reach | reached | other seeds | steps | seconds |", "|---|---|---|---|---|---:|---:|"]
    for recipe in recipes:
        wanted = ", ".join(f"{name} {value:g}" for name, value in recipe.reach.items())
        measured = ", ".join(f"{name} {recipe.reached[name]:g}" for name in recipe.reach if name in recipe.reached)
        steps, seconds = (recipe.reached.get(name, "") for name in ("steps", "seconds"))
        names = [name for name in recipe.reach if name != "wrong"]
        others = ", ".join(f"{row[name]:g}" for row in recipe.seeds.values() for name in names if name in row)
        link = f"[{recipe.name}](../recipes/{recipe.name}.toml)"
        rows.append(f"| {link} | `{recipe.task}` | {wanted} | {measured} | {others} | {steps} | {seconds} |")
    return "\n".join(rows)


def renew_tables(folder: Path, pages: Sequence[Path]) -> None:
    """Write the rows of `listed` into pages, in the place of those that stand there; a page has its own words above them."""
    rows = listed([read_recipe(path) for path in recipes_in(folder)]).splitlines()[2:]
    for page in pages:
        before = page.read_text(encoding="utf-8").splitlines()
        places = [number for number, line in enumerate(before) if "](../recipes/" in line and line.startswith("| [")]
        write_whole(page, "\n".join([*before[: places[0]], *rows, *before[places[-1] + 1 :], ""]).encode())
