"""Sweeps over d, N, M, Λ and noise: a grid of cells, one tidy table, one figure."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from glyptic import figures
from glyptic.arguments import Seed, check_fields
from glyptic.errors import FileError, MissingExtra
from glyptic.files import write_whole
from glyptic.icl.experiments.cells import Cell, Row
from glyptic.icl.names import RISK, Dimension, Length, PromptCount, Variance
from glyptic.icl.theory.problem import ProblemError, spectrum

AXES = {"N": "training length N", "M": "test length M", "d": "dimension d", "noise_variance": "noise variance s²"}


@dataclass(frozen=True)
class Grid:
    """The product of all axes.

    >>> len(Grid(d=(2, 3), N=(10, 20), spectrum=("isotropic", "inverse")).cells())
    8
    """

    measure: str = "risk"
    d: tuple[Dimension, ...] = (5,)
    N: tuple[Length, ...] = (20,)
    M: tuple[Length, ...] = ()  # empty: M = N
    spectrum: tuple[str, ...] = ("isotropic",)
    noise_variance: tuple[Variance, ...] = (0.0,)
    seed: tuple[Seed, ...] = (0,)
    prompts: PromptCount = 10_000

    def __post_init__(self) -> None:
        check_fields(self)
        for axis in ("d", "N", "spectrum", "noise_variance", "seed"):
            if not getattr(self, axis):
                raise ProblemError(f"the axis {axis} of the sweep is empty: give it at least one value.")
        for name, d in itertools.product(self.spectrum, self.d):
            spectrum(name, d)  # refuses names that do not exist before anything is computed

    def cells(self) -> list[Cell]:
        names = ("d", "N", "M", "spectrum", "noise_variance", "seed", "prompts")
        return [
            Cell.of(self.measure, dict(zip(names, (d, N, M, name, float(s2), seed, self.prompts), strict=True)))
            for d, N, name, s2, seed in itertools.product(self.d, self.N, self.spectrum, self.noise_variance, self.seed)
            for M in (self.M or (N,))
        ]

    def longest_axis(self) -> str:
        """The numeric axis with most values: the abscissa of the figure."""
        return max(AXES, key=lambda axis: len(getattr(self, axis)))


def write_table(rows: Sequence[Row], path: Path) -> Path:
    """One tidy table, .parquet or .csv by its name, there whole or not at all."""
    formats: dict[str, Callable[[Sequence[Row]], bytes]] = {".parquet": _as_parquet, ".csv": _as_csv}
    path = Path(path)
    if path.suffix not in formats:
        raise FileError(f"the table {path.name} has to end in .parquet or .csv.")
    write_whole(path, formats[path.suffix](rows), "the table", parents=True)
    return path


def _as_parquet(rows: Sequence[Row]) -> bytes:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("Parquet needs pyarrow (pip install '.[icl]' in Glyptic's folder): or name the table .csv.") from None
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), stream)
    return stream.getvalue()


def _as_csv(rows: Sequence[Row]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


LEAST = 1e-9  # a risk below has no place on a logarithmic axis: least squares without noise

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
    for learner in dict.fromkeys(row["learner"] for row in rows if row["risk"] > LEAST):
        sampled = any(row["standard_error"] for row in rows if row["learner"] == learner)
        label = learner + (", ± 2 s.e." if sampled else "")
        axes.plot([], [], color=figures.COLOURS["muted"], label=label, **_STYLES[learner])
    left_out = dict.fromkeys(row["learner"] for row in rows if row["risk"] <= LEAST)
    if left_out:
        note = f"Not drawn where it is 0: the risk of {', '.join(left_out)}."
        axes.annotate(note, (0, -0.2), xycoords="axes fraction", fontsize=8, color=figures.COLOURS["muted"])
    axes.set(xlabel=AXES[abscissa] + (" = M" if together else ""), ylabel=RISK)
    figures.log_axis(axes, "y")
    values = sorted({row[abscissa] for row in rows})
    if min(values) > 0 and len(values) > 1:
        figures.log_axis(axes, "x", values)
    figures.titled(axes, legend="beside")


def _draw_one(axes: Any, rows: Sequence[Row], abscissa: str, colour: str, style: dict[str, Any]) -> None:
    """Seeds are averaged; their standard errors add in quadrature. A risk of 0 has no place on a logarithmic axis."""
    shown = [row for row in rows if row["risk"] > LEAST]
    values = sorted({row[abscissa] for row in shown})
    at = [[row for row in shown if row[abscissa] == value] for value in values]
    risk = [float(np.mean([row["risk"] for row in each])) for each in at]
    error = [float(np.sqrt(np.sum([row["standard_error"] ** 2 for row in each])) / len(each)) for each in at]
    sampled = any(error)
    axes.errorbar(values, risk, yerr=[2 * e for e in error] if sampled else None, color=colour, capsize=2, **style)
