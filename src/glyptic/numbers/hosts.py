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

*Fixed point*, values kept as integers k (units of 2^−f), p = m + f bits: a product that does not saturate is a multiple of 2^−f
below 2^p, and a sum a whole number below 2^(p+1). Ties to the smaller are found from |x| − ½, a multiple of 2^−f only where
f ≥ 1. So write g = max(f, 1): x and |x| − ½ are multiples of 2^−g below 2^p, and the host holds both when p + g ≤ P. (Without
the bit of ½, in Q(24, 0) of float32, B − ½ would itself be a tie, and 1 · B = B − 1.) What saturates lies at 2^p or above, and
so, rounding being monotone, |x| − ½ at 2^p − ½ or above: ceil gives 2^p or more, and the clamp B. The quicker rounding, which
takes x a unit of the host towards zero instead, needs x two such units away from every tie that it is not: x is a multiple of
2^−f and a tie an odd one of ½, so that they are 2^−g apart, and a unit is at most 2^−(g+1) below 2^(P−1−g), which is `small` in
`kernels`. A quotient X/y, X = 2^f·x, differs from a boundary, an odd multiple of ½, by at least 1/(2|y|), relatively 1/(2X) ≥
2^−(p+f+1), so float64 decides it where p ≤ 26; wider ones, and all roots, are integer operations in 64 bits.

*Fused* inner products add an unrounded product to a value or, where the first is not rounded either, to another product: exact in
float64 when 2(m + f) + 1 ≤ 53 for fixed point; for floats products have 2p ≤ 48 bits, and the host's sum of any two numbers is
turned into a sum rounded to odd, which rounds on correctly when P ≥ p + 2 (Boldo & Melquiond 2008). With ties to the smaller an
exact sum whose last bit is 0 is then moved a unit towards zero: off a tie, and across no boundary (all are even).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numba
import numpy as np

from glyptic.arguments import is_word, shown
from glyptic.errors import FormatError, ModelError
from glyptic.numbers.arithmetic import Arithmetic, Products
from glyptic.numbers.formats import AnyFormat, Exact, Format
from glyptic.numbers.kernels import Rule, rounding_rule

Engine = Literal["auto", "fast", "reference"]
# Bits; the exponent of the least normal number; and the power of two that no value may pass, so that products do not overflow.
_HOSTS = ((np.float32, 24, -126, 64), (np.float64, 53, -1022, 500))


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
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]
        return "numba is told not to compile (NUMBA_DISABLE_JIT)"
    if isinstance(format, Exact):
        return "exact rationals have no bound on their size"
    reasons = [_refused(format, fused, *limits) for _, *limits in _HOSTS]
    return None if None in reasons else reasons[-1]


def engine_for(format: AnyFormat, products: Products = "rounded", engine: Engine = "auto") -> Literal["fast", "reference"]:
    """The engine that runs a format: `auto` is the fast one where that is proved exact, else the reference.

    >>> from glyptic.numbers import Fixed
    >>> engine_for(Fixed(17)), engine_for(Fixed(18)), engine_for(Fixed(17), "fused")
    ('fast', 'reference', 'reference')
    """
    if not is_word(engine, ("auto", "fast", "reference")):
        raise ModelError(f"engine {shown(engine)} is not one of auto, fast, reference.")
    if engine != "auto":
        return engine
    return "fast" if refusal(format, products != "rounded") is None else "reference"


def arithmetic_for(format: AnyFormat, products: Products = "rounded", engine: Engine = "auto") -> Arithmetic:
    """The arithmetic of an engine."""
    if engine_for(format, products, engine) == "reference":
        from glyptic.numbers.reference import Reference

        return Reference(format, products)
    from glyptic.numbers.fast import Fast

    return Fast(format, products)  # type: ignore[arg-type]  # it refuses rationals


def host_of(format: AnyFormat, fused: bool = False) -> Host:
    """The smallest host that is proved to carry the format; a FormatError with the reason if there is none."""
    reason = refusal(format, fused)
    if reason is not None or isinstance(format, Exact):
        raise FormatError(f"the fast engine refuses {format}: {reason}; use the reference engine.")
    for dtype, *limits in _HOSTS:
        if _refused(format, fused, *limits) is None:
            unit = 2.0**format.least_exponent if format.is_fixed else 1.0
            return Host(dtype, unit, rounding_rule(format, dtype), rounding_rule(format, np.float64))
    raise AssertionError("unreachable: some host was found above")


def _refused(format: Format, fused: bool, bits: int, floor: int, ceiling: int) -> str | None:
    p, f = format.precision, -format.least_exponent
    if format.is_fixed:
        need = 2 * p + 1 if fused else p + max(f, 1)  # p = m + f; the 1 is the bit of |x| − ½
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
    if format.greatest_exponent + p > ceiling:
        return f"{format} has values beyond 2^{ceiling}"
    return None


def _name(bits: int) -> str:
    return "float32" if bits == 24 else "float64"


def round_float64(x: np.ndarray, format: Format) -> np.ndarray:
    """Round doubles to the format; the results are the exact values, as doubles."""
    from glyptic.numbers.kernels import round_array

    unit = 2.0**format.least_exponent if format.is_fixed else 1.0
    return round_array(np.asarray(x, np.float64) / unit, rounding_rule(format, np.float64)) * unit
