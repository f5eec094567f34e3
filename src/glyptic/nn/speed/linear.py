"""Matrix products, also in bfloat16 and float16 on CPUs that have no instructions for them.

There torch falls back to a scalar loop, ten times slower than float32. Taking the operands to float32, multiplying, and
rounding the result once gives the same numbers that the instructions give (they accumulate in float32 too) at the speed
of float32. Where the instructions exist, nothing is done.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WORTH_WIDENING = 2  # rows: fewer, and copying the matrix costs more than torch's own vector product


def _without_instructions() -> frozenset[torch.dtype]:
    """Half types that this CPU only emulates."""
    kinds = {torch.bfloat16: "_is_mkldnn_bf16_supported", torch.float16: "_is_mkldnn_fp16_supported"}
    return frozenset(
        dtype
        for dtype, question in kinds.items()
        if torch.backends.mkldnn.is_available() and not getattr(torch.ops.mkldnn, question)()
    )


EMULATED = _without_instructions()


def is_emulated(x: Tensor) -> bool:
    """Whether products of this tensor should be taken in float32 and rounded."""
    return x.dtype in EMULATED and x.device.type == "cpu"


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b: [..., D] → [..., F].

    >>> x = torch.randn(16, 4).bfloat16()
    >>> linear(x, torch.eye(4).bfloat16()).equal(x)
    True
    """
    if is_emulated(x) and x.numel() >= WORTH_WIDENING * x.shape[-1]:
        return F.linear(x.float(), weight.float(), None if bias is None else bias.float()).to(x.dtype)
    return F.linear(x, weight, bias)


class Linear(nn.Linear):
    """nn.Linear through `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)
