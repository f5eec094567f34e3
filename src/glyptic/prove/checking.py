"""`check`: a claim goes to the method that can decide it, and comes back as a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from glyptic.arguments import Backend, Megabytes, Seconds, Workers, Writable, checked
from glyptic.errors import InputError
from glyptic.exact import Transformer
from glyptic.exact.running import Engine
from glyptic.numbers import AnyFormat, Exact, as_format
from glyptic.prove.claims.claim import Claim, Inputs, Layers, Values
from glyptic.prove.claims.expressions import ClaimError
from glyptic.prove.elements.counting import count_values
from glyptic.prove.methods.enumeration.deciding import EnumerationLimits, enumerate_claim
from glyptic.prove.verdicts.answers import Unknown, Verdict

Method = Literal["auto", "enumerate", "smt", "symbolic", "bounds", "states"]
Rules = Literal["simplified", "plain"]  # as in smt.questions, which is loaded only when solvers are asked
Journal = Annotated[str | Path, Writable()]
Progress = bool | Callable[[int, int], object]  # a bar, nothing, or a function told how many inputs are done, and of how many
BOUNDED = 5.0  # seconds of processor time that `auto` gives to bounds before it asks the solvers
TRIED_BY_STATES, FEW_STATES = 3.0, 20_000  # seconds and states that `auto` gives to states before it makes diagrams
ENUMERATED = 1 << 24  # combinations of values, and inputs, that `auto` still enumerates
LONGEST_RUN = 4096  # tokens: beyond, `auto` asks states alone


class OneLimits(TypedDict, total=False):
    """What bounds a check, and how it computes: `check` tells what each means."""

    seconds: Seconds | None
    megabytes: Megabytes | None
    engine: Engine
    count_all: bool
    terms: Rules


class RunLimits(OneLimits, total=False):
    """And where it runs."""

    backend: Backend
    workers: Workers | None
    progress: Progress


class Limits(RunLimits, total=False):
    """Everything that `check` can be told besides the claim."""

    format: AnyFormat | str | None
    method: Method
    journal: Journal | None


@checked
def check(
    claim: Claim,
    format: AnyFormat | str | None = None,
    *,
    method: Method = "auto",
    seconds: Seconds | None = None,
    megabytes: Megabytes | None = None,
    engine: Engine = "auto",
    backend: Backend = "auto",
    workers: Workers | None = None,
    journal: Journal | None = None,
    count_all: bool = False,
    progress: Progress = True,
    terms: Rules = "simplified",
) -> Verdict:
    """Decide a claim, in its own format or another.

    `auto` enumerates up to 2^24 inputs or combinations of values. More inputs, and those of every length, are decided by the
    `states` of their transformers where these are few; other inputs become decision diagrams (`symbolic`), or are enumerated
    after all where these grow too large, or a `journal` is given; dense layers are bounded box by box (`bounds`), and what that
    leaves open goes to the solvers, as do all other values. An enumeration interrupted with a `journal` goes on from there when
    it is started again. `seconds` bounds an enumeration, the diagrams, the boxes, or each question to a solver;
    `megabytes` bounds solvers only, for an enumeration takes a few megabytes a worker, however long it is. Its `workers` are
    threads where all the work is compiled, else processes (`glyptic.parallel` has the backends). `terms="plain"` puts layers to
    the solvers as they are, without the rules by which terms are simplified. `progress` shows a bar over an enumeration, or is a
    function that is told, as it goes on, how many inputs are done and of how many.

    >>> from glyptic.numbers import Fixed
    >>> from glyptic.prove import B, Claim, Values, variables
    >>> x, y = variables("x y")
    >>> print(check(Claim(Values("x"), x + B + B - B == 0), Fixed(3)))
    Proved: for all x in fixed:3: [[[x + B] + B] − B] = 0
      over all 127 values of x in fixed:3
      by enumeration: 127 inputs run
    >>> print(check(Claim(Values("x y"), x + (y - x) == y), Fixed(2), count_all=True))
    Refuted: for all x, y in fixed:2: [x + [y − x]] = y
      over all 961 values of x, y in fixed:2
      smallest counterexample: x = 1/4, y = -∞: [x + [y − x]] is -7/2
      240 of 961 fail
    >>> from glyptic.prove import exists
    >>> print(check(exists(Values("x"), x * x == x, requires=x > 1), Fixed(3)))
    Proved: for some x in fixed:3, with x > 1: [x·x] = x
      over all 127 values of x in fixed:3
      smallest witness: x = ∞: [x·x] is ∞
    >>> print(check(exists(Values("x"), x * x == 2), Fixed(3)))
    Refuted: for some x in fixed:3: [x·x] = 2
      over all 127 values of x in fixed:3
      nothing makes it true, by enumeration: 127 inputs run
    """
    claim = in_format(claim, None if format is None else as_format(format))
    _refuse_idle(method, terms, journal, megabytes)
    first = None if terms == "plain" else _at_once(claim, method, seconds, journal is not None, progress, count_all)
    if first is not None and (method in ("symbolic", "bounds", "states") or _states_alone(claim) or _settled(first)):
        return first
    if method == "smt" or (method == "auto" and _too_many(claim)):
        from glyptic.prove.methods import smt

        assert claim.subject.format is not None
        limits = {"seconds": seconds, "megabytes": megabytes}
        stated: dict[str, Any] = {name: limit for name, limit in limits.items() if limit is not None}  # else the solvers' own
        found = smt.check(claim, claim.subject.format, terms=terms, **stated)
        return found if first is None or not isinstance(found, Unknown) else first
    path = None if journal is None else Path(journal)
    return enumerate_claim(claim, EnumerationLimits(engine, backend, workers, path, seconds, count_all, progress))


def _refuse_idle(method: Method, terms: Rules, journal: str | Path | None, megabytes: int | None) -> None:
    """Refuse what would have no effect."""
    if terms == "plain" and method not in ("auto", "smt"):
        raise InputError(f"terms='plain' is about solvers' terms, and method={method!r} has none; leave it out.")
    if journal is not None and method not in ("auto", "enumerate"):
        raise InputError(f"a journal is kept of an enumeration, and method={method!r} is none; leave it out.")
    if megabytes is not None and method not in ("auto", "smt"):
        raise InputError(f"megabytes bounds solvers, and method={method!r} asks none; leave it out.")


def _states_alone(claim: Claim) -> bool:
    """Whether nothing but states could decide it: of every length, or of inputs whose pairs of positions are too many to run."""
    subject = claim.subject
    return isinstance(subject, Inputs) and subject.max_length > LONGEST_RUN and subject.count > ENUMERATED


def _at_once(
    claim: Claim, method: Method, seconds: float | None, journal: bool, progress: Progress, count_all: bool
) -> Verdict | None:
    """What is said without running everything, by states, diagrams, or bounds on dense layers; None if none of these is asked."""
    subject = claim.subject
    many = method == "auto" and isinstance(subject, Inputs) and subject.count > ENUMERATED and not journal
    if method == "states" or (many and not count_all) or (method == "auto" and _states_alone(claim)):  # states count nothing
        from glyptic.prove.methods import states

        if method == "states" or _states_alone(claim):
            with _bar(progress) as report:
                return states.check(claim, seconds=seconds, report=report)
        by_states = states.check(claim, seconds=min(TRIED_BY_STATES, seconds or inf), states=FEW_STATES)
        if _settled(by_states):
            return by_states
    if method == "symbolic" or many:
        from glyptic.prove.methods import symbolic

        return symbolic.check(claim, seconds=seconds)
    if method == "bounds" or (method == "auto" and isinstance(subject, Layers) and _too_many(claim)):
        from glyptic.prove.methods import bounds

        if method == "bounds":
            return bounds.check(claim) if seconds is None else bounds.check(claim, seconds=seconds)
        return bounds.check(claim, seconds=BOUNDED if seconds is None else min(seconds, BOUNDED))
    return None


@contextmanager
def _bar(progress: Progress) -> Iterator[Callable[[Any], object] | None]:
    """A bar of the states that were found and of those not yet followed, if one is wanted."""
    if progress is not True:
        yield None
        return
    from glyptic.progress import progress_bar

    with progress_bar(unit=" states") as bar:

        def report(now: Any) -> None:
            bar.set_description(f"layer {now.layer}, {now.frontier:,} left", refresh=False)
            bar.update(now.states - bar.n)

        yield report


def _settled(verdict: Verdict) -> bool:
    """Whether nothing is left to find: a counterexample that may not be the smallest is made so by the solvers."""
    return not isinstance(verdict, Unknown) and getattr(verdict, "smallest", "globally") == "globally"


def _too_many(claim: Claim) -> bool:
    subject = claim.subject
    return (
        not isinstance(subject, Inputs) and not isinstance(subject.format, Exact) and count_values(claim) > ENUMERATED
    )


def in_format(claim: Claim, format: AnyFormat | None) -> Claim:
    """A claim read in a format: variables range over it, and transformers are rounded to it."""
    subject: Any = claim.subject
    if format is None:
        if subject.format is None:
            raise ClaimError("the claim is about values of a format that is not said: check(claim, format=Fixed(4)).")
        return claim
    if str(format) == str(subject.format):
        return claim
    if isinstance(subject, Values):
        return replace(claim, subject=Values(subject.names, format))
    converted: dict[str, Transformer] = {name: t.in_format(format) for name, t in subject.transformers.items()}
    return replace(claim, subject=replace(subject, transformers=converted))
