"""check.py, which shares no line with Glyptic, computes the same numbers and the same runs."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.numbers.families import small_formats

from glyptic.numbers import parse_format
from glyptic.numbers.activations import activation_rounded
from glyptic.numbers.reference import Reference
from glyptic.prove.exporting.standalone.checker import activations
from glyptic.prove.exporting.standalone.checker.numbers import exp_bounds, format_named
from glyptic.prove.exporting.standalone.checker.reading import Unreadable

SMALL = [str(format) for format in small_formats(34)]
WIDE = ["fixed:10", "ieee:5,9", "fp16", "q:6,10/even", "bf16", "float:4,5", "ieee:4,6,normal", "fp8_e4m3", "fp8_e5m2/zero"]


def pair(name):
    return parse_format(name), format_named(name)


@pytest.mark.parametrize("name", SMALL)
def test_every_operation_agrees_on_all_values_of_a_small_format(name):
    theirs, ours = pair(name)
    reference = Reference(theirs)
    assert ours.codes() == (theirs.min_code, theirs.max_code)
    assert ours.number(ours.least) == theirs.least and ours.number(ours.top) == theirs.max
    values = {code: theirs.value(code) for code in range(theirs.min_code, theirs.max_code + 1)}
    units = {code: ours.units(code) for code in values}
    assert {code: ours.number(u) for code, u in units.items()} == values
    assert {code: ours.code(u) for code, u in units.items()} == {code: code for code in values}
    for code, x in values.items():
        a = units[code]
        assert ours.number(ours.exp(a)) == reference.scalar_exp(x), f"exp {x}"
        assert x < 0 or ours.number(ours.root(a)) == reference.scalar_root(x), f"root {x}"
        assert ours.number(ours.divide_by_count(a, 3)) == reference.scalar_divide_by_count(x, 3)
        for other, y in values.items():
            b = units[other]
            assert ours.number(ours.add(a, b)) == reference.scalar_add(x, y), f"{x} + {y}"
            assert ours.number(ours.subtract(a, b)) == reference.scalar_subtract(x, y), f"{x} − {y}"
            assert ours.number(ours.multiply(a, b)) == reference.scalar_multiply(x, y), f"{x}·{y}"
            assert y == 0 or ours.number(ours.divide(a, b)) == reference.scalar_divide(x, y), f"{x} / {y}"


@pytest.mark.parametrize("name", SMALL[::4] + WIDE)
def test_fused_products_and_values_far_apart_agree(name):
    theirs, ours = pair(name)
    reference = Reference(theirs)
    step = max(1, theirs.size // 41)
    codes = sorted({*range(theirs.min_code, theirs.max_code + 1, step), theirs.max_code, -1, 0, 1})
    for code in codes:
        x, a = theirs.value(code), ours.units(code)
        assert ours.number(a) == x and ours.code(a) == code
        assert ours.number(ours.exp(a)) == reference.scalar_exp(x), f"exp {x}"
        assert x < 0 or ours.number(ours.root(a)) == reference.scalar_root(x), f"root {x}"
        for other in codes[::3]:
            y, b = theirs.value(other), ours.units(other)
            assert ours.number(ours.fused(b, a, b)) == reference.scalar_fused(y, x, y)
            assert ours.number(ours.multiply(a, b)) == reference.scalar_multiply(x, y)
            assert y == 0 or ours.number(ours.divide(a, b)) == reference.scalar_divide(x, y)


def test_bounds_of_exp_enclose_it_and_close_up():
    for x in (Fraction(1, 1024), Fraction(1, 2), Fraction(1), Fraction(22, 7), Fraction(100)):
        wide, tight = (exp_bounds(x, bits) for bits in (64, 256))
        assert wide[0] << 192 <= tight[0] <= tight[1] <= wide[1] << 192
        assert Fraction(tight[1] - tight[0], tight[0]) < Fraction(1, 1 << 200)


NO_FORMATS = ["", "fixed", "fixed:0", "q:0,0", "fp17", "fixed:2/odd", "float:17,2", "ieee:5,2,3", "fixed:-1", "fixed:2,normal"]


@pytest.mark.parametrize("name", NO_FORMATS)
def test_a_name_that_is_no_format_is_refused(name):
    with pytest.raises(Unreadable, match="is not a format"):
        format_named(name)


KINDS = ("gelu", "gelu_tanh", "silu")


@pytest.mark.parametrize("name", [*SMALL, "fixed:4", "fixed:4/even", "fp8_e4m3", "q:3,4", "ieee:4,3,normal"])
def test_activations_agree_on_all_values(name):
    assert not disagreeing(name, 1)


@pytest.mark.parametrize("name", WIDE)
def test_activations_agree_on_some_values_of_wide_formats(name):
    theirs, _ = pair(name)
    assert not disagreeing(name, max(1, theirs.size // 331))


def disagreeing(name, step):
    theirs, ours = pair(name)
    codes = [*range(theirs.min_code, theirs.max_code + 1, step), theirs.max_code]

    def agree(kind, code):
        found = activations.activated(kind, ours, ours.units(code))
        return ours.number(found) == activation_rounded(kind, theirs.value(code), theirs)

    return [(kind, code) for kind in KINDS for code in codes if not agree(kind, code)]


def spoiled(monkeypatch, part, change):
    before = getattr(activations, part)
    monkeypatch.setattr(activations, part, lambda *given: change(before(*given)))
    monkeypatch.setattr(activations, "_KNOWN", {})


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("_tail", lambda ends: tuple(end * Fraction(101, 100) for end in ends)),
        ("_half_normal", lambda ends: tuple(end * Fraction(99, 100) for end in ends)),
        ("_pi", lambda ends: tuple(end * Fraction(22, 21) for end in ends)),
        ("exp_bounds", lambda ends: (ends[0] * 101 // 100, ends[1] * 101 // 100)),
    ],
)
def test_a_broken_activation_is_seen(monkeypatch, part, change):
    spoiled(monkeypatch, part, change)
    assert disagreeing("fixed:4", 1)


def test_the_bounds_of_pi_are_some():
    near = Fraction(314159265358979323846, 10**20)  # π is at most 10^−20 above it
    for bits in (8, 64, 300):
        low, high = activations._pi(bits)
        assert low < near + Fraction(1, 10**20) and high > near
        assert high - low < Fraction(200 * bits, 1 << bits)
