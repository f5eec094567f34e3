"""Several transformers side by side in one, block-diagonal: each in coordinates of its own, none touching another's.

A head or hidden unit of one is 0 in the others' rows and columns, and [x + 0] = x, so each computes exactly what it
did. A shallower one has nothing in the later layers, so its coordinates stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import zip_longest
from math import inf, lcm

import numpy as np

from glyptic.arguments import checked, refused
from glyptic.carve.building import refuse_huge
from glyptic.carve.coordinates import refuse_norms
from glyptic.carve.frames import count_hidden
from glyptic.carve.names import targets
from glyptic.carve.spaces import Space
from glyptic.errors import ModelError
from glyptic.exact import FeedForward, Head, Layer, Transformer
from glyptic.exact.history import Frame, renamed
from glyptic.numbers import AnyFormat, Codes, as_format


@checked
def beside(transformers: Sequence[Transformer], labels: Sequence[str] = ()) -> Transformer:
    """One transformer with all the coordinates, renamed label.name, and all the answers, renamed label.answer.

    >>> from glyptic.exact import Sizes, random_transformer
    >>> from glyptic.numbers import Fixed
    >>> a, b = (random_transformer(Fixed(4), seed, Sizes(layers=0)) for seed in (1, 2))
    >>> both = beside([a, b])
    >>> both.answers, both.run("01").logits == a.run("01").logits + b.run("01").logits
    (('a.NO', 'a.YES', 'b.NO', 'b.YES'), True)
    """
    names = _checked_labels(transformers, labels)
    first = transformers[0]
    for transformer in transformers:
        refuse_norms(transformer)
        check_alike(first, transformer)
        _check_same_inputs(first, transformer)
    refuse_huge("beside", weights_of(transformers))
    blocks = _blocks([t.width for t in transformers])
    token, position = (
        np.concatenate([getattr(t, part) for t in transformers], axis=1)
        for part in ("token_embedding", "position_embedding")
    )
    layers = zip_longest(*(t.layers for t in transformers), fillvalue=Layer())
    return Transformer(
        first.format,
        first.vocabulary,
        _labelled(names, [t.coordinates for t in transformers]),
        token,
        position,
        tuple(_merge(group, blocks) for group in layers),
        np.concatenate([block.columns(t.output) for t, block in zip(transformers, blocks, strict=True)]),
        _labelled(names, [t.answers for t in transformers]),
        first.options,
        output_bias=_biases(transformers),
        history=tuple(_relabel(f, name) for t, name in zip(transformers, names, strict=True) for f in t.history),
        period=first.period,
    )


def _checked_labels(transformers: Sequence[Transformer], labels: Sequence[str]) -> list[str]:
    if not isinstance(transformers, Sequence) or not transformers:
        raise refused("transformers", transformers, "a list of one transformer or more")
    for transformer in transformers:
        if not isinstance(transformer, Transformer):
            raise refused("transformers", transformer, "a list of transformers")
    names = letters(len(transformers)) if isinstance(labels, tuple) and not labels else list(targets(labels, "labels"))
    if len(names) != len(transformers):
        raise ModelError(f"{len(names)} labels for {len(transformers)} transformers; give one each, or none.")
    return names


def _check_same_inputs(first: Transformer, other: Transformer) -> None:
    """Side by side they read the same tokens, by the number of each, at the same positions."""
    alike = len(first.position_embedding) == len(other.position_embedding) and first.period == other.period
    if first.vocabulary != other.vocabulary or not alike:
        raise ModelError(
            f"{first!r} and {other!r} list different tokens, or in another order, or differ in the longest input; "
            "make them equal with beside.reconciled first."
        )


def weights_of(transformers: Sequence[Transformer]) -> int:
    """How many weights they have side by side: every row and column goes over all coordinates."""
    width = sum(t.width for t in transformers)
    units = sum(2 * count_hidden(t.layers) for t in transformers)
    rows = sum(2 * len(h.query) + 2 * len(h.value) for t in transformers for layer in t.layers for h in layer.heads)
    return width * (units + rows + len(transformers[0].position_embedding) + len(transformers[0].vocabulary))


def letters(count: int) -> list[str]:
    """a, b, c, …; t0, t1, … for more than there are letters."""
    return [chr(ord("a") + i) for i in range(count)] if count <= 26 else [f"t{i}" for i in range(count)]


@dataclass(frozen=True)
class _Block:
    """A transformer's place among all coordinates."""

    start: int
    size: int
    width: int

    def columns(self, codes: Codes) -> Codes:
        out = np.zeros((len(codes), self.width), np.int64)
        out[:, self.start : self.start + self.size] = codes
        return out

    def rows(self, codes: Codes) -> Codes:
        out = np.zeros((self.width, *codes.shape[1:]), np.int64)
        out[self.start : self.start + self.size] = codes
        return out


def _blocks(sizes: list[int]) -> list[_Block]:
    starts = np.cumsum([0, *sizes]).tolist()
    return [_Block(start, size, starts[-1]) for start, size in zip(starts[:-1], sizes, strict=True)]


def _merge(group: Sequence[Layer], blocks: list[_Block]) -> Layer:
    """One layer of each: their heads one after another, their hidden units one after another."""
    pairs = list(zip(group, blocks, strict=True))
    heads = tuple(_placed(head, block) for layer, block in pairs for head in layer.heads)
    parallel = {layer.parallel for layer in group if layer.heads and layer.feed_forward is not None}
    if len(parallel) > 1:
        raise ModelError("a layer of one is parallel, and the same layer of another is not: side by side they cannot be one.")
    parts = [(layer.feed_forward, block) for layer, block in pairs if layer.feed_forward is not None]
    return Layer(heads, _merge_feed_forwards(parts) if parts else None, parallel=parallel == {True})


