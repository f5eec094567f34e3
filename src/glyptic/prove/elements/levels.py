"""Some levels of the tree of inputs in one pass: all continuations of a front at once, by attention along the tree.

The continuations of up to three tokens, say, are 2 + 4 + 8 new positions of every member of the front. Each sees the front's own
positions, its ancestors among the new ones, and itself, in this order, which is the order of its input: so every sum is the one
that the input alone would give. Keys and values of the front are read by all of them, and copied for none, unless a front of the
longest continuations is wanted (`Levels.front`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from glyptic.exact.forward import Prepared, embed, forward
from glyptic.exact.kept import State, Together
from glyptic.exact.stages import Watch

_MOST_POSITIONS = 32


@dataclass(frozen=True)
class Levels:
    """What a transformer makes of all continuations of a front, shorter first, each length in the order of the vocabulary."""

    vocabulary: int
    levels: int
    residual: Any  # (d, paths, batch), after all layers
    failed: np.ndarray  # (paths, batch): 0/0 met at the path's last position
    traced: dict[str, Any]  # stage -> (d, paths, batch)
    state: State | Together  # of the front's positions and of all paths; of its length alone where these are the last levels

    def front(self) -> State | Together:
        """The state of the longest paths, those of a member of the front side by side."""
        longest = beginnings(self.vocabulary, self.levels)[level(self.vocabulary, self.levels)]
        earlier = self.state.length - sum(self.vocabulary**size for size in range(1, self.levels + 1))
        return self.state.along(np.array([[*range(earlier), *(earlier + place for place in along)] for along in longest]).T)


@cache
def paths_of(vocabulary: int, levels: int) -> tuple[tuple[int, ...], ...]:
    """All continuations of so many tokens or fewer.

    >>> paths_of(2, 2)
    ((0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1))
    """
    return tuple(path for size in range(1, levels + 1) for path in product(range(vocabulary), repeat=size))


def level(vocabulary: int, length: int) -> slice:
    """The paths of a length."""
    first = sum(vocabulary**size for size in range(1, length))
    return slice(first, first + vocabulary**length)


@cache
def beginnings(vocabulary: int, levels: int) -> tuple[tuple[int, ...], ...]:
    """Of each path the numbers of its beginnings and of itself.

    >>> beginnings(2, 2)
    ((0,), (1,), (0, 2), (0, 3), (1, 4), (1, 5))
    """
    number = {path: i for i, path in enumerate(paths_of(vocabulary, levels))}
    return tuple(tuple(number[path[:size]] for size in range(1, len(path) + 1)) for path in number)


def levels_at_once(vocabulary: int) -> int:
    """How many levels go in one pass: as many as stay within a few positions.

    >>> [levels_at_once(size) for size in (2, 3, 5, 32, 33)]
    [4, 2, 2, 1, 0]
    """
    levels = 0
    while sum(vocabulary**size for size in range(1, levels + 2)) <= _MOST_POSITIONS and levels < 4:
        levels += 1
    return levels


def run_levels(
    prepared: Prepared, state: State | Together, batch: int, levels: int, stages: frozenset[str], last: bool
) -> Levels:
    """Run every continuation of `levels` tokens or fewer, from a front's state; the mask is causal or strict.

    These may be the `last` of all.
    """
    transformer, words = prepared.transformer, len(prepared.transformer.vocabulary)
    paths, watch = paths_of(words, levels), Watch(stages)
    positions = np.array([state.length + len(path) - 1 for path in paths])
    residual = _embedded(prepared, paths, positions, batch, watch)
    visible = _visible(words, levels, state.length, transformer.options.mask == "causal")
    positions = np.concatenate([np.arange(state.length), positions])
    residual, state = forward(prepared, residual, state, watch, visible, positions, last=last)
    return Levels(words, levels, residual, np.zeros((len(paths), batch), bool) | watch.zero, watch.traced, state)


def _embedded(
    prepared: Prepared, paths: tuple[tuple[int, ...], ...], positions: np.ndarray, batch: int, watch: Watch
) -> Any:
    """What enters at each path's last token, computed once for the whole front: (d, paths, batch)."""

    def spread(column: Any) -> Any:
        return np.broadcast_to(column, (*column.shape[:2], batch))

    once = Watch(watch.stages)
    column = embed(prepared, np.array([[path[-1]] for path in paths]), observer=once, positions=positions)
    for stage, array in once.traced.items():
        watch.record(stage, np.ascontiguousarray(spread(array)))
    watch.met += once.met
    return spread(column)


@cache
def _among(vocabulary: int, levels: int, itself: bool) -> np.ndarray:
    """Which of the paths each of them sees: its beginnings, and, if causal, itself."""
    seen = np.zeros((len(paths_of(vocabulary, levels)),) * 2, bool)
    for i, along in enumerate(beginnings(vocabulary, levels)):
        seen[i, list(along if itself else along[:-1])] = True
    return seen


def _visible(vocabulary: int, levels: int, earlier: int, itself: bool) -> np.ndarray:
    """Which keys each path sees, (paths, earlier + paths): all earlier ones, and those among the paths."""
    among = _among(vocabulary, levels, itself)
    return np.concatenate([np.ones((len(among), earlier), bool), among], axis=1)
