"""Separate keys and queries: fixed points and stairs against solved flows, whole prompts and other people's descent."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import minimize
from tests.icl.theory import quadrature, random_problem

from glyptic.icl.theory.lsa import Blocks, predict
from glyptic.icl.theory.optimum import minimum_loss, optimal_map
from glyptic.icl.theory.problem import Problem, ProblemError
from glyptic.icl.theory.separate import fixed_points, head_time, learnt_shares, separate_flow, staircase


@pytest.mark.parametrize(("d", "N"), [(1, 3), (2, 2)])
def test_the_loss_at_a_fixed_point_by_quadrature_over_whole_prompts(d, N):
    """Λ and Ψ that do not commute; the grid integrates the squared error of the attention layer exactly."""
    problem = random_problem(np.random.default_rng(d), d, N, prior=True)
    weight, x, y, x_query, w = quadrature(problem)
    target = np.einsum("bd,bd->b", w, x_query)
    points = fixed_points(problem)
    assert len(points) == 2**d
    for point in points:
        answer = predict(Blocks(np.zeros(d), 1.0, point.map, np.zeros(d)), x, y, x_query)
        assert point.loss == pytest.approx(weight @ (answer - target) ** 2 / 2, rel=1e-10)


def gradients(problem, v, K, Q):
    """By central differences of the quadratic loss, from its definition: nothing of the module is used."""
    L, Psi, N = problem.covariance, problem.prior, problem.N
    C = (1 + 1 / N) * L @ Psi @ L + (np.trace(L @ Psi) + problem.noise_variance) / N * L

    def loss(theta):
        a, b = theta[1:].reshape(2, *K.shape)
        X = theta[0] * a.T @ b
        return (np.trace(X.T @ C @ X @ L) - 2 * np.trace(X.T @ L @ Psi @ L) + np.trace(L @ Psi)) / 2

    theta, step = np.concatenate([[v], K.ravel(), Q.ravel()]), 1e-5
    moved = np.eye(len(theta)) * step
    return loss, theta, np.array([(loss(theta + e) - loss(theta - e)) / (2 * step) for e in moved])


@pytest.mark.parametrize("seed", range(3))
def test_the_flow_rests_at_every_set_of_directions(seed):
    """One head of full rank; the gradient by v, K and Q vanishes at each, and at no map half-way between two of them."""
    problem = random_problem(np.random.default_rng(seed), 3, 7, 0.3, prior=True)
    points = fixed_points(problem)
    for point in points:
        u, strengths, w = np.linalg.svd(point.map)
        K, Q = (u * np.sqrt(strengths)).T, np.sqrt(strengths)[:, None] * w
        loss, theta, slope = gradients(problem, 1.0, K, Q)
        assert loss(theta) == pytest.approx(point.loss, rel=1e-10)
        assert np.abs(slope).max() < 1e-6
    half = (points[0].map + points[1].map) / 2
    u, strengths, w = np.linalg.svd(half)
    assert np.abs(gradients(problem, 1.0, (u * np.sqrt(strengths)).T, np.sqrt(strengths)[:, None] * w)[2]).max() > 1e-3


def test_descent_by_others_ends_at_the_best_set_for_its_rank():
    """scipy's BFGS from random starts, on the loss written anew: the lowest end is L of the largest τ, for every rank."""
    problem = random_problem(np.random.default_rng(5), 3, 8, 0.1, prior=True)
    rng = np.random.default_rng(0)
    for rank in (1, 2, 3):
        loss, theta, _ = gradients(problem, 1.0, np.zeros((rank, 3)), np.zeros((rank, 3)))
        ends = [minimize(loss, rng.standard_normal(len(theta)), method="BFGS").fun for _ in range(4)]
        assert min(ends) == pytest.approx(fixed_points(problem, rank)[0].loss, rel=1e-6)


