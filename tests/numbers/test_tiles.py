"""Products by tiles, every variant forced in turn: all pairs of small formats, biased operands of large ones; mutations."""

import os
import platform
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from llvmlite import ir
from numba import njit
from tests.numbers.edges import biased_codes
from tests.numbers.families import small_formats
from tests.numbers.test_exhaustive import Staircase, two_sum

from glyptic.numbers import Format, Reference, micro, parse_format, to_float64
from glyptic.numbers.fast import Fast, Variant
from glyptic.numbers.machines import SHAPES, WRAPPERS, vectors_here
from glyptic.numbers.maps import TiledMatrix
from glyptic.numbers.steps import (
    CLAMP_ALL,
    CLAMP_SUMS,
    NO_CLAMPS,
    EvenSteps,
    FloatSteps,
    RuleSteps,
    ZeroSteps,
    have_room,
)
from glyptic.numbers.tiles import ROWS

VECTORS = ("512", "256", "unfused")  # LLVM takes vectors apart that a machine does not have: all of them run everywhere
CLAMPS = (NO_CLAMPS, CLAMP_SUMS, CLAMP_ALL)
TILED = [format for format in small_formats() if have_room(format, 24 if Fast(format).host.dtype == np.float32 else 53)]
KINDS = ["fixed:4", "fixed:4/even", "q:4,4", "q:4,4/even", "q:8,0", "float:3,2", "fp8_e5m2", "fp8_e4m3/zero"]


def exact(format: Format, weights: np.ndarray, x: np.ndarray, staircase: Staircase) -> np.ndarray:
    """[w·x] for all pairs, from the reference's staircase: these products have 16 bits, so doubles hold them."""
    return staircase(np.multiply.outer(to_float64(weights, format), to_float64(x, format)), np.zeros(()))


