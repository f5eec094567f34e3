"""The exact core: rounded matrix products and whole transformers, against numpy loops, gfloat and BLAS.

Every contestant's result is compared with the reference's or with ours before it is timed. One thread.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import gfloat
import gfloat.formats
import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks.numpy_loop import NumpyLoop
from benchmarks.timing import contest, row
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.exact.running import prepared_for, run_chunk
from glyptic.numbers import Format, Reference, encode, parse_format, products, to_float64
from glyptic.numbers.fast import Fast, Variant
from glyptic.numbers.machines import vectors_here

M, K, N = 64, 256, 256
TARGETS = {
    ("fixed:8", "nothing saturates"): ">= 0.20",
    ("fixed:8/even", "nothing saturates"): ">= 0.35",
    ("fixed:8", "saturating"): ">= 0.12",
    ("fixed:8/even", "saturating"): ">= 0.15",
    ("ieee:5,10", "float e5 p11"): ">= 0.15",
    ("ieee:5,10/zero", "float e5 p11"): ">= 0.15",
}


def rows() -> list[dict]:
    with threadpool_limits(1):
        return [*_dense(), *_dense_by_avx2(), *_sparse(), *_whole(), *_chain_of_thought()]


def _operands(format: Format, spread: float, columns: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    weights = encode(rng.normal(0, spread, (M, K)), format, nearest=True)
    return weights, encode(rng.normal(0, 1, (K, columns)), format, nearest=True)


def _dense() -> list[dict]:
    out = []
    for name, spread, about in [
        ("fixed:8", 0.1, "nothing saturates"),
        ("fixed:8/even", 0.1, "nothing saturates"),
        ("fixed:8", 40.0, "saturating"),
        ("fixed:8/even", 40.0, "saturating"),
        ("ieee:5,10", 0.1, "float e5 p11"),
        ("ieee:5,10/zero", 0.1, "float e5 p11"),
    ]:
        out += _dense_rows(name, spread, about)
    return out


def _dense_by_avx2() -> list[dict]:
    """The same on a machine with wider vectors, where we and BLAS are both told that it has those of AVX2 alone."""
    if vectors_here() != "512":
        return []
    narrow = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma,+avx", "OPENBLAS_CORETYPE": "Haswell"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.bench_exact"], env={**os.environ, **narrow}, check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    assert found["vectors"] == "256" and found["blas"] == ["Haswell"], found
    return [{**one, "name": one["name"].replace("dense", "AVX2 code, dense", 1)} for one in found["rows"] if one["target"]]


def _dense_rows(name: str, spread: float, about: str) -> list[dict]:
    format = parse_format(name)
    assert isinstance(format, Format)
    weights, x = _operands(format, spread)
    fast = Fast(format)
    w, values = fast.weights(weights), fast.values(x)
    real_w, real_x = (to_float64(a, format).astype(np.float32) for a in (weights, x))
    _check(format, weights, x, fast.codes(fast.linear(w, values)))
    contestants = {"ours": lambda: fast.linear(w, values), "blas": lambda: real_w @ real_x}
    if format.is_fixed:
        loop = NumpyLoop(_carrier(format))
        assert np.array_equal(np.rint(loop.product(real_w, real_x) / loop.unit), fast.codes(fast.linear(w, values)))
        contestants["numpy loop"] = lambda: loop.product(real_w, real_x)
    timed = contest(contestants, rounds=9)
    label = f"dense 64×256 @ 256×256, {name}, {about}"
    rate = M * K * N / timed.seconds("ours") / 1e9
    target = TARGETS[name, about]
    found = [row(f"{label}: of float32 BLAS", timed.speed("ours", "blas"), target,
                 f"{rate:.1f} GMAC/s, BLAS without rounding {M * K * N / timed.seconds('blas') / 1e9:.0f}")]  # fmt: skip
    if format.is_fixed:
        found.append(row(f"{label}: numpy loop over k", timed.speed("ours", "numpy loop"), ">= 8"))
    if about == "nothing saturates" or not format.is_fixed:
        found.append(_against_gfloat(label, format, real_w, real_x, timed.seconds("ours")))
    return found


def _carrier(format: Format) -> Transformer:
    return random_transformer(format, 0, Sizes(layers=0))


def _check(format: Format, weights: np.ndarray, x: np.ndarray, ours: np.ndarray) -> None:
    """A few entries against the reference."""
    reference = Reference(format)
    part = reference.linear(reference.weights(weights[:3]), reference.values(x[:, :4]))
    assert np.array_equal(ours[:3, :4], reference.codes(part))


def _against_gfloat(label: str, format: Format, w: np.ndarray, x: np.ndarray, ours: float) -> dict:
    """The loop over k with gfloat's own rounding of arrays, on 8 of the 256 steps: it is too slow for all."""
    # gfloat's fixed point is two's complement, one value wider than F(8); its nearest rule is ties to even.
    fixed = replace(gfloat.formats.format_info_ocp_int8, name="fixed8", k=17, precision=17, bias=-7)
    info = fixed if format.is_fixed else gfloat.formats.format_info_binary16
    assert (info.max, info.smallest) == (float(format.max), float(format.least))
    steps = 8

    def loop() -> np.ndarray:
        total = np.zeros((M, N))
        for k in range(steps):
            product = gfloat.round_ndarray(info, np.outer(w[:, k], x[k]).astype(np.float64), sat=True)
            total = gfloat.round_ndarray(info, total + product, sat=True)
        return total

    seconds = contest({"gfloat": loop}, rounds=3).seconds("gfloat") * K / steps
    return row(
        f"{label}: gfloat", seconds / ours, ">= 500" if format.is_fixed else "", f"{steps} of its {K} steps timed"
    )


