"""The rounded kernels: compiled loops in which every product and every sum is rounded to a format.

Values live in a float host (see `hosts` for why that is exact): floats as themselves, fixed point as integers, in units of
2^−f. A *rule* is a named tuple of a format's limits; its type selects the rounding at compile time, so each loop below is
written once and compiled once for each of the four roundings and two hosts.

    rounded(x, rule)   a product, quotient or any other host number, to the format
    summed(x, rule)    a sum of two values of the format (in fixed point it is a value already: only saturate)

Ties to the smaller of two: for fixed point ceil(|x| − ½); for floats, x is first taken one unit of the host towards zero, by a
product with 1 − 2^−P. That moves a tie off the boundary, and nothing else across it, because results lie two units of the host
away from every boundary that they are not on.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

from glyptic.numbers.compiling import compiled
from glyptic.numbers.formats import Format


class FixedEven(NamedTuple):
    low: np.floating | None  # None where it is −high, as in all but two's complement
    high: np.floating


class FixedZero(NamedTuple):
    low: np.floating | None
    high: np.floating
    small: np.floating  # below it, two units of the host or more lie between a product and a tie that it is not


class FloatEven(NamedTuple):
    high: np.floating
    least: np.floating | None  # the smallest positive value, if there are no subnormals
    bottom: np.signedinteger  # the host's exponent bits of the lowest binade
    magic: np.signedinteger  # added to exponent bits: 1.5 · 2^(P−p) times as large, so that adding it rounds
    growth: np.float64  # 1 + 2^−p: by no more than this factor can rounding enlarge a normal number


class FloatZero(NamedTuple):
    high: np.floating
    least: np.floating | None
    bottom: np.signedinteger
    magic: np.signedinteger
    growth: np.float64


Rule = FixedEven | FixedZero | FloatEven | FloatZero


def rounding_rule(format: Format, dtype: type[np.floating]) -> Rule:
    """The rule of a format for a host type."""
    if format.is_fixed:
        low, high = dtype(format.min_code) if format.twos_complement else None, dtype(format.max_code)
        # A product has f fraction bits, in units, and a tie one at least; a host of P bits has one more to spare below this.
        small = dtype(2.0 ** (np.finfo(dtype).nmant - max(-format.least_exponent, 1)))
        return FixedEven(low, high) if format.ties == "even" else FixedZero(low, high, small)
    integer, fraction_bits, bias = (np.int32, 23, 127) if dtype == np.float32 else (np.int64, 52, 1023)
    bottom = integer((format.least_exponent + format.precision - 1 + bias) << fraction_bits)
    magic = integer(((fraction_bits + 1 - format.precision) << fraction_bits) | (1 << (fraction_bits - 1)))
    least = None if format.subnormals else dtype(float(format.least))
    floating = FloatEven if format.ties == "even" else FloatZero
    return floating(dtype(float(format.max)), least, bottom, magic, np.float64(1 + 2.0**-format.precision))


# The two roundings, resolved at compile time ---------------------------------------------------------------------------


@intrinsic
def _bits(context, x):
    """A float's bits as an integer of the same width."""
    integer = types.int32 if x == types.float32 else types.int64
    return integer(x), lambda target, builder, _, args: builder.bitcast(args[0], target.get_value_type(integer))


@intrinsic
def _float(context, x):
    """The inverse of _bits."""
    floating = types.float32 if x == types.int32 else types.float64
    return floating(x), lambda target, builder, _, args: builder.bitcast(args[0], target.get_value_type(floating))


@njit
def _smaller(a, b):  # one machine instruction, unlike min(), which must think of NaN
    return a if a < b else b


@njit
def _larger(a, b):
    return a if a > b else b


class Unbounded(NamedTuple):
    """A rule where it is known that nothing can saturate, and that products are below `product_limit`: no clamps."""

    rule: Rule


