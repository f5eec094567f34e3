"""The automaton of a transformer: layer upon layer, each searched over the smallest machine of those below it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from glyptic.errors import InputError, ModelError
from glyptic.exact.answers import UNDEFINED
from glyptic.exact.stages import ErrorAt
from glyptic.exact.transformer import Transformer
from glyptic.exact.undefined import ZeroOutput
from glyptic.numbers import Codes, Exact
from glyptic.numbers.hosts import Engine
from glyptic.states.budget import Budget, TooManyStates
from glyptic.states.columns import NEVER
from glyptic.states.journal import Arrays, SearchJournal, need, question, within
from glyptic.states.positionwise import Positionwise
from glyptic.states.search import LayerSearch
from glyptic.states.streams import SILENT, VectorMachine, failed, place_of
from glyptic.states.tables import RowTable

# What a state was shown to hold; a part or a choice that is not listed here is refused until it is.
_OF_A_HEAD = {*("query", "key", "value", "output"), *("query_bias", "key_bias", "value_bias", "output_bias")}
_KNOWN_PARTS = {
    *("format", "vocabulary", "coordinates", "token_embedding", "position_embedding", "layers", "output", "answers"),
    *("options", "final_norm", "name", "history", "period", "output_bias"),
}
_CALLED = {
    "embedding_norm": "an embedding norm",
    **dict.fromkeys(("cosine", "sine"), "a rotary position"),
    **dict.fromkeys(("distance_scores", "distance_keys", "distance_values"), "a table by distance"),
}
_KNOWN_OPTIONS = {"products", "attention", "scale", "mask", "norm", "answer", "ties"}


@dataclass
class Searched:
    """What each search of an extraction went through, for whoever writes the states down; filled as it goes on."""

    embedding: VectorMachine | None = None
    layers: list[tuple[LayerSearch, VectorMachine]] = field(default_factory=list)


@dataclass(frozen=True)
class Extracted:
    """A transformer's states: moves, and at each state the answer's number, the logits, the last vector and what was traced."""

    moves: np.ndarray  # (states, tokens); −1: there is no further position
    answers: np.ndarray  # (states,) numbers of answers, TIED and UNDEFINED included; of the start UNDEFINED
    place: np.ndarray  # (states,) of 0/0: a number among `places`, or −1
    places: tuple[ErrorAt, ...]
    vector: np.ndarray  # (states,) the number of the last position's vector, or −1
    vectors: Codes  # (vectors, d)
    traced: dict[str, Codes]  # stage -> (vectors, width)
    logits: Codes  # (vectors, answers)
    sizes: tuple[int, ...]  # states found in each layer's search


def extract(
    transformer: Transformer,
    budget: Budget,
    *,
    engine: Engine = "auto",
    length: int | None = None,
    stages: Sequence[str] = (),
    journal: str | os.PathLike[str] | None = None,
    searched: Searched | None = None,
) -> Extracted:
    """Search all states of a transformer; `length` ends it there, `stages` are kept of the last position.

    With a `journal` an interrupted search goes on where it was, when it is started again. What every state holds is left in
    `searched`, if that is given; then all layers are searched, even where every input has met 0/0 before.
    """
    refuse_unknown(transformer)
    at = Positionwise(transformer, engine)
    budget.layers = len(transformer.layers)
    kept = None if journal is None else SearchJournal(journal, question(transformer, length, stages))
    order: list[tuple[str, int]] = []
    machine, sizes = embedding_machine(at, length, budget, "embedding" in stages), []
    if searched is not None:
        searched.embedding = machine
    if "embedding" in stages:
        order.append(("embedding", transformer.width))
    for layer in range(len(transformer.layers)):
        if not len(machine.vectors) and searched is None and not stages:
            break  # every input has met 0/0: what comes after it is read no more
        budget.layer = layer
        wanted = [stage for stage in stages if stage.startswith(f"layer.{layer}.")]
        search = LayerSearch(at, layer, machine.minimal(budget.ask), budget, wanted)
        known = kept.part(f"{layer}.") if kept is not None else {}
        if searched is not None and "rows" not in known:
            known = {}  # another search has kept what follows of the states alone
        machine = _finished(known, search) if known else search.run(kept)
        if kept is not None and not known:
            rows = {} if searched is None else {"rows": search.table.rows}
            kept.enter(f"{layer}.", {**vars(machine), **rows}, now=True)
        if searched is not None:
            searched.layers.append((search, machine))
        sizes.append(len(machine.moves))
        order += [(stage, search.traced_widths[stage]) for stage in wanted]
    if transformer.final_norm is not None and (len(machine.vectors) or "final_norm" in stages):
        machine = _final_norm(at, machine.minimal(budget.ask), budget, [stage for stage in stages if stage == "final_norm"])
        order += [(stage, transformer.width) for stage in stages if stage == "final_norm"]
    return _answered(at, machine, order, tuple(sizes))


def _finished(known: Arrays, search: LayerSearch) -> VectorMachine:
    """The machine of a layer that an earlier search has finished."""
    width = search.vectors.rows.shape[1]
    need(known.keys() - {"rows"} == {"moves", "outputs", "vectors"} and all(array.dtype.kind == "i" for array in known.values()))
    moves, outputs, vectors = known["moves"], known["outputs"], known["vectors"]
    need(moves.ndim == 2 and moves.shape[1] == search.below.moves.shape[1] and 0 < len(moves) == len(outputs))
    need(outputs.ndim == 1 and vectors.ndim == 2 and vectors.shape[1] == width and within(moves, -1, len(moves)))
    need(within(outputs, failed(len(search.at.places)), len(vectors)))
    need(within(vectors[:, : search.at.transformer.width], search.of.format.min_code, search.of.format.max_code + 1))
    if "rows" in known:
        search.enter_rows(known["rows"])
        need(len(search.table) == len(moves))
    return VectorMachine(moves, outputs, vectors)


def refuse_unknown(transformer: Transformer) -> None:
    """What has no automaton, or whose states are not known here, is refused by name."""
    if isinstance(transformer.format, Exact):
        raise ModelError(f"{transformer.format} has infinitely many numbers, so there may be no automaton; take a finite format.")
    if transformer.options.mask == "full":
        raise ModelError("under a full mask earlier positions see later ones, so no prefix has a state; use a causal mask.")
    parts: list[tuple[str, Any, set[str]]] = [("", transformer.options, _KNOWN_OPTIONS), ("", transformer, _KNOWN_PARTS)]
    for k, layer in enumerate(transformer.layers):
        parts += [(f"layer {k}, head {h}: ", head, _OF_A_HEAD) for h, head in enumerate(layer.heads)]
    for place, part, names in parts:
        for each in fields(part):
            given = getattr(part, each.name)
            default: Any = each.default
            if each.name not in names and given is not None and not np.array_equal(given, default):
                what = f"{place}what a state holds is not known where there is {_CALLED.get(each.name, each.name)} ({each.name})"
                raise ModelError(f"{what}; claims on its inputs up to a length are decided by the other methods.")


def embedding_machine(at: Positionwise, length: int | None, budget: Budget, traced: bool = False) -> VectorMachine:
    """The machine of embeddings: which row of the positions comes next, and the last token."""
    transformer = at.transformer
    if length is not None and length > transformer.max_length:
        there = f"{transformer!r} has {transformer.max_length:,} positions"
        raise InputError(f"length is {length:,}, and {there}; give a smaller length.")
    tokens, longest = len(transformer.vocabulary), len(transformer.position_embedding) if length is None else length
    _afford(longest, tokens, budget)
    rows, following = next_rows(transformer, length)
    vectors, numbers = RowTable(transformer.width * (2 if traced else 1)), {}
    for row in dict.fromkeys(rows.tolist()):
        budget.ask()
        embedded = at.embedded(row)
        numbers[row] = vectors.add(np.concatenate([embedded, embedded], axis=1) if traced else embedded)
    outputs = np.concatenate([[SILENT], *(numbers[row] for row in rows.tolist())])
    moves = np.full((len(outputs), tokens), -1, np.int32)
    moves[0], goes_on = 1 + np.arange(tokens), np.repeat(following >= 0, tokens)
    moves[1:][goes_on] = np.repeat(1 + following * tokens, tokens)[goes_on, None] + np.arange(tokens)
    return VectorMachine(moves, outputs, vectors.rows.copy())


def _afford(positions: int, tokens: int, budget: Budget) -> None:
    """Refuse positions and tokens before a table is made of them: a state for each of both, and of each state every move."""
    budget.ask()
    states = 1 + positions * tokens
    passed = budget.over(states, 4 * states * tokens)
    if passed:
        told = f"{positions:,} positions of {tokens:,} tokens are {states:,} states, which passed {passed}"
        raise TooManyStates(f"{told}; give a smaller length or vocabulary{budget.raised(passed)}.", 0, 0, 0)


def next_rows(transformer: Transformer, length: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the position embedding in the order in which they are read, and of each the place of the next, or −1."""
    if length is not None:
        return transformer.position_rows(0, length), np.append(np.arange(1, length), -1)
    count = len(transformer.position_embedding)
    last = -1 if transformer.period is None else transformer.beginning
    return np.arange(count), np.append(np.arange(1, count), last)


