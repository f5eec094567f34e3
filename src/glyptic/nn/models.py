"""The four models, each from one `ModelConfig`.

    Decoder          tokens or vectors → logits for the next token      GPT-2, OPT, LLaMA and its kin, GPT-NeoX, Transformer-XL
    Encoder          tokens or vectors → a vector (logits) each         BERT, RoBERTa, DistilBERT
    EncoderDecoder   source, target → logits for the next target token  Vaswani, T5, Marian
    ViT              images → classes                                   ViT, DeiT

`hidden(…)` stops before the output matrix; `model(…)` gives logits, or hidden states with `head='none'`.
"""

from __future__ import annotations

import copy
from typing import Any, Literal, TypeVar, overload

import torch
from torch import Tensor, nn

from glyptic.arguments import SEED, is_word, refused, shown
from glyptic.errors import InputError, ModelError
from glyptic.nn.config import AttentionBackend, Kind, ModelConfig
from glyptic.nn.parts.cache import Cache, FixedCache, RingCache, StaticCache
from glyptic.nn.parts.embeddings import InputEmbedding, Output, PatchEmbedding
from glyptic.nn.parts.multi_head import Memory
from glyptic.nn.parts.norms import RMSNorm
from glyptic.nn.parts.stack import Stack
from glyptic.nn.speed.machine import check_memory