def _sparse() -> list[dict]:
    format = parse_format("fixed:8")
    assert isinstance(format, Format)
    rng = np.random.default_rng(1)
    weights = encode(rng.normal(0, 0.5, (K, K)), format, nearest=True)
    thin = np.where(rng.random((K, K)) < 0.02, weights, 0)
    x = encode(rng.normal(0, 1, (K, 1024)), format, nearest=True)
    fast, loops = Fast(format), Fast(format, variant=Variant(None))  # by tiles, and by loops that keep every clamp
    values, few, full = fast.values(x)[:, :, None], fast.weights(thin), fast.weights(weights)
    by_loops, unknown = loops.weights(weights), np.full(K, fast.host.rule.high)
    timed = contest(
        {
            "sparse": lambda: fast.linear(few, values),
            "dense by loops": lambda: products.sparse_product(*by_loops, values[:, :, 0], unknown, fast.host.rule),
            "dense": lambda: fast.linear(full, values),
        },
        rounds=9,
    )
    share = np.count_nonzero(thin) / thin.size
    name = "sparse 2 %, 256×256, batch 1024"
    allowed = f"the number of weights alone allows {1 / share:.0f}×"
    return [
        row(f"{name}: a dense matrix by loops", timed.speed("sparse", "dense by loops"), ">= 35", allowed),
        row(f"{name}: our own dense tiles", timed.speed("sparse", "dense"), "", "which use each x often, the sparse ones seldom"),
    ]


def _constructed() -> Transformer:
    """Six layers, d = 128, two heads, 2 % of the weights: what constructions look like."""
    sizes = Sizes(layers=6, heads=2, width=128, key_width=8, value_width=8, hidden=256, max_length=32, density=0.02)
    return random_transformer(parse_format("fixed:8"), 15, sizes, Options(answer="logits"))  # a seed without 0/0


def _peaks(texts: list[str]) -> tuple[float, float]:
    """The most memory that this process ever held, in MiB: after 1,250 inputs and after all of them."""
    model, found = _constructed(), []
    for some in (texts[:1250], texts):
        model.run_batch(some, workers=1)
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return found[0], found[1]


