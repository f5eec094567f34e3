"""A batch of in-context problems as a value, and how one is drawn from a task, with or without a shift.

A prompt shows N examples (x_i, y_i) of one unknown function. Query k is asked after the first k examples, so one prompt holds
N + 1 questions. In an ordinary prompt query k *is* the input of example k, as in Garg et al.; a shift may ask elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray

from glyptic.arguments import Count, checked
from glyptic.icl.names import PromptCount
from glyptic.icl.theory.problem import ProblemError, as_finite, finite, non_negative

Array = NDArray[np.float64]
Function = Callable[[Array], Array]  # (prompts, points, d) -> (prompts, points): one function for each prompt
Inputs = Callable[[np.random.Generator, int, int, int], tuple[Array, Array]]  # rng, prompts, N, d -> context, queries


@dataclass(frozen=True)
class Prompts:
    """What a learner sees (`context_x`, `context_y`, `query_x`) and the noise-free answers (`target`)."""

    context_x: Array  # (B, N, d)
    context_y: Array  # (B, N), with label noise
    query_x: Array  # (B, N + 1, d); row k is asked after the first k examples
    target: Array  # (B, N + 1), without label noise

    @property
    def count(self) -> int:
        return self.context_x.shape[0]

    @property
    def N(self) -> int:
        """Examples in a prompt."""
        return self.context_x.shape[1]

    @property
    def queries_are_inputs(self) -> bool:
        """True for an ordinary prompt, whose query k is the input of example k: all queries fit into one sequence."""
        return bool(np.array_equal(self.query_x[:, :-1], self.context_x))

    def first(self, count: int) -> Prompts:
        """The first `count` prompts; slow baselines are measured on fewer."""
        return Prompts(self.context_x[:count], self.context_y[:count], self.query_x[:count], self.target[:count])


class PromptTask(Protocol):
    """A law of functions on R^d."""

    @property
    def d(self) -> int: ...

    @property
    def noise_variance(self) -> float:
        """s², variance of the label noise."""
        ...

    def draw(self, rng: np.random.Generator, prompts: int) -> Function:
        """One function for each prompt."""
        ...


def gaussian_inputs(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
    """x ~ N(0, I); query k is the input of example k."""
    x = rng.standard_normal((prompts, N + 1, d))
    return x[:, :-1], x


@dataclass(frozen=True)
class PromptShift:
    """How the prompts at test time differ from N(0, I) inputs and the task's own labels."""

    name: str
    explanation: str
    inputs: Inputs = gaussian_inputs
    label_scale: float = 1.0
    extra_noise_variance: float = 0.0

    def __post_init__(self) -> None:
        finite(f"scale of the labels in the shift {self.name}", self.label_scale)
        non_negative(f"noise variance of the shift {self.name}", self.extra_noise_variance)


def anisotropic(spectrum: Array) -> PromptShift:
    """Inputs from N(0, diag(spectrum)): the covariates of Zhang et al. with Λ diagonal."""
    variances = as_finite("spectrum", spectrum, (None,))
    if np.any(variances < 0):
        raise ProblemError(f"the spectrum holds {variances.min():g}: variances are 0 or more.")
    deviations = np.sqrt(variances)

    def inputs(rng: np.random.Generator, prompts: int, N: int, d: int) -> tuple[Array, Array]:
        if deviations.shape != (d,):
            raise ProblemError(f"the spectrum has {deviations.size} numbers but d = {d}: give one for each.")
        context, query = gaussian_inputs(rng, prompts, N, d)
        return context * deviations, query * deviations

    values = ",".join(f"{value:.17g}" for value in variances)
    return PromptShift(f"spectrum:{values}", "x ~ N(0, Λ)", inputs)


ORDINARY = PromptShift("none", "x ~ N(0, I)")


@checked
def sample(
    task: PromptTask,
    rng: np.random.Generator,
    prompts: PromptCount,
    N: Annotated[int, Count(0, 10**9)],
    shift: PromptShift = ORDINARY,
    active: Annotated[int, Count(0)] | None = None,
) -> Prompts:
    """Draw prompts; `active` keeps only the first coordinates of the inputs (Garg et al.'s curriculum over d).

    >>> from glyptic.icl.experiments.tasks import LinearTask
    >>> prompts = sample(LinearTask(d=3), np.random.default_rng(0), prompts=2, N=4)
    >>> prompts.context_x.shape, prompts.query_x.shape, prompts.queries_are_inputs
    ((2, 4, 3), (2, 5, 3), True)
    """
    if prompts * (N + 1) * task.d > 10**9:
        raise ProblemError(f"{prompts} prompts of {N} examples in dimension {task.d} do not fit into memory: draw fewer.")
    context_x, query_x = shift.inputs(rng, prompts, N, task.d)
    if active is not None:
        keep = np.arange(task.d) < active
        context_x, query_x = context_x * keep, query_x * keep
    function = task.draw(rng, prompts)
    clean = shift.label_scale * function(context_x)
    noise = np.sqrt(task.noise_variance + shift.extra_noise_variance) * rng.standard_normal(clean.shape)
    return Prompts(context_x, clean + noise, query_x, shift.label_scale * function(query_x))
