"""The landscape of the full loss: its critical points, what their Hessians say, and where flows from anywhere end.

The theorem starts with p1 = k = 0, and from there all is well. Off it there may be minima that are not global, or none: that
depends on d, N and Λ. Two kinds are known. The *rank-one point* sends the whole signal through the other pair of blocks,

    p2 = 0,  K = 0,  p1 kᵀ = e_1e_1ᵀ/γ_1,      L = ½(tr Λ − λ_1²/γ_1)      (Ψ = I, s = 0):

one direction is learnt, since p1 kᵀ has rank one. It is critical for every Λ and N and, for d ≥ 2, a saddle once N is large
enough: in (p2, K_jj), j > 1, the Hessian tends to [·, −λ_j²; −λ_j², 0] with N → ∞. The *mixed point* near it also uses p2 K. For
Λ = λI `isotropic` lists all critical points, and proves for each (d, N) which of the two is a minimum, if any; for other Λ
`critical_points` searches: all axes of Λ closely, everything else from random points.

The loss does not change under p → cp, [K; kᵀ] → [K; kᵀ]/c, so every minimum is a curve and has one flat direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy.integrate import solve_ivp

from glyptic.arguments import Count, Number, Seed, checked
from glyptic.icl.names import Deviation
from glyptic.icl.theory.flow import slowest_time
from glyptic.icl.theory.loss import gradient, hessian, loss
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import curvature, minimum_loss, optimal_blocks, optimal_map
from glyptic.icl.theory.problem import Array, Problem, ProblemError
from glyptic.icl.theory.profile import Profile
from glyptic.icl.theory.quartic import Quartic
from glyptic.progress import progress_bar
from glyptic.showing import Showing

GLOBAL, SPURIOUS, SADDLE = "global minimum", "spurious minimum", "saddle"


@dataclass(frozen=True, eq=False)
class CriticalPoint(Showing):
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
        label = abs(self.blocks.p2) * np.linalg.norm(self.blocks.K)
        other = np.linalg.norm(self.blocks.p1) * np.linalg.norm(self.blocks.k)
        used = [name for name, size in (("p2·K", label), ("p1·k", other)) if size > 1e-6 * (label + other)]
        return " + ".join(used) or "none"

    @property
    def angle(self) -> float:
        """φ in p = ‖p‖ (cos φ e, ± sin φ), from 0 (all through p1·k) to π/2 (all through p2·K); NaN at θ = 0."""
        p1, p2 = float(np.linalg.norm(self.blocks.p1)), abs(float(self.blocks.p2))
        return float(np.arctan2(p2, p1)) if p1 or p2 else float("nan")

    def same(self, other: CriticalPoint) -> bool:
        """Whether the symmetries of the loss relate the two: the same signs and path, and the same loss up to rounding."""
        alike = (self.descending, self.flat, self.path) == (other.descending, other.flat, other.path)
        return alike and abs(self.loss - other.loss) <= 1e-7 * max(self.loss, other.loss)


@checked
def classify(problem: Problem, blocks: Blocks, tolerance: Annotated[float, Number(above=0, most=1e-2)] = 1e-7) -> CriticalPoint:
    """The kind of a critical point, by its exact Hessian; refuses a point that is not critical.

    >>> problem = Problem([1.0, 0.5], 10)
    >>> classify(problem, optimal_blocks(problem)).kind, classify(problem, rank_one_point(problem)).kind
    ('global minimum', 'spurious minimum')
    """
    strength, power = float(np.linalg.norm(optimal_map(problem))), problem.signal_power / 2  # power: L at θ = 0
    blocks = _balanced(blocks, strength)
    size = max(float(np.linalg.norm(blocks.vector())), float(np.sqrt(strength)))
    slope = float(np.linalg.norm(gradient(problem, blocks).vector()))
    if slope * size > tolerance * power:  # both in units of the loss, whatever the size of Λ
        raise ProblemError(f"this is not a critical point (‖∇L‖ = {slope:.2g}): polish it first.")
    value, eigenvalues = loss(problem, blocks), np.linalg.eigvalsh(hessian(problem, blocks))
    zero = tolerance * np.abs(eigenvalues).max()
    descending, positive = int(np.sum(eigenvalues < -zero)), eigenvalues[eigenvalues > zero]
    best = value - minimum_loss(problem) <= 1e-9 * power
    kind = SADDLE if descending else GLOBAL if best else SPURIOUS
    flat = len(eigenvalues) - descending - len(positive)
    return CriticalPoint(blocks, value, kind, descending, flat, float(positive.min(initial=np.inf)))


def _balanced(blocks: Blocks, strength: float) -> Blocks:
    """The point of the same symmetry curve with ‖p‖ = ‖[K; kᵀ]‖, where the Hessian is best conditioned; strength is ‖P*‖."""
    p, W = np.hypot(np.linalg.norm(blocks.p1), blocks.p2), np.hypot(np.linalg.norm(blocks.K), np.linalg.norm(blocks.k))
    if p * W < 1e-9 * strength:  # no signal passes, L = ½ tr ΛΨ: both may as well be zero
        return Blocks.from_vector(np.zeros((blocks.d + 1) ** 2))
    c = np.sqrt(W / p)
    return Blocks(c * blocks.p1, c * blocks.p2, blocks.K / c, blocks.k / c)


@checked
def rank_one_point(problem: Problem, direction: Annotated[int, Count(0)] = 0) -> Blocks:
    """p2 = 0, K = 0, and p1 kᵀ the i-th rank-one part of P*, strongest first: critical for every i, Λ, Ψ and N.

    With p2 K = 0 the loss is L* + ½‖C^½(p1kᵀ − P*)Λ^½‖²: the parts are those of the singular values of C^½P*Λ^½, and for Ψ = I
    e_ie_iᵀ/γ_i with the eigenvectors of Λ. The even part of ŷ is zero there to first order, so nothing else pulls.

    >>> rank_one_point(Problem([1.0, 0.5], 10), 1).k.round(6)                 # γ_2 = 0.7
    array([0.      , 1.195229])
    """
    rank = int(np.linalg.matrix_rank(problem.prior, hermitian=True))
    if direction >= rank:
        raise ProblemError(f"there is no direction {direction}: Ψ has rank {rank}, so they are 0 to {rank - 1}.")
    (root_C, inverse_C), (root_L, inverse_L) = _roots(curvature(problem)), _roots(problem.covariance)
    left, strengths, right = np.linalg.svd(root_C @ optimal_map(problem) @ root_L)
    p1, k = inverse_C @ left[:, direction], inverse_L @ right[direction]
    p1, k = (side * np.sign(p1[np.argmax(np.abs(p1))]) for side in (p1, k))
    ratio = np.sqrt(np.linalg.norm(k) / np.linalg.norm(p1))  # ‖p1‖ = ‖k‖
    strength = np.sqrt(strengths[direction])
    return Blocks(strength * ratio * p1, 0.0, np.zeros((problem.d, problem.d)), strength / ratio * k)


def _roots(matrix: Array) -> tuple[Array, Array]:
    """The symmetric square root and its inverse."""
    eigenvalues, basis = np.linalg.eigh(matrix)
    return (basis * np.sqrt(eigenvalues)) @ basis.T, (basis / np.sqrt(eigenvalues)) @ basis.T


@checked
def critical_points(problem: Problem, tries: Annotated[int, Count(0, 10**6)] = 100, seed: Seed = 0) -> tuple[CriticalPoint, ...]:
    """Critical points, lowest first: the closed forms, those on the axes of Λ, and what is found from random points.

    Points that the symmetries relate are listed once. The search is in the d + 1 numbers of `profile`; it is a proof that
    no other exists only for Λ = λI, Ψ = ψI (see `isotropic`). Needs d ≤ 5 and an invertible Ψ.

    >>> points = critical_points(Problem([1.0, 0.5], 10), tries=20)
    >>> points[0].kind, points[1].kind, round(points[1].loss, 6)
    ('global minimum', 'spurious minimum', 0.35)
    """
    if np.linalg.matrix_rank(problem.prior, hermitian=True) < problem.d:
        raise ProblemError("the critical points are searched for an invertible prior Ψ: add a small multiple of I to it.")
    profile, rng = Profile.of(problem), np.random.default_rng(seed)
    ends = [rank_one_point(problem, direction) for direction in range(problem.d)]
    found = [optimal_blocks(problem), Blocks.from_vector(np.zeros((problem.d + 1) ** 2)), *ends]
    guesses = [p for end in ends for p in profile.critical_on(end.p1 / np.linalg.norm(end.p1))]
    guesses += list(rng.standard_normal((tries, problem.d + 1)))
    for guess in progress_bar(guesses, desc="critical points"):
        p = profile.critical_near(guess)
        if p is not None:
            found.append(Blocks.from_vector(profile.weights(p)))
    kappa = np.linalg.cond(problem.covariance)
    lost = f"rounding hides the critical points of a Λ of condition number {kappa:.2g}: take eigenvalues nearer to each other."
    return _distinct([_classified(problem, blocks, lost) for blocks in found])


def _classified(problem: Problem, blocks: Blocks, lost: str) -> CriticalPoint:
    """The kind of a point that ought to be critical; if it is not, what the caller can do."""
    try:
        return classify(problem, blocks)
    except ProblemError:
        raise ProblemError(lost) from None


def _distinct(points: list[CriticalPoint]) -> tuple[CriticalPoint, ...]:
    """One of those that are the same; the lowest loss first, minima before saddles."""
    unique: list[CriticalPoint] = []
    for point in sorted(points, key=lambda point: (point.loss, point.descending)):
        if not any(point.same(other) for other in unique):
            unique.append(point)
    return tuple(unique)


# ---------------------------------------------------------------- where flows end


@dataclass(frozen=True, eq=False)
class Basins(Showing):
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

    def share_at(self, point: CriticalPoint) -> float:
        """The share of the starts that end at this critical point, or at one that a symmetry makes of it."""
        return float(np.mean([self.ends[index].same(point) for index in self.end_of]))


@checked
def basins(
    problem: Problem,
    starts: Annotated[int, Count(1, 10**6)] = 400,
    deviation: Deviation = 0.1,
    seed: Seed = 0,
) -> Basins:
    """Gradient flows from so many Gaussian starts, N(0, deviation²) in every weight, followed to their ends.

    >>> found = basins(Problem([1.0, 0.5], 10), starts=40)
    >>> found.share("spurious minimum") > 0.3
    True
    """
    quartic, rng, n = Quartic.of(problem), np.random.default_rng(seed), (problem.d + 1) ** 2
    first = deviation * rng.standard_normal((starts, n))
    horizon = 1e5 * slowest_time(problem)
    times = np.concatenate([[0.0], horizon * np.geomspace(1e-8, 1.0, 180)])
    batches = np.array_split(first, max(1, starts // 50))
    batches = progress_bar(batches, desc="gradient flows", unit="batch")
    paths = np.concatenate([_flows(quartic, batch, times) for batch in batches], axis=1)
    losses = np.array([quartic.loss(row) for row in paths])
    lost = (
        f"by t = {horizon:.3g} not every flow from a start of deviation {deviation:g} has come near a critical point: "
        "use a smaller deviation, and a Λ whose eigenvalues are near 1 and near each other."
    )
    polished = [_classified(problem, Blocks.from_vector(_polish(quartic, theta)), lost) for theta in paths[-1]]
    late = sum(abs(point.loss - end) > 1e-4 * quartic.constant for point, end in zip(polished, losses[-1], strict=True))
    if late:
        raise ProblemError(f"{late} of {starts} flows have not ended by t = {horizon:.3g}: Λ has eigenvalues too far apart.")
    ends = _distinct(polished)
    end_of = np.array([next(index for index, end in enumerate(ends) if point.same(end)) for point in polished])
    return Basins(times, paths, losses, ends, end_of)


def _flows(quartic: Quartic, first: Array, times: Array) -> Array:
    """(T, B, n). The flows do not interact: the Jacobian is block-diagonal, which LSODA exploits as a band."""
    n = first.shape[1]
    atol = 1e-10 * min(1.0, float(np.abs(first).max()))  # in units of the start: else a small one never leaves the saddle at 0
    solution = solve_ivp(
        lambda _, state: -quartic.gradient(state.reshape(-1, n)).ravel(),
        (0.0, times[-1]), first.ravel(), method="LSODA", t_eval=times, rtol=1e-7, atol=atol, lband=n - 1, uband=n - 1,
    )  # fmt: skip
    if not solution.success:
        raise ProblemError(f"the flows were not solved up to t = {times[-1]:.3g} ({solution.message}): use a smaller deviation.")
    return solution.y.T.reshape(len(times), -1, n)


def _polish(quartic: Quartic, theta: Array) -> Array:
    """Newton's method across the flat directions: the critical point that the flow was about to reach."""
    for _ in range(50):
        slope = quartic.gradient(theta[None])[0]
        if np.linalg.norm(slope) < 1e-13:
            break
        theta = theta - np.linalg.pinv(quartic.hessian(theta), rcond=1e-8, hermitian=True) @ slope
    return theta
