"""Proving: inputs a minute by enumeration, against single runs and against unshared prefixes; seconds of the other methods.

The decider is a built-in one of 6 layers and 6 heads at length 16 (does the input contain 101101?); each contestant decides the
same claim, that every input gets an answer.
"""

from __future__ import annotations

import os
import time
from functools import partial, reduce

from benchmarks.timing import contest, row
from glyptic.exact import Sizes, random_transformer
from glyptic.exact.running import chunk_size
from glyptic.languages import regular
from glyptic.numbers import Fixed
from glyptic.programs import by_name
from glyptic.prove import B, Proved, Values, after, before, check, variables
from glyptic.prove.claims.claim import Claim, layers
from glyptic.prove.elements.batches import judge, setting_of_visit, walk_of
from glyptic.prove.elements.trie import numbered, whole_visit
from glyptic.prove.methods import bounds, smt, symbolic
from glyptic.prove.methods.enumeration.portions import Enumeration, Portion, work
from glyptic.prove.questions import decisiveness, recognition
from glyptic.theorems.proving import theorem

LENGTH = 16


def shared(claim: Claim, prefix: tuple[int, ...]) -> int:
    """All inputs below a prefix, prefixes shared: what `check` does."""
    tally = work(Enumeration(claim), Portion(prefix, LENGTH))
    assert tally is not None
    assert tally.failures == 0
    return tally.inputs


def unshared(claim: Claim, prefix: tuple[int, ...]) -> int:
    """The same inputs, each run from its first token, in batches as wide as suits the engine."""
    walk, done = walk_of(claim), 0
    width = chunk_size(walk.prepared[""].transformer, LENGTH)
    for length in range(len(prefix), LENGTH + 1):
        count = 2 ** (length - len(prefix))
        for first in range(0, count, width):
            visit = whole_visit(walk, numbered(prefix, length, 2, first, min(count, first + width)))
            assert not judge(claim, setting_of_visit(walk, visit))[1].any()
            done += visit.tokens.shape[1]
    return done


def single(claim: Claim, _: tuple[int, ...], runs: int = 150) -> int:
    """Inputs of length 16 run one by one; a sample, since all would take minutes."""
    transformer = claim.subject.transformers[""]  # type: ignore[union-attr]
    for number in range(runs):
        assert transformer.answer(f"{number * 431 % 2**LENGTH:0{LENGTH}b}") in ("YES", "NO")
    return runs


def by_the_clock(length: int, workers: int, rounds: int = 3) -> tuple[float, int]:
    """Seconds on the wall of a whole check, workers started and all, and the inputs it ran: the best of a few."""
    claim, best, inputs = decisiveness(by_name(f"contains:101101,{length}", Fixed(8))), float("inf"), 0
    for _ in range(rounds):
        start = time.perf_counter()
        verdict = check(claim, method="enumerate", workers=workers, progress=False)
        best, inputs = min(best, time.perf_counter() - start), verdict.inputs
    assert inputs == 2 ** (length + 1) - 2
    return best, inputs


def enumeration_rows() -> list[dict[str, object]]:
    claim = decisiveness(by_name(f"contains:101101,{LENGTH}", Fixed(8)))
    contestants = {each.__name__: partial(each, claim, (0, 1)) for each in (shared, unshared, single)}
    inputs = {name: run() for name, run in contestants.items()}  # compiles as well
    timings = contest(contestants, rounds=5)
    ours, without, loop = (inputs[name] / timings.seconds(name) for name in contestants)
    found = []
    for length in (LENGTH, LENGTH + 3):
        (one, count), (two, _) = by_the_clock(length, workers=1), by_the_clock(length, workers=2)
        note = f"by the clock: {count:,} inputs in {two:.1f} s ({one:.1f} s with one worker); load {os.getloadavg()[0]:.1f}"
        name = f"enumeration, 6 layers, n = {length}, two cores"
        found.append(row(name, 60 * count / two / 1e6, ">= 3", note, "million inputs a minute"))
    return [
        *found,
        two_cores_row(LENGTH + 6),
        row("enumeration / loop of single runs", ours / loop, ">= 20", f"{loop:,.0f} single runs a second"),
        row("prefixes shared / not shared", ours / without, ">= 3", "each in batches as wide as suits it"),
    ]


