"""Every construction's theorem, in every format of a list, by solvers: what `glyptic prove --library` runs and prints."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glyptic.carve import FactError
from glyptic.errors import InputError
from glyptic.files import KeptFile
from glyptic.numbers import Format, Products, parse_format
from glyptic.parallel import gather
from glyptic.prove.methods import smt
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.questions import Rules, pose
from glyptic.prove.verdicts.answers import Proved, Refuted, Unknown, Verdict, verdict_from_json, verdict_to_json
from glyptic.text import table as text_table
from glyptic.theorems.deciders import DECIDERS
from glyptic.theorems.primitives import PRIMITIVES
from glyptic.theorems.theorem import Theorem

THEOREMS: tuple[Theorem, ...] = (*PRIMITIVES, *DECIDERS)
FIXED = tuple(f"fixed:{s}" for s in range(2, 9))
FLOATS = ("float:1,2", "float:2,2", "float:3,3", "fp8_e4m3", "fp8_e5m2", "fp16", "bf16")
OTHERS = ("fixed:4/even", "float:2,2/even", "fixed:4 fused", "float:2,2 fused")
SCOPES = (*FIXED, *FLOATS, *OTHERS)  # a format, and how products are read


@dataclass(frozen=True)
class Row:
    """A theorem in a scope: what came of it."""

    theorem: str
    says: str
    scope: str
    verdict: Verdict | None  # None: the construction is refused there
    refusal: str = ""
    seconds: float = 0.0

    @property
    def mark(self) -> str:
        """One of those that the legend explains."""
        match self.verdict:
            case None:
                return "–"
            case Proved(solvers=solvers):
                agreed = sum(": unsat" in said for said in solvers)
                return "✓s" if not agreed else "✓1" if agreed == 1 else "✓"
        return "✗" if isinstance(self.verdict, Refuted) else "?"

    @property
    def good(self) -> bool:
        """Whether nothing is wrong: it is proved, or the construction says itself that it is not for this format."""
        return self.verdict is None or isinstance(self.verdict, Proved)


def read_scope(scope: str) -> tuple[Format, Products]:
    """`fixed:4 fused` as a format and a reading of products."""
    name, _, products = scope.partition(" ")
    format = parse_format(name)
    if not isinstance(format, Format):
        raise InputError(f"{name}: the theorems are about finite formats, which have a largest value B; choose fixed:4.")
    return format, "fused" if products == "fused" else "rounded"


def theorem(name: str) -> Theorem:
    """The theorem of a name."""
    found = next((one for one in THEOREMS if one.name == name), None)
    if found is None:
        raise InputError(f"no theorem {name!r}; there are {'; '.join(one.name for one in THEOREMS)}.")
    return found


@dataclass(frozen=True)
class TheoremJob:
    """A theorem to prove in a scope, and what each solver may take; in plain terms one is asked."""

    theorem: str
    scope: str
    seconds: float | None = 60.0
    megabytes: int | None = 4096
    terms: Rules = "simplified"


def prove(job: TheoremJob) -> Row:
    """One theorem in one scope."""
    one, (format, products), start = theorem(job.theorem), read_scope(job.scope), _processor_time()
    limits: dict[str, Any] = {"seconds": job.seconds, "megabytes": job.megabytes}
    solvers = ("bitwuzla",) if job.terms == "plain" else None  # the simplifier, which it is to confirm, has spoken before
    try:
        verdict = smt.check(one.claim(format, products), format, terms=job.terms, solvers=solvers, **limits)
    except FactError as error:
        return Row(job.theorem, one.says, job.scope, None, str(error))
    return Row(job.theorem, one.says, job.scope, verdict, seconds=_processor_time() - start)


def _processor_time() -> float:
    """Seconds of this process and of those that it has started and seen the end of: solvers may work in their own."""
    return sum(os.times()[:4])


def question_digest(job: TheoremJob) -> str:
    """A fingerprint of what is put to the solvers, whatever they may take: what was found stays found."""
    format, products = read_scope(job.scope)
    try:
        question = pose(theorem(job.theorem).claim(format, products), format, job.terms)
    except FactError as error:
        text = f"refused: {error}"
    else:
        text = bits.script([*question.domain, question.given]) + bits.script(question.failing)
    return hashlib.sha256(f"{job.terms}\n{text}".encode()).hexdigest()


class KeptRows:
    """Rows kept in a file as they come, so that a long run goes on after an interruption, or after a change.

    A row counts again only if the question that was put to the solvers is, letter for letter, the one that would be put now: a
    change of a construction, of its theorem or of how terms are made brings another question, and is proved anew.
    """

    def __init__(self, path: Path) -> None:
        self.file = kept_file(path)

    def find(self, job: TheoremJob) -> Row | None:
        """The row of a job, if it was decided and its question is still the same."""

        def read(data: dict[str, Any]) -> Row:
            verdict = None if data["verdict"] is None else verdict_from_json(data["verdict"])
            return Row(job.theorem, theorem(job.theorem).says, job.scope, verdict, data["refusal"], data["seconds"])

        return self.file.find(self._name(job), lambda: question_digest(job), read)

    def enter(self, job: TheoremJob, row: Row) -> None:
        """Keep a row, unless it was left open."""
        if not isinstance(row.verdict, Unknown):
            verdict = None if row.verdict is None else verdict_to_json(row.verdict)
            about = {"verdict": verdict, "refusal": row.refusal, "seconds": round(row.seconds, 2)}
            self.file.enter(self._name(job), question_digest(job), about)

    def _name(self, job: TheoremJob) -> str:
        return f"{job.theorem} | {job.scope} | {job.terms}"


def kept_file(path: Path) -> KeptFile:
    """The file in which rows, and what came of broken weights, are kept."""
    return KeptFile(path, "rows of the library", {"kind": "glyptic.prove.library", "version": 1})


def prove_all(
    scopes: Sequence[str] = SCOPES,
    names: Sequence[str] | None = None,
    *,
    seconds: float | None = 60.0,
    megabytes: int | None = 4096,
    terms: Rules = "simplified",
    workers: int | None = None,
    kept: Path | None = None,
    progress: bool = True,
) -> list[Row]:
    """All theorems in all scopes, over all cores; each solver may take `seconds` and `megabytes` for one.

    With `kept`, rows are kept in that file as they come, and a run started again goes on from there.

    >>> [row.mark for row in prove_all(["fixed:2"], ["zero.at", "normalize.plus_minus"], workers=1, progress=False)]
    ['✓s', '✓']
    """
    chosen = [one.name for one in THEOREMS] if names is None else [theorem(name).name for name in names]
    jobs = [TheoremJob(name, scope, seconds, megabytes, terms) for scope in scopes for name in chosen]
    store = None if kept is None else KeptRows(kept)
    known = {job: row for job in jobs if store is not None and (row := store.find(job)) is not None}
    about: dict[str, Any] = {"known": known, "keep": store and store.enter, "progress": "theorems" if progress else None}
    rows = gather(prove, {job: (job,) for job in jobs}, workers=workers, **about)
    return [rows[job] for job in jobs]


LEGEND = """✓ proved for all values, two solvers agree · ✓s the terms simplify to the theorem, no solver was asked
✓1 one solver alone, the others at their limits · – the construction refuses the format · ✗ refuted · ? open
Each column is a format, /even with ties to even; fused: products enter the running sum unrounded."""


def table(rows: Sequence[Row]) -> str:
    """Theorems down, scopes across."""
    scopes = list(dict.fromkeys(row.scope for row in rows))
    marks = {(row.theorem, row.scope): row.mark for row in rows}
    names = dict.fromkeys(row.theorem for row in rows)
    return text_table(
        ["theorem", *scopes], [[name, *(marks.get((name, scope), "") for scope in scopes)] for name in names]
    )


def main_table(rows: Sequence[Row]) -> int:
    """What `glyptic prove --library` prints; the exit status is 0 if all is as it should be."""
    print(table(rows))
    print("\n" + LEGEND)
    for row in rows:
        if not row.good:
            print(f"\n{row.theorem} in {row.scope}: {row.verdict}")
    return 0 if all(row.good for row in rows) else 1
