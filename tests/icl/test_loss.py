"""The exact loss, gradient and Hessian against quadrature, finite differences and automatic differentiation."""

import numpy as np
import pytest
from tests.icl.theory import quadrature, random_blocks, random_problem

from glyptic.icl.theory.loss import gradient, hessian, loss
from glyptic.icl.theory.lsa import Blocks, predict
from glyptic.icl.theory.quartic import Quartic

CASES = [(1, 1, 0, False), (1, 3, 0.3, True), (2, 2, 0, False), (2, 2, 0.4, True), (3, 1, 0.4, True), (2, 3, 0, True)]


@pytest.mark.parametrize(("d", "N", "noise_variance", "prior"), CASES)
def test_loss_is_the_quadrature(d, N, noise_variance, prior):
    rng = np.random.default_rng(d + 10 * N)
    problem = random_problem(rng, d, N, noise_variance, prior)
    weight, x, y, x_query, w = quadrature(problem)
    for _ in range(3):
        blocks = random_blocks(rng, d)
        error = predict(blocks, x, y, x_query) - np.einsum("bd,bd->b", w, x_query)
        assert loss(problem, blocks) == pytest.approx(0.5 * np.sum(weight * error**2), rel=1e-13, abs=0)


@pytest.mark.parametrize(("d", "noise_variance", "prior"), [(1, 0.0, False), (2, 0.3, True), (5, 0.0, False), (7, 0.2, True)])
def test_gradient_is_the_finite_difference(d, noise_variance, prior):
    rng = np.random.default_rng(d)
    problem, blocks = random_problem(rng, d, 2 * d, noise_variance, prior), random_blocks(rng, d)
    theta, step = blocks.vector(), 1e-2
    exact = gradient(problem, blocks).vector()

    def along(index, multiple):
        moved = theta.copy()
        moved[index] += multiple * step
        return loss(problem, Blocks.from_vector(moved))

    # The five-point rule has no truncation error on a polynomial of degree 4: what is left is rounding.
    found = [
        (8 * (along(i, 1) - along(i, -1)) - (along(i, 2) - along(i, -2))) / (12 * step) for i in range(len(theta))
    ]
    assert np.abs(found - exact).max() <= 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize(("d", "N", "noise_variance", "prior"), [(1, 3, 0.3, True), (2, 2, 0.0, False), (2, 2, 0.4, True)])
def test_gradient_is_automatic_differentiation(d, N, noise_variance, prior):
    """Autograd runs through the model itself, on prompt matrices at quadrature nodes: no formula of ours is in it."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    problem, blocks = random_problem(rng, d, N, noise_variance, prior), random_blocks(rng, d)
    weight, x, y, x_query, w = (torch.tensor(part) for part in quadrature(problem))
    zero = torch.zeros(len(x), 1, dtype=torch.float64)
    tokens = torch.cat([torch.cat([x, y[..., None]], -1), torch.cat([x_query, zero], -1)[:, None]], 1)
    E = tokens.transpose(1, 2)
    W_pv, W_kq = (torch.tensor(matrix, requires_grad=True) for matrix in blocks.matrices())
    output = E + W_pv @ E @ (E.transpose(1, 2) @ W_kq @ E) / N
    value = 0.5 * (weight * (output[:, -1, -1] - (w * x_query).sum(-1)) ** 2).sum()
    value.backward()
    exact = gradient(problem, blocks)
    for ours, theirs in zip(exact.matrices(), (W_pv.grad, W_kq.grad), strict=True):  # zero where nothing is read, too
        assert np.abs(ours - theirs.numpy()).max() <= 1e-12 * np.abs(exact.vector()).max()
    assert value.item() == pytest.approx(loss(problem, blocks), rel=1e-13, abs=0)


def test_hessian_is_the_derivative_of_the_gradient():
    rng = np.random.default_rng(0)
    problem, blocks = random_problem(rng, 3, 5, 0.2, True), random_blocks(rng, 3)
    exact, theta, step = hessian(problem, blocks), blocks.vector(), 1e-2
    for index in range(len(theta)):
        shifted = [theta + m * step * np.eye(len(theta))[index] for m in (1, -1, 2, -2)]
        slopes = [gradient(problem, Blocks.from_vector(moved)).vector() for moved in shifted]
        found = (8 * (slopes[0] - slopes[1]) - (slopes[2] - slopes[3])) / (12 * step)
        assert np.abs(found - exact[index]).max() <= 1e-9 * np.abs(exact).max()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_tensor_form_is_the_same_loss(d):
    rng = np.random.default_rng(d)
    problem = random_problem(rng, d, 4, 0.1, True)
    quartic, theta = Quartic.of(problem), rng.standard_normal((20, (d + 1) ** 2))
    exact = [loss(problem, Blocks.from_vector(row)) for row in theta]
    slopes = np.array([gradient(problem, Blocks.from_vector(row)).vector() for row in theta])
    np.testing.assert_allclose(quartic.loss(theta), exact, rtol=1e-11)
    assert np.abs(quartic.gradient(theta) - slopes).max() <= 1e-11 * np.abs(slopes).max()
    curved = hessian(problem, Blocks.from_vector(theta[0]))
    assert np.abs(quartic.hessian(theta[0]) - curved).max() <= 1e-11 * np.abs(curved).max()


def test_loss_does_not_see_the_scale_symmetry():
    rng = np.random.default_rng(5)
    problem, blocks = random_problem(rng, 4, 6), random_blocks(rng, 4)
    scaled = Blocks(3 * blocks.p1, 3 * blocks.p2, blocks.K / 3, blocks.k / 3)
    assert loss(problem, scaled) == pytest.approx(loss(problem, blocks), rel=1e-12, abs=0)
