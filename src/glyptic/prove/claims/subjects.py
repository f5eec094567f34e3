"""What a claim ranges over: values of a format (`Values`), layers fed with free values (`Layers`), or inputs (`Inputs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from glyptic.arguments import Count, checked
from glyptic.exact import Transformer
from glyptic.exact.parts import parts
from glyptic.numbers import AnyFormat, parse_format
from glyptic.prove.claims.expressions import ClaimError, entry_name, name_of_value

MOST_LENGTHS = 1_000_000  # of a claim: each has its number of steps, and states at least one

Place = tuple[str, int]  # a coordinate at a position
Entry = tuple[str, tuple[int, ...]]  # a place in a weight array: the part's name, as `exact.parts.parts` says it


@dataclass(frozen=True)
class Values:
    """Variables that range over the whole format; the format is given to `check`, or here."""

    names: tuple[str, ...]
    format: AnyFormat | None = None

    def __init__(self, names: str | Iterable[str], format: AnyFormat | str | None = None) -> None:
        object.__setattr__(self, "names", tuple(names.split() if isinstance(names, str) else names))
        object.__setattr__(self, "format", parse_format(format) if isinstance(format, str) else format)

    def __str__(self) -> str:
        return ", ".join(map(name_of_value, self.names)) + (f" in {self.format}" if self.format else "")


@dataclass(frozen=True)
class Layers:
    """Some layers of one or two transformers, fed with a residual whose `free` places range over the whole format.

    The other places hold `fixed`, or, for coordinates in `from_positions`, what the position embedding writes there;
    else 0. In claims `before` and `after` are the residual around the layers; `logit` and `answer` are read off the
    last column. A second transformer (`of="b"`) gets the same residual, coordinate by name.

    Entries of weight arrays in `free_weights` range over the whole format too: "for all M". Each is one value, the same in every
    transformer that has a part of that name and shape (that of the first that has it); a `Parameter` reads it.
    """

    transformers: Mapping[str, Transformer]
    first: int = 0
    last: int | None = None  # the layers first … last − 1; None: to the end
    positions: int = 1
    free: tuple[Place, ...] = ()
    fixed: Mapping[Place, Any] = field(default_factory=dict)
    from_positions: tuple[str, ...] = ()
    free_weights: tuple[Entry, ...] = ()

    def __str__(self) -> str:
        places = [f"{name}@{position}" for name, position in self.free]
        free = ", ".join([*places, *(entry_name(*entry) for entry in self.free_weights)])
        held = [f"{name}@{position} = {_shown(number)}" for (name, position), number in self.fixed.items()]
        held += [f"{name} from the position embedding" for name in self.from_positions]
        stands = f" with {', '.join(held)}" if held else ""
        many = f" at {self.positions} positions" if self.positions > 1 else ""
        return f"values of {free} in {self.format}, entering {self._layers_named()}{many}{stands}"

    def _layers_named(self) -> str:
        """Which layers of which transformers are run; to the end they may be more in one than in the other."""
        named: dict[str, list[str]] = {}
        for key, transformer in self.transformers.items():
            layers = self.layers_of(transformer)
            where = f"layers {layers.start} to {layers.stop - 1}" if layers else "the output"
            named.setdefault(where, []).append(transformer.name or key or "T")
        return " and ".join(f"{where} of {' and '.join(names)}" for where, names in named.items())

    @property
    def format(self) -> AnyFormat:
        return next(iter(self.transformers.values())).format

    def layers_of(self, transformer: Transformer) -> range:
        """The numbers of the layers that are run."""
        return range(self.first, len(transformer.layers) if self.last is None else self.last)

    def entries_of(self, name: str) -> tuple[tuple[int, Entry], ...]:
        """The free entries that a transformer has, each with its number among `free_weights`."""
        shapes = {part: codes.shape for part, codes, _ in parts(self.transformers[name])}
        wanted = {part: _first_shape(self.transformers.values(), part) for part, _ in self.free_weights}
        numbered = enumerate(self.free_weights)
        return tuple((k, (part, index)) for k, (part, index) in numbered if shapes.get(part) == wanted[part])


def _first_shape(transformers: Iterable[Transformer], part: str) -> tuple[int, ...] | None:
    """The shape of a part in the first transformer that has it."""
    shapes = (codes.shape for t in transformers for name, codes, _ in parts(t) if name == part)
    return next(shapes, None)


def _shown(number: Any) -> str:
    return (number if isinstance(number, str) else str(Fraction(number))).replace("-", "−")


@checked
def layers(
    transformer: Transformer,
    other: Transformer | None = None,
    *,
    free: Iterable[str | Place] | None = None,
    positions: Annotated[int, Count(1, 10_000)] = 1,
    fixed: Mapping[Place, Any] = MappingProxyType({}),
    from_positions: Iterable[str] = (),
    weights: Iterable[str | Entry] = (),
    first: int = 0,
    last: int | None = None,
) -> Layers:
    """Layers fed with values; `free` names coordinates (at every position) or places; None: every coordinate not set otherwise.

    `weights` names weight arrays whose entries are free, all of them or one: "output", ("output", (0, 1)).
    """
    named = {"": transformer} if other is None else {"a": transformer, "b": other}
    from_positions = tuple(from_positions)
    held = {*from_positions, *(name for name, _ in fixed)}
    wanted = [name for name in transformer.coordinates if name not in held] if free is None else list(free)
    places: list[Place] = []
    for item in wanted:
        places += [(item, i) for i in range(positions)] if isinstance(item, str) else [item]
    entries: list[Entry] = []
    for array in weights:
        if isinstance(array, str):
            shape = _first_shape(named.values(), array)
            entries += [(array, ())] if shape is None else [(array, index) for index in np.ndindex(shape)]
        else:
            entries.append((array[0], tuple(array[1])))
    return Layers(named, first, last, positions, tuple(places), dict(fixed), from_positions, tuple(entries))


@dataclass(frozen=True)
class Inputs:
    """Every input from min_length to max_length; steps[n − 1] is how many steps of chain of thought length n takes.

    Of every length where max_length is ∞ (`math.inf`); then the one entry of `steps` is for all.
    """

    transformers: Mapping[str, Transformer]
    max_length: float
    min_length: int = 1
    steps: tuple[int, ...] = ()

    def __str__(self) -> str:
        names = " and ".join(t.name or key or "T" for key, t in self.transformers.items())
        start = f"{self.min_length} to " if self.min_length < self.max_length else ""
        if self.endless:
            start = "" if self.min_length == 1 else f"{self.min_length} and more"
        steps = f", {' '.join(map(str, self.steps))} steps" if any(step != 1 for step in self.steps) else ""
        longest = ("" if start else "every length") if self.endless else self.max_length
        return f"inputs of {'length ' if longest != 'every length' else ''}{start}{longest} of {names} in {self.format}{steps}"

    @property
    def endless(self) -> bool:
        """Whether there is no longest input."""
        return self.max_length == inf

    @property
    def lengths(self) -> range:
        """The lengths, where there are finitely many."""
        return range(self.min_length, int(self.max_length) + 1)

    @property
    def steps_taken(self) -> tuple[int, ...]:
        """The steps of the lengths that there are; where there is no longest, the one number for all."""
        return self.steps if self.endless else self.steps[self.min_length - 1 :]

    @property
    def format(self) -> AnyFormat:
        return next(iter(self.transformers.values())).format

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return next(iter(self.transformers.values())).vocabulary

    @property
    def count(self) -> float:
        """How many inputs there are, which may be ∞."""
        if self.endless:
            return inf
        tokens, first, end = len(self.vocabulary), self.min_length, int(self.max_length) + 1
        return end - first if tokens == 1 else (tokens**end - tokens**first) // (tokens - 1)


@checked
def inputs(
    transformer: Transformer,
    other: Transformer | None = None,
    *,
    max_length: Annotated[int, Count()] | None = None,
    min_length: Annotated[int, Count()] = 1,
    steps: Annotated[int, Count()] | Callable[[int], int] = 1,
) -> Inputs:
    """All inputs of one transformer, or of two, called a and b, up to a length, or as long as they read; steps may depend on it.

    >>> from glyptic import programs
    >>> print(inputs(programs.open("occurs")))
    inputs of every length of occurs in fixed:8
    """
    named = {"": transformer} if other is None else {"a": transformer, "b": other}
    longest = min(each.max_length for each in named.values()) if max_length is None else max_length
    if longest == inf:
        if callable(steps):
            raise ClaimError("steps depend on the length, and there is no longest; say a number of steps, or max_length.")
        return Inputs(named, inf, min_length, (steps,))
    max_length = int(longest)
    for each in named.values():
        if max_length > each.max_length:  # before a table is made that is as long
            has = f"{each.name or 'the transformer'} has {each.max_length} positions"
            raise ClaimError(f"{has}; inputs of length {max_length} need {max_length}.")
    if max_length > MOST_LENGTHS:
        endless = all(each.max_length == inf for each in named.values())
        remedy = "leave max_length out, for every length" if endless else "take a smaller one"
        raise ClaimError(f"max_length is {max_length:,}, and claims go up to {MOST_LENGTHS:,}; {remedy}.")
    table = tuple(steps(n) if callable(steps) else steps for n in range(1, max_length + 1))
    return Inputs(named, max_length, min_length, table)


Subject = Values | Layers | Inputs


# What cannot be ranged over is refused, in one sentence ---------------------------------------------------------------


def check_subject(subject: Subject) -> None:
    """Refuse a subject that cannot be run: names, positions, layers or steps that do not exist."""
    if isinstance(subject, Values):
        if not subject.names:
            raise ClaimError("a claim on values needs at least one variable: Values('x').")
        if len(set(subject.names)) < len(subject.names):
            raise ClaimError(f"a variable is named twice in {', '.join(subject.names)}.")
        return
    if not subject.transformers:
        raise ClaimError("there is no transformer in the claim; name one.")
    transformers = list(subject.transformers.values())
    if len({str(t.format) for t in transformers}) > 1:
        shown = " and ".join(str(t.format) for t in transformers)
        raise ClaimError(f"the transformers are in different formats, {shown}; bring them into one with in_format.")
    if isinstance(subject, Inputs):
        _check_lengths(subject, transformers)
        for transformer in transformers:
            _check_steps(subject, transformer)
    else:
        _check_places(subject, transformers)
        for transformer in transformers:
            _check_layers(subject, transformer)
        for part, index in subject.free_weights:
            _check_entry(subject, part, index)


def _check_lengths(subject: Inputs, transformers: list[Transformer]) -> None:
    if len({t.vocabulary for t in transformers}) > 1:
        shown = " and ".join(" ".join(t.vocabulary) for t in transformers)
        raise ClaimError(f"the transformers read different vocabularies, {shown}.")
    if not 1 <= subject.min_length <= subject.max_length:
        raise ClaimError(f"lengths go from {subject.min_length} to {subject.max_length}; from 1 up, please.")
    if len(subject.steps) != (1 if subject.endless else subject.max_length) or min(subject.steps) < 1:
        raise ClaimError(f"steps {' '.join(map(str, subject.steps))}: each length takes at least one.")


def _check_steps(subject: Inputs, transformer: Transformer) -> None:
    who = transformer.name or "the transformer"
    lengths = range(1, 2) if subject.endless else subject.lengths
    need = inf if subject.endless else max(n + subject.steps[n - 1] - 1 for n in lengths)
    if need > transformer.max_length:
        raise ClaimError(f"{who} has {transformer.max_length} positions; these inputs and steps need {need}.")
    unread = [answer for answer in transformer.answers if answer not in transformer.vocabulary]
    if unread and any(subject.steps[n - 1] > 1 for n in lengths):
        raise ClaimError(f"several steps read answers as tokens, and {who} does not read its answer {unread[0]!r}.")


def _check_places(subject: Layers, transformers: list[Transformer]) -> None:
    known = {name for t in transformers for name in t.coordinates}
    places = [*subject.free, *subject.fixed, *((name, 0) for name in subject.from_positions)]
    for name, position in places:
        if name not in known:
            raise ClaimError(f"no coordinate {name!r}; there are {', '.join(transformers[0].coordinates)}.")
        if not 0 <= position < subject.positions:
            raise ClaimError(f"{name}@{position}: the layers are fed with positions 0 to {subject.positions - 1}.")
    if len(set(subject.free)) < len(subject.free) or set(subject.free) & set(subject.fixed):
        raise ClaimError("a place is named twice among the free and the fixed ones.")
    if len(set(subject.free_weights)) < len(subject.free_weights):
        raise ClaimError("an entry is named twice among the free weights.")
    if not subject.free and not subject.free_weights:
        raise ClaimError("nothing is free in the layers: name coordinates in `free`.")


def _check_layers(subject: Layers, transformer: Transformer) -> None:
    count, who = len(transformer.layers), transformer.name or "the transformer"
    last = count if subject.last is None else subject.last
    if not 0 <= subject.first <= last <= count:
        raise ClaimError(f"layers {subject.first} to {last - 1} are asked for; {who} has {count}, from 0.")
    if subject.from_positions and subject.positions > transformer.max_length:
        has = f"{who} has {transformer.max_length} positions"
        raise ClaimError(f"{has}, so the {subject.positions} that are asked for cannot take coordinates from them.")


def _check_entry(subject: Layers, part: str, index: tuple[int, ...]) -> None:
    """A free weight must exist, be among what is run, and be allowed to be any number."""
    shape = _first_shape(subject.transformers.values(), part)
    if shape is None:
        known = ", ".join(dict.fromkeys(name for t in subject.transformers.values() for name, _, _ in parts(t)))
        raise ClaimError(f"no weights {part!r}; there are {known}.")
    check_index(part, index, shape)
    if part.endswith(".epsilon"):
        raise ClaimError(f"{part} is never negative, so it cannot be free; free a gain or a bias.")
    runs = ["output"]
    for transformer in subject.transformers.values():
        layers = subject.layers_of(transformer)
        runs += [f"layers.{l}." for l in layers]
        runs += ["final_norm."] * (layers.stop == len(transformer.layers))
    if not part.startswith(tuple(runs)):
        raise ClaimError(f"{part} is not run in these layers, so nothing depends on it; free what they have.")


def check_index(part: str, index: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """An entry must lie within its array; indices count from 0."""
    if len(index) != len(shape) or not all(type(k) is int and 0 <= k < n for k, n in zip(index, shape, strict=True)):
        raise ClaimError(f"no entry {entry_name(part, index)}; the array has the shape {shape}, counted from 0.")
