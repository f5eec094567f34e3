"""The answer: the largest of softmax(θ_OUTPUT h_n), rounded, or of the logits; TIE where two are, UNDEFINED where 0/0 was met.

Runs give the number of an answer (`decide`). Where values are not numbers, but terms, diagrams or boxes, the rule gives each word
with the condition under which it is said (`given`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glyptic.exact.undefined import ZeroOutput

if TYPE_CHECKING:
    from glyptic.exact.forward import Prepared
    from glyptic.exact.stages import Observer
    from glyptic.exact.transformer import Transformer

TIE = "TIE"
TIED, UNDEFINED = -1, -2  # in place of an answer's number
WORDS_BELOW = ("UNDEFINED", TIE)  # of these numbers, −2 and −1
Array = Any
Condition = Any


def named(transformer: Transformer, numbers: Iterable[int]) -> tuple[str, ...]:
    """The words that numbers of answers stand for."""
    words = (*transformer.answers, *WORDS_BELOW)  # the last two are reached from behind
    return tuple(words[number] for number in numbers)


def as_tokens(transformer: Transformer, numbers: np.ndarray) -> np.ndarray:
    """Token numbers of the answers; what has tied or is undefined goes on with the first, and is not read."""
    tokens = np.array([transformer.vocabulary.index(answer) for answer in transformer.answers])
    return tokens[np.maximum(numbers, 0)]


def contest(prepared: Prepared, last: Array, position: int, observer: Observer) -> tuple[Array, Array]:
    """From the last residual (d, 1, batch) the logits, and what the answer is the largest of, (answers, 1, batch) both."""
    arithmetic, options = prepared.arithmetic, prepared.transformer.options
    logits = arithmetic.linear(prepared.output, last)
    if prepared.output_bias is not None:
        logits = arithmetic.add(logits, prepared.output_bias)
    observer.record("logits", logits)
    if options.answer == "logits":
        return logits, logits
    everything = np.ones((1, len(logits)), bool)
    kind = "max-subtracted" if options.attention == "max-subtracted" else "softmax"
    shares, undefined = arithmetic.attention_weights(np.moveaxis(logits, 0, 1), everything, kind)  # type: ignore[arg-type]
    observer.undefined(lambda _: ZeroOutput(position), undefined)
    shares = np.moveaxis(shares, 1, 0)
    observer.record("probabilities", shares)
    return logits, shares


def decide(
    prepared: Prepared, last: Array, position: int, observer: Observer
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """From the last residual (d, 1, batch): codes of logits and probabilities (batch, answers), and answer numbers."""
    arithmetic, options = prepared.arithmetic, prepared.transformer.options
    logits, shares = contest(prepared, last, position, observer)
    probabilities = None if options.answer == "logits" else arithmetic.codes(shares[:, 0]).T
    best = shares[:, 0] == shares[:, 0].max(axis=0)
    tied = (best.sum(axis=0) > 1) & (options.ties == "explicit")
    return arithmetic.codes(logits[:, 0]).T, probabilities, np.where(tied, TIED, best.argmax(axis=0))


def given(transformer: Transformer, shares: Sequence[Array], undefined: Condition, of: Any) -> dict[str, Condition]:
    """Each word with the condition under which it is the answer, from what the answer is the largest of.

    Conditions are made by `of`, as the settings of claims in `glyptic.prove` do: compare, both, either, negation.
    """
    first, defined = transformer.options.ties == "first", of.negation(undefined)
    words: dict[str, Condition] = {}
    for i, name in enumerate(transformer.answers):
        rivals = ((">" if j < i or not first else "≥", other) for j, other in enumerate(shares) if j != i)
        words[name] = of.both([defined, *(of.compare(how, shares[i], other) for how, other in rivals)])
    tied = of.both([defined, of.negation(of.either(list(words.values())))])
    return {**words, TIE: tied, WORDS_BELOW[0]: undefined}
