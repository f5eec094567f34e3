"""`glyptic normalize`, `combine`, `frame`: what they write is right, and what is wrong is one sentence and status 2."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from glyptic import cli, programs
from glyptic.errors import GlypticError, InputError
from glyptic.exact import load
from glyptic.programs.combining import parse

NAMES = ("normalize", "combine", "frame")
INPUTS = ["".join(word) for n in range(1, 7) for word in product("01", repeat=n)]


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setitem(cli.COMMANDS, name, (f"glyptic.cli.{name}:{name.capitalize()}Command", ""))


@pytest.mark.parametrize("kind", ["zero_one", "infinity", "plus_minus"])
def test_normalize_keeps_every_answer(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["normalize", "parity:6", "--kind", kind, "--format", "fixed:4", "--out", str(tmp_path / "n")]) == 0
    printed = capsys.readouterr().out
    assert "4. normalize." in printed  # after the three layers of parity
    assert str(tmp_path / "n") in printed
    made = load(tmp_path / "n")
    assert made.run_batch(INPUTS).answers == programs.open("parity:6", "fixed:4").run_batch(INPUTS).answers
    assert cli.main(["frame", str(tmp_path / "n")]) == 0
    assert capsys.readouterr().out.strip() in printed


def test_combine_by_truth_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expression = "parity:6 & ~(contains:11,6 | majority:6) ^ first-equals-last:6"
    assert cli.main(["combine", expression, "--format", "fixed:4", "--out", str(tmp_path / "c")]) == 0
    said = load(tmp_path / "c").run_batch(INPUTS).answers
    expected = [
        (w.count("1") % 2 == 1 and not ("11" in w or 2 * w.count("1") > len(w))) ^ (w[0] == w[-1]) for w in INPUTS
    ]
    assert said == tuple("YES" if yes else "NO" for yes in expected)
    assert expression in capsys.readouterr().out


def test_combine_reads_folders_and_quoted_names(tmp_path: Path) -> None:
    programs.open("brackets:6,2,()", "fixed:4").save(tmp_path / "my model")
    expression = f"~'{tmp_path / 'my model'}' | \"brackets:6,1,()\""
    assert cli.main(["combine", expression, "--format", "fixed:4", "--out", str(tmp_path / "c")]) == 0
    made = load(tmp_path / "c")
    assert [made.answer(text) for text in ("()", "(())", "((")] == ["YES", "NO", "YES"]


def test_frame_of_a_built_in_decider(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["frame", "majority:5"]) == 0
    assert "majority:5, fixed:8: 1 layers, 1 heads" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["frame", "nothing"], "'nothing' is neither a folder with a transformer nor a built-in decider"),
        (["frame", "parity:x"], "max_length must be a whole number"),
        (["frame", "."], "config.json"),
        (["frame", "parity", "--format", "fixed:x"], "not a format"),
        (["normalize", "majority:9", "--format", "fixed:2"], "counts to 9"),
        (["normalize", "first-equals-last", "--kind", "infinity", "--format", "fixed:1"], "rests on"),
        (["combine", "parity:4 &"], "a decider's name is missing at its end"),
        (["combine", ""], "a decider's name is missing at its end"),
        (["combine", "parity:4 parity:4"], "an operator &, | or ^ is missing before column 10"),
        (["combine", "(parity:4"], "a closing parenthesis is missing at its end"),
        (["combine", "parity:4) & parity:4"], "an operator &, | or ^ is missing before column 9"),
        (["combine", "'parity:4"], "quotation mark at column 1 that is never closed"),
        (["combine", "~" * 200 + "parity:4"], "more than 100"),
        (["combine", "parity:4 & __import__"], "'__import__' is neither"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_mistakes_are_one_sentence(
    words: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert says in captured.err
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "text", ["a|b&c", "a^b&c|a", "~a&b", "~(a&b)", "~~a", "((a))", "a&b&c", "a | b ^ ~ c & ( a | c )", "a^b^c"]
)
def test_precedence_is_python_s(text: str) -> None:
    """Python's own parser reads the same operators with the same precedence; here on columns of a truth table."""
    import ast

    values = {"a": 0b11110000, "b": 0b11001100, "c": 0b10101010}

    def by_python(node: ast.expr) -> int:
        if isinstance(node, ast.Name):
            return values[node.id]
        if isinstance(node, ast.UnaryOp):
            return ~by_python(node.operand)
        assert isinstance(node, ast.BinOp)
        left, right = by_python(node.left), by_python(node.right)
        return {ast.BitAnd: left & right, ast.BitOr: left | right, ast.BitXor: left ^ right}[type(node.op)]

    assert parse(text, values.__getitem__) == by_python(ast.parse(text, mode="eval").body)


