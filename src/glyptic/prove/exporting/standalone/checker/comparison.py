"""question.smt2 against the claim: its values are those of our own run, and it asserts what the claim says."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from .arithmetic import check_functions
from .assertion import check_other_values
from .elements import count, in_order, meet, sample
from .examples import elements_meant
from .meaning import Element, truth, value
from .question import MOST, Question, is_value


def compare(question: Question) -> None:
    """The functions, then the run and the assertions on elements of the claim, then the last assertion on other values."""
    check_functions(question)
    elements = chosen(question)
    at = [meet(question.claim, element) for element in elements]
    columns = {f"v{k}": [element[k] for element in elements] for k in range(len(elements[0]))}
    if not add_exps(question, columns):
        return
    everything = len(elements) == count(question.claim)
    how_many = f"all {len(elements):,} elements" if everything else f"{len(elements):,} elements"
    say = question.report.verified if everything else question.report.tried
    if same_values(question, columns, at) and same_assertions(question, columns, at):
        say(f"question.smt2 computes and asserts what the claim says, on {how_many}")
    check_other_values(question, columns, at)


def chosen(question: Question) -> list[tuple[int, ...]]:
    """All elements of the claim if they are few; else the smallest, some from anywhere, and the example of the verdict."""
    claim = question.claim
    if count(claim) <= MOST // 10:
        return list(in_order(claim))
    found = [*islice(in_order(claim), question.few // 4), *sample(claim, question.few, seed=7)]
    for name in ("counterexample", "witness"):
        if question.verdict.get(name):
            found += elements_meant(claim, question.verdict[name])
    return found


def add_exps(question: Question, columns: dict[str, list[int]]) -> bool:
    """The constants exp.0, exp.1, …: what exp is, of the step that the file names."""
    script, F = question.script, question.format
    told_by = r"^; (exp\.\d+) is the code of \[exp x\] for the x with the code (\S+)$"
    told = dict(re.findall(told_by, question.text, re.MULTILINE))
    inputs = [name for name in script.circuit.inputs if name.startswith("exp.")]
    good, bad = "every exp is of a step that is named", "an exp is of nothing that is named"
    if not question.report.must(set(told) == set(inputs), good, bad):
        return False
    for name in sorted(inputs, key=lambda name: int(name[4:])):
        arguments = question.codes(script.value(told[name], {}), columns)
        columns[name] = [F.code(F.exp(F.units(code))) for code in arguments]
    return True


def code_of(question: Question, node: Any, element: Element) -> int | None:
    """What an expression comes to: a code, or 1 or 0 for a condition; None if it has no value."""
    if not is_value(node):
        return int(truth(node, element) is True)
    found = value(node, element)
    return None if found is None else question.format.code(found)


def same_values(question: Question, columns: dict[str, list[int]], at: list[Element]) -> bool:
    """Every step that is said to be an expression of the claim has its value; and every expression that varies is a step."""
    known, report = question.expressions(), question.report
    right = {text: [code_of(question, node, element) for element in at] for text, node in known.items()}
    for name, texts in question.named.items():
        found = question.computed(name, columns)
        for text in texts:
            if text not in known:
                return report.must(False, "", f"{name} is said to be {text!r}, which is not in the claim")
            if any(code is not None and code != step for code, step in zip(right[text], found, strict=True)):
                return report.must(False, "", f"{name} is said to be {text!r}, and is not")
    named = {text for texts in question.named.values() for text in texts}
    unsaid = [text for text, codes in right.items() if text not in named and len({*codes} - {None}) > 1]
    good = "every expression of the claim that varies is a step of question.smt2"
    return report.must(not unsaid, good, f"no step is said to be {unsaid[:1]}")


def same_assertions(question: Question, columns: dict[str, list[int]], at: list[Element]) -> bool:
    """All assertions but the last hold where the precondition is met; the last where what is looked for is found."""
    claim, report = question.claim, question.report
    held = question.blast.run(question.script, columns)
    vacuous, some = question.verdict["answer"] == "Vacuous", claim.quantifier == "some"
    domain = held if vacuous else held[:-1]
    for k, element in enumerate(at):
        meets = truth(claim.requires, element) is True
        if all(row[k] for row in domain) != meets:
            return report.must(False, "", "the assertions leave out elements of the claim, or take in others")
        true = truth(claim.ensures, element) is True
        if not vacuous and held[-1][k] != (true == some):
            return report.must(False, "", "the last assertion is not what the claim says")
    return True
