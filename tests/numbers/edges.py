"""Formats at the edges of what their constructors, arrays and hosts admit, and codes where they are apt to go wrong."""

from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np

from glyptic.numbers import Fixed, Float, Format, Ieee, Q
from glyptic.numbers.hosts import host_of, refusal

TIES = ("zero", "even")


def constructed() -> list[Format]:
    """Of every constructor: the smallest, the widest that arrays hold, and those around 24, 32, 53 and 63 bits."""
    found: list[Format] = [Fixed(s) for s in (1, 2, 11, 12, 13, 15, 16, 17, 26, 27, 30, 31)]
    found += [Q(m, bits - m) for bits in (1, 2, 23, 24, 25, 31, 32, 52, 53, 54, 62, 63) for m in {0, bits // 2, bits}]
    for e in range(1, 17):
        found += [Float(e, s) for s in {1, 2, 11, 12, 13, 15, 16, 26, 27, (63 - e) // 2} if e + 2 * s <= 63]
    for e in range(2, 16):
        mantissas = {1, 2, 10, 11, 21, 22, 23, 24, 30, 31, 51, 52, 53, 63 - e}
        found += [Ieee(e, m, subnormals=kept) for m in mantissas if e + m <= 63 for kept in (True, False)]
    return [format.with_ties(ties) for format in found for ties in TIES]


def admitted(fused: bool = False) -> list[Format]:
    """The largest formats of every kind that each host carries: one bit more, and it is another host or none."""
    found: list[Format] = []
    for ties in TIES:
        found += _largest(lambda s, t=ties: Fixed(s, t), range(1, 32), fused)
        for f in range(24):
            found += _largest(lambda m, f=f, t=ties: Q(m, f, t), range(1 if f == 0 else 0, 63 - f), fused)
        for e in range(1, 17):
            found += _largest(lambda s, e=e, t=ties: Float(e, s, t), range(1, 25), fused)
        for e in range(2, 16):
            for kept in (True, False):
                found += _largest(lambda m, e=e, t=ties, k=kept: Ieee(e, m, t, k), range(1, 40), fused)
    return list(dict.fromkeys(found))


def _largest(make: Callable[[int], Format], sizes: range, fused: bool) -> Iterator[Format]:
    """The last of each host along a family that grows."""
    hosts = {}
    for size in sizes:
        format = make(size)
        if refusal(format, fused) is None:
            hosts[host_of(format, fused).dtype] = format
    yield from hosts.values()


def biased_codes(format: Format, rng: np.random.Generator, count: int) -> np.ndarray:
    """Codes near 0, the subnormals' end, powers of two, √B, ±B and what makes ties; some of any size."""
    top, half = format.max_code, 1 << (format.precision - 1)
    landmarks = [Fraction(1), Fraction(3, 2), Fraction(1, 2), Fraction(2), Fraction(3)]
    centres = [0, 0, top, top, half, 2 * half, *(format.code(format.round(x)) for x in landmarks)]
    centres += [format.code(format.round(Fraction(2) ** int(k))) for k in rng.integers(-40, 41, 6)]
    chosen = np.array(centres, dtype=object)[rng.integers(0, len(centres), count)] + rng.integers(-3, 4, count)
    some = [int(rng.integers(0, 1 << 62)) % (top + 1) >> int(rng.integers(0, 40)) for _ in range(count)]
    chosen = np.where(rng.random(count) < 0.3, np.array(some, dtype=object), chosen)
    signed = chosen * rng.choice([-1, 1], count)
    low, high = format.min_code, format.max_code
    return np.array([min(max(int(code), low), high) for code in signed], np.int64)
