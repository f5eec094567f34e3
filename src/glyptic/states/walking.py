"""A layer's rows after one more token, compiled as a whole: what `search` does to many rows at once, for one row after the other.

A machine that is one long chain has few states at a time, so whatever is done once a level counts. Here states are followed until
one asks the layer something new (`follow`). Then the search looks ahead (`look_ahead`): how rows move depends on what the layer
gives only by 0/0, so the questions of many states to come are known before any is answered, and they are answered at once. What
was foreseen in vain costs time alone: rows come from `follow`, which reads true answers only.

A running mixture moves by a letter as a whole number by a row of a table, or, where it is a sum in fixed point, by adding a term
and saturating. Where the table would be large, or the first product is left unrounded, `RowSteps.of` gives None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from glyptic.numbers import Codes
from glyptic.numbers.kernels import compiled
from glyptic.numbers.reference import Reference
from glyptic.states.columns import FAILURE, FIRST, NEVER, OUTPUT, STATE, HeadColumns
from glyptic.states.normalisers import HARD
from glyptic.states.scalars import Scalars
from glyptic.states.streams import SILENT, VectorMachine
from glyptic.states.tables import entered, hashed

_MOST_ENTRIES = 1 << 20  # of the table by which mixtures move,
_MOST_BY_FRACTIONS = 1 << 12  # and where it is made by fractions
SOFT, AVERAGE, PICKED = 0, 1, 2  # kinds of attention: only of the first 0/0 is met
DONE, FULL, ASKED = 0, 1, 2  # why `follow` came back
# Of a head: where its nodes and its mixtures are in a row, …
NODES, NODES_END, MIXTURES, MIXTURES_END, BOUNDS, KIND, KEPT, RANK, BASE_WIDTH, WORDS = range(10)
# … and where its part of each array begins.
OF_NODES, OF_LATER, OF_BASE, OF_PICKED, OF_STEPS = range(10, 15)


class RowSteps(NamedTuple):
    """All that a step reads: the machine below, and of the heads one after the other what `normalisers` and `columns` have."""

    below: np.ndarray  # (states, tokens)
    outputs: np.ndarray
    heads: np.ndarray  # (heads, 15): see the names above
    last_head: int
    strict: bool
    query_of: np.ndarray  # (heads, vectors)
    letter_of: np.ndarray  # (heads, vectors)
    moves: np.ndarray  # (nodes, tokens)
    nodes: np.ndarray  # (nodes, 4): its query with its bound, the letter that is picked, the divisor, its number
    matters: np.ndarray
    later: np.ndarray
    base: np.ndarray
    picked: np.ndarray
    node_of: np.ndarray  # (columns,): of a mixture the column of its query's node
    divisor_of: np.ndarray  # (columns,): and the number of its divisor
    steps: np.ndarray  # a letter after the other: the term of each mixture, or the row of the table by which it moves
    table: np.ndarray  # (rows, codes); none where terms are added
    low: int  # the least code
    high: int

    @staticmethod
    def of(below: VectorMachine, heads: Sequence[HeadColumns], of: Scalars, strict: bool, columns: int) -> RowSteps | None:
        """The steps of a layer; None where they are not made of tables."""
        if of.products == "unrounded" or isinstance(of.arithmetic, Reference):
            return None
        stepped = _steps(heads, of)
        if stepped is None:
            return None
        kinds = {**dict.fromkeys(("softmax", "max-subtracted"), SOFT), "average": AVERAGE, **dict.fromkeys(HARD, PICKED)}
        about, starts = np.zeros((len(heads), 15), np.int64), np.zeros(5, np.int64)
        node_of, divisor_of = np.zeros(columns, np.int64), np.zeros(columns, np.int64)
        for h, head in enumerate(heads):
            machine, kept = head.normaliser, head.picked.shape[1]
            about[h, NODES : WORDS + 1] = (
                *(head.nodes.start, head.nodes.stop, head.mixtures.start, head.mixtures.stop, machine.bounds),
                *(kinds[machine.kind], kept, head.rank, head.base.shape[1], machine.later.shape[1]),
            )
            about[h, OF_NODES:] = starts
            starts += (len(machine.nodes), machine.later.size, head.base.size, head.picked.size, head.weights.size)
            node_of[head.mixtures], divisor_of[head.mixtures] = head.nodes.start + head.query, head.divisor
        machines = [head.normaliser for head in heads]
        nodes = [np.stack([m.nodes[:, 0], m.nodes[:, 2], m.divisor, m.asked], axis=1) for m in machines]
        tokens, vectors = below.moves.shape[1], len(below.vectors)
        format = of.format
        return RowSteps(
            np.ascontiguousarray(below.moves, np.int64), np.ascontiguousarray(below.outputs, np.int64), about,
            max((head.rank for head in heads), default=-1), strict,
            _rows([m.letters.query_of for m in machines], vectors), _rows([m.letters.letter_of for m in machines], vectors),
            _joined([m.moves for m in machines], tokens), _joined(nodes, 4), _flat([m.matters for m in machines], bool),
            _flat([m.later for m in machines], np.uint64), _flat([head.base for head in heads]),
            _flat([head.picked for head in heads]), node_of, divisor_of, *stepped, int(format.min_code), int(format.max_code),
        )  # fmt: skip


def _steps(heads: Sequence[HeadColumns], of: Scalars) -> tuple[np.ndarray, np.ndarray] | None:
    """Of every head, letter and mixture the term, or the row of the table by which it moves; and the table."""
    none = np.zeros((0, 0), np.int32)
    if of.products == "rounded":
        terms = _flat([head.terms for head in heads if head.terms is not None])
        if of.format.is_fixed and of.format.max_code < 1 << 61:
            return terms, none
        pairs = terms[:, None]
    else:
        pairs = np.stack([_flat([h.weights.T for h in heads]), _flat([h.values.T for h in heads])], axis=1)
    different, row = np.unique(pairs, axis=0, return_inverse=True)
    by_fractions = of.products != "rounded" and not of.has_one
    if of.format.size * len(different) > (_MOST_BY_FRACTIONS if by_fractions else _MOST_ENTRIES):
        return None
    codes = np.arange(of.format.min_code, of.format.max_code + 1)
    if of.products == "rounded":
        table = of.add(codes[None], different)
    else:
        table = of.mixed_further(codes[None], different[:, :1], different[:, 1:])
    return row.ravel(), table.astype(np.int32)


def _flat(arrays: Sequence[Codes], dtype: type = np.int64) -> np.ndarray:
    return np.concatenate([np.zeros(0, dtype), *(np.asarray(array, dtype).ravel() for array in arrays)])


def _joined(arrays: Sequence[np.ndarray], columns: int) -> np.ndarray:
    return np.concatenate([np.zeros((0, columns), np.int64), *arrays])


def _rows(arrays: Sequence[np.ndarray], columns: int) -> np.ndarray:
    return np.array(arrays, np.int64).reshape(len(arrays), columns)


@compiled
def ask(row, vector, s, question):
    """What a position gets of a row: its vector, and of each head whether its softmax is 0/0, and the mixture."""
    question[0] = vector
    column = 1
    for h in range(len(s.heads)):
        head, kept, node = s.heads[h], s.heads[h, KEPT], -1
        first = head[NODES] + s.query_of[h, vector] * head[BOUNDS]
        for bound in range(head[BOUNDS]):  # at most one bound is the largest score
            candidate = row[first + bound]
            if candidate >= 0 and s.nodes[head[OF_NODES] + candidate, 2] >= 0:
                node = head[OF_NODES] + candidate
        zero = node >= 0 and head[KIND] == SOFT and s.nodes[node, 2] == 0
        question[column] = zero
        question[column + 1 : column + 1 + kept] = 0
        if node >= 0 and not zero and kept > 0:
            if head[KIND] == PICKED:
                place = head[OF_PICKED] + s.nodes[node, 1] * kept
                question[column + 1 : column + 1 + kept] = s.picked[place : place + kept]
            else:
                base = s.base[head[OF_BASE] + s.nodes[node, 0] * head[BASE_WIDTH] + s.nodes[node, 3]]
                for k in range(kept):
                    question[column + 1 + k] = row[head[MIXTURES] + base + k]
        column += 1 + kept


@compiled
def read_letter(row, vector, token, s, out):
    """Every head's entries after the letter of this position."""
    for h in range(len(s.heads)):
        head = s.heads[h]
        for k in range(head[NODES], head[NODES_END]):
            out[k] = s.moves[head[OF_NODES] + row[k], token] if row[k] >= 0 else -1
        place = head[OF_STEPS] + s.letter_of[h, vector] * (head[MIXTURES_END] - head[MIXTURES]) - head[MIXTURES]
        if s.table.shape[0] > 0:
            for k in range(head[MIXTURES], head[MIXTURES_END]):
                out[k] = s.table[s.steps[place + k], row[k] - s.low]
        else:
            for k in range(head[MIXTURES], head[MIXTURES_END]):
                out[k] = min(max(row[k] + s.steps[place + k], s.low), s.high)


