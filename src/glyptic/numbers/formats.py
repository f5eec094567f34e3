"""What a number is: the finite formats of the papers and of the machines, and exact rationals beside them.

Every finite format here is one set, described by a few integers: all S · 2^E with |S| < 2^p and q_min ≤ E ≤ q_max, cut off
at the largest value B. There is no infinity and no NaN: what would overflow saturates (the notes' "∞" *is* B).

    F(e, s)      Float(e, s)    p = 2s, E from −2^(e−1) − s to 2^(e−1) − 1 − s    (Li et al. 2024, section 2)
    F(s)         Fixed(s)       p = 2s, E = −s: multiples of 2^−s below 2^s
    Q(m, f)      Q(m, f)        two's complement: k · 2^−f, −2^(m+f) ≤ k < 2^(m+f)
    IEEE-like    Ieee(e, m)     p = m + 1, the top exponent reserved; fp16, bf16, fp8 … by name

A value's **code** is its signed rank: code 0 is 0, code 1 the least positive value, and codes compare as values do. Codes are
what transformers and their files hold, in 64 bits; a wider format is a set of numbers still, of which lemmas are proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

from glyptic.arguments import is_word, shown
from glyptic.errors import FormatError
from glyptic.text import printable

Ties = Literal["zero", "even"]
CODE_BITS = 64  # of a code in an array or a file
_MOST_DIGITS = 18  # of a number in a format's name


def floor_log2(x: Fraction) -> int:
    """The integer k with 2^k ≤ x < 2^(k+1), for positive x."""
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if x >= _power(guess) else guess - 1


def _power(exponent: int) -> Fraction:
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise FormatError(message + ".")


def _whole(name: str, *numbers: Any) -> list[int]:
    """The numbers as Python's own, whose powers of two do not overflow."""
    for given in numbers:
        whole = isinstance(given, Integral) and not isinstance(given, bool)
        _require(whole, f"{name}: {shown(given)} is not a whole number")
    return [int(given) for given in numbers]


def _as_fraction(x: Any) -> Fraction:
    """What is to be rounded, exactly; a text or a NaN is no number."""
    if type(x) is Fraction:
        return x
    try:
        if not isinstance(x, str):
            return Fraction(x.item() if hasattr(x, "item") else x)
    except (TypeError, ValueError, OverflowError):
        pass
    raise FormatError(f"{shown(x)} is not a number; formats round whole numbers, fractions and finite floats.")


def _told(x: Fraction) -> str:
    """A number as a sentence says it; one of thousands of digits, which Python does not even write, by its size."""
    if max(x.numerator.bit_length(), x.denominator.bit_length()) <= _LONGEST_TOLD:
        return str(x)
    return f"a number near {'−' if x < 0 else ''}2^{floor_log2(abs(x))}"


_LONGEST_TOLD = 1 << 11  # bits


def _as_code(code: Any, format: Any) -> int:
    """A whole number as Python's own, which does not overflow."""
    if isinstance(code, (int, Integral)):  # int first: it is the quick answer
        return int(code)
    raise FormatError(f"{shown(code)} is not a code of {format}; codes are whole numbers, and `code` finds them.")


