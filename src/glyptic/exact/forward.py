"""The forward pass, written once over any arithmetic: fractions, compiled kernels, solver terms.

Arrays have the shape (coordinates, positions, batch). A pass takes new tokens and the `State` of the positions before them, so
that chain of thought and the sharing of prefixes compute each position once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from glyptic.errors import ModelError
from glyptic.exact.kept import State, Together
from glyptic.exact.stages import UNWATCHED, Observer, stages
from glyptic.exact.transformer import Transformer
from glyptic.exact.undefined import ZeroAttention, ZeroVariance
from glyptic.exact.weights import FeedForward, Head, Layer, Norm
from glyptic.numbers import Activation, AnyFormat, Arithmetic, Codes, encode
from glyptic.numbers.arithmetic import taken_at_once, takes_at_once
from glyptic.numbers.reference import root_rounded

Array = Any


@dataclass(frozen=True)
class PreparedNorm:
    """Arrays (d, 1, 1); ε is (1, 1, 1)."""

    gain: Array
    bias: Array
    epsilon: Array
    kind: str


@dataclass(frozen=True)
class Prepared:
    """A transformer's weights in the representation of one arithmetic."""

    transformer: Transformer
    arithmetic: Arithmetic
    token_embedding: Array
    position_embedding: Array
    layers: tuple[PreparedLayer, ...]
    output: Any
    final_norm: PreparedNorm | None
    first: int = 0  # the number of the first of these layers
    embedding_norm: PreparedNorm | None = None
    output_bias: Array | None = None  # (answers, 1, 1)
    stack: Any = None  # all layers, for an arithmetic that takes them in one call

    @cached_property
    def inner_stages(self) -> tuple[str, ...]:
        """What can be looked at between the embedding and the end of the layers."""
        return tuple(stage for stage in stages(self.transformer) if stage.startswith("layer."))

    def part(self, first: int = 0, last: int | None = None) -> Prepared:
        """The layers `first` … `last` − 1, with the final norm if the last of them is the last of all."""
        norm = self.final_norm if last is None or last == len(self.layers) else None
        return replace(self, layers=self.layers[first:last], final_norm=norm, first=first, stack=None)


@dataclass(frozen=True)
class PreparedHead:
    """Matrices; biases (c, 1, 1); tables with a row a position or distance, (rows, c, 1, 1)."""

    query: Any
    key: Any
    value: Any
    output: Any
    scale: Array | None  # [√d_k], if scores are divided by it
    query_bias: Array | None = None
    key_bias: Array | None = None
    value_bias: Array | None = None
    output_bias: Array | None = None
    cosine: Array | None = None
    sine: Array | None = None
    distance_scores: Array | None = None  # (rows, 1, 1)
    distance_keys: Array | None = None
    distance_values: Array | None = None

    @property
    def only_compares(self) -> bool:
        """Whether scores are ⟨q_i, k_j⟩ and nothing else, and mixtures of values alone."""
        return all(of is None for of in (self.scale, self.distance_scores, self.distance_keys, self.distance_values))


@dataclass(frozen=True)
class PreparedProjections:
    """Queries, keys and values of all heads as one matrix, for an arithmetic whose calls cost more than their rows."""

    weights: Any
    bias: Array
    widths: tuple[tuple[int, int, int], ...]  # of each head


@dataclass(frozen=True)
class PreparedFeedForward:
    w1: Any
    b1: Array
    w2: Any
    b2: Array
    gate: Any | None
    gate_bias: Array | None
    activation: Activation


@dataclass(frozen=True)
class PreparedLayer:
    heads: tuple[PreparedHead, ...]
    feed_forward: PreparedFeedForward | None
    attention_norm: PreparedNorm | None
    feed_forward_norm: PreparedNorm | None
    parallel: bool = False
    projections: PreparedProjections | None = None

    @property
    def kept_widths(self) -> tuple[tuple[int, int], ...]:
        """Of each head, coordinates of keys and of values, where projections are one matrix."""
        return () if self.projections is None else tuple((key, value) for _, key, value in self.projections.widths)


