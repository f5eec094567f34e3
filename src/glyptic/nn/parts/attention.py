"""Attention: one function, three explicit backends, the same result.

    weights = softmax(scale · q kᵀ + mask)      [B, H, T, S], each row sums to 1
    output  = weights v                         [B, H, T, K], each row a convex combination of values

backend      weights on demand   memory of training   best for
reference    yes                 O(T S)               reading, maps, hooks, patching
sdpa         no                  O(T)                 float32, inference, encoders
blocked      no                  O(T S / 2)           bfloat16 training of causal models up to about 2,000 tokens

The rule about maps: **a backend is never changed behind your back**. Only `reference` has the weights; asking another
one for them raises an error that says so. `nn.with_backend(model, "reference")` gives a model that shares the weights.

A query that may see no key at all (a row of padding) gets zeros, in every backend, and zero gradients: never NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from glyptic.arguments import Count, Number, refused, shown
from glyptic.errors import InputError, ModelError
from glyptic.nn.config import BACKENDS
from glyptic.nn.parts import masks
from glyptic.nn.speed.blocked import blocked_attention
from glyptic.nn.speed.linear import as_given, taken_wide

Hook = Callable[[Tensor], Tensor]


def attention(
    q: Tensor,  # [B, H, T, K]
    k: Tensor,  # [B, G, S, K], G divides H
    v: Tensor,  # [B, G, S, V]
    *,
    mask: Tensor | None = None,  # broadcast to [B, H, T, S]: True or 0 where a query may look, or any additive bias
    causal: bool = False,  # the T queries are the last of the S keys
    window: int | None = None,  # of these a query sees the keys nearer than this, itself included
    scale: float | None = None,  # None: 1/√K
    dropout: float = 0.0,
    backend: str = "sdpa",
    need_weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention output [B, H, T, V], and the weights [B, H, T, S] if they are asked of `reference`.

    >>> q, k, v = torch.randn(3, 1, 2, 5, 4).unbind()
    >>> out, weights = attention(q, k, v, causal=True, backend="reference", need_weights=True)
    >>> tuple(out.shape), tuple(weights.shape)
    ((1, 2, 5, 4), (1, 2, 5, 5))
    >>> attention(q, k, v, backend="sdpa", need_weights=True)
    Traceback (most recent call last):
    ...
    glyptic.errors.ModelError: backend='sdpa' never holds attention weights; ask backend='reference' for them.
    """
    for name, flag in (("causal", causal), ("need_weights", need_weights)):
        if not isinstance(flag, bool):
            raise refused(name, flag, "True or False")
    _check(q, k, v, mask, window, scale, dropout)
    if (causal or window is not None) and q.shape[2] > k.shape[2]:
        raise InputError(f"{q.shape[2]} queries cannot be the last of {k.shape[2]} keys; give a mask instead.")
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise ModelError(f"backend={shown(backend)} is not one of {', '.join(BACKENDS)}.")
    factor = q.shape[-1] ** -0.5 if scale is None else float(scale)
    how: dict[str, Any] = {"scale": factor, "dropout": dropout, "backend": backend}
    return attend(q, k, v, mask, causal, window, need_weights=need_weights, **how)


def _check(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, window: int | None, scale: float | None, dropout: float
) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if not isinstance(tensor, Tensor) or tensor.dim() != 4 or not tensor.is_floating_point() or 0 in tensor.shape:
            raise refused(name, _described(tensor), "a tensor of floating-point numbers [B, H, T, K], none of them 0")
        if tensor.dtype != q.dtype:
            raise InputError(f"{name} holds {tensor.dtype} and q {q.dtype}; they must be of one kind.")
    if k.shape[:3] != v.shape[:3] or k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        shapes = f"{tuple(q.shape)}, {tuple(k.shape)}, {tuple(v.shape)}"
        raise InputError(f"q, k, v have shapes {shapes}; they must be [B, H, T, K], [B, G, S, K], [B, G, S, V].")
    if mask is not None:
        _check_mask(mask, (q.shape[0], q.shape[1], q.shape[2], k.shape[2]))
    if window is not None:
        Count(1, 2**31 - 1)("window", window)
    if scale is not None:
        Number(least=-1e30, most=1e30)("scale", scale)
    Number(least=0, most=1)("dropout", dropout)


def _check_mask(mask: Tensor, whole: tuple[int, ...]) -> None:
    if not isinstance(mask, Tensor) or not (mask.dtype == torch.bool or mask.is_floating_point()):
        raise refused("mask", _described(mask), "a tensor of Booleans, or of numbers to add")
    sides = tuple(mask.shape)
    if len(sides) > 4 or any(a not in (1, b) for a, b in zip(reversed(sides), reversed(whole), strict=False)):
        raise InputError(f"mask has shape {sides}, which does not broadcast to [B, H, T, S] = {whole}.")


