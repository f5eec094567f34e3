"""Small models with weights far from their initial values, in float64."""

from __future__ import annotations

from typing import Any

import torch

from glyptic import nn

SIZES: dict[str, Any] = {"layers": 2, "width": 12, "heads": 3, "vocabulary": 11, "context": 16, "relative_distance": 20}


def config(**fields: Any) -> nn.ModelConfig:
    if fields.get("positions") == "shaw":
        fields = {"backend": "reference", "relative_distance": 3, **fields}
    return nn.ModelConfig(**{"kind": "decoder", **SIZES, **fields})


def scramble(model: Any, seed: int = 0) -> Any:
    """Every parameter and every running statistic random, so that no term is 0 or 1 by chance."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            if parameter.dim() == 1:
                parameter.copy_(0.3 * noise + (not name.endswith("bias")))
            else:
                parameter.copy_(noise * parameter.shape[-1] ** -0.5)
        for name, buffer in model.named_buffers():
            if name.endswith("running_var"):
                buffer.copy_(torch.rand(buffer.shape, generator=generator) + 0.5)
            elif name.endswith("running_mean"):
                buffer.copy_(torch.randn(buffer.shape, generator=generator))
    return model


def model(seed: int = 0, **fields: Any) -> Any:
    return scramble(nn.build(config(**fields)).double(), seed).eval()


def tokens(batch: int, length: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, SIZES["vocabulary"], (batch, length), generator=torch.Generator().manual_seed(seed))
