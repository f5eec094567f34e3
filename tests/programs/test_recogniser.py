"""The recogniser of an automaton: its weights against the construction in plain arrays, its answers against the automaton."""

from itertools import product

import numpy as np
import pytest

from glyptic.errors import FormatError, InputError, ModelError
from glyptic.languages import Automaton, regular, tomita
from glyptic.numbers import Fixed, parse_format
from glyptic.programs import by_name, recogniser

TEXTS = ["".join(text) for n in range(1, 10) for text in product("01", repeat=n)]


def in_arrays(automaton: Automaton, B: float, n: int) -> list[np.ndarray]:
    """Every weight as a number: the embeddings, the output, then query, key, value, W_O, W_1 and W_2 of each layer."""
    s, levels = len(automaton.moves), max(1, (n - 1).bit_length())
    f, g = 1 + levels, 1 + levels + s * s  # where the tables begin; then the code, then a pointer for each layer
    code = g + s * s
    d = code + levels + levels * levels

    def bits(number: int) -> list[int]:
        return [2 * (number >> b & 1) - 1 for b in range(levels)]

    tokens, positions, output = np.zeros((len(automaton.alphabet), d)), np.zeros((n, d)), np.zeros((2, d))
    for (a, row), symbol in product(enumerate(automaton.moves), range(len(automaton.alphabet))):
        tokens[symbol, f + a * s + row[symbol]] = 1
    for i in range(n):
        stays = [int(i < 1 << k) for k in range(levels)]
        back = [bit for k in range(levels) for bit in bits(i if stays[k] else i - (1 << k))]
        positions[i, [0, *range(1, f), *range(code, d)]] = [1, *stays, *bits(i), *back]
    for q in range(s):
        output[int(q in automaton.accepting), f + automaton.start * s + q] = 1
    arrays = [tokens, positions, output]
    for k in range(levels):
        query, key, value = np.zeros((2 * levels, d)), np.zeros((2 * levels, d)), np.zeros((s * s, d))
        query[1::2, 0], key[1::2, 0] = 1, -B
        for b in range(levels):
            query[2 * b, code + levels * (k + 1) + b], key[2 * b, code + b] = 1, B
        value[:, f:g] = np.eye(s * s)
        units, targets = [], []
        for a, c in product(range(s), range(s)):
            here = [*({g + a * s + b: 1, f + b * s + c: 1, 0: -1, 1 + k: -1} for b in range(s))]
            units += [*here, {f + a * s + c: 1, 1 + k: -1}, {g + a * s + c: 1}]
            targets += [*[(f + a * s + c, 1)] * s, (f + a * s + c, -1), (g + a * s + c, -1)]
        w1, w2 = np.zeros((len(units), d)), np.zeros((d, len(units)))
        for unit, (row, (target, sign)) in enumerate(zip(units, targets, strict=True)):
            w1[unit, list(row)], w2[target, unit] = list(row.values()), sign
        arrays += [query, key, value, np.roll(value.T, s * s, axis=0), w1, w2]
    return arrays


@pytest.mark.parametrize("format", ["fixed:2", "float:4,3", "fp16"])
@pytest.mark.parametrize("number", range(1, 8))
def test_weights_are_those_of_the_construction(number: int, format: str) -> None:
    F = parse_format(format)
    for n in (1, 2, 5, 16):
        T = recogniser(tomita(number), F, n)
        made = [T.token_embedding, T.position_embedding, T.output]
        for layer in T.layers:
            (head,), ff = layer.heads, layer.feed_forward
            assert ff is not None and not ff.b1.any() and not ff.b2.any()
            made += [head.query, head.key, head.value, head.output, ff.w1, ff.w2]
        for codes, numbers in zip(made, in_arrays(tomita(number), float(F.max), n), strict=True):
            values = {code: float(F.value(int(code))) for code in np.unique(codes)}
            assert np.array_equal(np.vectorize(values.__getitem__, otypes=[float])(codes), numbers)


@pytest.mark.parametrize("format", ["fixed:2", "fixed:8"])
@pytest.mark.parametrize("expression", ["(01)*", "~(.*11.*)&(..)*", "(0|1(01*0)*1)*", "", "~()"])
def test_answers_are_those_of_the_automaton(expression: str, format: str) -> None:
    automaton = regular(expression)
    for T in (recogniser(automaton, parse_format(format), 9), by_name(f"regex:{expression},9", format)):
        assert T.run_batch(TEXTS).answers == tuple("YES" if automaton.accepts(text) else "NO" for text in TEXTS)


def test_what_cannot_be_built_is_one_sentence() -> None:
    with pytest.raises(ModelError, match=r"of 2048 states and inputs up to 8, would have .* choose a smaller automaton"):
        recogniser(regular(".*1.........."), Fixed(2), 8)
    with pytest.raises(InputError, match="max_length is 0"):
        recogniser(tomita(1), Fixed(2), 0)
    for name in ("regex:(01)*,8", "tomita:4,8"):
        with pytest.raises(FormatError, match="counts to 2, and fixed:1 has the whole numbers only up to 1"):
            by_name(name, "fixed:1")
        assert by_name(name, "fixed:1", force=True).format == Fixed(1)
