"""Floating point in bit-vectors: F(e, s), IEEE-like formats, with or without subnormals, either tie rule, saturating.

A code's rank is IEEE's own layout, exponent above significand, so taking a number apart costs nothing. Every operation works on
an exact result (or one whose lost bits are kept as one "sticky" bit, far enough below the last place), rounded once by `round`.
"""

from __future__ import annotations

from dataclasses import dataclass

from glyptic.numbers.formats import Format
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits, constant
from glyptic.prove.methods.smt.circuits_fixed import integer_root


@dataclass(frozen=True)
class Unpacked:
    """± significand · 2^(exponent + q_min): q_min is the format's least exponent."""

    negative: Bits
    significand: Bits  # unsigned
    exponent: Bits  # signed


class FloatCircuits:
    """Rounded operations on codes of a floating-point format: signed bit-vectors of `width` bits."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self.width = format.max_code.bit_length() + 1
        self.p = format.precision
        self.half = 1 << (self.p - 1)
        self.missing = format._missing
        reach = format.greatest_exponent - format.least_exponent + abs(format.least_exponent) + 4 * self.p + 64
        self.exponent_width = (2 * reach).bit_length() + 2  # wide enough for every intermediate exponent

    # Operations ------------------------------------------------------------------------------------------------------------

    def negate(self, a: Bits) -> Bits:
        return bits.negate(a)

    def add(self, a: Bits, b: Bits) -> Bits:
        return self._round(self._sum(self._unpack(a), self._unpack(b)))

    def subtract(self, a: Bits, b: Bits) -> Bits:
        return self.add(a, bits.negate(b))

    def multiply(self, a: Bits, b: Bits) -> Bits:
        return self._round(self._product(a, b))

    def fused(self, total: Bits, a: Bits, b: Bits) -> Bits:
        """[total + a·b]: both parts normalized to 2p bits, so that the larger exponent is the larger number."""
        product = self._normalize(self._product(a, b), 2 * self.p)
        return self._round(self._sum(self._normalize(self._unpack(total), 2 * self.p), product))

    def divide(self, a: Bits, b: Bits) -> Bits:
        """[a/b]; where b is 0 the result means nothing, and the caller says so."""
        a_, b_ = (self._normalize(self._unpack(x), self.p) for x in (a, b))
        negative = bits.opposite(bits.equal(a_.negative, b_.negative))
        exponent = bits.subtract(a_.exponent, self._exponent(b_.exponent, self.format.least_exponent))
        return self._divided(negative, a_.significand, b_.significand, exponent, self.p + 2)

    def divide_by_count(self, a: Bits, count: int) -> Bits:
        a_ = self._normalize(self._unpack(a), self.p)
        width = max(self.p, count.bit_length())
        return self._divided(
            a_.negative, bits.widen(a_.significand, width), constant(count, width), a_.exponent, count.bit_length() + 2
        )

    def root(self, a: Bits) -> Bits:
        """[√a] for a ≥ 0: a = S · 2^E with E even and S of at least 2p + 4 bits has a root of p + 2 bits."""
        size = 2 * self.p + 6
        a_ = self._normalize(self._unpack(a), size - 1)
        true = self._exponent(a_.exponent, self.format.least_exponent)  # of the last place, not above q_min
        odd = bits.equal(bits.extract(true, 0), constant(1, 1))
        wide = bits.widen(a_.significand, size)
        square = bits.choose(odd, bits.shift_left(wide, constant(1, size)), wide)
        even = bits.subtract(true, bits.bit(odd, true.width))
        halved = bits.shift_signed(even, constant(1, true.width))
        floor, rest = integer_root(bits.widen(square, size + 2), size // 2)
        exponent = self._exponent(halved, -self.format.least_exponent - 1)
        return self._round(Unpacked(bits.FALSE, _with_sticky(floor, rest), exponent))

    # Exact results ----------------------------------------------------------------------------------------------------------

    def _product(self, a: Bits, b: Bits) -> Unpacked:
        a_, b_ = self._unpack(a), self._unpack(b)
        significand = bits.multiply(*(bits.widen(x.significand, 2 * self.p) for x in (a_, b_)))
        exponent = self._exponent(bits.add(a_.exponent, b_.exponent), self.format.least_exponent)
        return Unpacked(bits.opposite(bits.equal(a_.negative, b_.negative)), significand, exponent)

    def _sum(self, a: Unpacked, b: Unpacked) -> Unpacked:
        """a + b. The one of larger exponent has its top bit set, or the exponents are equal: what is shifted out cannot matter
        but as a sticky bit, n + 2 places below the last."""
        n = a.significand.width
        swap = bits.less(a.exponent, b.exponent)
        high, low = _choose(swap, b, a), _choose(swap, a, b)
        width, guard = 2 * n + 4, n + 2
        top, bottom = (bits.shift_left(bits.widen(x.significand, width), constant(guard, width)) for x in (high, low))
        bottom = self._shift_sticky(bottom, bits.subtract(high.exponent, low.exponent))
        same = bits.equal(high.negative, low.negative)
        total = bits.choose(same, bits.add(top, bottom), bits.subtract(top, bottom))
        flipped = bits.less(
            total, constant(0, width)
        )  # the smaller exponent may have the larger number when they are equal
        magnitude = bits.choose(flipped, bits.negate(total), total)
        negative = bits.choose(flipped, low.negative, high.negative)
        return Unpacked(negative, magnitude, self._exponent(high.exponent, -guard))

    def _divided(self, negative: Bits, a: Bits, b: Bits, exponent: Bits, shift: int) -> Bits:
        """[± (a / b) · 2^exponent] from an integer quotient of enough bits and whether there is a rest."""
        width = a.width + shift
        top = bits.shift_left(bits.widen(a, width), constant(shift, width))
        bottom = bits.widen(b, width)
        floor, rest = bits.quotient(top, bottom), bits.remainder(top, bottom)
        return self._round(Unpacked(negative, _with_sticky(floor, rest), self._exponent(exponent, -shift - 1)))

    # Taking apart, normalizing, rounding ------------------------------------------------------------------------------------

    def _exponent(self, exponent: Bits, plus: int) -> Bits:
        return bits.add(exponent, constant(plus, self.exponent_width))

    def _unpack(self, code: Bits) -> Unpacked:
        negative = bits.less(code, constant(0, self.width))
        magnitude = bits.choose(negative, bits.negate(code), code)
        if self.missing:
            shifted = bits.add(magnitude, constant(self.missing, self.width))
            magnitude = bits.choose(bits.equal(code, constant(0, self.width)), magnitude, shifted)
        rank = bits.widen(magnitude, max(self.width, self.p) + 1)
        field = bits.extract(rank, rank.width - 1, self.p - 1)
        subnormal = bits.equal(field, constant(0, field.width))
        binade = bits.choose(subnormal, field, bits.subtract(field, constant(1, field.width)))
        hidden = bits.choose(subnormal, constant(0, self.p), constant(self.half, self.p))
        fraction = bits.widen(bits.extract(rank, self.p - 2), self.p) if self.p > 1 else constant(0, 1)
        return Unpacked(negative, bits.either_bits(hidden, fraction), bits.widen(binade, self.exponent_width))

    def _normalize(self, x: Unpacked, width: int) -> Unpacked:
        """The top bit set, in `width` bits; 0 gets an exponent below all others."""
        significand, exponent = bits.widen(x.significand, width), x.exponent
        for k in reversed(range((width - 1).bit_length())):
            by = 1 << k
            if by < width:
                empty = bits.equal(bits.extract(significand, width - 1, width - by), constant(0, by))
                significand = bits.choose(empty, bits.shift_left(significand, constant(by, width)), significand)
                exponent = bits.choose(empty, self._exponent(exponent, -by), exponent)
        zero = bits.equal(significand, constant(0, width))
        lowest = constant(-(1 << (self.exponent_width - 3)), self.exponent_width)
        return Unpacked(x.negative, significand, bits.choose(zero, lowest, exponent))

    def _shift_sticky(self, x: Bits, by: Bits) -> Bits:
        """x shifted right by 0 ≤ by (signed width of exponents), the last bit set if any bit was lost."""
        width = max(x.width, self.exponent_width)
        wide, amount = bits.widen(x, width), bits.widen(by, width)
        shifted = bits.shift_right(wide, amount)
        lost = bits.opposite(bits.equal(bits.shift_left(shifted, amount), wide))
        lost = bits.either(
            lost, bits.both(_at_least(amount, width), bits.opposite(bits.equal(x, constant(0, x.width))))
        )
        return bits.extract(bits.either_bits(shifted, bits.bit(lost, width)), x.width - 1)

    def _round(self, x: Unpacked) -> Bits:
        """The code nearest to an exact value whose significand may have leading zeros."""
        n = max(x.significand.width, self.p + 2)
        pad = n - x.significand.width
        significand = bits.shift_left(bits.widen(x.significand, n), constant(pad, n))
        x = self._normalize(Unpacked(x.negative, significand, self._exponent(x.exponent, -pad)), n)
        kept = bits.extract(x.significand, n - 1, n - self.p - 1)  # p bits and the guard bit
        rest = bits.extract(x.significand, n - self.p - 2) if n > self.p + 1 else constant(0, 1)
        kept = _with_sticky(kept, rest)  # p bits, guard, sticky
        unit = self._exponent(x.exponent, n - self.p)  # the exponent of the last of the p bits; below q_min if negative
        short = bits.less(unit, constant(0, unit.width))
        missing = bits.choose(short, bits.negate(unit), constant(0, unit.width))
        rank = self._rank(self._shift_sticky(kept, missing), bits.choose(short, constant(0, unit.width), unit))
        rank = bits.choose(bits.equal(x.significand, constant(0, n)), constant(0, self.width), rank)
        return bits.choose(x.negative, bits.negate(rank), rank)

    def _rank(self, kept: Bits, binade: Bits) -> Bits:
        """The rank of p bits + guard + sticky in a binade, rounded to nearest and clamped to B."""
        guard, sticky, odd = (bits.equal(bits.extract(kept, k, k), constant(1, 1)) for k in (1, 0, 2))
        up = bits.both(guard, bits.either(sticky, odd) if self.format.ties == "even" else sticky)
        width = self.exponent_width + self.p + 1
        rank = bits.shift_left(bits.widen(binade, width), constant(self.p - 1, width))
        rank = bits.add(rank, bits.widen(bits.extract(kept, kept.width - 1, 2), width))
        rank = bits.add(rank, bits.bit(up, width))
        if self.missing:
            # No subnormals: below the least value there is 0 only, and the border is half of it (both tie rules say 0).
            normal = bits.subtract(rank, constant(self.missing, width))
            over = bits.below(constant(2 * self.half, kept.width), kept)
            least = bits.bit(over, width)
            in_gap = bits.both(
                bits.equal(binade, constant(0, binade.width)), bits.below(kept, constant(4 * self.half, kept.width))
            )
            rank = bits.choose(in_gap, least, normal)
        top = constant(self.format.max_code, width)
        return bits.extract(bits.choose(bits.below(top, rank), top, rank), self.width - 1)


def _choose(condition: Bits, a: Unpacked, b: Unpacked) -> Unpacked:
    return Unpacked(
        bits.choose(condition, a.negative, b.negative),
        bits.choose(condition, a.significand, b.significand),
        bits.choose(condition, a.exponent, b.exponent),
    )


def _with_sticky(x: Bits, rest: Bits) -> Bits:
    """One bit more below x: whether anything is left."""
    width = x.width + 1
    left = bits.opposite(bits.equal(rest, constant(0, rest.width)))
    return bits.either_bits(bits.shift_left(bits.widen(x, width), constant(1, width)), bits.bit(left, width))


def _at_least(amount: Bits, bound: int) -> Bits:
    return bits.opposite(bits.below(amount, constant(bound, amount.width)))
