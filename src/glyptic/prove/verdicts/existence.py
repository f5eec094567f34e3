"""Claims that something exists, by methods that look for the smallest element that settles a claim.

Such a method "refutes" a claim of existence when it has found a witness, and "proves" it when there is none: `settled` turns
what it finds into the verdict that was asked for, so that whoever calls a method gets the right one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from glyptic.prove.claims.claim import Claim
from glyptic.prove.claims.expressions import TRUE
from glyptic.prove.verdicts.answers import Proved, Refuted, Unknown, Verdict

P = ParamSpec("P")


def settled(search: Callable[Concatenate[Claim, P], Verdict]) -> Callable[Concatenate[Claim, P], Verdict]:
    """A method of deciding claims that also decides claims of existence."""

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
