"""Keys and queries as matrices of their own: ŷ = bᵀXx_q, X = Σ_h v_h K_hᵀQ_h. Training goes down a staircase.

There are H heads, and every K_h and Q_h has r rows. The merged model has one matrix for K_hᵀQ_h. That practice
separates them, and what it changes, is studied by Zhang, Singh, Latham and Saxe, *Training Dynamics of In-Context
Learning in Linear Attention* (2025). Started at p1 = k = 0 both stay zero, and with G = ΛΨΛ − CXΛ = −∂L/∂X

    v_h' = tr K_hGQ_hᵀ,   K_h' = v_h Q_hGᵀ,   Q_h' = v_h K_hG,
    L = ½tr(ΛΨ) − ½‖T‖² + ½‖Y − T‖²,   Y = C^½XΛ^½,   T = C^−½ΛΨΛ^½.

**Fixed points.** Where the flow rests every head with v_h ≠ 0 has GQ_hᵀ = 0 and K_hG = 0, and the others add nothing
to X. So XᵀG = 0 and GXᵀ = 0, that is Yᵀ(T − Y) = 0 and (T − Y)Yᵀ = 0: Y consists of singular pairs of T. With τ_1,
τ_2, … the singular values, the loss at rest is

    L(S) = ½tr(ΛΨ) − ½ Σ_{i ∈ S} τ_i²        for a set S of at most Hr of the d directions, and any such S occurs.

This needs neither Ψ = I nor that Ψ and Λ commute. If they do, directions are their common eigenvectors, τ_i² =
λ_i²ψ_i P*_i, and G at S is diagonal with λ_i²ψ_i for i ∉ S and 0 else. A set that misses a direction, with a head to
spare, is a saddle: L falls along v_hK_hᵀQ_h against G ≠ 0.

**The way.** A small start is near the saddle S = ∅, and heads grow fastest along the largest λ_i²ψ_i; when it is
learnt G has lost it, the loss stays near L(S), and the next largest grows. So the plateaus are L(S_m), S_m the m
largest λ_i²ψ_i (for Ψ = I: eigenvalues), and the model does regression on m principal components. A head of rank one
that is balanced and aligned with direction i, v = ‖K‖ = ‖Q‖ = a, obeys a' = a²(λ_i²ψ_i − c_iλ_i a³), solved by
`head_time`: from a small a_0 it takes about 1/(a_0 λ_i²ψ_i).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from glyptic.arguments import Count, Number, Seed, checked
from glyptic.icl.names import Deviation
from glyptic.icl.theory.flow import STIFFEST, Times, refuse_stiffness, sorted_times
from glyptic.icl.theory.optimum import curvature, minimum_loss, optimal_map
from glyptic.icl.theory.problem import Array, Problem, ProblemError, as_finite
from glyptic.icl.theory.reduced import common_basis
from glyptic.showing import Showing

Heads = Annotated[int, Count(1, 64)]
Rank = Annotated[int, Count(1, 64)]
Size = Annotated[float, Number(above=0, most=1e6)]


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A set of learnt directions at which separate keys and queries rest."""

    directions: tuple[int, ...]
    """S: indices into the singular values τ of T, which fall."""
    loss: float
    """L(S)"""
    map: Array
    """X, (d, d), of rank |S|"""


@checked
def fixed_points(problem: Problem, most: Annotated[int, Count(0, 1000)] | None = None) -> list[FixedPoint]:
    """Every set S of at most `most` = Hr directions (d unless given), by loss: the flow rests at no other value. At most 65,536.

    >>> [(point.directions, round(point.loss, 3)) for point in fixed_points(Problem([1.0, 0.5], 10))]
    [((0, 1), 0.171), ((0,), 0.35), ((1,), 0.571), ((), 0.75)]
    """
    most = problem.d if most is None else min(most, problem.d)
    if problem.d > 16:
        raise ProblemError(f"{problem.d} directions have 2^{problem.d} sets: take d ≤ 16, or staircase for those on the way.")
    left, tau, right = _singular(problem)
    points = []
    for size in range(most + 1):
        for chosen in combinations(range(problem.d), size):
            S = list(chosen)
            X = (left[:, S] * tau[S]) @ right[S]
            points.append(FixedPoint(chosen, float(problem.signal_power - np.sum(tau[S] ** 2)) / 2, X))
    return sorted(points, key=lambda point: point.loss)


