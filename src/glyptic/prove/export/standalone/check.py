"""Checks a claim about transformers in finite precision, and the verdict on it, from their definitions alone.

    python check.py FOLDER            the claim in FOLDER/claim.json, the verdict there or in FOLDER/verdict.json; and, with
                                      files.py beside this file, all else that an exported folder holds (its own unless said)
    python check.py FILE.json         a file with both
    --limit N                         walk through at most N elements (20,000 unless said); larger claims are sampled

For a claim and its verdict this file is the whole program: Python's standard library, no package, no floating-point number. It
says line by line what it has verified, what it could only try, and what it takes on trust. Exit status: 0 if nothing contradicts
the verdict, 1 if something does, 2 if the input cannot be read (one sentence says why).

Sections: 1 numbers · 2 the transformer · 3 reading files · 4 what a claim means · 5 the claim in words · 6 what it ranges over
· 7 the verdict · 8 the command. What a claim means is all in 1, 2, 4 (from `Element` on) and 6: that is what to read first. The
rest refuses files that are not what they should be, prints, and compares.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice, product
from math import isqrt, prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# 1 NUMBERS ============================================================================================================
#
# A format is a finite set of numbers. All of them are whole multiples of one unit, 2^−f, so a value is held as the integer
# number of its units. Values with at most p bits are all there; longer ones must end in zeros (floating point); nothing lies
# above `top` or below `bottom`. There is no infinity: what is too large becomes `top`, which the notes call B or ∞.
# A value's code is its signed rank: 0 for 0, 1 for the least positive value, and so on.


class Unreadable(Exception):
    """The input is not what it should be: status 2."""


class Unable(Exception):
    """Something that this program cannot compute, such as a Python predicate: it is then taken on trust, and said so."""


@dataclass(frozen=True)
class Format:
    """The values n · 2^−f for integers n with at most p leading bits, from bottom to top."""

    name: str
    f: int
    p: int
    top: int
    bottom: int
    ties_to_even: bool = False  # else a tie goes to the value nearer to 0
    subnormals: bool = True  # without them the values between −2^(p−1) and 2^(p−1) units are missing, but for 0

    @property
    def in_one(self) -> int:
        """How many units the number 1 has."""
        return 1 << self.f

    @property
    def least(self) -> int:
        return 1 if self.subnormals else 1 << (self.p - 1)

    # Rounding -----------------------------------------------------------------------------------------------------------

    def rounded(self, numerator: Any, denominator: int = 1) -> Any:
        """The value nearest to numerator/denominator units; the denominator is positive."""
        if numerator >= self.top * denominator:
            return self.top
        if numerator <= self.bottom * denominator:
            return self.bottom
        size = self._nearest(abs(numerator), denominator)
        return size if numerator > 0 else -size

    def _nearest(self, numerator: int, denominator: int) -> int:
        if not self.subnormals and numerator < self.least * denominator:  # between 0 and the least value; a tie goes to 0
            return self.least if 2 * numerator > self.least * denominator else 0
        spacing = 1 << max(0, (numerator // denominator).bit_length() - self.p)
        below, rest = divmod(numerator, denominator * spacing)
        twice, whole = 2 * rest, denominator * spacing
        up = twice > whole or (twice == whole and self.ties_to_even and below % 2 == 1)
        return (below + up) * spacing

    # Codes and fractions ------------------------------------------------------------------------------------------------

    def code(self, units: int) -> int:
        """The signed rank of a value."""
        shift = max(0, abs(units).bit_length() - self.p)
        rank = (shift << (self.p - 1)) + (abs(units) >> shift) - (self.least - 1 if units else 0)
        return rank if units >= 0 else -rank

    def units(self, code: int) -> Any:
        """The value of a code."""
        if code == 0:
            return 0
        rank, half = abs(code) + self.least - 1, 1 << (self.p - 1)
        shift = max(0, rank // half - 1)
        size = (rank - shift * half) << shift
        return size if code > 0 else -size

    def codes(self) -> tuple[int, int]:
        """The first and the last code."""
        return self.code(self.bottom), self.code(self.top)

    def holds(self, code: int) -> bool:
        first, last = self.codes()
        return first <= code <= last

    def number(self, units: Any) -> Fraction:
        return Fraction(units, self.in_one)

    def value(self, number: Fraction) -> Any:
        """A number that must be a value of the format, in units."""
        units = number * self.in_one
        if self.rounded(units.numerator, units.denominator) != units:
            raise Unreadable(f"{number} is not a value of {self.name}.")
        return units.numerator if units.denominator == 1 else units

    # Operations: the exact result, then one rounding --------------------------------------------------------------------

    def add(self, a: Any, b: Any) -> Any:
        return self.rounded(a + b)

    def subtract(self, a: Any, b: Any) -> Any:
        return self.rounded(a - b)

    def multiply(self, a: Any, b: Any) -> Any:
        return self.rounded(a * b, self.in_one)

    def fused(self, total: Any, a: Any, b: Any) -> Any:
        """[total + a·b], the product unrounded."""
        return self.rounded(total * self.in_one + a * b, self.in_one)

    def divide(self, a: Any, b: Any) -> Any:
        """[a/b]; b is not 0."""
        return self.rounded(a * self.in_one if b > 0 else -a * self.in_one, abs(b))

    def divide_by_count(self, a: Any, count: int) -> Any:
        return self.rounded(a, count)

    def one(self) -> Any:
        return self.rounded(self.in_one)

    def root(self, a: Any) -> Any:
        """[√a] for a ≥ 0: √(n·2^−f) is √(n·2^f) units."""
        return self._root_units(a << self.f)

    def root_of_count(self, n: int) -> Any:
        return self._root_units(n << (2 * self.f))

    def _root_units(self, square: int) -> int:
        """Results change at multiples of half a unit only: halves are counted, and a remainder says 'a little more'."""
        halves = isqrt(4 * square)
        return self.rounded(halves, 2) if halves * halves == 4 * square else self.rounded(2 * halves + 1, 4)

    def exp(self, a: Any) -> Any:
        """[exp a]. exp 0 = 1; of no other rational is exp rational, so tight enough bounds round to one value (Lindemann)."""
        known = _EXP.get((self, a))
        if known is None:
            known = _EXP[self, a] = self.one() if a == 0 else self._exp(a)
        return known

    def _exp(self, a: int) -> int:
        size, bits = abs(a), 64
        if a > 0 and size >= (self.top.bit_length() + 1) * self.in_one:
            return self.top  # e^x > 2^x
        if a < 0 and size >= (self.f + 2) * self.in_one:
            return 0  # e^−x < 2^−x, which is below half a unit
        while True:
            low, high = exp_bounds(Fraction(size, self.in_one), bits)  # e^|x|, in units of 2^−bits
            if a > 0:
                ends = {self.rounded(low << self.f, 1 << bits), self.rounded(high << self.f, 1 << bits)}
            else:
                ends = {self.rounded(1 << (bits + self.f), high), self.rounded(1 << (bits + self.f), low)}
            if len(ends) == 1:
                return ends.pop()
            bits *= 2


_EXP: dict[tuple[Format, Any], Any] = {}


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers with low ≤ 2^bits · e^x ≤ high, for x > 0.

    x is halved k times until it is at most ½. There e^x = Σ x^i/i!, and what follows a term is less than that term, for each
    is at most half of the one before. The k halvings are undone by k squarings. Low ends are rounded down, high ends up.
    """
    halvings = max(0, (2 * x.numerator // x.denominator).bit_length())
    n, d = x.numerator, x.denominator << halvings
    low = high = term_low = term_high = 1 << bits
    i = 0
    while term_high > 1:
        i += 1
        term_low, term_high = term_low * n // (d * i), -(-term_high * n // (d * i))
        low, high = low + term_low, high + term_high
    high += term_high
    for _ in range(halvings):
        low, high = low * low >> bits, -(-high * high >> bits)
    return low, high


class Rationals(Format):
    """`exact`: no rounding at all. A unit is 1, values are fractions, and a code counts multiples of 1/p."""

    def rounded(self, numerator: Any, denominator: int = 1) -> Any:
        return Fraction(numerator) / denominator

    def code(self, units: Any) -> int:
        return int(units * self.p)

    def units(self, code: int) -> Any:
        return Fraction(code, self.p)

    def codes(self) -> tuple[int, int]:
        return -(1 << 63) + 1, (1 << 63) - 1

    def root(self, a: Any) -> Any:
        top, bottom = isqrt(a.numerator), isqrt(a.denominator)
        if Fraction(top * top, bottom * bottom) != a:
            raise Unable(f"the square root of {a} is irrational")
        return Fraction(top, bottom)

    def root_of_count(self, n: int) -> Any:
        return self.root(Fraction(n))

    def _exp(self, a: Any) -> Any:
        raise Unable(f"exp({a}) is irrational")


def _float(name: str, f: int, p: int, spacings: int, top: int, even: bool, subnormals: bool = True) -> Format:
    """Spacings of 1, 2, 4 … 2^spacings units; `top` is the largest significand at the widest."""
    return Format(name, f, p, top << spacings, -(top << spacings), even, subnormals)


def _ieee(name: str, e: int, m: int, subnormals: bool = True) -> Format:
    """IEEE 754's layout, its top exponent given away: m mantissa bits, the least unit 2^(2 − 2^(e−1) − m)."""
    return _float(name, (1 << (e - 1)) - 2 + m, m + 1, (1 << e) - 3, (2 << m) - 1, True, subnormals)


def _small(name: str, e: int, m: int, top: int) -> Format:
    """The OCP formats that keep their top exponent for numbers."""
    return _float(name, (1 << (e - 1)) - 2 + m, m + 1, (1 << e) - 2, top, True)


_NAMED = {
    "fp32": _ieee("fp32", 8, 23),
    "fp16": _ieee("fp16", 5, 10),
    "bf16": _ieee("bf16", 8, 7),
    "fp8_e5m2": _ieee("fp8_e5m2", 5, 2),
    "fp8_e4m3": _small("fp8_e4m3", 4, 3, 14),  # 448; the code of 480 means NaN there
    "fp6_e3m2": _small("fp6_e3m2", 3, 2, 7),
    "fp6_e2m3": _small("fp6_e2m3", 2, 3, 15),
    "fp4_e2m1": _small("fp4_e2m1", 2, 1, 3),
}


def format_named(text: str) -> Format:
    """The format of a name such as fixed:4, float:3,2, q:4,4, ieee:5,6,normal or fp16, with /even or /zero for ties.

    >>> [format_named(name).codes() for name in ("fixed:2", "float:1,1", "q:1,1", "fp8_e4m3")]
    [(-15, 15), (-5, 5), (-4, 3), (-126, 126)]
    """
    name, slash, ties = text.partition("/")
    found = _NAMED.get(name) or _family(name)
    if found is None or (slash and ties not in ("even", "zero")):
        raise Unreadable(f"{text!r} is not a format; formats are fixed:4, float:3,2, q:4,4, ieee:5,6, fp16 and their like.")
    return replace(found, name=text, ties_to_even=ties == "even" if slash else found.ties_to_even)


def _family(name: str) -> Format | None:
    match = re.fullmatch(r"(fixed|float|q|ieee|exact)(?::(\d{1,4}(?:,\d{1,4})?)(,normal)?)?", name, re.ASCII)
    if match is None or (match[3] and match[1] != "ieee"):
        return None
    numbers = tuple(map(int, match[2].split(","))) if match[2] else ()
    match match[1], numbers:
        case "exact", ():
            return Rationals(name, 0, 1, 0, 0)
        case "exact", (d,) if d >= 1:
            return Rationals(name, 0, d, 0, 0)
        case ("fixed", (s,)) | ("float", (0, s)) if 1 <= s <= 512:
            return Format(name, s, 2 * s, (1 << 2 * s) - 1, 1 - (1 << 2 * s))
        case "float", (e, s) if 1 <= e <= 16 and 1 <= s <= 512:
            return _float(name, s + (1 << (e - 1)), 2 * s, (1 << e) - 1, (1 << 2 * s) - 1, False)
        case "q", (m, f) if 1 <= m + f <= 1024:
            return Format(name, f, m + f, (1 << (m + f)) - 1, -1 << (m + f))
        case "ieee", (e, m) if 2 <= e <= 15 and 1 <= m <= 256:
            return _ieee(name, e, m, subnormals=match[3] is None)
    return None


# 2 THE TRANSFORMER ====================================================================================================
#
#     h_i = [token + position]          for every position i; every + and · below is rounded, sums go from left to right
#     each layer:  h_i += Σ_heads W_O Σ_j s_ij (W_V h_j),   s_i = softmax over the j that i sees of ⟨W_Q h_i, W_K h_j⟩
#                  h_i += W_2 relu(W_1 h_i + b_1) + b_2
#     the answer:  the largest of softmax(OUTPUT h_last), or of OUTPUT h_last itself

OPTIONS = {
    "products": ("rounded", "fused"),
    "attention": ("softmax", "max-subtracted", "leftmost", "rightmost", "average"),
    "scale": (False, True),
    "mask": ("causal", "strict", "full"),
    "norm": ("none", "pre", "post"),
    "answer": ("softmax", "logits"),
    "ties": ("explicit", "first"),
}
Vector = list[Any]


@dataclass(frozen=True)
class Model:
    """A transformer: its names, its options, and every array by its name, as nested lists of values."""

    name: str
    format: Format
    vocabulary: list[str]
    coordinates: list[str]
    answers: list[str]
    options: dict[str, Any]
    heads: list[int]  # how many each layer has
    arrays: dict[str, Any]


class ZeroByZero(Exception):
    """A softmax whose exps are all 0, or a LayerNorm whose variance is 0."""


@dataclass
class Trace:
    """What a pass leaves behind: columns of the residual by stage, scores and weights by (layer, head, query, key)."""

    residual: dict[str, list[Vector]] = field(default_factory=dict)
    score: dict[tuple[int, int, int, int], Any] = field(default_factory=dict)
    weight: dict[tuple[int, int, int, int], Any] = field(default_factory=dict)


def inner_product(model: Model, x: Vector, y: Vector) -> Any:
    """Σ x_k·y_k. A product with 0 is 0, and adding 0 changes nothing: those are passed over."""
    format, fused, total = model.format, model.options["products"] == "fused", 0
    for a, b in zip(x, y, strict=True):
        if a and b:
            total = format.fused(total, a, b) if fused else format.add(total, format.multiply(a, b))
    return total


def linear(model: Model, part: str, x: Vector) -> Vector:
    return [inner_product(model, row, x) for row in model.arrays[part]]


def added(format: Format, x: Vector, y: Vector) -> Vector:
    return [format.add(a, b) for a, b in zip(x, y, strict=True)]


def summed(format: Format, terms: Vector) -> Any:
    total = 0
    for term in terms:
        total = format.add(total, term)
    return total


def softmax(format: Format, scores: Vector) -> Vector:
    """[[exp x_i] / Σ_j [exp x_j]]; the maximum is not subtracted."""
    exps = [format.exp(score) for score in scores]
    whole = summed(format, exps)
    if whole == 0:
        raise ZeroByZero
    return [format.divide(e, whole) for e in exps]


def shares(format: Format, scores: Vector, kind: str) -> Vector:
    """How attention is divided over the scores that a query sees."""
    largest = max(scores)
    if kind == "softmax":
        return softmax(format, scores)
    if kind == "max-subtracted":
        return softmax(format, [format.subtract(score, largest) for score in scores])
    best = [j for j, score in enumerate(scores) if score == largest]
    chosen = {"leftmost": best[:1], "rightmost": best[-1:], "average": best}[kind]
    share = format.divide_by_count(format.one(), len(chosen))
    return [share if j in chosen else 0 for j in range(len(scores))]


def seen_by(mask: str, query: int, positions: int) -> range:
    return range({"causal": query + 1, "strict": query, "full": positions}[mask])


def layer_norm(model: Model, part: str, x: Vector) -> Vector:
    """γ (x − mean) / √(variance + ε) + β, every step rounded."""
    F, d = model.format, len(x)
    mean = F.divide_by_count(summed(F, x), d)
    centred = [F.subtract(a, mean) for a in x]
    variance = F.divide_by_count(summed(F, [F.multiply(a, a) for a in centred]), d)
    deviation = F.root(F.add(variance, model.arrays[f"{part}.epsilon"]))
    if deviation == 0:
        raise ZeroByZero
    scaled = [F.multiply(g, F.divide(a, deviation)) for g, a in zip(model.arrays[f"{part}.gain"], centred, strict=True)]
    return added(F, scaled, model.arrays[f"{part}.bias"])


def run_head(model: Model, l: int, h: int, columns: list[Vector], trace: Trace) -> list[Vector]:
    """One head's output at every position."""
    F, options, part = model.format, model.options, f"layers.{l}.heads.{h}"
    queries, keys, values = (
        [linear(model, f"{part}.{name}", column) for column in columns] for name in ("query", "key", "value")
    )
    divisor = F.root_of_count(len(model.arrays[f"{part}.query"])) if options["scale"] else None
    out = []
    for i, query in enumerate(queries):
        seen = seen_by(options["mask"], i, len(columns))
        scores = [inner_product(model, query, keys[j]) for j in seen]
        if divisor is not None:
            scores = [F.divide(score, divisor) for score in scores]
        weights = shares(F, scores, options["attention"]) if scores else []
        for j, score, weight in zip(seen, scores, weights, strict=True):
            trace.score[l, h, i, j], trace.weight[l, h, i, j] = score, weight
        width = len(model.arrays[f"{part}.value"])
        mixed = [inner_product(model, weights, [values[j][c] for j in seen]) for c in range(width)]
        out.append(linear(model, f"{part}.output", mixed))
    return out


def run_attention(model: Model, l: int, columns: list[Vector], trace: Trace) -> list[Vector]:
    """The heads' outputs, added up in order."""
    total = run_head(model, l, 0, columns, trace)
    for h in range(1, model.heads[l]):
        total = [added(model.format, x, y) for x, y in zip(total, run_head(model, l, h, columns, trace), strict=True)]
    return total


def run_feed_forward(model: Model, l: int, columns: list[Vector]) -> list[Vector]:
    F, part = model.format, f"layers.{l}.feed_forward"
    out = []
    for column in columns:
        hidden = [max(a, 0) for a in added(F, linear(model, f"{part}.w1", column), model.arrays[f"{part}.b1"])]
        out.append(added(F, linear(model, f"{part}.w2", hidden), model.arrays[f"{part}.b2"]))
    return out


def has_feed_forward(model: Model, l: int) -> bool:
    return f"layers.{l}.feed_forward.w1" in model.arrays


def run_layers(model: Model, columns: list[Vector], first: int, last: int) -> tuple[list[Vector], Trace]:
    """The residual after layers first … last − 1, and after the final norm if the last layer is among them."""
    trace, placement = Trace(), model.options["norm"]
    for l in range(first, last):
        sublayers: list[tuple[str, bool, Callable[[list[Vector]], list[Vector]]]] = [
            ("attention", model.heads[l] > 0, lambda x, l=l: run_attention(model, l, x, trace)),  # type: ignore[misc]
            ("feed_forward", has_feed_forward(model, l), lambda x, l=l: run_feed_forward(model, l, x)),  # type: ignore[misc]
        ]
        for name, there, sublayer in sublayers:
            if there:
                norm = f"layers.{l}.{name}_norm"
                inner = [layer_norm(model, norm, x) for x in columns] if placement == "pre" else columns
                columns = [added(model.format, x, y) for x, y in zip(columns, sublayer(inner), strict=True)]
                columns = [layer_norm(model, norm, x) for x in columns] if placement == "post" else columns
            trace.residual[f"layer.{l}.after_{name}"] = columns
    if last == len(model.heads) and "final_norm.gain" in model.arrays:
        columns = trace.residual["final_norm"] = [layer_norm(model, "final_norm", x) for x in columns]
    return columns, trace


def answer_of(model: Model, logits: Vector) -> str:
    """The name of the largest, TIE or UNDEFINED."""
    contest = logits
    if model.options["answer"] == "softmax":
        kind = "max-subtracted" if model.options["attention"] == "max-subtracted" else "softmax"
        try:
            contest = shares(model.format, logits, kind)
        except ZeroByZero:
            return "UNDEFINED"
    best = [name for name, x in zip(model.answers, contest, strict=True) if x == max(contest)]
    return "TIE" if len(best) > 1 and model.options["ties"] == "explicit" else best[0]


@dataclass(frozen=True)
class Run:
    """What one transformer makes of an element: None where a value does not exist."""

    before: list[Vector] | None = None  # of a block
    trace: Trace | None = None
    logits: Vector | None = None
    chain: tuple[str, ...] = ()  # the answers, one a step
    met_zero: bool = False  # 0/0 in the layers
    positions: int = 1


def run_block(model: Model, columns: list[Vector], first: int, last: int) -> Run:
    try:
        after, trace = run_layers(model, columns, first, last)
    except ZeroByZero:
        return Run(columns, chain=("UNDEFINED",), met_zero=True)
    trace.residual["after"] = after
    logits = linear(model, "output", after[-1])
    return Run(columns, trace, logits, (answer_of(model, logits),), positions=len(columns))


def run_input(model: Model, tokens: list[str], steps: int) -> Run:
    """Chain of thought: each answer is appended and the whole is run again.

    0/0 at any step leaves the whole chain UNDEFINED; after a TIE there is no next token, so the chain stays tied and the last
    step has no logits. Coordinates are those of the first pass; with a full mask, in which later tokens change them, of the last.
    """
    full, length = model.options["mask"] == "full", len(tokens)
    undefined, tokens = ("UNDEFINED",) * steps, list(tokens)
    kept, chain = None, []
    for step in range(steps):
        embedded = []
        for i, token in enumerate(tokens):
            row = model.arrays["token_embedding"][model.vocabulary.index(token)]
            embedded.append(added(model.format, row, model.arrays["position_embedding"][i]))
        try:
            columns, trace = run_layers(model, embedded, 0, len(model.heads))
        except ZeroByZero:
            return Run(trace=kept, chain=undefined, met_zero=kept is None, positions=length)
        trace.residual["embedding"] = embedded
        last = step + 1 == steps
        kept = trace if (last if full else step == 0) else kept
        logits = linear(model, "output", columns[-1])
        chain.append(answer_of(model, logits))
        if chain[-1] == "UNDEFINED":
            seen = logits if last else None
            return Run(trace=kept, logits=seen, chain=undefined, met_zero=kept is None, positions=length)
        if chain[-1] == "TIE" and not last:
            return Run(trace=kept, chain=(*chain, *["TIE"] * (steps - step - 1)), positions=length)
        tokens.append(chain[-1])
    return Run(trace=kept, logits=logits, chain=tuple(chain), positions=length)


# 3 READING FILES ======================================================================================================


def need(condition: bool, sentence: str) -> None:
    if not condition:
        raise Unreadable(sentence)


def is_list(data: Any, of: type, what: str) -> list[Any]:
    need(isinstance(data, list) and all(type(item) is of for item in data), f"{what} is not a list of {of.__name__}.")
    return list(data)


def is_count(data: Any, what: str, most: int = 1_000_000) -> int:
    need(type(data) is int and 0 <= data <= most, f"{what} is {data!r}, not a number from 0 to {most}.")
    return int(data)


def fields_of(data: Any, what: str, *names: str, optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """An object with exactly these fields."""
    need(isinstance(data, dict), f"{what} is not an object with the fields {', '.join(names)}.")
    missing, extra = [n for n in names if n not in data], [n for n in data if n not in (*names, *optional)]
    need(not missing, f"{what} has no field {missing[:1]}.")
    need(not extra, f"{what} has a field {extra[:1]} that means nothing.")
    return dict(data)


def read_array(data: Any, format: Format, what: str) -> Any:
    """Shape, places of the nonzero entries in reading order, their codes: as nested lists of values."""
    data = fields_of(data, what, "shape", "places", "codes")
    shape, places, codes = (is_list(data[name], int, f"{what}.{name}") for name in ("shape", "places", "codes"))
    need(len(shape) <= 2 and all(0 <= n <= 100_000 for n in shape), f"{what} has the shape {shape}.")
    size = prod(shape)
    need(size <= 50_000_000, f"{what} has {size} entries, which are too many.")
    need(len(places) == len(codes) and places == sorted(set(places)), f"{what} has places that are not its codes' places.")
    need(not places or 0 <= places[0] <= places[-1] < size, f"{what} has places outside of its shape.")
    flat: list[Any] = [0] * size
    for place, code in zip(places, codes, strict=True):
        need(format.holds(code) and code != 0, f"{what} has the code {code}, which {format.name} does not have.")
        flat[place] = format.units(code)
    if len(shape) == 2:
        return [flat[i * shape[1] : (i + 1) * shape[1]] for i in range(shape[0])]
    return flat if shape else flat[0]


def shape_of(array: Any) -> tuple[int, ...]:
    return (len(array), *(shape_of(array[0]) if array else ())) if isinstance(array, list) else ()


def read_model(data: Any, what: str) -> Model:
    """A transformer whole; names, options and shapes must fit together."""
    names = ("name", "format", "vocabulary", "coordinates", "answers", "options", "heads", "arrays")
    data = fields_of(data, what, *names, optional=("history",))
    need(isinstance(data["name"], str) and isinstance(data["format"], str), f"{what} has a name or format that is no text.")
    lists = {part: is_list(data[part], str, f"{what}.{part}") for part in ("vocabulary", "coordinates", "answers")}
    for part, words in lists.items():
        need(0 < len(set(words)) == len(words) and all(words), f"{what}.{part} has no name, an empty one, or one twice.")
    need(not {"TIE", "UNDEFINED"} & set(lists["answers"]), f"{what}.answers has TIE or UNDEFINED, which mean something else.")
    options = fields_of(data["options"], f"{what}.options", *OPTIONS)
    for option, chosen in options.items():
        allowed = any(chosen is choice or (chosen == choice and type(choice) is str) for choice in OPTIONS[option])
        need(allowed, f"{what}.options.{option} is {chosen!r}.")
    heads = is_list(data["heads"], int, f"{what}.heads")
    need(all(0 <= count <= 10_000 for count in heads), f"{what}.heads are {heads}.")
    need(isinstance(data["arrays"], dict), f"{what}.arrays is not an object.")
    format = format_named(data["format"])
    arrays = {name: read_array(array, format, f"{what}.{name}") for name, array in data["arrays"].items()}
    shapes = {name: tuple(array["shape"]) for name, array in data["arrays"].items()}
    model = Model(data["name"], format, lists["vocabulary"], lists["coordinates"], lists["answers"], options, heads, arrays)
    check_shapes(model, shapes, what)
    return model


def check_shapes(model: Model, shapes: dict[str, tuple[int, ...]], what: str) -> None:
    """Every array that the model needs is there, of the right shape, and no other."""
    d, rows = len(model.coordinates), lambda name: (shapes.get(name) or (0,))[0]
    wanted: dict[str, tuple[int, ...]] = {
        "token_embedding": (len(model.vocabulary), d),
        "position_embedding": (rows("position_embedding"), d),
        "output": (len(model.answers), d),
    }
    norms = ["final_norm"] if "final_norm.gain" in shapes else []
    for l, count in enumerate(model.heads):
        for part in (f"layers.{l}.heads.{h}" for h in range(count)):
            k, v = rows(f"{part}.query"), rows(f"{part}.value")
            wanted |= {f"{part}.query": (k, d), f"{part}.key": (k, d), f"{part}.value": (v, d), f"{part}.output": (d, v)}
            need(k > 0 or not model.options["scale"], f"{what}.{part}.query has no rows, and scores are scaled.")
        part = f"layers.{l}.feed_forward"
        if has_feed_forward(model, l):
            m = rows(f"{part}.w1")
            wanted |= {f"{part}.w1": (m, d), f"{part}.b1": (m,), f"{part}.w2": (d, m), f"{part}.b2": (d,)}
        if model.options["norm"] != "none":
            norms += [f"layers.{l}.attention_norm"] * (count > 0) + [f"{part}_norm"] * has_feed_forward(model, l)
            norms += [f"{p}_norm" for p in (f"layers.{l}.attention", part) if f"{p}_norm.gain" in shapes]
    for norm in dict.fromkeys(norms):
        wanted |= {f"{norm}.gain": (d,), f"{norm}.bias": (d,), f"{norm}.epsilon": ()}
    odd = sorted(shapes.keys() ^ wanted.keys())
    need(not odd, f"{what}: the arrays {odd[:2]} are missing or unused.")
    wrong = [name for name, shape in wanted.items() if shapes[name] != shape]
    need(not wrong, f"{what}.{wrong[0] if wrong else ''} has a wrong shape.")
    need(rows("position_embedding") > 0, f"{what}.position_embedding has no rows.")
    for norm in norms:
        need(model.arrays[f"{norm}.epsilon"] >= 0, f"{what}.{norm}.epsilon is negative.")


@dataclass(frozen=True)
class Claim:
    """For all (or some) elements of the subject: where `requires` holds, so does `ensures`. Nodes stay as they are in JSON."""

    name: str
    kind: str  # values, block or inputs
    subject: dict[str, Any]
    format: Format
    models: dict[str, Model]
    requires: Any
    ensures: Any
    quantifier: str = "all"


def read_claim(data: Any) -> Claim:
    """The claim of a JSON object; every node, name and position is looked at before anything is computed."""
    data = fields_of(data, "the claim", "name", "subject", "requires", "ensures", optional=("quantifier",))
    quantifier = data.get("quantifier", "all")
    need(isinstance(data["name"], str) and quantifier in ("all", "some"), "the claim's name or quantifier is no such thing.")
    need(isinstance(data["subject"], dict), "the claim has no subject.")
    kind = data["subject"].get("kind")
    need(kind in SUBJECTS, f"the claim is about {kind!r}, not values, a block or inputs.")
    subject = fields_of(data["subject"], "the subject", "kind", *SUBJECTS[kind], optional=("free_weights",))
    if kind == "values":
        need(isinstance(subject["format"], str), "the subject has no format.")
        format, models = format_named(subject["format"]), {}
        names = is_list(subject["names"], str, "the variables")
        need(0 < len(set(names)) == len(names), "the variables are none, or one is named twice.")
    else:
        need(isinstance(subject["transformers"], dict) and len(subject["transformers"]) > 0, "the subject has no transformer.")
        models = {key: read_model(model, f"transformer {key!r}") for key, model in subject["transformers"].items()}
        formats = {model.format for model in models.values()}
        need(len(formats) == 1, "the transformers are in different formats.")
        format = formats.pop()
        (check_block if kind == "block" else check_inputs)(subject, models, format)
    claim = Claim(data["name"], kind, subject, format, models, data["requires"], data["ensures"], quantifier)
    for side in (claim.requires, claim.ensures):
        check_node(side, claim, "condition", (), 0)
    return claim


SUBJECTS = {
    "values": ("names", "format"),
    "block": ("transformers", "first", "last", "positions", "free", "fixed", "from_positions"),
    "inputs": ("transformers", "max_length", "min_length", "steps"),
}


def check_inputs(subject: dict[str, Any], models: dict[str, Model], format: Format) -> None:
    least, most = is_count(subject["min_length"], "min_length"), is_count(subject["max_length"], "max_length")
    steps = is_list(subject["steps"], int, "steps")
    need(1 <= least <= most and len(steps) == most and min(steps) >= 1, "the lengths or the steps of the inputs make no sense.")
    need(len({tuple(model.vocabulary) for model in models.values()}) == 1, "the transformers read different vocabularies.")
    longest = max(n + steps[n - 1] - 1 for n in range(least, most + 1))
    for model in models.values():
        need(longest <= len(model.arrays["position_embedding"]), f"{model.name!r} has fewer positions than the inputs need.")
        reads = set(model.answers) <= set(model.vocabulary) or max(steps[least - 1 :]) == 1
        need(reads, f"{model.name!r} does not read all of its answers, so it has no chain of thought.")


def check_block(subject: dict[str, Any], models: dict[str, Model], format: Format) -> None:
    positions = is_count(subject["positions"], "positions", 10_000)
    need(positions >= 1, "the block has no position.")
    known = {name for model in models.values() for name in model.coordinates}
    need(all(isinstance(subject[p], list) for p in ("free", "fixed")), "the block's places are no lists.")
    places = [tuple(place[:2]) if isinstance(place, list) else () for place in (*subject["free"], *subject["fixed"])]
    for place in places:
        there = len(place) == 2 and isinstance(place[0], str) and place[0] in known and type(place[1]) is int
        need(there and 0 <= place[1] < positions, f"{place!r} is not a place of the block.")
    need(all(len(p) == 2 for p in subject["free"]) and len(set(places)) == len(places), "a place of the block is named twice.")
    for entry in subject["fixed"]:
        need(len(entry) == 3, f"{entry!r} does not give a place its number.")
        constant(entry[2], format)
    from_positions = is_list(subject["from_positions"], str, "from_positions")
    need(set(from_positions) <= known, "from_positions names a coordinate that does not exist.")
    for model in models.values():
        last = len(model.heads) if subject["last"] is None else is_count(subject["last"], "last")
        need(is_count(subject["first"], "first") <= last <= len(model.heads), "the block's layers do not exist.")
        enough = not from_positions or positions <= len(model.arrays["position_embedding"])
        need(enough, f"{model.name!r} has fewer positions than the block.")
    weights = subject.setdefault("free_weights", [])
    need(isinstance(weights, list), "free_weights is no list.")
    for entry in weights:
        need(isinstance(entry, list) and len(entry) == 2, f"{entry!r} is not a weight.")
        owner = first_with(models, entry[0])
        need(owner is not None and has_entry(owner, *entry), f"no transformer has the weight {entry!r}.")
    need(len({json.dumps(entry) for entry in weights}) == len(weights), "a free weight is named twice.")
    need(bool(subject["free"] or weights), "nothing is free in the block.")


def first_with(models: dict[str, Model], part: Any) -> Model | None:
    return next((model for model in models.values() if isinstance(part, str) and part in model.arrays), None)


def has_entry(model: Model, part: Any, index: Any) -> bool:
    if not isinstance(part, str) or part not in model.arrays or not isinstance(index, list):
        return False
    shape = shape_of(model.arrays[part])
    return len(index) == len(shape) and all(type(i) is int and 0 <= i < n for i, n in zip(index, shape, strict=True))


def constant(data: Any, format: Format) -> Any:
    """B, -B, least, -least, or a fraction that the format has; in units."""
    names = {"B": format.top, "-B": -format.top, "least": format.least, "-least": -format.least}
    if isinstance(data, str) and data in names:
        need(not isinstance(format, Rationals), f"{format.name} has no {data}.")
        return names[data]
    text = data.get("fraction") if isinstance(data, dict) and len(data) == 1 else data
    good = isinstance(text, str) and re.fullmatch(r"-?\d{1,2000}(/\d{1,2000})?", text, re.ASCII) is not None
    need(good and not re.search(r"/0+$", str(text)), f"{data!r} is not a constant: B, -B, least, -least or a fraction.")
    return format.value(Fraction(str(text)))


# 4 WHAT A CLAIM MEANS =================================================================================================
#
# Not everything exists: a division by 0, a root of a negative number, a coordinate of a run that met 0/0. Such a value is None
# here, and a comparison that reads it is neither true nor false: None again. Conditions combine as in Kleene's logic. A claim
# holds of an element where its precondition is not true, or where what it says comes out true.

# Each node: what it is, and its fields. v, w, c: a value, a word, a condition; v+, c*: lists of them; others are looked at below.
NODES: dict[str, tuple[str, dict[str, str]]] = {
    "Variable": ("value", {"name": "variable"}),
    "Local": ("value", {"name": "local"}),
    "Coordinate": ("value", {"stage": "text", "coordinate": "text", "position": "int", "of": "text"}),
    "Logit": ("value", {"answer": "text", "of": "text"}),
    "Constant": ("value", {"number": "constant"}),
    "Operation": ("value", {"name": "text", "arguments": "v+"}),
    "Choice": ("value", {"condition": "c", "then": "v", "otherwise": "v"}),
    "LetValue": ("value", {"name": "text", "value": "v", "body": "v"}),
    "Attention": ("value", {"what": "text", "layer": "int", "head": "int", "query": "int", "key": "int", "of": "text"}),
    "Parameter": ("value", {"part": "text", "index": "index", "of": "text"}),
    "Answer": ("word", {"of": "text", "step": "int"}),
    "Token": ("word", {"position": "int"}),
    "Text": ("word", {"text": "text"}),
    "Comparison": ("condition", {"how": "text", "left": "v", "right": "v"}),
    "SameWord": ("condition", {"left": "w", "right": "w"}),
    "SameChains": ("condition", {"left": "text", "right": "text"}),
    "Junction": ("condition", {"how": "text", "conditions": "c*"}),
    "Negation": ("condition", {"part": "c"}),
    "Implication": ("condition", {"premise": "c", "conclusion": "c"}),
    "Equivalence": ("condition", {"left": "c", "right": "c"}),
    "Let": ("condition", {"name": "text", "value": "v", "body": "c"}),
    "Accepted": ("condition", {"automaton": "automaton"}),
    "Holds": ("condition", {"predicate": "predicate", "name": "text"}),
    "Defined": ("condition", {"of": "text", "attention": "bool"}),
}
OPERATIONS = {"add": 2, "subtract": 2, "multiply": 2, "divide": 2, "exp": 1, "relu": 1, "root": 1, "abs": 1, "max": 2, "min": 2}
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "≠": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "≤": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "≥": lambda a, b: a >= b,
}
_SORTS = {"v": "value", "c": "condition", "w": "word"}


def check_node(data: Any, claim: Claim, sort: str, locals_: tuple[str, ...], depth: int) -> None:
    """A node of the right sort with the right fields, and names that exist."""
    need(depth < 200, "the claim is nested more than 200 deep.")
    kind = str(data.get("node")) if isinstance(data, dict) else "None"
    need(kind in NODES and NODES[kind][0] == sort, f"{kind!r} is not a {sort} of a claim.")
    expected = NODES[kind][1]
    fields_of(data, kind, "node", *expected)
    inner = (*locals_, data["name"]) if kind in ("Let", "LetValue") else locals_
    for name, form in expected.items():
        part = data[name]
        if form in _SORTS:
            check_node(part, claim, _SORTS[form], inner if name == "body" else locals_, depth + 1)
        elif form in ("v+", "c*"):
            need(isinstance(part, list), f"{kind}.{name} is no list.")
            for item in part:
                check_node(item, claim, _SORTS[form[0]], locals_, depth + 1)
        else:
            _check_field(part, form, claim, f"{kind}.{name}", locals_)
    _check_names(data, claim)


def _check_field(part: Any, form: str, claim: Claim, what: str, locals_: tuple[str, ...]) -> None:
    types = {"text": str, "int": int, "bool": bool, "variable": str, "local": str}
    if form in types:
        need(type(part) is types[form], f"{what} is {part!r}.")
    if form == "variable":
        need(claim.kind == "values" and part in claim.subject["names"], f"there is no variable {part!r}.")
    elif form == "local":
        need(part in locals_, f"{part!r} is used outside of its let.")
    elif form == "constant":
        need(not isinstance(part, str) or part.lstrip("-") in ("B", "least"), f"the constant {part!r} is no number.")
        constant(part, claim.format)
    elif form == "automaton":
        check_automaton(part, claim)


def check_automaton(data: Any, claim: Claim) -> None:
    data = fields_of(data, "the automaton", "alphabet", "moves", "accepting", "start", "name", optional=("expression",))
    alphabet, accepting = is_list(data["alphabet"], str, "the alphabet"), is_list(data["accepting"], int, "accepting")
    need(claim.kind == "inputs", "an automaton reads inputs, and the claim is about something else.")
    need(isinstance(data["moves"], list) and isinstance(data["name"], str), "the automaton has no moves or no name.")
    moves = [is_list(row, int, "a row of moves") for row in data["moves"]]
    states = [data["start"], *accepting, *(state for row in moves for state in row)]
    good = all(type(s) is int and 0 <= s < len(moves) for s in states) and all(len(row) == len(alphabet) for row in moves)
    need(good and len(set(alphabet)) == len(alphabet), "the automaton's moves are not a table over its alphabet.")
    words = next(iter(claim.models.values())).vocabulary
    need(set(words) <= set(alphabet), "the automaton does not know every token.")


def _check_names(node: dict[str, Any], claim: Claim) -> None:
    """What a node speaks of must exist: a name that means nothing would prove anything."""
    kind = node["node"]
    if kind == "Operation":
        arity = OPERATIONS.get(node["name"])
        need(arity == len(node["arguments"]), f"{node['name']!r} of {len(node['arguments'])} values is not an operation.")
    if kind == "Comparison":
        need(node["how"] in COMPARISONS, f"{node['how']!r} is not a comparison.")
    if kind == "Junction":
        need(node["how"] in ("and", "or"), f"{node['how']!r} joins nothing.")
    if kind in ("Token", "Accepted", "Holds", "SameChains"):
        need(claim.kind == "inputs", f"{kind} is about inputs, and the claim is not.")
    if kind == "SameChains":
        need(node["left"] in claim.models and node["right"] in claim.models, "SameChains names a transformer that is not there.")
    if kind == "SameWord":
        for said, other in ((node["left"], node["right"]), (node["right"], node["left"])):
            if other["node"] == "Text" and said["node"] != "Text":
                need(other["text"] in _words_of(said, claim), f"{said['node']} is never {other['text']!r}.")
    if kind in ("Coordinate", "Logit", "Answer", "Defined", "Attention", "Parameter"):
        need(node["of"] in claim.models, f"{kind} names a transformer {node['of']!r} that is not there.")
        _check_of_model(node, claim, claim.models[node["of"]])
    if kind == "Token":
        _check_position(node["position"], claim)


def _words_of(node: dict[str, Any], claim: Claim) -> list[str]:
    if node["node"] == "Token":
        return next(iter(claim.models.values())).vocabulary
    model = claim.models.get(node["of"])
    return [*model.answers, "TIE", "UNDEFINED"] if model else []


def _check_of_model(node: dict[str, Any], claim: Claim, model: Model) -> None:
    kind = node["node"]
    if kind == "Coordinate":
        stages = ["before", "after"] if claim.kind == "block" else stages_of(model)
        need(node["coordinate"] in model.coordinates, f"there is no coordinate {node['coordinate']!r}.")
        need(node["stage"] in stages, f"there is no stage {node['stage']!r}.")
        _check_position(node["position"], claim)
    elif kind == "Logit":
        need(node["answer"] in model.answers, f"there is no answer {node['answer']!r}.")
    elif kind == "Answer":
        fewest = min(claim.subject["steps"][claim.subject["min_length"] - 1 :]) if claim.kind == "inputs" else 1
        need(-fewest <= node["step"] < fewest, f"there is no step {node['step']}.")
    elif kind == "Parameter":
        need(has_entry(model, node["part"], node["index"]), f"there is no weight {node['part']}{node['index']}.")
    elif kind == "Attention":
        last = len(model.heads) if claim.kind == "inputs" or claim.subject["last"] is None else claim.subject["last"]
        first = claim.subject["first"] if claim.kind == "block" else 0
        there = first <= node["layer"] < last and 0 <= node["head"] < model.heads[node["layer"]]
        need(there and node["what"] in ("score", "weight"), f"there is no {node['what']} of head {node['layer']}.{node['head']}.")
        for position in (node["query"], node["key"]):
            _check_position(position, claim)
        block = claim.kind == "block"
        for n in [claim.subject["positions"]] if block else range(claim.subject["min_length"], claim.subject["max_length"] + 1):
            seen = node["key"] % n in seen_by(model.options["mask"], node["query"] % n, n)
            need(seen, f"of {n} positions, {node['query']} does not see {node['key']}.")


def stages_of(model: Model) -> list[str]:
    inner = [f"layer.{l}.after_{part}" for l in range(len(model.heads)) for part in ("attention", "feed_forward")]
    return ["embedding", *inner, *["final_norm"] * ("final_norm.gain" in model.arrays)]


def _check_position(position: int, claim: Claim) -> None:
    size = claim.subject["positions"] if claim.kind == "block" else claim.subject["min_length"]
    need(-size <= position < size, f"position {position} does not exist in every element of the claim.")


@dataclass(frozen=True)
class Element:
    """One thing that a claim is about, with what its names stand for."""

    format: Format
    variables: dict[str, Any] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    models: dict[str, Model] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)
    predicate: Callable[[Any], bool] | None = None

    def let(self, node: Any) -> Element:
        return replace(self, locals={**self.locals, node["name"]: value(node["value"], self)})


def truth(node: Any, at: Element) -> bool | None:
    """True, false, or None: neither."""
    match node["node"]:
        case "Comparison":
            a, b = value(node["left"], at), value(node["right"], at)
            return None if a is None or b is None else COMPARISONS[node["how"]](a, b)
        case "Junction":
            parts = [truth(part, at) for part in node["conditions"]]
            decides = node["how"] == "or"  # one true part decides an or, one false part an and
            return decides if decides in parts else None if None in parts else not decides
        case "Negation":
            return opposite(truth(node["part"], at))
        case "Implication":
            a, b = truth(node["premise"], at), truth(node["conclusion"], at)
            return True if a is False or b is True else None if a is None or b is None else False
        case "Equivalence":
            a, b = truth(node["left"], at), truth(node["right"], at)
            return None if a is None or b is None else a == b
        case "Let":
            return truth(node["body"], at.let(node))
        case "SameWord":
            return word(node["left"], at) == word(node["right"], at)
        case "SameChains":
            return at.runs[node["left"]].chain == at.runs[node["right"]].chain
        case "Defined":
            run = at.runs[node["of"]]
            of_layers = node["attention"] or run.before is not None  # of a block it is about its layers
            return not run.met_zero if of_layers else run.chain[-1] != "UNDEFINED"
        case "Accepted":
            return accepts(node["automaton"], at.tokens)
        case "Holds":
            return holds(node, at)
    raise AssertionError(node["node"])


def opposite(truth_value: bool | None) -> bool | None:
    return None if truth_value is None else not truth_value


def value(node: Any, at: Element) -> Any:
    """A value of the format in units, or None where there is none."""
    match node["node"]:
        case "Constant":
            return constant(node["number"], at.format)
        case "Variable":
            return at.variables[node["name"]]
        case "Local":
            return at.locals[node["name"]]
        case "Operation":
            arguments = [value(argument, at) for argument in node["arguments"]]
            return None if None in arguments else operated(at.format, node["name"], *arguments)
        case "Choice":
            chosen = truth(node["condition"], at)
            return None if chosen is None else value(node["then" if chosen else "otherwise"], at)
        case "LetValue":
            return value(node["body"], at.let(node))
        case "Parameter":
            return entry_of(at.models[node["of"]].arrays[node["part"]], node["index"])
    return value_of_run(node, at.models[node["of"]], at.runs[node["of"]])


def value_of_run(node: Any, model: Model, run: Run) -> Any:
    if node["node"] == "Logit":
        return None if run.logits is None else run.logits[model.answers.index(node["answer"])]
    if node["node"] == "Coordinate" and node["stage"] == "before":
        assert run.before is not None
        return run.before[node["position"]][model.coordinates.index(node["coordinate"])]
    if run.trace is None:
        return None
    if node["node"] == "Attention":
        table = run.trace.score if node["what"] == "score" else run.trace.weight
        return table[node["layer"], node["head"], node["query"] % run.positions, node["key"] % run.positions]
    return run.trace.residual[node["stage"]][node["position"] % run.positions][model.coordinates.index(node["coordinate"])]


def entry_of(array: Any, index: list[int]) -> Any:
    for i in index:
        array = array[i]
    return array


def operated(F: Format, name: str, a: Any, b: Any = None) -> Any:
    """An operation of a claim; None for a division by 0 and the root of a negative number."""
    match name:
        case "divide":
            return None if b == 0 else F.divide(a, b)
        case "root":
            return None if a < 0 else F.root(a)
        case "relu":
            return max(a, 0)
        case "abs":
            return max(a, F.subtract(0, a))
        case "max" | "min":
            return max(a, b) if name == "max" else min(a, b)
        case "exp":
            return F.exp(a)
    return {"add": F.add, "subtract": F.subtract, "multiply": F.multiply}[name](a, b)


def word(node: Any, at: Element) -> str:
    if node["node"] == "Text":
        return str(node["text"])
    return at.tokens[node["position"]] if node["node"] == "Token" else at.runs[node["of"]].chain[node["step"]]


def accepts(automaton: Any, tokens: list[str]) -> bool:
    state = automaton["start"]
    for token in tokens:
        state = automaton["moves"][state][automaton["alphabet"].index(token)]
    return state in automaton["accepting"]


def holds(node: Any, at: Element) -> bool:
    """A Python predicate is not in the file; a program that imports this one may give it."""
    if at.predicate is None:
        raise Unable(f"the claim rests on a Python predicate, {node['name']!r}, which no file holds")
    single = all(len(token) == 1 for model in at.models.values() for token in model.vocabulary)
    return bool(at.predicate("".join(at.tokens) if single else tuple(at.tokens)))


# 5 THE CLAIM IN WORDS =================================================================================================
#
# Made from the content alone. Brackets are roundings: [x + y] is the value nearest to x + y.


def said(node: Any) -> str:
    """A node as it is read aloud."""
    n = node["node"]
    of = f"{whose(node['of'])}:" if node.get("of") else ""
    match n:
        case "Variable" | "Local":
            return str(node["name"])
        case "Coordinate":
            return f"{of}{node['stage']}.{quoted(node['coordinate'], '@')}@{node['position']}"
        case "Logit":
            return f"{of}logit({quoted(node['answer'], ')')})"
        case "Constant":
            number = node["number"]
            return (number if isinstance(number, str) else number["fraction"]).replace("-", "−")
        case "Operation":
            return said_operation(node["name"], [said(argument) for argument in node["arguments"]])
        case "Choice":
            return f"({said(node['then'])} if {said(node['condition'])} else {said(node['otherwise'])})"
        case "Let":
            return f"let {node['name']} = {said(node['value'])}: {said(node['body'])}"
        case "LetValue":
            return f"(let {node['name']} = {said(node['value'])}: {said(node['body'])})"
        case "Attention":
            return f"{of}{node['what']}({node['layer']}.{node['head']}: {node['query']}→{node['key']})"
        case "Parameter":
            return f"{of}{node['part']}[{','.join(map(str, node['index']))}]"
        case "Answer":
            where = [whose(node["of"])] * bool(node["of"]) + [f"step {node['step']}"] * (node["step"] != -1)
            return f"answer({', '.join(where)})" if where else "answer"
        case "Token":
            return f"token@{node['position']}"
        case "Text":
            return str(node["text"])
    return said_condition(node)


def whose(of: str) -> str:
    return of if of.isidentifier() else repr(of)


def quoted(name: str, end: str) -> str:
    """A name in quotes, where one could not tell where it ends."""
    return repr(name) if end in name or name[:1] in ("'", '"') else name


def said_operation(name: str, parts: list[str]) -> str:
    signs = {"add": " + ", "subtract": " − ", "multiply": "·", "divide": " / "}
    if name in signs:
        return f"[{signs[name].join(parts)}]"
    if name == "abs":
        return f"|{parts[0]}|"
    return f"[{name} {parts[0]}]" if name in ("exp", "root") else f"{name}({', '.join(parts)})"


def said_condition(node: Any) -> str:
    match node["node"]:
        case "Comparison":
            return f"{said(node['left'])} {node['how']} {said(node['right'])}"
        case "SameWord":
            return f"{said(node['left'])} = {said(node['right'])}"
        case "SameChains":
            return f"every step's answer({node['left']}) = answer({node['right']})"
        case "Junction":
            sign = " ∧ " if node["how"] == "and" else " ∨ "
            if len(node["conditions"]) == 1:
                return said(node["conditions"][0])
            return sign.join(map(inside, node["conditions"])) or ("true" if node["how"] == "and" else "false")
        case "Negation" if node["part"]["node"] == "SameWord":
            return f"{said(node['part']['left'])} ≠ {said(node['part']['right'])}"
        case "Negation":
            return f"¬{inside(node['part'])}"
        case "Implication":
            return f"{inside(node['premise'])} ⇒ {inside(node['conclusion'])}"
        case "Equivalence":
            return f"{inside(node['left'])} ⇔ {inside(node['right'])}"
        case "Accepted":
            return f"input ∈ {node['automaton']['name']}"
        case "Holds":
            return f"{node['name']}(input)"
        case "Defined":
            what = "no 0/0 in attention or a norm" if node["attention"] else "no 0/0"
            return f"{what}{' of ' * bool(node['of'])}{node['of']}"
    raise AssertionError(node["node"])


def inside(node: Any) -> str:
    """A condition within another: in parentheses, if it is made of several."""
    while node["node"] == "Junction" and len(node["conditions"]) == 1:
        node = node["conditions"][0]
    compound = node["node"] in ("Implication", "Equivalence", "Let") or (node["node"] == "Junction" and node["conditions"])
    return f"({said(node)})" if compound else said(node)


def describe(claim: Claim) -> Iterator[str]:
    """The claim, line by line."""
    yield f"for {claim.quantifier} {subject_in_words(claim)}"
    if claim.requires != {"node": "Junction", "how": "and", "conditions": []}:
        yield f"  if {said(claim.requires)}"
    yield f"  : {said(claim.ensures)}"
    rule = "even" if claim.format.ties_to_even else "the value nearer to 0"
    first, last = claim.format.codes()
    if not isinstance(claim.format, Rationals):
        largest = claim.format.number(claim.format.top)
        yield f"in {claim.format.name}: {last - first + 1:,} values up to B = {largest}, ties to {rule}"
    for key, model in claim.models.items():
        yield f"transformer {key!r}, called {model.name!r}: {len(model.heads)} layers, {sum(model.heads)} heads"
        yield f"  coordinates: {' '.join(model.coordinates)}"
        yield f"  options: {', '.join(f'{option} {chosen}' for option, chosen in model.options.items())}"
        yield f"  SHA-256 of all of it: {fingerprint(claim.subject['transformers'][key])}"
    for automaton in automata(claim):
        yield f"automaton {automaton['name']!r}: start {automaton['start']}, accepting {automaton['accepting']}"
        for state, row in enumerate(automaton["moves"]):
            yield f"  {state}: " + ", ".join(f"{a} → {s}" for a, s in zip(automaton["alphabet"], row, strict=True))


def fingerprint(data: Any) -> str:
    """The digest of a transformer's JSON, keys in order, so that it can be compared with one made elsewhere."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def subject_in_words(claim: Claim) -> str:
    s = claim.subject
    if claim.kind == "values":
        return f"{', '.join(s['names'])} in {claim.format.name}"
    if claim.kind == "inputs":
        steps = f", {' '.join(map(str, s['steps']))} steps by length" if set(s["steps"]) != {1} else ""
        return f"inputs of length {s['min_length']} to {s['max_length']} over {' '.join(vocabulary_of(claim))}{steps}"
    rest = [f"{name}@{position} = {number}" for name, position, number in s["fixed"]]
    rest += [f"{name} from the position embedding" for name in s["from_positions"]]
    held = f" with {', '.join(rest)}, 0 elsewhere" if rest else " with 0 elsewhere"
    return f"values of {', '.join(free_names(claim))}, at {s['positions']} positions entering {layers_in_words(claim)},{held}"


def layers_in_words(claim: Claim) -> str:
    """The layers that a block runs: of each transformer, where one has more than the other."""
    s, named = claim.subject, {}
    for key, model in claim.models.items():
        last = len(model.heads) if s["last"] is None else s["last"]
        named[key] = f"layers {s['first']} to {last - 1}" if s["first"] < last else "the output"
    one, *more = dict.fromkeys(named.values())
    return " and ".join(f"{where} of {key}" for key, where in named.items()) if more else one


def nodes(data: Any) -> Iterator[Any]:
    """Every node of a condition, it first."""
    if isinstance(data, dict):
        if "node" in data:
            yield data
        for part in data.values():
            yield from nodes(part)
    elif isinstance(data, list):
        for part in data:
            yield from nodes(part)


def automata(claim: Claim) -> list[Any]:
    found = [n["automaton"] for side in (claim.requires, claim.ensures) for n in nodes(side) if n["node"] == "Accepted"]
    return [automaton for i, automaton in enumerate(found) if automaton not in found[:i]]


# 6 WHAT A CLAIM RANGES OVER ===========================================================================================
#
# An element is a list: of tokens for claims on inputs, of codes for claims on values and blocks. Elements have an order:
# shorter inputs first, then as in the vocabulary; values by the sum of their distances from 0 in ranks, then one by one.

Elements = Iterator[tuple[Any, ...]]


def vocabulary_of(claim: Claim) -> list[str]:
    return next(iter(claim.models.values())).vocabulary


def free_names(claim: Claim) -> list[str]:
    """What is free, in the order of the codes."""
    if claim.kind == "values":
        return list(claim.subject["names"])
    weights = [f"{part}[{','.join(map(str, index))}]" for part, index in claim.subject["free_weights"]]
    return [f"{name}@{position}" for name, position in claim.subject["free"]] + weights


def count(claim: Claim) -> int:
    if claim.kind == "inputs":
        lengths = range(claim.subject["min_length"], claim.subject["max_length"] + 1)
        return sum(len(vocabulary_of(claim)) ** n for n in lengths)
    first, last = claim.format.codes()
    return (last - first + 1) ** len(free_names(claim))


def in_order(claim: Claim) -> Elements:
    """All elements, the smallest first."""
    if claim.kind == "inputs":
        for length in range(claim.subject["min_length"], claim.subject["max_length"] + 1):
            yield from product(vocabulary_of(claim), repeat=length)
        return
    first, last = claim.format.codes()
    free = len(free_names(claim))
    for total in range(free * max(-first, last) + 1):
        yield from codes_of_size(total, free, first, last)


def codes_of_size(total: int, free: int, first: int, last: int) -> Elements:
    """The codes whose distances from 0 add up to a total; nearer ones first, positive before negative."""
    if free == 0:
        if total == 0:
            yield ()
        return
    most = max(-first, last)
    for size in range(max(0, total - (free - 1) * most), min(total, most) + 1):
        for code in (size, -size)[: 1 + (size > 0)]:
            if first <= code <= last:
                for rest in codes_of_size(total - size, free - 1, first, last):
                    yield (code, *rest)


def is_element(claim: Claim, element: tuple[Any, ...]) -> bool:
    if claim.kind == "inputs":
        lengths = range(claim.subject["min_length"], claim.subject["max_length"] + 1)
        return len(element) in lengths and set(element) <= set(vocabulary_of(claim))
    return len(element) == len(free_names(claim)) and all(claim.format.holds(code) for code in element)


def meet(claim: Claim, element: tuple[Any, ...], predicate: Callable[[Any], bool] | None = None) -> Element:
    """An element with everything that the claim may read of it."""
    F, s = claim.format, claim.subject
    if claim.kind == "inputs":
        runs = {key: run_input(m, list(element), s["steps"][len(element) - 1]) for key, m in claim.models.items()}
        return Element(F, tokens=list(element), models=claim.models, runs=runs, predicate=predicate)
    units = [F.units(code) for code in element]
    if claim.kind == "values":
        return Element(F, variables=dict(zip(s["names"], units, strict=True)))
    given = {tuple(place): x for place, x in zip(s["free"], units[: len(s["free"])], strict=True)}
    models, runs = {}, {}
    for key, model in claim.models.items():
        models[key] = with_weights(claim, model, units[len(s["free"]) :])
        last = len(model.heads) if s["last"] is None else s["last"]
        runs[key] = run_block(models[key], entering(claim, models[key], given), s["first"], last)
    return Element(F, models=models, runs=runs)


def with_weights(claim: Claim, model: Model, units: list[Any]) -> Model:
    """The model with its free weights: in each part of the shape that the first transformer with such a part has."""
    arrays, places = dict(model.arrays), claim.subject["free_weights"]
    for (part, index), number in zip(places, units, strict=True):
        owner = first_with(claim.models, part)
        assert owner is not None
        if part in arrays and shape_of(arrays[part]) == shape_of(owner.arrays[part]):
            if not index:
                arrays[part] = number
                continue
            arrays[part] = [list(row) if isinstance(row, list) else row for row in arrays[part]]
            entry_of(arrays[part], index[:-1])[index[-1]] = number
    return replace(model, arrays=arrays) if places else model


def entering(claim: Claim, model: Model, given: dict[tuple[Any, ...], Any]) -> list[Vector]:
    """The residual that enters a block: free places, fixed ones, those of the position embedding, 0 elsewhere."""
    fixed = {(name, position): constant(number, claim.format) for name, position, number in claim.subject["fixed"]}
    columns = []
    for i in range(claim.subject["positions"]):
        column = []
        for k, name in enumerate(model.coordinates):
            held = model.arrays["position_embedding"][i][k] if name in claim.subject["from_positions"] else 0
            column.append(given.get((name, i), fixed.get((name, i), held)))
        columns.append(column)
    return columns


def judge(
    claim: Claim, element: tuple[Any, ...], predicate: Callable[[Any], bool] | None = None
) -> tuple[bool, bool | None]:
    """Whether an element meets the precondition, and whether the claim is true of it (None: neither true nor false)."""
    at = meet(claim, element, predicate)
    return truth(claim.requires, at) is True, truth(claim.ensures, at)


@dataclass(frozen=True)
class Tally:
    """What a walk through the elements in order has found; `first` breaks a claim for all, or bears out one for some."""

    walked: int = 0
    satisfying: int = 0
    found: int = 0
    first: tuple[Any, ...] | None = None
    complete: bool = False


def walk(claim: Claim, limit: int, predicate: Callable[[Any], bool] | None = None) -> Tally:
    """Judge the elements in order, up to a limit."""
    walked = satisfying = found = 0
    first = None
    for element in islice(in_order(claim), limit):
        meets, true = judge(claim, element, predicate)
        walked, satisfying = walked + 1, satisfying + meets
        if meets and (true is True) == (claim.quantifier == "some"):
            found, first = found + 1, element if first is None else first
    return Tally(walked, satisfying, found, first, walked == count(claim))


def answer(claim: Claim, tally: Tally) -> str:
    """The verdict that a complete walk gives."""
    if not tally.satisfying and claim.quantifier == "all":
        return "Vacuous"
    return "Proved" if (tally.first is None) == (claim.quantifier == "all") else "Refuted"


def sample(claim: Claim, size: int, seed: int = 0) -> Elements:
    """Elements from anywhere: the ends of the format, values near 0 and 1, and random ones."""
    rng = random.Random(seed)
    if claim.kind == "inputs":
        low, high = claim.subject["min_length"], claim.subject["max_length"]
        for _ in range(size):
            yield tuple(rng.choice(vocabulary_of(claim)) for _ in range(rng.randint(low, high)))
        return
    first, last = claim.format.codes()
    one = claim.format.code(claim.format.one())
    special = [c for c in (0, 1, -1, first, first + 1, last, last - 1, one, one - 1, one + 1, -one) if first <= c <= last]
    for _ in range(size):
        yield tuple(rng.choice(special) if rng.random() < 0.5 else rng.randint(first, last) for _ in free_names(claim))


# 7 THE VERDICT ========================================================================================================


@dataclass
class Report:
    """Lines of what was found; `wrong` if one of them contradicts the verdict."""

    lines: list[str] = field(default_factory=list)
    wrong: bool = False

    def verified(self, text: str) -> None:
        self.lines.append(f"verified     {text}")

    def tried(self, text: str) -> None:
        self.lines.append(f"tried        {text}")

    def trusted(self, text: str) -> None:
        self.lines.append(f"on trust     {text}")

    def must(self, condition: bool, text: str, otherwise: str) -> bool:
        self.lines.append(f"verified     {text}" if condition else f"CONTRADICTED {otherwise}")
        self.wrong = self.wrong or not condition
        return condition


VERDICTS = ("Proved", "Refuted", "Vacuous", "Unknown")


def read_verdict(data: Any) -> dict[str, Any]:
    known = isinstance(data, dict) and data.get("answer") in VERDICTS
    need(known, f"the verdict's answer is not one of {', '.join(VERDICTS)}.")
    for name in ("inputs", "satisfying", "failures"):
        need(data.get(name) is None or (type(data[name]) is int and data[name] >= 0), f"the verdict's {name} is not a count.")
    for name in ("claim", "method", "over"):
        need(isinstance(data.get(name), str), f"the verdict has no {name}.")
    need(data.get("smallest", "globally") in ("globally", "locally"), "the verdict's `smallest` is neither globally nor locally.")
    for name in ("counterexample", "witness"):
        if data.get(name) is not None:
            fields_of(data[name], name, optional=("input", "values", "observed", "codes", "spaced"))
    return dict(data)


def check(
    claim: Claim, verdict: dict[str, Any], limit: int = 20_000, predicate: Callable[[Any], bool] | None = None
) -> Report:
    """Everything that can be said about a verdict within a limit of elements."""
    report = Report()
    check_sentence(claim, verdict, report)
    for automaton in automata(claim):
        check_automaton_name(automaton, report)
    try:
        tally = walk(claim, limit, predicate)
        element = check_example(claim, verdict, report, predicate)
        check_against_walk(claim, verdict, tally, element, report)
        if not tally.complete:
            check_samples(claim, verdict, limit, report, predicate)
    except Unable as reason:
        report.trusted(f"the verdict itself: {reason}")
    if verdict["answer"] == "Unknown":
        report.trusted("nothing: the claim was left open")
    report.trusted("Python, its integers and fractions, and this file")
    report.trusted("that the claim in words above is what is meant")
    return report


def check_sentence(claim: Claim, verdict: dict[str, Any], report: Report) -> None:
    """The verdict's own sentence ends as the content says, and names the format."""
    text, end = verdict["claim"], f": {said(claim.ensures)}"
    if claim.requires != {"node": "Junction", "how": "and", "conditions": []}:
        given = f"({said(claim.requires)})" if claim.requires["node"] == "Let" else said(claim.requires)
        end = f", {'if' if claim.quantifier == 'all' else 'with'} {given}{end}"
    start = f"{claim.name}: " * bool(claim.name) + f"for {claim.quantifier} "
    good = text.startswith(start) and text.endswith(end)
    wrong = f"the verdict's sentence is {text!r}, the content says {end!r}"
    report.must(good, "the verdict's sentence says what the content says", wrong)
    said_count = re.match(r"all ([\d,]+) ", verdict["over"])
    if said_count:
        right, ranges = int(said_count[1].replace(",", "")) == count(claim), f"the claim ranges over {count(claim):,} elements"
        report.must(right, ranges, f"{ranges}, not {said_count[1]}")


def check_automaton_name(automaton: Any, report: Report) -> None:
    """A name that is a regular expression over the alphabet is compared with Python's own, on all short words."""
    name, symbols = automaton["name"], automaton["alphabet"]
    if not all(len(a) == 1 for a in symbols) or not name or set(name) - {*symbols, *"()|*+?."}:
        return report.trusted(f"that the automaton printed above is what its name says, {name!r}")
    try:
        expression = re.compile(name)
    except re.error:
        return report.trusted(f"that the automaton printed above is what its name says, {name!r}")
    longest = next(n for n in range(1, 99) if len(symbols) ** (n + 1) > 5_000)
    for n in range(longest + 1):
        for tokens in product(symbols, repeat=n):
            if accepts(automaton, list(tokens)) != bool(expression.fullmatch("".join(tokens))):
                report.must(False, "", f"the automaton is not that of {name}: they differ on {''.join(tokens)!r}")
                return None
    return report.verified(f"the automaton agrees with the expression {name} on all words up to length {longest}")


def numbers_meant(text: Any, format: Format) -> list[Any]:
    """The values that a text may stand for: −∞ is −B, or the value below it where there is one."""
    need(isinstance(text, str) and len(text) < 5000, f"{text!r} is not a number.")
    plain = text.replace("−", "-").replace("∞", "B")
    if plain in ("B", "-B"):
        return [format.top] if plain == "B" else list(dict.fromkeys((-format.top, format.bottom)))
    return [constant(plain, format)]


def elements_meant(claim: Claim, example: Any) -> list[tuple[Any, ...]]:
    """The elements that a counterexample or witness may stand for: one, unless −∞ may be read in two ways."""
    longer = claim.kind == "inputs" and any(len(token) > 1 for token in vocabulary_of(claim))
    need(example.get("spaced", False) is longer, "the example's tokens are not written as those of its vocabulary are.")
    if claim.kind == "inputs":
        element = tuple(is_list(example.get("input"), str, "the example's input"))
        need(is_element(claim, element), f"{list(element)} is not an input that the claim is about.")
        return [element]
    values = example.get("values")
    names = free_names(claim)
    need(isinstance(values, dict) and list(values) == names, f"the example does not give values to {', '.join(names)}.")
    choices = [[claim.format.code(x) for x in numbers_meant(text, claim.format)] for text in values.values()]
    return list(islice(product(*choices), 64))


def check_example(
    claim: Claim, verdict: dict[str, Any], report: Report, predicate: Callable[[Any], bool] | None
) -> tuple[Any, ...] | None:
    """The counterexample, or the witness, run again; None if there is none to run."""
    some = claim.quantifier == "some"
    wanted = {"Proved": "witness" if some else None, "Refuted": None if some else "counterexample"}.get(verdict["answer"])
    for name in ("witness", "counterexample"):
        given = verdict.get(name)
        if given is not None and name != wanted:
            report.must(False, "", f"a {name} is given, which this verdict does not have")
    if wanted is None:
        return None
    if verdict.get(wanted) is None:
        report.must(False, "", f"there is no {wanted}")
        return None
    for element in elements_meant(claim, verdict[wanted]):
        meets, true = judge(claim, element, predicate)
        if meets and (true is True) == some:
            does = "bears the claim out" if some else "breaks the claim"
            report.verified(f"the {wanted}, {shown(claim, element)}, meets the precondition and {does}")
            check_observed(claim, verdict[wanted], element, report, predicate)
            return element
    report.must(False, "", f"the {wanted} is none: the claim comes out {true} there, the precondition {meets}")
    return None


def shown(claim: Claim, element: tuple[Any, ...]) -> str:
    if claim.kind == "inputs":
        single = all(len(token) == 1 for model in claim.models.values() for token in model.vocabulary)
        return repr(("" if single else " ").join(element))
    numbers = [claim.format.number(claim.format.units(code)) for code in element]
    return ", ".join(f"{name} = {number}" for name, number in zip(free_names(claim), numbers, strict=True))


def in_scope(node: Any, at: Element) -> Iterator[tuple[Any, Element]]:
    """Every node of a condition, with what its local names stand for."""
    yield node, at
    for name, form in NODES[node["node"]][1].items():
        if form in ("v", "c", "w", "v+", "c*"):
            inner = at.let(node) if name == "body" else at
            for part in node[name] if isinstance(node[name], list) else [node[name]]:
                yield from in_scope(part, inner)


def check_observed(
    claim: Claim, example: Any, element: tuple[Any, ...], report: Report, predicate: Callable[[Any], bool] | None
) -> None:
    """What the verdict says was observed there, compared with what comes out now."""
    observed = example.get("observed") or {}
    need(isinstance(observed, dict), "what was observed is not given by name.")
    at = meet(claim, element, predicate)
    known: dict[str, Any] = {}
    for node, here in (*in_scope(claim.requires, at), *in_scope(claim.ensures, at)):
        if node["node"] in ("Let", "LetValue"):
            known[node["name"]] = value(node["value"], here)
        if said(node) in observed:
            sort = NODES[node["node"]][0]
            known[said(node)] = {"value": value, "word": word, "condition": truth}[sort](node, here)
    for name, text in observed.items():
        if name not in known:
            report.must(False, "", f"{name!r}, said to be observed, is not in the claim")
        elif known[name] is None:
            good = text in ("undefined", "neither")
            report.must(good, f"{name} is undefined there", f"{name} is undefined there, not {text}")
        elif isinstance(known[name], str | bool):
            good = text in (known[name], str(known[name]).lower())
            report.must(good, f"{name} is {text} there", f"{name} is {known[name]} there, not {text}")
        else:
            good = text != "undefined" and known[name] in numbers_meant(text, claim.format)
            number = claim.format.number(known[name])
            report.must(good, f"{name} is {number} there", f"{name} is {number} there, not {text}")


def check_against_walk(
    claim: Claim, verdict: dict[str, Any], tally: Tally, element: tuple[Any, ...] | None, report: Report
) -> None:
    """The verdict against what walking through the elements, the smallest first, has found."""
    said_answer, how_many = verdict["answer"], f"{tally.walked:,} of {count(claim):,} elements"
    if tally.complete:
        how_many = f"all {tally.walked:,} elements"
        if said_answer != "Unknown":
            right, by = answer(claim, tally), f"by walking through {how_many}"
            report.must(right == said_answer, f"{said_answer}, {by}", f"{right}, {by}, not {said_answer}")
        check_counts(claim, verdict, tally, report)
    elif said_answer in ("Proved", "Refuted") and element is None and not report.wrong:
        wrong = f"{shown(claim, tally.first)} says otherwise" if tally.first is not None else ""
        if report.must(not wrong, f"the smallest {how_many} agree", wrong):
            report.trusted("the rest of them: they are too many here (raise --limit)")
    elif said_answer == "Vacuous":
        none = f"none of the smallest {how_many} meets the precondition"
        if report.must(not tally.satisfying, none, "some elements meet the precondition"):
            report.trusted("the rest of them: they are too many here (raise --limit)")
    if element is not None and verdict.get("smallest", "globally") == "globally":
        if tally.first is not None:
            report.must(tally.first == element, "no smaller one does", f"a smaller one does: {shown(claim, tally.first)}")
        else:
            report.trusted(f"that no smaller one does (none of the {tally.walked:,} smallest elements)")
    elif element is not None:
        report.trusted("nothing is said of smaller ones")


def check_counts(claim: Claim, verdict: dict[str, Any], tally: Tally, report: Report) -> None:
    """The verdict's counts; `inputs` may be fewer where the search stopped at a counterexample."""
    whole = verdict["answer"] in ("Proved", "Vacuous") or verdict.get("failures") is not None
    failures = tally.found if claim.quantifier == "all" else None
    for name, right in (("inputs", tally.walked), ("satisfying", tally.satisfying), ("failures", failures)):
        given = verdict.get(name)
        if given is None or right is None:
            continue
        good = given == right if whole and claim.quantifier == "all" else given <= right
        report.must(good, f"{name}: {given:,}", f"{name} is {right:,}, not {given:,}")


def check_samples(
    claim: Claim, verdict: dict[str, Any], limit: int, report: Report, predicate: Callable[[Any], bool] | None
) -> None:
    """Where not all can be walked through, a few hundred elements from anywhere are tried."""
    size = min(limit, 300)
    for element in sample(claim, size):
        meets, true = judge(claim, element, predicate)
        some = claim.quantifier == "some"
        breaks = meets and ((true is True) == some)
        against = {"Proved": breaks and not some, "Refuted": breaks and some, "Vacuous": meets}.get(verdict["answer"], False)
        if against:
            report.must(False, "", f"{shown(claim, element)} says otherwise: the claim comes out {true} there")
            return
    report.tried(f"{size} elements from anywhere: none speaks against the verdict")


# 8 THE COMMAND ========================================================================================================


def no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; one that gives a name twice is refused, for readers would differ on what it says."""
    found = dict(pairs)
    need(len(found) == len(pairs), "an object of the file gives a name twice.")
    return found


def no_floats(text: str) -> Any:
    raise Unreadable(f"the claim holds {text}, and its numbers are whole or fractions.")


def read_json(path: Path, floats: bool = False) -> Any:
    """A file's JSON; times, which a verdict has, are the only numbers with a point."""
    number = None if floats else no_floats
    try:
        return json.loads(path.read_bytes(), object_pairs_hook=no_twins, parse_float=number, parse_constant=no_floats)
    except OSError as error:
        raise Unreadable(f"cannot read {path}: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise Unreadable(f"{path} is not JSON, or was cut short.") from None


def read(path: Path) -> tuple[Claim, dict[str, Any]]:
    """The claim and the verdict of a folder, or of a file that holds both."""
    file = path / "claim.json" if path.is_dir() else path
    data = read_json(file, floats=True)
    need(isinstance(data, dict), f"{file} holds no claim.")
    whole = "claim" in data and "verdict" in data
    claim = read_claim(data["claim"] if whole else data)
    verdict = data["verdict"] if whole else read_json(file.parent / "verdict.json", floats=True)
    return claim, read_verdict(verdict)


def beside(name: str) -> Any:
    """A program that lies beside this one, whatever the path is set to."""
    spec = importlib.util.spec_from_file_location(f"beside_{name}", Path(__file__).resolve().with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    sys.dont_write_bytecode = True  # the folder stays as it is
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(arguments: list[str]) -> int:
    limit, paths = 20_000, list(arguments)
    try:
        if "--limit" in paths:
            place = paths.index("--limit")
            given = paths[place + 1] if place + 1 < len(paths) else ""
            need(given.isascii() and given.isdigit(), "--limit needs a number after it.")
            limit = int(given)
            del paths[place : place + 2]
        paths = paths or [str(Path(__file__).resolve().parent)]
        need(len(paths) == 1 and not paths[0].startswith("-"), "usage: python check.py [FOLDER] [--limit N]")
        claim, verdict = read(Path(paths[0]))
        print("THE CLAIM", *describe(claim), "", f"THE VERDICT: {verdict['answer']}, by {verdict['method']}", sep="\n")
        report = check(claim, verdict, limit)
        if Path(paths[0]).is_dir() and Path(__file__).with_name("files.py").exists():
            beside("files").check_files(Path(paths[0]), claim, verdict, report, SimpleNamespace(**globals()), limit)
    except Unreadable as reason:
        print(f"check.py: {reason}", file=sys.stderr)
        return 2
    print(*sorted(report.lines, key=lambda line: line.startswith("on trust")), sep="\n")
    print("", "CONTRADICTED" if report.wrong else "nothing contradicts the verdict", sep="\n")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
