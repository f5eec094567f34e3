"""The lectures' attention, stage by stage, as plain functions of matrices.

Tokens are rows here, X is N×D; the theory lecture writes them as columns, so its Y = X A is our Y = A X with A transposed.

    plain            A = softmax(X Xᵀ)                    N²D            nothing is learned
    one matrix U     A = softmax((X Uᵀ)(X Uᵀ)ᵀ)           NKD + N²K      scores are symmetric
    two, U_q, U_k    A = softmax((X U_qᵀ)(X U_kᵀ)ᵀ)       2NKD + N²K     n may look at n' and not be looked at
    H heads          Y = Σ_h A_h X U_{v,h}ᵀ U_{p,h}ᵀ      the same as Concat(heads) W_O
    linear           Y = X + A X W_PVᵀ / N, no softmax    see the room `icl`
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor

from glyptic.arguments import Count, checked
from glyptic.nn.shapes import shaped

Amount = Annotated[int, Count()]


@shaped(x="... N D")
def plain_weights(x: Tensor) -> Tensor:
    """A_{n,n'} = exp⟨x_n, x_n'⟩ / Σ_l exp⟨x_n, x_l⟩ (theory lecture, first stage): [N, D] → [N, N], rows sum to 1."""
    return (x @ x.mT).softmax(-1)


@shaped(x="... N D", u="... K D")
def symmetric_weights(x: Tensor, u: Tensor) -> Tensor:
    """One learned U [K, D]: similarity of U x_n and U x_n', the same in both directions before the softmax."""
    projected = x @ u.mT  # [N, K]
    return (projected @ projected.mT).softmax(-1)


@shaped(x="... N D", u_q="... K D", u_k="... K D")
def query_key_weights(x: Tensor, u_q: Tensor, u_k: Tensor) -> Tensor:
    """Queries U_q x_n and keys U_k x_n', two learned [K, D]."""
    return ((x @ u_q.mT) @ (x @ u_k.mT).mT).softmax(-1)


@shaped(weights="... N M", x="... M D")
def attend(weights: Tensor, x: Tensor) -> Tensor:
    """Y = A X: each output is a convex combination of tokens.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> attend(plain_weights(x), x).sum(-1)
    tensor([1., 1.])
    """
    return weights @ x


@shaped(x="N D", u_q="H K D", u_k="H K D", u_v="H V D", u_p="H D V")
def heads_by_sum(x: Tensor, u_q: Tensor, u_k: Tensor, u_v: Tensor, u_p: Tensor) -> Tensor:
    """The theory lecture's multi-head attention, Y = Σ_h U_{p,h} Y_h: u_q, u_k, u_v [H, K, D], u_p [H, D, K], x [N, D]."""
    total = torch.zeros_like(x)
    for q, k, v, p in zip(u_q, u_k, u_v, u_p, strict=True):
        total = total + attend(query_key_weights(x, q, k), x @ v.mT) @ p.mT
    return total


@shaped(x="N D", u_q="H K D", u_k="H K D", u_v="H K D", u_p="H D K")
def heads_by_concatenation(x: Tensor, u_q: Tensor, u_k: Tensor, u_v: Tensor, u_p: Tensor) -> Tensor:
    """The other two lectures': split, attend, Concat(head_1 … head_H) W_O, where W_O stacks the U_{p,h}ᵀ.

    Equal to `heads_by_sum`: a product with stacked blocks is the sum of the blocks' products.
    """
    heads, size, width = u_q.shape
    q, k, v = ((x @ u.reshape(heads * size, width).mT).view(-1, heads, size).transpose(0, 1) for u in (u_q, u_k, u_v))
    outputs = (q @ k.mT).softmax(-1) @ v  # [H, N, K]
    w_o = u_p.mT.reshape(heads * size, -1)  # [H K, D]
    return outputs.transpose(0, 1).reshape(-1, heads * size) @ w_o


@shaped(q="... T K", k="... S K", mask="bool ... T S")
def additive_mask(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """The deep-learning class: softmax((Q Kᵀ + M)/√d_k), M = 0 where the mask is True and −∞ elsewhere: those weights are 0."""
    scores = (q @ k.mT).masked_fill(~mask, float("-inf"))
    return (scores / q.shape[-1] ** 0.5).softmax(-1)


@shaped(q="... T K", k="... S K", mask="bool ... T S")
def multiplicative_mask(q: Tensor, k: Tensor, mask: Tensor) -> Tensor:
    """The Zaragoza course, as printed: softmax(M ∘ (Q Kᵀ)). **Not a mask**: a score of 0 keeps the weight 1: the future leaks.

    >>> q = torch.zeros(2, 1)
    >>> multiplicative_mask(q, q, torch.tensor([[True, False], [True, True]]))[0]
    tensor([0.5000, 0.5000])
    """
    return (mask * (q @ k.mT)).softmax(-1)


@shaped(x="... N D", w_pv="... D D", w_kq="... D D")
def linear_self_attention(x: Tensor, w_pv: Tensor, w_kq: Tensor, length: Amount | None = None) -> Tensor:
    """The theory lecture's f(E) = E + W^PV E · Eᵀ W^KQ E / N, tokens as rows: X + (X W_KQᵀ Xᵀ) X W_PVᵀ / N.

    `length` is the N to divide by (the number of examples, when the last token is a query); None: all tokens.
    """
    scores = x @ w_kq.mT @ x.mT  # [N, N]; entry (n, l) is x_lᵀ W^KQ x_n
    return x + scores @ x @ w_pv.mT / (x.shape[-2] if length is None else length)


@checked
def cost(stage: Literal["plain", "symmetric", "query_key"], tokens: Amount, width: Amount, size: Amount) -> int:
    """Multiplications for the scores of a stage, as the theory lecture counts them.

    >>> cost("plain", 100, 64, 8), cost("symmetric", 100, 64, 8)
    (640000, 131200)
    """
    projections = {"plain": 0, "symmetric": 1, "query_key": 2}[stage]
    inner = width if stage == "plain" else size
    return projections * tokens * size * width + tokens * tokens * inner
