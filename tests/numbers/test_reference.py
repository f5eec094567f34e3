"""The reference itself: refusals, roots, exp at its ends, hard attention, and what the fast engine refuses."""

from fractions import Fraction

import numpy as np
import pytest

from glyptic.errors import FormatError
from glyptic.numbers import Exact, Fixed, Float, Format, Reference, encode, exp_rounded, parse_format
from glyptic.numbers.fast import Fast
from glyptic.numbers.hosts import host_of, refusal
from glyptic.numbers.scalarwise import Scalarwise


def test_exp_at_its_ends() -> None:
    """[exp(−B)] = 0 is a fact about a format, not a law: it fails in F(1, 1), where it is 1/4."""
    for s in range(2, 9):
        assert exp_rounded(-Fixed(s).max, Fixed(s)) == 0 and exp_rounded(Fixed(s).max, Fixed(s)) == Fixed(s).max
    assert exp_rounded(-Float(1, 1).max, Float(1, 1)) == Fraction(1, 4)


def test_exact_has_no_exp_but_at_zero() -> None:
    assert exp_rounded(Fraction(0), Exact()) == 1
    with pytest.raises(FormatError, match="irrational"):
        exp_rounded(Fraction(1), Exact())
    reference = Reference(Exact())
    assert reference.scalar_root(Fraction(9, 4)) == Fraction(3, 2)
    with pytest.raises(FormatError, match="irrational"):
        reference.scalar_root(Fraction(2))
    assert reference.codes(np.array([Fraction(1, 3)], dtype=object))[0] == Fraction(1, 3)


@pytest.mark.parametrize("kind", ["leftmost", "rightmost", "average"])
@pytest.mark.parametrize("name", ["fixed:4", "fp16", "float:3,3/even"])
def test_hard_attention(name: str, kind: str) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    codes = np.random.default_rng(0).integers(-2, 3, (5, 5, 40))
    visible = np.tril(np.ones((5, 5), bool))
    visible[0] = False  # a query that sees nothing gets nothing
    weights = {}
    for arithmetic in (Fast(format), Reference(format)):
        found, undefined = arithmetic.attention_weights(arithmetic.values(codes), visible, kind)  # type: ignore[arg-type]
        assert not undefined.any()
        weights[type(arithmetic)] = arithmetic.codes(found)
    assert np.array_equal(weights[Fast], weights[Reference])
    assert (weights[Fast][0] == 0).all()
    if kind != "average":
        assert (np.count_nonzero(weights[Fast], axis=1)[1:] == 1).all()


def test_what_the_fast_engine_refuses() -> None:
    refused = {
        "fixed:18": "54 bits",
        "float:3,13": "26 bits of precision",
        "float:11,4": "below float64's",
        "exact": "no bound",
    }
    for name, reason in refused.items():
        assert reason in str(refusal(parse_format(name)))
        with pytest.raises(FormatError, match="use the reference engine"):
            host_of(parse_format(name))
    assert refusal(Fixed(13), fused=True) is None and "fused" in str(refusal(Fixed(14), fused=True))
    assert "2^500" in str(refusal(Format("wide", 4, -400, 600, 15)))
    hosts = {"fixed:8": np.float32, "fixed:9": np.float64, "fp16": np.float32, "bf16": np.float64, "fp32": np.float64}
    assert {name: host_of(parse_format(name)).dtype for name in hosts} == hosts


def test_scalarwise_is_abstract() -> None:
    bare = Scalarwise(Fixed(2))
    for name in ("add", "subtract", "multiply", "divide", "larger", "equal"):
        with pytest.raises(NotImplementedError):
            getattr(bare, f"scalar_{name}")(1, 1)
    for call in (bare.scalar_exp, bare.scalar_root, bare.values):
        with pytest.raises(NotImplementedError):
            call(1)
    with pytest.raises(NotImplementedError):
        bare.scalar_fused(0, 1, 1)
    with pytest.raises(NotImplementedError):
        bare.scalar_divide_by_count(1, 2)


@pytest.mark.parametrize("engine", [Fast, Reference])
@pytest.mark.parametrize(
    ("weights", "rounded", "fused", "unrounded"),
    [
        (["1/2", "1/2"], 0, 0, Fraction(1, 4)),  # 1/8 + 1/8, each a tie that goes to 0 by itself
        (["1/2"], 0, 0, 0),  # one product is rounded in every reading
        (["1/2", 0, "1/2"], 0, 0, 0),  # and so is the first, [1/8 + 0], beside a zero
        ([0, "1/2", "1/2"], 0, 0, 0),
        (["1/2", "1/2", "1/2"], 0, 0, Fraction(1, 4)),  # 1/4 + 1/8 is a tie again
        ([1, "1/2", 0, "-1/2"], Fraction(1, 4), 0, 0),  # fused: 1/4 + 1/8 goes to 1/4, and 1/4 − 1/8 to 0
    ],
)
def test_where_the_first_product_is_rounded(engine, weights, rounded, fused, unrounded) -> None:
    """Three readings of ⟨x, y⟩ in multiples of 1/4: [[x1·y1] + [x2·y2]], [[x1·y1] + x2·y2] and [x1·y1 + x2·y2]."""
    row, quarters = encode([weights], "fixed:2"), encode([[["1/4"]]] * len(weights), "fixed:2")
    for products, expected in {"rounded": rounded, "fused": fused, "unrounded": unrounded}.items():
        arithmetic = engine("fixed:2", products)
        x = arithmetic.values(quarters)
        by_weights = arithmetic.linear(arithmetic.weights(row), x)
        by_scores = arithmetic.scores(arithmetic.values(row.T[:, :, None]), x, np.ones((1, 1), bool))
        assert arithmetic.codes(by_weights).item() == 4 * expected, products
        assert arithmetic.codes(by_scores).item() == 4 * expected, products
        shares = arithmetic.values(row[:, :, None])  # one query, as many keys as weights
        values = np.moveaxis(x, 0, 1)
        visible = np.ones((1, len(weights)), bool)
        assert arithmetic.codes(arithmetic.mixture(shares, values, visible)).item() == 4 * expected, products
