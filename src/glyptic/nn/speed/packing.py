"""Padding that costs nothing: an encoder may run all that it does token by token on the real tokens alone.

The residual is then [N, D], N real tokens of the whole batch one after another; only attention, which mixes tokens,
spreads its queries, keys and values out to [B, T, …] and gathers its result again. The result at real tokens is the
same; at padding it is 0. N depends on the data, so torch.compile(fullgraph=True) and torch.export want it off.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Packing(NamedTuple):
    """Where the real tokens of a padded batch are.

    >>> import torch
    >>> packing = Packing.of(torch.tensor([[True, True], [True, False]]))
    >>> packed = packing.gather(torch.tensor([[[1.0], [2.0]], [[3.0], [9.0]]]))
    >>> packed.flatten().tolist(), packing.spread(packed).flatten().tolist()
    ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 0.0])
    """

    places: Tensor  # [N] places of real tokens among all B·T
    batch: int
    length: int

    @classmethod
    def of(cls, real: Tensor) -> Packing:
        return cls(real.flatten().nonzero().squeeze(-1), *real.shape)

    def gather(self, x: Tensor) -> Tensor:
        """[B, T, …] → [N, …]."""
        return x.flatten(0, 1).index_select(0, self.places)

    def spread(self, packed: Tensor) -> Tensor:
        """[N, …] → [B, T, …], zeros at padding."""
        flat = packed.new_zeros(self.batch * self.length, *packed.shape[1:])
        return flat.index_copy(0, self.places, packed).unflatten(0, (self.batch, self.length))
