"""Curves of training runs laid over each other: rows of metrics, from files or from memory, checked and packed.

A row is one moment of a run: {"step": 200, "loss": 0.31, …}. A run is a list of rows, or a file with a row of JSON a line. Files
are data that nobody vouches for: they are read through `glyptic.files`, and have bounds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from glyptic.arguments import is_list, shown
from glyptic.errors import FileError, InputError
from glyptic.files import parse_json, quoted_path, read_bytes
from glyptic.look.pages import View, pack

MOST_RUNS, MOST_METRICS, MOST_ROWS, MOST_NUMBERS, MOST_BYTES = 64, 64, 1_000_000, 8_000_000, 1 << 28
MOST_LETTERS = 120  # of the name of a run or of a metric
AXES = {
    "step": ("step", "steps", "iteration", "global_step"),
    "time": ("time", "seconds", "elapsed", "wall_time"),
    "tokens": ("tokens", "tokens_seen", "n_tokens"),
}
"""What runs can be aligned by, and the columns that say it."""

Row = Mapping[str, Any]


def training_view(runs: Any, *, lines: Mapping[str, float] | None = None, title: str = "Training") -> View:
    """The curves of runs: a file of rows (.jsonl), a folder of such files, a history, or a dictionary of names to any of these.

    `lines` are values that a curve ought to reach, such as an exact minimum, drawn across the picture with their names.

    >>> history = [{"step": 0, "loss": 2.0}, {"step": 10, "loss": 1.0}]
    >>> view = training_view({"first": history, "second": history}, lines={"exact minimum": 0.5})
    >>> [run["name"] for run in view.data["runs"]], view.data["metrics"]
    (['first', 'second'], ['loss'])
    """
    named = _named(runs)
    if not named:
        raise InputError("there is no run to show: give at least one file, folder or list of rows.")
    if len(named) > MOST_RUNS:
        raise InputError(f"there are {len(named)} runs, and a page shows {MOST_RUNS} at most: choose some of them.")
    columns = [(name, _columns(rows, name)) for name, rows in named]
    metrics = list(dict.fromkeys(metric for _, found in columns for metric in found.numbers if metric not in AXES))
    if not metrics:
        raise InputError('no row of any run has a number besides its step: a row is such as {"step": 0, "loss": 1.5}.')
    numbers = sum(len(values) for _, found in columns for values in found.numbers.values())
    if len(metrics) > MOST_METRICS or numbers > MOST_NUMBERS:
        most = f"{MOST_METRICS} metrics and {MOST_NUMBERS:,} numbers"
        raise InputError(
            f"the runs have {len(metrics)} metrics and {numbers:,} numbers, and a page holds {most}: choose some of them."
        )
    packed = [{key: pack(values) for key, values in found.numbers.items()} for _, found in columns]
    data = {
        "runs": [
            {"name": _short(name), "columns": each, "lost": found.lost}
            for (name, found), each in zip(columns, packed, strict=True)
        ],
        "metrics": metrics,
        "axes": [axis for axis in AXES if any(axis in found.numbers for _, found in columns)] or ["step"],
        "counted": [name for name, found in columns if found.counted],
        "left_out": sorted({column for _, found in columns for column in found.left_out})[:MOST_METRICS],
        "lines": [{"name": _short(name), "value": _finite(name, value)} for name, value in (lines or {}).items()],
    }
    return View("training", title, data)


# ---------------------------------------------------------------- what is a run


def _named(runs: Any, name: str = "run") -> list[tuple[str, list[Row]]]:
    """Every run with its name: of a file its stem, of a folder of files their places in it."""
    if isinstance(runs, str | os.PathLike):
        return _of_path(Path(runs))
    if isinstance(runs, Mapping):
        found = []
        for key, value in runs.items():
            inner = _named(value, str(key))
            found += [(str(key) if len(inner) == 1 else f"{key}/{each}", rows) for each, rows in inner]
        return found
    if is_list(runs):
        rows = list(runs)
        if all(isinstance(row, Mapping) for row in rows):
            return [(name, rows)]  # of none at all it is told that it has no rows
        if all(isinstance(row, str | os.PathLike) for row in rows):
            return _distinct([each for row in rows for each in _of_path(Path(row))])
    raise InputError(
        f"runs is {shown(runs)}, and must be a path, a list of rows or of paths, or a dictionary of names to these."
    )


def _of_path(path: Path) -> list[tuple[str, list[Row]]]:
    """A file, or the .jsonl files of a folder and of the folders in it."""
    if not path.is_dir():
        plain = path.stem in ("metrics", "history", "log")  # then the folder has the name
        return [(path.absolute().parent.name or path.stem if plain else path.stem, read_rows(path))]
    files = sorted(each for pattern in ("*.jsonl", "*/*.jsonl") for each in path.glob(pattern))
    if not files:
        raise FileError(f"{quoted_path(path)} has no file of rows (.jsonl), and neither has a folder in it.")
    if len(files) > MOST_RUNS:
        raise FileError(
            f"{quoted_path(path)} has {len(files)} files of rows, and a page shows {MOST_RUNS} at most: name some of them."
        )
    return _distinct([each for file in files for each in _of_path(file)])


def _distinct(runs: list[tuple[str, list[Row]]]) -> list[tuple[str, list[Row]]]:
    """Runs of one name are told apart by numbers."""
    seen: dict[str, int] = {}
    found = []
    for name, rows in runs:
        seen[name] = seen.get(name, 0) + 1
        found.append((name if seen[name] == 1 else f"{name} ({seen[name]})", rows))
    return found


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, one JSON object a line; NaN and Infinity are what a run that diverged has written.

    The last line may have been cut short by a run that was killed, or that is still writing: then it is left out.
    """
    lines = read_bytes(path, MOST_BYTES, "a file of training rows").split(b"\n")
    if len(lines) > MOST_ROWS + 1:
        raise FileError(
            f"{quoted_path(path)} has {len(lines):,} rows, and a page shows {MOST_ROWS:,} at most: keep every tenth of them."
        )
    rows: list[Row] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = parse_json(line, f"line {number} of {quoted_path(path)}", "a row of training", nan=True)
        except FileError:
            if number == len(lines) and rows:
                break
            raise
        if not isinstance(row, dict):
            raise FileError(
                f'line {number} of {quoted_path(path)} is not a row of training: write an object, such as {{"step": 0}}.'
            )
        rows.append(row)
    if not rows:
        raise FileError(f"{quoted_path(path)} has no row of training.")
    return rows


