"""The modules that are trained compute what the theory's formulas say."""

import numpy as np
import pytest
import torch

from glyptic.errors import InputError
from glyptic.icl.experiments.learners import DeepLinearAttention, LinearAttention, SoftmaxAttention, parameter_count
from glyptic.icl.experiments.prompts import sample
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.experiments.training import PromptPlan, answers, train
from glyptic.icl.theory.depth import preconditioned_gd
from glyptic.icl.theory.lsa import Blocks, linear_attention, predict, prompt
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem

D, N = 4, 7


@pytest.fixture
def prompts():
    return sample(LinearTask(D, noise_variance=0.09), np.random.default_rng(1), 50, N)


def random_blocks():
    rng = np.random.default_rng(2)
    return Blocks(rng.standard_normal(D), 0.7, rng.standard_normal((D, D)), rng.standard_normal(D))


def test_linear_attention_is_the_theorys(prompts):
    blocks = random_blocks()
    answer = answers(LinearAttention(blocks), prompts, [2, N])
    for column, k in enumerate((2, N)):
        x, y, query = prompts.context_x[:, :k], prompts.context_y[:, :k], prompts.query_x[:, k]
        assert np.allclose(answer[:, column], predict(blocks, x, y, query), rtol=1e-12)
        whole = linear_attention(prompt(x, y, query), *blocks.matrices())[:, -1, -1]
        assert np.allclose(answer[:, column], whole, rtol=1e-10)


def test_blocks_go_in_and_come_out():
    blocks = random_blocks()
    assert np.array_equal(LinearAttention(blocks).blocks().vector(), blocks.vector())
    assert parameter_count(LinearAttention(blocks)) == (D + 1) ** 2


def test_softmax_attention_against_the_matrix_formula(prompts):
    """f(E) = E + Σ_h W_h^PV E softmax(Eᵀ W_h^KQ E), all of it, read at the bottom right."""
    learner = SoftmaxAttention(D, heads=2)
    query_key, value = learner.query_key.detach().numpy(), learner.value.detach().numpy()
    E = prompt(prompts.context_x, prompts.context_y, prompts.query_x[:, -1])
    total = E.copy()
    for head in range(2):
        W_pv = np.zeros((D + 1, D + 1))
        W_pv[-1] = value[head]
        scores = np.swapaxes(E, 1, 2) @ query_key[head] @ E
        weights = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        total += W_pv @ E @ weights
    assert np.allclose(answers(learner, prompts, [N])[:, 0], total[:, -1, -1], rtol=1e-10)


def test_two_opposite_softmax_heads_contain_linear_attention(prompts):
    """softmax(εs) − softmax(−εs) = 2ε(s − mean s)/n + O(ε³): with ⟨y⟩ removed it is linear attention with ρ = N + 1."""
    scale = 1e-5
    learner = SoftmaxAttention(D, heads=2)
    with torch.no_grad():
        learner.query_key.zero_()
        learner.query_key[:, :D, :D] = torch.tensor([scale, -scale]).double()[:, None, None] * torch.eye(D)
        learner.value[:, -1] = torch.tensor([1.0, -1.0]) / (2 * scale)
    x, y, query = prompts.context_x, prompts.context_y, prompts.query_x[:, -1]
    scores = np.einsum("bnd,bd->bn", x, query)
    mean = (scores.sum(1) + (query**2).sum(1)) / (N + 1)
    expected = ((scores - mean[:, None]) * y).sum(1) / (N + 1)
    assert np.allclose(answers(learner, prompts, [N])[:, 0], expected, atol=1e-5)


def test_one_softmax_head_is_worse_than_linear_attention_and_two_match_it():
    problem = Problem.isotropic(3, 12)
    test = sample(LinearTask(3), np.random.default_rng(0), 20_000, 12)
    ratios = []
    for heads in (1, 2):
        learner = SoftmaxAttention(3, heads, start=0.1)
        train(learner, LinearTask(3), PromptPlan(steps=500, N=12, rate=0.05, batch=128), progress=False)
        error = (answers(learner, test, [12])[:, 0] - test.target[:, 12]) ** 2
        ratios.append(error.mean() / (2 * minimum_loss(problem)))
    assert ratios[0] > 1.6
    assert ratios[1] < 1.15


def test_deep_linear_attention_is_preconditioned_gradient_descent(prompts):
    for layers in (1, 2, 5):
        sparse, full = DeepLinearAttention(D, layers, sparse=True), DeepLinearAttention(D, layers, sparse=False)
        preconditioners = 0.1 * torch.randn(layers, D, D, generator=torch.Generator().manual_seed(layers)).double()
        preconditioners = preconditioners + preconditioners.mT
        with torch.no_grad():
            sparse.preconditioners.copy_(preconditioners)
            full.query_key[:, :D, :D] = preconditioners
        expected = preconditioned_gd(
            prompts.context_x, prompts.context_y, prompts.query_x[:, -1], list(preconditioners.numpy())
        )
        assert np.allclose(answers(sparse, prompts, [N])[:, 0], expected, rtol=1e-10, atol=1e-12)
        assert np.allclose(answers(full, prompts, [N])[:, 0], expected, rtol=1e-10, atol=1e-12)


def test_every_query_is_each_query_alone(prompts):
    for learner in (LinearAttention(random_blocks()), SoftmaxAttention(D), DeepLinearAttention(D, 2)):
        tensors = [torch.from_numpy(a) for a in (prompts.context_x, prompts.context_y, prompts.query_x)]
        with torch.no_grad():
            together = learner.every_query(tensors[0], tensors[1], tensors[2][:, -1])
            alone = [learner(tensors[0][:, :k], tensors[1][:, :k], tensors[2][:, k]) for k in range(N + 1)]
        assert torch.equal(together, torch.stack(alone, dim=1))
        assert torch.isfinite(together).all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: SoftmaxAttention(3, heads=3), "1 head or 2 of opposite sign here, not 3"),
        (lambda: DeepLinearAttention(3, layers=0), "layers is 0, and must be"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
