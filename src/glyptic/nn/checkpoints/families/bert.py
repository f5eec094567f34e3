"""BERT: post-norm encoder, learned positions, token types, a masked-language-model head or none."""

from __future__ import annotations

from typing import Any

from glyptic.errors import FileError
from glyptic.nn.checkpoints.families.fields import EPSILON, SIZE, TEXT, TRAINING, Field, Idle, Only, each, flag, read
from glyptic.nn.checkpoints.families.mapping import ACTIVATION, Entry, Family, fused, linear, linears, same
from glyptic.nn.config import ModelConfig

POOLER = Idle("the pooler, which we do not have")
FIELDS: dict[str, Field] = {
    **TEXT,
    "hidden_act": read("feed_forward", ACTIVATION, "gelu"),  # of the head too
    "layer_norm_eps": read("norm_eps", EPSILON, 1e-12),
    "type_vocab_size": read("token_types", SIZE, 2),
    "tie_word_embeddings": read("tied", flag, True),
    "position_embedding_type": Only("absolute"),
    **each("hidden_dropout_prob attention_probs_dropout_prob", TRAINING),
    **each("pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head", POOLER),
    **each("pooler_type directionality", POOLER),
}


PARTS = {
    **{"attn.out": "attention.output.dense", "ln1": "attention.output.LayerNorm"},
    **{"mlp.into": "intermediate.dense", "mlp.out": "output.dense", "ln2": "output.LayerNorm"},
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    predicts = any(name.startswith("cls.predictions") for name in names)
    if not predicts and any(name.startswith("cls.") for name in names):
        raise FileError("architectures: the head is for next sentences alone (cls.seq_relationship), and we have no such head.")
    return {
        "kind": "encoder",
        "norm_place": "post",
        "positions": "learned",
        "embedding_norm": True,
        "head": "mlm" if predicts else "none",
    }


def also(config: ModelConfig) -> dict[str, Any]:
    return {"architectures": ["BertForMaskedLM" if config.head == "mlm" else "BertModel"]}


def body(config: ModelConfig, base: str) -> list[Entry]:
    """All but the head, where `base` is what the model itself is called."""
    found = [
        same("embedding.token.weight", f"{base}.embeddings.word_embeddings.weight"),
        same("embedding.position.weight", f"{base}.embeddings.position_embeddings.weight"),
        same("embedding.token_type.weight", f"{base}.embeddings.token_type_embeddings.weight"),
        *linear("embedding.norm", f"{base}.embeddings.LayerNorm"),
    ]
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"{base}.encoder.layer.{layer}"
        qkv = [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]
        found += fused(f"{ours}.attn.qkv", qkv, [config.width] * 3)
        found += linears(ours, theirs, PARTS)
    return found


def entries(config: ModelConfig) -> list[Entry]:
    found = body(config, "bert")
    if config.head == "mlm":
        found += linear("output.dense", "cls.predictions.transform.dense")
        found += linear("output.norm", "cls.predictions.transform.LayerNorm")
        if config.tied:
            found.append(same("output.bias", "cls.predictions.bias"))
        else:  # then the public model adds the bias of `decoder`, and not the other one
            found += linear("output", "cls.predictions.decoder")
    return found


FAMILY = Family(
    "bert",
    {"kind": ["encoder"], "positions": ["learned"], "feed_forward": ACTIVATION.meanings, "head": ["mlm", "none"]},
    FIELDS,
    derive,
    also,
    entries,
    prefix="bert.",
    ignored=("*pooler.dense.*", "*position_ids", "cls.predictions.bias", "cls.seq_relationship.*"),
    copies={
        "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        "cls.predictions.decoder.bias": "cls.predictions.bias",
    },
    renamed=(("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")),
)
