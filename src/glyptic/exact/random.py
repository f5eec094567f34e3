"""Random transformers by seed: for tests, benchmarks, and for the question whether a claim holds of transformers at large."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated

import numpy as np

from glyptic.arguments import Count, Number, Seed, check_fields, checked
from glyptic.exact.options import Options
from glyptic.exact.transformer import Transformer
from glyptic.exact.weights import FeedForward, Head, Layer, Norm, Normalization
from glyptic.numbers import Activation, AnyFormat, Codes, Exact, as_format, check_width, encode

_Size = Annotated[int, Count(0, 1 << 16)]
_Some = Annotated[int, Count(1, 1 << 16)]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a random transformer; `density` is the share of weights that are not 0."""

    layers: _Size = 2
    heads: _Size = 2
    width: _Some = 6
    key_width: _Size = 3
    value_width: _Size = 3
    hidden: _Size = 8
    max_length: _Some = 8
    vocabulary: str | tuple[str, ...] = "01"
    answers: tuple[str, ...] = ("NO", "YES")
    density: Annotated[float, Number(least=0)] = 0.7
    activation: Activation = "relu"
    gated: bool = False
    biases: bool = False
    """Of queries, keys, values, heads and answers."""
    turned: _Size = 0
    """Pairs of a head's coordinates that rotary positions turn."""
    distances: _Size = 0
    """Rows of the tables by distance, of scores, keys and values."""
    norm_kind: Normalization = "layer"
    embedding_norm: bool = False
    parallel: bool = False

    def __post_init__(self) -> None:
        check_fields(self)


@checked
def random_transformer(
    format: str | AnyFormat, seed: Seed = 0, sizes: Sizes | None = None, options: Options | None = None
) -> Transformer:
    """A transformer whose weights are small random values of the format, with now and then a B.

    >>> random_transformer("fixed:4", seed=3, options=Options(attention="average")).answer("0110") in ("YES", "NO", "TIE")
    True
    """
    format, sizes, options = as_format(format), sizes or Sizes(), options or Options()
    check_width(format)
    rng = np.random.default_rng(seed)
    d = sizes.width

    def weights(*shape: int) -> Codes:
        return _weights(rng, format, sizes.density, shape)

    def norm() -> Norm | None:
        if options.norm == "none":
            return None
        return one_norm()

    def one_norm() -> Norm:
        ones, epsilon = (encode(x, format, nearest=True) for x in (np.ones(d), Fraction(1, 4)))
        return Norm(ones, weights(d), epsilon, sizes.norm_kind)

    def head() -> Head:
        k, v, rows = sizes.key_width, sizes.value_width, sizes.distances
        matrices = (weights(k, d), weights(k, d), weights(v, d), weights(d, v))
        more: dict[str, Codes] = {}
        if sizes.biases:
            more = {"query_bias": weights(k), "key_bias": weights(k), "value_bias": weights(v), "output_bias": weights(d)}
        if sizes.turned:
            angles = rng.uniform(0, 2 * np.pi, (sizes.max_length, sizes.turned))
            more |= {name: encode(of(angles), format, nearest=True) for name, of in (("cosine", np.cos), ("sine", np.sin))}
        if rows:
            more |= {"distance_scores": weights(rows), "distance_keys": weights(rows, k), "distance_values": weights(rows, v)}
        return Head(*matrices, **more)

    def feed_forward() -> FeedForward | None:
        m = sizes.hidden
        if not m:
            return None
        plain = FeedForward(weights(m, d), weights(m), weights(d, m), weights(d), activation=sizes.activation)
        return replace(plain, gate=weights(m, d), gate_bias=weights(m)) if sizes.gated else plain

    layers = []
    for _ in range(sizes.layers):
        heads, dense = tuple(head() for _ in range(sizes.heads)), feed_forward()
        norms = (norm() if heads else None, norm() if dense is not None else None)
        layers.append(Layer(heads, dense, *norms, sizes.parallel))
    return Transformer(
        format,
        tuple(sizes.vocabulary),
        tuple(f"x{i}" for i in range(d)),
        weights(len(sizes.vocabulary), d),
        weights(sizes.max_length, d),
        tuple(layers),
        weights(len(sizes.answers), d),
        sizes.answers,
        options,
        norm() if options.norm == "pre" else None,
        f"random-{seed}",
        embedding_norm=one_norm() if sizes.embedding_norm else None,
        output_bias=weights(len(sizes.answers)) if sizes.biases else None,
    )


def _weights(rng: np.random.Generator, format: AnyFormat, density: float, shape: tuple[int, ...]) -> Codes:
    if isinstance(format, Exact):
        codes = rng.integers(-3 * format.denominator, 3 * format.denominator + 1, shape)
    else:
        # Sixteenths up to 1, so that sums cancel and round; three weights in a thousand are B.
        codes = encode(rng.integers(-16, 17, shape) / 16, format, nearest=True)
        codes = np.where(rng.random(shape) < 0.003, rng.choice([format.min_code, format.max_code], shape), codes)
    return np.where(rng.random(shape) < density, codes, 0).astype(np.int64)
