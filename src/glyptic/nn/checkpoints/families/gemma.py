"""Gemma: LLaMA with embeddings times √D, norms that multiply by 1 + weight, and a gate of GELU."""

from __future__ import annotations

from typing import Any

from glyptic.nn.checkpoints.families import llama
from glyptic.nn.checkpoints.families.fields import SIZE, Field, Only, Words, flag, read
from glyptic.nn.checkpoints.families.mapping import GATE, Family
from glyptic.nn.config import ModelConfig

# the first files say `gelu` and mean its approximation, which the public library takes it for
GELU = Words({"gelu_pytorch_tanh": "geglu", **GATE.ours, "gelu": "geglu"})
NOT_THEIRS = ("mlp_bias", "pretraining_tp")  # fields of LLaMA that Gemma does not have
FIELDS: dict[str, Field] = {
    **{name: field for name, field in llama.FIELDS.items() if name not in NOT_THEIRS},
    "num_key_value_heads": read("key_value_heads", SIZE, 16),
    "head_dim": read("head_width", SIZE, 256),
    "hidden_act": read("feed_forward", GELU, "gelu_pytorch_tanh"),
    "hidden_activation": read("", Words({"gelu_pytorch_tanh": "geglu"}), None),  # in old files, beside `gelu`
    "tie_word_embeddings": read("tied", flag, True),
    "use_bidirectional_attention": Only(False),
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    scale = {"embedding_scale": True, "embedding_scale_rounded": True}
    return {**llama.derive(values, names), **scale, "norm": "rms_plus_one", "feed_forward_bias": False}


def also(config: ModelConfig) -> dict[str, Any]:
    return {**llama.also(config), "architectures": ["GemmaForCausalLM"]}


FAMILY = Family(
    "gemma", llama.FAMILY.choices, FIELDS, derive, also, llama.entries, ignored=llama.FAMILY.ignored, copies=llama.FAMILY.copies
)
