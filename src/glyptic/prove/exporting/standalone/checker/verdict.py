"""The verdict against the claim: its sentence, its example, its counts, and what walking through the elements finds."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

from .claims import ALWAYS, Claim, automata, vocabulary_of
from .elements import Tally, answer, count, judge, sample, walk
from .examples import check_example, shown
from .meaning import accepts
from .reading import Unable, fields_of, is_expression, is_sentences, need
from .report import Report
from .states import Walked
from .words import said

VERDICTS = ("Proved", "Refuted", "Vacuous", "Unknown")
METHODS = ("enumeration", "smt", "symbolic", "bounds", "states")
BY_STATES = {
    "solvers": r"\d[\d,]* states( and \d[\d,]* states)*(, \d[\d,]* side by side)?",
    "assumptions": r"what later positions need of a prefix is its state.*",
}  # what a verdict by states says of itself
FEW = 500  # elements that are walked through where states have decided


def read_verdict(data: Any) -> dict[str, Any]:
    known = isinstance(data, dict) and data.get("answer") in VERDICTS
    need(known, f"the verdict's answer is not one of {', '.join(VERDICTS)}.")
    for name in ("inputs", "satisfying", "failures"):
        need(data.get(name) is None or (type(data[name]) is int and data[name] >= 0), f"the verdict's {name} is not a count.")
    for name in ("claim", "method", "over"):
        need(isinstance(data.get(name), str), f"the verdict has no {name}.")
    need(data["method"] in METHODS, f"the verdict's method is not one of {', '.join(METHODS)}.")
    need(data.get("smallest", "globally") in ("globally", "locally"), "the verdict's `smallest` is neither globally nor locally.")
    for name in ("solvers", "assumptions"):
        need(is_sentences(data.get(name, [])), f"the verdict's {name} are not a list of sentences.")
    if data["method"] == "states":
        for name, pattern in BY_STATES.items():
            good = name not in data or any(re.fullmatch(pattern, text) for text in data[name])
            need(good, f"the verdict's {name} are not those of a search of states.")
    for name in ("counterexample", "witness"):
        if data.get(name) is not None:
            fields_of(data[name], name, optional=("input", "values", "observed", "codes", "spaced"))
    return dict(data)


def check(
    claim: Claim, verdict: dict[str, Any], limit: int = 20_000, report: Report | None = None, walked: Walked | None = None
) -> Report:
    """Everything that can be said about a verdict within a limit of elements, and by what a walk by states has found."""
    report = report or Report()
    check_sentence(claim, verdict, report)
    for automaton in automata(claim):
        check_automaton_name(automaton, vocabulary_of(claim), report)
    try:
        tally = walk(claim, limit if walked is None else min(limit, FEW))
        element = check_example(claim, verdict, report)
        check_against_walk(claim, verdict, tally, element, report, all_judged=walked is not None)
        if walked is not None:
            check_against_states(claim, verdict, walked, element, report)
        if not tally.complete and walked is None:
            check_samples(claim, verdict, limit, report)
    except Unable as reason:
        report.trusted(f"the verdict itself: {reason}")
    if verdict["answer"] == "Unknown":
        report.trusted("nothing: the claim was left open")
    report.trusted("Python, its integers and fractions, and this program")
    report.trusted("that the claim in words above is what is meant")
    return report


def check_sentence(claim: Claim, verdict: dict[str, Any], report: Report) -> None:
    """The verdict's own sentence ends as the content says, and names the format."""
    text, end = verdict["claim"], f": {said(claim.ensures)}"
    if claim.requires != ALWAYS:
        given = f"({said(claim.requires)})" if claim.requires["node"] == "Let" else said(claim.requires)
        end = f", {'if' if claim.quantifier == 'all' else 'with'} {given}{end}"
    start = f"{claim.name}: " * bool(claim.name) + f"for {claim.quantifier} "
    good = text.startswith(start) and text.endswith(end)
    wrong = f"the verdict's sentence is {text!r}, the content says {end!r}"
    report.must(good, "the verdict's sentence says what the content says", wrong)
    said_count = re.match(r"all ([0-9,]+) ", verdict["over"])
    if said_count:
        right, ranges = said_count[1] == f"{count(claim):,}", f"the claim ranges over {count(claim):,} elements"
        report.must(right, ranges, f"{ranges}, not {said_count[1]}")


def check_automaton_name(automaton: Any, symbols: list[str], report: Report) -> None:
    """A name that is a regular expression over the vocabulary is compared with Python's own, on all short words."""
    name = automaton["name"]
    try:
        marked = "".join(c if c in "()|*+?." else re.escape(c) for c in name)
        expression = re.compile(marked, re.DOTALL) if is_expression(name, symbols) else None
    except re.error:
        expression = None
    if expression is None:
        return report.trusted(f"that the automaton printed above is what its name says, {name!r}")
    longest = next((n for n in range(1, 20) if len(symbols) ** (n + 1) > 5_000), 20)
    for n in range(longest + 1):
        for tokens in product(symbols, repeat=n):
            if accepts(automaton, list(tokens)) != bool(expression.fullmatch("".join(tokens))):
                report.must(False, "", f"the automaton is not that of {name}: they differ on {''.join(tokens)!r}")
                return None
    return report.verified(f"the automaton agrees with the expression {name} on all words up to length {longest}")