class SumsBounded(NamedTuple):
    """A rule where it is known that products are below `product_limit`, though their sum may saturate."""

    rule: Rule


class Fused(NamedTuple):
    """A rule for inner products whose products are not rounded; float64 only."""

    rule: Rule


class Unrounded(NamedTuple):
    """The same, and the first product is not rounded either: the running sum begins with it, not with 0."""

    rule: Rule


def on_grid(x, rule):
    """The nearest number of the format's grid, were it not bounded by B."""
    raise NotImplementedError("compiled code only")


def sum_on_grid(x, rule):
    """The same for a sum of two values of the format."""
    raise NotImplementedError("compiled code only")


def rounded(x, rule):
    """[x]: see the module's docstring."""
    raise NotImplementedError("compiled code only")


def summed(x, rule):
    """[x] for a sum of two values: see the module's docstring."""
    raise NotImplementedError("compiled code only")


def _is_fixed(rule) -> bool:
    return rule.instance_class is FixedEven or rule.instance_class is FixedZero


def lowest(rule):
    """The smallest value, in units."""
    raise NotImplementedError("compiled code only")


def highest(rule):
    """B, in units."""
    raise NotImplementedError("compiled code only")


@overload(lowest)
def _lowest(rule):
    return (lambda rule: -rule.high) if isinstance(rule.types[0], types.NoneType) else (lambda rule: rule.low)


def product_limit(rule):
    """Below this, products neither saturate nor come within a unit of the host to a tie that they are not."""
    raise NotImplementedError("compiled code only")


@overload(product_limit)
def _product_limit(rule):
    if rule.instance_class is FixedZero:
        return lambda rule: _smaller(rule.high, rule.small)
    return lambda rule: highest(rule)


def sum_growth(rule):
    """The factor by which rounding may enlarge a sum: sums of fixed point are exact."""
    raise NotImplementedError("compiled code only")


@overload(sum_growth)
def _sum_growth(rule):
    if rule.instance_class in (Fused, Unrounded):
        return lambda rule: sum_growth(rule.rule)
    return (lambda rule: 1.0) if _is_fixed(rule) else (lambda rule: rule.growth)


@overload(highest)
def _highest(rule):
    fused = rule.instance_class in (Fused, Unrounded)
    return (lambda rule: rule.rule.high) if fused else (lambda rule: rule.high)


def _constants(x):
    """For a host type: its integer type, exponent mask, the factor 1 − 2^−P, one half, zero."""
    if x == types.float32:
        return np.int32, np.int32(0x7F800000), np.float32(1 - 2.0**-24), np.float32(0.5), np.float32(0)
    return np.int64, np.int64(0x7FF0000000000000), np.float64(1 - 2.0**-53), np.float64(0.5), np.float64(0)


def _by_magic(x, kind, sum_of_values):
    """Rounding of floats: adding 1.5 · 2^(P−1) units of the result's last place leaves no room for anything below that place."""
    integer, exponent, shrink, _, _ = _constants(x)
    nudge = kind is FloatZero

    def by_magic(x, rule):
        y = x * shrink if nudge else x
        binade = integer(_bits(y) & exponent)
        if not sum_of_values:  # a sum below the lowest binade is a multiple of the least value, so its own p bits hold it
            binade = integer(max(binade, rule.bottom))
        large = _float(integer(binade + rule.magic))
        return (y + large) - large

    return by_magic


@overload(on_grid)
def _on_grid(x, rule):
    _, _, _, half, zero = _constants(x)
    kind = rule.instance_class
    if kind is FixedEven:
        return lambda x, rule: np.rint(x)
    if kind is FixedZero:
        return lambda x, rule: np.copysign(np.ceil(abs(x) - half), x)
    by_magic = _by_magic(x, kind, sum_of_values=False)
    if isinstance(rule.types[1], types.NoneType):
        return by_magic

    def without_subnormals(x, rule):
        below = rule.least if abs(x) > half * rule.least else zero
        return np.copysign(below, x) if abs(x) < rule.least else by_magic_compiled(x, rule)

    by_magic_compiled = njit(by_magic)
    return without_subnormals


