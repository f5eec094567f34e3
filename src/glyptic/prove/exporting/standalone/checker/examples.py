"""A counterexample or a witness, run again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from .claims import NODES, Claim
from .elements import free_names, is_element, judge, meet
from .meaning import Element, truth, value, word
from .numbers import Format, constant
from .reading import is_list, need
from .report import Report
from .words import said


def numbers_meant(text: Any, format: Format) -> list[Any]:
    """The values that a text may stand for: −∞ is −B, or the value below it where there is one."""
    need(isinstance(text, str) and len(text) < 5000, f"{text!r} is not a number.")
    plain = text.replace("−", "-").replace("∞", "B")
    if plain in ("B", "-B"):
        return [format.top] if plain == "B" else list(dict.fromkeys((-format.top, format.bottom)))
    return [constant(plain, format)]


def elements_meant(claim: Claim, example: Any) -> list[tuple[Any, ...]]:
    """The elements that a counterexample or witness may stand for: one, unless −∞ may be read in two ways."""
    longer = claim.kind == "inputs" and any(len(t) > 1 for model in claim.models.values() for t in model.vocabulary)
    need(example.get("spaced", False) is longer, "the example's tokens are not written as those of its vocabulary are.")
    if claim.kind == "inputs":
        element = tuple(is_list(example.get("input"), str, "the example's input"))
        need(is_element(claim, element), f"{list(element)} is not an input that the claim is about.")
        return [element]
    values = example.get("values")
    names = free_names(claim)
    need(isinstance(values, dict) and list(values) == names, f"the example does not give values to {', '.join(names)}.")
    choices = [[claim.format.code(x) for x in numbers_meant(text, claim.format)] for text in values.values()]
    return list(islice(product(*choices), 64))


def check_example(claim: Claim, verdict: dict[str, Any], report: Report) -> tuple[Any, ...] | None:
    """The counterexample, or the witness, run again; None if there is none to run."""
    some = claim.quantifier == "some"
    wanted = {"Proved": "witness" if some else None, "Refuted": None if some else "counterexample"}.get(verdict["answer"])
    for name in ("witness", "counterexample"):
        given = verdict.get(name)
        if given is not None and name != wanted:
            report.must(False, "", f"a {name} is given, which this verdict does not have")
    if wanted is None:
        return None
    if verdict.get(wanted) is None:
        report.must(False, "", f"there is no {wanted}")
        return None
    for element in elements_meant(claim, verdict[wanted]):
        meets, true = judge(claim, element)
        if meets and (true is True) == some:
            does = "bears the claim out" if some else "breaks the claim"
            report.verified(f"the {wanted}, {shown(claim, element)}, meets the precondition and {does}")
            check_observed(claim, verdict[wanted], element, report)
            return element
    report.must(False, "", f"the {wanted} is none: the claim comes out {true} there, the precondition {meets}")
    return None


def shown(claim: Claim, element: tuple[Any, ...]) -> str:
    if claim.kind == "inputs":
        single = all(len(token) == 1 for model in claim.models.values() for token in model.vocabulary)
        return repr(("" if single else " ").join(element))
    numbers = [claim.format.number(claim.format.units(code)) for code in element]
    return ", ".join(f"{name} = {number}" for name, number in zip(free_names(claim), numbers, strict=True))


def in_scope(node: Any, at: Element) -> Iterator[tuple[Any, Element]]:
    """Every node of a condition, with what its local names stand for."""
    yield node, at
    for name, form in NODES[node["node"]][1].items():
        if form in ("v", "c", "w", "v+", "c*"):
            inner = at.let(node) if name == "body" else at
            for part in node[name] if isinstance(node[name], list) else [node[name]]:
                yield from in_scope(part, inner)


def check_observed(claim: Claim, example: Any, element: tuple[Any, ...], report: Report) -> None:
    """What the verdict says was observed there, compared with what comes out now."""
    observed = example.get("observed") or {}
    need(isinstance(observed, dict), "what was observed is not given by name.")
    at = meet(claim, element)
    known: dict[str, Any] = {}
    for node, here in (*in_scope(claim.requires, at), *in_scope(claim.ensures, at)):
        if node["node"] in ("Let", "LetValue"):
            known[node["name"]] = value(node["value"], here)
        if said(node) in observed:
            sort = NODES[node["node"]][0]
            known[said(node)] = {"value": value, "word": word, "condition": truth}[sort](node, here)
    for name, text in observed.items():
        if name not in known:
            report.must(False, "", f"{name!r}, said to be observed, is not in the claim")
        elif known[name] is None:
            good = text in ("undefined", "neither")
            report.must(good, f"{name} is undefined there", f"{name} is undefined there, not {text}")
        elif isinstance(known[name], str | bool):
            good = text in (known[name], str(known[name]).lower())
            report.must(good, f"{name} is {text} there", f"{name} is {known[name]} there, not {text}")
        else:
            good = text != "undefined" and known[name] in numbers_meant(text, claim.format)
            number = claim.format.number(known[name])
            report.must(good, f"{name} is {number} there", f"{name} is {number} there, not {text}")
