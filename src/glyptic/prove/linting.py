"""Warnings about a transformer: what the errata of hand-made constructions taught to look for.

Some are read off the weights, others seen on runs: on all inputs up to some length, then on longer ones at random. A
warning is not an error: a construction may saturate on purpose. What must hold is proved, not linted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from glyptic.exact import Transformer
from glyptic.exact.forward import Prepared
from glyptic.exact.running import Batch, prepared_for
from glyptic.numbers import Exact, decode

_RUNS = 512


@dataclass(frozen=True)
class Warning:
    """One finding: its kind, where, and a sentence."""

    kind: str
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.where}: {self.message}"


@dataclass(frozen=True)
class Seen:
    """What the checks look at: the transformer, runs of it with their traces, and how the inputs were chosen."""

    transformer: Transformer
    prepared: Prepared
    texts: tuple[tuple[str, ...], ...]
    runs: Batch
    chosen: str

    def columns(self, stage: str) -> np.ndarray:
        """A traced part of all runs side by side, as codes (coordinates, columns); undefined runs left out."""
        traced = self.runs.trace.get(stage, [])
        kept = [array for place, array in enumerate(traced) if place not in self.runs.failures]
        return np.concatenate(kept, axis=1) if kept else np.zeros((0, 0), np.int64)


def lint(transformer: Transformer, runs: int = _RUNS) -> list[Warning]:
    """All warnings, in the order of the checks.

    >>> from glyptic.exact.random import random_transformer
    >>> from glyptic.numbers import Fixed
    >>> sorted({warning.kind for warning in lint(random_transformer(Fixed(3), seed=1), runs=30)})
    ['masked keys', 'order of a sum', 'saturation']
    """
    seen = _look(transformer, runs)
    checks = (
        never_read,
        dead_heads,
        dead_layers,
        flags_left_over,
        fixed_last_position,
        masked_keys,
        saturation,
        sum_order,
    )
    return [warning for check in checks for warning in check(seen)]


def _look(transformer: Transformer, count: int) -> Seen:
    texts, chosen = sample_inputs(transformer, count)
    stages = (
        "embedding",
        "*.after_*",
        "final_norm",
        "*.attention",
        "*.feed_forward",
        "*.hidden",
        "*.mixed",
        "*.output",
    )
    runs = transformer.run_batch(texts, trace=stages)
    return Seen(transformer, prepared_for(transformer), texts, runs, chosen)


def sample_inputs(transformer: Transformer, count: int) -> tuple[tuple[tuple[str, ...], ...], str]:
    """All inputs up to the longest length that fits in `count`, and longer ones at random (a fixed seed)."""
    vocabulary = transformer.vocabulary
    texts: list[tuple[str, ...]] = []
    length = 0
    while length < transformer.max_length and len(texts) + len(vocabulary) ** (length + 1) <= count // 2:
        length += 1
        texts += list(product(vocabulary, repeat=length))
    chosen = f"all {len(texts)} inputs up to length {length}"
    if length < transformer.max_length:
        longer = count - len(texts)
        rng = np.random.default_rng(0)
        for _ in range(longer):
            size = int(rng.integers(length + 1, transformer.max_length + 1))
            texts.append(tuple(vocabulary[i] for i in rng.integers(0, len(vocabulary), size)))
        chosen += f" and {longer} longer ones at random"
    return tuple(texts), chosen


# Read off the weights -------------------------------------------------------------------------------------------------


def never_read(seen: Seen) -> Iterator[Warning]:
    """Coordinates whose column is 0 in W_Q, W_K, W_V, W_1 of every layer and in θ_OUTPUT."""
    transformer = seen.transformer
    read = np.any(transformer.output != 0, axis=0)
    for layer in transformer.layers:
        for head in layer.heads:
            live = np.any(head.output != 0) and np.any(head.value != 0)
            for matrix in (head.query, head.key, head.value) if live else ():
                read |= np.any(matrix != 0, axis=0)
        if layer.feed_forward is not None:
            read |= np.any(layer.feed_forward.w1 != 0, axis=0)
    for name in np.array(transformer.coordinates)[~read]:
        yield Warning(
            "never read", f"coordinate {name}", "no layer and no output reads it; drop it, or it was meant to be read."
        )


def dead_heads(seen: Seen) -> Iterator[Warning]:
    """Heads that write nothing: by their weights, or in every run."""
    for l, layer in enumerate(seen.transformer.layers):
        for h, head in enumerate(layer.heads):
            where = f"layer {l}, head {h}"
            if not head.output.any() or not head.value.any():
                yield Warning("dead head", where, "W_V or W_O is 0: it never writes anything.")
            elif not seen.columns(f"layer.{l}.head.{h}.output").any():
                yield Warning("dead head", where, f"it writes 0 on {seen.chosen}.")


def dead_layers(seen: Seen) -> Iterator[Warning]:
    """Layers that leave the residual as it is, in every run."""
    for l in range(len(seen.transformer.layers)):
        before = seen.columns("embedding" if l == 0 else f"layer.{l - 1}.after_feed_forward")
        if before.size and np.array_equal(before, seen.columns(f"layer.{l}.after_feed_forward")):
            yield Warning("dead layer", f"layer {l}", f"it changes nothing on {seen.chosen}.")


def flags_left_over(seen: Seen) -> Iterator[Warning]:
    """0–1 coordinates of the position embedding that are still in the last residual, where '0 otherwise' is often assumed."""
    transformer = seen.transformer
    if not transformer.layers:
        return
    final = seen.columns(f"layer.{len(transformer.layers) - 1}.after_feed_forward")
    for k, name in enumerate(transformer.coordinates):
        values = set(transformer.position_embedding[:, k].tolist())
        written = transformer.token_embedding[:, k].any()
        if len(values) == 2 and 0 in values and not written and final.size and final[k].any():
            yield Warning(
                "flag left over",
                f"coordinate {name}",
                "the position embedding sets it, and the last residual still has it.",
            )


def fixed_last_position(seen: Seen) -> Iterator[Warning]:
    """A flag at the last position of the longest input only: the last position moves with the input's length."""
    embedding = seen.transformer.position_embedding
    last = len(embedding) - 1
    for k, name in enumerate(seen.transformer.coordinates):
        if last > 0 and np.flatnonzero(embedding[:, k]).tolist() == [last]:
            yield Warning(
                "fixed last position",
                f"coordinate {name}",
                f"only position {last} has it, the last one of inputs of length {last + 1}; shorter inputs never see it.",
            )


