"""Enumeration: inputs a minute, against a loop of single runs of our own engine, and with against without shared prefixes.

The decider is a built-in one of 6 layers and 6 heads at length 16 (does the input contain 101101?); each contestant decides the
same claim, that every input gets an answer.
"""

from __future__ import annotations

import time
from functools import partial

from benchmarks.timing import contest, row
from glyptic.carve.examples import by_name
from glyptic.exact.running import chunk_size
from glyptic.numbers import Fixed
from glyptic.prove import check
from glyptic.prove.claims import Claim
from glyptic.prove.enumeration.settings import judge, setting_of_visit, walk_of
from glyptic.prove.enumeration.trie import numbered, whole_visit
from glyptic.prove.enumeration.units import Job, Unit, work
from glyptic.prove.theorems import decisiveness

LENGTH = 16


def shared(claim: Claim, prefix: tuple[int, ...]) -> int:
    """All inputs below a prefix, prefixes shared: what `check` does."""
    tally = work(Job(claim), Unit(prefix, LENGTH))
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
            assert not judge(claim, *setting_of_visit(walk, visit))[1].any()
            done += visit.tokens.shape[1]
    return done


def single(claim: Claim, _: tuple[int, ...], runs: int = 150) -> int:
    """Inputs of length 16 run one by one; a sample, since all would take minutes."""
    transformer = claim.subject.transformers[""]  # type: ignore[union-attr]
    for number in range(runs):
        assert transformer.answer(f"{number * 431 % 2**LENGTH:0{LENGTH}b}") in ("YES", "NO")
    return runs


def rows() -> list[dict[str, object]]:
    claim = decisiveness(by_name(f"contains:101101,{LENGTH}", Fixed(8)))
    contestants = {each.__name__: partial(each, claim, (0, 1)) for each in (shared, unshared, single)}
    inputs = {name: run() for name, run in contestants.items()}  # compiles as well
    timings = contest(contestants, rounds=5)
    ours, without, loop = (inputs[name] / timings.seconds(name) for name in contestants)
    start = time.perf_counter()
    verdict = check(claim, workers=2, progress=False)
    wall = time.perf_counter() - start
    assert verdict.inputs == 2 ** (LENGTH + 1) - 2
    note = f"processor time of one core, doubled; the whole check of {verdict.inputs:,} inputs took {wall:.1f} s here"
    return [
        row("enumeration, 6 layers, n = 16, two cores", 120 * ours / 1e6, ">= 3", note, "million inputs a minute"),
        row("enumeration / loop of single runs", ours / loop, ">= 20", f"{loop:,.0f} single runs a second"),
        row("prefixes shared / not shared", ours / without, ">= 3", "each in batches as wide as suits it"),
    ]


if __name__ == "__main__":
    print(*rows(), sep="\n")
