"""How the command is used: flags without effect, words twice, large expressions, odd environments, a minimal install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tqdm.auto import tqdm

from glyptic.cli import COMMANDS, main
from glyptic.exact import load
from glyptic.extras import PACKAGES
from glyptic.languages import regular
from glyptic.programs.registry import KINDS

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def glyptic(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return python("-m", "glyptic", *words, **environment)


def python(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=whole, timeout=600, check=False)


# Words -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("show parity:4 --batch 3", "--batch has no effect on an exact transformer"),
        ("show parity:4 --length 3", "--length has no effect on an exact transformer"),
        ("prove parity:4 --decisive --backend sequential --workers 3", "--workers has no effect with --backend sequential"),
        ("prove --library --theorem zero.at --formats fixed:2 --export e --workers 2", "--workers has no effect with --export"),
        ("prove --library --theorem zero.at --formats fixed:2 --export e --journal j", "--journal has no effect with --export"),
        ("precision majority --tomita 1 --large fixed:6", "--large has no effect where a language is named"),
        ("precision automaton --tomita 1 --large fixed:6", "--large has no effect where a language is named"),
        ("precision majority --backend sequential --workers 2", "--workers has no effect with --backend sequential"),
        ("icl train --layers 2", "--layers has no effect on lsa, which has one layer"),
        ("icl train --learner deep --width 8", "--width has no effect on deep"),
        ("icl train --learner softmax --sigma 0.1", "--sigma has no effect on softmax"),
        ("icl compare --baselines ols --slow-prompts 5", "--slow-prompts has no effect without a slow baseline"),
        ("icl sweep --measure train --prompts 5", "--prompts has no effect with --measure train"),
        ("icl sweep --backend sequential --workers 3", "--workers has no effect with --backend sequential"),
        ("icl reproduce --backend sequential --workers 3", "--workers has no effect with --backend sequential"),
        ("run parity:4 01 --format fixed:2 --format fixed:3", "--format is given twice"),
        ("run parity:4 01 --trace --no-trace", "--trace is given twice"),
        ("run parity:4 01 --max_length=3 --max-length=4", "--max-length is given twice"),
        ("run parity:4 01 --nope", "Unrecognized options: --nope; `glyptic run --help` explains"),
        ("run parity:4", "Missing from glyptic run: INPUT"),
        ("run parity:4 01 --engine quick", "--engine: 'quick' is not one of auto, fast, reference"),
        ("icl train --batch 100000 --N 1000 --d 100", "a batch of prompts would have 10,110,100,000 numbers"),
        ("icl compare --prompts 1000000 --N 1000", "the test prompts would have 6,006,000,000 numbers"),
        ("icl sweep --prompts 10000000 --N 1000 --d 9", "the prompts of a cell would have"),
        ("prove parity:4 --decisive --formats", "Missing value for argument '--formats'"),
    ],
)
def test_what_has_no_effect_or_no_meaning_is_refused(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words.split()) == 2
    out, err = capsys.readouterr()
    assert says in err and err.count("\n") == 1 and not out


def test_an_empty_format_is_not_the_usual_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "parity:4", "01", "--format", ""]) == 2
    assert main(["prove", "parity:4", "--decisive", "--formats", ""]) == 2
    assert "no formats are named" in capsys.readouterr().err


def test_sixty_deciders_are_one_conjunction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Joined two by two they had 120 layers, and did not come to an end."""
    assert main(["combine", " & ".join(["parity:4"] * 59 + ["~contains:11,4"]), "--format", "fixed:4"]) == 0
    made = load(tmp_path / "combined")
    assert len(made.layers) < 8
    assert [made.answer(text) for text in ("01", "0111", "011", "1000")] == ["YES", "NO", "NO", "YES"]
    capsys.readouterr()
    assert main(["combine", " | ".join(["parity:4"] * 101)]) == 2
    assert "joins 101 deciders; 100 are the most" in capsys.readouterr().err
    assert main(["combine", "(" * 5000 + "parity:4" + ")" * 5000]) == 2
    assert len(capsys.readouterr().err) < 400


@pytest.mark.parametrize("expression", ["(0+1)*", "0+1", "(0)+(1)", "0+.", "0+1+"])
def test_a_plus_between_two_is_nobody_s_reading(expression: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "parity:4", "--language", expression]) == 2
    assert "could be a union" in capsys.readouterr().err


