"""A small real task on finite data, and a small model with dropout: what the tests of the trainer train."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from glyptic.errors import ModelError
from glyptic.nn import ModelConfig
from glyptic.train import IGNORED, Minibatch, Plan

SEQUENCES, LONGEST = 50, 9
PLAN = Plan(steps=24, batch=8, rate=3e-3, warmup=4, record=5, evaluate=8, save=6)
LONGER = replace(PLAN, steps=150, save=7)


@dataclass(frozen=True)
class Progressions:
    """The next term of a, a + d, a + 2d, … modulo `modulus`: 50 sequences of several lengths, gone through in epochs."""

    modulus: int = 11
    measure: str = "accuracy"

    @property
    def name(self) -> str:
        return f"progressions:{self.modulus}"

    def config(self) -> ModelConfig:
        return ModelConfig(
            kind="decoder", layers=2, width=16, heads=2, vocabulary=self.modulus, context=LONGEST, dropout=0.1
        )

    def check(self, config: ModelConfig) -> None:
        if config.kind != "decoder" or config.vocabulary != self.modulus:
            raise ModelError(f"{self.name} needs a decoder with a vocabulary of {self.modulus}, not {config.vocabulary}.")

    def sequences(self, seed: int, count: int) -> tuple[Tensor, Tensor]:
        rng = np.random.default_rng([seed, 999])
        first, step = rng.integers(0, self.modulus, (2, count))
        terms = (first[:, None] + step[:, None] * np.arange(LONGEST + 1)) % self.modulus
        return torch.from_numpy(terms), torch.from_numpy(rng.integers(2, LONGEST + 1, count))

    def batch(self, seed: int, step: int, size: int) -> Minibatch:
        places = np.arange(step * size, (step + 1) * size)
        orders = {epoch: np.random.default_rng([seed, epoch]).permutation(SEQUENCES) for epoch in set(places // SEQUENCES)}
        rows = [int(orders[place // SEQUENCES][place % SEQUENCES]) for place in places]
        terms, lengths = (data[rows] for data in self.sequences(0, SEQUENCES))
        real = torch.arange(LONGEST) < lengths[:, None]
        return Minibatch((terms[:, :-1], real), torch.where(real, terms[:, 1:], IGNORED), int(real.sum()))

    def loss(self, model: Any, batch: Minibatch, smoothing: float = 0.0) -> Tensor:
        tokens, real = batch.inputs
        logits = model(tokens, padding_mask=real)
        return F.cross_entropy(
            logits.flatten(0, 1).float(), batch.targets.flatten(), ignore_index=IGNORED, label_smoothing=smoothing
        )

    def evaluate(self, model: Any, seed: int) -> dict[str, float]:
        terms, _ = self.sequences(1, 40)
        logits = model(terms[:, :-1])
        right = (logits.argmax(-1) == terms[:, 1:])[:, 1:].float().mean().item()
        return {"loss": F.cross_entropy(logits.flatten(0, 1), terms[:, 1:].flatten()).item(), "accuracy": right}

    def files(self) -> Mapping[str, bytes]:
        return {"vocabulary.json": str(list(range(self.modulus))).encode()}


def digest(model: torch.nn.Module) -> str:
    return hashlib.sha256(b"".join(value.cpu().numpy().tobytes() for value in model.state_dict().values())).hexdigest()


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """Whether all weights are equal, to the last bit."""
    return digest(one) == digest(other)
