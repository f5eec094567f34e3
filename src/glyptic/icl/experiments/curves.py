"""The error after k in-context examples, with a bootstrap band over prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from glyptic import figures
from glyptic.icl.experiments.prompts import Array, Prompts
from glyptic.icl.theory.problem import ProblemError
from glyptic.showing import Showing

Error = Callable[[Array, Array], Array]  # (answers, targets) -> errors, entry by entry


def squared_error(answer: Array, target: Array) -> Array:
    return (answer - target) ** 2


def wrong_sign(answer: Array, target: Array) -> Array:
    """1 where the sign is wrong, ½ where the answer is 0; the mean is the error rate of a classifier."""
    return np.where(np.isnan(answer), np.nan, 0.5 * (1.0 - np.sign(answer) * np.sign(target)))


@dataclass(frozen=True)
class Curve(Showing):
    """Mean error after k examples, and the band that holds it with the given confidence."""

    name: str
    counts: tuple[int, ...]
    mean: Array
    low: Array
    high: Array
    prompts: int
    quantity: str = "risk"
    """What the mean is of: "risk", the squared error, or "wrong signs", the share of them."""

    def rows(self) -> list[dict[str, Any]]:
        """The curve as rows of a tidy table."""
        columns = zip(self.counts, self.mean.tolist(), self.low.tolist(), self.high.tolist(), strict=True)
        return [
            {"learner": self.name, "k": k, "quantity": self.quantity, "mean": mean, "low": low, "high": high}
            | {"prompts": self.prompts}
            for k, mean, low, high in columns
            if np.isfinite(mean)
        ]


def curve(
    name: str,
    answer: Array,
    prompts: Prompts,
    counts: Sequence[int],
    mistake: Error = squared_error,
    confidence: float = 0.9,
    resamples: int = 2000,
    seed: int = 0,
) -> Curve:
    """The curve of the answers (B, len(counts)) of one learner; the bootstrap resamples whole prompts.

    >>> from glyptic.icl.experiments.prompts import sample
    >>> from glyptic.icl.experiments.tasks import LinearTask
    >>> prompts = sample(LinearTask(d=2), np.random.default_rng(0), prompts=500, N=3)
    >>> silent = curve("always 0", np.zeros((500, 2)), prompts, counts=[0, 3])
    >>> bool(np.all((silent.low < 2) & (2 < silent.high)))             # E⟨w, x⟩² = d
    True
    """
    errors = mistake(answer, prompts.target[:, list(counts)])
    mean, low, high = bootstrap(errors, confidence, resamples, seed)
    return Curve(name, tuple(counts), mean, low, high, len(errors), "wrong signs" if mistake is wrong_sign else "risk")


def bootstrap(errors: Array, confidence: float, resamples: int, seed: int) -> tuple[Array, Array, Array]:
    """Mean of each column of (B, K), and the percentile interval of the mean over resampled rows."""
    if not 0.0 < confidence < 1.0:
        raise ProblemError(f"a confidence of {confidence} is not between 0 and 1: use 0.9, for example.")
    count = len(errors)
    weights = np.random.default_rng(seed).multinomial(count, np.full(count, 1.0 / count), size=resamples) / count
    means = weights @ errors  # (resamples, K); a NaN column stays NaN
    low, high = np.quantile(means, [(1.0 - confidence) / 2.0, (1.0 + confidence) / 2.0], axis=0)
    return errors.mean(axis=0), low, high


def from_rows(rows: Sequence[dict[str, Any]]) -> list[Curve]:
    """Curves from the rows of a table, in the order of their first appearance."""
    found = []
    for name in dict.fromkeys(row["learner"] for row in rows):
        mine = [row for row in rows if row["learner"] == name]
        mean, low, high = (np.array([row[key] for row in mine], float) for key in ("mean", "low", "high"))
        counts = tuple(row["k"] for row in mine)
        found.append(Curve(name, counts, mean, low, high, mine[0]["prompts"], mine[0]["quantity"]))
    return found


def table_rows(curves: Sequence[Curve]) -> list[dict[str, Any]]:
    """A row a learner, a column a number of examples."""
    counts = curves[0].counts
    shown = [counts[0], *counts[1 :: max(1, len(counts) // 6)]]
    rows = []
    for one in curves:
        errors = dict(zip(one.counts, one.mean, strict=True))
        cells = {str(k): float(errors[k]) if np.isfinite(errors.get(k, np.nan)) else None for k in shown}
        rows.append({"learner": one.name, **cells})
    return rows


def draw_comparison(axes: Any, curves: Sequence[Curve], task: str, d: int, shift: str = "none") -> None:
    """Lines with bands, the decoder thick; squared errors divided by d as in Garg et al., except where E f² = 1."""
    from matplotlib.ticker import MaxNLocator

    scale = 1.0 if task in ("classification", "tree") else float(d)
    for one in curves:
        style = _style(one.name)
        seen = np.isfinite(one.mean)
        counts = np.array(one.counts)[seen]
        axes.plot(counts, one.mean[seen] / scale, label=one.name, **style)
        low, high = one.low[seen] / scale, one.high[seen] / scale
        axes.fill_between(counts, low, high, color=style["color"], alpha=0.1, linewidth=0)
    first = [one.mean[np.isfinite(one.mean)][0] for one in curves if np.isfinite(one.mean).any()]
    axes.set_ylim(0, 1.35 * max(first) / scale)  # knowing nothing, with room above it; worse than that is cut off
    squared = r"$E(\hat y - f(x_q))^2$" + (" / d" if scale > 1 else "")
    wrong = "share of wrong signs" if task == "classification" else squared
    axes.set(xlabel="in-context examples, k", ylabel=wrong)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figures.titled(axes, f"{task}, d = {d}" + ("" if shift == "none" else f"; shift: {shift}"), legend=None)


def legend_beside(figure: Any) -> None:
    """One legend for all panels, at the right of them: every learner of any panel once, in a fixed order."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        entries |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    labels = sorted(entries, key=_place)
    figure.legend([entries[label] for label in labels], labels, loc="outside right center", frameon=False, fontsize=9)


_COLOURS = {
    "decoder, trained": figures.COLOURS["measured"],
    "ridge": "#000000",
    "linear attention, exact": figures.SERIES[0],
    "least squares": figures.SERIES[1],
    "Lasso, cross-validated": figures.SERIES[2],
    "averaging": figures.SERIES[3],
    "3 nearest neighbours": figures.SERIES[4],
    "CART": figures.SERIES[6],
    "gradient boosting": figures.SERIES[7],
    "net trained by Adam": "#999999",
}  # a learner has the same colour in every figure


def _place(name: str) -> int:
    return next((i for i, known in enumerate(_COLOURS) if name.startswith(known)), len(_COLOURS))


def _style(name: str) -> dict[str, Any]:
    place = _place(name)
    return {
        "color": [*_COLOURS.values(), figures.COLOURS["muted"]][place],
        "linewidth": 3.0 if place == 0 else 1.5,
        "linestyle": "--" if place == 1 else "-",
        "zorder": 4 - min(place, 2),
    }
