"""Sweeps over d, N, M, Λ and noise that survive being killed: every finished cell is a file, and no cell is done twice.

A cell is named by the hash of what it computes. The worker that finishes it writes `cells/<hash>.json` under a
temporary name and renames it, so a file is either whole or absent; a second run computes only what is absent. On a
cluster whose workers do not share the folder the rows come back and are written here. The table is made from the files
of the grid.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from glyptic.errors import FileError
from glyptic.icl.backends import scatter
from glyptic.icl.measures import MEASURES
from glyptic.icl.problem import ProblemError, spectrum

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One point of a sweep: everything its numbers depend on."""

    measure: str
    d: int
    N: int
    M: int
    spectrum: str
    noise: float
    seed: int
    prompts: int

    @property
    def key(self) -> str:
        """A name that changes when anything in the cell does."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:20]

    def rows(self) -> list[Row]:
        """Compute the cell: a row for each thing measured, with the cell's coordinates in front."""
        return [{**asdict(self), **row} for row in MEASURES[self.measure](self)]


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
        if self.measure not in MEASURES:
            raise ProblemError(f"no measure {self.measure!r}; there are {', '.join(MEASURES)}.")
        for axis in ("d", "N", "spectrum", "noise", "seed"):
            if not getattr(self, axis):
                raise ProblemError(f"the axis {axis} of the sweep is empty: give it at least one value.")
        for axis in ("d", "N", "M"):
            if any(value < 1 for value in getattr(self, axis)):
                raise ProblemError(f"the axis {axis} holds {min(getattr(self, axis))}: its values start at 1.")
        if any(not value >= 0 for value in self.noise):
            raise ProblemError("the axis noise holds a value that is not a standard deviation: use numbers ≥ 0.")
        for name, d in itertools.product(self.spectrum, self.d):
            spectrum(name, d)  # refuses names that do not exist before anything is computed

    def cells(self) -> list[Cell]:
        return [
            Cell(self.measure, d, N, M, name, float(noise), seed, self.prompts)
            for d, N, name, noise, seed in itertools.product(self.d, self.N, self.spectrum, self.noise, self.seed)
            for M in (self.M or (N,))
        ]


def run(
    grid: Grid, folder: Path, backend: str = "loky", workers: int = 2, progress: bool = True
) -> list[Row]:
    """Compute the cells that are not in the folder yet; return the rows of all cells of the grid, in its order."""
    store = Path(folder) / "cells"
    store.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in grid.cells() if not _file(store, cell).exists()]
    finished = scatter(compute, [(cell, str(store)) for cell in missing], backend, workers, progress) if missing else []
    for cell, rows in zip(missing, finished, strict=True):
        if not _file(store, cell).exists():
            _write_json(_file(store, cell), rows)
    return [row for cell in grid.cells() for row in _read(_file(store, cell))]


def compute(cell: Cell, store: str) -> list[Row]:
    """What a worker does: compute the cell and put it into the store."""
    rows = cell.rows()
    if Path(store).is_dir():
        _write_json(_file(Path(store), cell), rows)
    return rows


def _file(store: Path, cell: Cell) -> Path:
    return store / f"{cell.key}.json"


def _write_json(path: Path, rows: list[Row]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    temporary.write_text(json.dumps(rows))
    os.replace(temporary, path)


def _read(path: Path) -> list[Row]:
    try:
        return json.loads(path.read_text())
    except ValueError:
        raise FileError(f"the cell {path} is damaged: remove it and run the sweep again.") from None


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
        raise FileError("Parquet needs pyarrow (pip install 'glyptic[icl]'): or name the table .csv.") from None
    pq.write_table(pa.Table.from_pylist(list(rows)), path)


def _write_csv(rows: Sequence[Row], path: Path) -> None:
    import csv

    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
