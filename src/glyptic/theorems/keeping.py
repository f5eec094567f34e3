"""Rows of the library kept in a file as they come, so that a long run goes on after an interruption, or after a change.

A row counts again only if the question that was put to the solvers is, letter for letter, the one that would be put now: a
change of a construction, of its theorem or of how terms are made brings another question, and is proved anew. So are weights
that were broken, if the claim is the same.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from glyptic.carve import FactError
from glyptic.errors import FileError
from glyptic.files import write_whole
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.questions import pose
from glyptic.prove.portable.claims import digest
from glyptic.prove.portable.reading import read_json
from glyptic.prove.verdicts.answers import Unknown, verdict_from_json, verdict_to_json
from glyptic.theorems.mutation import Breaking
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
        self.path = path
        self.rows, self.broken = _read(path) if path.exists() else ({}, {})

    def row(self, job: TheoremJob) -> Row | None:
        """The row of a job, if it was decided and its question is still the same."""
        data = self.rows.get(_key(job))
        if data is None or data["question"] != question_digest(job):
            return None
        try:
            verdict = None if data["verdict"] is None else verdict_from_json(data["verdict"])
        except FileError:  # written by another version
            return None
        return Row(job.theorem, theorem(job.theorem).says, job.scope, verdict, data["refusal"], data["seconds"])

    def enter(self, job: TheoremJob, row: Row) -> None:
        """Keep a row, unless it was left open."""
        if isinstance(row.verdict, Unknown):
            return
        verdict = None if row.verdict is None else verdict_to_json(row.verdict)
        about = {"refusal": row.refusal, "seconds": round(row.seconds, 2)}
        self.rows[_key(job)] = {"question": question_digest(job), "verdict": verdict, **about}
        self._write()

    def breaking(self, name: str, scope: str) -> Breaking | None:
        """What came of a theorem's broken weights, if its claim is still the same."""
        data = self.broken.get(f"{name} | {scope}")
        if data is None or data["claim"] != claim_digest(name, scope):
            return None
        return Breaking(name, scope, data["weights"], data["refuted"], tuple(data["unmissed"]))

    def enter_breaking(self, found: Breaking) -> None:
        """Keep it."""
        counts = {"weights": found.weights, "refuted": found.refuted, "unmissed": list(found.unmissed)}
        self.broken[f"{found.theorem} | {found.scope}"] = {"claim": claim_digest(found.theorem, found.scope), **counts}
        self._write()

    def _write(self) -> None:
        content = {"kind": KIND, "version": VERSION, "rows": self.rows, "broken": self.broken}
        write_whole(self.path, (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode(), "the rows")


def _key(job: TheoremJob) -> str:
    return f"{job.theorem} | {job.scope} | {job.terms}"


def claim_digest(name: str, scope: str) -> str:
    """A fingerprint of a theorem with all the weights that it speaks of."""
    return digest(theorem(name).claim(*read_scope(scope)))


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        content = read_json(path, "a file of rows")
        if (content["kind"], content["version"]) != (KIND, VERSION):
            raise ValueError("it is of another kind or version")
        parts = ("question", "verdict", "refusal", "seconds")
        counts = ("claim", "weights", "refuted", "unmissed")
        rows = {key: {name: row[name] for name in parts} for key, row in content["rows"].items()}
        return rows, {key: {name: one[name] for name in counts} for key, one in content.get("broken", {}).items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path} does not hold rows of the library ({error}); delete it, or name another.") from None
