"""The correctly rounded exponential, [exp x].

exp of a rational other than 0 is irrational (Lindemann), so it is never a tie and never a value of a format: an enclosure
tight enough always rounds to one value (Ziv's strategy). The enclosure is mpmath's, widened by a few units in its last place.
"""

from __future__ import annotations

from fractions import Fraction
from threading import RLock

import numpy as np
from mpmath.libmp import from_rational, mpf_exp, to_rational

from glyptic.errors import FormatError
from glyptic.numbers.formats import AnyFormat, Exact, Format, _as_fraction, as_format, floor_log2

# mpmath keeps constants such as log 2 in two places, a value and its precision, that another thread may see half-changed.
MPMATH = RLock()


def exp_rounded(x: Fraction, format: str | AnyFormat) -> Fraction:
    """[exp x] in the format, by enclosure.

    >>> from glyptic.numbers import Fixed
    >>> exp_rounded(Fraction(1), Fixed(8)), exp_rounded(Fraction(-9), Fixed(8))
    (Fraction(87, 32), Fraction(0, 1))
    """
    x, format = _as_fraction(x), as_format(format)
    if x == 0:
        return format.round(1)
    if isinstance(format, Exact):
        raise FormatError(
            f"exp({x}) is irrational, so exact has no softmax here; use hard attention or a finite format."
        )
    if x > floor_log2(format.max) + 2:  # e^x > 2^x > B
        return format.max
    if x < floor_log2(format.least) - 2:  # e^x < 2^x < least / 2
        return Fraction(0)
    precision = format.precision + 16
    while True:
        low, high = (format.round(end) for end in _enclose(x, precision))
        if low == high:
            return low
        precision *= 2


def _enclose(x: Fraction, precision: int) -> tuple[Fraction, Fraction]:
    with MPMATH:
        low = mpf_exp(from_rational(x.numerator, x.denominator, precision, "f"), precision, "f")
        high = mpf_exp(from_rational(x.numerator, x.denominator, precision, "c"), precision, "c")
    slack = Fraction(1, 1 << (precision - 4))
    return _fraction(low) * (1 - slack), _fraction(high) * (1 + slack)


def _fraction(x: object) -> Fraction:
    top, bottom = to_rational(x)
    return Fraction(int(top), int(bottom))


def exp_floats(x: np.ndarray, format: Format) -> np.ndarray:
    """[exp x] for an array of values of the format held exactly in float64; the result likewise.

    Double precision decides wherever the result stays the same within a margin of 2^−48 (numpy's exp errs by less than two
    units of 2^−52); what lies closer to a rounding boundary, about one value in 2^(48−p), goes to the enclosure.
    """
    from glyptic.numbers.hosts import round_float64

    near = np.exp(np.minimum(x, 709.0))
    low, high = (round_float64(near * factor, format) for factor in (1 - 2.0**-48, 1 + 2.0**-48))
    unsure = np.flatnonzero(low != high)
    if unsure.size:
        flat, out = np.ravel(x), low.ravel()
        for index in unsure:
            out[index] = float(exp_rounded(Fraction(float(flat[index])), format))
    return low


def exp_table(format: Format) -> tuple[int, np.ndarray]:
    """For fixed point: the first code whose exp is not 0, and the codes of exp from there to the first that saturates."""
    unit = 2.0**format.least_exponent
    first = max(format.min_code, int(np.floor(np.log(unit / 4) / unit)))
    last = min(format.max_code, int(np.ceil(np.log(2 * float(format.max)) / unit)))
    values = exp_floats(np.arange(first, last + 1) * unit, format)
    return first, np.rint(values / unit).astype(np.int64)
