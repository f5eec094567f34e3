"""The work of an enumeration, cut into portions that can be done anywhere, in any order, and counted once.

A portion is a prefix with all inputs that begin with it, or a stretch of the numbered values. Its result is a `Tally`, and
tallies add up.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise, product

import numpy as np

from glyptic.cores import stop_if_unwanted
from glyptic.errors import InputError
from glyptic.exact.running import Engine
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.elements.batches import judge, setting_of_codes, setting_of_visit, walk_of
from glyptic.prove.elements.counting import codes_size, count_values, numbered_codes, smaller
from glyptic.prove.elements.trie import visits

INPUTS_IN_PORTION = 1 << 17
VALUES_IN_PORTION = 1 << 20
_MOST_PORTIONS = 1 << 14  # a longer job has larger portions
_MOST = 1 << 40  # beyond this nobody waits for the end
_VALUES_AT_ONCE = 1 << 14
_INPUTS_IN_PIECE = 1 << 8  # a portion no larger than this (of values: than what is judged at once) is always done to its end
_PIECES = 16  # that a portion is cut into


@dataclass(frozen=True)
class Portion:
    """All inputs with a prefix, from that length to `longest`; or the values number first … last − 1."""

    prefix: tuple[int, ...] = ()
    longest: int = 0
    first: int = 0
    last: int = 0

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.prefix))}:{self.longest}" if self.longest else f"{self.first}-{self.last}"


@dataclass(frozen=True)
class Tally:
    """What a portion, or several, came to; `example` is the smallest counterexample met, as token numbers or codes."""

    inputs: int = 0
    satisfying: int = 0
    failures: int = 0
    example: tuple[int, ...] | None = None
    skipped: bool = False  # whether longer inputs were left out, a shorter counterexample being known


@dataclass(frozen=True)
class Enumeration:
    """A claim and how to enumerate it: what a worker needs besides a portion."""

    claim: Claim
    engine: Engine = "auto"
    count_all: bool = False  # go on after a counterexample, to count all failures
    deadline: float | None = None  # of time.time()


def plan(claim: Claim) -> list[Portion]:
    """All portions of a claim, those of short inputs first; together they cover everything once."""
    subject = claim.subject
    total = subject.count if isinstance(subject, Inputs) else count_values(claim)
    if isinstance(subject, Inputs) and subject.endless:
        raise InputError("inputs of every length are infinitely many; say max_length, or use method='states'.")
    total = int(total)
    if total > _MOST:
        remedy = "shorten max_length" if isinstance(subject, Inputs) else "free fewer places, or use method='smt'"
        raise InputError(f"{total:.1e} elements are too many to enumerate; {remedy}.")
    if isinstance(subject, Inputs):
        return _plan_inputs(subject, max(INPUTS_IN_PORTION, total // _MOST_PORTIONS))
    size = max(VALUES_IN_PORTION, total // _MOST_PORTIONS)
    return [Portion(first=i, last=min(total, i + size)) for i in range(0, total, size)]


def _plan_inputs(subject: Inputs, size: int) -> list[Portion]:
    base, depth, longest = len(subject.vocabulary), 0, int(subject.max_length)
    while depth < longest and base ** (longest - depth) > size:
        depth += 1
    below = [Portion(prefix, longest) for prefix in product(range(base), repeat=depth)]
    return [Portion((), depth - 1), *below] if depth > subject.min_length else below


def size_of(claim: Claim, portion: Portion) -> int:
    """How many inputs a portion has."""
    if not isinstance(claim.subject, Inputs):
        return portion.last - portion.first
    base, shortest = len(claim.subject.vocabulary), max(len(portion.prefix), claim.subject.min_length, 1)
    return sum(base ** (length - len(portion.prefix)) for length in range(shortest, portion.longest + 1))


def pieces(claim: Claim, portion: Portion) -> list[Portion]:
    """A portion cut into smaller ones, which together cover it once; none if it is small enough to be done to its end."""
    size = size_of(claim, portion)
    if not isinstance(claim.subject, Inputs):
        step = max(_VALUES_AT_ONCE, -(-size // _PIECES))
        cuts = [*range(portion.first, portion.last, step), portion.last]
        return [] if size <= _VALUES_AT_ONCE else [Portion(first=a, last=b) for a, b in pairwise(cuts)]
    base, depth = len(claim.subject.vocabulary), 1
    if size <= _INPUTS_IN_PIECE:
        return []
    while base**depth < _PIECES and len(portion.prefix) + depth < portion.longest:
        depth += 1
    below = [Portion((*portion.prefix, *more), portion.longest) for more in product(range(base), repeat=depth)]
    short = Portion(portion.prefix, len(portion.prefix) + depth - 1)
    return [short, *below] if short.longest and size_of(claim, short) else below


def merged(claim: Claim, tallies: Iterable[Tally]) -> Tally:
    """Tallies of disjoint portions, added up."""
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


def work(job: Enumeration, portion: Portion, known: tuple[int, ...] | None = None) -> Tally | None:
    """Do a portion; None if the deadline passed on the way and it can be cut.

    `known` is a counterexample: longer ones no longer matter.
    """
    if job.deadline is not None and not pieces(job.claim, portion):
        job = replace(job, deadline=None)
    return _work_inputs(job, portion, known) if isinstance(job.claim.subject, Inputs) else _work_values(job, portion)


def _work_inputs(job: Enumeration, portion: Portion, known: tuple[int, ...] | None) -> Tally | None:
    walk = replace(walk_of(job.claim, job.engine), max_length=portion.longest)
    tally = Tally()
    shortest = len(known) if known is not None and not job.count_all else portion.longest

    def deeper(length: int) -> bool:
        return length <= shortest

    for visit in visits(walk, portion.prefix, deeper):
        stop_if_unwanted()
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
    return replace(tally, skipped=shortest < portion.longest)


def _work_values(job: Enumeration, portion: Portion) -> Tally | None:
    tally = Tally()
    for first in range(portion.first, portion.last, _VALUES_AT_ONCE):
        stop_if_unwanted()
        if job.deadline is not None and time.time() > job.deadline:
            return None
        codes = numbered_codes(job.claim, first, min(portion.last, first + _VALUES_AT_ONCE))
        satisfying, failing = judge(job.claim, setting_of_codes(job.claim, codes, job.engine))
        example = None
        if failing.any():
            candidates = codes[:, failing]
            nearest = candidates[:, np.abs(candidates).sum(axis=0) == np.abs(candidates).sum(axis=0).min()]
            example = min(map(tuple, nearest.T.tolist()), key=codes_size)
        found = Tally(failing.size, int(satisfying.sum()), int(failing.sum()), example)
        tally = merged(job.claim, (tally, found))
    return tally


class Ledger:
    """The portions of one job, and the tallies of those that are finished; `Journal` keeps one in a file."""

    def __init__(self, job: Enumeration, plan: list[Portion]) -> None:
        self.job = job
        self.portions = {str(portion): portion for portion in plan}  # those that were cut are replaced by their pieces
        self.cut: list[str] = []
        self.done: dict[str, Tally] = {}
        self.resumed = 0  # how many were done by an earlier run

    @property
    def left(self) -> list[Portion]:
        """The portions that are not done."""
        return [portion for name, portion in self.portions.items() if name not in self.done]

    def enter(self, portion: Portion, tally: Tally) -> bool:
        """Enter a portion's result; False if it is there already."""
        name = str(portion)
        if name in self.done or name not in self.portions:
            return False
        self.done[name] = tally
        return True

    def cut_up(self, portion: Portion) -> None:
        """Replace a portion that time was too short for by smaller ones, so that the next run gets further."""
        name = str(portion)
        if name in self.portions and name not in self.done:
            del self.portions[name]
            self.portions |= {str(piece): piece for piece in pieces(self.job.claim, portion)}
            self.cut.append(name)

    def write(self) -> None:
        """In memory there is nothing to write, to remove or to close."""

    remove = close = write
