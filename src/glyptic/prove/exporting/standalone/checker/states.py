"""A claim on inputs by the machines of its transformers, in states.json, walked side by side.

The answers to an input, what an automaton makes of it and its last token follow from the place where the machines and automata
are after it. So what a claim that reads nothing else says of the first input that leads to a place, it says of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .claims import NODES, Claim, automata, nodes, vocabulary_of
from .machine import Wrong, must, verified
from .meaning import Element, truth
from .reading import Unable, need, read_json
from .report import Report
from .transformer import Run

MOST = 1_000_000  # places
Place = tuple[int, ...]


@dataclass(frozen=True)
class Walked:
    """How many places there are up to the first element that decides; that element, and whether any meets the precondition."""

    places: int
    satisfying: bool
    first: tuple[str, ...] | None


def by_states(folder: Path, claim: Claim, verdict: dict[str, Any], report: Report) -> Walked | None:
    """What the machines in a folder show of a claim; None where they show nothing."""
    file = folder / "states.json"
    if not file.is_file():
        if verdict["method"] == "states":
            report.trusted("the search of states that the verdict is by: there is no states.json")
        return None
    other = unread(claim)
    need(not other, f"states.json is about answers, and {other}.")
    data = read_json(file)
    need(isinstance(data, dict) and data.keys() == claim.models.keys(), "states.json has not the transformers of the claim.")
    try:
        for key, model in claim.models.items():
            for line in verified(model, data[key], "states.json"):
                report.verified(f"{key}: {line}" if key else line)
        return walked(claim, data)
    except Wrong as wrong:
        report.must(False, "", f"states.json: {wrong}")
    except Unable as unable:
        report.trusted(f"what follows from states.json: {unable}")
    return None


def unread(claim: Claim) -> str:
    """What a claim reads that places do not tell; empty if there is nothing."""
    if claim.kind != "inputs":
        return "the claim is about values"
    if set(claim.subject["steps"]) != {1}:
        return "the claim is about several steps"
    for side in (claim.requires, claim.ensures):
        for node in nodes(side):
            if NODES[node["node"]][0] == "value":
                return "the claim compares values"
            if node["node"] == "Holds":
                return "the claim rests on a Python predicate"
            if node["node"] == "Token" and node["position"] != -1:
                return "the claim reads a token that is not the last"
            if node["node"] == "Defined" and node["attention"]:
                return "the claim tells one 0/0 from another"
    return ""


def walked(claim: Claim, machines: dict[str, Any]) -> Walked:
    """Judge the first input that leads to each place, in the order of the inputs, as far as the first that decides."""
    satisfying, count, some = False, 0, claim.quantifier == "some"
    for tokens, said in reached(claim, machines):
        count += 1
        if count > MOST:
            raise Unable(f"the machines side by side have more than {MOST:,} places")
        if len(tokens) < claim.subject["min_length"]:
            continue
        at = Element(claim.format, tokens=list(tokens), models=claim.models, runs=said)
        meets, true = truth(claim.requires, at) is True, truth(claim.ensures, at) is True
        satisfying = satisfying or meets
        if meets and true == some:
            return Walked(count, satisfying, tokens)
    return Walked(count, satisfying, None)


def reached(claim: Claim, machines: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Run]]]:
    """Of each place the first input that leads there, and the answers; shorter inputs first, then as in the vocabulary."""
    words, found = vocabulary_of(claim), automata(claim)
    tables = [[{t: row[model.vocabulary.index(t)] for t in words} for row in machines[key]["moves"]]
              for key, model in claim.models.items()]  # fmt: skip
    tables += [[{t: row[each["alphabet"].index(t)] for t in words} for row in each["moves"]] for each in found]
    level: list[tuple[Place, tuple[str, ...]]] = [((*(0 for _ in machines), *(each["start"] for each in found)), ())]
    known = set[Any]()
    for length in range(1, claim.subject["max_length"] + 1):
        following = []
        for place, before in level:
            for token in words:
                after = tuple(table[state][token] for table, state in zip(tables, place, strict=True))
                must(min(after) >= 0, f"there are machines that end before length {length}")
                key = (after, token, min(length, claim.subject["min_length"]))
                if key not in known:
                    known.add(key)
                    following.append((after, (*before, token)))
                    said = {of: machines[of]["answers"][s] for of, s in zip(claim.models, after, strict=False)}
                    yield following[-1][1], {of: Run(chain=(word,)) for of, word in said.items()}
        level = following
        if not level:
            return
