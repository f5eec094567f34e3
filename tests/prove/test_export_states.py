"""Claims on inputs that were decided by states, exported: the checker walks the machines, and refuses those that were changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.prove.mutations import read_files, with_manifest, write_files

from glyptic import languages, programs, prove
from glyptic.exact import Transformer
from glyptic.prove import Claim, Refuted, Vacuous, check, exists, export, inputs
from glyptic.prove.certificates.saving import METHODS
from glyptic.prove.claims import expressions as e
from glyptic.prove.exporting.standalone.checker import verdict as of_checker
from glyptic.prove.exporting.standalone.checker.command import main
from glyptic.prove.questions import decisiveness, defined_attention, equivalence, recognition


def decider(name: str = "contains:101,8") -> Transformer:
    return programs.open(name, "fixed:4")


def claims() -> dict[str, Claim]:
    """Claims that read answers, automata and last tokens: proved, refuted and vacuous, for all inputs and for some."""
    T, right, wrong = decider(), languages.regular(".*101.*"), languages.regular(".*1011.*|.*1010.*")
    subject, long = inputs(T, max_length=8), inputs(T, max_length=8, min_length=5)
    return {
        "proved": recognition(T, right, 8),
        "refuted": recognition(T, wrong, 8),
        "long": Claim(long, e.answer() == "YES", e.accepted(languages.regular(".*10101|00000"))),
        "vacuous": Claim(subject, e.answer() == "YES", e.answer() == "TIE"),
        "some": exists(long, (e.answer() == "YES") & e.accepted(languages.regular("0*1010*"))),
        "last": Claim(subject, (e.token(-1) == "1") >> (e.answer() == "YES")),
        "two": equivalence(T, decider("contains:101,8").replace(name="other"), 8),
        "ended": decisiveness(programs.open("same-ends", "fixed:2"), 5),
    }


def exported(folder: Path, claim: Claim, verdict: Any = None) -> Path:
    export(folder, claim, check(claim, method="states", progress=False) if verdict is None else verdict)
    return folder


@pytest.mark.parametrize("name", claims())
def test_the_checker_shows_what_states_have_shown(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claim = claims()[name]
    verdict = check(claim, method="states", progress=False)
    assert type(verdict) is type(check(claim, method="enumerate", progress=False, backend="sequential"))
    assert main([str(exported(tmp_path / "x", claim, verdict)), "--limit", "40"]) == 0
    said = capsys.readouterr().out
    assert f"verified     {type(verdict).__name__}, at " in said and "the machine is of" in said
    trusted = [line for line in said.splitlines() if line.startswith("on trust")]
    assert {line.split()[2] for line in trusted} <= {"Python,", "that"} and "too many" not in said
    if isinstance(verdict, Refuted):
        assert "verified     no smaller one does" in said
    if isinstance(verdict, Vacuous):
        assert "none of the smallest 40" in said


def other(text: str, change: Any) -> str:
    data = json.loads(text)
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize("what", ["answer", "move", "entry", "another transformer", "cut", "no machine"])
def test_machines_that_were_changed_are_refused(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = exported(tmp_path / "x", claims()["proved"])
    file = folder / "states.json"
    everything = languages.regular(".*")
    another = exported(tmp_path / "y", recognition(decider("contains:11,8"), everything, 8))
    shorter = exported(tmp_path / "z", recognition(decider(), everything, 4))

    def change(data: dict) -> None:
        machine = data[""]
        if what == "answer":
            machine["answers"][3] = "YES" if machine["answers"][3] == "NO" else "NO"
        elif what == "move":
            machine["layers"][-1]["moves"][4][0] = 1
        elif what == "entry":
            machine["layers"][0]["states"][2]["vector"][0] += 1
        elif what == "another transformer":
            data[""] = json.loads((another / "states.json").read_text())[""]
        elif what == "cut":
            data[""] = json.loads((shorter / "states.json").read_text())[""]
        else:
            data[""] = None

    file.write_text(other(file.read_text(), change))
    assert main([str(folder), "--limit", "40"]) in (1, 2)
    said = capsys.readouterr()
    assert "CONTRADICTED states.json: " in said.out or said.err.startswith("check.py: "), said


def test_another_verdict_than_the_states_give_is_contradicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The counterexample taken away, or a longer one put in its place; where walking 40 inputs does not see it."""
    folder = exported(tmp_path / "x", claims()["long"])
    longer = exported(tmp_path / "y", claims()["long"])
    verdict = json.loads((folder / "verdict.json").read_text())
    assert verdict["counterexample"]["input"] == list("00000")
    proved = {name: part for name, part in verdict.items() if name != "counterexample"} | {"answer": "Proved"}
    (folder / "verdict.json").write_text(json.dumps(proved))
    assert main([str(folder), "--limit", "0"]) == 1
    assert "CONTRADICTED Refuted, at " in capsys.readouterr().out
    verdict["counterexample"] = {"input": list("00000000"), "observed": {}}
    (longer / "verdict.json").write_text(json.dumps(verdict))
    assert main([str(longer), "--limit", "0"]) == 1


