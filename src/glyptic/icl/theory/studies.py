"""What the commands of the theory compute: exact numbers beside sampled ones, ready to print and to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glyptic.icl.theory.diversity import diversity_limit, diversity_rows
from glyptic.icl.theory.flow import Trajectory, full_flow
from glyptic.icl.theory.labels import standard_laws
from glyptic.icl.theory.landscape import SPURIOUS, critical_points
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import excess, minimum_loss, optimal_blocks, optimal_map
from glyptic.icl.theory.problem import Array, Problem
from glyptic.icl.theory.random_covariance import RandomDiagonal
from glyptic.icl.theory.reduced import logistic, reduced_flow
from glyptic.icl.theory.risk import risk, slope
from glyptic.icl.theory.separate import SeparateFlow, learnt_shares, staircase
from glyptic.icl.theory.shifts import Shift, shifted_risk, standard_shifts
from glyptic.icl.theory.simulate import exponential_sampler, law_sampler, simulated_risk
from glyptic.icl.theory.theorem import pl_constant

Row = dict[str, Any]

# ---------------------------------------------------------------- flow


def flow_columns(path: Trajectory, sigma: float) -> dict[str, Array]:
    """Along a reduced flow from Θ = I: loss, balance, PL ratio, and the learnt share of every eigendirection of Λ."""
    problem, target = path.problem, optimal_map(path.problem).diagonal()
    path = path.thinned(300)
    learnt = np.array([path.blocks(i).p2 * path.blocks(i).K.diagonal() for i in range(len(path))]) / target
    columns = {"time": path.times, "excess": path.excess(), "p2": path.states[:, -2]}
    columns |= {"balance": path.balance(), "pl_ratio": path.pl_ratio()}
    columns |= {f"learnt_{i + 1}": learnt[:, i] for i in range(problem.d)}
    if np.ptp(problem.covariance.diagonal()) == 0:
        columns["logistic"] = logistic(problem, sigma, path.times) / (np.sqrt(problem.d) * target[0])
    return columns


def flow_check(path: Trajectory, start: Blocks) -> dict[str, Array]:
    """The same flow by all (d+1)² weights, at forty times."""
    other = full_flow(path.problem, start, np.geomspace(path.times[1], path.times[-1], 40))
    return {"time": other.times, "excess": other.excess()}


def seen_above_rounding(excess: Array) -> Array:
    """Where L − L* is more than rounding, in units of its largest value, whatever those of Λ; the first time always is."""
    seen: Array = excess > 1e-16 * excess.max()
    seen[0] = True
    return seen


def flow_rows(path: Trajectory, columns: dict[str, Array], sigma: float) -> list[Row]:
    """The end of the flow beside the closed form, and what the theorem promises along it."""
    problem, end, stated = path.problem, path.end, optimal_blocks(path.problem)
    ratio = columns["pl_ratio"][seen_above_rounding(columns["excess"])].min()
    balance = np.abs(columns["balance"]).max()
    return [
        {"quantity": "W^PV: p2", "flow": end.p2, "theorem": stated.p2, "difference": abs(end.p2 - stated.p2)},
        _compared("W^KQ: ‖K‖", end.K, stated.K),
        {"quantity": "loss L − L*", "flow": excess(problem, end), "theorem": 0, "difference": excess(problem, end)},
        {"quantity": "balance p2² − ‖K‖², worst", "flow": balance, "theorem": 0, "difference": balance},
        {"quantity": "PL ratio, least (theorem: ≥ μ)", "flow": ratio, "theorem": pl_constant(problem, sigma)},
        {"quantity": "time to the end", "flow": path.times[-1]},
    ]


def _compared(name: str, ours: Array, stated: Array) -> Row:
    norms = np.linalg.norm(ours), np.linalg.norm(stated)
    return {"quantity": name, "flow": norms[0], "theorem": norms[1], "difference": float(np.abs(ours - stated).max())}


# ---------------------------------------------------------------- risk


def risk_rows(problem: Problem, M: int, prompts: int, seed: int) -> list[Row]:
    """Every standard label law: the theorem's three parts, and the sampled risk if prompts > 0."""
    rows, model = [], optimal_blocks(problem)
    for index, law in enumerate(standard_laws(problem.d, seed)):
        parts = risk(problem, law.moments(problem.covariance), M)
        row: Row = {"law": law.name, "floor": parts.floor, "variance": parts.variance, "bias": parts.bias}
        row |= {"risk": parts.total, "noise_variance": parts.noise_variance}
        if prompts:
            sampler = law_sampler(law, problem.covariance)
            row |= _sampled(model, sampler, M, prompts, seed + index, law.name, parts.total)
        rows.append(row)
    return rows


