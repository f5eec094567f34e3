"""Rounded arithmetic on a solver's terms, simplified as it is built: what `glyptic.exact.forward` runs over when values are free.

A scalar is a `Fraction` (a constant: it folds through the reference arithmetic) or a `Term` (`known_facts`). A sum
or a product is first brought into one form, signs outside, so that what is equal is one circuit.

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

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from glyptic.prove.methods.smt.bits import Bits
from glyptic.prove.methods.smt.circuits_ranged import Span
from glyptic.prove.methods.smt.known_facts import Inexpressible, KnownFacts, Scalar, Term


class RoundedTerms(KnownFacts):
    """The rounded operations; `glyptic.prove.methods.smt.attention_terms` adds exp and attention."""

    # Sums ------------------------------------------------------------------------------------------------------------------

    def scalar_add(self, a: Scalar, b: Scalar) -> Scalar:
        if _is(a, 0) or _is(b, 0):
            return b if _is(a, 0) else a
        if isinstance(a, Fraction) and isinstance(b, Term):
            a, b = b, a
        if self.symmetric and isinstance(a, Term) and a.opposite is not None:
            return self.negate(self.scalar_add(a.opposite, self.negate(b)))
        subtracted = b.opposite if isinstance(b, Term) else None
        if subtracted is None:
            return self._signed(
                self.operate(self.scalar_add, self.circuit("add"), [a, b], self._sum_ends, _has_zero), a, b
            )
        if isinstance(a, Term) and a.code is subtracted.code:
            return self.zero

        def difference(codes: Sequence[Bits], spans: Sequence[Span]) -> Bits:
            first, (low, high) = spans
            return self.circuit("subtract")([codes[0], subtracted.code], [first, (-high, -low)])

        return self._signed(self.operate(self.scalar_add, difference, [a, b], self._sum_ends, _has_zero), a, b)

    def _sum_ends(self, operands: Sequence[Scalar]) -> list[Fraction]:
        (a1, a2), (b1, b2) = map(self.range, operands)
        return [a1 + b1, a2 + b2]

    def _signed(self, total: Scalar, a: Scalar, b: Scalar) -> Scalar:
        """The sum, knowing that its sign is the order of a and −b."""
        if (
            self.symmetric
            and self.tells_apart
            and isinstance(total, Term)
            and total.opposite is None
            and total.sign is None
        ):
            return replace(total, sign=(a, self.negate(b)))
        return total

    def scalar_subtract(self, a: Scalar, b: Scalar) -> Scalar:
        if self.symmetric:
            return self.scalar_add(a, self.negate(b))
        if _is(b, 0) or _is(a, 0):
            return a if _is(b, 0) else self.negate(b)
        if isinstance(a, Term) and isinstance(b, Term) and a.code is b.code:
            return self.zero

        def ends(operands: Sequence[Scalar]) -> list[Fraction]:
            (a1, a2), (b1, b2) = map(self.range, operands)
            return [a1 - b2, a2 - b1]

        return self.operate(self.scalar_subtract, self.circuit("subtract"), [a, b], ends, _has_zero)

    # Products --------------------------------------------------------------------------------------------------------------

    def scalar_multiply(self, a: Scalar, b: Scalar) -> Scalar:
        for x, y in ((a, b), (b, a)):
            if _is(x, 0) or _is(x, 1):
                return y if _is(x, 1) else self.zero
            if self.symmetric and (x < 0 if isinstance(x, Fraction) else x.opposite is not None):
                return self.negate(self.scalar_multiply(self.negate(x), y))
        if isinstance(b, Fraction):
            a, b = b, a
        product = self.operate(self.scalar_multiply, self.circuit("multiply"), [a, b], self._product_ends, _has_zero)
        if isinstance(a, Fraction) and a > 0 and isinstance(product, Term) and isinstance(b, Term):
            return self._split_by_sign(product, a, b)
        return product

    def _product_ends(self, operands: Sequence[Scalar]) -> list[Fraction]:
        a, b = map(self.range, operands[-2:])
        return [x * y for x in a for y in b]

    def _split_by_sign(self, product: Term, weight: Fraction, x: Term) -> Term:
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
        if self.symmetric and isinstance(total, Term) and total.opposite is not None:
            return self.negate(self.scalar_fused(total.opposite, self.negate(a), b))
        if self.symmetric and isinstance(b, Term) and b.opposite is not None:  # the sign goes to the weight
            return self.scalar_fused(total, self.negate(a), b.opposite)

        def ends(operands: Sequence[Scalar]) -> list[Fraction]:
            (low, high), corners = self.range(operands[0]), self._product_ends(operands)
            return [low + min(corners), high + max(corners)]

        return self.operate(self.scalar_fused, self.circuit("fused"), [total, a, b], ends, _has_zero)

    def scalar_divide(self, a: Scalar, b: Scalar) -> Scalar:
        """[a/b]; where b is 0 the term means nothing, and that must be excluded."""
        if _is(b, 1) or _is(a, 0):
            return a

        def ends(operands: Sequence[Scalar]) -> list[Fraction]:
            top, bottom = map(self.range, operands)
            whole = [self.format.min, self.format.max]
            return whole if bottom[0] <= 0 <= bottom[1] else [x / y for x in top for y in bottom]

        return self.operate(self.scalar_divide, self.circuit("divide"), [a, b], ends, lambda x: _is(x[0], 0))

    def scalar_divide_by_count(self, a: Scalar, count: int) -> Scalar:
        if count == 1:
            return a

        def divided(x: Scalar) -> Scalar:
            return self.scalar_divide_by_count(x, count)

        circuit, ends = self.circuit("divide_by_count", count), lambda x: [end / count for end in self.range(x[0])]
        return self.operate(divided, circuit, [a], ends, _has_zero)

    def scalar_root(self, a: Scalar) -> Scalar:
        """[√a]; where a is negative the term means nothing."""

        def ends(operands: Sequence[Scalar]) -> list[Fraction]:
            return [self.exact.scalar_root(max(end, Fraction(0))) for end in self.range(operands[0])]

        return self.operate(self.scalar_root, self.circuit("root"), [a], ends, _has_zero)

    # Larger ---------------------------------------------------------------------------------------------------------------

    def scalar_larger(self, a: Scalar, b: Scalar) -> Scalar:
        (a1, a2), (b1, b2) = self.range(a), self.range(b)
        if a1 >= b2 or b1 >= a2:
            return a if a1 >= b2 else b
        if _is(b, 0) and isinstance(a, Term):
            return self._relu(a)
        larger = self.choose(self.less(a, b), b, a)
        assert isinstance(larger, Term)
        return replace(larger, low=max(self.low(a), self.low(b)))

    def _relu(self, a: Term) -> Scalar:
        """Cases by whether a is positive; of a negative −p by whether p is, so that relu(p) and relu(−p) have the same cases."""
        if a.cases is not None and any(self.low(x) >= 0 or self.high(x) <= 0 for x in a.cases[1:]):
            condition, then, otherwise = a.cases
            return self.choose(condition, *(self.scalar_larger(x, self.zero) for x in (then, otherwise)))
        if a.opposite is not None:
            return self.choose(self.positive(a.opposite), self.zero, a.within(0, a.high))
        return self.choose(self.positive(a), a.within(1, a.high), self.zero)


def _is(a: Scalar, number: int) -> bool:
    return isinstance(a, Fraction) and a == number


def _has_zero(operands: Sequence[Scalar]) -> bool:
    return any(_is(x, 0) for x in operands)


__all__ = ["Inexpressible", "RoundedTerms", "Scalar", "Term"]
