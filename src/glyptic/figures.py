"""Figures, whichever room draws them: one style, and files that appear whole or not at all.

A figure is never without its numbers: they are beside it as CSV, with the same stem. Where there is no matplotlib they are all
that there is, and a hint.
"""

from __future__ import annotations

import csv
import io
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import numpy as np

from glyptic.errors import FileError, MissingExtra
from glyptic.extras import matplotlib
from glyptic.files import MARK, quoted_path, read_bytes, sentences, taken, write_together
from glyptic.text import printable

# Colours for any colour vision (Okabe and Ito); those that grey print makes alike are told apart by their strokes, below.
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


_STROKES: Any = ["-", (0, (7, 2)), (0, (3, 1, 1, 1)), (0, (1.2, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (10, 1))]
_ALIKE = 15.0  # of 100: a difference in lightness that is not seen between thin lines


def lightness(colour: Any) -> float:
    """How light a colour is in grey print, from 0 to 100 (the L* of CIE).

    >>> round(lightness("#000000")), round(lightness("#0072B2")), round(lightness("#ffffff"))
    (0, 46, 100)
    """
    from matplotlib.colors import to_rgb

    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * luminance ** (1 / 3) - 16 if luminance > 0.008856 else 903.3 * luminance


def strokes(panels: Sequence[Sequence[Any]]) -> dict[Any, Any]:
    """A stroke for each colour of the lines in a figure, so that no two in one panel have the same stroke and are alike in grey.

    >>> list(strokes([SERIES[:3], SERIES[3:4]]).values())
    ['-', '-', (0, (7, 2)), '-']
    """
    found: dict[Any, Any] = {}
    for colour in dict.fromkeys(colour for panel in panels for colour in panel):
        beside = {other for panel in panels if colour in panel for other in panel}
        alike = [found[other] for other in beside & {*found} if abs(lightness(other) - lightness(colour)) < _ALIKE]
        found[colour] = next((stroke for stroke in _STROKES if stroke not in alike), "-")
    return found


def _stroke(figure: Any) -> None:
    """Give strokes to plain lines that only their colours tell apart, and to the same in the legends."""
    # A plain key in grey, without a line of its own, says that strokes mean something already.
    panels = [axes for axes in figure.axes if not any(map(_is_key, axes.get_lines()))]
    plain = [[line for line in axes.get_lines() if _is_plain(line)] for axes in panels]
    named = {line.get_color() for panel in plain for line in panel if not line.get_label().startswith("_")}
    named -= {COLOURS["muted"]}
    chosen = strokes([[line.get_color() for line in panel if line.get_color() in named] for panel in plain])
    legends = [legend for legend in (*(axes.get_legend() for axes in panels), *figure.legends) if legend is not None]
    keys = [key for legend in legends for key in legend.get_lines() if _is_plain(key)]
    for line in [*keys, *(line for panel in plain for line in panel)]:
        line.set_linestyle(chosen.get(line.get_color(), "-"))


def _is_key(line: Any) -> bool:
    return _is_plain(line) and line.get_color() == COLOURS["muted"] and not len(line.get_xdata())


def _is_plain(line: Any) -> bool:
    return line.get_linestyle() == "-" and line.get_marker() in ("None", None, "", " ")


def _finish(figure: Any) -> None:
    """What matplotlib decides when a title or a legend is made, decided here for every figure alike."""
    _stroke(figure)
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


def titled(axes: Any, title: str = "", legend: str | None = "best", columns: int = 1) -> None:
    """A title at the left and a legend without a frame, where matplotlib calls it so, or `beside` the axes."""
    if title:
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    if legend is not None:
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if legend == "beside" else {"loc": legend}
        axes.legend(frameon=False, fontsize=9, ncols=columns, **place)


def plain_ticks(axis: Any, ticks: Sequence[float]) -> None:
    """These ticks and no others, as plain numbers: 0.5 instead of 5 × 10⁻¹."""
    axis.set_ticks(list(ticks), labels=[f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def nice_ticks(low: float, high: float) -> list[float]:
    """Round numbers within a range for a logarithmic axis: at least three, at most eight, powers of ten if they suffice.

    >>> nice_ticks(0.3, 4), nice_ticks(1.16, 1.4), nice_ticks(1e-3, 2)
    ([0.5, 1.0, 2.0], [1.2, 1.3, 1.4], [0.001, 0.01, 0.1, 1.0])
    """
    powers = range(floor(log10(low)) - 1, ceil(log10(high)) + 1)
    # The coarsest of these that gives three ticks or more, and never so many that they run into one another.
    tenths, hundredths = (tuple(n / unit for n in range(unit, 10 * unit)) for unit in (10, 100))
    choices: tuple[tuple[float, ...], ...] = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7), tenths, hundredths)
    for factors in choices:
        ticks = [float(f"{factor}e{power}") for power in powers for factor in factors]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) >= 3:
            return inside[:: -(-len(inside) // 8)]
    return [float(f"{low:.4g}"), float(f"{high:.4g}")]


def log_axis(axes: Any, which: str, ticks: Sequence[float] | None = None) -> None:
    """Make the x or y axis logarithmic, with plain numbers on it; call it when everything is drawn."""
    getattr(axes, f"set_{which}scale")("log")
    low, high = getattr(axes, f"get_{which}lim")()
    plain_ticks(getattr(axes, f"{which}axis"), nice_ticks(low, high) if ticks is None else ticks)


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
    svg, png, table = (Path(stem).with_name(f"{Path(stem).name}.{kind}") for kind in ("svg", "png", "csv"))
    return _save(figure, data, [svg, png], table)


def save_as(figure: Any, data: Data, picture: str | os.PathLike[str]) -> list[Path]:
    """Write one picture, of the kind that its name says, and its data beside it as CSV; as `save` does."""
    return _save(figure, data, [Path(picture)], Path(picture).with_suffix(".csv"))


def check_place(picture: str | os.PathLike[str], columns: Sequence[str]) -> None:
    """Whether a picture and a table of these columns can be written, and replace nobody's: told before any work."""
    matplotlib()
    refuse_others({Path(picture): b"", Path(picture).with_suffix(".csv"): _as_csv(columns, [])})


def _save(figure: Any, data: Data, pictures: Sequence[Path], table: Path) -> list[Path]:
    files = _drawn(figure, pictures) | {table: _as_csv(*_table_of(data))}
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


def _drawn(figure: Any, pictures: Sequence[Path]) -> dict[Path, bytes]:
    """The pictures in memory, so that what cannot be drawn leaves no file: none where nothing can be, and a hint."""
    if isinstance(figure, Blank):
        print(f"no figure is drawn: {figure.why}", file=sys.stderr)
        return {}
    with _told_of_glyphs():
        _finish(figure)
        return {path: _bytes(figure, path) for path in pictures}


@contextmanager
def _told_of_glyphs() -> Iterator[None]:
    """Of characters that the font lacks one sentence, in place of a warning for each; other warnings go their way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing = [re.match(r"Glyph (\d+) ", str(warning.message)) for warning in caught]
    lacked = dict.fromkeys(chr(int(match[1])) for match in missing if match)
    if lacked:
        told = printable(" ".join(lacked))
        print(f"the figure's font has no {told}, and boxes stand in their place; the table beside it has them.", file=sys.stderr)
    for warning, match in zip(caught, missing, strict=True):
        if match is None:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno, source=warning.source)


def _bytes(figure: Any, path: Path) -> bytes:
    kind = path.suffix.lstrip(".").lower() or "svg"
    if kind not in _METADATA:
        raise FileError(f"{quoted_path(path)}: figures are written as .svg, .png or .pdf.")
    stream = io.BytesIO()
    with matplotlib().rc_context(STYLE):
        figure.savefig(stream, format=kind, metadata=_METADATA[kind], dpi=160 if kind == "png" else "figure")
    return stream.getvalue()


# Our mark, and no date: the same data give the same bytes.
_METADATA = {
    "svg": {"Date": None, "Creator": MARK},
    "png": {"Software": MARK},
    "pdf": {"CreationDate": None, "Creator": MARK},
}


def _table_of(data: Data) -> tuple[list[str], list[list[Any]]]:
    if isinstance(data, Mapping):
        header = list(data)
        lengths = {name: len(data[name]) for name in header}
        if len(set(lengths.values())) > 1:
            raise FileError(f"the columns of the data have different lengths ({lengths}): make them equal.")
        return header, [list(row) for row in zip(*(data[name] for name in header), strict=True)]
    header = list(dict.fromkeys(name for row in data for name in row))
    return header, [[row.get(name, "") for name in header] for row in data]


def _as_csv(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(header)
    writer.writerows([[value.item() if hasattr(value, "item") else value for value in row] for row in rows])
    return stream.getvalue().encode()
