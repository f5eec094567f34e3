"""Small transformers for these tests, written out by hand."""

from __future__ import annotations

import numpy as np

from glyptic.exact import FeedForward, Head, Layer, Options, Transformer
from glyptic.exact.transformer import map_codes


def identity(format, answers=("NO", "YES")):
    """No layers: the residual's coordinates are the logits."""
    return Transformer.of(format, "01", answers, np.zeros((2, len(answers))), np.eye(len(answers)), answers)


def averaging_majority(format, max_length):
    """More 1s than 0s? Votes ±1 averaged by uniform attention: right in exact arithmetic, wrong once sums saturate."""
    head = Head.of(format, np.zeros((1, 2)), np.zeros((1, 2)), [[1, 0]], [[0], [1]])
    options = Options(answer="logits", ties="first")
    output = [[0, 0], [0, 1]]
    layers = [Layer((head,), None)]
    rest = {"max_length": max_length, "layers": layers, "options": options, "name": "averaging majority"}
    return Transformer.of(format, "01", ("vote", "lead"), [[-1, 0], [1, 0]], output, ("NO", "YES"), **rest)


def last_token(format, max_length):
    """Answers with the last token: under chain of thought it repeats it."""
    return Transformer.of(
        format, "01", ("zero", "one"), np.eye(2), np.eye(2), "01", max_length=max_length, name="last token"
    )


def doubled(format):
    """One feed-forward: y += 2·relu(x)."""
    feed = FeedForward.of(format, [[1, 0]], [0], [[0], [2]], [0, 0])
    return Transformer.of(
        format, "01", ("x", "y"), np.zeros((2, 2)), np.eye(2), ("NO", "YES"), layers=[Layer((), feed)]
    )


def broken(transformer, part, place=0, code=0):
    """The same transformer with one weight changed: the `place`-th nonzero one of a part."""

    def change(codes, name):
        if name != part:
            return codes
        changed = codes.copy()
        spot = np.argwhere(changed)[place]
        changed[tuple(spot)] = code
        return changed

    return map_codes(transformer, change)
