"""The files beside a claim and its verdict: are they what they should be, and does the proof prove the claim?

check.py calls `check_files`; standard library only. In order:
 1. the manifest: every file is there as it was written (a convenience: whoever changes a file can change the manifest);
 2. README.md and verdict.json are about this claim;
 3. question.smt2 is compared with the claim: its sentence and names; every function of its arithmetic with check.py's own; every
    value that the claim speaks of with check.py's own run; what is asserted with what the claim says, also where it is false;
 4. question.cnf is what blast.py makes of question.smt2;
 5. question.drat proves that question.cnf has no solution.
What cannot be tried on all values is tried on some, and the report says so.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

MOST = 20_000  # combinations of values on which a function is tried
SOME = 400  # and where there are more
MOST_LETS = 8  # that are written out


def beside(name: str) -> Any:
    """A program of this folder: what can be read there, and not what may have been compiled of it."""
    path = Path(__file__).resolve().parent / f"{name}.py"
    module = ModuleType(f"beside_{name}")
    module.__file__ = str(path)
    exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    return module


def check_files(folder: Path, claim: Any, verdict: dict[str, Any], report: Any, check: Any, limit: int = MOST) -> None:
    """Everything that lies in the folder; `check` is the module check.py, `limit` bounds how much is tried."""
    check_manifest(folder, report)
    check_texts(folder, claim, verdict, report, check)
    question = folder / "question.smt2"
    if not question.exists():
        if claim.kind != "inputs" and verdict["method"] == "smt":
            report.trusted("the solvers: there is no question.smt2 to ask others")
        return
    text = question.read_text(encoding="utf-8")
    blast = beside("blast")
    try:
        script = blast.Reader(text)
    except (blast.Refused, ValueError, TypeError, IndexError, KeyError, RecursionError) as reason:
        report.must(False, "", f"question.smt2 cannot be read: {reason}")
        return
    expected = check_heading(text, script, claim, verdict, report, check)
    try:
        Question(text, script, claim, verdict, report, check, blast, limit).compare()
    except (blast.Refused, ValueError, TypeError, IndexError, KeyError, RecursionError) as reason:
        report.must(False, "", f"question.smt2 is not about the claim: {type(reason).__name__}: {reason}")
    check_proof(folder, text, expected, report, blast)


# 1, 2 What was written ----------------------------------------------------------------------------------------------------


def check_manifest(folder: Path, report: Any) -> None:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        digests = manifest["sha256"]
        there = {path.name for path in folder.iterdir() if path.name not in ("manifest.json", "__pycache__")}
        wrong = sorted(there ^ set(digests))
        wrong += [name for name in sorted(there & set(digests)) if sha256(folder / name) != digests[name]]
    except FileNotFoundError:
        report.trusted("that the folder is whole: it has no manifest")
        return
    except (ValueError, KeyError, TypeError, OSError) as reason:
        report.must(False, "", f"manifest.json cannot be read: {type(reason).__name__}")
        return
    report.must(not wrong, "the files are those of the manifest", f"not as the manifest says: {', '.join(wrong)}")


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_texts(folder: Path, claim: Any, verdict: dict[str, Any], report: Any, check: Any) -> None:
    start = f"{claim.name}: " * bool(claim.name) + f"for {claim.quantifier} {subject_said(claim, check)}"
    report.must(
        verdict["claim"].startswith((start + ":", start + ",")),
        "it names what the claim is about",
        f"the content is {start!r}",
    )
    report.must(
        verdict["over"] in ways_to_say(claim, check),
        "so does what it is said to be over",
        f"it is not over {verdict['over']!r}",
    )
    if verdict["answer"] == "Vacuous":
        right = verdict.get("requires") == check.said(claim.requires)
        report.must(right, "it names the precondition", "the precondition that it names is another")
    given = verdict.get("claim_sha256")
    if given is not None:
        report.must(
            given == sha256(folder / "claim.json"),
            "the verdict is about this claim",
            "the verdict is about another claim.json",
        )
    if (folder / "README.md").exists():
        text = (folder / "README.md").read_text(encoding="utf-8")
        start = (
            f"# {verdict['answer']}: a verdict that can be checked without Glyptic\n\n> {one_line(verdict['claim'])}\n"
        )
        report.must(
            text.startswith(start),
            "README.md names this claim and verdict",
            "README.md is about another claim or verdict",
        )
    if verdict.get("example") is not None:
        elements = check.elements_meant(claim, {"values": verdict["example"]})
        meets = any(check.judge(claim, element)[0] for element in elements)
        report.must(meets, "the precondition is met by the example", "the example does not meet the precondition")


def subject_said(claim: Any, check: Any) -> str:
    """What a claim ranges over, as Glyptic says it."""
    s, format = claim.subject, claim.format.name
    if claim.kind == "values":
        return ", ".join(check.said({"node": "Variable", "name": name}) for name in s["names"]) + f" in {format}"
    names = " and ".join(model.name or key or "T" for key, model in claim.models.items())
    if claim.kind == "inputs":
        start = f"{s['min_length']} to " if s["min_length"] < s["max_length"] else ""
        steps = f", {' '.join(map(str, s['steps']))} steps" if any(step != 1 for step in s["steps"]) else ""
        return f"inputs of length {start}{s['max_length']} of {names} in {format}{steps}"
    last = len(next(iter(claim.models.values())).heads) if s["last"] is None else s["last"]
    where = f"layers {s['first']} to {last - 1}" if s["first"] < last else "the output"
    held = [f"{name}@{position} = {number.replace('-', '−')}" for name, position, number in s["fixed"]]
    held += [f"{name} from the position embedding" for name in s["from_positions"]]
    many = f" at {s['positions']} positions" if s["positions"] > 1 else ""
    stands = f" with {', '.join(held)}" if held else ""
    return f"values of {', '.join(check.free_names(claim))} in {format}, entering {where} of {names}{many}{stands}"


def ways_to_say(claim: Any, check: Any) -> list[str]:
    """What a verdict may be said to be over."""
    said, number = subject_said(claim, check), f"{check.count(claim):,}"
    if claim.kind == "inputs":
        return [said, f"all {number} {said}, over {' '.join(check.vocabulary_of(claim))}"]
    return [said, f"all {number} values of {said}", f"all {number} {said}"]


def one_line(text: str) -> str:
    return " ".join(text.split())


# 3 The question -------------------------------------------------------------------------------------------------------------


def check_heading(text: str, script: Any, claim: Any, verdict: dict[str, Any], report: Any, check: Any) -> str:
    """The sentence, the names of what is free, and the expected answer, which is returned."""
    lines = [line[1:].strip() for line in text.split("\n(set-info")[0].splitlines()]
    said = " ".join(lines[1 : lines.index("")]) if lines[:1] == ["The claim:"] and "" in lines else ""
    wanted = one_line(verdict["claim"])
    report.must(one_line(said) == wanted, "question.smt2 states this claim", f"question.smt2 states {said!r}")
    some = claim.quantifier == "some"
    holds = verdict["answer"] == "Proved"
    expected = "sat" if holds == some and verdict["answer"] != "Vacuous" else "unsat"
    report.must(
        script.status == expected,
        f"its expected answer is {expected}",
        f"it expects {script.status}, the verdict {expected}",
    )
    names = re.findall(r"^;   (v\d+) is the code of (.*)$", text.split("\n(set-info")[0], re.MULTILINE)
    free = [(f"v{k}", one_line(name)) for k, name in enumerate(check.free_names(claim))]
    declared = [name for name in script.circuit.inputs if not re.fullmatch(r"exp\.\d+", name)]
    same = [(code, one_line(name)) for code, name in names] == free and declared == [code for code, _ in free]
    report.must(same, "its constants are what is free in the claim", "its constants are not what is free in the claim")
    return expected


class Question:
    """question.smt2 beside the claim: the same values and the same conditions, as far as they can be tried."""

    def __init__(
        self,
        text: str,
        script: Any,
        claim: Any,
        verdict: dict[str, Any],
        report: Any,
        check: Any,
        blast: Any,
        limit: int,
    ) -> None:
        self.text, self.script, self.claim, self.verdict = text, script, claim, verdict
        self.report, self.check, self.blast, self.format = report, check, blast, claim.format
        self.width, self.few = len(script.values["v0"]), min(SOME, limit)
        self.rng = random.Random(1)
        self.named: dict[str, list[str]] = {}  # what is said of a constant or a step: name -> expressions of the claim
        self.inverted: set[str] = set()  # conditions of which the opposite is named
        for name, said in re.findall(r"^; ((?:v|t|exp\.)\d+) is (.*)$", text, re.MULTILINE):
            if said.startswith("false where "):
                self.inverted.add(name)
            if not said.startswith("the code of [exp x] for"):
                self.named.setdefault(name, []).append(said.removeprefix("false where "))
        self.requires, self.ensures = self.unfolded(claim.requires), self.unfolded(claim.ensures)

    def compare(self) -> None:
        self.check_functions()
        elements = self.elements()
        at = [self.check.meet(self.claim, element) for element in elements]
        columns = {f"v{k}": [element[k] for element in elements] for k in range(len(elements[0]))}
        if not self.add_exps(columns):
            return
        everything = len(elements) == self.check.count(self.claim)
        how_many = f"all {len(elements):,} elements" if everything else f"{len(elements):,} elements"
        say = self.report.verified if everything else self.report.tried
        if self.same_values(columns, at) and self.same_assertions(columns, at):
            say(f"question.smt2 computes and asserts what the claim says, on {how_many}")
        self.other_values(columns, at)

    def elements(self) -> list[tuple[int, ...]]:
        """All elements of the claim if they are few; else the smallest, some from anywhere, and the example of the verdict."""
        check, claim = self.check, self.claim
        if check.count(claim) <= MOST // 10:
            return list(check.in_order(claim))
        found = [element for element, _ in zip(check.in_order(claim), range(self.few // 4), strict=False)]
        found += check.sample(claim, self.few, seed=7)
        for name in ("counterexample", "witness"):
            if self.verdict.get(name):
                found += check.elements_meant(claim, self.verdict[name])
        return found

    # The arithmetic ---------------------------------------------------------------------------------------------------------

    def known(self) -> dict[str, tuple[int, Any]]:
        """The functions of the file with what they should compute on values in units; None: not defined there."""
        F = self.format
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
        for name in self.script.functions:
            if name.startswith("over.") and name[5:].isdecimal():
                table[name] = (1, lambda a, n=int(name[5:]): F.divide_by_count(a, n))
        return {name: table[name] for name in self.script.functions if name in table}

    def check_functions(self) -> None:
        """Each function against check.py's own arithmetic: on all codes if they are few enough."""
        used = {
            word
            for line in self.text.splitlines()
            if line.startswith("(define-fun t")
            for word in re.findall(r"\(([\w.]+) ", line)
        }
        unknown = used & set(self.script.functions) - set(self.known()) - {"exp.low", "exp.high"}
        self.report.must(
            not unknown,
            "every function that the run calls is one that is checked",
            f"functions that nobody knows: {sorted(unknown)}",
        )
        for name, (count, computed) in self.known().items():
            arguments, everything = self.arguments(count)
            inputs = [self.script.fresh(f"?{name}.{k}", self.width) for k in range(count)]
            columns = {f"?{name}.{k}": [row[k] for row in arguments] for k in range(count)}
            found = self.codes(self.script.called(name, inputs), columns)
            wrong = None
            for row, code in zip(arguments, found, strict=True):
                right = computed(*(self.format.units(x) for x in row))
                if right is not None and self.format.code(right) != code:
                    wrong = row
                    break
            on = f"{'all ' * everything}{len(arguments):,} combinations of codes"
            good, bad = f"`{name}` is the rounded operation, on {on}", f"`{name}` is not rounded rightly at the codes {wrong}"
            if self.report.must(wrong is None, good, bad) and not everything:
                self.report.trusted(f"`{name}` on all others")
        self.check_bounds()

    def arguments(self, count: int) -> tuple[list[tuple[int, ...]], bool]:
        first, last = self.format.codes()
        size = last - first + 1
        if size**count <= MOST:
            rows: list[tuple[int, ...]] = [()]
            for _ in range(count):
                rows = [(*row, code) for row in rows for code in range(first, last + 1)]
            return rows, True
        special = [first, first + 1, -2, -1, 0, 1, 2, last - 1, last, self.format.code(self.format.one())]
        special = [code for code in special if first <= code <= last]
        pick = lambda: self.rng.choice(special) if self.rng.random() < 0.3 else self.rng.randint(first, last)  # noqa: E731
        return [tuple(pick() for _ in range(count)) for _ in range(SOME)], False

    def check_bounds(self) -> None:
        """exp.low and exp.high, where exp is only enclosed."""
        if "exp.low" not in self.script.functions:
            return
        rows, everything = self.arguments(1)
        sides = {}
        for side in ("low", "high"):
            bits = self.script.fresh(f"?exp.{side}", self.width)
            column = {f"?exp.{side}": [row[0] for row in rows]}
            sides[side] = self.codes(self.script.called(f"exp.{side}", [bits]), column)
        right = [self.format.code(self.format.exp(self.format.units(row[0]))) for row in rows]
        good = all(low <= code <= high for low, code, high in zip(sides["low"], right, sides["high"], strict=True))
        between = f"exp lies between exp.low and exp.high, on {len(rows):,} codes"
        if self.report.must(good, between, "exp.low and exp.high do not enclose exp") and not everything:
            self.report.trusted("that exp lies between exp.low and exp.high elsewhere")

    # The run ------------------------------------------------------------------------------------------------------------------

    def codes(self, bits: list[int], columns: dict[str, list[int]]) -> list[int]:
        """The signed numbers that some bits make, for many values at once."""
        rows = self.blast.run(self.script, columns, bits)
        out = []
        for lane in zip(*rows, strict=True):
            number = sum(bit << k for k, bit in enumerate(lane))
            out.append(number - (lane[-1] << len(bits)))
        return out

    def add_exps(self, columns: dict[str, list[int]]) -> bool:
        """The constants exp.0, exp.1, …: what exp is, of the step that the file names."""
        told = dict(
            re.findall(
                r"^; (exp\.\d+) is the code of \[exp x\] for the x with the code (\S+)$", self.text, re.MULTILINE
            )
        )
        inputs = [name for name in self.script.circuit.inputs if name.startswith("exp.")]
        if not self.report.must(
            set(told) == set(inputs), "every exp is of a step that is named", "an exp is of nothing that is named"
        ):
            return False
        F = self.format
        for name in sorted(inputs, key=lambda name: int(name[4:])):
            arguments = self.codes(self.script.value(told[name], {}), columns)
            columns[name] = [F.code(F.exp(F.units(code))) for code in arguments]
        return True

    def expressions(self) -> dict[str, Any]:
        """The claim's own expressions by their text: values, and whether an answer is given or a run is defined."""
        found: dict[str, Any] = {}
        for side in (self.requires, self.ensures):
            for node in self.check.nodes(side):
                if self.is_step(node):
                    found.setdefault(one_line(self.check.said(node)), node)
        return found

    def unfolded(self, condition: Any) -> Any:
        """A condition whose lets are written out, unless they are many."""
        lets = sum(node["node"] in ("Let", "LetValue") for node in self.check.nodes(condition))

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

        return unfold(condition, {}) if 0 < lets <= MOST_LETS else condition

    def is_step(self, node: Any) -> bool:
        """Whether a node of the claim may be a step of the file."""
        kind = self.check.NODES[node["node"]][0]
        named = kind == "value" or node["node"] in ("SameWord", "Defined")
        return named and not any(part["node"] == "Local" for part in self.check.nodes(node))

    def code_of(self, node: Any, element: Any) -> int | None:
        """What an expression comes to: a code, or 1 or 0 for a condition; None if it has no value."""
        if self.check.NODES[node["node"]][0] != "value":
            return int(self.check.truth(node, element) is True)
        found = self.check.value(node, element)
        return None if found is None else self.format.code(found)

    def computed(self, name: str, columns: dict[str, list[int]]) -> list[int]:
        """What a step comes to, for many values at once."""
        bits = self.script.values[name]
        if isinstance(bits, list):
            return self.codes(bits, columns)
        return [int(x) for x in self.blast.run(self.script, columns, [-bits if name in self.inverted else bits])[0]]

    def same_values(self, columns: dict[str, list[int]], at: list[Any]) -> bool:
        """Every step that is said to be an expression of the claim has its value; and every expression that varies is a step."""
        self.known_texts = known = self.expressions()
        right = {text: [self.code_of(node, element) for element in at] for text, node in known.items()}
        for name, texts in self.named.items():
            found = self.computed(name, columns)
            for text in texts:
                if text not in known:
                    return self.report.must(False, "", f"{name} is said to be {text!r}, which is not in the claim")
                if any(code is not None and code != step for code, step in zip(right[text], found, strict=True)):
                    return self.report.must(False, "", f"{name} is said to be {text!r}, and is not")
        said = {text for texts in self.named.values() for text in texts}
        unsaid = [text for text, codes in right.items() if text not in said and len({*codes} - {None}) > 1]
        return self.report.must(
            not unsaid,
            "every expression of the claim that varies is a step of question.smt2",
            f"no step is said to be {unsaid[:1]}",
        )

    def same_assertions(self, columns: dict[str, list[int]], at: list[Any]) -> bool:
        """All assertions but the last hold where the precondition is met; the last where what is looked for is found."""
        held = self.blast.run(self.script, columns)
        vacuous, some = self.verdict["answer"] == "Vacuous", self.claim.quantifier == "some"
        domain = held if vacuous else held[:-1]
        for k, element in enumerate(at):
            meets = self.check.truth(self.claim.requires, element) is True
            if all(row[k] for row in domain) != meets:
                return self.report.must(False, "", "the assertions leave out elements of the claim, or take in others")
            true = self.check.truth(self.claim.ensures, element) is True
            if not vacuous and held[-1][k] != (true == some):
                return self.report.must(False, "", "the last assertion is not what the claim says")
        return True

    # What is asserted, where it is false ---------------------------------------------------------------------------------------

    def other_values(self, columns: dict[str, list[int]], at: list[Any]) -> None:
        """The last assertion on values that the run does not take: of a true claim no others tell what it says.

        Steps that are expressions of the claim get values of their own, in the file and in the claim alike.
        """
        if self.verdict["answer"] == "Vacuous":
            return
        divides = any(
            node["node"] == "Operation" and node["name"] in ("divide", "root")
            for node in self.check.nodes(self.ensures)
        )
        ensures, used = self.with_variables(self.ensures)
        if divides or not used:
            if len(at) == self.check.count(self.claim):
                return  # compared on everything that there is
            self.report.trusted(
                "that the last assertion of question.smt2 says what the claim says: it is one line, read it"
            )
            return
        conditions = {name for name in used if not isinstance(self.script.values[name], list)}
        bits = {name: self.script.fresh(f"?{name}", 1 if name in conditions else self.width) for name in used}
        signs = {name: -1 if name in self.inverted else 1 for name in used}
        meant = {name: signs[name] * x[0] if name in conditions else x for name, x in bits.items()}
        literal = self.script.value(self.script.terms[-1], meant)
        places = [k % len(at) for k in range(min(SOME, 2 * len(at)))]
        rows = {name: [column[k] for k in places] for name, column in columns.items()}
        own = {name: self.computed(name, rows) for name in used}
        changed = [self.perturbed(conditions, {name: own[name][k] for name in used}, k) for k in range(len(places))]
        others = {f"?{name}": [change[name] for change in changed] for name in used}
        [held] = self.blast.run(self.script, {**rows, **others}, [literal])
        some = self.claim.quantifier == "some"
        for k, change, holds in zip(places, changed, held, strict=True):
            numbers = {text: self.number(text, at[k], change[name]) for name in used for text in used[name]}
            element = replace(at[k], variables={**at[k].variables, **numbers})
            if holds != ((self.check.truth(ensures, element) is True) == some):
                self.report.must(False, "", "the last assertion of question.smt2 does not say what the claim says")
                return
        self.report.tried(
            f"the last assertion says what the claim says, on {len(places)} combinations of values that the run does not take"
        )

    def number(self, text: str, element: Any, code: int) -> Any:
        """The value of a code in the place of an expression; None where the expression has none."""
        node = self.known_texts[text]
        if self.check.NODES[node["node"]][0] != "value":
            return code * self.format.top  # see `with_variables`
        return None if self.check.value(node, element) is None else self.format.units(code)

    def perturbed(self, conditions: set[str], own: dict[str, int], k: int) -> dict[str, int]:
        """Codes for the steps: the run's own, but for one, or for all."""
        first, last = self.format.codes()
        others = [code for code in (*own.values(), 0, 1, -1, first, last) if first <= code <= last]
        change = list(own) if k % 4 == 0 else [self.rng.choice(list(own))]
        pick = lambda: self.rng.choice(others) if self.rng.random() < 0.6 else self.rng.randint(first, last)  # noqa: E731
        return {**own, **{name: self.rng.randint(0, 1) if name in conditions else pick() for name in change}}

    def with_variables(self, node: Any) -> tuple[Any, dict[str, list[str]]]:
        """A condition of the claim with variables for its largest expressions that are steps of the file; and these steps.

        A condition that is a step becomes "a variable is not 0". Whether a run is defined also says which values there are, so it
        is left as it is where there are others.
        """
        steps = {text: name for name, texts in self.named.items() if not name.startswith("v") for text in texts}
        used: dict[str, list[str]] = {}
        free = [part for part in self.check.nodes(node) if self.is_step(part) and not of_definedness(part)]
        varied = [part for part in free if one_line(self.check.said(part)) in steps]

        def rewritten(part: Any) -> Any:
            if isinstance(part, list):
                return [rewritten(item) for item in part]
            if not isinstance(part, dict) or "node" not in part:
                return part
            text = one_line(self.check.said(part)) if self.is_step(part) else None
            if text is not None and text not in steps:
                return part  # it is free, or constant
            if text is None or (varied and of_definedness(part)):
                return {name: rewritten(item) for name, item in part.items()}
            used.setdefault(steps[text], []).append(text)
            variable = {"node": "Variable", "name": text}
            if self.check.NODES[part["node"]][0] == "value":
                return variable
            zero = {"node": "Constant", "number": {"fraction": "0"}}
            return {"node": "Comparison", "how": "≠", "left": variable, "right": zero}

        return rewritten(node), used


