"""`glyptic prove`, `precision`, `lint`: what they print, their exit status, and bad input in one sentence."""

import importlib
import json
import subprocess
import sys

import pytest
from tests.prove.examples import broken

from glyptic.cli import COMMANDS
from glyptic.cli.precision import PrecisionCommand
from glyptic.cli.reading import read
from glyptic.errors import GlypticError
from glyptic.languages import tomita
from glyptic.lint import RULES
from glyptic.numbers import Fixed
from glyptic.programs import recogniser
from glyptic.prove.certificates.saving import sealed
from glyptic.prove.methods.smt.solvers import SolverLimits, ask
from glyptic.prove.verdicts.answers import verdict_from_json
from glyptic.theorems import proving


def run(command, *words):
    """A command as the shell would start it; its exit status."""
    module, _, name = COMMANDS[command][0].partition(":")
    return read(getattr(importlib.import_module(module), name), [str(word) for word in words]).main() or 0


@pytest.fixture
def model(tmp_path):
    recogniser(tomita(4), Fixed(2), 8).save(tmp_path / "model")
    return tmp_path / "model"


def test_languages(model, capsys):
    assert run("prove", model, "--tomita", 4, "--workers", 1) == 0
    out = capsys.readouterr().out
    assert out.startswith("Proved: language")
    assert "510 inputs run" in out
    assert "assuming that" in out
    assert run("prove", model, "--language", "(1|01|001)*(0|00)?", "--max-length", 5) == 0
    assert run("prove", model, "--tomita", 1) == 1
    assert "smallest counterexample: input '0'" in capsys.readouterr().out


def test_the_other_questions(model, tmp_path, capsys):
    broken(recogniser(tomita(4), Fixed(2), 8), "output").save(tmp_path / "broken")
    assert run("prove", model, model) == 0
    assert run("prove", model, tmp_path / "broken") == 1
    assert run("prove", model, "--decisive", "--format", "float:2,2") == 0
    assert run("prove", model, "--never-zero-attention") == 0
    out = capsys.readouterr().out
    assert "float:2,2" in out
    assert "Refuted: equivalent" in out


def test_certificates_are_written_and_rechecked(model, tmp_path, capsys):
    path = tmp_path / "certificate.json"
    assert run("prove", model, "--tomita", 4, "--certificate", path) == 0
    assert run("prove", "--recheck", path) == 0
    out = capsys.readouterr().out
    assert "confirmed: Proved" in out
    content = json.loads(path.read_text())
    content["verdict"]["satisfying"] = 3
    content["says"] = str(verdict_from_json(content["verdict"]))
    path.write_text(json.dumps(sealed(content)))
    assert run("prove", "--recheck", path) == 3
    assert "NOT CONFIRMED" in capsys.readouterr().out


def test_the_status_of_a_recheck_tells_what_is_confirmed(model, tmp_path, capsys):
    """0 for a proof, 1 for a refutation that is right, 3 for what is not confirmed."""
    path = tmp_path / "certificate.json"
    assert run("prove", model, "--tomita", 1, "--certificate", path) == 1
    assert run("prove", "--recheck", path) == 1
    out = capsys.readouterr().out
    assert "\nconfirmed: the counterexample fails the claim" in out
    assert "that none is smaller is confirmed (all 510 were run)" in out
    assert run("prove", "parity:20", "--decisive", "--seconds", 0.01, "--workers", 1, "--certificate", path) == 1
    assert run("prove", "--recheck", path) == 3
    assert "nothing to confirm" in capsys.readouterr().out


