"""Terms that know nothing: constants fold, everything else is its circuit. Lemmas about numbers are decided over these.

The rules by which `methods.smt.terms` simplifies are lemmas themselves (rounding is monotone and commutes with negation;
differences tell apart); here nothing is assumed of them, so `glyptic.theorems.lemma_base` can decide them, format by format.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from glyptic.numbers import Activation, Format, Products
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.attention_terms import Terms
from glyptic.prove.methods.smt.bits import Bits
from glyptic.prove.methods.smt.terms import Scalar, Term


class PlainTerms(Terms):
    """Rounded arithmetic on solver terms, not simplified.

    >>> from glyptic.numbers import Fixed
    >>> A = PlainTerms(Fixed(4))
    >>> A.scalar_add(A.free("x"), A.zero).code
    <extract (8, 0): 9 bits>
    """

    def __init__(self, format: Format, products: Products = "rounded") -> None:
        super().__init__(format, products)
        self.results: dict[int, Bits] = {}  # the code of every result, by its id, in the order of their making

    def _plain(self, circuit: Callable[..., Bits], exact: Callable[..., Fraction], *operands: Scalar) -> Scalar:
        if all(isinstance(x, Fraction) for x in operands):
            return exact(*operands)
        return self._result(Term(circuit(*map(self.code, operands)), self.format.min_code, self.format.max_code))

    def _result(self, number: Scalar) -> Scalar:
        if isinstance(number, Term):
            self.results[id(number.code)] = number.code
        return number

    def scalar_exp(self, a: Scalar) -> Scalar:
        return self._result(super().scalar_exp(a))

    def scalar_activation(self, kind: Activation, a: Scalar) -> Scalar:
        return self._result(super().scalar_activation(kind, a))

    def negate(self, a: Scalar) -> Scalar:
        return self._plain(self.circuits.negate, lambda x: self.format.round(-x), a)

    def scalar_add(self, a: Scalar, b: Scalar) -> Scalar:
        return self._plain(self.circuits.add, self.exact.scalar_add, a, b)

    def scalar_subtract(self, a: Scalar, b: Scalar) -> Scalar:
        return self._plain(self.circuits.subtract, self.exact.scalar_subtract, a, b)

    def scalar_multiply(self, a: Scalar, b: Scalar) -> Scalar:
        return self._plain(self.circuits.multiply, self.exact.scalar_multiply, a, b)

    def scalar_fused(self, total: Scalar, a: Scalar, b: Scalar) -> Scalar:
        return self._plain(self.circuits.fused, self.exact.scalar_fused, total, a, b)

    def scalar_divide(self, a: Scalar, b: Scalar) -> Scalar:
        return self._plain(self.circuits.divide, self.exact.scalar_divide, a, b)

    def scalar_divide_by_count(self, a: Scalar, count: int) -> Scalar:
        circuit = lambda x: self.circuits.divide_by_count(x, count)  # noqa: E731
        return self._plain(circuit, lambda x: self.exact.scalar_divide_by_count(x, count), a)

    def scalar_root(self, a: Scalar) -> Scalar:
        return self._plain(self.circuits.root, self.exact.scalar_root, a)

    def scalar_larger(self, a: Scalar, b: Scalar) -> Scalar:
        return self._plain(lambda x, y: bits.choose(bits.less(x, y), y, x), self.exact.scalar_larger, a, b)

    def choose(self, condition: Bits, a: Scalar, b: Scalar) -> Scalar:
        code = bits.choose(condition, self.code(a), self.code(b))
        return self._result(Term(code, self.format.min_code, self.format.max_code))

    def equal(self, a: Scalar, b: Scalar) -> Bits:
        return bits.equal(self.code(a), self.code(b))

    def less(self, a: Scalar, b: Scalar) -> Bits:
        return bits.less(self.code(a), self.code(b))
