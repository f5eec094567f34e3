"""Folders and files that say one thing to the checker and another to its reader, or stop it: refused in one sentence."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.prove.examples import doubled

from glyptic import prove
from glyptic.errors import FileError
from glyptic.exact import Transformer
from glyptic.languages import regular
from glyptic.numbers import Fixed
from glyptic.programs import by_name
from glyptic.prove import Claim, Values, accepted, after, answer, export, inputs, layers, let, token, variables
from glyptic.prove.exporting.standalone import blast, drat
from glyptic.prove.exporting.standalone.checker.command import main
from glyptic.prove.exporting.targets import programs
from glyptic.prove.portable.claims import claim_to_json
from glyptic.prove.verdicts.answers import verdict_to_json

x, y = variables("x y")
ODD = by_name("parity:3", Fixed(4))


def file_of(claim: Claim) -> dict[str, Any]:
    verdict = verdict_to_json(prove.check(claim, progress=False, workers=1))
    return json.loads(json.dumps({"claim": claim_to_json(claim), "verdict": verdict}))  # type: ignore[no-any-return]


def told(tmp_path: Path, content: Any, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    path = tmp_path / "both.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    status = main([str(path)])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def renamed(content: Any, old: str, new: str) -> Any:
    return json.loads(json.dumps(content).replace(json.dumps(old), json.dumps(new)))


VALUES = Claim(Values("x y", Fixed(1)), (x <= y) | (x > y))
LOCAL = Claim(Values("x y", Fixed(1)), let("d", x - y, lambda d: d == x - y))
TOKENS = Claim(inputs(ODD, max_length=2), (token(0) == "0") | (token(0) == "1"))


@pytest.mark.parametrize("name", ["0", "B", "least", "x ≤ x ∨ y", "y\nverified     all of it", "y\x1b[2J", "\u202ey", "", "1/2"])
def test_a_variable_that_looks_like_more_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, sentence = told(tmp_path, renamed(file_of(VALUES), "y", name), capsys)
    assert status == 2
    assert "could be taken for more than a name" in sentence and sentence.count("\n") == 1 and "\x1b" not in sentence


@pytest.mark.parametrize("name", ["x", "B", "0", "true ∨ d"])
def test_a_local_name_that_means_something_already_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert told(tmp_path, renamed(file_of(LOCAL), "d", name), capsys)[0] == 2


@pytest.mark.parametrize("name", ["0' ∨ answer = 'YES", "0\nverified", "0 1", "\x1b[8m"])
def test_a_token_that_looks_like_more_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(tmp_path, renamed(file_of(TOKENS), "0", name), capsys)[0] == 2


def test_two_words_compared_with_each_other_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = file_of(TOKENS)
    word = {"node": "Text", "text": "answer"}
    content["claim"]["ensures"] = {"node": "SameWord", "left": word, "right": word}
    assert told(tmp_path, content, capsys)[0] == 2


def test_a_method_is_one_that_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = file_of(VALUES)
    content["verdict"]["method"] = "enumeration\nverified     by three referees"
    assert told(tmp_path, content, capsys)[0] == 2


@pytest.mark.parametrize("claim", [
    Claim(inputs(ODD, max_length=2), ~accepted(regular("palindrome", tuple(dict.fromkeys("01palindrome"))))),
    Claim(inputs(ODD, max_length=2), accepted(regular("(0|1)*", name="true ∨ 1*"))),
])  # fmt: skip
def test_a_language_called_by_words_is_not_printed_under_its_name(
    claim: Claim, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = told(tmp_path, file_of(claim), capsys)
    assert status == 0
    assert "input ∈ automaton 1\n" in out
    assert "on trust     that the automaton printed above is what its name says" in out


def test_signs_of_repetition_in_a_row_are_not_compared_as_python_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """(1*)+1 is every 1…1; Python's 1*+1 gives nothing back, and is nothing."""
    nothing = regular("11*0", name="none").complement().complement()
    never = copy.deepcopy(file_of(Claim(inputs(ODD, max_length=2), ~accepted(nothing))))
    never["claim"]["ensures"]["part"]["automaton"] |= {"name": "1*+1", "accepting": []}
    never["verdict"] |= {"claim": never["verdict"]["claim"].replace("not not none", "1*+1")}
    _, out, _ = told(tmp_path, never, capsys)
    assert "agrees with the expression" not in out


