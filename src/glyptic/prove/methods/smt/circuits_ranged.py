"""Fixed point in as few bits as the operands' ranges need: no word is wider than its values, and no clamp is made that is idle.

Everything here is arithmetic modulo 2^width, with a width in which the exact result is a signed number: sums and products of the
operands' low bits are then the exact ones. What the ranges say beyond that decides what is left out:

clamp    on a side that the exact result, rounded, does not pass
tie      the correction by the sign, where the sign is known
places   a weight c·2^t has t zeros at its end, and so has every product by it: these are never computed, nor rounded away

Every operation takes the ranges of its operands' codes, (least, greatest) of each, and is right for operands within them alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.bits import Bits, constant, low_bits, signed_width
from glyptic.prove.methods.smt.circuits_fixed import FixedCircuits, integer_root

Span = tuple[int, int]


class RangedCircuits:
    """The operations of `FixedCircuits` on codes of which ranges are known; results are of that many bits too."""

    def __init__(self, circuits: FixedCircuits) -> None:
        self.format, self.width, self.fraction = circuits.format, circuits.width, circuits.fraction

    def add(self, a: Bits, b: Bits, spans: Sequence[Span]) -> Bits:
        (a1, a2), (b1, b2) = spans
        return self._exactly(bits.add, a, b, (a1 + b1, a2 + b2))

    def subtract(self, a: Bits, b: Bits, spans: Sequence[Span]) -> Bits:
        (a1, a2), (b1, b2) = spans
        return self._exactly(bits.subtract, a, b, (a1 - b2, a2 - b1))

    def negate(self, a: Bits, spans: Sequence[Span]) -> Bits:
        ((low, high),) = spans
        width = signed_width(-high, -low)
        return self._clamped(bits.negate(low_bits(a, width)), (-high, -low))

    def multiply(self, a: Bits, b: Bits, spans: Sequence[Span]) -> Bits:
        zeros, a, b, spans = self._without_zeros(a, b, spans)
        span = _corners(*spans)
        width = self._room(span, self.fraction - zeros)
        product = bits.multiply(low_bits(a, width), low_bits(b, width))
        return self._rounded(product, span, self.fraction - zeros)

    def fused(self, total: Bits, a: Bits, b: Bits, spans: Sequence[Span]) -> Bits:
        (t1, t2), *others = spans
        zeros, a, b, others = self._without_zeros(a, b, others)
        places = self.fraction - zeros
        low, high = _corners(*others)
        span = ((t1 << places) + low, (t2 << places) + high)
        width = max(self._room(span, places), places + 1)
        product = bits.multiply(low_bits(a, width), low_bits(b, width))
        return self._rounded(bits.add(bits.shift_left(low_bits(total, width), constant(places, width)), product), span, places)

    def divide(self, a: Bits, b: Bits, spans: Sequence[Span]) -> Bits:
        """[a/b]; where b is 0 the result means nothing, and the caller says so."""
        tops, bottoms = (_sizes(span) for span in spans)
        width = max((tops[1] << self.fraction).bit_length() + 1, bottoms[1].bit_length() + 2, self.fraction + 1)
        scaled = bits.shift_left(_magnitude(a, spans[0], width), constant(self.fraction, width))
        negative = bits.opposite(bits.equal(_negative(a, spans[0]), _negative(b, spans[1])))
        largest = (tops[1] << self.fraction) // max(1, bottoms[0]) + 1
        return self._signed(negative, self._nearest(scaled, _magnitude(b, spans[1], width)), largest)

    def divide_by_count(self, a: Bits, count: int, spans: Sequence[Span]) -> Bits:
        largest = _sizes(spans[0])[1]
        width = max(largest.bit_length() + 1, count.bit_length() + 2)
        nearest = self._nearest(_magnitude(a, spans[0], width), constant(count, width))
        return self._signed(_negative(a, spans[0]), nearest, largest // count + 1)

    def root(self, a: Bits, spans: Sequence[Span]) -> Bits:
        """[√a] for a ≥ 0: never a tie, for (r + ½)² is no integer."""
        high = max(0, spans[0][1]) << self.fraction
        length = (high.bit_length() + 1) // 2
        width = max(high.bit_length() + 2, self.fraction + 1)
        square = bits.shift_left(low_bits(a, width), constant(self.fraction, width))
        floor, rest = integer_root(square, length)
        return self._clamped(bits.add(floor, bits.bit(bits.below(floor, rest), width)), (0, 1 << length))

    # Rounding ---------------------------------------------------------------------------------------------------------------

    def _without_zeros(self, a: Bits, b: Bits, spans: Sequence[Span]) -> tuple[int, Bits, Bits, list[Span]]:
        """A constant factor without the zeros at its end, no more of them than are rounded away; and how many these are."""
        for mine, other, span in ((a, b, spans[1]), (b, a, spans[0])):
            if mine.is_constant and mine.detail:
                code = mine.detail - ((mine.detail >> (mine.width - 1)) << mine.width)
                zeros = min(self.fraction, (code & -code).bit_length() - 1)
                return zeros, constant(code >> zeros, self.width), other, [(code >> zeros, code >> zeros), span]
        return 0, a, b, list(spans)

    def _room(self, span: Span, places: int) -> int:
        """The bits of an exact result with what rounding adds to it."""
        half = 1 << places
        return max(signed_width(span[0] - half, span[1] + half), places + 1)

    def _rounded(self, x: Bits, span: Span, places: int) -> Bits:
        """x of a span, in units of 2^−places of a code, to the nearest code: the shift rounds down, so what is added decides."""
        if places == 0:
            return self._clamped(x, span)
        if self.format.ties == "even":
            tie = bits.bit(bits.equal(bits.extract(x, places, places), constant(1, 1)), x.width)
        elif span[0] >= 0 or span[1] <= 0:
            tie = constant(int(span[0] < 0), x.width)
        else:  # towards 0: up for the negative
            tie = bits.bit(bits.less(x, constant(0, x.width)), x.width)
        almost_half = constant((1 << (places - 1)) - 1, x.width)
        nearest = bits.shift_signed(bits.add(x, bits.add(almost_half, tie)), constant(places, x.width))
        low, high = (_nearest_integer(end, places, self.format.ties) for end in span)
        return self._clamped(nearest, (low, high))

    def _exactly(self, operation: object, a: Bits, b: Bits, span: Span) -> Bits:
        width = signed_width(*span)
        return self._clamped(operation(low_bits(a, width), low_bits(b, width)), span)  # type: ignore[operator]

    def _nearest(self, a: Bits, b: Bits) -> Bits:
        """The integer nearest to a/b, both positive, with room for twice b."""
        floor, rest = bits.quotient(a, b), bits.remainder(a, b)
        twice = bits.shift_left(rest, constant(1, rest.width))
        up = bits.below(b, twice)
        if self.format.ties == "even":
            odd = bits.equal(bits.extract(floor, 0), constant(1, 1))
            up = bits.either(up, bits.both(bits.equal(b, twice), odd))
        return bits.add(floor, bits.bit(up, a.width))

    def _signed(self, negative: Bits, magnitude: Bits, largest: int) -> Bits:
        width = max(magnitude.width + 1, self.width)
        wide = bits.widen(magnitude, width)
        span = (0 if negative is bits.FALSE else -largest, 0 if negative is bits.TRUE else largest)
        return self._clamped(bits.choose(negative, bits.negate(wide), wide), span)

    def _clamped(self, x: Bits, span: Span) -> Bits:
        """x of a span, brought to the ends of the format where it can lie beyond them."""
        low, high = max(span[0], self.format.min_code), min(span[1], self.format.max_code)
        inside = x
        if span[1] > high:
            inside = bits.choose(bits.less(constant(high, x.width), x), constant(high, x.width), inside)
        if span[0] < low:
            inside = bits.choose(bits.less(x, constant(low, x.width)), constant(low, x.width), inside)
        return bits.fitted(inside, low, high, self.width)


def _corners(a: Span, b: Span) -> Span:
    products = [x * y for x in a for y in b]
    return min(products), max(products)


def _nearest_integer(x: int, places: int, ties: str) -> int:
    """x · 2^−places to the nearest integer, ties to even or towards 0."""
    floor, rest = x >> places, x & ((1 << places) - 1)
    up = floor & 1 if ties == "even" else int(x < 0)
    return floor + (2 * rest + up > 1 << places)


def _sizes(span: Span) -> Span:
    """The least and the greatest magnitude in a span."""
    low, high = span
    return 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))


def _negative(a: Bits, span: Span) -> Bits:
    if span[0] >= 0 or span[1] < 0:
        return bits.truth(span[1] < 0)
    return bits.less(a, constant(0, a.width))


def _magnitude(a: Bits, span: Span, width: int) -> Bits:
    wide = low_bits(a, width)
    return bits.choose(_negative(a, span), bits.negate(wide), wide)