def _singular(problem: Problem) -> tuple[Array, Array, Array]:
    """(U, τ, V): T = Σ τ_i u_i v_iᵀ, with u_i, v_i already turned so that X = Σ τ_i U_i V_iᵀ has Y = Σ τ_i u_i v_iᵀ."""
    c, c_basis = np.linalg.eigh(curvature(problem))
    x, x_basis = np.linalg.eigh(problem.covariance)
    c_less, x_root, x_less = ((b * e**power) @ b.T for b, e, power in ((c_basis, c, -0.5), (x_basis, x, 0.5), (x_basis, x, -0.5)))
    u, tau, v = np.linalg.svd(c_less @ problem.covariance @ problem.prior @ x_root)
    return c_less @ u, tau, v @ x_less


@checked
def staircase(problem: Problem) -> Array:
    """L(S_0) … L(S_d), (d + 1,): the plateaus of a small start, directions by λ_i²ψ_i; the last is L*. Λ and Ψ commute.

    >>> staircase(Problem([1.0, 0.5], 10)).round(3)
    array([0.75 , 0.35 , 0.171])
    """
    _, signal, rates = _directions(problem)
    gains = np.where(signal > 0, signal * (signal / rates), 0.0)  # λ²ψ P*, of the directions in their order
    return (problem.signal_power - np.concatenate([[0.0], np.cumsum(gains)])) / 2


def _directions(problem: Problem) -> tuple[Array, Array, Array]:
    """The common basis, λ_i²ψ_i and c_iλ_i, by falling λ_i²ψ_i."""
    basis, lambdas, psis = common_basis(problem)
    signal = lambdas**2 * psis
    rates = ((1 + 1 / problem.N) * signal + problem.label_power / problem.N * lambdas) * lambdas
    order = np.argsort(-signal, kind="stable")
    return basis[:, order], signal[order], rates[order]


@checked
def learnt_shares(problem: Problem, maps: ArrayLike) -> Array:
    """X_ii/P*_ii of maps (…, d, d) along each direction, by falling λ_i²ψ_i, (…, d). Λ and Ψ commute, Ψ is invertible.

    >>> learnt_shares(Problem([0.5, 1.0], 10), [[0.0, 0.0], [0.0, 0.4]])        # the second eigenvalue is the first direction
    array([0.5, 0. ])
    """
    X = as_finite("the map X", maps)
    if X.shape[-2:] != problem.covariance.shape:
        raise ProblemError(f"the map X has shape {X.shape}, and its last two have to be d × d, d = {problem.d}.")
    basis, signal, rates = _directions(problem)
    if not signal[-1] > 0:
        raise ProblemError("a direction that the prior Ψ never uses is not learnt: give an invertible Ψ.")
    shares: Array = np.einsum("ai,...ab,bi->...i", basis, X, basis) * (rates / signal)
    return shares


@checked
def head_time(problem: Problem, direction: Annotated[int, Count(0, 999)], first: Size, reached: Size) -> float:
    """The time in which a balanced head of rank one, aligned with a direction, grows from `first` to `reached`, in closed form.

    Directions are counted from 0, by falling λ_i²ψ_i; the end of the growth is v³ = P*_i, after infinite time. Λ and Ψ commute.

    >>> round(head_time(Problem([1.0, 0.5], 10), 0, 1e-3, 0.8), 2)              # about 1/(v λ²) = 1000
    999.33
    """
    _, signal, rates = _directions(problem)
    if not direction < problem.d:
        raise ProblemError(f"the direction is {direction}, and they are counted from 0 to d − 1 = {problem.d - 1}.")
    g, end = signal[direction], np.cbrt(signal[direction] / rates[direction])
    if not first <= reached < end:
        raise ProblemError(f"along this direction v grows to {end:.6g}: give first ≤ reached below that.")
    # 1/(a²(g − ea³)) = 1/(g a²) + (e/g) a/(g − ea³), and with a = u·end the last is u/(1 − u³), up to a factor
    u = np.array([first, reached]) / end
    bend = -np.log1p(-u) / 3 + np.log1p(u + u * u) / 6 - np.arctan((2 * u + 1) / np.sqrt(3)) / np.sqrt(3)
    return float((1 / first - 1 / reached + (bend[1] - bend[0]) / end) / g)


