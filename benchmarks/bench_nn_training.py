"""A training step (forward, backward, AdamW) of 1 M and 10 M decoders, context 256, against three libraries.

Ratios are ours against the best of the others in the same precision; MFU is the share of the rate that a plain matrix
product reaches on the shapes of the same layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks import nn_peers
from benchmarks.nn_peers import LARGE, SMALL, Size
from benchmarks.timing import Timings, contest, one_thread, row

PEERS = ("HF", "x-transformers", "nn.TransformerEncoder")


def training_step(model: torch.nn.Module, size: Size, dtype: torch.dtype) -> Callable[[], None]:
    """One step of language modelling on random tokens; parameters and optimizer state in `dtype`."""
    model = model.to(dtype).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(size.vocabulary, (size.batch, size.context + 1), generator=torch.Generator().manual_seed(0))

    def step() -> None:
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return step


def contestants(size: Size, dtype: torch.dtype) -> dict[str, Callable[[], None]]:
    backend = "sdpa" if dtype == torch.float32 else "blocked"
    models = {
        "ours": nn_peers.ours(size, backend),
        "HF": nn_peers.HuggingFace(size),
        "x-transformers": nn_peers.x_transformers(size),
        "nn.TransformerEncoder": nn_peers.TorchEncoder(size),
    }
    return {name: training_step(model, size, dtype) for name, model in models.items()}


def gemm_rate(size: Size, dtype: torch.dtype) -> float:
    """FLOP/s of plain matrix products on the shapes of a layer, weighted by their work."""
    tokens, work, seconds = size.batch * size.context, 0.0, 0.0
    for inner, outer in ((size.width, 3 * size.width), (size.width, 4 * size.width), (4 * size.width, size.width)):
        a, b = torch.randn(tokens, inner, dtype=dtype), torch.randn(inner, outer, dtype=dtype)
        work += 2.0 * tokens * inner * outer
        seconds += contest({"gemm": lambda a=a, b=b: a @ b}, rounds=5).seconds("gemm")
    return work / seconds


def step_flops(size: Size) -> float:
    """Forward and backward of a step, as `nn.cost` counts them: the backward pass costs two forward ones."""
    from glyptic import nn

    return 3.0 * nn.cost(nn_peers.ours(size).config, batch=size.batch, length=size.context).flops


def measure(size: Size, dtype: torch.dtype, rounds: int) -> Timings:
    return contest(contestants(size, dtype), rounds=rounds, least_seconds=0.0)


def rows() -> list[dict[str, Any]]:
    one_thread()
    results = []
    targets = {
        (SMALL, torch.float32): ">= 0.97",
        (LARGE, torch.float32): ">= 0.97",
        (SMALL, torch.bfloat16): ">= 1.3",
        (LARGE, torch.bfloat16): ">= 1.1",
    }
    for (size, dtype), target in targets.items():
        rounds = (7 if dtype == torch.float32 else 2) if size is SMALL else (5 if dtype == torch.float32 else 1)
        timings = measure(size, dtype, rounds)
        best = timings.fastest(PEERS)
        tokens = size.batch * size.context
        kind = str(dtype).removeprefix("torch.")
        others = ", ".join(f"{name} {tokens / timings.seconds(name):,.0f}" for name in PEERS)
        note = f"tokens/s: ours {tokens / timings.seconds('ours'):,.0f}, {others}; best is {best}"
        results.append(row(f"training step, {size.name}, {kind}", timings.speed("ours", best), target, note))
    return results


if __name__ == "__main__":
    for line in rows():
        print(line)
