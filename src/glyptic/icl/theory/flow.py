"""Gradient flow θ' = −∇L on the population loss: all (d+1)² weights, from any start, as a differential equation.

It is stiff (its rates span the square of Λ's condition number), so the solver is LSODA, which turns implicit where that
pays, with the exact Hessian. From the start of the theorem, `reduced.reduced_flow` gives the same in d + 2 equations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from tqdm import tqdm

from glyptic.icl.theory.loss import gradient, hessian
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import curvature, excess, optimal_map
from glyptic.icl.theory.problem import Array, Problem, ProblemError, as_finite
from glyptic.icl.theory.theorem import pl_ratio


@dataclass(frozen=True, eq=False)
class Trajectory:
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


def full_flow(
    problem: Problem, start: Blocks, times: ArrayLike | None = None, rtol: float = 1e-11, atol: float = 1e-14
) -> Trajectory:
    """The flow of all (d+1)² weights from any start, by the exact gradient and Hessian.

    >>> from glyptic.icl.theory.theorem import initial_blocks
    >>> problem = Problem([1.0, 0.5], context_length=12)
    >>> path = full_flow(problem, initial_blocks(problem, 0.1))
    >>> path.states.shape[1], bool(path.excess()[-1] < 1e-12)
    (9, True)
    """

    def velocity(_: float, state: Array) -> Array:
        return -gradient(problem, Blocks.from_vector(state)).vector()

    def jacobian(_: float, state: Array) -> Array:
        return -hessian(problem, Blocks.from_vector(state))

    return solve(problem, velocity, jacobian, start.vector(), Blocks.from_vector, times, rtol, atol)


def _sorted(name: str, times: ArrayLike) -> Array:
    array = as_finite(name, times, (None,))
    if len(array) == 0 or array[0] < 0 or np.any(np.diff(array) < 0):
        raise ProblemError(f"the {name} have to begin at 0 or later and rise: sort them, and give at least one.")
    return array


def _horizon(problem: Problem, first: Array) -> float:
    """A time by which the flow has converged: escape from the small start, then the slowest exponential, to e^−60."""
    signal = np.linalg.eigvalsh(problem.covariance @ problem.prior @ problem.covariance)
    slowest = np.linalg.eigvalsh(curvature(problem))[0] * np.linalg.eigvalsh(problem.covariance)[0]
    escape = np.log(1 + 1 / np.abs(first[first != 0]).max()) / signal.max()
    return float(10 * escape + 60 / (slowest * np.linalg.norm(optimal_map(problem))))


def solve(
    problem: Problem,
    velocity: Callable[[float, Array], Array],
    jacobian: Callable[[float, Array], Array],
    first: Array,
    unpack: Callable[[Array], Blocks],
    times: ArrayLike | None,
    rtol: float,
    atol: float,
) -> Trajectory:
    wanted: Any = None if times is None else _sorted("times", times)
    end = _horizon(problem, first) if wanted is None else float(wanted[-1])
    with tqdm(total=100, desc="gradient flow", unit="%", leave=False, delay=1.0) as bar:

        def watched(time: float, state: Array) -> Array:
            bar.update(max(0, int(100 * np.log1p(time) / np.log1p(end)) - bar.n))
            return velocity(time, state)

        solution = solve_ivp(
            watched, (0.0, end), first, method="LSODA", jac=jacobian, t_eval=wanted, rtol=rtol, atol=atol
        )
    if not solution.success:
        raise ProblemError(f"the flow was not solved up to t = {end:.3g} ({solution.message}): raise rtol or atol.")
    return Trajectory(problem, solution.t, solution.y.T, unpack)
