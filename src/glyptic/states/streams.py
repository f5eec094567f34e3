"""Machines between layers: after each token a state, and with it the vector that the layers so far give at that position.

A `VectorMachine` is a Moore machine whose outputs are numbers: of a vector, or, below −1, of a place of 0/0. The start has said
nothing yet, −1. A move of −1 leads nowhere: there is no position for a further token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glyptic.states.classes import Asked, classes

SILENT = -1  # the output before the first token


@dataclass(frozen=True)
class VectorMachine:
    """moves (states, tokens), outputs (states,), vectors (numbers, width) of codes; the start is state 0."""

    moves: np.ndarray
    outputs: np.ndarray
    vectors: np.ndarray

    def minimal(self, asked: Asked | None = None) -> VectorMachine:
        """The smallest machine with the same outputs."""
        _, states, moves = classes(self.moves, self.outputs, asked)
        return VectorMachine(moves, self.outputs[states], self.vectors)


def failed(place: int) -> int:
    """The output at a place of 0/0, by the place's number; places are numbered in the order in which a run meets them."""
    return -2 - place


def place_of(output: np.ndarray) -> np.ndarray:
    """The inverse of `failed`, of many."""
    return -2 - output
