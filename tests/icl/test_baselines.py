"""Baselines against answers that are known, and each with exactly the examples it may see."""

import numpy as np
import pytest

from glyptic.icl.experiments.baselines import BASELINES, answers, baseline_named, one_example_too_few, ridge
from glyptic.icl.experiments.prompt_shifts import shift_named
from glyptic.icl.experiments.prompts import Prompts, sample
from glyptic.icl.experiments.tasks import DecisionTree, LinearTask, ReluNet, SparseLinear
from glyptic.icl.theory.problem import Problem, ProblemError


def prompts_of(task, count=40, N=10, shift="none") -> Prompts:
    return sample(task, np.random.default_rng(3), count, N, shift_named(shift))


def squared(name, prompts, k, noise_variance=0.0):
    return (answers(baseline_named(name, noise_variance), prompts, [k])[:, 0] - prompts.target[:, k]) ** 2


def test_least_squares_is_the_interpolant_of_least_norm():
    prompts = prompts_of(LinearTask(5, noise_variance=0.3))
    for k in (1, 3, 5, 8):
        answer = answers(BASELINES["ols"], prompts, [k])[:, 0]
        w = [np.linalg.pinv(x[:k]) @ y[:k] for x, y in zip(prompts.context_x, prompts.context_y, strict=True)]
        assert np.allclose(answer, np.einsum("bd,bd->b", w, prompts.query_x[:, k]), atol=1e-8)


def test_ridge_is_the_posterior_mean_and_has_its_risk():
    """Given the inputs, its risk is the posterior variance x_qᵀ(XᵀX/s² + I)⁻¹x_q, computed without labels."""
    noise_variance, k = 0.25, 7
    prompts = prompts_of(LinearTask(5, noise_variance), count=1500)
    x, query = prompts.context_x[:, :k], prompts.query_x[:, k]
    covariance = np.linalg.inv(x.transpose(0, 2, 1) @ x / noise_variance + np.eye(5))
    mean = np.einsum("bij,bkj,bk->bi", covariance, x, prompts.context_y[:, :k]) / noise_variance
    answer = answers(ridge(noise_variance), prompts, [k])[:, 0]
    assert np.allclose(answer, np.einsum("bi,bi->b", mean, query), atol=1e-9)
    excess = (answer - prompts.target[:, k]) ** 2 - np.einsum("bi,bij,bj->b", query, covariance, query)
    assert abs(excess.mean()) < 4 * excess.std() / np.sqrt(1500)


def test_averaging_has_risk_d_d_plus_1_over_k():
    prompts = prompts_of(LinearTask(5), count=6000)
    error = squared("average", prompts, 10)
    assert abs(error.mean() - 5 * 6 / 10) < 4 * error.std() / np.sqrt(6000)


def test_lasso_wins_on_sparse_tasks_below_d_examples():
    prompts = prompts_of(SparseLinear(20, 2), count=40, N=12)
    assert squared("lasso", prompts, 12).mean() < 0.5 * squared("ols", prompts, 12).mean()


def test_neighbours_and_trees_know_what_they_have_seen():
    prompts = prompts_of(ReluNet(4), shift="overlapping-query")
    assert np.allclose(squared("cart", prompts, 10), 0.0)
    one_example = answers(BASELINES["knn"], prompts, [1])[:, 0]
    assert np.allclose(one_example, prompts.context_y[:, 0])


def test_trees_and_boosting_beat_least_squares_on_trees_and_the_net_on_nets():
    trees = prompts_of(DecisionTree(3, 2), count=25, N=60)
    linear = squared("ols", trees, 60).mean()
    assert squared("cart", trees, 60).mean() < linear
    assert squared("boosting", trees, 60).mean() < linear
    nets = prompts_of(ReluNet(3, 20), count=20, N=60)
    assert squared("net", nets, 60).mean() < 0.5 * squared("ols", nets, 60).mean()


@pytest.mark.parametrize("name", list(BASELINES))
def test_every_baseline_sees_exactly_k_examples(name):
    """The label of example k−1 matters to query k, that of example k does not: neither one too few nor one too many."""
    k, prompts = 6, prompts_of(LinearTask(3, noise_variance=0.2), count=4)
    baseline = baseline_named(name, 0.2)
    before = answers(baseline, prompts, [k])
    for index, matters in ((0, True), (k - 1, True), (k, False)):
        labels = prompts.context_y.copy()
        labels[:, index] += 50.0
        changed = Prompts(prompts.context_x, labels, prompts.query_x, prompts.target)
        after = answers(baseline, changed, [k])
        assert (np.abs(after - before) > 1e-9).any() == matters


@pytest.mark.parametrize("name", list(BASELINES))
def test_without_examples_the_answer_is_zero_and_below_the_least_there_is_none(name):
    prompts = prompts_of(LinearTask(3), count=3)
    answer = answers(baseline_named(name, 0.0), prompts, [0, 1, 2])
    assert (answer[:, 0] == 0).all()
    assert np.isnan(answer[:, 1]).all() == (BASELINES[name].least > 1)
    assert np.isfinite(answer[:, 2]).all()


def test_queries_that_do_not_exist_have_no_answer():
    prompts = prompts_of(LinearTask(3), count=3, shift="orthogonal-query")
    assert np.isnan(answers(BASELINES["ols"], prompts, [4])).all()


def test_ahn_et_al_one_example_too_few():
    """Their baseline reports 1.200 where 20 examples give 1.154; least squares with 19 of 20 is worse as well."""
    found = one_example_too_few(Problem.isotropic(5, 20))
    assert found["N"] == pytest.approx(30 / 26)
    assert found["N - 1"] == pytest.approx(30 / 25)
    prompts = prompts_of(LinearTask(5, noise_variance=1.0), count=400, N=20)
    full = answers(ridge(1.0), prompts, [20])[:, 0]
    shorter = Prompts(prompts.context_x[:, 1:], prompts.context_y[:, 1:], prompts.query_x[:, 1:], prompts.target[:, 1:])
    short = answers(ridge(1.0), shorter, [19])[:, 0]
    assert ((full - prompts.target[:, 20]) ** 2).mean() < ((short - prompts.target[:, 20]) ** 2).mean()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: baseline_named("svm", 0.0), "no baseline 'svm'; there are ols, ridge, lasso"),
        (lambda: answers(BASELINES["ols"], prompts_of(LinearTask(3)), [11]), "needs 11 examples, the prompts hold 10"),
        (lambda: one_example_too_few(Problem.isotropic(3, 1)), "use N ≥ 2"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ProblemError, match=sentence):
        call()
