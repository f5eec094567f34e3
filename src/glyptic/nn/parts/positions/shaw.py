"""Shaw et al. 2018: a learned vector for each clipped distance, added to keys and to values.

    score_ij  = q_i · (k_j + a^K_{clip(j−i)}) · scale
    output_i  = Σ_j weight_ij (v_j + a^V_{clip(j−i)})

Distances beyond ±`relative_distance` share the vector of the clipped one. The second line needs the weights, so only
the `reference` backend can compute it.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glyptic.arguments import checked
from glyptic.nn.config import ModelConfig


class Shaw(nn.Module):
    """One layer's tables, shared by its heads."""

    @checked
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.clip = config.relative_distance
        self.keys = nn.Parameter(torch.empty(2 * self.clip + 1, config.head_size))
        self.values = nn.Parameter(torch.empty(2 * self.clip + 1, config.head_size))

    def index(self, distances: Tensor) -> Tensor:
        """Row of the tables for each i − j, [T, S] or [B, 1, T, S]."""
        return (-distances).clamp(-self.clip, self.clip) + self.clip

    def bias(self, q: Tensor, distances: Tensor) -> Tensor:
        """q [B, H, T, K] · a^K → [B, H, T, S]: one product with the whole table, then a look-up."""
        every = q @ self.keys.t()  # [B, H, T, 2 clip + 1]
        return every.gather(3, self.index(distances).expand(*q.shape[:3], -1))

    def value(self, weights: Tensor, distances: Tensor) -> Tensor:
        """Σ_j weight_ij a^V → [B, H, T, K]: weights of equal distance are added first."""
        mass = weights.new_zeros(*weights.shape[:3], 2 * self.clip + 1)
        mass = mass.scatter_add(3, self.index(distances).expand_as(weights), weights)
        return mass @ self.values
