"""Counterexamples made small and readable: nearer to 0 value by value, and what the claim's expressions come to there.

Everything here runs in exact fractions (the reference engine), so that a counterexample never rests on the kernels or a solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from glyptic.exact.report import show_number
from glyptic.numbers import AnyFormat, decode
from glyptic.prove import expressions as e
from glyptic.prove.answers import Counterexample, Refuted
from glyptic.prove.claims import Claim, Inputs
from glyptic.prove.enumeration.settings import free_names, judge, setting_of_codes, setting_of_visit, walk_of
from glyptic.prove.enumeration.trie import whole_visit
from glyptic.prove.evaluation import Batch, Partial, value


def fails(claim: Claim, codes: Sequence[int]) -> bool:
    """Whether a claim on values fails for these codes, decided in exact fractions."""
    column = np.array(codes, np.int64)[:, None]
    return bool(judge(claim, setting_of_codes(claim, column, "reference"))[1][0])


def minimised(claim: Claim, codes: Sequence[int]) -> tuple[int, ...]:
    """A counterexample from which no single value can be moved nearer to 0, by any of the moves tried, and still fail."""
    best = tuple(int(code) for code in codes)
    improved = True
    while improved:
        improved = False
        for candidate in _nearer(best):
            if fails(claim, candidate):
                best, improved = candidate, True
                break
    return best


def _nearer(codes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Smaller neighbours, the boldest first: a value made 0, its sign dropped, halved, brought down by one."""
    for bold in (lambda c: 0, lambda c: abs(c), lambda c: int(c / 2), lambda c: c - (c > 0) + (c < 0)):
        for k, code in enumerate(codes):
            changed = bold(code)
            if changed != code:
                yield (*codes[:k], changed, *codes[k + 1 :])


def refutation(
    claim: Claim,
    codes: Sequence[int],
    *,
    method: str = "smt",
    solvers: tuple[str, ...] = (),
    seconds: float = 0.0,
    minimal: bool = False,
    over: str = "",
    **counts: Any,
) -> Refuted:
    """The verdict for a claim on values, given one counterexample; `minimal` if it is the smallest already."""
    found = tuple(codes) if minimal else minimised(claim, codes)
    example = example_of_codes(claim, found)
    smallest = "globally" if minimal else "locally"
    return Refuted(
        str(claim), method, over or str(claim.subject), example, smallest, solvers=solvers, seconds=seconds, **counts
    )


def example_of_codes(claim: Claim, codes: Sequence[int]) -> Counterexample:
    """Values by name, and what the claim's expressions come to."""
    column = np.array(codes, np.int64)[:, None]
    format = claim.subject.format
    assert format is not None
    setting = setting_of_codes(claim, column, "reference")
    numbers = [show_number(number, format) for number in decode(column[:, 0], format)]
    observed = observations(claim, setting, format)
    return Counterexample(values=dict(zip(free_names(claim), numbers, strict=True)), observed=observed)


def example_of_input(claim: Claim, tokens: Sequence[int]) -> Counterexample:
    """An input, run again from the start in exact fractions."""
    assert isinstance(claim.subject, Inputs)
    walk = walk_of(claim, "reference")
    setting = setting_of_visit(walk, whole_visit(walk, np.array(tokens)[:, None]))
    words = tuple(claim.subject.vocabulary[token] for token in tokens)
    return Counterexample(input=words, observed=observations(claim, setting, claim.subject.format))


def input_fails(claim: Claim, tokens: Sequence[int]) -> bool:
    """Whether a claim on inputs fails for this one, decided in exact fractions, nothing shared."""
    walk = walk_of(claim, "reference")
    setting = setting_of_visit(walk, whole_visit(walk, np.array(tokens)[:, None]))
    return bool(judge(claim, setting)[1][0])


def observations(claim: Claim, setting: Batch, format: AnyFormat) -> dict[str, str]:
    """What each side of the claim's comparisons comes to, for the one element of a setting."""
    seen: dict[str, str] = {}
    for node in claim.ensures.parts():
        if isinstance(node, e.Comparison):
            for side in (node.left, node.right):
                if not isinstance(side, e.Constant | e.Variable):
                    seen[str(side)] = _shown(value(side, setting), setting, format)
        elif isinstance(node, e.SameWord):
            for word in (node.left, node.right):
                if not isinstance(word, e.Text):
                    numbers, names = setting.word(word)
                    seen[str(word)] = names[int(numbers[0]) + 2]
        elif isinstance(node, e.Accepted | e.Holds | e.Defined | e.SameChains):
            seen[str(node)] = str(bool(setting.decide(node)[0])).lower()
    return seen


def _shown(side: Partial, setting: Batch, format: AnyFormat) -> str:
    if side.missing[0]:
        return "undefined"
    number = np.atleast_1d(setting.arithmetic.codes(side.numbers))
    return show_number(number[0] if number.dtype == object else decode(number, format)[0], format)
