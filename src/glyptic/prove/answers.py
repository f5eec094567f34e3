"""What a check answers: `Proved`, `Refuted` with the smallest counterexample, `Vacuous`, or `Unknown`; as text and JSON.

An answer is true in a Boolean context exactly when it is `Proved`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from glyptic.errors import FileError


@dataclass(frozen=True)
class Counterexample:
    """An input, or values by the names that the claim gives them, for which the claim fails; and what happens there.

    >>> print(Counterexample(values={"x": "1/4", "y": "B"}, observed={"[x + y]": "B"}))
    x = 1/4, y = B: [x + y] is B
    """

    input: tuple[str, ...] | None = None  # tokens
    values: Mapping[str, str] | None = None  # name -> number, as a fraction or B
    observed: Mapping[str, str] | None = None  # expression -> what it came to

    def __str__(self) -> str:
        shown = []
        if self.input is not None:
            separator = "" if all(len(token) == 1 for token in self.input) else " "
            shown.append(f"input {separator.join(self.input)!r}")
        shown += [f"{name} = {number}" for name, number in (self.values or {}).items()]
        seen = ", ".join(f"{name} is {result}" for name, result in (self.observed or {}).items())
        return ", ".join(shown) + (f": {seen}" if seen else "")


@dataclass(frozen=True)
class Proved:
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
        return f"Proved: {self.claim}\n  over {self.over}\n  by {self.method}: {by}{some}"


@dataclass(frozen=True)
class Refuted:
    """The claim fails; `smallest`: no smaller counterexample exists ("globally"), or none was found nearby ("locally").

    A claim that something exists fails without a counterexample: there is nothing of the kind.
    """

    claim: str
    method: str
    over: str
    counterexample: Counterexample | None  # None: nothing of what is claimed to exist does
    smallest: str = "globally"  # or "locally"
    inputs: int | None = None  # how many were run
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
class Vacuous:
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
class Unknown:
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


def verdict_from_json(data: Mapping[str, Any]) -> Verdict:
    """The inverse of `verdict_to_json`.

    >>> unknown = Unknown("x = x", "smt", "x in fixed:40", "the time limit of 1 s", ("bitwuzla: 1 s",))
    >>> verdict_from_json(verdict_to_json(unknown)) == unknown
    True
    """
    fields = dict(data)
    kind = _KINDS.get(str(fields.pop("answer", "")))
    if kind is None:
        raise FileError(f"{data.get('answer')!r} is not an answer; there are {', '.join(_KINDS)}.")
    try:
        if kind is Refuted and fields["counterexample"] is None and "for some " not in _text(fields["claim"]):
            raise TypeError("no counterexample, of a claim that does not say that something exists")
        return kind(**{name: _READERS[name](value) for name, value in fields.items()})
    except (KeyError, TypeError) as error:
        raise FileError(f"an answer {kind.__name__} with wrong fields: {error}.") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"{value!r} is not a list of texts")
    return tuple(map(_text, value))


def _named_texts(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} does not give texts by name")
    return {name: _text(text) for name, text in value.items()}


def _count(value: Any) -> int | None:
    if not (value is None or type(value) is int):
        raise TypeError(f"{value!r} is not a count")
    return value


def _seconds(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"{value!r} is not a time")
    return float(value)


def _counterexample(value: Any) -> Counterexample | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not a counterexample")
    readers: dict[str, Callable[[Any], Any]] = {"input": _texts, "values": _named_texts, "observed": _named_texts}
    return Counterexample(**{name: None if x is None else readers[name](x) for name, x in value.items()})


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("claim", "method", "over", "requires", "reason", "smallest"), _text),
    **dict.fromkeys(("inputs", "satisfying", "failures"), _count),
    **dict.fromkeys(("solvers", "assumptions", "tried"), _texts),
    "seconds": _seconds,
    **dict.fromkeys(("counterexample", "witness"), _counterexample),
}
