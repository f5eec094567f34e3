"""`glyptic train` and `glyptic evaluate`, as people call them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from glyptic import nn
from glyptic.cli import main
from glyptic.look.opening import open_page
from glyptic.train import Plan, load_run, train
from glyptic.train.distributed import NothingSharded
from glyptic.train.tasks import registry

SMALL = ["--steps", "6", "--batch", "8", "--evaluate", "3", "--record", "2", "--layers", "1", "--width", "8", "--heads", "1"]


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    out, err = capsys.readouterr()
    return status, out, err


def sentence(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence of a refusal."""
    status, out, err = said(capsys, *words)
    assert (status, out) == (2, "") and "Traceback" not in err
    return err.strip().splitlines()[-1]


def test_train_again_evaluate_and_look(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = said(capsys, "train", "tomita:4", *SMALL, "--out", "t1")
    assert status == 0 and out.startswith("t1: step 6; best ")
    stamps = {path: path.stat().st_mtime_ns for path in Path("t1").rglob("*")}
    again = said(capsys, "train", "tomita:4", *SMALL, "--out", "t1")
    assert again[:2] == (0, out) and stamps == {path: path.stat().st_mtime_ns for path in Path("t1").rglob("*")}
    status, out, _ = said(capsys, "evaluate", "t1")
    metrics = dict(line.split() for line in out.splitlines())
    best = load_run("t1").progress().best  # type: ignore[union-attr]
    assert status == 0 and any(float(value) == pytest.approx(best, rel=1e-5) for value in metrics.values())
    assert open_page("t1").views[0].kind == "training"
    assert nn.load("t1/best").config.width == 8
    assert registry.open(load_run("t1").task) == registry.open("tomita:4")


def test_what_cannot_be_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "train", "tomita:4", *SMALL, "--out", "t1")
    Path("empty").mkdir()
    test = f"{2**62}"  # seeds from here on ask for the test, which nothing is chosen by
    Path("r.toml").write_text('task = "tomita:4"\n')
    Path("empty/r.toml").write_text('task = "tomita:4"\n')
    Path("late.toml").write_text(f'task = "tomita:4"\n[plan]\nseed = {test}\n')
    for words, says in [
        (["train", "tomitta:1"], "no task 'tomitta'"),
        (["train", "tomita:4", *SMALL, "--seed", "3", "--out", "t1"], "holds another training run"),
        (["train", "tomita:4", *SMALL, "--heads", "3", "--out", "t2"], "is given twice"),
        (["train", "tomita:4", "--heads", "3", "--width", "8", "--out", "t2"], "heads=3 does not divide width=8"),
        (["train", "tomita:4", "--context", "2", "--out", "t2"], "context"),
        (["train", "tomita:4", "--accumulate", "7", "--out", "t2"], "accumulate is 7"),
        (["train", "tomita:4", "--layers", "2", "--model", "layers=3", "--out", "t2"], "--layers and --model layers= are both"),
        (["train", "tomita:4", "--model", "layers=3", "layers=1", "--out", "t2"], "--model layers= is given twice, and only one"),
        (["train", "tomita:4", "--model", "layers=none", "layers=1", "--out", "t2"], "--model layers= is given twice"),
        (["train", "tomita:4", "--model", "vocabulary=7", "--out", "t2"], "vocabulary"),
        (["train", "tomita:4", "--model", "colour=red", "--out", "t2"], "colour='red' is not a field"),
        (["train", "tomita:4", "--model", "final_norm", "--out", "t2"], "must be a field and its value"),
        (["train", "tomita:4", "--start", "empty", "--out", "t2"], "no config.json"),
        (["train", "tomita:4", "--start", "t1/best", "--layers", "3", "--out", "t2"], "; it was asked for with layers=3."),
        (["train", "tomita:4", "--model", "=", "--out", "t2"], "--model '=' must be a field and its value"),
        (["train", "tomita:4", "--patience", "nan", "--out", "t2"], "--patience: 'nan' is not a whole number, and not None"),
        (["train", "tomita:4", "--clip=", "--out", "t2"], "--clip: '' is not a number, and not None"),
        (["train", "tomita:4", "--start=", "--out", "t2"], "--start: '' is not a path"),
        (["train", "tomita:4", "--tied", "maybe", "--out", "t2"], "--tied: 'maybe' is not one of None, True, False"),
        (["train", "tomita:4", "--logs", "wandb", "post", "--out", "t2"], "--logs: 'post' is not one of tensorboard, wandb"),
        (["train", "tomita:4,12,held_out=1", "--out", "t2"], "held_out=1 keeps every word from training"),
        (["train", "contains:1111111111111,8", "--out", "t2"], "no word of up to 8 letters is a member"),
        (["train", "palindromes:8,vocabulary=0", "--out", "t2"], "every word of up to 8 letters is a member"),
        (["train", "modular:1", "--out", "t2"], "every word of up to 12 letters is a member"),
        (["distill", "t1", "--out", "t1"], "RUN and --out are at one place"),
        (["train", "tomita:2", "--recipe", "nowhere.toml"], "--recipe"),
        (["evaluate", "empty"], "is not the folder of a training run"),
        (["evaluate", "nowhere"], "RUN is 'nowhere'"),
        (["evaluate", "t1", "--which", "first"], "--which"),
        (["evaluate", "t1", "--seed", "-1"], "--seed is -1"),
        (["evaluate", "t1", "--seed", test], f"--seed is {test}, and must be a whole number from 0 to {2**62 - 1}"),
        (["train", "tomita:4", "--seed", test, "--out", "t2"], f"--seed is {test}"),
        (["recipes", "r.toml", "--seeds", "1", test], test),
        (["evaluate", "t1", "--seed", "9"], "seed has no effect on 'tomita:number=4"),
        (["recipes", "r.toml", "--seeds", "0", "0"], "--seeds has '0' twice"),
        (["recipes", "r.toml", "./r.toml"], "FILE has"),
        (["recipes", "r.toml", "empty/r.toml", "--out", "t2"], "by its name, has 'r' twice; leave one out, or rename it"),
        (["experiment", "chain", "--seeds", "0", "0", "--out", "t2"], "each once"),
        (["train", "tomita:4", "--steps", "2", "--warmup", "3", "--out", "t2"], "warmup is 3, and the run has 2 steps"),
        (["recipes", "late.toml"], f"seed is {test}"),
        (["experiment", "chain", "--seeds", test, "--out", "t2"], test),
    ]:
        assert says in sentence(capsys, *words), words
    assert not Path("t2").exists()


