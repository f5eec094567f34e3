"""T5 (and v1.1, with its gated feed-forward): pre-norm encoder–decoder, RMSNorm, bucketed relative positions."""

from __future__ import annotations

from typing import Any

from glyptic.errors import FileError
from glyptic.nn.config import ModelConfig
from glyptic.nn.families.mapping import Entry, Family, fused, linear, same, stacked, whole

FEED_FORWARDS = {"relu": "relu", "gated-gelu": "geglu", "gated-silu": "swiglu"}


def read_config(fields: dict[str, Any], names: set[str]) -> ModelConfig:
    feed_forward = fields.get("feed_forward_proj", "relu")
    if feed_forward not in FEED_FORWARDS:
        raise FileError(f"config.json: feed_forward_proj={feed_forward!r} is not one of {', '.join(FEED_FORWARDS)}.")
    width = whole(fields, "d_model")
    scaled = fields.get("scale_decoder_outputs", fields.get("tie_word_embeddings", True))
    return ModelConfig(
        kind="encoder_decoder",
        layers=fields.get("num_decoder_layers") or fields["num_layers"],
        encoder_layers=fields["num_layers"],
        width=width,
        heads=fields["num_heads"],
        head_width=fields["d_kv"],
        vocabulary=fields["vocab_size"],
        context=fields.get("n_positions", 512),
        feed_forward=FEED_FORWARDS[feed_forward],
        feed_forward_width=fields["d_ff"],
        feed_forward_bias=False,
        attention_bias=False,
        attention_output_bias=False,
        attention_scale=1.0,
        norm="rms",
        norm_eps=fields.get("layer_norm_epsilon", 1e-6),
        positions="t5",
        relative_buckets=fields.get("relative_attention_num_buckets", 32),
        relative_distance=fields.get("relative_attention_max_distance", 128),
        tied="lm_head.weight" not in names,
        output_scale=width**-0.5 if scaled else 1.0,
    )


def write_config(config: ModelConfig) -> dict[str, Any]:
    public = {ours: theirs for theirs, ours in FEED_FORWARDS.items()}
    return {
        "architectures": ["T5ForConditionalGeneration"],
        "is_encoder_decoder": True,
        "num_layers": config.depth_of_encoder,
        "num_decoder_layers": config.layers,
        "d_model": config.width,
        "num_heads": config.heads,
        "d_kv": config.head_size,
        "vocab_size": config.vocabulary,
        "n_positions": config.context,
        "feed_forward_proj": public[config.feed_forward],
        "d_ff": config.hidden_size,
        "layer_norm_epsilon": config.norm_eps,
        "relative_attention_num_buckets": config.relative_buckets,
        "relative_attention_max_distance": config.relative_distance,
        "tie_word_embeddings": config.tied,
        "scale_decoder_outputs": config.output_scale != 1.0,
        "decoder_start_token_id": 0,
        "pad_token_id": 0,
        "eos_token_id": 1,
    }


def entries(config: ModelConfig) -> list[Entry]:
    found = [same("embedding.token.weight", "shared.weight")]
    for side, layers in (("encoder", config.depth_of_encoder), ("decoder", config.layers)):
        table = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        found.append(same(f"{side}.score_bias.table.weight", table))
        found += linear(f"{side}.ln_final", f"{side}.final_layer_norm", bias=False)
        for layer in range(layers):
            found += _layer(config, side, layer)
    if not config.tied:
        found.append(same("output.weight", "lm_head.weight"))
    return found


def _layer(config: ModelConfig, side: str, layer: int) -> list[Entry]:
    ours, theirs = f"{side}.blocks.{layer}", f"{side}.block.{layer}.layer"
    inner = config.heads * config.head_size
    attention = f"{theirs}.0.SelfAttention"
    found = fused(f"{ours}.attn.qkv", [f"{attention}.{p}" for p in "qkv"], [inner] * 3, bias=False)
    found += linear(f"{ours}.attn.out", f"{attention}.o", bias=False)
    found += linear(f"{ours}.ln1", f"{theirs}.0.layer_norm", bias=False)
    last = 1
    if side == "decoder":
        cross, last = f"{theirs}.1.EncDecAttention", 2
        found += linear(f"{ours}.cross_attn.q", f"{cross}.q", bias=False)
        found += fused(f"{ours}.cross_attn.kv", [f"{cross}.k", f"{cross}.v"], [inner] * 2, bias=False)
        found += linear(f"{ours}.cross_attn.out", f"{cross}.o", bias=False)
        found += linear(f"{ours}.ln_cross", f"{theirs}.1.layer_norm", bias=False)
    dense = f"{theirs}.{last}.DenseReluDense"
    if config.feed_forward == "relu":
        found += linear(f"{ours}.mlp.into", f"{dense}.wi", bias=False)
    else:
        parts = [f"{dense}.wi_0.weight", f"{dense}.wi_1.weight"]  # gate, then linear
        found.append(stacked(f"{ours}.mlp.into.weight", parts, [config.hidden_size] * 2))
    found += linear(f"{ours}.mlp.out", f"{dense}.wo", bias=False)
    return found + linear(f"{ours}.ln2", f"{theirs}.{last}.layer_norm", bias=False)


FAMILY = Family(
    "t5",
    {"kind": ["encoder_decoder"], "positions": ["t5"], "feed_forward": list(FEED_FORWARDS.values())},
    read_config,
    write_config,
    entries,
    ignored=("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "*EncDecAttention.relative_attention_bias*"),
)