@overload(sum_on_grid)
def _sum_on_grid(x, rule):
    kind = rule.instance_class
    if _is_fixed(rule):
        return lambda x, rule: x
    if isinstance(rule.types[1], types.NoneType):
        return _by_magic(x, kind, sum_of_values=True)
    return lambda x, rule: on_grid(x, rule)


@overload(rounded)
def _rounded(x, rule):
    if rule.instance_class in (Unbounded, SumsBounded):
        if rule.types[0].instance_class is FixedZero:
            shrink = _constants(x)[2]
            return lambda x, rule: np.rint(x * shrink)  # one unit of the host towards zero, as for floats: fewer steps
        return lambda x, rule: on_grid(x, rule.rule)
    if rule.instance_class is FixedZero and isinstance(rule.types[0], types.NoneType):
        half = _constants(x)[3]
        return lambda x, rule: np.copysign(_smaller(np.ceil(abs(x) - half), rule.high), x)
    if _is_fixed(rule):
        return lambda x, rule: _smaller(_larger(on_grid(x, rule), lowest(rule)), rule.high)
    return lambda x, rule: on_grid(_smaller(_larger(x, -rule.high), rule.high), rule)


@overload(summed)
def _summed(x, rule):
    if rule.instance_class is Unbounded:
        return lambda x, rule: sum_on_grid(x, rule.rule)
    if rule.instance_class is SumsBounded:
        return lambda x, rule: summed(x, rule.rule)
    if _is_fixed(rule):
        return lambda x, rule: _smaller(_larger(x, lowest(rule)), rule.high)
    return lambda x, rule: sum_on_grid(_smaller(_larger(x, -rule.high), rule.high), rule)


@njit
def _to_even(rule):
    """The same format with ties to even: for what was moved off its ties already."""
    return FloatEven(rule.high, rule.least, rule.bottom, rule.magic, rule.growth)


def accumulated(total, x, y, rule):
    """[total + [x·y]], or [total + x·y] under a Fused rule: one step of an inner product."""
    raise NotImplementedError("compiled code only")


def begins_with_a_product(rule):
    """Whether an inner product of two terms or more begins with x_1·y_1 itself; the host holds it, being one of 2p bits."""
    raise NotImplementedError("compiled code only")


@overload(begins_with_a_product)
def _begins_with_a_product(rule):
    return (lambda rule: True) if rule.instance_class is Unrounded else (lambda rule: False)


@overload(accumulated)
def _accumulated(total, x, y, rule):
    if rule.instance_class in (Unbounded, SumsBounded) and rule.types[0].instance_class in (Fused, Unrounded):
        return lambda total, x, y, rule: accumulated(total, x, y, rule.rule)  # a fused step keeps its clamp
    if rule.instance_class not in (Fused, Unrounded):
        return lambda total, x, y, rule: summed(total + rounded(x * y, rule), rule)
    if _is_fixed(rule.types[0]):
        return lambda total, x, y, rule: rounded(total + x * y, rule.rule)

    ties_to_smaller = rule.types[0].instance_class is FloatZero

    def to_odd(total, x, y, rule):
        product = x * y
        near = total + product
        back = near - total
        error = (total - (near - back)) + (product - back)  # Knuth's two-sum: near + error is the exact sum
        bits = _bits(near)
        if bits & 1 == 0:  # an odd number is no tie, and no boundary
            if error != 0:
                near = _float(bits + (1 if (error > 0) == (near > 0) else -1))
            elif ties_to_smaller and near != 0:
                near = _float(bits - 1)
        return rounded(near, _to_even(rule.rule))

    return to_odd


# Elementwise -----------------------------------------------------------------------------------------------------------


