"""Frames: what each construction reads, writes, preserves and clobbers, what it costs, which facts it rests on.

The record itself is `glyptic.exact.history.Frame`, kept in `T.history` and in files; here it is made and printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from glyptic.carve.facts import Fact
from glyptic.exact import Layer, Transformer
from glyptic.exact.history import Action, Frame, Touch
from glyptic.numbers import AnyFormat
from glyptic.text import runs, table


def reads(coordinates: Iterable[str], positions: Sequence[int] | None = None) -> Touch:
    return _touch("reads", coordinates, positions, "")


def writes(coordinates: Iterable[str], value: str, positions: Sequence[int] | None = None) -> Touch:
    return _touch("writes", coordinates, positions, value)


def clobbers(coordinates: Iterable[str], value: str, positions: Sequence[int] | None = None) -> Touch:
    return _touch("clobbers", coordinates, positions, value)


def _touch(action: Action, coordinates: Iterable[str], positions: Sequence[int] | None, value: str) -> Touch:
    return Touch(action, tuple(coordinates), "all" if positions is None else " ".join(map(str, positions)), value)


def carved(
    before: Transformer,
    after: Transformer,
    construction: str,
    touches: Sequence[Touch],
    facts: Sequence[Fact] = (),
    place: int | None = None,
) -> Transformer:
    """The result of a construction, with its frame in the history, which `append` has moved if layers came between."""
    frame = frame_of(before, after.coordinates, after.layers, construction, touches, facts, place)
    return after.replace(history=(*after.history, frame))


def frame_of(
    before: Transformer,
    coordinates: Sequence[str],
    layers: Sequence[Layer],
    construction: str,
    touches: Sequence[Touch],
    facts: Sequence[Fact] = (),
    place: int | None = None,
) -> Frame:
    """The frame of a construction with these coordinates and layers; cost is counted, and what is not touched
    preserved. A fact that fails in the format, where the construction was forced, is told as what it is.
    """
    changed = [touch for touch in touches if touch.action in ("writes", "clobbers")]
    everywhere = {name for touch in changed if touch.positions == "all" for name in touch.coordinates}
    kept = [name for name in before.coordinates if name in coordinates and name not in everywhere]
    return Frame(
        construction,
        len(before.layers) if place is None else place,
        max(0, len(layers) - len(before.layers)),  # a loop of no rounds takes layers away, and costs nothing
        max(0, count_heads(layers) - count_heads(before.layers)),
        max(0, count_hidden(layers) - count_hidden(before.layers)),
        tuple(name for name in coordinates if name not in before.coordinates),
        (*touches, *_preserved(kept, changed)),
        tuple(stated(fact, before.format) for fact in facts),
    )


def stated(fact: Fact, format: AnyFormat) -> str:
    """What a construction rests on, and whether it does."""
    broken = fact.broken(format)
    return fact.statement if broken is None else f"{fact.statement}, which is false in {format} (forced): {broken.happens}"


def _preserved(kept: list[str], changed: list[Touch]) -> list[Touch]:
    """For each set of positions at which some kept coordinates change, these are preserved elsewhere; the rest, everywhere."""
    spots: dict[str, list[str]] = {}
    for name in kept:
        listed = sorted({int(p) for touch in changed if name in touch.coordinates for p in touch.positions.split()})
        spots.setdefault("all but " + " ".join(map(str, listed)) if listed else "all", []).append(name)
    return [Touch("preserves", tuple(names), positions) for positions, names in spots.items()]


def count_heads(layers: Iterable[Layer]) -> int:
    return sum(len(layer.heads) for layer in layers)


def count_hidden(layers: Iterable[Layer]) -> int:
    return sum(len(layer.feed_forward.w1) for layer in layers if layer.feed_forward is not None)


def report(transformer: Transformer) -> str:
    """Every construction in the history as a block: its place and cost, what it touches, what it needs; then the totals."""
    blocks = [_block(number, frame) for number, frame in enumerate(transformer.history, 1)]
    layers = transformer.layers
    totals = (
        f"{transformer.name or 'unnamed transformer'}, {transformer.format}: {len(layers)} layers, "
        f"{count_heads(layers)} heads, {count_hidden(layers)} hidden units, {transformer.width} coordinates"
    )
    return "\n\n".join([*(blocks or ["no construction in its history"]), totals])


def _block(number: int, frame: Frame) -> str:
    place = _numbers(frame.places)
    counts = {"layer": frame.layers, "head": frame.heads, "hidden unit": frame.hidden}
    counts["coordinate"] = len(frame.new_coordinates)
    cost = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
    rows = [(t.action, _names(t.coordinates), t.positions, t.value) for t in frame.touches if t.coordinates]
    lines = [f"{number}. {frame.construction}: {place}; costs {cost}"]
    if frame.new_coordinates:
        lines.append(f"   adds {_names(frame.new_coordinates)}")
    if rows:
        lines += ["   " + line for line in table(["", "coordinates", "positions", "value"], rows, "llll").splitlines()]
    return "\n".join([*lines, *(f"   needs {fact}" for fact in frame.facts)])


def _numbers(places: tuple[int, ...]) -> str:
    """Layers by their numbers: "layer 2", "layers 1–3, 6"."""
    return f"layer{'' if len(places) == 1 else 's'} {runs(places)}" if places else "no layer"


def _names(names: tuple[str, ...], most: int = 6) -> str:
    return " ".join(names) if len(names) <= most else f"{' '.join(names[: most - 2])} … {names[-1]} ({len(names)})"


__all__ = ["carved", "clobbers", "frame_of", "reads", "report", "stated", "writes"]
