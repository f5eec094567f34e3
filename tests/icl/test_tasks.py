"""Tasks and shifts draw what their papers say."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from glyptic.errors import InputError
from glyptic.icl.experiments.prompt_shifts import SHIFTS, shift_named
from glyptic.icl.experiments.prompts import Prompts, anisotropic, sample
from glyptic.icl.experiments.tasks import (
    TASKS,
    Classification,
    DecisionTree,
    LinearTask,
    Quadratic,
    ReluNet,
    SparseLinear,
    task_named,
)

B, N, D = 4000, 8, 6


def rng():
    return np.random.default_rng(7)


def drawn(task, shift="none", prompts=B, N=N) -> Prompts:
    return sample(task, rng(), prompts, N, shift_named(shift))


@pytest.mark.parametrize(
    ("task", "power"),
    [
        (LinearTask(D), D),
        (SparseLinear(D, 2), 2),
        (Quadratic(D), D),
        (ReluNet(D, 20), D),
        (DecisionTree(D), 1),
        (Classification(D), 1),
    ],
)
def test_power_of_each_task(task, power):
    square = drawn(task).target[:, 0] ** 2
    assert abs(square.mean() - power) <= 5 * square.std() / np.sqrt(B)


def test_linear_tasks_are_linear_and_sparse_ones_sparse():
    basis = np.broadcast_to(np.eye(D), (50, D, D))
    for task, nonzero in ((LinearTask(D), D), (SparseLinear(D, 2), 2)):
        function = task.draw(rng(), 50)
        w = function(basis)
        assert (np.count_nonzero(w, axis=1) == nonzero).all()
        x = rng().standard_normal((50, 3, D))
        assert np.allclose(function(x), np.einsum("bpd,bd->bp", x, w))


def test_quadratic_is_even_and_relu_net_is_positively_homogeneous():
    x = rng().standard_normal((20, 9, D))
    quadratic, net = Quadratic(D).draw(rng(), 20), ReluNet(D).draw(rng(), 20)
    assert np.allclose(quadratic(x), quadratic(-x))
    assert np.allclose(quadratic(2 * x), 4 * quadratic(x))
    assert np.allclose(net(3 * x), 3 * net(x))
    assert not np.allclose(net(-x), -net(x))


def test_tree_is_a_tree_of_signs_to_scikit_learn():
    """CART on all sign patterns represents a tree task exactly, with no more leaves than it has."""
    d, depth = 4, 3
    patterns = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T
    function = DecisionTree(d, depth).draw(rng(), 30)
    y = function(np.broadcast_to(patterns, (30, *patterns.shape)))
    scaled = function(np.broadcast_to(patterns * 17.0, (30, *patterns.shape)))
    assert np.array_equal(y, scaled)
    leaves = [len(np.unique(labels)) for labels in y]
    assert max(leaves) == 2**depth
    for labels in y:
        fitted = DecisionTreeRegressor().fit(patterns, labels)
        assert np.allclose(fitted.predict(patterns), labels)


def test_noise_is_in_the_context_only():
    clean, noisy = drawn(LinearTask(D)), drawn(LinearTask(D, noise_variance=0.25))
    assert np.array_equal(clean.target, noisy.target)
    assert np.array_equal(clean.context_y, clean.target[:, :-1])
    assert abs((noisy.context_y - clean.context_y).std() - 0.5) < 0.01


def test_curriculum_switches_coordinates_off():
    prompts = sample(LinearTask(D), rng(), 10, N, active=2)
    assert not prompts.context_x[:, :, 2:].any()
    assert prompts.context_x[:, :, :2].all()


def test_covariates():
    x = sample(LinearTask(3), rng(), B, N, anisotropic(np.array([4.0, 1.0, 0.25]))).context_x
    assert np.allclose(np.cov(x.reshape(-1, 3).T), np.diag([4, 1, 0.25]), atol=0.1)


def test_quadrants():
    for name, agree in (("random-quadrant", 0.5), ("opposite-quadrant", 0.0)):
        prompts = drawn(LinearTask(D), name)
        signs = np.sign(prompts.context_x)
        assert (signs == signs[:, :1]).all()
        same = np.sign(prompts.query_x[:, 1:]) == signs[:, :1]
        assert abs(same.mean() - agree) < 0.01


@pytest.mark.parametrize(("name", "scales"), [("subspace", [1, 1, 1, 0, 0, 0]), ("skew", 1 / np.arange(1, 7))])
def test_subspace_and_skew_keep_the_power_and_the_spectrum(name, scales):
    x = drawn(LinearTask(D), name, prompts=300, N=200).context_x
    assert abs((x**2).sum(-1).mean() - D) < 0.1
    found = np.sqrt(np.sort(np.linalg.eigvalsh(x.transpose(0, 2, 1) @ x / 200).mean(0).clip(0))[::-1])
    scales = np.array(scales) * np.sqrt(D / np.sum(np.square(scales)))
    assert np.allclose(found, scales, atol=0.12)


def test_orthogonal_and_overlapping_queries():
    prompts = drawn(LinearTask(D), "orthogonal-query", prompts=200)
    for k in range(D):
        inner = np.einsum("bkd,bd->bk", prompts.context_x[:, :k], prompts.query_x[:, k])
        assert np.abs(inner).max(initial=0) < 1e-9
    assert np.isnan(prompts.query_x[:, D:]).all()
    prompts = drawn(LinearTask(D), "overlapping-query", prompts=200)
    assert np.isnan(prompts.query_x[:, 0]).all()
    for k in range(1, N + 1):
        distance = np.abs(prompts.context_x[:, :k] - prompts.query_x[:, None, k]).sum(-1)
        assert (distance.min(axis=1) == 0).all()


def test_scales_and_extra_noise():
    plain = drawn(LinearTask(D))
    assert np.array_equal(drawn(LinearTask(D), "scale-x:2").context_x, 2 * plain.context_x)
    assert np.allclose(drawn(LinearTask(D), "scale-y:0.5").target, 0.5 * plain.target)
    assert abs((drawn(LinearTask(D), "noise:1").context_y - plain.context_y).std() - 1) < 0.02


def test_every_task_meets_every_shift():
    for task in TASKS:
        for shift in SHIFTS.values():
            prompts = sample(task_named(task, 3), rng(), 5, 4, shift)
            assert prompts.target.shape == (5, 5)
            assert np.isfinite(prompts.context_y).all()
            assert prompts.queries_are_inputs == np.array_equal(prompts.query_x[:, :-1], prompts.context_x)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: task_named("cubic", 3), "no task 'cubic'; there are linear, noisy, sparse, relu, tree, quadratic"),
        (lambda: task_named("linear", 0), "d is 0, and must be"),
        (lambda: SparseLinear(3, 4), "4 nonzero weights do not fit d = 3"),
        (lambda: shift_named("rotate"), "no shift 'rotate'; there are none, random-quadrant"),
        (lambda: shift_named("scale-x:big"), "no shift 'scale-x:big'"),
        (lambda: sample(LinearTask(3), rng(), 0, 4), "prompts is 0, and must be"),
        (lambda: sample(LinearTask(3), rng(), 1, 4, anisotropic(np.ones(2))), "has 2 numbers but d = 3"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_saved_runs_know_their_tasks_by_what_they_were_called():
    """It is in the identity of every checkpoint: with another text, a run that was saved would be refused as another's."""
    assert [str(task_named(name, 4)) for name in ("linear", "noisy", "sparse", "quadratic", "classification")] == [
        "Linear(d=4, noise_variance=0.0)",
        "Linear(d=4, noise_variance=0.25)",
        "SparseLinear(d=4, nonzero=1, noise_variance=0.0)",
        "Quadratic(d=4, noise_variance=0.0)",
        "Classification(d=4, noise_variance=0.0)",
    ]
