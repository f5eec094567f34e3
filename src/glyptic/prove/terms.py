"""An arithmetic whose values are terms of a solver: what `glyptic.exact.forward` runs over when values are free.

A scalar is a `Fraction` (a constant: it folds through the reference arithmetic) or a `Number`: the bit-vector of a code, with the
range that it can take. Ranges are enough to make gates vanish: relu([h − B]) is 0 for every h, and becomes the constant 0.

>>> from glyptic.numbers import Fixed
>>> A = Terms(Fixed(4))
>>> h = A.free("h")
>>> A.scalar_larger(A.scalar_subtract(h, Fixed(4).max), A.zero)
Fraction(0, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.errors import GlypticError
from glyptic.numbers import Attention, Codes, Format, Products, Reference, decode
from glyptic.numbers.scalarwise import Scalarwise
from glyptic.prove import bits
from glyptic.prove.bits import Bits, constant
from glyptic.prove.circuits_fixed import FixedCircuits
from glyptic.prove.circuits_float import FloatCircuits
from glyptic.prove.steps import Staircase, exp_staircase


class Inexpressible(GlypticError):
    """Something that solver terms do not cover; the check answers Unknown with this reason."""


@dataclass(frozen=True, eq=False)
class Number:
    """A value that is not constant: its code, and the least and greatest that the code can be."""

    code: Bits
    low: int
    high: int

    def __eq__(self, other: object) -> bool:
        raise Inexpressible("LayerNorm of free values: whether its variance is 0 is not a solver's term here.")

    __hash__ = object.__hash__


Scalar = Fraction | Number


class Terms(Scalarwise):
    """Rounded arithmetic on solver terms in a finite format."""

    format: Format
    zero = Fraction(0)

    def __init__(self, format: Format, products: Products = "rounded") -> None:
        super().__init__(format, products)
        self.exact = Reference(format, products)
        self.circuits = FixedCircuits(format) if format.is_fixed else FloatCircuits(format)
        self.side_conditions: list[Bits] = []  # the ranges of free values, and what is known of an enclosed exp
        self.enclosed: list[tuple[Number, Number]] = []  # (x, [exp x]) where exp is only enclosed

    @property
    def one(self) -> Fraction:  # type: ignore[override]
        return self.exact.one

    # Values --------------------------------------------------------------------------------------------------------------

    def free(self, name: str) -> Number:
        """A value free in the whole format."""
        return self._fresh(name, self.format.min_code, self.format.max_code)

    def values(self, codes: Codes) -> np.ndarray:
        return decode(np.asarray(codes), self.format)

    def codes(self, values: np.ndarray) -> Codes:
        raise Inexpressible("terms have no codes until a solver gives them some.")

    def code(self, a: Scalar) -> Bits:
        """The bit-vector of a scalar's code."""
        return a.code if isinstance(a, Number) else constant(self.format.code(a), self.circuits.width)

    def _fresh(self, name: str, low: int, high: int) -> Number:
        code = bits.variable(name, self.circuits.width)
        self.side_conditions.append(self._within(code, low, high))
        return Number(code, low, high)

    def _within(self, code: Bits, low: int, high: int) -> Bits:
        bottom, top = (constant(end, code.width) for end in (low, high))
        return bits.both(bits.opposite(bits.less(code, bottom)), bits.opposite(bits.less(top, code)))

    def _range(self, a: Scalar) -> tuple[Fraction, Fraction]:
        return (self.format.value(a.low), self.format.value(a.high)) if isinstance(a, Number) else (a, a)

    def _number(self, circuit: Callable[..., Bits], operands: list[Scalar], ends: list[Fraction]) -> Scalar:
        """The result of a circuit, knowing exact values whose roundings enclose it (rounding never changes an order)."""
        low, high = (self.format.code(self.format.round(end)) for end in (min(ends), max(ends)))
        if low == high:
            return self.format.value(low)
        return Number(circuit(*map(self.code, operands)), low, high)

    # Rounded operations ----------------------------------------------------------------------------------------------------

    def scalar_add(self, a: Scalar, b: Scalar) -> Scalar:
        if _is(a, 0) or _is(b, 0):
            return b if _is(a, 0) else a
        (a1, a2), (b1, b2) = self._range(a), self._range(b)
        return self._number(self.circuits.add, [a, b], [a1 + b1, a2 + b2])

    def scalar_subtract(self, a: Scalar, b: Scalar) -> Scalar:
        if a is b:
            return self.zero
        if _is(b, 0):
            return a
        (a1, a2), (b1, b2) = self._range(a), self._range(b)
        if _is(a, 0):
            return self._number(self.circuits.negate, [b], [-b2, -b1])
        return self._number(self.circuits.subtract, [a, b], [a1 - b2, a2 - b1])

    def scalar_multiply(self, a: Scalar, b: Scalar) -> Scalar:
        for x, y in ((a, b), (b, a)):
            if _is(x, 0) or _is(x, 1):
                return y if _is(x, 1) else self.zero
            if _is(x, -1):
                return self.scalar_subtract(self.zero, y)
        return self._number(self.circuits.multiply, [a, b], self._corners(a, b))

    def _corners(self, a: Scalar, b: Scalar) -> list[Fraction]:
        return [x * y for x in self._range(a) for y in self._range(b)]

    def scalar_fused(self, total: Scalar, a: Scalar, b: Scalar) -> Scalar:
        for x, y in ((a, b), (b, a)):
            if _is(x, 0):
                return total
            if _is(x, 1):
                return self.scalar_add(total, y)
            if _is(x, -1):
                return self.scalar_subtract(total, y)
        if _is(total, 0):
            return self.scalar_multiply(a, b)
        low, high = self._range(total)
        corners = self._corners(a, b)
        return self._number(self.circuits.fused, [total, a, b], [low + min(corners), high + max(corners)])

    def scalar_divide(self, a: Scalar, b: Scalar) -> Scalar:
        """[a/b]; where b is 0 the term means nothing, and `is_zero(b)` must be excluded."""
        if _is(b, 1) or _is(a, 0):
            return a
        (a1, a2), (b1, b2) = self._range(a), self._range(b)
        if b1 <= 0 <= b2:
            ends = [self.format.min, self.format.max]
        else:
            ends = [x / y for x in (a1, a2) for y in (b1, b2)]
        return self._number(self.circuits.divide, [a, b], ends)

    def scalar_divide_by_count(self, a: Scalar, count: int) -> Scalar:
        if count == 1:
            return a
        return self._number(lambda x: self.circuits.divide_by_count(x, count), [a], [x / count for x in self._range(a)])

    def scalar_root(self, a: Scalar) -> Scalar:
        """[√a]; where a is negative the term means nothing."""
        if isinstance(a, Fraction):
            return self.exact.scalar_root(a)
        low, high = (self.exact.scalar_root(max(end, Fraction(0))) for end in self._range(a))
        return self._number(self.circuits.root, [a], [low, high])

    def scalar_larger(self, a: Scalar, b: Scalar) -> Scalar:
        (a1, a2), (b1, b2) = self._range(a), self._range(b)
        if a1 >= b2 or b1 >= a2:
            return a if a1 >= b2 else b
        larger = self.choose(self.less(a, b), b, a)
        assert isinstance(larger, Number)
        return Number(larger.code, max(_low(self, a), _low(self, b)), larger.high)

    # exp -------------------------------------------------------------------------------------------------------------------

    def scalar_exp(self, a: Scalar) -> Scalar:
        """[exp a]: a table of steps, or, where that would be too long, a value between two staircases."""
        if isinstance(a, Fraction):
            return self.exact.scalar_exp(a)
        stairs = exp_staircase(self.format, a.low, a.high)
        if len(set(stairs.lows + stairs.highs)) == 1:
            return self.format.value(stairs.lows[0])
        if stairs.exact:
            return Number(self._climb(a.code, stairs.starts, stairs.lows), stairs.lows[0], stairs.lows[-1])
        return self._enclose(a, stairs)

    def _climb(self, code: Bits, starts: tuple[int, ...], values: tuple[int, ...]) -> Bits:
        """A balanced tree of comparisons."""
        if len(starts) == 1:
            return constant(values[0], code.width)
        middle = len(starts) // 2
        below, above = (self._climb(code, starts[part], values[part]) for part in (slice(middle), slice(middle, None)))
        return bits.choose(bits.less(code, constant(starts[middle], code.width)), below, above)

    def _enclose(self, a: Number, stairs: Staircase) -> Number:
        """A new value within the staircase, and in order with the other exps."""
        image = self._fresh(f"exp.{len(self.enclosed)}", stairs.lows[0], stairs.highs[-1])
        low, high = (self._climb(a.code, stairs.starts, side) for side in (stairs.lows, stairs.highs))
        self.side_conditions += [bits.opposite(bits.less(image.code, low)), bits.opposite(bits.less(high, image.code))]
        for x, y in self.enclosed:
            for p, q, fp, fq in ((x, a, y, image), (a, x, image, y)):
                in_order = bits.opposite(bits.less(fq.code, fp.code))
                self.side_conditions.append(bits.either(bits.less(q.code, p.code), in_order))
        self.enclosed.append((a, image))
        return image

    # Conditions ------------------------------------------------------------------------------------------------------------

    def equal(self, a: Scalar, b: Scalar) -> Bits:
        (a1, a2), (b1, b2) = self._range(a), self._range(b)
        if a2 < b1 or b2 < a1:
            return bits.FALSE
        return bits.equal(self.code(a), self.code(b))

    def less(self, a: Scalar, b: Scalar) -> Bits:
        (a1, a2), (b1, b2) = self._range(a), self._range(b)
        if a2 < b1 or b2 <= a1:
            return bits.truth(a2 < b1)
        return bits.less(self.code(a), self.code(b))

    def choose(self, condition: Bits, a: Scalar, b: Scalar) -> Scalar:
        """a where the condition holds, else b."""
        if condition.is_constant:
            return a if condition is bits.TRUE else b
        if isinstance(a, Fraction) and isinstance(b, Fraction) and a == b:
            return a
        low = min(_low(self, a), _low(self, b))
        high = max(_high(self, a), _high(self, b))
        return Number(bits.choose(condition, self.code(a), self.code(b)), low, high)

    # Attention: where `Scalarwise` asks for a truth value, terms give a condition --------------------------------------------

    def attention_weights(
        self, scores: np.ndarray, visible: np.ndarray, kind: Attention
    ) -> tuple[np.ndarray, np.ndarray]:
        weights = np.full(scores.shape, self.zero, dtype=object)
        undefined = np.full((scores.shape[0], scores.shape[2]), bits.FALSE, dtype=object)
        for i, b in np.ndindex(undefined.shape):
            seen = np.flatnonzero(visible[i])
            if seen.size:
                row, undefined[i, b] = self.distribute(list(scores[i, seen, b]), kind)
                for j, weight in zip(seen, row, strict=True):
                    weights[i, j, b] = weight
        return weights, undefined

    def distribute(self, scores: list[Scalar], kind: Attention) -> tuple[list[Scalar], Any]:
        if kind in ("leftmost", "rightmost", "average"):
            return self.hard(scores, kind), bits.FALSE
        if kind == "max-subtracted":
            largest = self.largest(scores)
            scores = [self.scalar_subtract(score, largest) for score in scores]
        exps = [self.scalar_exp(score) for score in scores]
        denominator = self.sum(exps)
        if _is(denominator, 0):
            return [self.zero] * len(scores), bits.TRUE
        return [self.scalar_divide(e, denominator) for e in exps], self.equal(denominator, self.zero)

    def hard(self, scores: list[Scalar], kind: Attention) -> list[Scalar]:
        largest = self.largest(scores)
        best = [self.equal(score, largest) for score in scores]
        if kind == "average":
            share = self._share(best)
            return [self.choose(is_best, share, self.zero) for is_best in best]
        order = range(len(best)) if kind == "leftmost" else reversed(range(len(best)))
        taken, weights = bits.FALSE, [self.zero] * len(best)
        for j in order:
            weights[j] = self.choose(bits.both(best[j], bits.opposite(taken)), self.one, self.zero)
            taken = bits.either(taken, best[j])
        return weights

    def _share(self, best: list[Bits]) -> Scalar:
        """[1/count] for the number of conditions that hold, which is at least one."""
        width = len(best).bit_length()
        count = constant(0, width)
        for condition in best:
            count = bits.add(count, bits.bit(condition, width))
        share: Scalar = self.one
        for n in range(2, len(best) + 1):
            share = self.choose(bits.equal(count, constant(n, width)), self.exact.scalar_divide_by_count(self.one, n), share)
        return share


def _is(a: Scalar, number: int) -> bool:
    return isinstance(a, Fraction) and a == number


def _low(terms: Terms, a: Scalar) -> int:
    return a.low if isinstance(a, Number) else terms.format.code(a)


def _high(terms: Terms, a: Scalar) -> int:
    return a.high if isinstance(a, Number) else terms.format.code(a)
