"""Circuits by ranges and boxes of preconditions: every value within every range against the reference, and broken ones found."""

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from glyptic.exact import Options, Sizes, random_transformer
from glyptic.numbers import Fixed, Format, Q, Reference, parse_format
from glyptic.prove import Claim, Proved, Refuted, Vacuous, after, before, check, layers
from glyptic.prove.methods import smt
from glyptic.prove.methods.smt import bits, circuits_ranged
from glyptic.prove.methods.smt.agreement import disagreement
from glyptic.prove.methods.smt.circuits_fixed import FixedCircuits
from glyptic.prove.methods.smt.circuits_ranged import RangedCircuits
from glyptic.prove.methods.smt.known_facts import KnownFacts
from glyptic.prove.methods.smt.preconditions import box
from glyptic.prove.methods.smt.questions import pose

SMALL = [Fixed(1), Fixed(2), Fixed(2, "even"), Q(1, 2), Q(2, 1, "even"), Q(3, 0), Q(0, 3)]
Span = tuple[int, int]


def signed(values: np.ndarray, width: int) -> np.ndarray:
    return values - ((values >> (width - 1)) << width)


def spans_of(format: Format, seed: int, count: int) -> Iterator[Span]:
    """The whole format, both halves, single codes, and some at random."""
    low, high = format.min_code, format.max_code
    yield from [(low, high), (0, high), (low, 0), (1, high), (low, -1), (-1, 1)]
    yield from ((code, code) for code in (low, -2, -1, 1, 2, 3, high) if low <= code <= high)
    for a, b in np.random.default_rng(seed).integers(low, high, (count, 2), endpoint=True):
        yield int(min(a, b)), int(max(a, b))


def operand(name: str, span: Span, width: int) -> bits.Bits:
    return bits.constant(span[0], width) if span[0] == span[1] else bits.variable(name, width)


def wrong(format: Format, operation: str, spans: list[Span], exact: Callable[..., object], *more: int) -> list[str]:
    """The operands within ranges at which a circuit is not what the reference says; None of that means nothing."""
    circuits = RangedCircuits(FixedCircuits(format))
    width = circuits.width
    operands = [operand(f"x{k}", span, width) for k, span in enumerate(spans)]
    result = getattr(circuits, operation)(*operands, *more, spans=spans)
    assert result.width == width
    rows = np.array(list(product(*(range(low, high + 1) for low, high in spans))), np.int64)
    (got,) = bits.compute([result], {f"x{k}": rows[:, k] for k in range(len(spans))})
    codes = signed(np.broadcast_to(np.asarray(got), len(rows)).astype(np.int64), width)
    found = []
    for row, code in zip(rows.tolist(), codes.tolist(), strict=True):
        wanted = exact(*map(format.value, row))
        if wanted is not None and format.code(wanted) != code:
            found.append(f"{operation}{row} within {spans}: {code} and not {wanted}")
    return found


def all_wrong(format: Format, count: int = 3) -> Iterator[str]:
    """Whatever is wrong, of every operation."""
    reference, spans = Reference(format), list(spans_of(format, 5, count))
    for one, other in product(spans, spans):
        if one[0] == one[1] and other[0] == other[1]:
            continue
        yield from wrong(format, "add", [one, other], reference.scalar_add)
        yield from wrong(format, "subtract", [one, other], reference.scalar_subtract)
        yield from wrong(format, "multiply", [one, other], reference.scalar_multiply)
        yield from wrong(format, "divide", [one, other], lambda x, y: reference.scalar_divide(x, y) if y else None)
    for span in spans:
        yield from wrong(format, "negate", [span], lambda x: format.round(-x))
        yield from wrong(format, "root", [span], lambda x: reference.scalar_root(x) if x >= 0 else None)
        for count in (2, 3, 7):
            yield from wrong(format, "divide_by_count", [span], lambda x, n=count: reference.scalar_divide_by_count(x, n), count)
    for three in list(product(spans[::2], spans[1::3], spans[::4]))[:60]:
        if sum(low < high for low, high in three) > 1:
            yield from wrong(format, "fused", list(three), reference.scalar_fused)


@pytest.mark.parametrize("format", SMALL, ids=str)
def test_every_value_within_every_range(format: Format) -> None:
    assert next(all_wrong(format), None) is None


def _no_room(self: RangedCircuits, span: Span, places: int) -> int:
    return max(bits.signed_width(*span), places + 1)


def _idle(self: RangedCircuits, x: bits.Bits, span: Span) -> bits.Bits:
    return bits.fitted(x, max(span[0], self.format.min_code), min(span[1], self.format.max_code), self.width)


def _tie_up(x: int, places: int, ties: str) -> int:
    return (x + (1 << (places - 1))) >> places if places else x


