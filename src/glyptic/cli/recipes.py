"""`glyptic recipes`: results by the files that make them, run again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from glyptic.arguments import FolderToFill, Readable
from glyptic.cli.reading import refuse_idle, refuse_twice
from glyptic.train.plan import RunSeed


@dataclass(frozen=True)
class RecipesCommand:
    """Train by recipes, one after the other, and say of each whether it reaches what it should; status 1 if one does not.

    A recipe is a plain file: a task, what differs from its usual model and plan, what it should reach, and what it did. Each
    is a run in a folder of its own: interrupted, the same words go on where it was.

    Examples: glyptic recipes recipes --out runs
              glyptic recipes recipes/parity.toml recipes/digits.toml
              glyptic recipes recipes --small
              glyptic recipes recipes/parity.toml --seeds 1 2 --record
    """

    place: Annotated[Positional[tuple[str, ...]], arg(metavar="[FILE]")] = ("recipes",)
    """Recipes, or folders of them."""
    out: Annotated[FolderToFill | None, arg(metavar="FOLDER")] = None
    """Keep the runs here, in a folder of its name each; left out, they are not kept."""
    seeds: tuple[RunSeed, ...] = ()
    """Train with each of these seeds instead of the recipe's own."""
    record: bool = False
    """Write what came of it into the recipes' files, seed by seed."""
    small: bool = False
    """A few steps of each, to see that all of it runs; nothing is judged."""

    def main(self) -> int:
        from glyptic.train.recipes import check_recordable, read_recipe, recipes_in, record, run_recipe, with_seed

        if self.small:
            refuse_idle(self, ("record",), "with --small, which judges nothing")
        places = [Readable("either")("FILE", place) for place in self.place]
        files = [file for place in places for file in (recipes_in(place) if place.is_dir() else [place])]
        recipes = [read_recipe(file) for file in files]  # all are read before any is run
        refuse_twice("--seeds", map(str, self.seeds))
        refuse_twice("FILE", (str(file.resolve()) for file in files))
        if self.out is not None:
            refuse_twice("--out, with a folder for each recipe by its name,", (recipe.name for recipe in recipes))
        if self.record:
            for file, recipe in zip(files, recipes, strict=True):
                check_recordable(file, self.seeds or (recipe.plan.seed,))
        missed = 0
        for file, recipe in zip(files, recipes, strict=True):
            results = {}
            for seed in self.seeds or (recipe.plan.seed,):
                own = seed == recipe.plan.seed
                name = f"{recipe.name}{'' if own else f'-seed-{seed}'}{'-small' if self.small else ''}"
                folder = None if self.out is None else Path(self.out) / name
                results[seed] = done = run_recipe(with_seed(recipe, seed), folder, small=self.small)
                measured = ", ".join(f"{name} {value:.4g}" for name, value in done.metrics.items())
                said = "small" if self.small else f"MISSED: {done.missed}" if done.missed else "reached"
                cost = f"{done.steps} steps, {done.seconds:.0f} s of processor time"
                print(f"{name}: {measured}; {cost}; {said}", flush=True)
                missed += bool(done.missed)
            if self.record:
                record(file, results)
        return int(missed > 0)
