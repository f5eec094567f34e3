"""The commands of the empirical side: a table on standard output, a figure and its data beside it."""

import pytest
import tyro

from glyptic.cli.icl_compare import Compare
from glyptic.cli.icl_reproduce import Reproduce
from glyptic.cli.icl_sweep import Sweep
from glyptic.cli.icl_train import Train
from glyptic.errors import GlypticError


def call(command, text: str, out) -> None:
    tyro.cli(command, args=[*text.split(), "--out", str(out)]).main()


def test_train(tmp_path, capsys):
    call(Train, "--d 2 --n 6 --optimizer sgd --steps 20 --batch 8", tmp_path / "run")
    printed = capsys.readouterr().out
    assert "linear attention, exact minimum" in printed
    assert {file.suffix for file in tmp_path.iterdir()} == {".svg", ".png", ".csv", ".safetensors"}


def test_compare(tmp_path, capsys):
    call(Compare, "--task tree --d 2 --examples 6 --prompts 20 --slow-prompts 3 --steps 2", tmp_path / "c")
    printed = capsys.readouterr().out
    for name in ("decoder, trained", "CART", "gradient boosting", "Lasso"):
        assert name in printed
    assert (tmp_path / "c.csv").read_text().startswith("learner,examples,error,low,high,prompts")


def test_compare_every_task_and_shift_prints_a_table(tmp_path, capsys):
    for task in ("linear", "noisy", "sparse", "relu", "quadratic", "classification"):
        call(Compare, f"--task {task} --d 3 --examples 4 --prompts 5 --baselines ols knn", tmp_path / task)
    for shift in ("skew", "orthogonal-query", "overlapping-query", "noise:2"):
        call(Compare, f"--shift {shift} --d 3 --examples 4 --prompts 5 --baselines ols", tmp_path / "shift")
    assert capsys.readouterr().out.count("least squares ") == 10


def test_sweep(tmp_path, capsys):
    call(Sweep, "--d 2 --n 4 8 --m 5 10 --noise 0 1 --prompts 50 --backend sequential --table csv", tmp_path)
    assert "ridge, Bayes-optimal" in capsys.readouterr().out
    assert len((tmp_path / "sweep.csv").read_text().splitlines()) == 1 + 8 * 3
    assert (tmp_path / "sweep-figure.svg").exists()


@pytest.mark.parametrize(
    ("command", "text", "sentence"),
    [
        (Train, "--d 0", "dimension|d = 0|at least"),
        (Train, "--learner decoder", "noise > 0"),
        (Train, "--spectrum 1,0,1 --d 3", "singular|positive"),
        (Train, "--noise nan", "nan|finite|noise"),
        (Compare, "--baselines svm --examples 2", "no baseline 'svm'"),
        (Compare, "--shift twist", "no shift 'twist'"),
        (Sweep, "--n 0", "the axis N holds 0"),
        (Sweep, "--noise nan", "not a standard deviation"),
        (Reproduce, "--workers 0 --only depth", "0 workers"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, command, text, sentence):
    with pytest.raises(GlypticError, match=sentence):
        call(command, text, tmp_path / "x")
