"""What is learned: a task gives batches, the loss of a model on them, and how well the model does on data it was not trained on.

A task is a frozen dataclass that knows no state. Everything random in it is a function of (seed, step): batch t is drawn from
`np.random.default_rng([seed, t])`, or is place t of a permutation that is a function of (seed, epoch). So the number of the step
is the whole state of the data, and a run that goes on in the middle of an epoch sees what it would have seen.

The rows of a batch may be dealt out, to the processes of a run and to the pieces of an accumulated step: every tensor has the
sequences on its first axis. A place without a target has the target `IGNORED`, so that the mean over all targets of a batch can
be put together from pieces that have more of them and fewer; every sequence has one target at least.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from torch import Tensor

from glyptic.errors import InputError
from glyptic.nn.config import ModelConfig
from glyptic.train.plan import TEST

IGNORED = -100  # as torch's cross_entropy has it
Side = Literal["learned", "evaluated", "tested"]
"""Where an example belongs, by itself: what training sees; what evaluations see, by which runs end and settings are chosen; and
what only the test sees that is made once, when all is settled."""


AT_MOST = ("loss", "wrong", "bits_per_byte", "perplexity", "after_all")  # metrics of which less is better
AT_LEAST = ("accuracy", "balanced", "exact_match")  # of which more is


class Diverged(InputError):
    """A loss, or a gradient, that is not a finite number any more; says where."""


class Minibatch(NamedTuple):
    """Plain tensors, with the sequences on the first axis of each."""

    inputs: tuple[Tensor, ...]
    """What the loss gives to the model, such as tokens [B, T] and a padding mask [B, T]."""
    targets: Tensor
    """[B, …]: whole numbers, `IGNORED` where there is no target; or floating-point numbers, of which every one counts."""
    tokens: int
    """For how many tokens it stands, padding left out: what tokens/s counts."""


@runtime_checkable
class Task(Protocol):
    """A frozen dataclass. Its repr is part of a run's identity: what decides its data must be in it (of a file, its digest)."""

    @property
    def name(self) -> str:
        """As on the command line: `glyptic.train.tasks.registry.open(task.name)` gives this task again."""

    @property
    def measure(self) -> str:
        """The metric of `evaluate` by which the best weights are chosen: the least of those in `AT_MOST`, else the greatest."""

    def config(self) -> ModelConfig:
        """A sensible model for this task; whoever trains may replace fields."""

    def check(self, config: ModelConfig) -> None:
        """Refuse, in one sentence, a model that cannot do this task: its kind, vocabulary, context, classes."""

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        """`size` sequences; the same for the same arguments. It is called in another thread than `loss`."""

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> Tensor:
        """The mean over the targets of the batch: a scalar with a gradient. `smoothing` is that of labels, if there are any."""

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        """Metrics on data that no batch has, `measure` among them; with a seed from `TEST` on, on data that no evaluation has.

        A task that holds nothing out, since all there is may be learned, measures both on the same. One that asks all it has held
        out, whatever the seed, may say so: `evaluations_draw` is False. The model is in eval mode; gradients are off.
        """

    def files(self) -> Mapping[str, bytes]:
        """What stands beside the weights, by name: a vocabulary.json, a tokenizer.json; often nothing."""


def good_enough(metric: str, value: float, bound: float) -> bool:
    """Whether a metric is as good as a bound: at most it, or at least.

    >>> good_enough("perplexity", 5.0, 6.0), good_enough("accuracy", 0.9, 0.99)
    (True, False)
    """
    return value <= bound if metric in AT_MOST else value >= bound


def side_asked(seed: int) -> Side:
    """On which side the data of an evaluation are.

    >>> side_asked(0), side_asked(TEST + 0)
    ('evaluated', 'tested')
    """
    return "tested" if seed >= TEST else "evaluated"


def targets_in(batch: Minibatch) -> int:
    """Over how many targets the loss is a mean.

    >>> import torch
    >>> targets_in(Minibatch((), torch.tensor([[3, IGNORED], [1, 2]]), tokens=4))
    3
    """
    if batch.targets.is_floating_point():
        return batch.targets.numel()
    return int((batch.targets != IGNORED).sum())


def rows_of(batch: Minibatch, rows: slice) -> Minibatch:
    """Some of the sequences of a batch; `tokens` is left as of the whole.

    >>> import torch
    >>> rows_of(Minibatch((torch.arange(4),), torch.arange(4), tokens=4), slice(1, 3)).targets
    tensor([1, 2])
    """
    return batch._replace(inputs=tuple(tensor[rows] for tensor in batch.inputs), targets=batch.targets[rows])


def check_metrics(
    task: Task, metrics: Mapping[str, float], remedy: str = "train anew, with a smaller rate"
) -> Mapping[str, float]:
    """The metrics of an evaluation, if they have the task's own, and say something: of logits that are not numbers one is still
    the "greatest", so that an accuracy could be had, and would mean nothing.
    """
    if task.measure not in metrics:
        raise InputError(f"the task {task.name} is measured by {task.measure}, and its evaluation gives {', '.join(metrics)}.")
    if not isfinite(metrics.get("loss", 0.0)):
        raise Diverged(f"the loss on held-out data is {metrics['loss']}: {remedy}.")
    return metrics
