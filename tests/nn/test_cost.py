"""The cost table against torch's own counters: parameters on the meta device, FlopCounterMode, saved-tensor hooks."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from glyptic import nn
from glyptic.errors import InputError
from glyptic.nn import cost
from glyptic.nn.config import POSITIONS
from glyptic.nn.presets import PRESETS

SMALL = {"layers": 2, "width": 32, "heads": 4, "vocabulary": 50, "context": 24}
CONFIGS: dict[str, nn.ModelConfig] = {
    "decoder": nn.ModelConfig(kind="decoder", **SMALL),
    "reference": nn.ModelConfig(kind="decoder", **SMALL, backend="reference"),
    "blocked": nn.ModelConfig(kind="decoder", **SMALL | {"context": 200}, backend="blocked"),
    "grouped, gated, rotary": nn.preset("llama", **SMALL, key_value_heads=2, feed_forward_width=40),
    "wide heads": nn.ModelConfig(kind="decoder", **SMALL, head_width=12, positions="alibi"),
    "shaw": nn.ModelConfig(kind="decoder", **SMALL, positions="shaw", relative_distance=6, backend="reference"),
    "transformer_xl": nn.preset("transformer_xl", **SMALL | {"context": 24}, head_width=6, feed_forward_width=40),
    "transformer_xl, short": nn.preset("transformer_xl", **SMALL, head_width=30, feed_forward_width=40),
    "bert": nn.preset("bert", **SMALL),
    "t5": nn.preset("t5", **SMALL, head_width=8, feed_forward_width=48),
    "vaswani": nn.preset("vaswani", **SMALL, feed_forward_width=64, dropout=0.0),
    "gpt_neox": nn.preset("gpt_neox", **SMALL, rotary_fraction=0.5),
    "vit": nn.preset("vit", layers=2, width=32, heads=4, image_size=16, patch_size=4, classes=7),
    **{
        f"positions={kind}": nn.ModelConfig(kind="decoder", **SMALL, positions=kind, backend="reference") for kind in POSITIONS
    },
    "opt": nn.preset("opt", **SMALL, feed_forward_width=40, embedding_width=10),
    "opt, untied": nn.preset("opt", **SMALL, feed_forward_width=40, embedding_width=10, tied=False),
    "roberta": nn.preset("roberta", **SMALL),
    "qwen3": nn.preset("qwen3", **SMALL, key_value_heads=2, head_width=10, feed_forward_width=40),
    "gemma": nn.preset("gemma", **SMALL, key_value_heads=2, head_width=10, feed_forward_width=40),
    "deit": nn.preset("deit", layers=2, width=32, heads=4, image_size=16, patch_size=4, classes=7),
    "deit, one classifier": nn.preset("deit", layers=2, width=32, heads=4, image_size=16, patch_size=4, classes=7, head="class"),
    "hidden states": nn.ModelConfig(kind="encoder", **SMALL | {"vocabulary": None}, head="none", norm="none"),
}


def run(model: Any, batch: int, length: int, source: int) -> torch.Tensor:
    config = model.config
    if config.kind == "vit":
        return model(torch.randn(batch, config.channels, config.image_size, config.image_size))
    if config.vocabulary is None:
        return model(vectors=torch.randn(batch, length, config.width))
    tokens = torch.randint(config.vocabulary, (batch, length))
    if config.kind == "encoder_decoder":
        return model(torch.randint(config.vocabulary, (batch, source)), tokens)
    return model(tokens)


def counter_of_flops() -> FlopCounterMode:
    """torch's counter; it does not know the CPU's fused kernel, so it is told torch's own formula for the others."""

    def fused(query: Any, key: Any, value: Any, *rest: Any, out_shape: Any = None, **more: Any) -> int:
        repeated = (query[0], query[1], *key[2:])  # grouped heads work as if they were repeated
        return sdpa_flop_count(query, repeated, repeated)

    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    return FlopCounterMode(display=False, custom_mapping={kernel: fused})


@pytest.mark.parametrize("name", CONFIGS)
def test_flops_and_parameters_agree_with_torch(name: str) -> None:
    config = CONFIGS[name]
    length = 150 if name == "blocked" else 19
    model = nn.build(config, seed=0).eval()
    ours = cost(model, batch=3, length=length, source_length=11)
    with counter_of_flops() as counter, torch.no_grad():
        run(model, 3, length, 11)
    assert ours.flops == counter.get_total_flops()
    assert ours.parameters == sum(p.numel() for p in model.parameters())
    if config.backend == "sdpa":
        with FlopCounterMode(display=False) as counter, torch.no_grad():  # nothing but ordinary products
            run(nn.with_backend(model, "reference"), 3, length, 11)
        assert ours.flops == counter.get_total_flops()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_parameters_of_public_sizes(name: str) -> None:
    config = nn.preset(name)
    with torch.device("meta"):
        model = nn.build(config)
    assert cost(config).parameters == sum(p.numel() for p in model.parameters())


def test_backward_takes_twice_the_flops() -> None:
    config = nn.ModelConfig(kind="decoder", **SMALL, backend="reference")
    with FlopCounterMode(display=False) as counter:
        run(nn.build(config, seed=0), 2, 16, 0).sum().backward()
    assert counter.get_total_flops() == 3 * cost(config, batch=2, length=16).flops


@pytest.mark.parametrize("feed_forward", ["relu", "gelu", "swiglu"])
@pytest.mark.parametrize("groups", [4, 2])
def test_memory_of_training_agrees_with_what_autograd_keeps(feed_forward: str, groups: int) -> None:
    config = nn.ModelConfig(kind="decoder", **SMALL, feed_forward=feed_forward, key_value_heads=groups, head="none")
    model = nn.build(config, seed=0)
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if tensor.is_floating_point() and storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes() // 4
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = model(torch.randint(50, (2, 16)))
    assert out.requires_grad
    assert sum(kept.values()) == pytest.approx(cost(config, batch=2, length=16).kept, rel=0.02)


def test_cache_is_what_the_cache_holds() -> None:
    config = CONFIGS["grouped, gated, rotary"]
    cache = nn.build(config, seed=0).new_cache(batch=3, capacity=17)
    held = sum(tensor.numel() for tensor in (*cache.keys, *cache.values))
    assert cost(config, batch=3, length=17).cache == held


@torch.no_grad()
def test_an_encoder_decoder_s_cache_holds_its_memory_too() -> None:
    config = CONFIGS["t5"]
    model = nn.build(config, seed=0).eval()
    cache, memory = model.new_cache(batch=3, capacity=17), model.encode(torch.randint(50, (3, 11)))
    model.hidden(torch.randint(50, (3, 2)), memory=memory, cache=cache)
    crossed = [tensor for pair in cache.cross.values() for tensor in pair]
    held = sum(tensor.numel() for tensor in (*cache.keys, *cache.values, *crossed))
    assert cost(config, batch=3, length=17, source_length=11).cache == held


def test_crossover_is_where_attention_equals_the_feed_forward() -> None:
    config = nn.ModelConfig(kind="decoder", **SMALL)
    at = cost(config, length=int(cost(config).crossover))
    assert at.crossover == 4 * config.width
    assert at.share("attention") == at.share("feed-forward")


def test_the_table_names_every_part_and_its_total() -> None:
    text = str(cost(nn.preset("gpt2"), length=1024))
    assert "attention N²D" in text
    assert "124,439,808" in text
    assert "overtakes the feed-forward's ND² at length 3,072" in text


def test_bad_lengths_get_a_sentence() -> None:
    with pytest.raises(InputError, match="length is 0, and must be a whole number from 1"):
        cost(nn.preset("gpt2"), length=0)
