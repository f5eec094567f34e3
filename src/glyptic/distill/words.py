"""Words on which deciders are compared, and what each decider says of them: one pass over the longest answers all beginnings too.

A causal decider that has read the first letters of a word has said all that it would say if the word ended there. So all words up
to a length are answered by one pass over those of that length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import torch

from glyptic.errors import InputError
from glyptic.exact import Transformer
from glyptic.exact.answers import UNDEFINED, decide
from glyptic.exact.forward import embed, forward
from glyptic.exact.running import chunk_size, prepared_for
from glyptic.exact.stages import Watch
from glyptic.languages import Automaton
from glyptic.train.tasks.deciders import ANSWERS, at_every_place
from glyptic.train.tasks.languages import FormalLanguage, Regular, words_of

MOST_WORDS = 1 << 16  # of the greatest length, which are still all looked at
MOST_LISTED = 1 << 18  # of a language that is not regular, to prove it
_DRAWN = 256  # words of a length, where there are more
Numbers = np.ndarray  # (words, places): the number of an answer after each letter


@dataclass(frozen=True)
class WordSet:
    """Words of one length, whose beginnings are words too; `counted` has each of these once."""

    alphabet: tuple[str, ...]
    letters: np.ndarray  # (words, places): numbers of letters
    counted: np.ndarray  # (words, places): whether the beginning that ends here counts
    complete: bool  # these are all words up to the length

    @property
    def count(self) -> int:
        return int(self.counted.sum())

    @property
    def max_length(self) -> int:
        return self.letters.shape[1]

    def __str__(self) -> str:
        what = "all words" if self.complete else "words, members and others drawn as evenly as there are,"
        return f"{what} of length 1 to {self.max_length} over {' '.join(self.alphabet)}, {self.count:,} of them"

    def including(self, words: Sequence[str]) -> WordSet:
        """These and some more, if there are more than these."""
        lacking = () if self.complete else tuple(dict.fromkeys(words))
        if not lacking:
            return self
        letters = np.zeros((len(lacking), self.max_length), np.int64)
        for row, word in enumerate(lacking):
            letters[row, : len(word)] = [self.alphabet.index(letter) for letter in word]
        ends = np.arange(self.max_length) == np.array([len(word) - 1 for word in lacking])[:, None]
        known = {tuple(row[: place + 1]) for row, counted in zip(self.letters.tolist(), self.counted, strict=True)
                 for place in np.flatnonzero(counted)}  # fmt: skip
        new = [i for i, word in enumerate(letters.tolist()) if tuple(word[: len(lacking[i])]) not in known]
        return replace(
            self, letters=np.concatenate([self.letters, letters[new]]), counted=np.concatenate([self.counted, ends[new]])
        )

    def share(self, right: np.ndarray) -> float:
        """The share of the words at whose ends something is true."""
        return float(right[self.counted].mean())

    def shortest(self, chosen: np.ndarray, most: int) -> list[str]:
        """The first words, by length and then in the order of the alphabet, at whose ends something is true."""
        found: list[str] = []
        for place in range(self.max_length):
            rows = np.flatnonzero(chosen[:, place] & self.counted[:, place])[: most - len(found)]
            words = sorted(self.letters[rows, : place + 1].tolist())
            found += ["".join(self.alphabet[letter] for letter in word) for word in words]
        return found


def all_words(alphabet: tuple[str, ...], max_length: int) -> WordSet:
    """Every word up to a length.

    >>> words = all_words(("0", "1"), 2)
    >>> words.count, words.shortest(words.letters == 1, 9)
    (6, ['1', '01', '11'])
    """
    size = len(alphabet)
    letters = np.array(list(product(range(size), repeat=max_length)), dtype=np.int64)
    repeats = size ** np.arange(max_length - 1, -1, -1)  # so many words in a row have the same beginning
    return WordSet(alphabet, letters, np.arange(len(letters))[:, None] % repeats == 0, True)


def words_for(language: FormalLanguage, max_length: int, seed: int = 0) -> WordSet:
    """All words up to a length if these are not too many, else some of each length."""
    if len(language.alphabet) ** max_length <= MOST_WORDS:
        return all_words(language.alphabet, max_length)
    rng = np.random.default_rng([seed, max_length])
    letters, places = [], []
    for length in range(1, max_length + 1):
        words = np.unique(words_of(rng, language, length, _DRAWN), axis=0)
        rest = rng.integers(0, len(language.alphabet), (len(words), max_length - length))  # what follows does not count
        letters.append(np.concatenate([words, rest], axis=1))
        places += [length - 1] * len(words)
    counted = np.arange(max_length) == np.array(places)[:, None]
    return WordSet(language.alphabet, np.concatenate(letters), counted, False)


def exact_answers(transformer: Transformer, words: WordSet) -> Numbers:
    """Numbers of `exact.answers`, in the engine's arithmetic: of an answer, TIED, UNDEFINED."""
    prepared = prepared_for(transformer)
    size = chunk_size(transformer, words.max_length)
    found = []
    for first in range(0, len(words.letters), size):
        tokens, watch = words.letters[first : first + size].T, Watch()
        residual, _ = forward(prepared, embed(prepared, tokens, 0, watch), observer=watch)
        flat = residual.reshape(residual.shape[0], 1, -1)  # every place as if it were the last
        _, _, numbers = decide(prepared, np.ascontiguousarray(flat), 0, watch_output := Watch())
        numbers = numbers.reshape(tokens.shape)
        met = np.broadcast_to(watch.zero, tokens.shape) if watch.met else np.zeros(tokens.shape, bool)
        undefined = np.logical_or.accumulate(met, axis=0)  # what was met earlier is met by every word that goes on
        undefined |= np.broadcast_to(watch_output.failed, (tokens.size,)).reshape(tokens.shape)
        found.append(np.where(undefined, UNDEFINED, numbers).T)
    return np.concatenate(found)


