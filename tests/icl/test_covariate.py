"""Scaled inputs and random covariances: the exact risk is that of the transformer on sampled prompts."""

import numpy as np
import pytest

from glyptic.icl.experiments.covariate import exact_risk, sampled_answers, slope, trained_blocks
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import optimal_blocks
from glyptic.icl.theory.problem import Problem
from glyptic.icl.theory.random_covariance import RandomDiagonal


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_exact_risk_is_the_sampled_one(scale):
    answer, target = sampled_answers(optimal_blocks(Problem.isotropic(3, 10)), scale, M=10)
    error = (answer - target) ** 2
    assert abs(error.mean() - exact_risk(3, 10, scale, 10)) < 4 * error.std() / np.sqrt(len(error))


def test_all_blocks_of_the_trained_model_answer():
    """p1 and k too, small as they are from Zhang et al.'s start."""
    best = optimal_blocks(Problem.isotropic(3, 10))
    other = Blocks(best.p1 + 0.3, best.p2, best.K, best.k + 0.3)
    (plain, target), (moved, same) = sampled_answers(best, 1.0, 10), sampled_answers(other, 1.0, 10)
    assert np.array_equal(target, same)
    assert np.abs(plain - moved).max() > 0.1


def test_training_on_random_covariances_ends_at_its_exact_map():
    trained = trained_blocks(2, 10, random_covariance=True, steps=300, seed=0)
    exact = RandomDiagonal(2).trained_map(10)
    assert slope(*sampled_answers(trained, 1.0, 1000))[0] == pytest.approx(exact, rel=0.1)