def _whole() -> list[dict]:
    model = _constructed()
    rng = np.random.default_rng(2)
    texts = ["".join(rng.choice(["0", "1"], 32)) for _ in range(10_000)]
    few = 20
    numbers = np.array([[int(c) for c in text] for text in texts[:few]]).T
    loop = NumpyLoop(model)
    ours = run_chunk(prepared_for(model), numbers)
    assert not ours.failures and np.array_equal(ours.logits, loop.logits(numbers))
    timed = contest(
        {
            "1,250": lambda: model.run_batch(texts[:1250], workers=1),
            "10,000": lambda: model.run_batch(texts, workers=1),
        },
        rounds=3,
        least_seconds=0,
    )
    slow = contest({"numpy loop": lambda: loop.logits(numbers)}, rounds=2, warm_up=0, least_seconds=0).seconds(
        "numpy loop"
    )
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # a process that has held nothing else
        few_inputs, all_inputs = alone.submit(_peaks, texts).result()
    seconds = timed.seconds("10,000")
    name = "6 layers, d = 128, 2 %, 10,000 inputs of length 32"
    return [
        row(
            f"{name}: numpy loop",
            slow * len(texts) / few / seconds,
            ">= 250",
            f"ours {seconds:.1f} s; the loop timed on {few} inputs",
        ),
        row(f"{name}: time against 8 × 1,250", seconds / timed.seconds("1,250") / 8, "<= 1.2", "linear in the batch"),
        row(
            f"{name}: memory",
            all_inputs - few_inputs,
            "<= 400",
            f"peak of the process beyond that of 1,250 inputs, {few_inputs:.0f} MiB; chunks of the batch",
            unit="MiB",
        ),
    ]


def _chain_of_thought() -> list[dict]:
    """T steps from one token, of 64 chains: what the layers do at a step is the same at all of them; attention reads n keys."""
    sizes = Sizes(
        layers=4,
        heads=1,
        width=64,
        key_width=4,
        value_width=4,
        hidden=256,
        max_length=512,
        answers=("0", "1"),
        density=0.05,
    )
    model = random_transformer(parse_format("fixed:8"), 3, sizes, Options(ties="first", attention="max-subtracted"))
    start = ["0", "1"] * 32
    lengths = (64, 128, 256, 512)
    timed = contest(
        {f"T = {t}": lambda t=t: model.run_batch(start, steps=t, workers=1) for t in lengths}, rounds=3, least_seconds=0
    )
    whole = contest(
        {"whole": lambda: [model.run_batch([s * n for s in start], workers=1) for n in (1, 32, 64, 96, 128)]},
        rounds=2,
        least_seconds=0,
    )
    recomputed = whole.seconds("whole") / 5 * 128
    seconds = [timed.seconds(f"T = {t}") for t in lengths]
    steps = [(late - early) / t for t, early, late in zip(lengths, seconds, seconds[1:], strict=False)]  # at n about 1.5 t
    every, of_key = np.polynomial.polynomial.polyfit([1.5 * t for t in lengths[:-1]], steps, 1)
    residual = max(abs(every + of_key * 1.5 * t - step) / step for t, step in zip(lengths[:-1], steps, strict=True))
    told = ", ".join(f"{1e3 * step:.1f} ms at n = {1.5 * t:.0f}" for t, step in zip(lengths[:-1], steps, strict=True))
    return [
        row("chain of thought: a step at n = 384 over one at n = 96", steps[2] / steps[0], "<= 4",
            f"attention's own n alone would be 4; {told}"),
        row("chain of thought: a step is a + b·n, at most off by", 100 * residual, "",
            f"a = {1e3 * every:.2f} ms, b = {1e6 * of_key:.1f} µs, for 64 chains", "%"),
        row("chain of thought, 128 steps: against recomputing every prefix", recomputed / seconds[1], "> 2"),
    ]  # fmt: skip


if __name__ == "__main__":
    with threadpool_limits(1):
        blas = [pool["architecture"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        print(json.dumps({"vectors": vectors_here(), "blas": blas[:1], "rows": _dense()}))
