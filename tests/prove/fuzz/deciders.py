"""One claim, decided in every way there is, and by check.py, which shares no code with any of them: they must agree."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from tests.prove.fuzz.claims import MOST_ELEMENTS

from glyptic.numbers.hosts import refusal
from glyptic.prove.checking import check as decide
from glyptic.prove.claims.claim import Claim, Inputs, Values
from glyptic.prove.elements.batches import judge, setting_of_codes
from glyptic.prove.exporting.standalone.checker import elements as walking
from glyptic.prove.exporting.standalone.checker.claims import Claim as OurClaim
from glyptic.prove.exporting.standalone.checker.claims import nodes, read_claim
from glyptic.prove.exporting.standalone.checker.examples import check_example, shown
from glyptic.prove.exporting.standalone.checker.numbers import Format, constant
from glyptic.prove.exporting.standalone.checker.report import Report
from glyptic.prove.exporting.standalone.checker.verdict import check_against_walk
from glyptic.prove.exporting.standalone.checker.words import said as in_words
from glyptic.prove.methods import smt
from glyptic.prove.portable.claims import claim_to_json
from glyptic.prove.verdicts.answers import Refuted, Unknown, Verdict

SECONDS = 2.0  # for each question to a solver
POINTS = 60  # tried of a claim that is too large to be walked through


@dataclass
class Findings:
    """What is wrong, if anything, and what each way of deciding said."""

    wrong: list[str] = field(default_factory=list)
    said: Counter[str] = field(default_factory=Counter)


# Both engines; the solvers as they are asked; one solver alone; diagrams over tokens; boxes of values.
WAYS = ("reference", "fast", "smt", "z3", "symbolic", "bounds")


def compare(claim: Claim, seconds: float = SECONDS, points: int = POINTS, ways: tuple[str, ...] = WAYS) -> Findings:
    """Decide a claim in all ways; whatever differs, and whatever breaks, is a finding."""
    findings = Findings()
    ours = read_claim(json.loads(json.dumps(claim_to_json(claim))))
    small = walking.count(ours) <= MOST_ELEMENTS
    tally = walking.walk(ours, MOST_ELEMENTS) if small else None
    if not small:
        findings.wrong += list(_differing_points(claim, ours, points))
    for way in ways:
        if (way in ("reference", "fast") and not small) or (way in ("smt", "z3") and isinstance(claim.subject, Inputs)):
            continue
        try:
            verdict = _decided(claim, way, seconds)
        except Exception as error:  # a crash is a finding
            findings.wrong.append(f"{way} broke: {type(error).__name__}: {error}")
            continue
        if verdict is None:
            continue
        findings.said[f"{way} {type(verdict).__name__}"] += 1
        if isinstance(verdict, Unknown) and not _may_be_open(verdict):
            findings.wrong.append(f"{way}: {verdict.reason}")
        findings.wrong += [f"{way}: {text}" for text in _against(ours, verdict, tally, points)]
    return findings


def _decided(claim: Claim, way: str, seconds: float) -> Verdict | None:
    format: Any = claim.subject.format
    if way == "smt":
        return decide(claim, method="smt", seconds=seconds)
    if way in ("symbolic", "bounds"):  # what these decide, they decide at once
        return decide(claim, method=way, seconds=seconds / 8)  # type: ignore[arg-type]
    if way == "z3":
        return smt.check(claim, format, seconds=seconds, solvers=["z3"])
    if way == "fast" and any(refusal(format, fused) is not None for fused in _fused(claim)):
        return None
    return decide(claim, method="enumerate", engine=way, workers=1, count_all=True, progress=False)  # type: ignore[arg-type]


def _fused(claim: Claim) -> set[bool]:
    if isinstance(claim.subject, Values):
        return {False}
    return {t.options.products == "fused" for t in claim.subject.transformers.values()}


def _may_be_open(verdict: Unknown) -> bool:
    """Time, memory, what terms do not cover, and an exp that is only enclosed leave a claim open; a contradiction does not."""
    return not any(word in verdict.reason for word in ("contradiction", "fault"))


def _against(ours: OurClaim, verdict: Verdict, tally: walking.Tally | None, points: int) -> Iterator[str]:
    """What speaks against a verdict: all elements where they are few, some of them and the counterexample where they are many."""
    said = type(verdict).__name__
    if isinstance(verdict, Unknown):
        return
    data = json.loads(json.dumps(verdict.__dict__, default=lambda x: x.__dict__))
    report = Report()
    element = check_example(ours, {"answer": said, **data}, report)
    if tally is None:
        yield from (line for line in report.lines if line.startswith("CONTRADICTED"))
        some = ours.quantifier == "some"
        for candidate in points_of(ours, points):
            meets, true = walking.judge(ours, candidate)
            hit = meets and (true is True) == some
            if (said == "Vacuous" and meets) or (hit and said == ("Refuted" if some else "Proved")):
                yield f"{said}, but at {shown(ours, candidate)} the claim comes out {true}"
                return
        return
    if walking.answer(ours, tally) != said:
        yield f"{said}, and check.py says {walking.answer(ours, tally)}, first {tally.first}"
        return
    check_against_walk(ours, {"answer": said, **data}, tally, element, report, all_judged=False)
    yield from (line for line in report.lines if line.startswith("CONTRADICTED"))


def points_of(ours: OurClaim, size: int) -> Iterator[tuple[Any, ...]]:
    """Random and adversarial elements: the claim's own constants, the ends of the format, both sides of 0, of 1 and of what exp
    tells apart, and any."""
    yield from walking.sample(ours, size, seed=len(in_words(ours.ensures)))
    if ours.kind == "inputs":
        return
    rng = random.Random(size)
    first, last = ours.format.codes()
    said = [node["number"] for side in (ours.requires, ours.ensures) for node in nodes(side) if "number" in node]
    named = [ours.format.code(constant(number, ours.format)) for number in said]
    free = walking.free_names(ours)
    yield from product(*[named] * len(free)) if len(named) ** len(free) <= size else ()
    edges = [code for edge in named + _edges(ours.format) for code in (edge - 1, edge, edge + 1) if first <= code <= last]
    for _ in range(size):
        yield tuple(rng.choice(edges) for _ in free)


@lru_cache
def _edges(format: Format) -> list[int]:
    """Codes where exp begins to be more than 0, reaches 1, and reaches B; and powers of two."""
    first, last = format.codes()

    def first_code(holds: Any) -> int:
        low, high = first, last
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if holds(format.exp(format.units(middle))) else (middle + 1, high)
        return low

    found = [first_code(lambda y, level=level: y >= level) for level in (1, format.one(), format.top)]
    powers = [format.code(format.rounded(1 << k)) for k in range(format.top.bit_length())]
    return found + powers + [-power for power in powers]


def _differing_points(claim: Claim, ours: OurClaim, size: int) -> Iterator[str]:
    """Elements of which the engines and check.py judge differently."""
    if isinstance(claim.subject, Inputs):
        return
    elements = list(points_of(ours, size // 2))
    codes = np.array(elements, np.int64).T
    for engine in ("reference", "auto"):
        satisfying, failing = judge(claim, setting_of_codes(claim, codes, engine))  # type: ignore[arg-type]
        for element, meets, fails in zip(elements, satisfying, failing, strict=True):
            our_meets, true = walking.judge(ours, element)
            found = our_meets and (true is True) == (claim.quantifier == "some")
            if (bool(meets), bool(fails)) != (our_meets, found):
                yield f"engine {engine} at {element}: meets {meets}, fails {fails}; check.py: {our_meets}, {true}"
                return


__all__ = ["Findings", "Refuted", "compare", "points_of"]
