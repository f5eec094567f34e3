"""Parts of a decoder that an exact transformer does not have; each refusal names the part and a remedy."""

from __future__ import annotations

from glyptic.errors import ModelError
from glyptic.nn.config import ModelConfig


def refuse(config: ModelConfig, max_length: int) -> None:
    """Raise a ModelError for the first part that has no exact counterpart."""
    if config.kind != "decoder" or config.vocabulary is None or config.head != "linear":
        raise ModelError(
            f"kind={config.kind!r}, vocabulary={config.vocabulary}, head={config.head!r}: only a decoder from tokens to "
            "logits becomes an exact transformer; build one with kind='decoder' and head='linear'."
        )
    if config.feed_forward != "relu":
        raise ModelError(
            f"feed_forward={config.feed_forward!r} has no exact version; the exact feed-forward is W₂ relu(W₁x + b₁) + b₂: "
            "train with feed_forward='relu'."
        )
    if config.norm not in ("layer", "none"):
        raise ModelError(f"norm={config.norm!r} has no exact version; use norm='layer' or norm='none'.")
    if config.norm == "none" and config.norm_place == "post":
        raise ModelError("norm='none' has no place: give norm_place='pre'.")
    if config.positions not in ("learned", "sinusoidal", "none"):
        raise ModelError(
            f"positions={config.positions!r} act inside attention, and an exact transformer adds positions to its input; "
            "use positions='learned', 'sinusoidal' or 'none'."
        )
    if config.parallel:
        raise ModelError("parallel=True: exact layers run attention, then the feed-forward; use parallel=False.")
    if config.embedding_norm or config.token_types:
        raise ModelError("embedding_norm and token_types have no exact version; build the decoder without them.")
    if config.sliding_window is not None and config.sliding_window < max_length:
        raise ModelError(
            f"sliding_window={config.sliding_window} is shorter than max_length={max_length}, and exact attention sees "
            "every earlier position; give a smaller max_length, or no window."
        )
