"""Beyond the trained length, measured: 004 rates sinusoidal and rotary positions as extrapolating well.

The task is to say the token of three steps ago; models are trained on 16 tokens until they are perfect, and asked about
the last 8 of 16, 32 and 64. Measured: sinusoidal falls to chance (1 in 8) at twice the length, rotary at four times,
Transformer-XL's relative sinusoids hold throughout.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from glyptic import nn

TOKENS, TRAINED, DELAY = 8, 16, 3


def batch(rows: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randint(0, TOKENS, (rows, length), generator=generator)
    return x[:, DELAY:], x[:, :-DELAY]


def accuracies(positions: str, steps: int = 500) -> dict[int, float]:
    sizes = {"layers": 2, "width": 32, "heads": 4, "vocabulary": TOKENS, "context": TRAINED}
    model = nn.build(nn.ModelConfig(kind="decoder", positions=positions, embedding_scale=True, **sizes), seed=0)
    optimizer, generator = torch.optim.AdamW(model.parameters(), lr=3e-3), torch.Generator().manual_seed(0)
    for _ in range(steps):
        x, y = batch(32, TRAINED + DELAY, generator)
        loss = F.cross_entropy(model(x)[:, DELAY:].flatten(0, 1), y[:, DELAY:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    found = {}
    for length in (16, 32, 64):
        x, y = batch(64, length + DELAY, generator)
        with torch.no_grad():
            found[length] = (model(x).argmax(-1) == y)[:, -8:].float().mean().item()
    return found


@pytest.mark.parametrize(
    ("positions", "good", "lost"),
    [("sinusoidal", [16], [32, 64]), ("rotary", [16], [64]), ("transformer_xl", [16, 32, 64], [])],
)
def test_trained_on_16_tokens(positions: str, good: list[int], lost: list[int]) -> None:
    found = accuracies(positions)
    assert all(found[length] > 0.95 for length in good), found
    assert all(found[length] < 0.5 for length in lost), found
