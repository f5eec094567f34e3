"""One layer as a machine: the machine below it, and for every head what later positions may still ask of the prefix.

A state is a row of whole numbers: the state below; the first place of 0/0, if one was met; what the layer gives at this position;
of every query its node in the denominators' machine (`normalisers`); and of every query and denominator that may still be asked
for, the running mixture Σ_j [[e_j / D]·v_j], one number a coordinate. What can no longer be asked for is 0. Rows are searched by
breadth, a level at a time. Each entry moves by rows of the table that is here, so a closed table is exact (docs/every-length.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glyptic.states.budget import Budget, TooManyStates
from glyptic.states.columns import FAILURE, FIRST, NEVER, OUTPUT, STATE, HeadColumns, columns_of
from glyptic.states.journal import SearchJournal, need, within
from glyptic.states.normalisers import HARD, HeadLetters, normaliser
from glyptic.states.positionwise import Passed, Positionwise
from glyptic.states.scalars import Scalars
from glyptic.states.streams import SILENT, VectorMachine, failed
from glyptic.states.tables import RowTable
from glyptic.states.walking import ASKED, RowSteps, follow, look_ahead

_CHUNK_BYTES = 1 << 26  # of rows that are followed at once
_CELLS = 1 << 22  # entries of rows that are made between two questions whether to go on
_AHEAD, _FARTHEST = 256, 1 << 14  # states that are looked ahead at first, and at most
_SEEN = 1 << 16
_LOOKED_AT = 1 << 22  # entries of rows that a refusal counts tables in


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
        column = FIRST
        for h, (queries, keys, values) in enumerate(projections):
            letters = HeadLetters.of(queries, keys, values, lambda q, k, h=h: at.scores(layer, h, q, k))
            machine = normaliser(below, letters, options.attention, self.strict, self.of, budget, h)
            output = np.asarray(at.transformer.layers[layer].heads[h].output)
            if f"layer.{layer}.head.{h}.mixed" in stages:
                output = np.ones_like(output)  # somebody looks at what the output does not read
            mixtures = sum(map(len, machine.divisors)) * len(letters.values) * letters.values.shape[1]
            budget.afford(4 * 8 * mixtures, f"the terms of {mixtures:,} mixtures", h)
            head = columns_of(machine, self.of, output, column, ranks[h])
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
        self.moves, self.done = np.full((64, below.moves.shape[1]), -1, np.int32), 0  # of the states that were followed
        self.steps = RowSteps.of(below, self.heads, self.of, self.strict, column)
        self.ahead, self.seen = _AHEAD, np.zeros(_SEEN, np.uint64)

    def run(self, journal: SearchJournal | None = None) -> VectorMachine:
        """All states that any input leads to; an interrupted search leaves what it has found in the journal."""
        self._begin({} if journal is None else journal.part("now."))
        try:
            while self.done < len(self.table):
                self._go_on()
                self._look_around(journal)
        except KeyboardInterrupt:
            if journal is not None:
                journal.enter("now.", self._found(), now=True)
            raise
        said = self.table.rows[:, OUTPUT].astype(np.int64)
        used, number = np.unique(said[said >= 0], return_inverse=True)  # not what was foreseen in vain
        said[said >= 0] = number.ravel()
        return VectorMachine(self.moves[: self.done].copy(), said, self.vectors.rows[used])

    def _found(self) -> dict[str, np.ndarray]:
        """What another search needs to go on: rows, moves of those that were followed, and what was asked of the layer."""
        known = {"asked": self.asked.rows[: len(self.outcomes)], "outcomes": self.outcomes, "vectors": self.vectors.rows}
        return {"rows": self.table.rows, "moves": self.moves[: self.done], **known}

    def _begin(self, before: dict[str, np.ndarray]) -> None:
        """With the start; or with the rows that an earlier search found, and the moves of those that it followed."""
        if before:
            self._refuse_impossible(before)
            self.table.add(before["rows"])
            self.asked.add(before["asked"])
            self.vectors.add(before["vectors"])
            self.outcomes = before["outcomes"]
            self._enter_moves(before["moves"])
            return
        start = np.zeros((1, self.table.rows.shape[1]), np.int64)
        start[0, FAILURE], start[0, OUTPUT] = NEVER, SILENT
        for head in self.heads:
            start[0, head.nodes] = head.normaliser.start
            if head.first_letter >= 0:
                start[0, head.first_letter] = -1
            self._forget(start, head)
        self.table.add(start)

    def _refuse_impossible(self, before: dict[str, np.ndarray]) -> None:
        """Whoever wrote a journal is believed, but not so far that a number leads out of a table."""
        width, tokens = self.table.rows.shape[1], self.below.moves.shape[1]
        shapes = {"rows": width, "moves": tokens, "asked": self.asked.rows.shape[1], "outcomes": 2}
        shapes["vectors"] = self.vectors.rows.shape[1]
        for name, columns in shapes.items():
            array = before.get(name)
            need(array is not None and array.ndim == 2 and array.shape[1] == columns and array.dtype.kind == "i")
        outcomes = before["outcomes"]
        need(len(before["moves"]) <= len(before["rows"]) and len(outcomes) == len(before["asked"]))
        need(within(before["rows"][:, OUTPUT], -2 - NEVER, len(before["vectors"])))
        need(within(before["moves"], -1, len(before["rows"])))
        need(within(outcomes[:, 0], -1, len(before["vectors"])) and within(outcomes[:, 1], -1, NEVER))
        need(within(before["asked"][:, 0], 0, len(self.below.vectors)))
        self._refuse_impossible_rows(before["rows"])

    def enter_rows(self, rows: np.ndarray) -> None:
        """The rows of a search that was finished, in place of running it."""
        need(rows.ndim == 2 and rows.shape[1] == self.table.rows.shape[1] and rows.dtype.kind == "i")
        self._refuse_impossible_rows(rows)
        self.table.add(rows)

    def _refuse_impossible_rows(self, rows: np.ndarray) -> None:
        need(len(rows) > 0 and within(rows[:, STATE], 0, len(self.below.moves)) and within(rows[:, FAILURE], 0, NEVER + 1))
        format = self.of.format
        for head in self.heads:
            need(within(rows[:, head.nodes], -1, len(head.normaliser.nodes)))
            need(within(rows[:, head.mixtures], format.min_code, format.max_code + 1))
            if head.first_letter >= 0:
                need(within(rows[:, head.first_letter], -2, len(head.normaliser.letters.values)))

    def _look_around(self, journal: SearchJournal | None) -> None:
        """Tell how far it is, keep what was found, and stop over the budget."""
        left = len(self.table) - self.done
        self.budget.tell(len(self.table), left)
        passed = self.budget.over(len(self.table), self.table.nbytes + self.asked.nbytes)
        if journal is not None and (passed or journal.due):
            journal.enter("now.", self._found(), now=True)
        if passed:
            raise self._refusal(passed, left)

    def _enter_moves(self, led: np.ndarray) -> None:
        """The moves of the states that were followed last."""
        self._room_for_moves(self.done + len(led))
        self.moves[self.done : self.done + len(led)] = led
        self.done += len(led)

    def _room_for_moves(self, count: int) -> None:
        if count > len(self.moves):
            more = np.full((max(count, 2 * len(self.moves)), self.moves.shape[1]), -1, np.int32)
            more[: self.done] = self.moves[: self.done]
            self.moves = more

    def _go_on(self) -> None:
        """Follow some states, those found first first."""
        if self.steps is None:
            self._follow_many()
        else:
            self._follow_compiled(self.steps)

    def _follow_many(self) -> None:
        """By operations on many rows at once."""
        size = max(1, _CHUNK_BYTES // (8 * self.table.rows.shape[1]))
        rows = self.table.rows[self.done : self.done + size].astype(np.int64)
        following = self.below.moves[rows[:, STATE]]
        place, token = np.nonzero(following >= 0)
        led = np.full(following.shape, -1, np.int32)
        led[place, token] = self.table.add(self._moved(rows[place], token))
        self._enter_moves(led)

    def _follow_compiled(self, steps: RowSteps) -> None:
        """One after the other, in compiled code, until it asks something new; then the questions of those to come as well."""
        tokens, before = steps.below.shape[1], self.done
        fuel = max(1, _CELLS // (tokens * self.table.rows.shape[1]))
        for each in (self.table, self.asked):
            each.reserve(tokens)
        self._room_for_moves(self.done + 1)
        why, count, asked, self.done = follow(
            steps, *self.table.room, len(self.table), self.done, self.budget.states, fuel, *self.asked.room, len(self.asked),
            self.outcomes, self.moves, self.seen,
        )  # fmt: skip
        self.table.grown_to(count)
        self.asked.grown_to(asked)
        if why == ASKED:
            if self.done - before >= self.ahead // 2:  # it came as far as it had looked ahead: farther pays
                self.ahead = min(2 * self.ahead, _FARTHEST)
            elif self.done - before < self.ahead // 8:
                self.ahead = max(self.ahead // 2, tokens)
            fitting = _CHUNK_BYTES // self.table.rows[0].nbytes + 1
            most = min(max(self.ahead, min(count - self.done, _FARTHEST)), fitting)
            self.asked.reserve(most * tokens)
            room = self.asked.room
            self.asked.grown_to(look_ahead(
                steps, self.table.rows, count, self.done, most, *room, len(self.asked), self.outcomes, self.seen
            ))  # fmt: skip
            self._answer_new()

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
        every = -(-rows.size // _LOOKED_AT)  # of the rows so many are looked at that the refusal does not take long itself
        looked_at = rows[::every]
        for h, head in enumerate(self.heads):
            bounds = head.normaliser.bounds
            for query in range((head.nodes.stop - head.nodes.start) // bounds):
                nodes = np.arange(head.nodes.start + query * bounds, head.nodes.start + (query + 1) * bounds)
                mixtures = head.mixtures.start + np.flatnonzero(head.query // bounds == query)
                tables = RowTable(len(nodes) + len(mixtures), self.dtype)
                tables.add(looked_at[:, np.concatenate([nodes, mixtures])])
                if len(tables) > most:
                    most, worst = len(tables), (h, query)  # type: ignore[assignment]
        count = f"{most:,}" if every == 1 else f"at least {most:,}"
        where = f"; of head {worst[0]} the query number {worst[1]} has {count} different tables" if most else ""
        return TooManyStates(
            f"layer {self.layer} passed {passed}: {len(rows):,} states were found, {frontier:,} of them not yet followed"
            f"{where}; {self.budget.remedy(passed)}.",
            len(rows),
            frontier,
            self.layer,
            *worst,
        )