@compiled
def move(row, token, s, out, question):
    """A row after one more token, but for what the layer gives there; the question to the layer, False where it asks none."""
    state = s.below[row[STATE], token]
    vector = s.outputs[state]
    out[STATE] = state
    if vector < 0:  # 0/0 below: earlier than any of this layer, and nothing of it matters
        out[FAILURE], out[OUTPUT] = NEVER, vector
        for h in range(len(s.heads)):
            out[s.heads[h, NODES] : s.heads[h, NODES_END]] = -1
            out[s.heads[h, MIXTURES] : s.heads[h, MIXTURES_END]] = 0
        return False
    out[FAILURE], out[OUTPUT] = row[FAILURE], SILENT
    if s.strict:
        ask(row, vector, s, question)
        read_letter(row, vector, token, s, out)
    else:
        read_letter(row, vector, token, s, out)
        ask(out, vector, s, question)
    return True


@compiled
def finish(out, number, place, s):
    """Enter what the layer gave: the number of a vector, or a place of 0/0; and forget what no later position asks for."""
    if place >= 0 and place < out[FAILURE]:
        out[FAILURE] = place
    failure = out[FAILURE]
    out[OUTPUT] = -2 - failure if failure < NEVER else number
    for h in range(len(s.heads)):
        head = s.heads[h]
        for k in range(head[MIXTURES], head[MIXTURES_END]):
            node, divisor = out[s.node_of[k]], s.divisor_of[k]
            if node < 0 or failure <= s.last_head:
                out[k] = 0
            else:
                word = s.later[head[OF_LATER] + node * head[WORDS] + divisor // 64]
                if (word >> np.uint64(divisor % 64)) & np.uint64(1) == 0:
                    out[k] = 0
        for k in range(head[NODES], head[NODES_END]):
            if failure <= head[RANK] or (out[k] >= 0 and not s.matters[head[OF_NODES] + out[k]]):
                out[k] = -1


@compiled
def hashed_core(row):
    """A number of a row without what the layer gave."""
    return hashed(row[:OUTPUT]) ^ hashed(row[FIRST:])


@compiled
def follow(s, rows, slots, count, done, most, fuel, asked, asked_slots, asked_count, outcomes, led, seen):
    """Follow states in their order; gives why it stopped, how many rows, questions and followed states there are.

    It stops when a state asks something that has no outcome yet, when a table is full, when there are more than `most` states or
    `fuel` of them have been followed. `seen` remembers those that were followed, as far as there is room.
    """
    tokens = s.below.shape[1]
    new, questions = np.empty((tokens, rows.shape[1]), rows.dtype), np.empty((tokens, asked.shape[1]), asked.dtype)
    number = np.empty(tokens, np.int64)
    while done < count and count <= most and fuel > 0:
        fuel -= 1
        full = count + tokens > len(rows) or 2 * (count + tokens) > len(slots) or done >= len(led)
        if full or asked_count + tokens > len(asked) or 2 * (asked_count + tokens) > len(asked_slots):
            return FULL, count, asked_count, done
        unknown = False
        for token in range(tokens):
            number[token] = -2
            if s.below[rows[done, STATE], token] >= 0:
                number[token] = -1
                if move(rows[done], token, s, new[token], questions[token]):
                    number[token] = entered(questions[token], asked, asked_slots, asked_count)
                    asked_count = max(asked_count, number[token] + 1)
                    unknown |= number[token] >= len(outcomes)
        if unknown:
            return ASKED, count, asked_count, done
        for token in range(tokens):
            led[done, token] = -1
            if number[token] > -2:
                if number[token] >= 0:
                    finish(new[token], outcomes[number[token], 0], outcomes[number[token], 1], s)
                led[done, token] = entered(new[token], rows, slots, count)
                count = max(count, led[done, token] + 1)
        core = hashed_core(rows[done])
        seen[core & np.uint64(len(seen) - 1)] = core
        done += 1
    return DONE, count, asked_count, done


@compiled
def look_ahead(s, rows, count, done, most, asked, asked_slots, asked_count, outcomes, seen):
    """Enter the questions of states to come, as far as `most` of them: how many questions there are then.

    A state that was followed before asks nothing new, so it is not followed again.
    """
    tokens, size = s.below.shape[1], 256
    while size < 4 * most:
        size *= 2
    ahead, slots, found = np.empty((most, rows.shape[1]), rows.dtype), np.full(size, -1, np.int64), 0
    for state in range(done, min(count, done + most)):
        core = rows[state].copy()
        core[OUTPUT] = SILENT
        found = max(found, entered(core, ahead, slots, found) + 1)
    new, question = np.empty(rows.shape[1], rows.dtype), np.empty(asked.shape[1], asked.dtype)
    place = 0
    while place < found:
        for token in range(tokens):
            if s.below[ahead[place, STATE], token] < 0 or not move(ahead[place], token, s, new, question):
                continue
            if asked_count >= len(asked) or 2 * asked_count >= len(asked_slots):
                return asked_count
            number = entered(question, asked, asked_slots, asked_count)
            asked_count = max(asked_count, number + 1)
            finish(new, SILENT, outcomes[number, 1] if number < len(outcomes) else -1, s)
            new[OUTPUT] = SILENT
            core = hashed_core(new)
            if found < most and seen[core & np.uint64(len(seen) - 1)] != core:
                found = max(found, entered(new, ahead, slots, found) + 1)
        place += 1
    return asked_count
