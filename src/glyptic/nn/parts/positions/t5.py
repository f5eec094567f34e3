"""T5's relative positions (Raffel et al. 2020): a learned scalar a head and bucket of distances, added to scores.

Small distances have a bucket each, larger ones share buckets of logarithmic size, and all beyond `relative_distance`
share the last. One table serves all layers of a stack.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor, nn

from glyptic.arguments import Count, checked, refused
from glyptic.nn.config import ModelConfig
from glyptic.nn.shapes import shaped

Amount = Annotated[int, Count(1, 2**31 - 1)]


@shaped(ahead="whole ...")
def bucket(ahead: Tensor, buckets: Amount, distance: Amount, bidirectional: bool) -> Tensor:
    """Bucket of `ahead` = j − i, the key's position less the query's.

    >>> bucket(torch.tensor([0, -1, -7, -8, -20, -200]), 16, 64, bidirectional=False)
    tensor([ 0,  1,  7,  8, 11, 15])
    """
    least = 4 if bidirectional else 2
    if buckets < least:
        raise refused("buckets", buckets, f"at least {least}: one half of each side is of single distances")
    if distance <= buckets // least:
        raise refused("distance", distance, f"above the {buckets // least} distances that have a bucket each")
    offset = torch.zeros_like(ahead)
    if bidirectional:
        buckets //= 2
        offset = (ahead > 0).long() * buckets
        behind = ahead.abs()
    else:
        behind = (-ahead).clamp_min(0)
    exact = buckets // 2
    growth = torch.log(behind.clamp_min(1).float() / exact) / math.log(distance / exact)
    large = (exact + (growth * (buckets - exact)).long()).clamp_max(buckets - 1)
    return offset + torch.where(behind < exact, behind, large)


class T5Bias(nn.Module):
    """Distances [..., T, S] → a bias [..., H, T, S]."""

    @checked
    def __init__(self, config: ModelConfig, bidirectional: bool) -> None:
        super().__init__()
        self.buckets, self.distance, self.bidirectional = (
            config.relative_buckets,
            config.relative_distance,
            bidirectional,
        )
        self.table = nn.Embedding(config.relative_buckets, config.heads)

    def forward(self, distances: Tensor, dtype: torch.dtype) -> Tensor:
        index = bucket.plain(-distances, self.buckets, self.distance, self.bidirectional)
        return self.table(index).movedim(-1, -3)
