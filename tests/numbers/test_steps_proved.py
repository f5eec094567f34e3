"""The roundings of `numbers.steps` as questions to a solver, in its own theory of floating point: for every number at once."""

import bitwuzla
import pytest
import z3

NEAREST = z3.RNE()
HOSTS = {24: z3.Float32(), 53: z3.Float64()}
EXPONENT_BITS = {24: 8, 53: 11}


def holds(claim: z3.BoolRef, tmp_path, seconds: int = 1000) -> bool:
    """Whether bitwuzla finds no counterexample."""
    solver = z3.Solver()
    solver.add(z3.Not(claim))
    path = tmp_path / "question.smt2"
    path.write_text("(set-logic QF_BVFP)\n" + solver.to_smt2().replace("(set-info :status unknown)", ""))
    options = bitwuzla.Options()
    options.set(bitwuzla.Option.TIME_LIMIT_PER, 1000 * seconds)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(str(path), True, True)
    answer = parser.bitwuzla().check_sat()
    assert answer != bitwuzla.Result.UNKNOWN
    return answer == bitwuzla.Result.UNSAT


def number(bits: int, exponent: z3.BitVecRef, fraction: z3.BitVecRef) -> z3.FPRef:
    return z3.fpBVToFP(z3.Concat(z3.BitVecVal(0, 1), exponent, fraction), HOSTS[bits])


def rounded(bits: int, precision: int, fraction: z3.BitVecRef) -> z3.FPRef:
    """1.fraction to p bits, ties to even, by whole numbers."""
    drop, bias, width = bits - precision, (1 << (EXPONENT_BITS[bits] - 1)) - 1, EXPONENT_BITS[bits]
    whole = z3.Concat(z3.BitVecVal(1, 2), fraction)
    low, keep, half = z3.Extract(drop - 1, 0, whole), z3.LShR(whole, drop), z3.BitVecVal(1 << (drop - 1), drop)
    up = z3.Or(z3.UGT(low, half), z3.And(low == half, z3.Extract(0, 0, keep) == 1))
    kept = z3.If(up, keep + 1, keep) << drop
    two = z3.Extract(bits, bits, kept) == 1
    exponent = z3.If(two, z3.BitVecVal(bias + 1, width), z3.BitVecVal(bias, width))
    return number(bits, exponent, z3.If(two, z3.BitVecVal(0, bits - 1), z3.Extract(bits - 2, 0, kept)))


def one_to_two(bits: int, zeros: int = 0) -> tuple[z3.BitVecRef, z3.FPRef]:
    """Any number of [1, 2) whose last bits are 0, as its fraction and as itself."""
    fraction = z3.BitVec("fraction", bits - 1 - zeros)
    fraction = z3.Concat(fraction, z3.BitVecVal(0, zeros)) if zeros else fraction
    bias = (1 << (EXPONENT_BITS[bits] - 1)) - 1
    return fraction, number(bits, z3.BitVecVal(bias, EXPONENT_BITS[bits]), fraction)


def splitting(bits: int, precision: int, factor: int) -> z3.BoolRef:
    fraction, s = one_to_two(bits)
    split = z3.fpMul(NEAREST, z3.FPVal(factor, HOSTS[bits]), s)
    found = z3.fpAdd(NEAREST, split, z3.fpSub(NEAREST, s, split))
    return z3.fpEQ(found, rounded(bits, precision, fraction))


SLOW = [pytest.param(53, p, marks=pytest.mark.slow) for p in range(2, 25) if p not in (8, 24)]


@pytest.mark.parametrize(("bits", "precision"), [(24, 11), (53, 8), (53, 24), *SLOW])
def test_splitting_rounds_every_sum(bits: int, precision: int, tmp_path) -> None:
    assert holds(splitting(bits, precision, 2 ** (bits - precision) + 1), tmp_path)


def test_another_factor_does_not(tmp_path) -> None:
    for factor in (2**12 + 1, 2**14 + 1, 3 * 2**12 + 1):
        assert not holds(splitting(24, 11, factor), tmp_path)


