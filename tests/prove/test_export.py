"""Exported folders: a stranger's checker accepts every one, and refuses hundreds of changed ones, where there is no Glyptic."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.prove import mutations
from tests.prove.examples import broken
from tests.prove.fuzz.claims import random_claim
from tests.prove.mutations import Mutation

from glyptic import prove
from glyptic.errors import GlypticError
from glyptic.exact import Options
from glyptic.exact.random import Sizes, random_transformer
from glyptic.numbers import Exact, Fixed, parse_format
from glyptic.programs import by_name
from glyptic.prove import Claim, Inputs, Values, exp, export, variables
from glyptic.prove.claims.claim import exists
from glyptic.prove.exporting.folder import Exported
from glyptic.prove.exporting.question import script
from glyptic.prove.exporting.standalone import blast
from glyptic.prove.exporting.targets import programs
from glyptic.prove.methods.smt.solvers import SOLVERS, ask
from glyptic.prove.questions import decisiveness, equivalence
from glyptic.theorems.proving import read_scope, theorem

pytest.importorskip("pysat")
pytest.importorskip("cvc5")

x, y = variables("x y")
QUIET = {"workers": 1, "progress": False}

# Runs the checker of a folder that is trusted on many others, in one process without Glyptic.
DRIVER = """
import contextlib, importlib.util, io, json, sys
sys.dont_write_bytecode = True
for name in ("glyptic", "numpy"):
    assert importlib.util.find_spec(name) is None, name
sys.path.insert(0, sys.argv[1])  # as check.py does
from checker.command import main
for folder in json.loads(sys.stdin.read()):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        code = main([folder, "--limit", sys.argv[2]])
    print(json.dumps([code, out.getvalue()]))
