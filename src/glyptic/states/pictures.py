"""A machine drawn: states from left to right by the length of their shortest words, coloured by their answers."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from glyptic.errors import InputError
from glyptic.extras import matplotlib
from glyptic.figures import COLOURS, SERIES, drawn, save_as
from glyptic.states.machines import Machine

_MOST_DRAWN = 80
_KNOWN = {"YES": COLOURS["good"], "NO": COLOURS["bad"], "TIE": SERIES[1], "UNDEFINED": COLOURS["muted"], "": "#222222"}


def refuse_to_draw(machine: Machine) -> None:
    """Of more states than can be told apart by eye there is no picture."""
    if len(machine) > _MOST_DRAWN:
        raise InputError(f"{len(machine):,} states are too many to draw, {_MOST_DRAWN} at most; the table has them all.")


def draw_machine(machine: Machine, path: str | os.PathLike[str]) -> list[Path]:
    """A picture, and the moves as data beside it; of more states than can be told apart by eye, a refusal."""
    refuse_to_draw(machine)
    place = _places(machine)
    wide, high = max(x for x, _ in place) + 1, max(abs(y) for _, y in place) * 2 + 1
    figure, axes = drawn(matplotlib(), 1, 1, (min(16, 1.5 + 1.15 * wide), min(12, 1.8 + 0.9 * high)))
    axes.axis("off")
    axes.set_aspect("equal")
    for (start, end), tokens in _edges(machine).items():
        _arrow(axes, place, start, end, " ".join(tokens))
    for state, (x, y) in enumerate(place):
        word = machine.word_of(state)
        colour = _KNOWN.get(word, SERIES[machine.answers.index(word) % len(SERIES)] if word in machine.answers else "#222222")
        axes.plot(x, y, marker="o", markersize=21, markerfacecolor="white", markeredgecolor=colour, markeredgewidth=2.4, zorder=3)
        axes.text(x, y, str(state), ha="center", va="center", fontsize=8, zorder=4)
    for word in dict.fromkeys(machine.word_of(state) for state in range(1, len(machine))):
        axes.plot([], [], marker="o", linestyle="", color=_KNOWN.get(word, SERIES[0]), label=word)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axes.set(xlim=(-0.7, wide - 0.3), ylim=(min(y for _, y in place) - 0.9, max(y for _, y in place) + 0.9))
    axes.set_title(f"{machine.name or 'a transformer'} in {machine.format}: {len(machine)} states")
    texts = [" ".join(machine.word(state)) for state in range(len(machine))]
    data = [
        {"state": state, "text": texts[state], "answer": machine.word_of(state), "token": token, "next": following}
        for state in range(len(machine))
        for token, following in zip(machine.vocabulary, machine.moves[state].tolist(), strict=True)
    ]
    return save_as(figure, data, path)


def _places(machine: Machine) -> list[tuple[float, float]]:
    columns: dict[int, list[int]] = defaultdict(list)
    for state in range(len(machine)):
        columns[len(machine.word(state))].append(state)
    place: dict[int, tuple[float, float]] = {}
    for column, states in columns.items():
        for k, state in enumerate(states):
            place[state] = (column, 1.25 * ((len(states) - 1) / 2 - k))
    return [place[state] for state in range(len(machine))]


def _edges(machine: Machine) -> dict[tuple[int, int], list[str]]:
    edges: dict[tuple[int, int], list[str]] = defaultdict(list)
    for state, row in enumerate(machine.moves.tolist()):
        for token, following in zip(machine.vocabulary, row, strict=True):
            if following >= 0:
                edges[state, following].append(token)
    return edges


def _arrow(axes: Any, place: list[tuple[float, float]], start: int, end: int, label: str) -> None:
    (x0, y0), (x1, y1) = place[start], place[end]
    if start == end:  # a loop above, or below for what is in the lower half
        up = 1 if y0 >= 0 else -1
        style = {"arrowstyle": "-|>", "color": "#555555", "connectionstyle": f"arc3,rad={1.6 * up}", "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (x0 - 0.11, y0 + 0.2 * up), (x0 + 0.11, y0 + 0.2 * up), arrowprops=style)
        axes.text(x0, y0 + 0.52 * up, label, ha="center", va="center", fontsize=8, color="#333333")
        return
    bend = 0.0 if x1 == x0 + 1 and abs(y1 - y0) <= 0.5 else 0.28
    style = {"arrowstyle": "-|>", "color": "#555555", "connectionstyle": f"arc3,rad={bend}", "shrinkA": 13, "shrinkB": 13}
    axes.annotate("", (x1, y1), (x0, y0), arrowprops=style)
    # An arc of radius r bulges by r/2 of its chord, to the right of its direction.
    middle = ((x0 + x1) / 2 + bend / 2 * (y1 - y0), (y0 + y1) / 2 - bend / 2 * (x1 - x0))
    plain = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
    axes.text(*middle, label, ha="center", va="center", fontsize=8, color="#333333", bbox=plain)
