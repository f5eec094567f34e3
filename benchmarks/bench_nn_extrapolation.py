"""Beyond the trained length, measured: eight kinds of positions on one task, trained on 16 tokens, asked at 16, 32 and 64.

The task is to say the token of three steps ago, among 8 tokens, so that chance is 1 in 8. Accuracy is that of the last 8
places. A lecture's table (004) rates sinusoidal and rotary positions "good" beyond the trained length.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from benchmarks.timing import one_thread
from glyptic import nn

TOKENS, TRAINED, DELAY = 8, 16, 3
LENGTHS = (16, 32, 64)


def batch(rows: int, length: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens [rows, length] and, at each place, the token of DELAY steps before."""
    x = torch.randint(0, TOKENS, (rows, length + DELAY), generator=generator)
    return x[:, DELAY:], x[:, :-DELAY]


def trained(positions: str, steps: int) -> Any:
    """A small decoder that has learned the task at the trained length."""
    config = nn.ModelConfig(
        kind="decoder",
        layers=2,
        width=32,
        heads=4,
        vocabulary=TOKENS,
        context=TRAINED,
        positions=positions,
        backend="reference" if positions == "shaw" else "sdpa",
        embedding_scale=True,
        relative_distance=128 if positions == "t5" else 16,
    )
    model = nn.build(config, seed=0)
    optimizer, generator = torch.optim.AdamW(model.parameters(), lr=3e-3), torch.Generator().manual_seed(0)
    for _ in range(steps):
        x, y = batch(32, TRAINED, generator)
        loss = F.cross_entropy(model(x)[:, DELAY:].flatten(0, 1), y[:, DELAY:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def accuracies(positions: str, steps: int = 500) -> dict[int, float | None]:
    """Share of right answers by length; None where the model refuses the length."""
    model, generator = trained(positions, steps), torch.Generator().manual_seed(1)
    found: dict[int, float | None] = {}
    for length in LENGTHS:
        x, y = batch(64, length, generator)
        if positions == "learned" and length > TRAINED:
            found[length] = None
            continue
        with torch.no_grad():
            found[length] = (model(x).argmax(-1) == y)[:, -8:].float().mean().item()
    return found


def rows() -> list[dict[str, Any]]:
    one_thread()
    results = []
    for positions in ("sinusoidal", "learned", "rotary", "alibi", "t5", "shaw", "transformer_xl", "none"):
        found = accuracies(positions, 1000)
        texts = (f"{length}: " + ("refused" if x is None else f"{100 * x:.0f} %") for length, x in found.items())
        last = found[LENGTHS[-1]]
        results.append(
            {
                "name": f"{positions}: accuracy at 64, trained at 16",
                "value": 0.0 if last is None else round(last, 3),
                "unit": "",
                "target": "",
                "note": ", ".join(texts),
            }
        )
    return results


if __name__ == "__main__":
    for line in rows():
        print(line)
