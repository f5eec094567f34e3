"""DistilBERT: BERT without token types, in half as many layers, under other names."""

from __future__ import annotations

from typing import Any

from glyptic.nn.checkpoints.families.fields import SIZE, TRAINING, Field, Idle, each, flag, read
from glyptic.nn.checkpoints.families.mapping import ACTIVATION, Entry, Family, fused, linear, linears, same
from glyptic.nn.config import ModelConfig

FIELDS: dict[str, Field] = {
    "n_layers": read("layers", SIZE),
    "dim": read("width", SIZE),
    "n_heads": read("heads", SIZE),
    "hidden_dim": read("feed_forward_width", SIZE),
    "vocab_size": read("vocabulary", SIZE),
    "max_position_embeddings": read("context", SIZE),
    "activation": read("feed_forward", ACTIVATION, "gelu"),  # of the head too
    "tie_word_embeddings": read("tied", flag, True),
    "tie_weights_": Idle("a note of the first files; tie_word_embeddings is what counts"),
    "sinusoidal_pos_embds": Idle("how the table of positions began; its numbers are in the file"),
    **each("dropout attention_dropout qa_dropout seq_classif_dropout", TRAINING),
}
ALIASES = {"hidden_size": "dim", "num_attention_heads": "n_heads", "num_hidden_layers": "n_layers"}
PARTS = {
    **{"attn.out": "attention.out_lin", "ln1": "sa_layer_norm"},
    **{"mlp.into": "ffn.lin1", "mlp.out": "ffn.lin2", "ln2": "output_layer_norm"},
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    predicts = any(name.startswith("vocab_") for name in names)
    return {
        "kind": "encoder",
        "norm_place": "post",
        "norm_eps": 1e-12,
        "positions": "learned",
        "embedding_norm": True,
        "head": "mlm" if predicts else "none",
    }


def also(config: ModelConfig) -> dict[str, Any]:
    return {"architectures": ["DistilBertForMaskedLM" if config.head == "mlm" else "DistilBertModel"]}


def entries(config: ModelConfig) -> list[Entry]:
    found = [
        same("embedding.token.weight", "distilbert.embeddings.word_embeddings.weight"),
        same("embedding.position.weight", "distilbert.embeddings.position_embeddings.weight"),
        *linear("embedding.norm", "distilbert.embeddings.LayerNorm"),
    ]
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"distilbert.transformer.layer.{layer}"
        found += fused(f"{ours}.attn.qkv", [f"{theirs}.attention.{part}_lin" for part in "qkv"], [config.width] * 3)
        found += linears(ours, theirs, PARTS)
    if config.head == "mlm":
        found += linear("output.dense", "vocab_transform") + linear("output.norm", "vocab_layer_norm")
        found.append(same("output.bias", "vocab_projector.bias"))
        if not config.tied:
            found.append(same("output.weight", "vocab_projector.weight"))
    return found


FAMILY = Family(
    "distilbert",
    {"kind": ["encoder"], "positions": ["learned"], "feed_forward": ACTIVATION.meanings, "head": ["mlm", "none"]},
    FIELDS,
    derive,
    also,
    entries,
    aliases=ALIASES,
    prefix="distilbert.",
    copies={"vocab_projector.weight": "distilbert.embeddings.word_embeddings.weight"},
)
