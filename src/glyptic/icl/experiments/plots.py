"""What the pictures of the experiments share: the name of the risk, ticks that can be read, quiet legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

RISK = r"risk  $E(\hat y - \langle w, x_q\rangle)^2$"


def finish(axes: Any, title: str = "", legend: str | None = "best", columns: int = 1) -> None:
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
    from math import ceil, floor, log10

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