@dataclass(frozen=True, eq=False)
class SeparateFlow(Showing):
    """A solved flow of separate keys and queries: for every time v (H,), K (H, r, d), Q (H, r, d), in the problem's own basis."""

    problem: Problem
    times: Array
    v: Array
    K: Array
    Q: Array

    def maps(self) -> Array:
        """X at each time, (times, d, d)."""
        X: Array = np.einsum("th,thra,thrb->tab", self.v, self.K, self.Q)
        return X

    def losses(self) -> Array:
        """L at each time."""
        difference = self.maps() - optimal_map(self.problem)
        C, L = curvature(self.problem), self.problem.covariance
        above = np.einsum("tab,tab->t", C @ difference, difference @ L) / 2
        return minimum_loss(self.problem) + above

    def speeds(self) -> Array:
        """−dL/dt = ‖θ'‖² at each time: small on a plateau."""
        moves = [_velocity(self.problem, v, K, Q) for v, K, Q in zip(self.v, self.K, self.Q, strict=True)]
        return np.array([sum(float(np.sum(part**2)) for part in move) for move in moves])

    def balance(self) -> Array:
        """The largest change of v_h² − ‖K_h‖² and of K_hK_hᵀ − Q_hQ_hᵀ since the start: zero on the exact flow."""
        norms = self.v**2 - np.sum(self.K**2, axis=(2, 3))
        grams = np.einsum("thra,thsa->thrs", self.K, self.K) - np.einsum("thra,thsa->thrs", self.Q, self.Q)
        drift = [np.abs(part - part[0]).reshape(len(self.times), -1).max(axis=1) for part in (norms, grams)]
        balance: Array = np.maximum(*drift)
        return balance

    def plateaus(self) -> Array:
        """The losses at which the flow lingers: its speed has fallen to a tenth of a peak, and rises tenfold again after them."""
        speed, loss = self.speeds(), self.losses()
        speed = np.maximum(speed, 1e-12 * speed.max())  # below that the solver's own errors move it
        found, falling, turn = [], False, 0  # `turn`: where the peak, or the bottom, of the present stretch is
        for index in range(1, len(speed)):
            if (speed[index] < speed[turn]) == falling and speed[index] != speed[turn]:
                turn = index
            elif falling and speed[index] > 10 * speed[turn]:
                found.append(loss[turn])
                falling, turn = False, index
            elif not falling and speed[index] < speed[turn] / 10:
                falling, turn = True, index
        return np.array(found)


def _velocity(problem: Problem, v: Array, K: Array, Q: Array) -> tuple[Array, Array, Array]:
    L = problem.covariance
    G = L @ problem.prior @ L - curvature(problem) @ np.einsum("h,hra,hrb->ab", v, K, Q) @ L
    KG = K @ G
    return np.sum(KG * Q, axis=(1, 2)), v[:, None, None] * (Q @ G.T), v[:, None, None] * KG


