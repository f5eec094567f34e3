"""The GPT-style learner: a small decoder of `glyptic.nn` that reads a prompt and answers all its queries at once.

Token k holds query k and the example before it,

    (x_0; 0, 0), (x_1; x_0, y_0), (x_2; x_1, y_1), …, (x_N; x_{N−1}, y_{N−1})

so it has seen exactly the first k examples, and one pass over N + 1 tokens gives N + 1 answers to train on. (Queries and
examples as tokens of their own would be 2N + 1: twice the work for the same answers.)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from glyptic import nn as transformers
from glyptic.icl.experiments.bayes import ridge_risk
from glyptic.icl.experiments.learners import Learner
from glyptic.icl.experiments.training import Plan
from glyptic.icl.theory.problem import ProblemError


@dataclass(frozen=True)
class DecoderSize:
    """How large the decoder is; the default trains in minutes on one core."""

    width: int = 64
    layers: int = 4
    heads: int = 4

    def __post_init__(self) -> None:
        if min(self.width, self.layers, self.heads) < 1 or self.width % self.heads:
            raise ProblemError(
                f"a decoder of width {self.width} cannot have {self.layers} layers of {self.heads} heads: "
                "use at least one of each, and a width that the heads divide."
            )


class DecoderLearner(Learner):
    """Pre-norm decoder with learned positions on 2d + 1 input numbers a token, and one output number."""

    def __init__(self, d: int, examples: int, size: DecoderSize | None = None, seed: int = 0):
        super().__init__()
        size = size or DecoderSize()
        config = transformers.ModelConfig(
            kind="decoder",
            layers=size.layers,
            width=size.width,
            heads=size.heads,
            vocabulary=None,
            head="none",
            context=examples + 1,
            positions="learned",
            feed_forward="relu",
        )
        self.examples = examples
        self.decoder = transformers.build(config, seed=seed)
        self.read_in, self.read_out = nn.Linear(2 * d + 1, size.width), nn.Linear(size.width, 1)
        generator = torch.Generator().manual_seed(seed)
        for layer in (self.read_in, self.read_out):
            nn.init.normal_(layer.weight, std=layer.in_features**-0.5, generator=generator)
            nn.init.zeros_(layer.bias)

    def every_query(self, context_x: Tensor, context_y: Tensor, last_query: Tensor) -> Tensor:
        x = torch.cat([context_x, last_query[:, None]], dim=1)  # (B, k + 1, d)
        if x.shape[1] > self.examples + 1:
            raise ProblemError(
                f"this decoder has positions for {self.examples} examples, not {x.shape[1] - 1}: build it longer."
            )
        examples = torch.cat([context_x, context_y[..., None]], dim=2)  # (B, k, d + 1)
        before = nn.functional.pad(examples, (0, 0, 1, 0))  # nothing comes before query 0
        hidden = self.decoder(vectors=self.read_in(torch.cat([x, before], dim=2)))
        return self.read_out(hidden)[..., 0]

    def forward(self, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
        return self.every_query(context_x, context_y, query_x)[:, -1]


def decoder_plan(d: int, noise: float, examples: int, steps: int, batch: int = 64, seed: int = 0) -> Plan:
    """How a small decoder is trained on linear regression: every query counts alike, so each is weighted by 1/risk.

    Unweighted, the first queries, whose risk no learner can reduce, would drown the last ones.
    """
    weights = 1.0 / ridge_risk(d, noise, examples)
    return Plan(
        steps=steps,
        examples=examples,
        batch=batch,
        rate=2e-3,
        warmup=min(300, steps // 5),
        clip=1.0,
        every_query=True,
        query_weights=tuple((weights / weights.mean()).tolist()),
        seed=seed,
        record=500,
    )
