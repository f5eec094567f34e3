"""torch.compile takes every kind of model as one graph, and the compiled decoding step says what the eager one says.

The grid goes through `aot_eager` (all of tracing and autograd, no code generation: fast); some small models go through the
whole of inductor, one of them in the fast tests.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glyptic import nn
from glyptic.errors import InputError, ModelError
from glyptic.nn.config import POSITIONS

SMALL: dict[str, Any] = {"layers": 1, "width": 16, "heads": 2, "vocabulary": 11, "context": 12}
MODELS: dict[str, nn.ModelConfig] = {
    **{
        f"decoder, {positions}": nn.ModelConfig(
            kind="decoder", **SMALL, positions=positions, backend="reference" if positions == "shaw" else "sdpa"
        )
        for positions in POSITIONS
    },
    "blocked": nn.ModelConfig(kind="decoder", **SMALL, backend="blocked"),
    "windowed": nn.ModelConfig(kind="decoder", **SMALL, sliding_window=3, feed_forward="swiglu", norm="rms"),
    "grouped": nn.ModelConfig(kind="decoder", **SMALL, key_value_heads=1, positions="rotary"),
    "gpt_neox": nn.preset("gpt_neox", **SMALL, rotary_fraction=0.5),
    **{
        f"norm, {norm}": nn.ModelConfig(kind="encoder" if norm == "batch" else "decoder", **SMALL, norm=norm)
        for norm in ("group", "batch", "rms_outside")
    },
    "bert": nn.preset("bert", **SMALL),
    "t5": nn.preset("t5", **SMALL, head_width=8, feed_forward_width=24),
    "vaswani": nn.preset("vaswani", **SMALL, feed_forward_width=24, dropout=0.0),
    "vit": nn.preset("vit", layers=1, width=16, heads=2, image_size=8, patch_size=4, classes=3),
    "qwen3": nn.preset("qwen3", **SMALL, key_value_heads=1, head_width=8, feed_forward_width=24),
    "gemma": nn.preset("gemma", **SMALL, head_width=8, feed_forward_width=24),
    "opt": nn.preset("opt", **SMALL, feed_forward_width=24, embedding_width=6),
    "deit": nn.preset("deit", layers=1, width=16, heads=2, image_size=8, patch_size=4, classes=3),
}


QUICK = ("decoder, rotary", "decoder, transformer_xl", "blocked", "windowed", "t5", "vit")
GRID = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MODELS]


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Any:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def inputs_of(config: nn.ModelConfig, batch: int = 2, length: int = 7) -> tuple[torch.Tensor, ...]:
    if config.kind == "vit":
        return (torch.randn(batch, config.channels, config.image_size, config.image_size),)
    tokens = torch.randint(config.vocabulary or 2, (batch, length), generator=torch.Generator().manual_seed(0))
    return (tokens, tokens[:, :5]) if config.kind == "encoder_decoder" else (tokens,)


@pytest.mark.parametrize("name", GRID)
def test_one_graph_forward_and_backward(name: str) -> None:
    model = nn.build(MODELS[name], seed=0)
    inputs = inputs_of(model.config)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    weights = list(model.parameters())
    expected = model(*inputs)
    theirs = torch.autograd.grad(expected.square().sum(), weights, allow_unused=True)
    got = compiled(*inputs)
    ours = torch.autograd.grad(got.square().sum(), weights, allow_unused=True)
    assert torch.allclose(got, expected, atol=1e-5)
    assert all(
        (a is None and b is None) or torch.allclose(a, b, atol=1e-4, rtol=1e-4)
        for a, b in zip(ours, theirs, strict=True)
    )


def test_a_padded_batch_is_one_graph() -> None:
    model = nn.build(MODELS["bert"], seed=0).eval()
    tokens = inputs_of(model.config)[0]
    mask = torch.ones_like(tokens, dtype=torch.bool)
    mask[0, 5:] = False
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(tokens, padding_mask=mask), model(tokens, padding_mask=mask), atol=1e-5)


@pytest.mark.parametrize("name", ["decoder, learned", "windowed"])
def test_a_step_with_the_fixed_cache_is_one_graph(name: str) -> None:
    """One compiled graph serves all steps, and continues what an eager prefill has begun."""
    model = nn.build(MODELS[name], seed=0).eval()
    tokens = inputs_of(model.config)[0]
    expected = model(tokens)
    cache = model.new_cache(batch=2, capacity=12, kind="fixed")
    step = torch.compile(lambda t: model(t, cache=cache), fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        got = [model(tokens[:, :3], cache=cache)] + [step(tokens[:, i : i + 1]) for i in range(3, 7)]
    assert torch.allclose(torch.cat(got, dim=1), expected, atol=1e-5)


@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_compiled_sessions_generate_what_eager_generates(count: int) -> None:
    """Through inductor and g++: prompt, steps, a second text, two sessions side by side, and the end of the cache."""
    models = [nn.build(MODELS["decoder, learned"], seed=seed).eval() for seed in range(count)]
    sessions = [nn.CompiledSession(model, batch=1, capacity=8) for model in models]
    for prompt in ([[1, 2, 3]], [[7]]):
        for model, session in zip(models, sessions, strict=True):
            session.reset()
            new = 8 - len(prompt[0])
            compiled = nn.generate(model, prompt, max_new_tokens=new, session=session)
            assert compiled.tolist() == nn.generate(model, prompt, max_new_tokens=new).tolist()
    assert sessions[0].compiled is not None
    sessions[0].feed(torch.tensor([[1]]))  # the last place: generation does not feed its last token
    with pytest.raises(InputError, match="capacity=8"):
        sessions[0].feed(torch.tensor([[1]]))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["decoder, rotary", "decoder, alibi", "windowed", "grouped", "gpt_neox"])
def test_compiled_sessions_of_other_decoders(name: str) -> None:
    """Logits, not only tokens: to 1e-5 of the eager ones at every step."""
    model = nn.build(MODELS[name], seed=0).eval()
    compiled, eager = nn.CompiledSession(model, batch=2, capacity=10), nn.Session(model, 2, 10)
    tokens = torch.randint(11, (2, 10), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        for part in (tokens[:, :3], *tokens[:, 3:].split(1, dim=1)):
            assert (compiled.feed(part.contiguous()) - eager.feed(part)).abs().max() < 1e-5
    assert compiled.compiled is not None


def test_an_unknown_mode_is_named() -> None:
    model = nn.build(MODELS["decoder, learned"], seed=0).eval()
    with pytest.raises(ModelError, match="mode='fastest'"):
        nn.CompiledSession(model, 1, 8, mode="fastest")
