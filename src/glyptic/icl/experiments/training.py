"""One short training loop for every in-context learner: fresh prompts every step, SGD or Adam, curriculum, restarts.

The loss is Zhang et al.'s, ½ E(ŷ − f(x_q))², against the noise-free value (label noise would only add a constant to it
and noise to its gradient). Batch t is drawn from the seed pair (seed, t), so a run that is stopped and resumed sees the
prompts that it would have seen, and ends at the same weights to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor

from glyptic.arguments import Count, Number, Seed, check_fields
from glyptic.icl.experiments.learners import Learner
from glyptic.icl.experiments.prompts import ORDINARY, Prompts, PromptShift, PromptTask, sample
from glyptic.icl.names import Length, PromptCount, Steps
from glyptic.progress import progress_bar
from glyptic.train.checkpoints import Checkpoint, History, fingerprint
from glyptic.train.schedule import rate_at
from glyptic.train.stepping import run_steps, update

Measure = Callable[[Any], dict[str, float]]


@dataclass(frozen=True)
class Curriculum:
    """Garg et al.'s: begin with few active coordinates and few examples, add some every `interval` steps."""

    start_d: Annotated[int, Count(1)]
    start_N: Annotated[int, Count(0)]
    interval: Steps
    more_d: Annotated[int, Count(0)] = 1
    more_N: Annotated[int, Count(0)] = 2

    def __post_init__(self) -> None:
        check_fields(self)

    def at(self, step: int, d: int, N: int) -> tuple[int, int]:
        """Active coordinates and examples at a step, never more than the task has.

        >>> [Curriculum(2, 4, interval=100).at(step, d=5, N=10) for step in (0, 100, 250, 999)]
        [(2, 4), (3, 6), (4, 8), (5, 10)]
        """
        raises = step // self.interval
        active, shown = self.start_d + raises * self.more_d, self.start_N + raises * self.more_N
        return min(d, active), min(N, shown)


@dataclass(frozen=True)
class PromptPlan:
    """Everything that decides a training run besides the learner and the task."""

    steps: Steps = 2000
    N: Length = 20
    batch: PromptCount = 256  # prompts a step
    rate: Annotated[float, Number(above=0)] = 1e-2
    optimizer: Literal["adam", "sgd"] = "adam"
    warmup: Annotated[int, Count(0)] = 0  # steps over which the rate rises from 0
    decay: bool = True  # cosine to 0 over the rest; off for SGD that follows the flow
    clip: Annotated[float, Number(above=0)] | None = None  # largest norm of the gradient
    every_query: bool = False  # train on all N + 1 queries of a prompt, not only on the last
    query_weights: tuple[float, ...] | None = None  # of the N + 1 queries, if every_query
    curriculum: Curriculum | None = None
    seed: Seed = 0
    record: Steps = 100  # steps between two entries of the history

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def identity(self) -> str:
        """As it stands in checkpoints, also in those that were written when the class was called Plan."""
        return repr(self).removeprefix("Prompt")

    def rate_at(self, step: int) -> float:
        return rate_at(step, self.rate, self.steps, self.warmup, "cosine" if self.decay else "constant")


