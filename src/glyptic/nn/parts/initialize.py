"""Fresh weights: GPT-2's recipe. Matrices and tables are N(0, 0.02²), biases 0, norms 1; matrices that write into the
residual are divided by √(2 · layers), so that its variance does not grow with depth. A token embedding that is
multiplied by √D starts at N(0, 1/D) instead (Vaswani), so that tokens and sinusoids are of one size.
"""

from __future__ import annotations

import torch
from torch import nn

STANDARD_DEVIATION = 0.02


def initialize(model: nn.Module, scaled: bool = False) -> None:
    """Set every parameter, in the order of declaration; `scaled`: the config has embedding_scale."""
    depth = max(1, sum(name.endswith(".attn") for name, _ in model.named_modules()))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            elif parameter.dim() == 1:  # the scale of a norm
                parameter.fill_(1.0)
            elif name == "embedding.token.weight" and scaled:
                parameter.normal_(0.0, parameter.shape[1] ** -0.5)
            elif name.endswith(".out.weight"):
                parameter.normal_(0.0, STANDARD_DEVIATION / (2 * depth) ** 0.5)
            else:
                parameter.normal_(0.0, STANDARD_DEVIATION)
