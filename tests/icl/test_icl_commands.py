"""The commands of the empirical side: a table on standard output, a figure and its data beside it."""

import errno
import math
import os

import pytest
import tyro

from glyptic.cli import main
from glyptic.cli.icl.compare import CompareCommand
from glyptic.cli.icl.reproduce import ReproduceCommand
from glyptic.cli.icl.sweep import SweepCommand
from glyptic.cli.icl.train import TrainCommand
from glyptic.errors import GlypticError


def call(command, text: str, out) -> None:
    tyro.cli(command, args=[*text.split(), "--out", str(out)]).main()


def test_train(tmp_path, capsys):
    call(TrainCommand, "--d 2 --N 6 --optimizer sgd --steps 20 --batch 8", tmp_path / "run")
    printed = capsys.readouterr().out
    assert "linear attention, exact minimum" in printed
    assert {file.suffix for file in tmp_path.iterdir()} == {".svg", ".png", ".csv", ".safetensors"}


def test_compare(tmp_path, capsys):
    call(CompareCommand, "--task tree --d 2 --N 6 --prompts 20 --slow-prompts 3 --steps 2", tmp_path / "c")
    printed = capsys.readouterr().out
    for name in ("decoder, trained", "CART", "gradient boosting", "Lasso"):
        assert name in printed
    assert (tmp_path / "c.csv").read_text().startswith("learner,k,quantity,mean,low,high,prompts")


def test_ridge_is_called_bayes_optimal_only_where_it_is(tmp_path, capsys):
    """It was on trees, on classification, and under shifts of the labels. Inputs may shift: the posterior is the same."""
    cases = {"tree none": False, "classification none": False, "sparse none": False, "linear none": True, "noisy none": True,
             "noisy skew": True, "noisy scale-y:2": False, "noisy noise:1": False}  # fmt: skip
    for case, optimal in cases.items():
        task, shift = case.split()
        call(CompareCommand, f"--task {task} --shift {shift} --d 2 --N 3 --prompts 5 --baselines ridge", tmp_path / "c")
        printed = capsys.readouterr().out
        assert ("ridge, Bayes-optimal (s² = " in printed) == optimal, case
        assert ("ridge, penalty " in printed) != optimal, case


def test_ticks_and_legends_say_what_is_drawn(tmp_path):
    """`train` had one tick, `compare` one at 2.5 examples, `sweep` a legend for a line that was not drawn."""
    from glyptic import figures
    from glyptic.icl.experiments import over_flow, sweeps
    from glyptic.icl.experiments.cells import run
    from glyptic.icl.experiments.comparison import LearnerComparison, compare
    from glyptic.icl.experiments.curves import draw_comparison

    _, axes = figures.new()
    trained = over_flow.TrainingRun(d=2, N=6, steps=40, batch=16)
    rows = over_flow.draw(axes, trained, over_flow.fit(trained, progress=False)[1])
    assert len(axes.get_yticks()) >= 3
    assert not any(isinstance(value, float) and math.isnan(value) for row in rows for value in row.values())

    _, axes = figures.new()
    few = LearnerComparison(d=2, N=5, every=1, prompts=20, baselines=("ols",))
    draw_comparison(axes, compare(few, progress=False), "noisy", 2)
    assert all(float(tick).is_integer() for tick in axes.get_xticks())

    _, axes = figures.new()
    grid = sweeps.Grid(d=(2,), N=(4, 8), prompts=200)  # without noise least squares has risk 0, which no logarithm shows
    sweeps.draw(axes, run(grid.cells(), tmp_path, "sequential", 1, progress=False), "N")
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert not any("ridge" in text for text in legend)
    assert any("sampled, ± 2 s.e." in text for text in legend)
    assert any("Not drawn where it is 0: the risk of ridge" in text.get_text() for text in axes.texts)


def test_compare_every_task_and_shift_prints_a_table(tmp_path, capsys):
    for task in ("linear", "noisy", "sparse", "relu", "quadratic", "classification"):
        call(CompareCommand, f"--task {task} --d 3 --N 4 --prompts 5 --baselines ols knn", tmp_path / task)
    for shift in ("skew", "orthogonal-query", "overlapping-query", "noise:2"):
        call(CompareCommand, f"--shift {shift} --d 3 --N 4 --prompts 5 --baselines ols", tmp_path / "shift")
    assert capsys.readouterr().out.count("least squares ") == 10


def test_sweep(tmp_path, capsys):
    call(SweepCommand, "--d 2 --N 4 8 --M 5 10 --noise-variance 0 1 --prompts 50 --backend sequential --table csv", tmp_path)
    assert "ridge, Bayes-optimal" in capsys.readouterr().out
    assert len((tmp_path / "sweep.csv").read_text().splitlines()) == 1 + 8 * 3
    assert (tmp_path / "sweep-figure.svg").exists()


@pytest.mark.parametrize(
    ("command", "text", "sentence"),
    [
        (TrainCommand, "--d 0", "--d is 0, and must be"),
        (TrainCommand, "--learner decoder", "a noise variance"),
        (TrainCommand, "--spectrum 1,0,1 --d 3", "singular|positive"),
        (TrainCommand, "--noise-variance nan", "nan|finite|noise"),
        (CompareCommand, "--baselines svm --N 2", "no baseline 'svm'"),
        (CompareCommand, "--shift twist", "no shift 'twist'"),
        (SweepCommand, "--N 0", "--N\\[0\\] is 0"),
        (SweepCommand, "--noise-variance nan", "noise-variance\\[0\\] is nan"),
        (ReproduceCommand, "--workers 0 --only depth", "--workers is 0"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, command, text, sentence):
    with pytest.raises(GlypticError, match=sentence):
        call(command, text, tmp_path / "x")


TRAIN = ["icl", "train", "--d", "2", "--N", "3", "--steps", "2", "--batch", "4", "--out"]
SWEEP = ["icl", "sweep", "--d", "2", "--N", "3", "--prompts", "50", "--backend", "sequential", "--table", "csv", "--out"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS], ids=["full", "read-only"])
@pytest.mark.parametrize("words", [TRAIN, SWEEP], ids=["train", "sweep"])
def test_a_disk_that_takes_nothing_is_one_sentence_and_loses_nothing(words, code, tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    assert main([*words, str(tmp_path / "out")]) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for path in [path for path in before if path.suffix == ".safetensors" or path.parent.name == "cells"]:
        path.unlink()  # so that there is something to do
        before.pop(path)
    capsys.readouterr()
    monkeypatch.setattr(os, "fsync", refuse)
    assert main([*words, str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    remedy = "; make room there, or name another place" if code == errno.ENOSPC else ""
    assert "FileError: cannot write" in said and said.endswith(f"{os.strerror(code)}{remedy}.")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