def boxes(format: Format) -> list[tuple[np.ndarray, np.ndarray]]:
    """All weights and all x; and weights up to some size with those x whose products need no clamp, size after size."""
    codes = np.arange(format.min_code, format.max_code + 1)
    values = np.abs(to_float64(codes, format))
    fast = Fast(format)
    limit = float(min(fast.host.rule.high, getattr(fast.host.rule, "small", np.inf))) * fast.host.unit
    found = [(codes, codes)]
    for size in np.unique(values[values > 0])[:: max(1, len(codes) // 12)]:
        few = codes[values <= 0.93 * (limit - 2 * fast.host.unit) / size / 1.02 / (1 + 2.0**-format.precision)]
        if len(few) > 1:
            found.append((codes[values <= size], few))
    return found


def product(fast: Fast, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    return fast.codes(fast.linear(fast.weights(weights), fast.values(x)[:, :, None]))[:, :, 0]


def by_each_tile(fast: Fast, weights: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    """All products [w·x], by the tiles of a dense matrix, of a sparse one, of scores, and of mixtures: each (w, x)."""
    thin = np.zeros((len(weights), 5), np.int64)
    thin[:, 3] = weights
    rows = np.zeros((5, len(x)), np.int64)
    rows[3] = x
    lefts, rights = fast.values(np.repeat(weights[:, None], len(x), axis=1)), fast.values(x[None, None])
    seen = np.ones((len(weights), 1), bool)
    scores, mixtures = fast.scores(lefts[None], rights, seen)[:, 0], fast.mixture(lefts[:, None], rights, seen)[0]
    return [product(fast, weights[:, None], x[None]), product(fast, thin, rows), fast.codes(scores), fast.codes(mixtures)]


def assert_all_pairs(format: Format, variant: Variant) -> None:
    fast, staircase = Fast(format, variant=variant), Staircase(format)
    for weights, x in boxes(format):
        expected = exact(format, weights, x, staircase)
        for found in by_each_tile(fast, weights, x):
            assert np.array_equal(found, expected), (format, variant)


@pytest.mark.parametrize("vectors", VECTORS)
@pytest.mark.parametrize("name", KINDS)
def test_all_pairs_in_every_variant(name: str, vectors: str) -> None:
    format = parse_format(name)
    assert format in TILED
    for clamps in CLAMPS:
        assert_all_pairs(format, Variant(vectors, clamps))  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("vectors", VECTORS)
def test_all_pairs_of_all_small_formats_in_every_variant(vectors: str) -> None:
    assert len(TILED) > 100
    for format in TILED:
        for clamps in CLAMPS:
            assert_all_pairs(format, Variant(vectors, clamps))  # type: ignore[arg-type]


def test_the_boxes_reach_every_level_of_clamps() -> None:
    """What was forced to nothing ran with no clamps and with all; and, where a second term is added, with clamped sums too."""
    for name in KINDS:
        format = parse_format(name)
        assert isinstance(format, Format)
        fast, one = Fast(format), format.code(Fraction(1))
        alone, beside = set(), set()
        for weights, x in boxes(format):
            largest = np.abs(fast.values(x)).max()
            for levels, matrix in ((alone, weights[:, None]), (beside, np.stack([weights, np.full_like(weights, one)], axis=1))):
                sizes = np.full(matrix.shape[1], largest, np.float64)
                dense = fast._dense(matrix)
                found = micro._dense_levels(dense.maps.magnitudes, -(-dense.rows // ROWS), sizes, NO_CLAMPS, fast.host.rule)
                levels |= set(found.ravel().tolist())
        assert {NO_CLAMPS, CLAMP_ALL} <= alone and beside == set(CLAMPS), name


def exact_sums(format: Format, weights: np.ndarray, x: np.ndarray, others: np.ndarray, staircase: Staircase) -> np.ndarray:
    """[[w·x] + y] for all weights and all pairs of an x and a y, likewise."""
    products = to_float64(exact(format, weights, x, staircase), format)
    return staircase(*two_sum(products, np.broadcast_to(to_float64(others, format), products.shape)))


def test_all_sums_of_a_value_and_a_product() -> None:
    """For all triples of a small format: the second term finds a running sum that may carry a constant, the first does not."""
    for name in ("fixed:2", "fixed:2/even", "float:2,1", "ieee:3,2/zero", "ieee:3,2/even", "q:2,2"):
        format = parse_format(name)
        assert isinstance(format, Format)
        codes = np.arange(format.min_code, format.max_code + 1)
        x, y = np.repeat(codes, len(codes)), np.tile(codes, len(codes))
        expected = exact_sums(format, codes, x, y, Staircase(format))
        weights = np.stack([codes, np.full_like(codes, format.code(Fraction(1)))], axis=1)
        for order in ([0, 1], [1, 0]):
            for variant in (Variant(vectors, clamps) for vectors in VECTORS for clamps in CLAMPS):  # type: ignore[arg-type]
                ours = product(Fast(format, variant=variant), weights[:, order], np.stack([x, y])[order])
                assert np.array_equal(ours, expected), (name, variant)


LARGE = ["fixed:8", "fixed:8/even", "q:20,0", "fp16/zero", "bf16", "fp32"]
MORE = ["fixed:12", "q:8,8/even", "fp16", "bf16/zero", "fp32/zero"]


@pytest.mark.parametrize("name", LARGE + [pytest.param(name, marks=pytest.mark.slow) for name in MORE])
def test_biased_operands_in_every_variant(name: str) -> None:
    """Dense, sparse, scores and mixtures: sums of odd and even length; widths below a vector, between vectors, between tiles."""
    format, rng = parse_format(name), np.random.default_rng(7)
    assert isinstance(format, Format)
    reference = Reference(format)
    chosen = [Variant(vectors, clamps) for vectors in VECTORS for clamps in CLAMPS]  # type: ignore[arg-type]
    for rows, terms, width, shift in ((5, 3, 1, 0), (13, 34, 70, 0), (13, 9, 20, format.precision // 2)):
        weights, x = (biased_codes(format, rng, n).reshape(s) >> shift for n, s in
                      ((rows * terms, (rows, terms)), (terms * width, (terms, width))))  # fmt: skip
        thin = np.where(rng.random(weights.shape) < 0.2, weights, 0)
        columns = rng.permutation(width)[:6]
        for matrix in (weights, thin):
            theirs = reference.linear(reference.weights(matrix), reference.values(x[:, columns, None]))
            theirs = reference.codes(theirs)[:, :, 0]
            for variant in chosen:
                assert np.array_equal(product(Fast(format, variant=variant), matrix, x)[:, columns], theirs), variant
    visible = np.tril(np.ones((6, 6), bool))
    visible[3, 1] = visible[0, 0] = False
    for batch, shift in ((1, 0), (19, format.precision // 2)):
        shapes = ((3, 6, batch), (3, 6, batch), (6, 6, batch))
        q, k, w = (biased_codes(format, rng, np.prod(shape)).reshape(shape) >> shift for shape in shapes)
        theirs = attended(reference, q, k, w, visible)
        for variant in chosen:
            assert all(map(np.array_equal, attended(Fast(format, variant=variant), q, k, w, visible), theirs)), variant


def attended(engine: Fast | Reference, q: np.ndarray, k: np.ndarray, w: np.ndarray, visible: np.ndarray) -> list[np.ndarray]:
    scores = engine.codes(engine.scores(engine.values(q), engine.values(k), visible))
    return [np.where(visible[:, :, None], scores, 0), engine.codes(engine.mixture(engine.values(w), engine.values(k), visible))]


def test_a_bias_and_the_larger_of_0_are_taken_along() -> None:
    rng = np.random.default_rng(8)
    for name in ("fixed:4", "fixed:8/even", "fp16/zero", "q:23,0"):
        format = parse_format(name)
        assert isinstance(format, Format)
        fast = Fast(format)
        for density in (1.0, 0.1):
            codes = np.where(rng.random((9, 14)) < density, biased_codes(format, rng, 126).reshape(9, 14), 0)
            weights, x = fast.weights(codes), fast.values(biased_codes(format, rng, 14 * 33).reshape(14, 33, 1))
            assert not fast._tiled or (isinstance(weights, TiledMatrix) and weights.dense == (density == 1))
            bias = fast.values(biased_codes(format, rng, 9))[:, None, None]
            step_by_step = fast.add(fast.linear(weights, x), bias)
            assert np.array_equal(fast.affine(weights, bias, x), step_by_step)
            assert np.array_equal(fast.affine(weights, bias, x, relu=True), fast.relu(step_by_step))


def test_matrices_without_rows_terms_or_columns() -> None:
    fast = Fast("fixed:8")
    for rows, terms, width in ((0, 3, 2), (3, 0, 2), (3, 2, 0)):
        y = fast.linear(fast.weights(np.ones((rows, terms), int)), fast.values(np.ones((terms, width, 1), int)))
        assert y.shape == (rows, width, 1) and not (y != 0).any()


# The argument, where it can be exhausted -----------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", range(2, 12))
def test_splitting_rounds_every_float32_of_a_binade(precision: int) -> None:
    """t + (s − t), t = (2^k + 1)·s, is s to p bits, ties to even: all 2^23 numbers of [1, 2); other binades are the same."""
    s = (np.arange(1 << 23, dtype=np.uint32) | np.uint32(0x3F800000)).view(np.float32)
    split = s * np.float32(2.0 ** (24 - precision) + 1)
    expected = np.rint(s.astype(np.float64) * 2.0 ** (precision - 1)) / 2.0 ** (precision - 1)
    assert np.array_equal(split + (s - split), expected)


@pytest.mark.parametrize("precision", range(2, 12))
def test_bits_round_every_float32_of_a_binade(precision: int) -> None:
    """(bits + 2^(k−1) − 1) with the last k cleared is s to p bits, ties to the smaller, and so it is of −s."""
    s, k = (np.arange(1 << 23, dtype=np.uint32) | np.uint32(0x3F800000)), np.uint32(24 - precision)
    rounded = (s + np.uint32((1 << (k - 1)) - 1)) & np.uint32(~((1 << int(k)) - 1) & 0xFFFFFFFF)
    expected = np.ceil(s.view(np.float32).astype(np.float64) * 2.0 ** (precision - 1) - 0.5) / 2.0 ** (precision - 1)
    assert np.array_equal(rounded.view(np.float32), expected)
    assert ((s | np.uint32(1 << 31)) + np.uint32((1 << (k - 1)) - 1) & np.uint32(1 << 31)).all()  # no carry into the sign


@pytest.mark.parametrize("precision", range(2, 12))
def test_a_large_multiple_rounds_every_product(precision: int) -> None:
    """(L + y) − L, L = 2^k·|y|, for all y of 2p bits in [1, 2), and for −y."""
    y = (1 + np.arange(1 << (2 * precision - 1)) / 2.0 ** (2 * precision - 1)).astype(np.float32)
    large = y * np.float32(2.0 ** (24 - precision))
    expected = np.rint(y.astype(np.float64) * 2.0 ** (precision - 1)) / 2.0 ** (precision - 1)
    assert np.array_equal((large + y) - large, expected)
    assert np.array_equal((large - y) - large, -expected)


@pytest.mark.parametrize(("bits", "dtype"), [(24, np.float32), (53, np.float64)])
def test_a_shrunken_factor_is_the_next_number_towards_zero(bits: int, dtype: type) -> None:
    rng = np.random.default_rng(9)
    w = np.concatenate([np.arange(1, 1 << 16), 2.0 ** np.arange(-20, 20), rng.integers(1, 1 << bits, 1000)]).astype(dtype)
    for signed in (w, -w):
        assert np.array_equal(signed * dtype(1 - 2.0**-bits), np.nextafter(signed, dtype(0)))


# Broken constants ----------------------------------------------------------------------------------------------------------


def dense_product(maps, x, y, floor, rule):
    factors, nudged, sizes = maps.factors, maps.nudged, maps.magnitudes
    micro.put_dense(factors, nudged, sizes, x, 0, x.shape[1], maps.biases, y, 0, 0, floor, NO_CLAMPS, rule)


def agrees(name: str) -> bool:
    """Whether dense products, compiled anew, are the reference's, over boxes that need every level of clamps."""
    format = parse_format(name)
    assert isinstance(format, Format)
    fast, staircase = Fast(format, variant=Variant("256")), Staircase(format)
    anew = njit(dense_product, error_model="numpy")
    for weights, x in boxes(format):
        if len(x) < 8:
            continue
        one, others = format.code(Fraction(1)), np.roll(x, 5)
        w = fast._dense(np.stack([weights, np.full_like(weights, one)], axis=1))
        values = fast.values(np.stack([x, others]))
        y = np.empty((w.rows, values.shape[1]), fast.host.dtype)
        anew(w.with_bias(None), values, y, fast.host.dtype(fast._lowest), fast._rule)
        try:
            if not np.array_equal(fast.codes(y), exact_sums(format, weights, x, others, staircase)):
                return False
        except Exception:  # a number outside the format is no agreement either
            return False
    return True


def whole(steps: RuleSteps, number: int) -> ir.Value:
    return steps.emitter.spread(ir.Constant(steps.emitter.whole, number))


MUTATIONS = [
    ("fixed:4/even", RuleSteps, "magic", lambda self: self.emitter.constant(1.5 * 2.0**24)),  # rounds to even numbers
    ("fixed:4/even", RuleSteps, "magic", lambda self: self.emitter.constant(1.5 * 2.0**22)),  # to halves
    ("fixed:4/even", RuleSteps, "magic", lambda self: self.emitter.constant(1.5 * 2.0**23 + 1)),  # ties to odd
    ("fixed:4", RuleSteps, "magic", lambda self: self.emitter.constant(1.5 * 2.0**22)),
    ("fixed:4", ZeroSteps, "below_half", lambda self: self.emitter.constant(0.5)),
    ("fixed:4", ZeroSteps, "below_half", lambda self: self.emitter.constant(0.375)),
    ("fp8_e4m3", FloatSteps, "scale", lambda self: self.emitter.constant(2.0**19)),
    ("fp8_e4m3/zero", FloatSteps, "lowest", lambda self: self.emitter.constant(1.5 * 2.0**12)),
    ("fp8_e4m3", FloatSteps, "to_even", lambda self: False),
    ("fp8_e4m3/zero", FloatSteps, "nearly_half", lambda self: whole(self, 1 << 19)),  # ties to the larger
    ("fp8_e4m3/zero", FloatSteps, "nearly_half", lambda self: whole(self, (1 << 19) - (1 << 15) - 1)),  # 288 − 15 as a tie
    ("fp8_e4m3/zero", FloatSteps, "kept", lambda self: whole(self, -(1 << 19))),
]


@pytest.mark.parametrize("name", sorted({name for name, *_ in MUTATIONS}))
def test_unbroken_steps(name: str) -> None:
    assert agrees(name)


@pytest.mark.parametrize(("name", "owner", "constant", "broken"), MUTATIONS)
def test_broken_steps(name: str, owner: type, constant: str, broken, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, constant, property(broken), raising=False)
    if constant != "magic":  # a field: what is given for it is thrown away
        monkeypatch.setattr(owner, "__setattr__", lambda *_: None)
        monkeypatch.setattr(owner, "__init__", taking_all_but(owner, constant))
    assert not agrees(name)


def taking_all_but(owner: type, constant: str):
    names = list(owner.__dataclass_fields__)  # type: ignore[attr-defined]

    def __init__(self: object, *given: object, **named: object) -> None:
        for name, value in (dict(zip(names, given, strict=False)) | named).items():
            if name != constant:
                object.__setattr__(self, name, value)

    return __init__


def test_no_nudge_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fast, "_lefts", lambda self, numbers: (numbers, numbers))
    assert not agrees("fixed:4")


def test_half_the_large_multiple_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def halved(self: Fast, numbers: np.ndarray, lefts=Fast._lefts) -> tuple[np.ndarray, np.ndarray]:
        factors, nudged = lefts(self, numbers)
        return factors / 2, nudged

    monkeypatch.setattr(Fast, "_lefts", halved)
    assert not agrees("fp8_e4m3/zero")


def test_clamps_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name in ((EvenSteps, "q:4,4/even"), (ZeroSteps, "fixed:4")):
        step = owner.step
        with monkeypatch.context() as broken:
            broken.setattr(owner, "step", lambda self, t, l, x, clamps, odd, step=step: step(self, t, l, x, NO_CLAMPS, odd))
            broken.setattr(RuleSteps, "summed", lambda self, x, y: x + y)
            assert not agrees(name)


# Machines ------------------------------------------------------------------------------------------------------------------


PRODUCTS = """if True:
    import numpy as np
    from glyptic.numbers import maps
    from glyptic.numbers.fast import Fast, Variant
    from glyptic.numbers.machines import vectors_here
    fast, loops, rng = Fast("fixed:8"), Fast("fixed:8", variant=Variant(None)), np.random.default_rng(0)
    weights, x = rng.integers(-9999, 9999, (9, 5)), rng.integers(-9999, 9999, (5, 40, 1))
    mine, plain = (engine.codes(engine.linear(engine.weights(weights), engine.values(x))) for engine in (fast, loops))
    code = "".join(maps.put_map.inspect_asm().values())
    print(vectors_here(), np.array_equal(mine, plain), *(word for word in ("zmm", "vfmadd", "fmla", "fmaf") if word in code))
"""


def compiled_anew(folder: Path, **environment: str) -> list[str]:
    """Which vectors a process takes, whether its products are right, and what is in their code: nothing comes from a cache."""
    given = {**os.environ, **environment, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", PRODUCTS], env=given, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_code_is_in_vectors_of_the_machine(tmp_path: Path) -> None:
    vectors, right, *words = compiled_anew(tmp_path)
    assert (vectors, right) == (vectors_here(), "True") and "fmaf" not in words
    if vectors == "512":
        assert "zmm" in words and "vfmadd" in words
    elif vectors == "256":
        assert "fmla" in words or "vfmadd" in words
    assert SHAPES[WRAPPERS[vectors_here()]].bits in (256, 512)


OTHERS = [("haswell", "+avx2,+fma,+avx", "256"), pytest.param("nehalem", "+sse4.2", "unfused", marks=pytest.mark.slow)]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other processors of this kind only")
@pytest.mark.parametrize(("cpu", "features", "expected"), OTHERS)
def test_other_machines_choose_their_own(cpu: str, features: str, expected: str, tmp_path: Path) -> None:
    """Compiled for another CPU, whose instructions this one has too: the products are the same, in its own registers."""
    found = compiled_anew(tmp_path, NUMBA_CPU_NAME=cpu, NUMBA_CPU_FEATURES=features)
    assert found == [expected, "True", *(["vfmadd"] if expected == "256" else [])]


def test_a_batch_of_nothing_has_results_of_nothing() -> None:
    fast = Fast(parse_format("fixed:8"))
    queries, seen = np.zeros((2, 3, 0), np.float32), np.ones((3, 3), bool)
    scores = fast.scores(queries, queries, seen)
    assert scores.shape == (3, 3, 0)
    assert fast.mixture(scores, queries, seen).shape == (2, 3, 0)
    assert fast.linear(fast.weights(np.ones((4, 2), np.int64)), queries).shape == (4, 3, 0)
