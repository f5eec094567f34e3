"""The files beside a claim and its verdict: are they what they should be, and does the proof prove the claim?

 1. the manifest: every file is there as it was written (a convenience: whoever changes a file can change the manifest);
 2. README.md and verdict.json are about this claim;
 3. question.smt2 is compared with the claim: see `question`, `arithmetic`, `comparison` and `assertion`;
 4. question.cnf is what blast.py makes of question.smt2;
 5. question.drat proves that question.cnf has no solution.
What cannot be tried on all values is tried on some, and the report says so.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

from .claims import Claim
from .comparison import compare
from .elements import judge
from .examples import elements_meant
from .question import Question, check_heading
from .reading import need
from .report import Report
from .words import one_line, said, subject_said, ways_to_say

KIND, VERSION = "glyptic.prove.export", 1  # of the manifest


def check_files(folder: Path, claim: Claim, verdict: dict[str, Any], report: Report, limit: int) -> None:
    """Everything that lies in the folder; `limit` bounds how much is tried."""
    check_manifest(folder, report)
    check_texts(folder, claim, verdict, report)
    if not (folder / "question.smt2").exists():
        if claim.kind != "inputs" and verdict["method"] == "smt":
            report.trusted("the solvers: there is no question.smt2 to ask others")
        return
    text = (folder / "question.smt2").read_text(encoding="utf-8")
    blast = beside("blast")
    try:
        script = blast.Reader(text)
    except (blast.Refused, *blast.MEANINGLESS) as reason:
        report.must(False, "", f"question.smt2 cannot be read: {reason}")
        return
    expected = check_heading(text, script, claim, verdict, report)
    try:
        compare(Question(text, script, claim, verdict, report, blast, limit))
    except (blast.Refused, *blast.MEANINGLESS) as reason:
        report.must(False, "", f"question.smt2 is not about the claim: {type(reason).__name__}: {reason}")
    check_proof(folder, text, expected, report, blast)


def beside(name: str) -> Any:
    """A program that lies beside check.py: what can be read there, and not what may have been compiled of it."""
    path = Path(__file__).resolve().parents[1] / f"{name}.py"
    module = ModuleType(f"beside_{name}")
    module.__file__ = str(path)
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module


def check_kinds(folder: Path) -> None:
    """Nothing in a folder is a pipe or a device, which could be read without end."""
    for path in folder.rglob("*"):
        need(path.is_file() or path.is_dir(), f"{path.name!r} is not a regular file.")
        need(path.stat().st_size <= 1 << 28, f"{path.name!r} has more than 256 MB.")


def check_manifest(folder: Path, report: Report) -> None:
    """Every file is in the manifest, as it is, and every name there is a file's; of folders there is one, `checker`."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        digests, version = manifest["sha256"], manifest["version"]
        paths = [path.relative_to(folder) for path in folder.rglob("*")]
        there = {path.as_posix() for path in paths if "__pycache__" not in path.parts} - {"manifest.json", "checker"}
        wrong = sorted(there ^ set(digests))
        wrong += [name for name in sorted(there & set(digests)) if sha256(folder / name) != digests[name]]
    except FileNotFoundError:
        report.trusted("that the folder is whole: it has no manifest")
        return
    except (ValueError, KeyError, TypeError, OSError) as reason:
        report.must(False, "", f"manifest.json cannot be read: {type(reason).__name__}")
        return
    known = manifest.get("kind") == KIND and type(version) is int and version == VERSION
    if not known:
        report.must(False, "", f"manifest.json is not of kind {KIND}, version {VERSION}")
    report.must(not wrong, "the files are those of the manifest", f"not as the manifest says: {', '.join(wrong)}")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_texts(folder: Path, claim: Claim, verdict: dict[str, Any], report: Report) -> None:
    """The sentences of verdict.json and README.md, and the digest by which the verdict names its claim."""
    start = f"{claim.name}: " * bool(claim.name) + f"for {claim.quantifier} {subject_said(claim)}"
    right = verdict["claim"].startswith((start + ":", start + ","))
    report.must(right, "it names what the claim is about", f"the content is {start!r}")
    right, wrong = verdict["over"] in ways_to_say(claim), f"it is not over {verdict['over']!r}"
    report.must(right, "so does what it is said to be over", wrong)
    if verdict["answer"] == "Vacuous":
        right = verdict.get("requires") == said(claim.requires)
        report.must(right, "it names the precondition", "the precondition that it names is another")
    if "claim_sha256" in verdict or (folder / "manifest.json").exists():  # an export's verdict names its claim
        right = verdict.get("claim_sha256") == sha256(folder / "claim.json")
        report.must(right, "the verdict is about this claim", "the verdict is not about this claim.json")
    if (folder / "README.md").exists():
        text = (folder / "README.md").read_text(encoding="utf-8")
        heading = f"# {verdict['answer']}: a verdict that can be checked without Glyptic"
        right = text.startswith(f"{heading}\n\n> {one_line(verdict['claim'])}\n")
        report.must(right, "README.md names this claim and verdict", "README.md is about another claim or verdict")
    if verdict.get("example") is not None:
        elements = elements_meant(claim, {"values": verdict["example"]})
        meets = any(judge(claim, element)[0] for element in elements)
        report.must(meets, "the precondition is met by the example", "the example does not meet the precondition")


def check_proof(folder: Path, text: str, expected: str, report: Report, blast: Any) -> None:
    """The clauses are those of the question, and the proof is one."""
    if not (folder / "question.cnf").exists():
        if expected == "unsat":
            report.trusted("the solvers that are asked about question.smt2: there are no clauses here")
        return
    cnf = (folder / "question.cnf").read_text(encoding="utf-8")
    is_what = "what question.smt2 bit-blasts to"
    if not report.must(cnf == blast.dimacs(text), f"question.cnf is {is_what}", f"question.cnf is not {is_what}"):
        return
    if not (folder / "question.drat").exists():
        report.trusted("the solvers that are asked about question.smt2: there is no proof of the clauses here")
        return
    if expected != "unsat":
        report.must(False, "", "question.drat says that there is no solution, and the verdict that there is one")
        return
    drat = beside("drat")
    try:
        steps = drat.check(cnf, (folder / "question.drat").read_text(encoding="utf-8"))
        covers = "so the verdict holds for all elements, as far as question.smt2 says what the claim says"
        report.verified(f"question.cnf has no solution: a DRAT proof of {steps:,} steps, all checked; {covers}")
    except (drat.Refused, ValueError) as reason:
        report.must(False, "", f"question.drat proves nothing: {reason}")
    if (folder / "question.cpc").exists():
        report.trusted("nothing of question.cpc: cvc5's proof is for a checker of its own")
