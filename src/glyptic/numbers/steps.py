"""One step of an inner product in the fewest machine operations that are exact: total ← [total + [w·x]].

Write P for the bits of the host (24 or 53), p and f for the format's precision and fraction bits, B for its largest value.

*A magic constant rounds to whole numbers.* M = 1.5 · 2^(P−1). Between 2^(P−1) and 2^P the host has the whole numbers and no
others, so M + y, rounded once, is M + rint(y) for |y| ≤ 2^(P−2), ties to even, M being even. The fused operation takes y =
w·x as it is, rounded nowhere before; and M + rint(y) − M is exact. Larger y saturate: rounding never falls, so they stay
beyond B ≤ 2^(P−3).

*Fixed point, ties to even*: two operations. t = w·x ± M rounds the product; total + t takes the constant into the sum, where
it stays until the next term, of the other sign, takes it out again. Both sums are whole numbers below 2^P: exact. So every
other running sum is `total + M`, and its clamps are M ± B.

*Fixed point, ties to the smaller*: one operation. w' = w·(1 − 2^−P), rounded, is the host's next number towards zero. So
w'·x = w·x − δ with 0 < δ ≤ 2^−(P−1)·|w·x|, towards zero, unless w·x is 0. A product is a multiple of 2^−f, a tie an odd
multiple of ½: a product that is no tie is 2^−g away from all of them, g = max(f, 1). Where |w·x| < 2^(P−1−g) it is δ < 2^−g:
ties move inwards, and nothing else reaches a tie. Now nothing is a tie, so that adding a whole number first cannot matter:
total + M + w'·x, rounded once, is M + total + [w·x]. Where products may be as large as that or saturate, [y] = trunc(y + c)
for y ≥ 0, c = ½ − 2^−g, and −[−y] below: y + c is a multiple of 2^−g below 2^p + ½, which the host holds, p + g ≤ P
(`hosts`); beyond, it saturates.

*Floats*, y = w·x exact, 2p + 2 ≤ P, k = P − p, E the exponent of y, u = 2^(E−p+1) the format's last place there. L = 2^k·|y|
is an even multiple of u: y is a multiple of 2^(E−2p+1), so L one of 2^(E+P−3p+1) ≥ 2u. L + y lies in L's binade, where the
host's last place is u: it rounds to L + [y], ties to even since L/u is even. Or it lies in the next binade, with 2u, where |y|
is within 2^(E+1−k) of 2^(E+1); or in the one before, with u/2, where |y| is within 2^E/(2^k − 1) of 2^E: no tie is that near
(2^(E−p) and 2^(E−p−1) are the nearest), and [y] is that power of two, an even multiple again. Then − L is exact.
Below the lowest normal binade 2^b the grid stays that of 2^b: a constant 1.5 · 2^(k+b) stands for every L below it. With
ties to the smaller y is replaced by w'·x in the sum, not in L: δ is at most half of what lies between two products. *Sums* s
of two values have P bits, so L/u may be odd; Veltkamp's splitting has one more rounding that mends it: t = (2^k + 1)·s, [s]
= t + (s − t), nearest, and for k ≥ 2 ties to even (tests try all 2^23 numbers of a binade, and solvers prove it for
float64). With ties to the smaller the bits of s are taken as a whole number, which grows with |s| and from u to u by 2^k:
2^(k−1) − 1 is added, which passes the next multiple of 2^k from beyond the middle on, and the last k bits are cleared. (`hosts`:
no sum is rounded by the host onto a tie that it is not.) What saturates is clamped after it was rounded: B is on the grid.

Without fused operations w·x is taken first: it is exact, or saturates; and w'·x becomes (w·x)·(1 − 2^−P), the next number
below w·x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types

from glyptic.numbers.formats import Format
from glyptic.numbers.kernels import FixedEven, FixedZero, FloatEven, FloatZero
from glyptic.numbers.vectors import Emitter, Vector

# What a running bound has shown of some terms: nothing saturates; products do not, and are below `product_limit`; nothing.
NO_CLAMPS, CLAMP_SUMS, CLAMP_ALL = 0, 1, 2


def have_room(format: Format, bits: int) -> bool:
    """Whether a host of so many bits has room for the steps below: for M in fixed point, for 2^k·w·x in floats."""
    if format.is_fixed:
        return format.precision <= bits - 3
    highest = 127 if bits == 24 else 1023
    top = format.greatest_exponent + format.precision
    return format.subnormals and 2 * top + (bits - format.precision) + 1 <= highest


@dataclass(frozen=True)
class Left:
    """The left factor of a product, prepared: `factor` is w, of floats 2^k·|w|; `nudged` is w', or w where that is not used."""

    factor: Vector
    nudged: Vector


def bits_of(host: types.Float) -> int:
    return 24 if host == types.float32 else 53


@dataclass(frozen=True)
class RuleSteps:
    """What the three kinds of steps share: limits in all lanes, and constants of the host."""

    emitter: Emitter
    low: Vector
    high: Vector

    @property
    def magic(self) -> Vector:
        return self.emitter.constant(1.5 * 2.0 ** (bits_of(self.emitter.host) - 1))

    @property
    def shrink(self) -> Vector:
        return self.emitter.constant(1 - 2.0 ** -bits_of(self.emitter.host))

    def start(self) -> Vector:
        return self.emitter.constant(0.0)

    def settle(self, total: Vector) -> Vector:
        """The running sum after an odd number of terms, as it is after an even one."""
        return total

    def finish(self, total: Vector) -> Vector:
        """The sum itself."""
        return total

    def left(self, number: Vector) -> Left:
        """What `Left` says, from the number alone."""
        return Left(number, number)

    def summed(self, x: Vector, y: Vector) -> Vector:
        """[x + y] of two values, neither of them a running sum."""
        return self.clamped(x + y)

    def clamped(self, x: Vector) -> Vector:
        return x.at_most(self.high).at_least(self.low)

    def step(self, total: Vector, left: Left, x: Vector, clamps: int, odd: bool) -> Vector:
        """The running sum with one term more; `odd` says whether the number of terms before it is."""
        raise NotImplementedError


