"""The exported folder: a claim, its verdict, and all that a stranger needs to check them, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from glyptic import __version__
from glyptic.arguments import Folder, Number, Seconds, checked
from glyptic.errors import FileError, GlypticError, InputError
from glyptic.exact.parts import choices
from glyptic.files import write_folder
from glyptic.numbers import Exact
from glyptic.prove.checking import in_format
from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.claims.expressions import Junction
from glyptic.prove.exporting.apart import Proof, prove_apart
from glyptic.prove.exporting.machines import machine_to_json
from glyptic.prove.exporting.question import Asks, Script, Status, script
from glyptic.prove.exporting.readme import readme
from glyptic.prove.exporting.standalone import blast
from glyptic.prove.exporting.standalone.checker.claims import read_claim
from glyptic.prove.exporting.standalone.checker.states import unread
from glyptic.prove.exporting.targets import check_target, programs
from glyptic.prove.methods.smt.smallest import codes_of
from glyptic.prove.methods.smt.solvers import SOLVERS, Reply, SolverLimits, ask
from glyptic.prove.methods.smt.terms import Inexpressible
from glyptic.prove.portable.claims import claim_from_json, claim_to_json, predicates_of
from glyptic.prove.verdicts.answers import Proved, Unknown, Vacuous, Verdict, verdict_to_json
from glyptic.prove.verdicts.minimise import example_of_codes, satisfies
from glyptic.states.budget import Budget

KIND, VERSION = "glyptic.prove.export", 1
QUESTION, CLAUSES, DRAT, CPC = "question.smt2", "question.cnf", "question.drat", "question.cpc"
STATES = "states.json"


@dataclass(frozen=True)
class Exported:
    """What was written: names of files with their sizes, what the solvers said, and what was left out, with the reason."""

    folder: Path
    sizes: Mapping[str, int]
    answers: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        names = dict.fromkeys(name.partition("/")[0] + "/" * ("/" in name) for name in self.sizes)  # checker/ in one
        lines = [f"exported to {self.folder}: {', '.join(names)}"]
        lines += [f"  {said}" for said in self.answers]
        lines += [f"  left out: {name}, for {reason}" for name, reason in self.left_out.items()]
        return "\n".join([*lines, f"  check it without Glyptic: python {self.folder}/check.py {self.folder}"])


@checked
def export(
    folder: Annotated[str | os.PathLike[str], Folder()],
    claim: Claim,
    verdict: Verdict,
    *,
    seconds: Seconds = 60.0,
    megabytes: Annotated[float, Number(above=0)] = 20.0,
) -> Exported:
    """Write a folder by which anyone can check a verdict without Glyptic; it must be new, or empty.

    Each solver and each prover may take `seconds` of processor time; a proof above `megabytes` is left out, and said to be.
    """
    target = Path(folder)
    claim = in_format(claim, None)
    check_target(target)
    _refuse(claim, verdict)
    check_claim(claim)
    files, left_out = _data(claim, verdict), dict[str, str]()
    answers: tuple[str, ...] = ()
    posed = _question(claim, verdict, left_out)
    if posed is not None:
        files[QUESTION] = posed.text
        answers = _answers(posed, SolverLimits(seconds, None))
        if posed.expected == "unsat":
            files |= _proofs(posed, seconds, megabytes, left_out)
    files |= _states(claim, verdict, seconds, megabytes, left_out)
    files |= programs()
    files["README.md"] = readme(claim, verdict, files, answers, left_out)
    files["manifest.json"] = _json(_manifest(files, answers, left_out))
    _write(target, files)
    return Exported(target, {name: len(text.encode()) for name, text in files.items()}, answers, left_out)


def _refuse(claim: Claim, verdict: Verdict) -> None:
    """A verdict that cannot be exported with a claim."""
    if isinstance(verdict, Unknown):
        raise InputError("the claim was left open, so there is no verdict to export.")
    if verdict.claim != str(claim):
        raise InputError(f"the verdict is about another claim, {verdict.claim!r}: export each with its own.")


def check_claim(claim: Claim) -> None:
    """Refuse a claim that cannot be exported, whatever the verdict: before it is decided."""
    if isinstance(claim.subject, Inputs) and claim.subject.endless:
        raise InputError("a claim on every length is shown by the machine: export that, by glyptic machine MODEL --out FOLDER.")
    if any(each.options.products == "unrounded" for each in getattr(claim.subject, "transformers", {}).values()):
        raise InputError("options.products is 'unrounded', which the checker of a folder does not know; nothing is exported.")
    for each in getattr(claim.subject, "transformers", {}).values():
        for name, chosen in choices(each).items():
            if name.endswith(".activation") and not isinstance(claim.subject, Inputs):
                said = "the question to solvers that a folder holds knows relu alone; claims on inputs can be exported."
                raise InputError(f"{name} is {chosen}, and {said}")
    try:
        predicates = {node.name: node.predicate for node in predicates_of(claim)}
        claim_from_json(json.loads(json.dumps(claim_to_json(claim))), predicates)
    except GlypticError as error:
        raise FileError(f"what the checker would refuse is not exported: {error}") from None


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _data(claim: Claim, verdict: Verdict) -> dict[str, str]:
    """claim.json and verdict.json; the verdict names its claim by digest, and an example of a precondition, if there is one."""
    text = _json(claim_to_json(claim))
    about = {**verdict_to_json(verdict), "claim_sha256": _sha256(text)}
    example = _example(claim, verdict)
    return {"claim.json": text, "verdict.json": _json(about if example is None else {**about, "example": example})}


def _example(claim: Claim, verdict: Verdict) -> dict[str, str] | None:
    """Values that meet the precondition of a proved claim, so that everyone sees that it says something."""
    whole = isinstance(claim.requires, Junction) and not claim.requires.conditions
    subject = claim.subject
    if whole or claim.quantifier == "some" or not isinstance(verdict, Proved):
        return None
    if isinstance(subject, Inputs) or isinstance(subject.format, Exact) or subject.format is None:
        return None
    try:
        posed = script(claim, "example", "sat")
    except Inexpressible:
        return None
    reply = ask("bitwuzla", posed.text.replace("(check-sat)\n", ""))
    codes = codes_of(posed.question, reply)
    if reply.status != "sat" or not satisfies(claim, codes):
        return None
    return dict(example_of_codes(claim, codes).values or {})


# The question, and who answers it ---------------------------------------------------------------------------------------------


def asked(claim: Claim, verdict: Verdict) -> tuple[Asks, Status]:
    """What a verdict's question asks for, and the answer that the verdict stands for."""
    if isinstance(verdict, Vacuous):
        return "example", "unsat"
    if claim.quantifier == "some":
        return "witness", "sat" if isinstance(verdict, Proved) else "unsat"
    return "counterexample", "unsat" if isinstance(verdict, Proved) else "sat"


