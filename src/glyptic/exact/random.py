"""Random transformers by seed: for tests, benchmarks, and for the question whether a claim holds of transformers at large."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from glyptic.exact.options import Options
from glyptic.exact.transformer import FeedForward, Head, Layer, Norm, Transformer
from glyptic.numbers import AnyFormat, Codes, Exact, encode


@dataclass(frozen=True)
class Sizes:
    """The sizes of a random transformer; `density` is the share of weights that are not 0."""

    layers: int = 2
    heads: int = 2
    width: int = 6
    key_width: int = 3
    value_width: int = 3
    hidden: int = 8
    max_length: int = 8
    vocabulary: str = "01"
    answers: tuple[str, ...] = ("NO", "YES")
    density: float = 0.7


def random_transformer(
    format: AnyFormat, seed: int = 0, sizes: Sizes | None = None, options: Options | None = None
) -> Transformer:
    """A transformer whose weights are small random values of the format, with now and then a B.

    >>> from glyptic.numbers import Fixed
    >>> random_transformer(Fixed(4), seed=3, options=Options(attention="average")).answer("0110") in ("YES", "NO", "TIE")
    True
    """
    sizes, options = sizes or Sizes(), options or Options()
    rng = np.random.default_rng(seed)
    d = sizes.width

    def weights(*shape: int) -> Codes:
        return _weights(rng, format, sizes.density, shape)

    def norm() -> Norm | None:
        if options.norm == "none":
            return None
        return Norm(encode(np.ones(d), format, nearest=True), weights(d), encode(Fraction(1, 4), format, nearest=True))

    layers = []
    for _ in range(sizes.layers):
        k, v, m = sizes.key_width, sizes.value_width, sizes.hidden
        heads = tuple(Head(weights(k, d), weights(k, d), weights(v, d), weights(d, v)) for _ in range(sizes.heads))
        feed_forward = FeedForward(weights(m, d), weights(m), weights(d, m), weights(d)) if m else None
        layers.append(Layer(heads, feed_forward, norm() if heads else None, norm() if m else None))
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
    )


def _weights(rng: np.random.Generator, format: AnyFormat, density: float, shape: tuple[int, ...]) -> Codes:
    if isinstance(format, Exact):
        codes = rng.integers(-3 * format.denominator, 3 * format.denominator + 1, shape)
    else:
        # Sixteenths up to 1, so that sums cancel and round; three weights in a thousand are B.
        codes = encode(rng.integers(-16, 17, shape) / 16, format, nearest=True)
        codes = np.where(rng.random(shape) < 0.003, rng.choice([format.min_code, format.max_code], shape), codes)
    return np.where(rng.random(shape) < density, codes, 0).astype(np.int64)
