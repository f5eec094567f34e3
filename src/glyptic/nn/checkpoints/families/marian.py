"""Marian translation models: Vaswani's layout with biases, sines and cosines in halves, and a bias on logits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from glyptic.errors import FileError
from glyptic.nn.checkpoints.families.fields import SIZE, TRAINING, Field, Idle, Only, each, flag, read
from glyptic.nn.checkpoints.families.mapping import ACTIVATION, Entry, Family, fused, linear, repeated, same, shaped
from glyptic.nn.config import ModelConfig
from glyptic.nn.parts.positions.sinusoidal import sinusoids

FIELDS: dict[str, Field] = {
    "decoder_layers": read("layers", SIZE),
    "encoder_layers": read("encoder_layers", SIZE),
    "d_model": read("width", SIZE),
    "decoder_attention_heads": read("heads", SIZE),
    "encoder_attention_heads": read("", SIZE),
    "vocab_size": read("vocabulary", SIZE),
    "decoder_vocab_size": read("", SIZE, None),
    "max_position_embeddings": read("context", SIZE),
    "activation_function": read("feed_forward", ACTIVATION, "gelu"),
    "decoder_ffn_dim": read("feed_forward_width", SIZE),
    "encoder_ffn_dim": read("", SIZE),
    "scale_embedding": read("embedding_scale", flag, False),
    "tie_word_embeddings": read("tied", flag, True),
    "share_encoder_decoder_embeddings": Only(True),
    "is_encoder_decoder": Only(True),
    "is_decoder": Idle("each of the two stacks is told what it is"),
    "static_position_embeddings": Only(True),
    **each("normalize_before normalize_embedding add_final_layer_norm add_bias_logits", Only(False)),
    "extra_pos_embeddings": Idle("of positions that are learned, which these are not"),
    **each("dropout attention_dropout activation_dropout classif_dropout encoder_layerdrop decoder_layerdrop", TRAINING),
}
ALIASES = {
    "num_attention_heads": "encoder_attention_heads",
    "hidden_size": "d_model",
    "num_hidden_layers": "encoder_layers",
}
SAME = {
    "encoder_attention_heads": "decoder_attention_heads",
    "encoder_ffn_dim": "decoder_ffn_dim",
    "decoder_vocab_size": "vocab_size",
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    for name, other in SAME.items():
        if values[name] not in (None, values[other]):
            raise FileError(f"{name}={values[name]} and {other}={values[other]} differ; only equal ones are supported.")
    return {
        "kind": "encoder_decoder",
        "norm_place": "post",
        "positions": "sinusoidal",
        "sinusoidal_layout": "halves",
        "position_precision": "float32",
        "output_bias": True,
        "output_bias_frozen": True,
    }


def also(config: ModelConfig) -> dict[str, Any]:
    last = (config.vocabulary or 1) - 1
    return {
        "architectures": ["MarianMTModel"],
        "is_encoder_decoder": True,
        "encoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.hidden_size,
        "decoder_vocab_size": config.vocabulary,
        "share_encoder_decoder_embeddings": True,
        "pad_token_id": last,
        "decoder_start_token_id": last,
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


def check(config: ModelConfig, tensors: Mapping[str, Tensor]) -> None:
    """Sines and cosines are computed here; old files hold them too, and they must be the same."""
    for side in ("encoder", "decoder"):
        table = tensors.get(f"model.{side}.embed_positions.weight")
        if table is not None and not table.is_meta:
            computed = sinusoids(torch.arange(config.context), config.width, "halves")
            if table.shape != computed.shape or not torch.allclose(table.double(), computed, atol=1e-2):
                raise FileError(f"model.{side}.embed_positions.weight does not hold the sines and cosines that it is made of.")


FAMILY = Family(
    "marian",
    {"kind": ["encoder_decoder"], "positions": ["sinusoidal"], "feed_forward": ACTIVATION.meanings},
    FIELDS,
    derive,
    also,
    entries,
    check=check,
    aliases=ALIASES,
    ignored=("model.*coder.embed_positions.weight",),
    copies={
        "lm_head.weight": "model.shared.weight",
        "model.encoder.embed_tokens.weight": "model.shared.weight",
        "model.decoder.embed_tokens.weight": "model.shared.weight",
    },
)
