"""The circuits of the solvers, with rounding and clamping as functions of their own: how an exported file reads."""

from __future__ import annotations

from glyptic.numbers.formats import Format
from glyptic.prove.exporting.functions import Functions
from glyptic.prove.methods.smt.bits import Bits
from glyptic.prove.methods.smt.circuits_fixed import FixedCircuits
from glyptic.prove.methods.smt.circuits_float import FloatCircuits, Unpacked

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
