"""Sinusoidal positions (Vaswani et al. 2017): PE(t, 2i) = sin(t / 10000^{2i/D}), PE(t, 2i+1) = cos(same)."""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from glyptic.arguments import Count, checked, refused
from glyptic.nn.config import ModelConfig
from glyptic.nn.shapes import shaped

LONGEST_TABLE = 2**18  # rows; beyond, what is needed is computed at each pass


@shaped(positions="number ...")
def sinusoids(
    positions: Tensor, width: Annotated[int, Count(2, 2**31 - 1)], layout: Literal["interleaved", "halves"] = "interleaved"
) -> Tensor:
    """[...] positions → [..., D] in float64; negative positions are fine (Transformer-XL's distances).

    >>> sinusoids(torch.tensor([0, 1]), 4)
    tensor([[0.0000, 1.0000, 0.0000, 1.0000],
            [0.8415, 0.5403, 0.0100, 1.0000]], dtype=torch.float64)
    """
    if width % 2:
        raise refused("width", width, "even: half of the coordinates are sines")
    exponents = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device) / width
    angles = positions[..., None].double() / 10000.0**exponents  # [..., D/2]
    if layout == "halves":
        return torch.cat([angles.sin(), angles.cos()], dim=-1)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class Sinusoidal(nn.Module):
    """Adds nothing to learn: a table of the first `context` positions, computed again beyond it."""

    @checked
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.width, self.layout, self.precision = config.width, config.sinusoidal_layout, config.position_precision
        self.context = config.context
        self.table: Tensor | None = None  # not a buffer: `.to(bfloat16)` must not round it

    def compute(self, positions: Tensor) -> Tensor:
        values = sinusoids.plain(positions, self.width, self.layout)  # type: ignore[arg-type]  # the config has checked it
        return values if self.precision == "float64" else values.float()

    def forward(self, positions: Tensor, end: int | None, dtype: torch.dtype) -> Tensor:
        """positions [T] or [B, T], all below `end` (None: within the table) → [..., D]."""
        if self.context > LONGEST_TABLE or (end is not None and end > self.context):
            return self.compute(positions).to(dtype)
        if self.table is None or self.table.device != positions.device or self.table.dtype != dtype:
            self.table = self.compute(torch.arange(self.context, device=positions.device)).to(dtype)
        return self.table[positions]
