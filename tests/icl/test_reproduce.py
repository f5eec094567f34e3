"""The headline figures, with everything as small as it goes; `glyptic icl reproduce` makes them for real."""

import csv
from dataclasses import replace

import pytest

from glyptic.icl.experiments import covariate, descent, reproduce
from glyptic.icl.experiments.cells import Cell
from glyptic.icl.experiments.prompts import sample
from glyptic.icl.experiments.reproduce import HEADLINES, Headline, render
from glyptic.icl.theory.problem import ProblemError


def small(headline: Headline, **changes) -> Headline:
    """The same headline with cheaper cells; its drawing is the real one."""
    cells = []
    for cell in headline.cells:
        if dict(cell.parameters).get("layers", 1) > 2:
            continue
        parameters = {**dict(cell.parameters), **{k: v for k, v in changes.items() if k in dict(cell.parameters)}}
        cells.append(Cell.of(cell.measure, parameters))
    return replace(headline, cells=tuple(cells))


def few_prompts(task, rng, prompts, *rest):
    return sample(task, rng, min(prompts, 2000), *rest)


def test_covariate_and_depth(tmp_path, monkeypatch):
    monkeypatch.setattr(covariate, "sample", few_prompts)
    monkeypatch.setattr(descent, "sample", few_prompts)
    headlines = {
        "covariate": small(reproduce.covariate_shift(d=2, N=10), steps=5),
        "depth": small(reproduce.depth_and_descent(d=2), steps=3),
    }
    paths = [path for one in render(headlines, tmp_path, "sequential", 1, progress=False) for path in one.paths]
    names = {f"{name}.{kind}" for name in headlines for kind in ("svg", "png", "csv")}
    assert {path.name for path in paths} == names
    rows = list(csv.DictReader((tmp_path / "depth.csv").open()))
    assert len(rows) == 8
    assert all(float(row["risk"]) > 0 for row in rows)


def test_baselines_and_diversity(tmp_path):
    headlines = {
        "baselines": small(reproduce.baselines_of_garg(d=2, sparse_d=4, N=4), steps=2, prompts=8, slow_prompts=8),
        "diversity": small(reproduce.task_diversity(d=2, N=3), steps=2),
    }
    baselines, diversity = render(headlines, tmp_path, "sequential", 1, progress=False)
    assert len(baselines.paths + diversity.paths) == 6
    assert ("sparse", "averaging") in [(row["task"], row["learner"]) for row in baselines.rows]
    for task in ("noisy", "sparse", "tree", "relu"):  # all learners see the same prompts: answering 0 costs them the same
        at_zero = [row["0"] for row in baselines.rows if row["task"] == task and "decoder" not in row["learner"]]
        assert len(at_zero) >= 4
        assert len(set(at_zero)) == 1
    assert "measure" not in diversity.rows[0]  # what never changes is not printed
    assert [row["tasks"] for row in diversity.rows] == [1, 4, 16, 64, 256, 1024]
    rows = list(csv.DictReader((tmp_path / "baselines.csv").open()))
    assert {row["task"] for row in rows} == {"noisy", "sparse", "tree", "relu"}
    assert {"decoder, trained", "CART", "Lasso, cross-validated", "net trained by Adam"} <= {row["learner"] for row in rows}
    tasks = [int(row["tasks"]) for row in csv.DictReader((tmp_path / "diversity.csv").open())]
    assert tasks == [1, 4, 16, 64, 256, 1024]


def test_every_headline_says_what_was_scaled_down():
    for make in HEADLINES.values():
        assert make().scaled_down.startswith("Scaled down: ")
    note = reproduce.baselines_of_garg().scaled_down
    for what in ("nonzero weights (3)", "depth 3 (4)", "width 20 (100)", "15 examples", "4 layers × 64 (12 × 256)"):
        assert what in note


def test_bad_input_is_one_sentence(tmp_path):
    with pytest.raises(ProblemError, match="no headline 'gpt'; there are covariate, depth, baselines, diversity"):
        reproduce.reproduce(tmp_path, ["gpt"])
