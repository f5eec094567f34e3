"""Deciding a claim on free values by solvers: bitwuzla first, z3 as the second opinion.

A proof counts when both find no counterexample; if only one could say, the answer says so. A counterexample is brought to the
smallest there is by further questions, run again in exact fractions, and only then reported.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import reduce

from glyptic.numbers import AnyFormat, Exact
from glyptic.prove import bits
from glyptic.prove.answers import Proved, Unknown, Vacuous, Verdict
from glyptic.prove.bits import Bits, constant
from glyptic.prove.claims import Claim, Inputs
from glyptic.prove.minimise import fails, refutation
from glyptic.prove.questions import Question, pose
from glyptic.prove.solvers import SOLVERS, Limits, Reply, ask
from glyptic.prove.terms import Inexpressible

METHOD = "smt"
_MINIMISING_SECONDS = 20.0


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
    h = 1/256, t = -65535/256: [h + [t − h]] is -65279/256, t is -65535/256
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
    text, replies = bits.script(_failing(question)), []
    for solver in solvers:
        replies.append(ask(solver, text, limits))
        if replies[-1].status == "sat":
            break
    return replies


def _failing(question: Question) -> list[Bits]:
    return [*question.domain, question.given, bits.opposite(question.good)]


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
    trust = ("the solvers' answers; the terms agree with the reference arithmetic, as tests/prove/test_terms.py checks",)
    return Proved(str(claim), METHOD, over, solvers=said, assumptions=(*trust, *alone), seconds=spent)


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
            reason = "exp: it is only enclosed in a format of this width, and the counterexample to the enclosure is none to exp itself"
        else:
            reason = "a contradiction between a solver and the exact fractions; please report this claim"
        return Unknown(str(claim), METHOD, str(claim.subject), reason, said, seconds=spent)
    smallest, least = smallest_codes(question, codes, found.solver.split()[0])
    if not fails(claim, smallest):  # under an enclosed exp the solver's smallest may be no counterexample
        smallest, least = codes, False
    spent = time.perf_counter() - start
    return refutation(claim, smallest, method=METHOD, solvers=said, seconds=spent, minimal=least)


def codes_of(question: Question, reply: Reply) -> tuple[int, ...]:
    """The free codes of a model, signed; a solver may leave out what does not matter."""
    unsigned = [reply.model.get(name, 0) for name in question.names]
    return tuple(code - ((code >> (question.width - 1)) << question.width) for code in unsigned)


# The smallest counterexample ---------------------------------------------------------------------------------------------------


def smallest_codes(question: Question, codes: tuple[int, ...], solver: str) -> tuple[tuple[int, ...], bool]:
    """The counterexample with the least sum of distances from 0 (in ranks), then the least one by one; and whether that is certain.

    The order is that of enumeration (`units.codes_size`); every step is a question to the solver with a tighter bound.
    """
    deadline = time.perf_counter() + _MINIMISING_SECONDS
    wide = question.width + len(codes).bit_length()
    distances = [_distance(bits.variable(name, question.width), wide) for name in question.names]
    fixed: list[Bits] = [*_failing(question)]
    best, certain = codes, True
    for number, measure in enumerate([reduce(bits.add, distances), *distances]):
        measured = (lambda c: sum(map(abs, c))) if number == 0 else (lambda c, k=number - 1: abs(c[k]))
        best, sure = _lower(question, fixed, measure, measured, best, solver, deadline)
        certain = certain and sure
        fixed.append(bits.equal(measure, constant(measured(best), wide)))
    return _positive_first(question, fixed, best, solver, deadline), certain


def _lower(question: Question, fixed: list[Bits], measure: Bits, measured, best, solver: str, deadline: float):  # type: ignore[no-untyped-def]
    """Halve the distance to the least value of a measure; each model found may jump further down."""
    low = 0
    while low < measured(best):
        left = deadline - time.perf_counter()
        if left <= 0:
            return best, False
        middle = (low + measured(best)) // 2
        bound = bits.below(measure, constant(middle + 1, measure.width))
        reply = ask(solver, bits.script([*fixed, bound]), Limits(left, None))
        if reply.status == "sat":
            best = codes_of(question, reply)
        elif reply.status == "unsat":
            low = middle + 1
        else:
            return best, False
    return best, True


def _positive_first(
    question: Question, fixed: list[Bits], best: tuple[int, ...], solver: str, deadline: float
) -> tuple[int, ...]:
    """Of codes that differ only in sign, those that are positive first."""
    fixed = list(fixed)
    for k, name in enumerate(question.names):
        positive = bits.opposite(bits.less(bits.variable(name, question.width), constant(0, question.width)))
        left = deadline - time.perf_counter()
        if best[k] < 0 and left > 0:
            reply = ask(solver, bits.script([*fixed, positive]), Limits(left, None))
            best = codes_of(question, reply) if reply.status == "sat" else best
        fixed.append(positive if best[k] >= 0 else bits.opposite(positive))
    return best


def _distance(code: Bits, width: int) -> Bits:
    wide = bits.widen_signed(code, width)
    return bits.choose(bits.less(wide, constant(0, width)), bits.negate(wide), wide)
