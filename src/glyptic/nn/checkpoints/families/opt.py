"""OPT: GPT-2 with ReLU, matrices as they are used, and two rows of the learned table before that of the first position."""

from __future__ import annotations

from typing import Any

from glyptic.nn.checkpoints.families.fields import SIZE, TEXT, TRAINING, Field, Idle, Only, each, flag, read
from glyptic.nn.checkpoints.families.mapping import ACTIVATION, Entry, Family, fused, linear, linears, same
from glyptic.nn.config import ModelConfig

OFFSET = 2
FIELDS: dict[str, Field] = {
    **{name: field for name, field in TEXT.items() if name != "intermediate_size"},
    "ffn_dim": read("feed_forward_width", SIZE),
    "word_embed_proj_dim": read("", SIZE, None),
    "activation_function": read("feed_forward", ACTIVATION, "relu"),
    "do_layer_norm_before": read("", flag, True),
    "_remove_final_layer_norm": read("", flag, False),
    "enable_bias": read("attention_bias attention_output_bias feed_forward_bias", flag, True),
    "tie_word_embeddings": read("tied", flag, True),
    "layer_norm_elementwise_affine": Only(True),
    "is_decoder": Idle("it is a decoder in any case"),
    **each("dropout attention_dropout layerdrop activation_dropout", TRAINING),
}
PARTS = {"attn.out": "self_attn.out_proj", "mlp.into": "fc1", "mlp.out": "fc2"}
NORMS = {"ln1": "self_attn_layer_norm", "ln2": "final_layer_norm"}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    before, narrow = values["do_layer_norm_before"], values["word_embed_proj_dim"]
    return {
        "kind": "decoder",
        "norm_place": "pre" if before else "post",
        "final_norm": before and not values["_remove_final_layer_norm"],
        "positions": "learned",
        "position_offset": OFFSET,
        "embedding_width": None if narrow == values["hidden_size"] else narrow,
    }


def also(config: ModelConfig) -> dict[str, Any]:
    return {
        "architectures": ["OPTForCausalLM"],
        "do_layer_norm_before": config.norm_place == "pre",
        "_remove_final_layer_norm": config.norm_place == "pre" and not config.has_final_norm,
        "word_embed_proj_dim": config.embedding_width or config.width,
    }


def entries(config: ModelConfig) -> list[Entry]:
    found = [
        same("embedding.token.weight", "model.decoder.embed_tokens.weight"),
        same("embedding.position.weight", "model.decoder.embed_positions.weight"),
    ]
    if config.embedding_width is not None:
        found.append(same("embedding.widen.weight", "model.decoder.project_in.weight"))
        found.append(same("output.narrow.weight", "model.decoder.project_out.weight"))
    if config.has_final_norm:
        found += linear("stack.ln_final", "model.decoder.final_layer_norm")
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"model.decoder.layers.{layer}"
        qkv = [f"{theirs}.self_attn.{part}_proj" for part in "qkv"]
        found += fused(f"{ours}.attn.qkv", qkv, [config.width] * 3, config.attention_bias)
        found += linears(ours, theirs, PARTS, config.attention_bias) + linears(ours, theirs, NORMS)
    if not config.tied:
        found.append(same("output.weight", "lm_head.weight"))
    return found


FAMILY = Family(
    "opt",
    {"kind": ["decoder"], "positions": ["learned"], "feed_forward": ACTIVATION.meanings, "head": ["linear"]},
    FIELDS,
    derive,
    also,
    entries,
    prefix="model.",
    copies={"lm_head.weight": "model.decoder.embed_tokens.weight"},
)
