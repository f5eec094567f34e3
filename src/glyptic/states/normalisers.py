"""What the weights of a query are divided by, as a machine: which queries a head is asked, and with which denominators.

For a query q the running denominator D(q) = [[e_1 + e_2] + …], e_j = [exp⟨q, k_j⟩], moves by the keys alone. So the pairs (state
of the layers below, D(q)) are a machine of their own, searched here for every query at once. It tells which denominators the
query is asked with, and, backwards, which it may still be asked with: what else could be said of a prefix nobody will ever ask.

Where the largest score matters a query is followed once for each score b that may turn out to be the largest it sees, and given
up when a larger one comes:
    max-subtracted   e_j = [exp[⟨q, k_j⟩ − b]], and whether b has been met
    average          how often b has been met, up to where 1 over it rounds to 0
    leftmost, rightmost   the key and value that were met first, or last, with b
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glyptic.numbers import Attention, Codes
from glyptic.numbers.kernels import compiled
from glyptic.states.budget import Budget
from glyptic.states.scalars import Scalars
from glyptic.states.streams import VectorMachine
from glyptic.states.tables import RowTable

HARD = ("leftmost", "rightmost")


@dataclass(frozen=True)
class HeadLetters:
    """What a head makes of each vector: its query, and the letter (a key with a value) that later positions see of it."""

    query_of: np.ndarray  # (vectors,)
    letter_of: np.ndarray  # (vectors,)
    scores: Codes  # (queries, letters)
    values: Codes  # (letters, d_v)
    queries: Codes  # (queries, d_k)

    @staticmethod
    def of(queries: Codes, keys: Codes, values: Codes, score: object) -> HeadLetters:
        asked, query_of = np.unique(queries, axis=0, return_inverse=True)
        letters, letter_of = np.unique(np.concatenate([keys, values], axis=1), axis=0, return_inverse=True)
        width = keys.shape[1]
        scores = score(asked, letters[:, :width])  # type: ignore[operator]
        return HeadLetters(query_of.ravel(), letter_of.ravel(), scores, letters[:, width:], asked)


@dataclass(frozen=True)
class Normaliser:
    """The machine of all queries' denominators; a node is (query with its bound, state below, what is kept).

    `asked` is the number of the denominator with which the node's query is asked, among those of its query, where it can be.
    """

    kind: Attention
    letters: HeadLetters
    bounds: int  # how many bounds a query is followed with
    bound: Codes  # (queries · bounds,) the scores
    exps: Codes  # (queries · bounds, letters), where there are denominators
    nodes: np.ndarray  # rows (query · bounds + bound, state, kept, met)
    moves: np.ndarray  # (nodes, tokens), −1 where nothing is kept any more
    start: np.ndarray  # (queries · bounds,) nodes
    divisor: np.ndarray  # (nodes,) code of the denominator or of the share; −1 where the bound has not been met
    asked: np.ndarray  # (nodes,) its number among the divisors that are asked for, or −1
    divisors: tuple[tuple[int, ...], ...]  # of each query with its bound
    later: np.ndarray  # (nodes, words) of bits: the divisors that a later position may ask for
    matters: np.ndarray  # (nodes,): whether there are any


def normaliser(
    below: VectorMachine, letters: HeadLetters, kind: Attention, strict: bool, of: Scalars, budget: Budget, head: int = 0
) -> Normaliser:
    """Search the machine of a head's denominators."""
    queries = len(letters.scores)
    if kind == "softmax":
        bounds, bound = 1, np.zeros(queries, np.int64)
        exps = of.exp(letters.scores)
    else:
        listed = [np.unique(row) for row in letters.scores]
        bounds = max((len(each) for each in listed), default=1)
        filled = [np.append(each, np.full(bounds - len(each), each[-1])) for each in listed]
        bound = np.concatenate([np.zeros(0, np.int64), *filled])  # there is no query where every input has met 0/0 before
        spread = np.repeat(letters.scores, bounds, axis=0)
        low = np.minimum(spread, bound[:, None])
        exps = of.exp(of.subtract(low, bound[:, None])) if kind == "max-subtracted" else np.zeros_like(low)
    keeper = _Keeper(kind, letters, bounds, bound, exps, of, of.largest_count() if kind == "average" else 0)
    nodes, moves, start = _searched(below, keeper, budget, head)
    divisor = keeper.divisor(nodes)
    asks = _asks(below, letters, nodes, bounds, divisor, strict)
    divisors, asked = _numbered_divisors(nodes, divisor, asks, len(bound))
    most = max((len(each) for each in divisors), default=0)
    budget.afford(2 * len(nodes) * max(1, -(-most // 64)) * 8, f"which of its {most:,} denominators may still be asked for", head)
    live = _live(moves, asked, asks, most)
    later = live if strict else _after(moves, live)  # under the strict mask it is a later position that asks
    matters = np.any(later, axis=1, keepdims=True)[:, 0]
    return Normaliser(kind, letters, bounds, bound, exps, nodes, moves, start, divisor, asked, divisors, later, matters)


@dataclass(frozen=True)
class _Keeper:
    """How what is kept of a prefix for a query moves by a letter."""

    kind: Attention
    letters: HeadLetters
    bounds: int
    bound: Codes
    exps: Codes
    of: Scalars
    most: int

    def start(self) -> np.ndarray:
        rows = np.zeros((len(self.bound), 4), np.int64)
        rows[:, 0] = np.arange(len(self.bound))
        rows[:, 2] = -1 if self.kind in HARD else 0
        return rows

    def moved(self, rows: np.ndarray, letter: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows after a letter each (their states are set by others), and which are still worth keeping."""
        query, kept, met = rows[:, 0], rows[:, 2], rows[:, 3]
        out = rows.copy()
        if self.kind == "softmax":
            out[:, 2], out[:, 3] = self.of.add(kept, self.exps[query, letter]), 1
            return out, np.ones(len(rows), bool)
        score, bound = self.letters.scores[query // self.bounds, letter], self.bound[query]
        best = score == bound
        out[:, 3] = met | best
        if self.kind == "max-subtracted":
            out[:, 2] = self.of.add(kept, self.exps[query, letter])
        elif self.kind == "average":
            out[:, 2] = np.minimum(kept + best, self.most)
        else:
            out[:, 2] = np.where(best & ((kept < 0) | (self.kind == "rightmost")), letter, kept)
        return out, score <= bound

    def divisor(self, nodes: np.ndarray) -> np.ndarray:
        kept, met = nodes[:, 2], nodes[:, 3]
        if self.kind == "average":
            counts, inverse = np.unique(kept, return_inverse=True)
            kept = np.array([self.of.inverse(max(int(count), 1)) for count in counts], np.int64)[inverse.ravel()]
        elif self.kind in HARD:
            kept = np.zeros_like(kept)
        return np.where(met > 0, kept, -1)


def _searched(below: VectorMachine, keeper: _Keeper, budget: Budget, head: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table, moves = RowTable(4), []
    start = _first_bounds(table.add(keeper.start()), keeper)
    done, tokens = 0, below.moves.shape[1]
    while done < len(table):
        rows = table.rows[done:]
        done = len(table)
        state = below.moves[rows[:, 1]]
        output = np.where(state < 0, -2, below.outputs[state])
        place, token = np.nonzero(output >= 0)  # beyond 0/0 nothing is asked that matters
        moved, kept = keeper.moved(rows[place], keeper.letters.letter_of[output[place, token]])
        moved[:, 1] = state[place, token]
        following = np.full((len(rows), tokens), -1)
        following[place[kept], token[kept]] = table.add(moved[kept])
        moves.append(following)
        budget.nodes(len(table), len(keeper.bound), head)
    return table.rows.copy(), np.concatenate(moves) if moves else np.zeros((0, tokens), np.int64), start


def _first_bounds(start: np.ndarray, keeper: _Keeper) -> np.ndarray:
    """Where a query has fewer bounds than another, the last is repeated: those are not followed."""
    if keeper.kind == "softmax":
        return start
    again = np.zeros(len(start), bool)
    again[1:] = (keeper.bound[1:] == keeper.bound[:-1]) & (np.arange(1, len(start)) % keeper.bounds != 0)
    return np.where(again, -1, start)


def _asks(
    below: VectorMachine, letters: HeadLetters, nodes: np.ndarray, bounds: int, divisor: np.ndarray, strict: bool
) -> np.ndarray:
    """Which nodes are asked: by the vector of their own position, or, under the strict mask, of a next one."""
    query = np.append(letters.query_of, -1)

    def of(state: np.ndarray) -> np.ndarray:
        output = np.where(state < 0, -1, below.outputs[state])
        return query[np.where(output < 0, len(query) - 1, output)] == nodes[:, 0] // bounds

    state = nodes[:, 1]
    if not strict:
        return of(state) & (divisor >= 0)
    asked = np.zeros(len(nodes), bool)
    for token in range(below.moves.shape[1]):
        asked |= of(below.moves[state, token])
    return asked & (divisor >= 0)


def _numbered_divisors(
    nodes: np.ndarray, divisor: np.ndarray, asks: np.ndarray, count: int
) -> tuple[tuple[tuple[int, ...], ...], np.ndarray]:
    """The divisors that each query is asked with, and the number of each node's among them."""
    pairs, inverse = np.unique(np.stack([nodes[:, 0], divisor], axis=1)[asks], axis=0, return_inverse=True)
    first = np.searchsorted(pairs[:, 0], np.arange(count + 1))
    divisors = tuple(tuple(pairs[first[u] : first[u + 1], 1].tolist()) for u in range(count))
    asked = np.full(len(nodes), -1)
    asked[asks] = inverse.ravel() - first[nodes[asks, 0]]
    return divisors, asked


def _live(moves: np.ndarray, asked: np.ndarray, asks: np.ndarray, most: int) -> np.ndarray:
    """Backwards from what is asked, until nothing is added."""
    live = np.zeros((len(moves), max(1, -(-most // 64))), np.uint64)
    where = np.flatnonzero(asks)
    live[where, asked[where] // 64] = np.uint64(1) << (asked[where] % 64).astype(np.uint64)
    while spread_back(moves, live):
        pass
    return live


def _after(moves: np.ndarray, live: np.ndarray) -> np.ndarray:
    """What is live at any of the nodes that come next."""
    padded, later = np.concatenate([live, np.zeros_like(live[:1])]), np.zeros_like(live)
    for token in range(moves.shape[1]):
        later |= padded[moves[:, token]]  # −1 is the last, where nothing is
    return later


@compiled
def spread_back(moves, live):
    """Give each node what those after it have; whether anything was added."""
    grown = False
    for node in range(len(moves) - 1, -1, -1):
        for token in range(moves.shape[1]):
            after = moves[node, token]
            if after >= 0:
                for word in range(live.shape[1]):
                    joined = live[node, word] | live[after, word]
                    grown |= joined != live[node, word]
                    live[node, word] = joined
    return grown
