"""One style for every figure, whichever room draws it."""

from __future__ import annotations

from typing import Any

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
