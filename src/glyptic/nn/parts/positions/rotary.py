"""Rotary positions (Su et al. 2021): rotate pairs of coordinates of q and k by an angle proportional to position.

⟨R_i q, R_j k⟩ depends on i − j alone, since rotations by iθ and jθ differ by (i − j)θ. A pair of coordinates
(2m, 2m+1) is one complex number, and the rotation one complex product: several times faster on CPUs than the usual
split, negate and concatenate. Public checkpoints pair m with m + R/2: `families/` permutes rows of W_q and W_k, and hooks
show q and k in the public order (`halves`).
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor, nn

from glyptic.arguments import Count, Number, checked, refused
from glyptic.errors import InputError
from glyptic.nn.config import ModelConfig, RotaryScaling
from glyptic.nn.shapes import shaped

Size = Annotated[int, Count(0, 2**31 - 1)]

LONGEST_TABLE = 2**18  # rows; beyond, what is needed is computed at each pass


@checked
def inverse_frequencies(
    width: Size, base: Annotated[float, Number(above=0)], scaling: RotaryScaling | None, dtype: torch.dtype
) -> Tensor:
    """[R/2] angles per position, θ_m = base^{−2m/R}, stretched by `scaling`.

    linear  all angles divided by the factor (position interpolation)
    ntk     the base grows, so that low frequencies stretch and high ones stay
    llama3  wavelengths beyond the trained length are divided, short ones kept, blended between
    yarn    the same idea with a linear ramp over frequencies, and a temperature (`attention_factor`)
    """
    kind = None if scaling is None else scaling.kind
    if width % 2 or (kind == "ntk" and width < 4):
        pairs = "an even number, since coordinates are turned in pairs"
        raise refused("width", width, f"{pairs}, and at least 4" if kind == "ntk" else pairs)
    if kind == "yarn" and base <= 1:
        raise refused("base", base, "a number above 1 for yarn")
    if not dtype.is_floating_point:
        raise refused("dtype", dtype, "a dtype of floating-point numbers")
    if scaling is not None and scaling.kind == "ntk":
        base = base * scaling.factor ** (width / (width - 2))
    exponents = torch.arange(0, width, 2, dtype=torch.int64, device="cpu").to(dtype) / width
    powers = base**exponents
    frequencies = 1.0 / powers
    if scaling is None or scaling.kind == "ntk":
        return frequencies
    if scaling.kind == "linear":
        return frequencies / scaling.factor
    if scaling.kind == "llama3":
        return _llama3(frequencies, scaling)
    return _yarn(powers, width, base, scaling)


def _llama3(frequencies: Tensor, s: RotaryScaling) -> Tensor:
    wavelengths = 2 * math.pi / frequencies
    kept = (s.original_context / wavelengths - s.low_frequency_factor) / (
        s.high_frequency_factor - s.low_frequency_factor
    )
    blended = (1 - kept) * frequencies / s.factor + kept * frequencies
    long = wavelengths > s.original_context / s.low_frequency_factor
    short = wavelengths < s.original_context / s.high_frequency_factor
    return torch.where(long, frequencies / s.factor, torch.where(short, frequencies, blended))


def _yarn(powers: Tensor, width: int, base: float, s: RotaryScaling) -> Tensor:
    def pair_with(turns: float) -> float:
        """The pair that makes this many turns over the trained length."""
        return width * math.log(s.original_context / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair_with(s.beta_fast), pair_with(s.beta_slow)
    if s.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    ramp = (torch.arange(width // 2, dtype=powers.dtype, device="cpu") - low) / (high - low or 0.001)
    kept = 1 - ramp.clamp(0, 1)
    return 1.0 / (s.factor * powers) * (1 - kept) + 1.0 / powers * kept


@checked
def temperature(factor: Annotated[float, Number(above=0)], weight: Annotated[float, Number()] = 1.0) -> float:
    """YaRN's: 0.1 · weight · ln(factor) + 1."""
    return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0


@checked
def attention_factor(scaling: RotaryScaling | None) -> float:
    """What q and k are both multiplied by: YaRN's temperature, or what the scaling says instead."""
    if scaling is None or scaling.kind != "yarn":
        return 1.0
    return temperature(scaling.factor) if scaling.attention_factor is None else scaling.attention_factor


class Rotary(nn.Module):
    """Positions → complex numbers e^{i t θ_m}, from a table as long as needed."""

    @checked
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.width = int(config.rotary_fraction * config.head_size)
        self.real = torch.float64 if config.position_precision == "float64" else torch.float32
        self.frequencies = inverse_frequencies(self.width, config.rotary_base, config.rotary_scaling, self.real)
        self.factor = attention_factor(config.rotary_scaling)
        self.context = config.context
        self.table: Tensor | None = None  # not a buffer: `.to(bfloat16)` must not round it

    def compute(self, positions: Tensor) -> Tensor:
        angles = positions[..., None].to(self.real) * self.frequencies.to(positions.device)
        return torch.complex(angles.cos() * self.factor, angles.sin() * self.factor)

    def forward(self, positions: Tensor, end: int | None, dtype: torch.dtype) -> Tensor:
        """positions [T] or [B, T], all below `end` (None: within the table) → [..., T, 1, R/2] complex."""
        kind = torch.complex128 if dtype == torch.float64 else torch.complex64
        if self.context > LONGEST_TABLE or (end is not None and end > self.context):
            return self.compute(positions).to(kind).unsqueeze(-2)
        if self.table is None or self.table.device != positions.device or self.table.dtype != kind:
            self.table = self.compute(torch.arange(self.context, device=positions.device)).to(kind).unsqueeze(-2)
        return self.table[positions]


@shaped(x="B T H K", rotation="complex ... R")
def rotate(x: Tensor, rotation: Tensor) -> Tensor:
    """x [B, T, H, K]: the first R coordinates of each head rotated, the rest as they are; rotation [..., R/2] complex."""
    before = tuple(rotation.shape[:-1])
    fits = len(before) <= 3 and all(a in (1, b) for a, b in zip(reversed(before), reversed(x.shape[:3]), strict=False))
    if not fits or 2 * rotation.shape[-1] > x.shape[-1]:
        raise InputError(
            f"rotation has shape {tuple(rotation.shape)}, and must be [T, 1, R/2] or [B, T, 1, R/2] "
            f"with R at most K for x {tuple(x.shape)}."
        )
    return turn(x, rotation)


def turn(x: Tensor, rotation: Tensor) -> Tensor:
    """`rotate` of tensors that fit, as layers call it."""
    width = 2 * rotation.shape[-1]
    turned = x if width == x.shape[-1] else x[..., :width]
    precise = turned.float() if x.dtype in (torch.bfloat16, torch.float16) else turned
    pairs = torch.view_as_complex(precise.unflatten(-1, (-1, 2)))
    turned = torch.view_as_real(pairs * rotation).flatten(-2).to(x.dtype)
    return turned if width == x.shape[-1] else torch.cat([turned, x[..., width:]], dim=-1)


@checked
def halves(head_size: Size, rotated: Size) -> list[int]:
    """The public order of a head, by our places: first the first of each pair, then the second, then what is not rotated.

    >>> halves(6, 4)
    [0, 2, 1, 3, 4, 5]
    """
    if rotated % 2 or rotated > head_size:
        raise refused("rotated", rotated, f"an even number, at most head_size={head_size}")
    return [*range(0, rotated, 2), *range(1, rotated, 2), *range(rotated, head_size)]
