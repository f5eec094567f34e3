"""Rotary settings in config.json: today's `rope_parameters`, and the older `rope_theta` and `rope_scaling`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from glyptic.arguments import Number, shown
from glyptic.errors import FileError
from glyptic.nn.checkpoints.families.fields import SIZE, Words, flag
from glyptic.nn.config import ModelConfig, RotaryScaling, ScalingKind
from glyptic.nn.parts.positions.rotary import temperature

BASE = Number(above=0)
SHARE = Number(above=0, most=1)  # of each head, that is turned
_POSITIVE, _WEIGHT = Number(above=0), Number(least=0)
KINDS = ("default", "linear", "llama3", "yarn")
RULES: Mapping[str, Any] = {
    "rope_type": Words({kind: kind for kind in KINDS}),
    "type": Words({kind: kind for kind in KINDS}),  # its old name
    "rope_theta": BASE,
    "partial_rotary_factor": SHARE,
    "factor": Number(least=1),
    "original_max_position_embeddings": SIZE,
    "low_freq_factor": _POSITIVE,
    "high_freq_factor": _POSITIVE,
    "beta_fast": _WEIGHT,
    "beta_slow": _WEIGHT,
    "attention_factor": _POSITIVE,
    "mscale": _WEIGHT,
    "mscale_all_dim": _WEIGHT,
    "truncate": flag,
}


def read_rope(
    values: Mapping[str, Any], head: int, base: float | None, fraction: float | None, kinds: Sequence[str] = KINDS
) -> dict[str, Any]:
    """Our rotary fields, for heads of this width; `base` and `fraction` are those beside the settings.

    `fraction` None: all of each head is turned, always. `kinds` are those that the family has.
    """
    where = "rope_scaling" if values["rope_scaling"] else "rope_parameters"  # the old one wins, in the public library too
    rope = _checked(where, values[where] or {}, kinds)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != rope.get("type", kind):
        raise FileError(f"{where}.rope_type={kind!r} and {where}.type={rope['type']!r} are the same field and differ.")
    if fraction is None and rope.get("partial_rotary_factor", 1.0) != 1:
        raise FileError(f"{where}.partial_rotary_factor={rope['partial_rotary_factor']} is not supported; only 1 is.")
    base = rope.get("rope_theta", base if base is not None else 10000.0)
    if kind == "yarn" and base <= 1:
        raise FileError(f"{where}.rope_theta={base} must be above 1 for yarn.")
    share = 1.0 if fraction is None else rope.get("partial_rotary_factor", fraction)
    turned = int(share * head)
    if turned < 2 or turned % 2:
        said = "head_dim" if fraction is None else "partial_rotary_factor"
        raise FileError(f"{where}: {said} has {turned} of {head} coordinates of a head turned, which must be in pairs.")
    return {
        "rotary_base": base,
        "rotary_fraction": share,
        "rotary_scaling": None if kind == "default" else _scaling(where, kind, rope, values["max_position_embeddings"]),
    }


def _checked(where: str, rope: Mapping[str, Any], kinds: Sequence[str]) -> dict[str, Any]:
    """The settings that are there, each what it must be; one that is null counts as absent, as in the public library."""
    for name in ("rope_type", "type"):
        if isinstance(rope.get(name), str) and rope[name] not in kinds:
            raise FileError(
                f"{where}.{name}={shown(rope[name])} is not supported; only {', '.join(kinds)} are "
                "(angles that change with the length contradict a cache)."
            )
    for name in sorted(rope.keys() - RULES.keys()):
        raise FileError(f"{where}.{name} is not a rotary setting that we know, and it may change the model.")
    return {name: RULES[name](f"{where}.{name}", value) for name, value in rope.items() if value is not None}


def _scaling(where: str, kind: ScalingKind, rope: Mapping[str, Any], context: int) -> RotaryScaling:
    """What each kind reads."""
    original = rope.get("original_max_position_embeddings", context)
    needed = {"linear": ("factor",), "llama3": ("factor", "low_freq_factor", "high_freq_factor"), "yarn": ()}
    for name in needed[kind]:
        if name not in rope:
            raise FileError(f"{where}.{name} is missing, which rope_type={kind!r} needs.")
    if kind == "linear":
        return RotaryScaling(kind, rope["factor"])
    if kind == "llama3":
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        if low >= high:
            raise FileError(f"{where}.low_freq_factor={low} must be below high_freq_factor={high}.")
        return RotaryScaling(kind, rope["factor"], original, low, high)
    factor = rope.get("factor", context / original)  # YaRN's stretch, unless it is said, is that of the context
    if factor < 1:
        raise FileError(f"{where}.original_max_position_embeddings={original} exceeds max_position_embeddings={context}.")
    return RotaryScaling(
        kind,
        factor,
        original,
        beta_fast=rope.get("beta_fast") or 32.0,
        beta_slow=rope.get("beta_slow") or 1.0,
        attention_factor=_attention_factor(factor, rope),
        truncate=rope.get("truncate", True),
    )


def _attention_factor(factor: float, rope: Mapping[str, Any]) -> float | None:
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
