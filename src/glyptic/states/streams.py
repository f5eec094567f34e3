"""Machines between layers: after each token a state, and with it the vector that the layers so far give at that position.

A `VectorMachine` is a Moore machine whose outputs are numbers: of a vector, or, below −1, of a place of 0/0. The start has said
nothing yet, −1. A move of −1 leads nowhere: there is no position for a further token.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SILENT = -1  # the output before the first token


@dataclass(frozen=True)
class VectorMachine:
    """moves (states, tokens), outputs (states,), vectors (numbers, width) of codes; the start is state 0."""

    moves: np.ndarray
    outputs: np.ndarray
    vectors: np.ndarray

    def minimal(self) -> VectorMachine:
        """The smallest machine with the same outputs."""
        states, moves = quotient(self.moves, self.outputs)
        return VectorMachine(moves, self.outputs[states], self.vectors)


def failed(place: int) -> int:
    """The output at a place of 0/0, by the place's number; places are numbered in the order in which a run meets them."""
    return -2 - place


def place_of(output: np.ndarray) -> np.ndarray:
    """The inverse of `failed`, of many."""
    return -2 - output


def classes_of(moves: np.ndarray, outputs: np.ndarray) -> tuple[list[int], np.ndarray]:
    """The number of each state's class, and the moves of the classes, as `quotient` gives them; all states must be reached."""
    _, joined = quotient(moves, outputs)
    number = np.full(len(moves), -1)
    number[0] = 0
    queue = [0]
    for state in queue:  # classes follow states
        for token, following in enumerate(moves[state].tolist()):
            if following >= 0 and number[following] < 0:
                number[following] = joined[number[state], token]
                queue.append(following)
    return number.tolist(), joined


def quotient(moves: np.ndarray, outputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A state of each class of states that no word tells apart, and the moves of the classes, numbered as they are discovered.

    Moore's refinement: classes of equal outputs, split by the classes that their moves lead to until nothing splits.
    """
    outside = len(moves)  # where −1 leads
    classes, count = _numbered(outputs), 0
    while (now := int(classes.max(initial=-1)) + 1) != count:
        count, signature = now, classes
        padded = np.append(classes, now)
        for token in range(moves.shape[1]):
            after = padded[np.where(moves[:, token] < 0, outside, moves[:, token])]
            signature = _numbered(signature * (now + 1) + after)
        classes = signature
    order = _discovered(moves, classes, count)
    number = np.full(count + 1, -1)
    number[classes[order]] = np.arange(len(order))
    followed = moves[order]
    return order, np.where(followed < 0, -1, number[classes[followed]]).astype(np.int32)


def _numbered(values: np.ndarray) -> np.ndarray:
    return np.unique(values, return_inverse=True)[1].reshape(values.shape)


def _discovered(moves: np.ndarray, classes: np.ndarray, count: int) -> np.ndarray:
    """The first state of each class that can be reached, in the order of a search by breadth from state 0."""
    seen, found = np.zeros(count, bool), [0]
    seen[classes[0]] = True
    for state in found:
        for following in moves[state].tolist():
            if following >= 0 and not seen[classes[following]]:
                seen[classes[following]] = True
                found.append(following)
    return np.array(found)
