"""What the pictures of the experiments share: the name of the risk, ticks that can be read, quiet legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

RISK = r"risk  $E(\hat y - \langle w, x_q\rangle)^2$"


def finish(axes: Any, title: str = "", legend: bool = True, **legend_settings: Any) -> None:
    """A title at the left and a legend without a frame."""
    if title:
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
    if legend:
        axes.legend(**{"frameon": False, "fontsize": 9, **legend_settings})


def plain_ticks(axis: Any, ticks: Sequence[float]) -> None:
    """These ticks and no others, as plain numbers: 0.5 instead of 5 × 10⁻¹."""
    axis.set_ticks(list(ticks), labels=[f"{tick:g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def nice_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten within a range, or only the powers if these are too many.

    >>> nice_ticks(0.3, 4)
    [0.5, 1.0, 2.0]
    """
    from math import ceil, floor, log10

    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    factors = (1, 2, 5) if high / low < 300 else (1,)
    ticks = [float(f"{factor}e{power}") for power in powers for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]


def log_axis(axes: Any, which: str, ticks: Sequence[float] | None = None) -> None:
    """Make the x or y axis logarithmic, with plain numbers on it; call it when everything is drawn."""
    getattr(axes, f"set_{which}scale")("log")
    low, high = getattr(axes, f"get_{which}lim")()
    plain_ticks(getattr(axes, f"{which}axis"), nice_ticks(low, high) if ticks is None else ticks)
