"""How this room shows results: one style, a plain table, and files that appear whole or not at all.

A result is always three files with one stem: the figure as SVG and PNG, and its numbers as CSV.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from glyptic.errors import FileError, MissingExtra

# Colours that differ in lightness too, so that they survive grey print and colour blindness (Okabe and Ito).
COLOURS = {"theory": "#0072B2", "measured": "#D55E00", "good": "#009E73", "bad": "#CC3311", "muted": "#7A7A7A"}
SERIES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255", "#666633"]



def distinct(count: int) -> list[str]:
    """So many colours, no two alike: the series, and from nine on equal steps along a colour map.

    >>> len(set(distinct(3))), len(set(distinct(20)))
    (3, 20)
    """
    if count <= len(SERIES):
        return SERIES[:count]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["turbo"](0.05 + 0.9 * index / (count - 1))) for index in range(count)]


_STYLE: Any = {
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "lines.linewidth": 1.8,
    "mathtext.fontset": "cm",
    "svg.fonttype": "path",  # the picture looks the same where the font is missing
    "svg.hashsalt": "glyptic",  # the same data give the same bytes
}

Data = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def new(rows: int = 1, columns: int = 1, size: tuple[float, float] | None = None) -> tuple[Any, Any]:
    """A figure in the house style and its axes (one, or an array as matplotlib's `subplots` gives).

    >>> figure, axes = new(1, 2)
    >>> len(axes)
    2
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("figures need matplotlib, which is not installed: pip install 'glyptic[plot]'.") from None
    with mpl.rc_context(_STYLE):
        # Figure without pyplot: no window, no global list of open figures.
        figure = Figure(figsize=size or (5.6 * columns, 4.2 * rows), layout="constrained")
        return figure, figure.subplots(rows, columns)


def save(figure: Any, data: Data, stem: str | Path) -> list[Path]:
    """Write stem.svg, stem.png and stem.csv, each under a temporary name first; returns their paths.

    `data` is a table: columns by name, all of one length, or a list of rows.
    """
    import matplotlib as mpl

    stem = Path(stem)
    header, rows = _table_of(data)
    _finish(figure)
    try:
        stem.parent.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context(_STYLE):
            return [
                _whole(stem, ".svg", lambda path: figure.savefig(path, format="svg", metadata={"Date": None})),
                _whole(stem, ".png", lambda path: figure.savefig(path, format="png", dpi=160)),
                _whole(stem, ".csv", lambda path: _write_csv(path, header, rows)),
            ]
    except OSError as error:
        raise FileError(f"cannot write {stem}.svg and its companions ({error.strerror}): choose another.") from None


def _finish(figure: Any) -> None:
    """What matplotlib decides when a title or a legend is made, decided here for every figure alike."""
    for axes in figure.axes:
        title = axes.get_title()
        if title:
            axes.set_title("")
            axes.set_title(title, loc="left", fontweight="bold", fontsize=12)
        legend = axes.get_legend()
        if legend is not None:
            legend.set_frame_on(False)
            for text in legend.get_texts():
                text.set_fontsize(9.5)


def table(rows: Sequence[Mapping[str, Any]], digits: int = 4) -> str:
    """Rows as aligned columns: text to the left, numbers to the right.

    >>> print(table([{"part": "bias", "value": 0.25}, {"part": "variance", "value": 12}]))
    part      value
    ────────  ─────
    bias       0.25
    variance     12
    """
    if not rows:
        return "(nothing)"
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[_cell(row.get(name, ""), digits) for name in names] for row in rows]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    right = [all(not isinstance(row.get(name, ""), str) or row.get(name, "") == "" for row in rows) for name in names]

    def line(parts: Sequence[str]) -> str:
        padded = (part.rjust(w) if r else part.ljust(w) for part, w, r in zip(parts, widths, right, strict=True))
        return "  ".join(padded).rstrip()

    return "\n".join([line(names), "  ".join("─" * width for width in widths), *map(line, cells)])


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: ""}[value]
    if isinstance(value, str | int):
        return str(value)
    return f"{float(value):.{digits}g}"


def _table_of(data: Data) -> tuple[list[str], list[list[Any]]]:
    if isinstance(data, Mapping):
        header = list(data)
        lengths = {name: len(data[name]) for name in header}
        if len(set(lengths.values())) > 1:
            raise FileError(f"the columns of the data have different lengths ({lengths}): make them equal.")
        return header, [list(row) for row in zip(*(data[name] for name in header), strict=True)]
    header = list(dict.fromkeys(name for row in data for name in row))
    return header, [[row.get(name, "") for name in header] for row in data]


def _write_csv(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([[value.item() if hasattr(value, "item") else value for value in row] for row in rows])


def _whole(stem: Path, suffix: str, write: Callable[[Path], None]) -> Path:
    """Write next to the target, then rename: an interrupted run leaves the old file or none."""
    path = stem.with_name(stem.name + suffix)
    temporary = stem.with_name(f".{stem.name}.{os.getpid()}{suffix}")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