def test_names_that_check_prints_as_glyptic_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each was contradicted, or crashed, though it is right."""
    signs = Transformer.of(
        Fixed(2), ["#", "-"], ("x-z", "y"), [[1, 0], [0, 1]], np.eye(2), ("N-O", "+"), max_length=2
    )
    single = Transformer.of(Fixed(2), "a", ("x", "y"), [[1, 0]], np.eye(2), ("NO", "YES"), max_length=2)
    for claim in (
        Claim(inputs(signs, max_length=2), (token(0) == "#") | (answer() == "N-O") | (answer() == "+")),
        Claim(inputs(single, max_length=2), accepted(regular("a*", "a"))),
    ):
        assert told(tmp_path, file_of(claim), capsys)[0] == 0
    pytest.importorskip("pysat")
    held = Claim(layers(signs, free=["y"], fixed={("x-z", 0): -1}), after("x-z") == -1)
    export(tmp_path / "held", held, prove.check(held, method="enumerate", progress=False), seconds=5)
    assert main([str(tmp_path / "held")]) == 0


def test_what_the_checker_would_refuse_is_not_exported(tmp_path: Path) -> None:
    claim = Claim(layers(doubled(Fixed(2)).replace(coordinates=("x or y", "y")), free=["y"]), after("y") == after("y"))
    with pytest.raises(FileError, match="not be taken for more than a name"):
        export(tmp_path / "out", claim, prove.check(claim, method="enumerate", progress=False))
    assert not (tmp_path / "out").exists()


def folder_of(tmp_path: Path) -> Path:
    """A folder with the programs, as an export writes it, without the question."""
    folder = tmp_path / "folder"
    (folder / "checker").mkdir(parents=True)
    for name, text in programs().items():
        (folder / name).write_text(text, encoding="utf-8")
    content = file_of(VALUES)
    for part in ("claim", "verdict"):
        (folder / f"{part}.json").write_text(json.dumps(content[part]))
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_files_beside_the_programs_are_not_taken_for_the_standard_library(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    for name in ("json", "re", "hashlib", "fractions", "random"):
        (folder / f"{name}.py").write_text("raise SystemExit('taken')\n")
    assert "THE CLAIM" in run(folder, "check.py").stdout
    (folder / "a.cnf").write_text("p cnf 1 2\n1 0\n-1 0\n")
    (folder / "a.drat").write_text("0\n")
    assert run(folder, "drat.py", "a.cnf", "a.drat").returncode == 0
    (folder / "a.smt2").write_text("(assert true)\n(check-sat)\n")
    assert run(folder, "blast.py", "a.smt2").returncode == 0


def test_what_was_compiled_of_other_programs_is_not_run(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    code = "import py_compile as c; c.compile('other.py', 'files.pyc', invalidation_mode=c.PycInvalidationMode.UNCHECKED_HASH)"
    (folder / "other.py").write_text("def check_files(*_): print('taken')\n")
    assert run(folder, "-c", code).returncode == 0
    (folder / "other.py").unlink()
    (folder / "checker" / "__pycache__").mkdir()
    tag = f"files.{sys.implementation.cache_tag}.pyc"
    (folder / "files.pyc").rename(folder / "checker" / "__pycache__" / tag)
    shown = run(folder, "check.py").stdout
    assert "taken" not in shown and "that the folder is whole" in shown


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["claim.json", "README.md", "question.smt2", "manifest.json"])
def test_a_pipe_is_not_waited_for(name: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    done = run(folder, "check.py")
    assert done.returncode == 2 and "is not a regular file" in done.stderr


QUESTIONS = {
    "no vector": "(declare-const v0 Bool)\n(assert v0)\n(check-sat)\n",
    "a function that calls itself": "(declare-const v0 (_ BitVec 3))\n(define-fun add ((a (_ BitVec 3)) (b (_ BitVec 3))) "
    "(_ BitVec 3) (add a b))\n(assert (= v0 v0))\n(check-sat)\n",
    "binary": "\x00\x01\x02",
    "wide": "(declare-const v0 (_ BitVec 3))\n(assert (= (_ bv0 99999999999) (_ bv0 99999999999)))\n(check-sat)\n",
    "extended": "(declare-const v0 (_ BitVec 3))\n(assert (= ((_ zero_extend 99999999999) v0) v0))\n(check-sat)\n",
    "a list for a width": "(declare-const v0 (_ BitVec (3)))\n(check-sat)\n",
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_stops_the_checker(name: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "question.smt2").write_text(QUESTIONS[name])
    done = run(folder, "check.py")
    assert done.returncode in (1, 2) and "Traceback" not in done.stderr
    assert "Traceback" not in run(folder, "blast.py", "question.smt2").stderr
    assert "Traceback" not in run(folder, "blast.py", "question.smt2", "missing.cnf").stderr


@pytest.mark.parametrize("text", [
    "(assert true)\n(check-sat)\n(assert false)\n",
    "(define-fun not ((a Bool)) Bool a)\n(assert (not true))\n(check-sat)\n",
    "(declare-const |a\n1 0| (_ BitVec 1))\n(check-sat)\n",
])  # fmt: skip
def test_a_text_that_solvers_read_otherwise_is_no_question(text: str) -> None:
    with pytest.raises(blast.Refused):
        blast.Reader(text)


@pytest.mark.parametrize(("clauses", "steps"), [
    ("c\x0b1 0\np cnf 1 1\n-1 0\n", "0\n"),  # a vertical tab ends no line: the first clause is in a comment
    ("p cnf 1 2\nc\x851 0\n-1 0\n", "0\n"),
    ("p cnf 1 2\nc\u20281 0\n-1 0\n", "0\n"),
    ("p cnf 1 2\nc\r1 0\n-1 0\n", "0\n"),
    ("p cnf 10 2\n1_0 0\n-10 0\n", "0\n"),
    ("p cnf 1 2\n\uff11 0\n-1 0\n", "0\n"),
    ("p cnf 1 2\n+1 0\n-1 0\n", "0\n"),
    ("1 0\np cnf 1 2\n-1 0\n", "0\n"),
    ("p cnf 1 1\n1 0\n", "c\x0c0\n0\n"),
    ("p cnf 999999999 1\n1 0\n", "0\n"),
    ("p cnf 99999999999999999999 1\n1 0\n", "0\n"),
    ("p cnf 1 1\n1 0\n", "999999999 0\n0\n"),
    ("p cnf 1 1\n1 0\n", "d\n0\n"),
    ("p cnf 1 1\n1 0\n", "d 0\n0\n"),
    ("p cnf 1 1\n1 0\n", "-1 0\n0\n"),
    ("p cnf 2 1\n1 2 0\n", "-1 0\n-2 0\n0\n"),
    ("p cnf 1 1\n1 0\n", "d 1 0\n-1 0\n0\n"),
    ("p cnf 1 1\n1 -1 0\n", "1 -1 0\n-1 1 0\n0\n"),
    ("p cnf 2 2\n1 2 0\n1 1 2 2 0\n", "d 2 1 0\nd 1 2 0\n-1 0\n-2 0\n0\n"),
])  # fmt: skip
def test_no_list_of_clauses_with_a_solution_is_refuted(clauses: str, steps: str) -> None:
    with pytest.raises(drat.Refused):
        drat.check(clauses, steps)


@pytest.mark.parametrize("name", ["files.so", "files/__init__.py", "files.pyc"])
def test_what_python_would_run_in_the_place_of_a_program_is_refused(name: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (folder / "checker" / name).parent.mkdir(exist_ok=True)
    (folder / "checker" / name).write_text("def check_files(*_): print('taken')\ndef check_kinds(*_): pass\n")
    done = run(folder, "check.py")
    assert done.returncode == 2 and "taken" not in done.stdout and done.stderr.count("\n") == 1


def test_a_package_elsewhere_on_the_path_is_not_taken_for_the_checker(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (tmp_path / "checker").mkdir()
    (tmp_path / "checker" / "__init__.py").write_text("raise SystemExit('taken')\n")
    (folder / "checker.py").write_text("raise SystemExit('taken')\n")
    path = {**os.environ, "PYTHONPATH": str(tmp_path)}
    shown = subprocess.run([sys.executable, str(folder / "check.py")], env=path, capture_output=True, text=True, check=False)
    assert shown.returncode == 0 and "THE CLAIM" in shown.stdout
