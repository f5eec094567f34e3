"""Public families, one file each: how their config and tensors become ours, and back."""

from glyptic.nn.checkpoints.families import bert, gpt2, gpt_neox, llama, marian, t5, vit
from glyptic.nn.checkpoints.families.mapping import Entry, Family

FAMILIES: dict[str, Family] = {
    module.FAMILY.model_type: module.FAMILY for module in (gpt2, bert, t5, llama, gpt_neox, vit, marian)
}

__all__ = ["FAMILIES", "Entry", "Family"]
