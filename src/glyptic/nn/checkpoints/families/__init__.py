"""Public families, one file each: how their config and tensors become ours, and back."""

from glyptic.nn.checkpoints.families import (
    bert,
    deit,
    distilbert,
    gemma,
    gpt2,
    gpt_neox,
    llama,
    marian,
    mistral,
    opt,
    phi3,
    qwen2,
    qwen3,
    roberta,
    t5,
    vit,
)
from glyptic.nn.checkpoints.families.mapping import Entry, Family

FAMILIES: dict[str, Family] = {
    module.FAMILY.model_type: module.FAMILY
    for module in (
        *(gpt2, opt, llama, mistral, qwen2, qwen3, gemma, phi3, gpt_neox),
        *(bert, roberta, distilbert, t5, marian, vit, deit),
    )
}

# near kin of these whose parts we do not have
NOT_HERE = {
    "gemma2": "caps scores and logits by tanh, norms what each part puts out, and has a sliding window in every other layer",
    "gemma3": "norms what each part puts out, and has a sliding window, and angles of its own, in five of six layers",
    "gemma3_text": "norms what each part puts out, and has a sliding window, and angles of its own, in five of six layers",
}

__all__ = ["FAMILIES", "NOT_HERE", "Entry", "Family"]