def risk_by_M(problem: Problem, prompts: int, seed: int) -> Row:
    """The variance against the test length, for labels y = ⟨w, x⟩ with ‖w‖ = 1: exact, sampled, and the slope."""
    law = standard_laws(problem.d, seed)[0]
    moments, model = law.moments(problem.covariance), optimal_blocks(problem)
    lengths = [4, 8, 16, 32, 64, 128, 256]
    exact = [risk(problem, moments, M) for M in lengths]
    result: Row = {"length": lengths, "exact": [parts.variance for parts in exact], "sampled": None, "standard_error": None}
    result["slope"] = slope(lengths, result["exact"])
    if prompts:
        sampler, few = law_sampler(law, problem.covariance), max(1000, prompts // 4)
        seen = [simulated_risk(model, sampler, M, few, seed + M, f"M = {M}") for M in lengths]
        result["sampled"] = [s.mean - parts.floor - parts.bias for s, parts in zip(seen, exact, strict=True)]
        result["standard_error"] = [s.standard_error for s in seen]
    return result


def risk_by_N(problem: Problem, seed: int) -> Row:
    """The bias against the training length for the same labels; the slope over the last decade."""
    law = standard_laws(problem.d, seed)[0]
    lengths = np.unique(np.geomspace(problem.d, 1000 * problem.d, 25).astype(int))
    moments = law.moments(problem.covariance)
    trained = [Problem(problem.covariance, int(N), problem.prior, problem.noise_variance) for N in lengths]
    bias = np.array([risk(one, moments, np.inf).bias for one in trained])
    last = lengths >= lengths[-1] / 10
    return {"length": lengths, "exact": bias, "slope": slope(lengths[last], bias[last])}


# ---------------------------------------------------------------- shift


def shift_rows(problem: Problem, M: int, prompts: int, seed: int) -> list[Row]:
    """Every standard shift and training on random Λ: exact, relative to answering 0, the limit M → ∞, and sampled."""
    rows, model, P = [], optimal_blocks(problem), optimal_map(problem)
    for index, shift in enumerate(standard_shifts(problem, seed)):
        nothing = shift.signal_power
        exact, limit = shifted_risk(P, shift, M), shifted_risk(P, shift, np.inf)
        row: Row = {"shift": shift.name, "risk": exact, "relative": exact / nothing, "limit": limit / nothing}
        if prompts:
            row |= _sampled(model, shift.sample, M, prompts, seed + index, shift.name, exact)
        rows.append(row)
    law = RandomDiagonal(problem.d, noise_variance=problem.noise_variance)
    p = law.trained_map(problem.N)
    exact, limit = law.risk(p, M), law.risk(p, np.inf)
    row = {"shift": "Λ random, Exp(1)", "risk": exact, "relative": exact / problem.d, "limit": limit / problem.d}
    if prompts:
        sampler = exponential_sampler(problem.d, problem.noise_variance)
        row |= _sampled(p * np.eye(problem.d), sampler, M, prompts, seed, "Λ random", exact)
    return [*rows, row]


def scale_curves(problem: Problem, M: int) -> Row:
    """Risk, relative to answering 0, when every input is scaled by c; the model answers about c²⟨w, x_q⟩."""
    P, L, Psi, s2 = optimal_map(problem), problem.covariance, problem.prior, problem.noise_variance
    scales = np.linspace(0.2, 2.0, 181)
    curves = {
        f"M = {M}": [shifted_risk(P, Shift("", c * c * L, c * c * L, Psi, s2), M) for c in scales],
        "M → ∞": [shifted_risk(P, Shift("", c * c * L, c * c * L, Psi, s2), np.inf) for c in scales],
    }
    nothing = np.sum(L * Psi) * scales**2
    return {"c": scales, "curves": {label: np.array(values) / nothing for label, values in curves.items()}}


def random_curves(d: int) -> Row:
    """ŷ/⟨w, x_q⟩ on prompts with Λ = I, M → ∞, of models trained on λ_i ~ Exp(1) and on Λ = I, against N."""
    lengths = np.unique(np.geomspace(1, 1e5, 60).astype(int))
    law = RandomDiagonal(d)
    fixed = [float(optimal_map(Problem.isotropic(d, int(N)))[0, 0]) for N in lengths]
    return {"length": lengths, "answer": [law.trained_map(int(N)) for N in lengths], "fixed": fixed}


def _sampled(model: Blocks | Array, sampler: Any, M: int, prompts: int, seed: int, label: str, exact: float) -> Row:
    estimate = simulated_risk(model, sampler, M, prompts, seed, label)
    return {"sampled": estimate.mean, "standard_error": estimate.standard_error, "sigmas": round(estimate.sigmas(exact), 2)}


# ---------------------------------------------------------------- landscape


def minima_rows(problem: Problem, lengths: Sequence[int], tries: int, seed: int) -> list[Row]:
    """For every training length: how many spurious minima there are, of which kind, and the lowest of them beside L*.

    >>> for row in minima_rows(Problem([1.0, 1.0, 1.0], 1), [3, 10, 20], tries=5, seed=0):
    ...     print(row["N"], row["rank-one"], row["mixed"])
    3 1 0
    10 0 0
    20 0 1
    """
    rows = []
    for N in lengths:
        at = Problem(problem.covariance, N, problem.prior, problem.noise_variance)
        spurious = [point for point in critical_points(at, tries, seed) if point.kind == SPURIOUS]
        rank_one = sum(point.path == "p1·k" for point in spurious)
        row: Row = {"N": N, "rank-one": rank_one, "mixed": len(spurious) - rank_one, "minimum": minimum_loss(at)}
        rows.append(row | {"lowest spurious": spurious[0].loss if spurious else ""})
    return rows


# ---------------------------------------------------------------- separate keys and queries


def stair_rows(path: SeparateFlow, most: int) -> list[Row]:
    """Every stair that so many directions reach: its loss in closed form, and that of the nearest plateau of the flow."""
    stairs, plateaus = staircase(path.problem), path.plateaus()
    last = min(path.problem.d, most)
    seen = np.concatenate([path.losses()[:1], plateaus, path.losses()[-1:]])
    belongs = np.abs(seen[:, None] - stairs[None, : last + 1]).argmin(axis=1)
    rows: list[Row] = []
    for m, loss in enumerate(stairs[: last + 1]):
        mine = seen[belongs == m]
        row: Row = {"learnt": m, "closed form": loss}
        if len(mine):
            nearest = mine[np.abs(mine - loss).argmin()]
            row |= {"flow": nearest, "difference": nearest - loss}
        rows.append(row)
    return rows


def separate_columns(path: SeparateFlow) -> dict[str, Array]:
    """Along the flow, at most 600 times: loss, and the learnt share of each direction by falling λ²ψ."""
    losses = path.losses()
    level = np.searchsorted(-losses, -np.linspace(losses[0], losses[-1], 300))  # where the loss falls, and evenly between
    kept = np.unique(np.clip(np.concatenate([level, np.linspace(1, len(losses) - 1, 300).astype(int)]), 1, len(losses) - 1))
    columns = {"time": path.times[kept], "loss": losses[kept]}
    shares = learnt_shares(path.problem, path.maps()[kept])
    return columns | {f"learnt_{i + 1}": share for i, share in enumerate(shares.T)}


def merged_columns(problem: Problem, deviation: float, seed: int, end: float) -> dict[str, Array]:
    """The merged model from a Gaussian start of the same size, up to a time."""
    start = deviation * np.random.default_rng(seed).standard_normal(problem.d**2 + 1)
    zero = np.zeros(problem.d)
    first = Blocks(zero, start[0], start[1:].reshape(problem.d, problem.d), zero)
    path = reduced_flow(problem, first, end * np.geomspace(1e-6, 1, 400))
    return {"time": path.times, "loss": minimum_loss(problem) + path.excess()}


def as_rows(panel: str, columns: dict[str, Array]) -> list[Row]:
    """Columns as rows, each with the name of its panel."""
    return [{"panel": panel, **dict(zip(columns, values, strict=True))} for values in zip(*columns.values(), strict=True)]


# ---------------------------------------------------------------- task diversity


def task_counts(d: int) -> list[int]:
    """Numbers of tasks from 1 to 16 d, dense around d."""
    return sorted({max(1, round(d * share)) for share in (0, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 4, 8, 16)} | {1, 2})


def diversity_study(problem: Problem, tasks: Sequence[int], draws: int, M: int, seed: int) -> list[Row]:
    """Both models, with K alone and with the label block k, for every number of tasks."""
    rows: list[Row] = []
    for model, label_block in (("K", False), ("K and k", True)):
        rows += [{"model": model, **row} for row in diversity_rows(problem, tasks, M, draws, label_block, seed)]
    return rows


def diversity_curves(problem: Problem) -> list[Row]:
    """The limit on new tasks against T, over answering 0, for several training lengths N = M, and for endless prompts."""
    rows = []
    counts = np.unique(np.round(problem.d * np.geomspace(0.05, 16, 200)).astype(int).clip(1))
    for share in (0.5, 2, 8, 32, 10**6):
        N = max(1, round(share * problem.d))
        at = Problem(problem.covariance, N, problem.prior, problem.noise_variance)
        for T in counts:
            rows.append({"N": N, "tasks": int(T), "new_limit": diversity_limit(at, int(T), N).new / problem.signal_power})
    return rows
