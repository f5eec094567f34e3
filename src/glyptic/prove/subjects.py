"""What a claim ranges over: values of a format (`Values`), layers fed with free values (`Block`), or inputs (`Inputs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat
from glyptic.prove.expressions import ClaimError

Place = tuple[str, int]  # a coordinate at a position


@dataclass(frozen=True)
class Values:
    """Variables that range over the whole format; the format is given to `check`, or here."""

    names: tuple[str, ...]
    format: AnyFormat | None = None

    def __init__(self, names: str | Iterable[str], format: AnyFormat | None = None) -> None:
        object.__setattr__(self, "names", tuple(names.split() if isinstance(names, str) else names))
        object.__setattr__(self, "format", format)

    def __str__(self) -> str:
        return ", ".join(self.names) + (f" in {self.format}" if self.format else "")


@dataclass(frozen=True)
class Block:
    """Some layers of one or two transformers, fed with a residual whose `free` places range over the whole format.

    The other places hold `fixed`, or, for coordinates in `from_positions`, what the position embedding writes there;
    else 0. In claims `before` and `after` are the residual around the layers; `logit` and `answer` are read off the
    last column. A second transformer (`of="b"`) gets the same residual, coordinate by name.
    """

    transformers: Mapping[str, Transformer]
    first: int = 0
    last: int | None = None  # the layers first … last − 1; None: to the end
    positions: int = 1
    free: tuple[Place, ...] = ()
    fixed: Mapping[Place, Any] = field(default_factory=dict)
    from_positions: tuple[str, ...] = ()

    def __str__(self) -> str:
        free = ", ".join(f"{name}@{position}" for name, position in self.free)
        names = " and ".join(t.name or key or "T" for key, t in self.transformers.items())
        last = len(next(iter(self.transformers.values())).layers) if self.last is None else self.last
        where = f"layers {self.first} to {last - 1}" if self.first < last else "the output"
        held = [f"{name}@{position} = {number}".replace("-", "−") for (name, position), number in self.fixed.items()]
        held += [f"{name} from the position embedding" for name in self.from_positions]
        stands = f" with {', '.join(held)}" if held else ""
        many = f" at {self.positions} positions" if self.positions > 1 else ""
        return f"values of {free} in {self.format}, entering {where} of {names}{many}{stands}"

    @property
    def format(self) -> AnyFormat:
        return next(iter(self.transformers.values())).format


def block(
    transformer: Transformer,
    other: Transformer | None = None,
    *,
    free: Iterable[str | Place] | None = None,
    positions: int = 1,
    **rest: Any,
) -> Block:
    """A block; `free` names coordinates (at every position) or places; None: every coordinate that is not set otherwise."""
    named = {"": transformer} if other is None else {"a": transformer, "b": other}
    held = set(rest.get("from_positions", ())) | {name for name, _ in rest.get("fixed", {})}
    wanted = [name for name in transformer.coordinates if name not in held] if free is None else list(free)
    places: list[Place] = []
    for item in wanted:
        places += [(item, i) for i in range(positions)] if isinstance(item, str) else [item]
    return Block(named, positions=positions, free=tuple(places), **rest)


@dataclass(frozen=True)
class Inputs:
    """Every input from min_length to max_length; steps[n − 1] is how many steps of chain of thought length n takes."""

    transformers: Mapping[str, Transformer]
    max_length: int
    min_length: int = 1
    steps: tuple[int, ...] = ()

    def __str__(self) -> str:
        names = " and ".join(t.name or key or "T" for key, t in self.transformers.items())
        start = f"{self.min_length} to " if self.min_length < self.max_length else ""
        steps = f", {' '.join(map(str, self.steps))} steps" if any(step != 1 for step in self.steps) else ""
        return f"inputs of length {start}{self.max_length} of {names} in {self.format}{steps}"

    @property
    def format(self) -> AnyFormat:
        return next(iter(self.transformers.values())).format

    @property
    def vocabulary(self) -> tuple[str, ...]:
        return next(iter(self.transformers.values())).vocabulary

    @property
    def count(self) -> int:
        """How many inputs there are."""
        return sum(len(self.vocabulary) ** n for n in range(self.min_length, self.max_length + 1))


def inputs(
    transformer: Transformer,
    other: Transformer | None = None,
    *,
    max_length: int,
    min_length: int = 1,
    steps: int | Callable[[int], int] = 1,
) -> Inputs:
    """All inputs of one transformer, or of two, called a and b; steps may depend on the length."""
    named = {"": transformer} if other is None else {"a": transformer, "b": other}
    table = tuple(steps(n) if callable(steps) else steps for n in range(1, max_length + 1))
    return Inputs(named, max_length, min_length, table)


Subject = Values | Block | Inputs


# What cannot be ranged over is refused, in one sentence ---------------------------------------------------------------


def check_subject(subject: Subject) -> None:
    """Refuse a subject that cannot be run: names, positions, layers or steps that do not exist."""
    if isinstance(subject, Values):
        if not subject.names:
            raise ClaimError("a claim on values needs at least one variable: Values('x').")
        if len(set(subject.names)) < len(subject.names):
            raise ClaimError(f"a variable is named twice in {', '.join(subject.names)}.")
        return
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


def _check_lengths(subject: Inputs, transformers: list[Transformer]) -> None:
    if len({t.vocabulary for t in transformers}) > 1:
        shown = " and ".join(" ".join(t.vocabulary) for t in transformers)
        raise ClaimError(f"the transformers read different vocabularies, {shown}.")
    if not 1 <= subject.min_length <= subject.max_length:
        raise ClaimError(f"lengths go from {subject.min_length} to {subject.max_length}; from 1 up, please.")
    if len(subject.steps) != subject.max_length or min(subject.steps) < 1:
        raise ClaimError(f"steps {' '.join(map(str, subject.steps))}: each length takes at least one.")


def _check_steps(subject: Inputs, transformer: Transformer) -> None:
    who = transformer.name or "the transformer"
    lengths = range(subject.min_length, subject.max_length + 1)
    need = max(n + subject.steps[n - 1] - 1 for n in lengths)
    if need > transformer.max_length:
        raise ClaimError(f"{who} has {transformer.max_length} positions; these inputs and steps need {need}.")
    unread = [answer for answer in transformer.answers if answer not in transformer.vocabulary]
    if unread and any(subject.steps[n - 1] > 1 for n in lengths):
        raise ClaimError(f"several steps read answers as tokens, and {who} does not read its answer {unread[0]!r}.")


def _check_places(subject: Block, transformers: list[Transformer]) -> None:
    known = {name for t in transformers for name in t.coordinates}
    places = [*subject.free, *subject.fixed, *((name, 0) for name in subject.from_positions)]
    for name, position in places:
        if name not in known:
            raise ClaimError(f"no coordinate {name!r}; there are {', '.join(transformers[0].coordinates)}.")
        if not 0 <= position < subject.positions:
            raise ClaimError(f"{name}@{position}: the block has positions 0 to {subject.positions - 1}.")
    if len(set(subject.free)) < len(subject.free) or set(subject.free) & set(subject.fixed):
        raise ClaimError("a place is named twice among the free and the fixed ones of the block.")
    if not subject.free:
        raise ClaimError("nothing is free in the block: name coordinates in `free`.")


def _check_layers(subject: Block, transformer: Transformer) -> None:
    count, who = len(transformer.layers), transformer.name or "the transformer"
    last = count if subject.last is None else subject.last
    if not 0 <= subject.first <= last <= count:
        raise ClaimError(f"layers {subject.first} to {last - 1} are asked for; {who} has {count}, from 0.")
    if subject.from_positions and subject.positions > transformer.max_length:
        has = f"{who} has {transformer.max_length} positions"
        raise ClaimError(f"{has}, so the block's {subject.positions} cannot take coordinates from them.")