def _placed(head: Head, block: _Block) -> Head:
    read = {name: block.columns(getattr(head, name)) for name in ("query", "key", "value")}
    bias = None if head.output_bias is None else block.rows(head.output_bias)
    return replace(head, **read, output=block.rows(head.output), output_bias=bias)


def _merge_feed_forwards(parts: list[tuple[FeedForward, _Block]]) -> FeedForward:
    kinds = {(ff.activation, ff.gate is not None) for ff, _ in parts}
    if len(kinds) > 1:
        told = " and ".join(sorted(("gated " if gated else "") + activation for activation, gated in kinds))
        raise ModelError(f"feed-forwards of one layer are {told}: side by side they must have one activation.")
    w1 = np.concatenate([block.columns(ff.w1) for ff, block in parts])
    w2 = np.concatenate([block.rows(ff.w2) for ff, block in parts], axis=1)
    b1, b2 = np.concatenate([ff.b1 for ff, _ in parts]), sum(block.rows(ff.b2) for ff, block in parts)
    (activation, gated), gate, gate_bias = kinds.pop(), None, None
    if gated:
        gate = np.concatenate([block.columns(ff.gate) for ff, block in parts if ff.gate is not None])
        gate_bias = np.concatenate([np.zeros_like(ff.b1) if ff.gate_bias is None else ff.gate_bias for ff, _ in parts])
    return FeedForward(w1, b1, w2, np.asarray(b2), gate, gate_bias, activation)


def _biases(transformers: Sequence[Transformer]) -> Codes | None:
    """The answers' biases one after another, 0 for those of a transformer that has none; None if none has."""
    if all(t.output_bias is None for t in transformers):
        return None
    none = [np.zeros(len(t.answers), np.int64) if t.output_bias is None else t.output_bias for t in transformers]
    return np.concatenate(none)


def _labelled(labels: Sequence[str], groups: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(name for label, names in zip(labels, groups, strict=True) for name in Space(label, names))


def _relabel(frame: Frame, label: str) -> Frame:
    own = renamed(frame, lambda name: f"{label}.{name}")
    return replace(own, construction=f"{label}: {frame.construction}")


@checked
def reconciled(
    transformers: Sequence[Transformer],
    format: AnyFormat | str | None = None,
    common: bool = False,
    answers: tuple[str, ...] | None = None,
) -> list[Transformer]:
    """The transformers with one format, vocabulary, list of answers and longest input; what cannot be made equal is refused.

    Order of tokens and answers is no matter (they are listed as the first one does, or as `answers` says), and the
    longest input is the shortest of theirs. Formats are changed only if one is given, for rounding weights can change
    answers; tokens that not all know are dropped only if `common`.
    """
    format = None if format is None else as_format(format)
    chosen = [t if format is None or t.format == format else t.in_format(format) for t in transformers]
    chosen = of_one_length(chosen)
    first = chosen[0]
    shared = tuple(token for token in first.vocabulary if all(token in t.vocabulary for t in chosen))
    if not shared:
        raise ModelError("these transformers have no token in common; they cannot read the same inputs.")
    for t in chosen[1:]:
        check_alike(first, t)
        _check_answers(first, t)
    if not common:
        for t in chosen:
            unknown = [token for token in t.vocabulary if token not in shared]
            if unknown:
                raise ModelError(
                    f"token {unknown[0]!r} is in the vocabulary of {t!r} but not of all; pass common=True to keep the "
                    f"tokens that all know ({' '.join(shared)})."
                )
    return [_restricted(t, shared, answers or first.answers) for t in chosen]


def of_one_length(transformers: Sequence[Transformer]) -> list[Transformer]:
    """The transformers with positions alike: up to the shortest longest input; or, all without end, in one period."""
    length = min(t.max_length for t in transformers)
    if length < inf:
        return [t if t.max_length == length else t.to_length(int(length)) for t in transformers]
    period, beginning = lcm(*(t.period for t in transformers if t.period)), max(t.beginning for t in transformers)
    return [t if (t.period, t.beginning) == (period, beginning) else t.repeating(period, beginning) for t in transformers]


def check_alike(first: Transformer, other: Transformer) -> None:
    """Two transformers in one must have the same format and options."""
    if first.format != other.format:
        raise ModelError(
            f"{first!r} and {other!r} have different formats; pass format= to round the weights of all into one "
            "(which can change answers), or build them in one."
        )
    for field in fields(first.options):
        ours, theirs = getattr(first.options, field.name), getattr(other.options, field.name)
        if ours != theirs:
            raise ModelError(f"options.{field.name} is {ours!r} in {first!r} and {theirs!r} in {other!r}; equal them.")


def _check_answers(first: Transformer, other: Transformer) -> None:
    if sorted(first.answers) != sorted(other.answers):
        raise ModelError(
            f"the answers of {first!r} are {', '.join(first.answers)}, those of {other!r} {', '.join(other.answers)}; "
            "give them the same names."
        )


def _restricted(t: Transformer, tokens: tuple[str, ...], answers: tuple[str, ...]) -> Transformer:
    if t.vocabulary == tokens and t.answers == answers:
        return t
    return t.replace(
        vocabulary=tokens,
        token_embedding=t.token_embedding[[t.vocabulary.index(token) for token in tokens]],
        answers=answers,
        output=t.output[[t.answers.index(answer) for answer in answers]],
        output_bias=None if t.output_bias is None else t.output_bias[[t.answers.index(answer) for answer in answers]],
    )


__all__ = ["beside", "check_alike", "letters", "reconciled"]
