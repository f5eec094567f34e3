"""Learned positions (BERT, GPT-2): a table with a row for each position up to the trained length.

In OPT and RoBERTa the first rows belong to no position: `position_offset` says how many.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glyptic.arguments import checked
from glyptic.errors import InputError
from glyptic.nn.config import ModelConfig


class Learned(nn.Embedding):
    """T_max × D; a position beyond the table has no row, so it is refused."""

    @checked
    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config.context + config.position_offset, config.width)
        self.context, self.offset = config.context, config.position_offset

    def forward(self, positions: Tensor, end: int | None, dtype: torch.dtype) -> Tensor:  # type: ignore[override]
        """positions [T] or [B, T], all below `end` (None: known to be within the table) → [..., D]."""
        if end is not None and end > self.context:
            raise InputError(
                f"a sequence of {end} tokens is longer than the learned table of context={self.context}; "
                "shorten it, or train with positions that have no table (any other kind)."
            )
        return F.embedding(positions + self.offset if self.offset else positions, self.weight)