@dataclass(frozen=True)
class Format:
    """A finite set of numbers and the way to round into it.

    >>> F = Fixed(2)
    >>> F.max, F.least, F.size
    (Fraction(15, 4), Fraction(1, 4), 31)
    >>> F.round(Fraction(3, 8)), F.with_ties("even").round(Fraction(3, 8))   # a tie: to the smaller, or to even
    (Fraction(1, 4), Fraction(1, 2))
    >>> F.round(100) == F.max
    True
    """

    name: str
    precision: int  # p: bits of the significand
    least_exponent: int  # q_min: the exponent of one unit in the last place, in the lowest binade
    greatest_exponent: int  # q_max
    top: int  # the largest significand in the highest binade: 2^p − 1 unless some are taken for NaN
    ties: Ties = "zero"
    subnormals: bool = True
    twos_complement: bool = False
    default_ties: Ties = field(default="zero", repr=False, compare=False)

    def __post_init__(self) -> None:
        _require(is_word(self.ties, ("zero", "even")), f"{self.name}: the tie rule is 'zero' or 'even', not {shown(self.ties)}")

    def __str__(self) -> str:
        return self.name if self.ties == self.default_ties else f"{self.name}/{self.ties}"

    def with_ties(self, ties: Ties) -> Format:
        """The same set of numbers under the other rule for ties."""
        return replace(self, ties=ties)

    # The set ---------------------------------------------------------------------------------------------------------

    @property
    def is_fixed(self) -> bool:
        """One binade only: the values are the multiples of one unit."""
        return self.least_exponent == self.greatest_exponent

    @property
    def max(self) -> Fraction:
        """B, the largest value: what the notes call ∞."""
        return self.top * _power(self.greatest_exponent)

    @property
    def min(self) -> Fraction:
        """The smallest value: −B, except in two's complement, where it is one unit lower."""
        return -self.max - (_power(self.least_exponent) if self.twos_complement else 0)

    @property
    def least(self) -> Fraction:
        """The smallest positive value."""
        return self.value(1)

    @property
    def max_code(self) -> int:
        return (self.greatest_exponent - self.least_exponent) * self._half + self.top - self._missing

    @property
    def min_code(self) -> int:
        return -self.max_code - self.twos_complement

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.max_code - self.min_code + 1

    @property
    def bits(self) -> int:
        """The width of a machine word that holds a code."""
        return (self.size - 1).bit_length()

    @property
    def fits_arrays(self) -> bool:
        """Whether arrays of codes, and so transformers, can be in this format."""
        return self.max_code < 1 << (CODE_BITS - 1)

    def values(self) -> Iterator[Fraction]:
        """All values, ascending."""
        return map(self.value, range(self.min_code, self.max_code + 1))

    def neighbours(self, x: Fraction | int) -> tuple[Fraction | None, Fraction | None]:
        """The next smaller and the next larger value; None beyond the ends."""
        code = self.code(x)
        below = self.value(code - 1) if code > self.min_code else None
        above = self.value(code + 1) if code < self.max_code else None
        return below, above

    # Codes -----------------------------------------------------------------------------------------------------------

    @property
    def _half(self) -> int:
        return 1 << (self.precision - 1)

    @property
    def _missing(self) -> int:
        """How many ranks have no value because there are no subnormals."""
        return 0 if self.subnormals else self._half - 1

    def value(self, code: int) -> Fraction:
        """The value of a code (a signed rank)."""
        code = _as_code(code, self)
        if not self.min_code <= code <= self.max_code:
            raise FormatError(f"{self} has codes from {self.min_code} to {self.max_code}; {code} is outside.")
        if code == 0 or self.is_fixed:
            return code * _power(self.least_exponent)
        rank = abs(code) + self._missing
        binade = max(
            0, rank // self._half - 1
        )  # binades 0 (with the subnormals) and up share the rule of IEEE's own codes
        magnitude = (rank - binade * self._half) * _power(self.least_exponent + binade)
        return magnitude if code > 0 else -magnitude

    def code(self, x: Fraction | int) -> int:
        """The code of a value; a number that is not in the format is an error that names its neighbours."""
        x = _as_fraction(x)
        if self.round(x) != x:
            near = self.round(x)
            raise FormatError(f"{_told(x)} is not a value of {self}; the nearest is {_told(near)}.")
        if x == 0 or self.is_fixed:
            return int(x / _power(self.least_exponent))
        exponent = max(self.least_exponent, floor_log2(abs(x)) - self.precision + 1)
        significand = int(abs(x) / _power(exponent))
        rank = (exponent - self.least_exponent) * self._half + significand - self._missing
        return rank if x > 0 else -rank

    def __contains__(self, x: object) -> bool:
        return isinstance(x, int | Fraction) and self.round(x) == x

    # Rounding --------------------------------------------------------------------------------------------------------

    def round(self, x: Fraction | int) -> Fraction:
        """[x]: the nearest value, saturating; a tie goes by the format's rule."""
        x = _as_fraction(x)
        if x >= self.max:
            return self.max
        if x <= self.min:
            return self.min
        magnitude = abs(x)
        if not self.subnormals and magnitude < self.least:
            # Between 0 and the least value; both tie rules choose 0, the smaller and the one of even rank.
            rounded = self.least if 2 * magnitude > self.least else Fraction(0)
        else:
            rounded = self._round_to_grid(magnitude)
        return rounded if x >= 0 else -rounded

    def _round_to_grid(self, magnitude: Fraction) -> Fraction:
        if magnitude == 0:
            return magnitude
        unit = _power(max(self.least_exponent, floor_log2(magnitude) - self.precision + 1))
        units, rest = divmod(magnitude, unit)
        up = 2 * rest > unit or (2 * rest == unit and self.ties == "even" and units % 2 == 1)
        return (units + up) * unit


