"""Gradient flow: to L* and to the stated weights, two systems on one path, and what holds along the way."""

import warnings

import numpy as np
import pytest
from tests.icl.theory import random_blocks, random_problem

from glyptic.errors import InputError
from glyptic.icl.theory.flow import full_flow
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import excess, minimum_loss, optimal_blocks, optimal_map
from glyptic.icl.theory.problem import Problem, ProblemError, spectrum
from glyptic.icl.theory.reduced import logistic, reduced_flow
from glyptic.icl.theory.theorem import AboveThreshold, initial_blocks, pl_constant, threshold

SPECTRA = ["isotropic", "kappa:100", "inverse"]


def distance(problem, blocks):
    return np.abs(blocks.vector() - optimal_blocks(problem).vector()).max()


def assert_ends_at_the_theorem(problem, end):
    assert excess(problem, end) < 1e-12
    assert abs(loss(problem, end) - minimum_loss(problem)) < 1e-12  # by the polynomial too: `excess` is built on P*
    assert distance(problem, end) < 1e-8


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("d", [1, 5, 20, 50])
def test_reduced_flow_reaches_the_theorem(name, d):
    """From a full random Θ, in a rotated basis: Λ is not diagonal and K starts with off-diagonal entries."""
    rng = np.random.default_rng(d)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    problem = Problem(turn @ np.diag(spectrum(name, d)) @ turn.T, 2 * d)
    start = initial_blocks(problem, threshold(problem) / 2, rng.standard_normal((d, d)))
    assert_ends_at_the_theorem(problem, reduced_flow(problem, start).end)


