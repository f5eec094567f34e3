"""How large activations become, measured without rounding and held against B; and what saturates when it is run in the format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.distill.straight import everywhere, logits_everywhere
from glyptic.distill.words import WordSet
from glyptic.exact import Transformer
from glyptic.exact.forward import embed, forward
from glyptic.exact.running import chunk_size, prepared_for
from glyptic.exact.stages import Observer
from glyptic.numbers import Format

Sizes = dict[str, np.ndarray]  # stage → the largest |value| of each coordinate or unit; of scores and weights, of all
_BY_KEYS = (".scores", ".weights")


@dataclass
class Largest(Observer):
    """Keeps the largest absolute value at every stage."""

    sizes: Sizes = field(default_factory=dict)

    def record(self, stage: str, array: Any) -> None:
        values = np.abs(array.detach().numpy() if isinstance(array, Tensor) else np.asarray(array))
        largest = values.max(keepdims=True).ravel() if stage.endswith(_BY_KEYS) else values.reshape(len(values), -1).max(axis=1)
        known = self.sizes.get(stage)
        self.sizes[stage] = largest if known is None else np.maximum(known, largest)


@torch.no_grad()
def largest_activations(transformer: Transformer, latents: Mapping[str, Tensor], words: WordSet) -> Sizes:
    """Over all these words, in float64 without rounding."""
    seen = Largest()
    for first in range(0, len(words.letters), 1 << 12):
        logits_everywhere(transformer, latents, None, words.letters[first : first + (1 << 12)].T, seen)
    return seen.sizes


@dataclass(frozen=True)
class Place:
    """A stage of the run: its largest value without rounding, and how many of its numbers are ±B in the format."""

    stage: str
    largest: float
    saturated: int
    numbers: int


@dataclass(frozen=True)
class Calibration:
    """All places, against B."""

    B: float
    places: tuple[Place, ...]

    @property
    def saturating(self) -> tuple[Place, ...]:
        return tuple(place for place in self.places if place.saturated or place.largest > self.B)

    @property
    def fullest(self) -> Place:
        """Where most of the format is used."""
        return max(self.places, key=lambda place: place.largest)

    def __str__(self) -> str:
        said = f"largest activation {self.fullest.largest:.4g} at {self.fullest.stage}, B = {self.B:.6g}"
        if not self.saturating:
            return f"{said}; nothing saturates"
        worst = max(self.saturating, key=lambda place: (place.saturated, place.largest))
        return (
            f"{said}; {len(self.saturating)} of {len(self.places)} places saturate, most of all {worst.stage}, of whose "
            f"{worst.numbers:,} numbers {worst.saturated:,} are ±B, and the largest would be {worst.largest:.4g}"
        )


@dataclass
class _Saturated(Observer):
    high: float
    low: float
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def record(self, stage: str, array: Any) -> None:
        met, of = self.counts.get(stage, (0, 0))
        at_an_end = (array >= self.high) | (array <= self.low)
        self.counts[stage] = met + int(np.count_nonzero(at_an_end)), of + at_an_end.size


def calibrated(transformer: Transformer, sizes: Sizes, words: WordSet) -> Calibration:
    """A transformer in its format, beside the sizes without rounding."""
    format, prepared = transformer.format, prepared_for(transformer)
    assert isinstance(format, Format)
    ends = prepared.arithmetic.values(np.array([format.max_code, -format.max_code]))
    seen = _Saturated(ends[0], ends[1])
    size = chunk_size(transformer, words.max_length)
    for first in range(0, len(words.letters), size):
        residual, _ = forward(prepared, embed(prepared, words.letters[first : first + size].T, 0, seen), observer=seen)
        seen.record("logits", everywhere(prepared, residual))
    places = [Place(stage, float(of.max()), *seen.counts.get(stage, (0, 0))) for stage, of in sizes.items()]
    return Calibration(float(format.max), tuple(places))
