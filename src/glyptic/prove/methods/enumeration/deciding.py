"""Deciding a claim by running all of its elements: on all cores or a cluster, with progress, a journal, and a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from glyptic.cores import WorkerLost, cores, in_order
from glyptic.exact.running import Engine
from glyptic.numbers.hosts import engine_for
from glyptic.progress import progress_bar
from glyptic.prove.claims.claim import Claim, Inputs, Layers, Values
from glyptic.prove.claims.expressions import Holds
from glyptic.prove.elements.counting import count_values, describe, smaller
from glyptic.prove.methods.enumeration.portions import Enumeration, Ledger, Portion, Tally, merged, plan, size_of, work
from glyptic.prove.verdicts.answers import Proved, Refuted, Unknown, Vacuous, Verdict, settled
from glyptic.prove.verdicts.assumptions import of_enumeration

METHOD = "enumeration"
_TIMES_A_WORKER_MAY_DIE = 5
_ALONE_SECONDS = (
    3.0  # of work in this process before others are started, which takes them longer than that to be of use
)
_SEARCHED_WHOLE = 1 << 26  # values beyond which one counterexample is enough, and is then made smaller


@dataclass(frozen=True)
class EnumerationLimits:
    """How an enumeration is to be run."""

    engine: Engine = "auto"
    backend: str = "auto"
    workers: int | None = None  # None: one a core
    journal: Path | None = None
    seconds: float | None = None
    count_all: bool = False
    progress: bool | Callable[[int, int], object] = True  # or a function, told what is done and of how much


@settled
def enumerate_claim(claim: Claim, limits: EnumerationLimits) -> Verdict:
    """Run all elements of a claim; `claim.subject` has a format."""
    started = time.time()
    deadline = None if limits.seconds is None else started + limits.seconds
    job = Enumeration(claim, limits.engine, limits.count_all, deadline)
    journal = _ledger(job, limits.journal)
    try:
        try:
            _finish(job, journal, limits)
        finally:
            journal.write()
        verdict = _verdict(job, journal, time.time() - started)
        if not isinstance(verdict, Unknown) and (not journal.left or _one_is_enough(job)):
            journal.remove()  # else a limit came before the end: counts, or a smaller counterexample, are still to be had
    finally:
        journal.close()
    return verdict


def _ledger(job: Enumeration, path: Path | None) -> Ledger:
    if path is None:
        return Ledger(job, plan(job.claim))
    from glyptic.prove.methods.enumeration.journal import Journal

    return Journal(job, plan(job.claim), path)


def _finish(job: Enumeration, journal: Ledger, limits: EnumerationLimits) -> None:
    """Do the portions that the journal does not have; those of a worker that died are done again."""
    total = sum(size_of(job.claim, portion) for portion in journal.portions.values())
    done = sum(size_of(job.claim, journal.portions[name]) for name in journal.done)
    best = merged(job.claim, journal.done.values()).example
    one_is_enough = _one_is_enough(job)
    begun = False  # one portion is begun in any case, so that the shortest limit gets somewhere

    def over(until: float = inf) -> bool:
        late = begun and time.time() > (job.deadline or inf)
        return late or time.time() > until or (one_is_enough and best is not None)

    def left(until: float = inf) -> Iterator[tuple[Enumeration, Portion, tuple[int, ...] | None]]:
        nonlocal begun
        for portion in journal.left:
            if over(until):
                return
            begun = True
            yield job, portion, best

    with progress_bar(total=total, initial=done, unit=" inputs", unit_scale=True, disable=limits.progress is not True) as bar:

        def take(results: Iterator[tuple[Portion, Tally | None]]) -> None:
            nonlocal best, done
            for portion, tally in results:
                if tally is None:
                    journal.cut_up(portion)
                elif journal.enter(portion, tally):
                    size = size_of(job.claim, portion)
                    done += size
                    bar.update(size)
                    if callable(limits.progress):
                        limits.progress(done, total)
                    best = smaller(job.claim, best, tally.example)

        limits = replace(limits, backend=_where(job, limits))
        if limits.backend == "loky":
            take(_spread(left(until=time.time() + _ALONE_SECONDS), replace(limits, backend="sequential")))
        _take_all(take, left, lambda: bool(journal.left) and not over(), limits, journal)


def _where(job: Enumeration, limits: EnumerationLimits) -> str:
    """Threads where all the work is done by compiled code, which lets others run; else processes, whose start takes seconds.

    A predicate is Python; so are fractions; and where weights are free a transformer is made ready for every few elements.
    """
    subject: Any = job.claim.subject
    if limits.backend != "auto":
        return limits.backend
    if any(isinstance(node, Holds) for node in job.claim.parts()) or (isinstance(subject, Layers) and subject.free_weights):
        return "loky"
    run = [] if isinstance(subject, Values) else [(t.format, t.options.products) for t in subject.transformers.values()]
    engines = [engine_for(*how, job.engine) for how in run or [(subject.format, "rounded")]]
    return "threads" if all(engine == "fast" for engine in engines) else "loky"


def _one_is_enough(job: Enumeration) -> bool:
    """A claim over very many values stops at its first counterexample, which is minimised afterwards."""
    return not isinstance(job.claim.subject, Inputs) and not job.count_all and count_values(job.claim) > _SEARCHED_WHOLE


def _take_all(
    take: Callable[[Any], None],
    left: Callable[[], Iterator[Any]],
    more: Callable[[], bool],
    limits: EnumerationLimits,
    journal: Ledger,
) -> None:
    """Send what is left to the workers until nothing is; a death costs what that worker had, which is sent again."""
    deaths = 0
    while more():
        try:
            take(_spread(left(), limits))
        except WorkerLost:
            journal.write()
            deaths += 1
            if deaths > _TIMES_A_WORKER_MAY_DIE:
                raise


def _spread(left: Iterator[Any], limits: EnumerationLimits) -> Iterator[tuple[Portion, Tally | None]]:
    """What is left, wherever it is to be done."""
    if limits.backend in ("sequential", "threads"):
        workers = 1 if limits.backend == "sequential" else limits.workers or cores()
        return in_order(lambda each: _named_work(*each), left, workers)
    from glyptic.parallel import stream

    return stream(_named_work, left, limits.backend, limits.workers)


def _named_work(job: Enumeration, portion: Portion, known: tuple[int, ...] | None) -> tuple[Portion, Tally | None]:
    """What runs in a worker: a portion with its tally, so that results may come in any order."""
    return portion, work(job, portion, known)


def _verdict(job: Enumeration, journal: Ledger, seconds: float) -> Verdict:
    claim, total = job.claim, merged(job.claim, journal.done.values())
    over, assumptions = describe(claim), of_enumeration(claim, job.engine)
    complete = not journal.left
    if journal.resumed:
        taken = f"{journal.resumed:,} of {len(journal.portions):,} portions were taken from the journal"
        assumptions = (*assumptions, f"{taken}, which holds what an earlier run found")
    if total.example is not None:
        about: dict[str, Any] = {"over": over, "assumptions": assumptions, "seconds": seconds, "inputs": total.inputs}
        if complete and not total.skipped:
            about |= {"failures": total.failures, "satisfying": total.satisfying}
        return _refuted(claim, total.example, complete, about)
    if not complete:
        none = "none fails" if claim.quantifier == "all" else "no witness among them"
        portions = f"{len(journal.done)} of {len(journal.portions)} portions"
        tried = f"enumeration of {over}: {portions}, {total.inputs:,} inputs, {none}"
        reason = f"the time limit, after {seconds:.1f} s"
        return Unknown(str(claim), METHOD, over, reason, (tried,), total.inputs, seconds)
    if not total.satisfying:
        counted = {"inputs": total.inputs, "assumptions": assumptions, "seconds": seconds}
        return Vacuous(str(claim), METHOD, over, str(claim.requires), **counted)  # type: ignore[arg-type]
    return Proved(str(claim), METHOD, over, total.inputs, total.satisfying, assumptions=assumptions, seconds=seconds)


def _refuted(claim: Claim, example: tuple[int, ...], complete: bool, about: dict[str, Any]) -> Verdict:
    """A counterexample counts when the fractions confirm it; shorter inputs come first, but portions end in any order."""
    from glyptic.prove.verdicts.minimise import example_of_codes, example_of_input, fails, input_fails, refutation

    of_inputs = isinstance(claim.subject, Inputs)
    if not (input_fails if of_inputs else fails)(claim, example):
        shown = example_of_input(claim, example) if of_inputs else example_of_codes(claim, example)
        reason = "a contradiction: what failed does not fail in exact fractions (or a predicate changed its mind)"
        return Unknown(str(claim), METHOD, about["over"], reason, (str(shown),), about["inputs"], about["seconds"])
    if not of_inputs:
        return refutation(claim, example, METHOD, minimal=complete, **about)
    size = "globally" if complete else "locally"
    return Refuted(str(claim), METHOD, counterexample=example_of_input(claim, example), smallest=size, **about)
