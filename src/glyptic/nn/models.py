"""The four models, each from one `ModelConfig`.

    Decoder          tokens or vectors → logits for the next token      GPT-2, LLaMA, GPT-NeoX, Transformer-XL
    Encoder          tokens or vectors → a vector (logits) each         BERT
    EncoderDecoder   source, target → logits for the next target token  Vaswani, T5, Marian
    ViT              images → classes                                   ViT

`hidden(…)` stops before the output matrix; `model(…)` gives logits, or hidden states with `head='none'`.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from glyptic.errors import InputError, ModelError
from glyptic.nn.cache import Cache, FixedCache, RingCache, StaticCache
from glyptic.nn.config import ModelConfig
from glyptic.nn.embeddings import InputEmbedding, Output, PatchEmbedding
from glyptic.nn.initialize import initialize
from glyptic.nn.multi_head import Memory
from glyptic.nn.stack import Stack


class Model(nn.Module):
    """What all four share: config, output, caches."""

    kind = ""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        if config.kind != self.kind:
            raise ModelError(f"kind={config.kind!r} is not what {type(self).__name__} is built from; use nn.build.")
        self.config = config
        self.embedding = InputEmbedding(config)
        self.output = Output(config) if config.head != "none" else None

    def logits(self, hidden: Tensor) -> Tensor:
        """Hidden states → logits; hidden states themselves if the model has no head."""
        if self.output is None:
            return hidden
        return self.output(hidden, None if self.embedding.token is None else self.embedding.token.weight)

    def new_cache(self, batch: int, capacity: int | None = None, kind: str = "static") -> Cache:
        """An empty cache for this model: `static`, `ring` (needs sliding_window) or `fixed` (for torch.compile)."""
        if not self.config.has_decoder:
            raise ModelError(f"kind={self.config.kind!r} sees the whole input at once and has no use for a cache.")
        weight = next(self.parameters())
        if kind == "ring":
            return RingCache(self.config, batch, weight.dtype, weight.device)
        if kind not in ("static", "fixed"):
            raise ModelError(f"kind={kind!r} is not a cache; choose static, ring or fixed.")
        make = FixedCache if kind == "fixed" else StaticCache
        return make(self.config, batch, capacity, weight.dtype, weight.device)

    def _run(
        self,
        stack: Stack,
        x: Tensor,
        real: Tensor | None,
        cache: Cache | None = None,
        memory: Memory | None = None,
        types: Tensor | None = None,
        packed: bool = False,
    ) -> Tensor:
        """Positions, then the stack."""
        view = stack.open_view(x, real, cache)
        x = self.embedding(stack.hook_embed(x), view.rows, view.end, types, stack.hook_pos_embed)
        return stack(x, view, cache, memory, packed)


class Decoder(Model):
    """Each token sees itself and what came before.

    >>> model = build(ModelConfig(kind="decoder", layers=2, width=16, heads=2, vocabulary=10, context=8), seed=0)
    >>> tuple(model(torch.tensor([[1, 2, 3]])).shape)
    (1, 3, 10)
    >>> tuple(model.hidden(vectors=torch.randn(1, 5, 16)).shape)
    (1, 5, 16)
    """

    kind = "decoder"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.stack = Stack(config, config.layers, causal=True)

    def hidden(
        self,
        tokens: Tensor | None = None,  # [B, T] ids
        *,
        vectors: Tensor | None = None,  # [B, T, D] instead of ids
        padding_mask: Tensor | None = None,  # [B, T], True where a token is real
        cache: Cache | None = None,
    ) -> Tensor:
        """[B, T, D], after the final norm and before any output matrix."""
        return self._run(self.stack, self.embedding.look_up(tokens, vectors), padding_mask, cache)

    def forward(self, tokens: Tensor | None = None, **inputs: Any) -> Tensor:
        """[B, T, V]; the arguments are those of `hidden`."""
        return self.logits(self.hidden(tokens, **inputs))


class Encoder(Model):
    """Each token sees all others."""

    kind = "encoder"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.stack = Stack(config, config.layers, causal=False)

    def hidden(
        self,
        tokens: Tensor | None = None,
        *,
        vectors: Tensor | None = None,
        padding_mask: Tensor | None = None,
        types: Tensor | None = None,  # [B, T] segment of each token
        packed: bool = False,  # spend nothing on padding (`packing.py`)
    ) -> Tensor:
        """[B, T, D]."""
        x = self.embedding.look_up(tokens, vectors)
        return self._run(self.stack, x, padding_mask, types=types, packed=packed)

    def forward(self, tokens: Tensor | None = None, **inputs: Any) -> Tensor:
        """Logits; the arguments are those of `hidden`."""
        return self.logits(self.hidden(tokens, **inputs))


class EncoderDecoder(Model):
    """The decoder predicts the next token of the target from those before it and from the whole source."""

    kind = "encoder_decoder"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.encoder = Stack(config, config.depth_of_encoder, causal=False)
        self.decoder = Stack(config, config.layers, causal=True, cross=True)

    def encode(self, source: Tensor, source_mask: Tensor | None = None, packed: bool = False) -> Memory:
        """source [B, M] → what the decoder looks at; it is computed once for a whole generation."""
        vectors = self._run(self.encoder, self.embedding.look_up(source, None), source_mask, packed=packed)
        return Memory(vectors, None if source_mask is None else source_mask[:, None, None, :])

    def hidden(
        self,
        tokens: Tensor | None = None,  # [B, T] target ids
        *,
        vectors: Tensor | None = None,
        memory: Memory | None = None,  # from `encode`
        padding_mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """[B, T, D] of the decoder."""
        if memory is None:
            raise InputError("an encoder–decoder needs memory=model.encode(source).")
        x = self.embedding.look_up(tokens, vectors)
        if memory.vectors.shape[0] != x.shape[0]:
            raise InputError(f"the memory has {memory.vectors.shape[0]} rows and the target {x.shape[0]}.")
        return self._run(self.decoder, x, padding_mask, cache, memory)

    def forward(
        self, source: Tensor, target: Tensor, source_mask: Tensor | None = None, target_mask: Tensor | None = None
    ) -> Tensor:
        """source [B, M], target [B, T] → logits [B, T, V]."""
        memory = self.encode(source, source_mask)
        return self.logits(self.hidden(target, memory=memory, padding_mask=target_mask))


class ViT(Model):
    """An encoder over patches of an image; the class token's vector decides."""

    kind = "vit"

    def __init__(self, config: ModelConfig) -> None:
        patches = (config.image_size // config.patch_size) ** 2
        config = config.replace(context=patches + 1, vocabulary=None)
        super().__init__(config)
        self.patches = PatchEmbedding(config)
        self.stack = Stack(config, config.layers, causal=False)

    def hidden(self, images: Tensor) -> Tensor:
        """[B, C, height, width] → [B, 1 + patches, D]."""
        return self._run(self.stack, self.embedding.look_up(None, self.patches(images)), None)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [B, classes], or hidden states with head='none'."""
        return self.logits(self.hidden(images))


MODELS = {model.kind: model for model in (Decoder, Encoder, EncoderDecoder, ViT)}


def build(config: ModelConfig, *, seed: int | None = None) -> Any:
    """The model that a config describes, with fresh weights; the same seed gives the same weights."""
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        model = MODELS[config.kind](config)
        initialize(model, config.embedding_scale)
    return model


def with_backend(model: Model, backend: str) -> Any:
    """The same model, sharing its weights, that attends by another backend.

    >>> model = build(ModelConfig(kind="decoder", layers=1, width=16, heads=2, vocabulary=10), seed=0)
    >>> with_backend(model, "reference").config.backend, model.config.backend
    ('reference', 'sdpa')
    """
    config = model.config.replace(backend=backend)
    shared = {id(t): t for t in (*model.parameters(), *model.buffers())}
    twin = copy.deepcopy(model, shared)
    for module in twin.modules():
        if hasattr(module, "backend"):
            module.backend = backend  # type: ignore[assignment]
        if hasattr(module, "config"):
            module.config = config  # type: ignore[assignment]
    return twin
