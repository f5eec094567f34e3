"""`glyptic icl reproduce`: the headline figures of the literature, in minutes on two cores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Reproduce:
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
    out: Path = Path("icl-reproduce")
    """folder of the cells, the figures (.svg, .png) and their data (.csv)"""
    backend: Literal["loky", "ray", "dask", "sequential"] = "loky"
    """loky: processes of this machine; ray and dask: a cluster"""
    workers: int = 2
    """how many cells at a time"""

    def main(self) -> None:
        from glyptic.icl import figures
        from glyptic.icl.experiments.reproduce import reproduce

        for headline in reproduce(self.out, self.only, self.backend, self.workers):
            print(headline.title, figures.table(headline.rows), *headline.paths, "", sep="\n")
