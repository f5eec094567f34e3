"""What a check answers: `Proved`, `Refuted` with the smallest counterexample, `Vacuous`, or `Unknown`; as text and JSON.

An answer is true in a Boolean context exactly when it is `Proved`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

from glyptic.prove.claims.claim import Claim
from glyptic.prove.claims.expressions import TRUE
from glyptic.showing import Showing

if TYPE_CHECKING:
    from glyptic.prove.portable.reading import JsonPart


@dataclass(frozen=True)
class Counterexample:
    """An input, or values by the names that the claim gives them, for which the claim fails; and what happens there.

    >>> print(Counterexample(values={"x": "1/4", "y": "B"}, observed={"[x + y]": "B"}))
    x = 1/4, y = B: [x + y] is B
    """

    input: tuple[str, ...] | None = None  # tokens
    values: Mapping[str, str] | None = None  # name -> number, as a fraction or B
    observed: Mapping[str, str] | None = None  # expression -> what it came to
    spaced: bool = False  # the vocabulary has longer tokens than characters, so that 'ab' would be another input than 'a b'

    def __str__(self) -> str:
        shown = []
        if self.input is not None:
            separator = " " if self.spaced or any(len(token) > 1 for token in self.input) else ""
            shown.append(f"input {separator.join(self.input)!r}")
        shown += [f"{name} = {number}" for name, number in (self.values or {}).items()]
        seen = ", ".join(f"{name} is {result}" for name, result in (self.observed or {}).items())
        return ", ".join(shown) + (f": {seen}" if seen else "")


EVERY_LENGTH = "all inputs of every length "  # how `over` begins where there is no longest input


@dataclass(frozen=True)
class Proved(Showing):
    """The claim holds, over all of what `over` says, given the assumptions; one of existence by its witness."""

    claim: str
    method: str  # "enumeration" or "smt"
    over: str  # "all 131070 inputs over 0 1 of length 1 to 16"
    inputs: int | None = None  # how many were run, for enumeration
    satisfying: int | None = None  # how many of them meet the precondition
    solvers: tuple[str, ...] = ()  # those that answered, such as "bitwuzla 0.9.1: unsat"
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0
    witness: Counterexample | None = None  # of a claim that something exists
    smallest: str = "globally"  # or "locally": the witness, as in `Refuted`

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        if self.witness is not None:
            size = "smallest" if self.smallest == "globally" else "a small"
            return f"Proved: {self.claim}\n  over {self.over}\n  {size} witness: {self.witness}"
        by = f"{self.inputs:,} inputs run" if self.inputs is not None else ", ".join(self.solvers)
        some = "" if self.satisfying in (None, self.inputs) else f", {self.satisfying:,} of them meet the precondition"
        every = ", for every length" if self.over.startswith(EVERY_LENGTH) else ""
        return f"Proved{every}: {self.claim}\n  over {self.over}\n  by {self.method}: {by}{some}"


@dataclass(frozen=True)
class Refuted(Showing):
    """The claim fails; `smallest`: no smaller counterexample exists ("globally"), or none was found nearby ("locally").

    A claim that something exists fails without a counterexample: there is nothing of the kind.
    """

    claim: str
    method: str
    over: str
    counterexample: Counterexample | None  # None: nothing of what is claimed to exist does
    smallest: str = "globally"  # or "locally"
    inputs: int | None = None  # how many were run: several workers begin some that one would not have
    failures: int | None = None  # how many failed, where all were run
    satisfying: int | None = None
    solvers: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return False

    @property
    def why(self) -> str:
        """The counterexample as text."""
        return "nothing makes it true" if self.counterexample is None else str(self.counterexample)

    def __str__(self) -> str:
        if self.counterexample is None:
            by = f"{self.inputs:,} inputs run" if self.inputs is not None else ", ".join(self.solvers)
            return f"Refuted: {self.claim}\n  over {self.over}\n  {self.why}, by {self.method}: {by}"
        count = "" if self.failures is None else f"\n  {self.failures:,} of {self.satisfying or self.inputs:,} fail"
        size = "smallest" if self.smallest == "globally" else "a small"
        return f"Refuted: {self.claim}\n  over {self.over}\n  {size} counterexample: {self.counterexample}{count}"


@dataclass(frozen=True)
class Vacuous(Showing):
    """No input meets the precondition: the claim says nothing, so it does not count as proved."""

    claim: str
    method: str
    over: str
    requires: str
    inputs: int | None = None
    solvers: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return f"Vacuous: {self.claim}\n  over {self.over}\n  nothing meets the precondition {self.requires}"


@dataclass(frozen=True)
class Unknown(Showing):
    """No decision: what was tried, how far it got, and why it stopped."""

    claim: str
    method: str
    over: str
    reason: str  # "the time limit of 10 s", "bitwuzla is not installed", …
    tried: tuple[str, ...] = ()  # what was tried, and how far each got
    inputs: int | None = None
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        tried = "".join(f"\n  tried: {one}" for one in self.tried)
        return f"Unknown: {self.claim}\n  over {self.over}\n  stopped by {self.reason}{tried}"


Verdict = Proved | Refuted | Vacuous | Unknown
_KINDS: dict[str, type] = {kind.__name__: kind for kind in (Proved, Refuted, Vacuous, Unknown)}


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as plain JSON values; `answer` names its kind."""
    return {"answer": type(verdict).__name__, **asdict(verdict)}


