"""Rotary settings in config.json: today's `rope_parameters`, and the older `rope_theta` and `rope_scaling`."""

from __future__ import annotations

from typing import Any

from glyptic.errors import FileError
from glyptic.nn.config import ModelConfig, RotaryScaling
from glyptic.nn.families.mapping import whole
from glyptic.nn.positions.rotary import temperature


def read_rope(fields: dict[str, Any]) -> tuple[float, RotaryScaling | None, float]:
    """Base, scaling and rotated share of each head."""
    rope = fields.get("rope_parameters") or fields.get("rope_scaling") or {}
    if not isinstance(rope, dict):
        raise FileError(f"config.json: the rotary settings {rope!r} must be an object.")
    base = rope.get("rope_theta") or fields.get("rope_theta") or fields.get("rotary_emb_base") or 10000.0
    fraction = rope.get("partial_rotary_factor") or fields.get("partial_rotary_factor") or fields.get("rotary_pct", 1.0)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return base, None, fraction
    if kind not in ("linear", "llama3", "yarn"):
        raise FileError(
            f"config.json: rope_type={kind!r} is not supported; only default, linear, llama3 and yarn are "
            "(angles that change with the length contradict a cache)."
        )
    return base, _read_scaling(kind, rope, fields), fraction


def _read_scaling(kind: str, rope: dict[str, Any], fields: dict[str, Any]) -> RotaryScaling:
    """What each kind reads; a key that is null counts as absent, as in the public implementation."""
    if kind == "linear":
        return RotaryScaling(kind, rope["factor"])
    original = "original_max_position_embeddings"
    context = whole(rope, original) if rope.get(original) else whole(fields, "max_position_embeddings")
    if kind == "llama3":
        return RotaryScaling(kind, rope["factor"], context, rope["low_freq_factor"], rope["high_freq_factor"])
    factor = rope.get("factor")
    if factor is None:  # YaRN's stretch is then that of the context
        factor = whole(fields, "max_position_embeddings") / context
    return RotaryScaling(
        kind,
        factor,
        context,
        beta_fast=rope.get("beta_fast") or 32.0,
        beta_slow=rope.get("beta_slow") or 1.0,
        attention_factor=_attention_factor(factor, rope),
        truncate=rope.get("truncate", True),
    )


def _attention_factor(factor: float, rope: dict[str, Any]) -> float | None:
    """As given, or DeepSeek's ratio of two temperatures; None: the paper's."""
    given, mscale, all_dim = (rope.get(key) for key in ("attention_factor", "mscale", "mscale_all_dim"))
    if given is None and mscale and all_dim:
        return temperature(factor, mscale) / temperature(factor, all_dim)
    return given


def write_rope(config: ModelConfig) -> dict[str, Any]:
    """`rope_parameters`."""
    rope: dict[str, Any] = {
        "rope_theta": config.rotary_base,
        "partial_rotary_factor": config.rotary_fraction,
        "rope_type": "default",
    }
    s = config.rotary_scaling
    if s is None:
        return rope
    rope |= {"rope_type": s.kind, "factor": s.factor}
    if s.kind != "linear":
        rope["original_max_position_embeddings"] = s.original_context
    if s.kind == "llama3":
        rope |= {"low_freq_factor": s.low_frequency_factor, "high_freq_factor": s.high_frequency_factor}
    if s.kind == "yarn":
        rope |= {"beta_fast": s.beta_fast, "beta_slow": s.beta_slow, "truncate": s.truncate}
        rope |= {} if s.attention_factor is None else {"attention_factor": s.attention_factor}
    return rope
