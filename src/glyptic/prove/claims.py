"""Claims as values: what is free (`Values`, `Block`, `Inputs`), a precondition, and what is claimed of it.

>>> from glyptic.prove.expressions import B, variables
>>> x, = variables("x")
>>> print(Claim(Values("x"), x + B + B - B == 0))
for all x: [[[x + B] + B] − B] = 0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from glyptic.errors import GlypticError
from glyptic.exact import Transformer
from glyptic.numbers import AnyFormat
from glyptic.prove.expressions import (
    TRUE,
    Answer,
    ClaimError,
    Condition,
    Coordinate,
    Defined,
    Junction,
    Logit,
    Node,
    Token,
    Variable,
)

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
        return f"values of {free} in {self.format}, entering {where} of {names}"

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


@dataclass(frozen=True)
class Claim:
    """For everything that the subject ranges over: if `requires` holds, so does `ensures`, and no 0/0 is met.

    Where 0/0 is to be spoken of rather than refuted, use `defined()`, or the answer UNDEFINED: a claim that names
    either gets it as a plain case instead.
    """

    subject: Subject
    ensures: Condition
    requires: Condition = TRUE
    name: str = ""

    def __post_init__(self) -> None:
        for node in (*self.requires.parts(), *self.ensures.parts()):
            _check_node(self, node)
        _check_subject(self)

    def __str__(self) -> str:
        start = f"{self.name}: " if self.name else ""
        given = "" if isinstance(self.requires, Junction) and not self.requires.conditions else f", if {self.requires}"
        return f"{start}for all {self.subject}{given}: {self.ensures}"

    @property
    def speaks_of_undefined(self) -> bool:
        """Whether 0/0 is a case that the claim names, so that it does not refute by itself."""
        if not isinstance(self.subject, Inputs):
            return any(isinstance(node, Defined) for node in (*self.requires.parts(), *self.ensures.parts()))
        # Of whole inputs, 0/0 is the answer UNDEFINED, one word among others; values at traced places exclude it.
        return not any(isinstance(n, Coordinate | Logit) for n in (*self.requires.parts(), *self.ensures.parts()))


def _check_subject(claim: Claim) -> None:
    subject = claim.subject
    if isinstance(subject, Values):
        if not subject.names:
            raise ClaimError("a claim on values needs at least one variable: Values('x').")
        return
    transformers = list(subject.transformers.values())
    if len({str(t.format) for t in transformers}) > 1:
        shown = " and ".join(str(t.format) for t in transformers)
        raise ClaimError(f"the transformers are in different formats, {shown}; bring them into one with in_format.")
    if isinstance(subject, Inputs):
        _check_inputs(subject, transformers)
    else:
        _check_block(subject, transformers)


def _check_inputs(subject: Inputs, transformers: list[Transformer]) -> None:
    if len({t.vocabulary for t in transformers}) > 1:
        shown = " and ".join(" ".join(t.vocabulary) for t in transformers)
        raise ClaimError(f"the transformers read different vocabularies, {shown}.")
    if not 1 <= subject.min_length <= subject.max_length:
        raise ClaimError(f"lengths go from {subject.min_length} to {subject.max_length}; from 1 up, please.")
    for t in transformers:
        need = max(n + subject.steps[n - 1] - 1 for n in range(subject.min_length, subject.max_length + 1))
        if need > t.max_length:
            who = t.name or "the transformer"
            raise ClaimError(f"{who} has {t.max_length} positions; these inputs and steps need {need}.")


def _check_block(subject: Block, transformers: list[Transformer]) -> None:
    first = transformers[0]
    known = {name for t in transformers for name in t.coordinates}
    places = [*subject.free, *subject.fixed, *((name, 0) for name in subject.from_positions)]
    for name, position in places:
        if name not in known:
            raise ClaimError(f"no coordinate {name!r}; there are {', '.join(first.coordinates)}.")
        if not 0 <= position < subject.positions:
            raise ClaimError(f"{name}@{position}: the block has positions 0 to {subject.positions - 1}.")
    if len(set(subject.free)) < len(subject.free) or set(subject.free) & set(subject.fixed):
        raise ClaimError("a place is named twice among the free and the fixed ones of the block.")
    if not subject.free:
        raise ClaimError("nothing is free in the block: name coordinates in `free`.")
    last = len(first.layers) if subject.last is None else subject.last
    if not 0 <= subject.first <= last <= len(first.layers):
        raise ClaimError(f"layers {subject.first} to {last - 1} are asked for; there are {len(first.layers)}, from 0.")


def _check_node(claim: Claim, node: Node) -> None:
    """Every name in a claim must exist, or the claim is refused in one sentence."""
    subject = claim.subject
    where = claim.name or "the claim"
    if isinstance(node, Variable):
        if not isinstance(subject, Values) or node.name not in subject.names:
            known = ", ".join(subject.names) if isinstance(subject, Values) else "none, for it is about a transformer"
            raise ClaimError(f"{where}: no variable {node.name!r}; its variables: {known}.")
    elif isinstance(node, Coordinate | Logit | Answer | Defined):
        if isinstance(subject, Values):
            known = ", ".join(subject.names)
            raise ClaimError(f"{where}: {node} needs a transformer; this claim is about the variables {known}.")
        if node.of not in subject.transformers:
            known = ", ".join(repr(name) for name in subject.transformers)
            raise ClaimError(f"{where}: no transformer {node.of!r}; there are {known}.")
        _check_names(claim, node, subject.transformers[node.of])
    elif isinstance(node, Token):
        _check_position(claim, node.position)


def _check_names(claim: Claim, node: Node, transformer: Transformer) -> None:
    where = claim.name or "the claim"
    if isinstance(node, Coordinate):
        try:
            transformer.coordinate(node.coordinate)
        except GlypticError as error:
            raise ClaimError(f"{where}: {error}") from None
        _check_position(claim, node.position)
        stages = ("before", "after") if isinstance(claim.subject, Block) else tuple(residual_stages(transformer))
        if node.stage not in stages:
            raise ClaimError(f"{where}: no stage {node.stage!r}; there are {', '.join(stages)}.")
    if isinstance(node, Logit) and node.answer not in transformer.answers:
        raise ClaimError(f"{where}: no answer {node.answer!r}; there are {', '.join(transformer.answers)}.")


def residual_stages(transformer: Transformer) -> list[str]:
    """The names of the residual streams of a run."""
    sublayers = ("after_attention", "after_feed_forward")
    layers = [f"layer.{l}.{part}" for l in range(len(transformer.layers)) for part in sublayers]
    return ["embedding", *layers, *(["final_norm"] if transformer.final_norm is not None else [])]


def _check_position(claim: Claim, position: int) -> None:
    where, subject = claim.name or "the claim", claim.subject
    if isinstance(subject, Inputs):
        need = position + 1 if position >= 0 else -position
        if need > subject.min_length:
            short = f"inputs of length {subject.min_length}"
            raise ClaimError(f"{where}: position {position} does not exist in {short}; set min_length={need}.")
    elif isinstance(subject, Block) and not -subject.positions <= position < subject.positions:
        raise ClaimError(f"{where}: position {position} is not among the block's 0 to {subject.positions - 1}.")