@dataclass(frozen=True)
class EvenSteps(RuleSteps):
    """Fixed point, ties to even."""

    def settle(self, total: Vector) -> Vector:
        return total - self.magic

    def step(self, total: Vector, left: Left, x: Vector, clamps: int, odd: bool) -> Vector:
        magic = -self.magic if odd else self.magic
        product = left.factor.times_plus(x, magic)
        if clamps == CLAMP_ALL:
            product = product.at_most(magic + self.high).at_least(magic + self.low)
        total = total + product
        if clamps == NO_CLAMPS:
            return total
        if odd:
            return self.clamped(total)
        return total.at_most(magic + self.high).at_least(magic + self.low)


@dataclass(frozen=True)
class ZeroSteps(RuleSteps):
    """Fixed point, ties to the smaller; running sums carry M all the time."""

    below_half: Vector  # c = ½ − 2^−g

    def start(self) -> Vector:
        return self.magic

    def finish(self, total: Vector) -> Vector:
        return total - self.magic

    def left(self, number: Vector) -> Left:
        return Left(number, number * self.shrink if self.emitter.fused else number)

    def step(self, total: Vector, left: Left, x: Vector, clamps: int, odd: bool) -> Vector:
        if clamps == CLAMP_ALL:
            c = self.below_half.signed_as(left.factor.with_sign_of_product(x))
            product = left.factor.times_plus(x, c).truncated()
            total = total + self.clamped(product)
        elif self.emitter.fused:
            total = left.nudged.times_plus(x, total)
        else:
            total = left.factor * x * self.shrink + total
        if clamps == NO_CLAMPS:
            return total
        return total.at_most(self.magic + self.high).at_least(self.magic + self.low)


@dataclass(frozen=True)
class FloatSteps(RuleSteps):
    """Floats with subnormals, ties to even or to the smaller."""

    scale: Vector  # 2^k
    lowest: Vector  # 1.5 · 2^(k+b)
    nearly_half: ir.Value  # 2^(k−1) − 1 and −2^k, whole numbers in all lanes
    kept: ir.Value
    to_even: bool

    def left(self, number: Vector) -> Left:
        nudged = number if self.to_even or not self.emitter.fused else number * self.shrink
        return Left(number.absolute() * self.scale, nudged)

    def step(self, total: Vector, left: Left, x: Vector, clamps: int, odd: bool) -> Vector:
        large = (left.factor * x.absolute()).at_least(self.lowest)  # one |x| for all rows of a tile
        if self.emitter.fused or self.to_even:
            product = left.nudged.times_plus(x, large) - large
        else:
            product = (left.nudged * x * self.shrink + large) - large
        if clamps == CLAMP_ALL:
            product = self.clamped(product)
        total = self._on_grid(total + product)
        return total if clamps == NO_CLAMPS else self.clamped(total)

    def summed(self, x: Vector, y: Vector) -> Vector:
        return self.clamped(self._on_grid(x + y))

    def _on_grid(self, total: Vector) -> Vector:
        """A sum of two values of the format, were it not bounded by B: Veltkamp's splitting, or by its bits."""
        if not self.to_even:
            return total.moved(self.nearly_half, self.kept)
        split = total * (self.scale + self.emitter.constant(1.0))
        return split + (total - split)


def steps_for(emitter: Emitter, rule: types.NamedTuple, value: ir.Value) -> RuleSteps:
    """The steps of a rule, whose type says which, and whose value in compiled code has the limits."""
    builder, kind = emitter.builder, rule.instance_class
    field: dict[str, Any] = {
        name: builder.extract_value(value, i)
        for i, name in enumerate(rule.fields)
        if not isinstance(rule.types[i], types.NoneType)
    }
    high = emitter.everywhere(field["high"])
    low = emitter.everywhere(field["low"]) if "low" in field else -high
    bits = bits_of(emitter.host)
    if kind is FixedEven:
        return EvenSteps(emitter, low, high)
    if kind is FixedZero:  # small is 2^(P−1−g)
        unit = emitter.everywhere(field["small"]) * emitter.constant(2.0 ** (1 - bits))
        return ZeroSteps(emitter, low, high, emitter.constant(0.5) - unit)
    assert kind in (FloatEven, FloatZero)
    scalar = high.value.type.element
    scale = builder.fsub(field["growth"], ir.Constant(ir.DoubleType(), 1.0))  # 2^−p
    scale = builder.fmul(scale, ir.Constant(ir.DoubleType(), 2.0**bits))
    if emitter.host == types.float32:
        scale = builder.fptrunc(scale, scalar)
    lowest = builder.bitcast(builder.add(field["bottom"], field["magic"]), scalar)
    whole = emitter.whole
    unit = builder.fptosi(scale, whole)
    nearly_half = builder.sub(builder.ashr(unit, ir.Constant(whole, 1)), ir.Constant(whole, 1))
    return FloatSteps(
        emitter,
        low,
        high,
        scale=emitter.everywhere(scale),
        lowest=emitter.everywhere(lowest),
        nearly_half=emitter.spread(nearly_half),
        kept=emitter.spread(builder.neg(unit)),
        to_even=kind is FloatEven,
    )