def test_without_machines_the_search_is_on_trust_and_said_to_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claim = defined_attention(decider(), 8)  # which of the places of 0/0 was met is not in the answers
    verdict = check(claim, method="states", progress=False)
    done = export(tmp_path / "x", claim, verdict)
    assert "states.json" in done.left_out and "0/0" in done.left_out["states.json"]
    assert main([str(tmp_path / "x"), "--limit", "20"]) == 0
    assert "on trust     the search of states that the verdict is by: there is no states.json" in capsys.readouterr().out
    readme = (tmp_path / "x" / "README.md").read_text()
    assert "**states.json is left out**" in readme and "- Glyptic's search of states, where" in readme
    small = export(tmp_path / "small", claims()["proved"], check(claims()["proved"], method="states"), megabytes=1e-3)
    assert small.left_out["states.json"] == "it has more than 0.001 MB"


@pytest.mark.parametrize("method", METHODS)
def test_the_checker_knows_every_method(method: str) -> None:
    about = {"answer": "Proved", "claim": "c", "over": "o", "method": method}
    assert method in of_checker.METHODS and of_checker.read_verdict(about)["method"] == method


def test_what_auto_decides_by_states_can_be_exported_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beyond 2^24 inputs, where `auto` takes the states."""
    transformer = programs.open("contains:101,26", "fixed:6")
    verdict = prove.language(transformer, languages.regular(".*101.*"), progress=False)
    assert verdict.method == "states"
    export(tmp_path / "x", recognition(transformer, languages.regular(".*101.*")), verdict)
    assert main([str(tmp_path / "x"), "--limit", "40"]) == 0
    assert "Proved, at " in capsys.readouterr().out


WRONG = {
    "proved": [
        *({"satisfying": n} for n in (0, 1, 509, 511)), *({"inputs": n} for n in (0, 1, 511)), {"failures": 1},
        {"claim_sha256": None}, {"claim_sha256": "0" * 64},
        *({"solvers": s} for s in ([], None, "159 states", [3], ["NO"], [""], {})),
        *({"assumptions": a} for a in ([], None, [None], ["something else"], "x")),
    ],
    "refuted": [{"failures": 0}, {"failures": 1}, {"satisfying": 0}, {"inputs": 0}, {"inputs": 1, "failures": 400}],
    "vacuous": [{"satisfying": 1}, {"inputs": 1}],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_a_verdict_says_of_itself_must_be_possible(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts against the answer, and sentences that a search of states does not write; the manifest made anew."""
    files = read_files(exported(tmp_path / "x", claims()[name]))
    verdict = json.loads(files["verdict.json"])
    for changes in ({}, *WRONG[name]):
        changed = with_manifest({**files, "verdict.json": json.dumps({**verdict, **changes})})
        write_files(tmp_path / "y", changed)
        assert (main([str(tmp_path / "y"), "--limit", "40"]) == 0) is (not changes), changes
        said = capsys.readouterr()
        assert not changes or "CONTRADICTED " in said.out or said.err.count("\n") == 1


@pytest.mark.parametrize("about", [{"version": v} for v in (3, True, 1.0, "1", None)] + [{"kind": "another"}])
def test_another_manifest_is_refused(about: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = exported(tmp_path / "x", claims()["proved"])
    file = folder / "manifest.json"
    file.write_text(other(file.read_text(), lambda data: data.update(about)))
    assert main([str(folder), "--limit", "40"]) == 1
    assert "CONTRADICTED manifest.json is not of kind glyptic.prove.export, version 1" in capsys.readouterr().out
