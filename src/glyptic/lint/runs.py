"""What is seen on runs: 0/0, and coordinates that saturate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from glyptic.exact import Transformer
from glyptic.exact.undefined import Undefined, ZeroAttention, ZeroVariance
from glyptic.lint.findings import Finding
from glyptic.lint.sample import Sample
from glyptic.numbers import Exact
from glyptic.prove.questions import never_zero_attention
from glyptic.prove.verdicts.answers import Refuted

_SEARCHED = 1 << 12  # inputs up to whose number all are searched for 0/0 in attention


def masked_keys(sample: Sample) -> Iterator[Finding]:
    """Queries all of whose visible keys are masked, and other 0/0: one finding for each place, with an input that meets it.

    An error: the input that is shown has no answer.
    """
    told = set()
    met = [(error, sample.texts[place]) for place, error in sorted(sample.runs.failures.items())]
    for error, text in [*met, *_searched(sample.transformer)]:
        key = type(error), error.layer, error.head
        if key not in told:
            told.add(key)
            rule = "masked keys" if isinstance(error, ZeroAttention) else "0/0"
            yield Finding(rule, "error", _place(error), f"the input {' '.join(text)!r} meets 0/0 there.")


def _place(error: Undefined) -> str:
    if isinstance(error, ZeroVariance):
        where = "the final norm" if error.layer is None else f"layer {error.layer}, a norm"
        return f"{where}, position {error.position}"
    return "output" if error.layer is None else f"layer {error.layer}, head {error.head}, position {error.position}"


def _searched(transformer: Transformer) -> Iterator[tuple[Undefined, tuple[str, ...]]]:
    """The smallest input with 0/0 in attention, searched exhaustively as far as that is short."""
    base, length = len(transformer.vocabulary), 0
    while length < transformer.max_length and sum(base**n for n in range(1, length + 2)) <= _SEARCHED:
        length += 1
    exact = isinstance(transformer.format, Exact)  # runs in fractions, which are slow, and exp does not vanish
    if length == 0 or exact or not any(layer.heads for layer in transformer.layers):
        return
    verdict = never_zero_attention(transformer, length, backend="sequential", progress=False)
    found = verdict.counterexample if isinstance(verdict, Refuted) else None
    if found is not None and found.input is not None:
        text = found.input
        for error in transformer.run_batch([text]).failures.values():
            yield error, text


def saturation(sample: Sample) -> Iterator[Finding]:
    """Coordinates that reach ±B in a residual after some layer; what the embedding sets to ±B was written down so.

    A note: saturating is how constructions make ∞, clear coordinates and count what need only be told from 0. Whether a
    coordinate stays below B is a claim, to be proved.
    """
    format = sample.transformer.format
    if isinstance(format, Exact):
        return
    reason = "∞ is made by saturating, and a count of which only 0 matters may saturate; prove that it stays below B if it must."
    told = set()
    for stage in sample.runs.trace:
        if ".after_" in stage or stage == "final_norm":
            codes = sample.columns(stage)
            for k in np.flatnonzero((codes >= format.max_code).any(axis=1) | (codes <= -format.max_code).any(axis=1)):
                if k not in told:
                    told.add(k)
                    where = f"coordinate {sample.transformer.coordinates[k]}"
                    yield Finding("saturation", "note", where, f"it reaches ±B, first {stage}.", reason)