def test_a_recheck_compares_the_models_that_are_named(model, tmp_path, capsys):
    path, other = tmp_path / "certificate.json", tmp_path / "other"
    broken(recogniser(tomita(4), Fixed(2), 8), "output").save(other)
    run("prove", model, other, "--certificate", path)
    assert run("prove", "--recheck", path, model, other) == 1
    assert capsys.readouterr().out.count("(those of the model given)") == 2
    with pytest.raises(GlypticError, match="its transformer a differs in output"):
        run("prove", "--recheck", path, other, model)
    with pytest.raises(GlypticError, match="about 2 transformers, and 1 models are given"):
        run("prove", "--recheck", path, model)
    run("prove", model, "--decisive", "--format", "fixed:3", "--certificate", path)
    with pytest.raises(GlypticError, match="its transformer differs in format"):
        run("prove", "--recheck", path, model)
    assert run("prove", "--recheck", path, model, "--format", "fixed:3") == 0


def test_a_recheck_runs_in_the_engine_that_is_chosen(model, tmp_path, capsys, monkeypatch):
    path = tmp_path / "certificate.json"
    run("prove", model, "--decisive", "--max-length", 3, "--certificate", path)
    assert "kernels" in capsys.readouterr().out
    assert run("prove", "--recheck", path, "--engine", "reference", "--workers", 1) == 0
    assert "kernels" not in capsys.readouterr().out
    assert run("prove", "--recheck", path) == 0
    assert "kernels" in capsys.readouterr().out
    with pytest.raises(GlypticError, match="megabytes 9 has no effect here: the certificate's verdict is by enumeration"):
        run("prove", "--recheck", path, "--megabytes", 9)


IDLE = [
    *(["--language", "0"], ["--tomita", "1"], ["--decisive"], ["--never-zero-attention"], ["--max-length", "3"]),
    *(["--min-length", "2"], ["--steps", "2"], ["--yes", "1"], ["--no", "0"], ["--format", "fixed:2"]),
    *(["--formats", "fixed:2"], ["--figure", "f.svg"], ["--certificate", "c.json"], ["--journal", "j.json"]),
    ["--library"],
]


@pytest.mark.parametrize("flags", IDLE, ids=lambda flags: flags[0])
def test_a_flag_without_effect_on_a_recheck_is_refused(flags):
    with pytest.raises(GlypticError, match=f"{flags[0]} has no effect with --recheck"):
        run("prove", "--recheck", __file__, *flags)


def test_many_formats(model, tmp_path, capsys):
    figure = tmp_path / "sweep.svg"
    words = ("--formats", "fixed:1..2 float:1,2", "--figure", figure, "--workers", 1, "--max-length", 5)
    assert run("prove", model, "--tomita", 4, *words) == 1
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines() if line.startswith(("fixed", "float"))]
    assert rows == [["fixed:1", "Refuted"], ["fixed:2", "Proved"], ["float:1,2", "Proved"]]
    assert figure.exists()
    kept = tmp_path / "kept.json"
    words = ("--formats", "fixed:2..3", "--workers", 1, "--max-length", 4, "--journal", kept)
    assert run("prove", model, "--tomita", 4, *words) == 0
    assert list(json.loads(kept.read_text())["cells"]) == ["fixed:2", "fixed:3"]


def test_the_library(monkeypatch, capsys):
    """The command itself, on two of the theorems: formats and limits reach the solvers, and the table is printed."""
    monkeypatch.setattr(proving, "THEOREMS", [proving.theorem(name) for name in ("zero.at", "lookup.fetch")])
    seen = []

    def noted(solver, script, limits):
        seen.append(limits)
        return ask(solver, script, limits)

    monkeypatch.setattr("glyptic.prove.methods.smt.solvers.ask", noted)
    words = ("--formats", "fixed:2..3 q:3,3", "--seconds", 50, "--megabytes", 3000, "--workers", 1)
    assert run("prove", "--library", *words) == 0
    table = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert table[0] == ["theorem", "fixed:2", "fixed:3", "q:3,3"]
    assert table[2] == ["zero.at", "✓s", "✓s", "–"]
    assert table[3] == ["lookup.fetch", "✓", "✓", "✓"]
    assert set(seen) == {SolverLimits(50, 3000)}


