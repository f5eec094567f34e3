"""`glyptic distill`: from a run to a folder that other commands open; what cannot be is one sentence and status 2."""

import json
from pathlib import Path

import pytest

from glyptic import nn
from glyptic.cli import main
from glyptic.distill import distill, load_report, open_decider, rounded
from glyptic.errors import GlypticError
from glyptic.train import Plan, train
from tests.cli.bad_values import values_for
from tests.distill.deciders import TASK, config, ends_in_one, untrained

RECIPE = f"""
task = "{TASK}"
[model]
layers = 1
width = 6
heads = 2
context = 8
norm = "none"
[plan]
steps = 200
batch = 32
rate = 0.01
warmup = 10
evaluate = 100
"""


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GLYPTIC_DEBUG", raising=False)


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(words)
    return status, *capsys.readouterr()


def test_a_recipe_becomes_a_folder_that_every_command_opens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("one.toml").write_text(RECIPE)
    words = ["distill", "one.toml", "--format", "fixed:6", "--max-length", "6", "--out", "exact"]
    status, out, _ = said(words, capsys)
    assert status == 0 and "language    Proved, over all 126 inputs of length 1 to 6" in out and "written to exact" in out
    assert said(["run", "exact", "0101"], capsys)[1].count("YES")
    assert said(["prove", "exact", "--language", "(0|1)*1", "--max-length", "6"], capsys)[0] == 0
    for name in ("language", "equal-zero-one", "equal-infinity", "equal-plus-minus"):
        assert said(["prove", "--recheck", f"exact/certificates/{name}.json"], capsys)[0] == 0
    assert said(["run", "exact/plus-minus", "010"], capsys)[0] == 0
    assert said(["look", "exact", "0101", "--out", "page.html"], capsys)[0] == 0
    weights = (tmp_path / "exact" / "model.safetensors").read_bytes()
    status, out, err = said(words, capsys)  # again: nothing is trained, and the same is written
    assert status == 0 and (tmp_path / "exact" / "model.safetensors").read_bytes() == weights and "training" not in err
    words = ["distill", "exact/run", "--format", "fixed:6", "--max-length", "6", "--no-sweep", "--out", "other"]
    assert said(words, capsys)[0] == 0
    assert (tmp_path / "other" / "model.safetensors").read_bytes() == weights


def test_a_folder_of_recipes_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("many").mkdir()
    for name, width in (("a", 6), ("b", 4)):
        Path("many", f"{name}.toml").write_text(RECIPE.replace("width = 6", f"width = {width}"))
    words = ["distill", "many", "--format", "fixed:6", "--max-length", "5", "--no-sweep", "--rounds", "0", "--out", "out"]
    status, out, _ = said(words, capsys)
    table = out[out.index("decider ") :].splitlines()
    assert status in (0, 1) and len(table) == 4 and "is its language to" in table[0]
    assert all(load_report(Path("out", name))["max_length"] == 5 for name in ("a", "b"))


def test_what_stays_wrong_is_status_one(capsys: pytest.CaptureFixture[str]) -> None:
    nn.save(untrained().model, "bare")
    words = ["distill", "bare", "--task", TASK, "--max-length", "4", "--rounds", "0", "--no-sweep", "--out", "out"]
    status, out, _ = said(words, capsys)
    report = json.loads(Path("out", "report.json").read_text())
    assert status == 1 and "Refuted, smallest counterexample: input" in out and report["rounds"][0]["wrong"] > 0


def test_what_cannot_be_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    train(open_task("addition:2"), Plan(steps=1, batch=2, evaluate=1), out="sums", progress=False)
    nn.save(ends_in_one().model, "bare")
    nn.save(nn.build(config(positions="t5"), seed=0), "relative")
    Path("mine").mkdir()
    Path("mine", "notes.txt").write_text("mine")
    Path("sums.toml").write_text('task = "addition:2"')
    cases = {
        "sums": "the task addition:digits=2,chain=no is no language to decide",
        "sums.toml": "is no language to decide",
        "bare": "give it: --task",
        "nowhere": "there is nothing",
        "mine": "neither a training run nor a checkpoint",
        f"bare --task {TASK} --format fixed:18 --max-length 6": "choose a smaller format to distill into",
        f"bare --task {TASK} --max-length 6 --rounds 0 --steps 5": "--steps has no effect with --rounds 0",
        f"bare --task {TASK} --max-length 6 --rounds 0 --rate 1": "--rate has no effect where nothing is fine-tuned",
        f"bare --task {TASK} --max-length 6 --out /proc/x": "cannot write",
        f"bare --task {TASK} --max-length 9": "was learned on words of at most 6",
        f"bare --task {TASK} --max-length 6 --out mine": "it holds 'notes.txt', and no distillation",
        f"bare --task {TASK} --no-sweep --format-steps 3": "--format-steps has no effect with --no-sweep",
        f"relative --task {TASK} --max-length 6": "is not known here: distill models with positions",
        "bare --task tomitta:3": "is it tomita?",
        f"sums.toml --task {TASK}": "--task has no effect on a recipe",
    }
    for words, wanted in cases.items():
        status, out, err = said(["distill", *words.split()], capsys)
        assert (status, out, err.count("\n")) == (2, "", 1) and wanted in err, (words, err)
    assert not Path("distilled").exists() and sorted(path.name for path in Path("mine").iterdir()) == ["notes.txt"]


def open_task(name: str):
    from glyptic.train.tasks import registry

    return registry.open(name)


def test_functions_refuse_what_nobody_can_mean(tmp_path: Path) -> None:
    from typing import get_type_hints

    good = {
        distill: {"decider": ends_in_one(), "max_length": 3, "progress": False},
        open_decider: {"folder": tmp_path},
        load_report: {"folder": tmp_path},
        rounded: {"x": None, "format": "fixed:4"},
    }
    wrong = []
    for function, given in good.items():
        for name, hint in get_type_hints(function, include_extras=True).items():
            for bad in values_for(hint) if name != "return" else ():
                try:
                    wrong.append(f"{function.__name__}: {name}={bad!r} gave {function(**{**given, name: bad})!r}")
                except GlypticError:
                    pass
                except Exception as error:
                    wrong.append(f"{function.__name__}: {name}={bad!r}: {error!r}")
    assert not wrong
