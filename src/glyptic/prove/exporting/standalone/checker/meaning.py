"""What a claim means, at one element of what it ranges over.

Not everything exists: a division by 0, a root of a negative number, a coordinate of a run that met 0/0. Such a value is None
here, and a comparison that reads it is neither true nor false: None again. Conditions combine as in Kleene's logic. A claim
holds of an element where its precondition is not true, or where what it says comes out true.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .claims import COMPARISONS
from .models import entry_of
from .numbers import Format, constant
from .reading import Unable
from .transformer import Model, Run


@dataclass(frozen=True)
class Element:
    """One thing that a claim is about, with what its names stand for."""

    format: Format
    variables: dict[str, Any] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    models: dict[str, Model] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)

    def let(self, node: Any) -> Element:
        return replace(self, locals={**self.locals, node["name"]: value(node["value"], self)})


def truth(node: Any, at: Element) -> bool | None:
    """True, false, or None: neither."""
    match node["node"]:
        case "Comparison":
            a, b = value(node["left"], at), value(node["right"], at)
            return None if a is None or b is None else COMPARISONS[node["how"]](a, b)
        case "Junction":
            parts = [truth(part, at) for part in node["conditions"]]
            decides = node["how"] == "or"  # one true part decides an or, one false part an and
            return decides if decides in parts else None if None in parts else not decides
        case "Negation":
            part = truth(node["part"], at)
            return None if part is None else not part
        case "Implication":
            a, b = truth(node["premise"], at), truth(node["conclusion"], at)
            return True if a is False or b is True else None if a is None or b is None else False
        case "Equivalence":
            a, b = truth(node["left"], at), truth(node["right"], at)
            return None if a is None or b is None else a == b
        case "Let":
            return truth(node["body"], at.let(node))
        case "SameWord":
            return word(node["left"], at) == word(node["right"], at)
        case "SameChains":
            return at.runs[node["left"]].chain == at.runs[node["right"]].chain
        case "Defined":
            run = at.runs[node["of"]]
            of_layers = node["attention"] or run.before is not None  # of a block it is about its layers
            return not run.met_zero if of_layers else run.chain[-1] != "UNDEFINED"
        case "Accepted":
            return accepts(node["automaton"], at.tokens)
        case "Holds":
            raise Unable(f"the claim rests on a Python predicate, {node['name']!r}, which no file holds")
    raise AssertionError(node["node"])


def value(node: Any, at: Element) -> Any:
    """A value of the format in units, or None where there is none."""
    match node["node"]:
        case "Constant":
            return constant(node["number"], at.format)
        case "Variable":
            return at.variables[node["name"]]
        case "Local":
            return at.locals[node["name"]]
        case "Operation":
            arguments = [value(argument, at) for argument in node["arguments"]]
            return None if None in arguments else operated(at.format, node["name"], *arguments)
        case "Choice":
            chosen = truth(node["condition"], at)
            return None if chosen is None else value(node["then" if chosen else "otherwise"], at)
        case "LetValue":
            return value(node["body"], at.let(node))
        case "Parameter":
            return entry_of(at.models[node["of"]].arrays[node["part"]], node["index"])
    return value_of_run(node, at.models[node["of"]], at.runs[node["of"]])


def value_of_run(node: Any, model: Model, run: Run) -> Any:
    if node["node"] == "Logit":
        return None if run.logits is None else run.logits[model.answers.index(node["answer"])]
    if node["node"] == "Coordinate" and node["stage"] == "before":
        assert run.before is not None
        return run.before[node["position"]][model.coordinates.index(node["coordinate"])]
    if run.trace is None:
        return None
    if node["node"] == "Attention":
        table = run.trace.score if node["what"] == "score" else run.trace.weight
        return table[node["layer"], node["head"], node["query"] % run.positions, node["key"] % run.positions]
    return run.trace.residual[node["stage"]][node["position"] % run.positions][model.coordinates.index(node["coordinate"])]


def operated(F: Format, name: str, a: Any, b: Any = None) -> Any:
    """An operation of a claim; None for a division by 0 and the root of a negative number."""
    match name:
        case "divide":
            return None if b == 0 else F.divide(a, b)
        case "root":
            return None if a < 0 else F.root(a)
        case "relu":
            return max(a, 0)
        case "abs":
            return max(a, F.subtract(0, a))
        case "max" | "min":
            return max(a, b) if name == "max" else min(a, b)
        case "exp":
            return F.exp(a)
    return {"add": F.add, "subtract": F.subtract, "multiply": F.multiply}[name](a, b)


def word(node: Any, at: Element) -> str:
    if node["node"] == "Text":
        return str(node["text"])
    return at.tokens[node["position"]] if node["node"] == "Token" else at.runs[node["of"]].chain[node["step"]]


def accepts(automaton: Any, tokens: list[str]) -> bool:
    state = automaton["start"]
    for token in tokens:
        state = automaton["moves"][state][automaton["alphabet"].index(token)]
    return state in automaton["accepting"]
