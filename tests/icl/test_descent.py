"""Depth: trained layers against the best steps of gradient descent."""

import numpy as np
import pytest
from scipy.optimize import minimize

from glyptic.icl.experiments.descent import best_descent, descent_risk, sampled_moments, trained_risk
from glyptic.icl.experiments.prompts import sample
from glyptic.icl.experiments.tasks import Linear
from glyptic.icl.theory.depth import preconditioned_gd
from glyptic.icl.theory.problem import ProblemError


@pytest.mark.parametrize(("d", "N"), [(2, 5), (5, 20), (4, 3)])
def test_one_step_has_the_known_risk(d, N):
    best = best_descent(d, N, 1, samples=60_000)
    assert best.risk == pytest.approx(d * (d + 1) / (N + d + 1), rel=0.01, abs=0)
    assert best.steps[0] == pytest.approx(1 / (1 + (d + 1) / N), rel=0.01, abs=0)


def test_steps_are_the_minimum_that_a_general_optimizer_finds():
    s = np.linalg.eigvalsh(sampled_moments(3, 10, 5000)).ravel()

    def risk(steps):
        return 3 * np.mean(np.prod(1 - np.multiply.outer(s, steps), axis=1) ** 2)

    best = best_descent(3, 10, 3, samples=5000)
    options = {"xatol": 1e-8, "fatol": 1e-12, "maxiter": 4000}
    found = minimize(risk, [0.5, 1.0, 1.5], method="Nelder-Mead", options=options)
    assert np.allclose(best.steps, sorted(found.x, reverse=True), rtol=1e-4)
    assert best.risk == pytest.approx(found.fun, rel=1e-9, abs=0)


def test_the_risk_is_that_of_running_the_descent():
    best = best_descent(4, 12, 3)
    prompts = sample(Linear(4), np.random.default_rng(5), 40_000, 12)
    steps = [a * np.eye(4) for a in best.steps]
    answer = preconditioned_gd(prompts.context_x, prompts.context_y, prompts.query_x[:, -1], steps)
    error = (answer - prompts.target[:, -1]) ** 2
    assert abs(error.mean() - best.risk) < 5 * error.std() / np.sqrt(40_000)
    assert descent_risk(steps, sampled_moments(4, 12)).mean() == pytest.approx(best.risk, rel=1e-9, abs=0)


@pytest.mark.parametrize("layers", [1, 2])
def test_trained_layers_reach_the_best_descent(layers):
    """On the same inputs, so no sampling error is between them: above the best, by less than two percent."""
    best = best_descent(3, 10, layers).risk
    assert best < trained_risk(3, 10, layers, steps=500) < 1.02 * best


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "steps", "apart"), [(3, 1500, 0.02), (4, 6000, 0.05)])
def test_deeper_ones_reach_it_with_more_steps(layers, steps, apart):
    """The risk of four layers has degree 16 in x, so rare prompts carry it, and matrices may fit the 40,000 sampled S
    a little better than the best scalar steps do."""
    assert trained_risk(5, 20, layers, steps=steps) == pytest.approx(best_descent(5, 20, layers).risk, rel=apart, abs=0)


def test_all_entries_trained_beat_gradient_descent_from_two_layers_on():
    """The other entries transform the inputs too (GD++ of von Oswald et al.)."""
    assert trained_risk(3, 10, 2, sparse=False, steps=500) < 0.7 * best_descent(3, 10, 2).risk


def test_bad_input_is_one_sentence():
    with pytest.raises(ProblemError, match="number of steps"):
        best_descent(3, 10, 0)
