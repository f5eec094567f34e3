"""What dense layers make of a box: a run of layers of twice the width, in which every coordinate is a lower and an upper end.

A lower end is summed from lower ends under positive weights and upper ends under negative ones, in the order of the columns, each
step rounded by the engine: rounding is monotone, so no value inside the box leads below.

>>> doubled(np.array([[3, -2]])).tolist()
[[3, 0, 0, -2], [0, 3, -2, 0]]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from glyptic.exact.answers import given
from glyptic.exact.forward import Prepared, PreparedFeedForward, forward
from glyptic.exact.running import prepared_for
from glyptic.exact.transformer import Transformer
from glyptic.exact.weights import FeedForward
from glyptic.numbers import Codes
from glyptic.numbers.hosts import Engine, arithmetic_for
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.claim import Claim, Layers, Values
from glyptic.prove.claims.evaluation import Inexpressible, Partial
from glyptic.prove.elements.batches import brought, part_codes, residual_codes
from glyptic.prove.methods.bounds.spans import Maybe, Span, SpanArithmetic, SpanSetting


def doubled(codes: Codes) -> Codes:
    """A matrix on coordinates as one on their ends, interleaved: low, high, low, high, …"""
    rows, columns = codes.shape
    out = np.zeros((2 * rows, 2 * columns), codes.dtype)
    for i, k in np.argwhere(codes):
        out[2 * i, 2 * k + int(codes[i, k] < 0)] = codes[i, k]
        out[2 * i + 1, 2 * k + int(codes[i, k] > 0)] = codes[i, k]
    return out


class BoxSetting(SpanSetting):
    """What a claim's names stand for on boxes of its free values: codes low to high, (free, boxes)."""

    def __init__(self, claim: Claim, low: Codes, high: Codes, engine: Engine = "auto") -> None:
        subject, self.claim, self.size = claim.subject, claim, low.shape[1]
        self.never = Maybe(np.zeros(self.size, bool), np.zeros(self.size, bool))
        if isinstance(subject, Values):
            assert subject.format is not None
            self.arithmetic = SpanArithmetic(arithmetic_for(subject.format, engine=engine))
            spans = [self.arithmetic.between(a, b) for a, b in zip(low, high, strict=True)]
            self.variables = dict(zip(subject.names, spans, strict=True))
            return
        assert isinstance(subject, Layers)
        self.runs = {name: _Run(subject, name, low, high, engine) for name in subject.transformers}
        self.arithmetic = next(iter(self.runs.values())).arithmetic

    def read(self, node: Any) -> Partial:
        if isinstance(node, e.Variable):
            return Partial(self.variables[node.name], self.never)
        if isinstance(node, e.Attention):
            raise Inexpressible(f"{node}: attention is not bounded here")
        return Partial(self._brought(self.runs[node.of], self.runs[node.of].read(node)), self.never)

    def _brought(self, run: _Run, span: Span) -> Span:
        """A span of a run in the numbers of the first: two transformers may run in different hosts, one in fractions."""
        return Span(*(brought(end, run.whole.arithmetic, self.arithmetic.engine) for end in span))

    def word(self, node: e.Word) -> dict[str, Maybe]:
        if isinstance(node, e.Text):
            return {node.text: self.negation(self.never)}
        assert isinstance(node, e.Answer)
        return self._answer(self.runs[node.of])

    def decide(self, node: Any) -> Maybe:
        return self.negation(self.never)  # Defined: dense layers divide by nothing

    def _answer(self, run: _Run) -> dict[str, Maybe]:
        """Each answer with where it is given, TIE and UNDEFINED among them."""
        options, undefined = run.transformer.options, self.never
        contest = [self._brought(run, logit) for logit in run.logits()]
        if options.answer == "softmax":
            contest, undefined = self._shares(contest, subtracted=options.attention == "max-subtracted")
        return given(run.transformer, contest, undefined, self)

    def _shares(self, logits: list[Span], subtracted: bool) -> tuple[list[Span], Maybe]:
        """The softmax, and where it is 0/0."""
        if subtracted:
            largest = logits[0]
            for other in logits[1:]:
                largest = self.arithmetic.larger(largest, other)
            logits = [self.arithmetic.subtract(one, largest) for one in logits]
        exps = [self.arithmetic.exp(one) for one in logits]
        total = exps[0]
        for one in exps[1:]:
            total = self.arithmetic.add(total, one)
        undefined = self.compare("=", total, self.arithmetic.values(np.array([0])))
        total = self.replaced(total, undefined, 1)
        return [self.arithmetic.divide(one, total) for one in exps], undefined


