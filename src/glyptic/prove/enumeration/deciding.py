"""Deciding a claim by running all of its elements: on all cores or a cluster, with progress, a journal, and a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

from glyptic.errors import InputError
from glyptic.exact.running import Engine
from glyptic.parallel import WorkerLost, cores, stream
from glyptic.prove.answers import Proved, Refuted, Unknown, Vacuous, Verdict
from glyptic.prove.assumptions import of_enumeration
from glyptic.prove.claims import Block, Claim, Inputs
from glyptic.prove.enumeration.journal import Journal
from glyptic.prove.enumeration.units import Job, Tally, Unit, count_values, merged, plan, size_of, smaller, work
from glyptic.prove.minimise import example_of_codes, example_of_input, fails, input_fails, refutation
from glyptic.prove.portable import digest

METHOD = "enumeration"
_TIMES_A_WORKER_MAY_DIE = 5
_ALONE_SECONDS = (
    3.0  # of work in this process before others are started, which takes them longer than that to be of use
)
_SEARCHED_WHOLE = 1 << 26  # values beyond which one counterexample is enough, and is then made smaller


@dataclass(frozen=True)
class Means:
    """How an enumeration is to be run."""

    engine: Engine = "auto"
    backend: str = "loky"
    workers: int | None = None  # None: one a core
    journal: Path | None = None
    seconds: float | None = None
    count_all: bool = False
    progress: bool = True


def enumerate_claim(claim: Claim, means: Means) -> Verdict:
    """Run all elements of a claim; `claim.subject` has a format."""
    started = time.time()
    deadline = None if means.seconds is None else started + means.seconds
    if means.seconds is not None and means.seconds <= 0:
        raise InputError(f"a time limit of {means.seconds} s leaves no time; give more.")
    job = Job(claim, means.engine, means.count_all, deadline)
    units = plan(claim)
    journal = Journal(digest(claim) + means.engine * (means.engine != "auto"), len(units), means.journal)
    try:
        _finish(job, units, journal, means)
    finally:
        journal.write()
    verdict = _verdict(job, units, journal, time.time() - started)
    if not isinstance(verdict, Unknown):
        journal.remove()
    return verdict


def _finish(job: Job, units: list[Unit], journal: Journal, means: Means) -> None:
    """Do the units that the journal does not have; those of a worker that died are done again."""
    sizes = [size_of(job.claim, unit) for unit in units]
    done = sum(sizes[number] for number in journal.done)
    best = merged(job.claim, journal.done.values()).example
    # A claim over very many values stops at its first counterexample, which is minimised afterwards.
    one_is_enough = not isinstance(job.claim.subject, Inputs) and sum(sizes) > _SEARCHED_WHOLE and not job.count_all

    def left(until: float = inf) -> Iterator[tuple[int, Job, Unit, tuple[int, ...] | None]]:
        for number, unit in enumerate(units):
            if time.time() > min(until, job.deadline or inf) or (one_is_enough and best is not None):
                return
            if number not in journal.done:
                yield number, job, unit, best

    with tqdm(
        total=sum(sizes),
        initial=done,
        unit=" inputs",
        unit_scale=True,
        delay=1,
        leave=False,
        disable=not means.progress,
    ) as bar:

        def take(results: Iterator[tuple[int, Tally | None]]) -> None:
            nonlocal best
            for number, tally in results:
                if tally is not None and journal.enter(number, tally):
                    bar.update(sizes[number])
                    best = smaller(job.claim, best, tally.example)

        if means.backend == "loky":
            take(stream(_numbered_work, left(until=time.time() + _ALONE_SECONDS), "sequential"))
        _take_all(take, left, means, journal)


def _take_all(take: Callable[[Any], None], left: Callable[[], Iterator[Any]], means: Means, journal: Journal) -> None:
    """Send what is left to the workers until nothing is; a death costs what that worker had, which is sent again."""
    deaths = 0
    while any(left()):
        try:
            take(stream(_numbered_work, left(), means.backend, means.workers or cores()))
        except WorkerLost:
            journal.write()
            deaths += 1
            if deaths > _TIMES_A_WORKER_MAY_DIE:
                raise


def _numbered_work(number: int, job: Job, unit: Unit, known: tuple[int, ...] | None) -> tuple[int, Tally | None]:
    """What runs in a worker: a unit's tally with its number, so that results may come in any order."""
    return number, work(job, unit, known)


def _verdict(job: Job, units: list[Unit], journal: Journal, seconds: float) -> Verdict:
    claim, total = job.claim, merged(job.claim, journal.done.values())
    over, assumptions = describe(claim), of_enumeration(claim, job.engine)
    complete = len(journal.done) == len(units)
    if total.example is not None:
        about: dict[str, Any] = {"over": over, "assumptions": assumptions, "seconds": seconds, "inputs": total.inputs}
        if complete and not total.skipped:
            about |= {"failures": total.failures, "satisfying": total.satisfying}
        return _refuted(claim, total.example, complete, about)
    if not complete:
        none = "none fails" if claim.quantifier == "all" else "no witness among them"
        tried = f"enumeration of {over}: {len(journal.done)} of {len(units)} units, {total.inputs:,} inputs, {none}"
        reason = f"the time limit, after {seconds:.1f} s"
        return Unknown(str(claim), METHOD, over, reason, (tried,), total.inputs, seconds)
    if not total.satisfying:
        counted = {"inputs": total.inputs, "assumptions": assumptions, "seconds": seconds}
        return Vacuous(str(claim), METHOD, over, str(claim.requires), **counted)  # type: ignore[arg-type]
    return Proved(str(claim), METHOD, over, total.inputs, total.satisfying, assumptions=assumptions, seconds=seconds)


def _refuted(claim: Claim, example: tuple[int, ...], complete: bool, about: dict[str, Any]) -> Verdict:
    """A counterexample counts when the fractions confirm it; shorter inputs come first, but units end in any order."""
    of_inputs = isinstance(claim.subject, Inputs)
    if not (input_fails if of_inputs else fails)(claim, example):
        shown = example_of_input(claim, example) if of_inputs else example_of_codes(claim, example)
        reason = "a contradiction: what failed does not fail in exact fractions (or a predicate changed its mind)"
        return Unknown(str(claim), METHOD, about["over"], reason, (str(shown),), about["inputs"], about["seconds"])
    if not of_inputs:
        return refutation(claim, example, METHOD, minimal=complete, **about)
    size = "globally" if complete else "locally"
    return Refuted(str(claim), METHOD, counterexample=example_of_input(claim, example), smallest=size, **about)


def describe(claim: Claim) -> str:
    """What an enumeration ranges over, with its size."""
    subject = claim.subject
    if isinstance(subject, Inputs):
        return f"all {subject.count:,} {subject}, over {' '.join(subject.vocabulary)}"
    return f"all {count_values(claim):,} {'' if isinstance(subject, Block) else 'values of '}{subject}"
