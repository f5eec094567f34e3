"""Depth: trained layers against the best steps of gradient descent."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from glyptic.errors import InputError
from glyptic.icl.experiments.descent import descent_risk, sampled_moments, trained_risk
from glyptic.icl.experiments.prompts import sample
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.theory.depth import best_descent, preconditioned_gd


@pytest.mark.parametrize(("d", "N"), [(2, 5), (5, 20), (4, 3)])
def test_one_step_has_the_known_risk(d, N):
    best = best_descent(d, N, 1)
    assert best.risk == pytest.approx(d * (d + 1) / (N + d + 1), rel=1e-14, abs=0)
    assert best.steps[0] == pytest.approx(1 / (1 + (d + 1) / N), rel=1e-14, abs=0)


@pytest.mark.parametrize("s2", [0.0, 0.7])
def test_two_steps_by_quadrature(s2):
    """d = 1, N = 1: S = x², and the risk of any two steps is a Gauss–Hermite sum, minimised by a general optimizer."""
    x, weight = np.polynomial.hermite_e.hermegauss(12)
    s, weight = x**2, weight / weight.sum()

    def risk(steps):
        p = np.prod(1 - np.multiply.outer(s, steps), axis=1)
        q = np.sum(steps) - np.prod(steps) * s  # (1 − p)/s
        return weight @ (p**2 + s2 * q**2 * s)

    best = best_descent(1, 1, 2, noise_variance=s2)
    found = minimize(risk, [0.2, 0.7], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-15, "maxiter": 4000})
    assert best.risk == pytest.approx(found.fun, rel=1e-10, abs=0)
    assert best.risk == pytest.approx(risk(np.array(best.steps)), rel=1e-12, abs=0)


@pytest.mark.parametrize("s2", [0.0, 0.5])
def test_the_risk_is_that_of_running_the_descent(s2):
    best = best_descent(4, 12, 3, noise_variance=s2)
    prompts = sample(LinearTask(4, s2), np.random.default_rng(5), 100_000, 12)
    steps = [a * np.eye(4) for a in best.steps]
    answer = preconditioned_gd(prompts.context_x, prompts.context_y, prompts.query_x[:, -1], steps)
    error = (answer - prompts.target[:, -1]) ** 2
    assert abs(error.mean() - best.risk) < 4 * error.std() / np.sqrt(100_000)
    for other in (0.98, 1.02):  # and no other steps do better
        worse = preconditioned_gd(prompts.context_x, prompts.context_y, prompts.query_x[:, -1], [other * A for A in steps])
        assert ((worse - prompts.target[:, -1]) ** 2).mean() > error.mean()


def test_more_steps_are_never_worse_and_tend_to_what_the_examples_tell():
    """Without noise and with N > d the risk tends to 0; with N < d to that of least squares of least norm, d − N."""
    risks = [best_descent(3, 8, layers).risk for layers in range(1, 11)]
    assert all(after < before for before, after in pairwise(risks))
    assert risks[-1] < 0.03
    short = [best_descent(5, 1, layers).risk for layers in (1, 12)]
    assert short[0] > short[1] > 4


def test_the_yardstick_is_not_sampled():
    """It was: 40,000 samples of S put the best four steps at N = 20 six percent off."""
    assert best_descent(5, 20, 4).risk == pytest.approx(0.0549525567203485, rel=1e-12, abs=0)
    per_prompt = descent_risk([a * np.eye(5) for a in best_descent(5, 20, 4).steps], sampled_moments(5, 20, 400_000))
    assert abs(per_prompt.mean() - 0.0549525567203485) < 4 * per_prompt.std() / np.sqrt(400_000)


@pytest.mark.parametrize("layers", [1, 2])
def test_trained_layers_reach_the_best_descent(layers):
    """Their difference is sampled on common inputs, so it scatters little: above the best, by less than two percent."""
    best, (risk, error) = best_descent(3, 10, layers).risk, trained_risk(3, 10, layers, steps=500)
    assert error < 0.005 * best
    assert best - 4 * error < risk < 1.02 * best + 4 * error


@pytest.mark.slow
@pytest.mark.parametrize(("layers", "steps", "apart"), [(3, 1500, 0.02), (4, 6000, 0.05)])
def test_deeper_ones_reach_it_with_more_steps(layers, steps, apart):
    """The risk of four layers has degree 16 in x, so rare prompts carry it."""
    risk, error = trained_risk(5, 20, layers, steps=steps)
    assert abs(risk - best_descent(5, 20, layers).risk) < apart * risk + 3 * error


def test_all_entries_trained_beat_gradient_descent_from_two_layers_on():
    """The other entries transform the inputs too (GD++ of von Oswald et al.)."""
    assert trained_risk(3, 10, 2, sparse=False, steps=500)[0] < 0.7 * best_descent(3, 10, 2).risk


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="layers is 0"):
        best_descent(3, 10, 0)
