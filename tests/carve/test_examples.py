"""Every built-in decider against a plain predicate, on every input up to its length, in several formats and both tie
rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest

from glyptic import programs
from glyptic.carve import examples
from glyptic.errors import FormatError, InputError, ModelError
from glyptic.exact import Transformer
from glyptic.numbers import NAMED, Exact, Fixed, Float, Format, Ieee, Q, Ties
from glyptic.programs.registry import EXAMPLES

Predicate = Callable[[str], bool]
FORMATS = [
    Fixed(2),
    Fixed(4),
    Fixed(7),
    Float(2, 1),
    Float(2, 2),
    Float(4, 3),
    Float(5, 2),
    Q(4, 3),
    *map(NAMED.get, ("fp4_e2m1", "fp6_e2m3", "fp8_e4m3", "fp16")),
]
BOTH = [format.with_ties(ties) for format in FORMATS for ties in ("zero", "even")]


def words(alphabet: str, longest: int) -> list[str]:
    return ["".join(letters) for n in range(1, longest + 1) for letters in product(alphabet, repeat=n)]


def balanced(text: str, depth: int, pairs: str = "()") -> bool:
    """By a stack, as everyone would."""
    stack: list[str] = []
    for character in text:
        place = pairs.index(character)
        if place % 2 == 0:
            stack.append(pairs[place + 1])
        elif not stack or stack.pop() != character:
            return False
        if len(stack) > depth:
            return False
    return not stack


def check(decider: Transformer, predicate: Predicate, alphabet: str = "01") -> None:
    inputs = words(alphabet, decider.max_length)
    expected = tuple("YES" if predicate(text) else "NO" for text in inputs)
    said = decider.run_batch(inputs).answers
    wrong = [(text, answer) for text, answer, right in zip(inputs, said, expected, strict=True) if answer != right]
    assert not wrong, f"{decider}: {wrong[:3]}"


def cases(format: Format) -> Iterator[tuple[Transformer, Predicate]]:
    """All deciders over 0 and 1, at the greatest length up to 8 that the format allows."""
    n = min(8, examples.whole_numbers(format))
    yield examples.contains(format, "101", 8), lambda w: "101" in w
    yield examples.contains(format, "0", 5), lambda w: "0" in w
    yield examples.first_equals_last(format, 8), lambda w: w[0] == w[-1]
    yield examples.palindromes(format, 8), lambda w: w == w[::-1]
    yield examples.parity(format, 8), lambda w: w.count("1") % 2 == 1
    yield examples.majority(format, n), lambda w: 2 * w.count("1") > len(w)
    for modulus in (1, 2, 3):
        for residue in range(modulus):
            yield examples.modular(format, modulus, residue, n), lambda w, m=modulus, r=residue: w.count("1") % m == r
    for depth in (1, 2, 4):
        yield examples.brackets(format, n, depth, "01"), lambda w, k=depth: balanced(w, k, "01")


@pytest.mark.parametrize("format", BOTH, ids=str)
def test_every_decider_on_every_input(format: Format) -> None:
    for decider, predicate in cases(format):
        check(decider, predicate)


def test_longer_inputs() -> None:
    format = Fixed(4)
    check(examples.parity(format, 13), lambda w: w.count("1") % 2 == 1)
    check(examples.palindromes(format, 12), lambda w: w == w[::-1])
    check(examples.brackets(format, 12, 3, "01"), lambda w: balanced(w, 3, "01"))
    check(examples.contains(format, "0110", 11), lambda w: "0110" in w)
    check(examples.modular(format, 5, 2, 12), lambda w: w.count("1") % 5 == 2)


def test_larger_alphabets() -> None:
    format = Fixed(3)
    check(examples.brackets(format, 7, 2, "()[]"), lambda w: balanced(w, 2, "()[]"), "()[]")
    check(examples.contains(format, "abca", 7, "abc"), lambda w: "abca" in w, "abc")
    check(examples.first_equals_last(format, 7, "abc"), lambda w: w[0] == w[-1], "abc")
    check(examples.palindromes(format, 7, "abc"), lambda w: w == w[::-1], "abc")
    check(examples.majority(format, 7, "b", "abc"), lambda w: 2 * w.count("b") > len(w), "abc")


def test_six_layers_at_length_sixteen() -> None:
    """The decider of the enumeration benchmark: on random inputs of length 16, and on all balanced ones."""
    decider = examples.brackets(Fixed(5), 16, 4, "01")
    assert len(decider.layers) == 6
    rng = np.random.default_rng(0)
    inputs = ["".join(rng.permutation(list("01" * 8))) for _ in range(2000)]
    inputs += [w for w in words("01", 8) if balanced(w, 8, "01")]
    inputs += [a + b for a in inputs[-14:] for b in inputs[-14:] if len(a + b) == 16]
    said = decider.run_batch(inputs).answers
    assert said == tuple("YES" if balanced(w, 4, "01") else "NO" for w in inputs)
    assert {"YES", "NO"} == set(said)


def test_the_last_whole_number_is_enough_and_one_more_is_refused() -> None:
    check(examples.modular(Float(2, 2), 3, 0, 7), lambda w: w.count("1") % 3 == 0)
    with pytest.raises(FormatError, match="counts to 8, and float:2,2 has the whole numbers only up to 7"):
        examples.modular(Float(2, 2), 3, 0, 8)


def more_ones(text: str) -> bool:
    return 2 * text.count("1") > len(text)


def test_majority_saturates_without_losing_its_sign_and_is_refused_where_it_would() -> None:
    """float:2,2 has the whole numbers to 7; the totals stop at 15/2, and 1⁸0⁷ is the first input to be wrong."""
    check(examples.majority(Float(2, 2), 14), more_ones)
    with pytest.raises(FormatError, match=r"counts to 15, .* only up to 7: it would answer '111111110000000' with"):
        examples.majority(Float(2, 2), 15)
    assert "forced" in examples.majority(Float(2, 2), 15, force=True).frame()


_FEW_BITS = [
    *(Fixed(1), Fixed(2), Float(1, 1), Float(2, 1), Float(1, 2), Float(3, 1)),
    *(Ieee(2, 1), Ieee(3, 1), Q(1, 2), Q(2, 0), Q(2, 1)),
]


@pytest.mark.parametrize("ties", ["zero", "even"])
@pytest.mark.parametrize("format", _FEW_BITS, ids=str)
def test_majority_is_refused_exactly_where_it_is_wrong(format: Format, ties: Ties) -> None:
    """Every length up to 9, every input: what the two worst ones say of all is what all say."""
    format = format.with_ties(ties)
    if not examples.whole_numbers(format):
        return
    texts = words("01", 9)
    for n in range(1, 10):
        decider = examples.majority(format, n, force=True)
        inputs = [text for text in texts if len(text) <= n]
        right = decider.run_batch(inputs).answers == tuple("YES" if more_ones(text) else "NO" for text in inputs)
        try:
            examples.majority(format, n)
            accepted = True
        except FormatError:
            accepted = False
        assert accepted == right, n


def test_fused_products_make_no_difference() -> None:
    for decider, predicate in cases(Fixed(4)):
        check(decider.with_options(products="fused"), predicate)


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"random"}))
def test_frames_say_what_layers_preserve(name: str) -> None:
    """One frame a layer: what it is said to preserve comes out bit for bit, and the rest it writes."""
    decider = programs.by_name(name, Fixed(5))
    assert [frame.first_layer for frame in decider.history] == list(range(len(decider.layers)))
    texts = words("".join(decider.vocabulary), 6)[-40:]
    trace = decider.run_batch(texts, trace=["embedding", "*.after_feed_forward"]).trace
    streams = ["embedding", *(f"layer.{l}.after_feed_forward" for l in range(len(decider.layers)))]
    for frame, before, after in zip(decider.history, streams[:-1], streams[1:], strict=True):
        touched = {touch.action: touch.coordinates for touch in frame.touches}
        assert sorted(touched["writes"] + touched["preserves"]) == sorted(decider.coordinates)
        kept = [decider.coordinate(name) for name in touched["preserves"]]
        assert all(np.array_equal(a[kept], b[kept]) for a, b in zip(trace[before], trace[after], strict=True))


def test_mostly_zeros_and_named() -> None:
    for name in EXAMPLES:
        if name != "random":
            decider = programs.by_name(name, Fixed(5))
            heads = [
                matrix
                for layer in decider.layers
                for h in layer.heads
                for matrix in (h.query, h.key, h.value, h.output)
            ]
            share = sum(map(np.count_nonzero, heads)) / sum(matrix.size for matrix in heads)
            assert share < 0.25
            assert {"one", "no", "yes"} <= set(decider.coordinates)


@pytest.mark.parametrize("name", EXAMPLES)
def test_names_round_trip(name: str) -> None:
    """A decider's own name makes it again."""
    decider = programs.by_name(name, Fixed(5))
    assert decider.name.split(":")[0] == name
    assert programs.by_name(decider.name, Fixed(5)).same_as(decider)
    assert programs.by_name(EXAMPLES[name].usage(), Fixed(5)).same_as(decider)


