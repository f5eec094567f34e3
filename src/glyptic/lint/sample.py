"""What the linter looks at: a transformer, runs of it with their traces, and how their inputs were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from glyptic.arguments import affordable
from glyptic.exact import Transformer
from glyptic.exact.forward import Prepared
from glyptic.exact.running import Batch, prepared_for
from glyptic.progress import progress_bar

_BEYOND = 8  # positions after two periods, of inputs that have no longest
_STAGES = ("embedding", "embedding_norm", "*.after_*", "final_norm", "*.hidden", "*.head.*")


@dataclass(frozen=True)
class Sample:
    """A transformer and what was seen of it."""

    transformer: Transformer
    prepared: Prepared
    texts: tuple[tuple[str, ...], ...]
    runs: Batch
    chosen: str

    def columns(self, stage: str) -> np.ndarray:
        """A traced part of all runs side by side, as codes (coordinates, columns); undefined runs left out."""
        kept = list(self._defined(stage))
        return np.concatenate(kept, axis=1) if kept else np.zeros((0, 0), np.int64)

    def batches(self, *stages: str) -> Iterator[tuple[np.ndarray, ...]]:
        """Some traced parts, as codes (…, positions, batch): one batch for each length; undefined runs left out."""
        runs = list(zip(*(self._defined(stage) for stage in stages), strict=True))
        for length in sorted({run[0].shape[-1] for run in runs}):
            alike = [run for run in runs if run[0].shape[-1] == length]
            yield tuple(np.stack(part, axis=-1) for part in zip(*alike, strict=True))

    def _defined(self, stage: str) -> Iterator[np.ndarray]:
        traced = self.runs.trace.get(stage, [])
        return (array for place, array in enumerate(traced) if place not in self.runs.failures)


def look(transformer: Transformer, count: int, *, progress: bool = False) -> Sample:
    """Run some inputs and trace them; what would not fit into memory is refused before."""
    texts, chosen = sample_inputs(transformer, count)
    affordable(f"the trace of {len(texts):,} runs", sum(_traced(transformer, len(text)) for text in texts))
    with progress_bar(total=len(texts), desc="runs", unit="input", disable=not progress) as bar:
        runs = transformer.run_batch(texts, trace=_STAGES, progress=bar.update)
    return Sample(transformer, prepared_for(transformer), texts, runs, chosen)


def _traced(transformer: Transformer, length: int) -> int:
    """About how many numbers are kept of a run: for each position, and for each pair of them the scores and weights of heads."""
    heads = [head for layer in transformer.layers for head in layer.heads]
    hidden = sum(len(layer.feed_forward.w1) for layer in transformer.layers if layer.feed_forward is not None)
    of_heads = sum(2 * len(head.query) + len(head.value) + transformer.width for head in heads)
    position = transformer.width * (2 * len(transformer.layers) + 2) + hidden + of_heads
    return length * (position + 2 * length * len(heads))


def sample_inputs(transformer: Transformer, count: int) -> tuple[tuple[tuple[str, ...], ...], str]:
    """All inputs up to the longest length that fits in half of `count`; of longer ones, those of one token, and some at random.

    What a construction forgets shows at extremes: an input of one token only, of each length. The seed is fixed.
    """
    vocabulary = transformer.vocabulary
    texts: list[tuple[str, ...]] = []
    length = 0
    while length < transformer.max_length and len(texts) + len(vocabulary) ** (length + 1) <= count // 2:
        length += 1
        texts += list(product(vocabulary, repeat=length))
    chosen, left = f"all {len(texts)} inputs up to length {length}", count - len(texts)
    if length == transformer.max_length:
        return tuple(texts), chosen
    longest = int(min(transformer.max_length, 2 * len(transformer.position_embedding) + _BEYOND))
    sizes = range(longest, length, -1)
    texts += [(token,) * size for size in sizes for token in vocabulary][: left // 2]
    rng = np.random.default_rng(0)
    while len(texts) < count:
        size = int(rng.integers(length + 1, longest + 1))
        texts.append(tuple(vocabulary[i] for i in rng.integers(0, len(vocabulary), size)))
    return tuple(texts), f"{chosen} and {left} longer ones, of one token or at random"
