"""T5 (and v1.1, with its gated feed-forward): pre-norm encoder–decoder, RMSNorm, bucketed relative positions."""

from __future__ import annotations

from typing import Any

from glyptic.errors import FileError
from glyptic.nn.checkpoints.families.fields import ABSENT, EPSILON, SIZE, TRAINING, Field, Idle, Only, Words, flag, read
from glyptic.nn.checkpoints.families.mapping import Entry, Family, fused, linear, same, stacked
from glyptic.nn.config import ModelConfig
from glyptic.nn.parts.feed_forward import GATED

FEED_FORWARDS = {"relu": "relu", "gated-gelu": "geglu", "gated-silu": "swiglu"}
DENSE = {"relu": "relu", "gelu_new": "gelu_tanh", "silu": "silu"}
DENSE_OF = {"relu": "relu", "geglu": "gelu_tanh", "swiglu": "silu"}  # the functions inside

FIELDS: dict[str, Field] = {
    "num_layers": read("encoder_layers", SIZE),
    "num_decoder_layers": read("layers", SIZE, None),
    "d_model": read("width", SIZE),
    "num_heads": read("heads", SIZE),
    "d_kv": read("head_width", SIZE),
    "vocab_size": read("vocabulary", SIZE),
    "n_positions": read("context", SIZE, 512),
    "feed_forward_proj": read("feed_forward", Words(FEED_FORWARDS), "relu"),
    "d_ff": read("feed_forward_width", SIZE),
    "layer_norm_epsilon": read("norm_eps", EPSILON, 1e-6),
    "relative_attention_num_buckets": read("relative_buckets", SIZE, 32),
    "relative_attention_max_distance": read("relative_distance", SIZE, 128),
    "tie_word_embeddings": read("", flag, True),
    "scale_decoder_outputs": read("", flag, ABSENT),
    "dense_act_fn": read("", Words(DENSE), ABSENT),
    "is_gated_act": read("", flag, ABSENT),
    "is_encoder_decoder": Only(True),
    "is_decoder": Idle("each of the two stacks is told what it is"),
    "dropout_rate": TRAINING,
}
ALIASES = {
    "hidden_size": "d_model",
    "num_attention_heads": "num_heads",
    "num_hidden_layers": "num_layers",
    "head_dim": "d_kv",
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Whether the output is tied is said by its tensor: in the config it came to mean that its input is scaled."""
    feed_forward, scaled = values["feed_forward_proj"], values["scale_decoder_outputs"]
    for name, follows in (("dense_act_fn", DENSE_OF[feed_forward]), ("is_gated_act", feed_forward in GATED)):
        if values[name] not in (None, follows):
            raise FileError(f"{name} is not what feed_forward_proj says, and only that is supported.")
    scaled = values["tie_word_embeddings"] if scaled is None else scaled
    return {
        "kind": "encoder_decoder",
        "layers": values["num_decoder_layers"] or values["num_layers"],
        "feed_forward_bias": False,
        "attention_bias": False,
        "attention_output_bias": False,
        "attention_scale": 1.0,
        "norm": "rms",
        "positions": "t5",
        "tied": "lm_head.weight" not in names,
        "output_scale": values["d_model"] ** -0.5 if scaled else 1.0,
    }


def also(config: ModelConfig) -> dict[str, Any]:
    return {
        "architectures": ["T5ForConditionalGeneration"],
        "is_encoder_decoder": True,
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
    FIELDS,
    derive,
    also,
    entries,
    aliases=ALIASES,
    ignored=("*EncDecAttention.relative_attention_bias*",),
    copies={"encoder.embed_tokens.weight": "shared.weight", "decoder.embed_tokens.weight": "shared.weight"},
)
