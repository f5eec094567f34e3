"""Marian translation models: Vaswani's layout with biases, sines and cosines in halves, and a bias on logits."""

from __future__ import annotations

from typing import Any

from glyptic.errors import FileError
from glyptic.nn.config import ModelConfig
from glyptic.nn.families.mapping import (
    PUBLIC_ACTIVATIONS,
    Entry,
    Family,
    activation,
    fused,
    linear,
    repeated,
    require,
    same,
    shaped,
)


def read_config(fields: dict[str, Any], names: set[str]) -> ModelConfig:
    require(fields, "share_encoder_decoder_embeddings", True)
    for key in ("attention_heads", "ffn_dim"):
        if fields[f"encoder_{key}"] != fields[f"decoder_{key}"]:
            raise FileError(f"config.json: encoder_{key} and decoder_{key} differ; only equal ones are supported.")
    return ModelConfig(
        kind="encoder_decoder",
        layers=fields["decoder_layers"],
        encoder_layers=fields["encoder_layers"],
        width=fields["d_model"],
        heads=fields["decoder_attention_heads"],
        vocabulary=fields["vocab_size"],
        context=fields["max_position_embeddings"],
        feed_forward=activation(fields, "activation_function", "gelu"),
        feed_forward_width=fields["decoder_ffn_dim"],
        norm_place="post",
        positions="sinusoidal",
        sinusoidal_layout="halves",
        position_precision="float32",
        embedding_scale=fields.get("scale_embedding", False),
        tied=fields.get("tie_word_embeddings", True),
        output_bias=True,
    )


def write_config(config: ModelConfig) -> dict[str, Any]:
    sizes = {"attention_heads": config.heads, "ffn_dim": config.hidden_size}
    return {
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "decoder_layers": config.layers,
        "encoder_layers": config.depth_of_encoder,
        "d_model": config.width,
        **{f"{side}_{key}": value for side in ("encoder", "decoder") for key, value in sizes.items()},
        "vocab_size": config.vocabulary,
        "decoder_vocab_size": config.vocabulary,
        "max_position_embeddings": config.context,
        "activation_function": PUBLIC_ACTIVATIONS[config.feed_forward],
        "scale_embedding": config.embedding_scale,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": config.tied,
        "pad_token_id": (config.vocabulary or 1) - 1,
        "decoder_start_token_id": (config.vocabulary or 1) - 1,
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
    }


def entries(config: ModelConfig) -> list[Entry]:
    V = config.vocabulary or 0
    shared = ["model.shared.weight"]
    if not config.tied:  # then the public model has a copy for each side
        shared += ["model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"]
    found = [
        repeated("embedding.token.weight", shared),
        shaped("output.bias", "final_logits_bias", (V,), (1, V)),
    ]
    for side, layers in (("encoder", config.depth_of_encoder), ("decoder", config.layers)):
        for layer in range(layers):
            found += _layer(config, side, layer)
    if not config.tied:
        found.append(same("output.weight", "lm_head.weight"))
    return found


def _layer(config: ModelConfig, side: str, layer: int) -> list[Entry]:
    ours, theirs, D = f"{side}.blocks.{layer}", f"model.{side}.layers.{layer}", config.width
    found = fused(f"{ours}.attn.qkv", [f"{theirs}.self_attn.{p}_proj" for p in "qkv"], [D] * 3)
    found += linear(f"{ours}.attn.out", f"{theirs}.self_attn.out_proj")
    found += linear(f"{ours}.ln1", f"{theirs}.self_attn_layer_norm")
    if side == "decoder":
        cross = f"{theirs}.encoder_attn"
        found += linear(f"{ours}.cross_attn.q", f"{cross}.q_proj")
        found += fused(f"{ours}.cross_attn.kv", [f"{cross}.k_proj", f"{cross}.v_proj"], [D] * 2)
        found += linear(f"{ours}.cross_attn.out", f"{cross}.out_proj")
        found += linear(f"{ours}.ln_cross", f"{cross}_layer_norm")
    found += linear(f"{ours}.mlp.into", f"{theirs}.fc1") + linear(f"{ours}.mlp.out", f"{theirs}.fc2")
    return found + linear(f"{ours}.ln2", f"{theirs}.final_layer_norm")


FAMILY = Family(
    "marian",
    {"kind": ["encoder_decoder"], "positions": ["sinusoidal"], "feed_forward": list(PUBLIC_ACTIVATIONS)},
    read_config,
    write_config,
    entries,
    ignored=("model.*coder.embed_tokens.weight", "model.*coder.embed_positions.weight"),
)
