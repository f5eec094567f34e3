"""Changes to an exported folder, by forgers of three kinds; each must be refused.

careless   one byte of a file: the manifest tells
hasty      a file changed, and the manifest made anew
thorough   the manifest, the verdict's digest, the sentences, the clauses and the proof made anew, whatever a program can make
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glyptic.prove.exporting.standalone import blast, drat
from glyptic.prove.portable.claims import claim_to_json

Files = dict[str, str]


@dataclass(frozen=True)
class Mutation:
    """A changed folder, and what was changed."""

    what: str
    files: Files


def read_files(folder: Path) -> Files:
    """Every file by its name in the folder, those of `checker/` too."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def write_files(folder: Path, files: Files) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def with_manifest(files: Files) -> Files:
    """The manifest made anew."""
    manifest = json.loads(files["manifest.json"])
    manifest["sha256"] = {name: sha256(text) for name, text in files.items() if name != "manifest.json"}
    return {**files, "manifest.json": json.dumps(manifest)}


def sealed(files: Files) -> Files:
    """The verdict's digest of the claim made anew, and the manifest."""
    verdict = json.loads(files["verdict.json"])
    verdict["claim_sha256"] = sha256(files["claim.json"])
    return with_manifest({**files, "verdict.json": json.dumps(verdict, ensure_ascii=False)})


def with_question(files: Files, question: str) -> Files | None:
    """Another question with its clauses and a proof of them; None if they have a solution, or make no sense."""
    try:
        text = blast.dimacs(question)
    except blast.Refused:
        return None
    proof = cadical(text)
    return (
        None
        if proof is None
        else with_manifest({**files, "question.smt2": question, "question.cnf": text, "question.drat": proof})
    )


def cadical(cnf: str) -> str | None:
    from pysat.solvers import Solver

    clauses, _ = drat.read_cnf(cnf)
    if [] in clauses:
        return "0\n"
    with Solver("cadical195", bootstrap_with=clauses, with_proof=True) as solver:
        if solver.solve():
            return None
        lines = solver.get_proof()
    return "\n".join(lines[: lines.index("0") + 1]) + "\n"


# Careless and hasty ----------------------------------------------------------------------------------------------------------


def careless(files: Files) -> Iterator[Mutation]:
    """A byte changed in the middle of each file, a file taken away, a file too many."""
    for name, text in files.items():
        middle = len(text) // 2
        changed = "X" if text[middle] != "X" else "Y"
        if name != "manifest.json":
            yield Mutation(f"a byte of {name}", {**files, name: text[:middle] + changed + text[middle + 1 :]})
            if name not in ("claim.json", "verdict.json"):
                yield Mutation(f"without {name}", {key: held for key, held in files.items() if key != name})
    for name in ("more.txt", "checker/more.py", "more/manifest.json"):
        yield Mutation(f"a file too many, {name}", {**files, name: "more"})


UNREAD = ("seconds", "solvers", "assumptions", "method")  # said in the verdict, and taken on trust


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(data, dict | list):
        for key, inner in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(inner, (*path, key))
    else:
        yield path, data


