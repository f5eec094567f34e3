"""Blocks aimed at what a simplifier may get wrong: case splits, masked scores, shared subterms.

Two layers of weights 0, ±1, ±½, ±B: feed-forwards that write relus, heads that score on them, on what they were made of, and
on constants, with keys that several heads share and flags that mask by −B. And claims that only a wrong domain can prove.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.exact import FeedForward, Head, Layer, Options, Transformer
from glyptic.numbers import encode, parse_format
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Layers

FORMATS = ["fixed:10", "fp16", "ieee:5,9", "q:6,10", "fixed:10/even", "fp16/zero", "fixed:2", "fixed:3", "float:3,2", "q:2,3"]
COORDINATES = ("x", "y", "p", "q", "o", "one", "flag")
ONES = 0.92  # the share of weights that are 1, by which values stay what they are and are shared
AT = {name: k for k, name in enumerate(COORDINATES)}


def random_split(format: str, number: int) -> Claim:
    """The claim of a seed; three in a row are about the same block."""
    rng = random.Random(f"splits {format} {number // 3}")
    transformer, positions = split_transformer(rng, format), rng.choice([1, 1, 2])
    free = [("x", positions - 1)]
    if parse_format(format).size <= 40 and rng.random() < 0.5:
        free.append(("y", 0))
    fixed: dict[tuple[str, int], Any] = {("one", i): "least" if _one(format) is None else _one(format) for i in range(positions)}
    fixed |= {("flag", i): fixed["one", 0] for i in range(positions) if rng.random() < 0.5}
    fixed |= {("x", i): rng.choice(["B", "-B", fixed["one", 0]]) for i in range(positions - 1) if rng.random() < 0.6}
    subject = Layers({"": transformer}, 0, None, positions, tuple(free), fixed)
    ensures, requires = _claimed(random.Random(f"claim {format} {number}"), format, positions)
    return Claim(subject, ensures, requires)


def _one(format: str) -> Fraction | None:
    return Fraction(1) if parse_format(format).max >= 1 else None


def _row(rng: random.Random, format: str, *names: str) -> np.ndarray:
    """A row that reads coordinates with simple weights, mostly 1."""
    F = parse_format(format)
    row = np.zeros(len(COORDINATES), np.int64)
    for name in names:
        number = 1 if rng.random() < ONES else rng.choice([-1, Fraction(1, 2), F.max, -F.max])
        row[AT[name]] = F.code(F.round(Fraction(number)))
    return row


def _feed_forward(rng: random.Random, format: str, reads: list[str], writes: list[str]) -> FeedForward:
    m, d, F = rng.choice([1, 1, 2, 3]), len(COORDINATES), parse_format(format)
    w1 = np.stack([_row(rng, format, *rng.sample(reads, rng.choice([1, 1, 1, 1, 2]))) for _ in range(m)])
    w2 = np.zeros((d, m), np.int64)
    for unit in range(m):
        target = writes[unit] if unit < len(writes) and rng.random() < 0.8 else rng.choice(writes)
        w2[AT[target], unit] = F.code(F.round(Fraction(1 if rng.random() < ONES else rng.choice([-1, F.max]))))
    zero = lambda n: np.zeros(n, np.int64)  # noqa: E731
    bias = zero(m)
    if rng.random() < 0.3:
        bias[rng.randrange(m)] = F.code(F.round(Fraction(rng.choice([1, -1, F.max, -F.max]))))
    return FeedForward(w1, bias, w2, zero(d))


def _heads(rng: random.Random, format: str) -> tuple[Head, ...]:
    """Heads that score on what was split and on what it was split from; queries and keys come from small pools, so are shared."""
    queries = [_row(rng, format, name) for name in ("one", rng.choice(["one", "p", "flag"]))]
    keys = [_row(rng, format, name) for name in rng.choice(["xp", "xp", "xp", "xq", "pq", "xpq"])]
    keys += [_row(rng, format, rng.choice("xp"), rng.choice(["flag", "one"]))] * (rng.random() < 0.3)
    rng.shuffle(keys)
    made = []
    for h in range(rng.choice([1, 2, 2, 2, 2, 2, 3])):
        query, key = ([queries[0] if rng.random() < 0.8 else queries[1]], [keys[h % len(keys)]])
        if rng.random() < 0.15:
            query, key = [*query, queries[1]], [*key, rng.choice(keys)]
        output = np.zeros((len(COORDINATES), 1), np.int64)
        output[AT["o"], 0] = encode([1], parse_format(format), nearest=True)[0]
        made.append(Head(np.stack(query), np.stack(key), _row(rng, format, rng.choice(["x", "p", "one"]))[None], output))
    return tuple(made)


def split_transformer(rng: random.Random, format: str) -> Transformer:
    F, d = parse_format(format), len(COORDINATES)
    writing = _feed_forward(rng, format, ["x", "x", "x", "y"], ["p", "q"])
    first = Layer(_heads(rng, format) if rng.random() < 0.15 else (), writing)
    after = _feed_forward(rng, format, ["o", "p"], ["y", "q"]) if rng.random() < 0.3 else None
    options = Options(
        attention=rng.choice(["softmax", "softmax", "softmax", "softmax", "max-subtracted"]),
        products=rng.choice(["rounded", "rounded", "rounded", "fused"]),
        answer="logits",
    )
    zeros = np.zeros((2, d), np.int64)
    layers = (first, Layer(_heads(rng, format), after))
    return Transformer(F, ("0", "1"), COORDINATES, zeros, zeros, layers, zeros, ("0", "1"), options)


def _claimed(rng: random.Random, format: str, positions: int) -> tuple[e.Condition, e.Condition]:
    """What is claimed, and of what: mostly what is false somewhere, so that a proof shows a domain that leaves values out."""
    F = parse_format(format)
    x, here = e.before("x", positions - 1), positions - 1
    point = e.Constant(F.value(_some_code(rng, F)))
    pinned: tuple[e.Condition, e.Condition] = (e.Junction("or", ()), x == point)
    choices: list[tuple[e.Condition, e.Condition]] = [
        *[pinned] * 3,
        (e.defined(), e.TRUE),
        (x != point, e.TRUE),
        (rng.choice([x >= point, x <= point]), e.TRUE),
        (e.defined(), rng.choice([x >= point, x <= point])),
        (e.defined() >> (e.after("o", here) >= e.before("o", here)), e.TRUE),
        (e.defined() >> (e.after("x", here) == x), e.TRUE),
        (e.after("p", here) >= 0, e.TRUE),
    ]
    return rng.choice(choices)


def _some_code(rng: random.Random, F: Any) -> int:
    near = [0, 1, -1, F.max_code, F.min_code, F.code(F.round(Fraction(1))), F.code(F.round(Fraction(-8)))]
    return rng.choice(near) if rng.random() < 0.4 else rng.randint(F.min_code, F.max_code)
