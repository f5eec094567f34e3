"""Steps one after another, until the last or Ctrl-C; and one step, from the loss to the new weights.

Whoever trains anything here goes through these two functions: the trainer, and the learners of `icl`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from glyptic.train.interruption import interruption
from glyptic.train.task import Diverged


def run_steps(
    first: int,
    steps: int,
    advance: Callable[[int, Callable[[], bool]], bool],
    after: Callable[[int, bool], bool],
    bar: Any,
) -> None:
    """Call advance(step, interrupted) for one step after another, and after(steps done, stop), which saves what there is.

    `advance` says whether the run is to stop here, for Ctrl-C came to it or to another of its processes: what is done is then
    saved by `after`, and KeyboardInterrupt raised. `after` says whether the run has come to an early end of its own.
    """
    with bar, interruption() as interrupted:
        for step in range(first, steps):
            stop = advance(step, interrupted)
            bar.update()
            if after(step + 1, stop):
                return
            if stop:
                raise KeyboardInterrupt


def update(
    parameters: Iterable[Tensor],
    optimizer: torch.optim.Optimizer,
    rate: float,
    clip: float | None,
    backward: Callable[[], float],
    step: int,
    remedy: str = "use a smaller rate",
) -> tuple[float, float]:
    """One step: `backward` makes the gradients and gives the loss; loss and norm of the gradient come back.

    If one of them is not finite the weights stay as they are, and `Diverged` says so.

    >>> weight = nn.Parameter(torch.tensor([3.0]))
    >>> def backward():
    ...     loss = (weight**2).sum()
    ...     loss.backward()
    ...     return loss.item()
    >>> update([weight], torch.optim.SGD([weight], lr=1.0), 0.25, None, backward, step=0), weight.item()
    ((9.0, 6.0), 1.5)
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)
    loss = backward()
    weights = list(parameters)
    norm = _whole(nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None]))
    for what, value in (("loss", loss), ("norm of the gradient", norm.item())):
        if not math.isfinite(value):
            raise Diverged(f"the {what} is {value} at step {step}: {remedy}.")
    if clip is not None:
        nn.utils.clip_grads_with_norm_(weights, clip, norm)
    optimizer.step()
    return loss, norm.item()


def _whole(norm: Tensor) -> Tensor:
    """The norm over all shards, where there are any."""
    return norm.full_tensor() if hasattr(norm, "full_tensor") else norm
