"""What a solver's term knows of itself, which is what proofs on paper use, and how operations pass it on.

range      rounding is monotone, so ranges follow every operation: relu([h − B]) has the range 0 … 0, and is the constant 0;
           a code has no more bits of its own than its range needs, and fixed point computes in no more (`circuits_ranged`)
opposite   rounding commutes with negation (but in two's complement), so [−m·h] is the opposite of [m·h], one circuit for both
sign       where x ≠ y ⇒ [x − y] ≠ 0, the sign of [x − y] is the order of x and y; [B·x] has the sign of x
cases      relu(x) is x if 0 < x, else 0. Ranges are followed in each case, and an operation that is trivial in one is done in
           each: relu(x) − relu(−x) is x again, and the constructed weights vanish before a solver sees them
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from glyptic.numbers import Codes, Format, Products, Reference, decode
from glyptic.numbers.scalarwise import Scalarwise
from glyptic.prove.claims.evaluation import Inexpressible
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits, constant
from glyptic.prove.methods.smt.circuits_fixed import FixedCircuits
from glyptic.prove.methods.smt.circuits_float import FloatCircuits
from glyptic.prove.methods.smt.circuits_ranged import RangedCircuits, Span


@dataclass(frozen=True, eq=False)
class Term:
    """A value that is not constant: its code, and the least and greatest that the code can be."""

    code: Bits
    low: int
    high: int
    opposite: Term | None = None  # the number that this is the negative of
    sign: tuple[Scalar, Scalar] | None = None  # two values whose order is the sign of this one
    cases: tuple[Bits, Scalar, Scalar] | None = None  # a condition, the value where it holds, the value elsewhere

    def __eq__(self, other: object) -> bool:
        raise TypeError("two terms are compared by their arithmetic's `equal`, which gives a condition.")

    __hash__ = object.__hash__

    def within(self, low: int, high: int) -> Term:
        """The same, known to lie between two codes (in a case that cannot happen, either end will do)."""
        low = min(max(low, self.low), self.high)
        high = max(min(high, self.high), low)
        opposite = None if self.opposite is None else replace(self.opposite, low=-high, high=-low)
        return replace(self, low=low, high=high, opposite=opposite)


Scalar = Fraction | Term
Ends = Callable[[Sequence[Scalar]], list[Fraction]]  # exact values whose roundings enclose a result, from its operands
Trivial = Callable[[Sequence[Scalar]], bool]
Circuit = Callable[[Sequence[Bits], Sequence[Span]], Bits]  # of the operands' codes and ranges


class KnownFacts(Scalarwise):
    """Scalars and conditions, and the way an operation on scalars is done; the operations are in `terms`."""

    format: Format
    zero = Fraction(0)

    def __init__(self, format: Format, products: Products = "rounded") -> None:
        super().__init__(format, products)
        self.exact = Reference(format, products)
        self.circuits = FixedCircuits(format) if format.is_fixed else FloatCircuits(format)
        self.ranged = RangedCircuits(self.circuits) if isinstance(self.circuits, FixedCircuits) else None
        self.symmetric = not format.twos_complement
        self.tells_apart = (
            format.is_fixed or format.subnormals
        )  # x ≠ y ⇒ [x − y] ≠ 0, for all are multiples of the least
        self._negated: dict[int, Term] = {}  # by the id of what is negated, which its negative keeps alive
        self.domain: list[Bits] = []  # what is true of the free values and of exps in every case; never what one case knows
        self.conditions: dict[int, Bits] = {}  # what values were split by

    @property
    def one(self) -> Fraction:  # type: ignore[override]
        return self.exact.one

    # Values --------------------------------------------------------------------------------------------------------------

    def free(self, name: str) -> Term:
        """A value free in the whole format."""
        return self.fresh(name, self.format.min_code, self.format.max_code)

    def fresh(self, name: str, low: int, high: int) -> Term:
        """A value free between two codes."""
        code = bits.variable(name, self.circuits.width)
        bottom, top = constant(low, code.width), constant(high, code.width)
        self.domain += [bits.opposite(bits.less(code, bottom)), bits.opposite(bits.less(top, code))]
        return Term(code, low, high)

    def bounded(self, x: Term, low: int, high: int) -> Term:
        """The same value where it is known to lie between two codes: what is made of it is right there, and only there."""
        return Term(self.narrow(x.code, low, high), low, high)

    def narrow(self, code: Bits, low: int, high: int) -> Bits:
        """A code that lies between two others, with no more bits of its own than these need."""
        return bits.fitted(code, low, high, code.width)

    def values(self, codes: Codes) -> np.ndarray:
        return decode(np.asarray(codes), self.format)

    def codes(self, values: np.ndarray) -> Codes:
        raise Inexpressible("terms have no codes until a solver gives them some.")

    def code(self, a: Scalar) -> Bits:
        """The bit-vector of a scalar's code."""
        return a.code if isinstance(a, Term) else constant(self.format.code(a), self.circuits.width)

    def low(self, a: Scalar) -> int:
        return a.low if isinstance(a, Term) else self.format.code(a)

    def high(self, a: Scalar) -> int:
        return a.high if isinstance(a, Term) else self.format.code(a)

    def range(self, a: Scalar) -> tuple[Fraction, Fraction]:
        return (self.format.value(a.low), self.format.value(a.high)) if isinstance(a, Term) else (a, a)

    # One operation -----------------------------------------------------------------------------------------------------------

    def operate(
        self,
        operation: Callable[..., Scalar],
        circuit: Circuit,
        operands: list[Scalar],
        ends: Ends,
        trivial: Trivial,
    ) -> Scalar:
        """An operation by cases where that makes one of them trivial, so circuits never get more; else by its circuit."""
        conditions = [x.cases[0] for x in operands if isinstance(x, Term) and x.cases is not None]
        for condition in conditions:
            branches = self._branches(operands, condition)
            if any(trivial(branch) or len({*self._bounds(ends(branch))}) == 1 for branch in branches):
                return self.choose(condition, *(operation(*branch) for branch in branches))
        low, high = self._bounds(ends(operands))
        if low == high:
            return self.format.value(low)
        spans = [(self.low(x), self.high(x)) for x in operands]
        return self._refined(Term(circuit([self.code(x) for x in operands], spans), low, high), operands, ends)

    def circuit(self, name: str, *more: Any) -> Circuit:
        """The circuit of an operation: fixed point by the ranges of the operands, floats the whole of it."""
        if self.ranged is None:
            whole = getattr(self.circuits, name)
            return lambda codes, spans: whole(*codes, *more)
        by_ranges = getattr(self.ranged, name)
        return lambda codes, spans: by_ranges(*codes, *more, spans=spans)

    def _refined(self, result: Term, operands: Sequence[Scalar], ends: Ends, depth: int = 2) -> Scalar:
        """A result of which more is known in the cases of its operands, two deep."""
        low, high = self._bounds(ends(operands))
        if low == high:
            return self.format.value(low)
        result = result.within(low, high)
        condition = next((x.cases[0] for x in operands if isinstance(x, Term) and x.cases is not None), None)
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

    # Negation, cases and conditions ---------------------------------------------------------------------------------------

    def negate(self, a: Scalar) -> Scalar:
        """[−a]."""
        if isinstance(a, Fraction):
            return self.format.round(-a)
        if not self.symmetric:  # −min saturates
            return self.operate(
                self.negate, self.circuit("negate"), [a], lambda x: [-e for e in self.range(x[0])], _never
            )
        if a.opposite is not None:
            return a.opposite
        if id(a) not in self._negated:  # cases share parts: each is negated once
            cases = None
            if a.cases is not None:
                condition, then, otherwise = a.cases
                cases = (condition, self.negate(then), self.negate(otherwise))
            code = self.narrow(bits.negate(a.code), -a.high, -a.low)
            self._negated[id(a)] = Term(code, -a.high, -a.low, opposite=a, cases=cases)
        return self._negated[id(a)]

    def choose(self, condition: Bits, a: Scalar, b: Scalar) -> Scalar:
        """a where the condition holds, else b."""
        if condition.operation == "not":
            condition, a, b = condition.arguments[0], b, a
        if condition.is_constant:
            return a if condition is bits.TRUE else b
        if isinstance(a, Term) and a.cases is not None and a.cases[0] is condition:
            a = a.cases[1]
        if isinstance(b, Term) and b.cases is not None and b.cases[0] is condition:
            b = b.cases[2]
        low, high = min(self.low(a), self.low(b)), max(self.high(a), self.high(b))
        if low == high:
            return self.format.value(low)
        if isinstance(a, Term) and isinstance(b, Term) and a.code is b.code:
            return self._one_value(condition, a, b)
        self.conditions[id(condition)] = condition
        one, other = (bits.low_bits(self.code(x), bits.signed_width(low, high)) for x in (a, b))
        code = bits.fitted(bits.choose(condition, one, other), low, high, self.circuits.width)
        return Term(code, low, high, cases=(condition, a, b))

    def _one_value(self, condition: Bits, a: Term, b: Term) -> Term:
        """a and b, which are the same value: what both know; and, where a case knows the sign, the cases."""
        both = _merged(a, b)
        self.conditions[id(condition)] = condition
        if not any(x.low >= 0 or x.high <= 0 for x in (a, b)):
            return both
        opposite = both.opposite
        if opposite is not None:
            opposite = replace(opposite, cases=(condition, self.negate(a), self.negate(b)))
        return replace(both, opposite=opposite, cases=(condition, a, b))

    def positive(self, a: Term) -> Bits:
        """0 < a, as the order of two values whose difference it is, if there are such."""
        if a.low > 0 or a.high <= 0:
            return bits.truth(a.low > 0)
        if a.sign is not None:
            return self.less(a.sign[1], a.sign[0])
        return bits.less(constant(0, a.code.width), a.code)

    def negative(self, a: Term) -> Bits:
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
        if isinstance(a, Term) and isinstance(b, Term) and a.opposite is not None and b.opposite is not None:
            return self.less(b.opposite, a.opposite)
        found = self._compared(self.less, a, b)
        return bits.less(self.code(a), self.code(b)) if found is None else found

    def _compared(self, compare: Callable[[Scalar, Scalar], Bits], a: Scalar, b: Scalar) -> Bits | None:
        """A comparison of a constant with cases one of which is constant too; or of 0 with a value whose sign is an order."""
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Term) and isinstance(y, Fraction):
                if x.cases is not None and any(isinstance(case, Fraction) for case in x.cases[1:]):
                    condition = x.cases[0]
                    one, other = ((compare(t, y) if x is a else compare(y, t)) for t in x.cases[1:])
                    return bits.either(bits.both(condition, one), bits.both(bits.opposite(condition), other))
                if y == 0 and x.sign is not None:
                    left, right = x.sign
                    return compare(left, right) if x is a else compare(right, left)
        return None


def _merged(a: Term, b: Term) -> Term:
    """One value of which two cases know different things: what both know."""
    opposite = _merged(a.opposite, b.opposite) if a.opposite is not None and b.opposite is not None else None
    sign = None
    if a.sign is not None and b.sign is not None and all(map(_same, a.sign, b.sign)):
        sign = tuple(_merged(x, y) if isinstance(x, Term) else x for x, y in zip(a.sign, b.sign, strict=True))  # type: ignore[arg-type]
    return Term(a.code, min(a.low, b.low), max(a.high, b.high), opposite, sign)  # type: ignore[arg-type]


def _same(a: Scalar, b: Scalar) -> bool:
    if isinstance(a, Term) or isinstance(b, Term):
        return isinstance(a, Term) and isinstance(b, Term) and a.code is b.code
    return a == b


def _never(operands: Sequence[Scalar]) -> bool:
    return False
