"""[x] on tensors: the rounding of a format, saturation and tie rule included, with a straight-through gradient.

Rounding is constant almost everywhere, so its own gradient is 0 and teaches nothing. Here the gradient passes as if nothing had
been rounded, where x is within the format, and is 0 beyond its ends, where the value stays at B whatever x does.

The value is that of `Format.round`, bit for bit, for every number of the tensor's type: it is brought into units of its last
place by an exact power of two, rounded there, and brought back. In units it is below 2^p, and the type has more than p bits, so
that |x| − ½, by which ties to the smaller are found, is exact too. Formats that a type does not carry (`numbers.hosts`) are
refused.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.arguments import refused
from glyptic.errors import FormatError
from glyptic.numbers import AnyFormat, Exact, Format, as_format
from glyptic.numbers.hosts import host_of

_FRACTION = {torch.float32: (torch.int32, 23, 127), torch.float64: (torch.int64, 52, 1023)}  # bits, and the exponent's bias


def rounded(x: Tensor, format: str | AnyFormat) -> Tensor:
    """[x], with a gradient of 1 within the format and of 0 beyond B.

    >>> x = torch.tensor([0.3, -0.375, 100.0], dtype=torch.float64, requires_grad=True)
    >>> y = rounded(x, "fixed:2")
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([0.25, -0.25, 3.75], [1.0, 1.0, 0.0])
    """
    if not isinstance(x, Tensor) or x.dtype not in _FRACTION:
        given = f"a tensor of {x.dtype}" if isinstance(x, Tensor) else x
        raise refused("x", given, "a tensor of float32 or float64")
    return _Rounded.apply(x, _carried(as_format(format), x.dtype))  # type: ignore[no-untyped-call]


@lru_cache(maxsize=64)
def _carried(format: AnyFormat, dtype: torch.dtype) -> Format:
    """The format, if the type is proved to carry it."""
    if isinstance(format, Exact):
        raise FormatError("exact rationals are not rounded, and tensors do not hold them; choose a finite format: fixed:8.")
    if host_of(format).dtype is np.float64 and dtype is torch.float32:  # host_of refuses what no type carries
        raise FormatError(f"{format} does not fit into float32, in which these numbers are; give them in float64.")
    return format


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, format: Format) -> Tensor:
        low, high = float(format.min), float(format.max)
        ctx.save_for_backward((x >= low) & (x <= high))
        return nearest(x.detach(), format)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (within,) = ctx.saved_tensors
        return gradients[0] * within, None


def nearest(x: Tensor, format: Format) -> Tensor:
    """The values of the format that are nearest, without a gradient."""
    clamped = x.clamp(float(format.min), float(format.max))
    exponent = torch.frexp(clamped).exponent.to(torch.int64)
    places = (exponent - format.precision).clamp(format.least_exponent, format.greatest_exponent)
    unit = _power_of_two(places, x.dtype)
    units = clamped / unit
    whole = units.round() if format.ties == "even" else torch.copysign((units.abs() - 0.5).ceil(), units)
    found = whole * unit
    if not format.subnormals:  # between 0 and the least value both tie rules choose 0, the smaller and the one of even rank
        least = float(format.least)
        below = torch.where(2 * clamped.abs() > least, torch.copysign(torch.full_like(x, least), clamped), torch.zeros_like(x))
        found = torch.where(clamped.abs() < least, below, found)
    return found + 0.0  # no −0: a format has one zero


def _power_of_two(exponents: Tensor, dtype: torch.dtype) -> Tensor:
    """2^e, by the bits of the number itself; formats that are carried stay far from where these end."""
    integer, bits, bias = _FRACTION[dtype]
    return ((exponents + bias) << bits).to(integer).view(dtype)
