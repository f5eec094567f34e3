"""ALiBi (Press et al. 2022): scores get −slope_h · |i − j|; the slopes form a geometric sequence over heads."""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor, nn

from glyptic.arguments import Count, checked
from glyptic.nn.config import ModelConfig


@checked
def slopes(heads: Annotated[int, Count(1, 2**20)]) -> list[float]:
    """2^{−8h/H} for a power of two; otherwise the sequence of the power below, then every other one of the next.

    >>> slopes(4)
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    power = 2 ** math.floor(math.log2(heads))
    first = [2.0 ** (-8.0 * (h + 1) / power) for h in range(power)]
    between = [2.0 ** (-4.0 * (h + 1) / power) for h in range(0, 2 * (heads - power), 2)]
    return first + between


class Alibi(nn.Module):
    """Distances [..., T, S] → a bias [..., H, T, S]."""

    @checked
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        # not a buffer: `.to(bfloat16)` must not round it
        self.slopes = torch.tensor(slopes(config.heads), dtype=torch.float64, device="cpu")

    def forward(self, distances: Tensor, dtype: torch.dtype) -> Tensor:
        return (-self.slopes.to(distances.device)[:, None, None] * distances.abs()[..., None, :, :]).to(dtype)
