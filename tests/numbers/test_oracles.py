"""Arithmetic against libraries that we did not write: fpy2, gfloat, ml_dtypes, FLINT's arb, numpy's own float16."""

from fractions import Fraction

import flint
import fpy2
import gfloat
import gfloat.formats
import ml_dtypes
import numpy as np
import pytest

from glyptic.numbers import Format, Reference, exp_rounded, parse_format

RNG = np.random.default_rng(7)


def some_codes(format: Format, count: int) -> list[int]:
    """All codes if there are few; else random ones with the smallest and the largest among them."""
    if format.size <= count:
        return list(range(format.min_code, format.max_code + 1))
    chosen = RNG.integers(format.min_code, format.max_code + 1, count).tolist()
    return [0, 1, -1, 2, format.max_code, format.min_code, format.max_code - 1, *chosen]


# fpy2: correctly rounded operations in any bounded format ----------------------------------------------------------------


def fpy2_context(format: Format, mode: fpy2.RM) -> fpy2.Context:
    def real(x: Fraction) -> fpy2.RealFloat:
        return fpy2.RealFloat.from_rational(x) if hasattr(fpy2.RealFloat, "from_rational") else _real(x)

    limits = {"maxval": real(format.max), "neg_maxval": real(format.min), "rm": mode, "overflow": fpy2.OV.SATURATE}
    if format.is_fixed:
        return fpy2.MPBFixedContext(format.least_exponent - 1, **limits)
    return fpy2.MPBFloatContext(format.precision, format.least_exponent + format.precision - 1, **limits)


def _real(x: Fraction) -> fpy2.RealFloat:
    exponent = -(x.denominator.bit_length() - 1)
    return fpy2.RealFloat(s=x < 0, exp=exponent, c=abs(x.numerator))


def _nearest(format: Format, operation, exact: Fraction | None, *operands: fpy2.Float) -> Fraction:
    """Ties to even by fpy2 itself; ties to the smaller from its roundings towards and away from zero."""
    if format.ties == "even":
        return Fraction(operation(*operands, ctx=fpy2_context(format, fpy2.RM.RNE)).as_rational())
    inner, outer = (
        Fraction(operation(*operands, ctx=fpy2_context(format, mode)).as_rational())
        for mode in (fpy2.RM.RTZ, fpy2.RM.RAZ)
    )
    if exact is None:  # exp: never a tie, so the nearest by ties to even is the nearest
        return Fraction(operation(*operands, ctx=fpy2_context(format, fpy2.RM.RNE)).as_rational())
    return inner if abs(exact - inner) <= abs(outer - exact) else outer


@pytest.mark.parametrize(
    "name", ["fixed:3", "fixed:8", "fixed:8/even", "q:4,4", "float:3,3", "float:5,5/even", "fp16", "bf16"]
)
def test_against_fpy2(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    reference = Reference(format)
    values = [format.value(code) for code in some_codes(format, 25)]
    for a in values:
        x = fpy2.Float.from_rational(a) if hasattr(fpy2.Float, "from_rational") else fpy2.Float(x=_real(a))
        for b in values[:12]:
            y = fpy2.Float.from_rational(b) if hasattr(fpy2.Float, "from_rational") else fpy2.Float(x=_real(b))
            assert reference.scalar_add(a, b) == _nearest(format, fpy2.add, a + b, x, y)
            assert reference.scalar_multiply(a, b) == _nearest(format, fpy2.mul, a * b, x, y)
            if b:
                assert reference.scalar_divide(a, b) == _nearest(format, fpy2.div, a / b, x, y)
        if a and abs(a) < 90:
            assert reference.scalar_exp(a) == _nearest(format, fpy2.exp, None, x)


# gfloat: rounding of the named formats, saturating -------------------------------------------------------------------------

GFLOAT = {
    "fp16": gfloat.formats.format_info_binary16,
    "bf16": gfloat.formats.format_info_bfloat16,
    "fp8_e4m3": gfloat.formats.format_info_ocp_e4m3,
    "fp8_e5m2": gfloat.formats.format_info_ocp_e5m2,
    "fp6_e3m2": gfloat.formats.format_info_ocp_e3m2,
    "fp6_e2m3": gfloat.formats.format_info_ocp_e2m3,
    "fp4_e2m1": gfloat.formats.format_info_ocp_e2m1,
}


@pytest.mark.parametrize("name", GFLOAT)
def test_against_gfloat(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    assert float(format.max) == GFLOAT[name].max and float(format.least) == GFLOAT[name].smallest
    values = [float(format.value(code)) for code in some_codes(format, 40)]
    for a in values:
        for b in values:
            for exact in (a + b, a * b, (a + b) / 2):  # the last lands on many ties
                if exact == Fraction(a) * Fraction(b) or Fraction(exact) in (
                    Fraction(a) + Fraction(b),
                    (Fraction(a) + Fraction(b)) / 2,
                ):
                    theirs = gfloat.round_float(GFLOAT[name], exact, gfloat.RoundMode.TiesToEven, sat=True)
                    assert float(format.round(Fraction(exact))) == theirs, (a, b)


# ml_dtypes: every value of the machine's small formats, and rounding between them ------------------------------------------

ML_DTYPES = {
    "bf16": ml_dtypes.bfloat16,
    "fp8_e4m3": ml_dtypes.float8_e4m3fn,
    "fp8_e5m2": ml_dtypes.float8_e5m2,
    "fp6_e3m2": ml_dtypes.float6_e3m2fn,
    "fp6_e2m3": ml_dtypes.float6_e2m3fn,
    "fp4_e2m1": ml_dtypes.float4_e2m1fn,
    "fp16": np.float16,
}


@pytest.mark.parametrize("name", ML_DTYPES)
def test_against_ml_dtypes(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    values = [format.value(code) for code in some_codes(format, 2000)]
    own = np.array([float(value) for value in values])
    assert np.array_equal(own.astype(ML_DTYPES[name]).astype(np.float64), own)  # every value is theirs too
    middles = (own + np.roll(own, 1)) / 2
    rounded = [float(format.round(Fraction(x))) for x in middles.tolist()]
    assert np.array_equal(middles.astype(ML_DTYPES[name]).astype(np.float64), rounded)


# FLINT: exp ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fixed:8", "fixed:16/even", "float:5,10", "fp16", "bf16", "fp32"])
def test_exp_against_arb(name: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    flint.ctx.prec = 400
    for code in some_codes(format, 300):
        x = format.value(code)
        if abs(x) > 2000:
            continue
        ball = flint.arb(flint.fmpq(x.numerator, x.denominator)).exp()
        middle = Fraction(int(ball.mid().man_exp()[0])) * Fraction(2) ** int(ball.mid().man_exp()[1])
        assert exp_rounded(x, format) == format.round(middle)
