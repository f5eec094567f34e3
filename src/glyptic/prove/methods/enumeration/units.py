"""The work of an enumeration, cut into units that can be done anywhere, in any order, and counted once.

A unit is a prefix with all inputs that begin with it, or a stretch of the numbered values. Its result is a `Tally`, and
tallies add up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from glyptic.errors import InputError
from glyptic.exact.running import Engine
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.elements.batches import judge, setting_of_codes, setting_of_visit, walk_of
from glyptic.prove.elements.counting import codes_size, count_values, numbered_codes, smaller
from glyptic.prove.elements.trie import visits

INPUTS_IN_UNIT = 1 << 14
VALUES_IN_UNIT = 1 << 20
_MOST_UNITS = 1 << 14  # a longer job has larger units
_MOST = 1 << 40  # beyond this nobody waits for the end
_VALUES_AT_ONCE = 1 << 14
_INPUTS_IN_PIECE = 1 << 8  # a unit no larger than this (of values: than what is judged at once) is always done to its end
_PIECES = 16  # that a unit is cut into


@dataclass(frozen=True)
class Unit:
    """All inputs with a prefix, from that length to `longest`; or the values number first … last − 1."""

    prefix: tuple[int, ...] = ()
    longest: int = 0
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.prefix))}:{self.longest}" if self.longest else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class Tally:
    """What a unit, or several, came to; `example` is the smallest counterexample met, as token numbers or codes."""

    inputs: int = 0
    satisfying: int = 0
    failures: int = 0
    example: tuple[int, ...] | None = None
    skipped: bool = False  # whether longer inputs were left out, a shorter counterexample being known


@dataclass(frozen=True)
class Job:
    """A claim and how to enumerate it: what a worker needs besides a unit."""

    claim: Claim
    engine: Engine = "auto"
    count_all: bool = False  # go on after a counterexample, to count all failures
    deadline: float | None = None  # of time.time()


def plan(claim: Claim) -> list[Unit]:
    """All units of a claim, those of short inputs first; together they cover everything once."""
    subject = claim.subject
    total = subject.count if isinstance(subject, Inputs) else count_values(claim)
    if total > _MOST:
        remedy = "shorten max_length" if isinstance(subject, Inputs) else "free fewer places, or use method='smt'"
        raise InputError(f"{total:.1e} elements are too many to enumerate; {remedy}.")
    if isinstance(subject, Inputs):
        return _plan_inputs(subject, max(INPUTS_IN_UNIT, total // _MOST_UNITS))
    size = max(VALUES_IN_UNIT, total // _MOST_UNITS)
    return [Unit(first=i, last=min(total, i + size)) for i in range(0, total, size)]


def _plan_inputs(subject: Inputs, size: int) -> list[Unit]:
    base, depth = len(subject.vocabulary), 0
    while depth < subject.max_length and base ** (subject.max_length - depth) > size:
        depth += 1
    below = [Unit(prefix, subject.max_length) for prefix in product(range(base), repeat=depth)]
    return [Unit((), depth - 1), *below] if depth > subject.min_length else below


def size_of(claim: Claim, unit: Unit) -> int:
    """How many inputs a unit has."""
    if not isinstance(claim.subject, Inputs):
        return unit.last - unit.first
    base, shortest = len(claim.subject.vocabulary), max(len(unit.prefix), claim.subject.min_length, 1)
    return sum(base ** (length - len(unit.prefix)) for length in range(shortest, unit.longest + 1))


def pieces(claim: Claim, unit: Unit) -> list[Unit]:
    """A unit cut into smaller ones, which together cover it once; none if it is small enough to be done to its end."""
    size = size_of(claim, unit)
    if not isinstance(claim.subject, Inputs):
        step = max(_VALUES_AT_ONCE, -(-size // _PIECES))
        cuts = [*range(unit.first, unit.last, step), unit.last]
        return [] if size <= _VALUES_AT_ONCE else [Unit(first=a, last=b) for a, b in pairwise(cuts)]
    base, depth = len(claim.subject.vocabulary), 1
    if size <= _INPUTS_IN_PIECE:
        return []
    while base**depth < _PIECES and len(unit.prefix) + depth < unit.longest:
        depth += 1
    below = [Unit((*unit.prefix, *more), unit.longest) for more in product(range(base), repeat=depth)]
    short = Unit(unit.prefix, len(unit.prefix) + depth - 1)
    return [short, *below] if short.longest and size_of(claim, short) else below


def merged(claim: Claim, tallies: Iterable[Tally]) -> Tally:
    """Tallies of disjoint units, added up."""
    total = Tally()
    for tally in tallies:
        total = Tally(
            total.inputs + tally.inputs,
            total.satisfying + tally.satisfying,
            total.failures + tally.failures,
            smaller(claim, total.example, tally.example),
            total.skipped or tally.skipped,
        )
    return total


def work(job: Job, unit: Unit, known: tuple[int, ...] | None = None) -> Tally | None:
    """Do a unit; None if the deadline passed on the way and it can be cut.

    `known` is a counterexample: longer ones no longer matter.
    """
    if job.deadline is not None and not pieces(job.claim, unit):
        job = replace(job, deadline=None)
    return _work_inputs(job, unit, known) if isinstance(job.claim.subject, Inputs) else _work_values(job, unit)


def _work_inputs(job: Job, unit: Unit, known: tuple[int, ...] | None) -> Tally | None:
    walk = replace(walk_of(job.claim, job.engine), max_length=unit.longest)
    tally = Tally()
    shortest = len(known) if known is not None and not job.count_all else unit.longest

    def deeper(length: int) -> bool:
        return length <= shortest

    for visit in visits(walk, unit.prefix, deeper):
        if job.deadline is not None and time.time() > job.deadline:
            return None
        satisfying, failing = judge(job.claim, setting_of_visit(walk, visit))
        example = None
        if failing.any():  # members of a visit are in the order of the vocabulary: the first is the smallest
            example = tuple(visit.tokens[:, failing.argmax()].tolist())
            if not job.count_all:
                shortest = min(shortest, len(example))
        found = Tally(failing.size, int(satisfying.sum()), int(failing.sum()), example)
        tally = merged(job.claim, (tally, found))
    return replace(tally, skipped=shortest < unit.longest)


def _work_values(job: Job, unit: Unit) -> Tally | None:
    tally = Tally()
    for first in range(unit.first, unit.last, _VALUES_AT_ONCE):
        if job.deadline is not None and time.time() > job.deadline:
            return None
        codes = numbered_codes(job.claim, first, min(unit.last, first + _VALUES_AT_ONCE))
        satisfying, failing = judge(job.claim, setting_of_codes(job.claim, codes, job.engine))
        example = None
        if failing.any():
            candidates = codes[:, failing]
            nearest = candidates[:, np.abs(candidates).sum(axis=0) == np.abs(candidates).sum(axis=0).min()]
            example = min(map(tuple, nearest.T.tolist()), key=codes_size)
        found = Tally(failing.size, int(satisfying.sum()), int(failing.sum()), example)
        tally = merged(job.claim, (tally, found))
    return tally
