"""For equal eigenvalues every critical point is known: the polynomial against the loss itself, and against flows."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from glyptic.errors import InputError
from glyptic.icl.theory.isotropic import Isotropic, _value, isotropic_landscape, slope_polynomial
from glyptic.icl.theory.landscape import GLOBAL, SADDLE, SPURIOUS, basins, classify, critical_points, rank_one_point
from glyptic.icl.theory.problem import Problem
from glyptic.icl.theory.profile import Profile

# Where the rank-one point stops being a minimum, and where the mixed one begins to be: between them there is none.
THRESHOLDS = {2: (5, 5), 3: (4, 18), 4: (3, 45), 5: (3, 80), 6: (3, 123), 7: (3, 173), 8: (3, 231), 9: (3, 298), 10: (3, 372)}
RANK_ONE, NONE, MIXED = Isotropic(True, 0, 1), Isotropic(False, 0, 0), Isotropic(False, 1, 1)


def at(coefficients, rho):
    return float(sum(c * Fraction(rho) ** i for i, c in enumerate(coefficients)))


@pytest.mark.parametrize("s2", [0.0, 0.75])
@pytest.mark.parametrize("d", [2, 3])
def test_the_rational_function_is_the_profile_of_the_loss(d, s2):
    for N in (1, 10, 200):
        profile = Profile.of(Problem(np.ones(d), N, noise_variance=s2))
        n, D = _value(d, N, Fraction(s2))
        direction = np.random.default_rng(N).standard_normal(d)
        direction /= np.linalg.norm(direction)
        for rho in (0.0, 0.05, 0.6, 7.0):
            exact = (d - at(n, rho) / at(D, rho)) / 2
            assert profile.loss(np.append(direction, np.sqrt(rho))) == pytest.approx(exact, rel=1e-11, abs=0)


def test_units_do_not_matter():
    """Λ = λI, Ψ = ψI with noise s² is Λ = Ψ = I with noise s²/(λψ)."""
    scaled = Profile.of(Problem([3.0, 3.0], 6, [0.5, 0.5], noise_variance=0.9))
    plain = Profile.of(Problem([1.0, 1.0], 6, noise_variance=0.6))
    for rho in (0.0, 0.4, 3.0):
        p = np.array([1.0, 0.0, np.sqrt(rho)])
        same = np.array([1.0, 0.0, np.sqrt(rho / 0.5)])  # labels are √(λψ) as large, inputs √λ
        assert scaled.loss(same) == pytest.approx(1.5 * plain.loss(p), rel=1e-11, abs=0)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_few_examples_the_rank_one_point_many_the_mixed_one_between_them_none(d):
    last, first = THRESHOLDS[d]
    for N in {1, last - 1, last, (last + first) // 2, max(last, first - 1), first, 2 * first, 1000}:
        expected = RANK_ONE if last > N else MIXED if first <= N else NONE
        assert isotropic_landscape(d, N) == expected, N


@pytest.mark.slow
@pytest.mark.parametrize("d", THRESHOLDS)
def test_the_thresholds_of_the_page_for_all_N_up_to_600(d):
    last, first = THRESHOLDS[d]
    for N in range(1, 601):
        assert isotropic_landscape(d, N) == (RANK_ONE if last > N else MIXED if first <= N else NONE), N


@pytest.mark.parametrize(("d", "N"), [(3, 3), (3, 10), (3, 20), (2, 3), (2, 5)])
def test_the_search_finds_what_is_proved_and_no_more(d, N):
    proved = isotropic_landscape(d, N)
    points = critical_points(Problem(np.ones(d), N), tries=10)
    assert sum(point.kind == SPURIOUS for point in points) == proved.spurious_minima
    assert sum(point.path == "p2·K + p1·k" for point in points) == proved.mixed_minima + proved.mixed_saddles
    rank_one = classify(Problem(np.ones(d), N), rank_one_point(Problem(np.ones(d), N)))
    assert (rank_one.kind == SPURIOUS) == proved.rank_one_is_minimum


@pytest.mark.parametrize(("eigenvalues", "N", "least", "most"), [([1, 1, 1], 10, 0, 0), ([1, 1, 1], 20, 0.8, 1)])
def test_flows_end_in_a_spurious_minimum_only_where_there_is_one(eigenvalues, N, least, most):
    """"For Λ = I too" was false: at N = 10 none of the flows is lost, at N = 20 most of those from large starts are."""
    found = basins(Problem(eigenvalues, N), starts=40, deviation=1.0, seed=0)
    assert least <= found.share(SPURIOUS) <= most
    assert found.share(SADDLE) == 0
    assert found.share(GLOBAL) + found.share(SPURIOUS) == 1


def test_the_rank_one_point_is_a_saddle_once_N_is_large():
    """For every Λ: the Hessian in (p2, K_jj) has a fixed mixed entry −λ_j², and a K_jj entry that falls as 1/N."""
    for eigenvalues in ([1.0, 0.1], [1.0, 0.5, 0.25], [1.0, 1.0]):
        kinds = [classify(Problem(eigenvalues, N), rank_one_point(Problem(eigenvalues, N))).kind for N in (2, 10_000)]
        assert kinds == [SPURIOUS, SADDLE]


def test_sturm_counts_roots_that_numpy_finds():
    for d, N in ((2, 7), (3, 20), (4, 44), (4, 45), (6, 500)):
        roots = np.roots([float(c) for c in reversed(slope_polynomial(d, N))])
        positive = sum(abs(root.imag) < 1e-9 and root.real > 0 for root in roots)
        found = isotropic_landscape(d, N)
        assert found.mixed_minima + found.mixed_saddles == positive


def test_bad_input_is_one_sentence():
    for bad in (partial(isotropic_landscape, 1, 5), partial(isotropic_landscape, 3, 0), partial(isotropic_landscape, 3, 5, -1.0)):
        with pytest.raises(InputError, match="must be"):
            bad()
