"""Deciding a claim on free values by solvers: bitwuzla first, z3 as the second opinion.

A proof counts when both find no counterexample; if only one could say, the answer says so. A counterexample is brought to the
smallest there is by further questions, run again in exact fractions, and only then reported.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from glyptic.numbers import AnyFormat, Exact
from glyptic.prove.answers import Proved, Unknown, Vacuous, Verdict
from glyptic.prove.claims import Claim, Inputs, Values
from glyptic.prove.minimise import fails, refutation
from glyptic.prove.smt import bits
from glyptic.prove.smt.questions import Question, pose
from glyptic.prove.smt.smallest import codes_of, smallest_codes
from glyptic.prove.smt.solvers import SOLVERS, Limits, Reply, ask
from glyptic.prove.smt.terms import Inexpressible

METHOD = "smt"


def check(
    claim: Claim,
    format: AnyFormat,
    *,
    seconds: float | None = 60.0,
    megabytes: int | None = 4096,
    solvers: Sequence[str] = SOLVERS,
) -> Verdict:
    """Decide a claim for all values of the format; each solver may take the time and memory given.

    >>> from glyptic.numbers import Fixed
    >>> from glyptic.prove.claims import Claim, Values
    >>> from glyptic.prove.expressions import B, variables
    >>> h, t = variables("h t")
    >>> print(check(Claim(Values("h", Fixed(8)), h + B + B - B == 0), Fixed(8)).solvers[0].split(":")[1])
     unsat
    >>> print(check(Claim(Values("h t", Fixed(8)), h + (t - h) == t), Fixed(8)).counterexample)
    h = 1/256, t = -∞: [h + [t − h]] is -32767/128
    """
    start = time.perf_counter()
    over = str(claim.subject)
    if isinstance(claim.subject, Inputs) or isinstance(format, Exact):
        what = "whole inputs are enumerated" if isinstance(claim.subject, Inputs) else "exact rationals have no bits"
        return Unknown(str(claim), METHOD, over, f"the method: {what}, not put to a solver")
    try:
        question = pose(claim, format)
    except Inexpressible as error:
        return Unknown(str(claim), METHOD, over, f"what solvers' terms cover: {error}")
    limits = Limits(seconds, megabytes)
    empty = _vacuous(question, solvers, limits)
    if empty is not None:
        spent = time.perf_counter() - start
        return Vacuous(str(claim), METHOD, over, str(claim.requires), solvers=(str(empty),), seconds=spent)
    replies = _second_opinions(question, solvers, limits)
    return _verdict(claim, format, question, replies, limits, start)


def _vacuous(question: Question, solvers: Sequence[str], limits: Limits) -> Reply | None:
    """The reply that the precondition cannot be met, if it cannot."""
    if question.given is bits.TRUE:
        return None
    text = bits.script([*question.domain, question.given])
    replies = (ask(solver, text, limits) for solver in solvers)
    decided = next((reply for reply in replies if reply.status in ("sat", "unsat")), None)
    return decided if decided is not None and decided.status == "unsat" else None


def _second_opinions(question: Question, solvers: Sequence[str], limits: Limits) -> list[Reply]:
    """The solvers' replies to the question, up to the first that finds a counterexample."""
    text, replies = bits.script(question.failing), []
    for solver in solvers:
        replies.append(ask(solver, text, limits))
        if replies[-1].status == "sat":
            break
    return replies


def _verdict(
    claim: Claim, format: AnyFormat, question: Question, replies: list[Reply], limits: Limits, start: float
) -> Verdict:
    over, said = str(claim.subject), tuple(map(str, replies))
    agreed = [reply for reply in replies if reply.status == "unsat"]
    found = next((reply for reply in replies if reply.status == "sat"), None)
    if found is not None:
        return _refute(claim, format, question, found, said, bool(agreed), limits, start)
    spent = time.perf_counter() - start
    if not agreed:
        missing = all(reply.status == "missing" for reply in replies)
        reason = "no solver: pip install 'glyptic[prove]' brings bitwuzla and z3" if missing else replies[-1].reason
        return Unknown(str(claim), METHOD, over, reason, said, seconds=spent)
    alone = () if len(agreed) > 1 else (f"one solver's word, {agreed[0].solver}: no second agreed",)
    return Proved(
        str(claim), METHOD, over, solvers=said, assumptions=(*_trusted(claim, question), *alone), seconds=spent
    )


def _trusted(claim: Claim, question: Question) -> tuple[str, ...]:
    """What a proof rests on besides the solvers."""
    trusted = ["the solvers' circuits compute what the reference arithmetic does (tests/prove/test_terms.py)"]
    if not isinstance(claim.subject, Values):
        trusted.append(
            "rounding is monotone and commutes with negation; with subnormals, differences tell apart (prove.facts)"
        )
    if question.enclosed:
        trusted.append("exp is monotone and lies within the staircases computed for it")
    return tuple(trusted)


def _refute(
    claim: Claim,
    format: AnyFormat,
    question: Question,
    found: Reply,
    said: tuple[str, ...],
    disputed: bool,
    limits: Limits,
    start: float,
) -> Verdict:
    """A counterexample counts when the fractions confirm it, whoever else disagreed."""
    codes = codes_of(question, found)
    if not fails(claim, codes):
        spent = time.perf_counter() - start
        if question.enclosed:
            reason = "exp, which is only enclosed in a format so wide: the counterexample found is none to exp itself"
        else:
            reason = "a contradiction between a solver and the exact fractions; please report this claim"
        return Unknown(str(claim), METHOD, str(claim.subject), reason, said, seconds=spent)
    smallest, least = smallest_codes(question, codes, found.solver.split()[0])
    if not fails(claim, smallest):  # under an enclosed exp the solver's smallest may be no counterexample
        smallest, least = codes, False
    spent = time.perf_counter() - start
    return refutation(claim, smallest, method=METHOD, solvers=said, seconds=spent, minimal=least)
