"""The forward pass, written once over any arithmetic: fractions, compiled kernels, solver terms.

Arrays have the shape (coordinates, positions, batch). A pass takes new tokens and the `State` of the positions before them, so
that chain of thought and the sharing of prefixes compute each position once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.errors import ModelError
from glyptic.exact.stages import UNWATCHED, Observer
from glyptic.exact.transformer import FeedForward, Head, Layer, Norm, Transformer
from glyptic.exact.undefined import ZeroAttention, ZeroVariance
from glyptic.numbers import AnyFormat, Arithmetic, Codes, encode
from glyptic.numbers.reference import root_rounded

Array = Any


@dataclass(frozen=True)
class Prepared:
    """A transformer's weights in the representation of one arithmetic."""

    transformer: Transformer
    arithmetic: Arithmetic
    token_embedding: Array
    position_embedding: Array
    layers: tuple[PreparedLayer, ...]
    output: Any
    final_norm: tuple[Array, Array, Array] | None
    first: int = 0  # the number of the first of these layers

    def part(self, first: int = 0, last: int | None = None) -> Prepared:
        """The layers `first` … `last` − 1, with the final norm if the last of them is the last of all."""
        norm = self.final_norm if last is None or last == len(self.layers) else None
        return replace(self, layers=self.layers[first:last], final_norm=norm, first=first)


@dataclass(frozen=True)
class PreparedHead:
    query: Any
    key: Any
    value: Any
    output: Any
    scale: Array | None  # [√d_k], if scores are divided by it


@dataclass(frozen=True)
class PreparedLayer:
    heads: tuple[PreparedHead, ...]
    feed_forward: tuple[Any, Array, Any, Array] | None
    attention_norm: tuple[Array, Array, Array] | None
    feed_forward_norm: tuple[Array, Array, Array] | None


@dataclass(frozen=True)
class State:
    """What later positions need of earlier ones: keys and values of each layer and head, (c, length, batch)."""

    length: int = 0
    keys: tuple[tuple[Array, ...], ...] = ()
    values: tuple[tuple[Array, ...], ...] = ()

    def select(self, items: np.ndarray) -> State:
        """The state of some members of the batch, in any order, with repetitions: how prefixes are shared."""
        keys, values = (
            tuple(tuple(array[:, :, items] for array in layer) for layer in side) for side in (self.keys, self.values)
        )
        return State(self.length, keys, values)


def prepare(transformer: Transformer, arithmetic: Arithmetic) -> Prepared:
    """Make a transformer ready to run in an arithmetic."""

    def values(codes: Codes) -> Array:
        return arithmetic.values(np.asarray(codes))  # plain arrays: what runs need not know its format

    def weights(codes: Codes) -> Any:
        return arithmetic.weights(np.asarray(codes))

    def norm(of: Norm | None) -> tuple[Array, Array, Array] | None:
        if of is None:
            return None
        return values(of.gain)[:, None, None], values(of.bias)[:, None, None], values(of.epsilon[None])[:, None, None]

    def head(of: Head) -> PreparedHead:
        scale = None
        if transformer.options.scale:
            scale = values(encode([score_divisor(len(of.query), transformer.format)], transformer.format))[:, None, None]
        query, key, value, output = (weights(m) for m in (of.query, of.key, of.value, of.output))
        return PreparedHead(query, key, value, output, scale)

    def feed_forward(of: FeedForward | None) -> tuple[Any, Array, Any, Array] | None:
        if of is None:
            return None
        b1, b2 = (values(b)[:, None, None] for b in (of.b1, of.b2))
        return weights(of.w1), b1, weights(of.w2), b2

    def layer(of: Layer) -> PreparedLayer:
        heads = tuple(map(head, of.heads))
        return PreparedLayer(heads, feed_forward(of.feed_forward), norm(of.attention_norm), norm(of.feed_forward_norm))

    return Prepared(
        transformer,
        arithmetic,
        values(transformer.token_embedding),
        values(transformer.position_embedding),
        tuple(map(layer, transformer.layers)),
        weights(transformer.output),
        norm(transformer.final_norm),
    )


def score_divisor(key_width: int, format: AnyFormat) -> Fraction:
    """[√d_k], by which the option `scale` divides scores: d_k is a count, and is not rounded before its root."""
    return root_rounded(Fraction(key_width), format)


def embed(prepared: Prepared, tokens: np.ndarray, first: int = 0, observer: Observer = UNWATCHED) -> Array:
    """[θ_TE(x_i) + θ_PE(i)]: token numbers (n, batch) -> (d, n, batch)."""
    n = tokens.shape[0]
    of_tokens = np.moveaxis(prepared.token_embedding[tokens], -1, 0)
    of_positions = prepared.position_embedding[prepared.transformer.position_rows(first, n)].T[:, :, None]
    residual = prepared.arithmetic.add(of_tokens, of_positions)
    observer.record("embedding", residual)
    return residual


