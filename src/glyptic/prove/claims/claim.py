"""Claims as values: what is free (`subjects`), a precondition, and what is claimed of it.

>>> from glyptic.prove.claims.expressions import B, variables
>>> x, = variables("x")
>>> print(Claim(Values("x"), x + B + B - B == 0))
for all x: [[[x + B] + B] − B] = 0
>>> print(exists(Values("x"), x * x == 2, requires=x > 0))
for some x, with x > 0: [x·x] = 2
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from glyptic.arguments import shown
from glyptic.prove.claims.expressions import TRUE, Answer, ClaimError, Condition, Junction, Let, Logit
from glyptic.prove.claims.naming import check_names
from glyptic.prove.claims.subjects import Entry, Inputs, Layers, Place, Subject, Values, check_subject, inputs, layers


@dataclass(frozen=True, eq=False)  # an equality of conditions is a condition: claims are told apart by identity, or `digest`
class Claim:
    """For everything that the subject ranges over: if `requires` holds, so does `ensures`.

    Or, with the quantifier "some": something that it ranges over meets `requires` and makes `ensures` true.

    A run that meets 0/0 gives the answer UNDEFINED and has no values: a comparison that reads one is neither true nor false,
    nor is one that divides by 0 or takes the root of a negative number. `requires` is met, and `ensures` holds, where it comes
    out true (Kleene's logic: see `evaluation`). So `defined() >> …` leaves such runs out.
    """

    subject: Subject
    ensures: Condition
    requires: Condition = TRUE
    name: str = ""
    quantifier: Literal["all", "some"] = "all"

    def __post_init__(self) -> None:
        try:
            _check_kinds(self)
            check_subject(self.subject)
            check_names(self.subject, (self.requires, self.ensures))
        except ClaimError as error:
            named = self.name if isinstance(self.name, str) else ""
            raise ClaimError(f"{named or 'the claim'}: {error}") from None

    def __str__(self) -> str:
        start = f"{self.name}: " if self.name else ""
        given = f"({self.requires})" if isinstance(self.requires, Let) else str(self.requires)
        nothing = isinstance(self.requires, Junction) and not self.requires.conditions
        given = "" if nothing else f", {'if' if self.quantifier == 'all' else 'with'} {given}"
        return f"{start}for {self.quantifier} {self.subject}{given}: {self.ensures}"

    def parts(self) -> tuple[Any, ...]:
        """Every node of its precondition, then of what it claims."""
        return (*self.requires.parts(), *self.ensures.parts())

    @property
    def reads_output(self) -> bool:
        """Whether it speaks of what is read off the last column of its layers."""
        return any(isinstance(node, Answer | Logit) for node in self.parts())


def exists(subject: Subject, condition: Condition, requires: Condition = TRUE, name: str = "") -> Claim:
    """The claim that something meets a condition; its proof has the smallest that does, the witness."""
    return Claim(subject, condition, requires, name, "some")


def at_length(claim: Claim, length: int) -> Claim:
    """A claim on inputs of every length as one on inputs up to a length, which can be run; others as they are."""
    subject = claim.subject
    if not isinstance(subject, Inputs) or not subject.endless:
        return claim
    length = max(length, subject.min_length)
    return replace(claim, subject=replace(subject, max_length=length, steps=subject.steps * length))


def _check_kinds(claim: Claim) -> None:
    """What is not a condition at all (Python's True, a value) is told before anything is asked of it."""
    if not isinstance(claim.subject, Subject):
        raise ClaimError(f"{claim.subject!r} is nothing to range over; write Values, layers or inputs.")
    for which, part in (("ensures", claim.ensures), ("requires", claim.requires)):
        if not isinstance(part, Condition):
            raise ClaimError(f"`{which}` is {part!r}, not a condition; write a comparison, such as x > 0, or TRUE.")
    if not isinstance(claim.name, str):
        raise ClaimError(f"the name is {shown(claim.name)}, not a text.")
    if claim.quantifier not in ("all", "some"):
        raise ClaimError(f"the quantifier {claim.quantifier!r} is not one of all, some.")


__all__ = ["Claim", "Entry", "Inputs", "Layers", "Place", "Subject", "Values", "exists", "inputs", "layers"]
