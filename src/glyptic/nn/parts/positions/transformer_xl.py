"""Transformer-XL's relative positions (Dai et al. 2019).

    score_ij = ((q_i + u) · k_j  +  (q_i + v) · W_r R_{i−j}) · scale

R_{i−j} are sinusoids of the distance, W_r, u and v are learned in each layer. The first term is ordinary attention
with shifted queries; the second is a bias on scores.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glyptic.arguments import checked
from glyptic.nn.config import ModelConfig
from glyptic.nn.speed.linear import Linear


class TransformerXL(nn.Module):
    """One layer's W_r, u and v."""

    @checked
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        heads, size = config.heads, config.head_size
        self.project = Linear(config.width, heads * size, bias=False)
        self.u = nn.Parameter(torch.empty(heads, 1, size))
        self.v = nn.Parameter(torch.empty(heads, 1, size))

    def bias(self, q: Tensor, distances: Tensor, sinusoids: Tensor) -> Tensor:
        """q [B, H, T, K], distances i − j, sinusoids [N, D] of distances −(T−1) … → [B, H, T, S]."""
        H, T, K = q.shape[1:]
        q = q + self.v
        if T < K:  # few queries: carry W_r over to them rather than to the N sinusoids
            weight = self.project.weight.view(H, K, -1)
            every = (q @ weight) @ sinusoids.t()  # [B, H, T, N]
        else:
            keys = self.project(sinusoids).view(-1, H, K).permute(1, 2, 0)  # [H, K, N]
            every = q @ keys
        index = (distances + (T - 1)).clamp(0, every.shape[-1] - 1)  # clamped ones are masked anyway
        return every.gather(3, index.expand(*every.shape[:3], -1))