@pytest.mark.parametrize(("expression", "inside"), [("0+", "00"), ("(0+)1", "001"), ("1(0|1)+", "10"), ("0+|1", "1")])
def test_a_plus_that_can_only_repeat_is_read(expression: str, inside: str) -> None:
    assert regular(expression).accepts(inside)


def test_help_names_its_arguments_and_the_built_in_deciders(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("run", "show", "normalize", "combine", "frame", "prove", "precision", "lint"):
        with pytest.raises(SystemExit):
            main([name, "--help"])
        said = capsys.readouterr().out
        assert all(f"{decider}:" in said for decider in KINDS)
        assert "STR " not in said.partition("\n")[0]
        assert f"glyptic {name} " in said.partition("Built-in")[0].partition("\n")[2]  # an example
    assert main(["--help"]) == 0
    assert ", ".join(KINDS) in capsys.readouterr().out


# Surroundings ------------------------------------------------------------------------------------------------------------------


def test_an_ascii_terminal(tmp_path: Path) -> None:
    script = """
from glyptic.cli import main
done = [main(words.split()) for words in ("run parity:4 01 --trace", "frame parity:4", "icl flow --d 2", "--help")]
refused = [main(["run", "parity:4", "0" + chr(0x2603)]), main(["run", "parity:4", "01", "--nope", chr(0x2603)])]
assert (done, refused) == ([0] * 4, [2] * 2), (done, refused)
main(["run", "--help"])
"""
    done = python("-c", script, PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and done.stderr.isascii() and "\\u221e" in done.stdout


def test_a_backend_of_matplotlib_that_nobody_knows_does_not_stop_a_figure(tmp_path: Path) -> None:
    done = glyptic("precision", "majority", "--max-length", "1", "--figure", "s.svg", MPLBACKEND="nope")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "s.svg").exists()


def test_without_numba_s_compiler_the_reference_computes() -> None:
    done = glyptic("run", "parity:4", "01", NUMBA_DISABLE_JIT="1")
    assert (done.returncode, done.stdout.split()[-1]) == (0, "YES"), done.stderr
    fast = glyptic("run", "parity:4", "01", "--engine", "fast", NUMBA_DISABLE_JIT="1")
    assert fast.returncode == 2 and "NUMBA_DISABLE_JIT" in fast.stderr


@pytest.mark.parametrize(("backend", "variable"), [("dask", "DASK_SCHEDULER_ADDRESS"), ("ray", "RAY_ADDRESS")])
def test_a_cluster_that_does_not_answer_is_one_sentence(backend: str, variable: str) -> None:
    pytest.importorskip("distributed" if backend == "dask" else "ray")
    done = glyptic("prove", "parity:4", "--decisive", "--backend", backend, **{variable: "127.0.0.1:9"})
    assert done.returncode == 2
    assert f"{variable} is '127.0.0.1:9', where nobody answers" in done.stderr and done.stderr.count("\n") == 1


# A minimal install -----------------------------------------------------------------------------------------------------------

BLOCKED = f"""
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(PACKAGES)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Nothing())
"""
TRIED = """
import io, json, os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from glyptic.cli import main

for number, words in enumerate(json.loads(sys.argv[1])):
    os.mkdir(str(number))
    os.chdir(str(number))
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(words.split())
    written = [path.suffix for path in Path().rglob("*") if path.is_file()]
    print(json.dumps([status, out.getvalue(), err.getvalue(), written]))
    os.chdir("..")
"""
WITHOUT_EXTRAS = {  # what is asked, and the extra that it needs, if any
    "run parity:4 01": None,
    "show parity:4": None,
    "normalize parity:4": None,
    "combine parity:4": None,
    "frame parity:4": None,
    "prove parity:3 --decisive": None,
    "prove parity:3 --decisive --formats fixed:2 --figure f.svg": "plot",
    "prove parity:3 --decisive --backend ray": "cluster",
    "prove parity:3 --decisive --backend dask": "cluster",
    "precision majority --max-length 2": None,
    "precision majority --max-length 2 --figure f.svg": "plot",
    "lint parity:4": None,
    "look parity:4 01 --out page.html": None,
    "studio --no-open": "studio",
    "machine occurs": None,
    "train parity": "nn",
    "evaluate .": "nn",
    "generate .": "nn",
    "translate . x": "nn",
    "recipes": "nn",
    "experiment norms": "nn",
    "distill .": "nn",
    "icl flow --d 2": None,
    "icl risk --d 2 --prompts 0": None,
    "icl shift --d 2 --prompts 0": None,
    "icl landscape --starts 5 --tries 5": None,
    "icl separate --d 2 --heads 2": None,
    "icl diversity --d 2 --draws 2": None,
    "icl train --steps 2": "nn",
    "icl compare": "icl",
    "icl sweep --N 5 --prompts 50 --backend sequential": None,
    "icl sweep --table parquet": "icl",
    "icl reproduce --only covariate": "icl",
}


def test_the_commands_that_are_tried_without_extras_are_all() -> None:
    assert {name for name in COMMANDS for words in WITHOUT_EXTRAS if words.startswith(name)} == set(COMMANDS)


def test_without_extras_a_command_works_or_says_which_it_needs() -> None:
    done = python("-c", BLOCKED + TRIED, json.dumps(list(WITHOUT_EXTRAS)))
    assert done.returncode == 0, done.stderr
    for (words, extra), line in zip(WITHOUT_EXTRAS.items(), done.stdout.splitlines(), strict=True):
        status, out, err, written = json.loads(line)
        if extra is not None:
            assert (status, out, err.count("\n"), written) == (2, "", 1, []), words
            assert "MissingExtra" in err and f"pip install '.[{extra}]'" in err, words
        else:
            assert status == 0, (words, err)
        if words.startswith("icl") and extra is None:
            assert "no figure is drawn: drawing needs matplotlib" in err, words
            assert ".csv" in written and ".svg" not in written, words


@pytest.mark.slow
def test_without_extras_the_demo_says_what_it_leaves_out() -> None:
    done = python("-c", BLOCKED + "from examples.demo import main; main()", PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{ROOT}")
    assert done.returncode == 0, done.stderr
    assert "no solver is installed" in done.stdout and "Left out: this part needs PyTorch" in done.stdout
    assert "in closed form" in done.stdout


def test_the_rooms_that_need_torch_say_so() -> None:
    done = python("-c", BLOCKED + "from glyptic import nn")
    assert "MissingExtra: glyptic.nn needs PyTorch" in done.stderr


MINE = {
    "certificate": ["prove", "parity:3", "--decisive", "--certificate", "mine.svg"],
    "figure of a sweep": ["prove", "parity:3", "--decisive", "--formats", "fixed:2..3", "--figure", "mine.svg"],
    "figure of a precision": ["precision", "majority", "--max-length", "2", "--figure", "mine.svg"],
    "figure of a theory": ["icl", "flow", "--d", "2", "--out", "mine"],
}


@pytest.mark.parametrize("words", MINE.values(), ids=MINE)
def test_a_place_that_is_taken_is_told_before_any_work(words: list[str], tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.svg").write_text("mine")
    assert main([*words, *([] if "icl" in words else ["--backend", "sequential"])]) == 2
    said = capsys.readouterr()
    assert "mine.svg is there, and" in said.err and said.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["mine.svg"] and Path("mine.svg").read_text() == "mine"


@pytest.mark.parametrize(
    ("flags", "where"),
    [
        (["--certificate", "c", "--journal", "c"], "--certificate and --journal are at one place, 'c'"),
        (["--certificate", "link/c", "--journal", "e/./c"], "--certificate and --journal are at one place"),
        (["--certificate", "e/c", "--export", "e"], "--certificate and --export are at one place"),
        (["--journal", "e/c", "--export", "link"], "--export and --journal are at one place"),
    ],
)
def test_one_place_for_two_files_is_refused(
    flags: list[str], where: str, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("e").mkdir()
    Path("link").symlink_to("e")
    assert main(["prove", "parity:3", "--decisive", "--backend", "sequential", *flags]) == 2
    said = capsys.readouterr()
    assert where in said.err and said.out == "" and not list(Path("e").iterdir())


def test_help_explains_the_command_that_is_named(capsys: Any) -> None:
    for words in (["help", "icl", "flow"], ["--help", "icl", "flow"], ["icl", "flow", "--help"]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0 and "usage: glyptic icl flow" in capsys.readouterr().out
    assert main(["help", "nope"]) == 2
    assert "no command 'nope'" in capsys.readouterr().err


def test_lint_refuses_runs_that_memory_does_not_hold_and_shows_how_far_it_is(capsys: Any, monkeypatch: Any) -> None:
    assert main(["lint", "parity:64", "--runs", "100000"]) == 2
    assert "the trace of 100,000 runs would have" in capsys.readouterr().err
    monkeypatch.setattr("glyptic.lint.sample.progress_bar", lambda **how: tqdm(**{**how, "delay": 0}))
    assert main(["lint", "parity:4", "--runs", "50"]) == 0
    assert "runs: " in capsys.readouterr().err
