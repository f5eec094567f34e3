"""The feed-forward layer: the same two- or three-matrix network on each token alone.

relu, gelu, gelu_tanh, silu    W₂ f(W₁ x + b₁) + b₂                 (the deep-learning class's FFN with f = ReLU)
swiglu, geglu                  W₂ (f(W_gate x) ∘ (W₁ x)) + b₂       with f = SiLU, GELU (tanh)
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glyptic.arguments import checked, refused
from glyptic.nn.config import ModelConfig
from glyptic.nn.parts.hook_point import HookPoint
from glyptic.nn.speed.linear import Linear

GATED = ("swiglu", "geglu")


def activate(kind: str, x: Tensor, fresh: bool = False) -> Tensor:
    """The scalar function of a kind of feed-forward, applied to each entry; a `fresh` x may be overwritten."""
    match str(kind):
        case "relu":
            return F.relu(x, inplace=fresh)
        case "gelu" if fresh:
            return torch._C._nn.gelu_(x)  # type: ignore[attr-defined]
        case "gelu":
            return F.gelu(x)
        case "gelu_tanh" | "geglu":
            return F.gelu(x, approximate="tanh")
        case "silu" | "swiglu":
            return F.silu(x)
        case _:
            raise refused("kind", kind, "one of relu, gelu, gelu_tanh, silu, swiglu, geglu")


class FeedForward(nn.Module):
    """[B, T, D] → [B, T, F] → [B, T, D]."""

    @checked
    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.kind, self.gated = config.feed_forward, config.feed_forward in GATED
        inner = 2 * config.hidden_size if self.gated else config.hidden_size  # gated: W_gate above W₁, one product
        self.into = Linear(config.width, inner, bias=config.feed_forward_bias)
        self.out = Linear(config.hidden_size, config.width, bias=config.feed_forward_bias)
        self.hook_pre, self.hook_post = HookPoint(), HookPoint()
        if self.gated:
            self.hook_pre_linear = HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        if self.gated:
            gate, linear = self.into(x).chunk(2, dim=-1)
            hidden = activate(self.kind, self.hook_pre(gate)) * self.hook_pre_linear(linear)
        else:
            fresh = self.hook_pre.listener is None and not torch.is_grad_enabled()  # nobody else looks at it
            hidden = activate(self.kind, self.hook_pre(self.into(x)), fresh)
        return self.out(self.hook_post(hidden))
