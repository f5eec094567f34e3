"""In-context theory: the reduced flow against the full one, and the closed form against training.

Times are processor time of one thread, so that other processes on the machine do not count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import timing
from glyptic.icl.theory.flow import full_flow
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.optimum import excess, minimum_loss, optimal_blocks
from glyptic.icl.theory.problem import Problem, spectrum
from glyptic.icl.theory.reduced import reduced_flow
from glyptic.icl.theory.theorem import initial_blocks, threshold


def rows() -> list[dict[str, Any]]:
    timing.one_thread()
    return [*flow_rows(), training_row()]


def flow_rows() -> list[dict[str, Any]]:
    """From a random Θ, so that the off-diagonal entries take part; solved to the limit in both systems."""
    large, small = _problem(100), _problem(20)
    seconds = statistics.median(_seconds(lambda: reduced_flow(large, _start(large))) for _ in range(5))
    end = reduced_flow(large, _start(large)).end
    short = statistics.median(_seconds(lambda: reduced_flow(small, _start(small))) for _ in range(5))
    long = _seconds(lambda: full_flow(small, _start(small)))
    above, both = f"Λ = 1/i; ends at L − L* = {excess(large, end):.0e}", f"{long:.2f} s / {short:.3f} s"
    return [
        _row("reduced flow to its limit, d = 100", seconds, "s", "< 2", above),
        _row("reduced flow against all (d+1)² weights, d = 20", long / short, "×", ">= 10", both),
    ]


def training_row(d: int = 10, limit: float = 120.0) -> dict[str, Any]:
    """The closed form against Adam on fresh minibatches, until the exact loss is within 1 % of its minimum."""
    problem = Problem(spectrum("inverse", d), 2 * d)
    closed = statistics.median(_seconds(lambda: optimal_blocks(problem), repeat=100) for _ in range(5))
    trained, reached = _adam_seconds(problem, limit)
    note = f"Adam {trained:.1f} s to {reached - 1:.1%} excess, closed form {closed * 1e6:.0f} µs; d = {d}, N = {2 * d}"
    return _row("closed form against minibatch Adam to 1 % excess", trained / closed, "×", ">= 1000", note)


def _adam_seconds(problem: Problem, limit: float) -> tuple[float, float]:
    """Processor seconds of training alone (without the exact loss, checked every 25 steps), and L/L* reached."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    d, N, batch = problem.d, problem.N, 1024
    deviations = torch.tensor(np.sqrt(problem.covariance.diagonal()), dtype=torch.float32)
    start = initial_blocks(problem, threshold(problem) / 2)
    p, W = (torch.tensor(part, dtype=torch.float32, requires_grad=True) for part in _factors(start))
    optimiser = torch.optim.Adam([p, W], lr=0.01)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, gamma=0.997)
    best, spent, ratio, step = minimum_loss(problem), 0.0, float("inf"), 0
    while ratio > 1.01 and spent < limit:
        begin = time.process_time()
        for _ in range(25):
            x, w = torch.randn(batch, N + 1, d) * deviations, torch.randn(batch, d)
            y = torch.einsum("bnd,bd->bn", x, w)
            tokens = torch.cat([x, torch.cat([y[:, :N], torch.zeros(batch, 1)], 1)[..., None]], 2)
            answer = torch.einsum("bn,bnd,bd->b", tokens @ p, tokens @ W, x[:, N]) / N
            error = ((answer - y[:, N]) ** 2).mean() / 2
            optimiser.zero_grad()
            error.backward()
            optimiser.step()
            schedule.step()
        spent, step = spent + time.process_time() - begin, step + 25
        p_now, W_now = p.detach().numpy().astype(float), W.detach().numpy().astype(float)
        ratio = loss(problem, Blocks(p_now[:d], p_now[d], W_now[:d], W_now[d])) / best
    return spent, ratio


def _factors(blocks: Blocks) -> tuple[np.ndarray, np.ndarray]:
    """p = (p1, p2) and W = [K; kᵀ]: what the prediction reads."""
    return np.concatenate([blocks.p1, [blocks.p2]]), np.vstack([blocks.K, blocks.k])


def _problem(d: int) -> Problem:
    return Problem(spectrum("inverse", d), 2 * d)


def _start(problem: Problem) -> Blocks:
    Theta = np.random.default_rng(0).standard_normal((problem.d, problem.d))
    return initial_blocks(problem, threshold(problem) / 2, Theta)


def _seconds(work: Callable[[], object], repeat: int = 1) -> float:
    begin = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - begin) / repeat


def _row(name: str, value: float, unit: str, target: str, note: str) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "target": target, "note": note}
