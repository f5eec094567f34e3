"""Mistral: LLaMA without biases, whose layers all see a sliding window."""

from __future__ import annotations

from typing import Any

from glyptic.nn.checkpoints.families import llama
from glyptic.nn.checkpoints.families.fields import SIZE, Field, optional, read
from glyptic.nn.checkpoints.families.mapping import Family
from glyptic.nn.config import ModelConfig

NOT_THEIRS = ("attention_bias", "mlp_bias", "pretraining_tp")  # fields of LLaMA that Mistral does not have
FIELDS: dict[str, Field] = {
    **{name: field for name, field in llama.FIELDS.items() if name not in NOT_THEIRS},
    "num_key_value_heads": read("key_value_heads", SIZE, 8),
    "sliding_window": read("sliding_window", optional(SIZE), 4096),
}
NO_BIASES = {"attention_bias": False, "attention_output_bias": False, "feed_forward_bias": False}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {**llama.derive(values, names), **NO_BIASES}


def also(config: ModelConfig) -> dict[str, Any]:
    return {**llama.also(config), "architectures": ["MistralForCausalLM"]}


FAMILY = Family(
    "mistral", llama.FAMILY.choices, FIELDS, derive, also, llama.entries, ignored=llama.FAMILY.ignored, copies=llama.FAMILY.copies
)