def verdict_from_json(data: Any) -> Verdict:
    """The inverse of `verdict_to_json`; a field that is missing, unknown or of another kind is an error that names it.

    >>> unknown = Unknown("x = x", "smt", "x in fixed:40", "the time limit of 1 s", ("bitwuzla: 1 s",))
    >>> verdict_from_json(verdict_to_json(unknown)) == unknown
    True
    """
    from glyptic.prove.portable.reading import (
        JsonPart,  # here, for a verdict that is not in a file needs no reader of files
    )

    part = JsonPart(json.loads(json.dumps(data)), "the verdict")  # tuples as lists
    answer = part.entries().get("answer", JsonPart(None, f"{part.place}.answer")).one_of(_KINDS)
    kind = _KINDS[answer]
    given = part.record("answer", *(field.name for field in fields(kind)))
    if kind is Refuted and given["counterexample"].value is None and "for some " not in given["claim"].text(_LONGEST):
        given["counterexample"].refuse("there, for the claim does not say that something exists")
    return kind(**{name: _READERS[name](value) for name, value in given.items() if name != "answer"})


def _sentences(part: JsonPart) -> tuple[str, ...]:
    return tuple(each.text(_LONGEST) for each in part.items(1 << 10))


def _count(part: JsonPart) -> int | None:
    return part.optional(lambda number: number.whole(0))


def _named_texts(part: JsonPart) -> dict[str, str]:
    return {name: each.text(_LONGEST) for name, each in part.entries(1 << 14).items()}


def _counterexample(part: JsonPart) -> Counterexample:
    given = part.record("input", "values", "observed", optional=("spaced",))
    values, observed = (given[name].optional(_named_texts) for name in ("values", "observed"))
    spaced = "spaced" in given and given["spaced"].flag()
    return Counterexample(given["input"].optional(lambda each: each.texts(1 << 14)), values, observed, spaced)


_LONGEST = 1 << 20
_READERS: dict[str, Callable[[JsonPart], Any]] = {
    **dict.fromkeys(("claim", "over", "requires", "reason"), lambda part: part.text(_LONGEST)),
    "method": lambda part: part.text(),
    "smallest": lambda part: part.one_of(("globally", "locally")),
    **dict.fromkeys(("inputs", "satisfying", "failures"), _count),
    **dict.fromkeys(("solvers", "assumptions", "tried"), _sentences),
    "seconds": lambda part: part.seconds(),
    **dict.fromkeys(("counterexample", "witness"), lambda part: part.optional(_counterexample)),
}


# Claims that something exists ------------------------------------------------------------------------------------------------

P = ParamSpec("P")


def settled(search: Callable[Concatenate[Claim, P], Verdict]) -> Callable[Concatenate[Claim, P], Verdict]:
    """A method that looks for the smallest element that settles a claim, made to decide claims of existence too.

    It "refutes" such a claim when it has found a witness, and "proves" it when there is none.
    """

    @wraps(search)
    def check(claim: Claim, *rest: P.args, **limits: P.kwargs) -> Verdict:
        return _answer(claim, search(searched(claim), *rest, **limits))

    return check


def searched(claim: Claim) -> Claim:
    """What is looked for: of a claim of existence one condition, for a witness makes both sides true, and nothing is vacuous."""
    if claim.quantifier == "all":
        return claim
    return replace(claim, requires=TRUE, ensures=claim.requires & claim.ensures)


def _answer(claim: Claim, found: Verdict) -> Verdict:
    """The verdict on a claim, from a search: the example that was found is the witness."""
    if claim.quantifier == "all":
        return found
    if isinstance(found, Unknown):
        return replace(found, claim=str(claim))
    about: dict[str, Any] = {"claim": str(claim), "method": found.method, "over": found.over, "inputs": found.inputs}
    about |= {"solvers": found.solvers, "assumptions": found.assumptions, "seconds": found.seconds}
    if isinstance(found, Refuted):
        return Proved(**about, witness=found.counterexample, smallest=found.smallest)
    return Refuted(**about, counterexample=None)
