"""BERT: post-norm encoder, learned positions, token types, a masked-language-model head or none."""

from __future__ import annotations

from typing import Any

from glyptic.nn.config import ModelConfig
from glyptic.nn.families.mapping import PUBLIC_ACTIVATIONS, Entry, Family, activation, fused, linear, require, same


def read_config(fields: dict[str, Any], names: set[str]) -> ModelConfig:
    require(fields, "is_decoder", False)
    require(fields, "position_embedding_type", "absolute")
    return ModelConfig(
        kind="encoder",
        layers=fields["num_hidden_layers"],
        width=fields["hidden_size"],
        heads=fields["num_attention_heads"],
        vocabulary=fields["vocab_size"],
        context=fields["max_position_embeddings"],
        feed_forward=activation(fields, "hidden_act", "gelu"),
        feed_forward_width=fields["intermediate_size"],
        norm_place="post",
        norm_eps=fields.get("layer_norm_eps", 1e-12),
        positions="learned",
        embedding_norm=True,
        token_types=fields.get("type_vocab_size", 2),
        head="mlm" if any(name.startswith("cls.predictions") for name in names) else "none",
        tied=fields.get("tie_word_embeddings", True),
    )


def write_config(config: ModelConfig) -> dict[str, Any]:
    return {
        "architectures": ["BertForMaskedLM" if config.head == "mlm" else "BertModel"],
        "num_hidden_layers": config.layers,
        "hidden_size": config.width,
        "num_attention_heads": config.heads,
        "vocab_size": config.vocabulary,
        "max_position_embeddings": config.context,
        "hidden_act": PUBLIC_ACTIVATIONS[config.feed_forward],
        "intermediate_size": config.hidden_size,
        "layer_norm_eps": config.norm_eps,
        "type_vocab_size": config.token_types,
        "tie_word_embeddings": config.tied,
    }


def entries(config: ModelConfig) -> list[Entry]:
    found = [
        same("embedding.token.weight", "bert.embeddings.word_embeddings.weight"),
        same("embedding.position.weight", "bert.embeddings.position_embeddings.weight"),
        same("embedding.token_type.weight", "bert.embeddings.token_type_embeddings.weight"),
        *linear("embedding.norm", "bert.embeddings.LayerNorm"),
    ]
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"bert.encoder.layer.{layer}"
        qkv = [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]
        found += fused(f"{ours}.attn.qkv", qkv, [config.width] * 3)
        found += linear(f"{ours}.attn.out", f"{theirs}.attention.output.dense")
        found += linear(f"{ours}.ln1", f"{theirs}.attention.output.LayerNorm")
        found += linear(f"{ours}.mlp.into", f"{theirs}.intermediate.dense")
        found += linear(f"{ours}.mlp.out", f"{theirs}.output.dense")
        found += linear(f"{ours}.ln2", f"{theirs}.output.LayerNorm")
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
    {"kind": ["encoder"], "positions": ["learned"], "feed_forward": list(PUBLIC_ACTIVATIONS), "head": ["mlm", "none"]},
    read_config,
    write_config,
    entries,
    prefix="bert.",
    ignored=(
        "*pooler.dense.*",
        "*position_ids",
        "cls.predictions.bias",
        "cls.predictions.decoder.bias",
        "cls.seq_relationship.*",
    ),
    renamed=(("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")),
)
