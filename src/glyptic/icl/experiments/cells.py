"""Jobs that survive being killed: every finished cell is a file, and no cell is computed twice.

A cell is a measure and its parameters, and is named by their hash. The worker that finishes it writes `cells/<hash>.json` whole
or not at all; a second run computes only what is absent, and so do the workers that come after one that died. On a cluster whose
workers do not share the folder the rows come back and are written here.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glyptic.errors import FileError
from glyptic.files import make_folder, quoted_path, read_json, write_whole
from glyptic.icl.experiments.measures import MEASURES, VERSION
from glyptic.icl.theory.problem import ProblemError
from glyptic.parallel import gather
from glyptic.text import printable

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One computation: everything its numbers depend on.

    >>> sizes = {"d": 2, "N": 5, "random_covariance": False, "steps": 3, "seed": 0}
    >>> Cell.of("covariate", sizes).key == Cell.of("covariate", dict(reversed(sizes.items()))).key
    True
    >>> Cell.of("covariate", {**sizes, "M": 5})
    Traceback (most recent call last):
    glyptic.icl.theory.problem.ProblemError: the measure covariate is of d, N, random_covariance, steps, seed, and not of M.
    """

    measure: str
    parameters: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, measure: str, parameters: Mapping[str, str | float]) -> Cell:
        if measure not in MEASURES:
            raise ProblemError(f"no measure {measure!r}; there are {', '.join(MEASURES)}.")
        known = [*inspect.signature(MEASURES[measure]).parameters]
        other = next((name for name in [*parameters, *known] if (name in parameters) != (name in known)), None)
        if other is not None:
            wrong = "not of" if other in parameters else "lacks"
            raise ProblemError(f"the measure {measure} is of {', '.join(known)}, and {wrong} {printable(other)}.")
        return cls(measure, tuple(parameters.items()))

    @property
    def key(self) -> str:
        """A name that changes when anything in the cell does."""
        text = json.dumps([VERSION, self.measure, dict(self.parameters)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def rows(self) -> list[Row]:
        """Compute the cell: a row for each thing measured, with the cell's parameters in front."""
        parameters = dict(self.parameters)
        return [{"measure": self.measure, **parameters, **row} for row in MEASURES[self.measure](**parameters)]


def run(
    cells: Sequence[Cell], folder: Path, backend: str = "auto", workers: int | None = None, progress: bool = True
) -> list[Row]:
    """Compute the cells that are not in the folder yet; return the rows of all of them, in their order."""
    store = Path(folder) / "cells"
    make_folder(store)
    work = {cell: (cell, str(store)) for cell in cells}
    known = {cell: _read(_file(store, cell)) for cell in work if _file(store, cell).exists()}

    def keep(cell: Cell, rows: list[Row]) -> None:
        if not _file(store, cell).exists():
            _write(_file(store, cell), rows)

    gather(compute, work, backend, workers, known=known, keep=keep, progress="cells" if progress else None)
    return [row for cell in work for row in known.get(cell) or _read(_file(store, cell))]


def compute(cell: Cell, store: str) -> list[Row]:
    """What a worker does: compute the cell and put it into the store; of a cell that is there nobody has been told yet."""
    if _file(Path(store), cell).exists():
        return _read(_file(Path(store), cell))
    rows = cell.rows()
    if Path(store).is_dir():
        _write(_file(Path(store), cell), rows)
    return rows


def _file(store: Path, cell: Cell) -> Path:
    return store / f"{cell.key}.json"


def _write(path: Path, rows: list[Row]) -> None:
    write_whole(path, json.dumps(rows).encode(), "the cell")


def _read(path: Path) -> list[Row]:
    try:
        rows = read_json(path, what="a cell", nan=True)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise FileError(f"{quoted_path(path)} is not a cell: it is not a list of rows.")
        return rows
    except FileError as error:
        raise FileError(f"{str(error).rstrip('.')}; it is damaged: remove it and run again.") from None
