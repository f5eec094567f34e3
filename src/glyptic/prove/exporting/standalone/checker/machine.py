"""The automaton of a transformer: that its states are closed under every token, and that its answers are right.

A machine is given layer by layer, over a smaller machine of what lies below. A state of a layer lists, of words that lead to it
    kept    for a query (and a bound, where the largest score matters) the running denominator, or what takes its place
    mixed   for a query and a denominator the running sum Σ_j [[e_j / D]·v_j], a value for each coordinate that the output reads
    vector  what the layer gives at the last position
Every entry of a state must be what one more token makes of the same entry of the state before it, and what a position asks for
must be among them. Then, by induction over the word, the entries are those of every word that leads there, however long it is.
A word that has met 0/0 is UNDEFINED, and so is every longer one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from .models import read_model
from .reading import fields_of, need, read_json
from .transformer import Model, ZeroByZero, added, answer_of, has_feed_forward, inner_product, linear, norm_of
from .transformer import run_feed_forward as feed_forward

HARD = ("leftmost", "rightmost")
LOST = "0/0"
BY_POSITION = ("cosine", "sine", "distance_scores", "distance_keys", "distance_values")


class Wrong(Exception):
    """What contradicts the machine."""


def check_machine(folder: Path) -> list[str]:
    """What is verified of machine.json and model.json, line by line; Wrong, with the first thing that is not so."""
    text = (folder / "model.json").read_bytes()
    data = read_json(folder / "machine.json")
    model = read_model(read_json(folder / "model.json"), "model.json")
    right = isinstance(data, dict) and hashlib.sha256(text).hexdigest() == data.get("model_sha256")
    must(right, "model.json is not the one that the machine was made of")
    return verified(model, data, "machine.json")


def verified(model: Model, data: Any, file: str) -> list[str]:
    """What is verified of a model's machine, line by line; Wrong, with the first thing that is not so."""
    data = fields_of(
        data, file, *("kind", "version", "model_sha256", "length", "embedding", "layers", "answers", "moves", "classes")
    )
    known = data["kind"] == "glyptic.machine" and type(data["version"]) is int and data["version"] == 1
    need(known, f"{file} is of another kind or version.")
    need(model.options["mask"] != "full", "under a full mask there is no machine.")
    unknown = [name for name in model.arrays if name.rpartition(".")[2] in BY_POSITION or name.startswith("embedding_norm")]
    need(not unknown, f"a machine of a transformer with {', '.join(unknown[:1])} is not checked here.")
    moves, outputs = embeddings(model, data["length"], file)
    lines = [f"the machine is of {model.name or 'a transformer'} in {model.format.name}, over {' '.join(model.vocabulary)}"]
    classes = data["embedding"]
    for number, layer in enumerate(data["layers"]):
        need(number < len(model.heads), f"{file} has more layers than the model.")
        below = joined(moves, outputs, classes, f"what lies below layer {number}")
        moves, outputs = Checked(model, number, below, layer).closed()
        classes = layer["classes"]
        joined(moves, outputs, classes, f"layer {number}")
        lines.append(f"layer {number}: {len(moves):,} states are closed under every token; each holds what its words come to")
    need(len(data["layers"]) == len(model.heads), f"{file} has fewer layers than the model.")
    if "final_norm.gain" in model.arrays:
        outputs = [normed(model, vector) for vector in outputs]
        left = any(outputs[t] != LOST for s, row in enumerate(moves) if outputs[s] == LOST for t in row if t >= 0)
        must(not left, "0/0 is left again")
    said = [None, *(answer(model, vector) for vector in outputs[1:])]
    small = joined(moves, said, data["classes"], "the machine")
    table_of(data["moves"], "the machine")
    must([list(row) for row in small[0]] == data["moves"], "a move of the machine is another")
    must(small[1] == data["answers"], "an answer of the machine is another")
    every = all(t >= 0 for row in data["moves"] for t in row)
    lengths = "for every length" if every else "to the longest input"
    lines.append(f"its {len(data['moves']):,} states and their answers follow, {lengths}")
    return lines


def must(right: bool, wrong: str) -> None:
    if not right:
        raise Wrong(wrong)


