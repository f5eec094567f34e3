"""The activations of feed-forwards, correctly rounded: [gelu x], [gelu_tanh x], [silu x], as exp is.

    gelu(x)        x·Φ(x), Φ the normal distribution function
    gelu_tanh(x)   x·σ(u), u = 2·√(2/π)·(x + 0.044715·x³): its usual approximation, ½·x·(1 + tanh(u/2))
    silu(x)        x·σ(x), σ(u) = 1/(1 + e^−u)

Each is x·p(x) with p(x) + p(−x) = 1. So all is said by the tail t(y) = y·p(−y), y ≥ 0, which is small: f(−y) = −t(y) and
f(y) = y − t(y). Both are transcendental at every rational but 0 (for gelu by Siegel and Shidlovskii, for silu by Lindemann), so
they are never a tie, and an enclosure tight enough rounds to one value. Of gelu_tanh, whose u has a √π in it, that is not
known; there has been no tie, and should one be met an error says so rather than that the search does not end.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import floor, isqrt

import numpy as np
from mpmath.libmp import (
    from_int,
    from_rational,
    mpf_add,
    mpf_div,
    mpf_erfc,
    mpf_exp,
    mpf_mul,
    mpf_pi,
    mpf_shift,
    mpf_sqrt,
)

from glyptic.arguments import is_word, shown
from glyptic.errors import FormatError
from glyptic.numbers.arithmetic import ACTIVATIONS, Activation
from glyptic.numbers.exponential import MPMATH, _fraction
from glyptic.numbers.formats import AnyFormat, Exact, Format, _as_fraction, _told, as_format, floor_log2

CUBE = Fraction(44715, 10**6)  # of gelu_tanh
_MOST_BITS = 1 << 16
_MARGIN = 2.0**-40  # doubles of t are within 2^−42: cephes has erfc to 2^−44, and z² ≤ 2^9 units of 2^−53 come from z
# Between these lies the place where each is least; to the left it falls, to the right it rises. And a number below its values.
TURNS: dict[str, tuple[Fraction, Fraction, Fraction]] = {
    "gelu": (Fraction(-75180, 10**5), Fraction(-75179, 10**5), Fraction(-16998, 10**5)),
    "gelu_tanh": (Fraction(-75247, 10**5), Fraction(-75246, 10**5), Fraction(-17005, 10**5)),
    "silu": (Fraction(-127847, 10**5), Fraction(-127846, 10**5), Fraction(-27847, 10**5)),
}


def activation_rounded(kind: Activation, x: Fraction, format: str | AnyFormat) -> Fraction:
    """[f x] in the format, by enclosure; of relu it is the larger of x and 0, rounded.

    >>> from glyptic.numbers import Fixed
    >>> [str(activation_rounded("gelu", Fraction(x), Fixed(8))) for x in (-9, -1, 0, 1, 9)]
    ['0', '-41/256', '0', '215/256', '9']
    """
    x, format = _as_fraction(x), as_format(format)
    if not is_word(kind, ACTIVATIONS):
        raise FormatError(f"activation {shown(kind)} is not one of {', '.join(ACTIVATIONS)}.")
    if kind == "relu" or x == 0:
        return format.round(max(x, Fraction(0)))
    if isinstance(format, Exact):
        raise FormatError(f"{kind}({_told(x)}) is not known to be rational, so exact has none; use relu, or a finite format.")
    return _rounded(kind, x, format)


@lru_cache(maxsize=1 << 16)
def _rounded(kind: str, x: Fraction, format: Format) -> Fraction:
    size, most = abs(x), Fraction(1, 1 << _halvings(kind, abs(x)))
    start = max(x, Fraction(0))
    if format.round(start - most) == format.round(start):  # the tail is above 0, and too small to be seen
        return format.round(start)
    precision = format.precision + 16
    while precision <= 4 * _MOST_BITS:  # at the least x of all formats f is above x/2, a tie, by x² only: 2^−33280, relatively
        low, high = (format.round(start - end) for end in reversed(_tail(kind, size, precision)))
        if low == high:
            return low
        precision *= 2
    raise FormatError(f"{kind}({_told(x)}) lies closer to the middle of two values of {format} than {precision} bits can tell.")


def _halvings(kind: str, y: Fraction) -> int:
    """A k with t(y) ≤ 2^−k, y > 0: y·Φ(−y) < φ(y) < 2^−y²/2, y·e^−y < 2^(1−y), and y·σ(−u) < y·e^−1.59y < 2^−y."""
    bound = {"gelu": y * y / 2, "gelu_tanh": y, "silu": y - 1}[kind]
    return min(max(floor(bound), 0), _MOST_BITS)  # more than any format can see: 2^−33280 is the least value of all


def _tail(kind: str, y: Fraction, precision: int) -> tuple[Fraction, Fraction]:
    """t(y), y > 0, within a relative 2^−precision: by mpmath, with bits to spare for what its argument magnifies."""
    work = precision + 32 + 4 * max(0, floor_log2(y) + 1)
    with MPMATH:
        tail = _tail_by_mpmath(kind, y, work)
    middle, slack = _fraction(tail), Fraction(1, 1 << precision)
    return middle * (1 - slack), middle * (1 + slack)


def _tail_by_mpmath(kind: str, y: Fraction, work: int) -> object:
    number = from_rational(y.numerator, y.denominator, work)
    if kind == "gelu":
        root_half = mpf_sqrt(mpf_shift(from_int(1), -1), work)
        return mpf_mul(mpf_shift(number, -1), mpf_erfc(mpf_mul(number, root_half, work), work), work)
    grown = mpf_exp(number if kind == "silu" else _steepness(y, work), work)
    return mpf_div(number, mpf_add(from_int(1), grown, work), work)


def _steepness(y: Fraction, work: int) -> object:
    """u of gelu_tanh: √(8/π)·(y + 0.044715·y³)."""
    inner = y + CUBE * y**3
    root = mpf_sqrt(mpf_div(from_int(8), mpf_pi(work), work), work)
    return mpf_mul(from_rational(inner.numerator, inner.denominator, work), root, work)


# Arrays ----------------------------------------------------------------------------------------------------------------


def activate_floats(kind: Activation, x: np.ndarray, format: Format) -> np.ndarray:
    """[f x] for an array of values of the format held exactly in float64; the result likewise.

    As for exp: double precision decides wherever the result is the same within a margin, and the enclosure what is closer.
    """
    from glyptic.numbers.hosts import round_float64

    tail = _tail_floats(kind, np.abs(x))
    near = np.where(x > 0, x - tail, -tail)
    low, high = (round_float64(near * factor, format) for factor in (1 - _MARGIN, 1 + _MARGIN))
    unsure = np.flatnonzero(low != high)
    flat, out = np.ravel(x), low.ravel()
    for index in unsure:
        out[index] = float(activation_rounded(kind, Fraction(float(flat[index])), format))
    return low + 0.0  # no −0


def _tail_floats(kind: str, y: np.ndarray) -> np.ndarray:
    from scipy.special import erfc

    with np.errstate(over="ignore"):
        if kind == "gelu":
            return 0.5 * y * erfc(y * 0.5**0.5)
        u = y if kind == "silu" else (8 / np.pi) ** 0.5 * (y + float(CUBE) * y**3)
        return y / (1 + np.exp(u))


def activation_table(kind: Activation, format: Format) -> tuple[int, np.ndarray]:
    """For fixed point: a first code, and the codes of f from there on; before it f is 0, behind the last it is x itself."""
    f = -format.least_exponent
    reach = {"gelu": isqrt(2 * (f + 2)) + 1, "gelu_tanh": f + 2, "silu": f + 3}[kind]  # from here on t is below half a unit
    unit = 2.0**format.least_exponent
    first, last = max(format.min_code, -(reach << f)), min(format.max_code, reach << f)
    values = activate_floats(kind, np.arange(first, last + 1) * unit, format)
    return first, np.rint(values / unit).astype(np.int64)
