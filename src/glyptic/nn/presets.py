"""Public architectures by name: `nn.preset("gpt2")`, any field changed by keyword.

Sizes are those of the smallest published model of each family; `vaswani` is also there as `vaswani_big`.
"""

from __future__ import annotations

from typing import Any, Unpack

from glyptic.arguments import shown
from glyptic.errors import ModelError
from glyptic.nn.config import AllChanges, ModelConfig, known

VASWANI: dict[str, Any] = {
    # "Attention is all you need", to the letter: post-norm, ReLU, sinusoids, one shared embedding times √D,
    # projections without biases (§3.2.2), dropout on embeddings and on the output of each sub-layer (§5.4).
    "kind": "encoder_decoder",
    "layers": 6,
    "width": 512,
    "heads": 8,
    "feed_forward_width": 2048,
    "vocabulary": 37000,
    "context": 1024,
    "feed_forward": "relu",
    "norm_place": "post",
    "positions": "sinusoidal",
    "attention_bias": False,
    "attention_output_bias": False,
    "embedding_scale": True,
    "tied": True,
    "dropout": 0.1,
}

# What LLaMA and its kin share: a decoder without biases, RMSNorm, rotary positions, a gated feed-forward.
LLAMA: dict[str, Any] = {
    "kind": "decoder",
    "feed_forward": "swiglu",
    "feed_forward_bias": False,
    "attention_bias": False,
    "attention_output_bias": False,
    "norm": "rms",
    "norm_eps": 1e-6,
    "positions": "rotary",
}
# What BERT and its kin share: post-norm, learned positions, a norm on the embeddings, a head for masked words.
BERT: dict[str, Any] = {
    "kind": "encoder",
    "layers": 12,
    "width": 768,
    "heads": 12,
    "vocabulary": 30522,
    "context": 512,
    "feed_forward": "gelu",
    "norm_place": "post",
    "norm_eps": 1e-12,
    "positions": "learned",
    "embedding_norm": True,
    "head": "mlm",
}

PRESETS: dict[str, dict[str, Any]] = {
    "vaswani": VASWANI,
    "vaswani_big": VASWANI | {"width": 1024, "heads": 16, "feed_forward_width": 4096, "dropout": 0.3},
    "gpt2": {
        "kind": "decoder",
        "layers": 12,
        "width": 768,
        "heads": 12,
        "vocabulary": 50257,
        "context": 1024,
        "feed_forward": "gelu_tanh",
        "positions": "learned",
    },
    "opt": {
        "kind": "decoder",
        "layers": 12,
        "width": 768,
        "heads": 12,
        "vocabulary": 50272,
        "context": 2048,
        "feed_forward": "relu",
        "positions": "learned",
        "position_offset": 2,
    },
    "bert": BERT | {"token_types": 2},
    "roberta": BERT | {"vocabulary": 50265, "position_offset": 2, "token_types": 1, "norm_eps": 1e-5},
    "distilbert": BERT | {"layers": 6},
    "t5": {
        "kind": "encoder_decoder",
        "layers": 6,
        "width": 512,
        "heads": 8,
        "head_width": 64,
        "vocabulary": 32128,
        "context": 512,
        "feed_forward": "relu",
        "feed_forward_width": 2048,
        "feed_forward_bias": False,
        "attention_bias": False,
        "attention_output_bias": False,
        "attention_scale": 1.0,
        "norm": "rms",
        "norm_eps": 1e-6,
        "positions": "t5",
        "output_scale": 512**-0.5,
    },
    "llama": LLAMA
    | {
        "layers": 32,
        "width": 4096,
        "heads": 32,
        "vocabulary": 32000,
        "context": 4096,
        "feed_forward_width": 11008,
        "norm_eps": 1e-5,
        "tied": False,
    },
    "mistral": LLAMA
    | {
        "layers": 32,
        "width": 4096,
        "heads": 32,
        "key_value_heads": 8,
        "vocabulary": 32000,
        "context": 32768,
        "sliding_window": 4096,
        "feed_forward_width": 14336,
        "norm_eps": 1e-5,
        "tied": False,
    },
    "qwen2": LLAMA
    | {
        "layers": 24,
        "width": 896,
        "heads": 14,
        "key_value_heads": 2,
        "vocabulary": 151936,
        "context": 131072,
        "feed_forward_width": 4864,
        "attention_bias": True,
        "rotary_base": 1e6,
    },
    "qwen3": LLAMA
    | {
        "layers": 28,
        "width": 1024,
        "heads": 16,
        "key_value_heads": 8,
        "head_width": 128,
        "vocabulary": 151936,
        "context": 40960,
        "feed_forward_width": 3072,
        "query_key_norm": True,
        "rotary_base": 1e6,
    },
    "gemma": LLAMA
    | {
        "layers": 18,
        "width": 2048,
        "heads": 8,
        "key_value_heads": 1,
        "head_width": 256,
        "vocabulary": 256000,
        "context": 8192,
        "feed_forward": "geglu",
        "feed_forward_width": 16384,
        "norm": "rms_plus_one",
        "embedding_scale": True,
        "embedding_scale_rounded": True,
    },
    "phi3": LLAMA
    | {
        "layers": 32,
        "width": 3072,
        "heads": 32,
        "vocabulary": 32064,
        "context": 4096,
        "sliding_window": 2047,
        "feed_forward_width": 8192,
        "norm_eps": 1e-5,
        "tied": False,
    },
    "gpt_neox": {
        "kind": "decoder",
        "layers": 6,
        "width": 512,
        "heads": 8,
        "vocabulary": 50304,
        "context": 2048,
        "feed_forward": "gelu",
        "positions": "rotary",
        "rotary_fraction": 0.25,
        "parallel": True,
        "tied": False,
    },
    "vit": {
        "kind": "vit",
        "layers": 12,
        "width": 768,
        "heads": 12,
        "image_size": 224,
        "patch_size": 16,
        "feed_forward": "gelu",
        "norm_eps": 1e-12,
        "positions": "learned",
        "head": "class",
        "classes": 1000,
    },
    "deit": {
        "kind": "vit",
        "layers": 12,
        "width": 192,
        "heads": 3,
        "image_size": 224,
        "patch_size": 16,
        "feed_forward": "gelu",
        "norm_eps": 1e-12,
        "positions": "learned",
        "distillation_token": True,
        "head": "distilled",
        "classes": 1000,
    },
    "transformer_xl": {
        # The base model for WikiText-103, with an ordinary softmax for its adaptive one.
        "kind": "decoder",
        "layers": 16,
        "width": 410,
        "heads": 10,
        "head_width": 41,
        "feed_forward_width": 2100,
        "vocabulary": 267735,
        "context": 150,
        "feed_forward": "relu",
        "norm_place": "post",
        "positions": "transformer_xl",
        "attention_bias": False,
        "attention_output_bias": False,
        "embedding_scale": True,
        "output_bias": True,
        "dropout": 0.1,
    },
}


def preset(name: str, **changes: Unpack[AllChanges]) -> ModelConfig:
    """The config of a public architecture.

    >>> preset("gpt2", layers=2, width=64, heads=4).head_size
    16
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise ModelError(f"{shown(name)} is not a preset; there are {', '.join(sorted(PRESETS))}.")
    known(changes, "preset")
    config = ModelConfig(**{**PRESETS[name], **changes})
    return config.replace(output_scale=config.width**-0.5) if name == "t5" and "output_scale" not in changes else config
