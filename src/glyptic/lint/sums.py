"""Sums whose order matters: every sum of a run done again from right to left, on the values that it met.

Matrix products, the scores of a head, the denominator of its softmax, its mixture of values, and the sum of the heads. With norms
the inner residual is not traced, so what reads it is left out, and so are the norms' own sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from glyptic.exact.forward import visible_pairs
from glyptic.exact.transformer import Layer
from glyptic.lint.findings import Finding
from glyptic.lint.sample import Seen
from glyptic.numbers import Exact, decode

_REASON = "sums go from left to right by definition; it matters only to hardware that sums otherwise."

Pair = tuple[np.ndarray, np.ndarray]  # codes of the same sums, from left to right and from right to left


def sum_order(seen: Seen) -> Iterator[Finding]:
    """One finding for each part of the transformer whose sums depend on their order.

    A note: sums go from left to right by definition and in every engine, and look-ups by codes rely on it; it matters to hardware
    that sums otherwise.
    """
    if isinstance(seen.transformer.format, Exact):
        return
    for where, pairs in _sums(seen):
        for forwards, backwards in pairs:
            different = np.argwhere(forwards != backwards)
            if len(different):
                place = tuple(different[0])
                one, other = decode(np.array([forwards[place], backwards[place]]), seen.transformer.format)
                message = f"one sums to {one} from left to right and to {other} from right to left."
                yield Finding("order of a sum", "note", where, message, _REASON)
                break


def _sums(seen: Seen) -> Iterator[tuple[str, Iterator[Pair]]]:
    transformer, before = seen.transformer, "embedding"
    for l, layer in enumerate(transformer.layers):
        for h in range(len(layer.heads)):
            yield from _of_head(seen, l, h, layer, before)
        if len(layer.heads) > 1:
            yield f"layer {l}, the sum of heads", _heads(seen, l, len(layer.heads))
        yield from _of_feed_forward(seen, l, layer)
        before = f"layer.{l}.after_feed_forward"
    last = "final_norm" if transformer.final_norm is not None else before
    yield "output", _products(seen, transformer.output, last)


def _of_head(seen: Seen, l: int, h: int, layer: Layer, before: str) -> Iterator[tuple[str, Iterator[Pair]]]:
    head, where, stage = layer.heads[h], f"layer {l}, head {h}", f"layer.{l}.head.{h}"
    for part in ("query", "key", "value") if seen.transformer.options.norm == "none" else ():
        yield f"{where}, {part}", _products(seen, getattr(head, part), before)
    yield f"{where}, scores", _scores(seen, stage)
    yield f"{where}, softmax", _weights(seen, stage)
    yield f"{where}, mixture", _mixtures(seen, stage)
    yield f"{where}, output", _products(seen, head.output, f"{stage}.mixed")


def _of_feed_forward(seen: Seen, l: int, layer: Layer) -> Iterator[tuple[str, Iterator[Pair]]]:
    if layer.feed_forward is None:
        return
    if seen.transformer.options.norm == "none":
        yield f"layer {l}, w1", _products(seen, layer.feed_forward.w1, f"layer.{l}.after_attention")
    yield f"layer {l}, w2", _products(seen, layer.feed_forward.w2, f"layer.{l}.hidden")


def _products(seen: Seen, matrix: np.ndarray, stage: str) -> Iterator[Pair]:
    columns, arithmetic = np.unique(seen.columns(stage), axis=1), seen.prepared.arithmetic
    if columns.size:
        one, other = (
            arithmetic.linear(
                arithmetic.weights(np.ascontiguousarray(matrix[:, ::way])),
                arithmetic.values(np.ascontiguousarray(columns[::way]))[:, None, :],
            )
            for way in (1, -1)
        )
        yield arithmetic.codes(one), arithmetic.codes(other)


def _scores(seen: Seen, stage: str) -> Iterator[Pair]:
    arithmetic = seen.prepared.arithmetic
    for query, key in seen.batches(f"{stage}.query", f"{stage}.key"):
        visible = _visible(seen, query)
        one, other = (arithmetic.scores(_read(seen, query[::way]), _read(seen, key[::way]), visible) for way in (1, -1))
        yield arithmetic.codes(one), arithmetic.codes(other)


def _weights(seen: Seen, stage: str) -> Iterator[Pair]:
    """Shares of softmax: only their denominator is a sum."""
    arithmetic, kind = seen.prepared.arithmetic, seen.transformer.options.attention
    if kind not in ("softmax", "max-subtracted"):
        return
    for (scores,) in seen.batches(f"{stage}.scores"):
        visible = _visible(seen, scores)
        one, _ = arithmetic.attention_weights(_read(seen, scores), visible, kind)
        turned, _ = arithmetic.attention_weights(_read(seen, scores[:, ::-1]), visible[:, ::-1].copy(), kind)
        yield arithmetic.codes(one), arithmetic.codes(turned)[:, ::-1]


def _mixtures(seen: Seen, stage: str) -> Iterator[Pair]:
    arithmetic = seen.prepared.arithmetic
    for weights, value in seen.batches(f"{stage}.weights", f"{stage}.value"):
        visible = _visible(seen, weights)
        one, other = (
            arithmetic.mixture(_read(seen, weights[:, ::way]), _read(seen, value[:, ::way]), visible[:, ::way].copy())
            for way in (1, -1)
        )
        yield arithmetic.codes(one), arithmetic.codes(other)


def _heads(seen: Seen, l: int, count: int) -> Iterator[Pair]:
    arithmetic = seen.prepared.arithmetic
    outputs = [seen.columns(f"layer.{l}.head.{h}.output") for h in range(count)]
    if outputs[0].size:
        stacked = np.stack(outputs)  # (heads, d, columns)
        one, other = (arithmetic.total(_read(seen, stacked[::way])) for way in (1, -1))
        yield arithmetic.codes(one), arithmetic.codes(other)


def _visible(seen: Seen, array: np.ndarray) -> np.ndarray:
    return visible_pairs(seen.transformer.options.mask, 0, array.shape[-2])


def _read(seen: Seen, codes: np.ndarray) -> Any:
    return seen.prepared.arithmetic.values(np.ascontiguousarray(codes))
