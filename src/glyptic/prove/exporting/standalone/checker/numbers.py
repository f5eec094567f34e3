"""Numbers: formats, rounding, and the operations, exp and root among them, in integers.

A format is a finite set of numbers. All of them are whole multiples of one unit, 2^−f, so a value is held as the integer number
of its units. Values with at most p bits are all there; longer ones must end in zeros (floating point); nothing lies above `top`
or below `bottom`. There is no infinity: what is too large becomes `top`, which the notes call B or ∞.
A value's code is its signed rank: 0 for 0, 1 for the least positive value, and so on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from typing import Any

from .reading import Unable, Unreadable, need


@dataclass(frozen=True)
class Format:
    """The values n · 2^−f for integers n with at most p leading bits, from bottom to top."""

    name: str
    f: int
    p: int
    top: int
    bottom: int
    ties_to_even: bool = False  # else a tie goes to the value nearer to 0
    subnormals: bool = True  # without them the values between −2^(p−1) and 2^(p−1) units are missing, but for 0

    @property
    def in_one(self) -> int:
        """How many units the number 1 has."""
        return 1 << self.f

    @property
    def least(self) -> int:
        return 1 if self.subnormals else 1 << (self.p - 1)

    # Rounding -----------------------------------------------------------------------------------------------------------

    def rounded(self, numerator: Any, denominator: int = 1) -> Any:
        """The value nearest to numerator/denominator units; the denominator is positive."""
        if numerator >= self.top * denominator:
            return self.top
        if numerator <= self.bottom * denominator:
            return self.bottom
        size = self._nearest(abs(numerator), denominator)
        return size if numerator > 0 else -size

    def _nearest(self, numerator: int, denominator: int) -> int:
        if not self.subnormals and numerator < self.least * denominator:  # between 0 and the least value; a tie goes to 0
            return self.least if 2 * numerator > self.least * denominator else 0
        spacing = 1 << max(0, (numerator // denominator).bit_length() - self.p)
        below, rest = divmod(numerator, denominator * spacing)
        twice, whole = 2 * rest, denominator * spacing
        up = twice > whole or (twice == whole and self.ties_to_even and below % 2 == 1)
        return (below + up) * spacing

    # Codes and fractions ------------------------------------------------------------------------------------------------

    def code(self, units: int) -> int:
        """The signed rank of a value."""
        shift = max(0, abs(units).bit_length() - self.p)
        rank = (shift << (self.p - 1)) + (abs(units) >> shift) - (self.least - 1 if units else 0)
        return rank if units >= 0 else -rank

    def units(self, code: int) -> Any:
        """The value of a code."""
        if code == 0:
            return 0
        rank, half = abs(code) + self.least - 1, 1 << (self.p - 1)
        shift = max(0, rank // half - 1)
        size = (rank - shift * half) << shift
        return size if code > 0 else -size

    def codes(self) -> tuple[int, int]:
        """The first and the last code."""
        return self.code(self.bottom), self.code(self.top)

    def holds(self, code: int) -> bool:
        first, last = self.codes()
        return first <= code <= last

    def number(self, units: Any) -> Fraction:
        return Fraction(units, self.in_one)

    def value(self, number: Fraction) -> Any:
        """A number that must be a value of the format, in units."""
        units = number * self.in_one
        if self.rounded(units.numerator, units.denominator) != units:
            raise Unreadable(f"{number} is not a value of {self.name}.")
        return units.numerator if units.denominator == 1 else units

    # Operations: the exact result, then one rounding --------------------------------------------------------------------

    def add(self, a: Any, b: Any) -> Any:
        return self.rounded(a + b)

    def subtract(self, a: Any, b: Any) -> Any:
        return self.rounded(a - b)

    def multiply(self, a: Any, b: Any) -> Any:
        return self.rounded(a * b, self.in_one)

    def fused(self, total: Any, a: Any, b: Any) -> Any:
        """[total + a·b], the product unrounded."""
        return self.rounded(total * self.in_one + a * b, self.in_one)

    def divide(self, a: Any, b: Any) -> Any:
        """[a/b]; b is not 0."""
        return self.rounded(a * self.in_one if b > 0 else -a * self.in_one, abs(b))

    def divide_by_count(self, a: Any, count: int) -> Any:
        return self.rounded(a, count)

    def one(self) -> Any:
        return self.rounded(self.in_one)

    def root(self, a: Any) -> Any:
        """[√a] for a ≥ 0: √(n·2^−f) is √(n·2^f) units."""
        return self._root_units(a << self.f)

    def root_of_count(self, n: int) -> Any:
        return self._root_units(n << (2 * self.f))

    def _root_units(self, square: int) -> int:
        """Results change at multiples of half a unit only: halves are counted, and a remainder says 'a little more'."""
        halves = isqrt(4 * square)
        return self.rounded(halves, 2) if halves * halves == 4 * square else self.rounded(2 * halves + 1, 4)

    def exp(self, a: Any) -> Any:
        """[exp a]. exp 0 = 1; of no other rational is exp rational, so tight enough bounds round to one value (Lindemann)."""
        known = _EXP.get((self, a))
        if known is None:
            known = _EXP[self, a] = self.one() if a == 0 else self._exp(a)
        return known

    def _exp(self, a: int) -> int:
        size, bits = abs(a), 64
        if a > 0 and size >= (self.top.bit_length() + 1) * self.in_one:
            return self.top  # e^x > 2^x
        if a < 0 and size >= (self.f + 2) * self.in_one:
            return 0  # e^−x < 2^−x, which is below half a unit
        while True:
            low, high = exp_bounds(Fraction(size, self.in_one), bits)  # e^|x|, in units of 2^−bits
            if a > 0:
                ends = {self.rounded(low << self.f, 1 << bits), self.rounded(high << self.f, 1 << bits)}
            else:
                ends = {self.rounded(1 << (bits + self.f), high), self.rounded(1 << (bits + self.f), low)}
            if len(ends) == 1:
                return ends.pop()
            bits *= 2


_EXP: dict[tuple[Format, Any], Any] = {}


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers with low ≤ 2^bits · e^x ≤ high, for x > 0.

    x is halved k times until it is at most ½. There e^x = Σ x^i/i!, and what follows a term is less than that term, for each
    is at most half of the one before. The k halvings are undone by k squarings. Low ends are rounded down, high ends up.
    """
    halvings = max(0, (2 * x.numerator // x.denominator).bit_length())
    n, d = x.numerator, x.denominator << halvings
    low = high = term_low = term_high = 1 << bits
    i = 0
    while term_high > 1:
        i += 1
        term_low, term_high = term_low * n // (d * i), -(-term_high * n // (d * i))
        low, high = low + term_low, high + term_high
    high += term_high
    for _ in range(halvings):
        low, high = low * low >> bits, -(-high * high >> bits)
    return low, high


class Rationals(Format):
    """`exact`: no rounding at all. A unit is 1, values are fractions, and a code counts multiples of 1/p."""

    def rounded(self, numerator: Any, denominator: int = 1) -> Any:
        return Fraction(numerator) / denominator

    def code(self, units: Any) -> int:
        return int(units * self.p)

    def units(self, code: int) -> Any:
        return Fraction(code, self.p)

    def codes(self) -> tuple[int, int]:
        return -(1 << 63) + 1, (1 << 63) - 1

    def root(self, a: Any) -> Any:
        top, bottom = isqrt(a.numerator), isqrt(a.denominator)
        if Fraction(top * top, bottom * bottom) != a:
            raise Unable(f"the square root of {a} is irrational")
        return Fraction(top, bottom)

    def root_of_count(self, n: int) -> Any:
        return self.root(Fraction(n))

    def _exp(self, a: Any) -> Any:
        raise Unable(f"exp({a}) is irrational")


def constant(data: Any, format: Format) -> Any:
    """B, -B, least, -least, or a fraction that the format has; in units."""
    names = {"B": format.top, "-B": -format.top, "least": format.least, "-least": -format.least}
    if isinstance(data, str) and data in names:
        need(not isinstance(format, Rationals), f"{format.name} has no {data}.")
        return names[data]
    text = data.get("fraction") if isinstance(data, dict) and len(data) == 1 else data
    good = isinstance(text, str) and re.fullmatch(r"-?\d{1,2000}(/\d{1,2000})?", text, re.ASCII) is not None
    need(good and not re.search(r"/0+$", str(text)), f"{data!r} is not a constant: B, -B, least, -least or a fraction.")
    return format.value(Fraction(str(text)))


# Formats by name ----------------------------------------------------------------------------------------------------


def _float(name: str, f: int, p: int, spacings: int, top: int, even: bool, subnormals: bool = True) -> Format:
    """Spacings of 1, 2, 4 … 2^spacings units; `top` is the largest significand at the widest."""
    return Format(name, f, p, top << spacings, -(top << spacings), even, subnormals)


def _ieee(name: str, e: int, m: int, subnormals: bool = True) -> Format:
    """IEEE 754's layout, its top exponent given away: m mantissa bits, the least unit 2^(2 − 2^(e−1) − m)."""
    return _float(name, (1 << (e - 1)) - 2 + m, m + 1, (1 << e) - 3, (2 << m) - 1, True, subnormals)


def _small(name: str, e: int, m: int, top: int) -> Format:
    """The OCP formats that keep their top exponent for numbers."""
    return _float(name, (1 << (e - 1)) - 2 + m, m + 1, (1 << e) - 2, top, True)


_NAMED = {
    "fp32": _ieee("fp32", 8, 23),
    "fp16": _ieee("fp16", 5, 10),
    "bf16": _ieee("bf16", 8, 7),
    "fp8_e5m2": _ieee("fp8_e5m2", 5, 2),
    "fp8_e4m3": _small("fp8_e4m3", 4, 3, 14),  # 448; the code of 480 means NaN there
    "fp6_e3m2": _small("fp6_e3m2", 3, 2, 7),
    "fp6_e2m3": _small("fp6_e2m3", 2, 3, 15),
    "fp4_e2m1": _small("fp4_e2m1", 2, 1, 3),
}


def format_named(text: str) -> Format:
    """The format of a name such as fixed:4, float:3,2, q:4,4, ieee:5,6,normal or fp16, with /even or /zero for ties.

    >>> [format_named(name).codes() for name in ("fixed:2", "float:1,1", "q:1,1", "fp8_e4m3")]
    [(-15, 15), (-5, 5), (-4, 3), (-126, 126)]
    """
    name, slash, ties = text.partition("/")
    found = _NAMED.get(name) or _family(name)
    if found is None or (slash and ties not in ("even", "zero")):
        raise Unreadable(f"{text!r} is not a format; formats are fixed:4, float:3,2, q:4,4, ieee:5,6, fp16 and their like.")
    return replace(found, name=text, ties_to_even=ties == "even" if slash else found.ties_to_even)


def _family(name: str) -> Format | None:
    match = re.fullmatch(r"(fixed|float|q|ieee|exact)(?::(\d{1,4}(?:,\d{1,4})?)(,normal)?)?", name, re.ASCII)
    if match is None or (match[3] and match[1] != "ieee"):
        return None
    numbers = tuple(map(int, match[2].split(","))) if match[2] else ()
    match match[1], numbers:
        case "exact", ():
            return Rationals(name, 0, 1, 0, 0)
        case "exact", (d,) if d >= 1:
            return Rationals(name, 0, d, 0, 0)
        case ("fixed", (s,)) | ("float", (0, s)) if 1 <= s <= 512:
            return Format(name, s, 2 * s, (1 << 2 * s) - 1, 1 - (1 << 2 * s))
        case "float", (e, s) if 1 <= e <= 16 and 1 <= s <= 512:
            return _float(name, s + (1 << (e - 1)), 2 * s, (1 << e) - 1, (1 << 2 * s) - 1, False)
        case "q", (m, f) if 1 <= m + f <= 1024:
            return Format(name, f, m + f, (1 << (m + f)) - 1, -1 << (m + f))
        case "ieee", (e, m) if 2 <= e <= 15 and 1 <= m <= 256:
            return _ieee(name, e, m, subnormals=match[3] is None)
    return None
