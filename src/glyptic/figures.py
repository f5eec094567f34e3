"""Figures, whichever room draws them: one style, a plain table, and files that appear whole or not at all.

A result is always three files with one stem: the figure as SVG and PNG, and its numbers as CSV. Without matplotlib it is the CSV
alone, and a hint.
"""

from __future__ import annotations

import csv
import io
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from glyptic.errors import FileError, MissingExtra
from glyptic.extras import matplotlib
from glyptic.files import MARK, quoted_path, read_bytes, sentences, taken, write_together
from glyptic.text import printable

# Colours that differ in lightness too, so that they survive grey print and colour blindness (Okabe and Ito).
COLOURS = {"theory": "#0072B2", "measured": "#D55E00", "good": "#009E73", "bad": "#CC3311", "muted": "#7A7A7A"}
SERIES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255", "#666633"]

STYLE: Any = {
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


def drawn(mpl: Any, rows: int, columns: int, size: tuple[float, float] | None = None) -> tuple[Any, Any]:
    """A figure in the house style and its axes, as matplotlib's `subplots` gives them; `mpl` is matplotlib."""
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        # Figure without pyplot: no window, no global list of open figures.
        figure = Figure(figsize=size or (5.6 * columns, 4.2 * rows), layout="constrained")
        return figure, figure.subplots(rows, columns)


def finish(figure: Any) -> None:
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


def distinct(count: int) -> list[str]:
    """So many colours, no two alike: the series, and from nine on equal steps along a colour map.

    >>> len(set(distinct(3))), len(set(distinct(20)))
    (3, 20)
    """
    if count <= len(SERIES):
        return SERIES[:count]
    try:
        matplotlib()
    except MissingExtra:  # nothing will be drawn in them
        return [f"#{index:06x}" for index in range(count)]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return [to_hex(colormaps["turbo"](0.05 + 0.9 * index / (count - 1))) for index in range(count)]


Data = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def new(rows: int = 1, columns: int = 1, size: tuple[float, float] | None = None) -> tuple[Any, Any]:
    """A figure in the house style and its axes (one, or an array as matplotlib's `subplots` gives).

    >>> figure, axes = new(1, 2)
    >>> len(axes)
    2
    """
    try:
        mpl = matplotlib()
    except MissingExtra as error:
        blank = Blank(str(error))
        return blank, blank if rows == columns == 1 else np.full((rows, columns), blank).squeeze()
    return drawn(mpl, rows, columns, size)


class Blank:
    """A figure, and its axes, where nothing can be drawn: every method does nothing, and gives nothing again.

    >>> blank = Blank("no ink")
    >>> list(blank.plot([1, 2])), blank.get_xlim()
    ([], (1.0, 10.0))
    """

    def __init__(self, why: str) -> None:
        self.why = why

    def __getattr__(self, name: str) -> Blank:
        if name.startswith("__"):  # what Python itself asks for is not there
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Blank:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False

    def get_xlim(self) -> tuple[float, float]:
        return 1.0, 10.0

    get_ylim = get_xlim

    def get_legend_handles_labels(self) -> tuple[list[Any], list[str]]:
        return [], []

    def __getitem__(self, _: Any) -> Blank:
        return self


def note(figure: Any, text: str) -> None:
    """A small note below the figure, in lines that are no longer than the figure is wide."""
    width = int(13 * figure.get_figwidth()) if not isinstance(figure, Blank) else 100  # 13 letters of this size take an inch
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, width)]
    figure.supxlabel("\n".join(lines), fontsize=8, color=COLOURS["muted"])


def save(figure: Any, data: Data, stem: str | Path) -> list[Path]:
    """Write stem.svg, stem.png and stem.csv, none before all are drawn; returns their paths. Files of others are refused.

    `data` is a table: columns by name, all of one length, or a list of rows.
    """
    stem = Path(stem)
    header, rows = _table_of(data)
    whole = {**_pictures(figure), ".csv": _as_csv(header, rows)}
    files = {stem.with_name(stem.name + ending): content for ending, content in whole.items()}
    refuse_others(files)
    write_together(files, "the figure", parents=True)
    return [*files]


def refuse_others(files: Mapping[Path, bytes]) -> None:
    """Refuse to write over a picture that Glyptic has not drawn, or a table not beside one, nor of the same columns."""
    pictures = [path for path in files if path.suffix != ".csv"]
    with sentences(next(iter(files)), "the figure"):
        drawn = any(path.exists() for path in pictures) and not any(map(taken, pictures))
    for path, data in files.items():
        if taken(path) and not (path.suffix == ".csv" and (drawn or data.startswith(read_bytes(path).partition(b"\n")[0]))):
            raise FileError(f"{quoted_path(path)} is there, and was not written by Glyptic: remove it, or choose another name.")


def _pictures(figure: Any) -> dict[str, bytes]:
    """The figure's files by their endings: none where nothing can be drawn, and a hint."""
    if isinstance(figure, Blank):
        print(f"no figure is drawn: {figure.why}", file=sys.stderr)
        return {}
    finish(figure)
    with matplotlib().rc_context(STYLE):
        svg = _drawn(figure, "svg", metadata={"Date": None, "Creator": MARK})
        return {".svg": svg, ".png": _drawn(figure, "png", dpi=160, metadata={"Software": MARK})}


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
        return printable(str(value))
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


def _as_csv(header: list[str], rows: list[list[Any]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(header)
    writer.writerows([[value.item() if hasattr(value, "item") else value for value in row] for row in rows])
    return stream.getvalue().encode()


def _drawn(figure: Any, kind: str, **how: Any) -> bytes:
    """The picture in memory: what cannot be drawn leaves no file."""
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, **how)
    return stream.getvalue()
