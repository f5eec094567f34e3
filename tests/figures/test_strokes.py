"""Lines that only their colours tell apart are told apart in grey print, too."""

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from glyptic import figures

pytest.importorskip("matplotlib")


def stroke(line: Any) -> Any:
    """The dashes, which matplotlib keeps to itself: for all that are our own, `get_linestyle` says "--"."""
    return line._unscaled_dash_pattern


def test_no_two_plain_lines_of_a_panel_are_alike_in_grey(tmp_path: Path) -> None:
    """Colours that grey print makes alike have strokes of their own, in every panel and in the legend."""
    figure, (left, right) = figures.new(1, 2)
    for place, colour in enumerate([*figures.SERIES, figures.COLOURS["measured"]]):
        left.plot([0, 1], [0, place], color=colour, label=f"series {place}")
        right.plot([0, 1], [place, 0], color=colour)
    left.axhline(1, color=figures.COLOURS["muted"])
    left.legend()
    figures.save_as(figure, {"x": [1]}, tmp_path / "figure.svg")
    for axes in (left, right):
        lines = [line for line in axes.get_lines() if line.get_color() != figures.COLOURS["muted"]]
        for one, other in combinations({line.get_color(): line for line in lines}.values(), 2):
            grey = abs(figures.lightness(one.get_color()) - figures.lightness(other.get_color()))
            assert grey >= 10 or stroke(one) != stroke(other), (one, other)
    keys = {key.get_color(): stroke(key) for key in left.get_legend().get_lines()}
    assert keys == {line.get_color(): stroke(line) for line in left.get_lines()[:-1]}
    assert len({*keys.values()}) > 1


def test_strokes_that_say_something_are_left_alone(tmp_path: Path) -> None:
    figure, axes = figures.new()
    for colour in figures.SERIES:
        axes.plot([0, 1], [0, 1], color=colour, label=colour)
    axes.plot([], [], "-", color=figures.COLOURS["muted"], label="exact")
    axes.legend()
    figures.save_as(figure, {"x": [1]}, tmp_path / "figure.svg")
    assert {stroke(line) for line in axes.get_lines()} == {(0, None)}
