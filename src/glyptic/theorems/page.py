"""docs/theorems.md: what the library proves, written from runs of it.

    python -m glyptic.theorems.page docs/theorems.md ROWS.json                        all of it, which takes hours
    python -m glyptic.theorems.page docs/theorems.md --theorem zero.at                the rows of one theorem
    python -m glyptic.theorems.page docs/theorems.md --theorem zero.at --format fixed:2
    python -m glyptic.theorems.page docs/theorems.md --latex                          its tables for a paper; nothing is run

What is not asked for stays as the page has it. Rows are kept in ROWS.json as they come: started again, after an interruption
or a change, the run goes on from there.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glyptic.errors import GlypticError, InputError
from glyptic.files import write_whole
from glyptic.files.reading import read_bytes
from glyptic.theorems.mutation import Mutations, break_each
from glyptic.theorems.proving import FIXED, FLOATS, OTHERS, SCOPES, THEOREMS, Row, prove_all, theorem

BROKEN_IN = "fixed:3"
PLAIN = tuple(scope for scope in SCOPES if scope != "bf16")  # where all theorems are proved in plain terms too
SECONDS = 120.0  # of processor time, for each solver
TABLES = (("Fixed point", FIXED), ("Floating point", FLOATS), ("Ties to even; fused products", OTHERS))
WITHOUT, REFUSED, UNMISSED = "Without simplification", "Refused", "Weights that are not missed"
SAYS, FOUND = "what it says", "broken weights found"

_INTRODUCTION = """# Theorems of the constructions

Each construction of `glyptic.carve`, proved for **all values** of the format in every place that a claim names, by solvers:
`glyptic prove --library` runs them all and prints these tables. The claims are in `glyptic.theorems`.

✓ two solvers agree that no value fails (bitwuzla, z3; cvc5 where one of them is at its limit) · ✓s no solver was asked: the
terms, simplified by what is known of rounding, are the theorem already · ✓1 one solver alone · – the construction itself
refuses the format · ✗ refuted · ? open. Limits are of processor time ({seconds:g} s a solver), so a busy machine gives the same
table. The last column of the first table: every weight of the construction in turn is made 0 (in {scope}), and so many of the
theorems about what is left are refuted; what is not missed is listed below.
"""

_WITHOUT = """\
The same theorems put to a solver as they are, each operation a circuit: nothing that Glyptic knows of rounding is used
(`glyptic prove --library --terms plain`). ✓ a solver finds that no value fails, whatever the simplifier said above ·
? open at {seconds:g} s a question. What is too hard as one question is taken apart into lemmas that the solver proves first; none
is assumed.
"""

_TRUST = """
## What the proofs rest on

- The circuits that solvers get for each rounded operation: compared with exact fractions for all pairs of values of eleven small
  formats, and in thirteen larger ones, with both rules for ties, mostly next to a tie (`tests/prove/test_terms.py`).
- Terms are tried against runs of the engines before anything is proved of them: corners, ties, subnormals, both sides of every
  case and values at random must satisfy all that is assumed, and come out as in a run (`glyptic.prove.methods.smt.agreement`).
- What terms know of themselves before a solver sees them: rounding is monotone and commutes with negation; where there are
  subnormals the sign of [x − y] is the order of x and y. `theorems.lemmas(format)` tells how each is known, without using them:
  in a small format all values are run; in a larger one the sign of differences is put to the solvers, and monotonicity and
  negation rest on an argument from the definition of rounding, which it states.