def check_against_walk(
    claim: Claim, verdict: dict[str, Any], tally: Tally, element: tuple[Any, ...] | None, report: Report, all_judged: bool
) -> None:
    """The verdict against what walking through the elements, the smallest first, has found; states may judge the rest."""
    said_answer, how_many = verdict["answer"], f"{tally.walked:,} of {count(claim):,} elements"
    if tally.complete:
        how_many = f"all {tally.walked:,} elements"
        if said_answer != "Unknown":
            right, by = answer(claim, tally), f"by walking through {how_many}"
            report.must(right == said_answer, f"{said_answer}, {by}", f"{right}, {by}, not {said_answer}")
        check_counts(claim, verdict, tally, report)
    elif said_answer in ("Proved", "Refuted") and element is None and not report.wrong:
        wrong = f"{shown(claim, tally.first)} says otherwise" if tally.first is not None else ""
        if report.must(not wrong, f"the smallest {how_many} agree", wrong) and not all_judged:
            report.trusted("the rest of them: they are too many here (raise --limit)")
    elif said_answer == "Vacuous":
        none = f"none of the smallest {how_many} meets the precondition"
        if report.must(not tally.satisfying, none, "some elements meet the precondition") and not all_judged:
            report.trusted("the rest of them: they are too many here (raise --limit)")
    if not tally.complete:
        check_sizes(claim, verdict, tally, report)
    if element is not None and verdict.get("smallest", "globally") == "globally":
        if tally.first is not None:
            report.must(tally.first == element, "no smaller one does", f"a smaller one does: {shown(claim, tally.first)}")
        elif not all_judged:
            report.trusted(f"that no smaller one does (none of the {tally.walked:,} smallest elements)")
    elif element is not None:
        report.trusted("nothing is said of smaller ones")


def check_against_states(
    claim: Claim, verdict: dict[str, Any], walked: Walked, element: tuple[Any, ...] | None, report: Report
) -> None:
    """The verdict against what is true at all places that inputs lead to."""
    if verdict["answer"] == "Unknown":
        return
    decided = Tally(satisfying=int(walked.satisfying), first=walked.first)
    right, by = answer(claim, decided), f"at {walked.places:,} places, to which all elements lead"
    if walked.first is not None:
        by = f"at {walked.places:,} places, to which all elements up to {shown(claim, walked.first)} lead"
    report.must(right == verdict["answer"], f"{right}, {by}", f"{right}, {by}, not {verdict['answer']}")
    if element is not None and walked.first is not None and verdict.get("smallest", "globally") == "globally":
        smaller = f"a smaller one does: {shown(claim, walked.first)}"
        report.must(walked.first == element, "no smaller one does", smaller)


def check_counts(claim: Claim, verdict: dict[str, Any], tally: Tally, report: Report) -> None:
    """The verdict's counts; `inputs` may be fewer where the search stopped at a counterexample."""
    whole = verdict["answer"] in ("Proved", "Vacuous") or verdict.get("failures") is not None
    failures = tally.found if claim.quantifier == "all" else None
    for name, right in (("inputs", tally.walked), ("satisfying", tally.satisfying), ("failures", failures)):
        given = verdict.get(name)
        if given is None or right is None:
            continue
        good = given == right if whole and claim.quantifier == "all" else given <= right
        report.must(good, f"{name}: {given:,}", f"{name} is {right:,}, not {given:,}")


def check_sizes(claim: Claim, verdict: dict[str, Any], tally: Tally, report: Report) -> None:
    """The verdict's counts where nobody counts again: what the answer, the number of elements and the walk leave possible."""
    counts = {name: verdict[name] for name in ("inputs", "satisfying", "failures") if verdict.get(name) is not None}
    for name, given in counts.items():
        least, most = possible_counts(claim, verdict, tally)[name]
        between = f"{most:,}" if least == most else f"from {least:,} to {most:,}"
        wrong = f"{name} is {given:,}, and of {count(claim):,} elements, {verdict['answer']}, it is {between}"
        report.must(least <= given <= most, f"{name}: {given:,} of {count(claim):,} elements", wrong)
    if counts:
        report.trusted(f"these counts, beyond that: {', '.join(counts)}")


def possible_counts(claim: Claim, verdict: dict[str, Any], tally: Tally) -> dict[str, tuple[int, int]]:
    """Of each count the least and the most that it may be; a refutation that counts failures has gone through all elements."""
    most, answered = count(claim), verdict["answer"]
    anything = dict.fromkeys(("inputs", "satisfying", "failures"), (0, most))
    if claim.quantifier == "some" or answered == "Unknown":
        return anything
    meeting = (most if claim.requires == ALWAYS else max(1, tally.satisfying), most)
    if answered == "Proved":
        return {"inputs": (most, most), "satisfying": meeting, "failures": (0, 0)}
    if answered == "Vacuous":
        return {"inputs": (most, most), "satisfying": (0, 0), "failures": (0, 0)}
    if verdict.get("failures") is None:
        return anything | {"inputs": (1, most), "satisfying": (1, most)}
    met = verdict.get("satisfying")
    return {"inputs": (most, most), "satisfying": meeting, "failures": (max(1, tally.found), most if met is None else met)}


def check_samples(claim: Claim, verdict: dict[str, Any], limit: int, report: Report) -> None:
    """Where not all can be walked through, a few hundred elements from anywhere are tried."""
    size = min(limit, 300)
    for element in sample(claim, size):
        meets, true = judge(claim, element)
        some = claim.quantifier == "some"
        breaks = meets and ((true is True) == some)
        against = {"Proved": breaks and not some, "Refuted": breaks and some, "Vacuous": meets}.get(verdict["answer"], False)
        if against:
            report.must(False, "", f"{shown(claim, element)} says otherwise: the claim comes out {true} there")
            return
    report.tried(f"{size} elements from anywhere: none speaks against the verdict")
