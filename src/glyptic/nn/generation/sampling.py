"""From logits to the next token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from glyptic.arguments import Count, Number, check_fields
from glyptic.errors import InputError
from glyptic.nn.shapes import shaped

COLD = 0.01
COLDEST = 1e-30  # a float32; whatever is less likely has probability 0 long before


@dataclass(frozen=True)
class Sampling:
    """How a token is chosen; the filters are applied in the order of the fields.

    >>> logits = torch.tensor([[0.0, 3.0, 2.0, 1.0]])
    >>> choose(logits, Sampling())
    tensor([1])
    >>> filtered(logits, Sampling(temperature=1.0, top_k=2))
    tensor([[-inf, 3., 2., -inf]])
    """

    temperature: Annotated[float, Number(least=0)] = 0.0
    """0: the most likely token (greedy); otherwise logits are divided by it."""
    top_k: Annotated[int, Count()] | None = None
    """Only the k most likely."""
    top_p: Annotated[float, Number(above=0, most=1)] | None = None
    """Only the smallest set of most likely tokens whose probabilities reach p."""
    min_p: Annotated[float, Number(above=0, most=1)] | None = None
    """Only tokens at least p times as likely as the most likely one."""

    def __post_init__(self) -> None:
        check_fields(self)


@shaped(logits="B V")
def filtered(logits: Tensor, sampling: Sampling) -> Tensor:
    """Logits [B, V] at the temperature, −∞ where a filter forbids a token; in float32 at least."""
    _check(logits)
    return _filtered(logits, sampling)


def _check(logits: Tensor) -> None:
    """Refuse rows of which nothing can be the most likely."""
    if not logits.shape[1] or not bool(logits.amax(-1).isfinite().all()):
        raise InputError("logits have a row that is empty, or whose largest is not a finite number; nothing can be chosen there.")


def _filtered(logits: Tensor, sampling: Sampling) -> Tensor:
    precise = logits.float() if logits.dtype in (torch.bfloat16, torch.float16) else logits
    if sampling.temperature < COLD:  # quotients might pass all bounds; a common shift changes no probability
        precise = precise - precise.amax(-1, keepdim=True)
    logits = precise / max(sampling.temperature, COLDEST)
    if sampling.top_k is not None and sampling.top_k < logits.shape[-1]:
        least = logits.topk(sampling.top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    if sampling.top_p is not None and sampling.top_p < 1:
        ascending, order = logits.sort(dim=-1)
        below = ascending.softmax(-1).cumsum(-1) <= 1 - sampling.top_p  # the tail that is not needed to reach p
        below[:, -1] = False
        logits = logits.masked_fill(below.scatter(-1, order, below), float("-inf"))
    if sampling.min_p is not None:
        probabilities = logits.softmax(-1)
        least = sampling.min_p * probabilities.amax(-1, keepdim=True)
        logits = logits.masked_fill(probabilities < least, float("-inf"))
    return logits


@shaped(logits="B V")
def choose(logits: Tensor, sampling: Sampling, generator: torch.Generator | None = None) -> Tensor:
    """Next token of each row: logits [B, V] → [B]."""
    _check(logits)
    return chosen(logits, sampling, generator)


def chosen(logits: Tensor, sampling: Sampling, generator: torch.Generator | None) -> Tensor:
    """`choose` from logits that have been looked at, as generation calls it."""
    if sampling.temperature == 0:
        return logits.argmax(-1)
    probabilities = _filtered(logits, sampling).softmax(-1)
    return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)
