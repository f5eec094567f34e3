"""GPT-NeoX and Pythia: attention and feed-forward in parallel, a share of each head rotated."""

from __future__ import annotations

from typing import Any

import torch

from glyptic.nn.checkpoints.families.fields import EPSILON, TEXT, TRAINING, Field, Idle, each, flag, group, read
from glyptic.nn.checkpoints.families.mapping import (
    ACTIVATION,
    Entry,
    Family,
    adjacent_pairs,
    linear,
    linears,
    permuted,
    same,
)
from glyptic.nn.checkpoints.families.rope import BASE, SHARE, read_rope, write_rope
from glyptic.nn.config import ModelConfig

FIELDS: dict[str, Field] = {
    **TEXT,
    "hidden_act": read("feed_forward", ACTIVATION, "gelu"),
    "attention_bias": read("attention_bias attention_output_bias", flag, True),
    "layer_norm_eps": read("norm_eps", EPSILON, 1e-5),
    "use_parallel_residual": read("parallel", flag, True),
    "tie_word_embeddings": read("tied", flag, False),
    "rope_parameters": read("", group, None),
    "rope_scaling": read("", group, None),
    "rotary_emb_base": read("", BASE, None),
    "rotary_pct": read("", SHARE, 0.25),
    "is_decoder": Idle("it is a decoder in any case"),
    **each("attention_dropout hidden_dropout attention_probs_dropout_prob hidden_dropout_prob", TRAINING),
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    head = values["hidden_size"] // values["num_attention_heads"]
    rope = read_rope(values, head, values["rotary_emb_base"], fraction=values["rotary_pct"])
    return {"kind": "decoder", "positions": "rotary", "position_precision": "float32", **rope}


def also(config: ModelConfig) -> dict[str, Any]:
    rope = {"rope_parameters": write_rope(config), "rotary_pct": config.rotary_fraction}
    return {"architectures": ["GPTNeoXForCausalLM"], **rope}


def entries(config: ModelConfig) -> list[Entry]:
    found = [same("embedding.token.weight", "gpt_neox.embed_in.weight")]
    found += linear("stack.ln_final", "gpt_neox.final_layer_norm")
    order = _row_order(config)
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"gpt_neox.layers.{layer}"
        qkv = linear(f"{ours}.attn.qkv", f"{theirs}.attention.query_key_value", config.attention_bias)
        found += [permuted(entry, order) for entry in qkv]
        found += linear(f"{ours}.attn.out", f"{theirs}.attention.dense", config.attention_output_bias)
        found += linears(ours, theirs, {"mlp.into": "mlp.dense_h_to_4h", "mlp.out": "mlp.dense_4h_to_h"})
        found += linears(ours, theirs, {"ln1": "input_layernorm", "ln2": "post_attention_layernorm"})
    if not config.tied:
        found.append(same("output.weight", "embed_out.weight"))
    return found


def _row_order(config: ModelConfig) -> torch.Tensor:
    """Their rows are [head][q, k, v][K]; ours [q, k, v][head][K], rotated pairs adjacent."""
    H, K = config.heads, config.head_size
    rows = torch.arange(H * 3 * K).view(H, 3, K)
    within = adjacent_pairs(K, int(config.rotary_fraction * K))
    parts = [rows[:, 0][:, within], rows[:, 1][:, within], rows[:, 2]]
    return torch.cat([part.reshape(-1) for part in parts])


FAMILY = Family(
    "gpt_neox",
    {"kind": ["decoder"], "positions": ["rotary"], "feed_forward": ACTIVATION.meanings},
    FIELDS,
    derive,
    also,
    entries,
    ignored=("*.attention.bias", "*.attention.masked_bias", "*rotary_emb.inv_freq"),
    copies={"embed_out.weight": "gpt_neox.embed_in.weight"},
)
