"""The last assertion of question.smt2 on values that no run takes: of a true claim no others tell what it says.

Steps that are expressions of the claim get values of their own, in the file and in the claim alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .claims import nodes
from .elements import count
from .meaning import Element, truth, value
from .question import SOME, Question, is_step, is_value
from .words import one_line, said


def check_other_values(question: Question, columns: dict[str, list[int]], at: list[Element]) -> None:
    """Try the last assertion. Where the claim divides or takes roots, other values may have no result: it is left alone."""
    report, script = question.report, question.script
    if question.verdict["answer"] == "Vacuous":
        return
    operations = {node["name"] for node in nodes(question.ensures) if node["node"] == "Operation"}
    ensures, used = with_variables(question)
    if operations & {"divide", "root"} or not used:
        if len(at) < count(question.claim):  # else it has been compared on everything that there is
            report.trusted("that the last assertion of question.smt2 says what the claim says: it is one line, read it")
        return
    conditions = {name for name in used if not isinstance(script.values[name], list)}
    bits = {name: script.fresh(f"?{name}", 1 if name in conditions else question.width) for name in used}
    signs = {name: -1 if name in question.inverted else 1 for name in used}
    meant = {name: signs[name] * x[0] if name in conditions else x for name, x in bits.items()}
    literal = script.value(script.terms[-1], meant)
    places = [k % len(at) for k in range(min(SOME, 2 * len(at)))]
    rows = {name: [column[k] for k in places] for name, column in columns.items()}
    own = {name: question.computed(name, rows) for name in used}
    changed = [perturbed(question, conditions, {name: own[name][k] for name in used}, k) for k in range(len(places))]
    others = {f"?{name}": [change[name] for change in changed] for name in used}
    [held] = question.blast.run(script, {**rows, **others}, [literal])
    expressions, some = question.expressions(), question.claim.quantifier == "some"
    for k, change, holds in zip(places, changed, held, strict=True):
        codes = {text: change[name] for name in used for text in used[name]}
        numbers = {text: number(question, expressions[text], at[k], code) for text, code in codes.items()}
        element = replace(at[k], variables={**at[k].variables, **numbers})
        if holds != ((truth(ensures, element) is True) == some):
            report.must(False, "", "the last assertion of question.smt2 does not say what the claim says")
            return
    on = f"{len(places)} combinations of values that the run does not take"
    report.tried(f"the last assertion says what the claim says, on {on}")


def number(question: Question, node: Any, element: Element, code: int) -> Any:
    """The value of a code in the place of an expression; None where the expression has none."""
    if not is_value(node):
        return code * question.format.top  # see `with_variables`
    return None if value(node, element) is None else question.format.units(code)


def perturbed(question: Question, conditions: set[str], own: dict[str, int], k: int) -> dict[str, int]:
    """Codes for the steps: the run's own, but for one, or for all."""
    rng, (first, last) = question.rng, question.format.codes()
    others = [code for code in (*own.values(), 0, 1, -1, first, last) if first <= code <= last]
    change = list(own) if k % 4 == 0 else [rng.choice(list(own))]
    pick = lambda: rng.choice(others) if rng.random() < 0.6 else rng.randint(first, last)  # noqa: E731
    return {**own, **{name: rng.randint(0, 1) if name in conditions else pick() for name in change}}


def with_variables(question: Question) -> tuple[Any, dict[str, list[str]]]:
    """What is claimed, with variables for its largest expressions that are steps of the file; and these steps.

    A condition that is a step becomes "a variable is not 0". Whether a run is defined also says which values there are, so it
    is left as it is where there are others.
    """
    steps = {text: name for name, texts in question.named.items() if not name.startswith("v") for text in texts}
    used: dict[str, list[str]] = {}
    free = [part for part in nodes(question.ensures) if is_step(part) and not of_definedness(part)]
    varied = any(one_line(said(part)) in steps for part in free)

    def rewritten(part: Any) -> Any:
        if isinstance(part, list):
            return [rewritten(item) for item in part]
        if not isinstance(part, dict) or "node" not in part:
            return part
        text = one_line(said(part)) if is_step(part) else None
        if text is not None and text not in steps:
            return part  # it is free, or constant
        if text is None or (varied and of_definedness(part)):
            return {name: rewritten(item) for name, item in part.items()}
        used.setdefault(steps[text], []).append(text)
        variable = {"node": "Variable", "name": text}
        if is_value(part):
            return variable
        zero = {"node": "Constant", "number": {"fraction": "0"}}
        return {"node": "Comparison", "how": "≠", "left": variable, "right": zero}

    return rewritten(question.ensures), used


def of_definedness(node: Any) -> bool:
    """Whether a condition says that a run met 0/0, or did not."""
    words = [node[side].get("text") for side in ("left", "right")] if node["node"] == "SameWord" else []
    return node["node"] == "Defined" or "UNDEFINED" in words
