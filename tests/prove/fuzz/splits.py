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
from glyptic.prove import expressions as e
from glyptic.prove.claims import Block, Claim

FORMATS = ["fixed:10", "fp16", "ieee:5,9", "q:6,10", "fixed:10/even", "fp16/zero", "fixed:2", "fixed:3", "float:3,2", "q:2,3"]
COORDINATES = ("x", "y", "p", "q", "o", "one", "flag")
AT = {name: k for k, name in enumerate(COORDINATES)}


def random_split(format: str, number: int) -> Claim:
    """The claim of a seed."""
    rng = random.Random(f"splits {format} {number}")
    transformer, positions = split_transformer(rng, format), rng.choice([1, 1, 2])
    free = [("x", positions - 1)]
    if parse_format(format).size <= 40 and rng.random() < 0.5:
        free.append(("y", 0))
    fixed: dict[tuple[str, int], Any] = {("one", i): "least" if _one(format) is None else _one(format) for i in range(positions)}
    fixed |= {("flag", i): fixed["one", 0] for i in range(positions) if rng.random() < 0.5}
    fixed |= {("x", i): rng.choice(["B", "-B", fixed["one", 0]]) for i in range(positions - 1) if rng.random() < 0.6}
    subject = Block({"": transformer}, 0, None, positions, tuple(free), fixed)
    ensures, requires = _claimed(rng, format, positions)
    return Claim(subject, ensures, requires)


def _one(format: str) -> Fraction | None:
    return Fraction(1) if parse_format(format).max >= 1 else None


def _row(rng: random.Random, format: str, *names: str) -> np.ndarray:
    """A row that reads coordinates with simple weights, mostly 1."""
    F = parse_format(format)
    row = np.zeros(len(COORDINATES), np.int64)
    for name in names:
        number = 1 if rng.random() < 0.7 else rng.choice([-1, Fraction(1, 2), F.max, -F.max])
        row[AT[name]] = F.code(F.round(Fraction(number)))
    return row


def _feed_forward(rng: random.Random, format: str, reads: list[str], writes: list[str]) -> FeedForward:
    m, d, F = rng.randint(1, 3), len(COORDINATES), parse_format(format)
    w1 = np.stack([_row(rng, format, *rng.sample(reads, rng.choice([1, 1, 1, 2]))) for _ in range(m)])
    w2 = np.zeros((d, m), np.int64)
    for unit in range(m):
        w2[AT[rng.choice(writes)], unit] = F.code(F.round(Fraction(rng.choice([1, 1, 1, -1, F.max]))))
    zero = lambda n: np.zeros(n, np.int64)  # noqa: E731
    bias = zero(m)
    if rng.random() < 0.3:
        bias[rng.randrange(m)] = F.code(F.round(Fraction(rng.choice([1, -1, F.max, -F.max]))))
    return FeedForward(w1, bias, w2, zero(d))


def _heads(rng: random.Random, format: str) -> tuple[Head, ...]:
    """One to three heads; keys and queries are drawn from small pools, so that they are shared."""
    queries = [_row(rng, format, rng.choice(["one", "one", "one", "p", "flag"])) for _ in range(2)]
    keys = [_row(rng, format, name) for name in rng.sample(["x", "p", "q", "x", "p"], 3)]
    keys += [_row(rng, format, rng.choice(["x", "p"]), rng.choice(["flag", "one"]))] * (rng.random() < 0.3)
    made = []
    for _ in range(rng.choice([1, 2, 2, 2, 3])):
        value = _row(rng, format, rng.choice(["x", "p", "one"]))
        output = np.zeros((len(COORDINATES), 1), np.int64)
        output[AT["o"], 0] = encode([1], parse_format(format), nearest=True)[0]
        rows = rng.choice([1, 1, 1, 2])
        query, key = (np.stack([rng.choice(pool) for _ in range(rows)]) for pool in (queries, keys))
        made.append(Head(query, key, value[None], output))
    return tuple(made)


def split_transformer(rng: random.Random, format: str) -> Transformer:
    F, d = parse_format(format), len(COORDINATES)
    first = Layer(_heads(rng, format) if rng.random() < 0.15 else (), _feed_forward(rng, format, ["x", "y"], ["p", "q"]))
    after = _feed_forward(rng, format, ["o", "p"], ["y", "q"]) if rng.random() < 0.3 else None
    options = Options(
        attention=rng.choice(["softmax", "softmax", "softmax", "max-subtracted"]),
        products=rng.choice(["rounded", "rounded", "rounded", "fused"]),
        answer="logits",
    )
    zeros = np.zeros((2, d), np.int64)
    return Transformer(F, ("0", "1"), COORDINATES, zeros, zeros, (first, Layer(_heads(rng, format), after)), zeros, ("0", "1"), options)


def _claimed(rng: random.Random, format: str, positions: int) -> tuple[e.Condition, e.Condition]:
    """What is claimed, and of what: mostly what is false somewhere, so that a proof of it shows a domain that leaves values out."""
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
