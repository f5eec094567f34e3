"""Normalization: what is averaged over what.

    name          statistics over            causal   padding     train = inference
    layer         features of one token      yes      harmless    yes
    rms           features, no mean          yes      harmless    yes
    rms_outside   the same, ε outside √      yes      harmless    yes      (the Zaragoza course's code)
    rms_plus_one  rms, γ = 1 + the weight    yes      harmless    yes      (Gemma: weights near 0 keep their digits)
    group         one group of features      yes      harmless    yes      (each token alone)
    batch         all tokens of the batch    no       refused     no       (running statistics at inference: causal)
    instance      tokens of one sequence     no       refused     yes
    none          nothing                    yes      harmless    yes

A norm that pools over tokens sees the future, so a decoder refuses it: `instance` in the config, `batch` when it is
run in training mode.

`hook_normalized` is x̂, before γ and β. Only while somebody listens is x̂ computed by itself; what the norm gives is then
the same to the last bit, unless x̂ was changed.
"""

from __future__ import annotations

from typing import Annotated, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glyptic.arguments import Count, Number, checked
from glyptic.errors import ModelError
from glyptic.nn.config import ModelConfig
from glyptic.nn.parts.hook_point import HookPoint

Width = Annotated[int, Count(1, 2**31 - 1)]
Epsilon = Annotated[float, Number(least=0)]


class _Hooked(nn.Module):
    """A norm that is one kernel, `normalize(x, γ, β)`, and gives x̂ if both are None."""

    weight: Any
    bias: Any
    hook_normalized: HookPoint

    def normalize(self, x: Tensor, gain: Tensor | None, bias: Tensor | None) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:  # [B, T, D]
        whole = self.normalize(x, self.weight, self.bias)
        if self.hook_normalized.listener is None:
            return whole
        normalized = self.normalize(x, None, None)
        before = normalized.detach().clone()  # a listener may write into what it is shown
        shown = self.hook_normalized(normalized)
        scaled = shown * self.weight + self.bias
        return _Value.apply(whole, scaled) if torch.equal(shown, before) else scaled


class _Value(torch.autograd.Function):
    """The value of one tensor with the gradient of another, so that an x̂ that was kept is part of the graph."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, graph: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:  # type: ignore[override]
        return None, gradient


class LayerNorm(_Hooked, nn.LayerNorm):
    """γ (x − mean) / √(variance + ε) + β over the features of each token."""

    @checked
    def __init__(self, width: Width, eps: Epsilon = 1e-5) -> None:
        super().__init__(width, eps=eps)
        self.hook_normalized = HookPoint()

    def normalize(self, x: Tensor, gain: Tensor | None, bias: Tensor | None) -> Tensor:
        return torch.layer_norm(x, self.normalized_shape, gain, bias, self.eps)


class RMSNorm(nn.Module):
    """γ x / √(mean x² + ε), or γ x / (√(mean x²) + ε) with `outside`, as the Zaragoza course's code has it.

    γ is the weight, or 1 + weight with `plus_one`. Sums are taken in at least float32, and with `plus_one` the product with γ
    too, as Gemma has it. (torch's own module is several times slower on CPUs.)
    """

    @checked
    def __init__(self, width: Width, eps: Epsilon = 1e-6, outside: bool = False, plus_one: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width) if plus_one else torch.ones(width))
        self.eps, self.outside, self.plus_one = eps, outside, plus_one
        self.hook_normalized = HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        precise = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
        norm = torch.linalg.vector_norm(precise, dim=-1, keepdim=True)
        if self.outside:
            inverse = 1.0 / (norm * x.shape[-1] ** -0.5 + self.eps)
        else:
            inverse = torch.rsqrt(norm * norm / x.shape[-1] + self.eps)
        if self.plus_one:
            return (self.hook_normalized(precise * inverse) * (1 + self.weight.to(precise.dtype))).to(x.dtype)
        return self.hook_normalized((precise * inverse).to(x.dtype)) * self.weight


class GroupNorm(_Hooked, nn.GroupNorm):
    """Each token's features in groups, each group normalized by itself; one group is LayerNorm."""

    @checked
    def __init__(self, groups: Width, width: Width, eps: Epsilon = 1e-5) -> None:
        super().__init__(groups, width, eps=eps)
        self.hook_normalized = HookPoint()

    def normalize(self, x: Tensor, gain: Tensor | None, bias: Tensor | None) -> Tensor:
        return F.group_norm(x.reshape(-1, x.shape[-1]), self.num_groups, gain, bias, self.eps).view(x.shape)


class BatchNorm(_Hooked, nn.BatchNorm1d):
    """Each feature over all tokens of the batch; a decoder may only use its running statistics."""

    @checked
    def __init__(self, width: Width, eps: Epsilon = 1e-5, causal: bool = False) -> None:
        super().__init__(width, eps=eps)
        self.causal, self.hook_normalized = causal, HookPoint()

    def normalize(self, x: Tensor, gain: Tensor | None, bias: Tensor | None) -> Tensor:
        if self.training and self.causal:
            raise ModelError(
                "norm='batch' in training pools over all tokens, so a causal model would see the future; "
                "call eval(), or use norm='layer'."
            )
        flat = x.reshape(-1, x.shape[-1])
        if gain is not None:
            return nn.BatchNorm1d.forward(self, flat).view(x.shape)
        running = (None, None) if self.training else (self.running_mean, self.running_var)  # counted once, not twice
        return F.batch_norm(flat, *running, training=self.training, eps=self.eps).view(x.shape)


class InstanceNorm(_Hooked):
    """Each feature over the tokens of one sequence."""

    @checked
    def __init__(self, width: Width, eps: Epsilon = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps, self.hook_normalized = eps, HookPoint()

    def normalize(self, x: Tensor, gain: Tensor | None, bias: Tensor | None) -> Tensor:
        return F.instance_norm(x.transpose(1, 2), weight=gain, bias=bias, eps=self.eps).transpose(1, 2)


@checked
def make_norm(config: ModelConfig, causal: bool = False) -> nn.Module:
    """The norm that the config names, for vectors of its width."""
    width, eps = config.width, config.norm_eps
    match config.norm:
        case "layer":
            return LayerNorm(width, eps=eps)
        case "rms" | "rms_outside" | "rms_plus_one":
            return RMSNorm(width, eps, outside=config.norm == "rms_outside", plus_one=config.norm == "rms_plus_one")
        case "group":
            return GroupNorm(config.norm_groups, width, eps=eps)
        case "batch":
            return BatchNorm(width, eps, causal)
        case "instance":
            return InstanceNorm(width, eps)
        case _:
            return nn.Identity()


def refuse_padding(config: ModelConfig, training: bool) -> None:
    """Padding would enter statistics that pool over tokens: say so instead of computing something else."""
    if config.norm == "instance" or (config.norm == "batch" and training):
        raise ModelError(
            f"norm={config.norm!r} pools over tokens, so a padding_mask would change its statistics; "
            "give sequences of one length."
        )
