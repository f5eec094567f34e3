"""The claim in words, made from the content alone. Brackets are roundings: [x + y] is the value nearest to x + y."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from .claims import ALWAYS, Claim, automata, last_layer, lets, vocabulary_of
from .elements import count, free_names
from .numbers import Rationals
from .reading import is_expression


def said(node: Any) -> str:
    """A node as it is read aloud."""
    n = node["node"]
    of = f"{whose(node['of'])}:" if node.get("of") else ""
    match n:
        case "Variable" | "Local":
            return str(node["name"])
        case "Coordinate":
            return f"{of}{node['stage']}.{quoted(node['coordinate'], '@')}@{node['position']}"
        case "Logit":
            return f"{of}logit({quoted(node['answer'], ')')})"
        case "Constant":
            number = node["number"]
            return (number if isinstance(number, str) else number["fraction"]).replace("-", "−")
        case "Operation":
            return said_operation(node["name"], [said(argument) for argument in node["arguments"]])
        case "Choice":
            return f"({said(node['then'])} if {said(node['condition'])} else {said(node['otherwise'])})"
        case "Let":
            return f"let {node['name']} = {said(node['value'])}: {said(node['body'])}"
        case "LetValue":
            return f"(let {node['name']} = {said(node['value'])}: {said(node['body'])})"
        case "Attention":
            return f"{of}{node['what']}({node['layer']}.{node['head']}: {node['query']}→{node['key']})"
        case "Parameter":
            return f"{of}{node['part']}[{','.join(map(str, node['index']))}]"
        case "Answer":
            where = [whose(node["of"])] * bool(node["of"]) + [f"step {node['step']}"] * (node["step"] != -1)
            return f"answer({', '.join(where)})" if where else "answer"
        case "Token":
            return f"token@{node['position']}"
        case "Text":
            plain = re.fullmatch(r"\w+", node["text"]) and node["text"] != "answer"
            return str(node["text"]) if plain else repr(node["text"])
    return said_condition(node)


def whose(of: str) -> str:
    return of if of.isidentifier() else repr(of)


def quoted(name: str, end: str) -> str:
    """A name in quotes, where one could not tell where it ends."""
    return repr(name) if end in name or name[:1] in ("'", '"') else name


def said_operation(name: str, parts: list[str]) -> str:
    signs = {"add": " + ", "subtract": " − ", "multiply": "·", "divide": " / "}
    if name in signs:
        return f"[{signs[name].join(parts)}]"
    if name == "abs":
        return f"|{parts[0]}|"
    return f"[{name} {parts[0]}]" if name in ("exp", "root") else f"{name}({', '.join(parts)})"


def said_condition(node: Any) -> str:
    match node["node"]:
        case "Comparison":
            return f"{said(node['left'])} {node['how']} {said(node['right'])}"
        case "SameWord":
            return f"{said(node['left'])} = {said(node['right'])}"
        case "SameChains":
            return f"every step's answer({node['left']}) = answer({node['right']})"
        case "Junction":
            sign = " ∧ " if node["how"] == "and" else " ∨ "
            if len(node["conditions"]) == 1:
                return said(node["conditions"][0])
            return sign.join(map(inside, node["conditions"])) or ("true" if node["how"] == "and" else "false")
        case "Negation" if node["part"]["node"] == "SameWord":
            return f"{said(node['part']['left'])} ≠ {said(node['part']['right'])}"
        case "Negation":
            return f"¬{inside(node['part'])}"
        case "Implication":
            return f"{inside(node['premise'])} ⇒ {inside(node['conclusion'])}"
        case "Equivalence":
            return f"{inside(node['left'])} ⇔ {inside(node['right'])}"
        case "Accepted":
            return f"input ∈ {node['automaton']['name']}"
        case "Holds":
            return f"{node['name']}(input)"
        case "Defined":
            what = "no 0/0 in attention or a norm" if node["attention"] else "no 0/0"
            return f"{what}{' of ' * bool(node['of'])}{node['of']}"
    raise AssertionError(node["node"])


def inside(node: Any) -> str:
    """A condition within another: in parentheses, if it is made of several."""
    while node["node"] == "Junction" and len(node["conditions"]) == 1:
        node = node["conditions"][0]
    compound = node["node"] in ("Implication", "Equivalence", "Let") or (node["node"] == "Junction" and node["conditions"])
    return f"({said(node)})" if compound else said(node)


def describe(claim: Claim) -> Iterator[str]:
    """The claim, line by line; a name that is free text is not printed as if it said something."""
    named, languages = automata(claim), {}
    for number, automaton in enumerate(named, 1):
        expression = is_expression(automaton["name"], vocabulary_of(claim))
        languages[json.dumps(automaton)] = automaton["name"] if expression else f"automaton {number}"
    yield f"for {claim.quantifier} {subject_in_words(claim)}"
    if claim.requires != ALWAYS:
        yield f"  {'if' if claim.quantifier == 'all' else 'with'} {said(renamed(claim.requires, languages))}"
    yield f"  : {said(renamed(claim.ensures, languages))}"
    rule = "even" if claim.format.ties_to_even else "the value nearer to 0"
    first, last = claim.format.codes()
    if not isinstance(claim.format, Rationals):
        largest = claim.format.number(claim.format.top)
        yield f"in {claim.format.name}: {last - first + 1:,} values up to B = {largest}, ties to {rule}"
    for key, model in claim.models.items():
        yield f"transformer {key!r}, called {model.name!r}: {len(model.heads)} layers, {sum(model.heads)} heads"
        yield f"  coordinates: {', '.join(model.coordinates)}"
        yield f"  options: {', '.join(f'{option} {chosen}' for option, chosen in model.options.items())}"
        yield f"  SHA-256 of all of it: {fingerprint(claim.subject['transformers'][key])}"
    for automaton in named:
        shown, start = languages[json.dumps(automaton)], f"start {automaton['start']}, accepting {automaton['accepting']}"
        yield f"{shown}, called {automaton['name']!r}: {start}" if shown != automaton["name"] else f"{shown}: {start}"
        for state, row in enumerate(automaton["moves"]):
            yield f"  {state}: " + ", ".join(f"{a} → {s}" for a, s in zip(automaton["alphabet"], row, strict=True))
    yield from foreign_letters(claim)


def renamed(data: Any, languages: dict[str, str]) -> Any:
    """A condition in which automata and predicates have no names of their own choice."""
    if isinstance(data, list):
        return [renamed(item, languages) for item in data]
    if not isinstance(data, dict):
        return data
    if data.get("node") == "Accepted":
        return {**data, "automaton": {**data["automaton"], "name": languages[json.dumps(data["automaton"])]}}
    if data.get("node") == "Holds":
        return {**data, "name": f"a predicate in Python, called {data['name']!r}, "}
    return {name: renamed(item, languages) for name, item in data.items()}


def foreign_letters(claim: Claim) -> Iterator[str]:
    """Letters, digits and signs of names that may look like others: x and х are two."""
    texts = set(claim.subject["names"]) if claim.kind == "values" else set()
    texts |= {name for model in claim.models.values() for name in (*model.vocabulary, *model.coordinates, *model.answers)}
    texts |= {let["name"] for let in (*lets(claim.requires), *lets(claim.ensures))}
    foreign = sorted({c for text in texts for c in text if not c.isascii()})
    if foreign:
        yield f"names have letters beyond ASCII: {', '.join(f'{c} is U+{ord(c):04X}' for c in foreign[:20])}"


def fingerprint(data: Any) -> str:
    """The digest of a transformer's JSON, keys in order, so that it can be compared with one made elsewhere."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def subject_in_words(claim: Claim) -> str:
    """What a claim ranges over, with all that a reader must know."""
    s = claim.subject
    if claim.kind == "values":
        return f"{', '.join(s['names'])} in {claim.format.name}"
    if claim.kind == "inputs":
        steps = f", {' '.join(map(str, s['steps']))} steps by length" if set(s["steps"]) != {1} else ""
        return f"inputs of length {s['min_length']} to {s['max_length']} over {' '.join(vocabulary_of(claim))}{steps}"
    held = ", ".join([*(f"{name}@{position} = {number}" for name, position, number in s["fixed"]), *_from_positions(claim)])
    stands = f" with {held}, 0 elsewhere" if held else " with 0 elsewhere"
    entered = _layers(claim, [f"transformer {key!r}" for key in claim.models])
    return f"values of {', '.join(free_names(claim))}, at {s['positions']} positions entering {entered},{stands}"