@dataclass(frozen=True)
class Exact:
    """The rationals: nothing is rounded and nothing saturates. Weights are multiples of 1/denominator.

    exp is irrational but at 0, so softmax is refused wherever a score is not 0; hard attention runs throughout.

    >>> Exact().round(Fraction(1, 3))
    Fraction(1, 3)
    """

    denominator: int = 1
    ties: Ties = "zero"
    is_fixed = False
    twos_complement = False
    fits_arrays = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "denominator", _whole("exact", self.denominator)[0])
        _require(self.denominator >= 1, f"exact:{self.denominator}: the denominator must be at least 1")

    def __str__(self) -> str:
        return "exact" if self.denominator == 1 else f"exact:{self.denominator}"

    def with_ties(self, ties: Ties) -> Exact:
        return self

    @property
    def max(self) -> Fraction:
        raise FormatError("exact has no largest value B; choose a finite format, such as fixed:8.")

    min = least = max

    max_code = (1 << 63) - 1
    min_code = -max_code
    bits = 64

    def value(self, code: int) -> Fraction:
        return Fraction(_as_code(code, self), self.denominator)

    def code(self, x: Fraction | int) -> int:
        exact = _as_fraction(x)
        scaled = exact * self.denominator
        if scaled.denominator != 1:
            raise FormatError(f"{_told(exact)} is not a multiple of 1/{self.denominator}; use exact:{exact.denominator}.")
        return int(scaled)

    def round(self, x: Fraction | int) -> Fraction:
        return _as_fraction(x)

    def __contains__(self, x: object) -> bool:
        return isinstance(x, int | Fraction)


AnyFormat = Format | Exact


def same_numbers(a: AnyFormat, b: AnyFormat) -> bool:
    """Whether two formats are one set, so that codes mean the same in both: by another name, or with another tie rule.

    >>> same_numbers(NAMED["fp16"], Ieee(5, 10, "zero")), same_numbers(Fixed(4), Fixed(8))
    (True, False)
    """
    a, b = as_format(a), as_format(b)
    if isinstance(a, Exact) or isinstance(b, Exact):
        return a == b
    return replace(a, name="", ties="even") == replace(b, name="", ties="even")


def Fixed(s: int, ties: Ties = "zero") -> Format:
    """F(s): the multiples of 2^−s whose absolute value is below 2^s."""
    (s,) = _whole("fixed:S", s)
    _require(1 <= s <= 512, f"fixed:{s}: s must be between 1 and 512")
    return Format(f"fixed:{s}", 2 * s, -s, -s, (1 << 2 * s) - 1, ties)


def Float(e: int, s: int, ties: Ties = "zero") -> Format:
    """F(e, s) of Li et al.: S · 2^(E−s), |S| < 2^(2s), −2^(e−1) ≤ E < 2^(e−1); F(0, s) is fixed point."""
    e, s = _whole("float:E,S", e, s)
    if e == 0:
        return Fixed(s, ties)
    _require(1 <= e <= 16 and 1 <= s <= 512, f"float:{e},{s}: e must be between 0 and 16, s between 1 and 512")
    reach = 1 << (e - 1)
    return Format(f"float:{e},{s}", 2 * s, -reach - s, reach - 1 - s, (1 << 2 * s) - 1, ties)


def Q(m: int, f: int, ties: Ties = "zero") -> Format:
    """Signed fixed point with m integer and f fraction bits and a sign, in two's complement: from −2^m to 2^m − 2^−f."""
    m, f = _whole("q:M,F", m, f)
    _require(m >= 0 and f >= 0, f"q:{m},{f}: m and f must not be negative")
    _require(1 <= m + f <= 1024, f"q:{m},{f}: m + f must be at least 1 and at most 1024")
    return Format(f"q:{m},{f}", m + f, -f, -f, (1 << (m + f)) - 1, ties, twos_complement=True)


