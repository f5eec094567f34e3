"""All critical points for Λ = λI, Ψ = ψI: the roots of one polynomial of degree four, counted in exact fractions.

There ℓ(p) (see `profile`) depends on ρ = p2²/‖p1‖² alone, since turning all inputs is a symmetry. So the critical points, up to
turning and scaling, are: θ = 0 (a saddle), ρ = ∞ (p1 = 0: the global minimum), ρ = 0 (p2 = 0: the rank-one point), and the
zeros of dℓ/dρ for 0 < ρ < ∞. *No other exists*, and ℓ falls or rises between them: minima of ℓ(ρ) are minima of L.

Dividing by λψ, take Λ = Ψ = I and noise s²/(λψ). At p1 = e_1, p2 = r the best W has K = r diag(κ_1, κ, …, κ) and k = c e_1 (it is
unique, so it has the symmetries of p), and the loss of `docs/in-context.md` becomes a quadratic of (κ_1, κ, c) with coefficients
polynomial in ρ = r². Hence 2ℓ = d − n(ρ)/D(ρ) with cubic n and D > 0, and dℓ/dρ has the sign of nD' − n'D, of degree four.
Sturm's theorem counts its roots without any rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Annotated

import numpy as np

from glyptic.arguments import Count, checked
from glyptic.icl.names import Length, Variance

Polynomial = tuple[Fraction, ...]  # lowest power first


@dataclass(frozen=True)
class Isotropic:
    """What the landscape for Λ = λI consists of, besides its global minimum; proved, not searched."""

    rank_one_is_minimum: bool
    """p2 = 0, K = 0: a minimum that is not global, or a saddle."""
    mixed_minima: int
    """Minima with 0 < ρ < ∞: both pairs of blocks carry the signal."""
    mixed_saddles: int
    """Critical points with 0 < ρ < ∞ that are no minima."""

    @property
    def spurious_minima(self) -> int:
        return int(self.rank_one_is_minimum) + self.mixed_minima


@checked
def isotropic_landscape(
    d: Annotated[int, Count(2, 10**6)], N: Length, noise_variance: Variance = 0.0
) -> Isotropic:
    """The critical points of the loss for Λ = Ψ = I in dimension d ≥ 2, up to its symmetries.

    >>> isotropic_landscape(3, 3)                                             # few examples: the rank-one point
    Isotropic(rank_one_is_minimum=True, mixed_minima=0, mixed_saddles=1)
    >>> isotropic_landscape(3, 10).spurious_minima                            # some more: none
    0
    >>> isotropic_landscape(3, 20)                                            # many: the mixed point
    Isotropic(rank_one_is_minimum=False, mixed_minima=1, mixed_saddles=1)
    """
    slope = slope_polynomial(d, N, Fraction(noise_variance))
    at_zero = next(c for c in slope if c)  # the sign of dℓ/dρ right of ρ = 0
    roots = _positive_roots(slope)
    # dℓ/dρ < 0 at large ρ, since ρ = ∞ is the minimum: simple roots alternate, and the last of them is a maximum of ℓ.
    minima = roots // 2 if at_zero > 0 else (roots + 1) // 2
    return Isotropic(at_zero > 0, minima, roots - minima)


def slope_polynomial(d: int, N: int, noise_variance: Fraction = Fraction(0)) -> Polynomial:
    """nD' − n'D: a positive multiple of dℓ/dρ."""
    n, D = _value(d, N, noise_variance)
    return _minus(_times(n, _derivative(D)), _times(_derivative(n), D))


def _value(d: int, N: int, s2: Fraction) -> tuple[Polynomial, Polynomial]:
    """n and D of 2ℓ = d − n/D, by Cramer's rule; a_ij are the coefficients of 2L in (κ_1, κ, c), one ρ taken out."""
    t, e, v = d + s2, d - 1, Fraction(1, N)
    Q = t * t + 2 * d
    a11: Polynomial = (1 + v + v + 6 * v + 15 * v * v, 1 + v + t * v)
    a22: Polynomial = (e * (v + (e + 2) * v * v), e * (1 + v + t * v))
    a33: Polynomial = (1 + v + t * v, (1 + v) * Q + v * Q)
    a12: Polynomial = (3 * e * v * v + e * v,)
    a13: Polynomial = ((1 + v) * (t + 1) + 2 * v + 3 * t * v,)
    a23: Polynomial = (t * e * v,)
    rho, two, E = (Fraction(0), Fraction(1)), (Fraction(2),), (Fraction(e),)
    inner = _minus(_times(a11, a22), _times(a12, a12))
    drag = _minus(_plus(_times(a11, a23, a23), _times(a22, a13, a13)), _times(two, a12, a13, a23))
    D = _minus(_times(a33, inner), _times(rho, drag))
    first = _minus(_times(a22, a33), _times(rho, a23, a23))
    cross = _minus(_times(rho, a13, a23), _times(a12, a33))
    last = _minus(_times(a11, a33), _times(rho, a13, a13))
    tied = _plus(_minus(_times(a12, a23), _times(a13, a22)), _times(E, _minus(_times(a12, a13), _times(a11, a23))))
    by_rho = _plus(_plus(first, _times(two, E, cross)), _plus(_times(E, E, last), _times(two, tied)))
    return _plus(inner, _times(rho, by_rho)), D


def _positive_roots(polynomial: Polynomial) -> int:
    """How many different positive roots, by Sturm's chain: the signs that change at 0 less those at ∞."""
    chain = [_trimmed(_without_zero(polynomial))]
    chain.append(_trimmed(_derivative(chain[0])))
    while len(chain[-1]) > 1:
        chain.append(tuple(-c for c in _remainder(chain[-2], chain[-1])))
    chain = [p for p in chain if p]
    return _changes([p[0] for p in chain]) - _changes([p[-1] for p in chain])


def _without_zero(polynomial: Polynomial) -> Polynomial:
    """The polynomial without its root 0."""
    return polynomial[next(i for i, c in enumerate(polynomial) if c) :]


def _changes(values: Sequence[Fraction]) -> int:
    signs = [value > 0 for value in values if value]
    return sum(one != other for one, other in pairwise(signs))


def _remainder(above: Polynomial, below: Polynomial) -> Polynomial:
    rest = list(above)
    while len(rest) >= len(below):
        factor, shift = rest[-1] / below[-1], len(rest) - len(below)
        for index, c in enumerate(below):
            rest[shift + index] -= factor * c
        rest.pop()
    return _trimmed(tuple(rest))


def _trimmed(polynomial: Polynomial) -> Polynomial:
    length = max((i + 1 for i, c in enumerate(polynomial) if c), default=0)
    return polynomial[:length]


def _derivative(p: Polynomial) -> Polynomial:
    return tuple(i * c for i, c in enumerate(p))[1:]


def _plus(p: Polynomial, q: Polynomial) -> Polynomial:
    length = max(len(p), len(q))
    p, q = (each + (Fraction(0),) * (length - len(each)) for each in (p, q))
    return tuple(a + b for a, b in zip(p, q, strict=True))


def _minus(p: Polynomial, q: Polynomial) -> Polynomial:
    return _plus(p, tuple(-c for c in q))


def _times(*factors: Polynomial) -> Polynomial:
    product: Polynomial = (Fraction(1),)
    for factor in factors:
        product = tuple(np.convolve(np.array(product, dtype=object), np.array(factor, dtype=object)))
    return product