@dataclass(frozen=True)
class Seen:
    """Which keys each new position sees, (new, all), and which positions all of them are, (all,), the new ones last."""

    visible: np.ndarray
    positions: np.ndarray

    def distances(self, rows: int) -> np.ndarray:
        """i − j for new queries and all keys, as rows of a table whose last is for all beyond, (new, all)."""
        queries = self.positions[-len(self.visible) :]
        return np.clip(queries[:, None] - self.positions[None, :], 0, rows - 1)


def prepare(transformer: Transformer, arithmetic: Arithmetic) -> Prepared:
    """Make a transformer ready to run in an arithmetic."""

    def values(codes: Codes | None) -> Array:
        """Plain arrays, for what runs need not know its format, with an axis for positions and one for the batch."""
        return None if codes is None else arithmetic.values(np.asarray(codes))[..., None, None]

    def weights(codes: Codes | None) -> Any:
        return None if codes is None else arithmetic.weights(np.asarray(codes))

    def norm(of: Norm | None) -> PreparedNorm | None:
        return None if of is None else PreparedNorm(values(of.gain), values(of.bias), values(of.epsilon[None]), of.kind)

    def head(of: Head) -> PreparedHead:
        matrices = {name: weights(getattr(of, name)) for name in ("query", "key", "value", "output")}
        others = {name: values(array) for name, array in of.arrays() if name not in matrices}
        scale = None
        if transformer.options.scale:
            scale = values(encode([score_divisor(len(of.query), transformer.format)], transformer.format))
        return PreparedHead(**matrices, scale=scale, **others)

    def projections(of: tuple[Head, ...]) -> PreparedProjections:
        sides = [(head.query, head.key, head.value) for head in of]
        biases = [(head.query_bias, head.key_bias, head.value_bias) for head in of]
        rows = [
            np.zeros(len(matrix), np.int64) if bias is None else np.asarray(bias)  # [t + 0] = t
            for pair in zip(sides, biases, strict=True)
            for matrix, bias in zip(*pair, strict=True)
        ]
        matrix = np.concatenate([np.asarray(matrix) for side in sides for matrix in side])
        widths = tuple((len(query), len(key), len(value)) for query, key, value in sides)
        return PreparedProjections(weights(matrix), values(np.concatenate(rows)), widths)

    def feed_forward(of: FeedForward | None) -> PreparedFeedForward | None:
        if of is None:
            return None
        gate = (weights(of.gate), values(of.gate_bias))
        return PreparedFeedForward(weights(of.w1), values(of.b1), weights(of.w2), values(of.b2), *gate, of.activation)

    def layer(of: Layer) -> PreparedLayer:
        heads, norms = tuple(map(head, of.heads)), (norm(of.attention_norm), norm(of.feed_forward_norm))
        together = projections(of.heads) if of.heads and takes_at_once(arithmetic) else None
        return PreparedLayer(heads, feed_forward(of.feed_forward), *norms, of.parallel, together)

    layers = tuple(map(layer, transformer.layers))
    return Prepared(
        transformer,
        arithmetic,
        arithmetic.values(np.asarray(transformer.token_embedding)),
        arithmetic.values(np.asarray(transformer.position_embedding)),
        layers,
        weights(transformer.output),
        norm(transformer.final_norm),
        embedding_norm=norm(transformer.embedding_norm),
        output_bias=values(transformer.output_bias),
        stack=_stack(transformer, arithmetic, layers),
    )


