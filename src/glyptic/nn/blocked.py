"""Causal attention in query blocks, each against its own prefix of keys.

Half of the score matrix of a causal model is −∞. Cutting the queries into blocks and giving each only the keys it may
see skips nearly that half, in the forward and in the backward pass, with plain matrix products. The weights are saved
rather than recomputed: O(T²) memory, which is the right trade below about 2,000 tokens. It was made for CPUs with bfloat16
instructions (AVX512-BF16, AMX), where the fused kernel's backward pass is slow; elsewhere the two are about as fast, and
`python -m benchmarks nn_training` says which one wins on a machine.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glyptic.errors import ModelError
from glyptic.nn import masks

BLOCK = 64  # queries in a block: large enough for full matrix products, small enough to skip most of the upper half


def blocked_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
    """q [B, H, T, K], k and v [B, H, S, ·] → [B, H, T, V]."""
    if mask is not None:
        if mask.requires_grad:
            raise ModelError("backend='blocked' has no gradient for a learned bias; use 'sdpa' or 'reference'.")
        mask = masks.additive(mask, q.dtype) if mask.dtype == torch.bool else mask.to(q.dtype)
        mask = mask.expand(*q.shape[:3], k.shape[2])
    B, H, T, _ = q.shape
    flat = [t.reshape(B * H, t.shape[2], t.shape[3]) for t in (q, k, v)]
    if mask is not None:
        mask = mask.reshape(B * H, T, k.shape[2])
    return _BlockedAttention.apply(*flat, mask, causal, scale).view(B, H, T, v.shape[-1])


def blocks(queries: int, keys: int, causal: bool) -> list[tuple[int, int, int]]:
    """(first query, end of queries, end of keys) of each block; queries are the last ones."""
    if not causal:
        return [(0, queries, keys)]
    starts = range(0, queries, BLOCK)
    return [(i, min(i + BLOCK, queries), keys - queries + min(i + BLOCK, queries)) for i in starts]


def _weights(q: Tensor, k: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
    """Weights of one block: q [N, t, K] against the keys k [N, s, K] of its prefix."""
    t, s = q.shape[1], k.shape[1]
    bias = mask
    if causal and t > 1:
        triangle = masks.additive(masks.causal(t, s, q.device), q.dtype)
        bias = triangle if mask is None else triangle + mask
    if bias is None:
        return torch.bmm(q, k.transpose(1, 2)).mul_(scale).softmax(-1)
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=scale)
    weights = scores.softmax(-1)
    if mask is not None:  # a row that sees nothing: 0, not 0/0
        weights.masked_fill_(torch.isneginf(scores).all(-1, keepdim=True), 0.0)
    return weights


class _BlockedAttention(torch.autograd.Function):
    """Flattened over batch and heads: q [N, T, K], k [N, S, K], v [N, S, V], mask [N, T, S] or None."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float) -> Tensor:
        out = q.new_empty(q.shape[0], q.shape[1], v.shape[2])
        saved = []
        for start, end, seen in blocks(q.shape[1], k.shape[1], causal):
            part = None if mask is None else mask[:, start:end, :seen]
            weights = _weights(q[:, start:end], k[:, :seen], part, causal, scale)
            out[:, start:end] = torch.bmm(weights, v[:, :seen])
            saved.append(weights)
        ctx.save_for_backward(q, k, v, *saved)
        ctx.causal, ctx.scale = causal, scale
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        q, k, v, *saved = ctx.saved_tensors
        dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for weights, (start, end, seen) in zip(saved, blocks(q.shape[1], k.shape[1], ctx.causal), strict=True):
            g = grad[:, start:end]
            dv[:, :seen].baddbmm_(weights.transpose(1, 2), g)
            dweights = torch.bmm(g, v[:, :seen].transpose(1, 2))
            dscores = torch._softmax_backward_data(dweights, weights, -1, weights.dtype)
            dq[:, start:end] = torch.bmm(dscores, k[:, :seen]).mul_(ctx.scale)
            dk[:, :seen].baddbmm_(dscores.transpose(1, 2), q[:, start:end], alpha=ctx.scale)
        return dq, dk, dv, None, None, None
