"""LLaMA: pre-norm decoder, RMSNorm, rotary positions, SwiGLU, grouped queries."""

from __future__ import annotations

from typing import Any

from glyptic.nn.checkpoints.families.fields import EPSILON, SIZE, TEXT, TRAINING, Field, Idle, Only, flag, group, read
from glyptic.nn.checkpoints.families.mapping import (
    GATE,
    Entry,
    Family,
    fused,
    linear,
    linears,
    rotary_qkv,
    rotary_scale,
    same,
)
from glyptic.nn.checkpoints.families.rope import BASE, read_rope, write_rope
from glyptic.nn.config import ModelConfig

FIELDS: dict[str, Field] = {
    **TEXT,
    "num_key_value_heads": read("key_value_heads", SIZE, None),
    "head_dim": read("head_width", SIZE, None),
    "mlp_bias": read("feed_forward_bias", flag, False),
    "attention_bias": read("attention_bias attention_output_bias", flag, False),
    "rms_norm_eps": read("norm_eps", EPSILON, 1e-6),
    "tie_word_embeddings": read("tied", flag, False),
    "rope_parameters": read("", group, None),
    "rope_scaling": read("", group, None),
    "rope_theta": read("", BASE, None),
    "partial_rotary_factor": Only(1.0),
    "hidden_act": read("feed_forward", GATE, "silu"),
    "pretraining_tp": Idle("how the products were divided among machines"),
    "is_decoder": Idle("it is a decoder in any case"),
    "attention_dropout": TRAINING,
}


COMMON = {"kind": "decoder", "norm": "rms", "positions": "rotary", "position_precision": "float32"}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    head = values["head_dim"] or values["hidden_size"] // values["num_attention_heads"]
    rope = read_rope(values, head, values["rope_theta"], fraction=None)
    return {**COMMON, **rope}


def also(config: ModelConfig) -> dict[str, Any]:
    return {"architectures": ["LlamaForCausalLM"], "rope_parameters": write_rope(config)}


def entries(config: ModelConfig) -> list[Entry]:
    found = [same("embedding.token.weight", "model.embed_tokens.weight")]
    found += linear("stack.ln_final", "model.norm", bias=False)
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"model.layers.{layer}"
        found += rotary_qkv(f"{ours}.attn.qkv", [f"{theirs}.self_attn.{p}_proj" for p in "qkv"], config)
        found += linear(f"{ours}.attn.out", f"{theirs}.self_attn.o_proj", config.attention_output_bias)
        if config.query_key_norm:
            found += [rotary_scale(f"{ours}.attn.{p}_norm", f"{theirs}.self_attn.{p}_norm", config) for p in "qk"]
        gate = [f"{theirs}.mlp.gate_proj", f"{theirs}.mlp.up_proj"]
        found += fused(f"{ours}.mlp.into", gate, [config.hidden_size] * 2, config.feed_forward_bias)
        found += linear(f"{ours}.mlp.out", f"{theirs}.mlp.down_proj", config.feed_forward_bias)
        found += linears(ours, theirs, {"ln1": "input_layernorm", "ln2": "post_attention_layernorm"}, bias=False)
    if not config.tied:
        found.append(same("output.weight", "lm_head.weight"))
    return found


FAMILY = Family(
    "llama",
    {"kind": ["decoder"], "positions": ["rotary"], "feed_forward": GATE.meanings, "rotary_fraction": [1.0]},
    FIELDS,
    derive,
    also,
    entries,
    ignored=("*rotary_emb.inv_freq",),
    copies={"lm_head.weight": "model.embed_tokens.weight"},
)
