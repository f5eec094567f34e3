"""One attention function: three backends with one result, masks, groups, gradients, and the rule about maps."""

from __future__ import annotations

import math

import pytest
import torch

from glyptic import nn
from glyptic.errors import InputError, ModelError
from glyptic.nn.parts import masks

BACKENDS = ("reference", "sdpa", "blocked")


def by_hand(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor, scale: float) -> torch.Tensor:
    """Loops over everything, from the formula."""
    B, H, T, _ = q.shape
    G, S = k.shape[1], k.shape[2]
    out = torch.zeros(B, H, T, v.shape[-1], dtype=q.dtype)
    for b in range(B):
        for h in range(H):
            g = h // (H // G)
            for i in range(T):
                seen = [j for j in range(S) if allowed[b, i, j]]
                scores = [math.exp(scale * float(q[b, h, i] @ k[b, g, j])) for j in seen]
                for j, score in zip(seen, scores, strict=True):
                    out[b, h, i] += score / sum(scores) * v[b, g, j]
    return out


def inputs(T: int, S: int, H: int = 4, G: int = 4, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((2, H, T, 6), (2, G, S, 6), (2, G, S, 6))
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(("T", "S"), [(5, 5), (3, 7), (1, 6)])
def test_the_definition(backend: str, groups: int, causal: bool, padded: bool, T: int, S: int) -> None:
    q, k, v = inputs(T, S, G=groups)
    allowed = torch.ones(2, T, S, dtype=torch.bool)
    if causal:
        allowed &= masks.causal(T, S)
    mask = None
    if padded:
        mask = torch.ones(2, 1, 1, S, dtype=torch.bool)
        mask[0, ..., :2] = False
        allowed &= mask[:, 0]
    out, _ = nn.attention(q, k, v, mask=mask, causal=causal, backend=backend, scale=0.4)
    assert (out - by_hand(q, k, v, allowed, 0.4)).abs().max() < 1e-14
    if mask is not None:  # the additive form of the same mask
        additive, _ = nn.attention(
            q, k, v, mask=masks.additive(mask, q.dtype), causal=causal, backend=backend, scale=0.4
        )
        assert (out - additive).abs().max() < 1e-14


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_gradients(backend: str, causal: bool, padded: bool) -> None:
    q, k, v = (t.requires_grad_() for t in inputs(4, 4, H=2, G=1))
    mask = torch.tensor([[True, True, False, True], [False, True, True, True]])[:, None, None] if padded else None

    def run(*qkv: torch.Tensor) -> torch.Tensor:
        return nn.attention(*qkv, mask=mask, causal=causal, backend=backend)[0]

    assert torch.autograd.gradcheck(run, (q, k, v))


@pytest.mark.parametrize("length", [63, 64, 65, 130])
@pytest.mark.parametrize("padded", [False, True])
def test_blocked_gradients_equal_the_reference_over_several_blocks(length: int, padded: bool) -> None:
    mask = None
    if padded:
        mask = torch.rand(2, 1, 1, length, generator=torch.Generator().manual_seed(1)) > 0.2
    found = {}
    for backend in ("reference", "blocked"):
        leaves = [t.requires_grad_() for t in inputs(length, length, H=2, G=2)]
        out, _ = nn.attention(*leaves, mask=mask, causal=True, backend=backend)
        found[backend] = [out, *torch.autograd.grad(out.sin().sum(), leaves)]
    for a, b in zip(*found.values(), strict=True):
        assert (a - b).abs().max() < 1e-13


@pytest.mark.parametrize("additive", [False, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_query_that_sees_nothing_gets_zeros_and_no_gradient(backend: str, additive: bool) -> None:
    q, k, v = (t.requires_grad_() for t in inputs(3, 3))
    mask = torch.tensor([[True, True, True], [False, False, False], [True, False, True]])
    mask = masks.additive(mask, q.dtype) if additive else mask
    out, _ = nn.attention(q, k, v, mask=mask, backend=backend)
    assert out[:, :, 1].abs().max() == 0
    gradients = torch.autograd.grad(out.square().sum(), (q, k, v))
    assert not any(g.isnan().any() for g in gradients)
    assert gradients[0][:, :, 1].abs().max() == 0


def test_maps_come_from_the_reference_and_no_backend_is_switched() -> None:
    q, k, v = inputs(4, 4)
    out, weights = nn.attention(q, k, v, causal=True, backend="reference", need_weights=True)
    assert weights is not None
    assert torch.allclose(weights.sum(-1), torch.ones(()).double())
    assert (weights @ v - out).abs().max() < 1e-15
    assert weights.triu(1).abs().max() == 0
    for backend in ("sdpa", "blocked"):
        with pytest.raises(ModelError, match=f"backend='{backend}' never holds attention weights"):
            nn.attention(q, k, v, backend=backend, need_weights=True)


def test_refusals_name_field_and_value() -> None:
    q, k, v = inputs(4, 4)
    with pytest.raises(ModelError, match="backend='flash'"):
        nn.attention(q, k, v, backend="flash")
    with pytest.raises(ModelError, match=r"dropout=0\.1"):
        nn.attention(q, k, v, backend="blocked", dropout=0.1)
    with pytest.raises(ModelError, match="learned bias"):
        nn.attention(q, k, v, backend="blocked", mask=torch.zeros(4, 4, dtype=torch.float64, requires_grad=True))
    for backend in BACKENDS:
        with pytest.raises(InputError, match="4 query heads cannot share 3"):
            nn.attention(q, k[:, :3], v[:, :3], backend=backend)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_backends_agree_in_low_precision(dtype: torch.dtype) -> None:
    exact = inputs(80, 80)
    expected, _ = nn.attention(*exact, causal=True, backend="reference")
    for backend in BACKENDS:
        out, _ = nn.attention(*(t.to(dtype) for t in exact), causal=True, backend=backend)
        assert out.dtype == dtype
        assert (out.double() - expected).abs().max() < 8 * torch.finfo(dtype).eps


def test_sliding_window_mask() -> None:
    seen = masks.visible(torch.arange(3, 6), torch.arange(6), causal=True, window=2)
    assert seen.int().tolist() == [[0, 0, 1, 1, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 1, 1]]
    both = masks.visible(torch.arange(3), torch.arange(3), causal=False, window=2)
    assert both.int().tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]


def test_a_negative_factor_on_scores_is_the_same_in_every_backend() -> None:
    """torch's kernel takes the root of the factor: NaN without a word."""
    q, k, v = torch.randn(3, 2, 3, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).unbind()
    expected, _ = nn.attention(q, k, v, causal=True, scale=-0.7, backend="reference")
    for backend in ("sdpa", "blocked"):
        found, _ = nn.attention(q, k, v, causal=True, scale=-0.7, backend=backend)
        assert (found - expected).abs().max() < 1e-12


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("window", [1, 5, 64, 100, 1000])
@pytest.mark.parametrize(("T", "S"), [(7, 7), (150, 150), (70, 200)])
@pytest.mark.parametrize("masked", [False, True])
def test_a_window_equals_its_mask_in_every_backend_and_in_the_gradient(
    causal: bool, window: int, T: int, S: int, masked: bool
) -> None:
    seen = masks.visible(torch.arange(S - T, S), torch.arange(S), causal=causal, window=window)
    more = torch.rand(2, 1, T, S, generator=torch.Generator().manual_seed(3)) > 0.3 if masked else None
    results = []
    for backend in (None, *BACKENDS):
        q, k, v = (tensor.requires_grad_() for tensor in inputs(T, S))
        if backend is None:
            out, _ = nn.attention(q, k, v, mask=seen if more is None else seen & more, backend="reference")
        else:
            out, _ = nn.attention(q, k, v, mask=more, causal=causal, window=window, backend=backend)
        out.square().sum().backward()
        results.append([out, q.grad, k.grad, v.grad])
    for found in results[1:]:
        assert all((a - b).abs().max() < 1e-10 for a, b in zip(found, results[0], strict=True))


def test_blocked_multiplies_only_what_a_window_shows() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    config = nn.ModelConfig(kind="decoder", layers=1, width=8, heads=2, vocabulary=9, context=640, backend="blocked")
    flops = {}
    for window in (None, 20):
        config = config.replace(sliding_window=window)
        model = nn.build(config, seed=0)
        with FlopCounterMode(display=False) as counter:
            model(torch.zeros(1, 640, dtype=torch.long)).sum().backward()
        flops[window] = sum(value for name, value in counter.get_flop_counts()["Global"].items() if "bmm" in str(name))
        reckoned = next(part for part in nn.cost(config, length=640).parts if part.kind == "attention")
        assert flops[window] == 2 * reckoned.flops  # of the backward pass torch counts two products of four: not those in place
    assert flops[20] < 0.3 * flops[None]


@pytest.mark.parametrize("positions", ["rotary", "alibi", "learned"])
@pytest.mark.parametrize("kind", ["decoder", "encoder"])
def test_a_windowed_model_computes_the_same_in_every_backend(kind: str, positions: str) -> None:
    fields = {"kind": kind, "layers": 2, "width": 8, "heads": 2, "vocabulary": 9, "context": 150, "sliding_window": 30}
    model = nn.build(nn.ModelConfig(**fields, positions=positions), seed=0).double().eval()
    tokens = torch.randint(0, 9, (2, 150), generator=torch.Generator().manual_seed(0))
    real = torch.arange(150) >= torch.tensor([[20], [0]])
    for mask in (None, real):
        expected = nn.with_backend(model, "reference")(tokens, padding_mask=mask)
        for backend in ("sdpa", "blocked"):
            error = (nn.with_backend(model, backend)(tokens, padding_mask=mask) - expected).abs()
            assert (error if mask is None else error[mask]).max() < 1e-12


def test_more_queries_than_keys_are_not_the_last_of_them() -> None:
    q, k, v = inputs(5, 3)
    for how in ({"causal": True}, {"window": 2}):
        with pytest.raises(InputError, match="5 queries cannot be the last of 3 keys"):
            nn.attention(q, k, v, **how)
