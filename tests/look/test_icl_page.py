"""The in-context lab in a real browser: what it computes is what `glyptic.icl.theory` computes, and one can walk in it."""

import json
from typing import Any

import numpy as np
import pytest
from tests.look.chromium import axe, needs_chromium, page_of

from glyptic import icl
from glyptic.errors import InputError
from glyptic.icl.experiments.curves import Curve
from glyptic.icl.theory.random_covariance import RandomDiagonal
from glyptic.icl.theory.shifts import Shift, shifted_risk
from glyptic.look.pages import Page, View
from glyptic.look.values.icl import MOST_DIMENSIONS, icl_view, lab_view

HOSTILE = "</script><script>alert(1)</script><b>bold</b>"
TURN = np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
FULL = icl.Problem(TURN @ np.diag([1.0, 0.5, 0.25]) @ TURN.T, 12, np.diag([1.0, 2.0, 0.5]), 0.3)
INF = float("inf")


def page(view: View) -> Page:
    return Page((view,), view.title)


def read(tab: Any, name: str) -> Any:
    """A number of the page with all of its digits, or a matrix."""
    return json.loads(tab.eval_on_selector(f"[data-name='{name}']", "e => e.dataset.value"))


def near(one: Any, other: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=1e-13)


LAWS = {
    "#spectrum=inverse&d=5&N=20&M=37&s2=0.3": (icl.Problem(icl.spectrum("inverse", 5), 20, noise_variance=0.3), 37),
    "#spectrum=kappa&kappa=50&d=8&N=3&M=1&s2=0": (icl.Problem(icl.spectrum("kappa:50", 8), 3), 1),
    "#spectrum=isotropic&d=1&N=1000&M=7&s2=0": (icl.Problem.isotropic(1, 1000), 7),
    "#spectrum=own&own=2%2C+0.5&N=5&M=100000&s2=0": (icl.Problem([2.0, 0.5], 5), 100_000),
    "#M=9": (FULL, 9),
}


@needs_chromium
@pytest.mark.parametrize("fragment", LAWS)
def test_error_weights_and_shifts_are_those_of_the_theory(browser: Any, fragment: str) -> None:
    problem, M = LAWS[fragment]
    P = icl.optimal_map(problem)
    none = Shift("none", problem.covariance, problem.covariance, problem.prior, problem.noise_variance)
    with page_of(browser, page(lab_view(FULL)), fragment) as tab:
        near(read(tab, "risk"), shifted_risk(P, none, M))
        near(read(tab, "bias"), shifted_risk(P, none, INF))
        near(read(tab, "best"), 2 * icl.minimum_loss(icl.Problem(problem.covariance, M, problem.prior, problem.noise_variance)))
        near(read(tab, "zero"), problem.signal_power)
        tab.keyboard.press("2")
        near(read(tab, "learned"), P)
        near(read(tab, "limit"), np.linalg.inv(problem.covariance))
        near(read(tab, "minimum"), icl.minimum_loss(problem))
        tab.keyboard.press("3")
        near(read(tab, "relative-inputs_twice"), shifted_risk(P, _scaled(problem, 2.0), M) / problem.signal_power / 4)
        near(read(tab, "left-inputs_half"), 0.5625)  # (1/4 − 1)²
        law = RandomDiagonal(problem.d, noise_variance=problem.noise_variance)
        near(read(tab, "relative-random"), law.risk(law.trained_map(problem.N), M) / problem.d)


def _scaled(problem: icl.Problem, c: float) -> Shift:
    L = c * c * problem.covariance
    return Shift("scaled", L, L, problem.prior, problem.noise_variance)


@needs_chromium
def test_a_shift_of_ones_own_is_predicted(browser: Any) -> None:
    P, angle = icl.optimal_map(FULL), np.radians(35)
    turn = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    context = 1.3**2 * turn @ FULL.covariance @ turn.T
    shift = Shift("own", context, 4 * context, 9 * FULL.prior, FULL.noise_variance + 0.5)
    with page_of(browser, page(lab_view(FULL)), "#panel=shifts&c=1.3&angle=35&q=2&w=3&more=0.5&M=40") as tab:
        near(read(tab, "shift-risk"), shifted_risk(P, shift, 40))
        near(read(tab, "shift-left"), shifted_risk(np.linalg.inv(FULL.covariance), shift, INF) / shift.signal_power)
        c = read(tab, "crossing-0")  # there answering 0 is as good
        L = c * c * turn @ FULL.covariance @ turn.T
        there = Shift("crossing", L, 4 * L, 9 * FULL.prior, FULL.noise_variance + 0.5)
        near(shifted_risk(P, there, 40) / there.signal_power, 1.0)
        assert "fail" in tab.inner_text(".answer")


