"""The README of an exported folder: the claim, the verdict, every file, and how to check them step by step."""

from __future__ import annotations

from collections.abc import Mapping

from glyptic.prove.claims.claim import Claim, Inputs
from glyptic.prove.verdicts.answers import Verdict

SAYS = {
    "claim.json": "the claim, weights and all: the one thing that must be what you mean",
    "verdict.json": "the verdict, with the digest of the claim that it is about",
    "check.py": "checks all of this; reads claim.json itself and computes in integers and fractions",
    "checker/": "what check.py consists of, one idea a file; it says in which order to read them",
    "states.json": "the automata of the claim's transformers, with what every state holds: all that inputs can come to",
    "blast.py": "makes question.cnf from question.smt2",
    "drat.py": "checks question.drat",
    "question.smt2": "the question to solvers, in plain terms: nothing is simplified, and every assumption is a definition in it",
    "question.cnf": "the same question as clauses, made by blast.py",
    "question.drat": "a proof by CaDiCaL that the clauses have no solution",
    "question.cpc": "cvc5's own proof that the question has no solution, in the format CPC",
}


_SEARCHED = {"enumeration": "enumeration", "symbolic": "diagrams", "states": "search of states"}


def readme(
    claim: Claim, verdict: Verdict, files: Mapping[str, str], answers: tuple[str, ...], left_out: Mapping[str, str]
) -> str:
    """The text; its first line is the verdict's kind and the claim."""
    parts = [
        f"# {_heading(verdict)}\n\n> {_quoted(verdict.claim)}\n",
        "Everything here can be checked without Glyptic, in an afternoon. You need Python 3.10 or later; no package.\n",
        "    python check.py\n",
        "It says line by line what it has verified, what it could only try, and what it takes on trust; its exit status is 0 if\n"
        "nothing contradicts the verdict, 1 if something does, 2 if a file cannot be read.\n",
        f"## The verdict\n\n{_indented(str(verdict))}\n",
        _assumptions(verdict),
        _files(files, left_out),
        "## Step by step\n\n" + "\n".join(_steps(claim, files, answers)),
        "## What remains on trust\n\n" + "\n".join(f"- {one}" for one in _trust(claim, verdict, files)) + "\n",
    ]
    return "\n".join(part for part in parts if part)


def _heading(verdict: Verdict) -> str:
    return f"{type(verdict).__name__}: a verdict that can be checked without Glyptic"


def _quoted(text: str) -> str:
    return " ".join(text.split())


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _assumptions(verdict: Verdict) -> str:
    trusted = getattr(verdict, "assumptions", ())
    if not trusted:
        return ""
    return "Glyptic took it that\n\n" + "\n".join(f"- {_quoted(one)};" for one in trusted) + "\n"


def _files(files: Mapping[str, str], left_out: Mapping[str, str]) -> str:
    there = {*files, "checker/"}
    rows = [f"| {name} | {says} |" for name, says in SAYS.items() if name in there]
    rows.append("| manifest.json | the SHA-256 of every file: a convenience against damage; nothing rests on it |")
    missing = [f"- **{name} is left out**: {_quoted(reason)}." for name, reason in left_out.items()]
    return "\n".join(["## The files\n", "| file | what it is |", "| --- | --- |", *rows, "", *missing, ""])


def _steps(claim: Claim, files: Mapping[str, str], answers: tuple[str, ...]) -> list[str]:
    steps = [
        "Read the claim: `python check.py` prints it first, made from claim.json alone, with the transformers that it is\n"
        "   about. Is it what you mean? No program can tell you.",
        "Run `python check.py`. It runs the counterexample or the witness again, if there is one, and walks through all that\n"
        "   the claim ranges over, as far as that is small (`--limit N` says how far); beyond, it tries a few hundred.",
    ]
    if "states.json" in files:
        steps.append(
            "check.py verifies of states.json that every entry of a state is what one more token makes of it\n"
            "   (checker/machine.py says why that is enough), and judges the claim at every place to which inputs lead\n"
            "   (checker/states.py)."
        )
    if "question.smt2" in files:
        steps += _steps_of_question(files, answers)
    elif not isinstance(claim.subject, Inputs):
        steps.append("There is no question to solvers here: see above why it was left out.")
    return [f"{number}. {text}\n" for number, text in enumerate(steps, 1)]


def _steps_of_question(files: Mapping[str, str], answers: tuple[str, ...]) -> list[str]:
    said = "".join(f"\n   - {one}" for one in answers)
    steps = [
        "Read question.smt2: the sentence, what is free, the functions of the arithmetic, the run step by step, and at the\n"
        "   end what is asserted. check.py has compared each function with its own arithmetic, each value with its own run, and\n"
        "   the assertions with the claim, and says on how many values.",
        f"Give question.smt2 to solvers of your choice (`bitwuzla`, `z3`, `cvc5 question.smt2`). When this was written:{said}",
    ]
    if "question.cnf" in files:
        steps.append(
            "`python blast.py question.smt2 question.cnf` makes the clauses again and compares; check.py does it too."
        )
    if "question.drat" in files:
        steps.append(
            "`python drat.py question.cnf question.drat` checks the proof, line by line; check.py does it too. drat-trim reads\n"
            "   the same files."
        )
    if "question.cpc" in files:
        steps.append(
            "cvc5's proof is for Ethos with the signatures that come with cvc5 (`ethos --include=…/Cpc.eo question.cpc`);\n"
            "   nothing here checks it, and nothing here rests on it."
        )
    return steps


def _trust(claim: Claim, verdict: Verdict, files: Mapping[str, str]) -> list[str]:
    trust = ["that the claim is what you mean", "Python, and the programs here, which are short enough to be read"]
    if "question.drat" in files:
        trust.append(
            "that question.smt2 says what claim.json says, where check.py could try it on some values only (it says so): the\n"
            "  functions of the arithmetic and the steps of the run can be read in it"
        )
    elif "question.smt2" in files:
        trust.append("the solvers that you ask, where the claim ranges over too much to be walked through")
    elif isinstance(claim.subject, Inputs) and "states.json" not in files:
        by = _SEARCHED.get(verdict.method, verdict.method)
        trust.append(f"Glyptic's {by}, where there are more inputs than check.py has walked through (it says how many)")
    return trust
