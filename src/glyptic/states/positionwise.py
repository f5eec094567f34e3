"""What a transformer computes at one position alone: by the forward pass itself, on batches of vectors.

Between positions there is nothing but the mixtures of the heads. So a layer is run on single positions, with an arithmetic that
gives what was found elsewhere in place of the mixtures; norms, feed-forwards and the order of all sums are the engine's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from glyptic.exact.answers import UNDEFINED, decide
from glyptic.exact.forward import Prepared, Seen, embed, forward, run_layer
from glyptic.exact.running import prepared_for
from glyptic.exact.stages import ErrorAt, Watch
from glyptic.exact.transformer import Transformer
from glyptic.numbers import Arithmetic, Codes
from glyptic.numbers.hosts import Engine

_ALONE = Seen(np.ones((1, 1), bool), np.zeros(1, int))  # one position, which sees itself
_BATCH = 1 << 14


@dataclass(frozen=True)
class Passed:
    """Vectors after a layer (n, d), the number of the first place of 0/0 on the way (n,), or −1, and what was traced (n, …)."""

    vectors: Codes
    failure: np.ndarray
    traced: Codes


class Positionwise:
    """The parts of a transformer that work at one position, over codes (n, width)."""

    def __init__(self, transformer: Transformer, engine: Engine = "auto") -> None:
        self.transformer = transformer
        self.prepared: Prepared = prepared_for(transformer, engine)
        self.arithmetic: Arithmetic = self.prepared.arithmetic
        self.places: list[ErrorAt] = []  # of 0/0, in the order in which a run meets them

    def embedded(self, row: int) -> Codes:
        """Every token at a row of the position embedding, (vocabulary, d)."""
        tokens = np.arange(len(self.transformer.vocabulary))[None]
        return self._codes(embed(self.prepared, tokens, row))

    def projections(self, layer: int, vectors: Codes) -> list[tuple[Codes, Codes, Codes]]:
        """Of each head of a layer the queries, keys and values of vectors, (n, width) each."""
        heads = len(self.transformer.layers[layer].heads)
        names = [[f"layer.{layer}.head.{h}.{part}" for part in ("query", "key", "value")] for h in range(heads)]
        found = []
        for part in _parts(vectors):
            watch = Watch([name for of_a_head in names for name in of_a_head], self._codes)
            run_layer(self.prepared, layer, self.prepared.layers[layer], self._values(part), None, _ALONE, watch)
            found.append(watch.traced)
        joined = {name: np.concatenate([traced[name] for traced in found]) for of_a_head in names for name in of_a_head}
        return [tuple(joined[name] for name in of_a_head) for of_a_head in names]  # type: ignore[misc]

    def scores(self, layer: int, head: int, queries: Codes, keys: Codes) -> Codes:
        """Each query's score with each key, (queries, keys)."""
        asking, seen = (np.ascontiguousarray(np.moveaxis(self._values(each), 1, 2)) for each in (queries, keys))
        scores = self.arithmetic.scores(asking, seen, np.ones((len(queries), len(keys)), bool))
        scale = self.prepared.layers[layer].heads[head].scale
        if scale is not None:
            scores = self.arithmetic.divide(scores, scale)
        return np.asarray(self.arithmetic.codes(scores))[:, :, 0]

    def places_of_layer(self, layer: int) -> tuple[int, list[int]]:
        """The places of 0/0 in a layer, made known: the number of the first, and that of each head's attention."""
        first = len(self.places)
        watch = Watch()
        nothing = np.zeros((1, self.transformer.width), np.int64)
        run_layer(self.prepared, layer, self.prepared.layers[layer], self._values(nothing), None, _ALONE, watch)
        self.places += [error_at for error_at, _ in watch.met]
        heads = [first + k for k, (error_at, _) in enumerate(watch.met) if error_at(0).head is not None]
        return first, heads

    def after(
        self, layer: int, vectors: Codes, mixed: Sequence[Codes], zero: Sequence[np.ndarray], first: int, stages: Sequence[str]
    ) -> Passed:
        """A layer over vectors, given each head's mixtures (n, d_v), and where its softmax is 0/0 (n,)."""
        given = _GivenMixtures(
            self.arithmetic,
            iter([flags[None] for flags in zero]),
            iter([self._values(each) for each in mixed]),
        )
        watch = Watch(stages, self._codes)
        prepared = replace(self.prepared, arithmetic=given)  # type: ignore[arg-type]  # all that it does not have is passed on
        out, _, _ = run_layer(prepared, layer, self.prepared.layers[layer], self._values(vectors), None, _ALONE, watch)
        return self._passed(self._codes(out), watch, first, stages)

    def final_norm(self, vectors: Codes, stages: Sequence[str]) -> Passed:
        """The norm after all layers."""
        watch = Watch(stages, self._codes)
        out, _ = forward(self._no_layers(), self._values(vectors), observer=watch)
        return self._passed(self._codes(out), watch, len(self.places), stages)

    def places_of_final_norm(self) -> list[ErrorAt]:
        watch = Watch()
        forward(self._no_layers(), self._values(np.zeros((1, self.transformer.width), np.int64)), observer=watch)
        return [error_at for error_at, _ in watch.met]

    def _no_layers(self) -> Prepared:
        return replace(self.prepared, layers=(), stack=None)

    def answers(self, vectors: Codes) -> tuple[np.ndarray, Codes]:
        """The number of the answer at each vector, TIED and UNDEFINED included, and the logits' codes (n, answers)."""
        numbers, logits = [], []
        for part in _parts(vectors):
            watch = Watch()
            codes, _, found = decide(self.prepared, self._values(part), 0, watch)
            numbers.append(np.where(watch.failed, UNDEFINED, found))
            logits.append(codes)
        return np.concatenate(numbers), np.concatenate(logits)

    def _passed(self, vectors: Codes, watch: Watch, first: int, stages: Sequence[str]) -> Passed:
        failure = np.full(len(vectors), -1)
        for k, (_, where) in reversed(list(enumerate(watch.met))):
            failure[np.broadcast_to(np.asarray(where)[0], failure.shape)] = first + k
        traced = [watch.traced[stage] for stage in stages]
        return Passed(vectors, failure, np.concatenate([np.zeros((len(vectors), 0), np.int64), *traced], axis=1))

    def _values(self, codes: Codes) -> Any:
        return self.arithmetic.values(np.ascontiguousarray(np.asarray(codes).T))[:, None, :]

    def _codes(self, values: Any) -> Codes:
        return np.ascontiguousarray(np.asarray(self.arithmetic.codes(values))[:, 0].T)


def _parts(vectors: Codes) -> Iterator[Codes]:
    for first in range(0, max(1, len(vectors)), _BATCH):
        yield vectors[first : first + _BATCH]


class _GivenMixtures:
    """An arithmetic in which the attention of a layer's heads, in order, is given; all else is that of another."""

    def __init__(self, arithmetic: Arithmetic, zero: Iterator[Any], mixed: Iterator[Any]) -> None:
        self._arithmetic, self._zero, self._mixed = arithmetic, zero, mixed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arithmetic, name)

    def scores(self, queries: Any, keys: Any, visible: Any) -> Any:
        return self._arithmetic.scores(queries[:0], keys[:0], visible)  # zeros: nothing is read from them

    def attention_weights(self, scores: Any, visible: Any, kind: str) -> tuple[Any, Any]:
        return scores, next(self._zero)

    def mixture(self, weights: Any, values: Any, visible: Any) -> Any:
        return next(self._mixed)

    def attend(self, queries: Any, keys: Any, values: Any, visible: Any, kind: str) -> tuple[Any, Any]:
        return next(self._mixed), next(self._zero)
