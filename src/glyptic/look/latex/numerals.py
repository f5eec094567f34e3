"""Exact numbers as mathematics: fractions by \\tfrac, powers of two where a fraction would be long, ∞ for the largest value."""

from __future__ import annotations

from fractions import Fraction

from glyptic.exact.report import show_number
from glyptic.numbers import AnyFormat, Exact, as_format

_LONGEST = 5  # digits over or under a bar
_MOST = 18  # digits of any number; what has more is rounded, and says so


def number(x: Fraction, format: str | AnyFormat = "exact") -> tuple[str, float]:
    """A number as LaTeX between dollars, and how wide it is in em.

    >>> number(Fraction(-3, 8))[0], number(Fraction(15, 4), "fixed:2")[0], number(Fraction(3, 2**20))[0]
    ('-\\\\tfrac{3}{8}', '\\\\infty', '3\\\\cdot2^{-20}')
    """
    shown = show_number(x, format) if not isinstance(as_format(format), Exact) else str(x)
    if shown.endswith("∞"):
        return shown.replace("∞", r"\infty").strip(), 1.05 + 0.8 * shown.startswith("-")
    minus, size = ("-", 0.8) if x < 0 else ("", 0.0)
    tex, em = _positive(abs(x))
    return minus + tex, em + size


def _positive(x: Fraction) -> tuple[str, float]:
    over, under = str(x.numerator), str(x.denominator)
    if len(over) <= _LONGEST + 2 and x.denominator == 1:
        return over, 0.53 * len(over)
    if max(len(over), len(under)) <= _LONGEST:
        return f"\\tfrac{{{over}}}{{{under}}}", 0.42 * max(len(over), len(under)) + 0.3
    odd, power = _by_two(x)
    if odd is not None and len(str(odd)) <= _MOST:
        factor = "" if odd == 1 else f"{odd}\\cdot"
        return f"{factor}2^{{{power}}}", 0.53 * len(str(odd)) + 0.53 + 0.42 * len(str(power)) + 0.5
    if max(len(over), len(under)) <= _MOST:
        return f"{over}/{under}", 0.53 * (len(over) + len(under) + 1)
    digits, exponent = _rounded(x)
    return f"{{\\approx}}{digits}\\cdot10^{{{exponent}}}", 0.53 * 7 + 2.4


def _by_two(x: Fraction) -> tuple[int | None, int]:
    """x as an odd number times a power of two; None if it is not so."""
    if x.denominator & (x.denominator - 1):
        return None, 0
    power = (x.numerator & -x.numerator).bit_length() - 1
    return x.numerator >> power, power - (x.denominator.bit_length() - 1)


def _rounded(x: Fraction) -> tuple[str, int]:
    """Five digits and a power of ten, of a number of any size."""
    exponent = len(str(x.numerator)) - len(str(x.denominator))
    scaled = x * Fraction(10) ** -exponent
    if scaled < 1:
        exponent, scaled = exponent - 1, scaled * 10
    return f"{float(scaled):.4f}", exponent


def letters(format: str | AnyFormat) -> str:
    """A format in the letters of papers, as LaTeX: F(s), F(e, s), Q(m, f); named ones by their names.

    >>> [letters(one) for one in ("fixed:8", "float:5,10/even", "q:2,2")]
    ['$F(8)$', '$F(5,10)$/even', '$Q(2,2)$']
    """
    from glyptic.look.latex.escaping import text

    said, _, rest = str(format).partition(" ")
    kind, _, sizes = said.partition(":")
    sizes, slash, ties = sizes.partition("/")
    end = text(f"{slash}{ties}" + (f" {rest}" if rest else ""))
    known = {"fixed": "F", "float": "F", "q": "Q"}
    if kind in known and all(part.strip().isdigit() for part in sizes.split(",")):
        return f"${known[kind]}({sizes})${end}"
    return text(f"{said} {rest}".strip())
