"""The activations of feed-forwards, exactly rounded: relu, and gelu, gelu_tanh and silu by bounds in fractions.

    silu(x) = x·σ(x)    gelu_tanh(x) = x·σ(u), u = √(8/π)·(x + 0.044715·x³)    gelu(x) = x·Φ(x)

For y > 0 each is f(y) = y − t and f(−y) = −t with one tail t > 0: y·σ(−y), y·σ(−u), y·Φ(−y). Bounds of t are made tighter until
both ends round to one value. Of silu and gelu that comes to an end, for their values at rationals other than 0 are irrational.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

from .numbers import Format, Rationals, exp_bounds
from .reading import Unable

KINDS = ("relu", "gelu", "gelu_tanh", "silu")
_MOST_BITS = 1 << 14
_KNOWN: dict[tuple[str, Format, Any], Any] = {}


def activated(kind: str, F: Format, a: Any) -> Any:
    """[f(a)], in units.

    >>> from .numbers import format_named
    >>> [activated("silu", format_named("fixed:8"), a) for a in (-256, 0, 256)]
    [-69, 0, 187]
    """
    if kind == "relu" or a == 0:
        return max(a, 0)
    if (kind, F, a) not in _KNOWN:
        _KNOWN[kind, F, a] = _rounded(kind, F, a)
    return _KNOWN[kind, F, a]


def _rounded(kind: str, F: Format, a: Any) -> Any:
    if isinstance(F, Rationals):
        raise Unable(f"{kind}({a}) is irrational")
    y = Fraction(abs(a), F.in_one)
    cubed = Fraction(3, 2) * (y + Fraction(44715, 10**6) * y**3)  # below u, for √(8/π) > 3/2
    least = {"silu": y, "gelu": y * y / 2, "gelu_tanh": cubed}[kind]
    if least >= F.f + 4 + int(y + 1).bit_length():  # t ≤ y·e^−least, less than a sixteenth of a unit
        return F.rounded(a) if a > 0 else 0
    bits = 64
    while bits <= _MOST_BITS:
        ends = set()
        for t in _tail(kind, y, bits):
            units = (y - t if a > 0 else -t) * F.in_one
            ends.add(F.rounded(units.numerator, units.denominator))
        if len(ends) == 1:
            return ends.pop()
        bits *= 2
    raise Unable(f"{kind} of {a} units is too near to the middle of two values of {F.name}")


def _tail(kind: str, y: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Fractions on both sides of t."""
    if kind == "gelu":
        low, high = _half_normal(y, bits)
        return y * max(Fraction(0), Fraction(1, 2) - high), y * (Fraction(1, 2) - low)
    first = last = y
    if kind == "gelu_tanh":
        pi_low, pi_high = _pi(bits)
        cubic = y + Fraction(44715, 10**6) * y**3
        first, last = _root(8 / pi_high, bits)[0] * cubic, _root(8 / pi_low, bits)[1] * cubic
    one = 1 << bits
    return y * Fraction(one, one + exp_bounds(last, bits)[1]), y * Fraction(one, one + exp_bounds(first, bits)[0])


def _half_normal(y: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Bounds of Φ(y) − ½ = e^(−y²/2) · (y + y³/3 + y⁵/(3·5) + …) / √(2π); every term is positive.

    What follows a term that is at most half of the one before it, as all later ones are, is together less than that term.
    """
    square, one = y * y, 1 << bits
    low = term_low = one * y.numerator // y.denominator
    high = term_high = -(-one * y.numerator // y.denominator)
    odd = 1
    while term_high > 1 or 2 * square > odd:
        odd += 2
        n, d = square.numerator, square.denominator * odd
        term_low, term_high = term_low * n // d, -(-term_high * n // d)
        low, high = low + term_low, high + term_high
    high += term_high
    e_low, e_high = exp_bounds(square / 2, bits)
    pi_low, pi_high = _pi(bits)
    return Fraction(low, e_high) / _root(2 * pi_high, bits)[1], Fraction(high, e_low) / _root(2 * pi_low, bits)[0]


def _root(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    below = isqrt((x.numerator << (2 * bits)) // x.denominator)
    return Fraction(below, 1 << bits), Fraction(below + 1, 1 << bits)


def _pi(bits: int) -> tuple[Fraction, Fraction]:
    """Machin's: π = 16·arctan(1/5) − 4·arctan(1/239)."""
    (a, b), (c, d) = _arctan(5, bits), _arctan(239, bits)
    return Fraction(16 * a - 4 * d, 1 << bits), Fraction(16 * b - 4 * c, 1 << bits)


def _arctan(n: int, bits: int) -> tuple[int, int]:
    """Bounds of 2^bits · arctan(1/n), whose terms 1/(k·n^k) have alternate signs and become smaller."""
    power, k, low, high = (1 << bits) // n, 1, 0, 0
    while power:
        down, up = power // k, power // k + 2  # power is at most one too small, and so is the quotient
        low, high = (low + down, high + up) if k % 4 == 1 else (low - up, high - down)
        power, k = power // (n * n), k + 2
    return low - 2, high + 2
