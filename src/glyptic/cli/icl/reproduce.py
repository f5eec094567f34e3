"""`glyptic icl reproduce`: the headline figures of the literature, in minutes on two cores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from glyptic.arguments import FolderToFill
from glyptic.cli.icl import flags
from glyptic.cli.reading import refuse_idle_workers
from glyptic.text import table_of


@dataclass(frozen=True)
class ReproduceCommand:
    """Make the headline figures: limits under covariate shift, depth against gradient descent, baselines, diversity.

    Every finished cell is kept: interrupted, it goes on where it was when called again with the same folder.
    """

    only: tuple[Literal["covariate", "depth", "baselines", "diversity"], ...] = (
        "covariate",
        "depth",
        "baselines",
        "diversity",
    )
    """which figures"""
    out: FolderToFill = Path("icl-reproduce")
    """folder of the cells, the figures (.svg, .png) and their data (.csv)"""
    backend: flags.Backend = "loky"
    workers: flags.Cells = None

    def main(self) -> None:
        flags.check(self)
        from glyptic.icl.experiments.reproduce import reproduce

        refuse_idle_workers(self)
        for headline in reproduce(self.out, self.only, self.backend, self.workers):
            print(headline.title, table_of(headline.rows), *headline.paths, "", sep="\n")
