"""Into and out of the residual stream.

X = TokenEmbed(tokens) · (√D or 1) + PositionEncode(positions) [+ TypeEmbed(types)], then a norm in BERT
image → patches of p×p pixels, each stacked as a vector of C·p·p numbers, times a matrix; a class token in front
logits = hidden · Eᵀ (tied) or hidden · W

With `embedding_width` E is narrower than the residual: TokenEmbed(tokens) · W_in, and logits = hidden · W_out · Eᵀ.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glyptic.arguments import refused
from glyptic.errors import InputError
from glyptic.nn.config import ModelConfig
from glyptic.nn.parts.feed_forward import activate
from glyptic.nn.parts.hook_point import HookPoint
from glyptic.nn.parts.multi_head import drop
from glyptic.nn.parts.norms import LayerNorm, make_norm
from glyptic.nn.parts.positions import TO_INPUT
from glyptic.nn.speed.linear import Linear, linear

INTEGERS = (torch.int64, torch.int32)  # what torch looks up rows by


class InputEmbedding(nn.Module):
    """Token ids [B, T], or vectors [B, T, D] that stand for them, plus positions and token types."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.width, self.dropout, narrow = config.width, config.dropout, config.embedding_width
        self.scale = config.width**0.5 if config.embedding_scale else 1.0
        self.rounded = _roundings(self.scale) if config.embedding_scale_rounded else {}
        self.token = nn.Embedding(config.vocabulary, narrow or config.width) if config.vocabulary else None
        self.widen = Linear(narrow, config.width, bias=False) if narrow else None
        self.token_type = nn.Embedding(config.token_types, config.width) if config.token_types else None
        self.position = TO_INPUT[config.positions](config) if config.positions in TO_INPUT else None
        self.norm = make_norm(config) if config.embedding_norm else None

    def look_up(self, tokens: Tensor | None, vectors: Tensor | None) -> Tensor:
        """[B, T, D] without positions."""
        if (tokens is None) == (vectors is None):
            raise InputError("give either tokens or vectors, not both and not neither.")
        if vectors is not None:
            if not isinstance(vectors, Tensor) or not vectors.is_floating_point():
                raise refused("vectors", vectors, "a tensor of floating-point numbers")
            if vectors.dim() != 3 or vectors.shape[-1] != self.width:
                raise InputError(f"vectors have shape {tuple(vectors.shape)}; they must be [B, T, width={self.width}].")
            return _not_empty(vectors, "vectors")
        assert tokens is not None
        if self.token is None:
            raise InputError("this model has vocabulary=None: give vectors=, not tokens.")
        if not isinstance(tokens, Tensor):
            raise refused("tokens", tokens, "a tensor of integers [B, T]")
        if tokens.dim() != 2 or tokens.dtype not in INTEGERS:
            raise InputError(f"tokens have shape {tuple(tokens.shape)} and dtype {tokens.dtype}; give integers [B, T].")
        embedded = _look_up(_not_empty(tokens, "tokens"), self.token.weight, "tokens")
        embedded = embedded if self.widen is None else self.widen(embedded)
        return embedded if self.scale == 1.0 else embedded * self.rounded.get(embedded.dtype, self.scale)

    def forward(
        self, x: Tensor, positions: Tensor, end: int | None, types: Tensor | None = None, hook: HookPoint | None = None
    ) -> Tensor:
        """Add positions [T] or [B, T] and types [B, T] to what was looked up; `hook` is the stack's hook_pos_embed."""
        if types is not None:
            self._check_types(types, x)
        if self.token_type is not None:
            table = self.token_type.weight
            x = x + (table[0] if types is None else _look_up(types, table, "types"))
        if self.position is not None:
            added = self.position(positions, end, x.dtype)
            x = x + (added if hook is None else hook(added.expand_as(x)))
        if self.norm is not None:
            x = self.norm(x)
        return drop(x, self.dropout, self.training)

    def _check_types(self, types: Tensor, x: Tensor) -> None:
        if self.token_type is None:
            raise InputError("this model has token_types=0, so types have no meaning for it; leave them out.")
        if not isinstance(types, Tensor) or types.shape != x.shape[:2] or types.dtype not in INTEGERS:
            raise refused("types", types, f"a tensor of integers of shape {tuple(x.shape[:2])}")


