"""Forward pass of a 10 M encoder, 8 × 128 tokens, against the fast path of nn.TransformerEncoder, padded and not.

Padded: lengths spread evenly from a quarter to the whole. torch then packs the batch into nested tensors; ours packs with
`packed=True`. Both leave out most of the work on padding. Looking inside is measured too: the price of
keeping activations by name, and of attention maps, which only the `reference` backend has.
"""

from __future__ import annotations

from typing import Any

import torch

from benchmarks import nn_peers
from benchmarks.nn_peers import LARGE
from benchmarks.timing import Timings, contest, one_thread, row
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


def check_fast_path(theirs: torch.nn.Module, x: torch.Tensor, padding: torch.Tensor | None) -> None:
    """torch falls back to its slow path in silence: make sure that it did not."""
    with torch.profiler.profile() as profile:
        theirs(x, src_key_padding_mask=padding)
    assert any(event.key == "aten::_transformer_encoder_layer_fwd" for event in profile.key_averages()), "no fast path"


def whole_batches(theirs: torch.nn.Module, ours: Any, x: torch.Tensor) -> dict[str, Any]:
    check_fast_path(theirs, x, None)
    timings = contest({"ours": lambda: ours(vectors=x), "torch": lambda: theirs(x)}, rounds=21)
    note = f"{milliseconds(timings, 'ours')}; fast path checked; {nn_peers.versions()}"
    return row("encoder forward, 10 M, 8 × 128, against nn.TransformerEncoder", timings.speed("ours", "torch"), ">= 0.97", note)


def padded_batches(theirs: torch.nn.Module, ours: Any, x: torch.Tensor) -> dict[str, Any]:
    lengths = torch.linspace(LENGTH / 4, LENGTH, BATCH).long()
    real = torch.arange(LENGTH) < lengths[:, None]
    check_fast_path(theirs, x, ~real)
    timings = contest(
        {
            "packed": lambda: ours(vectors=x, padding_mask=real, packed=True),
            "masked": lambda: ours(vectors=x, padding_mask=real),
            "torch": lambda: theirs(x, src_key_padding_mask=~real),
        },
        rounds=15,
    )
    note = f"{milliseconds(timings, 'packed')}; {int(real.sum())} of {real.numel()} tokens are real; fast path checked"
    return row("encoder forward, padded, packed=True against nested tensors", timings.speed("packed", "torch"), ">= 0.97", note)


def looking_inside(ours: Any, x: torch.Tensor) -> list[dict[str, Any]]:
    reference = nn.with_backend(ours, "reference")
    timings = contest(
        {
            "plain": lambda: ours(vectors=x),
            "recorded": lambda: nn.record(ours, vectors=x, names="blocks.*.hook_resid_post"),
            "maps": lambda: nn.record(reference, vectors=x, names="blocks.*.attn.hook_pattern"),
        },
        rounds=11,
    )
    note = milliseconds(timings, "plain")
    return [
        row("encoder forward, all residuals kept, against none", timings.speed("recorded", "plain"), "", note),
        row("encoder forward, all attention maps (reference), against none (sdpa)", timings.speed("maps", "plain"), "", note),
    ]


def milliseconds(timings: Timings, base: str) -> str:
    """The base's own median, the others' by the medians of ratios."""
    own = 1e3 * timings.seconds(base)
    return ", ".join(f"{name} {own * timings.speed(base, name):.0f} ms" for name in timings.rounds)


@torch.inference_mode()
def rows() -> list[dict[str, Any]]:
    one_thread()
    theirs, ours = torch_encoder(), our_encoder()
    x = torch.randn(BATCH, LENGTH, LARGE.width)
    return [whole_batches(theirs, ours, x), padded_batches(theirs, ours, x), *looking_inside(ours, x)]


if __name__ == "__main__":
    for line in rows():
        print(line)
