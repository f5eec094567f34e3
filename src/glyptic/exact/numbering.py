"""Inputs as token numbers, grouped by length: what a batch is made of. A million of them take a byte or two a token."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from glyptic.exact.transformer import Input, Transformer

_AT_ONCE = 1 << 14  # inputs that are read together: those before them are numbers already, and their texts may be forgotten


@dataclass(frozen=True)
class OfOneLength:
    """The inputs of a batch that have one length."""

    places: np.ndarray  # (count,), in the batch
    tokens: np.ndarray  # (length, count) of token numbers, in as few bytes as hold them

    def cut(self, size: int) -> Iterator[OfOneLength]:
        """The same in pieces of so many inputs."""
        for first in range(0, len(self.places), size):
            yield OfOneLength(self.places[first : first + size], self.tokens[:, first : first + size])


def numbered(transformer: Transformer, inputs: Iterable[Input]) -> tuple[OfOneLength, ...]:
    """Inputs by length, in the order in which lengths first come; the first input that cannot be read is refused.

    >>> from glyptic.exact import random_transformer
    >>> [(group.places.tolist(), group.tokens.T.tolist()) for group in numbered(random_transformer("fixed:4"), ["01", "1", "11"])]
    [([0, 2], [[0, 1], [1, 1]]), ([1], [[1]])]
    """
    groups: dict[int, list[OfOneLength]] = {}
    rest, first = iter(inputs), 0
    while some := list(islice(rest, _AT_ONCE)):
        for group in _read(transformer, some):
            groups.setdefault(len(group.tokens), []).append(OfOneLength(first + group.places, group.tokens))
        first += len(some)
    return tuple(_joined(parts) for parts in groups.values())


def by_number(transformer: Transformer, inputs: Sequence[Sequence[str]]) -> np.ndarray:
    """Inputs of one length, as tokens, in numbers: (length, batch)."""
    number = {token: i for i, token in enumerate(transformer.vocabulary)}
    return np.array([[number[token] for token in item] for item in inputs]).T


def _joined(parts: list[OfOneLength]) -> OfOneLength:
    if len(parts) == 1:
        return parts[0]
    places, tokens = zip(*((part.places, part.tokens) for part in parts), strict=True)
    return OfOneLength(np.concatenate(places), np.concatenate(tokens, axis=1))


def _read(transformer: Transformer, inputs: list[Input]) -> Iterator[OfOneLength]:
    numbers = _of_characters(transformer, inputs)
    if numbers is None:
        read = [transformer.tokens(text) for text in inputs]  # which says what is wrong, and where
        lengths = np.array([len(tokens) for tokens in read])
        numbers = by_number(transformer, [[token for tokens in read for token in tokens]])[:, 0]
    else:
        lengths = np.fromiter(map(len, inputs), np.int64, len(inputs))
    starts = np.cumsum(lengths) - lengths
    narrow = numbers.astype(np.min_scalar_type(len(transformer.vocabulary)))
    for length in dict.fromkeys(lengths.tolist()):
        places = np.flatnonzero(lengths == length)
        yield OfOneLength(places, narrow[starts[places] + np.arange(length)[:, None]])


def _of_characters(transformer: Transformer, inputs: list[Input]) -> np.ndarray | None:
    """The numbers of all characters one after another, by a table, where tokens are characters and all can be read; else None."""
    vocabulary = transformer.vocabulary
    if not all(len(token) == 1 for token in vocabulary) or not all(type(text) is str for text in inputs):
        return None
    if not all(1 <= len(text) <= transformer.max_length for text in inputs):
        return None
    largest = max(map(ord, vocabulary))
    table = np.full(largest + 2, -1)
    table[[ord(token) for token in vocabulary]] = np.arange(len(vocabulary))
    characters = "".join(inputs).encode("utf-32-le", "surrogatepass")  # type: ignore[arg-type]  # all are texts, as was seen
    numbers = table[np.minimum(np.frombuffer(characters, "<u4"), largest + 1)]
    return None if (numbers < 0).any() else numbers
