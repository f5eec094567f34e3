"""A solver asked with the help of lemmas: what it leaves open as one question is swept (`sweeping`), every lemma its own word."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from glyptic.numbers import Format
from glyptic.prove.claims.claim import Claim
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.agreement import points
from glyptic.prove.methods.smt.bits import Bits
from glyptic.prove.methods.smt.questions import Question
from glyptic.prove.methods.smt.solvers import Reply, SolverLimits, ask, processor_clock, together
from glyptic.prove.methods.smt.sweeping import LemmaSweep

_DIRECT = 2.0  # seconds for a question as a whole, before it is taken apart
_PATIENCE = 4  # how many times the limit of one question all its lemmas may take together


@dataclass(frozen=True)
class Lemmas:
    """The questions that a claim comes to, by their scripts."""

    claim: Claim
    question: Question
    conditions: Mapping[str, Sequence[Bits]]

    def asked(self, solver: str, scripts: Sequence[str], limits: SolverLimits) -> Reply:
        """One reply to several scripts, as `solvers.ask_each` gives it."""
        return together(self._replies(solver, scripts, limits))

    def _replies(self, solver: str, scripts: Sequence[str], limits: SolverLimits) -> Iterator[Reply]:
        """Each as a whole, within a short time; by lemmas that are near at hand; by all; as a whole, within the limit."""
        short = limits if limits.seconds is None else replace(limits, seconds=min(limits.seconds, _DIRECT))
        proofs = _Proofs(solver, limits)
        sweeps = [] if self._points is None else [self._sweep(proofs, self._points, thorough) for thorough in (False, True)]
        for script in scripts:
            reply = ask(solver, script, short)
            if reply.status == "unknown" and sweeps:
                before, start = proofs.said["unsat"], proofs.watch.seconds
                with proofs.watch:
                    refuted = any(sweep.refutes(self.conditions[script]) for sweep in sweeps)
                if refuted:
                    number, seconds = max(1, proofs.said["unsat"] - before), proofs.watch.seconds - start
                    reply = replace(reply, status="unsat", seconds=seconds, reason=f"by {number} lemmas")
            yield ask(solver, script, limits) if reply.status == "unknown" and limits != short else reply

    def _sweep(self, proofs: _Proofs, values: Mapping[str, np.ndarray], thorough: bool = True) -> LemmaSweep:
        format = self.claim.subject.format
        assert isinstance(format, Format)
        ends = format.min_code, format.max_code
        given = [*self.question.domain, self.question.given]
        return LemmaSweep(self.question.results, given, values, ends, proofs.ask, proofs.over, thorough=thorough)

    @cached_property
    def _points(self) -> Mapping[str, np.ndarray] | None:
        """Points that meet the precondition, if any are known."""
        values = points(self.claim, self.question) if self.question.results else None
        if values is None or not values:
            return None
        size = len(next(iter(values.values())))
        met = np.broadcast_to(np.asarray(bits.compute([self.question.given], values)[0], bool), (size,))
        return {name: some[met] for name, some in values.items()} if met.any() else None


class _Watch:
    """The processor time of this thread inside `with`, in all."""

    def __init__(self) -> None:
        self._clock, self._before = processor_clock(), 0.0
        self._since: float | None = None

    def __enter__(self) -> None:
        self._since = self._clock()

    def __exit__(self, *_: object) -> None:
        self._before, self._since = self.seconds, None

    @property
    def seconds(self) -> float:
        return self._before + (0.0 if self._since is None else self._clock() - self._since)


@dataclass
class _Proofs:
    """What one solver has said; the same question under other names is asked once.

    It is the same if its text is, with the variables called by their order: sorts and widths are part of the text.
    """

    solver: str
    limits: SolverLimits
    said: Counter[str] = field(default_factory=Counter)
    watch: _Watch = field(default_factory=_Watch)  # of the sweeps: what they do themselves takes time as well
    _known: dict[str, Reply] = field(default_factory=dict)
    _spent: float = 0.0

    def ask(self, conditions: Sequence[Bits], seconds: float) -> Reply:
        """What it says of conditions; unknown at once where all lemmas together have had their time."""
        if bits.FALSE in conditions:
            return Reply(self.solver, "unsat")
        script, names = _renamed(bits.script(conditions))
        reply = self._known.get(script)
        if reply is None:
            if self._is_over(self._spent):
                return Reply(self.solver, "unknown", reason=self.limits.of_time)
            reply = ask(self.solver, script, replace(self.limits, seconds=seconds))
            self._spent += reply.seconds
            self._known |= {script: reply} if reply.status in ("sat", "unsat") else {}
        self.said[reply.status] += 1
        return replace(reply, model={name: reply.model[new] for name, new in names.items() if new in reply.model})

    def over(self) -> bool:
        """Whether all lemmas together have had their time, the solver's (which may be another process's) or ours."""
        return self._is_over(max(self._spent, self.watch.seconds))

    def _is_over(self, seconds: float) -> bool:
        return self.limits.seconds is not None and seconds > _PATIENCE * self.limits.seconds


def _renamed(script: str) -> tuple[str, dict[str, str]]:
    """The variables called by their order, and what each is called.

    >>> _renamed("(assert (= |v3| |cut.0|)) (assert (= |v3| |v1|))")
    ('(assert (= |x0| |x1|)) (assert (= |x0| |x2|))', {'v3': 'x0', 'cut.0': 'x1', 'v1': 'x2'})
    """
    names: dict[str, str] = {}
    text = re.sub(r"\|([^|]*)\|", lambda found: f"|{names.setdefault(found[1], f'x{len(names)}')}|", script)
    return text, names
