"""LLaMA: pre-norm decoder, RMSNorm, rotary positions, SwiGLU, grouped queries."""

from __future__ import annotations

from typing import Any

import torch

from glyptic.nn.config import ModelConfig
from glyptic.nn.families.mapping import (
    Entry,
    Family,
    adjacent_pairs,
    fused,
    head_rows,
    linear,
    permuted,
    require,
    same,
)
from glyptic.nn.families.rope import read_rope, write_rope


def read_config(fields: dict[str, Any], names: set[str]) -> ModelConfig:
    require(fields, "hidden_act", "silu")
    base, scaling, fraction = read_rope(fields)
    return ModelConfig(
        kind="decoder",
        layers=fields["num_hidden_layers"],
        width=fields["hidden_size"],
        heads=fields["num_attention_heads"],
        key_value_heads=fields.get("num_key_value_heads"),
        head_width=fields.get("head_dim"),
        vocabulary=fields["vocab_size"],
        context=fields["max_position_embeddings"],
        feed_forward="swiglu",
        feed_forward_width=fields["intermediate_size"],
        feed_forward_bias=fields.get("mlp_bias", False),
        attention_bias=fields.get("attention_bias", False),
        attention_output_bias=fields.get("attention_bias", False),
        norm="rms",
        norm_eps=fields.get("rms_norm_eps", 1e-6),
        positions="rotary",
        position_precision="float32",
        rotary_base=base,
        rotary_scaling=scaling,
        rotary_fraction=fraction,
        tied=fields.get("tie_word_embeddings", False),
    )


def write_config(config: ModelConfig) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": config.layers,
        "hidden_size": config.width,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.groups,
        "head_dim": config.head_size,
        "vocab_size": config.vocabulary,
        "max_position_embeddings": config.context,
        "hidden_act": "silu",
        "intermediate_size": config.hidden_size,
        "mlp_bias": config.feed_forward_bias,
        "attention_bias": config.attention_bias,
        "rms_norm_eps": config.norm_eps,
        "rope_parameters": write_rope(config),
        "tie_word_embeddings": config.tied,
    }


def entries(config: ModelConfig) -> list[Entry]:
    found = [same("embedding.token.weight", "model.embed_tokens.weight")]
    found += linear("stack.ln_final", "model.norm", bias=False)
    K = config.head_size
    sizes = [config.heads * K, config.groups * K, config.groups * K]
    within = adjacent_pairs(K, int(config.rotary_fraction * K))
    rotated = head_rows(config.heads + config.groups, K, within)  # queries and keys turn, values do not
    order = torch.cat([rotated, torch.arange(len(rotated), sum(sizes))])
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"model.layers.{layer}"
        qkv = [f"{theirs}.self_attn.{p}_proj" for p in "qkv"]
        found += [permuted(e, order) for e in fused(f"{ours}.attn.qkv", qkv, sizes, config.attention_bias)]
        found += linear(f"{ours}.attn.out", f"{theirs}.self_attn.o_proj", config.attention_output_bias)
        gate = [f"{theirs}.mlp.gate_proj", f"{theirs}.mlp.up_proj"]
        found += fused(f"{ours}.mlp.into", gate, [config.hidden_size] * 2, config.feed_forward_bias)
        found += linear(f"{ours}.mlp.out", f"{theirs}.mlp.down_proj", config.feed_forward_bias)
        found += linear(f"{ours}.ln1", f"{theirs}.input_layernorm", bias=False)
        found += linear(f"{ours}.ln2", f"{theirs}.post_attention_layernorm", bias=False)
    if not config.tied:
        found.append(same("output.weight", "lm_head.weight"))
    return found


FAMILY = Family(
    "llama",
    {"kind": ["decoder"], "positions": ["rotary"], "feed_forward": ["swiglu"]},
    read_config,
    write_config,
    entries,
    ignored=("*rotary_emb.inv_freq",),
)
