"""A transformer for any automaton: the states of a whole prefix in ⌈log₂ n⌉ layers, in formats as small as F(2).

Position i begins with the function δ(x_i, ·): Q → Q as a 0–1 table f. Layer k looks up the table g at position i − 2^k and
composes, f ← f ∘ g, so that after layer k position i holds the function of the 2^(k+1) tokens that end in i. Positions below 2^k
look at themselves, and their composition is switched off. The answer reads the row of the start state.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from glyptic.arguments import Count, checked
from glyptic.exact import FeedForward, Head, Layer, Transformer
from glyptic.languages.automata import Automaton
from glyptic.numbers import Format, encode


@checked
def recogniser(automaton: Automaton, format: Format, max_length: Annotated[int, Count(1, 10_000)]) -> Transformer:
    """A decider of the automaton's language, with the answers NO and YES, for inputs up to a length.

    >>> from glyptic.numbers import Fixed
    >>> from glyptic.languages import tomita
    >>> T = recogniser(tomita(4), Fixed(2), 8)
    >>> T.answer("1001"), T.answer("10001")
    ('YES', 'NO')
    """
    states, levels = len(automaton.moves), max(1, (max_length - 1).bit_length())
    pairs = [(a, c) for a in range(states) for c in range(states)]
    names = [
        "one",
        *(f"stay{k}" for k in range(levels)),
        *(f"f{a}→{c}" for a, c in pairs),
        *(f"g{a}→{c}" for a, c in pairs),
    ]
    names += [f"code.{b}" for b in range(levels)]
    names += [f"back{k}.{b}" for k in range(levels) for b in range(levels)]
    at = {name: place for place, name in enumerate(names)}

    tokens = np.zeros((len(automaton.alphabet), len(names)))
    for symbol in range(len(automaton.alphabet)):
        for a in range(states):
            tokens[symbol, at[f"f{a}→{automaton.moves[a][symbol]}"]] = 1
    output = np.zeros((2, len(names)))
    for q in range(states):
        output[int(q in automaton.accepting), at[f"f{automaton.start}→{q}"]] = 1
    layers = [
        Layer((_look_back(format, at, k, levels, pairs),), _compose(format, at, k, states)) for k in range(levels)
    ]
    return Transformer.of(
        format,
        automaton.alphabet,
        names,
        tokens,
        output,
        ("NO", "YES"),
        position_embedding=_positions(at, max_length, levels),
        layers=layers,
        name=f"recogniser of {automaton.name}",
    )


def _positions(at: dict[str, int], max_length: int, levels: int) -> np.ndarray:
    rows = np.zeros((max_length, len(at)))
    for i in range(max_length):
        rows[i, at["one"]] = 1
        for b in range(levels):
            rows[i, at[f"code.{b}"]] = _bit(i, b)
        for k in range(levels):
            stays = i < 1 << k
            rows[i, at[f"stay{k}"]] = stays
            for b in range(levels):
                rows[i, at[f"back{k}.{b}"]] = _bit(i if stays else i - (1 << k), b)
    return rows


def _bit(number: int, b: int) -> int:
    return 1 if number >> b & 1 else -1


def _look_back(format: Format, at: dict[str, int], k: int, levels: int, pairs: list[tuple[int, int]]) -> Head:
    """Scores 0 at position i − 2^k and −B elsewhere: pairs (code, 1)·(B·code, −B), interleaved so that a mismatch stays −B."""
    B, d = float(format.max), len(at)
    query, key = np.zeros((2 * levels, d)), np.zeros((2 * levels, d))
    for b in range(levels):
        query[2 * b, at[f"back{k}.{b}"]], query[2 * b + 1, at["one"]] = 1, 1
        key[2 * b, at[f"code.{b}"]], key[2 * b + 1, at["one"]] = B, -B
    value, output = np.zeros((len(pairs), d)), np.zeros((d, len(pairs)))
    for row, (a, c) in enumerate(pairs):
        value[row, at[f"f{a}→{c}"]] = 1
        output[at[f"g{a}→{c}"], row] = 1
    return Head.of(format, query, key, value, output)


def _compose(format: Format, at: dict[str, int], k: int, states: int) -> FeedForward:
    """f ← f ∘ g unless the position stays; g ← 0. Hidden units relu(g(a→b) + f(b→c) − 1 − stay), and f, g themselves."""
    rows: list[dict[str, int]] = []
    writes: list[tuple[str, int]] = []
    for a in range(states):
        for c in range(states):
            for b in range(states):
                rows.append({f"g{a}→{b}": 1, f"f{b}→{c}": 1, "one": -1, f"stay{k}": -1})
                writes.append((f"f{a}→{c}", 1))
            rows += [{f"f{a}→{c}": 1, f"stay{k}": -1}, {f"g{a}→{c}": 1}]
            writes += [(f"f{a}→{c}", -1), (f"g{a}→{c}", -1)]
    w1, w2 = np.zeros((len(rows), len(at)), int), np.zeros((len(at), len(rows)), int)
    for unit, (row, (target, sign)) in enumerate(zip(rows, writes, strict=True)):
        for name, weight in row.items():
            w1[unit, at[name]] = weight
        w2[at[target], unit] = sign
    zeros = encode(np.zeros(len(rows)), format), encode(np.zeros(len(at)), format)
    return FeedForward(encode(w1, format), zeros[0], encode(w2, format), zeros[1])
