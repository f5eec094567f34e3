"""What a cell of a sweep computes: a function from the cell to rows {learner, risk, error}.

`risk` is E(ŷ − ⟨w, x_q⟩)² after M examples, `error` its standard error (0 where it is exact).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from glyptic.icl.loss import loss
from glyptic.icl.lsa import predict
from glyptic.icl.optimum import optimal_blocks
from glyptic.icl.problem import Array, Problem, spectrum
from glyptic.icl.prompts import Prompts, anisotropic, sample
from glyptic.icl.tasks import Linear

Row = dict[str, Any]


class Cell(Protocol):
    """The coordinates that a measure reads; `sweeps.Cell` has them."""

    d: int
    N: int
    M: int
    spectrum: str
    noise: float
    seed: int
    prompts: int


def risk(cell: Cell) -> list[Row]:
    """Linear attention trained to its minimum at N and asked after M: exact and sampled; ridge beside it."""
    trained = optimal_blocks(_problem(cell, cell.N))
    exact = 2.0 * loss(_problem(cell, cell.M), trained)
    prompts = _prompts(cell)
    linear = predict(trained, prompts.context_x, prompts.context_y, prompts.query_x[:, -1])
    return [
        {"learner": "linear attention, exact", "risk": exact, "error": 0.0},
        _sampled("linear attention, sampled", linear, prompts),
        _sampled("ridge, Bayes-optimal", _ridge(prompts, cell.noise), prompts),
    ]


def train(cell: Cell) -> list[Row]:
    """Linear attention trained at N by 600 steps of Adam, and the exact minimum at N: both risks at M, exact."""
    import torch

    from glyptic.icl.learners import LinearAttention
    from glyptic.icl.theorem import initial_blocks
    from glyptic.icl.training import Plan
    from glyptic.icl.training import train as fit

    torch.set_num_threads(1)  # cells run side by side
    learner = LinearAttention(initial_blocks(_problem(cell, cell.N), scale=0.5))
    plan = Plan(steps=600, examples=cell.N, rate=0.05, seed=cell.seed)
    fit(learner, Linear(cell.d, cell.noise), plan, anisotropic(spectrum(cell.spectrum, cell.d)), progress=False)
    adam, best = learner.blocks(), optimal_blocks(_problem(cell, cell.N))
    test = _problem(cell, cell.M)
    return [
        {"learner": "linear attention, Adam", "risk": 2.0 * loss(test, adam), "error": 0.0},
        {"learner": "linear attention, exact", "risk": 2.0 * loss(test, best), "error": 0.0},
    ]


MEASURES: dict[str, Callable[[Any], list[Row]]] = {"risk": risk, "train": train}


def _problem(cell: Cell, examples: int) -> Problem:
    return Problem(spectrum(cell.spectrum, cell.d), examples, noise_variance=cell.noise**2)


def _prompts(cell: Cell) -> Prompts:
    rng = np.random.default_rng([cell.seed, cell.d, cell.N, cell.M])
    law = anisotropic(spectrum(cell.spectrum, cell.d))
    return sample(Linear(cell.d, cell.noise), rng, cell.prompts, cell.M, law)


def _sampled(name: str, answer: Array, prompts: Prompts) -> Row:
    error = (answer - prompts.target[:, -1]) ** 2
    return {"learner": name, "risk": float(error.mean()), "error": float(error.std() / np.sqrt(len(error)))}


def _ridge(prompts: Prompts, noise: float) -> Array:
    """ŷ = x_qᵀ(XᵀX + s²I)⁺Xᵀy for all prompts at once: the posterior mean for w ~ N(0, I)."""
    x, y = prompts.context_x, prompts.context_y
    gram = x.transpose(0, 2, 1) @ x + noise**2 * np.eye(x.shape[2])
    weights = np.einsum("bij,bnj,bn->bi", np.linalg.pinv(gram, hermitian=True), x, y)
    return np.einsum("bi,bi->b", weights, prompts.query_x[:, -1])
