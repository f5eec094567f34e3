"""The last levels of the tree of inputs in one pass: all continuations of a front at once, by attention along the tree.

The continuations of up to three tokens, say, are 2 + 4 + 8 new positions of every member of the front. Each sees the front's own
positions, its ancestors among the new ones, and itself, in this order, which is the order of its input: so every sum is the one
that the input alone would give. Keys and values of the front are read by all of them, and copied for none.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from glyptic.exact.forward import Prepared, State, embed, forward
from glyptic.exact.stages import Watch

_MOST_POSITIONS = 16


@dataclass(frozen=True)
class LastLevels:
    """What a transformer makes of all continuations of a front."""

    paths: tuple[tuple[int, ...], ...]
    residual: Any  # (d, paths, batch), after all layers
    failed: np.ndarray  # (paths, batch): 0/0 met at the path's last position
    traced: dict[str, Any]  # stage -> (d, paths, batch)

    def level(self, length: int) -> slice:
        """The paths of a length, in the order of the vocabulary."""
        lengths = [len(path) for path in self.paths]
        return slice(lengths.index(length), lengths.index(length) + lengths.count(length))

    def along(self, path: tuple[int, ...]) -> list[int]:
        """The numbers of a path's beginnings and of itself."""
        return [self.paths.index(path[:size]) for size in range(1, len(path) + 1)]


def levels_at_once(vocabulary: int) -> int:
    """How many levels go in one pass: as many as stay within a few positions.

    >>> [levels_at_once(size) for size in (2, 3, 4, 16, 17)]
    [3, 2, 1, 1, 0]
    """
    levels = 0
    while sum(vocabulary**size for size in range(1, levels + 2)) <= _MOST_POSITIONS and levels < 3:
        levels += 1
    return levels


def run_last_levels(prepared: Prepared, state: State, batch: int, levels: int, stages: frozenset[str]) -> LastLevels:
    """Run every continuation of `levels` tokens or fewer, from a front's state; the mask is causal or strict."""
    transformer = prepared.transformer
    tokens = range(len(transformer.vocabulary))
    paths = tuple(path for size in range(1, levels + 1) for path in product(tokens, repeat=size))
    watch, positions = Watch(stages), np.array([state.length + len(path) - 1 for path in paths])
    residual = _embedded(prepared, paths, positions, batch, watch)
    visible = _visible(paths, state.length, transformer.options.mask == "causal")
    residual, _ = forward(prepared, residual, state, watch, visible, np.concatenate([np.arange(state.length), positions]))
    return LastLevels(paths, residual, np.zeros((len(paths), batch), bool) | watch.zero, watch.traced)


def _embedded(
    prepared: Prepared, paths: tuple[tuple[int, ...], ...], positions: np.ndarray, batch: int, watch: Watch
) -> Any:
    """What enters at each path's last token, computed once for the whole front: (d, paths, batch)."""

    def spread(column: Any) -> Any:
        return np.ascontiguousarray(np.broadcast_to(column, (*column.shape[:2], batch)))

    once = Watch(watch.stages)
    column = embed(prepared, np.array([[path[-1]] for path in paths]), observer=once, positions=positions)
    for stage, array in once.traced.items():
        watch.record(stage, spread(array))
    watch.met += once.met
    return spread(column)


def _visible(paths: tuple[tuple[int, ...], ...], earlier: int, itself: bool) -> np.ndarray:
    """Which keys each path sees, (paths, earlier + paths): all earlier ones, its beginnings, and, if causal, itself."""
    among = [[a[: len(b)] == b and (itself or len(b) < len(a)) for b in paths] for a in paths]
    return np.concatenate([np.ones((len(paths), earlier), bool), np.array(among)], axis=1)
