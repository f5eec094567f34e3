"""What is kept of positions that were read, for later ones: keys and values, by head or all as one array.

One array is what a stack of layers in one call reads and writes; by head is what layers that go step by step do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
Widths = tuple[tuple[tuple[int, int], ...], ...]  # of each layer's heads: coordinates of keys and of values


@dataclass(frozen=True)
class State:
    """What later positions need of earlier ones: keys and values of each layer and head, (c, length, batch)."""

    length: int = 0
    keys: tuple[tuple[Array, ...], ...] = ()
    values: tuple[tuple[Array, ...], ...] = ()

    def select(self, items: np.ndarray) -> State:
        """The state of some members of the batch, in any order, with repetitions: how prefixes are shared."""
        keys, values = (tuple(tuple(_selected(x, items) for x in layer) for layer in side) for side in (self.keys, self.values))
        return State(self.length, keys, values)

    def along(self, places: np.ndarray) -> State:
        """Of each member of the batch some that read only these of its positions, (positions, how many), side by side."""
        keys, values = (tuple(tuple(_along(x, places) for x in layer) for layer in side) for side in (self.keys, self.values))
        return State(len(places), keys, values)


@dataclass(frozen=True)
class Together:
    """The same as one array: of each layer and head the keys, then the values."""

    kept: Array  # (coordinates of all, length, batch)
    widths: Widths

    @property
    def length(self) -> int:
        return int(self.kept.shape[1])

    def select(self, items: np.ndarray) -> Together:
        """As `State.select`."""
        return Together(_selected(self.kept, items), self.widths)

    def along(self, places: np.ndarray) -> Together:
        """As `State.along`."""
        return Together(_along(self.kept, places), self.widths)

    def apart(self) -> State:
        """As arrays of each head."""
        sizes = [width for layer in self.widths for head in layer for width in head]
        arrays = iter(np.split(self.kept, np.cumsum(sizes)[:-1]))
        layers = [[(next(arrays), next(arrays)) for _ in layer] for layer in self.widths]
        keys, values = (tuple(tuple(head[side] for head in layer) for layer in layers) for side in (0, 1))
        return State(self.length, keys, values)

    @staticmethod
    def of(state: State, widths: Widths) -> Together:
        """Arrays of each head as one."""
        heads = [pair for layer in zip(state.keys, state.values, strict=True) for pair in zip(*layer, strict=True)]
        return Together(np.concatenate([array for pair in heads for array in pair]), widths)


def _selected(array: Array, items: np.ndarray) -> Array:
    return np.take(array, items, axis=2)  # as [:, :, items], but in the order of memory that kernels want


def _along(array: Array, places: np.ndarray) -> Array:
    read = np.take(array, places, axis=1).swapaxes(2, 3)  # (c, positions, batch, how many)
    return np.ascontiguousarray(read).reshape(len(array), len(places), array.shape[2] * places.shape[1])