@checked
def separate_flow(
    problem: Problem, heads: Heads = 1, rank: Rank = 1, deviation: Deviation = 0.01, seed: Seed = 0, times: Times | None = None
) -> SeparateFlow:
    """Gradient flow of H heads of rank r from a Gaussian start, to its rest or at the given times.

    >>> problem = Problem([1.0, 0.5], 10)
    >>> path = separate_flow(problem, heads=2)
    >>> path.plateaus().round(2), path.losses()[[0, -1]].round(3)               # L(S_1) on the way from L(S_0) to L*
    (array([0.35]), array([0.75 , 0.171]))
    """
    d, rng = problem.d, np.random.default_rng(seed)
    if heads * (1 + 2 * rank * d) > 1000:
        raise ProblemError(f"{heads} heads of rank {rank} in dimension {d} have too many weights: take at most 1000.")
    first = deviation * rng.standard_normal(heads * (1 + 2 * rank * d))
    L, C = problem.covariance, curvature(problem)
    signal = L @ problem.prior @ L

    def parts(state: Array) -> tuple[Array, Array, Array]:
        v, rest = state[:heads], state[heads:].reshape(2, heads, rank, d)
        return v, rest[0], rest[1]

    def velocity(_: float, state: Array) -> Array:
        v, K, Q = parts(state)
        scaled = v[:, None, None] * K
        G = signal - C @ (scaled.reshape(-1, d).T @ Q.reshape(-1, d)) @ L
        KG = K @ G
        faster = v[:, None, None] * np.stack([Q @ G.T, KG])
        return np.concatenate([np.sum(KG * Q, axis=(1, 2)), faster.ravel()])

    if times is None:
        seen, states = _to_rest(problem, velocity, first, lambda state: _excess(problem, *parts(state)), heads * rank, deviation)
    else:
        seen = sorted_times("times", times)
        states = np.repeat(first[None], len(seen), axis=0) if seen[-1] == 0 else _at(problem, velocity, first, deviation, seen)
    v, rest = states[:, :heads], states[:, heads:].reshape(len(seen), 2, heads, rank, d)
    return SeparateFlow(problem, seen, v, rest[:, 0], rest[:, 1])


Velocity = Callable[[float, Array], Array]


def _excess(problem: Problem, v: Array, K: Array, Q: Array) -> float:
    """L − L*"""
    difference = np.einsum("h,hra,hrb->ab", v, K, Q) - optimal_map(problem)
    return float(np.sum((curvature(problem) @ difference) * (difference @ problem.covariance)) / 2)


def _at(problem: Problem, velocity: Velocity, first: Array, deviation: float, times: Array) -> Array:
    refuse_stiffness(problem, float(times[-1]))
    solution = solve_ivp(velocity, (0.0, float(times[-1])), first, t_eval=times, **_solver(deviation))
    if not solution.success:
        raise ProblemError(f"the flow was not solved ({solution.message}): use a smaller deviation, or times that end earlier.")
    states: Array = solution.y.T
    return states


def _to_rest(
    problem: Problem, velocity: Velocity, first: Array, above: Callable[[Array], float], most: int, deviation: float
) -> tuple[Array, Array]:
    """Until the loss is at the lowest that so many directions reach, to a millionth of a percent of its fall."""
    _, tau, _ = _singular(problem)
    lowest, near = float(np.sum(tau[most:] ** 2)) / 2, 1e-8 * float(np.sum(tau**2)) / 2
    # Directions that are learnt wait beside those that are not; how long, a solver stands as long as `flow.STIFFEST` says.
    fastest = float(np.linalg.eigvalsh(curvature(problem))[-1] * np.linalg.eigvalsh(problem.covariance)[-1])
    signal = np.linalg.eigvalsh(problem.covariance @ problem.prior @ problem.covariance)
    slowest = signal[signal > 1e-12 * signal[-1]][0]
    small = min(deviation, float(np.cbrt(np.linalg.norm(optimal_map(problem)))))
    end = min(1000 / (small * slowest), STIFFEST / (fastest * float(np.linalg.norm(optimal_map(problem)))))

    def arrived(_: float, state: Array) -> float:
        return above(state) - lowest - near

    arrived.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(velocity, (0.0, end), first, events=arrived, **_solver(deviation))
    if solution.status != 1:
        raise ProblemError(
            f"by t = {solution.t[-1]:.3g} the flow has not come to rest: eigenvalues are too far apart for a start of deviation "
            f"{deviation:g}, or it is too large; change it, take a Λ of smaller condition number, or give the times."
        )
    return solution.t, solution.y.T


def _solver(deviation: float) -> dict[str, Any]:
    return {"method": "LSODA", "rtol": 1e-9, "atol": 1e-12 * min(1.0, deviation)}
