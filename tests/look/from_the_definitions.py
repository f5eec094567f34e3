"""The exact semantics once more, from its definitions: sets of fractions, nearest elements, sums from left to right.

It shares no line with the engines: numbers are looked up in the list of all of them, exp is mpmath's. Slow, and short.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import isqrt
from typing import Any

import mpmath  # type: ignore[import-untyped]

NAMED = {
    "fp16": (5, 10),
    "bf16": (8, 7),
    "fp8_e5m2": (5, 2),
    "fp6_e3m2": (3, 2),
    "fp6_e2m3": (2, 3),
    "fp4_e2m1": (2, 1),
}
Column = list[Fraction]


class Undefined(Exception):
    """0/0 was met: what, layer, head, position."""


def positives(name: str) -> list[Fraction]:
    """All values of a format above 0, in order."""
    kind, *numbers = re.split("[:,]", name)
    sizes = [int(number) for number in numbers if number.isdigit()]
    if kind == "fixed":
        return [Fraction(k, 1 << sizes[0]) for k in range(1, 1 << (2 * sizes[0]))]
    if kind == "q":
        return [Fraction(k, 1 << sizes[1]) for k in range(1, 1 << sum(sizes))]
    if kind == "float":
        e, s = sizes
        powers = range(-(1 << e - 1), 1 << e - 1) if e else range(1)
        return sorted({Fraction(k) * Fraction(2) ** (power - s) for power in powers for k in range(1, 1 << (2 * s))})
    if kind == "fp8_e4m3":  # of OCP: all but S.1111.111 are numbers
        return _ieee(4, 3, 8, Fraction(448))
    e, m = NAMED.get(kind) or sizes
    return _ieee(e, m, (1 << (e - 1)) - 1 + (kind in ("fp6_e3m2", "fp6_e2m3", "fp4_e2m1")), None)


def _ieee(e: int, m: int, greatest: int, top: Fraction | None) -> list[Fraction]:
    least = 2 - (1 << (e - 1))
    found = {Fraction(k) * Fraction(2) ** (least - m) for k in range(1, 1 << m)}
    found |= {
        Fraction((1 << m) + k) * Fraction(2) ** (power - m)
        for power in range(least, greatest + 1)
        for k in range(1 << m)
    }
    return sorted(value for value in found if top is None or value <= top)


class Numbers:
    """A format: its values in order, and the nearest of them."""

    def __init__(self, name: str) -> None:
        base, _, ties = name.partition("/")
        above = positives(base)
        self.even = (ties or ("zero" if base.split(":")[0] in ("fixed", "float", "q") else "even")) == "even"
        self.zero = len(above) + base.startswith("q:")  # where 0 stands; two's complement has one value more below
        below = [-value for value in reversed(above)]
        self.values = [-above[-1] - above[0]] * base.startswith("q:") + below + [Fraction(0)] + above
        self.exp = cache(self._exp)

    def value(self, code: int) -> Fraction:
        return self.values[self.zero + int(code)]

    def code(self, value: Fraction) -> int:
        place = bisect_left(self.values, value)
        assert self.values[place] == value
        return place - self.zero

    def round(self, x: Fraction) -> Fraction:
        place = bisect_left(self.values, x)
        if place == 0:
            return self.values[0]
        if place == len(self.values):
            return self.values[-1]
        low, high = self.values[place - 1], self.values[place]
        if x == high or high - x < x - low:
            return high
        if x - low < high - x:
            return low
        if self.even:
            return low if (place - 1 - self.zero) % 2 == 0 else high
        return low if abs(low) < abs(high) else high

    def _exp(self, x: Fraction) -> Fraction:
        """exp x with 300 digits to spare is as good as exp x: it is no tie, being irrational but at 0."""
        if abs(x) > 4000:  # beyond both ends of every format here
            return self.values[-1] if x > 0 else Fraction(0)
        with mpmath.workdps(2200 if x < -500 or x > 500 else 600):
            mantissa, power = mpmath.frexp(mpmath.exp(mpmath.mpf(x.numerator) / x.denominator))
            return self.round(Fraction(int(mantissa * mpmath.mpf(2) ** 1000)) * Fraction(2) ** (int(power) - 1000))

    def root(self, x: Fraction) -> Fraction:
        """[√x]: of values whose squares enclose x, that at the right side of the middle."""
        scaled = x * (1 << 800)
        floor = isqrt(scaled.numerator // scaled.denominator)
        exact = floor * floor == scaled
        return self.round((Fraction(floor) + (0 if exact else Fraction(1, 2))) / (1 << 400))

    def sum(self, terms: Sequence[Fraction]) -> Fraction:
        total = terms[0]
        for term in terms[1:]:
            total = self.round(total + term)
        return total

    def inner(self, left: Sequence[Fraction], right: Sequence[Fraction], products: str) -> Fraction:
        terms = [a * b for a, b in zip(left, right, strict=True)]
        if not terms:
            return Fraction(0)
        if products == "rounded":
            return self.sum([self.round(term) for term in terms])
        if products == "fused":
            return self.sum([Fraction(0), *terms])
        return self.sum(terms) if len(terms) > 1 else self.round(terms[0])


class Machine:
    """A transformer, run on tokens by the definitions. `stages` keeps what was computed: name -> rows of columns."""

    def __init__(self, transformer: Any, name: str) -> None:
        self.numbers, self.transformer, self.options = Numbers(name), transformer, transformer.options
        self.stages: dict[str, list[list[Fraction]]] = {}

    def matrix(self, codes: Any) -> list[Column]:
        return [[self.numbers.value(code) for code in row] for row in codes]

    def vector(self, codes: Any) -> Column:
        return [self.numbers.value(code) for code in codes]

    def apply(self, matrix: list[Column], x: Column) -> Column:
        return [self.numbers.inner(row, x, self.options.products) for row in matrix]

    def plus(self, x: Column, y: Column) -> Column:
        return [self.numbers.round(a + b) for a, b in zip(x, y, strict=True)]

    def keep(self, name: str, columns: list[Column]) -> None:
        self.stages[name] = [list(row) for row in zip(*columns, strict=True)]

    def visible(self, i: int, n: int) -> range:
        return range({"causal": i + 1, "strict": i, "full": n}[self.options.mask])

    def softmax(self, scores: Column, subtract: bool) -> Column | None:
        if subtract:
            scores = [self.numbers.round(score - max(scores)) for score in scores]
        exps = [self.numbers.exp(score) for score in scores]
        total = self.numbers.sum(exps)
        return None if total == 0 else [self.numbers.round(each / total) for each in exps]

    def weights(self, scores: Column) -> Column | None:
        kind = self.options.attention
        if not scores:
            return []
        if kind in ("softmax", "max-subtracted"):
            return self.softmax(scores, kind == "max-subtracted")
        best = [j for j, score in enumerate(scores) if score == max(scores)]
        one = self.numbers.round(Fraction(1))
        chosen = {"leftmost": best[:1], "rightmost": best[-1:], "average": best}[kind]
        share = self.numbers.round(one / len(chosen))
        return [share if j in chosen else Fraction(0) for j in range(len(scores))]

    def head(self, name: tuple[int, int], head: Any, h: list[Column]) -> list[Column]:
        numbers, n, products = self.numbers, len(h), self.options.products
        q, k, v = ([self.apply(self.matrix(w), x) for x in h] for w in (head.query, head.key, head.value))
        scale = None
        if self.options.scale:
            scale = numbers.root(Fraction(len(head.query)))
        out = []
        all_scores, all_weights, all_mixed = [], [], []
        for i in range(n):
            seen = self.visible(i, n)
            scores = [numbers.inner(q[i], k[j], products) for j in seen]
            if scale is not None:
                scores = [numbers.round(score / scale) for score in scores]
            weights = self.weights(scores)
            if weights is None:
                raise Undefined("attention", *name, i)
            mixed = [numbers.inner(weights, [v[j][r] for j in seen], products) for r in range(len(head.value))]
            all_scores.append(scores)
            all_weights.append(weights)
            all_mixed.append(mixed)
            out.append(self.apply(self.matrix(head.output), mixed))
        place = f"layer.{name[0]}.head.{name[1]}"
        for part, columns in {"query": q, "key": k, "value": v, "mixed": all_mixed, "output": out}.items():
            self.keep(f"{place}.{part}", columns)
        self.stages[f"{place}.scores"], self.stages[f"{place}.weights"] = all_scores, all_weights
        return out

    def norm(self, x: Column, norm: Any, layer: int | None, position: int) -> Column:
        numbers, d = self.numbers, len(x)
        mean = numbers.round(numbers.sum(x) / d)
        centred = [numbers.round(a - mean) for a in x]
        variance = numbers.round(numbers.sum([numbers.round(a * a) for a in centred]) / d)
        deviation = numbers.root(numbers.round(variance + numbers.value(norm.epsilon)))
        if deviation == 0:
            raise Undefined("variance", layer, None, position)
        scaled = [numbers.round(a / deviation) for a in centred]
        gained = [numbers.round(g * a) for g, a in zip(self.vector(norm.gain), scaled, strict=True)]
        return self.plus(gained, self.vector(norm.bias))

    def layer(self, l: int, layer: Any, h: list[Column]) -> list[Column]:
        def attention(x: list[Column]) -> list[Column]:
            total: list[Column] | None = None
            for i, head in enumerate(layer.heads):
                out = self.head((l, i), head, x)
                total = out if total is None else [self.plus(a, b) for a, b in zip(total, out, strict=True)]
            assert total is not None
            self.keep(f"layer.{l}.attention", total)
            return total

        def feed_forward(x: list[Column]) -> list[Column]:
            ff = layer.feed_forward
            w1, w2, b1, b2 = self.matrix(ff.w1), self.matrix(ff.w2), self.vector(ff.b1), self.vector(ff.b2)
            hidden = [[max(a, Fraction(0)) for a in self.plus(self.apply(w1, column), b1)] for column in x]
            out = [self.plus(self.apply(w2, column), b2) for column in hidden]
            self.keep(f"layer.{l}.hidden", hidden)
            self.keep(f"layer.{l}.feed_forward", out)
            return out

        for there, sublayer, norm, after in (
            (layer.heads, attention, layer.attention_norm, "after_attention"),
            (layer.feed_forward is not None, feed_forward, layer.feed_forward_norm, "after_feed_forward"),
        ):
            if there:
                inner = h
                if self.options.norm == "pre" and norm is not None:
                    inner = [self.norm(x, norm, l, i) for i, x in enumerate(h)]
                h = [self.plus(a, b) for a, b in zip(h, sublayer(inner), strict=True)]
                if self.options.norm == "post" and norm is not None:
                    h = [self.norm(x, norm, l, i) for i, x in enumerate(h)]
            self.keep(f"layer.{l}.{after}", h)
        return h

    def answer(self, tokens: Sequence[str]) -> str:
        """The answer; `stages` has every number afterwards."""
        t = self.transformer
        te, pe = self.matrix(t.token_embedding), self.matrix(t.position_embedding)
        h = [self.plus(te[t.vocabulary.index(token)], pe[i]) for i, token in enumerate(tokens)]
        self.keep("embedding", h)
        for l, layer in enumerate(t.layers):
            h = self.layer(l, layer, h)
        if t.final_norm is not None:
            h = [self.norm(x, t.final_norm, None, i) for i, x in enumerate(h)]
            self.keep("final_norm", h)
        logits = self.apply(self.matrix(t.output), h[-1])
        self.keep("logits", [logits])
        shares: Column | None = logits
        if self.options.answer == "softmax":
            shares = self.softmax(logits, self.options.attention == "max-subtracted")
            if shares is None:
                raise Undefined("output", None, None, len(h) - 1)
            self.keep("probabilities", [shares])
        assert shares is not None
        best = [i for i, share in enumerate(shares) if share == max(shares)]
        return "TIE" if len(best) > 1 and self.options.ties == "explicit" else t.answers[best[0]]
