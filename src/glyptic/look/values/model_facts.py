"""What the drawing of an architecture is made from: its config, and what each part has and costs."""

from __future__ import annotations

from typing import Any

from glyptic.nn.config import ModelConfig
from glyptic.nn.costs import Cost

_FIELDS = (
    *("kind", "layers", "width", "heads", "vocabulary", "context", "sliding_window", "feed_forward", "norm", "norm_place"),
    *("norm_eps", "parallel", "positions", "rotary_fraction", "rotary_base", "relative_distance", "relative_buckets"),
    *("embedding_scale", "embedding_norm", "token_types", "head", "classes", "tied", "image_size", "patch_size", "channels"),
    *("attention_bias", "feed_forward_bias", "output_scale", "embedding_width"),
)
_PARTS = {  # what a line of costs belongs to in the drawing
    "token embedding": "embedding", "type embedding": "embedding", "patch embedding": "embedding",
    "position embedding": "positions", "position biases": "positions", "relative positions": "positions",
    "embedding norm": "embedding_norm", "attention projections": "attention", "attention N²D": "attention",
    "cross-attention projections": "cross", "cross-attention NMD": "cross", "feed-forward ND²": "feed_forward",
    "norms": "norm", "final norm": "final_norm", "output": "output",
}  # fmt: skip


def config_facts(config: ModelConfig) -> dict[str, Any]:
    """The config as the page draws it.

    >>> from glyptic.nn import preset
    >>> facts = config_facts(preset("gpt2"))
    >>> facts["head_size"], facts["hidden_size"], facts["final_norm"]
    (64, 3072, True)
    """
    derived = {"head_size": config.head_size, "groups": config.groups, "hidden_size": config.hidden_size, "scale": config.scale}
    depth = config.depth_of_encoder if config.kind == "encoder_decoder" else 0
    derived |= {"final_norm": config.has_final_norm, "encoder_layers": depth}
    return {name: getattr(config, name) for name in _FIELDS} | derived


def part_facts(cost: Cost) -> dict[str, Any]:
    """Parameters and FLOPs of all of each part together, by stack and part; those of the whole as `total`.

    >>> from glyptic.nn import ModelConfig
    >>> from glyptic.nn.costs import cost
    >>> small = cost(ModelConfig(kind="decoder", layers=2, width=8, heads=2, vocabulary=5, context=4))
    >>> part_facts(small)["feed_forward"]
    {'parameters': 1104, 'flops': 8192, 'times': 2}
    """
    parts: dict[str, dict[str, int]] = {}
    for part in cost.parts:
        stack, _, name = part.name.rpartition(": ")
        key = f"{stack}.{_PARTS[name]}".lstrip(".")
        known = parts.setdefault(key, {"parameters": 0, "flops": 0, "times": part.times})
        known["parameters"] += part.times * part.parameters
        known["flops"] += part.times * part.flops
    return {**parts, "total": {"parameters": cost.parameters, "flops": cost.flops, "times": 1}}
