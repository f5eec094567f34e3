"""ViT: pre-norm encoder over patches, a class token, a classifier or none."""

from __future__ import annotations

from typing import Any

from glyptic.nn.config import ModelConfig
from glyptic.nn.families.mapping import (
    PUBLIC_ACTIVATIONS,
    Entry,
    Family,
    activation,
    fused,
    linear,
    require,
    same,
    shaped,
    whole,
)


def read_config(fields: dict[str, Any], names: set[str]) -> ModelConfig:
    require(fields, "qkv_bias", True)
    image, patch = whole(fields, "image_size"), whole(fields, "patch_size")
    classified = "classifier.weight" in names
    return ModelConfig(
        kind="vit",
        layers=fields["num_hidden_layers"],
        width=fields["hidden_size"],
        heads=fields["num_attention_heads"],
        context=(image // patch) ** 2 + 1,
        image_size=image,
        patch_size=patch,
        channels=fields.get("num_channels", 3),
        feed_forward=activation(fields, "hidden_act", "gelu"),
        feed_forward_width=fields["intermediate_size"],
        norm_eps=fields.get("layer_norm_eps", 1e-12),
        positions="learned",
        head="class" if classified else "none",
        classes=len(fields.get("id2label") or "ab") if classified else 0,  # two, unless the labels are written
    )


def write_config(config: ModelConfig) -> dict[str, Any]:
    labels = {str(i): f"LABEL_{i}" for i in range(config.classes)}
    return {
        "architectures": ["ViTForImageClassification" if config.head == "class" else "ViTModel"],
        "num_hidden_layers": config.layers,
        "hidden_size": config.width,
        "num_attention_heads": config.heads,
        "image_size": config.image_size,
        "patch_size": config.patch_size,
        "num_channels": config.channels,
        "hidden_act": PUBLIC_ACTIVATIONS[config.feed_forward],
        "intermediate_size": config.hidden_size,
        "layer_norm_eps": config.norm_eps,
        "qkv_bias": True,
        **({"id2label": labels, "label2id": {name: int(i) for i, name in labels.items()}} if labels else {}),
    }


def entries(config: ModelConfig) -> list[Entry]:
    D, patch = config.width, config.patch_size
    projection = "vit.embeddings.patch_embeddings.projection"
    flat, square = (D, config.channels * patch**2), (D, config.channels, patch, patch)
    found = [
        same("patches.class_token", "vit.embeddings.cls_token"),
        shaped("patches.project.weight", f"{projection}.weight", flat, square),
        same("patches.project.bias", f"{projection}.bias"),
        shaped(
            "embedding.position.weight",
            "vit.embeddings.position_embeddings",
            (config.context, D),
            (1, config.context, D),
        ),
        *linear("stack.ln_final", "vit.layernorm"),
    ]
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"vit.encoder.layer.{layer}"
        qkv = [f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value")]
        found += fused(f"{ours}.attn.qkv", qkv, [D] * 3)
        found += linear(f"{ours}.attn.out", f"{theirs}.attention.output.dense")
        found += linear(f"{ours}.mlp.into", f"{theirs}.intermediate.dense")
        found += linear(f"{ours}.mlp.out", f"{theirs}.output.dense")
        found += linear(f"{ours}.ln1", f"{theirs}.layernorm_before")
        found += linear(f"{ours}.ln2", f"{theirs}.layernorm_after")
    if config.head == "class":
        found += linear("output", "classifier")
    return found


FAMILY = Family(
    "vit",
    {"kind": ["vit"], "positions": ["learned"], "feed_forward": list(PUBLIC_ACTIVATIONS), "head": ["class", "none"]},
    read_config,
    write_config,
    entries,
    prefix="vit.",
    ignored=("*pooler.dense.*",),
)
