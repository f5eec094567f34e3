"""Parts of a decoder that an exact transformer does not have; each refusal names the part and a remedy."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch

from glyptic.errors import ModelError
from glyptic.exact import Options
from glyptic.nn import Decoder
from glyptic.nn.config import ModelConfig

_KINDS = {
    "encoder": "an encoder's positions all see one another and its first decides, and an exact transformer answers at its last",
    "encoder_decoder": "an exact transformer has no cross-attention, and one input",
    "vit": "an exact transformer reads tokens, and not pixels",
}
# What `to_exact` knows of a decoder's config. A field that is not listed here is refused, unless it has its default: whoever adds
# one to `ModelConfig` then has time to think of its exact counterpart.
_KNOWN = {
    *("kind", "layers", "width", "heads", "vocabulary", "context", "key_value_heads", "head_width", "attention_scale"),
    *("attention_bias", "attention_output_bias", "sliding_window", "backend", "feed_forward", "feed_forward_width"),
    *("feed_forward_bias", "norm", "norm_place", "norm_eps", "final_norm", "parallel", "positions", "position_precision"),
    *("position_offset", "sinusoidal_layout", "rotary_base", "rotary_fraction", "rotary_scaling", "relative_buckets"),
    *("relative_distance", "embedding_scale", "embedding_scale_rounded", "embedding_norm", "embedding_width"),
    *("query_key_norm", "token_types", "head", "classes"),
    *("tied", "output_bias", "output_bias_frozen", "output_scale", "dropout", "attention_dropout"),
    *("encoder_layers", "norm_groups", "image_size", "patch_size", "channels"),  # of other models and norms
}
_EXACT_NORMS = ("layer", "rms", "rms_plus_one", "rms_outside", "none")
_NORMS = {
    "batch": "its statistics are those of the training batches",
    "instance": "its statistics are over all positions",
    "group": "exact norms go over all coordinates",
}


def refuse(config: ModelConfig, max_length: int) -> None:
    """Raise a ModelError for the first part that has no exact counterpart."""
    if config.kind != "decoder":
        raise ModelError(f"kind={config.kind!r}: {_KINDS[config.kind]}; build a model with kind='decoder'.")
    if config.vocabulary is None or config.head not in ("linear", "class"):
        raise ModelError(
            f"vocabulary={config.vocabulary}, head={config.head!r}: only a decoder from tokens to logits becomes an exact "
            "transformer; build one with a vocabulary, and head='linear' or head='class'."
        )
    if config.norm not in _EXACT_NORMS:
        why = _NORMS.get(config.norm, "it has no exact version")
        raise ModelError(f"norm={config.norm!r}: {why}; use norm='layer', 'rms', 'rms_outside' or 'none'.")
    if config.query_key_norm:
        raise ModelError("query_key_norm=True norms each head's queries and keys, and exact heads do not; build one without it.")
    if config.norm == "none" and config.norm_place == "post":
        raise ModelError("norm='none' has no place: give norm_place='pre'.")
    if config.positions == "learned" and max_length > config.context:
        raise ModelError(
            f"max_length={max_length} is longer than the learned table of context={config.context}; shorten it."
        )
    for field in fields(config):
        if field.name not in _KNOWN and getattr(config, field.name) != field.default:
            value = getattr(config, field.name)
            raise ModelError(f"{field.name}={value!r} has no exact version; build the decoder without it.")
    if config.sliding_window is not None and config.sliding_window < max_length:
        raise ModelError(
            f"sliding_window={config.sliding_window} is shorter than max_length={max_length}, and exact attention sees "
            "every earlier position; give a smaller max_length, or no window."
        )


def refuse_weights(model: Decoder) -> None:
    """Numbers only: a bias of −∞ in the output rules a token out, anything else that is not finite has no meaning."""
    for name, parameter in model.named_parameters():
        if parameter.is_meta:
            raise ModelError(f"{name} has no numbers, only a shape (device 'meta'); load the weights first.")
        wrong = ~torch.isfinite(parameter)
        if name == "output.bias":
            wrong &= parameter != float("-inf")
        if bool(wrong.any()):
            place = wrong.nonzero()[0].tolist()
            raise ModelError(
                f"{name}{place} is {parameter[tuple(place)].item()}; only numbers have a place in a format."
            )
    bias = None if model.output is None else model.output.bias
    if bias is not None and bool(torch.isneginf(bias).all()):
        raise ModelError("output.bias is −∞ for every token, so that none can be said.")


def options_of(config: ModelConfig, scale: bool, norm: str | None, mask: str | None, **chosen: Any) -> Options:
    """The options of the transformer: the caller chooses how to read the decoder, not what it is."""
    decided: dict[str, Any] = {"norm": _norm_place(config), "mask": "causal"}
    for name, value in {"norm": norm, "mask": mask}.items():
        if value not in (None, decided[name]):
            raise ModelError(f"{name}={value!r} contradicts the decoder, where it is {decided[name]!r}; leave it out.")
    return Options(scale=scale, **decided, **chosen)


def _norm_place(config: ModelConfig) -> str:
    return "none" if config.norm == "none" else config.norm_place
