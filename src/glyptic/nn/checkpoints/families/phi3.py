"""Phi-3: LLaMA with its matrices stacked as ours are, and a share of each head turned."""

from __future__ import annotations

from typing import Any

import torch

from glyptic.nn.checkpoints.families import llama, mistral
from glyptic.nn.checkpoints.families.fields import EPSILON, SIZE, TRAINING, Field, Idle, each, optional, read
from glyptic.nn.checkpoints.families.mapping import (
    Entry,
    Family,
    adjacent_pairs,
    head_rows,
    linear,
    linears,
    permuted,
    same,
)
from glyptic.nn.checkpoints.families.rope import SHARE, read_rope, write_rope
from glyptic.nn.config import ModelConfig

NOT_THEIRS = (*mistral.NOT_THEIRS, "head_dim")  # fields of LLaMA that Phi-3 does not have
FIELDS: dict[str, Field] = {
    **{name: field for name, field in llama.FIELDS.items() if name not in NOT_THEIRS},
    "rms_norm_eps": read("norm_eps", EPSILON, 1e-5),
    "partial_rotary_factor": read("", SHARE, 1.0),
    "original_max_position_embeddings": Idle("of longrope, which is refused"),
    "sliding_window": read("sliding_window", optional(SIZE), None),
    **each("resid_pdrop embd_pdrop", TRAINING),
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    head = values["hidden_size"] // values["num_attention_heads"]
    rope = read_rope(values, head, values["rope_theta"], values["partial_rotary_factor"], kinds=("default",))
    return {**llama.COMMON, **rope, **mistral.NO_BIASES}


def also(config: ModelConfig) -> dict[str, Any]:
    rope = {"rope_parameters": write_rope(config), "partial_rotary_factor": config.rotary_fraction}
    return {"architectures": ["Phi3ForCausalLM"], "pad_token_id": None, **rope}  # absent, it is 32000, vocabulary or not


def entries(config: ModelConfig) -> list[Entry]:
    found = [same("embedding.token.weight", "model.embed_tokens.weight")]
    found += linear("stack.ln_final", "model.norm", bias=False)
    order = _row_order(config)
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"model.layers.{layer}"
        found.append(permuted(same(f"{ours}.attn.qkv.weight", f"{theirs}.self_attn.qkv_proj.weight"), order))
        parts = {"attn.out": "self_attn.o_proj", "mlp.into": "mlp.gate_up_proj", "mlp.out": "mlp.down_proj"}
        parts |= {"ln1": "input_layernorm", "ln2": "post_attention_layernorm"}
        found += linears(ours, theirs, parts, bias=False)
    if not config.tied:
        found.append(same("output.weight", "lm_head.weight"))
    return found


def _row_order(config: ModelConfig) -> torch.Tensor:
    """Queries, keys, values, as ours; but the pairs of queries and keys that turn together lie apart."""
    K = config.head_size
    turned = head_rows(config.heads + config.groups, K, adjacent_pairs(K, int(config.rotary_fraction * K)))
    return torch.cat([turned, torch.arange(len(turned), len(turned) + config.groups * K)])


FAMILY = Family(
    "phi3",
    {"kind": ["decoder"], "positions": ["rotary"], "feed_forward": llama.FAMILY.choices["feed_forward"]},
    FIELDS,
    derive,
    also,
    entries,
    ignored=llama.FAMILY.ignored,
    copies=llama.FAMILY.copies,
)
