"""Critical points and their Hessians, the spurious minima, and how many random starts end there."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from glyptic.errors import InputError
from glyptic.icl.theory import landscape
from glyptic.icl.theory.flow import full_flow
from glyptic.icl.theory.heads import head_flows
from glyptic.icl.theory.landscape import (
    GLOBAL,
    SADDLE,
    SPURIOUS,
    basins,
    classify,
    critical_points,
    rank_one_point,
)
from glyptic.icl.theory.loss import gradient, hessian, loss
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import gamma, minimum_loss, optimal_blocks
from glyptic.icl.theory.problem import Problem, ProblemError, spectrum
from glyptic.icl.theory.quartic import Quartic

ANISOTROPIC = Problem([1.0, 0.5], 10)


@pytest.fixture(scope="module")
def found():
    return basins(ANISOTROPIC, starts=200, deviation=0.1, seed=1)


def test_at_least_thirty_percent_of_generic_starts_end_in_a_spurious_minimum(found):
    assert found.share(SPURIOUS) >= 0.3
    assert found.share(GLOBAL) >= 0.3
    assert found.share(SADDLE) == 0
    assert [end.kind for end in found.ends] == [GLOBAL, SPURIOUS]
    # The flows themselves arrive: polishing by Newton's method changes nothing that matters.
    reached = np.array([found.ends[index].loss for index in found.end_of])
    np.testing.assert_allclose(found.losses[-1], reached, atol=1e-9)
    assert np.all(np.diff(found.losses, axis=0) < 1e-7)


def test_the_share_depends_on_the_size_of_the_start():
    """`About half` is not a law: with close eigenvalues small starts are lost less often than 30 %, large ones more."""
    close = Problem([1.0, 0.9], 10)
    small, large = (basins(close, starts=150, deviation=scale, seed=0).share(SPURIOUS) for scale in (0.01, 0.5))
    assert 0.1 < small < 0.3
    assert large > 0.5


def test_the_batched_flow_is_the_flow(found):
    for start in (0, 1):
        path = full_flow(ANISOTROPIC, Blocks.from_vector(found.paths[0, start]), times=found.times[:90])
        np.testing.assert_allclose(path.states, found.paths[:90, start], atol=2e-4)


def test_the_spurious_minimum_has_its_closed_form_and_is_strict():
    point = classify(ANISOTROPIC, rank_one_point(ANISOTROPIC))
    first, gamma_first = 1.0, gamma(ANISOTROPIC)[0, 0]
    assert point.loss == pytest.approx(0.5 * (1.5 - first**2 / gamma_first), rel=1e-12, abs=0)
    assert (point.kind, point.descending, point.flat, point.path) == (SPURIOUS, 0, 1, "p1·k")
    assert point.softest > 1e-3
    # By sampling too: every small step away from the curve of the scaling symmetry goes up.
    rng, theta = np.random.default_rng(0), point.blocks.vector()
    along = np.concatenate([theta[:3], -theta[3:]])  # the symmetry's tangent: p grows, K and k shrink
    for _ in range(300):
        step = rng.standard_normal(9)
        step -= (step @ along) / (along @ along) * along
        step *= 1e-3 / np.linalg.norm(step)
        assert loss(ANISOTROPIC, Blocks.from_vector(theta + step)) > point.loss


@pytest.mark.parametrize("eigenvalues", [[1.0, 1.0], [1.0, 0.9], [1.0, 0.5, 0.25]])
def test_the_rank_one_point_is_not_always_the_spurious_minimum(eigenvalues):
    """It is critical for every Λ, but where the other directions are strong it is a saddle: the spurious minimum then
    has p2 K ≠ 0 as well, and lies lower."""
    problem = Problem(eigenvalues, 10)
    rank_one = classify(problem, rank_one_point(problem))
    assert rank_one.kind == SADDLE
    ends = basins(problem, starts=30, deviation=0.1, seed=0).ends
    spurious = next(end for end in ends if end.kind == SPURIOUS)
    assert minimum_loss(problem) < spurious.loss < rank_one.loss
    assert spurious.path == "p2·K + p1·k"


def test_critical_points_are_critical_and_signed_by_their_hessians():
    points = critical_points(ANISOTROPIC, tries=30)
    kinds = [point.kind for point in points]
    assert kinds.count(GLOBAL) == 1
    assert kinds.count(SPURIOUS) == 1
    assert kinds.count(SADDLE) >= 3
    for point in points:
        assert np.linalg.norm(gradient(ANISOTROPIC, point.blocks).vector()) < 1e-6
        eigenvalues = np.linalg.eigvalsh(hessian(ANISOTROPIC, point.blocks))
        assert int(np.sum(eigenvalues < -1e-6)) == point.descending
    assert points[0].loss == pytest.approx(minimum_loss(ANISOTROPIC), rel=1e-12, abs=0)


def test_the_zero_blocks_of_the_theorem_are_substantive():
    """From p1 = k = 0 the flow is safe; the same start with small p1, k can be lost."""
    rng = np.random.default_rng(0)
    safe = Blocks(np.zeros(2), 0.05, 0.05 * rng.standard_normal((2, 2)) @ np.eye(2), np.zeros(2))
    end = full_flow(ANISOTROPIC, safe, times=[0.0, 1e4]).end
    assert loss(ANISOTROPIC, end) == pytest.approx(minimum_loss(ANISOTROPIC), rel=1e-9, abs=0)
    lost = Blocks([0.2, 0.0], 0.05, safe.K, [0.2, 0.0])
    end = full_flow(ANISOTROPIC, lost, times=[0.0, 1e4]).end
    assert loss(ANISOTROPIC, end) == pytest.approx(0.35, abs=1e-6)


def test_in_one_dimension_both_branches_are_global():
    problem = Problem([0.7], 5)
    assert {end.kind for end in basins(problem, starts=20, deviation=0.3).ends} == {GLOBAL}
    assert classify(problem, rank_one_point(problem)).kind == GLOBAL


def test_a_flow_that_cannot_be_solved_is_one_sentence(monkeypatch):
    """What the solver reports is passed on: flows that make it give up by themselves would run for hours first."""
    given_up = SimpleNamespace(success=False, message="excess work", y=None)
    monkeypatch.setattr(landscape, "solve_ivp", lambda *_, **__: given_up)
    with pytest.raises(ProblemError, match=r"not solved up to t = [\d.e+]+ \(excess work\): use a smaller deviation"):
        basins(ANISOTROPIC, starts=2)


def test_refusals():
    with pytest.raises(ProblemError, match="not a critical point"):
        classify(ANISOTROPIC, Blocks([0.1, 0.0], 1.0, np.eye(2), [0.0, 0.0]))
    with pytest.raises(ProblemError, match="d ≤ 5"):
        Quartic.of(Problem(spectrum("inverse", 6), 10))
    assert classify(ANISOTROPIC, optimal_blocks(ANISOTROPIC)).kind == GLOBAL


def test_the_smallest_starts_leave_the_saddle():
    """With a tolerance that did not know the size of the start flows from 1e-90 stayed at 0, shares from 1e-20 were off."""
    problem = Problem([1.0, 0.5], 10)
    for deviation in (1e-20, 1e-90):
        found, heads = (flows(problem, starts=30, deviation=deviation) for flows in (basins, partial(head_flows, heads=1)))
        assert found.share("saddle") == 0
        assert found.share("spurious minimum") == pytest.approx(heads.share)  # two codes, the same starts
    with pytest.raises(InputError, match="at least 1e-100"):
        basins(problem, starts=3, deviation=1e-200)


def test_what_rounding_hides_is_said_with_its_remedy():
    """It said: this is not a critical point, polish it first; to someone who had given a spectrum."""
    with pytest.raises(ProblemError, match="condition number 1e\\+06: take eigenvalues nearer"):
        critical_points(Problem([1.0, 1e-6], 10), tries=3)
    with pytest.raises(ProblemError, match="use a smaller deviation"):
        basins(Problem([1.0, 0.5], 10), starts=3, deviation=10.0)