@pytest.mark.parametrize("name", SPECTRA)
def test_full_flow_reaches_the_theorem_by_the_same_path(name):
    d = 3
    problem = Problem(spectrum(name, d), 6)
    start = initial_blocks(problem, threshold(problem) / 2, np.random.default_rng(0).standard_normal((d, d)))
    path = full_flow(problem, start)
    assert_ends_at_the_theorem(problem, path.end)
    times = path.times[:: len(path) // 12]
    full, reduced = full_flow(problem, start, times), reduced_flow(problem, start, times)
    for index in range(len(times)):
        np.testing.assert_allclose(reduced.blocks(index).vector(), full.blocks(index).vector(), atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECTRA)
def test_full_flow_reaches_the_theorem_in_twenty_dimensions(name):
    """441 equations from a random Θ: half a minute each, so d = 50 (2601 equations) is left to the reduced system."""
    d = 20
    problem = Problem(spectrum(name, d), 2 * d)
    start = initial_blocks(problem, threshold(problem) / 2, np.random.default_rng(d).standard_normal((d, d)))
    assert_ends_at_the_theorem(problem, full_flow(problem, start).end)


def test_with_prior_and_noise_it_reaches_the_general_optimum():
    problem = Problem([1.0, 0.5, 0.3], 8, [2.0, 0.5, 1.0], noise_variance=0.4)
    end = reduced_flow(problem, initial_blocks(problem, 0.1)).end
    assert distance(problem, end) < 1e-8
    skew = random_problem(np.random.default_rng(1), 2, 6, 0.3, prior=True)  # Λ and Ψ do not commute
    with pytest.raises(ProblemError, match="do not commute"):
        reduced_flow(skew, initial_blocks(skew, 0.1))
    end = full_flow(skew, initial_blocks(skew, 0.1)).end
    assert distance(skew, end) < 1e-8


def test_a_singular_prior_is_learnt_too():
    problem = Problem([1.0, 0.5], 8, [1.0, 0.0])
    path = reduced_flow(problem, initial_blocks(problem, 0.1), times=[0.0, 1e5])
    assert excess(problem, path.end) < 1e-12
    np.testing.assert_allclose(path.end.p2 * path.end.K, optimal_map(problem), atol=1e-6)


@pytest.mark.parametrize("noise_variance", [0.0, 0.3])
def test_isotropic_flow_is_logistic(noise_variance):
    problem, times = Problem.isotropic(5, 10, variance=2.0, noise_variance=noise_variance), np.linspace(0, 3, 50)
    path = reduced_flow(problem, initial_blocks(problem, 0.1), times)
    np.testing.assert_allclose(path.states[:, -2] ** 2, logistic(problem, 0.1, times), atol=1e-9)
    with pytest.raises(ProblemError, match="isotropic"):
        logistic(Problem([1.0, 0.5], 5), 0.1, times)


@pytest.mark.parametrize("name", SPECTRA)
def test_polyak_lojasiewicz_and_balance_along_the_flow(name):
    d, rng = 4, np.random.default_rng(2)
    problem, Theta = Problem(spectrum(name, d), 8), rng.standard_normal((d, d))
    sigma = 0.7 * threshold(problem)
    path = reduced_flow(problem, initial_blocks(problem, sigma, Theta)).thinned(80)
    away = path.excess() > 1e-16
    mu = pl_constant(problem, sigma, Theta)
    assert 0 < mu <= path.pl_ratio()[away].min()
    assert np.abs(path.balance()).max() < 1e-8
    assert np.all(np.diff(path.excess()[away]) < 0)


def test_balance_is_conserved_from_any_start():
    rng = np.random.default_rng(4)
    problem = random_problem(rng, 2, 5, 0.1, prior=True)
    start = Blocks.from_vector(0.3 * random_blocks(rng, 2).vector())
    path = full_flow(problem, start, times=np.linspace(0, 5, 11))
    np.testing.assert_allclose(path.balance(), start.balance, atol=1e-8)


def test_above_the_threshold_it_warns_and_goes_on():
    problem = Problem([1.0, 0.5], 8)
    with pytest.warns(AboveThreshold, match="not below the theorem's threshold"):
        start = initial_blocks(problem, 1.5 * threshold(problem))
    assert distance(problem, reduced_flow(problem, start).end) < 1e-8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        initial_blocks(problem, 0.9 * threshold(problem))


def test_starts_that_make_no_sense():
    problem = Problem([1.0, 0.5], 8)
    with pytest.raises(InputError, match=r"sigma is 0\.0, and must be a number above 0"):
        initial_blocks(problem, 0.0)
    with pytest.raises(ProblemError, match="starts at 0, which is a saddle"):
        full_flow(problem, Blocks.from_vector(np.zeros(9)))
    with pytest.raises(ProblemError, match="Θ is zero"):
        initial_blocks(problem, 0.1, np.zeros((2, 2)))
    with pytest.raises(ProblemError, match="p1 = k = 0"):
        reduced_flow(problem, random_blocks(np.random.default_rng(0), 2))
    with pytest.raises(ProblemError, match="Ψ = I only"):
        pl_constant(Problem([1.0, 0.5], 8, [2.0, 1.0]), 0.1)


@pytest.mark.parametrize("sigma", [1e-10, 1e-20, 1e-100])
def test_a_tiny_start_leaves_the_saddle(sigma):
    """An error bound that does not know the size of the start let a flow from 1e-20 rest at the saddle, without a word."""
    problem = Problem([1.0, 0.5], 8)
    assert distance(problem, reduced_flow(problem, initial_blocks(problem, sigma)).end) < 1e-8
    if sigma >= 1e-20:
        assert distance(problem, full_flow(problem, initial_blocks(problem, sigma)).end) < 1e-8


def test_a_start_too_small_for_any_number_is_refused():
    problem = Problem([1.0, 0.5], 8)
    with pytest.raises(ProblemError, match="start is too small"):
        reduced_flow(problem, initial_blocks(problem, 1e-320))


def test_a_condition_number_is_solved_or_refused_never_waited_for():
    """10⁶ did not end. Up to 10⁴ the flow arrives; beyond what rounding allows it is refused, in a sentence."""
    problem = Problem(spectrum("kappa:1e4", 4), 20)
    assert excess(problem, reduced_flow(problem).end) < 1e-10
    stiff = Problem(spectrum("kappa:1e6", 4), 20)
    for flow in (reduced_flow, full_flow):
        with pytest.raises(ProblemError, match=r"condition number 1e\+06; take a Λ with less, or give times that end earlier"):
            flow(stiff)
    assert reduced_flow(stiff, times=[0.0, 1e6]).excess()[-1] < reduced_flow(stiff, times=[0.0]).excess()[0]


def test_flows_have_a_default_start():
    problem = Problem([1.0, 0.5], 8)
    for flow in (reduced_flow, full_flow):
        assert distance(problem, flow(problem).end) < 1e-8
        assert flow(problem).blocks(0).p2 == pytest.approx(threshold(problem) / 2)
    singular = Problem([1.0, 0.5], 8, [1.0, 0.0])
    assert excess(singular, reduced_flow(singular).end) < 1e-12


def test_a_flow_at_time_zero_is_its_start():
    problem = Problem([1.0, 0.5], 8)
    path = reduced_flow(problem, times=[0.0, 0.0])
    assert np.array_equal(path.blocks(1).vector(), initial_blocks(problem).vector())


def test_a_start_too_large_to_be_solved_is_refused():
    """σ = 1e90 ran for ever: its rates are σ² times those of the problem."""
    problem = Problem([1.0, 0.5], 20)
    with pytest.warns(AboveThreshold):
        start = initial_blocks(problem, 1e90)
    for flow in (reduced_flow, full_flow):
        with pytest.raises(ProblemError, match="give a smaller start"):
            flow(problem, start)
    with pytest.warns(AboveThreshold):
        assert reduced_flow(problem, initial_blocks(problem, 100.0)).excess()[-1] < 1e-9
