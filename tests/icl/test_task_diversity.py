"""Pretraining on a pool of tasks: the optimum against descent, risks against quadrature and sampling, averages too."""

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.integrate import quad
from tests.icl.theory import random_problem, root

from glyptic.icl.theory.diversity import diversity_limit, diversity_rows, new_task_risk, pool_risk, pretrained_blocks
from glyptic.icl.theory.lsa import Blocks, predict
from glyptic.icl.theory.optimum import minimum_loss, optimal_blocks
from glyptic.icl.theory.problem import Problem, ProblemError


def grid(problem, pool, N):
    """Weights and prompts of a tensor rule over x and x_q, times the tasks: exact for squared errors."""
    d, T = problem.d, len(pool)
    noisy = N if problem.noise_variance else 0
    sizes = [3] * (N * d) + [2] * d + [3] * noisy  # degree 4 in every x_i and in the noise, 2 in x_q
    rules = [hermegauss(size) for size in sizes]
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*(r[0] for r in rules), indexing="ij")], axis=-1)
    weight = np.prod(np.stack([axis.ravel() for axis in np.meshgrid(*(r[1] for r in rules), indexing="ij")], axis=-1), axis=-1)
    x = nodes[:, : N * d].reshape(-1, N, d) @ root(problem.covariance).T
    x_query = nodes[:, N * d : N * d + d] @ root(problem.covariance).T
    noise = np.sqrt(problem.noise_variance) * nodes[:, N * d + d :] if noisy else 0.0
    for w in pool:
        yield weight / weight.sum() / T, x, x @ w + noise, x_query, x_query @ w


def by_quadrature(problem, blocks, pool, N):
    total = 0.0
    for weight, x, y, x_query, target in grid(problem, pool, N):
        total += weight @ (predict(blocks, x, y, x_query) - target) ** 2
    return total


@pytest.mark.parametrize(("d", "N", "s2"), [(1, 2, 0.0), (1, 2, 0.4), (2, 2, 0.0)])
def test_the_risk_on_a_pool_by_quadrature_over_whole_prompts(d, N, s2):
    rng = np.random.default_rng(d)
    problem = random_problem(rng, d, 5, s2)
    pool = rng.standard_normal((3, d))
    for label_block in (True, False):
        blocks = pretrained_blocks(problem, pool, label_block)
        assert pool_risk(problem, blocks, pool, N) == pytest.approx(by_quadrature(problem, blocks, pool, N), rel=1e-10)
    other = Blocks(np.zeros(d), 1.3, rng.standard_normal((d, d)), rng.standard_normal(d))
    assert pool_risk(problem, other, pool, N) == pytest.approx(by_quadrature(problem, other, pool, N), rel=1e-10)


def test_the_risk_on_new_tasks_by_quadrature_over_tasks():
    """The mean over a Gauss grid of tasks, of degree 4 in w, is exact for the Gaussian prior."""
    rng = np.random.default_rng(3)
    for d in (1, 2, 3):
        problem = random_problem(rng, d, 4, 0.2, prior=True)
        blocks = Blocks(np.zeros(d), 0.8, rng.standard_normal((d, d)), rng.standard_normal(d))
        nodes, weights = hermegauss(3)
        axes = np.stack([axis.ravel() for axis in np.meshgrid(*[nodes] * d, indexing="ij")], axis=-1) @ root(problem.prior).T
        shares = np.prod(np.stack([a.ravel() for a in np.meshgrid(*[weights] * d, indexing="ij")], axis=-1), axis=-1)
        mean = sum(share * pool_risk(problem, blocks, [w], 6) for share, w in zip(shares / shares.sum(), axes, strict=True))
        assert new_task_risk(problem, blocks, 6) == pytest.approx(mean, rel=1e-10)


def test_no_direction_leads_below_the_optimum():
    rng = np.random.default_rng(4)
    for d, T, s2 in ((2, 2, 0.0), (3, 5, 0.3), (4, 2, 0.0), (1, 3, 0.1)):
        problem = random_problem(rng, d, 6, s2)
        pool = rng.standard_normal((T, d))
        best = pretrained_blocks(problem, pool)
        least = pool_risk(problem, best, pool, problem.N)
        assert least <= pool_risk(problem, pretrained_blocks(problem, pool, label_block=False), pool, problem.N) + 1e-12
        for _ in range(20):
            K, k = best.K + 0.1 * rng.standard_normal((d, d)), best.k + 0.1 * rng.standard_normal(d)
            assert pool_risk(problem, Blocks(np.zeros(d), 1.0, K, k), pool, problem.N) > least


