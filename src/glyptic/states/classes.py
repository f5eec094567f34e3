"""Classes of states that no word tells apart, by Hopcroft's refinement: compiled, n log n steps, a limit asked on the way.

Classes of equal outputs are split by the states that lead into a class by a token. When a class is split, only the smaller part
has to split others again: what leads into the whole and into one part is told apart by the other part too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from glyptic.numbers.kernels import compiled

_FUEL = 1 << 22  # moves that are looked at between two questions whether to go on
Asked = Callable[[], object]  # raises where a search has to end


class Partition(NamedTuple):
    """States by class: those of class c are `members[first[c]:past[c]]`, the marked ones in front, as far as `marked[c]`."""

    members: np.ndarray
    at: np.ndarray  # (states,) the place of each among the members
    of: np.ndarray  # (states,) its class
    first: np.ndarray
    past: np.ndarray
    marked: np.ndarray
    waiting: np.ndarray  # classes that have to split others, as a stack
    waits: np.ndarray  # (classes,): whether it is in that
    counts: np.ndarray  # how many classes there are, and how many wait


class Before(NamedTuple):
    """The states that lead to a state by a token: `sources[starts[token, state]:starts[token, state + 1]]`."""

    starts: np.ndarray
    sources: np.ndarray


def classes(moves: np.ndarray, outputs: np.ndarray, asked: Asked | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The number of each state's class, or −1 of one that no word leads to; a state of each class; and the moves of the classes.

    Classes are numbered as a search by breadth from state 0 discovers them. `asked` is called now and then, and may raise.

    >>> moves = np.array([[1, 2], [1, 1], [2, 2], [3, 3]])        # nothing tells 1 from 2, and nothing leads to 3
    >>> number, states, joined = classes(moves, np.array([0, 1, 1, 0]))
    >>> number.tolist(), states.tolist(), joined.tolist()
    ([0, 1, 1, -1], [0, 1], [[1, 1], [1, 1]])
    """
    part, before = _started(moves, outputs), _before(moves)
    scratch = np.empty((2, len(part.members)), part.members.dtype)
    if asked is not None:
        asked()
    while not refine(part, before, scratch[0], scratch[1], _FUEL):
        if asked is not None:
            asked()
    number, states = discovered(np.ascontiguousarray(moves), part.of[: len(moves)], int(part.counts[0]))
    followed = moves[states]
    return number, states, np.where(followed < 0, -1, number[followed]).astype(np.int32)


def _started(moves: np.ndarray, outputs: np.ndarray) -> Partition:
    """Classes of equal outputs; where a move of −1 leads is a state of its own, the last."""
    count = len(moves) + 1
    whole = np.int32 if count < np.iinfo(np.int32).max else np.int64
    _, kinds = np.unique(outputs, return_inverse=True)
    of = np.append(kinds.ravel(), kinds.max(initial=-1) + 1).astype(whole)
    members = np.argsort(of, kind="stable").astype(whole)
    at = np.empty(count, whole)
    at[members] = np.arange(count)
    many = int(of[-1]) + 1
    bounds = np.searchsorted(of[members], np.arange(many + 1))
    first, past, waiting = (np.zeros(count, whole) for _ in range(3))
    first[:many], past[:many] = bounds[:-1], bounds[1:]
    waiting[:many], waits = np.arange(many), np.arange(count) < many
    return Partition(members, at, of, first, past, first.copy(), waiting, waits, np.array([many, many]))


def _before(moves: np.ndarray) -> Before:
    states, tokens = moves.shape
    whole = np.int32 if states * max(tokens, 1) < np.iinfo(np.int32).max else np.int64
    starts, sources = np.zeros((tokens, states + 2), np.int64), np.empty(states * tokens, whole)
    for token in range(tokens):
        target = np.where(moves[:, token] < 0, states, moves[:, token])
        starts[token] = token * states + np.append(0, np.cumsum(np.bincount(target, minlength=states + 1)))
        sources[token * states : (token + 1) * states] = np.argsort(target, kind="stable")
    return Before(starts, sources)


@compiled
def refine(part, before, splitter, touched, fuel):
    """Split until nothing splits, True; or until the fuel is used up, False."""
    tokens = before.starts.shape[0]
    while part.counts[1] > 0:
        if fuel < 0:
            return False
        part.counts[1] -= 1
        chosen = part.waiting[part.counts[1]]
        part.waits[chosen] = False
        low, size = part.first[chosen], part.past[chosen] - part.first[chosen]
        splitter[:size] = part.members[low : low + size]  # as it is now: it may be split by itself
        for token in range(tokens):
            met = 0
            for k in range(size):
                for j in range(before.starts[token, splitter[k]], before.starts[token, splitter[k] + 1]):
                    met = mark(part, before.sources[j], touched, met)
                    fuel -= 1
            for k in range(met):
                split(part, touched[k])
        fuel -= size * tokens
    return True


@compiled
def mark(part, state, touched, met):
    """Put a state among the marked ones of its class; `touched` are the classes that have any."""
    c, here = part.of[state], part.at[state]
    there = part.marked[c]
    if here < there:
        return met
    if there == part.first[c]:
        touched[met] = c
        met += 1
    other = part.members[there]
    part.members[there], part.members[here] = state, other
    part.at[state], part.at[other] = there, here
    part.marked[c] = there + 1
    return met


@compiled
def split(part, c):
    """The marked states of a class and the others, if there are any, become two classes: the smaller is the new one."""
    middle = part.marked[c]
    if middle == part.past[c]:
        part.marked[c] = part.first[c]
        return
    new = part.counts[0]
    part.counts[0] += 1
    if middle - part.first[c] <= part.past[c] - middle:
        part.first[new], part.past[new] = part.first[c], middle
        part.first[c] = middle
    else:
        part.first[new], part.past[new] = middle, part.past[c]
        part.past[c] = middle
    part.marked[c], part.marked[new] = part.first[c], part.first[new]
    for k in range(part.first[new], part.past[new]):
        part.of[part.members[k]] = new
    part.waits[new] = True  # where the old one waits, both have to; else the smaller is enough
    part.waiting[part.counts[1]] = new
    part.counts[1] += 1


@compiled
def discovered(moves, of, count):
    """Classes numbered by breadth from state 0: of each state its number, and of each class the first state that was met."""
    number_of = np.full(count, -1, np.int64)
    found = np.empty(count, np.int64)
    number_of[of[0]], found[0], many, place = 0, 0, 1, 0
    while place < many:
        for token in range(moves.shape[1]):
            following = moves[found[place], token]
            if following >= 0 and number_of[of[following]] < 0:
                number_of[of[following]] = many
                found[many] = following
                many += 1
        place += 1
    number = np.empty(len(moves), np.int64)
    for state in range(len(moves)):
        number[state] = number_of[of[state]]
    return number, found[:many]
