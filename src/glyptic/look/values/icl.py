"""The in-context lab: a law of prompts, and what a linear transformer learns from it, for a page that computes it again.

What has a closed form (error against examples, the learned map and its limit, shifts, the loss) is computed in the page by the
formulas of `glyptic.icl.theory`, for any N, Λ and s² that the reader chooses. What was solved or measured here (a flow, curves
of learners, critical points that a search found) goes in as a recording, and the page says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from glyptic.arguments import is_list, shown
from glyptic.errors import InputError
from glyptic.look.pages import View, pack

if TYPE_CHECKING:
    from glyptic.icl.experiments.curves import Curve
    from glyptic.icl.theory.landscape import Basins, CriticalPoint
    from glyptic.icl.theory.problem import Problem

MOST_DIMENSIONS = 24  # of the inputs: matrices that a person can still read cell by cell
MOST_IN_LANDSCAPES = 5  # as in the theory: (d+1)² weights of which the page takes Hessians
MOST_TIMES, MOST_FLOWS, MOST_CURVES, MOST_COUNTS = 160, 60, 24, 2000


def lab_view(problem: Any = None) -> View:
    """The lab for a law of prompts (`icl.Problem`); without one, for Λ = diag(1, ½) and N = 10, which has a spurious minimum.

    >>> lab_view().data["problem"]["N"]
    10
    """
    from glyptic.icl.theory.problem import Problem

    given = Problem(np.array([1.0, 0.5]), 10) if problem is None else problem
    if not isinstance(given, Problem):
        raise InputError(f"problem is {shown(problem)}, and must be a Problem of glyptic.icl.")
    return _lab(given, "In-context lab", "error", {"points": _points_of(_found(given))})


def icl_view(value: Any, problem: Any = None) -> View:
    """The lab with a result of `icl` in it: weights, a flow, critical points, flows from many starts, curves, shifts, a risk.

    Weights, critical points, basins and shifts do not know their problem: give it. Curves may do without.

    >>> from glyptic import icl
    >>> path = icl.reduced_flow(icl.Problem([1.0, 0.5], 12))
    >>> icl_view(path).data["focus"]
    'weights'
    >>> icl_view(path.end)
    Traceback (most recent call last):
    glyptic.errors.InputError: weights (Blocks) do not know their problem: give it, as in icl_view(value, problem).
    """
    from glyptic.icl.theory.problem import Problem

    if problem is not None and not isinstance(problem, Problem):
        raise InputError(f"problem is {shown(problem)}, and must be a Problem of glyptic.icl.")
    if isinstance(value, Problem):
        return lab_view(value)
    items = list(value) if is_list(value) else [value]
    kind = type(items[0]).__name__ if items else ""
    if (
        kind not in _RESULTS
        or any(type(item).__name__ != kind for item in items)
        or (len(items) > 1 and kind not in _LISTS)
    ):
        raise InputError(f"the lab has no place for {shown(value)}; it shows {', '.join(['Problem', *_RESULTS])}.")
    view: View = _RESULTS[kind](items if kind in _LISTS else items[0], problem)
    return view


def _lab(problem: Problem | None, title: str, focus: str, recorded: dict[str, Any]) -> View:
    return View(
        "icl",
        title,
        {"problem": _law(problem), "focus": focus, "recorded": recorded, "most_in_landscapes": MOST_IN_LANDSCAPES},
    )


def _law(problem: Problem | None) -> dict[str, Any] | None:
    if problem is None:
        return None
    if problem.d > MOST_DIMENSIONS:
        raise InputError(
            f"the lab draws matrices up to d = {MOST_DIMENSIONS}, and the problem has d = {problem.d}: take a smaller one."
        )
    return {
        "covariance": pack(problem.covariance),
        "prior": pack(problem.prior),
        "N": problem.N,
        "noise_variance": problem.noise_variance,
    }


def _known(what: str, problem: Problem | None) -> Problem:
    if problem is None:
        raise InputError(f"{what} do not know their problem: give it, as in icl_view(value, problem).")
    return problem


# ---------------------------------------------------------------- flows and weights


def _of_trajectory(path: Any, problem: Problem | None) -> View:
    """A solved flow: the map p2·K + p1·kᵀ, the loss above its minimum, at up to 160 of its times."""
    thin = path.thinned(MOST_TIMES)
    maps = np.array([_map(thin.blocks(index)) for index in range(len(thin))])
    flow = {"times": pack(thin.times), "maps": pack(maps), "excess": pack(thin.excess()), "separate": False}
    return _lab(path.problem, "Gradient flow", "weights", {"flow": flow})


def _of_separate(path: Any, problem: Problem | None) -> View:
    """The staircase: keys and queries of their own. Evenly over the times and over the loss, so that no stair is missed."""
    from glyptic.icl.theory.optimum import minimum_loss

    losses = path.losses()
    level = np.searchsorted(-losses, -np.linspace(losses[0], losses[-1], MOST_TIMES // 2))
    even = np.linspace(1, len(losses) - 1, MOST_TIMES // 2).astype(int)
    kept = np.unique(np.clip(np.concatenate([level, even]), 1, len(losses) - 1))
    excess = np.maximum(losses[kept] - minimum_loss(path.problem), 0.0)
    flow = {"times": pack(path.times[kept]), "maps": pack(path.maps()[kept]), "excess": pack(excess), "separate": True}
    return _lab(path.problem, "Separate keys and queries", "weights", {"flow": flow})


def _of_blocks(blocks: Any, problem: Problem | None) -> View:
    """Weights, trained or made by hand, beside what the theory says they should become."""
    from glyptic.icl.theory.loss import loss

    law = _known("weights (Blocks)", problem)
    weights = {"map": pack(_map(blocks)), "loss": loss(law, blocks)}
    return _lab(law, "Weights", "weights", {"weights": weights})


def _map(blocks: Any) -> Any:
    """X = p2 K + p1 kᵀ: what the prediction does to b = (1/M) Σ y_i x_i."""
    return blocks.p2 * blocks.K + np.outer(blocks.p1, blocks.k)


# ---------------------------------------------------------------- the landscape


def _found(problem: Problem) -> Sequence[CriticalPoint]:
    """Critical points, where a short search is quick; the page itself knows the closed forms only."""
    from glyptic.icl.theory.landscape import critical_points
    from glyptic.icl.theory.problem import ProblemError

    if not 2 <= problem.d <= 3:
        return ()
    try:
        return critical_points(problem, tries=20)
    except ProblemError:  # a singular Ψ, or a Λ whose rounding hides them
        return ()


def _of_points(points: Sequence[CriticalPoint], problem: Problem | None) -> View:
    law = _known("critical points (CriticalPoint)", problem)
    return _lab(law, "Critical points", "landscape", {"points": _points_of(points)})


def _of_basins(found: Basins, problem: Problem | None) -> View:
    """Flows from many starts: the ends with their shares, and the loss along up to 60 of them."""
    law = _known("basins (Basins)", problem)
    points = _points_of(found.ends)
    for point, end in zip(points, found.ends, strict=True):
        point["share"] = found.share_at(end)
    flows = {
        "times": pack(found.times[1:]),
        "losses": pack(found.losses[1:, :MOST_FLOWS]),
        "end_of": [int(end) for end in found.end_of[:MOST_FLOWS]],
        "starts": len(found.end_of),
    }
    return _lab(law, "Where random starts end", "landscape", {"points": points, "flows": flows})


def _points_of(points: Iterable[CriticalPoint]) -> list[dict[str, Any]]:
    return [
        {
            "kind": p.kind,
            "loss": p.loss,
            "descending": p.descending,
            "flat": p.flat,
            "path": p.path,
            "weights": pack(p.blocks.vector()),
        }
        for p in points
    ]


# ---------------------------------------------------------------- curves, shifts, risks


def _of_curves(curves: Sequence[Curve], problem: Problem | None) -> View:
    """Error after k examples of learners that were trained or fitted, with their bands."""
    if len(curves) > MOST_CURVES or any(len(one.counts) > MOST_COUNTS for one in curves):
        raise InputError(f"the lab draws up to {MOST_CURVES} curves of up to {MOST_COUNTS} points each: give fewer.")
    rows = [
        {
            "name": one.name,
            "quantity": one.quantity,
            "prompts": one.prompts,
            "counts": [int(k) for k in one.counts],
            **{field: pack(np.asarray(getattr(one, field), dtype=np.float64)) for field in ("mean", "low", "high")},
        }
        for one in curves
    ]
    return _lab(problem, "Error against examples", "error", {"curves": rows})


def _of_shifts(shifts: Sequence[Any], problem: Problem | None) -> View:
    law = _known("shifts (Shift)", problem)
    for shift in shifts:
        if len(shift.context_covariance) != law.d:
            raise InputError(
                f"the shift {shown(shift.name)} has dimension {len(shift.context_covariance)}, the problem {law.d}."
            )
    rows = [
        {
            "name": shift.name,
            "context": pack(shift.context_covariance),
            "query": pack(shift.query_moment),
            "task": pack(shift.task_moment),
            "noise_variance": shift.noise_variance,
        }
        for shift in shifts
    ]
    return _lab(law, "Shifts", "shifts", {"shifts": rows})


def _of_risk(risk: Any, problem: Problem | None) -> View:
    parts = {name: getattr(risk, name) for name in ("floor", "variance", "bias", "noise_variance")}
    return _lab(problem, "Risk in three parts", "error", {"risk": parts})


_RESULTS: dict[str, Any] = {
    "Trajectory": _of_trajectory,
    "SeparateFlow": _of_separate,
    "Blocks": _of_blocks,
    "CriticalPoint": _of_points,
    "Basins": _of_basins,
    "Curve": _of_curves,
    "Shift": _of_shifts,
    "Risk": _of_risk,
}
_LISTS = ("CriticalPoint", "Curve", "Shift")  # that come several at a time
