"""Forward pass of a 10 M encoder, 8 × 128 tokens, against the fast path of nn.TransformerEncoder, padded and not.

Padded: lengths spread evenly from a quarter to the whole. torch then packs the batch into nested tensors; ours packs with
`packed=True`. Both leave out the work on padding.
"""

from __future__ import annotations

from typing import Any

import torch

from benchmarks.nn_peers import LARGE
from benchmarks.timing import contest, one_thread, row
from glyptic import nn

BATCH, LENGTH = 8, 128


def torch_encoder() -> torch.nn.Module:
    """Post-norm, the layout that the fast path and nested tensors were made for."""
    layer = torch.nn.TransformerEncoderLayer(LARGE.width, LARGE.heads, 4 * LARGE.width, 0.0, "gelu", batch_first=True)
    return torch.nn.TransformerEncoder(layer, LARGE.layers).eval()


def our_encoder() -> Any:
    config = nn.ModelConfig(
        kind="encoder",
        layers=LARGE.layers,
        width=LARGE.width,
        heads=LARGE.heads,
        feed_forward="gelu",
        norm_place="post",
        positions="none",
        head="none",
    )
    return nn.build(config, seed=0).eval()


def rows() -> list[dict[str, Any]]:
    one_thread()
    theirs, ours = torch_encoder(), our_encoder()
    x = torch.randn(BATCH, LENGTH, LARGE.width)
    lengths = torch.linspace(LENGTH / 4, LENGTH, BATCH).long()
    real = torch.arange(LENGTH) < lengths[:, None]
    with torch.inference_mode():
        whole = contest({"ours": lambda: ours(vectors=x), "torch": lambda: theirs(x)}, rounds=21)
        padded = contest(
            {
                "packed": lambda: ours(vectors=x, padding_mask=real, packed=True),
                "masked": lambda: ours(vectors=x, padding_mask=real),
                "torch": lambda: theirs(x, src_key_padding_mask=~real),
            },
            rounds=15,
        )
    milliseconds = {name: 1e3 * padded.seconds(name) for name in padded.rounds}
    note = ", ".join(f"{name} {value:.0f} ms" for name, value in milliseconds.items())
    times = f"ours {1e3 * whole.seconds('ours'):.0f} ms, torch {1e3 * whole.seconds('torch'):.0f} ms"
    return [
        row("encoder forward, 10 M, 8 × 128, against nn.TransformerEncoder", whole.speed("ours", "torch"), ">= 0.97", times),
        row(
            "encoder forward, padded, packed=True against nested tensors",
            padded.speed("packed", "torch"),
            ">= 0.97",
            f"{note}; {int(real.sum())} of {real.numel()} tokens are real",
        ),
    ]


if __name__ == "__main__":
    for line in rows():
        print(line)