def of_definedness(node: Any) -> bool:
    """Whether a condition says that a run met 0/0, or did not."""
    words = [node[side].get("text") for side in ("left", "right")] if node["node"] == "SameWord" else []
    return node["node"] == "Defined" or "UNDEFINED" in words


# 4, 5 The clauses and the proof ------------------------------------------------------------------------------------------


def check_proof(folder: Path, text: str, expected: str, report: Any, blast: Any) -> None:
    if not (folder / "question.cnf").exists():
        if expected == "unsat":
            report.trusted("the solvers that are asked about question.smt2: there are no clauses here")
        return
    cnf = (folder / "question.cnf").read_text(encoding="utf-8")
    if not report.must(
        cnf == blast.dimacs(text),
        "question.cnf is what question.smt2 bit-blasts to",
        "question.cnf is not what question.smt2 bit-blasts to",
    ):
        return
    if not (folder / "question.drat").exists():
        report.trusted("the solvers that are asked about question.smt2: there is no proof of the clauses here")
        return
    if expected != "unsat":
        report.must(False, "", "question.drat says that there is no solution, and the verdict that there is one")
        return
    drat = beside("drat")
    try:
        steps = drat.check(cnf, (folder / "question.drat").read_text(encoding="utf-8"))
        covers = "so the verdict holds for all elements, as far as question.smt2 says what the claim says"
        report.verified(f"question.cnf has no solution: a DRAT proof of {steps:,} steps, all checked; {covers}")
    except (drat.Refused, ValueError) as reason:
        report.must(False, "", f"question.drat proves nothing: {reason}")
    if (folder / "question.cpc").exists():
        report.trusted("nothing of question.cpc: cvc5's proof is for a checker of its own")
