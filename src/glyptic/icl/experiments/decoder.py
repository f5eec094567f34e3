"""The GPT-style learner: a small decoder of `glyptic.nn` that reads a prompt and answers all its queries at once.

Token k holds query k and the example before it,

    (x_0; 0, 0), (x_1; x_0, y_0), (x_2; x_1, y_1), …, (x_N; x_{N−1}, y_{N−1})

so it has seen exactly the first k examples, and one pass over N + 1 tokens gives N + 1 answers to train on. (Queries and
examples as tokens of their own would be 2N + 1: twice the work for the same answers.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor, nn

from glyptic import nn as transformers
from glyptic.arguments import Count, Seed, check_fields, checked
from glyptic.icl.experiments.bayes import ridge_risk
from glyptic.icl.experiments.learners import Learner
from glyptic.icl.experiments.training import PromptPlan
from glyptic.icl.names import Dimension, Length, PromptCount, Steps, Variance
from glyptic.icl.theory.problem import ProblemError


@dataclass(frozen=True)
class DecoderSize:
    """How large the decoder is; the default trains in minutes on one core."""

    width: Annotated[int, Count(1, 10**4)] = 64
    layers: Annotated[int, Count(1, 1000)] = 4
    heads: Annotated[int, Count(1, 1000)] = 4

    def __post_init__(self) -> None:
        check_fields(self)
        if self.width % self.heads:
            raise ProblemError(
                f"a decoder of width {self.width} cannot have {self.layers} layers of {self.heads} heads: "
                "use at least one of each, and a width that the heads divide."
            )


class DecoderLearner(Learner):
    """Pre-norm decoder with learned positions on 2d + 1 input numbers a token, and one output number."""

    @checked
    def __init__(self, d: Dimension, N: Length, size: DecoderSize | None = None, seed: Seed = 0):
        super().__init__()
        size = size or DecoderSize()
        config = transformers.ModelConfig(
            kind="decoder",
            layers=size.layers,
            width=size.width,
            heads=size.heads,
            vocabulary=None,
            head="none",
            context=N + 1,
            positions="learned",
            feed_forward="relu",
        )
        self.N = N
        self.decoder = transformers.build(config, seed=seed)
        self.read_in, self.read_out = nn.Linear(2 * d + 1, size.width), nn.Linear(size.width, 1)
        generator = torch.Generator().manual_seed(seed)
        for layer in (self.read_in, self.read_out):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
            nn.init.zeros_(layer.bias)

    def every_query(self, context_x: Tensor, context_y: Tensor, last_query: Tensor) -> Tensor:
        x = torch.cat([context_x, last_query[:, None]], dim=1)  # (B, k + 1, d)
        if x.shape[1] > self.N + 1:
            raise ProblemError(
                f"this decoder has positions for {self.N} examples, not {x.shape[1] - 1}: build it longer."
            )
        shown = torch.cat([context_x, context_y[..., None]], dim=2)  # (B, k, d + 1)
        before = nn.functional.pad(shown, (0, 0, 1, 0))  # nothing comes before query 0
        hidden = self.decoder(vectors=self.read_in(torch.cat([x, before], dim=2)))
        return self.read_out(hidden)[..., 0]

    def forward(self, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
        return self.every_query(context_x, context_y, query_x)[:, -1]


@checked
def decoder_plan(
    d: Dimension, noise_variance: Variance, N: Length, steps: Steps, batch: PromptCount = 64, seed: Seed = 0
) -> PromptPlan:
    """How a small decoder is trained on linear regression: every query counts alike, so each is weighted by 1/risk.

    Unweighted, the first queries, whose risk no learner can reduce, would drown the last ones.
    """
    weights = 1.0 / ridge_risk(d, noise_variance, N)
    return PromptPlan(
        steps=steps,
        N=N,
        batch=batch,
        rate=2e-3,
        warmup=min(300, steps // 5),
        clip=1.0,
        every_query=True,
        query_weights=tuple((weights / weights.mean()).tolist()),
        seed=seed,
        record=500,
    )
