"""One layer as a machine: the machine below it, and for every head what later positions may still ask of the prefix.

A state is a row of whole numbers: the state below; the first place of 0/0, if one was met; what the layer gives at this position;
of every query its node in the denominators' machine (`normalisers`); and of every query and denominator that may still be asked
for, the running mixture Σ_j [[e_j / D]·v_j], one number a coordinate. What can no longer be asked for is 0. Rows are searched by
breadth, a level at a time. Each entry moves by rows of the table that is here, so a closed table is exact (docs/every-length.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from glyptic.numbers import Codes
from glyptic.states.budget import REMEDY, Budget, TooManyStates
from glyptic.states.journal import SearchJournal
from glyptic.states.normalisers import HARD, HeadLetters, Normaliser, normaliser
from glyptic.states.positionwise import Passed, Positionwise
from glyptic.states.scalars import Scalars
from glyptic.states.streams import SILENT, VectorMachine, failed
from glyptic.states.tables import RowTable

_CHUNK_BYTES = 1 << 26  # of rows that are followed at once
NEVER = np.iinfo(np.int32).max  # no 0/0 has been met
STATE, FAILURE, OUTPUT = 0, 1, 2  # the first columns of a row
_FIRST = 3


@dataclass(frozen=True)
class HeadColumns:
    """Where a head is in a row: its nodes, its mixtures, and with unrounded first products the first letter."""

    normaliser: Normaliser
    nodes: slice
    mixtures: slice
    first_letter: int  # a column, or −1
    query: np.ndarray  # of each mixture's column: its query with its bound
    divisor: np.ndarray  # and the number of its divisor
    weights: Codes  # (mixtures, letters)
    values: Codes  # (mixtures, letters)
    base: np.ndarray  # (queries · bounds, divisors) -> the first of its mixtures
    coordinates: np.ndarray  # (d_v,) -> which of the kept coordinates holds it, or −1 for 0
    picked: Codes  # (letters, kept): what hard attention gives
    terms: Codes | None  # (letters, mixtures) of products, where they are rounded
    rank: int  # the place of its 0/0


class LayerSearch:
    """The search of one layer of a transformer over the machine below it."""

    def __init__(self, at: Positionwise, layer: int, below: VectorMachine, budget: Budget, stages: Sequence[str]) -> None:
        self.at, self.layer, self.below, self.budget, self.stages = at, layer, below, budget, stages
        self.of, options = Scalars(at.arithmetic), at.transformer.options
        self.strict = options.mask == "strict"
        width = at.transformer.width
        self.first_place, ranks = at.places_of_layer(layer)
        projections = at.projections(layer, below.vectors[:, :width])
        self.heads: list[HeadColumns] = []
        column = _FIRST
        for h, (queries, keys, values) in enumerate(projections):
            letters = HeadLetters.of(queries, keys, values, lambda q, k, h=h: at.scores(layer, h, q, k))
            machine = normaliser(below, letters, options.attention, self.strict, self.of, budget, h)
            output = np.asarray(at.transformer.layers[layer].heads[h].output)
            if f"layer.{layer}.head.{h}.mixed" in stages:
                output = np.ones_like(output)  # somebody looks at what the output does not read
            mixtures = sum(map(len, machine.divisors)) * len(letters.values) * letters.values.shape[1]
            budget.afford(4 * 8 * mixtures, f"the terms of {mixtures:,} mixtures", h)
            head = _columns(machine, self.of, output, column, ranks[h])
            self.heads.append(head)
            column = max(head.mixtures.stop, head.first_letter + 1)
        self.last_head = max(ranks, default=-1)
        wide = at.transformer.format.max_code >= NEVER  # type: ignore[union-attr]
        self.dtype: type[np.signedinteger] = np.int64 if wide else np.int32
        self.table = RowTable(column, self.dtype)
        self.asked = RowTable(1 + sum(1 + head.picked.shape[1] for head in self.heads))
        self.outcomes = np.zeros((0, 2), np.int64)  # of what was asked: the number of the vector, the place of 0/0 or −1
        self.traced_widths = self._traced_widths()
        self.vectors = RowTable(below.vectors.shape[1] + sum(self.traced_widths.values()))

    def run(self, journal: SearchJournal | None = None) -> VectorMachine:
        """All states that any input leads to; an interrupted search leaves what it has found in the journal."""
        moves = self._taken_up({} if journal is None else journal.part("now."))
        try:
            self._search(moves, journal)
        except KeyboardInterrupt:
            if journal is not None:
                journal.enter("now.", self._found(moves), now=True)
            raise
        return VectorMachine(np.concatenate(moves), self.table.rows[:, OUTPUT].astype(np.int64), self.vectors.rows.copy())

    def _found(self, moves: list[np.ndarray]) -> dict[str, np.ndarray]:
        """What another search needs to go on: rows, moves of those that were followed, and what was asked of the layer."""
        followed = np.concatenate(moves) if moves else np.zeros((0, self.below.moves.shape[1]), np.int32)
        known = {"asked": self.asked.rows, "outcomes": self.outcomes, "vectors": self.vectors.rows}
        return {"rows": self.table.rows, "moves": followed, **known}

    def _taken_up(self, before: dict[str, np.ndarray]) -> list[np.ndarray]:
        """The start; or the rows that an earlier search found, and the moves of those that it followed."""
        if before:
            self.table.add(before["rows"])
            self.asked.add(before["asked"])
            self.vectors.add(before["vectors"])
            self.outcomes = before["outcomes"]
            return [before["moves"]]
        start = np.zeros((1, self.table.rows.shape[1]), np.int64)
        start[0, FAILURE], start[0, OUTPUT] = NEVER, SILENT
        for head in self.heads:
            start[0, head.nodes] = head.normaliser.start
            if head.first_letter >= 0:
                start[0, head.first_letter] = -1
            self._forget(start, head)
        self.table.add(start)
        return []

    def _search(self, moves: list[np.ndarray], journal: SearchJournal | None) -> None:
        """Follow every state, those found first first; `moves` grows."""
        done = sum(map(len, moves))
        while done < len(self.table):
            size = max(1, _CHUNK_BYTES // (8 * self.table.rows.shape[1]))
            rows = self.table.rows[done : done + size].astype(np.int64)
            following = self.below.moves[rows[:, STATE]]
            place, token = np.nonzero(following >= 0)
            led = np.full(following.shape, -1, np.int32)
            led[place, token] = self.table.add(self._moved(rows[place], token))
            moves.append(led)
            done += len(rows)
            if journal is not None and journal.due:
                journal.enter("now.", self._found(moves))
            self.budget.tell(len(self.table), len(self.table) - done)
            passed = self.budget.over(len(self.table), self.table.nbytes)
            if passed:
                if journal is not None:
                    journal.enter("now.", self._found(moves), now=True)
                raise self._refusal(passed, len(self.table) - done)

    def _moved(self, out: np.ndarray, token: np.ndarray) -> np.ndarray:
        """Rows after one more token each; they are written over."""
        out[:, STATE] = state = self.below.moves[out[:, STATE], token]
        output = self.below.outputs[state]
        lost = output < 0  # 0/0 below: earlier than any of this layer, and nothing of it matters
        if not lost.any():
            return self._read(out, output, token)
        out[lost, FAILURE], out[lost, OUTPUT] = NEVER, output[lost]
        for head in self.heads:
            self._clear_head(out, lost, head)
        self._clear_mixtures(out, lost)
        out[~lost] = self._read(out[~lost], output[~lost], token[~lost])
        return out

    def _read(self, moved: np.ndarray, vector: np.ndarray, token: np.ndarray) -> np.ndarray:
        """Rows after a position whose vector below is known, with what the layer gives there."""
        if self.strict:
            asked = self._questions(moved, vector)
            self._update(moved, vector, token)
        else:
            self._update(moved, vector, token)
            asked = self._questions(moved, vector)
        number = self.asked.add(asked)
        self._answer_new()
        place = self.outcomes[number, 1]
        moved[:, FAILURE] = np.minimum(moved[:, FAILURE], np.where(place < 0, NEVER, place))
        hit = moved[:, FAILURE] < NEVER
        moved[:, OUTPUT] = np.where(hit, failed(0) - moved[:, FAILURE], self.outcomes[number, 0])
        for head in self.heads:
            self._forget(moved, head)
        if hit.any():  # what comes after the first place of 0/0 is read no more
            for head in self.heads:
                self._clear_head(moved, hit & (moved[:, FAILURE] <= head.rank), head)
            self._clear_mixtures(moved, hit & (moved[:, FAILURE] <= self.last_head))
        return moved

    def _update(self, rows: np.ndarray, vector: np.ndarray, token: np.ndarray) -> None:
        """Every head reads the letter of this position, in place."""
        for head in self.heads:
            machine = head.normaliser
            letter = machine.letters.letter_of[vector]
            nodes = rows[:, head.nodes]
            rows[:, head.nodes] = np.where(nodes >= 0, machine.moves[nodes, token[:, None]], -1)
            if not len(head.query):
                continue
            mixed = self._mixed_further(head, rows[:, head.mixtures], letter)
            if head.first_letter >= 0:
                mixed = self._from_the_first(rows, head, letter, mixed)
            rows[:, head.mixtures] = mixed

    def _mixed_further(self, head: HeadColumns, totals: np.ndarray, letter: np.ndarray) -> np.ndarray:
        """Running mixtures with one more letter; where products are rounded, their terms are known from the start."""
        if head.terms is not None:
            return self.of.add(totals, head.terms[letter])
        return self.of.mixed_further(totals, head.weights[:, letter].T, head.values[:, letter].T)

    def _from_the_first(self, rows: np.ndarray, head: HeadColumns, letter: np.ndarray, mixed: np.ndarray) -> np.ndarray:
        """The first product enters the second sum unrounded: after one letter it is remembered by that letter."""
        before = rows[:, head.first_letter].copy()
        rows[:, head.first_letter] = np.where(before == -1, letter, -2)
        mixed = mixed.copy()
        for now, count in ((before == -1, 1), (before >= 0, 2)):
            where = np.flatnonzero(now)
            if len(where):
                read = np.stack([before[where], letter[where]][2 - count :])  # (count, n)
                w, v = (np.moveaxis(each[:, read], 0, 2).reshape(count, -1) for each in (head.weights, head.values))
                mixed[where] = self.of.sum_of_products(w, v).reshape(len(where), -1)
        return mixed

    def _forget(self, rows: np.ndarray, head: HeadColumns) -> None:
        """What no later position can ask for is 0, and nodes of queries that none can ask are −1, in place."""
        later, nodes = head.normaliser.later, rows[:, head.nodes]
        if len(head.query):
            node = nodes[:, head.query]
            word = later[node, (head.divisor // 64)[None]]
            asked = (node >= 0) & (((word >> (head.divisor % 64).astype(np.uint64)) & np.uint64(1)) == 1)
            rows[:, head.mixtures] = np.where(asked, rows[:, head.mixtures], 0)
        if nodes.size:
            rows[:, head.nodes] = np.where((nodes >= 0) & head.normaliser.matters[nodes], nodes, -1)

    def _questions(self, rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """What a position gets: its vector, and of each head whether its softmax is 0/0, and the mixture."""
        asked = [vector[:, None]]
        everyone = np.arange(len(rows))
        for head in self.heads:
            machine, kept = head.normaliser, head.picked.shape[1]
            node = np.full(len(rows), -1)
            for bound in range(machine.bounds):  # at most one bound is the largest score
                candidate = rows[:, head.nodes][everyone, machine.letters.query_of[vector] * machine.bounds + bound]
                node = np.where((candidate >= 0) & (machine.divisor[candidate] >= 0), candidate, node)
            seen = node >= 0
            zero = seen & (machine.divisor[node] == 0) & (machine.kind in ("softmax", "max-subtracted"))
            mixed = np.zeros((len(rows), kept), np.int64)
            if machine.kind in HARD:
                mixed[seen] = head.picked[machine.nodes[node[seen], 2]]
            elif kept:
                where = np.flatnonzero(seen & ~zero)
                base = head.base[machine.nodes[node[where], 0], machine.asked[node[where]]]
                mixed[where] = rows[where[:, None], head.mixtures.start + base[:, None] + np.arange(kept)]
            asked += [zero[:, None], mixed]
        return np.concatenate(asked, axis=1)

    def _answer_new(self) -> None:
        """Run the layer on what was asked for the first time."""
        width, known = self.at.transformer.width, len(self.outcomes)
        new = self.asked.rows[known:]
        if not len(new):
            return
        column, zero, mixed = 1, [], []
        for head in self.heads:
            zero.append(new[:, column] > 0)
            kept = new[:, column + 1 : column + 1 + head.picked.shape[1]]
            padded = np.concatenate([kept, np.zeros((len(new), 1), np.int64)], axis=1)
            mixed.append(padded[:, head.coordinates])
            column += 1 + head.picked.shape[1]
        before = self.below.vectors[new[:, 0]]
        passed: Passed = self.at.after(self.layer, before[:, :width], mixed, zero, self.first_place, self.stages)
        vectors = np.concatenate([passed.vectors, before[:, width:], passed.traced], axis=1)
        number = np.full(len(new), -1)
        fine = passed.failure < 0
        number[fine] = self.vectors.add(vectors[fine])
        self.outcomes = np.concatenate([self.outcomes, np.stack([number, passed.failure], axis=1)])

    def _traced_widths(self) -> dict[str, int]:
        """How wide each traced stage of this layer is."""
        heads = self.at.transformer.layers[self.layer].heads
        none = np.zeros((1, self.at.transformer.width), np.int64)
        mixed, zero = [np.zeros((1, len(head.value)), np.int64) for head in heads], [np.zeros(1, bool)] * len(heads)

        def width(stage: str) -> int:
            return self.at.after(self.layer, none, mixed, zero, self.first_place, [stage]).traced.shape[1]

        return {stage: width(stage) for stage in self.stages}

    def _clear_head(self, rows: np.ndarray, where: np.ndarray, head: HeadColumns) -> None:
        rows[np.flatnonzero(where), head.nodes] = -1
        if head.first_letter >= 0:
            rows[np.flatnonzero(where), head.first_letter] = -2

    def _clear_mixtures(self, rows: np.ndarray, where: np.ndarray) -> None:
        for head in self.heads:
            rows[np.flatnonzero(where), head.mixtures] = 0

    def _refusal(self, passed: str, frontier: int) -> TooManyStates:
        """Which head and which query have the most different tables."""
        most, worst = 0, (None, None)
        rows = self.table.rows
        for h, head in enumerate(self.heads):
            bounds = head.normaliser.bounds
            for query in range((head.nodes.stop - head.nodes.start) // bounds):
                nodes = np.arange(head.nodes.start + query * bounds, head.nodes.start + (query + 1) * bounds)
                mixtures = head.mixtures.start + np.flatnonzero(head.query // bounds == query)
                different = len(np.unique(rows[:, np.concatenate([nodes, mixtures])], axis=0))
                if different > most:
                    most, worst = different, (h, query)  # type: ignore[assignment]
        where = f"; of head {worst[0]} the query number {worst[1]} has {most:,} different tables" if most else ""
        return TooManyStates(
            f"layer {self.layer} passed {passed}: {len(rows):,} states were found, {frontier:,} of them not yet followed"
            f"{where}; {REMEDY}.",
            len(rows),
            frontier,
            self.layer,
            *worst,
        )


def _columns(machine: Normaliser, of: Scalars, output: Codes, first: int, rank: int) -> HeadColumns:
    """The columns of a head: for every divisor that is asked for, the coordinates of the values that make a difference."""
    letters = machine.letters
    kept, coordinates = _kept_coordinates(letters.values, output)
    nodes = slice(first, first + len(machine.bound))
    values = letters.values[:, kept].T  # (kept, letters)
    picked = of.sum_of_products(np.full((1, values.size), of.one), values.reshape(1, -1)).reshape(values.shape).T
    query: list[int] = []
    divisor: list[int] = []
    weights: list[Codes] = []
    base = np.full((len(machine.bound), max((len(d) for d in machine.divisors), default=0)), -1)
    hard = machine.kind in HARD
    for u, divisors in enumerate(() if hard or not len(kept) else machine.divisors):
        for number, code in enumerate(divisors):
            if machine.kind == "average":
                share = np.where(letters.scores[u // machine.bounds] == machine.bound[u], code, 0)
            elif code == 0:
                continue  # 0/0 has no mixture
            else:
                share = of.divide(machine.exps[u], np.full(len(letters.values), code))
            base[u, number] = len(query) * len(kept)
            query.append(u)
            divisor.append(number)
            weights.append(share)
    count = len(query) * len(kept)
    mixtures = slice(nodes.stop, nodes.stop + count)
    shares = np.repeat(np.array(weights, np.int64).reshape(len(query), len(letters.values)), len(kept), axis=0)
    spread = np.tile(values, (len(query), 1))
    terms = np.ascontiguousarray(of.multiply(shares, spread).T) if of.products == "rounded" else None
    return HeadColumns(
        machine,
        nodes,
        mixtures,
        mixtures.stop if of.products == "unrounded" and count else -1,
        np.repeat(np.array(query, np.int64), len(kept)),
        np.repeat(np.array(divisor, np.int64), len(kept)),
        shares,
        spread,
        base,
        coordinates,
        picked,
        terms,
        rank,
    )


def _kept_coordinates(values: Codes, output: Codes) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the values that are not always 0 and that the output reads, each of equal ones once.

    And of every coordinate where its mixture is among those, or −1 for 0.
    """
    kept: list[int] = []
    coordinates = np.full(values.shape[1], -1)
    for c in np.flatnonzero(values.any(axis=0) & output.any(axis=0)).tolist():
        same = [k for k, other in enumerate(kept) if np.array_equal(values[:, other], values[:, c])]
        coordinates[c] = same[0] if same else len(kept)
        kept += [] if same else [c]
    return np.array(kept, np.int64), coordinates