def forward(
    prepared: Prepared,
    residual: Array,
    state: State = State(),  # noqa: B008 (a frozen value)
    observer: Observer = UNWATCHED,
    visible: np.ndarray | None = None,
) -> tuple[Array, State]:
    """All layers over the new positions: the residual (d, n, batch) after them, and the state for later ones.

    Which keys they see (new, earlier + new) is a matter of the mask, unless it is said.
    """
    if visible is None:
        visible = visible_pairs(prepared.transformer.options.mask, state.length, residual.shape[1])
    keys, values = [], []
    for l, layer in enumerate(prepared.layers):
        earlier = (state.keys[l], state.values[l]) if state.length else None
        number = prepared.first + l
        residual, layer_keys, layer_values = run_layer(prepared, number, layer, residual, earlier, visible, observer)
        keys.append(layer_keys)
        values.append(layer_values)
    if prepared.final_norm is not None:
        residual = layer_norm(prepared.arithmetic, residual, prepared.final_norm, None, observer)
        observer.record("final_norm", residual)
    return residual, State(state.length + residual.shape[1], tuple(keys), tuple(values))


def visible_pairs(mask: str, earlier: int, new: int) -> np.ndarray:
    """Which keys (all) each new query sees, as booleans (new, earlier + new)."""
    queries, keys = np.arange(earlier, earlier + new)[:, None], np.arange(earlier + new)[None, :]
    if mask == "full":
        if earlier:
            raise ModelError("a full mask lets earlier positions see later ones, so nothing can be kept between steps.")
        return np.ones((new, new), bool)
    return keys <= queries if mask == "causal" else keys < queries


def run_layer(
    prepared: Prepared,
    number: int,
    layer: PreparedLayer,
    residual: Array,
    earlier: tuple[tuple[Array, ...], tuple[Array, ...]] | None,
    visible: np.ndarray,
    observer: Observer,
) -> tuple[Array, tuple[Array, ...], tuple[Array, ...]]:
    """One layer: attention and feed-forward, each added to the residual, with norms before or after."""
    arithmetic, placement = prepared.arithmetic, prepared.transformer.options.norm
    name = f"layer.{number}"
    keys: list[Array] = []
    values: list[Array] = []

    def attention(h: Array) -> Array:
        total = None
        for i, head in enumerate(layer.heads):
            before = None if earlier is None else (earlier[0][i], earlier[1][i])
            out, k, v = _run_head(prepared, number, i, head, h, before, visible, observer)
            total = out if total is None else arithmetic.add(total, out)
            keys.append(k)
            values.append(v)
        observer.record(f"{name}.attention", total)
        return total

    def feed_forward(h: Array) -> Array:
        assert layer.feed_forward is not None
        w1, b1, w2, b2 = layer.feed_forward
        hidden = arithmetic.relu(arithmetic.add(arithmetic.linear(w1, h), b1))
        observer.record(f"{name}.hidden", hidden)
        out = arithmetic.add(arithmetic.linear(w2, hidden), b2)
        observer.record(f"{name}.feed_forward", out)
        return out

    sublayers = (
        (bool(layer.heads), attention, layer.attention_norm, "after_attention"),
        (layer.feed_forward is not None, feed_forward, layer.feed_forward_norm, "after_feed_forward"),
    )
    for there, sublayer, norm, after in sublayers:
        if there:
            inner = residual
            if placement == "pre" and norm is not None:
                inner = layer_norm(arithmetic, residual, norm, number, observer)
            residual = arithmetic.add(residual, sublayer(inner))
            if placement == "post" and norm is not None:
                residual = layer_norm(arithmetic, residual, norm, number, observer)
        observer.record(f"{name}.{after}", residual)
    return residual, tuple(keys), tuple(values)


def _run_head(
    prepared: Prepared,
    layer: int,
    number: int,
    head: PreparedHead,
    h: Array,
    earlier: tuple[Array, Array] | None,
    visible: np.ndarray,
    observer: Observer,
) -> tuple[Array, Array, Array]:
    arithmetic, options = prepared.arithmetic, prepared.transformer.options
    query, key, value = (arithmetic.linear(w, h) for w in (head.query, head.key, head.value))
    if earlier is not None:
        key, value = (np.concatenate(pair, axis=1) for pair in ((earlier[0], key), (earlier[1], value)))
    scores = arithmetic.scores(query, key, visible)
    if head.scale is not None:
        scores = arithmetic.divide(scores, head.scale)
    weights, undefined = arithmetic.attention_weights(scores, visible, options.attention)
    observer.undefined(lambda position: ZeroAttention(layer, number, position), undefined)
    mixed = arithmetic.mixture(weights, value, visible)
    out = arithmetic.linear(head.output, mixed)
    traced = {
        "query": query,
        "key": key,
        "value": value,
        "scores": scores,
        "weights": weights,
        "mixed": mixed,
        "output": out,
    }
    for part, array in traced.items():
        observer.record(f"layer.{layer}.head.{number}.{part}", array)
    return out, key, value


def layer_norm(
    arithmetic: Arithmetic, x: Array, norm: tuple[Array, Array, Array], layer: int | None, observer: Observer
) -> Array:
    """γ (x − mean) / √(variance + ε) + β over the coordinates, every step rounded; means divide by the integer d."""
    gain, bias, epsilon = norm
    d = x.shape[0]
    centred = arithmetic.subtract(x, arithmetic.divide_by_count(arithmetic.total(x), d))
    squares = arithmetic.multiply(centred, centred)
    variance = arithmetic.divide_by_count(arithmetic.total(squares), d)
    deviation = arithmetic.root(arithmetic.add(variance, epsilon))
    ratio, zero = arithmetic.divide_unless_zero(centred, deviation)
    observer.undefined(lambda position: ZeroVariance(layer, position), zero[0])
    return arithmetic.add(arithmetic.multiply(gain, ratio), bias)