def _stack(transformer: Transformer, arithmetic: Arithmetic, layers: tuple[PreparedLayer, ...]) -> Any:
    """All layers for one call, if they are such as an arithmetic may take so: softmax heads, ReLU feed-forwards, no norms."""
    if not takes_at_once(arithmetic) or transformer.options.attention != "softmax" or not layers:
        return None
    found = []
    for layer in layers:
        units, of = layer.feed_forward, layer.projections
        if layer.parallel or layer.attention_norm is not None or layer.feed_forward_norm is not None:
            return None
        if units is not None and (units.gate is not None or units.activation != "relu"):
            return None
        if not all(head.only_compares and head.cosine is None for head in layer.heads):
            return None
        outputs = [(head.output, head.output_bias) for head in layer.heads]
        feed_forward = [] if units is None else [(units.w1, units.b1), (units.w2, units.b2)]
        found.append(((of.weights, of.bias), of.widths, outputs, feed_forward) if of else (None, (), outputs, feed_forward))
    return arithmetic.stack(found)  # type: ignore[attr-defined]


def score_divisor(key_width: int, format: AnyFormat) -> Fraction:
    """[√d_k], by which the option `scale` divides scores: d_k is a count, and is not rounded before its root."""
    return root_rounded(Fraction(key_width), format)


def embed(
    prepared: Prepared,
    tokens: np.ndarray,
    first: int = 0,
    observer: Observer = UNWATCHED,
    positions: np.ndarray | None = None,
) -> Array:
    """[θ_TE(x_i) + θ_PE(i)], normed if there is a norm for it: token numbers (n, batch) -> (d, n, batch).

    Positions are `first` and those after it, unless they are said.
    """
    if positions is None:
        positions = np.arange(first, first + tokens.shape[0])
    of_positions = prepared.position_embedding[prepared.transformer.rows_of(positions)].T[:, :, None]
    words = len(prepared.token_embedding)
    if tokens.size > len(positions) * words:  # each sum once: (d, n, words)
        sums = prepared.arithmetic.add(prepared.token_embedding.T[:, None, :], of_positions)
        places = tokens + words * np.arange(len(positions))[:, None]
        flat = sums.reshape(len(sums), -1)  # of arrays, columns in the order of memory that kernels want
        residual = np.take(flat, places, axis=1) if isinstance(flat, np.ndarray) else flat[:, places]
    else:
        residual = prepared.arithmetic.add(np.moveaxis(prepared.token_embedding[tokens], -1, 0), of_positions)
    observer.record("embedding", residual)
    if prepared.embedding_norm is not None:
        residual = normalized(prepared.arithmetic, residual, prepared.embedding_norm, "the embedding's norm", observer)
        observer.record("embedding_norm", residual)
    return residual


def forward(
    prepared: Prepared,
    residual: Array,
    state: State | Together = State(),  # noqa: B008 (a frozen value)
    observer: Observer = UNWATCHED,
    visible: np.ndarray | None = None,
    positions: np.ndarray | None = None,
    last: bool = False,
) -> tuple[Array, State | Together]:
    """All layers over the new positions: the residual (d, n, batch) after them, and the state for later ones.

    Which keys they see (new, earlier + new) is a matter of the mask, and which positions all these have (earlier + new,) one of
    their order, unless it is said. Behind the last positions nobody asks for the state, which may then be of its length alone.
    """
    if visible is None:
        visible = visible_pairs(prepared.transformer.options.mask, state.length, residual.shape[1])
    if prepared.stack is None or any(map(observer.looks_at, prepared.inner_stages)):
        seen = Seen(visible, np.arange(visible.shape[1]) if positions is None else positions)
        residual, state = _layer_by_layer(prepared, residual, state, seen, observer)
    else:
        residual, state = _at_once(prepared, residual, state, visible, observer, keep=not last)
    if prepared.final_norm is not None:
        residual = normalized(prepared.arithmetic, residual, prepared.final_norm, "the final norm", observer)
        observer.record("final_norm", residual)
    return residual, state


