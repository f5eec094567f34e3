"""docs/theorems.md: what the library proves, written from a run of it.

python -m glyptic.theorems.page docs/theorems.md ROWS.json

Rows are kept in the second file as they come: started again, after an interruption or a change, the run goes on from there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from glyptic.files import write_whole
from glyptic.parallel import cores, scatter
from glyptic.theorems.catalogue import THEOREMS
from glyptic.theorems.mutation import Mutations, break_all
from glyptic.theorems.proving import FIXED, FLOATS, OTHERS, SCOPES, Row, prove_all

BROKEN_IN = "fixed:3"
PLAIN = tuple(scope for scope in SCOPES if scope != "bf16")  # where all theorems are proved in plain terms too
SECONDS = 120.0  # of processor time, for each solver

_INTRODUCTION = """# Theorems of the constructions

Each construction of `glyptic.carve`, proved for **all values** of the format in every place that a claim names, by solvers:
`glyptic prove --library` runs them all and prints these tables. The claims are in `glyptic.theorems`.

✓ two solvers agree that no value fails (bitwuzla, z3; cvc5 where one of them is at its limit) · ✓s no solver was asked: the
terms, simplified by what is known of rounding, are the theorem already · ✓1 one solver alone · – the construction itself
refuses the format · ✗ refuted · ? open. Limits are of processor time ({seconds:g} s a solver), so a busy machine gives the same
table. The last column of the first table: every weight of the construction in turn is made 0 (in {scope}), and so many of the
theorems about what is left are refuted; what is not missed is listed below.
"""

_WITHOUT = """## Without simplification

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


def page(rows: Sequence[Row], plain: Sequence[Row], broken: Sequence[Mutations]) -> str:
    """The whole page."""
    found = {one.theorem: one for one in broken}
    says = {theorem.name: theorem.says for theorem in THEOREMS}
    blocks = [_INTRODUCTION.format(scope=BROKEN_IN, seconds=SECONDS)]
    for title, scopes in (("Fixed point", FIXED), ("Floating point", FLOATS), ("Ties to even; fused products", OTHERS)):
        first = scopes is FIXED
        header = [
            "theorem",
            *(["what it says"] if first else []),
            *scopes,
            *(["broken weights found"] if first else []),
        ]
        body = []
        for theorem in THEOREMS:
            marks = {row.scope: row.mark for row in rows if row.theorem == theorem.name}
            one = found.get(theorem.name)
            count = [f"{one.refuted} of {one.weights}" if one else ""] if first else []
            body.append(
                [theorem.name, *([says[theorem.name]] if first else []), *(marks.get(s, "") for s in scopes), *count]
            )
        blocks.append(f"## {title}\n\n{_markdown(header, body)}")
    return "\n".join([*blocks, _without(plain), _refusals(rows), _unmissed(broken), _TRUST]).rstrip() + "\n"


def _without(plain: Sequence[Row]) -> str:
    """What plain terms confirm."""
    scopes = list(dict.fromkeys(row.scope for row in plain))
    marks = {(row.theorem, row.scope): row.mark[0] for row in plain}
    body = [[one.name, *(marks.get((one.name, scope), "") for scope in scopes)] for one in THEOREMS]
    return _WITHOUT.format(seconds=SECONDS) + "\n" + _markdown(["theorem", *scopes], body)


def _markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def _refusals(rows: Sequence[Row]) -> str:
    refused = [f"- {row.theorem} in {row.scope}: {row.refusal}" for row in rows if row.verdict is None]
    return "\n".join(["## Refused", "", *refused, ""]) if refused else ""


def _unmissed(broken: Sequence[Mutations]) -> str:
    """Weights that a theorem does not need, and why that can be."""
    listed = [f"- {one.theorem}: {', '.join(one.unmissed)}" for one in broken if one.unmissed]
    if not listed:
        return ""
    why = (
        "The units that clear a flag or a code of known sign, and what saturation makes up for, can go one at a time. Of a\n"
        "construction that takes turns, the theorem of one turn does not miss the weights of the other:"
    )
    return "\n".join(["## Weights that are not missed", "", why, "", *listed, ""])


def main(path: str, kept: str) -> None:
    """Run the library and write the page."""
    rows = prove_all(seconds=SECONDS, kept=Path(kept))
    plain = prove_all(PLAIN, seconds=SECONDS, terms="plain", kept=Path(kept))
    jobs = [(theorem.name, BROKEN_IN) for theorem in THEOREMS]
    broken = scatter(break_all, jobs, workers=cores(), progress="constructions broken")
    write_whole(Path(path), page(rows, plain, broken).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