def test_logs_that_cannot_be_written_are_told_before_anything(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert "needs the package wandb" in sentence(capsys, "train", "text:nowhere.txt", "--logs", "wandb", "--out", "t1")
    assert not Path("t1").exists()


def test_shards_of_one_process_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = said(capsys, "train", "tomita:4", *SMALL, "--strategy", "fsdp", "--out", "t1")
    assert status == 0 and err.count("this is one process, so nothing is sharded") == 1
    with pytest.warns(NothingSharded, match="one process"):
        train(registry.open("tomita:4"), Plan(steps=1, batch=4), strategy="fsdp", progress=False)


def test_a_start_is_what_training_begins_with(capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "train", "tomita:4", *SMALL, "--out", "one")
    few = [*SMALL[:-6], "--rate", "1e-9"]
    assert said(capsys, "train", "tomita:4", *few, "--start", "one/last", "--out", "two")[0] == 0
    for one, two in zip(nn.load("one/last").parameters(), nn.load("two/last").parameters(), strict=True):
        assert (one - two).abs().max() < 1e-6


def test_a_recipe_is_what_flags_are_unless_told(capsys: pytest.CaptureFixture[str]) -> None:
    recipe = 'task = "tomita:4"\n[model]\nlayers = 1\nwidth = 8\nheads = 1\nfinal_norm = false\n[plan]\nsteps = 4\nbatch = 8\n'
    Path("r.toml").write_text(recipe)
    assert said(capsys, "train", "--recipe", "r.toml", "--out", "one")[0] == 0
    run = load_run("one")
    assert (run.plan.steps, run.plan.batch, run.model().config.final_norm) == (4, 8, False)
    model = ["--model", "layers=2", "attention_bias=false", "--width", "16", "--out", "three"]
    assert said(capsys, "train", "--recipe", "r.toml", *model)[0] == 0
    config = load_run("three").model().config  # what is not told is as the recipe says, further fields too
    assert (config.layers, config.width, config.heads, config.final_norm) == (2, 16, 1, False)
    flags = ["--steps", "2000", "--reach", "0", "--evaluate", "2", "--out", "two"]
    assert said(capsys, "train", "--recipe", "r.toml", *flags)[0] == 0
    assert load_run("two").plan.steps == 2000  # also where that is what it is without a recipe
    bad = {"task = 3": "is not a part of a recipe", "[": "is not a recipe", 'task = "parity"\n[plan]\nstep = 3': "step=3"}
    for text, says in bad.items():
        Path("bad.toml").write_text(text)
        assert says in sentence(capsys, "train", "--recipe", "bad.toml")


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    for words, parts in {
        "train": ("tomita:NUMBER", "torchrun --nproc-per-node 2", "go on where it was", "--strategy {ddp,fsdp}"),
        "evaluate": ("glyptic evaluate t4 --which last",),
    }.items():
        with pytest.raises(SystemExit):
            main([words, "--help"])
        out = " ".join(capsys.readouterr().out.split())
        assert [part for part in parts if part not in out] == []


def test_ctrl_c_of_the_command_saves_and_says_so() -> None:
    """A process of its own, interrupted where it trains: status 130, one word, and a checkpoint."""
    words = [sys.executable, "-m", "glyptic", "train", "tomita:4", "--steps", "100000", "--save", "99999", "--record", "5"]
    process = subprocess.Popen([*words, "--out", "t1"], stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    end = time.monotonic() + 120
    while not Path("t1/metrics.jsonl").exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130 and err.rstrip().endswith("glyptic train: interrupted")
    progress = load_run("t1").progress()
    assert progress is not None and progress.step >= 5