def test_gradient_descent_on_sampled_prompts_comes_to_the_optimum():
    """Least squares on 200,000 sampled prompts: its X is the closed form within the errors of the sample."""
    rng = np.random.default_rng(0)
    problem, pool = Problem([1.0, 0.5], 6, noise_variance=0.1), rng.standard_normal((3, 2))
    count, d = 200_000, 2
    w = pool[rng.integers(3, size=count)]
    x = rng.standard_normal((count, 6, d)) * np.sqrt([1.0, 0.5])
    x_query = rng.standard_normal((count, d)) * np.sqrt([1.0, 0.5])
    y = np.einsum("pnd,pd->pn", x, w) + np.sqrt(0.1) * rng.standard_normal((count, 6))
    h = np.column_stack([np.einsum("pn,pnd->pd", y, x) / 6, np.mean(y**2, axis=1)])
    features = np.einsum("pa,pb->pab", h, x_query).reshape(count, -1)
    found = np.linalg.lstsq(features, np.sum(w * x_query, axis=1), rcond=None)[0].reshape(d + 1, d)
    blocks = pretrained_blocks(problem, pool)
    assert np.abs(np.vstack([blocks.K, blocks.k]) - found).max() < 0.02


def test_a_symmetric_pool_needs_no_label_block():
    rng = np.random.default_rng(1)
    problem = random_problem(rng, 3, 5, 0.2)
    pool = rng.standard_normal((2, 3))
    both, alone = (pretrained_blocks(problem, np.vstack([pool, -pool]), block) for block in (True, False))
    assert np.allclose(both.K, alone.K, atol=1e-10)
    assert np.abs(both.k).max() < 1e-10
    as_prior = Problem(problem.covariance, 5, pool.T @ pool / 2, 0.2)
    assert pool_risk(problem, both, pool, 5) == pytest.approx(2 * minimum_loss(as_prior), rel=1e-10)


def test_a_single_task_in_closed_form():
    """Λ = I, s = 0: K is N/(N+2) along w, and the risk on new tasks that of every draw; with k the least norm."""
    d, N, M = 5, 12, 7
    [row] = diversity_rows(Problem.isotropic(d, N), [1], draws=5, M=M, label_block=False)
    q = N / (N + 2)
    assert row["new"] == pytest.approx(d - 2 * q + q * q + (d + 1) * q * q / M, rel=1e-10)
    w = np.array([3.0, 0.0, 0.0, 0.0, 0.0])
    blocks = pretrained_blocks(Problem.isotropic(d, N), [w])
    assert np.vstack([blocks.K, blocks.k]).T @ np.append(w, -1.0) == pytest.approx(0, abs=1e-12)  # ⟨w, b⟩ = ȳ²
    assert pool_risk(Problem.isotropic(d, N), blocks, [w], N) == pytest.approx(9 * 2 / (N + 2), rel=1e-10)


@pytest.mark.parametrize("size", [1e-20, 1e-10, 1e-3, 1.0, 1e6, 1e20])
def test_a_single_task_of_any_size(size):
    """Λ = I, s = 0: the risk is 2‖w‖²/(N + 2), whatever the units of w."""
    problem, pool = Problem.isotropic(2, 5), [[size, 0.0]]
    assert pool_risk(problem, pretrained_blocks(problem, pool), pool, 5) / size**2 == pytest.approx(2 / 7, rel=1e-9)


def test_the_average_in_the_plane_by_the_density_of_the_eigenvalues():
    """Λ = I₂, s = 0, k = 0: K depends on z = λ_1/(λ_1 + λ_2) of a Wishart matrix, of density ∝ (z(1−z))^((T−3)/2) (2z − 1)."""
    N, M, T = 8, 5, 4

    def risk(z):
        P = np.array([r / ((1 + 1 / N) * r + 1 / N) for r in (z, 1 - z)])
        return np.sum((P - 1) ** 2) + 3 / M * np.sum(P**2)

    density = lambda z: (z * (1 - z)) ** ((T - 3) / 2) * (2 * z - 1)  # noqa: E731
    exact = quad(lambda z: density(z) * risk(z), 0.5, 1)[0] / quad(density, 0.5, 1)[0]
    [row] = diversity_rows(Problem.isotropic(2, N), [T], draws=2000, M=M, label_block=False)
    assert abs(row["new"] - exact) < 4 * row["new_standard_error"]
    assert row["new_standard_error"] < 3e-3 * exact


