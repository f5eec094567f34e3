"""Random transformers of every kind, and a machine compared with the forward pass."""

from itertools import product

import numpy as np

from glyptic.exact import UNDEFINED, Options, Sizes, Transformer, random_transformer
from glyptic.exact.transformer import map_codes
from glyptic.states.extraction import Extracted

FORMATS = ("fixed:1", "fixed:2", "fixed:2/even", "float:1,1", "float:2,1", "q:1,2", "float:1,2", "ieee:3,2", "fixed:3", "q:0,2")


def sampled(seed: int, formats: tuple[str, ...] = FORMATS) -> Transformer:
    """One of all attention kinds, masks, norms, tie rules, readings of products; without positions, or with a few that repeat."""
    rng = np.random.default_rng(seed)

    def one(*of):
        return of[rng.integers(len(of))]

    options = Options(
        products=one("rounded", "fused", "unrounded"),
        attention=one("softmax", "max-subtracted", "leftmost", "rightmost", "average"),
        scale=bool(rng.integers(2)),
        mask=one("causal", "strict"),
        norm=one("none", "none", "pre", "post"),
        answer=one("softmax", "logits"),
        ties=one("explicit", "first"),
    )
    period, beginning = one((1, 0), (1, 0), (1, 0), (2, 0), (2, 1), (1, 2))
    sizes = Sizes(
        layers=one(1, 1, 2), heads=one(1, 1, 2), width=3, key_width=one(1, 2), value_width=one(1, 2), hidden=one(0, 3),
        max_length=period + beginning,
    )  # fmt: skip
    made = random_transformer(one(*formats), seed, sizes, options)
    if (period, beginning) == (1, 0):
        made = made.replace(position_embedding=np.zeros_like(made.position_embedding))
    return made.replace(period=period)


def harsh(seed: int, attention: str, norm: str) -> Transformer:
    """Scores three times as large, and no ε."""
    options = Options(attention=attention, norm=norm)  # type: ignore[arg-type]
    sizes = Sizes(layers=2, heads=2, width=2, key_width=1, value_width=1, hidden=2, max_length=1, density=0.8)
    random = random_transformer(("fixed:1", "fixed:2", "float:1,1")[seed % 3], seed, sizes, options)
    b = random.format.max_code

    def larger(array: np.ndarray, name: str) -> np.ndarray:
        if name.endswith("epsilon"):
            return array * 0
        return np.clip(array * 3, -b, b) if name.startswith("layers") and ("query" in name or "key" in name) else array

    return map_codes(random, larger).replace(period=1)


def compared(transformer: Transformer, found: Extracted, texts: list[tuple[str, ...]], workers: int | None = None) -> int:
    """Answers, logits and places of 0/0 against the forward pass, over some texts; how many were undefined."""
    runs = transformer.run_batch(texts, workers=workers)
    state, since = read(transformer, found, texts)
    assert np.array_equal(found.answers[state], runs.numbers)
    said = np.flatnonzero(runs.numbers != UNDEFINED)
    assert np.array_equal(found.logits[found.vector[state[said]]], runs.logits[said])
    for k in np.flatnonzero(runs.numbers == UNDEFINED).tolist():
        place = found.place[state[k]]
        error = found.places[place](len(texts[k]) - 1 if place == len(found.places) - 1 else int(since[k]))
        assert (type(error), error.place) == (type(runs.failures[k]), runs.failures[k].place), texts[k]
    return len(runs.failures)


def read(transformer: Transformer, found: Extracted, texts: list[tuple[str, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """The state after each text, and the position since which its place of 0/0 is what it is."""
    number = {token: k for k, token in enumerate(transformer.vocabulary)}
    lengths = np.array([len(text) for text in texts])
    tokens = np.zeros((lengths.max(), len(texts)), np.int64)
    for k, text in enumerate(texts):
        tokens[: len(text), k] = [number[token] for token in text]
    state, since = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    for i, row in enumerate(tokens):
        after = np.where(i < lengths, found.moves[state, row], state)
        since = np.where(found.place[after] != found.place[state], i, since)
        state = after
    return state, since


def short_texts(transformer: Transformer, longest: int) -> list[tuple[str, ...]]:
    return [text for n in range(1, longest + 1) for text in product(transformer.vocabulary, repeat=n)]


def long_texts(transformer: Transformer, count: int, length: int, seed: int) -> list[tuple[str, ...]]:
    tokens = np.random.default_rng(seed).integers(0, len(transformer.vocabulary), (count, length))
    return [tuple(transformer.vocabulary[t] for t in row) for row in tokens]
