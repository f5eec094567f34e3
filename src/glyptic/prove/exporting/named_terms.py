"""Plain terms for readers: every rounded operation is a call of a function of the file, and nothing is simplified.

`methods.smt.bits` folds and shares, and prints a graph of numbered steps; a file for readers keeps [x + y] as `(add x y)`, each
function defined once, with a comment. The forward pass and the claim run over these terms as over any arithmetic; what comes out
is the question of an exported file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from glyptic.numbers import Activation, Format, Products
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.attention_terms import _climb
from glyptic.prove.methods.smt.bits import Bits
from glyptic.prove.methods.smt.circuits_fixed import FixedCircuits
from glyptic.prove.methods.smt.circuits_float import FloatCircuits, Unpacked
from glyptic.prove.methods.smt.exp_staircase import Staircase, exp_staircase
from glyptic.prove.methods.smt.plain_terms import PlainTerms
from glyptic.prove.methods.smt.terms import Inexpressible, Scalar, Term

CALL = "call"  # the operation of a node that calls a function; its detail is the function's name


@dataclass(frozen=True)
class Function:
    """A function of the file."""

    name: str
    parameters: tuple[Bits, ...]  # variables
    body: Bits
    comment: str


@dataclass
class Functions:
    """The functions of a file, in the order in which they must be defined.

    >>> functions = Functions()
    >>> x = bits.variable("x", 4)
    >>> functions.call("double", "2·a", lambda a: bits.add(a, a), x)
    <call double: 4 bits>
    >>> functions.call("double", "2·a", lambda a: bits.add(a, a), bits.constant(3, 4))      # of a constant: a constant
    <constant 6: 4 bits>
    >>> [function.name for function in functions.defined.values()]
    ['double']
    """

    defined: dict[str, Function] = field(default_factory=dict)

    def call(self, name: str, comment: str, circuit: Callable[..., Bits], *arguments: Bits) -> Bits:
        """A call of the function that a circuit computes; the first call defines it."""
        if all(argument.is_constant for argument in arguments):
            return circuit(*arguments)
        if name not in self.defined:
            parameters = tuple(bits.variable("abcdef"[k], x.width) for k, x in enumerate(arguments))
            body = circuit(*parameters)  # which may define others first
            self.defined[name] = Function(name, parameters, body, comment)
        function = self.defined[name]
        assert tuple(x.width for x in function.parameters) == tuple(x.width for x in arguments), (name, arguments)
        return bits._node(CALL, arguments, function.body.width, name)


Circuits = FixedCircuits | FloatCircuits


def named_circuits(format: Format, functions: Functions) -> Circuits:
    """The circuits of a format that define their parts in a file."""
    return NamedFixed(format, functions) if format.is_fixed else NamedFloat(format, functions)


class NamedFixed(FixedCircuits):
    """Fixed point: `round` and `clamp` of each width are functions."""

    def __init__(self, format: Format, functions: Functions) -> None:
        super().__init__(format)
        self.functions = functions

    def _clamp(self, x: Bits) -> Bits:
        says = f"a number of {x.width} bits, saturated: {self.format.min_code} to {self.format.max_code}"
        return self.functions.call(f"clamp.{x.width}", says, super()._clamp, x)

    def _round(self, x: Bits) -> Bits:
        ties = "to even" if self.format.ties == "even" else "towards 0"
        says = f"a in units of 2^-{2 * self.fraction} to the nearest code, a tie {ties}; saturated"
        return self.functions.call(f"round.{x.width}", says, super()._round, x)


class NamedFloat(FloatCircuits):
    """Floating point: `round` of each width is a function of sign, significand and exponent."""

    def __init__(self, format: Format, functions: Functions) -> None:
        super().__init__(format)
        self.functions = functions

    def _round(self, x: Unpacked) -> Bits:
        ties = "to even" if self.format.ties == "even" else "towards 0"
        value = f"b * 2^(c {self.format.least_exponent:+d}), negative if a"
        says = f"{value}, to the nearest code, a tie {ties}; saturated"
        circuit = lambda negative, significand, exponent: FloatCircuits._round(  # noqa: E731
            self, Unpacked(negative, significand, exponent)
        )
        name = f"round.{x.significand.width}"
        return self.functions.call(name, says, circuit, x.negative, x.significand, x.exponent)


COMMENTS = {
    "negate": "[-a], rounded",
    "add": "[a + b], rounded",
    "subtract": "[a - b], rounded",
    "multiply": "[a * b], rounded",
    "fused": "[a + b * c], rounded once",
    "divide": "[a / b], rounded; where b is 0 it means nothing, and what is asserted says so",
    "root": "[the square root of a], rounded; where a is negative it means nothing, and what is asserted says so",
    "larger": "the larger of a and b",
}


class NamedTerms(PlainTerms):
    """Rounded arithmetic whose operations are functions of a file.

    >>> from glyptic.numbers import Fixed
    >>> terms = NamedTerms(Fixed(2))
    >>> terms.scalar_add(terms.free("x"), terms.one).code
    <call add: 5 bits>
    >>> list(terms.functions.defined)
    ['clamp.6', 'add']
    """

    def __init__(self, format: Format, products: Products = "rounded") -> None:
        super().__init__(format, products)
        self.functions = Functions()
        self.circuits = named_circuits(format, self.functions)
        self.labels: dict[int, list[str]] = {}  # by the id of a node: what of a run it is
        self.staircase: Staircase | None = None  # of exp, once it is needed
        self._kept: list[Bits] = []  # labelled nodes live as long as their labels

    def record(self, of: str, stage: str, names: tuple[str, ...], values: np.ndarray) -> None:
        """Remember what the nodes of a residual (d, positions, 1) are."""
        if "after_" not in stage:
            return
        for (row, position, _), value in np.ndenumerate(values):
            if isinstance(value, Term) and not value.code.is_constant:
                self._kept.append(value.code)
                whose = f" of {of}" if of else ""
                self.labels.setdefault(id(value.code), []).append(f"{names[row]}@{position} {stage}{whose}")

    def _plain(self, circuit: Callable[..., Bits], exact: Callable[..., Fraction], *operands: Scalar) -> Scalar:
        name = getattr(circuit, "__name__", "")
        if name not in COMMENTS:
            return super()._plain(circuit, exact, *operands)
        called = lambda *codes: self.functions.call(name, COMMENTS[name], circuit, *codes)  # noqa: E731
        return super()._plain(called, exact, *operands)

    def scalar_divide_by_count(self, a: Scalar, count: int) -> Scalar:
        def circuit(x: Bits) -> Bits:
            return self.circuits.divide_by_count(x, count)

        called = lambda x: self.functions.call(f"over.{count}", f"[a / {count}], rounded", circuit, x)  # noqa: E731
        return super()._plain(called, lambda x: self.exact.scalar_divide_by_count(x, count), a)

    def scalar_larger(self, a: Scalar, b: Scalar) -> Scalar:
        def larger(x: Bits, y: Bits) -> Bits:
            return bits.choose(bits.less(x, y), y, x)

        return self._plain(larger, self.exact.scalar_larger, a, b)

    def scalar_activation(self, kind: Activation, a: Scalar) -> Scalar:
        """Constants alone: a file for readers has no table of activations, and its checker no activation but relu."""
        if isinstance(a, Fraction):
            return self.exact.scalar_activation(kind, a)
        raise Inexpressible(f"the activation is {kind}, which exported files do not have.")

    # exp -------------------------------------------------------------------------------------------------------------------

    def scalar_exp(self, a: Scalar) -> Scalar:
        """[exp a] by the whole table, or, in a format that is too wide for one, by a new value between two staircases."""
        if isinstance(a, Fraction):
            return self.exact.scalar_exp(a)
        self.staircase = stairs = exp_staircase(self.format, self.format.min_code, self.format.max_code)
        if stairs.exact:
            says = "[exp a], rounded: the table above"
            code = self.functions.call("exp", says, lambda x: _climb(x, stairs.starts, stairs.lows), a.code)
        else:
            code = self._between(a.code, stairs)
        return Term(code, self.format.min_code, self.format.max_code)

    def _between(self, x: Bits, stairs: Staircase) -> Bits:
        """The code of [exp x]: a constant of the file that lies between the staircases, and in order with the other exps."""
        for known, image, _ in self.exps:
            if known is x:
                return image
        image = bits.variable(f"exp.{len(self.exps)}", x.width)
        low, high = (
            self.functions.call(f"exp.{side}", f"{bound} [exp a]", lambda y, v=values: _climb(y, stairs.starts, v), x)
            for side, bound, values in (("low", "not above", stairs.lows), ("high", "not below", stairs.highs))
        )
        self.domain += [bits.opposite(bits.less(image, low)), bits.opposite(bits.less(high, image))]
        for y, of_y, _ in self.exps:
            for p, q, exp_p, exp_q in ((y, x, of_y, image), (x, y, image, of_y)):  # p ≤ q ⇒ exp p ≤ exp q
                self.domain.append(bits.either(bits.less(q, p), bits.opposite(bits.less(exp_q, exp_p))))
        self.exps.append((x, image, "exp"))
        return image
