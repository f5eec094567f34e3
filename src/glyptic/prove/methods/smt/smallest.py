"""The smallest counterexample, by questions with ever tighter bounds: in the order that enumeration uses (`codes_size`).

First the least sum of distances from 0, in ranks; then each value in turn as near to 0 as it can be, and positive if it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits, constant
from glyptic.prove.methods.smt.questions import Question
from glyptic.prove.methods.smt.solvers import Reply, SolverLimits, ask

CodesFound = tuple[int, ...]
SECONDS = 20.0  # of processor time, at most, whatever else the caller allows: a small counterexample is as good as the smallest


def codes_of(question: Question, reply: Reply) -> CodesFound:
    """The free codes of a model, signed; a solver may leave out what does not matter."""
    unsigned = [reply.model.get(name, 0) for name in question.names]
    return tuple(code - ((code >> (question.width - 1)) << question.width) for code in unsigned)


def smallest_codes(
    question: Question,
    found: CodesFound,
    solver: str,
    limits: SolverLimits = SolverLimits(),  # noqa: B008 (a frozen value)
) -> tuple[CodesFound, bool]:
    """The smallest counterexample below one that was found, and whether it is certain that there is no smaller."""
    seconds = SECONDS if limits.seconds is None else min(SECONDS, limits.seconds)
    search = _SmallestSearch(question, solver, seconds, limits.megabytes, list(question.failing))
    variables = [bits.variable(name, question.width) for name in question.names]
    distances = [_distance(code, question.width + len(variables).bit_length()) for code in variables]
    best = search.lower(found, reduce(bits.add, distances), lambda codes: sum(map(abs, codes)))
    for k, (code, distance) in enumerate(zip(variables, distances, strict=True)):
        best = search.lower(best, distance, lambda codes, k=k: abs(codes[k]))  # type: ignore[misc]
        best = search.prefer(best, bits.opposite(bits.less(code, constant(0, code.width))), best[k] >= 0)
    return best, search.certain


@dataclass
class _SmallestSearch:
    """A solver, what it must respect so far, and the processor time that it has left."""

    question: Question
    solver: str
    left: float
    megabytes: int | None
    fixed: list[Bits] = field(default_factory=list)
    certain: bool = True

    def another(self, condition: Bits) -> CodesFound | None:
        """A counterexample that meets one condition more; None if there is none, or if the time is over."""
        if self.left <= 0 or not self.certain:
            self.certain = False
            return None
        reply = ask(self.solver, bits.script([*self.fixed, condition]), SolverLimits(self.left, self.megabytes))
        self.left -= reply.seconds
        self.certain = reply.status in ("sat", "unsat")
        return codes_of(self.question, reply) if reply.status == "sat" else None

    def lower(self, best: CodesFound, measure: Bits, measured: Callable[[CodesFound], int]) -> CodesFound:
        """The least value of a measure, by halving; it is then fixed."""
        low = 0
        while self.certain and low < measured(best):
            middle = (low + measured(best)) // 2
            smaller = self.another(bits.below(measure, constant(middle + 1, measure.width)))
            if smaller is None:
                low = middle + 1
            else:
                best = smaller
        self.fixed.append(bits.equal(measure, constant(measured(best), measure.width)))
        return best

    def prefer(self, best: CodesFound, condition: Bits, holds: bool) -> CodesFound:
        """The condition met, if it can be; what is then the case is fixed."""
        preferred = best if holds else self.another(condition)
        self.fixed.append(condition if preferred is not None else bits.opposite(condition))
        return best if preferred is None else preferred


def _distance(code: Bits, width: int) -> Bits:
    wide = bits.widen_signed(code, width)
    return bits.choose(bits.less(wide, constant(0, width)), bits.negate(wide), wide)