def train(
    learner: Learner,
    task: PromptTask,
    plan: PromptPlan,
    shift: PromptShift = ORDINARY,
    measure: Measure | None = None,
    checkpoint: Path | None = None,
    progress: bool = True,
) -> History:
    """Train in place; the history has a row {step, loss, …measure(learner)} every `plan.record` steps.

    `loss` is the mean over the batches since the row before. With a `checkpoint` path the run is saved at every record
    and on Ctrl-C, and goes on from there when called again.
    """
    optimizer = _optimizer(learner, plan)
    saved = Checkpoint(checkpoint, f"{fingerprint(learner)} {task} {shift.name} {plan.identity}") if checkpoint else None
    step, history = saved.resume(learner, optimizer) if saved else (0, [])
    measure = measure or (lambda learner: {})
    history, losses = _uninterrupted(history, plan)
    if not history:
        history = [{"step": 0.0, "loss": _batch_loss(learner, task, plan, shift, 0).item(), **measure(learner)}]
    bar = progress_bar(total=plan.steps, initial=step, desc="training", disable=not progress)

    def advance(step: int, interrupted: Callable[[], bool]) -> bool:
        losses.append(_step(learner, optimizer, task, plan, shift, step))
        return interrupted()

    def after(step: int, stop: bool) -> bool:
        if step % plan.record == 0 or step == plan.steps or stop:
            history.append({"step": float(step), "loss": float(np.mean(losses)), **measure(learner)})
            losses.clear()
            bar.set_postfix_str(f"loss {history[-1]['loss']:.4g}", refresh=False)
            if saved:
                saved.save(learner, optimizer, step, history)
        return False

    run_steps(step, plan.steps, advance, after, bar)
    return history


def _uninterrupted(history: History, plan: PromptPlan) -> tuple[History, list[float]]:
    """The history without the row of a Ctrl-C between two records, and the losses of the steps that the row stood for."""
    if not history or history[-1]["step"] % plan.record == 0 or history[-1]["step"] == plan.steps:
        return history, []
    *kept, last = history
    return kept, [last["loss"]] * int(last["step"] - kept[-1]["step"])


def _optimizer(learner: Learner, plan: PromptPlan) -> torch.optim.Optimizer:
    if plan.optimizer == "sgd":
        return torch.optim.SGD(learner.parameters(), lr=plan.rate)
    return torch.optim.Adam(learner.parameters(), lr=plan.rate, betas=(0.9, 0.98), fused=True)


def _step(
    learner: Learner, optimizer: torch.optim.Optimizer, task: PromptTask, plan: PromptPlan, shift: PromptShift, step: int
) -> float:
    def backward() -> float:
        loss = _batch_loss(learner, task, plan, shift, step)
        loss.backward()
        return loss.item()

    remedy = f"use a smaller rate than {plan.rate:g}"
    return update(learner.parameters(), optimizer, plan.rate_at(step), plan.clip, backward, step, remedy)[0]


def _batch_loss(learner: Learner, task: PromptTask, plan: PromptPlan, shift: PromptShift, step: int) -> Tensor:
    active, N = plan.curriculum.at(step, task.d, plan.N) if plan.curriculum else (None, plan.N)
    prompts = sample(task, np.random.default_rng([plan.seed, step]), plan.batch, N, shift, active)
    context_x, context_y, query_x, target = as_tensors(learner, prompts)
    if not plan.every_query:
        return 0.5 * (learner(context_x, context_y, query_x[:, -1]) - target[:, -1]).square().mean()
    answer = learner.every_query(context_x, context_y, query_x[:, -1])
    error = 0.5 * (answer - target).square()
    if plan.query_weights is None:
        return error.mean()
    return (error * torch.tensor(plan.query_weights[: error.shape[1]], dtype=error.dtype)).mean()


def as_tensors(learner: Learner, prompts: Prompts) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """context_x, context_y, query_x, target in the learner's own precision."""
    dtype = next(learner.parameters()).dtype
    arrays = (prompts.context_x, prompts.context_y, prompts.query_x, prompts.target)
    x, y, query, target = (torch.from_numpy(np.ascontiguousarray(array)).to(dtype) for array in arrays)
    return x, y, query, target


@torch.no_grad()
def answers(learner: Learner, prompts: Prompts, counts: Sequence[int]) -> np.ndarray:
    """ŷ for every prompt and every number of examples in `counts`: (B, len(counts)); NaN queries stay NaN."""
    context_x, context_y, query_x, _ = as_tensors(learner, prompts)
    if prompts.queries_are_inputs:
        return learner.every_query(context_x, context_y, query_x[:, -1])[:, list(counts)].double().numpy()
    columns = [learner(context_x[:, :k], context_y[:, :k], query_x[:, k]).double().numpy() for k in counts]
    return np.stack(columns, axis=1)