def two_cores_row(length: int) -> dict[str, object]:
    """What the second core brings, where the work is long enough for workers to be started at all; one round each."""
    (one, count), (two, _) = by_the_clock(length, workers=1, rounds=1), by_the_clock(length, workers=2, rounds=1)
    note = f"by the clock: {count:,} inputs in {one:.1f} s and {two:.1f} s; load {os.getloadavg()[0]:.1f}"
    return row(f"one worker / two workers, n = {length}", one / two, "", note)


def solver_rows() -> list[dict[str, object]]:
    """Seconds on the wall, both solvers, from the claim to the verdict."""
    (x,) = variables("x")

    def seconds(claim: Claim, format: Fixed) -> float:
        start = time.perf_counter()
        assert isinstance(smt.check(claim, format), Proved)
        return time.perf_counter() - start

    zero = [seconds(Claim(Values("x", Fixed(s)), x + B + B - B == 0), Fixed(s)) for s in range(2, 17)]
    amplified = [
        seconds(Claim(Values("x", Fixed(s)), x * B * B == B, requires=x > 0), Fixed(s)) for s in range(2, 17)
    ]
    whole = {
        name: seconds(theorem(name).claim(Fixed(8), "rounded"), Fixed(8))
        for name in ("normalize.plus_minus", "normalize.plus_minus, one layer")
    }
    return [
        row("((x+B)+B)−B = 0, fixed s = 2 … 16, the longest", max(zero), "<= 1", "all values, both solvers", "s"),
        row("x > 0 ⇒ [[x·B]·B] = B, fixed s = 2 … 16, the longest", max(amplified), "<= 1", "all values, both solvers", "s"),
        *(row(f"{name}, fixed:8", took, "<= 60", "all values, both solvers", "s") for name, took in whole.items()),
    ]


def symbolic_rows() -> list[dict[str, object]]:
    """Seconds of the processor for all inputs up to a length, by decision diagrams: always decided, and its language."""
    odd, found = regular("0*1(0*10*1)*0*"), []
    for name, claim in {
        "decisive": decisiveness(by_name("parity:64", Fixed(7))),
        "against its automaton": recognition(by_name("parity:64", Fixed(7)), odd),
    }.items():
        start = time.process_time()
        verdict = symbolic.check(claim)
        assert isinstance(verdict, Proved)
        took, note = time.process_time() - start, f"all 2^65 − 2 inputs, {verdict.solvers[0]}"
        found.append(row(f"parity:64 {name}, n = 1 … 64", took, "<= 60", note, "s"))
    return found


def dense_rows() -> list[dict[str, object]]:
    """Seconds of the processor for dense layers of width 4 in fixed:4, by bounds; and what a solver says to two of them."""
    near = reduce(lambda a, b: a & b, (abs(before(f"x{k}")) <= 1 for k in range(4)))
    found = []
    for depth in (1, 2, 3):
        sizes = Sizes(layers=depth, heads=0, width=4, hidden=5, density=1.0)
        claim = Claim(layers(random_transformer(Fixed(4), 2, sizes)), abs(after("x0")) <= 14, requires=near)
        start = time.process_time()
        verdict = bounds.check(claim)
        assert isinstance(verdict, Proved)
        took, note = time.process_time() - start, f"all values, {verdict.solvers[0]}"
        if depth == 2:
            said = smt.check(claim, Fixed(4), seconds=60, solvers=["bitwuzla"])
            note += f"; bitwuzla: {type(said).__name__} after {said.seconds:.0f} s"
        found.append(row(f"{depth} dense layers, d = 4, fixed:4, bounds", took, "<= 60", note, "s"))
    return found


def rows() -> list[dict[str, object]]:
    return [*enumeration_rows(), *solver_rows(), *symbolic_rows(), *dense_rows()]


if __name__ == "__main__":
    print(*rows(), sep="\n")
