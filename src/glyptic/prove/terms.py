"""Rounded arithmetic on a solver's terms, simplified as it is built: what `glyptic.exact.forward` runs over when values are free.

A scalar is a `Fraction` (a constant: it folds through the reference arithmetic) or a `Number`, a bit-vector that knows something
of itself. What it knows is what the proofs on paper use:

    range      rounding is monotone, so ranges follow every operation: relu([h − B]) has the range 0 … 0, and is the constant 0
    opposite   rounding commutes with negation (but in two's complement), so [−m·h] is the opposite of [m·h], one circuit for both
    sign       where x ≠ y ⇒ [x − y] ≠ 0, the sign of [x − y] is the order of x and y; [B·x] has the sign of x
    cases      relu(x) is x if 0 < x, else 0. Ranges are followed in each case, and an operation that is trivial in one is done in
               each: relu(x) − relu(−x) is x again, and the constructed weights vanish before a solver sees them

>>> from glyptic.numbers import Fixed
>>> A = RoundedTerms(Fixed(4))
>>> h = A.free("h")
>>> relu = lambda x: A.scalar_larger(x, A.zero)
>>> relu(A.scalar_subtract(h, Fixed(4).max))
Fraction(0, 1)
>>> A.scalar_subtract(relu(h), relu(A.negate(h))).code is h.code
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from glyptic.errors import GlypticError
from glyptic.numbers import Codes, Format, Products, Reference, decode
from glyptic.numbers.scalarwise import Scalarwise
from glyptic.prove import bits
from glyptic.prove.bits import Bits, constant
from glyptic.prove.circuits_fixed import FixedCircuits
from glyptic.prove.circuits_float import FloatCircuits


class Inexpressible(GlypticError):
    """Something that solver terms do not cover; the check answers Unknown with this reason."""


@dataclass(frozen=True, eq=False)
class Number:
    """A value that is not constant: its code, and the least and greatest that the code can be."""

    code: Bits
    low: int
    high: int
    opposite: Number | None = None  # the number that this is the negative of
    sign: tuple[Scalar, Scalar] | None = None  # two values whose order is the sign of this one
    cases: tuple[Bits, Scalar, Scalar] | None = None  # a condition, the value where it holds, the value elsewhere

    def __eq__(self, other: object) -> bool:
        raise Inexpressible("LayerNorm of free values: whether its variance is 0 is not a solver's term here.")

    __hash__ = object.__hash__

    def within(self, low: int, high: int) -> Number:
        """The same, known to lie between two codes (in a case that cannot happen, either end will do)."""
        low = min(max(low, self.low), self.high)
        high = max(min(high, self.high), low)
        opposite = None if self.opposite is None else replace(self.opposite, low=-high, high=-low)
        return replace(self, low=low, high=high, opposite=opposite)


Scalar = Fraction | Number
Ends = Callable[[Sequence[Scalar]], list[Fraction]]  # exact values whose roundings enclose a result, from its operands
Trivial = Callable[[Sequence[Scalar]], bool]


class RoundedTerms(Scalarwise):
    """The rounded operations; `glyptic.prove.attention_terms` adds exp and attention."""

    format: Format
    zero = Fraction(0)

    def __init__(self, format: Format, products: Products = "rounded") -> None:
        super().__init__(format, products)
        self.exact = Reference(format, products)
        self.circuits = FixedCircuits(format) if format.is_fixed else FloatCircuits(format)
        self.symmetric = not format.twos_complement
        self.tells_apart = format.is_fixed or format.subnormals  # x ≠ y ⇒ [x − y] ≠ 0, for all are multiples of the least
        self.domain: list[Bits] = []  # what is known of the free values: their ranges, and how enclosed exps relate

    @property
    def one(self) -> Fraction:  # type: ignore[override]
        return self.exact.one

    # Values --------------------------------------------------------------------------------------------------------------

    def free(self, name: str) -> Number:
        """A value free in the whole format."""
        return self.fresh(name, self.format.min_code, self.format.max_code)

    def fresh(self, name: str, low: int, high: int) -> Number:
        """A value free between two codes."""
        code = bits.variable(name, self.circuits.width)
        bottom, top = constant(low, code.width), constant(high, code.width)
        self.domain += [bits.opposite(bits.less(code, bottom)), bits.opposite(bits.less(top, code))]
        return Number(code, low, high)

    def values(self, codes: Codes) -> np.ndarray:
        return decode(np.asarray(codes), self.format)

    def codes(self, values: np.ndarray) -> Codes:
        raise Inexpressible("terms have no codes until a solver gives them some.")

    def code(self, a: Scalar) -> Bits:
        """The bit-vector of a scalar's code."""
        return a.code if isinstance(a, Number) else constant(self.format.code(a), self.circuits.width)

    def low(self, a: Scalar) -> int:
        return a.low if isinstance(a, Number) else self.format.code(a)

    def high(self, a: Scalar) -> int:
        return a.high if isinstance(a, Number) else self.format.code(a)

    def range(self, a: Scalar) -> tuple[Fraction, Fraction]:
        return (self.format.value(a.low), self.format.value(a.high)) if isinstance(a, Number) else (a, a)

    # One operation -----------------------------------------------------------------------------------------------------------

    def operate(
        self, operation: Callable[..., Scalar], circuit: Callable[..., Bits], operands: list[Scalar], ends: Ends, trivial: Trivial
    ) -> Scalar:
        """An operation by cases where that makes one of them trivial, so circuits never get more; else by its circuit."""
        conditions = [x.cases[0] for x in operands if isinstance(x, Number) and x.cases is not None]
        for condition in conditions:
            branches = self._branches(operands, condition)
            if any(trivial(branch) or self._bounds(ends(branch))[0] == self._bounds(ends(branch))[1] for branch in branches):
                return self.choose(condition, *(operation(*branch) for branch in branches))
        low, high = self._bounds(ends(operands))
        if low == high:
            return self.format.value(low)
        return self._refined(Number(circuit(*map(self.code, operands)), low, high), operands, ends)

    def _refined(self, result: Number, operands: Sequence[Scalar], ends: Ends, depth: int = 2) -> Scalar:
        """A result of which more is known in the cases of its operands, two deep."""
        low, high = self._bounds(ends(operands))
        if low == high:
            return self.format.value(low)
        result = result.within(low, high)
        condition = next((x.cases[0] for x in operands if isinstance(x, Number) and x.cases is not None), None)
        if condition is None or depth == 0:
            return result
        then, otherwise = (
            self._refined(result, branch, ends, depth - 1) for branch in self._branches(operands, condition)
        )
        return replace(result, cases=(condition, then, otherwise))

    def _branches(self, operands: Sequence[Scalar], condition: Bits) -> list[list[Scalar]]:
        return [[self._under(x, condition, holds) for x in operands] for holds in (True, False)]

    def _under(self, x: Scalar, condition: Bits, holds: bool) -> Scalar:
        """What x is, or what more is known of it, where the condition is known."""
        if isinstance(x, Fraction):
            return x
        if x.cases is not None and x.cases[0] is condition:
            return x.cases[1] if holds else x.cases[2]
        if x.opposite is not None:
            return self.negate(self._under(x.opposite, condition, holds))
        if self.positive(x) is condition:
            return x.within(1, x.high) if holds else x.within(x.low, 0)
        if self.negative(x) is condition:
            return x.within(x.low, -1) if holds else x.within(0, x.high)
        return x

    def _bounds(self, ends: list[Fraction]) -> tuple[int, int]:
        low, high = (self.format.code(self.format.round(end)) for end in (min(ends), max(ends)))
        return low, high

    # Sums ------------------------------------------------------------------------------------------------------------------

    def negate(self, a: Scalar) -> Scalar:
        """[−a]."""
        if isinstance(a, Fraction):
            return self.format.round(-a)
        if not self.symmetric:  # −min saturates
            return self.operate(self.negate, self.circuits.negate, [a], lambda x: [-e for e in self.range(x[0])], _never)
        if a.opposite is not None:
            return a.opposite
        cases = None
        if a.cases is not None:
            condition, then, otherwise = a.cases
            cases = (condition, self.negate(then), self.negate(otherwise))
        return Number(bits.negate(a.code), -a.high, -a.low, opposite=a, cases=cases)

    def scalar_add(self, a: Scalar, b: Scalar) -> Scalar:
        if _is(a, 0) or _is(b, 0):
            return b if _is(a, 0) else a
        if isinstance(a, Fraction) and isinstance(b, Number):
            a, b = b, a
        if self.symmetric and isinstance(a, Number) and a.opposite is not None:
            return self.negate(self.scalar_add(a.opposite, self.negate(b)))
        subtracted = b.opposite if isinstance(b, Number) else None
        if subtracted is None:
            return self._signed(self.operate(self.scalar_add, self.circuits.add, [a, b], self._sum_ends, _has_zero), a, b)
        if isinstance(a, Number) and a.code is subtracted.code:
            return self.zero
        circuit = lambda x, y: self.circuits.subtract(x, subtracted.code)  # noqa: E731
        return self._signed(self.operate(self.scalar_add, circuit, [a, b], self._sum_ends, _has_zero), a, b)

    def _sum_ends(self, operands: Sequence[Scalar]) -> list[Fraction]:
        (a1, a2), (b1, b2) = map(self.range, operands)
        return [a1 + b1, a2 + b2]

    def _signed(self, total: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """The sum, knowing that its sign is the order of a and −b."""
        if self.symmetric and self.tells_apart and isinstance(total, Number) and total.opposite is None and total.sign is None:
            return replace(total, sign=(a, self.negate(b)))
        return total

    def scalar_subtract(self, a: Scalar, b: Scalar) -> Scalar:
        if self.symmetric:
            return self.scalar_add(a, self.negate(b))
        if _is(b, 0) or _is(a, 0):
            return a if _is(b, 0) else self.negate(b)
        if isinstance(a, Number) and isinstance(b, Number) and a.code is b.code:
            return self.zero

        def ends(operands: Sequence[Scalar]) -> list[Fraction]:
            (a1, a2), (b1, b2) = map(self.range, operands)
            return [a1 - b2, a2 - b1]

        return self.operate(self.scalar_subtract, self.circuits.subtract, [a, b], ends, _has_zero)

    # Products --------------------------------------------------------------------------------------------------------------

    def scalar_multiply(self, a: Scalar, b: Scalar) -> Scalar:
        for x, y in ((a, b), (b, a)):
            if _is(x, 0) or _is(x, 1):
                return y if _is(x, 1) else self.zero
            if self.symmetric and (x < 0 if isinstance(x, Fraction) else x.opposite is not None):
                return self.negate(self.scalar_multiply(self.negate(x), y))
        if isinstance(b, Fraction):
            a, b = b, a
        product = self.operate(self.scalar_multiply, self.circuits.multiply, [a, b], self._product_ends, _has_zero)
        if isinstance(a, Fraction) and a > 0 and isinstance(product, Number) and isinstance(b, Number):
            return self._split_by_sign(product, a, b)
        return product

    def _product_ends(self, operands: Sequence[Scalar]) -> list[Fraction]:
        a, b = map(self.range, operands[-2:])
        return [x * y for x in a for y in b]

    def _split_by_sign(self, product: Number, weight: Fraction, x: Number) -> Number:
        """[w·x] for w > 0 has the sign of x, if [w·least] is not 0; and a range for each sign."""
        if self.format.round(weight * self.format.least) == 0 or product.opposite is not None or not self.symmetric:
            return product
        product = replace(product, sign=x.sign or (x, self.zero))
        positive, negative = self.positive(x), self.negative(x)
        if product.cases is not None or positive.is_constant or negative.is_constant:
            return product
        parts = (x.within(1, x.high), x.within(x.low, -1))
        above, below = (product.within(*self._bounds(self._product_ends([weight, part]))) for part in parts)
        not_above = replace(product.within(product.low, 0), cases=(negative, below, self.zero))
        return replace(product, cases=(positive, above, not_above))

    def scalar_fused(self, total: Scalar, a: Scalar, b: Scalar) -> Scalar:
        for x, y in ((a, b), (b, a)):
            if _is(x, 0) or _is(x, 1):
                return total if _is(x, 0) else self.scalar_add(total, y)
            if _is(x, -1) and self.symmetric:
                return self.scalar_add(total, self.negate(y))
        if _is(total, 0):
            return self.scalar_multiply(a, b)
        if self.symmetric and isinstance(total, Number) and total.opposite is not None:
            return self.negate(self.scalar_fused(total.opposite, self.negate(a), b))
        if self.symmetric and isinstance(b, Number) and b.opposite is not None:  # the sign goes to the weight
            return self.scalar_fused(total, self.negate(a), b.opposite)

        def ends(operands: Sequence[Scalar]) -> list[Fraction]:
            (low, high), corners = self.range(operands[0]), self._product_ends(operands)
            return [low + min(corners), high + max(corners)]

        return self.operate(self.scalar_fused, self.circuits.fused, [total, a, b], ends, _has_zero)

    def scalar_divide(self, a: Scalar, b: Scalar) -> Scalar:
        """[a/b]; where b is 0 the term means nothing, and that must be excluded."""
        if _is(b, 1) or _is(a, 0):
            return a

        def ends(operands: Sequence[Scalar]) -> list[Fraction]:
            top, bottom = map(self.range, operands)
            whole = [self.format.min, self.format.max]
            return whole if bottom[0] <= 0 <= bottom[1] else [x / y for x in top for y in bottom]

        return self.operate(self.scalar_divide, self.circuits.divide, [a, b], ends, lambda x: _is(x[0], 0))

    def scalar_divide_by_count(self, a: Scalar, count: int) -> Scalar:
        if count == 1:
            return a

        def divided(x: Scalar) -> Scalar:
            return self.scalar_divide_by_count(x, count)

        def circuit(x: Bits) -> Bits:
            return self.circuits.divide_by_count(x, count)

        return self.operate(divided, circuit, [a], lambda x: [end / count for end in self.range(x[0])], _has_zero)

    def scalar_root(self, a: Scalar) -> Scalar:
        """[√a]; where a is negative the term means nothing."""

        def ends(operands: Sequence[Scalar]) -> list[Fraction]:
            return [self.exact.scalar_root(max(end, Fraction(0))) for end in self.range(operands[0])]

        return self.operate(self.scalar_root, self.circuits.root, [a], ends, _has_zero)

    # Order and cases ---------------------------------------------------------------------------------------------------------

    def scalar_larger(self, a: Scalar, b: Scalar) -> Scalar:
        (a1, a2), (b1, b2) = self.range(a), self.range(b)
        if a1 >= b2 or b1 >= a2:
            return a if a1 >= b2 else b
        if _is(b, 0) and isinstance(a, Number):
            return self._relu(a)
        larger = self.choose(self.less(a, b), b, a)
        assert isinstance(larger, Number)
        return replace(larger, low=max(self.low(a), self.low(b)))

    def _relu(self, a: Number) -> Scalar:
        """Cases by whether a is positive; of a negative −p by whether p is, so that relu(p) and relu(−p) have the same cases."""
        if a.cases is not None and any(self.low(x) >= 0 or self.high(x) <= 0 for x in a.cases[1:]):
            condition, then, otherwise = a.cases
            return self.choose(condition, *(self.scalar_larger(x, self.zero) for x in (then, otherwise)))
        if a.opposite is not None:
            return self.choose(self.positive(a.opposite), self.zero, a.within(0, a.high))
        return self.choose(self.positive(a), a.within(1, a.high), self.zero)

    def choose(self, condition: Bits, a: Scalar, b: Scalar) -> Scalar:
        """a where the condition holds, else b."""
        if condition.operation == "not":
            condition, a, b = condition.arguments[0], b, a
        if condition.is_constant:
            return a if condition is bits.TRUE else b
        if isinstance(a, Number) and a.cases is not None and a.cases[0] is condition:
            a = a.cases[1]
        if isinstance(b, Number) and b.cases is not None and b.cases[0] is condition:
            b = b.cases[2]
        low, high = min(self.low(a), self.low(b)), max(self.high(a), self.high(b))
        if low == high:
            return self.format.value(low)
        if isinstance(a, Number) and isinstance(b, Number) and a.code is b.code:
            return self._one_value(condition, a, b)
        return Number(bits.choose(condition, self.code(a), self.code(b)), low, high, cases=(condition, a, b))

    def _one_value(self, condition: Bits, a: Number, b: Number) -> Number:
        """a and b, which are the same value: what both know; and, where a case knows the sign, the cases."""
        both = _merged(a, b)
        if not any(x.low >= 0 or x.high <= 0 for x in (a, b)):
            return both
        opposite = None if both.opposite is None else replace(both.opposite, cases=(condition, self.negate(a), self.negate(b)))
        return replace(both, opposite=opposite, cases=(condition, a, b))

    # Conditions --------------------------------------------------------------------------------------------------------------

    def positive(self, a: Number) -> Bits:
        """0 < a, as the order of two values whose difference it is, if there are such."""
        if a.low > 0 or a.high <= 0:
            return bits.truth(a.low > 0)
        if a.sign is not None:
            return self.less(a.sign[1], a.sign[0])
        return bits.less(constant(0, a.code.width), a.code)

    def negative(self, a: Number) -> Bits:
        """a < 0, likewise."""
        if a.high < 0 or a.low >= 0:
            return bits.truth(a.high < 0)
        if a.sign is not None:
            return self.less(*a.sign)
        return bits.less(a.code, constant(0, a.code.width))

    def equal(self, a: Scalar, b: Scalar) -> Bits:
        (a1, a2), (b1, b2) = self.range(a), self.range(b)
        if a2 < b1 or b2 < a1:
            return bits.FALSE
        found = self._compared(self.equal, a, b)
        return bits.equal(self.code(a), self.code(b)) if found is None else found

    def less(self, a: Scalar, b: Scalar) -> Bits:
        (a1, a2), (b1, b2) = self.range(a), self.range(b)
        if a2 < b1 or b2 <= a1:
            return bits.truth(a2 < b1)
        if isinstance(a, Number) and isinstance(b, Number) and a.opposite is not None and b.opposite is not None:
            return self.less(b.opposite, a.opposite)
        found = self._compared(self.less, a, b)
        return bits.less(self.code(a), self.code(b)) if found is None else found

    def _compared(self, compare: Callable[[Scalar, Scalar], Bits], a: Scalar, b: Scalar) -> Bits | None:
        """A comparison of a constant with cases one of which is constant too; or of 0 with a value whose sign is an order."""
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Number) and isinstance(y, Fraction):
                if x.cases is not None and any(isinstance(case, Fraction) for case in x.cases[1:]):
                    condition = x.cases[0]
                    one, other = ((compare(t, y) if x is a else compare(y, t)) for t in x.cases[1:])
                    return bits.either(bits.both(condition, one), bits.both(bits.opposite(condition), other))
                if y == 0 and x.sign is not None:
                    left, right = x.sign
                    return compare(left, right) if x is a else compare(right, left)
        return None


def _is(a: Scalar, number: int) -> bool:
    return isinstance(a, Fraction) and a == number


def _merged(a: Number, b: Number) -> Number:
    """One value of which two cases know different things: what both know."""
    opposite = _merged(a.opposite, b.opposite) if a.opposite is not None and b.opposite is not None else None
    sign = None
    if a.sign is not None and b.sign is not None and all(map(_same, a.sign, b.sign)):
        sign = tuple(_merged(x, y) if isinstance(x, Number) else x for x, y in zip(a.sign, b.sign, strict=True))  # type: ignore[arg-type]
    return Number(a.code, min(a.low, b.low), max(a.high, b.high), opposite, sign)  # type: ignore[arg-type]


def _same(a: Scalar, b: Scalar) -> bool:
    if isinstance(a, Number) or isinstance(b, Number):
        return isinstance(a, Number) and isinstance(b, Number) and a.code is b.code
    return a == b


def _has_zero(operands: Sequence[Scalar]) -> bool:
    return any(_is(x, 0) for x in operands)


def _never(operands: Sequence[Scalar]) -> bool:
    return False