@needs_chromium
def test_standard_shifts_that_leave_the_inputs_alone_are_borne(browser: Any) -> None:
    with page_of(browser, page(lab_view(icl.Problem([1.0, 0.5, 0.2], 30))), "#panel=shifts") as tab:
        for name in ("none", "task_long", "task_sparse", "query_large", "query_half", "noise"):
            assert read(tab, f"left-{name}") == 0, name
        for name in ("inputs_half", "inputs_twice", "inputs_turned", "inputs_subspace", "random"):
            assert read(tab, f"left-{name}") > 0.05, name
        assert tab.locator(".pill.good").count() == 7 and tab.locator(".pill.bad").count() == 5  # with one's own, unshifted


@needs_chromium
@pytest.mark.parametrize(
    "problem", [icl.Problem([1.0, 0.5], 10), icl.Problem(icl.spectrum("kappa:30", 6), 15, noise_variance=0.2)]
)
def test_the_flow_is_solved_in_the_page(browser: Any, problem: icl.Problem) -> None:
    with page_of(browser, page(lab_view(problem)), "#panel=weights&time=45") as tab:
        for _ in range(3):
            time = read(tab, "time")
            path = icl.reduced_flow(problem, times=[0.0, time])
            near(read(tab, "now"), path.end.p2 * path.end.K, 1e-8)
            near(read(tab, "excess"), path.excess()[-1], 1e-7)
            tab.keyboard.press("]")
            assert read(tab, "time") > time


@needs_chromium
@pytest.mark.parametrize("problem", [icl.Problem([1.0, 0.5], 10), FULL])
def test_the_loss_of_the_landscape_is_exact_and_walks_are_walks(browser: Any, problem: icl.Problem) -> None:
    a, b = icl.optimal_blocks(problem).vector(), icl.rank_one_point(problem).vector()
    with page_of(browser, page(lab_view(problem)), "#panel=landscape&x=0.3&y=0.4") as tab:
        here = read(tab, "here")
        near(here, icl.loss(problem, icl.Blocks.from_vector(0.3 * a + 0.4 * b)))
        tab.focus(".landscape")
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("ArrowUp")
        tab.keyboard.press("Shift+ArrowUp")
        near(read(tab, "here"), icl.loss(problem, icl.Blocks.from_vector(0.35 * a + 0.7 * b)))
        slope = icl.gradient(problem, icl.Blocks.from_vector(0.35 * a + 0.7 * b)).vector()
        near(read(tab, "slope"), np.linalg.norm(slope))
        above = read(tab, "above")
        tab.keyboard.press("g")  # one step downhill
        assert read(tab, "above") < above
        tab.click(".landscape", position={"x": 100, "y": 100})
        assert read(tab, "above") != above


@needs_chromium
def test_a_walk_ends_where_the_theory_says(browser: Any) -> None:
    problem = icl.Problem([1.0, 0.5], 10)
    with page_of(browser, page(lab_view(problem)), "#panel=landscape&x=0&y=0.9") as tab:
        tab.wait_for_selector("[data-name=end-loss]")
        near(read(tab, "end-loss"), icl.loss(problem, icl.rank_one_point(problem)))
        assert "spurious" in tab.inner_text(".walk .answer") and tab.get_attribute(".trail", "d").count("L") > 5
    with page_of(browser, page(lab_view(problem)), "#panel=landscape&x=0.1&y=0") as tab:
        tab.wait_for_selector("[data-name=end-loss]")
        near(read(tab, "end-loss"), icl.minimum_loss(problem))
        assert "global" in tab.inner_text(".walk .answer")
    with page_of(browser, page(lab_view(problem)), "#panel=landscape&spectrum=own&own=1,0.9&N=10&x=0.1&y=0.9") as tab:
        tab.wait_for_selector("[data-name=end-loss]")
        mixed = icl.critical_points(icl.Problem([1.0, 0.9], 10), tries=5)[1]  # the rank-one point is a saddle here
        near(read(tab, "end-loss"), mixed.loss, 1e-7)


