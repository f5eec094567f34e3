"""The pictures of this room: least precision against length, and a sweep's answers over its formats."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glyptic.extras import matplotlib
from glyptic.figures import COLOURS, SERIES, drawn, save_as

if TYPE_CHECKING:
    from glyptic.studies.precision import LeastPrecision
    from glyptic.studies.sweeps import Sweep

_COLOURS = {"Proved": COLOURS["good"], "Refuted": COLOURS["bad"], "Vacuous": SERIES[1], "Unknown": COLOURS["muted"]}


def draw_precision(found: LeastPrecision, path: str | os.PathLike[str]) -> list[Path]:
    """s(n) by e on the left; the steps T(n) and the width d(n) on the right. Gives the picture and its data."""
    figure, (left, right) = drawn(matplotlib(), 1, 2, (9, 3.4))
    for e in sorted({need.e for need in found.needs}):
        points = [(need.length, need.s) for need in found.needs if need.e == e and need.s is not None]
        label = "fixed, e = 0" if e == 0 else f"e = {e}"
        if points:  # later lines are thinner, so that equal ones all show
            style: dict[str, Any] = {"drawstyle": "steps-mid", "marker": "o", "linewidth": max(1.5, 5 - 1.5 * e)}
            left.plot(*zip(*points, strict=True), label=label, color=SERIES[e % len(SERIES)], **style)
    first = min(need.e for need in found.needs)
    rows = [need for need in found.needs if need.e == first]
    left.set(xlabel="length n", ylabel="least s(n)", title=f"{found.name}: least precision", ylim=(0, None))
    left.yaxis.get_major_locator().set_params(integer=True)
    left.legend(frameon=False)
    right.plot([r.length for r in rows], [r.steps for r in rows], marker="o", color=COLOURS["theory"], label="steps T(n)")
    right.plot([r.length for r in rows], [r.width for r in rows], marker="s", color=COLOURS["measured"], label="width d(n)")
    right.set(xlabel="length n", title="steps and width", ylim=(0, None))
    right.legend(frameon=False)
    for axes in (left, right):
        axes.xaxis.get_major_locator().set_params(integer=True)
    right.yaxis.get_major_locator().set_params(integer=True)
    return save_as(figure, [asdict(need) for need in found.needs], path)


def draw_sweep(found: Sweep, path: str | os.PathLike[str]) -> list[Path]:
    """A tile a format: floats F(e, s) and fixed point (e = 0) by e and s, others below. Gives the picture and its data."""
    from glyptic.numbers import parse_format

    grid: dict[tuple[int, int], str] = {}
    others: list[tuple[str, str]] = []
    for name, verdict in found.verdicts.items():
        kind, _, numbers = name.partition(":")
        if kind in ("fixed", "float") and "/" not in name:
            pair = [int(n) for n in numbers.split(",")]
            grid[(0, pair[0]) if kind == "fixed" else (pair[0], pair[1])] = type(verdict).__name__
        else:
            others.append((str(parse_format(name)), type(verdict).__name__))
    figure, ax = drawn(matplotlib(), 1, 1, (7, 1.2 + 0.45 * (len({e for e, _ in grid}) + len(others))))
    labels = []
    ax.grid(False)
    for row, e in enumerate(sorted({e for e, _ in grid})):
        labels.append("fixed, e = 0" if e == 0 else f"float, e = {e}")
        for s in [s for (f, s) in grid if f == e]:
            _tile(ax, s, row, grid[e, s])
    for name, answer in others:
        _tile(ax, min((s for _, s in grid), default=1), len(labels), answer)
        labels.append(name)
    columns = sorted({s for _, s in grid}) or [1]
    ax.set(xlim=(columns[0] - 0.6, columns[-1] + 0.6), ylim=(len(labels) - 0.4, -0.6), xlabel="s", title=found.name)
    ax.set_xticks(columns)
    ax.set_yticks(range(len(labels)), labels)
    for answer in dict.fromkeys([*grid.values(), *(a for _, a in others)]):
        ax.scatter([], [], marker="s", color=_COLOURS[answer], label=answer)
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return save_as(figure, found.rows, path)


def _tile(ax: Any, x: float, y: float, answer: str) -> None:
    ax.scatter([x], [y], marker="s", s=260, color=_COLOURS[answer])
    ax.text(
        x, y, {"Proved": "✓", "Refuted": "✗", "Vacuous": "∅"}.get(answer, "?"), ha="center", va="center", color="white"
    )
