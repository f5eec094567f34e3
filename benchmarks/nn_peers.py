"""The same decoder from four libraries: sizes, activation, norms and positions alike, weights their own.

Each `build` gives a module with forward(tokens [B, T]) → logits [B, T, V].
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.timing import Timings
from glyptic import nn as glyptic_nn


def rates(timings: Timings, base: str, tokens: int) -> str:
    """tokens/s: the base's own median, and the others' by the medians of ratios, which is what the rows give."""
    own = tokens / timings.seconds(base)
    return ", ".join(f"{name} {own / timings.speed(base, name):,.0f}" for name in timings.rounds if name != "products")


def versions(*packages: str) -> str:
    """The versions that were measured."""
    return ", ".join(f"{package} {metadata.version(package)}" for package in ("torch", *packages))


@dataclass(frozen=True)
class Size:
    """A decoder's size; pre-norm, GELU (erf), learned positions, untied output, no dropout."""

    name: str
    layers: int
    width: int
    heads: int
    batch: int
    vocabulary: int = 512
    context: int = 256


SMALL = Size("1 M", layers=4, width=128, heads=4, batch=8)
LARGE = Size("10 M", layers=6, width=384, heads=6, batch=4)


def ours(size: Size, backend: str = "sdpa", context: int | None = None) -> Any:
    config = glyptic_nn.ModelConfig(
        kind="decoder",
        layers=size.layers,
        width=size.width,
        heads=size.heads,
        vocabulary=size.vocabulary,
        context=context or size.context,
        feed_forward="gelu",
        tied=False,
        backend=backend,
    )
    return glyptic_nn.build(config, seed=0)


def hugging_face(size: Size, context: int | None = None) -> Any:
    """GPT-2 of transformers, whose attention is torch's scaled_dot_product_attention."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=size.vocabulary,
        n_positions=context or size.context,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        attn_implementation="sdpa",
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return GPT2LMHeadModel(config)


class HuggingFace(nn.Module):
    """Logits alone, without the cache that only generation needs."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.model = hugging_face(size)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(tokens, use_cache=False).logits


def x_transformers(size: Size) -> Any:
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(
        dim=size.width,
        depth=size.layers,
        heads=size.heads,
        attn_dim_head=size.width // size.heads,
        attn_flash=True,
    )
    return TransformerWrapper(
        num_tokens=size.vocabulary, max_seq_len=size.context, use_abs_pos_emb=True, attn_layers=layers
    )


class TorchEncoder(nn.Module):
    """nn.TransformerEncoder under a causal mask: torch's own way to a decoder without cross-attention."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            size.width, size.heads, 4 * size.width, 0.0, "gelu", batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(size.width)
        self.stack = nn.TransformerEncoder(layer, size.layers, norm=norm, enable_nested_tensor=False)
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.positions = nn.Embedding(size.context, size.width)
        self.output = nn.Linear(size.width, size.vocabulary, bias=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(size.context))

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.positions(torch.arange(length))
        mask = self.mask[:length, :length].to(x.dtype)
        return self.output(self.stack(x, mask=mask, is_causal=True))