@pytest.mark.parametrize(("bits", "precision"), [(24, 11), (53, 8), (53, 24), *SLOW])
def test_a_large_multiple_rounds_every_product(bits: int, precision: int, tmp_path) -> None:
    fraction, y = one_to_two(bits, zeros=bits - 2 * precision)
    large = z3.fpMul(NEAREST, z3.FPVal(2 ** (bits - precision), HOSTS[bits]), y)
    expected = rounded(bits, precision, fraction)
    for of in (z3.fpAdd, z3.fpSub):  # the same L beside y and beside −y
        found = z3.fpSub(NEAREST, of(NEAREST, large, y), large)
        assert holds(z3.fpEQ(found, expected if of is z3.fpAdd else z3.fpNeg(expected)), tmp_path)


def test_a_large_multiple_is_not_enough_for_sums(tmp_path) -> None:
    """Why sums are split: with all bits of the host, 2 − 2^−23 goes to 2 − 2^−10."""
    fraction, s = one_to_two(24)
    large = z3.fpMul(NEAREST, z3.FPVal(2**13, HOSTS[24]), s)
    found = z3.fpSub(NEAREST, z3.fpAdd(NEAREST, large, s), large)
    assert not holds(z3.fpEQ(found, rounded(24, 11, fraction)), tmp_path)


def fixed_step(size: int, shrink: float, even: bool) -> z3.BoolRef:
    """fixed:(size/2), products below 2^(23−f), in float32: a step on any running sum is that of whole numbers."""
    f, wide, host = size // 2, 2 * size + 4, HOSTS[24]
    w, x, total = (z3.SignExt(wide - size - 1, z3.BitVec(name, size + 1)) for name in ("w", "x", "total"))
    product = w * x  # in units of 2^−f
    size_of = z3.If(product < 0, -product, product)
    whole, rest = z3.LShR(size_of, f), size_of & ((1 << f) - 1)
    half = z3.BitVecVal(1 << (f - 1), wide)
    up = z3.Or(z3.UGT(rest, half), z3.And(even, rest == half, z3.Extract(0, 0, whole) == 1))
    rounded_size = z3.If(up, whole + 1, whole)
    expected = total + z3.If(product < 0, -rounded_size, rounded_size)
    magic = z3.FPVal(1.5 * 2.0**23, host)
    weight, value, running = (z3.fpSignedToFP(NEAREST, each, host) for each in (w, x, total))
    weight = z3.fpMul(NEAREST, weight, z3.FPVal(2.0**-f, host))
    if even:
        term = z3.fpSub(NEAREST, z3.fpFMA(NEAREST, weight, value, magic), magic)
        found = z3.fpAdd(NEAREST, running, term)
    else:
        nudged = z3.fpMul(NEAREST, weight, z3.FPVal(shrink, host))
        found = z3.fpSub(NEAREST, z3.fpFMA(NEAREST, nudged, value, z3.fpAdd(NEAREST, magic, running)), magic)
    small = z3.ULT(size_of, z3.BitVecVal(1 << min(23, wide - 2), wide))
    return z3.Implies(small, z3.fpEQ(found, z3.fpSignedToFP(NEAREST, expected, host)))


@pytest.mark.parametrize("even", [False, True])
@pytest.mark.parametrize("s", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_step_of_fixed_point(s: int, even: bool, tmp_path) -> None:
    """w', x and a running sum of fixed:s, all at once; wider ones are all pairs of `test_tiles` and the argument in `steps`."""
    assert holds(fixed_step(2 * s, 1 - 2.0**-24, even), tmp_path)


def test_a_step_without_the_nudge_is_no_tie_to_the_smaller(tmp_path) -> None:
    assert not holds(fixed_step(6, 1.0, False), tmp_path)
    assert not holds(fixed_step(6, 1 - 2.0**-5, False), tmp_path)