def _question(claim: Claim, verdict: Verdict, left_out: dict[str, str]) -> Script | None:
    subject = claim.subject
    if isinstance(subject, Inputs) or isinstance(subject.format, Exact):
        return None  # inputs are enumerated, and rationals have no bits
    try:
        return script(claim, *asked(claim, verdict))
    except Inexpressible as error:
        left_out[QUESTION] = f"what solvers' terms do not cover: {error}".rstrip(".")
        return None


def _answers(posed: Script, limits: SolverLimits) -> tuple[str, ...]:
    """What each solver says; one that contradicts the verdict stops the export."""
    replies = [ask(solver, posed.text.replace("(check-sat)\n", ""), limits) for solver in SOLVERS]
    for reply in replies:
        if reply.status in ("sat", "unsat") and reply.status != posed.expected and not _spurious(posed, reply):
            raise GlypticError(
                f"{reply.solver} answers {reply.status} to the question in plain terms, and the verdict says "
                f"{posed.expected}: nothing is exported; please report this claim."
            )
    return tuple(map(str, replies))


def _spurious(posed: Script, reply: Reply) -> bool:
    """Where exp is only enclosed, a solution may be none."""
    return posed.enclosed and reply.status == "sat"


def _proofs(posed: Script, seconds: float, megabytes: float, left_out: dict[str, str]) -> dict[str, str]:
    """The clauses, and the proofs that can be had within the limits."""
    clauses = blast.dimacs(posed.text)
    found: dict[str, Proof] = {
        DRAT: prove_apart("cadical", clauses, seconds, megabytes),
        CPC: prove_apart("cvc5", posed.text, seconds, megabytes),
    }
    left_out |= {name: proof.reason for name, proof in found.items() if proof.text is None}
    return {CLAUSES: clauses, **{name: proof.text for name, proof in found.items() if proof.text is not None}}


def _states(claim: Claim, verdict: Verdict, seconds: float, megabytes: float, left_out: dict[str, str]) -> dict[str, str]:
    """The machines of a verdict by states, as the checker reads them; what it would not read is not written."""
    if verdict.method != "states" or not isinstance(claim.subject, Inputs):
        return {}
    reason = unread(read_claim(json.loads(json.dumps(claim_to_json(claim)))))
    if reason:
        left_out[STATES] = f"it would be about answers, and {reason}"
        return {}
    length, machines = int(claim.subject.max_length), {}
    try:
        for name, transformer in claim.subject.transformers.items():
            machines[name] = machine_to_json(transformer, Budget(seconds=seconds), length)
    except GlypticError as error:
        left_out[STATES] = str(error).rstrip(".")
        return {}
    text = json.dumps(machines, ensure_ascii=False) + "\n"
    if len(text.encode()) > megabytes * 10**6:
        left_out[STATES] = f"it has more than {megabytes:g} MB"
        return {}
    return {STATES: text}


# Writing -----------------------------------------------------------------------------------------------------------------------


def _manifest(files: Mapping[str, str], answers: tuple[str, ...], left_out: Mapping[str, str]) -> dict[str, Any]:
    return {
        "kind": KIND,
        "version": VERSION,
        "glyptic": __version__,
        "sha256": {name: _sha256(text) for name, text in sorted(files.items())},
        "answers": list(answers),
        "left_out": dict(left_out),
    }


def _write(target: Path, files: Mapping[str, str]) -> None:
    check_target(target)  # again: solvers may have taken hours
    write_folder(target, {name: text.encode() for name, text in files.items()})