"""


def claims() -> dict[str, Claim]:
    F = Fixed(2)
    odd = by_name("parity:3", F)
    changed = broken(odd, "output")
    return {
        "proved": Claim(Values("x y", F), (x + y >= x) & (x - y <= x), requires=y >= 0, name="monotone"),
        "refuted": Claim(Values("x y", F), x + (y - x) == y),
        "vacuous": Claim(Values("x", F), x == 0, requires=x > x + 1),
        "exp": Claim(Values("x", F), exp(x) * exp(x) >= exp(x), requires=x > 0),
        "exists": exists(Values("x y", F), x / y == 2, requires=x > y),
        "nothing": exists(Values("x", F), x * x == -1),
        "block": theorem("add.vector").claim(F, "rounded"),
        "inputs": decisiveness(odd, 3),
        "different": equivalence(odd, changed, 3),
    }


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Claim, Exported]]:
    """Every claim decided, and exported."""
    root, found = tmp_path_factory.mktemp("exported"), {}
    for name, claim in claims().items():
        means = (
            {"method": "smt"} if name in ("block", "nothing") else {"method": "enumerate", "count_all": True, **QUIET}
        )
        verdict = prove.check(claim, **means)
        found[name] = claim, export(root / name, claim, verdict, seconds=20)
    return found


def checked(trusted: Path, folders: list[Path]) -> list[tuple[int, str]]:
    """What the checker says of folders: no site packages, no environment. Blocks have too many elements to walk through."""
    limit = "64" if trusted.name == "block" else "1000"
    command = [sys.executable, "-I", "-S", "-c", DRIVER, str(trusted), limit]
    names = json.dumps([str(folder) for folder in folders])
    run = subprocess.run(command, input=names, capture_output=True, text=True, env={}, cwd="/", check=False)
    assert run.returncode == 0, run.stderr
    return [tuple(json.loads(line)) for line in run.stdout.splitlines()]


def refuses(trusted: Path, changes: list[Mutation], tmp_path: Path) -> None:
    folders = []
    for number, change in enumerate(changes):
        folders.append(tmp_path / str(number))
        mutations.write_files(folders[-1], change.files)
    for change, (code, said) in zip(changes, checked(trusted, folders), strict=True):
        assert code in (1, 2), f"accepted: {change.what}\n{said}"
        assert "Traceback" not in said
        assert code == 2 or "CONTRADICTED" in said


# Accepted --------------------------------------------------------------------------------------------------------------------


def test_every_folder_is_accepted_without_glyptic(exported) -> None:
    for name, (claim, result) in exported.items():
        [(code, said)] = checked(result.folder, [result.folder])
        assert code == 0, f"{name}\n{said}"
        assert said.endswith("nothing contradicts the verdict\n")
        if not isinstance(claim.subject, Inputs):
            assert "question.smt2 states this claim" in said
        if "question.drat" in result.sizes:
            assert "all checked" in said


def test_the_command_is_one_line_in_the_folder(exported) -> None:
    folder = exported["proved"][1].folder
    bare = [sys.executable, "-I", "-S", "check.py"]
    run = subprocess.run(bare, cwd=folder, env={}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Proved, by walking through all 961 elements" in run.stdout
    assert not list(folder.rglob("__pycache__"))  # the folder stays as it is
    code = "import importlib.util as u; assert not u.find_spec('glyptic') and not u.find_spec('numpy')"
    subprocess.run([*bare[:-1], "-c", code], env={}, cwd="/", check=True)


def test_what_someone_compiled_is_not_run(exported, tmp_path: Path) -> None:
    """Bytecode that claims to be good whatever the text says would be run in its place, and nobody reads it."""
    mutations.write_files(tmp_path / "forged", mutations.read_files(exported["refuted"][1].folder))
    for name in ("words.py", "command.py"):
        path = tmp_path / "forged" / "checker" / name
        code = importlib._bootstrap_external._code_to_hash_pyc(compile("raise SystemExit(0)", name, "exec"), b"-" * 8, False)
        cached = Path(importlib.util.cache_from_source(str(path)))
        cached.parent.mkdir(exist_ok=True)
        cached.write_bytes(code)
    bare = [sys.executable, "-I", "-S", str(tmp_path / "forged" / "check.py")]
    run = subprocess.run(bare, env={}, cwd="/", capture_output=True, text=True, check=False)
    assert run.stdout.endswith("nothing contradicts the verdict\n"), run.stdout + run.stderr


@pytest.mark.parametrize("name", programs())
def test_the_programs_import_the_standard_library_alone(name: str) -> None:
    """Or each other, inside checker/; check.py starts what is there."""
    for node in ast.walk(ast.parse(programs()[name])):
        if isinstance(node, ast.Import):
            assert {alias.name.partition(".")[0] for alias in node.names} <= sys.stdlib_module_names
        elif isinstance(node, ast.ImportFrom) and node.level:
            assert name.startswith("checker/") and node.level == 1 and f"checker/{node.module}.py" in programs()
        elif isinstance(node, ast.ImportFrom):
            own = name == "check.py" and node.module == "checker.command"
            assert own or str(node.module).partition(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize("name", [name for name in programs() if name not in ("blast.py", "drat.py")])
def test_a_file_of_the_checker_is_read_in_one_sitting(name: str) -> None:
    assert len(programs()[name].splitlines()) <= 350


def test_what_is_in_a_folder(exported) -> None:
    always = {"claim.json", "verdict.json", *programs(), "README.md", "manifest.json"}
    assert {"check.py", "checker/numbers.py", "blast.py", "drat.py"} <= always
    proof = {"question.smt2", "question.cnf", "question.drat", "question.cpc"}
    for name, (_, result) in exported.items():
        there = set(mutations.read_files(result.folder))
        assert there == set(result.sizes)
        wanted = (
            set() if name in ("inputs", "different") else {"question.smt2"} if name in ("refuted", "exists") else proof
        )
        assert there == always | wanted, name


def test_three_solvers_give_the_recorded_answer(exported) -> None:
    for claim, result in exported.values():
        if isinstance(claim.subject, Inputs):
            continue
        text = (result.folder / "question.smt2").read_text(encoding="utf-8")
        status = blast.Reader(text).status
        assert status in ("sat", "unsat")
        for solver in SOLVERS:
            assert ask(solver, text.replace("(check-sat)\n", "")).status == status
        assert [said.rpartition(": ")[2] for said in result.answers] == [status] * 3


def test_the_readme_says_what_is_there_and_what_was_left_out(exported, tmp_path: Path) -> None:
    for claim, result in exported.values():
        text = (result.folder / "README.md").read_text(encoding="utf-8")
        assert str(claim) in text
        for name in result.sizes.keys() - {"README.md"}:
            assert (name.partition("/")[0] + "/" if "/" in name else name) in text
    claim = exported["block"][0]
    short = export(tmp_path / "short", claim, prove.check(claim, method="smt"), seconds=20, megabytes=0.0001)
    assert set(short.left_out) == {"question.drat", "question.cpc"}
    text = (tmp_path / "short" / "README.md").read_text(encoding="utf-8")
    assert "**question.drat is left out**: the proof has" in text
    assert "left out: question.drat, for the proof has" in str(short)
    [(code, said)] = checked(short.folder, [short.folder])
    assert code == 0
    assert "on trust     the solvers that are asked about question.smt2: there is no proof of the clauses here" in said


# Refused ---------------------------------------------------------------------------------------------------------------------


def test_careless_changes_are_refused(exported, tmp_path: Path) -> None:
    changes = []
    for name in ("proved", "inputs"):
        changes += mutations.careless(mutations.read_files(exported[name][1].folder))
    assert len(changes) >= 30
    refuses(exported["proved"][1].folder, changes, tmp_path)


@pytest.mark.parametrize("name", ["proved", "refuted", "vacuous", "exp", "exists", "nothing", "inputs", "different"])
def test_every_change_to_a_verdict_is_refused(exported, name: str, tmp_path: Path) -> None:
    changes = list(mutations.hasty_verdicts(mutations.read_files(exported[name][1].folder)))
    assert len(changes) >= 5
    refuses(exported[name][1].folder, changes, tmp_path)


@pytest.mark.parametrize("name", ["proved", "exp", "block"])
def test_every_change_to_a_claim_is_refused(exported, name: str, tmp_path: Path) -> None:
    changes = list(mutations.hasty_claims(mutations.read_files(exported[name][1].folder)))
    assert len(changes) >= 20
    refuses(exported[name][1].folder, changes, tmp_path)


@pytest.mark.parametrize("name", ["proved", "nothing", "block"])
def test_other_clauses_and_other_proofs_are_refused(exported, name: str, tmp_path: Path) -> None:
    changes = list(mutations.hasty_clauses(mutations.read_files(exported[name][1].folder)))
    assert len(changes) >= 25
    refuses(exported[name][1].folder, changes, tmp_path)


def test_another_claim_with_the_proof_of_the_first_is_refused(exported, tmp_path: Path) -> None:
    """Sentences and digests are made anew: true claims too are refused, for the question beside them is not theirs."""
    F, changes = Fixed(2), []
    claim, result = exported["proved"]
    files = mutations.read_files(result.folder)
    subject, given = Values("x y", F), y >= 0
    for ensures in (
        (x + y > x) & (x - y <= x),
        (x + y >= x) & (x - y < x),
        (x + y >= x) | (x - y <= x),
        (x + y >= x) & (x + y >= x),
        (x + y >= y) & (x - y <= x),
    ):
        other = Claim(subject, ensures, requires=given, name="monotone")
        changes.append(mutations.other_claim(files, claim, other, str(ensures)))
    for requires in (y > 0, y >= -1, (y >= 0) & (x >= 0)):
        other = Claim(subject, claim.ensures, requires=requires, name="monotone")
        changes.append(mutations.other_claim(files, claim, other, str(requires)))
    block, exported_block = exported["block"]
    for which in ("add.copy", "zero.at", "zero.everywhere"):
        other = theorem(which).claim(F, "rounded")
        changes.append(mutations.other_claim(mutations.read_files(exported_block.folder), block, other, which))
    refuses(result.folder, changes, tmp_path)


def test_a_changed_weight_that_matters_is_refused_though_every_digest_is_made_anew(exported, tmp_path: Path) -> None:
    files, changes = mutations.read_files(exported["block"][1].folder), []
    data = json.loads(files["claim.json"])
    arrays = data["subject"]["transformers"][""]["arrays"]
    for part in ("layers.0.feed_forward.w1", "layers.0.feed_forward.w2", "position_embedding"):
        for place, code in enumerate(arrays[part]["codes"]):
            for new in (0, -code, code - 1):
                path = ("subject", "transformers", "", "arrays", part, "codes", place)
                text = json.dumps(mutations.replaced(data, path, new), ensure_ascii=False)
                changes.append(Mutation(f"{part} {place} is {new}", mutations.sealed({**files, "claim.json": text})))
    assert len(changes) >= 9
    refuses(exported["block"][1].folder, changes, tmp_path)


@pytest.mark.parametrize("name", ["proved", "exp", "block", "nothing"])
def test_another_question_with_a_right_proof_of_its_own_is_refused(exported, name: str, tmp_path: Path) -> None:
    """The proof proves something, but not the claim."""
    files = mutations.read_files(exported[name][1].folder)
    changes = list(mutations.thorough_questions(files, mutations.other_questions(files["question.smt2"])))
    assert len(changes) >= 5
    refuses(exported[name][1].folder, changes, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "(",
        "(assert",
        "(" * 5000,
        "(declare-const v0 (_ BitVec 99999999999))",
        "(declare-const v0 (_ BitVec ()))",
        "(declare-const v0 (_ BitVec 5)) (assert (= v0 (_ bv0 99999999999)))",
        "(declare-const v0 (_ BitVec 5)) (assert (= v0 ((_ extract a b) v0)))",
        "(declare-const v0 (_ BitVec 5)) (assert (= v0 ((_ zero_extend 99999999999) v0)))",
        "(define-fun f ((a Bool)) Bool (f a)) (assert (f true))",
        "(assert (not (not (not true))))" + "(assert " + "(not " * 3000 + "true" + ")" * 3001,
        "(declare-const v0 Bool) (assert v0)",
        "\ufffd\x00",
    ],
)
def test_a_hostile_question_is_a_sentence(exported, text: str, tmp_path: Path) -> None:
    files = mutations.read_files(exported["proved"][1].folder)
    hostile = mutations.with_manifest({**files, "question.smt2": text})
    refuses(exported["proved"][1].folder, [Mutation("hostile", hostile)], tmp_path)


def test_files_that_are_no_text_are_a_sentence(exported, tmp_path: Path) -> None:
    folder = exported["proved"][1].folder
    for number, name in enumerate(("README.md", "question.smt2", "question.cnf", "question.drat", "manifest.json")):
        mutations.write_files(tmp_path / str(number), mutations.read_files(folder))
        (tmp_path / str(number) / name).write_bytes(b"\xff\xfe\x00")
    for code, said in checked(folder, sorted(tmp_path.iterdir())):
        assert code in (1, 2), said


# What cannot be exported, and how it is written ---------------------------------------------------------------------------------


def test_a_folder_that_holds_something_is_refused_and_left_alone(exported, tmp_path: Path) -> None:
    claim = exported["proved"][0]
    verdict = prove.check(claim, **QUIET)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, said in {"full": "exists and is not an empty folder", "file": "must be a folder, and it is a file"}.items():
        with pytest.raises(GlypticError, match=said):
            export(tmp_path / name, claim, verdict)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine.txt"]
    (tmp_path / "empty").mkdir()
    export(tmp_path / "empty", claim, verdict)
    assert (tmp_path / "empty" / "check.py").exists()
    with pytest.raises(GlypticError, match="exists and is not an empty folder"):
        export(tmp_path / "empty", claim, verdict)


def test_a_failure_leaves_nothing_behind(exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = exported["inputs"][0]
    verdict = prove.check(claim, **QUIET)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GlypticError, match=r"cannot write .*: No space left on device"):
        export(tmp_path / "new", claim, verdict)
    assert list(tmp_path.iterdir()) == []


def test_an_open_claim_and_another_verdict_are_refused(exported, tmp_path: Path) -> None:
    claim = exported["proved"][0]
    unknown = prove.Unknown(str(claim), "smt", str(claim.subject), "the time limit")
    with pytest.raises(GlypticError, match="left open"):
        export(tmp_path / "new", claim, unknown)
    other = prove.check(exported["exp"][0], **QUIET)
    with pytest.raises(GlypticError, match="another claim"):
        export(tmp_path / "new", claim, other)
    assert list(tmp_path.iterdir()) == []


def test_a_solver_that_contradicts_the_verdict_stops_the_export(exported, tmp_path: Path) -> None:
    claim = exported["refuted"][0]
    false = prove.Proved(str(claim), "smt", str(claim.subject))
    with pytest.raises(GlypticError, match="answers sat to the question in plain terms"):
        export(tmp_path / "new", claim, false)


def test_rationals_have_no_question() -> None:
    claim = Claim(Values("x", Exact()), x == x)
    with pytest.raises(AssertionError):
        script(claim, "counterexample", "unsat")


# The whole language ------------------------------------------------------------------------------------------------------------


def of_every_kind() -> dict[str, Claim]:
    sizes = Sizes(layers=1, heads=1, width=2, key_width=1, value_width=1, hidden=2, max_length=2)
    plain, normed = random_transformer(Fixed(1), 3, sizes), random_transformer(Fixed(1), 1, sizes, Options(norm="pre"))
    two, q = prove.layers(plain, free=["x0", "x1"], positions=2), Values("x y", parse_format("q:1,2"))
    weights = [("layers.0.feed_forward.w1", (0, 0))]
    decided = (prove.answer() == "UNDEFINED") | (prove.logit("YES") >= prove.logit("NO")) | (prove.answer() != "YES")
    return {
        "attention": Claim(two, prove.defined() >> (prove.after("x0", 1) <= prove.B)),
        "definedness": Claim(two, prove.defined()),
        "answers": Claim(two, decided),
        "norm": Claim(prove.layers(normed, free=["x0", "x1"]), (prove.answer() == "UNDEFINED") | (prove.after("x0") <= prove.B)),
        "free weight": Claim(prove.layers(plain, free=[("x0", 0)], weights=weights), prove.after("x0") <= prove.B),
        "let": Claim(q, prove.let("d", x - y, lambda d: abs(d) >= d)),
        "choice": Claim(q, prove.where(x > y, x, y) == prove.maximum(x, y)),
        "division": Claim(q, x / y * y <= prove.B, requires=y != 0),
    }


@pytest.mark.parametrize("kind", of_every_kind())
def test_claims_of_every_kind_are_exported_and_accepted(kind: str, tmp_path: Path) -> None:
    claim = of_every_kind()[kind]
    result = export(tmp_path / "new", claim, prove.check(claim, method="smt"), seconds=10)
    assert "question.drat" in result.sizes
    [(code, said)] = checked(result.folder, [result.folder])
    assert code == 0, said


@pytest.mark.slow
@pytest.mark.parametrize("format", ["fixed:2", "q:2,2", "float:2,1", "ieee:3,2,normal", "fp8_e4m3", "fp16"])
def test_random_claims_are_exported_and_accepted(format: str, tmp_path: Path) -> None:
    for number in range(12):
        claim = random_claim("values" if number % 3 else "block", format, number)
        verdict = prove.check(claim, method="smt", seconds=10)
        if not isinstance(verdict, prove.Unknown):
            result = export(tmp_path / str(number), claim, verdict, seconds=5)
            [(code, said)] = checked(result.folder, [result.folder])
            assert code == 0, said


# Larger ------------------------------------------------------------------------------------------------------------------------


def test_an_enclosed_exp_is_said_to_be_one(tmp_path: Path) -> None:
    fp16 = parse_format("fp16")
    claim = Claim(Values("x", fp16), exp(x) >= 1, requires=x >= 0)
    result = export(tmp_path / "new", claim, prove.check(claim, method="smt"), seconds=30)
    text = (tmp_path / "new" / "question.smt2").read_text(encoding="utf-8")
    assert "What it assumes of exp: only enclosed" in text
    [(code, said)] = checked(result.folder, [result.folder])
    assert code == 0, said
    assert "exp lies between exp.low and exp.high" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("zero.at", "fixed:2"),
        ("zero.at", "fixed:3"),
        ("linear.between", "fixed:2"),
        ("lookup.fetch", "fixed:2"),
        ("closure.negation", "float:2,2"),
        ("loop.block", "fixed:4/even"),
        ("add.vector", "fp16"),
        ("linear.into", "fixed:2 fused"),
    ],
)
def test_theorems_are_exported_and_accepted(name: str, scope: str, tmp_path: Path) -> None:
    format, products = read_scope(scope)
    claim = theorem(name).claim(format, products)
    result = export(tmp_path / "new", claim, prove.check(claim, method="smt"), seconds=30)
    [(code, said)] = checked(result.folder, [result.folder])
    assert code == 0, said