# ---------------------------------------------------------------- rows as columns


@dataclass(frozen=True, eq=False)
class _Columns:
    """The numbers of a run by name, in the order of its rows; NaN where a row has none."""

    numbers: dict[str, Any]
    left_out: set[str]
    """columns that hold no number"""
    counted: bool
    """whether no row had a step, so that they are counted"""
    lost: dict[str, int]
    """how many numbers of a metric were written and are not finite, where there are any"""


def _columns(rows: Sequence[Row], name: str) -> _Columns:
    if not rows:
        raise InputError(f"the run {shown(name)} has no rows: leave it out.")
    if len(rows) > MOST_ROWS:
        raise InputError(
            f"the run {shown(name)} has {len(rows):,} rows, and a page shows {MOST_ROWS:,} at most: keep every tenth of them."
        )
    keys = dict.fromkeys(key for row in rows for key in row)
    if len(keys) > 4 * MOST_METRICS:
        raise InputError(
            f"the run {shown(name)} has {len(keys)} columns, and a page holds {MOST_METRICS} metrics: choose some of them."
        )
    read = {short: _column(rows, key) for key, short in zip(keys, _shortened(map(str, keys)), strict=True)}
    left_out = {key for key, (values, _) in read.items() if values is None}
    kept: dict[str, Any] = {key: values for key, (values, _) in read.items() if values is not None}
    lost = {key: count for key, (_, count) in read.items() if count}
    axes = {axis: next((kept[word] for word in words if word in kept), None) for axis, words in AXES.items()}
    counted = axes["step"] is None
    if counted:  # rows without a step are counted, and the page says so
        axes["step"] = np.arange(len(rows), dtype=np.float64)
    words = {word for group in AXES.values() for word in group}
    metrics = {key: values for key, values in kept.items() if key not in words}
    return _Columns(
        {axis: values for axis, values in axes.items() if values is not None} | metrics, left_out, counted, lost
    )


def _column(rows: Sequence[Row], key: str) -> tuple[Any, int]:
    """The values of one key as float64, NaN where a row has none, or None if no row has; and how many are not finite."""
    values, numbers = np.full(len(rows), np.nan), 0
    for index, row in enumerate(rows):
        value = row.get(key)
        if isinstance(value, Real) and not isinstance(value, bool):
            numbers += 1
            try:
                values[index] = float(value)
            except OverflowError:  # a whole number beyond all floats
                values[index] = np.inf
    return (values if numbers else None), numbers - int(np.isfinite(values).sum())


def _finite(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise InputError(f"the line {shown(name)} is at {shown(value)}, and must be at a finite number.")
    return float(value)


def _shortened(names: Iterable[str]) -> list[str]:
    """Names as a page shows them; those that are alike when they are cut are told apart by numbers."""
    taken: dict[str, int] = {}
    found = []
    for short in map(_short, names):
        taken[short] = taken.get(short, 0) + 1
        found.append(short if taken[short] == 1 else f"{short} ({taken[short]})")
    return found


def _short(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…"
