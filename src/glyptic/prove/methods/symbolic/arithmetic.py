"""Rounded arithmetic on decision diagrams: scalars are codes that depend on free tokens, and constants are codes.

What two constants come to is asked of the reference arithmetic, once, and remembered.

>>> from glyptic.numbers import Fixed
>>> A = DiagramArithmetic(Fixed(2), Diagrams(2))
>>> bit = A.diagrams.token(0, (0, 4))                 # 0 or 1, in units of 1/4
>>> A.scalar_add(bit, bit).children, A.scalar_subtract(bit, bit)
((0, 8), 0)
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from glyptic.numbers import Activation, Attention, Codes, Format, Products, Reference
from glyptic.numbers.scalarwise import Scalarwise
from glyptic.prove.methods.symbolic.diagrams import Diagram, DiagramNode, Diagrams


class DiagramArithmetic(Scalarwise):
    """The whole arithmetic over diagrams of codes; conditions are diagrams of truth values."""

    format: Format
    zero = 0
    never, condition_type = False, object

    def __init__(self, format: Format, diagrams: Diagrams, products: Products = "rounded") -> None:
        super().__init__(format, products)
        self.diagrams, self.exact = diagrams, Reference(format, products)
        self.one = format.code(self.exact.one)
        self._known: dict[tuple[Any, ...], int] = {}  # (operation, codes) -> code
        self._operations = {
            name: self._remembered(name)
            for name in ("add", "subtract", "multiply", "fused", "divide", "exp", "root", "larger")
        }

    def values(self, codes: Codes) -> np.ndarray:
        return np.vectorize(int, otypes=[object])(np.asarray(codes)) if np.size(codes) else np.empty(np.shape(codes), object)

    def codes(self, values: np.ndarray) -> Codes:
        return values  # diagrams of codes

    def _remembered(self, name: str) -> Callable[..., int]:
        """An operation of the reference, on codes."""
        operation: Callable[..., Fraction] = getattr(self.exact, f"scalar_{name}")

        def on_codes(*codes: int) -> int:
            key = (name, *codes)
            if key not in self._known:
                self._known[key] = self.format.code(operation(*map(self.format.value, codes)))
            return self._known[key]

        return on_codes

    def _operate(self, name: str, *operands: Diagram) -> Diagram:
        return self.diagrams.apply(name, self._operations[name], *operands)

    # Scalars -----------------------------------------------------------------------------------------------------------------

    def scalar_add(self, a: Diagram, b: Diagram) -> Diagram:
        if a is self.zero or b is self.zero:
            return b if a is self.zero else a
        return self._operate("add", a, b)

    def scalar_subtract(self, a: Diagram, b: Diagram) -> Diagram:
        return a if b is self.zero else self._operate("subtract", a, b)

    def scalar_multiply(self, a: Diagram, b: Diagram) -> Diagram:
        return self.zero if a is self.zero or b is self.zero else self._operate("multiply", a, b)

    def scalar_fused(self, total: Diagram, a: Diagram, b: Diagram) -> Diagram:
        return total if a is self.zero or b is self.zero else self._operate("fused", total, a, b)

    def scalar_divide(self, a: Diagram, b: Diagram) -> Diagram:
        return self._operate("divide", a, b)

    def scalar_divide_by_count(self, a: Diagram, count: int) -> Diagram:
        def divided(code: int) -> int:
            return self.format.code(self.exact.scalar_divide_by_count(self.format.value(code), count))

        return a if count == 1 else self.diagrams.apply(f"divide by {count}", divided, a)

    def scalar_exp(self, a: Diagram) -> Diagram:
        return self._operate("exp", a)

    def scalar_activation(self, kind: Activation, a: Diagram) -> Diagram:
        def activated(code: int) -> int:
            return self.format.code(self.exact.scalar_activation(kind, self.format.value(code)))

        return self.diagrams.apply(kind, activated, a)

    def scalar_root(self, a: Diagram) -> Diagram:
        return self._operate("root", a)

    def scalar_larger(self, a: Diagram, b: Diagram) -> Diagram:
        return a if a is b else self._operate("larger", a, b)

    def scalar_divisor(self, a: Diagram) -> tuple[Diagram, Diagram]:
        return self.diagrams.apply("divisor", lambda code: code or self.one, a), self.equal(a, self.zero)

    # Conditions --------------------------------------------------------------------------------------------------------------

    def equal(self, a: Diagram, b: Diagram) -> Diagram:
        return True if a is b else self.diagrams.apply("=", lambda x, y: x == y, a, b)

    def less(self, a: Diagram, b: Diagram) -> Diagram:
        """Codes are in the order of their values."""
        return False if a is b else self.diagrams.apply("<", lambda x, y: x < y, a, b)

    def both(self, a: Diagram, b: Diagram) -> Diagram:
        for x, y in ((a, b), (b, a)):
            if not isinstance(x, DiagramNode):
                return y if x else False
        return a if a is b else self.diagrams.apply("and", lambda x, y: x and y, a, b)

    def either(self, a: Diagram, b: Diagram) -> Diagram:
        for x, y in ((a, b), (b, a)):
            if not isinstance(x, DiagramNode):
                return True if x else y
        return a if a is b else self.diagrams.apply("or", lambda x, y: x or y, a, b)

    def negation(self, a: Diagram) -> Diagram:
        return self.diagrams.apply("not", lambda x: not x, a)

    def choose(self, condition: Diagram, a: Diagram, b: Diagram) -> Diagram:
        """a where the condition holds, else b."""
        if not isinstance(condition, DiagramNode) or a is b:
            return a if condition else b
        return self.diagrams.apply("choose", lambda holds, x, y: x if holds else y, condition, a, b)

    # Attention ---------------------------------------------------------------------------------------------------------------

    def hard(self, scores: list[Diagram], kind: Attention) -> list[Diagram]:
        largest = self.largest(scores)
        best = [self.equal(score, largest) for score in scores]
        if kind == "average":
            count = reduce(lambda n, is_best: self.diagrams.apply("count", lambda x, y: x + int(y), n, is_best), best, 0)
            return [self.diagrams.apply("share", self._share, is_best, count) for is_best in best]
        weights, taken = [self.zero] * len(best), False
        for j in range(len(best)) if kind == "leftmost" else reversed(range(len(best))):
            weights[j] = self.choose(self.both(best[j], self.negation(taken)), self.one, self.zero)
            taken = self.either(taken, best[j])
        return weights

    def _share(self, is_best: bool, count: int) -> int:
        share = self.exact.scalar_divide_by_count(self.exact.one, count)
        return self.format.code(share) if is_best else 0