class Model(nn.Module):
    """What all four share: config, output, caches."""

    kind = ""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self._check(config)
        self.config = config
        self.embedding = InputEmbedding(config)
        self.output = Output(config) if config.head != "none" else None

    @classmethod
    def _check(cls, config: ModelConfig) -> None:
        if not isinstance(config, ModelConfig):
            raise refused("config", config, "a ModelConfig")
        if config.kind != cls.kind:
            raise ModelError(f"kind={config.kind!r} is not what {cls.__name__} is built from; use nn.build.")

    def logits(self, hidden: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """Hidden states → logits; hidden states themselves if the model has no head.

        With head='class' one token of each row of [B, T, D] decides: the first real one of an encoder, and of a decoder the
        last real one, since the first sees nothing but itself. `padding_mask` [B, T] says which are real.
        """
        if not torch.compiler.is_compiling():
            self._check_hidden(hidden, padding_mask)
        if self.output is None:
            return hidden
        if self.config.head == "class":
            hidden = self._deciding(hidden, padding_mask)
        elif self.config.head == "distilled":
            hidden = hidden[:, :2]
        return self.output(hidden, None if self.embedding.token is None else self.embedding.token.weight)

    def _check_hidden(self, hidden: Tensor, real: Tensor | None) -> None:
        whole = self.config.head in ("class", "distilled")  # one or two tokens of all decide
        axes = "[B, T, D]" if whole else "[..., D]"
        wanted = f"a tensor of floating-point numbers {axes}, D = {self.config.width}"
        if not isinstance(hidden, Tensor) or not hidden.is_floating_point() or hidden.shape[-1:] != (self.config.width,):
            raise refused("hidden", hidden, wanted)
        if whole and hidden.dim() != 3:
            raise InputError(f"hidden has shape {tuple(hidden.shape)}, and must be {wanted}.")
        dtype = next(self.parameters()).dtype
        if hidden.dtype != dtype and not torch.is_autocast_enabled(hidden.device.type):
            raise InputError(f"hidden holds {hidden.dtype} and the model computes in {dtype}; convert one of them.")
        if real is not None and not (
            isinstance(real, Tensor) and real.dtype == torch.bool and real.shape == hidden.shape[:-1]
        ):
            raise refused("padding_mask", real, f"a boolean tensor {list(hidden.shape[:-1])}, True where a token is real")

    def _deciding(self, hidden: Tensor, real: Tensor | None) -> Tensor:
        """[B, T, D] → [B, D]: the vector that the class is read from."""
        last = self.config.has_decoder
        if real is None:
            return hidden[:, -1] if last else hidden[:, 0]
        if not torch.compiler.is_compiling() and not bool(real.any(-1).all()):
            raise InputError("padding_mask has a row without a real token, which has no class.")
        counted = real.long().cumsum(-1)
        place = (counted == counted[:, -1:]).long().argmax(-1) if last else real.long().argmax(-1)
        return hidden[torch.arange(hidden.shape[0], device=hidden.device), place]

    def new_cache(self, batch: int, capacity: int | None = None, kind: str = "static") -> Cache:
        """An empty cache for this model: `static`, `ring` (needs sliding_window) or `fixed` (for torch.compile)."""
        if not self.config.has_decoder:
            raise ModelError(f"kind={self.config.kind!r} sees the whole input at once and has no use for a cache.")
        weight = next(self.parameters())
        if isinstance(kind, str) and kind == "ring":
            if capacity is not None:
                raise ModelError("a ring has the capacity of its sliding_window; leave capacity out.")
            return RingCache(self.config, batch, weight.dtype, weight.device)
        if not isinstance(kind, str) or kind not in ("static", "fixed"):
            raise ModelError(f"kind={shown(kind)} is not a cache; choose static, ring or fixed.")
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
        view = stack.open_view(x, real, cache, memory)
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

    def forward(
        self,
        tokens: Tensor | None = None,
        *,
        vectors: Tensor | None = None,
        padding_mask: Tensor | None = None,
        cache: Cache | None = None,
    ) -> Tensor:
        """[B, T, V]; the arguments are those of `hidden`."""
        hidden = self.hidden(tokens, vectors=vectors, padding_mask=padding_mask, cache=cache)
        return self.logits(hidden, padding_mask)


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
        if not isinstance(packed, bool):
            raise refused("packed", packed, "True or False")
        x = self.embedding.look_up(tokens, vectors)
        return self._run(self.stack, x, padding_mask, types=types, packed=packed)

    def forward(
        self,
        tokens: Tensor | None = None,
        *,
        vectors: Tensor | None = None,
        padding_mask: Tensor | None = None,
        types: Tensor | None = None,
        packed: bool = False,
    ) -> Tensor:
        """Logits; the arguments are those of `hidden`."""
        hidden = self.hidden(tokens, vectors=vectors, padding_mask=padding_mask, types=types, packed=packed)
        return self.logits(hidden, padding_mask)


class EncoderDecoder(Model):
    """The decoder predicts the next token of the target from those before it and from the whole source."""

    kind = "encoder_decoder"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.encoder = Stack(config, config.depth_of_encoder, causal=False)
        self.decoder = Stack(config, config.layers, causal=True, cross=True)

    def encode(self, source: Tensor, source_mask: Tensor | None = None, packed: bool = False) -> Memory:
        """source [B, M] → what the decoder looks at; it is computed once for a whole generation."""
        if not isinstance(packed, bool):
            raise refused("packed", packed, "True or False")
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
        x = self.embedding.look_up(tokens, vectors)
        memory = _checked_memory(memory, x)
        return self._run(self.decoder, x, padding_mask, cache, memory)

    def forward(
        self, source: Tensor, target: Tensor, source_mask: Tensor | None = None, target_mask: Tensor | None = None
    ) -> Tensor:
        """source [B, M], target [B, T] → logits [B, T, V]."""
        memory = self.encode(source, source_mask)
        return self.logits(self.hidden(target, memory=memory, padding_mask=target_mask), target_mask)


def _checked_memory(memory: Memory | None, x: Tensor) -> Memory:
    """The memory, if it is one for the new tokens x [B, T, D]."""
    if not isinstance(memory, Memory):
        raise InputError("an encoder–decoder needs memory=model.encode(source).")
    vectors, mask = memory
    if not isinstance(vectors, Tensor) or vectors.dim() != 3 or vectors.shape[2] != x.shape[2] or vectors.dtype != x.dtype:
        raise refused("memory.vectors", vectors, f"of shape [B, M, {x.shape[2]}] and dtype {x.dtype}")
    if vectors.shape[0] != x.shape[0]:
        raise InputError(f"the memory has {vectors.shape[0]} rows and the target {x.shape[0]}.")
    shape = (x.shape[0], 1, 1, vectors.shape[1])
    if mask is not None and not (isinstance(mask, Tensor) and mask.dtype == torch.bool and mask.shape == shape):
        raise refused("memory.mask", mask, f"a boolean tensor of shape {shape}")
    return memory


class ViT(Model):
    """An encoder over patches of an image; the class token's vector decides."""

    kind = "vit"

    def __init__(self, config: ModelConfig) -> None:
        self._check(config)
        patches = (config.image_size // config.patch_size) ** 2
        config = config.replace(context=patches + 1 + config.distillation_token, vocabulary=None)
        super().__init__(config)
        self.patches = PatchEmbedding(config)
        self.stack = Stack(config, config.layers, causal=False)

    def hidden(self, images: Tensor) -> Tensor:
        """[B, C, height, width] → [B, 1 + patches, D], or 2 + patches with a distillation token."""
        return self._run(self.stack, self.embedding.look_up(None, self.patches(images)), None)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [B, classes], or hidden states with head='none'."""
        return self.logits(self.hidden(images))


AnyModel = Decoder | Encoder | EncoderDecoder | ViT
MODELS: dict[str, type[AnyModel]] = {model.kind: model for model in (Decoder, Encoder, EncoderDecoder, ViT)}
Some = TypeVar("Some", bound=Model)


@overload
def build(config: ModelConfig, *, kind: Literal["decoder"], seed: int | None = None) -> Decoder: ...
@overload
def build(config: ModelConfig, *, kind: Literal["encoder"], seed: int | None = None) -> Encoder: ...
@overload
def build(config: ModelConfig, *, kind: Literal["encoder_decoder"], seed: int | None = None) -> EncoderDecoder: ...
@overload
def build(config: ModelConfig, *, kind: Literal["vit"], seed: int | None = None) -> ViT: ...
@overload
def build(config: ModelConfig, *, kind: None = None, seed: int | None = None) -> AnyModel: ...
def build(config: ModelConfig, *, kind: Kind | None = None, seed: int | None = None) -> AnyModel:
    """The model that a config describes, with fresh weights; the same seed gives the same weights.

    `kind` says to a type checker which of the four it is; a config of another is refused.

    >>> config = ModelConfig(kind="encoder", layers=1, width=16, heads=2, vocabulary=10)
    >>> build(config, kind="decoder")
    Traceback (most recent call last):
    glyptic.errors.ModelError: kind='decoder' is asked for, and the config has kind='encoder'; leave kind out, or say that.
    """
    if not isinstance(config, ModelConfig):
        raise refused("config", config, "a ModelConfig")
    check_kind(config, kind, "the config")
    seed = None if seed is None else SEED("seed", seed)
    _check_memory(config)
    with torch.random.fork_rng(devices=[], enabled=seed is not None):
        if seed is not None:
            torch.manual_seed(seed)
        model = MODELS[config.kind](config)
        initialize(model, config.embedding_scale)
    return model


def check_kind(config: ModelConfig, kind: Any, where: str) -> None:
    """Refuse a kind of model that is asked for and not there."""
    if kind is not None and not is_word(kind, MODELS):
        raise refused("kind", kind, f"one of {', '.join(MODELS)}, or None")
    if kind is not None and kind != config.kind:
        raise ModelError(
            f"kind={kind!r} is asked for, and {where} has kind={config.kind!r}; leave kind out, or say that."
        )


def _check_memory(config: ModelConfig) -> None:
    """Refuse, before anything is made, a model whose matrices alone do not fit into this machine."""
    layers = config.layers + (config.depth_of_encoder if config.kind == "encoder_decoder" else 0)
    inner = (2 * config.heads + 2 * config.groups) * config.head_size + 2 * config.hidden_size
    positions = config.context + config.position_offset if config.positions == "learned" else 0
    tables = (config.vocabulary or 0) + positions + config.token_types
    if torch.get_default_device().type == "cpu":
        check_memory(torch.get_default_dtype().itemsize * config.width * (layers * inner + tables), "the model")


def with_backend(model: Some, backend: AttentionBackend) -> Some:
    """The same model, sharing its weights, that attends by another backend.

    >>> model = build(ModelConfig(kind="decoder", layers=1, width=16, heads=2, vocabulary=10), seed=0)
    >>> with_backend(model, "reference").config.backend, model.config.backend
    ('reference', 'sdpa')
    """
    if not isinstance(model, Model):
        raise refused("model", model, "a model of glyptic.nn")
    config = model.config.replace(backend=backend)
    shared = {id(t): t for t in (*model.parameters(), *model.buffers())}
    twin = copy.deepcopy(model, shared)
    for module in twin.modules():
        if hasattr(module, "backend"):
            module.backend = backend  # type: ignore[assignment]
        if hasattr(module, "config"):
            module.config = config  # type: ignore[assignment]
    return twin


_DEVIATION = 0.02


def initialize(model: nn.Module, scaled: bool = False) -> None:
    """Fresh weights by GPT-2's recipe, in the order of declaration; `scaled`: the config has embedding_scale.

    Matrices and tables are N(0, 0.02²), biases 0, norms 1; matrices that write into the residual are divided by
    √(2 · layers), so that its variance does not grow with depth. A token embedding that is multiplied by √D starts at
    N(0, 1/D) instead (Vaswani), so that tokens and sinusoids are of one size.
    """
    depth = max(1, sum(name.endswith(".attn") for name, _ in model.named_modules()))
    shifted = {name for name, module in model.named_modules() if isinstance(module, RMSNorm) and module.plus_one}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            elif parameter.dim() == 1:  # the scale of a norm
                parameter.fill_(0.0 if name.removesuffix(".weight") in shifted else 1.0)
            elif name == "embedding.token.weight" and scaled:
                parameter.normal_(0.0, parameter.shape[1] ** -0.5)
            elif name.endswith(".out.weight"):
                parameter.normal_(0.0, _DEVIATION / (2 * depth) ** 0.5)
            else:
                parameter.normal_(0.0, _DEVIATION)
