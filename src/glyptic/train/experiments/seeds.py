"""What came of the same trainings with several seeds: drawn as their mean within their range, and said alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from glyptic.train.experiments.study import Row


def values(rows: Sequence[Row], name: str, **labels: Any) -> list[float]:
    """A number of the rows with these labels, one for each seed.

    >>> values([{"seed": 0, "rate": 1, "loss": 2.0}, {"seed": 1, "rate": 1, "loss": 3.0}], "loss", rate=1)
    [2.0, 3.0]
    """
    return [row[name] for row in rows if all(row[label] == value for label, value in labels.items())]


def mean(numbers: Sequence[float]) -> float:
    """
    >>> mean([1.0, 2.0])
    1.5
    """
    return sum(numbers) / len(numbers)


def band(axes: Any, places: Sequence[float], found: Sequence[Sequence[float]], colour: str, label: str, style: str = "-") -> None:
    """The means of what was found at each place, as a line, within the range from the least to the greatest."""
    axes.plot(places, [mean(each) for each in found], style, marker="o", ms=4, color=colour, label=label)
    axes.fill_between(places, [min(each) for each in found], [max(each) for each in found], color=colour, alpha=0.15, lw=0)


def shares(numbers: Sequence[float]) -> str:
    """Shares of 1 in words.

    >>> shares([0.5]), shares([0.25, 0.5, 0.75])
    ('50.0 %', '50.0 % (25.0 to 75.0)')
    """
    said = f"{100 * mean(numbers):.1f} %"
    return said if len(numbers) < 2 else f"{said} ({100 * min(numbers):.1f} to {100 * max(numbers):.1f})"
