"""ℓ(p) = min_W L(p, W): its value, slope and curvature, and that its critical points are those of L."""

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.icl.theory import random_problem

from glyptic.icl.theory.landscape import SPURIOUS, classify, critical_points, rank_one_point
from glyptic.icl.theory.loss import gradient, hessian, loss
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem, ProblemError
from glyptic.icl.theory.profile import Profile

SKEW = random_problem(np.random.default_rng(3), 3, 7, 0.3, prior=True)  # Λ and Ψ do not commute


def test_it_is_the_least_loss_over_W():
    profile, p = Profile.of(SKEW), np.array([0.4, -1.0, 0.2, 0.7])

    def fixed_p(W):
        slope = gradient(SKEW, Blocks.from_vector(np.concatenate([p, W]))).vector()[4:]
        return loss(SKEW, Blocks.from_vector(np.concatenate([p, W]))), slope

    found = minimize(fixed_p, np.zeros(12), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert profile.loss(p) == pytest.approx(found.fun, rel=1e-8, abs=0)
    assert loss(SKEW, Blocks.from_vector(profile.weights(p))) == pytest.approx(profile.loss(p), rel=1e-12, abs=0)


def test_gradient_and_hessian_are_finite_differences():
    profile, p, step = Profile.of(SKEW), np.array([0.4, -1.0, 0.2, 0.7]), 1e-5
    for i, e in enumerate(np.eye(4)):
        slope = (profile.loss(p + step * e) - profile.loss(p - step * e)) / (2 * step)
        assert profile.gradient(p)[i] == pytest.approx(slope, rel=1e-5, abs=1e-8)
        bend = (profile.gradient(p + step * e) - profile.gradient(p - step * e)) / (2 * step)
        np.testing.assert_allclose(profile.hessian(p)[i], bend, rtol=1e-4, atol=1e-6)
    assert abs(profile.gradient(p) @ p) < 1e-12  # the scale of p does not matter


def test_critical_points_have_the_signs_of_the_profile():
    """Sylvester: as many negative eigenvalues in d + 1 numbers as in (d + 1)²."""
    profile = Profile.of(SKEW)
    for point in critical_points(SKEW, tries=20):
        p = np.append(point.blocks.p1, point.blocks.p2)
        if np.any(p):
            whole = np.linalg.eigvalsh(hessian(SKEW, point.blocks))
            small = np.linalg.eigvalsh(profile.hessian(p))
            assert np.sum(whole < -1e-6) == np.sum(small < -1e-6 * np.abs(small).max()) == point.descending


def test_critical_points_are_found_where_the_prior_and_the_covariance_do_not_commute():
    """`critical_points` failed there: its rank-one points were those of commuting matrices."""
    for seed in range(6):
        problem = random_problem(np.random.default_rng(seed), 2, 6, 0.2, prior=True)
        points = critical_points(problem, tries=10)
        assert points[0].loss == pytest.approx(minimum_loss(problem), rel=1e-9, abs=0)
        for direction in range(2):
            slope = gradient(problem, rank_one_point(problem, direction)).vector()
            assert np.linalg.norm(slope) < 1e-10 * problem.signal_power
            assert any(point.same(classify(problem, rank_one_point(problem, direction))) for point in points)


def test_units_of_the_inputs_do_not_matter():
    """The same landscape for inputs a thousand times as large or as small: tolerances are relative."""
    expected = [(point.kind, point.descending, point.path) for point in critical_points(Problem([1.0, 0.9], 10), tries=20)]
    for unit in (1e-6, 1e6):
        points = critical_points(Problem([unit, 0.9 * unit], 10), tries=20)
        assert [(point.kind, point.descending) for point in points] == [each[:2] for each in expected]


def test_there_can_be_two_spurious_minima():
    points = [point for point in critical_points(Problem([1.0, 0.5], 20), tries=20) if point.kind == SPURIOUS]
    assert len(points) == 2


def test_long_contexts_do_not_turn_the_global_minimum_into_a_spurious_one():
    """L* is of the size 1/N: compared with itself, rounding made of it a minimum that is not global."""
    for N in (10**6, 10**9):
        assert critical_points(Problem([1.0, 0.5], N), tries=0)[0].kind == "global minimum"


def test_a_singular_prior_is_refused():
    with pytest.raises(ProblemError, match="invertible prior"):
        critical_points(Problem([1.0, 0.5], 10, [1.0, 0.0]))
    with pytest.raises(ProblemError, match="no direction 1: Ψ has rank 1"):
        rank_one_point(Problem([1.0, 0.5], 10, [1.0, 0.0]), 1)