# Seen on runs ---------------------------------------------------------------------------------------------------------


def masked_keys(seen: Seen) -> Iterator[Warning]:
    """Queries all of whose visible keys are masked: 0/0; one warning for each place, with the first input that meets it."""
    told = set()
    for place, error in sorted(seen.runs.failures.items()):
        if error.place[:2] not in told:
            told.add(error.place[:2])
            text = " ".join(seen.texts[place])
            kind = "masked keys" if type(error).__name__ == "ZeroAttention" else "0/0"
            where = (
                "output"
                if error.layer is None
                else f"layer {error.layer}, head {error.head}, position {error.position}"
            )
            yield Warning(kind, where, f"the input {text!r} meets 0/0 there.")


def saturation(seen: Seen) -> Iterator[Warning]:
    """Coordinates that reach ±B in a residual."""
    format = seen.transformer.format
    if isinstance(format, Exact):
        return
    told = set()
    for stage in seen.runs.trace:
        if stage == "embedding" or ".after_" in stage or stage == "final_norm":
            codes = seen.columns(stage)
            for k in np.flatnonzero((codes >= format.max_code).any(axis=1) | (codes <= -format.max_code).any(axis=1)):
                if k not in told:
                    told.add(k)
                    yield Warning(
                        "saturation", f"coordinate {seen.transformer.coordinates[k]}", f"it reaches ±B, first {stage}."
                    )


def sum_order(seen: Seen) -> Iterator[Warning]:
    """Matrix products that give another result when summed from right to left."""
    if isinstance(seen.transformer.format, Exact):
        return
    for name, matrix, inputs in _products(seen):
        if not inputs.size:
            continue
        columns = np.unique(inputs, axis=1)
        forwards, backwards = (_product(seen, matrix[:, ::way], columns[::way]) for way in (1, -1))
        rows = np.flatnonzero((forwards != backwards).any(axis=1))
        if rows.size:
            row = int(rows[0])
            column = int((forwards != backwards)[row].argmax())
            one, other = decode(np.array([forwards[row, column], backwards[row, column]]), seen.transformer.format)
            message = (
                f"row {row} sums to {one} from left to right and to {other} from right to left ({rows.size} such rows)."
            )
            yield Warning("order of a sum", name, message)


def _product(seen: Seen, matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    arithmetic = seen.prepared.arithmetic
    result = arithmetic.linear(arithmetic.weights(matrix), arithmetic.values(columns)[:, None, :])
    return arithmetic.codes(result)[:, 0]


def _products(seen: Seen) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Every matrix with the columns that it met; with norms the inner residual is not traced, and is left out."""
    transformer = seen.transformer
    plain = transformer.options.norm == "none"
    before = "embedding"
    for l, layer in enumerate(transformer.layers):
        for h, head in enumerate(layer.heads):
            for part in ("query", "key", "value") if plain else ():
                yield f"layer {l}, head {h}, {part}", getattr(head, part), seen.columns(before)
            yield f"layer {l}, head {h}, output", head.output, seen.columns(f"layer.{l}.head.{h}.mixed")
        if layer.feed_forward is not None:
            if plain:
                yield f"layer {l}, w1", layer.feed_forward.w1, seen.columns(f"layer.{l}.after_attention")
            yield f"layer {l}, w2", layer.feed_forward.w2, seen.columns(f"layer.{l}.hidden")
        before = f"layer.{l}.after_feed_forward"
    yield "output", transformer.output, seen.columns("final_norm" if transformer.final_norm is not None else before)