def _final_norm(at: Positionwise, below: VectorMachine, budget: Budget, stages: Sequence[str]) -> VectorMachine:
    """The norm after the layers: where it is 0/0 once, every longer input is undefined too."""
    width, first = at.transformer.width, len(at.places)
    passed = at.final_norm(below.vectors[:, :width], stages)
    at.places += at.places_of_final_norm()
    table, outputs = RowTable(below.vectors.shape[1] + passed.traced.shape[1]), np.full(len(below.vectors) + 1, -1)
    fine, failures = passed.failure < 0, np.append(np.where(passed.failure < 0, NEVER, passed.failure), NEVER)
    outputs[:-1][fine] = table.add(np.concatenate([passed.vectors, below.vectors[:, width:], passed.traced], axis=1)[fine])
    states, moves, done = RowTable(3), [], 0
    states.add(np.array([[0, NEVER, SILENT]]))
    while done < len(states):
        rows = states.rows[done:].copy()
        done = len(states)
        budget.ask(done, states.nbytes)
        following = np.full((len(rows), below.moves.shape[1]), -1, np.int32)
        for token in range(below.moves.shape[1]):
            there = np.flatnonzero(below.moves[rows[:, 0], token] >= 0)
            state = below.moves[rows[there, 0], token]
            vector = below.outputs[state]
            known = np.maximum(vector, -1)  # where there is none, the last
            failure = np.where(vector < 0, NEVER, np.minimum(rows[there, 1], failures[known]))
            output = np.where(vector < 0, vector, np.where(failure < NEVER, failed(first), outputs[known]))
            following[there, token] = states.add(np.stack([state, failure, output], axis=1))
        moves.append(following)
    return VectorMachine(np.concatenate(moves), states.rows[:, 2].copy(), table.rows.copy())


def _answered(at: Positionwise, machine: VectorMachine, order: list[tuple[str, int]], sizes: tuple[int, ...]) -> Extracted:
    width = at.transformer.width
    vectors = machine.vectors[:, :width]
    numbers, logits = at.answers(vectors) if len(vectors) else (np.zeros(0, int), np.zeros((0, len(at.transformer.answers)), int))
    said = machine.outputs >= 0
    answers = np.full(len(machine.outputs), UNDEFINED)
    answers[said] = numbers[machine.outputs[said]]
    place = np.where(machine.outputs < SILENT, place_of(machine.outputs), -1)
    place[said & (answers == UNDEFINED)] = len(at.places)
    traced, column = {}, width
    for stage, count in order:
        traced[stage] = machine.vectors[:, column : column + count]
        column += count
    vector = np.where(said, machine.outputs, -1)
    places = (*at.places, ZeroOutput)
    return Extracted(machine.moves, answers, place, places, vector, vectors, traced, logits, sizes or (len(machine.moves),))