def _roundings(scale: float) -> dict[torch.dtype, float]:
    """A factor as it is in float32, and then in the kind of the weights."""
    single = torch.tensor(scale, dtype=torch.float32, device="cpu")
    kinds = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
    return {kind: float(single.to(kind)) for kind in kinds}


def _not_empty(x: Tensor, what: str) -> Tensor:
    if x.shape[0] == 0 or x.shape[1] == 0:
        raise InputError(f"{what} have shape {tuple(x.shape)}; give at least one row and one token.")
    return x


def _look_up(ids: Tensor, table: Tensor, what: str) -> Tensor:
    """Rows of a table; the ids are looked at only after they have failed, so that a right one costs nothing."""
    try:
        return F.embedding(ids, table)
    except IndexError:
        wrong = ids[(ids < 0) | (ids >= len(table))][0]
        raise InputError(f"{what} hold {int(wrong)}; they must be in 0 … {len(table) - 1}.") from None


class PatchEmbedding(nn.Module):
    """[B, C, height, width] → [B, 1 + patches, D], the class token first; then DeiT's distillation token, if there is one."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.size, self.patch, self.channels = config.image_size, config.patch_size, config.channels
        self.project = Linear(config.channels * config.patch_size**2, config.width)
        self.class_token = nn.Parameter(torch.empty(1, 1, config.width))
        self.distillation_token = nn.Parameter(torch.empty(1, 1, config.width)) if config.distillation_token else None

    def forward(self, images: Tensor) -> Tensor:
        expected = (self.channels, self.size, self.size)
        if not isinstance(images, Tensor) or not images.is_floating_point():
            raise refused("images", images, "a tensor of floating-point numbers")
        if images.dim() != 4 or tuple(images.shape[1:]) != expected:
            raise InputError(f"images have shape {tuple(images.shape)}; they must be [B, *{expected}].")
        if images.shape[0] == 0:
            raise InputError(f"images have shape {tuple(images.shape)}; give at least one.")
        B, C, _, _ = images.shape
        n, p = self.size // self.patch, self.patch
        patches = images.view(B, C, n, p, n, p).permute(0, 2, 4, 1, 3, 5).reshape(B, n * n, C * p * p)
        learned = [token for token in (self.class_token, self.distillation_token) if token is not None]
        return torch.cat([*(token.expand(B, -1, -1) for token in learned), self.project(patches)], dim=1)


class Output(nn.Module):
    """Hidden states [B, T, D] → logits; `mlm` has BERT's extra layer, with the feed-forward's function.

    `distilled` reads [B, 2, D]: its logits are the mean of those of the class token and those of the distillation token.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind, self.scale, self.activation = config.head, config.output_scale, config.feed_forward
        classifies, narrow = config.head in ("class", "distilled"), config.embedding_width
        size = config.classes if classifies else (config.vocabulary or 0)
        tied = config.tied and not classifies
        self.weight = None if tied else nn.Parameter(torch.empty(size, narrow or config.width))
        has_bias = config.output_bias or classifies or config.head == "mlm"
        self.bias = nn.Parameter(torch.zeros(size), requires_grad=not config.output_bias_frozen) if has_bias else None
        self.dense = Linear(config.width, config.width) if config.head == "mlm" else None
        self.norm = LayerNorm(config.width, eps=config.norm_eps) if config.head == "mlm" else None
        self.narrow = Linear(config.width, narrow, bias=False) if narrow else None
        self.distilled = Linear(config.width, size) if config.head == "distilled" else None

    def forward(self, hidden: Tensor, embedding: Tensor | None) -> Tensor:
        if self.dense is not None and self.norm is not None:
            hidden = self.norm(activate(self.activation, self.dense(hidden)))
        if self.scale != 1.0:
            hidden = hidden * self.scale
        if self.narrow is not None:
            hidden = self.narrow(hidden)
        weight = self.weight if self.weight is not None else embedding
        assert weight is not None
        if self.distilled is not None:
            return (linear(hidden[:, 0], weight, self.bias) + self.distilled(hidden[:, 1])) / 2
        return linear(hidden, weight, self.bias)