def subject_said(claim: Claim) -> str:
    """What a claim ranges over, as Glyptic says it."""
    s, format = claim.subject, claim.format.name
    if claim.kind == "values":
        return f"{', '.join(s['names'])} in {format}"
    names = [model.name or key or "T" for key, model in claim.models.items()]
    if claim.kind == "inputs":
        start = f"{s['min_length']} to " if s["min_length"] < s["max_length"] else ""
        steps = f", {' '.join(map(str, s['steps']))} steps" if any(step != 1 for step in s["steps"]) else ""
        return f"inputs of length {start}{s['max_length']} of {' and '.join(names)} in {format}{steps}"
    fixed = (f"{name}@{position} = {number.replace('-', '−')}" for name, position, number in s["fixed"])
    held = ", ".join([*fixed, *_from_positions(claim)])
    many = f" at {s['positions']} positions" if s["positions"] > 1 else ""
    stands = f" with {held}" if held else ""
    return f"values of {', '.join(free_names(claim))} in {format}, entering {_layers(claim, names)}{many}{stands}"


def _layers(claim: Claim, names: list[str]) -> str:
    """Which layers of which transformers a block runs; to the end they may be more in one than in the other."""
    first = claim.subject["first"]
    runs: dict[str, list[str]] = {}
    for name, model in zip(names, claim.models.values(), strict=True):
        last = last_layer(claim, model)
        runs.setdefault(f"layers {first} to {last - 1}" if first < last else "the output", []).append(name)
    return " and ".join(f"{where} of {' and '.join(of)}" for where, of in runs.items())


def _from_positions(claim: Claim) -> list[str]:
    return [f"{name} from the position embedding" for name in claim.subject["from_positions"]]


def ways_to_say(claim: Claim) -> list[str]:
    """What a verdict may be said to be over."""
    subject, number = subject_said(claim), f"{count(claim):,}"
    if claim.kind == "inputs":
        return [subject, f"all {number} {subject}, over {' '.join(vocabulary_of(claim))}"]
    return [subject, f"all {number} values of {subject}", f"all {number} {subject}"]


def one_line(text: str) -> str:
    return " ".join(text.split())