def test_precision(tmp_path, capsys):
    figure = tmp_path / "precision.png"
    assert run("precision", "automaton", "--tomita", 2, "--max-length", 3, "--figure", figure, "--workers", 1) == 0
    assert "automaton: least precision" in capsys.readouterr().out
    assert figure.exists()
    assert run("precision", "majority", "--max-length", 3, "--exponents", 0, 1, "--workers", 1) == 0
    assert "s, e = 1" in capsys.readouterr().out


def test_precision_without_a_language_takes_the_answers_of_a_large_format(capsys):
    assert run("precision", "majority", "--max-length", 4, "--large", "fixed:6", "--workers", 1) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[5].endswith("forced, input '110': [YES in fixed:6](input) is true, answer is TIE")
    assert "<locals>" not in "".join(rows)


def test_the_large_format_is_asked_in_batches(monkeypatch):
    """Texts in any order, each answered as by the decider itself, however few are run together."""
    monkeypatch.setattr("glyptic.cli.precision._TOGETHER", 4)
    right = PrecisionCommand("majority", large="fixed:6")._as_in_large_format()
    for text in ("11010", "00000", "11011", "1", "0", "01"):
        assert right(text) is (2 * text.count("1") > len(text))
        assert right(tuple(text)) is right(text)


def test_lint(model, capsys):
    assert run("lint", model, "--runs", 30) == 0  # notes only
    assert "note: flag left over: coordinate stay0" in capsys.readouterr().out
    assert run("lint", model, "--runs", 30, "--fail-on", "note") == 1
    everything = ("--ignore", "order-of-a-sum", "--ignore", "flag left over", "--ignore", "dead head")
    capsys.readouterr()
    assert run("lint", model, "--runs", 30, "--fail-on", "note", *everything) == 0
    summary = "0 errors, 0 warnings, 0 notes, 6 suppressed; ignored in vain: dead head"
    assert capsys.readouterr().out.splitlines() == [summary]


def test_lint_as_json(model, capsys):
    assert run("lint", model, "--runs", 30, "--json", "--ignore", "order of a sum@layer 0") == 0
    report = json.loads(capsys.readouterr().out)
    assert {finding["rule"] for finding in report["findings"]} == {"order of a sum", "flag left over"}
    assert [finding["where"] for finding in report["suppressed"]] == ["layer 0, head 0, scores"]


def test_the_help_of_lint_names_every_rule_and_the_exit_status(capsys):
    with pytest.raises(SystemExit):
        run("lint", "--help")
    help = " ".join(capsys.readouterr().out.split())
    assert all(rule in help for rule in RULES)
    assert "exit status is 0 if there are no errors and no warnings" in help


