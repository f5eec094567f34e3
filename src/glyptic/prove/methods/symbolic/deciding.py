"""Deciding a claim on inputs by decision diagrams: how many inputs break it, exactly, and the smallest of them.

No solver is asked and no input is run, but for some that are put into the diagrams and into an engine: they must agree. A
counterexample is run in exact fractions before it is reported.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from glyptic.numbers import Exact
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.elements.batches import judge, setting_of_visit, walk_of
from glyptic.prove.elements.counting import describe
from glyptic.prove.elements.trie import whole_visit
from glyptic.prove.methods.symbolic.diagrams import MOST_NODES, Diagrams, TooLarge
from glyptic.prove.methods.symbolic.inputs import Inexpressible, OfLength, conditions
from glyptic.prove.verdicts.answers import Proved, Refuted, Unknown, Vacuous, Verdict, settled
from glyptic.prove.verdicts.assumptions import of_meaning
from glyptic.prove.verdicts.minimise import run_again

METHOD = "symbolic"
_TRIED_LENGTHS, _TRIED = 6, 24  # inputs run beside the diagrams, of each of some lengths
_IN_FRACTIONS, _SHORT = 4, 8  # of the shortest length, by the reference, if it is short


@settled
def check(claim: Claim, *, seconds: float | None = None, nodes: int = MOST_NODES) -> Verdict:
    """Decide a claim on inputs, within a number of nodes and seconds of processor time.

    >>> from glyptic.programs import by_name
    >>> from glyptic.numbers import Fixed
    >>> from glyptic.prove.questions import decisiveness
    >>> print(check(decisiveness(by_name("parity:32", Fixed(6)))))
    Proved: decisive: for all inputs of length 1 to 32 of parity:32 in fixed:6: answer ≠ TIE ∧ answer ≠ UNDEFINED
      over all 8,589,934,590 inputs of length 1 to 32 of parity:32 in fixed:6, over 0 1
      by symbolic: decision diagrams of 13,220 nodes
    """
    refused = reason_against(claim)
    if refused is not None:
        return Unknown(str(claim), METHOD, str(claim.subject), f"the method: {refused}")
    assert isinstance(claim.subject, Inputs)
    start = time.perf_counter()
    diagrams = Diagrams(len(claim.subject.vocabulary), nodes, seconds)
    try:
        found = conditions(claim, diagrams)
        return _DiagrammedClaim(claim, diagrams, found, start).verdict()
    except (Inexpressible, TooLarge) as error:
        reason = str(error)
    except RecursionError:
        reason = "the length of the inputs"
    return Unknown(str(claim), METHOD, describe(claim), reason, seconds=time.perf_counter() - start)


def reason_against(claim: Claim) -> str | None:
    """Why a claim cannot be decided in this way, if that is plain from the claim."""
    subject = claim.subject
    if not isinstance(subject, Inputs):
        return "values are not tokens; they are enumerated or put to solvers"
    if isinstance(subject.format, Exact):
        return "exact rationals have no codes"
    if subject.endless:
        return "inputs of every length are infinitely many; method='states' decides them"
    if any(step > 1 for step in subject.steps[subject.min_length - 1 :]):
        return "chains of thought of several steps are enumerated"
    if any(transformer.options.products == "unrounded" for transformer in subject.transformers.values()):
        return "options.products is 'unrounded', which is enumerated"
    return None


@dataclass(frozen=True)
class _DiagrammedClaim:
    claim: Claim
    diagrams: Diagrams
    lengths: list[OfLength]
    start: float

    def verdict(self) -> Verdict:
        satisfying = sum(self.diagrams.count(one.given, one.length) for one in self.lengths)
        failures = sum(self.diagrams.count(one.failing, one.length) for one in self.lengths)
        by = (f"decision diagrams of {self.diagrams.size:,} nodes",)
        about: dict[str, Any] = {"solvers": by, "assumptions": self._trusted, "seconds": time.perf_counter() - self.start}
        text, over = str(self.claim), describe(self.claim)
        if failures:
            return self._refuted(over, {**about, "failures": failures, "satisfying": satisfying})
        wrong = self._disagreement()
        if wrong is not None:
            return Unknown(text, METHOD, over, f"a fault in the diagrams: {wrong}; please report this claim")
        if not satisfying:
            return Vacuous(text, METHOD, over, str(self.claim.requires), **about)
        assert isinstance(self.claim.subject, Inputs)
        some = None if satisfying == self.claim.subject.count else satisfying
        return Proved(text, METHOD, over, satisfying=some, **about)

    def _refuted(self, over: str, about: dict[str, Any]) -> Verdict:
        shortest = next(one for one in self.lengths if one.failing is not False)
        tokens = self.diagrams.first(shortest.failing, shortest.length)
        assert tokens is not None
        broken, example = run_again(self.claim, tokens)
        if not broken:
            reason = "a contradiction between the diagrams and the exact fractions; please report this claim"
            return Unknown(str(self.claim), METHOD, over, reason, (str(example),))
        return Refuted(str(self.claim), METHOD, over, example, **about)

    def _disagreement(self) -> str | None:
        """An input at which a run says something else than the diagrams, among some of several lengths."""
        assert isinstance(self.claim.subject, Inputs)
        chance = random.Random(len(self.lengths))
        step = max(1, len(self.lengths) // _TRIED_LENGTHS)
        tried = [(one, "auto", _TRIED) for one in (*self.lengths[::step], self.lengths[-1])]
        tried += [(one, "reference", _IN_FRACTIONS) for one in self.lengths[:1] if one.length <= _SHORT]
        for one, engine, size in tried:
            walk = walk_of(self.claim, engine)  # type: ignore[arg-type]
            rows = [[chance.randrange(self.diagrams.vocabulary) for _ in range(one.length)] for _ in range(size)]
            said = judge(self.claim, setting_of_visit(walk, whole_visit(walk, np.array(rows).T)))
            for item, row in enumerate(rows):
                if [bool(part[item]) for part in said] != [self.diagrams.at(x, row) for x in (one.given, one.failing)]:
                    words = " ".join(self.claim.subject.vocabulary[token] for token in row)
                    return f"a run differs from them at the input {words}"
        return None

    @property
    def _trusted(self) -> tuple[str, ...]:
        return (*of_meaning(self.claim), "the diagrams' operations do at every input what the reference does at one")
