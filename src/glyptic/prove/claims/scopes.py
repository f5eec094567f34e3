"""That a condition is made as conditions are, and that a name which a `let` binds is read where it is bound.

A claim may come out of a file, so nothing is taken for granted: each part is of the kind that its place asks for, operations are
those that there are, and nothing is nested deeper than what walks it can go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from fractions import Fraction
from typing import Any

from glyptic.languages.automata import Automaton
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.evaluation import COMPARISONS, OPERATIONS
from glyptic.prove.claims.expressions import RESERVED, ClaimError

_MOST_PARTS = 1 << 18
DEEPEST = 150  # evaluating, printing and writing take a few of Python's 1,000 frames a level

_KINDS: dict[str, type | tuple[type, ...]] = {  # what a field of a node is declared as, and what it must then be
    **{"Value": e.Value, "Condition": e.Condition, "Word": e.Word, "Automaton": Automaton},
    **{"str": str, "int": int, "bool": bool, "Any": (Fraction, int, str)},
}


def check_grammar(condition: e.Condition) -> None:
    """Refuse what no operator of the language makes."""
    level: list[e.Node] = [condition]
    seen = 0
    for _ in range(DEEPEST):
        level = [child for node in level for child in _checked(node)]
        seen += len(level)
        if not level:
            return
        if seen > _MOST_PARTS:  # x + x of x + x of …: what is named by let is written, and computed, once
            raise ClaimError(f"it has more than {_MOST_PARTS:,} parts, written out; name those that come again with let.")
    raise ClaimError(f"it is nested more than {DEEPEST} deep; name parts of it with let, or claim less at once.")


def _checked(node: e.Node) -> Iterator[e.Node]:
    kind = type(node).__name__
    for field in fields(node):  # type: ignore[arg-type]
        wanted, given = str(field.type), getattr(node, field.name)
        several = wanted.startswith("tuple[")
        if several and not isinstance(given, tuple):
            raise ClaimError(f"{field.name} of {kind} is {given!r}, not a tuple.")
        for item in given if several else (given,):
            _check_kind(f"{field.name} of {kind}", wanted.removeprefix("tuple[").removesuffix(", ...]"), item)
        if wanted.startswith("Literal") and given not in _allowed(node, field.name):
            raise ClaimError(f"{field.name} of {kind} is {given!r}, none of {', '.join(_allowed(node, field.name))}.")
    if isinstance(node, e.Operation):
        _check_operation(node)
    if isinstance(node, e.Constant) and isinstance(node.number, str) and node.number not in e.Constant.DEPENDING:
        raise ClaimError(f"{node.number!r} is not a constant; write a number, or 'B', '-B', 'least', '-least'.")
    yield from node.children()


def _allowed(node: e.Node, field: str) -> tuple[str, ...]:
    if field == "what":
        return "score", "weight"
    return tuple(COMPARISONS) if isinstance(node, e.Comparison) else ("and", "or")


def _check_kind(where: str, wanted: str, given: Any) -> None:
    kind = _KINDS.get(wanted)
    if kind is not None and (not isinstance(given, kind) or (isinstance(given, bool) and wanted != "bool")):
        raise ClaimError(f"{where} is {given if isinstance(given, e.Node) else repr(given)}, not what belongs there.")


def _check_operation(node: e.Operation) -> None:
    if node.name not in OPERATIONS:
        raise ClaimError(f"{node.name!r} is not an operation; there are {', '.join(OPERATIONS)}.")
    count, _ = OPERATIONS[node.name]
    if len(node.arguments) != count:
        raise ClaimError(f"{node.name} takes {count} operands, not {len(node.arguments)}.")


def check_scopes(conditions: Iterable[e.Condition], variables: tuple[str, ...]) -> None:
    """Refuse a local name that is read where nothing binds it, is bound twice, or is a variable's.

    One name for one value, in the whole claim: so what a counterexample reports of it has one meaning.
    """
    meant: dict[str, str] = {}
    for condition in conditions:
        _check_scope(condition, (), variables, meant)


def _check_scope(node: e.Node, bound: tuple[str, ...], variables: tuple[str, ...], meant: dict[str, str]) -> None:
    if isinstance(node, e.Local) and node.name not in bound:
        known = f"here these are bound: {', '.join(bound)}" if bound else "nothing is bound here"
        raise ClaimError(f"{node.name} is read outside of its let; {known}.")
    if not isinstance(node, e.Let | e.LetValue):
        for child in node.children():
            _check_scope(child, bound, variables, meant)
        return
    if not node.name.isidentifier() or node.name in RESERVED:
        taken = ", ".join(RESERVED)
        raise ClaimError(f"let {node.name!r}: choose a name that is one word of letters, none of {taken}.")
    if node.name in variables:
        raise ClaimError(f"let {node.name} = {node.value}: {node.name} is a variable already; choose another name.")
    if node.name in bound or meant.setdefault(node.name, str(node.value)) != str(node.value):
        raise ClaimError(f"let {node.name} = {node.value}: {node.name} is bound twice; choose another name.")
    _check_scope(node.value, bound, variables, meant)
    _check_scope(node.body, (*bound, node.name), variables, meant)
