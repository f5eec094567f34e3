"""Constructions: the time to normalize and combine a large transformer, against loading it; what a normal form costs to run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.timing import contest, row
from glyptic.carve import normalize
from glyptic.exact import Options, Sizes, Transformer, load, random_transformer
from glyptic.exact.running import prepared_for, run_chunk
from glyptic.numbers import Fixed

SIZES = Sizes(layers=12, heads=8, width=256, key_width=32, value_width=32, hidden=1024, max_length=128)


def rows() -> list[dict]:
    T = random_transformer(Fixed(8), 0, SIZES, Options(attention="max-subtracted"))
    return [*_construction(T), *_running()]


def _construction(T: Transformer) -> list[dict]:
    """Every construction on the 12-layer, d = 256 transformer, in turn with loading it."""
    builds: dict[str, Callable[[], Transformer]] = {
        "zero_one": lambda: normalize.zero_one(T),
        "infinity": lambda: normalize.infinity(T),
        "plus_minus": lambda: normalize.plus_minus(T),
        "plus_minus, one layer": lambda: normalize.plus_minus(T, one_layer=True),
        "a & b": lambda: T & T,
    }
    with tempfile.TemporaryDirectory() as folder:
        T.save(Path(folder) / "model")
        times = contest({"load": lambda: load(Path(folder) / "model"), **builds}, rounds=7)
    out = []
    for name in builds:
        target, note = ("< 2", "12 layers, d = 256, 8 heads, 1024 hidden units; 1 is the time of loading its file")
        if name == "a & b":
            target, note = ("< 8", "two of them side by side, block-diagonal: four times the weights")
        out.append(row(f"{name}, time", times.speed("load", name), target, note))
    return out


def _running() -> list[dict]:
    """A batch through the normalized transformer, over the same batch through T."""
    sizes = Sizes(layers=4, heads=4, width=64, hidden=256, max_length=32)
    T = random_transformer(Fixed(8), 0, sizes, Options(attention="average"))
    tokens = np.random.default_rng(0).integers(0, 2, (32, 256))
    plain, normal = prepared_for(T), prepared_for(normalize.plus_minus(T))
    times = contest({"T": lambda: run_chunk(plain, tokens), "normalized": lambda: run_chunk(normal, tokens)}, rounds=7)
    note = "4 layers, d = 64, and two more"
    return [row("plus_minus(T) to run, time over T's", times.speed("T", "normalized"), "<= 1.5", note)]
