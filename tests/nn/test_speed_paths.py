"""Short cuts that make things fast must change nothing but the time."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from glyptic import nn
from glyptic.nn.parts.attention import attention
from glyptic.nn.speed import linear as linear_file
from glyptic.nn.speed.linear import linear

HALVES = [torch.bfloat16, torch.float16]
CONFIG = nn.ModelConfig(kind="decoder", layers=2, width=16, heads=2, vocabulary=11, context=12)


@pytest.fixture(params=[True, False], ids=["emulated", "native"])
def emulated(request: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Both kinds of CPU, whichever this one is."""
    monkeypatch.setattr(linear_file, "is_widened", lambda dtype: request.param and dtype in HALVES)
    return request.param


@pytest.mark.parametrize("dtype", HALVES)
def test_half_products_are_float32_products_rounded_once(dtype: torch.dtype, emulated: bool) -> None:
    x, weight, bias = (torch.randn(shape).to(dtype) for shape in ((3, 5, 64), (32, 64), (32,)))
    got = linear(x, weight, bias)
    assert got.dtype == dtype
    exact = F.linear(x.double(), weight.double(), bias.double())
    unit = torch.finfo(dtype).eps * exact.abs().clamp_min(1.0)
    assert ((got.double() - exact).abs() <= (0.5 + 1e-3 if emulated else 1.0) * unit).all()


def test_half_gradients_have_their_dtype_and_value(emulated: bool) -> None:
    x, weight = torch.randn(4, 8).bfloat16().requires_grad_(), torch.randn(6, 8).bfloat16().requires_grad_()
    linear(x, weight).float().sum().backward()
    assert x.grad is not None
    assert weight.grad is not None
    assert x.grad.dtype == weight.grad.dtype == torch.bfloat16
    assert torch.allclose(x.grad.float(), weight.float().sum(0).expand(4, 8), rtol=1e-2, atol=1e-2)
    assert torch.allclose(weight.grad.float(), x.float().sum(0).expand(6, 8), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("backend", ["sdpa", "blocked"])
@pytest.mark.parametrize("masked", [False, True])
def test_half_attention_agrees_with_float64(backend: str, masked: bool, emulated: bool) -> None:
    q, k, v = torch.randn(3, 2, 2, 9, 8).bfloat16().unbind()
    mask = torch.randn(2, 9, 9).bfloat16() if masked else None
    got, _ = attention(q, k, v, mask=mask, causal=True, backend=backend)
    wide = None if mask is None else mask.double()
    exact, _ = attention(q.double(), k.double(), v.double(), mask=wide, causal=True, backend="reference")
    assert got.dtype == torch.bfloat16
    assert torch.allclose(got.double(), exact, atol=0.05)


def test_emulated_half_is_closer_than_half_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounding once after float32 products, not after each of them."""
    monkeypatch.setattr(linear_file, "is_widened", lambda dtype: dtype in HALVES)
    model = nn.build(CONFIG, seed=0).eval()
    half = nn.build(CONFIG, seed=0).bfloat16().eval()
    tokens = torch.arange(8)[None]
    with torch.no_grad():
        assert torch.allclose(half(tokens).float(), model(tokens), atol=0.05)


@pytest.mark.parametrize("feed_forward", ["relu", "gelu"])
def test_activations_in_place_are_seen_by_nobody(feed_forward: str) -> None:
    model = nn.build(CONFIG.replace(feed_forward=feed_forward), seed=0).eval()
    tokens = torch.arange(8)[None]
    expected = model(tokens)  # with gradients nothing is overwritten
    with torch.no_grad():
        assert torch.equal(model(tokens), expected)
        found = nn.record(model, tokens, names=["blocks.0.mlp.hook_pre", "blocks.0.mlp.hook_post"])
    pre, post = (found.activations[f"blocks.0.mlp.hook_{place}"] for place in ("pre", "post"))
    assert bool((pre < -0.01).any())  # the recorded value is the one before the activation
    assert torch.allclose(post, F.relu(pre) if feed_forward == "relu" else F.gelu(pre))


def test_a_bias_of_each_head_reaches_the_fused_kernel() -> None:
    """[H, T, S] is taken as [1, H, T, S]: torch would otherwise use its slow path, with the same result."""
    q, k, v = torch.randn(3, 2, 3, 5, 4).unbind()
    bias = torch.randn(3, 5, 5)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        got, _ = attention(q, k, v, mask=bias)
    names = {event.key for event in profile.key_averages()}
    assert "aten::_scaled_dot_product_flash_attention_for_cpu" in names
    assert torch.allclose(got, attention(q, k, v, mask=bias, backend="reference")[0], atol=1e-6)


def test_importing_glyptic_does_not_import_torch() -> None:
    code = "import glyptic, glyptic.exact, sys; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def wide() -> Any:
    """Wide enough that its feed-forward is packed: 256 × 1024."""
    config = nn.ModelConfig(kind="decoder", layers=2, width=256, heads=4, vocabulary=50, context=40)
    return nn.build(config, seed=0).eval()


@torch.inference_mode()
def test_steps_of_few_rows_through_packed_matrices_are_the_same() -> None:
    model, tokens = wide(), torch.randint(50, (8, 20), generator=torch.Generator().manual_seed(0))
    session, expected = nn.Session(model, 8, 20, packed=True), model(tokens)
    kinds = {type(module) for module in session.model.modules()}
    assert linear_file.PackedLinear in kinds
    assert linear_file.PackedLinear not in {type(module) for module in model.modules()}
    assert {p.data_ptr() for p in session.model.parameters()} == {p.data_ptr() for p in model.parameters()}
    assert (session.feed(tokens[:, :9]) - expected[:, 8]).abs().max() < 1e-5
    for t in range(9, 20):
        assert (session.feed(tokens[:, t : t + 1]) - expected[:, t]).abs().max() < 1e-5


def test_generation_packs_when_it_pays_and_says_the_same_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    model, prompt = wide(), [[1, 2, 3]] * 2 + [[4, 5]] * 2
    assert linear_file.packing_pays(model, 4, 20)
    for rows, steps in ((1, 20), (4, 2), (400, 20)):
        assert not linear_file.packing_pays(model, rows, steps)
    assert not linear_file.packing_pays(wide().double(), 4, 20)
    packed = nn.generate(model, prompt, max_new_tokens=20)
    monkeypatch.setattr(linear_file, "packing_pays", lambda *_: False)
    assert torch.equal(nn.generate(model, prompt, max_new_tokens=20), packed)


@torch.inference_mode()
def test_hooks_reach_a_packed_session() -> None:
    model, tokens = wide(), torch.ones(4, 1, dtype=torch.long)
    session = nn.Session(model, 4, 8, packed=True)
    with nn.edited(model, {"blocks.1.hook_resid_post": nn.ablate()}):
        assert (session.feed(tokens) - model(tokens)[:, -1]).abs().max() < 1e-6
    assert session.feed(tokens).abs().max() > 0