def _layer_by_layer(
    prepared: Prepared, residual: Array, state: State | Together, seen: Seen, observer: Observer
) -> tuple[Array, State]:
    state = state.apart() if isinstance(state, Together) else state
    if isinstance(residual, np.ndarray):
        residual = np.ascontiguousarray(residual)  # a column may stand for the whole batch
    keys, values = [], []
    for l, layer in enumerate(prepared.layers):
        earlier = (state.keys[l], state.values[l]) if state.length else None
        number = prepared.first + l
        residual, layer_keys, layer_values = run_layer(prepared, number, layer, residual, earlier, seen, observer)
        keys.append(layer_keys)
        values.append(layer_values)
    return residual, State(state.length + residual.shape[1], tuple(keys), tuple(values))


def _at_once(
    prepared: Prepared, residual: Array, state: State | Together, visible: np.ndarray, observer: Observer, keep: bool
) -> tuple[Array, State | Together]:
    """The same in one call, where nobody looks at what is in between."""
    widths = tuple(layer.kept_widths for layer in prepared.layers)
    if isinstance(state, State) and any(state.keys):
        state = Together.of(state, widths)
    earlier = state.kept if isinstance(state, Together) else None
    arithmetic: Any = prepared.arithmetic
    after, kept, zero = arithmetic.through(prepared.stack, residual, earlier, visible, keep)
    heads = ((prepared.first + l, h) for l, layer in enumerate(widths) for h in range(len(layer)))
    for (l, h), where in zip(heads, () if zero is None else zero, strict=False):
        observer.undefined(lambda position, l=l, h=h: ZeroAttention(l, h, position), where)  # type: ignore[misc]
    return after, Together(kept, widths) if keep else State(state.length + residual.shape[1])


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
    seen: Seen,
    observer: Observer,
) -> tuple[Array, tuple[Array, ...], tuple[Array, ...]]:
    """One layer: attention and feed-forward, each added to the residual, with norms before or after."""
    arithmetic, placement = prepared.arithmetic, prepared.transformer.options.norm
    name, entering = f"layer.{number}", residual
    keys: list[Array] = []
    values: list[Array] = []

    def attention(h: Array) -> Array:
        total = None
        for i, (head, projected) in enumerate(zip(layer.heads, projected_heads(arithmetic, layer, h), strict=True)):
            before = None if earlier is None else (earlier[0][i], earlier[1][i])
            out, k, v = _run_head(prepared, number, i, head, projected, before, seen, observer)
            total = out if total is None else arithmetic.add(total, out)
            keys.append(k)
            values.append(v)
        observer.record(f"{name}.attention", total)
        return total

    def feed_forward(h: Array) -> Array:
        assert layer.feed_forward is not None
        hidden = hidden_units(arithmetic, layer.feed_forward, h)
        observer.record(f"{name}.hidden", hidden)
        out = affine(arithmetic, layer.feed_forward.w2, layer.feed_forward.b2, hidden)
        observer.record(f"{name}.feed_forward", out)
        return out

    sublayers = (
        (bool(layer.heads), attention, layer.attention_norm, "after_attention"),
        (layer.feed_forward is not None, feed_forward, layer.feed_forward_norm, "after_feed_forward"),
    )
    for there, sublayer, norm, after in sublayers:
        if there:
            inner = entering if layer.parallel else residual
            if placement == "pre" and norm is not None:
                inner = normalized(arithmetic, inner, norm, number, observer)
            residual = arithmetic.add(residual, sublayer(inner))
            if placement == "post" and norm is not None:
                residual = normalized(arithmetic, residual, norm, number, observer)
        observer.record(f"{name}.{after}", residual)
    return residual, tuple(keys), tuple(values)


def affine(arithmetic: Arithmetic, weights: Any, bias: Array | None, x: Array) -> Array:
    """[W x + b], the sum rounded once; W x where there is no bias."""
    return taken_at_once(arithmetic, weights, bias, x)


