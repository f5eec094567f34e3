"""Frames as a table: a heading for each construction with its layers and cost, then what it reads, writes and needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from glyptic.exact.history import Frame, Touch
from glyptic.look.latex import escaping
from glyptic.look.latex.tables import Fragment, TexCell, TexRow, TexTable
from glyptic.text import runs


def frame_latex(frame: Frame, about: Fragment) -> str:
    """One construction."""
    return _table([frame], about).latex(about.word("one frame", name=escaping.name(frame.construction, breaks=True)))


def history_latex(frames: Sequence[Frame], about: Fragment, name: str) -> str:
    """All constructions of a transformer."""
    if not frames:
        return about.word("no history", name=name)
    return _table(frames, about).latex(about.word("frame", name=name))


def frames_latex(frames: Sequence[Frame], about: Fragment) -> str:
    """Several constructions."""
    return history_latex(frames, about, about.word("unnamed"))


def _table(frames: Sequence[Frame], about: Fragment) -> TexTable:
    rows: list[TexRow] = []
    for number, frame in enumerate(frames, 1):
        rows += _rows(number, frame, about, ruled=number > 1)
    header = [TexCell(), *(_word(about, key) for key in ("coordinates", "positions", "value"))]
    valued = any(touch.value for frame in frames for touch in frame.touches)
    if not valued:  # a column of nothing
        header, rows = header[:3], [replace(row, cells=row.cells[:3]) for row in rows]
    return TexTable((TexRow(tuple(header)),), tuple(rows), "llll"[: len(header)], about=about)


def _word(about: Fragment, key: str) -> TexCell:
    said = about.word(key)
    return TexCell(said, escaping.width(said))


def _rows(number: int, frame: Frame, about: Fragment, *, ruled: bool) -> list[TexRow]:
    counts = {"head": frame.heads, "hidden unit": frame.hidden, "coordinate": len(frame.new_coordinates)}
    cost = [about.word(f"{what}{'s' * (count != 1)} cost", count=count) for what, count in counts.items() if count]
    title = f"{number}. {escaping.text(frame.construction)}: {', '.join([_places(frame.places, about), *cost])}"
    rows = [TexRow(across=TexCell(title, escaping.width(title)), strong=True, rule=ruled)]
    if frame.new_coordinates:
        rows.append(TexRow((_word(about, "adds"), TexCell.names(frame.new_coordinates), TexCell(), TexCell())))
    for touch in frame.touches:
        if touch.coordinates:
            where, value = _positions(touch, about), TexCell.prose(touch.value.replace("*", "·").replace("`", "'"))
            rows.append(TexRow((_word(about, touch.action), TexCell.names(touch.coordinates), where, value)))
    for fact in frame.facts:
        rows.append(TexRow(across=TexCell.text(fact), key=_word(about, "needs")))
    return rows


def _positions(touch: Touch, about: Fragment) -> TexCell:
    listed = " ".join(word for word in touch.positions.split() if word.isdigit())
    if touch.positions == "all":
        return _word(about, "all")
    if listed and touch.positions == f"all but {listed}":
        said = about.word("all but", positions=listed)
        return TexCell(said, escaping.width(said), 2.5)
    return TexCell.text(touch.positions)


def _places(places: tuple[int, ...], about: Fragment) -> str:
    """Layers by their numbers: "layer 2", "layers 1–3, 6"."""
    if not places:
        return about.word("no place")
    return about.word("place" if len(places) == 1 else "places", numbers=runs(places, dash="--"))
