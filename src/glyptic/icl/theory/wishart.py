"""Exact moments E tr W^k of a Wishart matrix W = XᵀX, X of N rows from N(0, I_d), by a recursion in whole numbers.

Write t_k = tr W^k (t_0 = d) and let F be a product of such traces. Integrating by parts over every entry of X (Stein),

    E[t_k F] = (N + k − 1) E[t_{k−1} F] + Σ_{j=0}^{k−2} E[t_{j+1} t_{k−2−j} F] + Σ_{t_m in F} 2m E[t_{k+m−1} F/t_m],

since ∂W/∂X_ia = e_a x_iᵀ + x_i e_aᵀ. Every term on the right has a degree less by one, so it ends; nothing is sampled or rounded.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated

from glyptic.arguments import Count, checked
from glyptic.icl.names import Dimension, Length


@checked
def wishart_moments(d: Dimension, N: Length, highest: Annotated[int, Count(0, 24)]) -> tuple[int, ...]:
    """E tr W^k for k = 0 … highest.

    >>> wishart_moments(1, 5, 3)                                             # χ² with 5 degrees: 5, 5·7, 5·7·9
    (1, 5, 35, 315)
    >>> wishart_moments(3, 10, 2)                                            # d, dN, dN(N + d + 1)
    (3, 30, 420)
    """

    @cache
    def mean(powers: tuple[int, ...]) -> int:
        """E of the product of t_k over the powers, which are sorted and above 0."""
        if not powers:
            return 1
        *rest, k = powers
        total = (N + k - 1) * product(rest, k - 1)
        total += sum(product(rest, j + 1, k - 2 - j) for j in range(k - 1))
        return total + sum(2 * m * product([*rest[:i], *rest[i + 1 :]], k + m - 1) for i, m in enumerate(rest))

    def product(rest: list[int], *more: int) -> int:
        powers = sorted(power for power in (*rest, *more) if power)
        return d ** (len(rest) + len(more) - len(powers)) * mean(tuple(powers))

    return tuple(product([], k) for k in range(highest + 1))
