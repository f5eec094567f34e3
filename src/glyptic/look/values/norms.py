"""Normalization layers side by side: a stream of small batches; all else is computed in the page."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from glyptic.arguments import Count, Number, Seed, checked
from glyptic.look.pages import View, pack

MOST_BATCH, MOST_TOKENS, MOST_FEATURES, BATCHES = 4, 4, 6, 40


@checked
def norms_view(
    *,
    batch: Annotated[int, Count(1, MOST_BATCH)] = 3,
    tokens: Annotated[int, Count(1, MOST_TOKENS)] = 3,
    features: Annotated[int, Count(2, MOST_FEATURES)] = 4,
    eps: Annotated[float, Number(least=1e-12, most=1)] = 1e-5,
    momentum: Annotated[float, Number(least=0, most=1)] = 0.1,
    seed: Seed = 0,
) -> View:
    """The page of BatchNorm, LayerNorm and RMSNorm: batches of this size, seen one after another.

    >>> norms_view(batch=2, seed=5).data["batch"]
    2
    """
    data = {
        "batch": batch, "tokens": tokens, "features": features, "eps": eps, "momentum": momentum, "seed": seed,
        "limits": {"batch": MOST_BATCH, "tokens": MOST_TOKENS, "features": MOST_FEATURES},
        "stream": pack(_stream(seed)),
    }  # fmt: skip
    return View("norms", "Normalization layers", data)


def _stream(seed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """[batches, B, T, D], to one decimal: features of different mean and size, tokens of different size."""
    random = np.random.default_rng(seed)
    middle, size = random.uniform(-3, 5, MOST_FEATURES), random.uniform(0.6, 3, MOST_FEATURES)
    louder = random.uniform(0.6, 1.6, (BATCHES, MOST_BATCH, MOST_TOKENS, 1))
    values = louder * (middle + size * random.normal(0, 1, (BATCHES, MOST_BATCH, MOST_TOKENS, MOST_FEATURES)))
    rounded: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = np.round(values, 1) + 0.0
    return rounded
