"""Gradient flow θ' = −∇L on the population loss: all (d+1)² weights, from any start, as a differential equation.

It is stiff (its rates span the square of Λ's condition number), so the solver is LSODA, which turns implicit where that
pays, with the exact Hessian. From the start of the theorem, `reduced.reduced_flow` gives the same in d + 2 equations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from glyptic.arguments import Number, checked
from glyptic.icl.theory.loss import gradient, hessian
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import curvature, excess, optimal_map
from glyptic.icl.theory.problem import Array, Problem, ProblemError, as_finite
from glyptic.icl.theory.theorem import initial_blocks, pl_ratio
from glyptic.progress import progress_bar
from glyptic.showing import Showing

Tolerance = Annotated[float, Number(above=0, most=1e-2)]
STIFFEST = 2e12  # rate × time; tried: at 1e12 it takes seconds, at 1e13 it does not end
Times = ArrayLike  # increasing numbers, checked by `sorted_times`


@dataclass(frozen=True, eq=False)
class Trajectory(Showing):
    """A solved flow: the states at `times`, and what the theory says about them."""

    problem: Problem
    times: Array
    states: Array
    """(T, n): n is d+2 for the reduced system and (d+1)² for the full one."""
    unpack: Callable[[Array], Blocks]
    """From a state to the weights."""

    def __len__(self) -> int:
        return len(self.times)

    def blocks(self, index: int) -> Blocks:
        """The weights at `times[index]`."""
        return self.unpack(self.states[index])

    @property
    def end(self) -> Blocks:
        return self.blocks(-1)

    def thinned(self, points: int) -> Trajectory:
        """At most so many of the times after 0, the last included: enough to draw."""
        kept = np.unique(np.linspace(1, len(self) - 1, min(points, len(self) - 1)).astype(int))
        return replace(self, times=self.times[kept], states=self.states[kept])

    def excess(self) -> Array:
        """L − L* at each time."""
        return self._at_each_time(lambda blocks: excess(self.problem, blocks))

    def balance(self) -> Array:
        """‖p‖² − ‖[K; kᵀ]‖² at each time: constant on the exact flow, so its drift measures the solver."""
        return self._at_each_time(lambda blocks: blocks.balance)

    def pl_ratio(self) -> Array:
        """‖∇L‖² / (L − L*) at each time: the Polyak–Łojasiewicz ratio, which the theorem bounds below by μ."""
        return self._at_each_time(lambda blocks: pl_ratio(self.problem, blocks))

    def _at_each_time(self, value: Callable[[Blocks], float]) -> Array:
        return np.array([value(self.unpack(state)) for state in self.states])


@checked
def full_flow(
    problem: Problem, start: Blocks | None = None, times: Times | None = None, rtol: Tolerance = 1e-11, atol: Tolerance = 1e-14
) -> Trajectory:
    """The flow of all (d+1)² weights from any start (Θ = I at half the theorem's threshold if none is given).

    By the exact gradient and Hessian; to its limit, or at the given times. `atol` counts in units of the start.

    >>> path = full_flow(Problem([1.0, 0.5], 12))
    >>> path.states.shape[1], bool(path.excess()[-1] < 1e-12)
    (9, True)
    """
    start = initial_blocks(problem) if start is None else start
    same_dimension(problem, start)

    def velocity(state: Array) -> Array:
        return -gradient(problem, Blocks.from_vector(state)).vector()

    def jacobian(state: Array) -> Array:
        return -hessian(problem, Blocks.from_vector(state))

    path = solve(problem, velocity, jacobian, start.vector(), Blocks.from_vector, times, rtol, atol)
    if times is None and not _arrived(problem, path.end):
        raise ProblemError(f"by t = {path.times[-1]:.3g} the flow has not come to rest (a saddle holds it up): give the times.")
    return path


def same_dimension(problem: Problem, blocks: Blocks) -> None:
    if blocks.d != problem.d:
        raise ProblemError(f"the start has dimension {blocks.d}, but the covariance Λ has {problem.d}.")


def _arrived(problem: Problem, end: Blocks) -> bool:
    """At rest, and not because it never left the saddle at zero."""
    power = float(np.sum(problem.covariance * problem.prior)) / 2
    theta, slope = end.vector(), gradient(problem, end).vector()
    small = np.linalg.norm(theta) ** 2 < 1e-3 * np.linalg.norm(optimal_map(problem))
    return bool(not small and np.linalg.norm(slope) * np.linalg.norm(theta) < 1e-6 * power)


def sorted_times(name: str, times: ArrayLike) -> Array:
    array = as_finite(name, times, (None,))
    if len(array) == 0 or array[0] < 0 or np.any(np.diff(array) < 0):
        raise ProblemError(f"the {name} have to begin at 0 or later and rise: sort them, and give at least one.")
    return array


def slowest_time(problem: Problem) -> float:
    """The time in which the slowest direction at the minimum comes nearer by a factor e."""
    slowest = np.linalg.eigvalsh(curvature(problem))[0] * np.linalg.eigvalsh(problem.covariance)[0]
    return float(1 / (slowest * np.linalg.norm(optimal_map(problem))))


def _horizon(problem: Problem, first: Array) -> float:
    """A time by which the flow has converged: escape from the small start, then the slowest exponential, to e^−60."""
    signal = np.linalg.eigvalsh(problem.covariance @ problem.prior @ problem.covariance)
    escape = np.log1p(1 / np.abs(first[first != 0]).max()) / signal.max()
    return float(10 * escape + 60 * slowest_time(problem))


def solve(
    problem: Problem,
    velocity: Callable[[Array], Array],
    jacobian: Callable[[Array], Array],
    first: Array,
    unpack: Callable[[Array], Blocks],
    times: ArrayLike | None,
    rtol: float,
    atol: float,
) -> Trajectory:
    """`atol` counts in units of the start where that is small: with a fixed one a start of 1e-20 would never leave the saddle."""
    size = float(np.abs(first).max())
    if size == 0:
        raise ProblemError("the flow starts at 0, which is a saddle, and never moves: give a start that is not zero.")
    if size < 1e-290:
        raise ProblemError(f"the start is too small ({size:.1g}) for numbers to grow from: give one above 1e-290.")
    wanted: Any = None if times is None else sorted_times("times", times)
    end = _horizon(problem, first) if wanted is None else float(wanted[-1])
    if end == 0:
        return Trajectory(problem, wanted, np.repeat(first[None], len(wanted), axis=0), unpack)
    refuse_stiffness(problem, end, size)
    with progress_bar(total=100, desc="gradient flow", unit="%") as bar:

        def watched(time: float, state: Array) -> Array:
            bar.update(max(0, int(100 * np.log1p(time) / np.log1p(end)) - bar.n))
            return velocity(state)

        solution = solve_ivp(
            watched, (0.0, end), first, method="LSODA", jac=lambda _, state: jacobian(state), t_eval=wanted,
            rtol=rtol, atol=atol * min(1.0, size),
        )  # fmt: skip
    if not solution.success:
        raise ProblemError(f"the flow was not solved up to t = {end:.3g} ({solution.message}): raise rtol or atol.")
    return Trajectory(problem, solution.t, solution.y.T, unpack)


def refuse_stiffness(problem: Problem, end: float, size: float = 0.0) -> None:
    """The fastest rate times the time, above which rounding alone keeps the solver's steps small for ever."""
    fastest = float(np.linalg.eigvalsh(curvature(problem))[-1] * np.linalg.eigvalsh(problem.covariance)[-1])
    strength = float(np.linalg.norm(optimal_map(problem)))
    span = fastest * max(strength, size * size) * end
    if span > STIFFEST and size * size > strength:
        raise ProblemError(
            f"from a start of size {size:.2g} the rates of the flow span {span:.0e}, and it can be solved to {STIFFEST:.0e}: "
            "give a smaller start, or times that end earlier."
        )
    if span > STIFFEST:
        kappa = np.linalg.cond(problem.covariance)
        raise ProblemError(
            f"up to t = {end:.2g} the rates of the flow span {span:.0e}, and it can be solved to {STIFFEST:.0e}: Λ has condition "
            f"number {kappa:.2g}; take a Λ with less, or give times that end earlier."
        )