def Ieee(e: int, m: int, ties: Ties = "even", subnormals: bool = True) -> Format:
    """Sign, e exponent bits, m mantissa bits, as IEEE 754 lays them out, but saturating at the largest finite value."""
    e, m = _whole("ieee:E,M", e, m)
    _require(is_word(subnormals, (True, False)), f"ieee:{e},{m}: subnormals is {shown(subnormals)}, and must be True or False")
    _require(2 <= e <= 15 and 1 <= m <= 256, f"ieee:{e},{m}: e must be between 2 and 15, m between 1 and 256")
    name = f"ieee:{e},{m}" + ("" if subnormals else ",normal")
    bias = (1 << (e - 1)) - 1
    return Format(name, m + 1, 1 - bias - m, bias - m, (1 << (m + 1)) - 1, ties, subnormals, default_ties="even")


def _minifloat(name: str, e: int, m: int, top: int) -> Format:
    """An OCP format that keeps its top exponent for numbers; `top` is the largest significand there."""
    bias = (1 << (e - 1)) - 1
    return Format(name, m + 1, 1 - bias - m, (1 << e) - 1 - bias - m, top, "even", default_ties="even")


NAMED: dict[str, Format] = {
    "fp32": replace(Ieee(8, 23), name="fp32"),
    "fp16": replace(Ieee(5, 10), name="fp16"),
    "bf16": replace(Ieee(8, 7), name="bf16"),
    "fp8_e5m2": replace(Ieee(5, 2), name="fp8_e5m2"),
    "fp8_e4m3": _minifloat("fp8_e4m3", 4, 3, 14),  # the code of 480 is NaN there: the largest is 448
    "fp6_e3m2": _minifloat("fp6_e3m2", 3, 2, 7),
    "fp6_e2m3": _minifloat("fp6_e2m3", 2, 3, 15),
    "fp4_e2m1": _minifloat("fp4_e2m1", 2, 1, 3),
}
_GRAMMAR = (
    "fixed:S, float:E,S, q:M,F, ieee:E,M[,normal], exact[:D], "
    + ", ".join(NAMED)
    + "; add /even or /zero for the tie rule"
)


def as_format(given: str | AnyFormat) -> AnyFormat:
    """A format, or the one that a text names: what every function that asks for a format takes.

    >>> as_format("fixed:8") == as_format(Fixed(8)) == Fixed(8)
    True
    """
    return given if isinstance(given, Format | Exact) else parse_format(given)


def parse_format(text: str) -> AnyFormat:
    """The format that a text names: the inverse of str().

    >>> [str(parse_format(name)) for name in ("fixed:8", "float:5,10/even", "q:4,4", "fp16", "exact")]
    ['fixed:8', 'float:5,10/even', 'q:4,4', 'fp16', 'exact']
    """
    if not isinstance(text, str):
        raise FormatError(f"{shown(text)} is not a format; formats are {_GRAMMAR}.")
    name, slash, ties = text.strip().partition("/")
    if slash and ties not in ("zero", "even"):
        raise FormatError(f"{shown(text)}: the tie rule is /zero or /even, not /{printable(ties[:20])}.")
    found = _parse_name(name, text)
    return found.with_ties(ties) if slash else found  # type: ignore[arg-type]


def _parse_name(name: str, text: str) -> AnyFormat:
    if name in NAMED:
        return NAMED[name]
    kind, _, rest = name.partition(":")
    words = rest.split(",") if rest else []
    subnormals = not (kind == "ieee" and words[-1:] == ["normal"])
    numbers = [int(word) for word in words if _is_number(word.removeprefix("-"))]
    if len(numbers) != len(words) - (not subnormals):
        raise FormatError(f"{shown(text)} is not a format; formats are {_GRAMMAR}.")
    match kind, numbers:
        case "fixed", [s]:
            return Fixed(s)
        case "float", [e, s]:
            return Float(e, s)
        case "q", [m, f]:
            return Q(m, f)
        case "ieee", [e, m]:
            return Ieee(e, m, subnormals=subnormals)
        case "exact", []:
            return Exact()
        case "exact", [d] if d >= 1:
            return Exact(d)
    raise FormatError(f"{shown(text)} is not a format; formats are {_GRAMMAR}.")


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= _MOST_DIGITS
