"""question.smt2 as it is read here: its circuit, and what its comments say that each step is.

`arithmetic` compares its functions with our own, `comparison` its run with ours, `assertion` its last line with the claim.
"""

from __future__ import annotations

import random
import re
from typing import Any

from .claims import NODES, Claim, lets, nodes
from .elements import free_names
from .report import Report
from .words import one_line, said

MOST = 20_000  # combinations of values on which a function is tried
SOME = 400  # and where there are more
MOST_LETS = 8  # that are written out


def check_heading(text: str, script: Any, claim: Claim, verdict: dict[str, Any], report: Report) -> str:
    """The sentence, the names of what is free, and the expected answer, which is returned."""
    heading = text.split("\n(set-info")[0]
    lines = [line[1:].strip() for line in heading.splitlines()]
    sentence = " ".join(lines[1 : lines.index("")]) if lines[:1] == ["The claim:"] and "" in lines else ""
    same = one_line(sentence) == one_line(verdict["claim"])
    report.must(same, "question.smt2 states this claim", f"question.smt2 states {sentence!r}")
    holds, some = verdict["answer"] == "Proved", claim.quantifier == "some"
    expected = "sat" if holds == some and verdict["answer"] != "Vacuous" else "unsat"
    wrong = f"it expects {script.status}, the verdict {expected}"
    report.must(script.status == expected, f"its expected answer is {expected}", wrong)
    names = re.findall(r"^;   (v\d+) is the code of (.*)$", heading, re.MULTILINE)
    free = [(f"v{k}", one_line(name)) for k, name in enumerate(free_names(claim))]
    declared = [name for name in script.circuit.inputs if not re.fullmatch(r"exp\.\d+", name)]
    same = [(code, one_line(name)) for code, name in names] == free and declared == [code for code, _ in free]
    report.must(same, "its constants are what is free in the claim", "its constants are not what is free in the claim")
    return expected


class Question:
    """The file beside the claim, with what both need: blast.py's reader, the widths, the names of the steps."""

    def __init__(
        self, text: str, script: Any, claim: Claim, verdict: dict[str, Any], report: Report, blast: Any, limit: int
    ) -> None:
        self.text, self.script, self.claim, self.verdict = text, script, claim, verdict
        self.report, self.blast, self.format = report, blast, claim.format
        self.width, self.few = len(script.values["v0"]), min(SOME, limit)
        self.rng = random.Random(1)
        self.named: dict[str, list[str]] = {}  # what is said of a constant or a step: name -> expressions of the claim
        self.inverted: set[str] = set()  # conditions of which the opposite is named
        for name, what in re.findall(r"^; ((?:v|t|exp\.)\d+) is (.*)$", text, re.MULTILINE):
            if what.startswith("false where "):
                self.inverted.add(name)
            if not what.startswith("the code of [exp x] for"):
                self.named.setdefault(name, []).append(what.removeprefix("false where "))
        self.requires, self.ensures = unfolded(claim.requires), unfolded(claim.ensures)

    def codes(self, bits: list[int], columns: dict[str, list[int]]) -> list[int]:
        """The signed numbers that some bits make, for many values at once."""
        out = []
        for lane in zip(*self.blast.run(self.script, columns, bits), strict=True):
            number = sum(bit << k for k, bit in enumerate(lane))
            out.append(number - (lane[-1] << len(bits)))
        return out

    def computed(self, name: str, columns: dict[str, list[int]]) -> list[int]:
        """What a step comes to, for many values at once."""
        bits = self.script.values[name]
        if isinstance(bits, list):
            return self.codes(bits, columns)
        return [int(x) for x in self.blast.run(self.script, columns, [-bits if name in self.inverted else bits])[0]]

    def expressions(self) -> dict[str, Any]:
        """The claim's own expressions by their text: values, and whether an answer is given or a run is defined."""
        found: dict[str, Any] = {}
        for side in (self.requires, self.ensures):
            for node in nodes(side):
                if is_step(node):
                    found.setdefault(one_line(said(node)), node)
        return found


def is_value(node: Any) -> bool:
    return NODES[node["node"]][0] == "value"


def is_step(node: Any) -> bool:
    """Whether a node of the claim may be a step of the file."""
    named = is_value(node) or node["node"] in ("SameWord", "Defined")
    return named and not any(part["node"] == "Local" for part in nodes(node))


def unfolded(condition: Any) -> Any:
    """A condition whose lets are written out, unless they are many."""
    many = len(lets(condition))

    def unfold(part: Any, bound: dict[str, Any]) -> Any:
        if isinstance(part, list):
            return [unfold(item, bound) for item in part]
        if not isinstance(part, dict) or "node" not in part:
            return part
        if part["node"] == "Local":
            return bound[part["name"]]
        if part["node"] in ("Let", "LetValue"):
            return unfold(part["body"], {**bound, part["name"]: unfold(part["value"], bound)})
        return {name: unfold(item, bound) for name, item in part.items()}

    return unfold(condition, {}) if 0 < many <= MOST_LETS else condition
