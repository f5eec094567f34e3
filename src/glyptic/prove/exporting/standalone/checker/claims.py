"""Reading a claim: every node, name and position is looked at before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .models import has_entry, read_model
from .numbers import Format, constant, format_named
from .reading import fields_of, is_list, is_variable, need, need_names
from .subjects import SUBJECTS, check_block, check_inputs
from .transformer import Model, seen_by, stages_of

# Each node: what it is, and its fields. v, w, c: a value, a word, a condition; v+, c*: lists of them; others are looked at below.
NODES: dict[str, tuple[str, dict[str, str]]] = {
    "Variable": ("value", {"name": "variable"}),
    "Local": ("value", {"name": "local"}),
    "Coordinate": ("value", {"stage": "text", "coordinate": "text", "position": "int", "of": "text"}),
    "Logit": ("value", {"answer": "text", "of": "text"}),
    "Constant": ("value", {"number": "constant"}),
    "Operation": ("value", {"name": "text", "arguments": "v+"}),
    "Choice": ("value", {"condition": "c", "then": "v", "otherwise": "v"}),
    "LetValue": ("value", {"name": "text", "value": "v", "body": "v"}),
    "Attention": ("value", {"what": "text", "layer": "int", "head": "int", "query": "int", "key": "int", "of": "text"}),
    "Parameter": ("value", {"part": "text", "index": "index", "of": "text"}),
    "Answer": ("word", {"of": "text", "step": "int"}),
    "Token": ("word", {"position": "int"}),
    "Text": ("word", {"text": "text"}),
    "Comparison": ("condition", {"how": "text", "left": "v", "right": "v"}),
    "SameWord": ("condition", {"left": "w", "right": "w"}),
    "SameChains": ("condition", {"left": "text", "right": "text"}),
    "Junction": ("condition", {"how": "text", "conditions": "c*"}),
    "Negation": ("condition", {"part": "c"}),
    "Implication": ("condition", {"premise": "c", "conclusion": "c"}),
    "Equivalence": ("condition", {"left": "c", "right": "c"}),
    "Let": ("condition", {"name": "text", "value": "v", "body": "c"}),
    "Accepted": ("condition", {"automaton": "automaton"}),
    "Holds": ("condition", {"predicate": "predicate", "name": "text"}),
    "Defined": ("condition", {"of": "text", "attention": "bool"}),
}
OPERATIONS = {"add": 2, "subtract": 2, "multiply": 2, "divide": 2, "exp": 1, "relu": 1, "root": 1, "abs": 1, "max": 2, "min": 2}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "≠": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "≤": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "≥": lambda a, b: a >= b,
}
ALWAYS = {"node": "Junction", "how": "and", "conditions": []}  # a precondition that everything meets
_SORTS = {"v": "value", "c": "condition", "w": "word"}


@dataclass(frozen=True)
class Claim:
    """For all (or some) elements of the subject: where `requires` holds, so does `ensures`. Nodes stay as they are in JSON."""

    name: str
    kind: str  # values, block or inputs
    subject: dict[str, Any]
    format: Format
    models: dict[str, Model]
    requires: Any
    ensures: Any
    quantifier: str = "all"


def read_claim(data: Any) -> Claim:
    """The claim of a JSON object; every node, name and position is looked at before anything is computed."""
    data = fields_of(data, "the claim", "name", "subject", "requires", "ensures", optional=("quantifier",))
    quantifier = data.get("quantifier", "all")
    need(isinstance(data["name"], str) and quantifier in ("all", "some"), "the claim's name or quantifier is no such thing.")
    need(isinstance(data["subject"], dict), "the claim has no subject.")
    kind = data["subject"].get("kind")
    need(kind in SUBJECTS, f"the claim is about {kind!r}, not values, a block or inputs.")
    subject = fields_of(data["subject"], "the subject", "kind", *SUBJECTS[kind], optional=("free_weights",))
    if kind == "values":
        need(isinstance(subject["format"], str), "the subject has no format.")
        format, models = format_named(subject["format"]), {}
        names = is_list(subject["names"], str, "the variables")
        need(0 < len(set(names)) == len(names), "the variables are none, or one is named twice.")
        need_names(names, is_variable, "the variables")
    else:
        need(isinstance(subject["transformers"], dict), "the subject has no transformer.")
        need(set(subject["transformers"]) in ({""}, {"a", "b"}), "there is one transformer, named '', or two, named a and b.")
        models = {key: read_model(model, f"transformer {key!r}") for key, model in subject["transformers"].items()}
        formats = {model.format for model in models.values()}
        need(len(formats) == 1, "the transformers are in different formats.")
        format = formats.pop()
        (check_block if kind == "block" else check_inputs)(subject, models, format)
    claim = Claim(data["name"], kind, subject, format, models, data["requires"], data["ensures"], quantifier)
    for side in (claim.requires, claim.ensures):
        check_node(side, claim, "condition", (), 0)
    check_lets(claim)
    return claim


def check_lets(claim: Claim) -> None:
    """One name for one value in the whole claim: so that what is printed has one meaning."""
    meant: dict[str, Any] = {}
    for let in (*lets(claim.requires), *lets(claim.ensures)):
        name, once = let["name"], meant.setdefault(let["name"], let["value"]) == let["value"]
        need(is_variable(name), f"let {name[:100]!r}: this could be taken for more than a name.")
        need(claim.kind != "values" or name not in claim.subject["names"], f"let {name}: it is a variable already.")
        inner = any(within["name"] == name for part in ("value", "body") for within in lets(let[part]))
        need(once and not inner, f"let {name}: it is bound twice.")


def check_node(data: Any, claim: Claim, sort: str, locals_: tuple[str, ...], depth: int) -> None:
    """A node of the right sort with the right fields, and names that exist."""
    need(depth < 200, "the claim is nested more than 200 deep.")
    kind = str(data.get("node")) if isinstance(data, dict) else "None"
    need(kind in NODES and NODES[kind][0] == sort, f"{kind!r} is not a {sort} of a claim.")
    expected = NODES[kind][1]
    fields_of(data, kind, "node", *expected)
    inner = (*locals_, data["name"]) if kind in ("Let", "LetValue") else locals_
    for name, form in expected.items():
        part = data[name]
        if form in _SORTS:
            check_node(part, claim, _SORTS[form], inner if name == "body" else locals_, depth + 1)
        elif form in ("v+", "c*"):
            need(isinstance(part, list), f"{kind}.{name} is no list.")
            for item in part:
                check_node(item, claim, _SORTS[form[0]], locals_, depth + 1)
        else:
            _check_field(part, form, claim, f"{kind}.{name}", locals_)
    _check_names(data, claim)


def _check_field(part: Any, form: str, claim: Claim, what: str, locals_: tuple[str, ...]) -> None:
    types = {"text": str, "int": int, "bool": bool, "variable": str, "local": str}
    if form in types:
        need(type(part) is types[form], f"{what} is {part!r}.")
    if form == "variable":
        need(claim.kind == "values" and part in claim.subject["names"], f"there is no variable {part!r}.")
    elif form == "local":
        need(part in locals_, f"{part!r} is used outside of its let.")
    elif form == "constant":
        need(not isinstance(part, str) or part.lstrip("-") in ("B", "least"), f"the constant {part!r} is no number.")
        constant(part, claim.format)
    elif form == "automaton":
        check_automaton(part, claim)


def check_automaton(data: Any, claim: Claim) -> None:
    data = fields_of(data, "the automaton", "alphabet", "moves", "accepting", "start", "name", optional=("expression",))
    alphabet, accepting = is_list(data["alphabet"], str, "the alphabet"), is_list(data["accepting"], int, "accepting")
    need(claim.kind == "inputs", "an automaton reads inputs, and the claim is about something else.")
    need(isinstance(data["moves"], list) and isinstance(data["name"], str), "the automaton has no moves or no name.")
    moves = [is_list(row, int, "a row of moves") for row in data["moves"]]
    states = [data["start"], *accepting, *(state for row in moves for state in row)]
    good = all(type(s) is int and 0 <= s < len(moves) for s in states) and all(len(row) == len(alphabet) for row in moves)
    need(good and len(set(alphabet)) == len(alphabet), "the automaton's moves are not a table over its alphabet.")
    need(set(vocabulary_of(claim)) <= set(alphabet), "the automaton does not know every token.")


def _check_names(node: dict[str, Any], claim: Claim) -> None:
    """What a node speaks of must exist: a name that means nothing would prove anything."""
    kind = node["node"]
    if kind == "Operation":
        arity = OPERATIONS.get(node["name"])
        need(arity == len(node["arguments"]), f"{node['name']!r} of {len(node['arguments'])} values is not an operation.")
    if kind == "Comparison":
        need(node["how"] in COMPARISONS, f"{node['how']!r} is not a comparison.")
    if kind == "Junction":
        need(node["how"] in ("and", "or"), f"{node['how']!r} joins nothing.")
    if kind in ("Token", "Accepted", "Holds", "SameChains"):
        need(claim.kind == "inputs", f"{kind} is about inputs, and the claim is not.")
    if kind == "SameChains":
        need(node["left"] in claim.models and node["right"] in claim.models, "SameChains names a transformer that is not there.")
    if kind == "SameWord":
        need(not node["left"]["node"] == node["right"]["node"] == "Text", "two words are compared, neither of which is said.")
        for said, other in ((node["left"], node["right"]), (node["right"], node["left"])):
            if other["node"] == "Text" and said["node"] != "Text":
                need(other["text"] in _words_of(said, claim), f"{said['node']} is never {other['text']!r}.")
    if kind in ("Coordinate", "Logit", "Answer", "Defined", "Attention", "Parameter"):
        need(node["of"] in claim.models, f"{kind} names a transformer {node['of']!r} that is not there.")
        _check_of_model(node, claim, claim.models[node["of"]])
    if kind == "Token":
        _check_position(node["position"], claim)


def _words_of(node: dict[str, Any], claim: Claim) -> list[str]:
    if node["node"] == "Token":
        return vocabulary_of(claim)
    model = claim.models.get(node["of"])
    return [*model.answers, "TIE", "UNDEFINED"] if model else []


def _check_of_model(node: dict[str, Any], claim: Claim, model: Model) -> None:
    kind = node["node"]
    if kind == "Coordinate":
        stages = ["before", "after"] if claim.kind == "block" else stages_of(model)
        need(node["coordinate"] in model.coordinates, f"there is no coordinate {node['coordinate']!r}.")
        need(node["stage"] in stages, f"there is no stage {node['stage']!r}.")
        _check_position(node["position"], claim)
    elif kind == "Logit":
        need(node["answer"] in model.answers, f"there is no answer {node['answer']!r}.")
    elif kind == "Answer":
        fewest = min(claim.subject["steps"][claim.subject["min_length"] - 1 :]) if claim.kind == "inputs" else 1
        need(-fewest <= node["step"] < fewest, f"there is no step {node['step']}.")
    elif kind == "Parameter":
        need(has_entry(model, node["part"], node["index"]), f"there is no weight {node['part']}{node['index']}.")
    elif kind == "Attention":
        layers = range(claim.subject.get("first", 0), last_layer(claim, model))
        there = node["layer"] in layers and 0 <= node["head"] < model.heads[node["layer"]]
        need(there and node["what"] in ("score", "weight"), f"there is no {node['what']} of head {node['layer']}.{node['head']}.")
        for position in (node["query"], node["key"]):
            _check_position(position, claim)
        for n in [claim.subject["positions"]] if claim.kind == "block" else lengths(claim):
            seen = node["key"] % n in seen_by(model.options["mask"], node["query"] % n, n)
            need(seen, f"of {n} positions, {node['query']} does not see {node['key']}.")


def _check_position(position: int, claim: Claim) -> None:
    size = claim.subject["positions"] if claim.kind == "block" else claim.subject["min_length"]
    need(-size <= position < size, f"position {position} does not exist in every element of the claim.")


def vocabulary_of(claim: Claim) -> list[str]:
    return next(iter(claim.models.values())).vocabulary


def lengths(claim: Claim) -> range:
    """Of the inputs."""
    return range(claim.subject["min_length"], claim.subject["max_length"] + 1)


def last_layer(claim: Claim, model: Model) -> int:
    """The layer before which the run ends."""
    last = claim.subject.get("last")
    return len(model.heads) if last is None else int(last)


def nodes(data: Any) -> Iterator[Any]:
    """Every node of a condition, it first."""
    if isinstance(data, dict):
        if "node" in data:
            yield data
        for part in data.values():
            yield from nodes(part)
    elif isinstance(data, list):
        for part in data:
            yield from nodes(part)


def lets(data: Any) -> list[Any]:
    return [node for node in nodes(data) if node["node"] in ("Let", "LetValue")]


def automata(claim: Claim) -> list[Any]:
    found = [n["automaton"] for side in (claim.requires, claim.ensures) for n in nodes(side) if n["node"] == "Accepted"]
    return [automaton for i, automaton in enumerate(found) if automaton not in found[:i]]
