"""Sums whose order matters: every sum of a run done again from right to left, on the values that it met.

Matrix products, the scores of a head, the denominator of its softmax, its mixture of values, and the sum of the heads. With norms
the inner residual is not traced, so what reads it is left out, and so are the norms' own sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from glyptic.exact.forward import visible_pairs
from glyptic.exact.weights import Layer
from glyptic.lint.findings import Finding
from glyptic.lint.sample import Sample
from glyptic.numbers import Exact, decode

_REASON = "sums go from left to right by definition; it matters only to hardware that sums otherwise."

Pair = tuple[np.ndarray, np.ndarray]  # codes of the same sums, from left to right and from right to left


def sum_order(sample: Sample) -> Iterator[Finding]:
    """One finding for each part of the transformer whose sums depend on their order.

    A note: sums go from left to right by definition and in every engine, and look-ups by codes rely on it; it matters to hardware
    that sums otherwise.
    """
    if isinstance(sample.transformer.format, Exact):
        return
    for where, pairs in _sums(sample):
        for forwards, backwards in pairs:
            different = np.argwhere(forwards != backwards)
            if len(different):
                place = tuple(different[0])
                one, other = decode(np.array([forwards[place], backwards[place]]), sample.transformer.format)
                message = f"one sums to {one} from left to right and to {other} from right to left."
                yield Finding("order of a sum", "note", where, message, _REASON)
                break


def _sums(sample: Sample) -> Iterator[tuple[str, Iterator[Pair]]]:
    transformer = sample.transformer
    before = "embedding" if transformer.embedding_norm is None else "embedding_norm"
    for l, layer in enumerate(transformer.layers):
        for h in range(len(layer.heads)):
            yield from _of_head(sample, l, h, layer, before)
        if len(layer.heads) > 1:
            yield f"layer {l}, the sum of heads", _heads(sample, l, len(layer.heads))
        yield from _of_feed_forward(sample, l, layer, before if layer.parallel else f"layer.{l}.after_attention")
        before = f"layer.{l}.after_feed_forward"
    last = "final_norm" if transformer.final_norm is not None else before
    yield "output", _products(sample, transformer.output, last)


def _of_head(sample: Sample, l: int, h: int, layer: Layer, before: str) -> Iterator[tuple[str, Iterator[Pair]]]:
    head, where, stage = layer.heads[h], f"layer {l}, head {h}", f"layer.{l}.head.{h}"
    for part in ("query", "key", "value") if sample.transformer.options.norm == "none" else ():
        yield f"{where}, {part}", _products(sample, getattr(head, part), before)
    yield f"{where}, scores", _scores(sample, stage)
    yield f"{where}, softmax", _weights(sample, stage)
    yield f"{where}, mixture", _mixtures(sample, stage)
    yield f"{where}, output", _products(sample, head.output, f"{stage}.mixed")


def _of_feed_forward(sample: Sample, l: int, layer: Layer, before: str) -> Iterator[tuple[str, Iterator[Pair]]]:
    if layer.feed_forward is None:
        return
    if sample.transformer.options.norm == "none":
        yield f"layer {l}, w1", _products(sample, layer.feed_forward.w1, before)
        if layer.feed_forward.gate is not None:
            yield f"layer {l}, gate", _products(sample, layer.feed_forward.gate, before)
    yield f"layer {l}, w2", _products(sample, layer.feed_forward.w2, f"layer.{l}.hidden")


def _products(sample: Sample, matrix: np.ndarray, stage: str) -> Iterator[Pair]:
    columns, arithmetic = np.unique(sample.columns(stage), axis=1), sample.prepared.arithmetic
    if columns.size:
        one, other = (
            arithmetic.linear(
                arithmetic.weights(np.ascontiguousarray(matrix[:, ::way])),
                arithmetic.values(np.ascontiguousarray(columns[::way]))[:, None, :],
            )
            for way in (1, -1)
        )
        yield arithmetic.codes(one), arithmetic.codes(other)


def _scores(sample: Sample, stage: str) -> Iterator[Pair]:
    arithmetic = sample.prepared.arithmetic
    for query, key in sample.batches(f"{stage}.query", f"{stage}.key"):
        visible = _visible(sample, query)
        one, other = (arithmetic.scores(_read(sample, query[::way]), _read(sample, key[::way]), visible) for way in (1, -1))
        yield arithmetic.codes(one), arithmetic.codes(other)


def _weights(sample: Sample, stage: str) -> Iterator[Pair]:
    """Shares of softmax: only their denominator is a sum."""
    arithmetic, kind = sample.prepared.arithmetic, sample.transformer.options.attention
    if kind not in ("softmax", "max-subtracted"):
        return
    for (scores,) in sample.batches(f"{stage}.scores"):
        visible = _visible(sample, scores)
        one, _ = arithmetic.attention_weights(_read(sample, scores), visible, kind)
        turned, _ = arithmetic.attention_weights(_read(sample, scores[:, ::-1]), visible[:, ::-1].copy(), kind)
        yield arithmetic.codes(one), arithmetic.codes(turned)[:, ::-1]


def _mixtures(sample: Sample, stage: str) -> Iterator[Pair]:
    arithmetic = sample.prepared.arithmetic
    for weights, value in sample.batches(f"{stage}.weights", f"{stage}.value"):
        visible = _visible(sample, weights)
        one, other = (
            arithmetic.mixture(_read(sample, weights[:, ::way]), _read(sample, value[:, ::way]), visible[:, ::way].copy())
            for way in (1, -1)
        )
        yield arithmetic.codes(one), arithmetic.codes(other)


def _heads(sample: Sample, l: int, count: int) -> Iterator[Pair]:
    arithmetic = sample.prepared.arithmetic
    outputs = [sample.columns(f"layer.{l}.head.{h}.output") for h in range(count)]
    if outputs[0].size:
        stacked = np.stack(outputs)  # (heads, d, columns)
        one, other = (arithmetic.total(_read(sample, stacked[::way])) for way in (1, -1))
        yield arithmetic.codes(one), arithmetic.codes(other)


def _visible(sample: Sample, array: np.ndarray) -> np.ndarray:
    return visible_pairs(sample.transformer.options.mask, 0, array.shape[-2])


def _read(sample: Sample, codes: np.ndarray) -> Any:
    return sample.prepared.arithmetic.values(np.ascontiguousarray(codes))
