"""Multi-head attention: project, split into heads, attend in each, concatenate, project.

    MultiHead(X) = Concat(head_1 … head_H) W_O,   head_h = Attention(X W_Q^h, X W_K^h, X W_V^h)

With `query_key_norm` each head attends by norm(X W_Q^h) and norm(X W_K^h): scores then stay bounded however large the matrices
grow.

All heads' matrices stand side by side in one, so that a layer is two matrix products. (`lecture.py` has the sum over
heads with a matrix each, and the tests show the equality.) Hook names and shapes are TransformerLens's.
"""

from __future__ import annotations

from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn

from glyptic.nn.config import ModelConfig
from glyptic.nn.parts import masks
from glyptic.nn.parts.attention import attend, reference
from glyptic.nn.parts.cache import Cache
from glyptic.nn.parts.hook_point import HookPoint
from glyptic.nn.parts.norms import RMSNorm
from glyptic.nn.parts.positions import Shaw, TransformerXL, halves
from glyptic.nn.parts.positions.rotary import turn
from glyptic.nn.speed.linear import Linear
from glyptic.nn.speed.packing import Packing


class Context(NamedTuple):
    """What a forward pass computes once for all its layers."""

    mask: Tensor | None = None  # broadcast to [B, H, T, S]; boolean, or additive if positions add a bias
    causal: bool = False  # a plain lower triangle, which needs no tensor
    window: int | None = None  # a plain band, which `blocked` needs no tensor for
    rotation: Tensor | None = None  # rotary: complex [T, 1, R/2] or [B, T, 1, R/2]
    distances: Tensor | None = None  # Shaw, Transformer-XL: i − j, [T, S] or [B, 1, T, S]
    sinusoids: Tensor | None = None  # Transformer-XL: R of distances −(T−1) … span−1
    packing: Packing | None = None  # the residual holds real tokens only, [N, D]


class _Heads(nn.Module):
    """What self- and cross-attention share: attend in each head, concatenate, project."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, self.groups, self.size = config.heads, config.groups, config.head_size
        self.scale, self.dropout, self.backend = config.scale, config.attention_dropout, config.backend
        self.out = Linear(self.heads * self.size, config.width, bias=config.attention_output_bias)
        self.hook_q, self.hook_k, self.hook_v, self.hook_z = HookPoint(), HookPoint(), HookPoint(), HookPoint()
        self.hook_attn_scores, self.hook_pattern = HookPoint(), HookPoint()

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, window: int | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """q [B, H, T, K], k and v [B, G, S, K] → z [B, H, T, K] and, from `reference`, the weights."""
        dropout = self.dropout if self.training else 0.0
        if self.backend == "reference":
            hooks = (self.hook_attn_scores, self.hook_pattern)
            return reference(q, k, v, mask, causal, self.scale, dropout, *hooks)
        return attend(q, k, v, mask, causal, window, self.scale, dropout, self.backend)

    def project(self, z: Tensor, packing: Packing | None = None) -> Tensor:
        """Concatenate heads and project: [B, H, T, K] → [B, T, D]."""
        z = self.hook_z(z.transpose(1, 2)).flatten(2)
        return self.out(z if packing is None else packing.gather(z))


class SelfAttention(_Heads):
    """Queries, keys and values from the same sequence."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__(config)
        self.layer = layer
        self.parts = [self.heads, self.groups, self.groups]  # heads of q, k, v
        self.qkv = Linear(config.width, sum(self.parts) * self.size, bias=config.attention_bias)
        self.shaw = Shaw(config) if config.positions == "shaw" else None
        self.relative = TransformerXL(config) if config.positions == "transformer_xl" else None
        self.q_norm = RMSNorm(self.size, config.norm_eps) if config.query_key_norm else None
        self.k_norm = RMSNorm(self.size, config.norm_eps) if config.query_key_norm else None
        if config.positions == "rotary":
            self._show_public_order(halves(self.size, int(config.rotary_fraction * self.size)))

    def _show_public_order(self, order: list[int]) -> None:
        self.hook_q, self.hook_k = HookPoint(order), HookPoint(order)
        self.hook_rot_q, self.hook_rot_k = HookPoint(order), HookPoint(order)
        for norm in (self.q_norm, self.k_norm):
            if norm is not None:
                norm.hook_normalized = HookPoint(order)

    def forward(self, x: Tensor, context: Context, cache: Cache | None = None) -> Tensor:  # [B, T, D]
        qkv = self.qkv(x)
        if context.packing is not None:
            qkv = context.packing.spread(qkv)
        B, T, _ = qkv.shape
        q, k, v = qkv.view(B, T, -1, self.size).split(self.parts, dim=2)
        q, k, v = self.hook_q(q), self.hook_k(k), self.hook_v(v).transpose(1, 2)
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        if context.rotation is not None:
            q, k = self.hook_rot_q(turn(q, context.rotation)), self.hook_rot_k(turn(k, context.rotation))
        q, k = q.transpose(1, 2), k.transpose(1, 2)
        if cache is not None:
            k, v = cache.write(self.layer, k, v)
        if context.distances is None:
            z, _ = self.attend(q, k, v, context.mask, context.causal, context.window)
        else:
            z = self._attend_relative(q, k, v, context, context.distances)
        return self.project(z, context.packing)

    def _attend_relative(self, q: Tensor, k: Tensor, v: Tensor, context: Context, distances: Tensor) -> Tensor:
        """Positions that enter each layer's scores through its queries."""
        if self.relative is not None:
            assert context.sinusoids is not None
            bias = self.scale * self.relative.bias(q, distances, context.sinusoids)
            z, _ = self.attend(q + self.relative.u, k, v, masks.merge.plain(context.mask, bias), context.causal, context.window)
            return z
        assert self.shaw is not None
        bias = self.scale * self.shaw.bias(q, distances)
        z, weights = self.attend(q, k, v, masks.merge.plain(context.mask, bias), context.causal)
        assert weights is not None
        return z + self.shaw.value(weights, distances)


class Memory(NamedTuple):
    """What a decoder may look at besides itself: an encoder's output or another modality."""

    vectors: Tensor  # [B, M, D]
    mask: Tensor | None = None  # [B, 1, 1, M], False for padding


class CrossAttention(_Heads):
    """Queries [B, T, D] from the decoder, keys and values [B, M, D] from a memory → [B, T, D]."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__(config)
        self.layer = layer
        self.q = Linear(config.width, self.heads * self.size, bias=config.attention_bias)
        self.kv = Linear(config.width, 2 * self.groups * self.size, bias=config.attention_bias)

    def forward(self, x: Tensor, memory: Memory, cache: Cache | None = None) -> Tensor:
        B, T, _ = x.shape
        q = self.hook_q(self.q(x).view(B, T, self.heads, self.size)).transpose(1, 2)
        if cache is not None and self.layer in cache.cross:
            k, v = cache.cross[self.layer]
        else:
            k, v = self.keys_and_values(memory.vectors)
            if cache is not None:
                cache.cross[self.layer] = (k, v)
        z, _ = self.attend(q, k, v, memory.mask, False)
        return self.project(z)

    def keys_and_values(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """[B, M, D] → twice [B, G, M, K]."""
        k, v = self.kv(vectors).unflatten(-1, (2, self.groups, self.size)).unbind(-3)
        return self.hook_k(k).transpose(1, 2), self.hook_v(v).transpose(1, 2)


def drop(x: Tensor, probability: float, training: bool) -> Tensor:
    """Dropout that costs nothing when there is none."""
    return F.dropout(x, probability) if probability and training else x
