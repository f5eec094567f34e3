"""The same automaton over fractions, a state and a token at a time: short, slow, and what the search is compared with.

A state of a layer is: the state below; and for every head and every query that is ever asked what its weights are divided by so
far, and, for every divisor that it is ever asked with and can still come to, the running mixture. Denominators never fall, nor
does the largest score; and while that is the same, the share of each key that has it does not rise. Nothing else is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.exact.answers import UNDEFINED
from glyptic.exact.transformer import Transformer
from glyptic.numbers import Codes, decode
from glyptic.numbers.reference import Reference
from glyptic.states.extraction import next_rows, refuse_unknown
from glyptic.states.positionwise import Positionwise

LOST = "0/0"
Vector = tuple[Fraction, ...]


@dataclass(frozen=True)
class PlainMachine:
    """moves[state][token], −1 for none; what each state gives: before the end a vector or LOST, in the end an answer's number."""

    moves: list[list[int]]
    outputs: list[Any]


def plain_machine(transformer: Transformer) -> PlainMachine:
    """The machine of a transformer's answers; 0/0 is one state that is never left."""
    refuse_unknown(transformer)
    at = Positionwise(transformer, "reference")
    machine = _embeddings(at)
    for layer in range(len(transformer.layers)):
        machine = _PlainLayer(at, layer, joined(machine)).searched()
    if transformer.final_norm is not None:
        machine = _explored(machine, lambda state, vector: LOST if state == LOST else _normed(at, vector))
    known: dict[Any, int] = {}

    def answer(vector: Any) -> Any:
        if vector in (None, LOST):
            return None if vector is None else UNDEFINED
        if vector not in known:
            known[vector] = int(at.answers(_codes(at, vector)[None])[0][0])
        return known[vector]

    return PlainMachine(machine.moves, [answer(vector) for vector in machine.outputs])


def joined(machine: PlainMachine) -> PlainMachine:
    """States that no word tells apart in one, by splitting classes until nothing splits."""
    classes = _numbered(machine.outputs)
    while True:
        kinds = [(classes[s], *(-1 if t < 0 else classes[t] for t in row)) for s, row in enumerate(machine.moves)]
        finer = _numbered(kinds)
        if max(finer) == max(classes):
            break
        classes = finer
    first = {number: state for state, number in reversed(list(enumerate(classes)))}
    moves = [[-1 if t < 0 else classes[t] for t in machine.moves[first[number]]] for number in range(len(first))]
    return PlainMachine(moves, [machine.outputs[first[number]] for number in range(len(first))])


def _numbered(items: list[Any]) -> list[int]:
    known: dict[Any, int] = {}
    return [known.setdefault(item, len(known)) for item in items]


def _codes(at: Positionwise, vector: Vector) -> Codes:
    return np.array([at.transformer.format.code(x) for x in vector], np.int64)


def _values(at: Positionwise, codes: Codes) -> Vector:
    return tuple(decode(np.asarray(codes), at.transformer.format).tolist())


def _embeddings(at: Positionwise) -> PlainMachine:
    tokens = len(at.transformer.vocabulary)
    moves: list[list[int]] = [[1 + t for t in range(tokens)]]
    outputs: list[Any] = [None]
    for row, following in zip(*next_rows(at.transformer, None), strict=True):
        for codes in at.embedded(row):
            moves.append([-1 if following < 0 else 1 + following * tokens + t for t in range(tokens)])
            outputs.append(_values(at, codes))
    return PlainMachine(moves, outputs)


def _explored(below: PlainMachine, after: Callable[[Any, Any], Any]) -> PlainMachine:
    """A machine whose state beside the one below is what it gives: after(what it gave, the vector below)."""
    start: tuple[int, Any] = (0, None)
    number, queue, moves = {start: 0}, [start], []
    for state, given in queue:
        row = []
        for following in below.moves[state]:
            vector = None if following < 0 else below.outputs[following]
            pair = (following, LOST if vector == LOST else after(given, vector)) if following >= 0 else None
            if pair is not None and pair not in number:
                number[pair] = len(queue)
                queue.append(pair)
            row.append(-1 if pair is None else number[pair])
        moves.append(row)
    return PlainMachine(moves, [given for _, given in queue])


def _normed(at: Positionwise, vector: Vector) -> Any:
    passed = at.final_norm(_codes(at, vector)[None], ())
    return LOST if passed.failure[0] >= 0 else _values(at, passed.vectors[0])


