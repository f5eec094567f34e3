"""The least precision: the smallest s, for each e, in which a construction is right at length n.

s(n) is what the classes CoT[T(n), d(n), s(n), e(n)] of Li et al. (2024) speak of; T(n), the steps of chain of thought, and
d(n), the width, are listed beside it. The classes are non-uniform: a construction may depend on n, and is right at n if it
is on all inputs of length n.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Unpack

from glyptic.arguments import Backend, Count, Workers, checked
from glyptic.carve import FactError
from glyptic.errors import FormatError, InputError
from glyptic.exact import Transformer
from glyptic.languages.automata import Automaton
from glyptic.numbers import Float, Format
from glyptic.progress import progress_bar
from glyptic.prove.checking import Method, OneLimits, RunLimits, check
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.questions import recognition
from glyptic.prove.verdicts.answers import Refuted, Unknown
from glyptic.showing import Showing
from glyptic.text import table

Build = Callable[..., Transformer | Claim]  # of a format and a length; with force=True too, if it takes that
REFUSALS = (FormatError, FactError)  # by which a construction says that it is not for a format; any other error is one
MOST_LENGTH = 10_000
MOST_BITS = 64  # of e and of s
MOST_INPUTS = 1 << 24  # of one length, run without a time limit


@dataclass(frozen=True)
class Need:
    """What a length needs: the least s for an e (None: none up to the largest tried), and why one less is not enough."""

    length: int
    e: int
    s: int | None
    steps: int  # T(n)
    width: int  # d(n)
    layers: int
    short_of_it: str  # what goes wrong at s − 1, or at the largest s tried
    refused: int | None = None  # the largest smaller s that the construction refuses
    refuted: int | None = None  # the largest smaller s at which a counterexample was found, forced where it is refused


COLUMNS = tuple(field.name for field in fields(Need))  # of the data beside a figure


@dataclass(frozen=True)
class LeastPrecision(Showing):
    """s(n) for each e, as a table and as a figure."""

    name: str
    needs: tuple[Need, ...]
    largest: int

    def s(self, length: int, e: int = 0) -> int | None:
        """The least s at a length."""
        return next(need.s for need in self.needs if (need.length, need.e) == (length, e))

    def __str__(self) -> str:
        """One row a length; what goes wrong with one less is said for the first e."""
        exponents = sorted({need.e for need in self.needs})
        names = ["fixed" if e == 0 else f"e = {e}" for e in exponents]
        firsts = [need for need in self.needs if need.e == exponents[0]]
        refuses = any(need.refused is not None for need in firsts)
        rows = []
        for one in firsts:
            least = [self.s(one.length, e) for e in exponents]
            cells = [f"> {self.largest}" if s is None else s for s in least]
            ends = ["–" if s is None else s for s in (one.refused, one.refuted)] if refuses else []
            rows.append((one.length, *cells, one.steps, one.width, one.layers, *ends, one.short_of_it))
        of_which = f" ({names[0]})" if len(names) > 1 else ""
        header = ["n", *(f"s, {name}" for name in names), "T(n)", "d(n)", "layers", *["refused", "refuted"] * refuses]
        header.append(f"one less fails by{of_which}")
        return f"{self.name}: least precision\n" + table(header, rows, "r" * (len(header) - 1) + "l")

    def figure(self, path: str | os.PathLike[str]) -> list[Path]:
        """s(n), with T(n) and d(n) beside it: a picture (.svg, .png or .pdf), and its data as CSV."""
        from glyptic.studies.pictures import draw_precision

        return draw_precision(self, path)


@checked
def least_precision(
    build: Build,
    max_length: Annotated[int, Count(1, MOST_LENGTH)],
    *,
    of: Automaton | Callable[[Any], bool] | None = None,
    lengths: Iterable[int] | None = None,
    exponents: Iterable[Annotated[int, Count(0, MOST_BITS)]] = (0,),
    largest: Annotated[int, Count(1, MOST_BITS)] = 12,
    name: str = "",
    progress: bool = True,
    steps: Annotated[int, Count()] | Callable[[int], int] = 1,
    method: Method = "auto",
    backend: Backend = "auto",
    workers: Workers | None = None,
    **limits: Unpack[OneLimits],
) -> LeastPrecision:
    """The smallest s in which `build(F(e, s), n)` is right on all inputs of length n, for n up to `max_length` and each e.

    `build` gives a transformer, right if it decides the language `of`; or a whole claim. Every s is tried from 1 up, since a
    construction may be right at some s by luck and wrong at a larger one. One that refuses a format, by a FactError or a
    FormatError, is not right there; if it takes `force=True`, it is built nevertheless to see a counterexample. Any other error
    is an error.
    """
    chosen = _chosen_lengths(max_length, lengths)
    tried_exponents = sorted(set(exponents))
    if not tried_exponents:
        raise InputError("no exponents are given; F(e, s) needs an e, and 0 is fixed point.")
    cells = [(length, e) for length in chosen for e in tried_exponents]
    where: RunLimits = {"backend": backend, "workers": workers, "progress": progress, **limits}
    question = _Question(build, of, steps, largest, method, where)
    question.refuse_too_many(chosen[-1], tried_exponents)
    needs = []
    for length, e in progress_bar(cells, desc="n, e", disable=not progress):
        needs.append(_need(question, length, e))
    named = getattr(build, "__name__", "<")
    return LeastPrecision(name or ("construction" if "<" in named else named), tuple(needs), largest)


def _chosen_lengths(max_length: int, lengths: Iterable[int] | None) -> list[int]:
    chosen = sorted(set(range(1, max_length + 1) if lengths is None else lengths))
    if not chosen or chosen[0] < 1 or chosen[-1] > max_length:
        raise InputError(f"lengths must lie between 1 and {max_length}.")
    return chosen


@dataclass(frozen=True)
class _Outcome:
    """What came of one s: right, refuted by a counterexample, or refused with a reason."""

    s: int
    state: Literal["right", "refuted", "refused"]
    text: str = ""
    sizes: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True)
class _Question:
    """What is asked of every format and length."""

    build: Build
    of: Automaton | Callable[[Any], bool] | None
    steps: int | Callable[[int], int]
    largest: int
    method: Method
    limits: RunLimits

    @property
    def can_force(self) -> bool:
        return "force" in inspect.signature(self.build).parameters

    def ask(self, length: int, e: int, s: int, force: bool = False) -> _Outcome:
        format: Format = Float(e, s)
        try:
            claim = self.claim(length, format, force)
        except REFUSALS as error:
            return _Outcome(s, "refused", str(error).partition(";")[0])
        verdict = check(claim, method=self.method, **self.limits)
        if verdict:
            return _Outcome(s, "right", sizes=_sizes(claim, length))
        if isinstance(verdict, Unknown):
            raise InputError(f"length {length}, {format}: undecided, {verdict.reason}; give more time.")
        wrong = verdict.why if isinstance(verdict, Refuted) else type(verdict).__name__
        return _Outcome(s, "refuted", wrong, _sizes(claim, length))

    def claim(self, length: int, format: Format, force: bool = False) -> Claim:
        made = self.build(format, length, force=True) if force else self.build(format, length)
        if isinstance(made, Claim):
            return made
        if self.of is None:
            raise InputError("least_precision needs to know what is right: say of=an automaton or a predicate.")
        return recognition(made, self.of, length, min_length=length, steps=self.steps)

    def refuse_too_many(self, length: int, exponents: list[int]) -> None:
        """Look at the longest inputs first: better a sentence now than a run without end later."""
        if self.limits.get("seconds") is not None:
            return
        for e in exponents:
            try:
                subject = self.claim(length, Float(e, self.largest)).subject
            except REFUSALS:
                continue
            if isinstance(subject, Inputs) and subject.count > MOST_INPUTS:
                raise InputError(
                    f"there are {subject.count:,} inputs of length {length}, to be run for every s, and without a time limit "
                    f"{MOST_INPUTS:,} are the most; lower max_length (--max-length), or bound each run by seconds (--seconds)."
                )


def _need(question: _Question, length: int, e: int) -> Need:
    smaller: list[_Outcome] = []
    sizes = (0, 0, 0)
    for s in range(1, question.largest + 1):
        outcome = question.ask(length, e, s)
        sizes = outcome.sizes if outcome.state != "refused" else sizes
        if outcome.state == "right":
            return Need(length, e, s, *sizes, *_short_of_it(question, length, e, smaller))
        smaller.append(outcome)
    return Need(length, e, None, *sizes, *_short_of_it(question, length, e, smaller))


def _short_of_it(question: _Question, length: int, e: int, smaller: list[_Outcome]) -> tuple[str, int | None, int | None]:
    """What goes wrong at the last of the s that are too small; the largest of them that is refused; that is refuted.

    A refusal shows nothing to go wrong: it is forced, downwards from the last, until a counterexample is found.
    """
    if not smaller:
        return "nothing smaller exists", None, None
    refused = max((outcome.s for outcome in smaller if outcome.state == "refused"), default=None)
    last = smaller[-1]
    if last.state == "refuted":
        return last.text, refused, last.s
    text = f"refused: {last.text}"
    for outcome in reversed(smaller):
        if outcome.state == "refused" and question.can_force:
            outcome = question.ask(length, e, outcome.s, force=True)
        if outcome.state == "refuted":
            here = outcome.s == last.s
            return f"forced, {outcome.text}" if here else f"{text}; s = {outcome.s}: {outcome.text}", refused, outcome.s
        if outcome.state == "right" and outcome.s == last.s:
            text += "; forced, it is right"
    return text, refused, None


def _sizes(claim: Claim, length: int) -> tuple[int, int, int]:
    subject = claim.subject
    transformers = list(getattr(subject, "transformers", {}).values())
    if not transformers:
        return 1, 0, 0
    steps = subject.steps[length - 1] if isinstance(subject, Inputs) else 1
    return steps, transformers[0].width, len(transformers[0].layers)
