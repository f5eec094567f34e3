"""Posterior means against scikit-learn and against Bayes' rule written out."""

import numpy as np
import pytest
from scipy.stats import norm

from glyptic.errors import InputError
from glyptic.icl.experiments.baselines import answers, ridge
from glyptic.icl.experiments.bayes import discrete_answers, ridge_answers, ridge_risk
from glyptic.icl.experiments.prompts import sample
from glyptic.icl.experiments.tasks import LinearTask, TaskPool


@pytest.mark.parametrize("noise_variance", [0.0, 0.5])
def test_ridge_is_scikit_learns(noise_variance):
    prompts = sample(LinearTask(4, noise_variance), np.random.default_rng(0), 20, 9)
    counts = [0, 1, 3, 4, 9]
    ours, theirs = ridge_answers(prompts, noise_variance, counts), answers(ridge(noise_variance), prompts, counts)
    assert np.allclose(ours, theirs, atol=1e-6)


def test_dmmse_is_bayes_rule():
    pool = TaskPool.draw_pool(d=3, tasks=5, noise_variance=0.7, seed=1)
    prompts = sample(pool, np.random.default_rng(0), 10, 4)
    found = discrete_answers(prompts, pool.weights, 0.7, [0, 2, 4])
    for row in range(10):
        for column, k in enumerate((0, 2, 4)):
            means = prompts.context_x[row, :k] @ pool.weights.T
            likelihood = norm.pdf(prompts.context_y[row, :k, None], means, np.sqrt(0.7)).prod(axis=0)
            expected = likelihood @ pool.weights @ prompts.query_x[row, k] / likelihood.sum()
            assert found[row, column] == pytest.approx(expected, rel=1e-9, abs=0)


def test_each_is_best_on_its_own_law():
    noise_variance, counts = 0.5, range(7)
    pool = TaskPool.draw_pool(d=3, tasks=8, noise_variance=noise_variance, seed=1)
    for law, best in ((pool, "dmmse"), (LinearTask(3, noise_variance), "ridge")):
        prompts = sample(law, np.random.default_rng(2), 3000, 6)
        ridge = ((ridge_answers(prompts, noise_variance, counts) - prompts.target) ** 2).mean()
        dmmse = ((discrete_answers(prompts, pool.weights, noise_variance, counts) - prompts.target) ** 2).mean()
        assert (dmmse < ridge) == (best == "dmmse")


def test_dmmse_of_many_tasks_is_ridge():
    pool = TaskPool.draw_pool(d=2, tasks=20_000, noise_variance=0.8, seed=0)
    prompts = sample(LinearTask(2, 0.8), np.random.default_rng(0), 30, 4)
    apart = discrete_answers(prompts, pool.weights, 0.8, [4]) - ridge_answers(prompts, 0.8, [4])
    assert np.sqrt(np.mean(apart**2)) < 0.05


def test_ridge_risk_is_that_of_ridge():
    prompts = sample(LinearTask(3, 0.5), np.random.default_rng(4), 20_000, 5)
    error = (ridge_answers(prompts, 0.5, range(6)) - prompts.target) ** 2
    expected = ridge_risk(3, 0.5, 5, prompts=20_000)
    assert np.all(np.abs(error.mean(0) - expected) < 5 * error.std(0) / np.sqrt(20_000))


def test_a_pool_holds_only_its_tasks():
    pool = TaskPool.draw_pool(d=3, tasks=4, noise_variance=0.5, seed=0)
    w = pool.draw(np.random.default_rng(0), 200)(np.broadcast_to(np.eye(3), (200, 3, 3)))
    assert {tuple(row) for row in w.round(9)} == {tuple(row) for row in pool.weights.round(9)}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: TaskPool.draw_pool(3, 0, 0.5, 0), "tasks is 0"),
        (lambda: ridge_risk(3, 0.0, 5), "needs a noise variance above 0"),
        (
            lambda: discrete_answers(sample(LinearTask(2), np.random.default_rng(0), 2, 2), np.eye(2), 0.0, [1]),
            "dMMSE needs label noise",
        ),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