- The layer itself is the one definition in `glyptic.exact.forward`, which fractions and kernels run too.
"""


_WHY = (
    "The units that clear a flag or a code of known sign, and what saturation makes up for, can go one at a time. Of a\n"
    "construction that takes turns, the theorem of one turn does not miss the weights of the other:"
)


@dataclass(frozen=True)
class Marks:
    """What the page tells, by theorem and scope."""

    simplified: dict[tuple[str, str], str] = field(default_factory=dict)
    plain: dict[tuple[str, str], str] = field(default_factory=dict)
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    found: dict[str, str] = field(default_factory=dict)  # broken weights, such as 3 of 3
    unmissed: dict[str, str] = field(default_factory=dict)

    def renewed(self, rows: Sequence[Row], plain: Sequence[Row], broken: Sequence[Mutations]) -> Marks:
        """With what has been run in place of what was told."""
        of = {(row.theorem, row.scope): row for row in rows}
        refused = {at: reason for at, reason in self.refused.items() if at not in of}
        return Marks(
            self.simplified | {at: row.mark for at, row in of.items()},
            self.plain | {(row.theorem, row.scope): row.mark[0] for row in plain},
            refused | {at: row.refusal for at, row in of.items() if row.verdict is None},
            self.found | {one.theorem: f"{one.refuted} of {one.weights}" for one in broken},
            self.unmissed | {one.theorem: ", ".join(one.unmissed) for one in broken},
        )


def read_page(text: str) -> Marks:
    """What a page tells; `page` of it is the same page."""
    marks, section, header = Marks(), "", [""]
    for line in text.splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if line.startswith("## "):
            section = line[3:]
        elif cells and cells[0] == "theorem":
            header = cells
        elif cells and cells[0] != "---":
            told = dict(zip(header, cells, strict=True))
            name = told.pop("theorem")
            told.pop(SAYS, "")
            if FOUND in told:
                marks.found[name] = told.pop(FOUND)
            (marks.plain if section == WITHOUT else marks.simplified).update({(name, scope): m for scope, m in told.items()})
        elif section == REFUSED and (said := re.fullmatch(r"- (.+) in (\S+(?: fused)?): (.*)", line)):
            marks.refused[said[1], said[2]] = said[3]
        elif section == UNMISSED and (said := re.fullmatch(r"- ([^:]+): (.*)", line)):
            marks.unmissed[said[1]] = said[2]
    return marks


def page(marks: Marks) -> str:
    """The whole page."""
    blocks = [_INTRODUCTION.format(scope=BROKEN_IN, seconds=SECONDS)]
    for title, scopes in TABLES:
        first, body = scopes is FIXED, []
        for one in THEOREMS:
            cells = [marks.simplified.get((one.name, scope), "") for scope in scopes]
            body.append([one.name, one.says, *cells, marks.found.get(one.name, "")] if first else [one.name, *cells])
        header = ["theorem", SAYS, *scopes, FOUND] if first else ["theorem", *scopes]
        blocks.append(f"## {title}\n\n{_markdown(header, body)}")
    cells_of = {one.name: [marks.plain.get((one.name, scope), "") for scope in PLAIN] for one in THEOREMS}
    without = _markdown(["theorem", *PLAIN], [[name, *cells] for name, cells in cells_of.items()])
    told = {at: why for at, why in marks.refused.items() if at[0] in cells_of and marks.simplified.get(at) == "–"}
    refused = [f"- {at[0]} in {at[1]}: {why}" for at, why in told.items()]
    unmissed = [f"- {name}: {marks.unmissed[name]}" for name in cells_of if marks.unmissed.get(name)]
    blocks.append(f"## {WITHOUT}\n\n{_WITHOUT.format(seconds=SECONDS)}\n{without}")
    if refused:
        blocks.append("\n".join([f"## {REFUSED}", "", *refused, ""]))
    if unmissed:
        blocks.append("\n".join([f"## {UNMISSED}", "", _WHY, "", *unmissed, ""]))
    return "\n".join([*blocks, _TRUST]).rstrip() + "\n"


def _markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def renew(
    path: Path,
    names: Sequence[str] | None = None,
    scopes: Sequence[str] | None = None,
    *,
    kept: Path | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> list[Row]:
    """Run theorems (None: all) in scopes (None: all) and write the page, whose other rows stay as they are."""
    chosen = [one.name for one in THEOREMS] if names is None else [theorem(name).name for name in names]
    for scope in scopes or ():
        if scope not in SCOPES:
            raise InputError(f"the page has no column {scope!r}; it has {', '.join(SCOPES)}.")
    before = read_page(read_bytes(path).decode(errors="replace")) if path.exists() else Marks()
    wanted = SCOPES if scopes is None else scopes
    rows = prove_all(wanted, chosen, seconds=SECONDS, workers=workers, kept=kept, progress=progress)
    confirmed = [scope for scope in wanted if scope in PLAIN]
    plain = prove_all(confirmed, chosen, seconds=SECONDS, terms="plain", workers=workers, kept=kept, progress=progress)
    broken = break_each(chosen, BROKEN_IN, kept=kept, workers=workers) if BROKEN_IN in wanted else []
    write_whole(path, page(before.renewed(rows, plain, broken)).encode())
    return [*rows, *plain]


def to_latex(marks: Marks, **options: Any) -> str:
    """The tables of a page as a fragment for a paper; `glyptic.look.latex` says what it takes."""
    return str(importlib.import_module("glyptic.look.latex").latex(marks, **options))  # which stands below this room


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status is 1 if a row is not as it should be."""
    parser = argparse.ArgumentParser("python -m glyptic.theorems.page", description="Write or renew the page of theorems.")
    parser.add_argument("page", type=Path, help="the page, such as docs/theorems.md; what is not asked for stays as it is")
    parser.add_argument("rows", type=Path, nargs="?", help="a file in which rows are kept, so that a run goes on where it was")
    parser.add_argument("--theorem", action="append", metavar="NAME", help="this theorem alone; more than once for more")
    parser.add_argument("--format", action="append", metavar="FORMAT", help="this column alone, such as fixed:2 or fixed:4/even")
    parser.add_argument("--workers", type=int, help="processes; as many as there are cores, unless given")
    parser.add_argument("--latex", action="store_true", help="print the tables that the page has in LaTeX, and run nothing")
    given = parser.parse_args(arguments)
    try:
        if given.latex:
            home = importlib.import_module("glyptic.theorems.page")  # run as a program, this module has another name
            print(home.to_latex(home.read_page(read_bytes(given.page).decode(errors="replace"))))
            return 0
        rows = renew(given.page, given.theorem, given.format, kept=given.rows, workers=given.workers)
    except GlypticError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"interrupted; {f'what was done is in {given.rows}' if given.rows else 'no rows were kept'}", file=sys.stderr)
        return 130
    wrong = [row for row in rows if not row.good]
    print(f"{given.page}: {len(rows)} rows renewed, {len(rows) - len(wrong)} as they should be")
    for row in wrong:
        print(f"{row.theorem} in {row.scope}: {row.verdict}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
