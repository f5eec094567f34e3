"""Which key may be seen by which query.

A boolean mask is True where a query may look. An additive mask, as the deep-learning class has it, softmax((QKᵀ + M)/√d), is
0 where it may look and −∞ where it may not. (The Zaragoza course's product M∘(QKᵀ) is not a mask: see `lecture.py`.)

Positions count real tokens only, so that a padded row computes what it would compute alone, wherever its padding is;
padding itself, like an empty place of a ring, has position −1 and is never seen. Masks, windows and distances are all
made from positions: [T] and [S] where nothing is padded, [B, T] and [B, S] where rows differ.
"""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from glyptic.arguments import Count, refused
from glyptic.nn.shapes import shaped

Tokens = Annotated[int, Count(0, 2**31 - 1)]


@shaped()
def causal(queries: Tokens, keys: Tokens | None = None, device: torch.device | None = None) -> Tensor:
    """[T, S] mask of a decoder whose T queries are the last of S keys.

    >>> causal(2, 3).int()
    tensor([[1, 1, 0],
            [1, 1, 1]], dtype=torch.int32)
    """
    keys = queries if keys is None else keys
    if queries > keys and not torch.compiler.is_compiling():
        raise refused("queries", queries, f"at most keys={keys}, whose last they are")
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


@shaped(queries="whole ... T", keys="whole ... S")
def visible(
    queries: Tensor, keys: Tensor, *, causal: bool, window: Annotated[int, Count(1, 2**31 - 1)] | None
) -> Tensor:
    """[..., T, S] mask from the positions of queries [..., T] and of keys [..., S]; position −1 is never seen.

    >>> visible(torch.arange(4), torch.arange(4), causal=True, window=2).int()
    tensor([[1, 0, 0, 0],
            [1, 1, 0, 0],
            [0, 1, 1, 0],
            [0, 0, 1, 1]], dtype=torch.int32)
    """
    mask = (keys >= 0)[..., None, :]
    if causal or window is not None:
        behind = distances.plain(queries, keys)
        if causal:
            mask = mask & (behind >= 0)
        if window is not None:
            mask = mask & (behind < window) & (behind > -window)
    return mask


@shaped(queries="whole ... T", keys="whole ... S")
def distances(queries: Tensor, keys: Tensor) -> Tensor:
    """How far each key lies behind each query, i − j: positions [..., T] and [..., S] → [..., T, S]; < 0: the future."""
    return queries[..., :, None] - keys[..., None, :]


@shaped(mask="bool ...")
def additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """0 where the boolean mask is True and −∞ elsewhere."""
    if not dtype.is_floating_point:
        raise refused("dtype", dtype, "a dtype of floating-point numbers")
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float("-inf"))


@shaped(mask="mask ...", bias="real ...")
def merge(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """One tensor that stands for both: the bias, −∞ where the mask is False."""
    if mask is None or bias is None:
        return bias if mask is None else mask
    if mask.dtype != torch.bool:
        return mask + bias
    return bias.masked_fill(~mask, float("-inf"))


@shaped(real="bool B T")
def positions_of(real: Tensor) -> Tensor:
    """[B, T] positions that count real tokens only; −1 for padding.

    >>> positions_of(torch.tensor([[False, True, True], [True, False, True]]))
    tensor([[-1,  0,  1],
            [ 0, -1,  1]])
    """
    return (real.long().cumsum(-1) - 1).masked_fill(~real, -1)