@pytest.mark.parametrize(
    ("command", "words", "sentence"),
    [
        ("prove", ["parity:4"], "0 questions are asked of parity:4; ask one"),
        ("prove", ["parity:4", "--decisive", "--tomita", "3"], "2 questions"),
        ("prove", ["--decisive"], "no model"),
        ("prove", ["nowhere", "--decisive"], "neither a folder"),
        ("prove", ["parity:4", "--tomita", "9"], "--tomita is 9, and must be a whole number from 1 to 7"),
        ("prove", ["parity:4", "--decisive", "--steps", "soon"], "--steps is 'soon'"),
        ("prove", ["parity:4", "--decisive", "--max-length", "99"], "99"),
        ("prove", ["parity:8", "--decisive", "--steps", "2", "--max-length", "4"], "does not read its answer 'NO'"),
        ("prove", ["parity:4", "--language", "(0"], "is not closed"),
        ("prove", ["parity:4", "--decisive", "--formats", "fixed:9..1"], "the range 9..1 is empty"),
        ("prove", ["parity:4", "--decisive", "--formats", "fixed:2", "--certificate", "c"], "is for one format"),
        ("prove", ["parity:4", "--decisive", "--megabytes", "9"], "--megabytes bounds solvers"),
        ("prove", ["--recheck", "nowhere.json"], "--recheck is 'nowhere.json', and must be a file; there is nothing"),
        ("prove", ["parity:4", "--library"], "the model 'parity:4' has no effect with --library"),
        ("prove", ["--library", "--decisive"], "--decisive has no effect with --library"),
        ("prove", ["--library", "--max-length", "3"], "--max-length has no effect with --library"),
        ("prove", ["--library", "--certificate", "c.json"], "--certificate has no effect with --library"),
        ("prove", ["--library", "--recheck", __file__], "--library has no effect with --recheck"),
        ("prove", ["--library", "--workers", "0"], "--workers is 0"),
        ("prove", ["parity:4", "--decisive", "--figure", "f.svg"], "--figure has no effect without --formats"),
        ("prove", ["parity:4", "--decisive", "--formats", "fixed:2", "--format", "fixed:2"], "--format has no effect beside"),
        ("prove", ["parity:4", "--decisive", "--formats", "fixed:2", "--count-all"], "--count-all has no effect beside"),
        ("prove", ["parity:4", "--decisive", "--formats", "fixed:2", "--figure", "f.txt"], "must be a file that ends in"),
        ("prove", ["parity:4", "--decisive", "--formats", "fixed:2", "--figure", "no/f.svg"], "there is no folder 'no'"),
        ("prove", ["parity:4", "--decisive", "--formats", "fixed:2", "--max-length", "99"], "has 4 positions"),
        ("prove", ["nowhere", "--decisive", "--formats", "fixed:2..3"], "neither a folder"),
        ("prove", ["parity:4", "--tomita", "9", "--formats", "fixed:2..3"], "--tomita is 9, and must be"),
        ("prove", ["parity:4", "--decisive", "--seconds", "nan"], "--seconds is nan, and must be a number above 0"),
        ("prove", ["parity:4", "--decisive", "--seconds", "0"], "--seconds is 0.0, and must be a number above 0"),
        ("prove", ["--library", "--seconds", "-1"], "--seconds is -1.0, and must be a number above 0"),
        ("prove", ["--library", "--megabytes", "0"], "--megabytes is 0, and must be"),
        ("prove", ["parity:4", "--decisive", "--workers", "-3"], "--workers is -3"),
        ("prove", ["parity:4", "--decisive", "--max-length", "0"], "--max-length is 0, and must be"),
        ("prove", ["parity:4", "--decisive", "--min-length", "9", "--max-length", "3"], "--min-length 9 and --max-length 3"),
        ("prove", ["parity:4", "--decisive", "--min-length", "0"], "--min-length is 0, and must be"),
        ("prove", ["parity:4", "--decisive", "--steps", "0"], "--steps is '0'"),
        ("prove", ["parity:4", "--never-zero-attention", "--steps", "n"], "--steps has no effect"),
        ("prove", ["parity:4", "--decisive", "--yes", "JA"], "--yes has no effect without --language"),
        ("prove", ["parity:4", "--tomita", "1", "--yes", "NO"], "both 'NO'"),
        ("prove", ["parity:4", "--decisive", "--terms", "plain"], "--terms has no effect"),
        ("prove", ["parity:4", "--decisive", "--certificate", "no/c.json"], "there is no folder 'no'"),
        ("prove", ["parity:4", "--decisive", "--journal", "."], "--journal is '.', and must be a file"),
        ("prove", ["--recheck", "."], "must be a file; there is a folder"),
        ("precision", ["automaton"], "needs a language"),
        ("precision", ["parity:8"], "parity:8 fixes max_length"),
        ("precision", ["contains:max_length=3"], "fixes max_length"),
        ("precision", ["nope"], "no built-in decider 'nope'"),
        ("precision", ["majority", "--exponents", "-1"], r"--exponents\[0\] is -1, and must be"),
        ("precision", ["majority", "--max-length", "40"], "1,099,511,627,776 inputs"),
        ("precision", ["majority", "--seconds", "nan"], "--seconds is nan, and must be a number above 0"),
        ("precision", ["majority", "--workers", "0"], "--workers is 0"),
        ("precision", ["majority", "--figure", "s.what"], "--figure is 's.what', and must"),
        ("precision", ["majority", "--large", "nope"], "'nope' is not a format"),
        ("precision", ["majority", "--tomita", "1", "--language", "0"], "name one"),
        ("lint", ["nowhere"], "neither a folder"),
        ("lint", ["parity:4", "--ignore", "nothing"], "the rules are masked keys"),
        ("lint", ["parity:4", "--runs", "0"], "--runs is 0, and must be a whole number from 1"),
    ],
)
def test_bad_input_is_one_sentence(command, words, sentence):
    with pytest.raises(GlypticError, match=sentence) as caught:
        run(command, *words)
    assert "\n" not in str(caught.value)


