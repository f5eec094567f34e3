"""In-context linear regression as a task of the train room: `regression:5,20`, learned by a plain decoder of vectors.

Tokens are those of `decoder.DecoderLearner`: query k with the example before it. They fill the first 2d + 1 coordinates of the
residual stream, and the answer is read from its last one, so that the model is an `nn.Decoder` and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from glyptic.arguments import checked
from glyptic.errors import ModelError
from glyptic.icl.experiments.prompts import Prompts, sample
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.names import Dimension, Length
from glyptic.nn.config import ModelConfig
from glyptic.nn.speed.machine import check_memory
from glyptic.train.task import Minibatch

_EVALUATED = 2048


@dataclass(frozen=True)
class RegressionTask:
    """The loss is ½ E(ŷ − f(x_q))² over all queries of a prompt, as Zhang et al. have it of the last."""

    name: str
    d: int
    N: int
    measure: str = field(default="loss", init=False)

    def config(self) -> ModelConfig:
        return ModelConfig(
            kind="decoder", layers=4, width=64, heads=4, vocabulary=None, head="none", context=self.N + 1,
            positions="learned", feed_forward="relu", final_norm=False,
        )  # fmt: skip

    def check(self, config: ModelConfig) -> None:
        if config.kind != "decoder" or config.head != "none" or config.vocabulary is not None:
            what = f"kind={config.kind!r}, head={config.head!r}, vocabulary={config.vocabulary}"
            raise ModelError(f"{what}: {self.name} is learned by kind='decoder' with head='none' and no vocabulary.")
        if config.width < 2 * self.d + 2:
            raise ModelError(f"width={config.width}, and {self.name} needs {2 * self.d + 2} coordinates at least.")
        if config.has_final_norm and config.norm != "none":
            raise ModelError("final_norm=True leaves no answer its size; let it be False.")
        if config.positions == "learned" and config.context < self.N + 1:
            raise ModelError(
                f"context={config.context}, and {self.name} has {self.N + 1} tokens; let it be {self.N + 1}."
            )

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        return _minibatch(sample(LinearTask(self.d), np.random.default_rng([seed, step]), size, self.N))

    def answers(self, model: Any, batch: Minibatch) -> Tensor:
        """[B, N + 1]: what the model says to each query."""
        tokens = batch.inputs[0]
        return model(vectors=pad(tokens, (0, model.config.width - tokens.shape[-1])))[..., -1]

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> Tensor:
        return 0.5 * (self.answers(model, batch) - batch.targets).square().mean()

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        """On fresh prompts; `after_all` is the risk after all N examples."""
        batch = _minibatch(sample(LinearTask(self.d), np.random.default_rng([seed, 2**32 - 1]), _EVALUATED, self.N))
        device = next(model.parameters()).device
        moved = batch._replace(inputs=tuple(t.to(device) for t in batch.inputs), targets=batch.targets.to(device))
        errors = 0.5 * (self.answers(model, moved) - moved.targets).square().mean(dim=0)
        return {"loss": float(errors.mean()), "after_all": float(errors[-1])}

    def files(self) -> Mapping[str, bytes]:
        return {}


def _minibatch(prompts: Prompts) -> Minibatch:
    shown = np.concatenate([prompts.context_x, prompts.context_y[..., None]], axis=2)
    before = np.pad(shown, ((0, 0), (1, 0), (0, 0)))  # nothing comes before query 0
    tokens = np.concatenate([prompts.query_x, before], axis=2).astype(np.float32)
    targets = torch.from_numpy(prompts.target.astype(np.float32))
    return Minibatch((torch.from_numpy(tokens),), targets, targets.numel())


@checked
def regression(d: Dimension = 5, N: Length = 20) -> RegressionTask:
    """Linear regression in context: N examples of a linear function on R^d, then a query.

    >>> tuple(regression(3, 4).batch(seed=0, step=0, size=2).inputs[0].shape)
    (2, 5, 7)
    """
    numbers = _EVALUATED * (N + 1) * (2 * d + 1)  # of an evaluation, drawn as float64 and given as float32
    check_memory(12 * numbers, f"an evaluation of regression:{d},{N}, {_EVALUATED:,} prompts,")
    return RegressionTask(f"regression:{d},{N}", d, N)
