"""Error against the number of in-context examples, with a bootstrap band over prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glyptic.icl.figures import COLOURS
from glyptic.icl.problem import ProblemError
from glyptic.icl.prompts import Array, Prompts

Error = Callable[[Array, Array], Array]  # (answers, targets) -> errors, entry by entry


def squared_error(answer: Array, target: Array) -> Array:
    return (answer - target) ** 2


def wrong_sign(answer: Array, target: Array) -> Array:
    """1 where the sign is wrong, ½ where the answer is 0; the mean is the error rate of a classifier."""
    return np.where(np.isnan(answer), np.nan, 0.5 * (1.0 - np.sign(answer) * np.sign(target)))


@dataclass(frozen=True)
class Curve:
    """Mean error after k examples, and the band that holds it with the given confidence."""

    name: str
    counts: tuple[int, ...]
    mean: Array
    low: Array
    high: Array
    prompts: int

    def rows(self) -> list[dict[str, Any]]:
        """The curve as rows of a tidy table."""
        columns = zip(self.counts, self.mean.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [
            {"learner": self.name, "examples": k, "error": mean, "low": low, "high": high, "prompts": self.prompts}
            for k, mean, low, high in columns
            if np.isfinite(mean)
        ]


def curve(
    name: str,
    answer: Array,
    prompts: Prompts,
    counts: Sequence[int],
    error: Error = squared_error,
    confidence: float = 0.9,
    resamples: int = 2000,
    seed: int = 0,
) -> Curve:
    """The curve of the answers (B, len(counts)) of one learner; the bootstrap resamples whole prompts.

    >>> from glyptic.icl.prompts import sample
    >>> from glyptic.icl.tasks import Linear
    >>> prompts = sample(Linear(d=2), np.random.default_rng(0), prompts=500, examples=3)
    >>> silent = curve("always 0", np.zeros((500, 2)), prompts, counts=[0, 3])
    >>> bool(np.all((silent.low < 2) & (2 < silent.high)))             # E⟨w, x⟩² = d
    True
    """
    errors = error(answer, prompts.target[:, list(counts)])
    mean, low, high = bootstrap(errors, confidence, resamples, seed)
    return Curve(name, tuple(counts), mean, low, high, len(errors))


def bootstrap(errors: Array, confidence: float, resamples: int, seed: int) -> tuple[Array, Array, Array]:
    """Mean of each column of (B, K), and the percentile interval of the mean over resampled rows."""
    if not 0.0 < confidence < 1.0:
        raise ProblemError(f"a confidence of {confidence} is not between 0 and 1: use 0.9, for example.")
    count = len(errors)
    weights = np.random.default_rng(seed).multinomial(count, np.full(count, 1.0 / count), size=resamples) / count
    means = weights @ errors  # (resamples, K); a NaN column stays NaN
    low, high = np.quantile(means, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0], axis=0)
    return errors.mean(axis=0), low, high


def draw(axes: Any, curves: Sequence[Curve], scale: float = 1.0, emphasis: Sequence[str] = ()) -> None:
    """Lines with bands; those in `emphasis` thick. `scale` divides the errors (Garg et al. divide by d)."""
    for index, one in enumerate(curves):
        colour = COLOURS["SERIES"][index % len(COLOURS["SERIES"])]
        seen = np.isfinite(one.mean)
        counts = np.array(one.counts)[seen]
        width = 2.6 if one.name in emphasis else 1.3
        style = {"color": colour, "linewidth": width, "marker": "o", "markersize": width + 1}
        axes.plot(counts, one.mean[seen] / scale, label=one.name, **style)
        axes.fill_between(counts, one.low[seen] / scale, one.high[seen] / scale, color=colour, alpha=0.15, linewidth=0)
