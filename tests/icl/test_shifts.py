"""The one formula for shifts against sampling; what is tolerated and what is not; training on random covariances."""

import numpy as np
import pytest
from tests.icl.theory import random_problem

from glyptic.icl.theory.optimum import minimum_loss, optimal_blocks, optimal_map
from glyptic.icl.theory.problem import Problem, ProblemError, spectrum
from glyptic.icl.theory.random_covariance import RandomDiagonal, optimal_map_over
from glyptic.icl.theory.shifts import Shift, shifted_risk, standard_shifts
from glyptic.icl.theory.simulate import exponential_sampler, simulated_risk

NAMES = [shift.name for shift in standard_shifts(Problem.isotropic(3, 5))]


def check(index, prompts, seed):
    problem, M = random_problem(np.random.default_rng(3), 3, 12, 0.1, prior=True), 8
    shift, P = standard_shifts(problem)[index], optimal_map(problem)
    found = simulated_risk(optimal_blocks(problem), shift.sample, M, prompts, seed)  # the transformer itself
    assert abs(found.sigmas(shifted_risk(P, shift, M))) < 3


@pytest.mark.parametrize(("prompts", "seed"), [(100_000, 30), pytest.param(1_000_000, 0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("index", range(len(NAMES)), ids=NAMES)
def test_formula_against_sampling(index, prompts, seed):
    check(index, prompts, index + seed)


@pytest.mark.parametrize("prompts", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_random_covariance_against_sampling(prompts):
    law, M = RandomDiagonal(3, noise_variance=0.2), 8
    p = law.trained_map(12)
    found = simulated_risk(p * np.eye(3), exponential_sampler(3, 0.2), M, prompts, seed=5)
    assert abs(found.sigmas(law.risk(p, M))) < 3


def test_without_a_shift_it_is_the_training_loss():
    problem = random_problem(np.random.default_rng(1), 4, 9, 0.3, prior=True)
    same = Shift("none", problem.covariance, problem.covariance, problem.prior, problem.noise_variance)
    assert shifted_risk(optimal_map(problem), same, 9) == pytest.approx(2 * minimum_loss(problem), rel=1e-11, abs=0)


def test_tasks_and_queries_are_tolerated_covariates_are_not():
    long = Problem(spectrum("inverse", 4), 10**6)
    P = optimal_map(long)
    left = {}
    for shift in standard_shifts(long):
        left[shift.name] = shifted_risk(P, shift, np.inf) / np.sum(shift.query_moment * shift.task_moment)
    assert all(left[name] < 1e-9 for name in NAMES[:6])
    assert all(left[name] > 0.1 for name in NAMES[6:])


@pytest.mark.parametrize("c", [0.5, 2.0, 3.0])
def test_inputs_scaled_by_c_give_c_squared(c):
    problem = Problem(spectrum("inverse", 3), 10**7)
    w = np.array([1.0, 2.0, -1.0])
    answer = optimal_map(problem).T @ (c**2 * problem.covariance) @ w  # ŷ = ⟨answer, x_q⟩ as M → ∞
    np.testing.assert_allclose(answer, c**2 * w, rtol=1e-5)


def test_exponential_covariances_leave_one_third():
    law = RandomDiagonal(4)
    assert law.trained_map(10**9) == pytest.approx(1 / 3, abs=1e-8)
    assert law.risk(law.trained_map(10**9), np.inf) == pytest.approx(4 * (1 - 2 * 2 / 3 + 6 / 9), rel=1e-7, abs=0)


def test_random_covariance_optimum_is_the_average_equation():
    """Many sampled Λ in the general solver against the closed form for independent exponentials."""
    rng = np.random.default_rng(0)
    problems = [Problem(np.maximum(rng.standard_exponential(2), 1e-6), 7) for _ in range(4000)]
    P = optimal_map_over(problems)
    p = RandomDiagonal(2).trained_map(7)
    np.testing.assert_allclose(P, p * np.eye(2), atol=0.05 * p)


def test_mixture_of_two_covariances_is_a_minimum():
    problems = [Problem([1.0, 0.2], 6), Problem([0.3, 2.0], 6)]
    P = optimal_map_over(problems)

    def total(P):
        shifts = [Shift("", p.covariance, p.covariance, p.prior) for p in problems]
        return sum(shifted_risk(P, shift, 6) for shift in shifts)

    rng = np.random.default_rng(0)
    assert all(total(P) < total(P + 1e-3 * rng.standard_normal((2, 2))) for _ in range(20))


def test_refusals():
    with pytest.raises(ProblemError, match="dimension 3, but 2"):
        Shift("bad", np.eye(2), np.eye(3), np.eye(2))
    with pytest.raises(ProblemError, match="negative eigenvalue"):
        Shift("bad", np.diag([1.0, -1.0]), np.eye(2), np.eye(2))
    with pytest.raises(ProblemError, match="shape"):
        shifted_risk(np.eye(3), Shift("ok", np.eye(2), np.eye(2), np.eye(2)), 5)
    with pytest.raises(ProblemError, match="M is 0"):
        shifted_risk(np.eye(2), Shift("ok", np.eye(2), np.eye(2), np.eye(2)), 0)
    with pytest.raises(ProblemError, match="no positive random variable"):
        RandomDiagonal(2, (1.0, 0.5, 1.0))
    with pytest.raises(ProblemError, match="same dimension"):
        optimal_map_over([Problem([1.0], 5), Problem([1.0, 1.0], 5)])
