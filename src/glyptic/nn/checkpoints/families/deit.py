"""DeiT: ViT with a distillation token; one classifier on the class token, or the mean of two, one on each."""

from __future__ import annotations

from typing import Any

from glyptic.nn.checkpoints.families import vit
from glyptic.nn.checkpoints.families.mapping import Entry, Family, linear, same
from glyptic.nn.config import ModelConfig

ARCHITECTURES = {
    "class": "DeiTForImageClassification",
    "distilled": "DeiTForImageClassificationWithTeacher",
    "none": "DeiTModel",
}


def derive(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    head = "class" if "classifier.weight" in names else "distilled" if "cls_classifier.weight" in names else "none"
    return {
        "kind": "vit",
        "context": (values["image_size"] // values["patch_size"]) ** 2 + 2,
        "positions": "learned",
        "distillation_token": True,
        "head": head,
        "classes": 0 if head == "none" else vit.classes(values),
    }


def also(config: ModelConfig) -> dict[str, Any]:
    return {"architectures": [ARCHITECTURES[config.head]], **vit.labels(config)}


def entries(config: ModelConfig) -> list[Entry]:
    found = vit.body(config, "deit")
    found.append(same("patches.distillation_token", "deit.embeddings.distillation_token"))
    if config.head == "class":
        found += linear("output", "classifier")
    if config.head == "distilled":
        found += linear("output", "cls_classifier") + linear("output.distilled", "distillation_classifier")
    return found


FAMILY = Family(
    "deit",
    {**vit.FAMILY.choices, "head": list(ARCHITECTURES), "distillation_token": [True]},
    vit.FIELDS,
    derive,
    also,
    entries,
    prefix="deit.",
    ignored=vit.FAMILY.ignored,
)
