"""Claims on values decided by a few lines of their own: fractions, the set of a format's values, and Python's None for neither.

Nothing is taken from `glyptic.prove` but the nodes themselves, and of a format only its values and its rule for ties.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from itertools import product
from math import isqrt

import mpmath

from glyptic.prove.claims import expressions as e


@cache
def values_of(format):
    return tuple(format.values())


def rounded(x, format):
    """The nearest value; of two, the one nearer to 0, or the one of even rank."""
    values = values_of(format)
    right = bisect_left(values, x)
    near = [k for k in (right - 1, right) if 0 <= k < len(values)]
    distance = min(abs(values[k] - x) for k in near)
    best = [k for k in near if abs(values[k] - x) == distance]
    zero = values.index(0)
    chosen = min(best, key=lambda k: abs(values[k]) if format.ties == "zero" else (k - zero) % 2)
    return values[chosen]


@cache
def _exp(x):
    with mpmath.workdps(60):
        shown = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)
        return Fraction(str(mpmath.nstr(shown, 50, strip_zeros=False, min_fixed=-mpmath.inf, max_fixed=mpmath.inf)))


def _root(x):
    return Fraction(isqrt(x.numerator * x.denominator << 200), x.denominator << 100)


def number(node, given, format):
    """The value of an expression, or None."""
    match node:
        case e.Constant(number=str() as name):
            size = values_of(format)[-1] if "B" in name else next(v for v in values_of(format) if v > 0)
            return -size if name[0] == "-" else size
        case e.Constant(number=it):
            return Fraction(it)
        case e.Variable(name) | e.Local(name):
            return given[name]
        case e.LetValue(name, meant, body):
            return number(body, {**given, name: number(meant, given, format)}, format)
        case e.Choice(condition, then, otherwise):
            test = holds(condition, given, format)
            return None if test is None else number(then if test else otherwise, given, format)
    operands = [number(argument, given, format) for argument in node.arguments]
    return None if None in operands else _operated(node.name, operands, format)


def _operated(name, operands, format):
    a, b = operands[0], operands[-1]
    if (name == "divide" and b == 0) or (name == "root" and a < 0):
        return None
    exact = {
        **{"add": lambda: a + b, "subtract": lambda: a - b, "multiply": lambda: a * b, "divide": lambda: a / b},
        **{"exp": lambda: _exp(a), "root": lambda: _root(a), "relu": lambda: a if a > 0 else 0},
        **{"max": lambda: a if a > b else b, "min": lambda: a if a < b else b, "abs": lambda: -a if a < 0 else a},
    }
    return rounded(Fraction(exact[name]()), format)


_ORDER = {"<": operator.lt, "≤": operator.le, ">": operator.gt, "≥": operator.ge}
_COMPARE = {"=": operator.eq, "≠": operator.ne, **_ORDER}


def holds(node, given, format):
    """True, False, or None for neither."""
    match node:
        case e.Comparison(how, left, right):
            sides = number(left, given, format), number(right, given, format)
            return None if None in sides else _COMPARE[how](*sides)
        case e.Junction(how, conditions):
            parts, settles = [holds(part, given, format) for part in conditions], how == "or"
            return settles if settles in parts else None if None in parts else not settles
        case e.Negation(part):
            inner = holds(part, given, format)
            return None if inner is None else not inner
        case e.Implication(premise, conclusion):
            return holds(e.Junction("or", (e.Negation(premise), conclusion)), given, format)
        case e.Equivalence(left, right):
            sides = holds(left, given, format), holds(right, given, format)
            return None if None in sides else sides[0] == sides[1]
        case e.Let(name, meant, body):
            return holds(body, {**given, name: number(meant, given, format)}, format)
    raise AssertionError(node)


def settling(claim, format):
    """How many elements meet the precondition, and all that settle the claim: counterexamples or witnesses, smallest first."""
    values = values_of(format)
    zero = values.index(0)
    met, found = 0, []
    for ranks in product(range(len(values)), repeat=len(claim.subject.names)):
        given = {name: values[rank] for name, rank in zip(claim.subject.names, ranks, strict=True)}
        if holds(claim.requires, given, format) is True:
            met += 1
            if (holds(claim.ensures, given, format) is True) == (claim.quantifier == "some"):
                found.append(tuple(rank - zero for rank in ranks))
    found.sort(key=lambda codes: (sum(map(abs, codes)), [(abs(code), code < 0) for code in codes]))
    return met, found