class _Run:
    """One transformer's dense layers on boxes: residuals of interleaved ends, (2d, positions, boxes)."""

    def __init__(self, subject: Layers, name: str, low: Codes, high: Codes, engine: Engine) -> None:
        self.subject, self.transformer = subject, subject.transformers[name]
        self.whole = prepared_for(self.transformer, engine)
        self.arithmetic = SpanArithmetic(self.whole.arithmetic)
        ends = [residual_codes(subject, name, codes) for codes in (low, high)]
        interleaved = np.stack(ends, axis=1).reshape(2 * len(ends[0]), *ends[0].shape[1:])
        self.before = self.whole.arithmetic.values(interleaved)
        layers = _doubled_layers(subject, self.transformer, self.whole)
        self.after, _ = forward(layers, self.before)

    def read(self, node: e.Coordinate | e.Logit | e.Parameter) -> Span:
        if isinstance(node, e.Parameter):
            return self.arithmetic.values(part_codes(self.transformer, node.part)[node.index][None])
        if isinstance(node, e.Logit):
            return self.logits()[self.transformer.answers.index(node.answer)]
        side, row = self.before if node.stage == "before" else self.after, self.transformer.coordinate(node.coordinate)
        return Span(side[2 * row, node.position], side[2 * row + 1, node.position])

    def logits(self) -> list[Span]:
        engine = self.whole.arithmetic
        ends = engine.linear(engine.weights(doubled(self.transformer.output)), self.after[:, -1:])
        if self.transformer.output_bias is not None:
            ends = engine.add(ends, engine.values(np.repeat(self.transformer.output_bias, 2))[:, None, None])
        ends = ends[:, 0]
        return [Span(ends[2 * k], ends[2 * k + 1]) for k in range(len(self.transformer.answers))]


def refusal(claim: Claim) -> str | None:
    """Why a claim cannot be bounded: attention, norms, gates, free weights; None if it can."""
    subject = claim.subject
    if isinstance(subject, Values):
        return None
    if not isinstance(subject, Layers):
        return "whole inputs have no boxes"
    if subject.free_weights:
        return "free weights are not bounded"
    for transformer in subject.transformers.values():
        if transformer.options.products == "unrounded":
            return "options.products is 'unrounded', and columns are doubled here: a sum would begin with another pair"
        layers = transformer.layers[subject.first : subject.last]
        last = len(transformer.layers) if subject.last is None else subject.last
        if any(layer.heads for layer in layers):
            return "attention is not bounded, dense layers are"
        for layer in layers:
            if layer.feed_forward is not None and layer.feed_forward.activation != "relu":
                return f"{layer.feed_forward.activation} falls and rises, so ends do not lead to ends"
            if layer.feed_forward is not None and layer.feed_forward.gate is not None:
                return "gated feed-forwards are not bounded"
        norms = any(layer.feed_forward_norm is not None for layer in layers)
        if norms or (last == len(transformer.layers) and transformer.final_norm is not None):
            return "LayerNorm and RMSNorm are not bounded"
    return None


def _doubled_layers(subject: Layers, transformer: Transformer, whole: Prepared) -> Prepared:
    part, engine = whole.part(subject.first, subject.last), whole.arithmetic

    def feed_forward(of: FeedForward | None) -> Any:
        if of is None:
            return None
        b1, b2 = (engine.values(np.repeat(b, 2))[:, None, None] for b in (of.b1, of.b2))
        return PreparedFeedForward(engine.weights(doubled(of.w1)), b1, engine.weights(doubled(of.w2)), b2, None, None, "relu")

    layers = transformer.layers[subject.first : subject.last]
    made = (
        replace(layer, feed_forward=feed_forward(of.feed_forward)) for layer, of in zip(part.layers, layers, strict=True)
    )
    return replace(part, layers=tuple(made))
