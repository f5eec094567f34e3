"""What a claim ranges over: its elements, one by one, each with its runs, and judged.

An element is a list: of tokens for claims on inputs, of codes for claims on values and blocks. Elements have an order: shorter
inputs first, then as in the vocabulary; values by the sum of their distances from 0 in ranks, then one by one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

from .claims import Claim, last_layer, lengths, vocabulary_of
from .meaning import Element, truth
from .models import entry_of, first_with, shape_of
from .numbers import constant
from .transformer import Model, Vector, run_block, run_input

Elements = Iterator[tuple[Any, ...]]


def free_names(claim: Claim) -> list[str]:
    """What is free, in the order of the codes."""
    if claim.kind == "values":
        return list(claim.subject["names"])
    weights = [f"{part}[{','.join(map(str, index))}]" for part, index in claim.subject["free_weights"]]
    return [f"{name}@{position}" for name, position in claim.subject["free"]] + weights


def count(claim: Claim) -> int:
    if claim.kind == "inputs":
        return sum(len(vocabulary_of(claim)) ** n for n in lengths(claim))
    first, last = claim.format.codes()
    return (last - first + 1) ** len(free_names(claim))


def in_order(claim: Claim) -> Elements:
    """All elements, the smallest first."""
    if claim.kind == "inputs":
        for length in lengths(claim):
            yield from product(vocabulary_of(claim), repeat=length)
        return
    first, last = claim.format.codes()
    free = len(free_names(claim))
    for total in range(free * max(-first, last) + 1):
        yield from codes_of_size(total, free, first, last)


def codes_of_size(total: int, free: int, first: int, last: int) -> Elements:
    """The codes whose distances from 0 add up to a total; nearer ones first, positive before negative."""
    if free == 0:
        if total == 0:
            yield ()
        return
    most = max(-first, last)
    for size in range(max(0, total - (free - 1) * most), min(total, most) + 1):
        for code in (size, -size)[: 1 + (size > 0)]:
            if first <= code <= last:
                for rest in codes_of_size(total - size, free - 1, first, last):
                    yield (code, *rest)


def is_element(claim: Claim, element: tuple[Any, ...]) -> bool:
    if claim.kind == "inputs":
        return len(element) in lengths(claim) and set(element) <= set(vocabulary_of(claim))
    return len(element) == len(free_names(claim)) and all(claim.format.holds(code) for code in element)


def meet(claim: Claim, element: tuple[Any, ...]) -> Element:
    """An element with everything that the claim may read of it."""
    F, s = claim.format, claim.subject
    if claim.kind == "inputs":
        runs = {key: run_input(m, list(element), s["steps"][len(element) - 1]) for key, m in claim.models.items()}
        return Element(F, tokens=list(element), models=claim.models, runs=runs)
    units = [F.units(code) for code in element]
    if claim.kind == "values":
        return Element(F, variables=dict(zip(s["names"], units, strict=True)))
    given = {tuple(place): x for place, x in zip(s["free"], units[: len(s["free"])], strict=True)}
    models, runs = {}, {}
    for key, model in claim.models.items():
        models[key] = with_weights(claim, model, units[len(s["free"]) :])
        columns = entering(claim, models[key], given)
        runs[key] = run_block(models[key], columns, s["first"], last_layer(claim, model))
    return Element(F, models=models, runs=runs)


def with_weights(claim: Claim, model: Model, units: list[Any]) -> Model:
    """The model with its free weights: in each part of the shape that the first transformer with such a part has."""
    arrays, places = dict(model.arrays), claim.subject["free_weights"]
    for (part, index), number in zip(places, units, strict=True):
        owner = first_with(claim.models, part)
        assert owner is not None
        if part in arrays and shape_of(arrays[part]) == shape_of(owner.arrays[part]):
            if not index:
                arrays[part] = number
                continue
            arrays[part] = [list(row) if isinstance(row, list) else row for row in arrays[part]]
            entry_of(arrays[part], index[:-1])[index[-1]] = number
    return replace(model, arrays=arrays) if places else model


def entering(claim: Claim, model: Model, given: dict[tuple[Any, ...], Any]) -> list[Vector]:
    """The residual that enters a block: free places, fixed ones, those of the position embedding, 0 elsewhere."""
    fixed = {(name, position): constant(number, claim.format) for name, position, number in claim.subject["fixed"]}
    columns = []
    for i in range(claim.subject["positions"]):
        column = []
        for k, name in enumerate(model.coordinates):
            held = model.position(i)[k] if name in claim.subject["from_positions"] else 0
            column.append(given.get((name, i), fixed.get((name, i), held)))
        columns.append(column)
    return columns


def judge(claim: Claim, element: tuple[Any, ...]) -> tuple[bool, bool | None]:
    """Whether an element meets the precondition, and whether the claim is true of it (None: neither true nor false)."""
    at = meet(claim, element)
    return truth(claim.requires, at) is True, truth(claim.ensures, at)


@dataclass(frozen=True)
class Tally:
    """What a walk through the elements in order has found; `first` breaks a claim for all, or bears out one for some."""

    walked: int = 0
    satisfying: int = 0
    found: int = 0
    first: tuple[Any, ...] | None = None
    complete: bool = False


def walk(claim: Claim, limit: int) -> Tally:
    """Judge the elements in order, up to a limit."""
    walked = satisfying = found = 0
    first = None
    for element in islice(in_order(claim), limit):
        meets, true = judge(claim, element)
        walked, satisfying = walked + 1, satisfying + meets
        if meets and (true is True) == (claim.quantifier == "some"):
            found, first = found + 1, element if first is None else first
    return Tally(walked, satisfying, found, first, walked == count(claim))


def answer(claim: Claim, tally: Tally) -> str:
    """The verdict that a complete walk gives."""
    if not tally.satisfying and claim.quantifier == "all":
        return "Vacuous"
    return "Proved" if (tally.first is None) == (claim.quantifier == "all") else "Refuted"


def sample(claim: Claim, size: int, seed: int = 0) -> Elements:
    """Elements from anywhere: the ends of the format, values near 0 and 1, and random ones."""
    rng = random.Random(seed)
    if claim.kind == "inputs":
        low, high = claim.subject["min_length"], claim.subject["max_length"]
        for _ in range(size):
            yield tuple(rng.choice(vocabulary_of(claim)) for _ in range(rng.randint(low, high)))
        return
    first, last = claim.format.codes()
    one = claim.format.code(claim.format.one())
    special = [c for c in (0, 1, -1, first, first + 1, last, last - 1, one, one - 1, one + 1, -one) if first <= c <= last]
    for _ in range(size):
        yield tuple(rng.choice(special) if rng.random() < 0.5 else rng.randint(first, last) for _ in free_names(claim))
