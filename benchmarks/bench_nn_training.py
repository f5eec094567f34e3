"""A training step (forward, backward, AdamW) of 1 M and 10 M decoders, context 256, against three libraries.

Ratios are ours against the best of the others in the same precision; ours takes the backend that is faster here, and the
note gives both. MFU is the share of the rate that plain float32 products reach: those of the same step (forward, and the two
of the backward pass, for each matrix of each layer and the output), alone, in the same rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks import nn_peers
from benchmarks.nn_peers import LARGE, SMALL, Size
from benchmarks.timing import Timings, contest, one_thread, row
from glyptic import nn
from glyptic.nn.speed.halves import HOPELESS, is_widened, measured

OURS = ("sdpa", "blocked")
PEERS = ("HF", "x-transformers", "nn.TransformerEncoder")
TARGETS = {
    (SMALL, torch.float32): ">= 0.97",
    (LARGE, torch.float32): ">= 0.97",
    (SMALL, torch.bfloat16): ">= 1.3",
    (LARGE, torch.bfloat16): ">= 1.1",
}


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


def products(size: Size) -> tuple[Callable[[], None], float]:
    """The products of a training step with the model's matrices, x Wᵀ, g W and gᵀ x, in float32; and their FLOPs."""
    tokens, D = size.batch * size.context, size.width
    shapes = [(D, 3 * D), (D, D), (D, 4 * D), (4 * D, D)] * size.layers + [(D, size.vocabulary)]
    weights = [torch.randn(o, i) for i, o in shapes]
    vectors = {width: torch.randn(tokens, width) for shape in shapes for width in shape}

    def run() -> None:
        for weight in weights:
            x, gradient = vectors[weight.shape[1]], vectors[weight.shape[0]]
            F.linear(x, weight)
            gradient @ weight
            gradient.t() @ x

    return run, sum(6.0 * tokens * weight.numel() for weight in weights)


def _is_hopeless() -> bool:
    """Whether this CPU has no instructions for bfloat16 at all, which the peers' steps show."""
    seconds = measured(torch.bfloat16)
    return seconds["native"] > HOPELESS * seconds["widened"]


def measure(size: Size, dtype: torch.dtype, rounds: int) -> Timings:
    models = {
        **{backend: nn_peers.ours(size, backend) for backend in OURS},
        "HF": nn_peers.HuggingFace(size),
        "x-transformers": nn_peers.x_transformers(size),
        "nn.TransformerEncoder": nn_peers.TorchEncoder(size),
    }
    steps = {name: training_step(model, size, dtype) for name, model in models.items()}
    if dtype != torch.float32:
        steps |= {f"{b} in float32": training_step(nn_peers.ours(size, b), size, torch.float32) for b in OURS}
    return contest({**steps, "products": products(size)[0]}, rounds=rounds, least_seconds=0.2)


def result(size: Size, dtype: torch.dtype, target: str) -> list[dict[str, Any]]:
    slow = dtype == torch.bfloat16 and _is_hopeless()  # peers take ten times as long then: fewer rounds, smaller batches
    if slow:
        size = replace(size, batch=1 if size is LARGE else 4)
    timings = measure(size, dtype, rounds=5 if slow or size is LARGE else 7)
    ours = timings.fastest(OURS)
    best = min(PEERS, key=lambda peer: timings.speed(ours, peer))
    tokens, kind = size.batch * size.context, str(dtype).removeprefix("torch.")
    emulated = "; this CPU has no bfloat16 instructions" if slow else ""
    if dtype != torch.float32:
        emulated += f"; products {'in float32, rounded once' if is_widened(dtype) else 'by torch'}, as measured at first use"
    speed = row(
        f"training step, {size.name}, {kind}: {ours} against {best}",
        timings.speed(ours, best),
        target,
        f"tokens/s: {nn_peers.rates(timings, ours, tokens)}; batch {size.batch}{emulated}; "
        + nn_peers.versions("transformers", "x-transformers"),
    )
    found = [speed, utilization(size, kind, ours, timings)]
    if dtype != torch.float32:
        wide = timings.fastest([f"{backend} in float32" for backend in OURS])
        label, note = f"training step, {size.name}: {kind} against float32, both ours", f"{ours} against {wide}"
        found.append(row(label, timings.speed(ours, wide), ">= 1", note))
    return found


def utilization(size: Size, kind: str, backend: str, timings: Timings) -> dict[str, Any]:
    """MFU of our step with this backend, whose own FLOPs are counted (`blocked` leaves out most of the masked half)."""
    config = nn_peers.ours(size, backend).config
    flops = 3.0 * nn.cost(config, batch=size.batch, length=size.context).flops  # the backward pass takes twice as many
    possible = products(size)[1]
    limit = possible / timings.seconds("products")
    share = flops / possible * timings.speed(backend, "products")
    note = f"{share * limit / 1e9:.1f} of {limit / 1e9:.1f} GFLOP/s; {backend}, {flops / 1e9:.1f} GFLOP a step"
    return row(f"training MFU, {size.name}, {kind}", share, "", note, unit="of float32 GEMM")


def rows() -> list[dict[str, Any]]:
    one_thread()
    return [line for (size, dtype), target in TARGETS.items() for line in result(size, dtype, target)]


if __name__ == "__main__":
    for line in rows():
        print(line)
