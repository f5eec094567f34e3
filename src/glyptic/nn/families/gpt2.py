"""GPT-2: pre-norm decoder, learned positions, matrices stored as input × output."""

from __future__ import annotations

from typing import Any

from glyptic.nn.config import ModelConfig
from glyptic.nn.families.mapping import PUBLIC_ACTIVATIONS, Entry, Family, activation, linear, require, same, transposed


def read_config(fields: dict[str, Any], names: set[str]) -> ModelConfig:
    require(fields, "scale_attn_weights", True)
    require(fields, "scale_attn_by_inverse_layer_idx", False)
    require(fields, "add_cross_attention", False)
    return ModelConfig(
        kind="decoder",
        layers=fields["n_layer"],
        width=fields["n_embd"],
        heads=fields["n_head"],
        vocabulary=fields["vocab_size"],
        context=fields["n_positions"],
        feed_forward=activation(fields, "activation_function", "gelu_new"),
        feed_forward_width=fields.get("n_inner"),
        norm_eps=fields.get("layer_norm_epsilon", 1e-5),
        positions="learned",
        tied=fields.get("tie_word_embeddings", True),
    )


def write_config(config: ModelConfig) -> dict[str, Any]:
    return {
        "architectures": ["GPT2LMHeadModel"],
        "n_layer": config.layers,
        "n_embd": config.width,
        "n_head": config.heads,
        "vocab_size": config.vocabulary,
        "n_positions": config.context,
        "activation_function": PUBLIC_ACTIVATIONS[config.feed_forward],
        "n_inner": config.feed_forward_width,
        "layer_norm_epsilon": config.norm_eps,
        "tie_word_embeddings": config.tied,
    }


def entries(config: ModelConfig) -> list[Entry]:
    found = [
        same("embedding.token.weight", "transformer.wte.weight"),
        same("embedding.position.weight", "transformer.wpe.weight"),
        *linear("stack.ln_final", "transformer.ln_f"),
    ]
    matrices = {"attn.qkv": "attn.c_attn", "attn.out": "attn.c_proj", "mlp.into": "mlp.c_fc", "mlp.out": "mlp.c_proj"}
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"transformer.h.{layer}"
        found += linear(f"{ours}.ln1", f"{theirs}.ln_1") + linear(f"{ours}.ln2", f"{theirs}.ln_2")
        for our, their in matrices.items():
            found.append(transposed(f"{ours}.{our}.weight", f"{theirs}.{their}.weight"))
            found.append(same(f"{ours}.{our}.bias", f"{theirs}.{their}.bias"))
    if not config.tied:
        found.append(same("output.weight", "lm_head.weight"))
    return found


FAMILY = Family(
    "gpt2",
    {"kind": ["decoder"], "positions": ["learned"], "feed_forward": list(PUBLIC_ACTIVATIONS)},
    read_config,
    write_config,
    entries,
    prefix="transformer.",
    ignored=("*.attn.bias", "*.attn.masked_bias"),
)
