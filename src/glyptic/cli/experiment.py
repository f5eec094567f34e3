"""`glyptic experiment`: a claim of the lectures, tried by small trainings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from glyptic.arguments import FolderToFill
from glyptic.text import table_of
from glyptic.train.plan import RunSeed


@dataclass(frozen=True)
class ExperimentCommand:
    """Try a claim of the lectures by small trainings: a table, a figure with its data, and a verdict, in minutes on one core.

    chain: a chain of thought against none, by one layer. norms: BatchNorm against LayerNorm. places: post-norm against
    pre-norm. positions: kinds of positions beyond the trained length. Every training is kept as it ends; the same words again
    go on where it was.

    Examples: glyptic experiment positions --out experiments
              glyptic experiment chain --small
              glyptic experiment norms --seeds 0
    """

    name: Annotated[Positional[Literal["chain", "norms", "places", "positions"]], arg(metavar="NAME")]
    """Which one: chain, norms, places or positions."""
    out: FolderToFill = Path("experiments")
    """Folder of the figure (.svg, .png), its data (.csv) and what is kept meanwhile (.json)."""
    seeds: tuple[RunSeed, ...] = (0, 1, 2)
    """Train everything with each of these; the verdict must hold with all of them, and the figure shows their range."""
    small: bool = False
    """A few steps of a few trainings with the first seed, to see that all of it runs; the verdict then says nothing."""

    def main(self) -> None:
        from glyptic.train.experiments.study import experiment

        done = experiment(self.name, Path(self.out), small=self.small, seeds=self.seeds)
        print(table_of(done.rows), "", f"claim: {done.claim}", done.verdict, *done.paths, sep="\n")
