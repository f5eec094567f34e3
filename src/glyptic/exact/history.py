"""What was done to a transformer: one frame for each construction, kept with it and in its files.

A frame says which coordinates a construction reads, writes, preserves and clobbers at which positions, what it
costs and which facts about the format it rests on. `glyptic.carve` makes frames and `T.frame()` prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from glyptic.arguments import shown
from glyptic.errors import FileError
from glyptic.showing import Showing
from glyptic.text import whole_number

Action = Literal["reads", "writes", "preserves", "clobbers"]
_MOST_LAYERS = 10**6


@dataclass(frozen=True)
class Touch:
    """Some coordinates, at `positions` ("all", "3", "1 4", "all but 3"), are read, written, preserved or clobbered."""

    action: Action
    coordinates: tuple[str, ...]
    positions: str = "all"
    value: str = ""  # what is written, as a formula

    def covers(self, position: int) -> bool:
        """Whether a position is meant.

        >>> [Touch("writes", ("x",), "all but 1 2").covers(i) for i in range(4)]
        [True, False, False, True]
        """
        listed = {whole_number(word) for word in self.positions.split()}
        return position not in listed if self.positions.startswith("all") else position in listed


@dataclass(frozen=True)
class Frame(Showing):
    """One construction: where its layers are, what they touch, cost and need."""

    construction: str
    first_layer: int
    layers: int
    heads: int
    hidden: int
    new_coordinates: tuple[str, ...]
    touches: tuple[Touch, ...]
    facts: tuple[str, ...] = ()
    scattered: tuple[int, ...] = ()  # the numbers of its layers, where these are not one after another

    @property
    def places(self) -> tuple[int, ...]:
        """The numbers of its layers.

        >>> Frame("add.vector", 2, 2, 0, 2, (), ()).places
        (2, 3)
        """
        return self.scattered or tuple(range(self.first_layer, self.first_layer + self.layers))


def moved(history: tuple[Frame, ...], new_places: Callable[[int], tuple[int, ...]]) -> tuple[Frame, ...]:
    """The history where layers have other numbers: each old one its new ones, several if it is repeated, none if it is
    gone. A construction of which no layer is left is left out.

    >>> twice = moved((Frame("zero.at", 1, 1, 0, 2, (), ()),), lambda layer: (layer + 3, layer + 5))
    >>> twice[0].first_layer, twice[0].places
    (4, (4, 6))
    """
    frames = []
    for frame in history:
        places = tuple(sorted(new for old in frame.places for new in new_places(old)))
        if frame.places and places:
            whole = places == tuple(range(places[0], places[0] + frame.layers))
            frame = replace(frame, first_layer=places[0], scattered=() if whole else places)
        if places or not frame.places:
            frames.append(frame)
    return tuple(frames)


def texts(frame: Frame) -> Iterator[str]:
    """Every text in a frame, all of which are printed."""
    yield from (frame.construction, *frame.new_coordinates, *frame.facts)
    for touch in frame.touches:
        yield from (touch.action, *touch.coordinates, touch.positions, touch.value)


def renamed(frame: Frame, name: Callable[[str], str]) -> Frame:
    """The frame with every coordinate under another name.

    >>> renamed(Frame("zero.at", 1, 1, 0, 2, ("is_3",), (Touch("writes", ("x",), "3", "0"),)), str.upper).touches[0].coordinates
    ('X',)
    """
    touches = tuple(replace(touch, coordinates=tuple(map(name, touch.coordinates))) for touch in frame.touches)
    return replace(frame, new_coordinates=tuple(map(name, frame.new_coordinates)), touches=touches)


def frames_as_json(history: tuple[Frame, ...]) -> list[dict[str, Any]]:
    """For config.json."""
    return [asdict(frame) for frame in history]


def frames_from_json(given: Any) -> tuple[Frame, ...]:
    """The inverse, checking every field."""
    return tuple(_frame(item, f"history.{i}") for i, item in enumerate(_list(given, "history")))


def _frame(given: Any, place: str) -> Frame:
    if isinstance(given, dict):
        given = {"scattered": [], **given}  # older files do not have it
    of = _record(given, Frame, place)
    for name in ("first_layer", "layers", "heads", "hidden"):
        if not isinstance(of[name], int) or isinstance(of[name], bool) or of[name] < 0:
            raise FileError(f"config.json: {place}.{name} must be a count, and it is {shown(of[name])}.")
    if of["first_layer"] + of["layers"] > _MOST_LAYERS:
        raise FileError(f"config.json: {place} speaks of more than {_MOST_LAYERS} layers; no transformer has so many.")
    listed = _list(of["touches"], f"{place}.touches")
    touches = tuple(_touch(item, f"{place}.touches.{i}") for i, item in enumerate(listed))
    names, facts = (_strings(of[name], f"{place}.{name}") for name in ("new_coordinates", "facts"))
    numbers = _list(of["scattered"], f"{place}.scattered")
    if not all(isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in numbers):
        raise FileError(f"config.json: {place}.scattered must be a list of counts, and it is {numbers!r}.")
    parts = {"new_coordinates": names, "touches": touches, "facts": facts, "scattered": tuple(numbers)}
    return Frame(**{**of, **parts})


def _touch(given: Any, place: str) -> Touch:
    of = _record(given, Touch, place)
    if of["action"] not in get_args(Action):
        known = ", ".join(get_args(Action))
        raise FileError(f"config.json: {place}.action must be one of {known}; it is {shown(of['action'])}.")
    return Touch(**{**of, "coordinates": _strings(of["coordinates"], f"{place}.coordinates")})


def _record(given: Any, kind: type, place: str) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    if not isinstance(given, dict) or set(given) != names:
        raise FileError(f"config.json: {place} must have exactly {', '.join(sorted(names))}; it is {shown(given)}.")
    texts = {field.name for field in fields(kind) if field.type == "str"}
    for name in texts:
        if not isinstance(given[name], str):
            raise FileError(f"config.json: {place}.{name} must be a text, and it is {shown(given[name])}.")
    return dict(given)


def _list(given: Any, place: str) -> list[Any]:
    if not isinstance(given, list):
        raise FileError(f"config.json: {place} must be a list, and it is {shown(given)}.")
    return given


def _strings(given: Any, place: str) -> tuple[str, ...]:
    if not all(isinstance(item, str) for item in _list(given, place)):
        raise FileError(f"config.json: {place} must be a list of texts, and it is {shown(given)}.")
    return tuple(given)
