"""The roofline: what this machine can do at most, and our rounded products on it.

The roof is the rate of fused multiply-adds of float32 in registers, and the bandwidth of memory and of a cache of the second
level; a kernel lies under it at its products for each byte that it must read or write once. One thread. The picture is
`docs/figures/roofline.svg`, its numbers are beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from threadpoolctl import threadpool_limits

from benchmarks.timing import contest, row
from glyptic import figures
from glyptic.numbers import Format, encode, parse_format
from glyptic.numbers.fast import Fast
from glyptic.numbers.machines import SHAPES, WRAPPERS, vectors_here
from glyptic.numbers.vectors import Emitter

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "roofline.svg"
SUMS, TURNS = 12, 20_000


@intrinsic
def _multiply_add(context, turns, out):
    """Twelve running sums, each a chain of fused operations on what is in registers."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        shape = SHAPES[WRAPPERS[vectors_here()]]
        emitter = Emitter(builder, types.float32, shape.bits, shape.fused)
        place = context.make_array(signature.args[1])(context, builder, args[1]).data
        x = emitter.load(place)
        sums = [emitter.variable(x) for _ in range(SUMS)]
        with cgutils.for_range(builder, args[0]):
            for total in sums:
                total.set(x.times_plus(x, total.get()))
        for total in sums:
            emitter.store(total.get() + emitter.load(place), place)
        return context.get_dummy_value()

    return types.void(turns, out), generate


@njit
def _peak(turns, out):
    _multiply_add(turns, out)


def rows() -> list[dict]:
    with threadpool_limits(1):
        return _rows()


def _rows() -> list[dict]:
    lanes = SHAPES[WRAPPERS[vectors_here()]].bits // 32
    small, large = np.ones(1 << 16, np.float32), np.ones(1 << 24, np.float32)  # 256 KiB and 64 MiB
    targets = {"cache": np.empty_like(small), "memory": np.empty_like(large)}
    register = np.ones(16, np.float32)
    left, right = np.ones((512, 512), np.float32), np.ones((512, 512), np.float32)
    timed = contest(
        {
            "peak": lambda: _peak(TURNS, register),
            "cache": lambda: np.copyto(targets["cache"], small),
            "memory": lambda: np.copyto(targets["memory"], large),
            "blas": lambda: left @ right,
        },
        rounds=7,
    )
    peak = SUMS * TURNS * lanes / min(timed.rounds["peak"]) / 1e9
    bandwidth = {name: 8 * array.size / min(timed.rounds[name]) / 1e9 for name, array in (("cache", small), ("memory", large))}
    blas = 512**3 / min(timed.rounds["blas"]) / 1e9
    points = [_dense(*which) for which in DENSE] + [_sparse(), *_attention()]
    _draw(peak, bandwidth, blas, points)
    found = [
        row("fused multiply-adds in registers", peak, "", f"vectors of {32 * lanes} bits; BLAS reaches {blas:.0f}", "GMAC/s"),
        row("copying 256 KiB", bandwidth["cache"], "", "read and written, in the caches", "GB/s"),
        row("copying 64 MiB", bandwidth["memory"], "", "read and written", "GB/s"),
    ]
    for name, intensity, rate in points:
        roof = min(peak, intensity * bandwidth["cache"])
        found.append(row(f"{name}: of the roof", rate / roof, "", f"{rate:.1f} GMAC/s at {intensity:.2g} MAC a byte"))
    return [*found, *_softmax()]


DENSE = [
    ("fixed:8", 0.1, "nothing saturates"),
    ("fixed:8/even", 0.1, "nothing saturates"),
    ("fixed:8", 40.0, "saturating"),
    ("fixed:8/even", 40.0, "saturating"),
    ("ieee:5,10", 0.1, "e5 p11"),
    ("ieee:5,10/zero", 0.1, "e5 p11"),
]
Point = tuple[str, float, float]


def _codes(format: Format, spread: float, *shape: int) -> np.ndarray:
    return encode(np.random.default_rng(0).normal(0, spread, shape), format, nearest=True)


