"""Claims as values: what is free (`subjects`), a precondition, and what is claimed of it.

>>> from glyptic.prove.expressions import B, variables
>>> x, = variables("x")
>>> print(Claim(Values("x"), x + B + B - B == 0))
for all x: [[[x + B] + B] − B] = 0
"""

from __future__ import annotations

from dataclasses import dataclass

from glyptic.prove.expressions import TRUE, Answer, ClaimError, Condition, Junction, Logit
from glyptic.prove.naming import check_names
from glyptic.prove.subjects import Block, Inputs, Place, Subject, Values, block, check_subject, inputs


@dataclass(frozen=True)
class Claim:
    """For everything that the subject ranges over: if `requires` holds, so does `ensures`.

    A run that meets 0/0 gives the answer UNDEFINED and has no values: a comparison that reads one is neither true nor false,
    nor is one that divides by 0 or takes the root of a negative number. `requires` is met, and `ensures` holds, where it comes
    out true (Kleene's logic: see `evaluation`). So `defined() >> …` leaves such runs out.
    """

    subject: Subject
    ensures: Condition
    requires: Condition = TRUE
    name: str = ""

    def __post_init__(self) -> None:
        try:
            check_subject(self.subject)
            check_names(self.subject, (*self.requires.parts(), *self.ensures.parts()))
        except ClaimError as error:
            raise ClaimError(f"{self.name or 'the claim'}: {error}") from None

    def __str__(self) -> str:
        start = f"{self.name}: " if self.name else ""
        given = "" if isinstance(self.requires, Junction) and not self.requires.conditions else f", if {self.requires}"
        return f"{start}for all {self.subject}{given}: {self.ensures}"

    @property
    def reads_output(self) -> bool:
        """Whether it speaks of what is read off the last column of a block."""
        return any(isinstance(node, Answer | Logit) for node in (*self.requires.parts(), *self.ensures.parts()))


__all__ = ["Block", "Claim", "Inputs", "Place", "Subject", "Values", "block", "inputs"]
