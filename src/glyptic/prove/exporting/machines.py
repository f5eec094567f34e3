"""A machine as a folder that is checked without us: the weights, every state with what it holds, and the checker."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from glyptic.arguments import Count, Folder, Seconds, checked
from glyptic.errors import FileError, GlypticError, InputError
from glyptic.exact import Transformer
from glyptic.exact.answers import named
from glyptic.files import write_folder
from glyptic.prove.exporting.targets import check_target, programs
from glyptic.prove.portable.reading import JsonPart
from glyptic.prove.portable.transformers import transformer_from_json, transformer_to_json
from glyptic.states.budget import MOST_STATES, Budget, StateCount
from glyptic.states.classes import classes
from glyptic.states.columns import FAILURE, NEVER, OUTPUT, STATE, HeadColumns
from glyptic.states.extraction import Searched, extract, refuse_unknown
from glyptic.states.normalisers import HARD
from glyptic.states.positionwise import Positionwise
from glyptic.states.search import LayerSearch
from glyptic.states.streams import VectorMachine

_LOST = -2  # all places of 0/0 in one


@checked
def export_machine(
    folder: Annotated[str | os.PathLike[str], Folder()],
    transformer: Transformer,
    *,
    states: StateCount = MOST_STATES,
    length: Annotated[int, Count()] | None = None,
    seconds: Seconds | None = None,
    progress: Any = None,
) -> Path:
    """Write the machine of a transformer into a new folder: `python FOLDER/check.py FOLDER` checks it without Glyptic."""
    target = Path(folder)
    check_exportable(target, transformer)
    budget, searched = Budget(states, seconds=seconds, report=progress if callable(progress) else None), Searched()
    extract(transformer, budget, length=length, searched=searched)
    return write_machine(target, transformer, searched, budget, length)


def write_machine(target: Path, transformer: Transformer, searched: Searched, budget: Budget, length: int | None) -> Path:
    """Write a machine of which all states were searched already."""
    model = _json(transformer_to_json(transformer))
    machine = searched_to_json(transformer, searched, budget, length)
    machine["model_sha256"] = hashlib.sha256(model).hexdigest()
    files = {"model.json": model, "machine.json": _json(machine), **{n: t.encode() for n, t in programs().items()}}
    check_target(target)  # again: the search may have taken hours
    write_folder(target, files)
    return target


def check_exportable(target: Path, transformer: Transformer) -> None:
    """Refuse a place where something is already, and a transformer whose machine the checker cannot check."""
    check_target(target)
    try:
        transformer_from_json(JsonPart(json.loads(_json(transformer_to_json(transformer))), "the model"))
    except GlypticError as error:
        raise FileError(f"what the checker would refuse is not exported: {error}") from None
    refuse_unknown(transformer)
    if transformer.options.products == "unrounded":
        raise InputError("options.products is 'unrounded', which the checker of a folder does not know; nothing is exported.")


def _json(content: Any) -> bytes:
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def machine_to_json(transformer: Transformer, budget: Budget, length: int | None = None) -> dict[str, Any]:
    """Every layer's states with what they hold, and the smallest machine with the answers."""
    searched = Searched()
    extract(transformer, budget, length=length, searched=searched)
    return searched_to_json(transformer, searched, budget, length)


def searched_to_json(transformer: Transformer, searched: Searched, budget: Budget, length: int | None) -> dict[str, Any]:
    """The same of what was searched already."""
    found, at, layers = searched.embedding, Positionwise(transformer), []
    assert found is not None
    embedding = _joined(found, budget)
    for search, machine in searched.layers:
        budget.ask()
        found = machine
        layers.append(_layer(search, found, _joined(found, budget)))
    found = _lost_in_one(found)
    numbers = np.full(len(found.outputs), _LOST)
    said = found.outputs >= 0
    vectors = found.vectors
    if transformer.final_norm is not None and len(vectors):
        passed = at.final_norm(vectors, ())
        lost, vectors = passed.failure >= 0, passed.vectors
        said[said] = ~lost[found.outputs[said]]
        _refuse_left(found, said)
    if len(vectors):
        numbers[said] = at.answers(vectors)[0][found.outputs[said]]
    numbers[0] = -3
    number_of, states, moves = classes(found.moves, numbers, budget.ask)
    answers = [None if state == 0 else named(transformer, [int(numbers[state])])[0] for state in states.tolist()]
    return {
        "kind": "glyptic.machine", "version": 1, "model_sha256": "", "length": length, "embedding": embedding, "layers": layers,
        "answers": answers, "moves": moves.tolist(), "classes": number_of.tolist(),
    }  # fmt: skip


