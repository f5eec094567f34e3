"""Rows of the library kept in a file as they come, so that a long run goes on after an interruption, or after a change.

A row counts again only if the question that was put to the solvers is, letter for letter, the one that would be put now: a
change of a construction, of its theorem or of how terms are made brings another question, and is proved anew. So are weights
that were broken, if the claim is the same.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from glyptic.carve import FactError
from glyptic.files import KeptFile
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.questions import pose
from glyptic.prove.portable.claims import digest
from glyptic.prove.verdicts.answers import Unknown, verdict_from_json, verdict_to_json
from glyptic.theorems.mutation import Mutations
from glyptic.theorems.proving import Row, TheoremJob, read_scope, theorem

KIND, VERSION = "glyptic.prove.library", 1


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
    """The rows of one file, by theorem, scope and terms, and what came of broken weights, by theorem and scope."""

    def __init__(self, path: Path) -> None:
        self.file = KeptFile(path, "rows of the library", {"kind": KIND, "version": VERSION})

    def row(self, job: TheoremJob) -> Row | None:
        """The row of a job, if it was decided and its question is still the same."""

        def read(data: dict[str, Any]) -> Row:
            verdict = None if data["verdict"] is None else verdict_from_json(data["verdict"])
            return Row(job.theorem, theorem(job.theorem).says, job.scope, verdict, data["refusal"], data["seconds"])

        return self.file.find(_key(job), lambda: question_digest(job), read)

    def enter(self, job: TheoremJob, row: Row) -> None:
        """Keep a row, unless it was left open."""
        if not isinstance(row.verdict, Unknown):
            verdict = None if row.verdict is None else verdict_to_json(row.verdict)
            about = {"verdict": verdict, "refusal": row.refusal, "seconds": round(row.seconds, 2)}
            self.file.enter(_key(job), question_digest(job), about)

    def breaking(self, name: str, scope: str) -> Mutations | None:
        """What came of a theorem's broken weights, if its claim is still the same."""

        def read(data: dict[str, Any]) -> Mutations:
            return Mutations(name, scope, data["weights"], data["refuted"], tuple(data["unmissed"]))

        return self.file.find(f"{name} | {scope} | broken", lambda: claim_digest(name, scope), read)

    def enter_breaking(self, found: Mutations) -> None:
        """Keep it."""
        counts = {"weights": found.weights, "refuted": found.refuted, "unmissed": list(found.unmissed)}
        digest = claim_digest(found.theorem, found.scope)
        self.file.enter(f"{found.theorem} | {found.scope} | broken", digest, counts)


def _key(job: TheoremJob) -> str:
    return f"{job.theorem} | {job.scope} | {job.terms}"


def claim_digest(name: str, scope: str) -> str:
    """A fingerprint of a theorem with all the weights that it speaks of."""
    return digest(theorem(name).claim(*read_scope(scope)))
