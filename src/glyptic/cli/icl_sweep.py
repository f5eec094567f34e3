"""`glyptic icl sweep`: risk over a grid of d, N, M, Λ and noise, restartable, on processes or a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True)
class Sweep:
    """Compute a grid of cells, each once: interrupted, it goes on where it was when called again."""

    out: Path = Path("icl-sweep")
    """folder of the cells, the table and the figure"""
    measure: Literal["risk", "train"] = "risk"
    """risk: exact, sampled and ridge; train: linear attention by Adam against the exact minimum"""
    d: tuple[int, ...] = (5,)
    """dimensions"""
    n: tuple[int, ...] = (5, 10, 20, 40, 80)
    """examples in training, N"""
    m: tuple[int, ...] = ()
    """examples at test, M; by default M = N"""
    spectrum: tuple[str, ...] = ("isotropic",)
    """eigenvalues of Λ: isotropic, inverse, kappa:100, or numbers as in 1,0.5,0.1"""
    noise: tuple[float, ...] = (0.0,)
    """standard deviations of the label noise"""
    seed: tuple[int, ...] = (0,)
    """seeds; the figure averages over them"""
    prompts: int = 4000
    """sampled prompts in a cell"""
    backend: Literal["loky", "ray", "dask", "sequential"] = "loky"
    """loky: processes of this machine; ray and dask: the cluster that RAY_ADDRESS or DASK_SCHEDULER_ADDRESS names"""
    workers: int = 2
    """how many cells at a time"""
    table: Literal["parquet", "csv"] = "parquet"
    """the format of the tidy table"""

    def main(self) -> None:
        from glyptic.icl import figures
        from glyptic.icl.experiments.cells import run
        from glyptic.icl.experiments.sweeps import Grid, draw, write_table

        grid = Grid(self.measure, self.d, self.n, self.m, self.spectrum, self.noise, self.seed, self.prompts)
        rows = run(grid.cells(), self.out, self.backend, self.workers)
        columns = ("d", "N", "M", "spectrum", "noise", "seed", "learner", "risk", "error")
        print(figures.table([{name: row[name] for name in columns} for row in rows]))
        print(write_table(rows, self.out / f"sweep.{self.table}"))
        figure, axes = figures.new(size=(9.0, 4.8))
        draw(axes, rows, grid.longest_axis())
        for path in figures.save(figure, rows, self.out / "sweep-figure"):
            print(path)
