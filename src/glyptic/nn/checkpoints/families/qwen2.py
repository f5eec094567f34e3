"""Qwen2: LLaMA with biases on queries, keys and values, and a sliding window in the layers from one on."""

from __future__ import annotations

from typing import Any

from glyptic.arguments import Count, refused
from glyptic.errors import FileError
from glyptic.nn.checkpoints.families import llama
from glyptic.nn.checkpoints.families.fields import SIZE, Field, flag, optional, read
from glyptic.nn.checkpoints.families.mapping import Family
from glyptic.nn.config import ModelConfig

LAYERS = ("full_attention", "sliding_attention")


def kinds(name: str, value: Any) -> list[str]:
    """What each layer sees."""
    if not isinstance(value, list) or any(kind not in LAYERS for kind in value):
        raise refused(name, value, f"a list of {' and '.join(LAYERS)}, one for each layer")
    return value


NOT_THEIRS = ("attention_bias", "mlp_bias", "pretraining_tp", "head_dim")  # fields of LLaMA that Qwen2 does not have
FIELDS: dict[str, Field] = {
    **{name: field for name, field in llama.FIELDS.items() if name not in NOT_THEIRS},
    "num_key_value_heads": read("key_value_heads", optional(SIZE), 32),
    "use_sliding_window": read("", flag, False),
    "sliding_window": read("", optional(SIZE), 4096),
    "max_window_layers": read("", Count(0, 2**31 - 1), 28),
    "layer_types": read("", kinds, None),
}


def window(values: dict[str, Any]) -> int | None:
    """The window of all layers; None: they see everything. Ours have one for all, so some with and some without are refused."""
    width = values["sliding_window"] if values["use_sliding_window"] else None
    layers, listed, first = values["num_hidden_layers"], values["layer_types"], values["max_window_layers"]
    if listed is not None and len(listed) != layers:
        raise FileError(f"layer_types has {len(listed)} entries, and num_hidden_layers={layers}.")
    if listed is not None and len(set(listed)) > 1:
        raise FileError("layer_types has layers with a sliding window and layers without; only one kind for all is supported.")
    if listed is not None and listed[0] == "sliding_attention" and width is None:
        raise FileError("layer_types has sliding_attention, and use_sliding_window and sliding_window give it no window.")
    if listed is None and width is not None and 0 < first < layers:
        raise FileError(f"max_window_layers={first} gives some layers a sliding window; only all of them or none are supported.")
    slides = listed[0] == "sliding_attention" if listed is not None else first == 0
    return width if slides else None


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    rotary = llama.derive({**values, "head_dim": None}, names)
    biases = {"attention_output_bias": False, "feed_forward_bias": False}
    return {**rotary, **biases, "sliding_window": window(values)}


def write_window(config: ModelConfig) -> dict[str, Any]:
    """`max_window_layers` is the first layer that has one."""
    slides = config.sliding_window is not None
    first = 0 if slides else config.layers
    return {"use_sliding_window": slides, "sliding_window": config.sliding_window, "max_window_layers": first}


def also(config: ModelConfig) -> dict[str, Any]:
    return {**llama.also(config), "architectures": ["Qwen2ForCausalLM"], **write_window(config)}


FAMILY = Family(
    "qwen2", llama.FAMILY.choices, FIELDS, derive, also, llama.entries, ignored=llama.FAMILY.ignored, copies=llama.FAMILY.copies
)