class _PlainLayer:
    """One layer over the machine below."""

    def __init__(self, at: Positionwise, layer: int, below: PlainMachine) -> None:
        self.at, self.layer, self.below, options = at, layer, below, at.transformer.options
        self.R, self.kind = Reference(at.transformer.format, options.products), options.attention
        self.strict = options.mask == "strict"
        vectors = [vector for vector in dict.fromkeys(below.outputs) if vector not in (None, LOST)]
        self.heads: list[dict[Vector, tuple[Vector, Vector, Vector]]] = [{} for _ in at.transformer.layers[layer].heads]
        if vectors:
            found = at.projections(layer, np.array([_codes(at, vector) for vector in vectors]))
            for head, parts in zip(self.heads, found, strict=True):
                for k, vector in enumerate(vectors):
                    head[vector] = tuple(_values(at, part[k]) for part in parts)  # type: ignore[assignment]
        self.queries = [list(dict.fromkeys(q for q, _, _ in head.values())) for head in self.heads]
        self.scored: dict[Any, Fraction] = {}
        self.passed: dict[Any, Any] = {}
        self.asked = [{q: self._asked(h, q) for q in queries} for h, queries in enumerate(self.queries)]

    def score(self, h: int, q: Vector, k: Vector) -> Fraction:
        if (h, q, k) not in self.scored:
            found = self.at.scores(self.layer, h, *(_codes(self.at, x)[None] for x in (q, k)))
            self.scored[h, q, k] = self.at.transformer.format.value(int(found[0, 0]))
        return self.scored[h, q, k]

    # What weights are divided by ------------------------------------------------------------------------------------------

    def further(self, h: int, q: Vector, norm: Any, k: Vector, v: Vector) -> Any:
        """What is kept of a prefix for a query's weights, after one more key (and value); None before the first."""
        score, R = self.score(h, q, k), self.R
        if self.kind == "softmax":
            return R.scalar_add(norm or R.zero, R.scalar_exp(score))
        if self.kind == "max-subtracted":  # a denominator for each score that may turn out to be the largest
            bounds = sorted({self.score(h, q, key) for _, key, _ in self.heads[h].values()})
            largest, sums = norm or (score, (R.zero,) * len(bounds))
            more = [R.scalar_add(d, R.scalar_exp(R.scalar_subtract(score, b))) for d, b in zip(sums, bounds, strict=True)]
            return max(largest, score), tuple(more)
        if self.kind == "average":
            best, count = norm or (score, 0)
            return (score, 1) if score > best else (best, min(count + (score == best), self._most))
        best, value = norm or (score, v)
        return (score, v) if score > best or (score == best and self.kind == "rightmost") else (best, value)

    @property
    def _most(self) -> int:
        count = 1
        while self.R.scalar_divide_by_count(self.R.one, count):
            count += 1
        return count

    def divisor(self, h: int, q: Vector, norm: Any) -> Hashable:
        if self.kind == "softmax":
            return norm
        if self.kind == "max-subtracted":
            bounds = sorted({self.score(h, q, key) for _, key, _ in self.heads[h].values()})
            return norm[0], norm[1][bounds.index(norm[0])]
        return norm[0], self.R.scalar_divide_by_count(self.R.one, norm[1])

    def possible(self, divisor: Any, norm: Any, h: int, q: Vector) -> bool:
        """Whether a divisor may still be asked for: denominators and largest scores never fall, nor do shares rise."""
        now: Any = self.divisor(h, q, norm)
        if self.kind == "softmax":
            return divisor >= now
        if self.kind == "max-subtracted":
            return divisor[0] >= now[0]
        return divisor[0] > now[0] or (divisor[0] == now[0] and divisor[1] <= now[1])

    def weight(self, h: int, q: Vector, divisor: Any, k: Vector) -> Fraction:
        score, R = self.score(h, q, k), self.R
        if self.kind == "softmax":
            return R.scalar_divide(R.scalar_exp(score), divisor)
        if self.kind == "max-subtracted":
            return R.scalar_divide(R.scalar_exp(R.scalar_subtract(score, divisor[0])), divisor[1])
        return divisor[1] if score == divisor[0] else R.zero

    def _asked(self, h: int, q: Vector) -> list[Any]:
        """Every divisor that a query is ever asked with, by a search of its own."""
        if self.kind in ("leftmost", "rightmost"):
            return []
        found: dict[Any, None] = {}
        queue: list[tuple[int, Any]] = [(0, None)]
        seen = set(queue)
        for state, norm in queue:
            for following in self.below.moves[state]:
                vector: Any = self.below.outputs[following] if following >= 0 else LOST
                if vector == LOST:
                    continue
                query, k, v = self.heads[h][vector]
                after = self.further(h, q, norm, k, v)
                asking = norm if self.strict else after
                if query == q and asking is not None:
                    found[self.divisor(h, q, asking)] = None
                if (following, after) not in seen:
                    seen.add((following, after))
                    queue.append((following, after))
        return [divisor for divisor in found if not _is_zero(divisor, self.kind)]

    # The search -------------------------------------------------------------------------------------------------------------

    def searched(self) -> PlainMachine:
        empty = tuple(tuple((None, ()) for _ in queries) for queries in self.queries)
        start: Any = (0, empty, None)
        number, queue, moves = {start: 0}, [start], []
        for state in queue:
            row = []
            for following in self.below.moves[state[0]]:
                new = self.after(state, following) if following >= 0 else None
                if new is not None and new not in number:
                    number[new] = len(queue)
                    queue.append(new)
                row.append(-1 if new is None else number[new])
            moves.append(row)
        return PlainMachine(moves, [given for _, _, given in queue])

    def after(self, state: Any, following: int) -> Any:
        """A state after one more token: the state below, each query's table, and what the layer gives."""
        _, tables, given = state
        vector = self.below.outputs[following]
        if LOST in (given, vector):
            return following, (), LOST
        new = tuple(tuple(self.updated(h, k, entry, vector) for k, entry in enumerate(head)) for h, head in enumerate(tables))
        mixed = tuple(self.mixture(h, tables[h] if self.strict else new[h], vector) for h in range(len(self.heads)))
        out = LOST if LOST in mixed else self.through(vector, mixed)
        return (following, (), LOST) if out == LOST else (following, new, out)

    def updated(self, h: int, number: int, entry: Any, vector: Vector) -> Any:
        """One query's table after a key and a value."""
        q, (norm, mixtures) = self.queries[h][number], entry
        _, k, v = self.heads[h][vector]
        after = self.further(h, q, norm, k, v)
        known = dict(mixtures)
        more = []
        for divisor in self.asked[h][q]:
            if self.possible(divisor, after, h, q):
                terms = known.get(divisor, ()) if norm is not None else ()
                more.append((divisor, self.more(terms, self.weight(h, q, divisor, k), v)))
        return after, tuple(more)

    def more(self, total: Any, weight: Fraction, v: Vector) -> Any:
        """A running mixture: nothing yet, one product that is not rounded yet, or a rounded sum, coordinate by coordinate."""
        if self.R.products != "unrounded":
            before = total or (self.R.zero,) * len(v)
            fused = self.R.products == "fused"
            step = self.R.scalar_fused if fused else lambda t, w, x: self.R.scalar_add(t, self.R.scalar_multiply(w, x))
            return tuple(step(t, weight, x) for t, x in zip(before, v, strict=True))
        if total == ():
            return "first", tuple(weight * x for x in v)
        return "sum", tuple(self.R.format.round(t + weight * x) for t, x in zip(total[1], v, strict=True))

    def mixture(self, h: int, table: Any, vector: Vector) -> Any:
        q, _, v = self.heads[h][vector]
        norm, mixtures = table[self.queries[h].index(q)]
        if norm is None:  # under the strict mask the first position sees nothing
            return (self.R.zero,) * len(v)
        if self.kind in ("leftmost", "rightmost"):
            return tuple(self.R.scalar_multiply(self.R.one, x) for x in norm[1])
        divisor = self.divisor(h, q, norm)
        if _is_zero(divisor, self.kind):
            return LOST
        found = dict(mixtures)[divisor]
        return found if self.R.products != "unrounded" else tuple(map(self.R.format.round, found[1]))

    def through(self, vector: Vector, mixed: tuple[Vector, ...]) -> Any:
        if (vector, mixed) not in self.passed:
            codes = [_codes(self.at, each)[None] for each in mixed]
            zero = [np.zeros(1, bool)] * len(mixed)
            passed = self.at.after(self.layer, _codes(self.at, vector)[None], codes, zero, 0, ())
            self.passed[vector, mixed] = LOST if passed.failure[0] >= 0 else _values(self.at, passed.vectors[0])
        return self.passed[vector, mixed]


def _is_zero(divisor: Any, kind: str) -> bool:
    return kind != "average" and (divisor[1] if kind == "max-subtracted" else divisor) == 0