def test_names_in_expressions() -> None:
    seen: list[str] = []

    def leaf(name: str) -> int:
        seen.append(name)
        return 0

    parse("./a/b-c & 'brackets:4,2,()'|contains:101,7", leaf)
    assert seen == ["./a/b-c", "brackets:4,2,()", "contains:101,7"]
    with pytest.raises(InputError, match="missing"):
        parse("a b", leaf)


def test_open_prefers_a_folder_that_holds_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parity").mkdir()
    assert programs.open("parity").name == "parity:16"
    programs.open("majority:5").save("parity")
    assert programs.open("parity").name == "majority:5"
    assert str(programs.open("parity", "fixed:5").format) == "fixed:5"
    with pytest.raises(GlypticError):
        programs.open("")


SCRIPT = """
import sys
from glyptic import cli
for name in ("normalize", "combine", "frame"):
    cli.COMMANDS.setdefault(name, (f"glyptic.cli.{name}:{name.capitalize()}Command", ""))
sys.exit(cli.main())
"""


def test_as_a_process(tmp_path: Path) -> None:
    """From the shell: status, streams, and a folder that loads."""
    source = str(Path(cli.__file__).parents[2])

    def glyptic(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", SCRIPT, *words]
        environment = {**os.environ, "PYTHONPATH": source}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    done = glyptic("normalize", "contains:11,6", "--out", str(tmp_path / "made"))
    assert (done.returncode, done.stderr) == (0, "")
    assert load(tmp_path / "made").answer("0110") == "YES"
    wrong = glyptic("normalize", "contents")
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    assert "Traceback" not in wrong.stderr


def _of_digits(folder: Path, name: str, answers: tuple[str, str] = ("0", "1")) -> str:
    """A built-in decider in a folder, whose answers are named otherwise."""
    programs.open(name, "fixed:4").replace(answers=answers).save(folder)
    return f"'{folder}'"


@pytest.mark.parametrize("kind", ["infinity", "plus_minus"])
def test_normalize_is_told_which_answer_means_yes(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _of_digits(tmp_path / "m", "parity:6")
    asked = ["normalize", str(tmp_path / "m"), "--kind", kind, "--out", str(tmp_path / "n")]
    assert cli.main(asked) == 2
    assert "--yes" in capsys.readouterr().err
    assert cli.main([*asked, "--yes", "2"]) == 2
    assert "yes is '2', and must be one of the answers, '0' and '1'." in capsys.readouterr().err
    for yes, last in (("1", (0, 1)), ("0", (1, 0))):
        assert cli.main([*asked, "--yes", yes]) == 0
        made = load(tmp_path / "n")
        assert made.run_batch(INPUTS).answers == tuple("01"[word.count("1") % 2] for word in INPUTS)
        assert made.coordinates[:2] == tuple("01"[i] for i in last)  # NO, YES
    assert cli.main(["normalize", "parity:6", "--kind", "zero_one", "--yes", "YES", "--out", str(tmp_path / "n")]) == 2
    assert "--yes has no effect with --kind zero_one" in capsys.readouterr().err


def test_combine_is_told_which_answer_means_yes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digits, out = _of_digits(tmp_path / "m", "parity:6"), ["--format", "fixed:4", "--out", str(tmp_path / "c")]
    expression = f"(majority:6 | contains:11,6) & ~{digits}"
    assert cli.main(["combine", expression, *out]) == 2
    assert "neither name says which means YES" in capsys.readouterr().err
    for yes, odd in (("1", 1), ("0", 0)):
        assert cli.main(["combine", expression, "--yes", yes, *out]) == 0
        said = load(tmp_path / "c").run_batch(INPUTS).answers
        right = [(2 * w.count("1") > len(w) or "11" in w) and w.count("1") % 2 != odd for w in INPUTS]
        assert said == tuple("YES" if yes else "NO" for yes in right)
    capsys.readouterr()
    letters = _of_digits(tmp_path / "ab", "parity:6", ("a", "b"))
    for bad, complaint in {
        (expression, "2"): ": yes is '2', and must be an answer of a decider; these answer 0, 1, NO, YES.",
        (f"{digits} & {letters}", "1"): "yes is '1', and must be one of the answers, 'a' and 'b'.",
        ("parity:6 & majority:6", "NO"): "say otherwise",
    }.items():
        assert cli.main(["combine", bad[0], "--yes", bad[1], *out]) == 2
        assert complaint in capsys.readouterr().err


def test_an_empty_model_is_not_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs.open("parity:4", "fixed:4").save(tmp_path)
    monkeypatch.chdir(tmp_path)
    for words in (["run", "", "01"], ["show", ""], ["combine", "'' & ."], ["frame", ""], ["lint", ""], ["normalize", ""]):
        assert cli.main(words) == 2
        assert "the MODEL is empty" in capsys.readouterr().err
    assert cli.main(["normalize", "parity:4", "--out", "/"]) == 2
    assert "is taken" in capsys.readouterr().err
