"""Several heads: the convex quadratic against the loss of one head and against sampled prompts; what more heads do to minima."""

import numpy as np
import pytest
from tests.icl.theory import quadrature, random_problem

from glyptic.icl.theory.heads import ConvexLoss, head_flows
from glyptic.icl.theory.landscape import basins, critical_points
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.lsa import Blocks, predict
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem, ProblemError


def product(theta, d):
    return np.outer(theta[: d + 1], theta[d + 1 :])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_head_has_the_loss_that_is_known(d):
    rng = np.random.default_rng(d)
    problem = random_problem(rng, d, 5, 0.3, prior=True)
    convex = ConvexLoss.of(problem)
    for _ in range(5):
        theta = rng.standard_normal((d + 1) ** 2)
        assert convex.value(product(theta, d)) == pytest.approx(loss(problem, Blocks.from_vector(theta)), rel=1e-11, abs=0)


@pytest.mark.parametrize(("d", "N"), [(1, 3), (2, 2)])
def test_two_heads_by_quadrature_over_whole_prompts(d, N):
    """The answers of two heads add; the grid over x, y and x_q integrates the squared error exactly."""
    rng = np.random.default_rng(7)
    problem = random_problem(rng, d, N, prior=True)
    one, two = rng.standard_normal((2, (d + 1) ** 2))
    weight, x, y, x_query, w = quadrature(problem)
    answer = sum(predict(Blocks.from_vector(theta), x, y, x_query) for theta in (one, two))
    exact = weight @ (answer - np.einsum("bd,bd->b", w, x_query)) ** 2 / 2
    assert ConvexLoss.of(problem).value(product(one, d) + product(two, d)) == pytest.approx(exact, rel=1e-10, abs=0)


def test_it_is_convex_and_no_number_of_heads_goes_below_the_minimum_of_one():
    for seed in range(4):
        problem = random_problem(np.random.default_rng(seed), 2, 6, 0.1 * seed, prior=True)
        convex = ConvexLoss.of(problem)
        eigenvalues = np.linalg.eigvalsh(convex.matrix)
        assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
        best = np.linalg.lstsq(convex.matrix, convex.signal.ravel(), rcond=None)[0].reshape(convex.signal.shape)
        assert convex.value(best) == pytest.approx(minimum_loss(problem), rel=1e-9, abs=0)


def test_a_second_head_at_zero_makes_a_saddle_of_every_spurious_minimum():
    """The gradient by B is not zero there, and the loss falls along its first singular pair, put into the second head."""
    for eigenvalues, N in (([1.0, 0.5], 10), ([1.0, 0.9], 10), ([1.0, 1.0, 1.0], 20)):
        problem = Problem(eigenvalues, N)
        convex, d = ConvexLoss.of(problem), problem.d
        spurious = [point for point in critical_points(problem, tries=5) if point.kind == "spurious minimum"]
        assert spurious
        for point in spurious:
            B = product(point.blocks.vector(), d)
            left, strengths, right = np.linalg.svd(convex.slope(B))
            assert strengths[0] > 1e-3
            step = -1e-4 * np.outer(left[:, 0], right[0])
            assert convex.value(B + step) < convex.value(B) - 0.5e-4 * strengths[0]


def test_one_head_is_lost_where_two_are_not():
    problem = Problem([1.0, 0.5], 10)
    one, two = (head_flows(problem, heads, starts=40) for heads in (1, 2))
    assert one.share > 0.25
    assert abs(one.share - basins(problem, starts=40).share("spurious minimum")) < 0.25
    assert two.share == 0.0
    assert min(two.losses) > two.minimum * (1 - 1e-9)


@pytest.mark.slow
def test_two_heads_can_be_lost_in_three_dimensions_and_four_cannot():
    problem = Problem([1.0, 0.5, 0.25], 10)
    assert 0 < head_flows(problem, 2, starts=50).share < 0.3
    assert head_flows(problem, 4, starts=20).share == 0.0


def test_large_dimensions_are_refused():
    with pytest.raises(ProblemError, match="take d ≤ 4"):
        ConvexLoss.of(Problem(np.ones(5), 5))
