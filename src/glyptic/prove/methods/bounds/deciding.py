"""Deciding a claim by bounds: a box on which it is certain is done, another is cut in two at its widest side.

The midpoint of every box that is open is run by the engine, so that what is false is soon seen; a box of one point is decided by
its run. A counterexample is run in exact fractions before it is reported.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from glyptic.numbers import AnyFormat, Codes, Exact, Format
from glyptic.prove.claims.claim import Claim
from glyptic.prove.claims.evaluation import truth
from glyptic.prove.elements.batches import free_names, judge, setting_of_codes
from glyptic.prove.methods.bounds.boxes import BoxSetting, Inexpressible, refusal
from glyptic.prove.verdicts.answers import Proved, Unknown, Vacuous, Verdict, settled
from glyptic.prove.verdicts.assumptions import of_enumeration
from glyptic.prove.verdicts.minimise import fails, refutation, satisfies

METHOD = "bounds"
MOST_BOXES = 20_000_000
CONTRADICTION = "a contradiction between the engine and the exact fractions; please report this claim"
_AT_ONCE = 1 << 13


@settled
def check(claim: Claim, *, seconds: float | None = 60.0, boxes: int = MOST_BOXES) -> Verdict:
    """Decide a claim on values or dense layers, within a number of boxes and seconds of processor time.

    >>> from glyptic.numbers import Fixed
    >>> from glyptic.prove.claims.claim import Claim, Values
    >>> from glyptic.prove.claims.expressions import variables
    >>> x, y = variables("x y")
    >>> print(check(Claim(Values("x y", Fixed(8)), x * x - y <= x * x + 1, requires=y >= 0)))
    Proved: for all x, y in fixed:8, if y ≥ 0: [[x·x] − y] ≤ [[x·x] + 1]
      over x, y in fixed:8
      by bounds: 25,819 boxes
    """
    over, format = str(claim.subject), claim.subject.format
    refused = refusal(claim) or _too_wide(format)
    if refused is not None:
        return Unknown(str(claim), METHOD, over, f"the method: {refused}")
    assert isinstance(format, Format)
    start = time.process_time()
    search = _BoxSearch(claim, boxes, None if seconds is None else start + seconds)
    try:
        found = search.run(format)
    except Inexpressible as error:
        return Unknown(str(claim), METHOD, over, f"the method: {error}")
    spent, by = time.process_time() - start, f"{search.seen:,} boxes"
    about: dict[str, Any] = {"solvers": (by,), "assumptions": _trusted(claim), "seconds": spent}
    if found is not None:
        return _refuted(claim, found, about)
    if search.left:
        limit = f"the limit of {seconds:g} s of processor time" if search.seen < boxes else f"the limit of {boxes:,} boxes"
        return Unknown(str(claim), METHOD, over, limit, (f"{by}, {search.left:,} left",), seconds=spent)
    if search.met is None:
        return Vacuous(str(claim), METHOD, over, str(claim.requires), **about)
    if satisfies(claim, search.met):
        return Proved(str(claim), METHOD, over, **about)
    return Unknown(str(claim), METHOD, over, CONTRADICTION, (by,), seconds=spent)


def _too_wide(format: AnyFormat | None) -> str | None:
    """Why boxes of a format's codes cannot be held in arrays of machine integers, their widths included."""
    if isinstance(format, Exact):
        return "exact rationals have no ends"
    assert isinstance(format, Format)
    return None if format.max_code < 1 << 62 else f"{format} has codes of {format.bits} bits, and boxes are of 63 at most"


def _trusted(claim: Claim) -> tuple[str, ...]:
    return (*of_enumeration(claim, "auto"), "rounding is monotone, so ends lead to ends")


def _refuted(claim: Claim, codes: Codes, about: dict[str, Any]) -> Verdict:
    example = [int(code) for code in codes]
    if fails(claim, example):
        return refutation(claim, example, METHOD, False, **about)
    return Unknown(str(claim), METHOD, str(claim.subject), CONTRADICTION)


@dataclass
class _BoxSearch:
    """Boxes that are open, the last first, and what was seen so far."""

    claim: Claim
    most: int
    deadline: float | None
    seen: int = 0
    met: list[int] | None = None  # values that meet the precondition, by a run
    open: list[tuple[Codes, Codes]] = field(default_factory=list)

    @property
    def left(self) -> int:
        return sum(low.shape[1] for low, _ in self.open)

    def run(self, format: Format) -> Codes | None:
        """A counterexample; None if there is none, or if the limits were met, with boxes left."""
        free = len(free_names(self.claim))
        self.open = [tuple(np.full((free, 1), end, np.int64) for end in (format.min_code, format.max_code))]  # type: ignore[list-item]
        while self.open:
            if self.seen >= self.most or (self.deadline is not None and time.process_time() > self.deadline):
                return None
            low, high = self.open.pop()
            self.seen += low.shape[1]
            undecided = self._undecided(low, high)
            low, high = low[:, undecided], high[:, undecided]
            if low.shape[1]:
                found = self._tried((low + high) // 2)
                if found is not None:
                    return found
                wide = (low < high).any(axis=0)  # a point was decided by its run
                self.open += _halves(low[:, wide], high[:, wide])
        return None

    def _undecided(self, low: Codes, high: Codes) -> np.ndarray:
        """The boxes on which the claim is not certain, or, as long as nothing is known to meet it, the precondition is not."""
        setting = BoxSetting(self.claim, low, high)
        given, good = truth(self.claim.requires, setting).true, truth(self.claim.ensures, setting).true  # type: ignore[arg-type]
        sought = good if self.claim.quantifier == "some" else setting.negation(good)
        return given.possible & (sought.possible | (self.met is None))

    def _tried(self, points: Codes) -> Codes | None:
        """A counterexample among some points, run by the engine."""
        satisfying, failing = judge(self.claim, setting_of_codes(self.claim, points))
        if self.met is None and satisfying.any():
            self.met = [int(code) for code in points[:, int(np.argmax(satisfying))]]
        return points[:, int(np.argmax(failing))] if failing.any() else None


def _halves(low: Codes, high: Codes) -> Iterator[tuple[Codes, Codes]]:
    """Every box cut at the middle of its widest side, some at a time."""
    if not low.shape[1]:
        return
    each = np.arange(low.shape[1])
    side = np.argmax(high - low, axis=0)
    middle = (low[side, each] + high[side, each]) // 2
    below, above = high.copy(), low.copy()
    below[side, each], above[side, each] = middle, middle + 1
    lows, highs = np.concatenate([low, above], axis=1), np.concatenate([below, high], axis=1)
    for first in range(0, lows.shape[1], _AT_ONCE):
        yield lows[:, first : first + _AT_ONCE], highs[:, first : first + _AT_ONCE]