def hidden_units(arithmetic: Arithmetic, of: PreparedFeedForward, h: Array) -> Array:
    """[f(W_1 h + b_1)], or, with a gate, [[f(W_g h + b_g)] · [W_1 h + b_1]]."""
    if of.gate is None and of.activation == "relu":
        return taken_at_once(arithmetic, of.w1, of.b1, h, relu=True)
    linear = affine(arithmetic, of.w1, of.b1, h)
    if of.gate is None:
        return arithmetic.activate(of.activation, linear)
    return arithmetic.multiply(arithmetic.activate(of.activation, affine(arithmetic, of.gate, of.gate_bias, h)), linear)


def projected_heads(arithmetic: Arithmetic, layer: PreparedLayer, h: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Queries, keys and values of each head, (c, n, batch) each."""
    of = layer.projections
    if of is None:
        for head in layer.heads:
            query = affine(arithmetic, head.query, head.query_bias, h)
            key = affine(arithmetic, head.key, head.key_bias, h)
            yield query, key, affine(arithmetic, head.value, head.value_bias, h)
        return
    together, first = affine(arithmetic, of.weights, of.bias, h), 0
    for query, key, value in of.widths:
        ends = first + query, first + query + key, first + query + key + value
        yield together[first : ends[0]], together[ends[0] : ends[1]], together[ends[1] : ends[2]]
        first = ends[2]


def _run_head(
    prepared: Prepared,
    layer: int,
    number: int,
    head: PreparedHead,
    projected: tuple[Array, Array, Array],
    earlier: tuple[Array, Array] | None,
    seen: Seen,
    observer: Observer,
) -> tuple[Array, Array, Array]:
    arithmetic, kind, name = prepared.arithmetic, prepared.transformer.options.attention, f"layer.{layer}.head.{number}"
    query, key, value = projected
    if head.cosine is not None:
        query, key = (turned(arithmetic, head, x, seen.positions[-x.shape[1] :]) for x in (query, key))
    if earlier is not None:
        key, value = (np.concatenate(pair, axis=1) for pair in ((earlier[0], key), (earlier[1], value)))
    for part, array in (("query", query), ("key", key), ("value", value)):
        observer.record(f"{name}.{part}", array)
    looked_at = observer.looks_at(f"{name}.scores") or observer.looks_at(f"{name}.weights")
    if looked_at or not (head.only_compares and takes_at_once(arithmetic)):
        scores = head_scores(arithmetic, head, query, key, seen)
        weights, undefined = arithmetic.attention_weights(scores, seen.visible, kind)
        mixed = head_mixture(arithmetic, head, weights, value, seen)
        observer.record(f"{name}.scores", scores)
        observer.record(f"{name}.weights", weights)
    else:
        mixed, undefined = arithmetic.attend(query, key, value, seen.visible, kind)  # type: ignore[attr-defined]
    observer.undefined(lambda position: ZeroAttention(layer, number, position), undefined)
    out = affine(arithmetic, head.output, head.output_bias, mixed)
    observer.record(f"{name}.mixed", mixed)
    observer.record(f"{name}.output", out)
    return out, key, value


def turned(arithmetic: Arithmetic, head: PreparedHead, x: Array, positions: np.ndarray) -> Array:
    """Rotary positions: the first pairs of x (c, n, batch) turned by the angles of its positions (n,).

    ([[x_0·cos] − [x_1·sin]], [[x_0·sin] + [x_1·cos]]) for each pair: products are rounded, however inner products are read.
    """
    assert head.cosine is not None and head.sine is not None
    rows, pairs = head.cosine.shape[:2]
    if positions.max(initial=0) >= rows:
        most = positions.max() + 1
        raise ModelError(f"a head turns by the angles of {rows} positions, and {most} are run; give it angles for all of them.")
    cosine, sine = (table[positions, :, 0].swapaxes(0, 1) for table in (head.cosine, head.sine))  # (pairs, n, 1)
    one, other = x[0 : 2 * pairs : 2], x[1 : 2 * pairs : 2]
    left = arithmetic.subtract(arithmetic.multiply(one, cosine), arithmetic.multiply(other, sine))
    right = arithmetic.add(arithmetic.multiply(one, sine), arithmetic.multiply(other, cosine))
    both = np.stack([left, right], axis=1).reshape(2 * pairs, *x.shape[1:])
    return np.concatenate([both, x[2 * pairs :]], axis=0)


def head_scores(arithmetic: Arithmetic, head: PreparedHead, query: Array, key: Array, seen: Seen) -> Array:
    """⟨q_i, k_j⟩, + ⟨q_i, a_(i−j)⟩, / [√d_k], + b_(i−j), as far as the head has them: (n_q, n_k, batch); unseen, 0."""
    scores = arithmetic.scores(query, key, seen.visible)
    if head.distance_keys is not None:
        distances = seen.distances(len(head.distance_keys))
        used = np.zeros((len(distances), len(head.distance_keys)), bool)
        np.put_along_axis(used, distances, True, axis=1)
        rows = np.repeat(head.distance_keys[:, :, 0].swapaxes(0, 1), query.shape[2], axis=2)  # (c, rows, batch), as keys are
        every = arithmetic.scores(query, np.ascontiguousarray(rows), used)
        of_pairs = np.take_along_axis(every, distances[:, :, None], axis=1)
        scores = arithmetic.add(scores, _where_seen(arithmetic, of_pairs, seen))
    if head.scale is not None:
        scores = arithmetic.divide(scores, head.scale)
    if head.distance_scores is not None:
        added = head.distance_scores[seen.distances(len(head.distance_scores)), 0]
        scores = arithmetic.add(scores, _where_seen(arithmetic, added, seen))
    return scores


def head_mixture(arithmetic: Arithmetic, head: PreparedHead, weights: Array, value: Array, seen: Seen) -> Array:
    """Σ_j s_ij v_j, + Σ_j s_ij a_(i−j) if the head has values by distance: (d_v, n_q, batch)."""
    mixed = arithmetic.mixture(weights, value, seen.visible)
    if head.distance_values is None:
        return mixed
    table, of_queries = head.distance_values[:, :, 0], []
    for i, row in enumerate(seen.distances(len(table))):
        values = np.ascontiguousarray(np.repeat(table[row].swapaxes(0, 1), weights.shape[2], axis=2))  # (d_v, n_k, batch)
        of_queries.append(arithmetic.mixture(np.ascontiguousarray(weights[i : i + 1]), values, seen.visible[i : i + 1]))
    return arithmetic.add(mixed, np.concatenate(of_queries, axis=1))


def _where_seen(arithmetic: Arithmetic, x: Array, seen: Seen) -> Array:
    """What is added to scores, 0 for keys that are not seen."""
    return np.where(seen.visible[:, :, None], x, arithmetic.values(np.zeros(1, np.int64)))


def normalized(arithmetic: Arithmetic, x: Array, norm: PreparedNorm, where: int | str, observer: Observer) -> Array:
    """[[γ · [x' / [√…]]] + β] over the coordinates, every step rounded; means divide by the integer d.

    x' is [x − mean] for LayerNorm and x for RMSNorm; `where` is the number of the layer, or what norm it is.
    """
    d = x.shape[0]
    if norm.kind == "layer":
        x = arithmetic.subtract(x, arithmetic.divide_by_count(arithmetic.total(x), d))
    spread = arithmetic.divide_by_count(arithmetic.total(arithmetic.multiply(x, x)), d)
    if norm.kind == "rms_outside":
        deviation = arithmetic.add(arithmetic.root(spread), norm.epsilon)
    else:
        deviation = arithmetic.root(arithmetic.add(spread, norm.epsilon))
    ratio, zero = arithmetic.divide_unless_zero(x, deviation)
    observer.undefined(lambda position: ZeroVariance(where, position, norm.kind), zero[0])
    return arithmetic.add(arithmetic.multiply(norm.gain, ratio), norm.bias)
