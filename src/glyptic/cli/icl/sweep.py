"""`glyptic icl sweep`: risk over a grid of d, N, M, Λ and noise, restartable, on processes or a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from glyptic.arguments import FolderToFill, affordable
from glyptic.cli.icl import flags
from glyptic.cli.reading import refuse_idle, refuse_idle_workers
from glyptic.errors import MissingExtra
from glyptic.extras import brought_by


@dataclass(frozen=True)
class SweepCommand:
    """Compute the risk over a grid of d, N, M (by default M = N), Λ and s², each cell once; seeds are averaged in the figure.

    Interrupted, it goes on where it was when called again.
    """

    out: FolderToFill = Path("icl-sweep")
    """folder of the cells, the table and the figure"""
    measure: Literal["risk", "train"] = "risk"
    """risk: exact, sampled and ridge; train: linear attention by Adam against the exact minimum"""
    d: flags.Dimensions = (5,)
    N: flags.TrainingLengths = (5, 10, 20, 40, 80)
    M: flags.TestLengths = ()
    spectrum: flags.Spectra = ("isotropic",)
    noise_variance: flags.NoiseVariances = (0.0,)
    seed: flags.Seeds = (0,)
    prompts: flags.Prompts = 10_000
    backend: flags.Backend = "loky"
    workers: flags.Cells = None
    table: Literal["parquet", "csv"] | None = None
    """the format of the tidy table; by default Parquet where pyarrow is installed, else CSV"""

    def main(self) -> None:
        flags.check(self)
        from glyptic import figures
        from glyptic.icl.experiments.cells import run
        from glyptic.icl.experiments.sweeps import Grid, draw, write_table

        refuse_idle_workers(self)
        if self.measure == "train":
            refuse_idle(self, ("prompts",), "with --measure train, whose risks are exact")
        affordable("the prompts of a cell", self.prompts, max(self.M or self.N, default=1) + 1, max(self.d, default=1) + 1)
        table = self._table()
        grid = Grid(self.measure, self.d, self.N, self.M, self.spectrum, self.noise_variance, self.seed, self.prompts)
        rows = run(grid.cells(), self.out, self.backend, self.workers)
        columns = ("d", "N", "M", "spectrum", "noise_variance", "seed", "learner", "risk", "standard_error")
        flags.show([{name: row[name] for name in columns} for row in rows])
        print(write_table(rows, self.out / f"sweep.{table}"))
        figure, axes = figures.new(size=(9.0, 4.8))
        draw(axes, rows, grid.longest_axis())
        flags.save(figure, rows, self.out / "sweep-figure")

    def _table(self) -> str:
        """The format of the table; one that cannot be written is refused before any work."""
        if self.table == "csv":
            return "csv"
        try:
            with brought_by("--table parquet"):
                import_module("pyarrow")
        except MissingExtra:
            if self.table == "parquet":
                raise
            return "csv"
        return "parquet"
