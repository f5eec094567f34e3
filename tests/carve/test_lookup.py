"""Look-up by position: all targets, lengths that are and are not powers of two, other masks and attentions."""

import numpy as np
import pytest

from glyptic.carve import FactError, lookup
from glyptic.errors import ModelError
from glyptic.exact import Options, ZeroAttention
from glyptic.numbers import Fixed, Float, Format
from tests.carve.support import FORMATS, all_codes, blank, check_frame, run_added


def some_residuals(format: Format, d: int, n: int, batch: int = 60) -> np.ndarray:
    return np.random.default_rng(n).choice(all_codes(format), (d, n, batch))


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_each_position_gets_what_it_points_at(format: Format) -> None:
    n = 6
    T, h = blank(format, "x y", n), some_residuals(format, 2, n)
    for of in (lambda i: i, lambda i: 0, lambda i: i // 2, lambda i: max(0, i - 1), lambda i: i * (i - 1) // 2 % (i + 1)):
        done = lookup.position(T, ["x", "y"], ["left", "right"], of)
        got = run_added(T, done, h)
        check_frame(T, done, h, got)
        for i in range(n):
            assert (got["left"][i] == h[0, of(i)]).all()
            assert (got["right"][i] == h[1, of(i)]).all()
        assert done.history[-1].heads == 1


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 40])
def test_any_length(n: int) -> None:
    T, h = blank(Fixed(8), "x", n), some_residuals(Fixed(8), 1, n)
    done = lookup.position(T, ["x"], ["y"], lambda i: i // 3)
    got = run_added(T, done, h)
    assert all((got["y"][i] == h[0, i // 3]).all() for i in range(n))
    bits = max(1, (n - 1).bit_length())
    assert done.width == 1 + 1 + 1 + bits * (1 if n == 1 else 2)  # x, y, one, codes, pointers unless all point at themselves


@pytest.mark.parametrize(
    "options",
    [
        Options(attention="max-subtracted"),
        Options(attention="average"),
        Options(attention="leftmost"),
        Options(attention="rightmost"),
        Options(products="fused"),
        Options(mask="full"),
        Options(scale=True),
    ],
    ids=str,
)
def test_other_options(options: Options) -> None:
    n, format = 7, Float(3, 4)
    T, h = blank(format, "x", n, options=options), some_residuals(format, 1, n)
    of = (lambda i: n - 1 - i) if options.mask == "full" else (lambda i: i // 2)
    got = run_added(T, lookup.position(T, ["x"], ["y"], of), h)
    assert all((got["y"][i] == h[0, of(i)]).all() for i in range(n))


def test_a_pointer_in_the_residual_is_followed_and_a_wrong_one_is_told() -> None:
    n, format = 4, Fixed(4)
    T = blank(format, "x p.0 p.1", n)
    one = format.code(1)
    rng = np.random.default_rng(0)
    targets = np.array([rng.integers(0, i + 1, 50) for i in range(n)])  # (n, batch), none later
    bits = np.stack([np.where(targets >> b & 1, one, -one) for b in range(2)])
    h = np.concatenate([rng.choice(all_codes(format), (1, n, 50)), bits])
    done = lookup.fetch(T, ["x"], ["y"], ["p.0", "p.1"])
    got = run_added(T, done, h)
    check_frame(T, done, h, got)
    assert (got["y"] == np.take_along_axis(h[0], targets, axis=0)).all()
    wrong = h.copy()
    wrong[1:, 0, 0] = one  # position 0 points at position 3, which it does not see
    with pytest.raises(AssertionError, match="layer 0, head 0, position 0"):
        run_added(T, done, wrong)
    assert issubclass(ZeroAttention, ArithmeticError)


def test_refusals() -> None:
    T = blank(Fixed(4), "x", 4)
    with pytest.raises(ModelError, match="position 0 cannot look up position 1: the causal mask hides it"):
        lookup.position(T, ["x"], ["y"], lambda i: min(3, i + 1))
    with pytest.raises(ModelError, match="cannot look up position 0: the strict mask"):
        lookup.position(blank(Fixed(4), "x", 4, options=Options(mask="strict")), ["x"], ["y"], lambda i: i)
    with pytest.raises(ModelError, match="a pointer to 4 positions has 2 bits, not 1"):
        lookup.fetch(T, ["x"], ["y"], ["x"])
    with pytest.raises(ModelError, match="2 sources and 1 targets"):
        lookup.position(blank(Fixed(4), "x z", 4), ["x", "z"], ["y"], lambda i: i)
    with pytest.raises(FactError, match=r"exp\(-3/2\) rounds to 1/4"):
        lookup.position(blank(Float(1, 1), "x", 4), ["x"], ["y"], lambda i: i)
    with pytest.raises(FactError, match="−B/√4"):
        lookup.position(blank(Fixed(2), "x", 4, options=Options(scale=True)), ["x"], ["y"], lambda i: i)
