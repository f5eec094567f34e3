"""The function classes of Garg et al., *What Can Transformers Learn In-Context?* (2022), and two of their relatives.

Each is a law of functions: `draw` gives one function for each prompt. Scales are the paper's, so that the numbers are
comparable: a linear function has E f(x)² = d, a quadratic one about d, a ReLU net about d, a tree 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from glyptic.arguments import Count, Seed, check_fields, checked, shown
from glyptic.icl.experiments.prompts import Array, Function, PromptTask
from glyptic.icl.names import Dimension, Variance
from glyptic.icl.theory.problem import ProblemError, as_finite


class _Checked:
    """What is made with fields that do not fit is refused."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class _Weighted(_Checked):
    """One vector of weights a prompt, w ~ N(0, I), and a function of w and x."""

    d: Dimension = 5
    noise_variance: Variance = 0.0

    def draw(self, rng: np.random.Generator, prompts: int) -> Function:
        w = rng.standard_normal((prompts, self.d))
        return lambda x: self.values(x, w)

    def values(self, x: Array, w: Array) -> Array:
        raise NotImplementedError


class LinearTask(_Weighted):
    """f(x) = ⟨w, x⟩, w ~ N(0, I). With `noise_variance` > 0 it is the noisy task."""

    def values(self, x: Array, w: Array) -> Array:
        return _inner(x, w)

    def __str__(self) -> str:
        """As checkpoints have always called it: a run that was saved is known by its task."""
        return f"Linear(d={self.d}, noise_variance={self.noise_variance})"


class Quadratic(_Weighted):
    """f(x) = ⟨w, x²⟩/√3, coordinatewise square, w ~ N(0, I); E x⁴ = 3 makes E f² = d."""

    def values(self, x: Array, w: Array) -> Array:
        return _inner(x**2, w / np.sqrt(3.0))


class Classification(_Weighted):
    """f(x) = sign⟨w, x⟩ in {−1, +1}, w ~ N(0, I)."""

    def values(self, x: Array, w: Array) -> Array:
        return np.where(_inner(x, w) >= 0.0, 1.0, -1.0)


@dataclass(frozen=True)
class SparseLinear:
    """Linear with all but `nonzero` coordinates of w put to zero, chosen anew for each prompt."""

    d: Dimension = 5
    nonzero: Annotated[int, Count(1)] = 2
    noise_variance: Variance = 0.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.nonzero > self.d:
            raise ProblemError(f"{self.nonzero} nonzero weights do not fit d = {self.d}: use 1 to {self.d}.")

    def draw(self, rng: np.random.Generator, prompts: int) -> Function:
        w = rng.standard_normal((prompts, self.d))
        rank = rng.random((prompts, self.d)).argsort(axis=1).argsort(axis=1)
        w = np.where(rank < self.nonzero, w, 0.0)
        return lambda x: _inner(x, w)


@dataclass(frozen=True)
class ReluNet(_Checked):
    """f(x) = √(2/r) Σ_j a_j max(0, ⟨b_j, x⟩), a two-layer net with r = `width` hidden units, all weights N(0, 1)."""

    d: Dimension = 5
    width: Annotated[int, Count(1, 10**5)] = 20
    noise_variance: Variance = 0.0

    def draw(self, rng: np.random.Generator, prompts: int) -> Function:
        inner = rng.standard_normal((prompts, self.d, self.width))
        outer = rng.standard_normal((prompts, self.width)) * np.sqrt(2.0 / self.width)
        return lambda x: _inner(np.maximum(x @ inner, 0.0), outer)


@dataclass(frozen=True)
class DecisionTree(_Checked):
    """A full binary tree; every inner node asks for the sign of one random coordinate; leaves are N(0, 1)."""

    d: Dimension = 5
    depth: Annotated[int, Count(1, 20)] = 3
    noise_variance: Variance = 0.0

    def draw(self, rng: np.random.Generator, prompts: int) -> Function:
        asked = rng.integers(0, self.d, (prompts, 2**self.depth - 1))
        leaves = rng.standard_normal((prompts, 2**self.depth))
        return lambda x: _walk(asked, leaves, x, self.depth)


@dataclass(frozen=True, eq=False)
class TaskPool:
    """Linear, but w is one of T given vectors: the finite task diversity of Raventós et al."""

    weights: Array  # (T, d)
    noise_variance: Variance = 0.25

    def __post_init__(self) -> None:
        check_fields(self)
        weights = as_finite("weights of the pool", self.weights, (None, None))
        if weights.size == 0:
            raise ProblemError("the pool of tasks is empty: give it at least one row of weights.")
        object.__setattr__(self, "weights", weights)

    @classmethod
    @checked
    def draw_pool(cls, d: Dimension, tasks: Annotated[int, Count(1, 10**7)], noise_variance: Variance, seed: Seed) -> TaskPool:
        """T tasks from N(0, I)."""
        return cls(np.random.default_rng([seed, tasks]).standard_normal((tasks, d)), noise_variance)

    @property
    def d(self) -> int:
        return self.weights.shape[1]

    def draw(self, rng: np.random.Generator, prompts: int) -> Function:
        w = self.weights[rng.integers(0, len(self.weights), prompts)]
        return lambda x: _inner(x, w)


def _inner(x: Array, w: Array) -> Array:
    """⟨w, x⟩ for every point: (B, P, d), (B, d) -> (B, P)."""
    return np.einsum("bpd,bd->bp", x, w)


def _walk(asked: NDArray[np.int64], leaves: Array, x: Array, depth: int) -> Array:
    """Heap order: the children of node i are 2i + 1 and 2i + 2."""
    prompt = np.arange(len(x))[:, None]
    node = np.zeros(x.shape[:2], dtype=np.int64)
    for _ in range(depth):
        coordinate = np.take_along_axis(asked, node, axis=1)
        answer = np.take_along_axis(x, coordinate[:, :, None], axis=2)[:, :, 0] > 0.0
        node = 2 * node + 1 + answer
    return leaves[prompt, node - (2**depth - 1)]


TASKS: dict[str, Callable[[int], PromptTask]] = {
    "linear": lambda d: LinearTask(d),
    "noisy": lambda d: LinearTask(d, noise_variance=0.25),
    "sparse": lambda d: SparseLinear(d, nonzero=max(1, d // 4)),
    "relu": lambda d: ReluNet(d),
    "tree": lambda d: DecisionTree(d),
    "quadratic": lambda d: Quadratic(d),
    "classification": lambda d: Classification(d),
}


def task_named(name: str, d: int) -> PromptTask:
    """The task of that name in d dimensions.

    >>> task_named("noisy", 4)
    LinearTask(d=4, noise_variance=0.25)
    """
    if not isinstance(name, str) or name not in TASKS:
        raise ProblemError(f"no task {shown(name)}; there are {', '.join(TASKS)}.")
    return TASKS[name](Count(1, 1000)("d", d))
