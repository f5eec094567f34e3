"""Which key may be seen by which query.

A boolean mask is True where a query may look. An additive mask is what 004 writes, softmax((QKᵀ + M)/√d): 0 where it
may look and −∞ where it may not. (003's multiplicative M∘(QKᵀ) is not a mask: see `lecture.py`.)

Slots are indices into the sequence as stored, padding included; they order tokens. Positions count real tokens only,
so that a padded row computes what it would compute alone.
"""

from __future__ import annotations

import torch
from torch import Tensor


def causal(queries: int, keys: int | None = None, device: torch.device | None = None) -> Tensor:
    """[T, S] mask of a decoder whose T queries are the last of S keys.

    >>> causal(2, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    keys = queries if keys is None else keys
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def visible(query_slots: Tensor, key_slots: Tensor, *, causal: bool, window: int | None) -> Tensor:
    """[T, S] mask from the slots of queries [T] and of keys [S]; slot −1 marks an empty place of a ring.

    >>> visible(torch.arange(4), torch.arange(4), causal=True, window=2).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    ahead = key_slots[None, :] - query_slots[:, None]  # > 0: the future
    mask = (key_slots >= 0)[None, :].expand_as(ahead)
    if causal:
        mask = mask & (ahead <= 0)
    if window is not None:
        mask = mask & (ahead > -window) & (ahead < window)
    return mask


def additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """0 where the boolean mask is True and −∞ elsewhere."""
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float("-inf"))


def merge(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """One tensor that stands for both: the bias, −∞ where the mask is False."""
    if mask is None or bias is None:
        return bias if mask is None else mask
    if mask.dtype != torch.bool:
        return mask + bias
    return bias.masked_fill(~mask, float("-inf"))


def positions_of(real: Tensor, before: Tensor | int = 0) -> Tensor:
    """[B, T] positions that count real tokens only, after `before` earlier ones [B].

    >>> positions_of(torch.tensor([[False, True, True], [True, True, True]]))
    tensor([[0, 0, 1],
            [0, 1, 2]])
    """
    count = real.long().cumsum(-1) - 1
    if isinstance(before, Tensor):
        before = before[:, None]
    return (count + before).clamp_min(0)
