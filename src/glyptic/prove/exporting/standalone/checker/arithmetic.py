"""The functions of question.smt2, each against our own arithmetic: on all codes if they are few enough."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

from .question import MOST, SOME, Question


def check_functions(question: Question) -> None:
    """Every function that the run calls must be one that is known, and each of these what it should be."""
    functions, known, report, F = question.script.functions, known_functions(question), question.report, question.format
    steps = [line for line in question.text.splitlines() if line.startswith("(define-fun t")]
    used = {word for line in steps for word in re.findall(r"\(([\w.]+) ", line)}
    unknown = used & set(functions) - set(known) - {"exp.low", "exp.high"}
    good = "every function that the run calls is one that is checked"
    report.must(not unknown, good, f"functions that nobody knows: {sorted(unknown)}")
    for name, (count, computed) in known.items():
        rows, everything = arguments(question, count)
        wrong = None
        for row, code in zip(rows, called(question, name, rows), strict=True):
            right = computed(*map(F.units, row))
            if right is not None and F.code(right) != code:
                wrong = row
                break
        on = f"{'all ' * everything}{len(rows):,} combinations of codes"
        good, bad = f"`{name}` is the rounded operation, on {on}", f"`{name}` is not rounded rightly at the codes {wrong}"
        if report.must(wrong is None, good, bad) and not everything:
            report.trusted(f"`{name}` on all others")
    if "exp.low" in functions:
        check_bounds(question)


def known_functions(question: Question) -> dict[str, tuple[int, Any]]:
    """The functions of the file with what they should compute on values in units; None: not defined there."""
    F = question.format
    table: dict[str, tuple[int, Any]] = {
        "add": (2, F.add),
        "subtract": (2, F.subtract),
        "multiply": (2, F.multiply),
        "negate": (1, lambda a: F.rounded(-a)),
        "fused": (3, F.fused),
        "divide": (2, lambda a, b: None if b == 0 else F.divide(a, b)),
        "root": (1, lambda a: None if a < 0 else F.root(a)),
        "larger": (2, max),
        "exp": (1, F.exp),
    }
    for name in question.script.functions:
        if name.startswith("over.") and name[5:].isdecimal():
            table[name] = (1, lambda a, n=int(name[5:]): F.divide_by_count(a, n))
    return {name: table[name] for name in question.script.functions if name in table}


def arguments(question: Question, count: int) -> tuple[list[tuple[int, ...]], bool]:
    """Codes to call a function with; and whether these are all."""
    first, last = question.format.codes()
    if (last - first + 1) ** count <= MOST:
        return list(product(range(first, last + 1), repeat=count)), True
    special = [first, first + 1, -2, -1, 0, 1, 2, last - 1, last, question.format.code(question.format.one())]
    special, rng = [code for code in special if first <= code <= last], question.rng
    pick = lambda: rng.choice(special) if rng.random() < 0.3 else rng.randint(first, last)  # noqa: E731
    return [tuple(pick() for _ in range(count)) for _ in range(SOME)], False


def called(question: Question, name: str, rows: list[tuple[int, ...]]) -> list[int]:
    """What a function of the file gives for each row of codes."""
    names = [f"?{name}.{k}" for k in range(len(rows[0]))]
    bits = [question.script.fresh(each, question.width) for each in names]
    columns = {each: [row[k] for row in rows] for k, each in enumerate(names)}
    return question.codes(question.script.called(name, bits), columns)


def check_bounds(question: Question) -> None:
    """exp.low and exp.high, where exp is only enclosed."""
    F, report = question.format, question.report
    rows, everything = arguments(question, 1)
    sides = zip(called(question, "exp.low", rows), rows, called(question, "exp.high", rows), strict=True)
    good = all(low <= F.code(F.exp(F.units(code))) <= high for low, (code,), high in sides)
    between = f"exp lies between exp.low and exp.high, on {len(rows):,} codes"
    if report.must(good, between, "exp.low and exp.high do not enclose exp") and not everything:
        report.trusted("that exp lies between exp.low and exp.high elsewhere")
