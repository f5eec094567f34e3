"""Wishart moments by recursion against quadrature, against closed forms, and against sampling where neither reaches."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
import pytest

from glyptic.errors import InputError
from glyptic.icl.theory.depth import wishart_moments


@pytest.mark.parametrize("N", [1, 2, 5, 40])
def test_in_one_dimension_they_are_those_of_chi_squared(N):
    assert wishart_moments(1, N, 10) == tuple(prod(N + 2 * i for i in range(k)) for k in range(11))


@pytest.mark.parametrize(("d", "N"), [(2, 1), (2, 2), (1, 4), (3, 1), (2, 3)])
def test_quadrature(d, N):
    """Gauss–Hermite with 5 nodes is exact up to degree 9 in each entry of X: all moments up to the fourth."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    x = np.array(list(product(nodes, repeat=N * d))).reshape(-1, N, d)
    weight = np.array([prod(each) for each in product(weights / weights.sum(), repeat=N * d)])
    W = x.transpose(0, 2, 1) @ x
    for k, exact in enumerate(wishart_moments(d, N, 4)):
        trace = np.trace(np.linalg.matrix_power(W, k), axis1=1, axis2=2)
        assert weight @ trace == pytest.approx(exact, rel=1e-10, abs=0)


@pytest.mark.parametrize(("d", "N"), [(3, 10), (7, 4), (20, 20)])
def test_the_published_closed_forms(d, N):
    """E tr W², E tr W³ and E tr W⁴ as tabulated, for instance by Letac and Massam (2004) for Λ = I."""
    _, first, second, third, fourth = wishart_moments(d, N, 4)
    assert first == N * d
    assert second == N * d * (N + d + 1)
    assert third == N * d * (N**2 + d**2 + 3 * N * d + 3 * N + 3 * d + 4)
    middle = N**3 + d**3 + 6 * N**2 * d + 6 * N * d**2 + 6 * N**2 + 6 * d**2 + 17 * N * d + 21 * (N + d) + 20
    assert fourth == N * d * middle


def test_d_and_N_may_be_exchanged():
    """XᵀX and XXᵀ have the same nonzero eigenvalues."""
    assert wishart_moments(4, 9, 8)[1:] == wishart_moments(9, 4, 8)[1:]


def test_high_moments_against_sampling():
    x = np.random.default_rng(0).standard_normal((200_000, 12, 3))
    s = np.linalg.eigvalsh(x.transpose(0, 2, 1) @ x / 12)
    for k, exact in enumerate(wishart_moments(3, 12, 6)):
        sums = np.sum(s**k, axis=1)
        assert abs(sums.mean() - float(Fraction(exact, 12**k))) <= 4 * sums.std() / np.sqrt(len(sums))


def test_bad_input_is_one_sentence():
    for bad in ((0, 5, 3), (2, 0, 3), (2, 5, -1), (2, 5, 25), (2.5, 5, 3)):
        with pytest.raises(InputError, match="must be a whole number"):
            wishart_moments(*bad)
