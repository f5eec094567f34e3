"""GPT-2: pre-norm decoder, learned positions, matrices stored as input × output."""

from __future__ import annotations

from typing import Any

from glyptic.nn.checkpoints.families.fields import EPSILON, SIZE, TRAINING, Field, Idle, Only, each, flag, read
from glyptic.nn.checkpoints.families.mapping import ACTIVATION, Entry, Family, linear, same, transposed
from glyptic.nn.config import ModelConfig

SUMMARIES = ("type", "use_proj", "activation", "proj_to_labels", "first_dropout")

FIELDS: dict[str, Field] = {
    "n_layer": read("layers", SIZE),
    "n_embd": read("width", SIZE),
    "n_head": read("heads", SIZE),
    "vocab_size": read("vocabulary", SIZE),
    "n_positions": read("context", SIZE),
    "n_inner": read("feed_forward_width", SIZE, None),
    "activation_function": read("feed_forward", ACTIVATION, "gelu_new"),
    "layer_norm_epsilon": read("norm_eps", EPSILON, 1e-5),
    "tie_word_embeddings": read("tied", flag, True),
    "scale_attn_weights": Only(True),
    "scale_attn_by_inverse_layer_idx": Only(False),
    "reorder_and_upcast_attn": Idle("the same numbers in another order; ours takes sums in float32 at least"),
    "is_decoder": Idle("it is a decoder in any case"),
    **each("resid_pdrop embd_pdrop attn_pdrop", TRAINING),
    **{f"summary_{what}": Idle("a head that no tensor here is of") for what in SUMMARIES},
}
ALIASES = {
    "hidden_size": "n_embd",
    "max_position_embeddings": "n_positions",
    "num_attention_heads": "n_head",
    "num_hidden_layers": "n_layer",
    "n_ctx": "n_positions",
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {"kind": "decoder", "positions": "learned"}


def also(config: ModelConfig) -> dict[str, Any]:
    return {"architectures": ["GPT2LMHeadModel"], "n_inner": config.feed_forward_width}


def entries(config: ModelConfig) -> list[Entry]:
    found = [
        same("embedding.token.weight", "transformer.wte.weight"),
        same("embedding.position.weight", "transformer.wpe.weight"),
        *linear("stack.ln_final", "transformer.ln_f"),
    ]
    matrices = {"attn.qkv": "attn.c_attn", "attn.out": "attn.c_proj", "mlp.into": "mlp.c_fc", "mlp.out": "mlp.c_proj"}
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"transformer.h.{layer}"
        found += linear(f"{ours}.ln1", f"{theirs}.ln_1") + linear(f"{ours}.ln2", f"{theirs}.ln_2")
        for our, their in matrices.items():
            found.append(transposed(f"{ours}.{our}.weight", f"{theirs}.{their}.weight"))
            found.append(same(f"{ours}.{our}.bias", f"{theirs}.{their}.bias"))
    if not config.tied:
        found.append(same("output.weight", "lm_head.weight"))
    return found


FAMILY = Family(
    "gpt2",
    {"kind": ["decoder"], "positions": ["learned"], "feed_forward": ACTIVATION.meanings},
    FIELDS,
    derive,
    also,
    entries,
    aliases=ALIASES,
    prefix="transformer.",
    ignored=("*.attn.bias", "*.attn.masked_bias"),
    copies={"lm_head.weight": "transformer.wte.weight"},
)