# --export ------------------------------------------------------------------------------------------------------------------


def accepted(folder):
    """Whether the folder's own checker, without Glyptic, finds nothing against the verdict."""
    command = [sys.executable, "-I", "-S", "check.py", "--limit", "200"]
    return subprocess.run(command, cwd=folder, env={}, capture_output=True, check=False).returncode == 0


def test_a_verdict_is_exported(model, tmp_path, capsys):
    words = ("prove", model, "--tomita", 4, "--max-length", 5, "--workers", 1)
    assert run(*words, "--export", tmp_path / "out", "--certificate", tmp_path / "c.json") == 0
    out = capsys.readouterr().out
    assert f"exported to {tmp_path / 'out'}: claim.json, verdict.json" in out
    assert "check it without Glyptic: python" in out
    assert accepted(tmp_path / "out")
    with pytest.raises(GlypticError, match="exists and is not an empty folder"):
        run(*words, "--export", tmp_path / "out")
    assert run("prove", "--recheck", tmp_path / "c.json", "--export", tmp_path / "again") == 0
    assert accepted(tmp_path / "again")
    assert run("prove", model, "--tomita", 1, "--max-length", 4, "--export", tmp_path / "refuted") == 1
    assert accepted(tmp_path / "refuted")


def test_what_was_left_open_is_not_exported(tmp_path, capsys):
    words = ("contains:101,16", "--decisive", "--seconds", 0.001, "--workers", 1)
    assert run("prove", *words, "--export", tmp_path / "out") == 1
    assert "nothing is exported: the claim was left open" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_a_theorem_is_exported(tmp_path, capsys):
    words = ("prove", "--library", "--theorem", "flags.position", "--formats", "fixed:2")
    assert run(*words, "--export", tmp_path / "out") == 0
    assert "cvc5" in capsys.readouterr().out
    assert (tmp_path / "out" / "question.drat").exists()
    assert accepted(tmp_path / "out")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--library",), "--export is for one theorem"),
        (("--library", "--theorem", "zero.at"), "--export is for one theorem"),
        (("--library", "--theorem", "zero.at", "--formats", "fixed:2..3"), "--formats names 2"),
        (("parity:4", "--decisive", "--formats", "fixed:2"), "--export is for one format"),
    ],
)
def test_what_export_does_not_go_with(words, says, tmp_path):
    with pytest.raises(GlypticError, match=says):
        run("prove", *words, "--export", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [("--decisive",), ("--language", ".*1.*"), ("at-least:2",)])
def test_what_cannot_be_exported_is_not_decided_first(words, tmp_path, monkeypatch):
    from glyptic.prove.methods.states import deciding

    monkeypatch.setattr(deciding, "machines_of", lambda *_: pytest.fail("the states were searched"))
    with pytest.raises(GlypticError, match="a claim on every length is shown by the machine"):
        run("prove", "occurs", *words, "--format", "fixed:2", "--export", tmp_path / "out")
    assert not (tmp_path / "out").exists()
