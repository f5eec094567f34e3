"""Bit-vector expressions: what Python computes is what both solvers compute; constants fold; sharing."""

import random

import numpy as np
import pytest

from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.solvers import SOLVERS, ask

BINARY = (
    bits.add,
    bits.subtract,
    bits.multiply,
    bits.quotient,
    bits.remainder,
    bits.either_bits,
    bits.shift_left,
    bits.shift_right,
    bits.shift_signed,
)
COMPARE = (bits.equal, bits.less, bits.below)


def random_expression(rng: random.Random, variables: list[bits.Bits], depth: int) -> bits.Bits:
    width = variables[0].width
    if depth == 0:
        return rng.choice([*variables, bits.constant(rng.getrandbits(width), width)])
    a, b, c, d = (random_expression(rng, variables, depth - 1) for _ in range(4))
    match rng.randrange(6):
        case 0:
            return bits.choose(rng.choice(COMPARE)(a, b), c, d)
        case 1:
            either = bits.either(rng.choice(COMPARE)(a, b), bits.opposite(rng.choice(COMPARE)(c, d)))
            return bits.bit(bits.both(either, rng.choice(COMPARE)(b, c)), width)
        case 2:
            return bits.extract(bits.multiply(bits.widen(a, 2 * width), bits.widen_signed(b, 2 * width)), width + 1, 2)
        case 3:
            return bits.negate(a)
    return rng.choice(BINARY)(a, b)


@pytest.mark.parametrize("solver", SOLVERS)
def test_python_computes_what_solvers_compute(solver: str) -> None:
    rng = random.Random(1)
    for _ in range(60):
        variables = [bits.variable(name, 5) for name in "xy"]
        expression = random_expression(rng, variables, 3)
        inputs = {"x": rng.getrandbits(5), "y": rng.getrandbits(5)}
        (value,) = bits.compute([expression], inputs)
        given = [bits.equal(v, bits.constant(inputs[v.detail], 5)) for v in variables]
        same = bits.equal(expression, bits.constant(int(value), 5))
        assert ask(solver, bits.script([*given, bits.opposite(same)])).status == "unsat"
        assert ask(solver, bits.script([*given, same])).status == "sat"


def test_multiplication_by_any_constant() -> None:
    """Constants of few digits become shifts: the same product."""
    x = bits.variable("x", 8)
    for c in range(256):
        product = bits.multiply(x, bits.constant(c, 8))
        for value in (0, 1, 7, 100, 128, 255):
            assert bits.compute([product], {"x": value}) == [value * c % 256]


def test_equal_expressions_are_one_object() -> None:
    x, y = bits.variable("x", 8), bits.variable("y", 8)
    assert bits.add(x, y) is bits.add(x, y)
    assert bits.less(x, x) is bits.FALSE
    assert bits.opposite(bits.opposite(bits.less(x, y))) is bits.less(x, y)
    assert len(bits.in_order([bits.add(bits.add(x, y), bits.add(x, y))])) == 4


def test_a_condition_is_no_python_bool() -> None:
    with pytest.raises(TypeError, match="no truth value"):
        bool(bits.less(bits.variable("x", 4), bits.variable("y", 4)))


def test_a_choice_of_constants_among_wide_numbers_does_not_overflow() -> None:
    x = bits.variable("x", 8)
    chosen = bits.choose(bits.less(x, bits.constant(80, 8)), bits.constant(1, 100), bits.constant(3, 100))
    shifted = bits.shift_left(chosen, bits.constant(90, 100))
    (found,) = bits.compute([shifted], {"x": np.array([70, 90], object)})
    assert found.tolist() == [1 << 90, 3 << 90]