def test_parameters_by_place_and_by_name() -> None:
    assert programs.by_name("modular:5,residue=2", Fixed(5)).name == "modular:5,2,12"
    assert programs.by_name("contains:word=11,max_length=9", Fixed(5)).max_length == 9
    assert not programs.by_name("random:1", Fixed(4)).same_as(programs.by_name("random:2", Fixed(4)))


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("oddity", ModelError, "no built-in decider 'oddity'; there are contains"),
        ("parity:x", ModelError, "max_length must be a whole number of at most 18 digits, and it is 'x'"),
        ("parity:-3", InputError, "max_length is -3, and must be a whole number from 1 to 16384"),
        ("parity:3,1,01,9", ModelError, "'9' is not one of its parameters"),
        ("parity:3,max_length=3", ModelError, "comes twice"),
        ("parity:length=3", ModelError, "write parity:max_length=16"),
        ("parity:0", InputError, "max_length is 0"),
        ("contains:12", InputError, "'2' is not in the vocabulary '01'"),
        ("contains:", ModelError, None),
        ("contains:word=", InputError, "the word is empty"),
        ("modular:3,3", InputError, "residue 3 modulo 3"),
        ("modular:0", InputError, "modulus is 0, and must be a whole number of at least 1"),
        ("brackets:12,3,()[", InputError, "must come in pairs"),
        ("brackets:12,0", InputError, "depth is 0, and must be a whole number of at least 1"),
        ("brackets:12,3,((", InputError, "different characters"),
        ("majority:12,2", InputError, "'2' is not in the vocabulary"),
    ],
)
def test_bad_names_get_one_sentence(text: str, error: type[Exception], says: str | None) -> None:
    if says is None:
        assert programs.by_name(text, Fixed(5)).name == "contains:101,16"
        return
    with pytest.raises(error, match=says.replace("(", r"\(")):
        programs.by_name(text, Fixed(5))


