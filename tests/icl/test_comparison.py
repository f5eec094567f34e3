"""Learners and baselines on the same prompts."""

import numpy as np
import pytest

from glyptic.errors import InputError
from glyptic.icl.experiments.comparison import LearnerComparison, compare
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem, ProblemError


def curves_of(**settings):
    return {one.name: one for one in compare(LearnerComparison(**settings), progress=False)}


def test_linear_attention_ends_at_its_exact_risk():
    exact = 2 * minimum_loss(Problem.isotropic(3, 10, noise_variance=0.25))
    linear = curves_of(task="noisy", d=3, N=10, baselines=(), prompts=6000)["linear attention, exact"]
    assert linear.low[-1] < exact < linear.high[-1]
    found = curves_of(task="noisy", d=3, N=10, every=10, baselines=("ridge",), prompts=150)
    linear, ridge = found["linear attention, exact"], found["ridge, Bayes-optimal (s² = 0.25)"]
    assert ridge.high[-1] < exact
    assert linear.mean[0] == pytest.approx(ridge.mean[0])  # both answer 0


def test_the_right_learner_wins_on_each_task():
    sparse = curves_of(task="sparse", d=12, N=10, every=10, baselines=("ols", "lasso"), prompts=60)
    assert sparse["Lasso, cross-validated"].mean[-1] < sparse["least squares"].mean[-1]
    tree = curves_of(task="tree", d=3, N=40, every=40, baselines=("ols", "cart"), prompts=60)
    assert tree["CART"].mean[-1] < tree["least squares"].mean[-1]


def test_classification_counts_wrong_signs():
    found = curves_of(task="classification", d=2, N=20, every=20, baselines=("ols", "knn"), prompts=200)
    for one in found.values():
        assert one.mean[0] == 0.5
        assert one.mean[-1] < 0.2


def test_shifts():
    plain = curves_of(task="linear", d=3, N=6, every=3, baselines=("ols",), prompts=150)
    scaled = curves_of(task="linear", d=3, N=6, every=3, baselines=("ols",), prompts=150, shift="scale-x:2")
    # least squares does not mind; linear attention, trained on N(0, I), answers four times too much
    assert scaled["least squares"].mean[-1] < 1e-9
    assert scaled["linear attention, exact"].mean[-1] > 10 * plain["linear attention, exact"].mean[-1]
    orthogonal = curves_of(
        task="linear", d=3, N=6, every=2, baselines=("ols",), prompts=300, shift="orthogonal-query"
    )
    ols = orthogonal["least squares"]
    assert ols.mean[1] == pytest.approx(1, rel=0.3, abs=0)  # one direction is left, and nothing is known about it: d − k = 1
    assert np.isnan(ols.mean[2:]).all()
    overlapping = curves_of(task="linear", d=3, N=6, baselines=("ols",), prompts=50, shift="overlapping-query")
    assert np.nanmax(overlapping["least squares"].mean) < 1e-9


def test_the_decoder_is_trained_once_and_kept(tmp_path):
    settings = LearnerComparison(d=2, N=4, baselines=("ridge",), prompts=100, steps=5)
    path = tmp_path / "decoder.safetensors"
    first = compare(settings, path, progress=False)
    stamp = path.stat().st_mtime_ns
    again = compare(settings, path, progress=False)
    assert first[0].name == "decoder, trained"
    assert np.array_equal(first[0].mean, again[0].mean)
    assert stamp == path.stat().st_mtime_ns


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="prompts is 0, and must be"):
        LearnerComparison(prompts=0)
    with pytest.raises(ProblemError, match="no shift 'twist'"):
        curves_of(shift="twist")