@compiled
def round_array(x, rule):
    out = np.empty_like(x)
    flat, result = x.ravel(), out.ravel()
    for i in range(flat.size):
        result[i] = rounded(flat[i], rule)
    return out


@compiled
def add_arrays(x, y, rule):
    """[x + y], for two contiguous arrays of one shape."""
    out = np.empty_like(x)
    left, right, result = x.ravel(), y.ravel(), out.ravel()
    for i in range(left.size):
        result[i] = summed(left[i] + right[i], rule)
    return out


@compiled
def add_rows(x, y, rule):
    """[x + y] with one y for each row of a contiguous matrix: how biases are added."""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        row, result, bias = x[i], out[i], y[i]
        for j in range(row.size):
            result[j] = summed(row[j] + bias, rule)
    return out


@compiled
def multiply_arrays(x, y, rule):
    """[x · y]; in fixed point one factor comes as a number, the other in units."""
    out = np.empty_like(x)
    left, right, result = x.ravel(), y.ravel(), out.ravel()
    for i in range(left.size):
        result[i] = rounded(left[i] * right[i], rule)
    return out


def quotient(x, y, scale, rule):
    """[scale · x / y] in float64; the scale is 2^f for fixed point, else 1."""
    raise NotImplementedError("compiled code only")


@overload(quotient)
def _quotient(x, y, scale, rule):
    return lambda x, y, scale, rule: rounded(scale * x / y, rule)


def integer_quotient(x, y, scale, rule):
    """The same for fixed point too wide for float64, by integers of 64 bits."""
    raise NotImplementedError("compiled code only")


@overload(integer_quotient)
def _integer_quotient(x, y, scale, rule):
    if not _is_fixed(rule):
        return lambda x, y, scale, rule: quotient(x, y, scale, rule)
    even = rule.instance_class is FixedEven

    def by_integers(x, y, scale, rule):
        negative = (x < 0) != (y < 0)
        divisor = np.int64(abs(y))
        dividend = np.int64(abs(x)) * np.int64(scale)
        whole = dividend // divisor
        rest = 2 * (dividend - whole * divisor)
        if rest > divisor or (even and rest == divisor and whole & 1 == 1):
            whole += 1
        result = np.float64(-whole if negative else whole)
        return _smaller(_larger(result, lowest(rule)), rule.high)

    return by_integers


@compiled
def by_float64(rule):
    """Whether float64 decides a quotient of fixed-point values: 2·bits + 1 ≤ 53 (floats are always within it)."""
    return rule.high < 2.0**26


@compiled
def divide_arrays(x, y, scale, rule):
    """[x / y] in float64, for two contiguous arrays of one shape; no y may be 0."""
    out = np.empty_like(x)
    left, right, result = x.ravel(), y.ravel(), out.ravel()
    if by_float64(rule):
        for i in range(left.size):
            result[i] = quotient(left[i], right[i], scale, rule)
    else:
        for i in range(left.size):
            result[i] = integer_quotient(left[i], right[i], scale, rule)
    return out


def root(x, scale, rule):
    """[√x] in float64, x ≥ 0."""
    raise NotImplementedError("compiled code only")


@overload(root)
def _root(x, scale, rule):
    if not _is_fixed(rule):
        return lambda x, scale, rule: rounded(np.sqrt(x), rule)

    def by_integers(x, scale, rule):
        square = np.int64(x) * np.int64(scale)
        whole = np.int64(np.sqrt(np.float64(square)))
        while whole * whole > square:
            whole -= 1
        while (whole + 1) * (whole + 1) <= square:
            whole += 1
        if square - whole * whole > whole:  # √square > whole + ½; it is never equal
            whole += 1
        return _smaller(np.float64(whole), rule.high)

    return by_integers


@compiled
def root_array(x, scale, rule):
    out = np.empty_like(x)
    flat, result = x.ravel(), out.ravel()
    for i in range(flat.size):
        result[i] = root(flat[i], scale, rule)
    return out
