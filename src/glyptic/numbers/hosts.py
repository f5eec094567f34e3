"""Where the fast engine may go: which machine type carries a format exactly, and why not, if none does.

A *host* is float32 or float64, with P = 24 or 53 bits. An operation on values of a format, computed in the host and then
rounded to the format, is rounded twice; that is harmless when no exact result can lie so close to a boundary of the format
that the host's own rounding moves it there or across. Write p for the format's precision, E for the exponent of a result.

*Floats.* A product has 2p bits: exact when 2p ≤ P. A sum x + y, |x| ≥ |y|, near a boundary: either |y| is at least half a unit
of the result, so that y, hence the sum, is a multiple of 2^(E−2p+1); or |y| is smaller, and x + y stays at least 2^(E−2p) away
from every boundary. With P ≥ 2p + 2 both are two units of the host or more (Figueroa 1995 has 2p + 1 for ties to even; the
spare bit is what `kernels` uses for ties to the smaller). A quotient differs from a boundary by more than 2^−(2p+1),
relatively: |x − m·y| is at least one unit of a product of 2p + 1 bits. Quotients and roots are always computed in float64,
with p ≤ 24. Products must not fall into the host's own subnormals: 2 q_min ≥ −126 or −1022.

*Fixed point*, values kept as integers k (units of 2^−f), m integer and f fraction bits: a product that does not saturate has
m + 2f bits, a sum m + f + 1. A quotient differs from a boundary by more than 2^−(2(m+f)+1), relatively, so float64 decides it
where 2(m + f) + 1 ≤ 53; wider ones, and all roots, are integer operations in 64 bits.

*Fused* inner products add an unrounded product: exact in float64 when 2(m + f) + 1 ≤ 53 for fixed point; for floats the host's
sum is turned into a sum rounded to odd, which rounds on correctly when P ≥ p + 2 (Boldo & Melquiond 2008). With ties to the
smaller an exact sum whose last bit is 0 is then moved a unit towards zero: off a tie, and across no boundary (all are even).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from glyptic.errors import FormatError
from glyptic.numbers.formats import AnyFormat, Exact, Format
from glyptic.numbers.kernels import Rule, rounding_rule

_HOSTS = ((np.float32, 24, -126), (np.float64, 53, -1022))


@dataclass(frozen=True)
class Host:
    """A machine type that carries a format, and the rule by which kernels round in it."""

    dtype: type[np.floating]
    unit: float  # one unit of the host, as a number: 2^−f for fixed point, whose values are kept as integers; else 1
    rule: Rule
    rule64: Rule  # the same rounding for float64, where quotients and roots are computed


def refusal(format: AnyFormat, fused: bool = False) -> str | None:
    """Why the fast engine does not run this format, or None if it does.

    >>> from glyptic.numbers import Fixed, Float
    >>> refusal(Fixed(17)) is None, refusal(Fixed(18))
    (True, 'fixed:18 needs 54 bits for a product, and float64 has 53')
    """
    if isinstance(format, Exact):
        return "exact rationals have no bound on their size"
    reasons = [_refused(format, bits, floor, fused) for _, bits, floor in _HOSTS]
    return None if None in reasons else reasons[-1]


def host_of(format: AnyFormat, fused: bool = False) -> Host:
    """The smallest host that is proved to carry the format; a FormatError with the reason if there is none."""
    reason = refusal(format, fused)
    if reason is not None or isinstance(format, Exact):
        raise FormatError(f"the fast engine refuses {format}: {reason}; use the reference engine.")
    for dtype, bits, floor in _HOSTS:
        if _refused(format, bits, floor, fused) is None:
            unit = 2.0**format.least_exponent if format.is_fixed else 1.0
            return Host(dtype, unit, rounding_rule(format, dtype), rounding_rule(format, np.float64))
    raise AssertionError("unreachable: some host was found above")


def _refused(format: Format, bits: int, floor: int, fused: bool) -> str | None:
    p, f = format.precision, -format.least_exponent
    if format.is_fixed:
        need = 2 * p + 1 if fused else p + f  # p = m + f
        what = "a fused sum" if fused else "a product"
        if need > bits:
            return f"{format} needs {need} bits for {what}, and {_name(bits)} has {bits}"
        steps = p << max(0, f)  # about as many has exp between 0 and B
        return None if steps <= 1 << 23 else f"{format} needs a table of about {steps:,} entries for exp"
    if fused and bits < 53:
        return f"{format}: fused sums of floats are proved in float64 only"
    if p > (11 if bits == 24 else 24):
        return f"{format} has {p} bits of precision, and {_name(bits)} is proved up to {11 if bits == 24 else 24}"
    if 2 * format.least_exponent < floor:
        return f"{format} has products as small as 2^{2 * format.least_exponent}, below {_name(bits)}'s 2^{floor}"
    if format.greatest_exponent + p > 500:
        return f"{format} has values beyond 2^500"
    return None


def _name(bits: int) -> str:
    return "float32" if bits == 24 else "float64"


def round_float64(x: np.ndarray, format: Format) -> np.ndarray:
    """Round doubles to the format; the results are the exact values, as doubles."""
    from glyptic.numbers.kernels import round_array

    unit = 2.0**format.least_exponent if format.is_fixed else 1.0
    return round_array(np.asarray(x, np.float64) / unit, rounding_rule(format, np.float64)) * unit