@pytest.mark.parametrize(("heads", "rank"), [(3, 1), (1, 3), (2, 2)])
def test_a_small_start_goes_down_the_stairs(heads, rank):
    problem = Problem([1.0, 0.5, 0.25], 10)
    stairs = staircase(problem)
    path = separate_flow(problem, heads, rank, deviation=1e-3, seed=1)
    losses = path.losses()
    assert np.all(np.diff(losses) <= 1e-9)
    assert np.allclose([losses[0], *path.plateaus(), losses[-1]], stairs, atol=1e-3)
    assert losses[-1] == pytest.approx(minimum_loss(problem), rel=1e-6)
    assert path.balance().max() < 1e-6
    shares = learnt_shares(problem, path.maps())
    half = [np.argmax(share > 0.5) for share in shares.T]
    assert half == sorted(half)  # the largest eigenvalue first
    assert np.allclose(shares[-1], 1, atol=1e-2)


def test_too_few_heads_stop_at_their_stair():
    problem = Problem([0.25, 1.0, 0.5], 10)  # the order of the axes plays no part
    path = separate_flow(problem, heads=2, deviation=1e-3)
    assert path.losses()[-1] == pytest.approx(staircase(problem)[2], rel=1e-6)


def test_the_order_is_that_of_the_signal_and_not_of_the_gain():
    """λ²ψ = 1, 1.21 and λψ = 1, 0.11: the direction with less to gain is learnt first, and one head then leaves it again."""
    problem = Problem([1.0, 11.0], 20, [1.0, 0.01])
    first, second = staircase(problem)[1], fixed_points(problem, 1)[0].loss
    assert second < first
    path = separate_flow(problem, heads=1, deviation=1e-4, seed=0)
    assert np.min(np.abs(path.plateaus() - first)) < 1e-3
    assert path.losses()[-1] == pytest.approx(second, rel=1e-5)


@pytest.mark.parametrize("direction", [0, 1])
def test_the_time_of_a_head_against_quadrature_and_a_solver(direction):
    problem = Problem([1.0, 0.5], 10, [1.0, 0.7], 0.2)
    lam, psi = problem.covariance.diagonal()[direction], problem.prior.diagonal()[direction]
    g = lam**2 * psi
    e = lam * (1.1 * lam**2 * psi + problem.label_power / 10 * lam)
    end = np.cbrt(optimal_map(problem)[direction, direction])
    for first, reached in ((1e-3, 0.5 * end), (0.01, 0.99 * end), (0.3, 0.3)):
        exact = quad(lambda a: 1 / (a * a * (g - e * a**3)), first, reached, epsabs=1e-12, epsrel=1e-12, limit=500)[0]
        assert head_time(problem, direction, first, reached) == pytest.approx(exact, rel=1e-8, abs=1e-9)
    time = head_time(problem, direction, 0.05, 0.9 * end)
    solved = solve_ivp(lambda _, a: a * a * (g - e * a**3), (0, time), [0.05], rtol=1e-11, atol=1e-13).y[0, -1]
    assert solved == pytest.approx(0.9 * end, rel=1e-6)


def test_one_dimension_and_given_times():
    problem = Problem([2.0], 1)
    assert np.allclose(staircase(problem), [1.0, minimum_loss(problem)])
    path = separate_flow(problem, times=[0.0, 1.0, 2.0])
    assert path.losses().shape == (3,)
    assert separate_flow(problem, times=[0.0]).losses()[0] == pytest.approx(1.0, abs=1e-4)


def test_what_cannot_be_answered():
    problem = Problem([1.0, 0.5], 10)
    with pytest.raises(ProblemError, match="do not commute"):
        staircase(random_problem(np.random.default_rng(0), 2, 5, prior=True))
    with pytest.raises(ProblemError, match="2\\^17 sets"):
        fixed_points(Problem(np.ones(17), 5))
    with pytest.raises(ProblemError, match="grows to"):
        head_time(problem, 0, 0.1, 2.0)
    with pytest.raises(ProblemError, match="counted from 0"):
        head_time(problem, 2, 0.1, 0.2)
    with pytest.raises(ProblemError, match="too many weights"):
        separate_flow(problem, heads=64, rank=64)
    with pytest.raises(ProblemError, match="never uses"):
        learnt_shares(Problem([1.0, 0.5], 10, [1.0, 0.0]), np.eye(2))


def test_the_stairs_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "in-context.md").read_text(encoding="utf-8")
    stated = [float(cell) for cell in re.findall(r"\| L\(S_m\) \|(.*)\|\n", page)[0].split("|")]
    assert np.allclose(staircase(Problem(1 / np.arange(1, 5), 20)), stated, atol=5e-5)
