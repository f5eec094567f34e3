"""Counterexamples made small and readable: nearer to 0 value by value, and what the claim's expressions come to there.

Everything here runs in exact fractions (the reference engine), so that a counterexample never rests on the kernels or a solver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from math import inf
from typing import Any

import numpy as np

from glyptic.exact.report import show_number
from glyptic.numbers import AnyFormat, decode
from glyptic.numbers.hosts import Engine
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Inputs, at_length
from glyptic.prove.claims.evaluation import BatchSetting, Partial, in_scope, value
from glyptic.prove.elements.batches import free_names, judge, setting_of_codes, setting_of_visit, walk_of
from glyptic.prove.elements.trie import visit_in_pieces, whole_visit
from glyptic.prove.verdicts.answers import Counterexample, Refuted

SECONDS = 20.0  # for making a counterexample smaller
_POSITIONS_IN_FRACTIONS, _POSITIONS = 4, 256  # of a long input that are run between two questions whether to go on


def fails(claim: Claim, codes: Sequence[int]) -> bool:
    """Whether a claim on values fails for these codes, decided in exact fractions."""
    return bool(_judged(claim, codes)[1][0])


def satisfies(claim: Claim, codes: Sequence[int]) -> bool:
    """Whether these codes meet the precondition of a claim on values, decided in exact fractions."""
    return bool(_judged(claim, codes)[0][0])


def _judged(claim: Claim, codes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    return judge(claim, setting_of_codes(claim, np.array(codes, np.int64)[:, None], "reference"))


def minimised(claim: Claim, codes: Sequence[int], seconds: float = SECONDS) -> tuple[int, ...]:
    """A counterexample from which no single value can be moved nearer to 0, by any of the moves tried, and still fail.

    When the time is over, the smallest so far.
    """
    best, deadline = tuple(int(code) for code in codes), time.perf_counter() + seconds
    most = getattr(claim.subject.format, "max_code", inf)  # below what −min would be, in two's complement
    improved = True
    while improved:
        improved = False
        for candidate in _nearer(best):
            if max(candidate) > most:
                continue
            if time.perf_counter() > deadline:
                return best
            if fails(claim, candidate):
                best, improved = candidate, True
                break
    return best


def _nearer(codes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Smaller neighbours, the boldest first: a value made 0, its sign dropped, brought down by 2^k, … 4, 2, 1."""
    largest = max(map(abs, codes))
    zeroed, positive = [0] * len(codes), [abs(code) for code in codes]
    moved = [_toward_zero(codes, 1 << k) for k in reversed(range(largest.bit_length()))]
    for wanted in (zeroed, positive, *moved):
        for k, code in enumerate(codes):
            if wanted[k] != code:
                yield (*codes[:k], wanted[k], *codes[k + 1 :])


def _toward_zero(codes: tuple[int, ...], by: int) -> list[int]:
    return [code if abs(code) < by else code - by if code > 0 else code + by for code in codes]


def refutation(claim: Claim, codes: Sequence[int], method: str, minimal: bool, **about: Any) -> Refuted:
    """The verdict for a claim on values, given one counterexample; `minimal` if it is the smallest already."""
    example = example_of_codes(claim, codes if minimal else minimised(claim, codes))
    smallest = "globally" if minimal else "locally"
    about.setdefault("over", str(claim.subject))
    return Refuted(str(claim), method, counterexample=example, smallest=smallest, **about)


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
    return run_again(claim, tokens)[1]


def input_fails(claim: Claim, tokens: Sequence[int]) -> bool:
    """Whether a claim on inputs fails for this one, decided in exact fractions, nothing shared."""
    claim, setting = _in_fractions(claim, tokens)
    return bool(judge(claim, setting)[1][0])


def run_again(
    claim: Claim, tokens: Sequence[int], engine: Engine = "reference", asked: Callable[[], object] | None = None
) -> tuple[bool, Counterexample]:
    """Whether a claim on inputs fails for this one, and it with what the claim's expressions come to: one run from the start.

    In exact fractions, unless another engine is said; `asked` is called between positions, and may raise.
    """
    claim, setting = _in_fractions(claim, tokens, engine, asked)
    subject = claim.subject
    assert isinstance(subject, Inputs)
    observed = observations(claim, setting, subject.format)
    return bool(judge(claim, setting)[1][0]), input_alone(claim, tokens, observed)


def input_alone(claim: Claim, tokens: Sequence[int], observed: dict[str, str] | None = None) -> Counterexample:
    """An input in words, and what was observed, if it was run."""
    assert isinstance(claim.subject, Inputs)
    words = tuple(claim.subject.vocabulary[token] for token in tokens)
    return Counterexample(input=words, observed=observed or {}, spaced=any(len(t) > 1 for t in claim.subject.vocabulary))


def _in_fractions(
    claim: Claim, tokens: Sequence[int], engine: Engine = "reference", asked: Callable[[], object] | None = None
) -> tuple[Claim, BatchSetting]:
    """The claim at the length of an input, and the setting of a run of it."""
    claim = at_length(claim, len(tokens))
    walk, column = walk_of(claim, engine), np.array(tokens)[:, None]
    if asked is None:
        return claim, setting_of_visit(walk, whole_visit(walk, column))
    size = _POSITIONS_IN_FRACTIONS if engine == "reference" else _POSITIONS
    return claim, setting_of_visit(walk, visit_in_pieces(walk, column, size, asked))


def observations(claim: Claim, setting: BatchSetting, format: AnyFormat) -> dict[str, str]:
    """What each side of the claim's comparisons comes to, for the one element of a setting."""
    seen: dict[str, str] = {}
    for node, bound in in_scope(claim.ensures, setting):
        if isinstance(node, e.Let | e.LetValue):
            seen[node.name] = _shown(value(node.value, setting, bound), setting, format)
        elif isinstance(node, e.Comparison):
            for side in (node.left, node.right):
                if not isinstance(side, e.Constant | e.Variable | e.Local):
                    seen[str(side)] = _shown(value(side, setting, bound), setting, format)
        elif isinstance(node, e.SameWord):
            for word in (node.left, node.right):
                if not isinstance(word, e.Text):
                    numbers, names = setting.word(word)
                    seen[str(word)] = names[int(numbers[0]) + 2]
        elif isinstance(node, e.Accepted | e.Holds | e.Defined | e.SameChains):
            seen[str(node)] = str(bool(setting.decide(node)[0])).lower()
    return seen


def _shown(side: Partial, setting: BatchSetting, format: AnyFormat) -> str:
    if side.missing[0]:
        return "undefined"
    number = np.atleast_1d(setting.arithmetic.codes(side.numbers))
    return show_number(number[0] if number.dtype == object else decode(number, format)[0], format)
