"""Matrix products, also in bfloat16 and float16 on CPUs that are slow at them.

Without instructions for them torch falls back to a scalar loop, ten times slower than float32; with some it is slower still than
float32. Taking the operands to float32, multiplying, and rounding the result once is the same arithmetic that the instructions
have (they accumulate in float32 too) at the speed of float32. `halves` finds out which is faster here.

Generation multiplies a few rows, step after step. `packed` copies large matrices once into oneDNN's layout, for all steps of a
session: products of 8 rows then take about three quarters of the time of plain ones for matrices with more outputs than inputs
(the projections to q, k, v and into the feed-forward); the others gain less than a copy costs. The limits below were chosen by
measurements of a 1 M and a 10 M decoder on one CPU (AMD EPYC, AVX2).
"""

from __future__ import annotations

import copy
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glyptic.nn.speed.halves import is_widened, widened

WORTH_WIDENING = 2  # rows: fewer, and copying the matrix costs more than torch's own vector product
ROWS = range(2, 33)  # one row is a vector product, which needs no packing; for many rows packing is cheap
LARGE = 2**18  # entries of a matrix: smaller ones stay in the processor's cache, and BLAS has less to do for a call
STEPS = 16  # from so many on, packing is repaid


def product_type(x: Tensor) -> torch.dtype:
    """The type in which a product of this tensor is taken: its own, or autocast's."""
    if x.dtype == torch.float32 and x.device.type == "cpu" and torch.is_autocast_enabled("cpu"):
        return torch.get_autocast_dtype("cpu")
    return x.dtype


def taken_wide(x: Tensor) -> bool:
    """Whether products of this tensor should be taken in float32 and rounded."""
    return x.device.type == "cpu" and is_widened(product_type(x))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b: [..., D] → [..., F].

    >>> x = torch.randn(16, 4).bfloat16()
    >>> linear(x, torch.eye(4).bfloat16()).equal(x)
    True
    """
    if x.numel() >= WORTH_WIDENING * x.shape[-1] and taken_wide(x):
        half = product_type(x)
        with as_given():
            return widened(x.to(half), weight.to(half), None if bias is None else bias.to(half))
    return F.linear(x, weight, bias)


def as_given() -> Any:
    """Where products are taken in the types of their operands: autocast, which would change them, is left."""
    return torch.autocast("cpu", enabled=False) if torch.is_autocast_enabled("cpu") else nullcontext()


class Linear(nn.Linear):
    """nn.Linear through `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


def packing_pays(model: nn.Module, rows: int, steps: int) -> bool:
    """Whether a generation of `steps` steps of `rows` rows repays a packed copy of the large matrices."""
    weight = next(model.parameters())
    able = weight.dtype == torch.float32 and weight.device.type == "cpu" and torch.backends.mkldnn.is_available()
    there = hasattr(torch.ops.mkldnn, "_reorder_linear_weight")  # not part of torch's public interface: it may go
    return able and there and rows in ROWS and steps >= STEPS


class PackedLinear(Linear):
    """The Linear `of`, with a packed copy of its matrix besides; products of many rows go the usual way."""

    def __init__(self, of: Linear, rows: int) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = of.in_features, of.out_features
        self.weight, self.bias = of.weight, of.bias
        self.packed = torch.ops.mkldnn._reorder_linear_weight(of.weight.detach(), rows)

    def forward(self, x: Tensor) -> Tensor:  # [B, T, D]
        if x.shape[0] * x.shape[1] not in ROWS or torch.is_grad_enabled():
            return super().forward(x)
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")


def packed(module: Any, rows: int) -> Any:
    """The same module, weights and hooks shared, whose large matrices also have packed copies, as they are now.

    >>> layer = Linear(256, 1024)
    >>> x = torch.randn(8, 1, 256)
    >>> with torch.no_grad():
    ...     torch.allclose(packed(torch.nn.Sequential(layer), 8)(x), layer(x), atol=1e-5)
    True
    """
    if type(module) is Linear and module.out_features > module.in_features and module.weight.numel() >= LARGE:
        return PackedLinear(module, rows)
    twin = copy.copy(module)
    twin._modules = {name: child if child is None else packed(child, rows) for name, child in module._modules.items()}
    return twin