def replaced(data: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    if isinstance(data, dict):
        return {key: replaced(inner, path[1:], new) if key == path[0] else inner for key, inner in data.items()}
    return [replaced(inner, path[1:], new) if key == path[0] else inner for key, inner in enumerate(data)]


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return "7/4" if value is None else f"{value}x" if isinstance(value, str) else None


def hasty_verdicts(files: Files) -> Iterator[Mutation]:
    """Every part of the verdict that is not taken on trust."""
    data = json.loads(files["verdict.json"])
    for path, value in leaves(data):
        if path[0] not in UNREAD and value is not None:
            text = json.dumps(replaced(data, path, changed(value)), ensure_ascii=False)
            yield Mutation(f"verdict {path}", with_manifest({**files, "verdict.json": text}))
    for answer in ("Proved", "Refuted", "Vacuous"):
        if answer != data["answer"]:
            text = json.dumps({**data, "answer": answer}, ensure_ascii=False)
            yield Mutation(f"verdict answer {answer}", with_manifest({**files, "verdict.json": text}))


def hasty_claims(files: Files) -> Iterator[Mutation]:
    """Every part of the claim, weights and all: the verdict names the claim by its digest."""
    data = json.loads(files["claim.json"])
    for path, value in leaves(data):
        if value is not None:
            text = json.dumps(replaced(data, path, changed(value)), ensure_ascii=False)
            yield Mutation(f"claim {path}", with_manifest({**files, "claim.json": text}))


def hasty_clauses(files: Files) -> Iterator[Mutation]:
    """Clauses taken away, doubled, or with a literal turned; proofs cut, or of another list."""
    lines = files["question.cnf"].splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("p")) + 1
    for place in range(first, len(lines), max(1, (len(lines) - first) // 8)):
        gone = [*lines[:place], *lines[place + 1 :]]
        turned = [
            *lines[:place],
            lines[place][1:] if lines[place].startswith("-") else "-" + lines[place],
            *lines[place + 1 :],
        ]
        for what, new in (("without", gone), ("turned", turned), ("doubled", [*lines, lines[place]])):
            yield Mutation(f"clauses {what} {place}", with_manifest({**files, "question.cnf": "\n".join(new) + "\n"}))
    steps = files["question.drat"].splitlines()
    for what, new in (("cut", steps[:-1]), ("empty", []), ("goes on", [*steps, "1 0"]), ("deletes", ["d 1 0", *steps])):
        yield Mutation(f"proof {what}", with_manifest({**files, "question.drat": "".join(f"{one}\n" for one in new)}))
    yield Mutation("proof not a text of numbers", with_manifest({**files, "question.drat": "one 0\n0\n"}))


# Thorough --------------------------------------------------------------------------------------------------------------------


def other_claim(files: Files, old: Any, new: Any, what: str) -> Mutation:
    """Another claim in the place of the one that was decided, with every sentence and digest made anew."""
    texts = {name: text.replace(str(old), str(new)) for name, text in files.items() if not name.endswith(".py")}
    texts["claim.json"] = json.dumps(claim_to_json(new), ensure_ascii=False)
    return Mutation(f"another claim: {what}", sealed({**files, **texts}))


def thorough_questions(files: Files, changes: Iterator[tuple[str, str]]) -> Iterator[Mutation]:
    """Other questions, each with its own clauses and a proof that is right."""
    for what, text in changes:
        forged = with_question(files, text)
        if forged is not None:
            yield Mutation(f"another question: {what}", forged)


def other_questions(text: str) -> Iterator[tuple[str, str]]:
    """What is asserted made false or narrower; constants, operations and names of the arithmetic and of the run changed."""
    last = text.rindex("(assert ")
    for what, new in (("nothing", "(assert false)"), ("0 ≠ 0", "(assert (not (= v0 v0)))")):
        yield f"the last assertion says {what}", text[:last] + f"{new}\n(check-sat)\n"
    width = re.search(r"declare-const v0 \(_ BitVec (\d+)\)", text)
    assert width is not None
    for what in ("false", f"(= v0 (_ bv0 {width[1]}))", f"(bvslt v0 (_ bv1 {width[1]}))"):
        yield f"one assertion more, {what}", text[:last] + f"(assert {what})\n" + text[last:]
    yield from _constants(text)
    for old, new in (
        ("(bvadd ", "(bvsub "),
        ("(bvslt a b)", "(bvslt b a)"),
        ("(add ", "(larger "),
        ("(multiply ", "(add "),
    ):
        if old in text:
            yield f"{old} is {new}", text.replace(old, new, 1)
    yield "the status", text.replace(":status unsat", ":status sat")
    named = re.findall(r"^; t\d+ is .*$", text, re.MULTILINE)
    for line in named:
        yield f"without the name {line}", text.replace(line + "\n", "")
    places = [line for line in named if "@" not in line or " is after." in line]  # not both sides of an equation
    for one, two in itertools.pairwise(places):
        exchanged = (
            text.replace(one, "; ?")
            .replace(two, re.sub(r"t\d+", two.split()[1], one))
            .replace("; ?", re.sub(r"t\d+", one.split()[1], two))
        )
        yield f"names exchanged: {one}", exchanged


def _constants(text: str) -> Iterator[tuple[str, str]]:
    """Each constant of a function or of a step, one more."""
    for found in re.finditer(r"\(_ bv(\d+) (\d+)\)", text):
        line = text[text.rindex("\n", 0, found.start()) + 1 :].split("\n", 1)[0]
        if not line.startswith("(assert"):
            number, width = (int(part) for part in found.groups())
            new = f"(_ bv{(number + 1) % (1 << width)} {width})"
            other = text[: found.start()] + new + text[found.end() :]
            if line.startswith("(define-fun t") or tabulated(other) != tabulated(
                text
            ):  # "a < −14 ? −15 : …" is "a < −15 ? …"
                yield f"{found[0]} is {new} in {line[:40]}", other


def tabulated(text: str) -> dict[str, list[list[bool]]]:
    """Each function of a question on all its arguments."""
    script, tables = blast.Reader(text), {}
    for name, (parameters, _, _) in script.functions.items():
        widths = [int(sort[2]) for _, sort in parameters]
        values = list(itertools.product(*(range(1 << width) for width in widths)))
        bits = [script.fresh(f"?{name}.{k}", width) for k, width in enumerate(widths)]
        columns = {f"?{name}.{k}": [row[k] for row in values] for k in range(len(widths))}
        tables[name] = blast.run(script, columns, script.called(name, bits))
    return tables


Kind = Callable[[Files], Iterator[Mutation]]