def _refuse_left(found: VectorMachine, said: np.ndarray) -> None:
    """The checker takes a final norm of 0/0 for undefined for ever; where a state is left again, that is not shown by it."""
    after = found.moves[1:][~said[1:]]  # state 0 is before the first position, and says nothing
    if len(after) and said[after[after > 0]].any():
        raise InputError("the final norm is 0/0 at some position of an input that goes on; such a machine is not exported.")


def _joined(machine: VectorMachine, budget: Budget) -> list[int]:
    """The class of each state, as the search of the layer above was over."""
    return classes(machine.moves, machine.outputs, budget.ask)[0].tolist()


def _lost_in_one(machine: VectorMachine) -> VectorMachine:
    return VectorMachine(machine.moves, np.maximum(machine.outputs, _LOST), machine.vectors)


def _layer(search: LayerSearch, found: VectorMachine, classes: list[int]) -> dict[str, Any]:
    rows, states = search.table.rows, []
    for number, row in enumerate(rows.tolist()):
        lost = row[FAILURE] < NEVER or (row[OUTPUT] < 0 and number > 0)
        held = ([], []) if lost else _held(search, row)
        vector = None if lost or number == 0 else found.vectors[found.outputs[number]].tolist()
        states.append({"below": row[STATE], "lost": lost, "vector": vector, "kept": held[0], "mixed": held[1]})
    heads = [
        {"queries": head.normaliser.letters.queries.tolist(), "bounds": head.normaliser.bound.tolist()} for head in search.heads
    ]
    return {"heads": heads, "states": states, "moves": found.moves.tolist(), "classes": classes}


def _held(search: LayerSearch, row: list[int]) -> tuple[list[Any], list[Any]]:
    kept: list[Any] = []
    mixed: list[Any] = []
    for h, head in enumerate(search.heads):
        machine = head.normaliser
        for u, node in enumerate(row[head.nodes]):
            if node < 0:
                continue
            _, _, value, met = machine.nodes[node].tolist()
            if machine.kind in HARD:
                value = None if value < 0 else machine.letters.values[value].tolist()
            kept.append([h, u, value, bool(met)])
            mixed += [[h, u, d, m] for d, m in _mixtures(search, head, h, row, u, node)]
    return kept, mixed


def _mixtures(search: LayerSearch, head: HeadColumns, h: int, row: list[int], u: int, node: int) -> list[tuple[int, list[int]]]:
    """The mixtures of a query that a later position may ask for, with every coordinate that the output reads."""
    machine, found = head.normaliser, []
    output = np.asarray(search.at.transformer.layers[search.layer].heads[h].output)
    read = np.flatnonzero(output.any(axis=0))
    if machine.kind in HARD:
        return []
    for number, divisor in enumerate(machine.divisors[u]):
        live = int(machine.later[node, number // 64]) >> (number % 64) & 1
        if not live or (divisor == 0 and machine.kind != "average"):
            continue
        values = [0] * (len(head.picked[0]) + 1) if head.picked.shape[1] else [0]
        if head.picked.shape[1]:
            first = head.mixtures.start + int(head.base[u, number])
            values = [*row[first : first + head.picked.shape[1]], 0]
        found.append((divisor, [values[head.coordinates[c]] for c in read.tolist()]))
    return found