MUTANTS: dict[str, tuple[object, str, object]] = {
    "no room for what rounding adds": (RangedCircuits, "_room", _no_room),
    "no clamp": (RangedCircuits, "_clamped", _idle),
    "least and greatest not by the corners": (circuits_ranged, "_corners", lambda a, b: (a[0] * b[0], a[1] * b[1])),
    "magnitudes that are taken for signed": (circuits_ranged, "_magnitude", lambda a, span, width: bits.low_bits(a, width)),
    "a bit too few": (circuits_ranged, "signed_width", lambda low, high: max(1, bits.signed_width(low, high) - 1)),
    "one sign for all": (circuits_ranged, "_negative", lambda a, span: bits.truth(span[1] < 0)),
    "ranges that are rounded inwards": (circuits_ranged, "_nearest_integer", lambda x, places, ties: (x >> places) // 2),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_broken_circuits_are_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, instead = MUTANTS[mutant]
    monkeypatch.setattr(where, name, instead)
    assert any(_fails(format) for format in (Fixed(2), Fixed(2, "even"), Q(1, 2)))


def _fails(format: Format) -> bool:
    try:
        return next(all_wrong(format), None) is not None
    except AssertionError:  # widths that do not fit together
        return True


@pytest.mark.parametrize("ties", ["zero", "even"])
def test_ends_are_rounded_as_all_else_is(ties: str) -> None:
    format = parse_format(f"q:9,0/{ties}")
    for places, x in product((1, 2, 3), range(-40, 41)):
        wanted = format.code(format.round(format.value(1) * x / 2**places))
        assert circuits_ranged._nearest_integer(x, places, ties) == wanted


def test_low_bits_and_fitted_codes_are_the_same_number() -> None:
    """Of every signed number of 5 bits, extended in either way or not, in every width and between every two ends."""
    codes = np.arange(32)
    x = bits.variable("x", 5)
    for a in (x, bits.widen(x, 9), bits.widen_signed(x, 9), bits.widen_signed(bits.widen(x, 7), 9)):
        (plain,) = bits.compute([a], {"x": codes})
        numbers = signed(np.asarray(plain), a.width)
        for width in range(1, 13):
            (got,) = bits.compute([bits.low_bits(a, width)], {"x": codes})
            assert (np.asarray(got) == numbers % 2**width).all()
        for low, high in product(range(-16, 32), repeat=2):
            inside = (low <= numbers) & (numbers <= high)
            if inside.any():
                (got,) = bits.compute([bits.fitted(a, low, high, 9)], {"x": codes[inside]})
                assert (signed(np.broadcast_to(np.asarray(got), inside.sum()), 9) == numbers[inside]).all(), (low, high)


# Boxes -------------------------------------------------------------------------------------------------------------------


SIZES = Sizes(layers=1, heads=1, width=2, key_width=1, value_width=1, hidden=2, density=1.0, max_length=2)
x, y = before("x0", 0), before("x1", 0)
BOXES = {
    "a ball": (abs(x) <= 1) & (abs(y) < 1),
    "one side each": (x > 0) & (y <= 0) & (x <= y + 1),
    "constants first": (x > 0) & (y == 0.5),
    "a point outside": (x != 0) & (x >= 1) & (x <= 1),
    "what the layer gives as well": (abs(x) <= 1) & (after("x1", 0) > 0),
    "the ends": (x <= 1.5) & (x >= -1.5) & (abs(y) >= 0),
}


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("format", ["fixed:1", "fixed:1/even", "q:1,1", "float:1,1"])
@pytest.mark.parametrize("attention", ["softmax", "average"])
def test_claims_within_boxes_are_decided_as_by_enumeration(name, format, attention) -> None:
    for seed in range(2):
        transformer = random_transformer(format, seed, SIZES, Options(attention=attention))
        for ensures in (after("x0", 0) <= 1, abs(after("x1", 0)) <= 1, after("x0", 0) == before("x0", 0)):
            claim = Claim(layers(transformer), ensures, requires=BOXES[name])
            wanted = check(claim, method="enumerate", progress=False)
            found = smt.check(claim, parse_format(format), solvers=["bitwuzla"])
            assert type(found) is type(wanted), (str(claim), found, wanted)
            assert isinstance(found, Proved | Refuted | Vacuous)
            if isinstance(wanted, Refuted):
                assert str(found.counterexample) == str(wanted.counterexample)
            assert disagreement(claim, pose(claim, parse_format(format))) is None


def test_an_empty_box_bounds_nothing() -> None:
    claim = Claim(layers(random_transformer("fixed:2", 0, SIZES)), after("x0") == 0, requires=(x > 1) & (x < 1))
    assert box(claim, Fixed(2)).spans == {}
    assert isinstance(smt.check(claim, Fixed(2)), Vacuous)


def test_the_least_value_of_twos_complement_is_within_no_ball() -> None:
    """|−2^m| saturates to B: |x| ≤ B holds of it too."""
    transformer = random_transformer("q:1,2", 0, SIZES)
    largest = parse_format("q:1,2").max
    claim = Claim(layers(transformer), before("x0") > -2, requires=abs(x) <= largest)
    assert box(claim, Q(1, 2)).spans == {}
    assert isinstance(smt.check(claim, Q(1, 2)), Refuted)


def test_bounds_that_are_too_narrow_are_told(monkeypatch) -> None:
    """Terms are tried at points of the box: had it lost some of its values, nothing would be proved."""
    claim = Claim(layers(random_transformer("fixed:4", 2, SIZES)), abs(after("x0")) <= 15, requires=abs(x) <= 2)
    assert isinstance(smt.check(claim, Fixed(4)), Proved)
    bounded = KnownFacts.bounded
    monkeypatch.setattr(KnownFacts, "bounded", lambda self, x, low, high: bounded(self, x, low // 2, high // 2))
    assert "a fault in the solvers' terms" in smt.check(claim, Fixed(4)).reason
