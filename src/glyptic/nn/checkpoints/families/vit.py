"""ViT: pre-norm encoder over patches, a class token, a classifier or none."""

from __future__ import annotations

from typing import Any

from glyptic.errors import FileError
from glyptic.nn.checkpoints.families.fields import EPSILON, SIZE, SIZES, TRAINING, Field, Idle, each, flag, group, read
from glyptic.nn.checkpoints.families.mapping import ACTIVATION, Entry, Family, fused, linear, linears, same, shaped
from glyptic.nn.config import ModelConfig

FIELDS: dict[str, Field] = {
    **SIZES,
    "image_size": read("image_size", SIZE),
    "patch_size": read("patch_size", SIZE),
    "num_channels": read("channels", SIZE, 3),
    "hidden_act": read("feed_forward", ACTIVATION, "gelu"),
    "layer_norm_eps": read("norm_eps", EPSILON, 1e-12),
    "id2label": read("", group, None),
    "num_labels": read("", SIZE, None),
    "qkv_bias": read("attention_bias", flag, True),
    "encoder_stride": Idle("a head that paints images, which no tensor here is of"),
    **each("pooler_output_size pooler_act", Idle("the pooler, which we do not have")),
    **each("hidden_dropout_prob attention_probs_dropout_prob", TRAINING),
}


PARTS = {
    **{"attn.out": "attention.output.dense", "ln1": "layernorm_before", "ln2": "layernorm_after"},
    **{"mlp.into": "intermediate.dense", "mlp.out": "output.dense"},
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    classified = "classifier.weight" in names
    return {
        "kind": "vit",
        "context": (values["image_size"] // values["patch_size"]) ** 2 + 1,
        "positions": "learned",
        "head": "class" if classified else "none",
        "classes": classes(values) if classified else 0,
    }


def classes(values: dict[str, Any]) -> int:
    """As many as there are labels; two, unless they are written."""
    labels, number = len(values["id2label"] or "ab"), values["num_labels"]
    if values["id2label"] and number not in (None, labels):
        raise FileError(f"num_labels={number} is not the number of labels in id2label, {labels}.")
    return number or labels


def also(config: ModelConfig) -> dict[str, Any]:
    return {"architectures": ["ViTForImageClassification" if config.head == "class" else "ViTModel"], **labels(config)}


def labels(config: ModelConfig) -> dict[str, Any]:
    """Names of the classes, if there are any."""
    named = {str(i): f"LABEL_{i}" for i in range(config.classes)}
    return {"id2label": named, "label2id": {name: int(i) for i, name in named.items()}} if named else {}


def body(config: ModelConfig, base: str) -> list[Entry]:
    """All but the head, where `base` is what the model itself is called."""
    D, patch = config.width, config.patch_size
    projection = f"{base}.embeddings.patch_embeddings.projection"
    flat, square = (D, config.channels * patch**2), (D, config.channels, patch, patch)
    found = [
        same("patches.class_token", f"{base}.embeddings.cls_token"),
        shaped("patches.project.weight", f"{projection}.weight", flat, square),
        same("patches.project.bias", f"{projection}.bias"),
        shaped(
            "embedding.position.weight",
            f"{base}.embeddings.position_embeddings",
            (config.context, D),
            (1, config.context, D),
        ),
        *linear("stack.ln_final", f"{base}.layernorm"),
    ]
    for layer in range(config.layers):
        ours, theirs = f"stack.blocks.{layer}", f"{base}.encoder.layer.{layer}"
        qkv = [f"{theirs}.attention.attention.{part}" for part in ("query", "key", "value")]
        found += fused(f"{ours}.attn.qkv", qkv, [D] * 3, config.attention_bias)
        found += linears(ours, theirs, PARTS)
    return found


def entries(config: ModelConfig) -> list[Entry]:
    return body(config, "vit") + (linear("output", "classifier") if config.head == "class" else [])


FAMILY = Family(
    "vit",
    {"kind": ["vit"], "positions": ["learned"], "feed_forward": ACTIVATION.meanings, "head": ["class", "none"]},
    FIELDS,
    derive,
    also,
    entries,
    prefix="vit.",
    ignored=("*pooler.dense.*",),
)