def _described(value: Any) -> Any:
    """A tensor by shape and kind, since its numbers say nothing."""
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, Tensor) else value


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    causal: bool,
    window: int | None,
    scale: float,
    dropout: float,
    backend: str,
    need_weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """`attention` of arguments that fit, as layers call it."""
    if window is not None and backend != "blocked":
        before = k.shape[2] - q.shape[2]
        queries, keys = torch.arange(before, k.shape[2], device=q.device), torch.arange(k.shape[2], device=q.device)
        seen = masks.visible.plain(queries, keys, causal=causal, window=window)
        mask, causal, window = masks.merge.plain(seen, None if mask is None else _float(mask, q.dtype)), False, None
    if backend != "reference" and q.dtype != torch.float32 and taken_wide(q):  # the kernels' products, in float32 (see linear.py)
        mask = mask.float() if mask is not None and mask.is_floating_point() else mask
        wide = (q.float(), k.float(), v.float())
        with as_given():
            out, _ = attend(*wide, mask, causal, window, scale, dropout, backend, need_weights)
        return out.to(q.dtype), None
    if backend == "sdpa" and not need_weights:
        return sdpa(q, k, v, mask, causal, scale, dropout), None
    if need_weights and backend != "reference":
        raise ModelError(f"backend={backend!r} never holds attention weights; ask backend='reference' for them.")
    if backend == "reference":
        return reference(q, k, v, mask, causal, scale, dropout)
    if dropout:
        raise ModelError(f"backend='blocked' has no dropout on weights, so dropout={dropout} cannot be.")
    mask = None if mask is None else _float(mask, q.dtype)
    return blocked_attention(q, repeat_heads(k, q), repeat_heads(v, q), mask, causal, scale, window), None


def sdpa(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float, dropout: float = 0.0
) -> Tensor:
    """torch's fused kernel."""
    if scale < 0:  # the kernel multiplies q and k by √scale
        q, scale = -q, -scale
    if causal and q.shape[2] == 1:  # the newest query sees all keys
        causal = False
    if causal and (mask is not None or q.shape[2] != k.shape[2]):  # is_causal means the top-left triangle, alone
        triangle = masks.causal.plain(q.shape[2], k.shape[2], q.device)
        mask = triangle if mask is None else masks.merge.plain(triangle, _float(mask, q.dtype))
        causal = False
    if mask is not None and mask.dim() == 3:  # [H, T, S]: torch's fused CPU kernel takes 2 or 4 dimensions
        mask = mask[None]
    grouped = bool(q.shape[1] != k.shape[1])  # bool: sizes may be symbols while torch compiles
    if grouped:
        _check_groups(q, k)
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, is_causal=causal, scale=scale, dropout_p=dropout, enable_gqa=grouped
    )


def reference(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float,
    dropout: float = 0.0,
    hook_scores: Hook | None = None,
    hook_pattern: Hook | None = None,
) -> tuple[Tensor, Tensor]:
    """The definition, line by line; hooks may read or replace scores and weights."""
    k, v = repeat_heads(k, q), repeat_heads(v, q)
    scores = scale * (q @ k.transpose(-2, -1))  # [B, H, T, S]
    if causal:
        scores = scores.masked_fill(~masks.causal.plain(q.shape[2], k.shape[2], q.device), float("-inf"))
    if mask is not None:
        scores = scores + _float(mask, q.dtype)
    if hook_scores is not None:
        scores = hook_scores(scores)
    weights = softmax_or_zero(scores)
    if hook_pattern is not None:
        weights = hook_pattern(weights)
    return F.dropout(weights, dropout) @ v, weights


def softmax_or_zero(scores: Tensor) -> Tensor:
    """softmax over the last axis; a row of −∞ alone gives zeros instead of 0/0.

    >>> softmax_or_zero(torch.tensor([[0., 0.], [-torch.inf, -torch.inf]]))
    tensor([[0.5000, 0.5000],
            [0.0000, 0.0000]])
    """
    dead = torch.isneginf(scores).all(-1, keepdim=True)
    return scores.masked_fill(dead, 0.0).softmax(-1).masked_fill(dead, 0.0)


def repeat_heads(kv: Tensor, q: Tensor) -> Tensor:
    """[B, G, S, K] → [B, H, S, K]: each key–value head serves H/G query heads."""
    groups, heads = kv.shape[1], q.shape[1]
    if groups == heads:
        return kv
    _check_groups(q, kv)
    return kv.repeat_interleave(heads // groups, dim=1)


def _check_groups(q: Tensor, kv: Tensor) -> None:
    if q.shape[1] % kv.shape[1]:
        raise InputError(f"{q.shape[1]} query heads cannot share {kv.shape[1]} key–value heads.")


def _float(mask: Tensor, dtype: torch.dtype) -> Tensor:
    return masks.additive.plain(mask, dtype) if mask.dtype == torch.bool else mask