def marchenko_pastur(c, ratio):
    """m = ∫ dμ/(r + c) and its derivative, μ the law of Marchenko and Pastur with d/T = ratio, by its own density."""
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    density = lambda r: np.sqrt((high - r) * (r - low)) / (2 * np.pi * ratio * r)  # noqa: E731
    atom = max(0.0, 1 - 1 / ratio)
    return [atom / c**power + quad(lambda r, p=power: density(r) / (r + c) ** p, low, high, limit=400)[0] for power in (1, 2)]


@pytest.mark.parametrize("ratio", [0.3, 0.9, 2.5])
def test_the_limit_by_the_law_of_marchenko_and_pastur(ratio):
    """d → ∞, Λ = Ψ = I, N = M = 2d, s² = d/2: risks by integrals over the law."""
    d = 10**3
    N, T = 2 * d, round(d / ratio)
    c = (d + d / 2) / N
    m, n = marchenko_pastur(c, d / T)
    limit = diversity_limit(Problem.isotropic(d, N, noise_variance=d / 2), T, N)
    assert limit.new / d == pytest.approx(c * c * n * (1 + c) + c * (1 - 2 * c * m), rel=3 / d)
    assert limit.pool / d == pytest.approx(c * (1 - c * m), rel=3 / d)


def test_the_limit_is_near_the_average_at_twenty_dimensions():
    problem = Problem(1 / np.arange(1, 21), 40, noise_variance=0.3)
    for row in diversity_rows(problem, [5, 20, 80], M=40, draws=60, label_block=False):
        assert row["new_limit"] == pytest.approx(row["new"], rel=0.03)
        assert abs(row["pool_limit"] - row["pool"]) < 0.02 * row["pool"] + 4 * row["pool_standard_error"]
        assert row["pool"] < row["best"] < row["new"]


def test_many_tasks_are_the_prior():
    problem = Problem([1.0, 0.5, 0.2], 10, noise_variance=0.1)
    best = new_task_risk(problem, optimal_blocks(problem), 10)
    assert best == pytest.approx(2 * minimum_loss(problem), rel=1e-10)
    limit = diversity_limit(problem, 10**6, 10)
    assert limit.new == pytest.approx(best, rel=1e-4)
    assert limit.pool == pytest.approx(best, rel=1e-4)
    flat = Problem.isotropic(50, 100)
    excess = [diversity_limit(flat, T, 100).new - 2 * minimum_loss(flat) for T in (10**4, 10**5)]
    assert excess[0] / excess[1] == pytest.approx(10, rel=0.02)  # 1/T
    c = 50 / 101
    assert excess[1] == pytest.approx(50**2 / 10**5 * c * c / (1 + c) ** 3, rel=0.1)


def test_long_prompts_leave_the_directions_that_no_task_showed():
    for T, left in ((5, 15.0), (20, 0.0), (30, 0.0)):
        assert diversity_limit(Problem.isotropic(20, 10**12), T, np.inf).new == pytest.approx(left, abs=1e-3)


def test_what_cannot_be_answered():
    problem = Problem([1.0, 0.5], 6)
    for pool in ([], [[0.0, 0.0]], [[1.0]], [[np.nan, 1.0]], [[1e40, 0.0]], [[1e-60, 0.0]], "w"):
        with pytest.raises(ProblemError):
            pretrained_blocks(problem, pool)
    with pytest.raises(ProblemError, match="p1 = 0"):
        new_task_risk(problem, Blocks([1.0, 0.0], 1.0, np.eye(2), [0.0, 0.0]), 5)
    with pytest.raises(ProblemError, match="dimension 3"):
        new_task_risk(problem, Blocks([0.0] * 3, 1.0, np.eye(3), [0.0] * 3), 5)
