"""Fixed point in bit-vectors: codes are multiples of one unit 2^−f, in two's complement.

Sums are exact in one bit more, products in twice the bits; each is rounded to the nearest multiple and clamped to the ends.
"""

from __future__ import annotations

from glyptic.numbers.formats import Format
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits, constant


class FixedCircuits:
    """Rounded operations on codes of F(s) or Q(m, f): signed bit-vectors of `width` bits."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self.width = max(format.max_code, -format.min_code - 1).bit_length() + 1
        self.fraction = -format.least_exponent

    def add(self, a: Bits, b: Bits) -> Bits:
        a, b = (bits.widen_signed(x, self.width + 1) for x in (a, b))
        return self._clamp(bits.add(a, b))

    def negate(self, a: Bits) -> Bits:
        return self._clamp(bits.negate(bits.widen_signed(a, self.width + 1)))

    def subtract(self, a: Bits, b: Bits) -> Bits:
        a, b = (bits.widen_signed(x, self.width + 1) for x in (a, b))
        return self._clamp(bits.subtract(a, b))

    def multiply(self, a: Bits, b: Bits) -> Bits:
        return self._round(self._product(a, b, 2 * self.width))

    def fused(self, total: Bits, a: Bits, b: Bits) -> Bits:
        width = 2 * self.width + 1
        shifted = bits.shift_left(bits.widen_signed(total, width), constant(self.fraction, width))
        return self._round(bits.add(shifted, self._product(a, b, width)))

    def divide(self, a: Bits, b: Bits) -> Bits:
        """[a/b]; where b is 0 the result means nothing, and the caller says so."""
        width = self.width + self.fraction + 2
        negative = bits.opposite(bits.equal(_negative(a), _negative(b)))
        scaled = bits.shift_left(_magnitude(a, width), constant(self.fraction, width))
        return self._signed(negative, self._nearest(scaled, _magnitude(b, width)))

    def divide_by_count(self, a: Bits, count: int) -> Bits:
        width = self.width + count.bit_length() + 2
        return self._signed(_negative(a), self._nearest(_magnitude(a, width), constant(count, width)))

    def root(self, a: Bits) -> Bits:
        """[√a] for a ≥ 0: never a tie, for (r + ½)² is no integer."""
        width = self.width + self.fraction + 2
        square = bits.shift_left(bits.widen_signed(a, width), constant(self.fraction, width))
        floor, rest = integer_root(square, (self.width + self.fraction + 1) // 2)
        return self._clamp(bits.add(floor, bits.bit(bits.below(floor, rest), width)))

    def _product(self, a: Bits, b: Bits, width: int) -> Bits:
        return bits.multiply(bits.widen_signed(a, width), bits.widen_signed(b, width))

    def _round(self, x: Bits) -> Bits:
        """x in units of 2^−2f to the nearest code: the shift rounds down, so what is added first decides."""
        if self.fraction == 0:
            return self._clamp(x)
        by = constant(self.fraction, x.width)
        if self.format.ties == "even":
            odd = bits.equal(bits.extract(x, self.fraction, self.fraction), constant(1, 1))
            tie = bits.bit(odd, x.width)
        else:  # towards 0: up for the negative
            tie = bits.bit(_negative(x), x.width)
        almost_half = constant((1 << (self.fraction - 1)) - 1, x.width)
        return self._clamp(bits.shift_signed(bits.add(bits.add(x, almost_half), tie), by))

    def _nearest(self, a: Bits, b: Bits) -> Bits:
        """The integer nearest to a/b, both positive."""
        floor, rest = bits.quotient(a, b), bits.remainder(a, b)
        twice = bits.shift_left(rest, constant(1, rest.width))
        up = bits.below(b, twice)
        if self.format.ties == "even":
            odd = bits.equal(bits.extract(floor, 0), constant(1, 1))
            up = bits.either(up, bits.both(bits.equal(b, twice), odd))
        return bits.add(floor, bits.bit(up, a.width))

    def _signed(self, negative: Bits, magnitude: Bits) -> Bits:
        wide = bits.widen(magnitude, magnitude.width + 1)
        return self._clamp(bits.choose(negative, bits.negate(wide), wide))

    def _clamp(self, x: Bits) -> Bits:
        low, high = (constant(end, x.width) for end in (self.format.min_code, self.format.max_code))
        inside = bits.choose(bits.less(x, low), low, bits.choose(bits.less(high, x), high, x))
        return bits.extract(inside, self.width - 1)


def _negative(a: Bits) -> Bits:
    return bits.less(a, constant(0, a.width))


def _magnitude(a: Bits, width: int) -> Bits:
    wide = bits.widen_signed(a, width)
    return bits.choose(_negative(a), bits.negate(wide), wide)


def integer_root(a: Bits, length: int) -> tuple[Bits, Bits]:
    """⌊√a⌋, of `length` bits, and a − ⌊√a⌋²: bit by bit from the top, as by hand."""
    root, rest = constant(0, a.width), a
    for place in reversed(range(length)):
        # (r + 2^k)² − r² = (2r + 2^k) · 2^k
        step = bits.add(bits.shift_left(root, constant(1, a.width)), constant(1 << place, a.width))
        step = bits.shift_left(step, constant(place, a.width))
        fits = bits.opposite(bits.below(rest, step))
        rest = bits.choose(fits, bits.subtract(rest, step), rest)
        root = bits.choose(fits, bits.either_bits(root, constant(1 << place, a.width)), root)
    return root, rest
