"""How small a format may be: the same weights in smaller and smaller formats, as they are rounded, and fine-tuned there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from glyptic.distill.calibration import Sizes
from glyptic.distill.fine_tuning import Tuning, fine_tuned, in_format, suited
from glyptic.distill.words import WordSet, exact_answers
from glyptic.errors import FormatError, ModelError
from glyptic.exact import Transformer
from glyptic.figures import COLOURS, new, save_as, titled
from glyptic.numbers import Fixed, Float, Format, Ieee, Q
from glyptic.numbers.hosts import refusal
from glyptic.train.tasks.deciders import LanguageTask


@dataclass(frozen=True)
class FormatRow:
    """How well the weights do in a format: the shares of words that are right, and that are answered as the float model does."""

    format: str
    size: int  # s of fixed:S and float:E,S; f of q:M,F; m of ieee:E,M
    accuracy: float
    agreement: float
    tuned_accuracy: float | None = None
    tuned_agreement: float | None = None
    saturated: bool = False  # weights beyond B are B, for no way to rescale them keeps them within it

    @property
    def best(self) -> float:
        return max(self.accuracy, self.tuned_accuracy or 0.0)


COLUMNS = tuple(field.name for field in fields(FormatRow))


_MAKERS: dict[str, tuple[Callable[..., Format], int]] = {  # and the least size
    "fixed": (Fixed, 1), "float": (Float, 1), "q": (Q, 0), "ieee": (Ieee, 1),
}  # fmt: skip


def smaller(format: Format) -> Iterator[tuple[int, Format]]:
    """The format and those of its kind that are smaller, with their sizes, from the largest on; of one without a kind, itself.

    A format with a name of its own, such as bf16, is of the kind that has the same numbers, if there is one.

    >>> [str(each) for _, each in smaller(Fixed(3))], [str(each) for _, each in smaller(Q(2, 1))]
    (['fixed:3', 'fixed:2', 'fixed:1'], ['q:2,1', 'q:2,0'])
    """
    alike = _named_otherwise(format)
    if alike is not None:
        yield from ((size, format if each == alike else each) for size, each in smaller(alike))
        return
    kind, _, given = format.name.partition(":")
    numbers = [int(word) for word in given.split(",") if word.isdigit()]
    if kind not in _MAKERS or format.name.endswith("normal"):
        yield format.precision, format
        return
    make, least = _MAKERS[kind]
    *rest, size = numbers
    for each in range(size, least - 1, -1):
        try:
            yield each, make(*rest, each, ties=format.ties)
        except FormatError:  # q:0,0 has no bit at all
            return


def _named_otherwise(format: Format) -> Format | None:
    """The ieee:E,M that has the same numbers as a format with a name of its own."""
    if ":" in format.name:
        return None
    for bits in range(2, 12):
        try:
            other = Ieee(bits, format.precision - 1, ties=format.ties)
        except FormatError:
            continue
        parts = ("precision", "least_exponent", "max", "min", "subnormals")
        if all(getattr(other, part) == getattr(format, part) for part in parts):
            return other
    return None


def in_smaller_formats(
    transformer: Transformer,
    latents: Mapping[str, Tensor],
    sizes: Sizes,
    format: Format,
    words: WordSet,
    truth: np.ndarray,
    said: np.ndarray,
    *,
    task: LanguageTask,
    saturate: bool = True,
    tuning: Tuning | None = None,
    also: Sequence[str] = (),
    known: Sequence[FormatRow] = (),
    found: Callable[[FormatRow], object] = lambda _: None,
    progress: bool = True,
) -> list[FormatRow]:
    """A row a format, the largest first; `found` is told new rows.

    With a `tuning` those that lose accuracy are fine-tuned, down to the first that does not get it back.
    """
    rows = {row.format: row for row in known}
    target = None
    for size, each in smaller(format):
        if refusal(each) is not None:
            continue
        row = rows.get(str(each))
        if row is None:
            best, saturated = dict(latents), False  # in the format itself they are as they were learned
            if each != format:
                try:
                    _, best = suited(transformer, latents, sizes, each, words, truth, saturate=saturate)
                except ModelError:  # some weight is beyond B however they are rescaled
                    _, best = suited(transformer, latents, sizes, each, words, truth)
                    saturated = True
            shares = _shares(in_format(transformer, best, each, saturate=True), words, truth, said)
            row = FormatRow(str(each), size, *shares, saturated=saturated)
            if tuning is not None and target is not None and row.accuracy < target:
                tuned = fine_tuned(transformer, best, each, task, words, truth, tuning, also=also, progress=progress)
                shares = _shares(in_format(transformer, tuned.best, each, saturate=True), words, truth, said)
                row = replace(row, tuned_accuracy=shares[0], tuned_agreement=shares[1])
            found(row)
        target = row.accuracy if target is None else target
        tuning = tuning if row.best >= target else None
        rows[row.format] = row
    return list(rows.values())


def _shares(transformer: Transformer, words: WordSet, truth: np.ndarray, said: np.ndarray) -> tuple[float, float]:
    answers = exact_answers(transformer, words)
    return words.share(answers == truth), words.share(answers == said)


def smallest_that_keeps(rows: Sequence[FormatRow], *, tuned: bool = True) -> FormatRow | None:
    """The smallest format as accurate as the largest, as are all between them: one that is right by luck does not count.

    >>> rows = [FormatRow("fixed:4", 4, 1.0, 1.0), FormatRow("fixed:3", 3, 0.9, 0.9, 1.0, 1.0), FormatRow("fixed:2", 2, 0.8, 0.8)]
    >>> smallest_that_keeps(rows).format, smallest_that_keeps(rows, tuned=False).format
    ('fixed:3', 'fixed:4')
    """
    ordered = sorted(rows, key=lambda row: -row.size)
    kept = None
    for row in ordered:
        if (row.best if tuned else row.accuracy) < ordered[0].accuracy:
            break
        kept = row
    return kept


def draw_formats(rows: Sequence[FormatRow], path: str | os.PathLike[str], title: str) -> list[Path]:
    """Accuracy and agreement with the float model against the size of the format; the data beside it."""
    figure, axes = new(size=(6.4, 3.8))
    ordered = sorted(rows, key=lambda row: row.size)
    styles: list[tuple[str, str, str, dict[str, Any]]] = [
        ("accuracy", "right, rounded", COLOURS["theory"], {"marker": "o"}),
        ("agreement", "as the float model, rounded", COLOURS["muted"], {"marker": "x", "linestyle": ":"}),
        ("tuned_accuracy", "right, fine-tuned in the format", COLOURS["measured"], {"marker": "s"}),
    ]
    for name, label, colour, style in styles:
        points = [(row.size, 100 * getattr(row, name)) for row in ordered if getattr(row, name) is not None]
        if points:
            axes.plot(*zip(*points, strict=True), label=label, color=colour, **style)
    kind = ordered[-1].format.partition(":")[0]
    axes.set(xlabel={"q": "f", "ieee": "m"}.get(kind, "s"), ylabel="% of words", ylim=(None, 101.5))
    axes.set_xticks([row.size for row in ordered])
    titled(axes, title, "lower right")
    return save_as(figure, [asdict(row) for row in ordered], path)