def _fast(name: str) -> Fast:
    format = parse_format(name)
    assert isinstance(format, Format)
    return Fast(format)


def _rate(run: Any, products: int) -> float:
    return products / min(contest({"ours": run}, rounds=7).rounds["ours"]) / 1e9


def _dense(name: str, spread: float, about: str) -> Point:
    fast = _fast(name)
    weights, x = fast.weights(_codes(fast.format, spread, 64, 256)), fast.values(_codes(fast.format, 1, 256, 256, 1))
    touched = 4 * (64 * 256 + 256 * 256 + 64 * 256)
    products = 64 * 256 * 256
    return f"dense {name}, {about}", products / touched, _rate(lambda: fast.linear(weights, x), products)


def _sparse() -> Point:
    fast = _fast("fixed:8")
    codes = np.where(np.random.default_rng(1).random((256, 256)) < 0.02, _codes(fast.format, 0.5, 256, 256), 0)
    weights, x = fast.weights(codes), fast.values(_codes(fast.format, 1, 256, 1024, 1))
    products = np.count_nonzero(codes) * 1024
    return "sparse 2 %, fixed:8", products / (4 * 2 * 256 * 1024), _rate(lambda: fast.linear(weights, x), products)


def _attention() -> list[Point]:
    fast, found = _fast("fixed:8"), []
    c, n, batch = 8, 32, 32
    q, k = (fast.values(_codes(fast.format, 1, c, n, batch)) for _ in range(2))
    s, visible = fast.values(_codes(fast.format, 0.1, n, n, batch)), np.tril(np.ones((n, n), bool))
    products = c * visible.sum() * batch
    touched = 4 * (2 * c * n * batch + n * n * batch)
    for name, run in (("scores", lambda: fast.scores(q, k, visible)), ("mixtures", lambda: fast.mixture(s, k, visible))):
        found.append((f"{name}, fixed:8", products / touched, _rate(run, products)))
    return found


def _softmax() -> list[dict]:
    found = []
    for name in ("fixed:8", "ieee:5,10"):
        fast = _fast(name)
        scores, visible = fast.values(_codes(fast.format, 1, 32, 32, 32)), np.tril(np.ones((32, 32), bool))
        run = contest({"softmax": lambda f=fast, s=scores, v=visible: f.attention_weights(s, v, "softmax")}, rounds=5)
        rate = visible.sum() * 32 / min(run.rounds["softmax"]) / 1e9
        note = "a table of exp, a division in float64" if fast.format.is_fixed else "exp in float64 within a margin, a division"
        found.append(row(f"softmax, {name}", rate, "", note, "G values/s"))
    return found


def _draw(peak: float, bandwidth: dict[str, float], blas: float, points: list[Point]) -> None:
    figure, axes = figures.new(size=(9.6, 4.6))
    at = np.geomspace(0.1, 60, 60)
    for (name, rate), colour in zip(bandwidth.items(), figures.SERIES, strict=False):
        axes.plot(at, np.minimum(peak, at * rate), color=colour, label=f"{name}: {rate:.0f} GB/s, then {peak:.0f} GMAC/s")
    axes.axhline(blas, color=figures.COLOURS["muted"], linestyle=":", label=f"float32 BLAS, unrounded: {blas:.0f} GMAC/s")
    marks = ["o", "s", "^", "v", "D", "P", "X", "*", "<"]
    for (name, intensity, rate), mark, colour in zip(points, marks, figures.distinct(len(points)), strict=False):
        axes.plot([intensity], [rate], mark, color=colour, label=name, linestyle="none")
    axes.set_xlabel("products for each byte that is read or written once")
    axes.set_ylabel("GMAC/s, one thread")
    figures.log_axis(axes, "x")
    figures.log_axis(axes, "y")
    figures.titled(axes, "Rounded products under the machine's roof", legend="beside")
    table = [{"kernel": "roof", "mac_per_byte": peak / rate, "gmac_per_s": peak} for rate in bandwidth.values()]
    table += [{"kernel": name, "mac_per_byte": intensity, "gmac_per_s": rate} for name, intensity, rate in points]
    figures.save_as(figure, table, PICTURE)
