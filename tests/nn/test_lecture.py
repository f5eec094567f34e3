"""The lectures' numbers and identities; and their slips, shown rather than repeated."""

from __future__ import annotations

import pytest
import torch

from glyptic import nn
from glyptic.nn.parts import lecture, masks
from tests.nn import small

X = torch.randn(6, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


ROW = torch.tensor([-2.8, -0.2, -0.1, -2.6, 7.0], dtype=torch.float64)  # the last score is forbidden, whatever it is
SEEN = torch.tensor([[True, True, True, True, False]])


@pytest.mark.parametrize("additive", [False, True])
@pytest.mark.parametrize("backend", ["reference", "sdpa", "blocked"])
def test_the_worked_row_of_003(backend: str, additive: bool) -> None:
    """A query of 1 and keys that are the scores; the values are unit vectors, so the output is the row of weights."""
    q, k, v = torch.ones(1, 1, 1, 1).double(), ROW.view(1, 1, 5, 1), torch.eye(5).double()[None, None]
    mask = masks.additive(SEEN, torch.float64) if additive else SEEN
    out, _ = nn.attention(q, k, v, mask=mask, scale=1.0, backend=backend)
    row = out.flatten()
    assert [round(w, 2) for w in row.tolist()] == [0.03, 0.44, 0.49, 0.04, 0.0]
    printed = torch.tensor([0.03, 0.45, 0.48, 0.04, 0.0])  # the slide's rounding is off by a hundredth in two places
    assert (row - printed).abs().max() < 0.0101
    assert (row - printed).abs().max() > 0.005
    assert (lecture.additive_mask(q[0, 0], k[0, 0], SEEN)[0] - row).abs().max() < 1e-15


def test_the_sizes_of_004() -> None:
    """d 512 or 768, d_ff = 4d, 8 or 12 heads: Vaswani's base, BERT and GPT-2 have them."""
    for name, sizes in {"vaswani": (512, 2048, 8), "bert": (768, 3072, 12), "gpt2": (768, 3072, 12)}.items():
        config = nn.preset(name)
        assert (config.width, config.hidden_size, config.heads) == sizes
        assert config.hidden_size == 4 * config.width


def test_when_002_s_projection_pays() -> None:
    """NKD + N²K < N²D if K < D/2, says the lecture: so it is for N ≥ D; the exact bound is K < ND/(N + D)."""
    for N, D in ((64, 64), (500, 64), (20, 64)):
        for K in range(1, D + 1):
            pays = lecture.cost("symmetric", N, D, K) < lecture.cost("plain", N, D, K)
            assert pays == (K * (N + D) < N * D)
            if N >= D and 2 * K < D:
                assert pays
    assert lecture.cost("symmetric", 20, 64, 31) > lecture.cost("plain", 20, 64, 31)  # few tokens: it does not


def test_each_stage_by_its_formula() -> None:
    u, u_q, u_k = random(3, 5), random(3, 5, seed=2), random(3, 5, seed=3)
    for n in range(6):
        plain = torch.stack([(X[n] @ X[l]).exp() for l in range(6)])
        one = torch.stack([((u @ X[n]) @ (u @ X[l])).exp() for l in range(6)])
        two = torch.stack([((u_q @ X[n]) @ (u_k @ X[l])).exp() for l in range(6)])
        assert torch.allclose(lecture.plain_weights(X)[n], plain / plain.sum())
        assert torch.allclose(lecture.symmetric_weights(X, u)[n], one / one.sum())
        assert torch.allclose(lecture.query_key_weights(X, u_q, u_k)[n], two / two.sum())


def test_outputs_are_convex_combinations_of_tokens() -> None:
    weights = lecture.query_key_weights(X, random(3, 5), random(3, 5, seed=2))
    assert weights.min() > 0
    assert torch.allclose(weights.sum(-1), torch.ones(6, dtype=torch.float64))
    y = lecture.attend(weights, X)
    assert (y <= X.amax(0)).all()
    assert (y >= X.amin(0)).all()


def test_one_matrix_is_symmetric_two_are_not() -> None:
    """Before normalization: log A_{nm} A_mm … compares scores; one U cannot let n look at m and not m at n."""
    u, other = random(3, 5), random(3, 5, seed=2)
    projected = X @ u.T
    scores = projected @ projected.T
    assert torch.allclose(scores, scores.T)
    scores = (X @ u.T) @ (X @ other.T).T
    assert not torch.allclose(scores, scores.T)
    assert torch.allclose(lecture.symmetric_weights(X, torch.eye(5).double()), lecture.plain_weights(X))
    assert torch.allclose(lecture.query_key_weights(X, u, u), lecture.symmetric_weights(X, u))


def test_the_sum_over_heads_is_the_concatenation() -> None:
    u_q, u_k, u_v = (random(3, 2, 5, seed=s) for s in (1, 2, 3))
    u_p = random(3, 5, 2, seed=4)
    total = lecture.heads_by_sum(X, u_q, u_k, u_v, u_p)
    assert (total - lecture.heads_by_concatenation(X, u_q, u_k, u_v, u_p)).abs().max() < 1e-13


def test_the_models_attention_is_the_sum_over_heads() -> None:
    """The layer that all models use, taken apart into the theory lecture's per-head matrices."""
    model = small.model(kind="encoder", positions="none", attention_scale=1.0, attention_bias=False, layers=1)
    attention = model.stack.blocks[0].attn
    attention.out.bias.data.zero_()
    u_q, u_k, u_v = (w.view(3, 4, 12) for w in attention.qkv.weight.split(12))
    u_p = attention.out.weight.view(12, 3, 4).transpose(0, 1)
    x = random(6, 12)
    from glyptic.nn.parts.multi_head import Context

    assert (attention(x[None], Context())[0] - lecture.heads_by_sum(x, u_q, u_k, u_v, u_p)).abs().max() < 1e-13


def test_the_additive_mask_is_the_causal_attention_of_the_models() -> None:
    q, k = random(6, 4), random(6, 4, seed=2)
    weights = lecture.additive_mask(q, k, masks.causal(6))
    _, ours = nn.attention(
        q[None, None], k[None, None], k[None, None], causal=True, backend="reference", need_weights=True
    )
    assert ours is not None
    assert (weights - ours[0, 0]).abs().max() < 1e-15
    assert weights.triu(1).abs().max() == 0


def test_slip_the_multiplicative_mask_leaks() -> None:
    """The Zaragoza course: softmax(M ∘ QKᵀ). A masked score is 0 and e⁰ = 1, so the future keeps weight; it can even lead."""
    q, k = random(6, 4), random(6, 4, seed=2)
    weights = lecture.multiplicative_mask(q, k, masks.causal(6))
    assert weights.triu(1).sum() > 0.5
    unwilling = lecture.multiplicative_mask(-torch.ones(2, 1), torch.ones(2, 1), masks.causal(2))
    assert unwilling[0, 1] > unwilling[0, 0]  # token 0 looks at the future more than at itself


def test_slip_dividing_by_one_over_the_root_inverts_the_temperature() -> None:
    """The Zaragoza course: QKᵀ / scale with scale = 1/√D multiplies by √D. Scores of unit variance then saturate the softmax."""
    size = 64
    q, k = random(200, size), random(200, size, seed=2)
    right = (q @ k.T * size**-0.5).softmax(-1)
    printed = (q @ k.T / size**-0.5).softmax(-1)
    assert right.amax(-1).mean() < 0.2
    assert printed.amax(-1).mean() > 0.9
    ours, _ = nn.attention(q[None, None], k[None, None], k[None, None], backend="reference")
    assert (ours[0, 0] - right @ k).abs().max() < 1e-12


def test_slip_cross_attention_gives_queries_by_width() -> None:
    """The Zaragoza course prints its output as N×M: softmax(QKᵀ) is N×M, the output N×D."""
    q, k, v = random(1, 1, 7, 4), random(1, 1, 3, 4), random(1, 1, 3, 4)
    out, weights = nn.attention(q, k, v, backend="reference", need_weights=True)
    assert weights is not None
    assert tuple(weights.shape[2:]) == (7, 3)
    assert tuple(out.shape[2:]) == (7, 4)


def test_linear_self_attention_in_the_notes_orientation() -> None:
    """The theory lecture writes f(E) = E + W^PV E (Eᵀ W^KQ E)/N with tokens as columns."""
    E, w_pv, w_kq = X.T, random(5, 5), random(5, 5, seed=2)
    notes = E + w_pv @ E @ (E.T @ w_kq @ E) / 6
    assert (lecture.linear_self_attention(X, w_pv, w_kq) - notes.T).abs().max() < 1e-12
    # merged matrices stand for products: W^KQ = W_Kᵀ W_Q, W^PV = W_P W_V
    w_k, w_q, w_p, w_v = (random(5, 5, seed=s) for s in (3, 4, 5, 6))
    apart = E + w_p @ w_v @ E @ ((w_k @ E).T @ (w_q @ E)) / 4
    assert (lecture.linear_self_attention(X, w_p @ w_v, w_k.T @ w_q, length=4) - apart.T).abs().max() < 1e-11


def test_costs_as_002_counts_them() -> None:
    N, D, K = 50, 32, 8
    assert lecture.cost("plain", N, D, K) == N * N * D
    assert lecture.cost("symmetric", N, D, K) == N * K * D + N * N * K
    assert lecture.cost("query_key", N, D, K) == 2 * N * K * D + N * N * K


@pytest.mark.parametrize("stage", ["plain", "symmetric", "query_key"])
def test_costs_are_what_torch_counts(stage: str) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    x, u = torch.randn(20, 12), torch.randn(3, 12)
    run = {
        "plain": lambda: lecture.plain_weights(x),
        "symmetric": lambda: lecture.symmetric_weights(x, u),
        "query_key": lambda: lecture.query_key_weights(x, u, u + 1),
    }[stage]
    with FlopCounterMode(display=False) as counter:
        run()
    assert counter.get_total_flops() == 2 * lecture.cost(stage, 20, 12, 3)


U = {name: random(2, 3, 5, seed=seed) for seed, name in enumerate(("q", "k", "v"), 11)}
GRADIENTS = {
    "plain": (lecture.plain_weights, [X]),
    "symmetric": (lecture.symmetric_weights, [X, random(3, 5)]),
    "query_key": (lecture.query_key_weights, [X, random(3, 5), random(3, 5, seed=2)]),
    "attend": (lambda x, u: lecture.attend(lecture.symmetric_weights(x, u), x), [X, random(3, 5)]),
    "heads_by_sum": (lecture.heads_by_sum, [X, *U.values(), random(2, 5, 3, seed=9)]),
    "heads_by_concatenation": (lecture.heads_by_concatenation, [X, *U.values(), random(2, 5, 3, seed=9)]),
    "additive_mask": (lambda q, k: lecture.additive_mask(q, k, masks.causal(6)), [X, random(6, 5)]),
    "multiplicative_mask": (lambda q, k: lecture.multiplicative_mask(q, k, masks.causal(6)), [X, random(6, 5)]),
    "linear": (lecture.linear_self_attention, [X, random(5, 5), random(5, 5, seed=2)]),
}


@pytest.mark.parametrize("part", GRADIENTS)
def test_gradients(part: str) -> None:
    function, inputs = GRADIENTS[part]
    assert torch.autograd.gradcheck(function, tuple(x.clone().requires_grad_() for x in inputs))
