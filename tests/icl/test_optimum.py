"""The closed-form minimum: stationary, lowest, unique up to the symmetry; its constants and special cases."""

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.icl.theory import random_problem

from glyptic.icl.theory.loss import gradient, loss, loss_and_gradient
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import curvature, excess, gamma, minimum_loss, optimal_blocks, optimal_map
from glyptic.icl.theory.problem import Problem, ProblemError, spectrum


@pytest.mark.parametrize(("d", "noise_variance", "prior"), [(1, 0.0, False), (3, 0.0, False), (3, 0.5, True), (8, 0.2, True)])
def test_it_is_stationary_and_has_the_stated_loss(d, noise_variance, prior):
    problem = random_problem(np.random.default_rng(d), d, 2 * d + 1, noise_variance, prior)
    best = optimal_blocks(problem)
    assert np.abs(gradient(problem, best).vector()).max() < 1e-11
    assert loss(problem, best) == pytest.approx(minimum_loss(problem), rel=1e-12, abs=0)
    L, Psi, P = problem.covariance, problem.prior, optimal_map(problem)
    np.testing.assert_allclose(P, np.linalg.solve(curvature(problem), L @ Psi), rtol=1e-8)  # P* = C⁻¹ΛΨ
    np.testing.assert_allclose(P, np.linalg.inv(gamma(problem)), rtol=1e-8)
    assert minimum_loss(problem) == pytest.approx(0.5 * np.trace(L @ Psi - L @ Psi @ L @ P), rel=1e-10, abs=0)


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lower(seed):
    """Minimise from random starts over all blocks: never below L*, and often at it."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, 2, 6, 0.1 * (seed % 2), prior=seed % 2 == 1)

    def both(theta):
        value, slope = loss_and_gradient(problem, Blocks.from_vector(theta))
        return value, slope.vector()

    ends = [minimize(both, rng.standard_normal(9), jac=True, method="BFGS").fun for _ in range(6)]
    assert min(ends) >= minimum_loss(problem) * (1 - 1e-10)


def test_constants_of_the_theorem():
    problem = Problem(spectrum("inverse", 6), 15)
    L = problem.covariance
    Gamma = (1 + 1 / 15) * L + np.trace(L) / 15 * np.eye(6)
    W_pv, W_kq = optimal_blocks(problem).matrices()
    size = np.trace(np.linalg.matrix_power(np.linalg.inv(Gamma), 2)) ** 0.25
    expected_pv, expected_kq = np.zeros((7, 7)), np.zeros((7, 7))
    expected_pv[6, 6], expected_kq[:6, :6] = size, np.linalg.inv(Gamma) / size
    np.testing.assert_allclose(W_pv, expected_pv, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(W_kq, expected_kq, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("d", "N"), [(1, 1), (4, 7), (30, 11)])
def test_isotropic_minimum(d, N):
    assert 2 * minimum_loss(Problem.isotropic(d, N)) == pytest.approx(d * (d + 1) / (N + d + 1), rel=1e-13, abs=0)


def test_large_N_cancels_nothing():
    """½tr(Λ − Γ⁻¹Λ²) as printed has lost half of its digits by N = 1e8; the form used has not."""
    problem = Problem.isotropic(3, 10**8)
    assert 2 * minimum_loss(problem) == pytest.approx(12 / (10**8 + 4), rel=1e-14, abs=0)


@pytest.mark.parametrize("case", ["d = 1", "rank-one prior"])
def test_a_second_branch_of_minima_exists_exactly_when_the_prior_has_rank_one(case):
    """`p1 = k = 0 at every minimum` needs rank Ψ ≥ 2: otherwise p1 kᵀ = P*, p2 = 0, K = 0 is as good."""
    if case == "d = 1":
        problem = Problem([0.7], 5)
    else:
        w = np.array([1.0, -2.0, 0.5])
        problem = Problem(spectrum("inverse", 3), 5, np.outer(w, w))
    left, sizes, right = np.linalg.svd(optimal_map(problem))
    other = Blocks(left[:, 0] * sizes[0], 0.0, np.zeros((problem.d, problem.d)), right[0])
    assert loss(problem, other) == pytest.approx(minimum_loss(problem), rel=1e-12, abs=0)
    wide = Problem(problem.covariance, 5, problem.prior + 0.1 * np.eye(problem.d))
    if problem.d > 1:
        left, sizes, right = np.linalg.svd(optimal_map(wide))
        other = Blocks(left[:, 0] * sizes[0], 0.0, np.zeros((problem.d, problem.d)), right[0])
        assert loss(wide, other) > minimum_loss(wide) * 1.01


def test_excess_resolves_below_rounding():
    problem = Problem(spectrum("inverse", 4), 12)
    best = optimal_blocks(problem)
    near = Blocks(best.p1, best.p2 * (1 + 1e-11), best.K, best.k)
    assert 0 < excess(problem, near) < 1e-20
    away = Blocks(best.p1, 2 * best.p2, best.K, best.k)
    assert excess(problem, away) == pytest.approx(loss(problem, away) - minimum_loss(problem), rel=1e-12, abs=0)


def test_gamma_of_a_singular_prior_is_refused():
    with pytest.raises(ProblemError, match="invertible prior"):
        gamma(Problem([1.0, 1.0], 5, np.diag([1.0, 0.0])))