@needs_chromium
def test_sliders_change_what_is_seen_and_the_address(browser: Any) -> None:
    with page_of(browser, page(lab_view())) as tab:
        before = read(tab, "risk")
        tab.get_by_label("training examples N").focus()
        for _ in range(20):
            tab.keyboard.press("ArrowRight")
        assert read(tab, "risk") != before and "N=" in tab.url
        tab.get_by_label("covariance Λ").select_option("inverse")
        tab.get_by_label("dimension d").fill("6")
        near(read(tab, "zero"), sum(1 / i for i in range(1, 7)))
        after = read(tab, "risk")
        tab.reload()  # the address is the state
        tab.wait_for_selector("body[data-ready=yes]")
        assert read(tab, "risk") == after
        tab.get_by_label("covariance Λ").select_option("own")
        field = tab.get_by_label("eigenvalues", exact=True)
        field.fill("3, no")
        assert field.get_attribute("aria-invalid") == "true"
        field.fill("3, 1")
        near(read(tab, "zero"), 4.0)


def results() -> dict[str, View]:
    problem = icl.Problem([1.0, 0.5], 10)
    points = icl.critical_points(problem, tries=3)
    k = np.arange(5.0)
    curves = [Curve(HOSTILE, (0, 1, 2, 3, 4), 2 - k / 3, 1.9 - k / 3, 2.1 - k / 3, 100)]
    law = icl.standard_laws(2)[0]
    return {
        "flow": icl_view(icl.full_flow(problem)),
        "separate": icl_view(icl.separate_flow(problem, heads=2, rank=1, deviation=0.1)),
        "weights": icl_view(icl.rank_one_point(problem), problem),
        "points": icl_view(points, problem),
        "basins": icl_view(icl.basins(problem, starts=20), problem),
        "curves": icl_view(curves, problem),
        "curves alone": icl_view(curves[0]),
        "shifts": icl_view([Shift(HOSTILE, 2 * np.eye(2), np.eye(2), np.eye(2))], problem),
        "risk": icl_view(icl.risk(problem, law.moments(problem.covariance), 12), problem),
    }


@needs_chromium
def test_every_result_has_a_page_and_what_is_recorded_says_so(browser: Any) -> None:
    for name, view in results().items():
        with page_of(browser, page(view)) as tab:
            assert "recorded" in tab.inner_text("#view"), name
            assert tab.locator("#view b").count() == 0
            if name in ("curves alone", "shifts"):
                assert HOSTILE in tab.inner_text("#view"), name
            if name == "flow":
                flow = icl.full_flow(icl.Problem([1.0, 0.5], 10)).thinned(160)
                assert read(tab, "time") == pytest.approx(float(flow.times[60]))
            if name == "shifts":
                P = icl.optimal_map(icl.Problem([1.0, 0.5], 10))
                near(read(tab, "relative-given-0"), shifted_risk(P, Shift("", 2 * np.eye(2), np.eye(2), np.eye(2)), 10) / 2)


@needs_chromium
@pytest.mark.parametrize("panel", ["error", "weights", "shifts", "landscape"])
def test_panels_have_no_serious_finding_in_both_languages_and_lights(browser: Any, panel: str) -> None:
    for light, language in (("light", "en"), ("dark", "es")):
        with page_of(browser, page(lab_view()), f"#panel={panel}&lang={language}", light=light) as tab:
            tab.wait_for_timeout(300)
            assert axe(tab) == []
            with tab.expect_download() as download:
                tab.click("#save-csv")
            text = download.value.path().read_text()
            assert len(text.splitlines()) > 4 and "NaN" not in text


def test_what_the_lab_has_no_place_for_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="no place"):
        icl_view(3)
    with pytest.raises(InputError, match="no place"):
        icl_view([])
    with pytest.raises(InputError, match="must be a Problem"):
        lab_view([1.0, 0.5])
    with pytest.raises(InputError, match="must be a Problem"):
        icl_view(icl.optimal_blocks(FULL), 3)
    with pytest.raises(InputError, match="do not know their problem"):
        icl_view(Shift("s", np.eye(2), np.eye(2), np.eye(2)))
    with pytest.raises(InputError, match="dimension 2, the problem 3"):
        icl_view(Shift("s", np.eye(2), np.eye(2), np.eye(2)), FULL)
    with pytest.raises(InputError, match=f"up to d = {MOST_DIMENSIONS}"):
        lab_view(icl.Problem.isotropic(MOST_DIMENSIONS + 1, 10))
