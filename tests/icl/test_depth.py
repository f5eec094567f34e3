"""L sparse layers against L steps of preconditioned gradient descent; where that ends; what depth cannot cure."""

import numpy as np
import pytest

from glyptic.icl.theory.depth import preconditioned_gd, sparse_lsa
from glyptic.icl.theory.lsa import Blocks, linear_attention, prompt
from glyptic.icl.theory.problem import ProblemError


def prompts(rng, batch, n, d, scale=1.0):
    x, x_query, w = rng.standard_normal((batch, n, d)), rng.standard_normal((batch, d)), rng.standard_normal((batch, d))
    x, x_query = scale * x, scale * x_query
    return x, np.einsum("bnd,bd->bn", x, w), x_query, np.einsum("bd,bd->b", w, x_query)


@pytest.mark.parametrize(("layers", "d", "n"), [(1, 1, 1), (2, 3, 5), (4, 5, 8), (8, 4, 20)])
def test_layers_are_steps(layers, d, n):
    rng = np.random.default_rng(layers)
    x, y, x_query, _ = prompts(rng, 50, n, d)
    A = [0.1 * (B @ B.T) for B in rng.standard_normal((layers, d, d))]
    ours, theirs = sparse_lsa(x, y, x_query, A), preconditioned_gd(x, y, x_query, A)
    assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max()


def test_gradient_descent_is_written_out():
    """Against autograd's gradient of the least-squares loss, not our own formula for it."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    x, y, x_query, _ = (part[0] for part in prompts(rng, 1, 6, 3))
    A = [np.diag([0.3, 0.2, 0.1]), 0.2 * np.eye(3)]
    w = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    for step in A:
        loss = ((torch.tensor(x) @ w - torch.tensor(y)) ** 2).sum() / (2 * len(y))
        (slope,) = torch.autograd.grad(loss, w)
        w = (w - torch.tensor(step) @ slope).detach().requires_grad_()
    assert preconditioned_gd(x, y, x_query, A) == pytest.approx(float(w.detach() @ torch.tensor(x_query)), rel=1e-13, abs=0)


def test_the_query_must_not_be_attended_to():
    """In the layer exactly as written for one layer, the second layer reads the query's own label: no longer GD."""
    rng = np.random.default_rng(1)
    x, y, x_query, _ = prompts(rng, 20, 6, 3)
    A = [0.3 * np.eye(3)] * 2
    E = prompt(x, y, x_query)
    for step in A:
        E = linear_attention(E, *Blocks(np.zeros(3), 1.0, -step, np.zeros(3)).matrices())
    theirs = preconditioned_gd(x, y, x_query, A)
    assert np.abs(-E[..., -1, -1] - theirs).max() > 1e-2
    assert np.abs(sparse_lsa(x, y, x_query, A) - theirs).max() < 1e-13


def test_depth_learns_more_but_does_not_cure_scale():
    """Deeper is better on the inputs it was tuned for; twice as large inputs break every depth, the deep ones worst."""
    d, n = 3, 30

    def risk(layers, scale):
        x, y, x_query, target = prompts(np.random.default_rng(3), 4000, n, d, scale)
        answer = sparse_lsa(x, y, x_query, [0.8 * np.eye(d)] * layers)
        return np.mean((answer - target) ** 2) / np.mean(target**2)

    same, doubled = ([risk(layers, scale) for layers in (1, 2, 4)] for scale in (1.0, 2.0))
    assert same[0] > same[1] > same[2]
    assert all(value > 1 for value in doubled)
    assert doubled[2] > doubled[0]


def test_refusals():
    with pytest.raises(ProblemError, match="no preconditioner"):
        sparse_lsa(np.eye(2), [1.0, 2.0], [1.0, 1.0], [])
    with pytest.raises(ProblemError, match="dimension 3, but 2"):
        sparse_lsa(np.eye(2), [1.0, 2.0], [1.0, 1.0], [np.eye(3)])
