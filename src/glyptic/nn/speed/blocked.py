"""Causal attention in query blocks, each against its own prefix of keys.

Half of the score matrix of a causal model is −∞, and with a sliding window nearly all of it. Cutting the queries into blocks
and giving each only the keys it may see skips what is hidden, in the forward and in the backward pass, with plain matrix
products. The weights are saved
rather than recomputed: O(T²) memory, which is the right trade below about 2,000 tokens. It was made for CPUs with bfloat16
instructions (AVX512-BF16, AMX), where the fused kernel's backward pass is slow; elsewhere the two are about as fast, and
`python -m benchmarks nn_training` says which one wins on a machine.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from glyptic.errors import ModelError

BLOCK = 64  # queries in a block: large enough for full matrix products, small enough to skip most of the upper half


def blocked_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float, window: int | None = None
) -> Tensor:
    """q [B, H, T, K], k and v [B, H, S, ·], an additive mask → [B, H, T, V]; a window w hides |i − j| ≥ w."""
    if mask is not None:
        if mask.requires_grad:
            raise ModelError("backend='blocked' has no gradient for a learned bias; use 'sdpa' or 'reference'.")
        mask = mask.to(q.dtype).expand(*q.shape[:3], k.shape[2])
    B, H, T, _ = q.shape
    flat = [t.reshape(B * H, t.shape[2], t.shape[3]) for t in (q, k, v)]
    if mask is not None:
        mask = mask.reshape(B * H, T, k.shape[2])
    return _BlockedAttention.apply(*flat, mask, causal, scale, window).view(B, H, T, v.shape[-1])


def blocks(queries: int, keys: int, causal: bool, window: int | None = None) -> list[tuple[int, int, int, int]]:
    """(first query, end of queries, first key, end of keys) of each block; queries are the last ones.

    >>> blocks(130, 130, causal=True)
    [(0, 64, 0, 64), (64, 128, 0, 128), (128, 130, 0, 130)]
    >>> blocks(130, 130, causal=True, window=10)
    [(0, 64, 0, 64), (64, 128, 55, 128), (128, 130, 119, 130)]
    """
    if not causal and window is None:
        return [(0, queries, 0, keys)]
    found, before = [], keys - queries  # query i stands at key before + i
    for start in range(0, queries, BLOCK):
        end = min(start + BLOCK, queries)
        first = 0 if window is None else max(0, before + start - window + 1)
        seen = before + end if causal or window is None else min(keys, before + end - 1 + window)
        found.append((start, end, first, seen))
    return found


def _weights(q: Tensor, k: Tensor, mask: Tensor | None, hidden: Tensor | None, scale: float) -> Tensor:
    """Weights of one block: q [N, t, K] against its keys k [N, s, K]; `hidden` [t, s] is −∞ where causality or window forbid."""
    bias = hidden if mask is None else mask if hidden is None else hidden + mask
    if bias is None:
        return torch.bmm(q, k.transpose(1, 2)).mul_(scale).softmax(-1)
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=scale)
    weights = scores.softmax(-1)
    if mask is not None:  # a row that sees nothing: 0, not 0/0
        weights.masked_fill_(torch.isneginf(scores).all(-1, keepdim=True), 0.0)
    return weights


def _hidden(
    place: tuple[int, int, int, int], before: int, causal: bool, window: int | None, like: Tensor
) -> Tensor | None:
    """What a block may not see of its own keys; None: it may see all."""
    start, end, first, seen = place
    if not causal and window is None:
        return None
    queries = torch.arange(before + start, before + end, device=like.device)
    keys = torch.arange(first, seen, device=like.device)
    if len(queries) == 1 and window is None:
        return None
    behind = queries[:, None] - keys
    hidden = behind < 0 if causal else torch.zeros_like(behind, dtype=torch.bool)
    if window is not None:
        hidden |= behind.abs() >= window
    return torch.zeros(hidden.shape, dtype=like.dtype, device=like.device).masked_fill(hidden, float("-inf"))


class _BlockedAttention(torch.autograd.Function):
    """Flattened over batch and heads: q [N, T, K], k [N, S, K], v [N, S, V], mask [N, T, S] or None."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float, window: int | None
    ) -> Tensor:
        out = q.new_empty(q.shape[0], q.shape[1], v.shape[2])
        saved = []
        ctx.places, ctx.scale = blocks(q.shape[1], k.shape[1], causal, window), scale
        for place in ctx.places:
            start, end, first, seen = place
            part = None if mask is None else mask[:, start:end, first:seen]
            hidden = _hidden(place, k.shape[1] - q.shape[1], causal, window, q)
            weights = _weights(q[:, start:end], k[:, first:seen], part, hidden, scale)
            out[:, start:end] = torch.bmm(weights, v[:, first:seen])
            saved.append(weights)
        ctx.save_for_backward(q, k, v, *saved)
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        q, k, v, *saved = ctx.saved_tensors
        dq, dk, dv = torch.empty_like(q), torch.zeros_like(k), torch.zeros_like(v)
        for weights, (start, end, first, seen) in zip(saved, ctx.places, strict=True):
            g = grad[:, start:end]
            dv[:, first:seen].baddbmm_(weights.transpose(1, 2), g)
            dweights = torch.bmm(g, v[:, first:seen].transpose(1, 2))
            dscores = torch._softmax_backward_data(dweights, weights, -1, weights.dtype)
            dq[:, start:end] = torch.bmm(dscores, k[:, first:seen]).mul_(ctx.scale)
            dk[:, first:seen].baddbmm_(dscores.transpose(1, 2), q[:, start:end], alpha=ctx.scale)
        return dq, dk, dv, None, None, None, None
