"""Vectors of machine numbers, written down as LLVM's own vector code, which no compiler pass has to find or can lose.

A loop that the compiler must turn into vector code may come out in half the width, or not at all. So the innermost steps are
emitted instead: an `Emitter` knows the width, and a `Vector` has +, −, × and the few other operations that rounding needs.
Nothing here is allowed to be reassociated or contracted: what is written is what is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir
from numba import types
from numba.core import cgutils

_NAMES = {types.float32: ("f32", ir.FloatType(), 32), types.float64: ("f64", ir.DoubleType(), 64)}


@dataclass(frozen=True)
class Emitter:
    """Where code is emitted, for vectors of `bits` bits of one host type."""

    builder: ir.IRBuilder
    host: types.Float
    bits: int
    fused: bool  # whether the machine has fused products and sums, rounded once

    @property
    def lanes(self) -> int:
        return self.bits // _NAMES[self.host][2]

    @property
    def _type(self) -> ir.VectorType:
        return ir.VectorType(_NAMES[self.host][1], self.lanes)

    @property
    def whole(self) -> ir.IntType:
        """Whole numbers as wide as a lane."""
        return ir.IntType(_NAMES[self.host][2])

    def everywhere(self, scalar: ir.Value) -> Vector:
        """One number in all lanes."""
        return Vector(self, self.spread(scalar))

    def spread(self, scalar: ir.Value) -> ir.Value:
        """One value of LLVM's, of whatever type, in all lanes."""
        nothing = ir.Constant(ir.VectorType(scalar.type, self.lanes), ir.Undefined)
        first = self.builder.insert_element(nothing, scalar, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(first, nothing, zeros)

    def constant(self, number: float) -> Vector:
        return Vector(self, ir.Constant(self._type, [number] * self.lanes))

    def load(self, pointer: ir.Value) -> Vector:
        """Consecutive numbers, wherever they begin."""
        loaded = self.builder.load(self.builder.bitcast(pointer, self._type.as_pointer()))
        loaded.align = _NAMES[self.host][2] // 8
        return Vector(self, loaded)

    def store(self, vector: Vector, pointer: ir.Value) -> None:
        stored = self.builder.store(vector.value, self.builder.bitcast(pointer, self._type.as_pointer()))
        stored.align = _NAMES[self.host][2] // 8

    def variable(self, start: Vector) -> Register:
        """A vector that changes, which the compiler keeps in a register."""
        place = cgutils.alloca_once(self.builder, self._type)
        self.builder.store(start.value, place)
        return Register(self, place)


@dataclass(frozen=True)
class Register:
    emitter: Emitter
    place: ir.Value

    def get(self) -> Vector:
        return Vector(self.emitter, self.emitter.builder.load(self.place))

    def set(self, vector: Vector) -> None:
        self.emitter.builder.store(vector.value, self.place)


@dataclass(frozen=True)
class Vector:
    """Numbers side by side; every operation is one rounded operation of the host in each lane."""

    emitter: Emitter
    value: ir.Value

    def _with(self, value: ir.Value) -> Vector:
        return Vector(self.emitter, value)

    def __add__(self, other: Vector) -> Vector:
        return self._with(self.emitter.builder.fadd(self.value, other.value))

    def __sub__(self, other: Vector) -> Vector:
        return self._with(self.emitter.builder.fsub(self.value, other.value))

    def __mul__(self, other: Vector) -> Vector:
        return self._with(self.emitter.builder.fmul(self.value, other.value))

    def __truediv__(self, other: Vector) -> Vector:
        return self._with(self.emitter.builder.fdiv(self.value, other.value))

    def __neg__(self) -> Vector:
        return self._with(self.emitter.builder.fneg(self.value))

    def times_plus(self, factor: Vector, term: Vector) -> Vector:
        """self · factor + term, rounded once; without the instruction for it, twice: the product must then be exact."""
        if not self.emitter.fused:
            return self * factor + term
        return self._call("fma", factor, term)

    def truncated(self) -> Vector:
        """The whole number next to it towards zero."""
        return self._call("trunc")

    def absolute(self) -> Vector:
        return self._call("fabs")

    def signed_as(self, other: Vector) -> Vector:
        """This size with that sign."""
        return self._call("copysign", other)

    def with_sign_of_product(self, other: Vector) -> Vector:
        """A number with the sign of self · other, whatever its size."""
        return self._with_bits(self.emitter.builder.xor(self._bits(), other._bits()))

    def moved(self, added: ir.Value, kept: ir.Value) -> Vector:
        """The number whose bits are these, as a whole number, and `added`; of them those in `kept`, the others being 0."""
        builder = self.emitter.builder
        return self._with_bits(builder.and_(builder.add(self._bits(), added), kept))

    def _bits(self) -> ir.Value:
        return self.emitter.builder.bitcast(self.value, ir.VectorType(self.emitter.whole, self.emitter.lanes))

    def _with_bits(self, bits: ir.Value) -> Vector:
        return self._with(self.emitter.builder.bitcast(bits, self.value.type))

    def at_most(self, other: Vector) -> Vector:  # a comparison and a choice: one instruction, unlike what must think of NaN
        return self._chosen("<", other)

    def at_least(self, other: Vector) -> Vector:
        return self._chosen(">", other)

    def _chosen(self, comparison: str, other: Vector) -> Vector:
        builder = self.emitter.builder
        return self._with(builder.select(builder.fcmp_ordered(comparison, self.value, other.value), self.value, other.value))

    def _call(self, name: str, *others: Vector) -> Vector:
        emitter = self.emitter
        kind = self.value.type
        signature = ir.FunctionType(kind, [kind] * (1 + len(others)))
        full = f"llvm.{name}.v{emitter.lanes}{_NAMES[emitter.host][0]}"
        function = cgutils.get_or_insert_function(emitter.builder.module, signature, full)
        return self._with(emitter.builder.call(function, [self.value, *(other.value for other in others)]))
