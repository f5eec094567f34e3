"""Deciders by recipe: trained as a file says, if they are not yet, and distilled; many of them as a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glyptic.arguments import checked
from glyptic.distill.decider import TrainedDecider, language_task, open_decider
from glyptic.distill.saving import RUN_FOLDER, check_place
from glyptic.errors import InputError
from glyptic.train.recipes import read_recipe, recipes_in


@checked
def trained(recipe: Path, out: Path, *, progress: bool = True) -> TrainedDecider:
    """The decider that a recipe makes, trained in out/run; a run that is there goes on, or is done already."""
    from glyptic.train.trainer import train

    one = read_recipe(recipe)
    language_task(one.task)
    task, config = one.open()
    check_place(out)
    train(task, one.plan, config=config, out=out / RUN_FOLDER, progress=progress)
    found = open_decider(out / RUN_FOLDER)
    return TrainedDecider(one.name, found.model, found.task)


def deciders_in(source: Path, out: Path, task: str | None, *, progress: bool = True) -> Iterator[tuple[TrainedDecider, Path]]:
    """The deciders that a run, a checkpoint, a recipe or a folder of recipes stands for, each with the folder for its result."""
    if source.is_file() or (source.is_dir() and any(source.glob("*.toml"))):
        if task is not None:
            raise InputError("--task has no effect on a recipe, which names its own; leave it out.")
        if source.is_file():
            yield trained(source, out, progress=progress), out
            return
        for recipe in recipes_in(source):
            yield trained(recipe, out / recipe.stem, progress=progress), out / recipe.stem
        return
    decider: Any = open_decider(source, task)
    check_place(out)
    yield decider, out
