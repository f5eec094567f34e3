"""Deciding a claim on free values by solvers: bitwuzla, z3 as the second opinion, cvc5 where one of them cannot say.

A proof counts when two find no counterexample; if only one could say, or if the terms had become `false` before any was asked,
the answer says so. The terms themselves are tried against runs of the engines first (`agreement`). And some values must be known
to meet the precondition: one example is enough, run in exact fractions. A counterexample is brought to the smallest there is by
further questions, run again in fractions, and only then reported.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from glyptic.extras import advice
from glyptic.numbers import AnyFormat, Exact
from glyptic.prove.claims.claim import Claim, Inputs, Layers
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.agreement import disagreement
from glyptic.prove.methods.smt.bits import Bits
from glyptic.prove.methods.smt.lemmas import Lemmas
from glyptic.prove.methods.smt.questions import Question, Rules, pose
from glyptic.prove.methods.smt.smallest import codes_of, smallest_codes
from glyptic.prove.methods.smt.solvers import Reply, SolverLimits, opinions
from glyptic.prove.methods.smt.terms import Inexpressible
from glyptic.prove.verdicts.answers import Proved, Unknown, Vacuous, Verdict, settled
from glyptic.prove.verdicts.assumptions import of_meaning, of_solvers
from glyptic.prove.verdicts.minimise import fails, refutation, satisfies

METHOD = "smt"
SIMPLIFICATION = "simplification"  # who decided where the terms became `false` as they were built


@settled
def check(
    claim: Claim,
    format: AnyFormat,
    *,
    seconds: float | None = 60.0,
    megabytes: int | None = 4096,
    solvers: Sequence[str] | None = None,
    terms: Rules = "simplified",
) -> Verdict:
    """Decide a claim for all values of the format; each solver may take the processor time and memory given, for each question.

    Solvers are asked until two agree; those that are named are all asked. Plain terms are not simplified: slower, and a check
    of what simplifies them.

    >>> from glyptic.numbers import Fixed
    >>> from glyptic.prove.claims.claim import Claim, Values
    >>> from glyptic.prove.claims.expressions import B, variables
    >>> h, t = variables("h t")
    >>> print(check(Claim(Values("h", Fixed(8)), h + B + B - B == 0), Fixed(8)).solvers[0].split(":")[1])
     unsat
    >>> print(check(Claim(Values("h t", Fixed(8)), h + (t - h) == t), Fixed(8)).counterexample)
    h = 1/256, t = -∞: [h + [t − h]] is -32767/128
    """
    over = str(claim.subject)
    if isinstance(claim.subject, Inputs) or isinstance(format, Exact):
        what = "whole inputs are enumerated" if isinstance(claim.subject, Inputs) else "exact rationals have no bits"
        return Unknown(str(claim), METHOD, over, f"the method: {what}, not put to a solver")
    start = time.perf_counter()
    try:
        question = pose(claim, format, terms)
    except Inexpressible as error:
        return Unknown(str(claim), METHOD, over, f"what solvers' terms cover: {error}")
    return _PosedClaim(claim, question, solvers, SolverLimits(seconds, megabytes), start).verdict()


@dataclass(frozen=True)
class _PosedClaim:
    """A claim with its question, and who is asked."""

    claim: Claim
    question: Question
    solvers: Sequence[str] | None
    limits: SolverLimits
    start: float = field(default_factory=time.perf_counter)

    def verdict(self) -> Verdict:
        replies = self._opinions(self.question.failing_parts)
        found = next((reply for reply in replies if reply.status == "sat"), None)
        if found is not None:
            return self._refuted(found, replies)
        if not any(reply.status == "unsat" for reply in replies):
            missing = all(reply.status == "missing" for reply in replies)
            none = f"no solver is installed: {advice('prove')} brings three"
            return self._unknown(none if missing else replies[-1].reason, replies)
        wrong = disagreement(self.claim, self.question)
        if wrong is not None:
            return self._unknown(f"a fault in the solvers' terms: {wrong}; please report this claim", replies)
        return self._proved(replies) if self.question.given is bits.TRUE else self._proved_if_met(replies)

    def _opinions(self, questions: list[list[Bits]]) -> list[Reply]:
        """What the solvers say of some questions together; none is asked where all became `false` as they were built."""
        left = [conditions for conditions in questions if bits.FALSE not in conditions]
        if not left:
            return [Reply(SIMPLIFICATION, "unsat")]
        scripts = [bits.script(conditions) for conditions in left]
        if self.question.rules == "plain" and isinstance(self.claim.subject, Layers):
            lemmas = Lemmas(self.claim, self.question, dict(zip(scripts, left, strict=True)))
            return opinions(scripts, self.limits, self.solvers, lemmas.asked)
        return opinions(scripts, self.limits, self.solvers)

    def _proved(self, replies: list[Reply]) -> Proved:
        said, trusted = tuple(map(_said, replies)), self._trusted(replies)
        about = {"solvers": said, "assumptions": trusted, "seconds": self._spent}
        return Proved(str(self.claim), METHOD, str(self.claim.subject), **about)  # type: ignore[arg-type]

    def _proved_if_met(self, replies: list[Reply]) -> Verdict:
        """No counterexample: the claim is proved if its precondition can be met, vacuous if not, and open if nobody knows."""
        met = self._opinions([[*self.question.domain, self.question.given]])
        if met[-1].status == "sat" and satisfies(self.claim, codes_of(self.question, met[-1])):
            return self._proved(replies)
        tried = [f"the precondition: {_said(reply)}" for reply in met]
        if met[-1].status != "sat" and any(reply.status == "unsat" for reply in met):
            over, requires = str(self.claim.subject), str(self.claim.requires)
            about = {"solvers": tuple(tried), "assumptions": self._trusted(met), "seconds": self._spent}
            return Vacuous(str(self.claim), METHOD, over, requires, **about)  # type: ignore[arg-type]
        reason = "the precondition: no counterexample exists, but no values are known that meet it"
        return self._unknown(reason, [*replies, *tried])

    def _refuted(self, found: Reply, replies: list[Reply]) -> Verdict:
        """A counterexample counts when the fractions confirm it, whoever else disagreed."""
        codes = codes_of(self.question, found)
        if not fails(self.claim, codes):
            if self.question.exps:
                return self._unknown(
                    f"{self._enclosed}, which is only enclosed in a format so wide: the counterexample found is none to "
                    f"{self._enclosed} itself",
                    replies,
                )
            return self._unknown(
                "a contradiction between a solver and the exact fractions; please report this claim", replies
            )
        solver = found.solver.split()[0]
        smallest, least = smallest_codes(self.question, codes, solver, self.limits)
        if not fails(self.claim, smallest):  # under an enclosed exp the solver's smallest may be no counterexample
            smallest, least = codes, False
        alone = (f"that there is nothing smaller is {solver}'s word alone",) if least else ()
        said, trusted = tuple(map(_said, replies)), (*of_meaning(self.claim), *alone)
        return refutation(self.claim, smallest, METHOD, least, solvers=said, assumptions=trusted, seconds=self._spent)

    def _unknown(self, reason: str, tried: Sequence[object]) -> Unknown:
        about = (str(self.claim), METHOD, str(self.claim.subject), reason, tuple(map(str, tried)))
        return Unknown(*about, seconds=self._spent)

    def _trusted(self, replies: list[Reply]) -> tuple[str, ...]:
        agreed = [reply.solver for reply in replies if reply.status == "unsat"]
        alone: tuple[str, ...] = ()
        if agreed == [SIMPLIFICATION]:
            folded = "constants and equal parts are folded rightly"
            known = "terms are simplified rightly by what is known of rounding (terms='plain' does without)"
            alone = (f"{folded if self.question.rules == 'plain' else known}: no solver was asked",)
        elif len(agreed) == 1:
            alone = (f"one solver's word, {agreed[0]}: no second agreed",)
        return (*of_solvers(self.claim, self._enclosed), *alone)

    @property
    def _enclosed(self) -> str:
        """The functions that are only enclosed, by name."""
        return ", ".join(dict.fromkeys(function for _, _, function in self.question.exps))

    @property
    def _spent(self) -> float:
        return time.perf_counter() - self.start


def _said(reply: Reply) -> str:
    return f"{SIMPLIFICATION}, no solver was asked" if reply.solver == SIMPLIFICATION else str(reply)
