"""The landscape of the full loss: its critical points, what their Hessians say, and where flows from anywhere end.

The theorem starts with p1 = k = 0, and from there all is well. Off it, for d ≥ 2, there are minima that are not global.
The simplest sends the whole signal through the other pair of blocks,

    p2 = 0,  K = 0,  p1 kᵀ = e_1e_1ᵀ/γ_1,      L = ½(tr Λ − λ_1²/γ_1):

one direction is learnt, since p1 kᵀ has rank one, and leaving it costs more than it brings. Where the other eigenvalues
are large enough (as for Λ = I) that point is a saddle, and the spurious minimum near it also uses p2 K a little.
The loss does not change under p → cp, [K; kᵀ] → [K; kᵀ]/c, so every minimum is a curve and has one flat direction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares
from tqdm import tqdm

from glyptic.icl.theory.loss import gradient, hessian, loss
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import minimum_loss, optimal_blocks, optimal_map
from glyptic.icl.theory.problem import Array, Problem, ProblemError, positive_count
from glyptic.icl.theory.quartic import Quartic

GLOBAL, SPURIOUS, SADDLE = "global minimum", "spurious minimum", "saddle"


@dataclass(frozen=True, eq=False)
class CriticalPoint:
    """A point where ∇L = 0 and the signs of its Hessian."""

    blocks: Blocks
    loss: float
    kind: str
    """"global minimum", "spurious minimum" or "saddle"."""
    descending: int
    """Directions along which L falls: negative eigenvalues."""
    flat: int
    """Zero eigenvalues; one is the scaling symmetry."""
    softest: float
    """The smallest positive eigenvalue: how strict a minimum is."""

    @property
    def path(self) -> str:
        """Which pair of blocks carries the signal: p2·K, p1·k, both or none."""
        label = self.blocks.p2 * np.linalg.norm(self.blocks.K)
        other = np.linalg.norm(self.blocks.p1) * np.linalg.norm(self.blocks.k)
        used = [name for name, size in (("p2·K", abs(label)), ("p1·k", other)) if size > 1e-6]
        return " + ".join(used) or "none"

    @property
    def key(self) -> tuple[float, int, int, str]:
        """Equal for points that the symmetries of the loss relate: its loss, its signs and its path."""
        return round(self.loss, 6), self.descending, self.flat, self.path


def classify(problem: Problem, blocks: Blocks, tolerance: float = 1e-7) -> CriticalPoint:
    """The kind of a critical point, by its exact Hessian; refuses a point that is not critical.

    >>> problem = Problem([1.0, 0.5], context_length=10)
    >>> classify(problem, optimal_blocks(problem)).kind, classify(problem, rank_one_point(problem)).kind
    ('global minimum', 'spurious minimum')
    """
    blocks = _balanced(blocks)
    slope = float(np.linalg.norm(gradient(problem, blocks).vector()))
    if slope > tolerance * (1 + float(np.linalg.norm(blocks.vector()))):
        raise ProblemError(f"this is not a critical point (‖∇L‖ = {slope:.2g}): polish it first.")
    value, eigenvalues = loss(problem, blocks), np.linalg.eigvalsh(hessian(problem, blocks))
    zero = tolerance * np.abs(eigenvalues).max()
    descending, positive = int(np.sum(eigenvalues < -zero)), eigenvalues[eigenvalues > zero]
    best = value <= minimum_loss(problem) * (1 + 1e-9)
    kind = SADDLE if descending else GLOBAL if best else SPURIOUS
    flat = len(eigenvalues) - descending - len(positive)
    return CriticalPoint(blocks, value, kind, descending, flat, float(positive.min(initial=np.inf)))


def _balanced(blocks: Blocks) -> Blocks:
    """The point of the same symmetry curve with ‖p‖ = ‖[K; kᵀ]‖, where the Hessian is best conditioned."""
    p, W = np.hypot(np.linalg.norm(blocks.p1), blocks.p2), np.hypot(np.linalg.norm(blocks.K), np.linalg.norm(blocks.k))
    if min(p, W) < 1e-6:  # one factor is zero: no signal passes, L = ½ tr ΛΨ, and the other may as well be zero
        return Blocks.from_vector(np.zeros((blocks.d + 1) ** 2))
    c = np.sqrt(W / p)
    return Blocks(c * blocks.p1, c * blocks.p2, blocks.K / c, blocks.k / c)


def rank_one_point(problem: Problem, direction: int = 0) -> Blocks:
    """p2 = 0, K = 0, p1 kᵀ = e e'/γ for the i-th eigenvector e of Λ, largest first: critical for every i (Ψ = I)."""
    eigenvalues, basis = np.linalg.eigh(optimal_map(problem))
    order = np.argsort(np.einsum("ij,ik,kj->j", basis, problem.covariance, basis))[::-1]
    e, inverse = basis[:, order[direction]], eigenvalues[order[direction]]
    side = np.sqrt(inverse) * e
    return Blocks(side, 0.0, np.zeros((problem.d, problem.d)), side)


