"""Solvers: where the time of a proof goes, and the frontier: the size up to which one minute is enough, before and after.

Families of claims grow in one direction: a dense layer bounds its output, |x| ≤ 1 ⇒ |y| ≤ c, where c is a quarter above the
largest |y| that is seen at some thousand points. Each is put to bitwuzla and z3, each with a minute of processor time for
every question; the frontier is the largest size up to which both decide all. Times are of the processor: building the terms,
writing the script, and each solver's own.

`python -m benchmarks.bench_solvers FILE NAME` records what the code that is imported reaches, under a name (a commit); what
`results/solvers_before.json` holds is what is compared with, here and in the figure in docs/figures/solvers.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import row
from glyptic import figures
from glyptic.exact import Sizes, random_transformer
from glyptic.files import write_whole
from glyptic.numbers import Format, as_format
from glyptic.prove import Claim, after, before, layers
from glyptic.prove.elements.batches import free_names, setting_of_codes
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.questions import pose
from glyptic.prove.methods.smt.solvers import SolverLimits, ask

SECONDS = 60.0
SOLVERS = ("bitwuzla", "z3")
BEFORE = Path(__file__).parent / "results" / "solvers_before.json"
FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "solvers" / "frontier"
Measured = dict[str, Any]


def bounded(format: str, width: int, positions: int, heads: int, hidden: int) -> Claim:
    """|x| ≤ 1 ⇒ |y| ≤ c, of one dense layer."""
    sizes = Sizes(
        layers=1, heads=heads, width=width, hidden=hidden, key_width=2, value_width=2, density=1.0, max_length=max(2, positions)
    )
    subject = layers(random_transformer(as_format(format), 2, sizes), positions=positions)
    near = (abs(before(f"x{k}", i)) <= 1 for k in range(width) for i in range(positions))
    out, requires = after("x0", positions - 1), reduce(lambda a, b: a & b, near)
    return Claim(subject, abs(out) <= _above(Claim(subject, out == 0), positions), requires=requires)


def _above(claim: Claim, positions: int) -> Fraction:
    """A quarter above the largest output that is seen at corners of the box and within it, in quarters."""
    format = claim.subject.format
    assert isinstance(format, Format)
    chance, one = np.random.default_rng(0), format.code(Fraction(1))
    shape = (len(free_names(claim)), 2048)
    codes = np.concatenate([one * chance.choice([-1, 1], shape), chance.integers(-one, one, shape, endpoint=True)], axis=1)
    run = setting_of_codes(claim, codes)
    seen = run.arithmetic.codes(run.read(after("x0", positions - 1)).numbers)
    largest = max(abs(format.value(int(code))) for code in (seen.min(), seen.max()))
    return min(format.max, Fraction(ceil(largest * 5), 4))


Family = tuple[str, Sequence[int], Callable[[int], Claim]]  # what grows, how far it is tried, the claim of a size
FAMILIES: dict[str, Family] = {
    "feed-forward, fixed:4": ("width d", (2, 4, 6, 8, 10, 12, 16), lambda d: bounded("fixed:4", d, 1, 0, d + 1)),
    "feed-forward, d = 4": ("s of fixed:s", (2, 4, 6, 8, 12, 16, 20, 24), lambda s: bounded(f"fixed:{s}", 4, 1, 0, 5)),
    "feed-forward, d = 2, floats": ("p of float:3,p", (2, 3, 4, 6, 8, 10, 12, 16), lambda p: bounded(f"float:3,{p}", 2, 1, 0, 3)),
    "attention, d = 2, fixed:3": ("positions n", (1, 2, 3, 4, 6, 8, 12, 16, 24), lambda n: bounded("fixed:3", 2, n, 1, 0)),
    "attention, n = 2, fixed:3": ("width d", (2, 3, 4, 6, 8, 12, 16, 24), lambda d: bounded("fixed:3", d, 2, 1, 0)),
    "attention, d = 2, n = 2": ("s of fixed:s", (2, 3, 4, 5, 6, 8, 10), lambda s: bounded(f"fixed:{s}", 2, 2, 1, 0)),
}


def measured(claim: Claim) -> Measured:
    """Processor time by what it is spent on, and what the solvers say."""
    format = claim.subject.format
    assert isinstance(format, Format)
    start = time.process_time()
    question = pose(claim, format)
    built = time.process_time()
    scripts = [bits.script(part) for part in question.failing_parts if bits.FALSE not in part]
    found: Measured = {"build": built - start, "write": time.process_time() - built, "lines": sum(s.count("\n") for s in scripts)}
    for solver in SOLVERS:
        seconds, said = 0.0, "unsat"
        for script in scripts:
            reply = ask(solver, script, SolverLimits(SECONDS))
            seconds, said = seconds + reply.seconds, reply.status
            if said != "unsat":
                break
        found[solver], found[f"{solver} says"] = seconds, said
    return found


def profile(families: dict[str, Family] = FAMILIES) -> list[Measured]:
    """Every family up to the first size that is not decided."""
    rows = []
    for name, (what, sizes, claim) in families.items():
        for size in sizes:
            found = measured(claim(size))
            decided = all(found[f"{solver} says"] in ("sat", "unsat") for solver in SOLVERS)
            rows.append({"family": name, "what": what, "size": size, "decided": decided, **found})
            print({key: round(x, 2) if isinstance(x, float) else x for key, x in rows[-1].items()}, file=sys.stderr, flush=True)
            if not decided:
                break
    return rows


def frontier(rows: Sequence[Measured], family: str) -> int:
    """The largest size that was decided, before the first that was not; 0 if none was."""
    return max((one["size"] for one in rows if one["family"] == family and one["decided"]), default=0)


def record(path: Path, name: str) -> None:
    """Keep what this code reaches."""
    text = json.dumps({"commit": name, "seconds": SECONDS, "rows": profile()}, indent=1, ensure_ascii=False)
    write_whole(path, (text + "\n").encode())


def draw(earlier: Sequence[Measured], now: Sequence[Measured]) -> None:
    """Seconds of the slower solver against size, before and after, and the limit."""
    figure, axes = figures.new(2, 3, (14, 8))
    table = []
    for axis, (name, (what, _, _)) in zip(np.ravel(axes), FAMILIES.items(), strict=True):
        if not {name} <= {one["family"] for one in earlier} & {one["family"] for one in now}:
            axis.set_visible(False)  # not recorded
            continue
        for label, rows, colour in (("before", earlier, "muted"), ("after", now, "theory")):
            points = [(one["size"], max(0.01, *(one[solver] for solver in SOLVERS))) for one in rows if one["family"] == name]
            table += [{"family": name, "what": what, "when": label, "size": size, "seconds": round(s, 3)} for size, s in points]
            axis.plot(*zip(*points, strict=True), marker="o", label=label, color=figures.COLOURS[colour])
        axis.axhline(SECONDS, color=figures.COLOURS["bad"], linewidth=1, linestyle=":")
        axis.set_xlabel(what)
        axis.set_ylabel("seconds, the slower solver")
        axis.set_yscale("log")
        figures.titled(axis, name)
    figures.note(
        figure,
        f"|x| ≤ 1 ⇒ |y| ≤ c for one dense layer, all values. The dotted line is the limit of {SECONDS:g} s for each question "
        "(attention has two): a line ends with the first size that is not decided. 0.01 s: nothing was left to ask.",
    )
    figures.save(figure, table, FIGURE)


def rows() -> list[dict[str, object]]:
    now, earlier = profile(), json.loads(BEFORE.read_text())
    draw(earlier["rows"], now)
    found = []
    for name, (what, sizes, _) in FAMILIES.items():
        if not any(one["family"] == name for one in earlier["rows"]):
            continue  # not recorded, so that there is nothing to compare with
        reached, then = frontier(now, name), frontier(earlier["rows"], name)
        more = " or more" if reached == sizes[-1] else ""
        spent = [one for one in now if one["family"] == name]
        shares = ", ".join(f"{key} {sum(one[key] for one in spent):.1f} s" for key in ("build", "write", *SOLVERS))
        note = f"{then} at {earlier['commit']}, now {reached}{more}; {shares}"
        found.append(row(f"{name}: {what} within {SECONDS:g} s", reached, f">= {then}", note, ""))
    return found


if __name__ == "__main__":
    record(Path(sys.argv[1]), sys.argv[2])
