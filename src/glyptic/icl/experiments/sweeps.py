"""Sweeps over d, N, M, Λ and noise: a grid of cells, one tidy table, one figure."""

from __future__ import annotations

import csv
import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glyptic.errors import FileError, MissingExtra
from glyptic.icl import figures
from glyptic.icl.experiments import plots
from glyptic.icl.experiments.cells import Cell, Row
from glyptic.icl.theory.problem import ProblemError, spectrum

AXES = {"N": "examples in training, N", "M": "examples at test, M", "d": "dimension, d", "noise": "label noise, s"}


@dataclass(frozen=True)
class Grid:
    """The product of all axes.

    >>> len(Grid(d=(2, 3), N=(10, 20), spectrum=("isotropic", "inverse")).cells())
    8
    """

    measure: str = "risk"
    d: tuple[int, ...] = (5,)
    N: tuple[int, ...] = (20,)
    M: tuple[int, ...] = ()  # empty: M = N
    spectrum: tuple[str, ...] = ("isotropic",)
    noise: tuple[float, ...] = (0.0,)
    seed: tuple[int, ...] = (0,)
    prompts: int = 4000

    def __post_init__(self) -> None:
        for axis in ("d", "N", "spectrum", "noise", "seed"):
            if not getattr(self, axis):
                raise ProblemError(f"the axis {axis} of the sweep is empty: give it at least one value.")
        for axis in ("d", "N", "M"):
            if any(value < 1 for value in getattr(self, axis)):
                raise ProblemError(f"the axis {axis} holds {min(getattr(self, axis))}: its values start at 1.")
        if not all(np.isfinite(value) and value >= 0 for value in self.noise):
            raise ProblemError("the axis noise holds a value that is not a standard deviation: use numbers ≥ 0.")
        for name, d in itertools.product(self.spectrum, self.d):
            spectrum(name, d)  # refuses names that do not exist before anything is computed

    def cells(self) -> list[Cell]:
        return [
            Cell.of(
                self.measure, d=d, N=N, M=M, spectrum=name, noise=float(noise), seed=seed, prompts=self.prompts
            )
            for d, N, name, noise, seed in itertools.product(self.d, self.N, self.spectrum, self.noise, self.seed)
            for M in (self.M or (N,))
        ]

    def longest_axis(self) -> str:
        """The numeric axis with most values: the abscissa of the figure."""
        return max(AXES, key=lambda axis: len(getattr(self, axis)))


def write_table(rows: Sequence[Row], path: Path) -> Path:
    """One tidy table, .parquet or .csv by its name; a temporary name first, then renamed."""
    writers: dict[str, Callable[[Sequence[Row], Path], None]] = {".parquet": _write_parquet, ".csv": _write_csv}
    path = Path(path)
    if path.suffix not in writers:
        raise FileError(f"the table {path.name} has to end in .parquet or .csv.")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    writers[path.suffix](rows, temporary)
    os.replace(temporary, path)
    return path


def _write_parquet(rows: Sequence[Row], path: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("Parquet needs pyarrow (pip install 'glyptic[icl]'): or name the table .csv.") from None
    pq.write_table(pa.Table.from_pylist(list(rows)), path)


def _write_csv(rows: Sequence[Row], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


_STYLES: dict[str, dict[str, Any]] = {
    "linear attention, exact": {"linestyle": "-"},
    "linear attention, sampled": {"linestyle": "none", "marker": "o", "markersize": 4.5},
    "linear attention, Adam": {"linestyle": "none", "marker": "D", "markersize": 4.5},
    "ridge, Bayes-optimal": {"linestyle": ":", "linewidth": 1.6},
}


def draw(axes: Any, rows: Sequence[Row], abscissa: str) -> None:
    """Risk against one axis: a colour for each combination of the others, a line if exact, points if measured."""
    others = [axis for axis in (*AXES, "spectrum") if axis != abscissa and len({row[axis] for row in rows}) > 1]
    together = abscissa == "N" and all(row["M"] == row["N"] for row in rows)
    if together:
        others = [axis for axis in others if axis != "M"]
    groups = list(dict.fromkeys(tuple(row[axis] for axis in others) for row in rows))
    for group, colour in zip(groups, figures.distinct(len(groups)), strict=True):
        mine = [row for row in rows if tuple(row[axis] for axis in others) == group]
        label = ", ".join(f"{axis} = {value}" for axis, value in zip(others, group, strict=True))
        axes.plot([], [], color=colour, linewidth=4, label=label or None)
        for learner, style in _STYLES.items():
            _draw_one(axes, [row for row in mine if row["learner"] == learner], abscissa, colour, style)
    for learner in dict.fromkeys(row["learner"] for row in rows):
        axes.plot([], [], color=figures.COLOURS["muted"], label=learner, **_STYLES[learner])
    axes.set(xlabel=AXES[abscissa] + (" = M" if together else ""), ylabel=plots.RISK)
    plots.log_axis(axes, "y")
    values = sorted({row[abscissa] for row in rows})
    if min(values) > 0 and len(values) > 1:
        plots.log_axis(axes, "x", values)
    plots.finish(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_one(axes: Any, rows: Sequence[Row], abscissa: str, colour: str, style: dict[str, Any]) -> None:
    """Seeds are averaged; their standard errors add in quadrature. A risk of 0 has no place on a logarithmic axis."""
    shown = [row for row in rows if row["risk"] > 1e-9]
    values = sorted({row[abscissa] for row in shown})
    at = [[row for row in shown if row[abscissa] == value] for value in values]
    risk = [float(np.mean([row["risk"] for row in each])) for each in at]
    error = [float(np.sqrt(np.sum([row["error"] ** 2 for row in each])) / len(each)) for each in at]
    axes.errorbar(values, risk, yerr=error if "marker" in style else None, color=colour, **style)