@pytest.mark.parametrize(
    ("format", "says"),
    [
        (Fixed(1), "counts to 2"),
        (Float(1, 1), "whole numbers only up to 1"),
        (Q(2, 6), r"needs \[exp"),
        (Q(2, 1), None),
        (Exact(), "no largest value B"),
    ],
    ids=str,
)
def test_formats_in_which_a_decider_would_be_wrong_are_refused(format: Format, says: str | None) -> None:
    if says is None:
        check(examples.parity(format, 5), lambda w: w.count("1") % 2 == 1)
        return
    with pytest.raises(FormatError, match=says):
        examples.parity(format)


def test_look_ups_are_refused_where_exp_of_minus_b_is_not_zero() -> None:
    with pytest.raises(FormatError, match=r"needs \[exp\(−B\)\] = 0"):
        examples.first_equals_last(Float(1, 1))
    check(examples.first_equals_last(Fixed(1), 6), lambda w: w[0] == w[-1])


def test_a_broken_weight_is_noticed() -> None:
    """The exhaustive check is not blind: without one hidden unit the decider is wrong somewhere."""
    decider = examples.brackets(Fixed(4), 6, 2, "01")
    layer = decider.layers[0]
    assert layer.feed_forward is not None
    w1 = layer.feed_forward.w1.copy()
    w1[-1] = 0  # the unit that notices too great a depth
    broken = type(layer)(
        layer.heads, type(layer.feed_forward)(w1, *(getattr(layer.feed_forward, part) for part in ("b1", "w2", "b2")))
    )
    with pytest.raises(AssertionError):
        check(decider.replace(layers=(broken, *decider.layers[1:])), lambda w: balanced(w, 2, "01"))
