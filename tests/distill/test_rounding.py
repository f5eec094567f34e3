"""Tensors are rounded as `Format.round` says, bit for bit: all values and midpoints of small formats, drawn numbers of any."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glyptic.distill.rounding import nearest, rounded
from glyptic.errors import GlypticError
from glyptic.numbers import as_format, encode, to_float64
from glyptic.numbers.hosts import host_of

SMALL = ("fixed:1", "fixed:2", "fixed:3", "fixed:4", "float:1,1", "float:2,2", "float:3,2", "q:2,3", "q:0,4", "q:3,0", "ieee:3,2",
         "ieee:3,2,normal", "fp4_e2m1", "fp6_e3m2", "fp6_e2m3", "fp8_e4m3", "fp8_e5m2")  # fmt: skip
WIDE = ("fixed:6", "fixed:8", "fixed:12", "fixed:17", "float:4,5", "float:5,8", "float:5,12", "q:4,10", "q:16,10", "fp16", "bf16",
        "ieee:8,23", "ieee:5,10,normal")  # fmt: skip
TYPES = (torch.float32, torch.float64)


def with_both_rules(names: tuple[str, ...]) -> list[str]:
    return [f"{name}/{ties}" for name in names for ties in ("zero", "even")]


def carries(format, dtype: torch.dtype) -> bool:
    return dtype is torch.float64 or host_of(format).dtype is np.float32


def neighbours(x: float, dtype: torch.dtype) -> list[float]:
    """The number and the next ones of its type on either side."""
    at = torch.tensor([x], dtype=dtype)
    ends = [torch.nextafter(at, torch.full_like(at, end)).item() for end in (-torch.inf, torch.inf)]
    return [at.item(), *ends]


def critical_points(format, dtype: torch.dtype) -> list[float]:
    """All values, all midpoints, what is just beside them, and what is beyond the ends."""
    values = list(format.values())
    points = [*values, *((a + b) / 2 for a, b in pairwise(values)), 2 * format.max, -3 * format.max, Fraction(1, 10**30)]
    return [x for point in points for x in neighbours(float(point), dtype)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", with_both_rules(SMALL))
def test_all_values_and_midpoints_of_small_formats(name: str, dtype: torch.dtype) -> None:
    format = as_format(name)
    if not carries(format, dtype):
        pytest.skip("refused, which another test shows")
    points = critical_points(format, dtype)
    found = rounded(torch.tensor(points, dtype=dtype), format)
    expected = [float(format.round(Fraction(x))) for x in points]
    assert found.dtype is dtype
    assert found.tolist() == expected
    assert not torch.signbit(found[found == 0]).any()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", with_both_rules(WIDE))
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_drawn_numbers(name: str, dtype: torch.dtype, data: st.DataObject) -> None:
    """Any number of the type, and midpoints of the format with what is beside them."""
    format = as_format(name)
    if not carries(format, dtype):
        return
    width = 32 if dtype is torch.float32 else 64
    any_number = st.floats(width=width, allow_nan=False, allow_infinity=False)
    code = st.integers(format.min_code, format.max_code - 1)
    points = data.draw(st.lists(any_number, max_size=4))
    for low in data.draw(st.lists(code, min_size=1, max_size=4)):
        points += neighbours(float((format.value(low) + format.value(low + 1)) / 2), dtype)
    found = rounded(torch.tensor(points, dtype=dtype), format)
    assert found.tolist() == [float(format.round(Fraction(x))) for x in torch.tensor(points, dtype=dtype).tolist()]


@pytest.mark.parametrize("name", with_both_rules((*SMALL, *WIDE)))
def test_weights_are_rounded_as_the_engine_encodes_them(name: str) -> None:
    format = as_format(name)
    drawn = np.random.default_rng(0).normal(size=2000) * float(format.max) / 3
    ours = nearest(torch.from_numpy(drawn), format).numpy()
    assert np.array_equal(ours, to_float64(encode(drawn, format, nearest=True), format))


def test_the_gradient_passes_within_and_stops_beyond() -> None:
    x = torch.tensor([-20.0, -16.0, -15.9375, 0.01, 15.9375, 15.95, 1e9], dtype=torch.float64, requires_grad=True)
    (rounded(x, "fixed:4") * torch.arange(1.0, 8.0, dtype=torch.float64)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 0, 3, 4, 5, 0, 0]


def test_in_twos_complement_the_least_value_is_one_lower() -> None:
    x = torch.tensor([-4.0, -5.0, 4.0], dtype=torch.float64, requires_grad=True)
    y = rounded(x, "q:2,3")
    y.sum().backward()
    assert (y.tolist(), x.grad.tolist()) == ([-4.0, -4.0, 3.875], [1, 0, 0])


@pytest.mark.parametrize(
    ("given_x", "format", "said"),
    [
        (torch.zeros(2), "fixed:9", "does not fit into float32"),
        (torch.zeros(2, dtype=torch.float64), "fixed:18", "the fast engine refuses fixed:18"),
        (torch.zeros(2, dtype=torch.float64), "exact", "exact rationals"),
        (torch.zeros(2, dtype=torch.bfloat16), "fixed:4", "a tensor of float32 or float64"),
        (torch.zeros(2, dtype=torch.int64), "fixed:4", "a tensor of float32 or float64"),
        (3.0, "fixed:4", "a tensor of float32 or float64"),
    ],
)
def test_what_no_type_carries_is_refused(given_x: object, format: str, said: str) -> None:
    with pytest.raises(GlypticError, match=said):
        rounded(given_x, format)  # type: ignore[arg-type]
