"""What is trained: linear attention, softmax attention with one or two heads, deep linear attention.

Every learner is a torch module that answers one query from all examples that it is given:

    learner(context_x (B, k, d), context_y (B, k), query_x (B, d)) -> (B,)

The GPT-style decoder, which answers all queries of a prompt in one pass, is in `decoder.py`.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor, nn

import glyptic.nn.speed.machine  # noqa: F401 (before torch's first product)
from glyptic.arguments import Count, Seed, checked
from glyptic.icl.names import Dimension, Sigma
from glyptic.icl.theory.lsa import Blocks
from glyptic.icl.theory.problem import ProblemError


class Learner(nn.Module):
    """A module that answers one query, and by `every_query` all those of an ordinary prompt, one after another."""

    def every_query(self, context_x: Tensor, context_y: Tensor, last_query: Tensor) -> Tensor:
        """ŷ for query k = 0 … N, each from the first k examples: (B, N + 1)."""
        queries = torch.cat([context_x, last_query[:, None]], dim=1)
        counts = range(queries.shape[1])
        return torch.stack([self(context_x[:, :k], context_y[:, :k], queries[:, k]) for k in counts], dim=1)


class LinearAttention(Learner):
    """f_LSA of Zhang et al., read at its bottom-right entry: ŷ = [p1ᵀ p2] (EEᵀ/k) [K; kᵀ] x_q.

    Starts at the given blocks (the paper's initialisation, or any other), and trains all of them.
    """

    @checked
    def __init__(self, start: Blocks):
        super().__init__()
        self.p1 = nn.Parameter(torch.tensor(start.p1, dtype=torch.float64))
        self.p2 = nn.Parameter(torch.tensor(float(start.p2), dtype=torch.float64))
        self.K = nn.Parameter(torch.tensor(start.K, dtype=torch.float64))
        self.k = nn.Parameter(torch.tensor(start.k, dtype=torch.float64))

    def forward(self, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
        scores = query_x @ self.K.mT  # K x_q: (B, d)
        label_score = query_x @ self.k  # kᵀ x_q: (B,)
        keys = (context_x @ scores[..., None])[..., 0] + context_y * label_score[:, None]  # (B, k)
        values = context_x @ self.p1 + self.p2 * context_y
        own = (query_x @ self.p1) * (query_x * scores).sum(-1)  # E's last column is (x_q, 0)
        return ((keys * values).sum(-1) + own) / max(1, context_x.shape[1])

    def blocks(self) -> Blocks:
        """The trained weights as the value that the exact loss, flow and risk take."""
        p1, K, k = (parameter.detach().numpy().copy() for parameter in (self.p1, self.K, self.k))
        return Blocks(p1=p1, p2=self.p2.item(), K=K, k=k)


class SoftmaxAttention(Learner):
    """E + Σ_h W_h^PV E softmax(Eᵀ W_h^KQ E), read at its bottom-right entry.

    One head is a convex combination of labels and cannot subtract. Two heads that start with opposite signs can: with
    small scores, softmax(εs) − softmax(−εs) ≈ 2ε(s − mean s)/n, which is linear attention on centred scores: they come
    near it without being it.
    """

    @checked
    def __init__(self, d: Dimension, heads: int = 1, start: Sigma = 0.3, seed: Seed = 0):
        super().__init__()
        if heads not in (1, 2):
            raise ProblemError(f"softmax attention has 1 head or 2 of opposite sign here, not {heads}.")
        generator = torch.Generator().manual_seed(seed)
        signs = torch.tensor([1.0, -1.0], dtype=torch.float64)[:heads]
        noise = 0.02 * torch.randn(heads, d + 1, d + 1, dtype=torch.float64, generator=generator)
        look_alike = torch.diag(torch.tensor([1.0] * d + [0.0], dtype=torch.float64))  # ⟨x_i, x_q⟩
        self.query_key = nn.Parameter(signs[:, None, None] * start * look_alike + noise)
        self.value = nn.Parameter(torch.cat([torch.zeros(heads, d, dtype=torch.float64), signs[:, None]], dim=1))

    def forward(self, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
        columns = prompt_columns(context_x, context_y, query_x)  # (B, k + 1, d + 1)
        directions = torch.einsum("hij,bj->bhi", self.query_key, columns[:, -1])
        weights = torch.softmax(torch.einsum("bni,bhi->bhn", columns, directions), dim=-1)
        return torch.einsum("bhn,bni,hi->b", weights, columns, self.value)


class DeepLinearAttention(Learner):
    """L layers Z ↦ Z + W^PV Z·mask·(Zᵀ W^KQ Z)/k of linear attention; the query is never a key.

    `sparse` keeps W^PV = diag(0, −1) and W^KQ = diag(A_l, 0): then layer l is exactly one step of gradient descent on
    the examples with preconditioner A_l (`depth.preconditioned_gd`). Otherwise all entries of both matrices train.
    """

    @checked
    def __init__(self, d: Dimension, layers: Annotated[int, Count(1, 1000)], sparse: bool = True, step: Sigma = 0.1):
        super().__init__()
        self.sparse = sparse
        start = step * torch.eye(d, dtype=torch.float64).repeat(layers, 1, 1)
        if sparse:
            self.preconditioners = nn.Parameter(start)
        else:
            query_key, value = torch.zeros(2, layers, d + 1, d + 1, dtype=torch.float64)
            query_key[:, :d, :d] = start
            value[:, d, d] = -1.0
            self.query_key, self.value = nn.Parameter(query_key), nn.Parameter(value)

    def forward(self, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
        if self.sparse:
            return self._descend(context_x, context_y, query_x)
        count = max(1, context_x.shape[1])
        columns = prompt_columns(context_x, context_y, query_x)
        for query_key, value in zip(self.query_key, self.value, strict=True):
            keys = columns[:, :-1]
            scores = columns @ query_key.mT @ keys.mT  # row j, column i: e_iᵀ W^KQ e_j
            columns = columns + scores @ (keys @ value.mT) / count
        return -columns[:, -1, -1]

    def _descend(self, context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
        """The label row alone moves: residuals r_i = y_i − ⟨w_l, x_i⟩, and at the query −⟨w_l, x_q⟩."""
        count = max(1, context_x.shape[1])
        residual, answer = context_y, torch.zeros_like(query_x[:, 0])
        for A in self.preconditioners:
            gradient = torch.einsum("bnd,bn->bd", context_x, residual) / count
            step = gradient @ A
            residual = residual - (context_x @ step[..., None])[..., 0]
            answer = answer + (step * query_x).sum(-1)
        return answer


def prompt_columns(context_x: Tensor, context_y: Tensor, query_x: Tensor) -> Tensor:
    """The columns of E as rows: (x_1, y_1) … (x_k, y_k), (x_q, 0); shape (B, k + 1, d + 1)."""
    x = torch.cat([context_x, query_x[:, None]], dim=1)
    y = torch.cat([context_y, torch.zeros_like(query_x[:, :1])], dim=1)
    return torch.cat([x, y[..., None]], dim=2)


def parameter_count(learner: nn.Module) -> int:
    """How many numbers are trained."""
    return sum(math.prod(parameter.shape) for parameter in learner.parameters())