@torch.no_grad()
def float_answers(model: Any, words: WordSet) -> Numbers:
    """What the decider on PyTorch says: the larger logit, NO where they are equal."""
    return np.concatenate(
        [at_every_place(model, part).argmax(-1).numpy() for part in torch.from_numpy(words.letters).split(4096)]
    )


def truth_of(language: FormalLanguage, words: WordSet) -> Numbers:
    """The number of the right answer after each letter."""
    return language.beginnings(words.letters).astype(np.int64)


def automaton_of(language: FormalLanguage, max_length: int, name: str) -> Automaton:
    """An automaton that is right on every word up to a length: the language's own, or else made of all these words.

    A state is what can still come: beginnings of one length are one state if all their continuations are members alike.

    >>> from glyptic.train.tasks.languages import Majority
    >>> to_three = automaton_of(Majority(("0", "1"), 1), 3, "majority")
    >>> [to_three.accepts(word) for word in ("1", "10", "110", "100")]
    [True, False, True, False]
    """
    if isinstance(language, Regular):
        return language.automaton
    size = len(language.alphabet)
    if size**max_length > MOST_LISTED:
        raise InputError(
            f"{name} is no regular language, and it has {size}^{max_length} words of length {max_length}, too many to list; "
            "ask for a smaller max_length."
        )
    words = all_words(language.alphabet, max_length)
    member = language.beginnings(words.letters)
    moves: list[tuple[int, ...]] = [(0,) * size]  # state 0: longer than max_length
    accepting: set[int] = set()
    below = np.zeros(size ** (max_length + 1), np.int64)
    for length in range(max_length, -1, -1):
        inside = member[:: size ** (max_length - length), length - 1] if length else np.zeros(1, bool)
        kinds, state = np.unique(np.column_stack([inside, below.reshape(-1, size)]), axis=0, return_inverse=True)
        accepting |= {len(moves) + k for k, row in enumerate(kinds) if row[0]}
        below = len(moves) + state.ravel()
        moves += [tuple(int(each) for each in row[1:]) for row in kinds]
    made = Automaton(language.alphabet, tuple(moves), frozenset(accepting), int(below[0]))
    return Automaton(made.alphabet, made.moves, made.accepting, made.start, f"{name} to length {max_length}")


__all__ = ["ANSWERS", "WordSet", "all_words", "automaton_of", "exact_answers", "float_answers", "truth_of", "words_for"]
