"""Qwen3: Qwen2 with a norm on each head's queries and keys; heads have a width of their own, and biases are a choice."""

from __future__ import annotations

from typing import Any

from glyptic.nn.checkpoints.families import llama, qwen2
from glyptic.nn.checkpoints.families.fields import SIZE, Field, read
from glyptic.nn.checkpoints.families.mapping import Family
from glyptic.nn.config import ModelConfig

FIELDS: dict[str, Field] = {
    **qwen2.FIELDS,
    "head_dim": read("head_width", SIZE, 128),
    "attention_bias": llama.FIELDS["attention_bias"],
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    own = {"feed_forward_bias": False, "query_key_norm": True, "sliding_window": qwen2.window(values)}
    return {**llama.derive(values, names), **own}


def also(config: ModelConfig) -> dict[str, Any]:
    return {**llama.also(config), "architectures": ["Qwen3ForCausalLM"], **qwen2.write_window(config)}


FAMILY = Family(
    "qwen3", llama.FAMILY.choices, FIELDS, derive, also, llama.entries, ignored=llama.FAMILY.ignored, copies=llama.FAMILY.copies
)