def embeddings(model: Model, length: Any, file: str) -> tuple[list[list[int]], list[Any]]:
    """The machine of [token + position]: which row comes next, and the last token; state 0 is before the first."""
    rows, period, tokens = model.arrays["position_embedding"], model.period, model.arrays["token_embedding"]
    possible = length is None or (type(length) is int and length > 0 and (period is not None or length <= len(rows)))
    need(possible, f"{file} has a length that cannot be.")
    count, back = (len(rows), None if period is None else len(rows) - period) if length is None else (length, None)
    width = len(tokens)
    moves, outputs = [[1 + t for t in range(width)]], [None]
    for place in range(count):
        following = place + 1 if place + 1 < count else back
        for token in tokens:
            moves.append([-1 if following is None else 1 + following * width + t for t in range(width)])
            outputs.append(tuple(added(model.format, token, model.position(place))))  # type: ignore[arg-type]
    return moves, outputs


def joined(moves: list[list[int]], outputs: list[Any], classes: Any, what: str) -> tuple[list[tuple[int, ...]], list[Any]]:
    """The machine of classes of states: all of a class must have one output, and lead to one class by each token."""
    must(isinstance(classes, list) and len(classes) == len(moves), f"{what}: not every state has a class")
    must(all(type(c) is int and 0 <= c < len(classes) for c in classes) and classes[0] == 0, f"{what}: a class that cannot be")
    found: dict[int, tuple[Any, tuple[int, ...]]] = {}
    for state, number in enumerate(classes):
        kind = (outputs[state], tuple(-1 if t < 0 else classes[t] for t in moves[state]))
        must(found.setdefault(number, kind) == kind, f"{what}: states of the class {number} differ")
    must(sorted(found) == list(range(len(found))), f"{what}: a class is missing")
    return [found[number][1] for number in range(len(found))], [found[number][0] for number in range(len(found))]


def table_of(moves: Any, what: str) -> list[list[int]]:
    """Moves by state and token, which must be whole numbers: 7.0 and true are none, though they are equal to some."""
    need(isinstance(moves, list) and all(isinstance(row, list) for row in moves), f"{what}: its moves are not lists.")
    need(all(type(target) is int for row in moves for target in row), f"{what}: a move that is not a whole number.")
    return list(moves)


def normed(model: Model, vector: Any) -> Any:
    if vector in (None, LOST):
        return vector
    try:
        return tuple(norm_of(model, "final_norm", list(vector)))
    except ZeroByZero:
        return LOST


def answer(model: Model, vector: Any) -> str:
    return "UNDEFINED" if vector == LOST else answer_of(model, linear(model, "output", list(vector), "output_bias"))