def critical_points(problem: Problem, tries: int = 100, seed: int = 0) -> tuple[CriticalPoint, ...]:
    """Critical points, lowest first: the closed forms and what Levenberg–Marquardt on ∇L = 0 finds from random points.
    Points that the symmetries relate are listed once; the search is not a proof that no other exists.

    >>> points = critical_points(Problem([1.0, 0.5], context_length=10), tries=20)
    >>> points[0].kind, points[1].kind, round(points[1].loss, 6)
    ('global minimum', 'spurious minimum', 0.35)
    """
    quartic, rng, n = Quartic.of(problem), np.random.default_rng(seed), (problem.d + 1) ** 2
    found = [optimal_blocks(problem), Blocks.from_vector(np.zeros(n))]
    found += [rank_one_point(problem, direction) for direction in range(problem.d)]
    for _ in tqdm(range(tries), desc="critical points", leave=False, delay=1.0):
        first = rng.standard_normal(n)
        root = least_squares(_slope_of(quartic), first, jac=quartic.hessian, method="lm", max_nfev=400)
        if np.linalg.norm(root.fun) < 1e-10:
            found.append(Blocks.from_vector(root.x))
    return _distinct([classify(problem, blocks) for blocks in found])


def _slope_of(quartic: Quartic) -> Callable[[Array], Array]:
    return lambda theta: quartic.gradient(theta[None])[0]


def _distinct(points: list[CriticalPoint]) -> tuple[CriticalPoint, ...]:
    """One of each key; the lowest loss first, minima before saddles."""
    unique = {point.key: point for point in reversed(points)}
    return tuple(unique[key] for key in sorted(unique))


# ---------------------------------------------------------------- where flows end


@dataclass(frozen=True, eq=False)
class Basins:
    """Flows from many starts, and the critical points where they end."""

    times: Array
    """(T,)."""
    paths: Array
    """(T, B, (d+1)²): the weights of every flow."""
    losses: Array
    """(T, B)."""
    ends: tuple[CriticalPoint, ...]
    """The distinct ends, lowest loss first."""
    end_of: Array
    """(B,): which of `ends` each flow reaches."""

    def share(self, kind: str) -> float:
        """The share of the starts that end at a point of this kind."""
        return float(np.mean([self.ends[index].kind == kind for index in self.end_of]))


def basins(problem: Problem, starts: int = 400, scale: float = 0.1, seed: int = 0, horizon: float = 1e6) -> Basins:
    """Gradient flows from `starts` Gaussian starts, N(0, scale²) in every weight, followed to their ends.

    >>> found = basins(Problem([1.0, 0.5], context_length=10), starts=40)
    >>> found.share("spurious minimum") > 0.3
    True
    """
    quartic, rng, n = Quartic.of(problem), np.random.default_rng(seed), (problem.d + 1) ** 2
    if not 0 < scale <= 10:  # the flow's rates grow as the square of the weights: beyond that it is too stiff to solve
        raise ProblemError(f"flows from starts of scale {scale} cannot be followed: use a number above 0, at most 10.")
    if not 0.1 < horizon < np.inf:
        raise ProblemError(f"the flows have to be followed to a finite time above 0.1, not to {horizon}.")
    first = scale * rng.standard_normal((positive_count("number of starts", starts), n))
    times = np.concatenate([[0.0], np.geomspace(0.1, horizon, 160)])
    batches = np.array_split(first, max(1, starts // 50))
    batches = tqdm(batches, desc="gradient flows", unit="batch", leave=False, delay=1.0)
    paths = np.concatenate([_flows(quartic, batch, times) for batch in batches], axis=1)
    polished = [classify(problem, Blocks.from_vector(_polish(quartic, theta))) for theta in paths[-1]]
    ends = _distinct(polished)
    place = {point.key: index for index, point in enumerate(ends)}
    end_of = np.array([place[point.key] for point in polished])
    return Basins(times, paths, np.array([quartic.loss(row) for row in paths]), ends, end_of)


def _flows(quartic: Quartic, first: Array, times: Array) -> Array:
    """(T, B, n). The flows do not interact: the Jacobian is block-diagonal, which LSODA exploits as a band."""
    n = first.shape[1]
    solution = solve_ivp(
        lambda _, state: -quartic.gradient(state.reshape(-1, n)).ravel(),
        (0.0, times[-1]), first.ravel(), method="LSODA", t_eval=times, rtol=1e-7, atol=1e-10, lband=n - 1, uband=n - 1,
    )  # fmt: skip
    if not solution.success:
        raise ProblemError(f"the flows were not solved up to t = {times[-1]:.3g} ({solution.message}): use a smaller scale.")
    return solution.y.T.reshape(len(times), -1, n)


def _polish(quartic: Quartic, theta: Array) -> Array:
    """Newton's method across the flat directions: the critical point that the flow was about to reach."""
    for _ in range(50):
        slope = quartic.gradient(theta[None])[0]
        if np.linalg.norm(slope) < 1e-13:
            break
        theta = theta - np.linalg.pinv(quartic.hessian(theta), rcond=1e-8, hermitian=True) @ slope
    return theta