class Checked:
    """One layer of a machine over what lies below it."""

    def __init__(self, model: Model, l: int, below: tuple[list[tuple[int, ...]], list[Any]], data: Any) -> None:
        self.model, self.l, self.below, self.F = model, l, below, model.format
        data = fields_of(data, f"layers.{l}", "heads", "states", "moves", "classes")
        heads = [fields_of(head, f"layers.{l}.heads.{h}", "queries", "bounds") for h, head in enumerate(data["heads"])]
        self.queries = [[tuple(map(self.F.units, q)) for q in head["queries"]] for head in heads]
        self.bounds = [[self.F.units(b) for b in head["bounds"]] for head in heads]  # of each query in turn
        self.moves, self.kind = table_of(data["moves"], f"layer {l}"), model.options["attention"]
        self.strict = model.options["mask"] == "strict"
        outputs = [model.arrays[f"layers.{l}.heads.{h}.output"] for h in range(model.heads[l])]
        widths = [len(model.arrays[f"layers.{l}.heads.{h}.value"]) for h in range(model.heads[l])]
        self.read = [[c for c in range(w) if any(row[c] for row in out)] for w, out in zip(widths, outputs, strict=True)]
        need(len(self.queries) == model.heads[l], f"layers.{l} has another number of heads.")
        self.states = [self.state(each) for each in data["states"]]
        must(len(self.moves) == len(self.states) > 0, f"layer {l}: a state is missing")
        self.projected: dict[Any, Any] = {}
        self.passed: dict[Any, Any] = {}

    def state(self, data: Any) -> dict[str, Any]:
        """A state with its entries as values: kept by (head, query), mixed by (head, query, denominator)."""
        data = fields_of(data, "a state", "below", "lost", "vector", "kept", "mixed")
        units, hard = self.F.units, self.kind in HARD

        def value(x: Any) -> Any:
            return x if x is None or self.kind == "average" else tuple(map(units, x)) if hard else units(x)

        kept = {(h, u): value(x) for h, u, x, _ in data["kept"]}
        met = {(h, u): bool(m) for h, u, _, m in data["kept"]}
        mixed = {(h, u, units(d)): tuple(map(units, m)) for h, u, d, m in data["mixed"]}
        need(len(kept) == len(data["kept"]) and len(mixed) == len(data["mixed"]), "a state gives an entry twice.")
        flags = [data["lost"], *(m for *_, m in data["kept"])]
        need(all(type(flag) is bool for flag in flags), "a state has a flag that is neither true nor false.")
        vector = None if data["vector"] is None else tuple(map(units, data["vector"]))
        return {"below": data["below"], "lost": data["lost"], "vector": vector, "kept": kept, "met": met, "mixed": mixed}

    def closed(self) -> tuple[list[list[int]], list[Any]]:
        """Every state after every token; the moves, and what each state gives."""
        start, what = self.states[0], f"layer {self.l}"
        begin = {"average": 0, "leftmost": None, "rightmost": None}.get(self.kind, 0)
        fresh = all(x == begin for x in start["kept"].values()) and not any(start["met"].values())
        fresh = fresh and start["below"] == 0 and not start["lost"] and not any(map(any, start["mixed"].values()))
        must(fresh, f"{what}: the start is not empty")
        for s, state in enumerate(self.states):
            row = self.moves[s]
            must(len(row) == len(self.model.vocabulary), f"{what}: state {s} has no move for each token")
            for t, target in enumerate(row):
                following = self.below[0][state["below"]][t]
                must(type(target) is int and -1 <= target < len(self.states) and target != 0, f"{what}: a move that cannot be")
                must((following < 0) == (target < 0), f"{what}: a word ends where it should not")
                if target >= 0:
                    must(self.states[target]["below"] == following, f"{what}: state {s} leads to a state over another one below")
                    self.step(s, state, following, self.states[target])
        outputs = [None, *(LOST if state["lost"] else state["vector"] for state in self.states[1:])]
        return self.moves, outputs

    def step(self, s: int, state: dict[str, Any], following: int, target: dict[str, Any]) -> None:
        vector = self.below[1][following]
        what = f"layer {self.l}: after state {s}"
        if state["lost"] or vector == LOST:
            must(target["lost"], f"{what}, 0/0 is left again")
            return
        try:
            inner, heads = self.projections(vector)
            after = self.read_letter(state, heads)
            mixed = self.asked(s, state if self.strict else after, heads, what)
            out = self.through(vector, inner, mixed)
        except ZeroByZero:
            must(target["lost"], f"{what}, 0/0 is not told")
            return
        must(not target["lost"], f"{what}, there is no 0/0")
        must(target["vector"] == out, f"{what}, the vector is another")
        for name in ("kept", "met", "mixed"):
            for key, x in target[name].items():
                right = key in after[name] and self.same(name, x, after[name][key])
                must(right, f"{what}, what is {name} for {key} is another")

    def same(self, name: str, x: Any, y: Any) -> bool:
        """Counts need be told apart only as far as their inverses are."""
        if name == "kept" and self.kind == "average" and x and y:
            F = self.F
            return x == y or (F.divide_by_count(F.one(), x) == F.divide_by_count(F.one(), y) == 0 and x <= y)
        return x == y

    def projections(self, vector: Any) -> Any:
        """The vector as the heads see it, and of each head its query, its key and its value."""
        if vector not in self.projected:
            model, l, x = self.model, self.l, list(vector)
            norm = model.options["norm"] == "pre" and model.heads[l] > 0
            inner = norm_of(model, f"layers.{l}.attention_norm", x) if norm else x
            names = [[f"layers.{l}.heads.{h}.{p}" for p in ("query", "key", "value")] for h in range(model.heads[l])]
            heads = [[tuple(linear(model, name, inner, f"{name}_bias")) for name in of_a_head] for of_a_head in names]
            self.projected[vector] = inner, heads
        return self.projected[vector]

    def score(self, h: int, query: Any, key: Any) -> Any:
        score = inner_product(self.model, list(query), list(key))
        if self.model.options["scale"]:
            score = self.F.divide(score, self.F.root_of_count(len(query)))
        return score

    def read_letter(self, state: dict[str, Any], heads: Any) -> dict[str, Any]:
        """The entries after one more key and value; those of a bound that is passed are gone."""
        F, kind = self.F, self.kind
        after: dict[str, Any] = {"kept": {}, "met": {}, "mixed": {}}
        weight: dict[tuple[int, int], Any] = {}  # [exp score], or of hard attention whether it is the largest
        for (h, u), x in state["kept"].items():
            score = self.score(h, self.queries[h][u // self.per_query(h)], heads[h][1])
            best = None if kind == "softmax" else score == self.bounds[h][u]
            if kind != "softmax" and score > self.bounds[h][u]:
                continue
            e: Any = best
            if kind in ("softmax", "max-subtracted"):
                e = F.exp(score if kind == "softmax" else F.subtract(score, self.bounds[h][u]))
            weight[h, u] = e
            met = state["met"][h, u]
            if kind == "average":
                x = x + best
            elif kind in HARD:
                x = heads[h][2] if best and (kind == "rightmost" or not met) else x
            else:
                x = F.add(x, e)
            after["kept"][h, u], after["met"][h, u] = x, met or kind == "softmax" or best
        for (h, u, d), m in state["mixed"].items():
            if (h, u) in weight:
                w = (d if weight[h, u] else 0) if kind == "average" else F.divide(weight[h, u], d)
                values = [heads[h][2][c] for c in self.read[h]]
                after["mixed"][h, u, d] = tuple(self.more(a, w, v) for a, v in zip(m, values, strict=True))
        return after

    def more(self, total: Any, weight: Any, value: Any) -> Any:
        if self.model.options["products"] == "fused":
            return self.F.fused(total, weight, value)
        return self.F.add(total, self.F.multiply(weight, value))

    def per_query(self, h: int) -> int:
        return 1 if self.kind == "softmax" or not self.queries[h] else len(self.bounds[h]) // len(self.queries[h])

    def asked(self, s: int, entries: dict[str, Any], heads: Any, what: str) -> tuple[Any, ...]:
        """What each head gives a position: from the entries that its query asks for."""
        out = []
        for h, (query, _, value) in enumerate(heads):
            mixed = [0] * len(value)
            if not (self.strict and s == 0):
                met = [u for (g, u) in entries["kept"] if g == h and entries["met"][h, u]]
                found = [(h, u) for u in met if self.queries[h][u // self.per_query(h)] == query]
                must(len(found) == 1, f"{what}, the query of head {h} is not kept")
                picked = self.picked(entries, found[0], what)
                for c, x in zip(self.read[h], picked, strict=True):
                    mixed[c] = x
            out.append(tuple(mixed))
        return tuple(out)

    def picked(self, entries: dict[str, Any], place: tuple[int, int], what: str) -> Any:
        F, x = self.F, entries["kept"][place]
        if self.kind in HARD:
            return [F.multiply(F.one(), x[c]) for c in self.read[place[0]]]
        divisor = F.divide_by_count(F.one(), x) if self.kind == "average" else x
        if divisor == 0 and self.kind != "average":
            raise ZeroByZero
        there = (*place, divisor) in entries["mixed"] or not self.read[place[0]]
        must(there, f"{what}, the mixture that head {place[0]} asks for is not kept")
        return entries["mixed"].get((*place, divisor), ())

    def through(self, vector: Any, inner: Any, mixed: tuple[Any, ...]) -> Any:
        """The layer at one position, given its mixtures."""
        key = (vector, mixed)
        if key not in self.passed:
            self.passed[key] = self.computed(list(vector), mixed)
        if self.passed[key] == LOST:
            raise ZeroByZero
        return self.passed[key]

    def computed(self, x: list[Any], mixed: tuple[Any, ...]) -> Any:
        model, l, F, placement, entering = self.model, self.l, self.F, self.model.options["norm"], x
        outputs = [f"layers.{l}.heads.{h}.output" for h in range(len(mixed))]
        try:
            if mixed:
                changes = [linear(model, name, list(m), f"{name}_bias") for name, m in zip(outputs, mixed, strict=True)]
                change = changes[0]
                for one in changes[1:]:
                    change = added(F, change, one)
                x = added(F, x, change)
                x = norm_of(model, f"layers.{l}.attention_norm", x) if placement == "post" else x
            if has_feed_forward(model, l):
                norm, inner = f"layers.{l}.feed_forward_norm", entering if model.choices.get(f"layers.{l}.parallel") else x
                change = feed_forward(model, l, [norm_of(model, norm, inner) if placement == "pre" else inner])[0]
                x = added(F, x, change)
                x = norm_of(model, norm, x) if placement == "post" else x
            return tuple(x)
        except ZeroByZero:
            return LOST
