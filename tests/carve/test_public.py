"""Every public construction: under every option refused or right, back from its file as it was, and one sentence for a bad call.

A case is a construction with good arguments; the options, the files and the fuzzer go over all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import and_
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glyptic import carve, programs
from glyptic.carve import (
    Draft,
    add,
    amplify,
    building,
    closure,
    compose,
    facts,
    flags,
    ignore,
    linear,
    lookup,
    loop,
    normalize,
    zero,
)
from glyptic.carve.beside import beside, reconciled
from glyptic.errors import GlypticError, ModelError
from glyptic.exact import Layer, Options, Sizes, Transformer, load, random_transformer
from glyptic.numbers import Fixed, Float
from tests.carve.support import all_codes, all_texts, blank, laid_out, through

Build = Callable[..., Transformer]
SWAP = [[0, 1], [1, 0]]

# Options: on residuals given directly, what each construction promises --------------------------------------------------

Promise = tuple[Build, Callable[[np.ndarray], dict[str, np.ndarray]]]  # on h of (x y, position, batch)
PROMISES: dict[str, Promise] = {
    "zero.at": (lambda T: zero.at(T, at=1), lambda h: {"x": h[0] * [[1], [0], [1]], "y": h[1] * [[1], [0], [1]]}),
    "add.copy": (lambda T: add.move(T, {"y": "x"}), lambda h: {"x": h[0], "y": h[0]}),
    "linear.in_place": (lambda T: linear.in_place(T, SWAP), lambda h: {"x": h[1], "y": h[0]}),
    "linear.between": (lambda T: linear.between(T, SWAP, i=0, j=2), lambda h: {"x": np.stack([h[0, 0], h[0, 1], h[1, 0]])}),
    "lookup.position": (lambda T: lookup.position(T, ["x"], ["z"], lambda i: i // 2), lambda h: {"z": h[0, [0, 0, 1]]}),
    "zero_one": (lambda T: normalize.zero_one(T, one_layer=True), lambda h: {"NO": h[0], "YES": h[1]}),
    "plus_minus": (lambda T: normalize.plus_minus(T, one_layer=True), lambda h: {"YES": np.where(h[1] > h[0], 15, -15)}),
}  # fmt: skip
READINGS = [
    Options(products=products, attention=attention, scale=scale, mask=mask)  # type: ignore[arg-type]
    for products, attention, scale, mask in product(
        ("rounded", "fused"),
        ("softmax", "max-subtracted", "leftmost", "rightmost", "average"),
        (False, True),
        ("causal", "strict", "full"),
    )
]


@pytest.mark.parametrize("name", PROMISES)
def test_under_every_reading_a_construction_is_refused_or_right(name: str) -> None:
    build, promise = PROMISES[name]
    format, right = Fixed(2), 0
    h = np.random.default_rng(1).choice(all_codes(format), (2, 3, 8))
    for options in READINGS:
        T = blank(format, "x y", 3, options=options).replace(output=format.code(1) * np.eye(2, dtype=np.int64))
        try:
            done = build(T)
        except (ModelError, carve.FactError):
            continue
        out, undefined = through(done, laid_out(T, done, h))
        assert not undefined, options
        for coordinate, want in promise(h).items():
            assert (out[done.coordinate(coordinate)] == want).all(), (options, coordinate)
        right += 1
    assert right >= 20


POLICIES = [
    Options(attention=attention, answer=answer, ties=ties, mask=mask)  # type: ignore[arg-type]
    for attention, answer, ties, mask in product(
        ("softmax", "max-subtracted", "average"), ("softmax", "logits"), ("explicit", "first"), ("causal", "full")
    )
]


def small(seed: int, answers: str, options: Options, vocabulary: str = "01") -> Transformer:
    sizes = Sizes(layers=1, heads=1, width=3, hidden=3, max_length=4, vocabulary=vocabulary, answers=tuple(answers))
    return random_transformer(Fixed(2), seed, sizes, options)


@pytest.mark.parametrize("answers", ["01", "0", "10", "02"])
def test_a_relay_is_refused_or_says_what_the_one_whose_turn_it_is_says(answers: str) -> None:
    """Absent answers get −B, which can win or share under some policies; such logits are made on purpose."""
    compared = 0
    for options, seed in product(POLICIES, range(3)):
        a, b = small(seed, "01", options, "012"), small(seed + 9, answers, options, "012")
        b = b.replace(output=np.full_like(b.output, -15)) if seed == 0 else b  # logits of −B, and ties
        try:
            done = compose.relay(a, b, "1")
        except (ModelError, carve.FactError):
            continue
        texts = all_texts(3, "012")
        theirs = [(b if text[-1] == "1" else a).run_batch([text]).answers[0] for text in texts]
        for text, want, said in zip(texts, theirs, done.run_batch(texts).answers, strict=True):
            if said != "UNDEFINED":  # both run at every position: where one is 0/0, so is the relay
                assert said == want, (options, text)
                compared += 1
    assert compared


def test_an_absent_answer_never_takes_part() -> None:
    """All pairs of logits near −B, one a token, where −B has a share under a softmax with its maximum subtracted."""
    pairs = [[Fraction(u, 4), Fraction(v, 4)] for u, v in product(range(-15, -9), repeat=2)]
    tokens = [chr(0x4E00 + i) for i in range(len(pairs))]
    right = 0
    for options in POLICIES:
        b = Transformer.of(Fixed(2), tokens, "nm", pairs, [[1, 0], [0, 1]], tokens[:2], max_length=1, options=options)
        a = Transformer.of(Fixed(2), tokens, "z", [[0]] * len(pairs), [[0]] * len(pairs), tokens, max_length=1, options=options)
        try:
            done = compose.relay(a, b)
        except (ModelError, carve.FactError):
            continue
        assert done.run_batch(tokens).answers == b.run_batch(tokens).answers, options
        right += 1
    assert right


def test_a_sequence_is_refused_or_reads_what_a_says_at_each_position() -> None:
    """Under a full mask a's position i sees what comes after it."""
    compared, masks = 0, set()
    for options, seed in product(POLICIES, range(4)):
        a, b = small(seed, "01", options), small(seed + 50, "01", options)
        try:
            done = compose.sequence(a, b, yes="1")
        except ModelError:
            continue
        masks.add(options.mask)
        for text in all_texts(3):
            said = [a.run_batch([text[: i + 1]]).answers[0] for i in range(len(text))]
            if set(said) <= {"0", "1"}:
                assert done.run_batch([text]).answers == b.run_batch(["".join(said)]).answers, (options, text)
                compared += 1
    assert compared > 50
    assert masks == {"causal"}


# Every construction, on random transformers ------------------------------------------------------------------------------


def start() -> Transformer:
    sizes = Sizes(layers=2, heads=1, width=3, hidden=3, max_length=4)
    return random_transformer(Fixed(4), 5, sizes, Options(attention="average"))


CASES: dict[str, tuple[Build, tuple[Any, ...]]] = {
    "widen": (carve.widen, (["n", "ñ 1"],)),
    "rename": (carve.rename, ({"x0": "área"},)),
    "permute": (lambda T, order: carve.permute(T, order, force=True), (["x1", "x0", "x2"],)),
    "append": (lambda T, *layers: carve.append(T, *layers, place=0), (start().layers[0],)),
    "free": (lambda T, names: carve.free(ignore.coordinates(T, ["x2"]).replace(output=T.output * [1, 1, 0]), names), (["x2"],)),
    "flags.position": (flags.position, (1,)),
    "flags.positions": (flags.positions, ([0, 2],)),
    "flags.complement": (flags.complement, ([0, 2],)),
    "flags.codes": (lambda T, name: flags.codes(T, name=name), ("lugar",)),
    "add.vector": (add.vector, ({"x0": 1, "x1": "-B"}, 2)),
    "add.overwrite": (add.overwrite, ({"x0": 1}, 1)),
    "add.copy": (add.copy, ({"x0": "x1"}, [0, 1])),
    "add.move": (add.move, ({"x0": "x1"},)),
    "zero.at": (zero.at, (["x0"], 1)),
    "zero.everywhere": (zero.everywhere, (["x0"],)),
    "zero.by_saturation": (zero.by_saturation, (["x0"], 1)),
    "ignore.coordinates": (ignore.coordinates, (["x0"], [1])),
    "linear.into": (linear.into, ([[1, -1]], ["x0", "x1"], ["y"], [1])),
    "linear.in_place": (linear.in_place, (SWAP, ["x0", "x1"], [1, 0])),
    "linear.between": (lambda T, M, names, i, j: linear.between(T, M, names, i=i, j=j), (SWAP, ["x0", "x1"], 0, 2)),
    "lookup.position": (lookup.position, (["x0"], ["y"], lambda i: i // 2)),
    "lookup.fetch": (lookup.fetch, (["x0"], ["y"], ["x1", "x2"])),
    "loop.block": (loop.block, (0, 2, 3)),
    "normalize.zero_one": (normalize.zero_one, ()),
    "normalize.infinity": (normalize.infinity, ()),
    "normalize.plus_minus": (lambda T: normalize.plus_minus(T, one_layer=True), ()),
    "closure.negation": (closure.negation, ()),
    "closure.conjunction": (closure.conjunction, (start(),)),
    "closure.disjunction": (closure.disjunction, (start(),)),
    "closure.exclusive": (closure.exclusive, (start(),)),
    "closure.majority": (closure.majority, (start(), start())),
    "closure.threshold": (lambda T, least: closure.threshold([T, T, T], least), (2,)),
    "closure.decision_list": (lambda T, rules: closure.decision_list([T, T], rules, True), ([(0, True, False)],)),
    "closure.by_count": (lambda T, accepted: closure.by_count([T, T], accepted), ([0, 2],)),
    "beside": (lambda T, labels: beside([T, T], labels), (["uno", "dos"],)),
    "reconciled": (lambda T, format: reconciled([T, T], format)[0], ("fixed:5",)),
    "compose.sequence": (lambda T: compose.sequence(T, T.replace(vocabulary=("NO", "YES"))), ()),
    "compose.relay": (lambda T, switch: compose.relay(*[T.replace(answers=("0", "1"))] * 2, switch), ("1",)),
}  # fmt: skip
EDGES: dict[str, Callable[[Transformer], Transformer]] = {
    "loop of no rounds": lambda T: loop.block(T, 0, 2, 0),
    "loop of no rounds, carved": lambda T: loop.block(add.vector(T, {"x0": 1}), 1, 3, 0),
    "loop within a construction": lambda T: loop.block(zero.by_saturation(T, at=1), 3, 4, 3),
    "before everything": lambda T: add.vector(zero.by_saturation(T, at=1), {"x0": 1}, place=3),
    "no layers": lambda T: T.replace(layers=()),
    "normalized without layers": lambda T: normalize.plus_minus(T.replace(layers=())),
    "forced": lambda T: linear.between(T.in_format(Float(1, 1)), SWAP, ["x0", "x1"], i=0, j=1, force=True),
    "twice": lambda T: compose.sequence(T & T, (T | T).replace(vocabulary=("NO", "YES"))),
}  # fmt: skip


@pytest.mark.parametrize("name", [*CASES, *EDGES])
def test_what_a_construction_returns_comes_back_from_its_file(name: str, tmp_path: Path) -> None:
    done = EDGES[name](start()) if name in EDGES else CASES[name][0](start(), *CASES[name][1])
    done.save(tmp_path / "modelo ñ")
    again = load(tmp_path / "modelo ñ")
    assert again.same_as(done)
    assert (again.name, again.history, again.frame()) == (done.name, done.history, done.frame())


def test_layer_numbers_follow_the_layers() -> None:
    """After an insertion, inside a sequence, in a loop: each frame still names the layers that it added."""
    T = zero.by_saturation(start(), ["x0"], 1)  # layers 2–4
    assert [frame.places for frame in add.vector(T, {"x0": 1}, place=0).history] == [(3, 4, 5), (0,)]
    split = add.vector(T, {"x0": 1}, place=3)
    assert [frame.places for frame in split.history] == [(2, 4, 5), (3,)]
    assert "1. zero.by_saturation: layers 2, 4–5;" in split.frame()
    assert [frame.places for frame in loop.block(T, 4, 5, 3).history] == [(2, 3, 4, 5, 6), (5, 6)]
    assert [frame.construction for frame in loop.block(add.vector(start(), {"x0": 1}), 2, 3, 0).history][1:] == []
    b = add.vector(start(), {"x0": 1}).replace(vocabulary=("NO", "YES"))
    done = compose.sequence(start(), b)
    ours = {frame.construction: frame for frame in done.history}
    assert ours["b: add.vector"].places == (len(done.layers) - 1,)
    assert np.array_equal(done.layers[-1].feed_forward.b2[done.coordinate("b.x0")], Fixed(4).code(1))  # type: ignore[union-attr]


def test_a_forced_construction_says_which_fact_is_false() -> None:
    T = blank(Float(1, 1), "x", 3)
    done = linear.between(T, [[1]], i=0, j=1, force=True)
    assert "needs [exp(−B)] = 0, which is false in float:1,1 (forced): exp(-3/2) rounds to 1/4" in done.frame()
    assert "needs 1 is a value\n" in done.frame()


def test_doubled_names_are_refused_wherever_names_enter() -> None:
    T = start()
    for call in (
        lambda: linear.into(T, [[1, 1]], ["x0", "x0"], ["y"]),
        lambda: linear.into(T, [[1], [1]], ["x0"], ["y", "y"]),
        lambda: linear.in_place(T, SWAP, ["x0", "x0"]),
        lambda: linear.between(T, SWAP, ["x0", "x0"], i=0, j=1),
        lambda: zero.everywhere(T, ["x0", "x0"]),
        lambda: zero.by_saturation(T, ["x0", "x0"], 1),
        lambda: lookup.position(T, ["x0", "x1"], ["y", "y"], lambda i: i),
        lambda: carve.widen(T, ["y", "y"]),
        lambda: ignore.coordinates(T, ["x0", "x0"]),
    ):
        with pytest.raises(ModelError, match="twice; each coordinate is named once"):
            call()


def test_a_target_may_have_the_name_of_a_flag() -> None:
    """The constant `one` of a look-up was taken for the target, which then was one too large."""
    T = blank(Fixed(4), "x", 4)
    h = np.arange(4)[None, :, None]
    for name in ("one", "place.0", "to.0"):
        done = lookup.position(T, ["x"], [name], lambda i: i // 2)
        out, _ = through(done, laid_out(T, done, h))
        assert out[done.coordinate(name), :, 0].tolist() == [0, 0, 1, 1]


def test_shorter_inputs_do_not_have_what_lies_ahead() -> None:
    """Under a full mask a position may look ahead; where the input has ended, only softmax says that nothing matched."""
    for attention in ("softmax", "max-subtracted", "leftmost"):
        T = blank(Fixed(4), "x", 4, options=Options(mask="full", attention=attention))  # type: ignore[arg-type]
        if attention == "softmax":
            assert lookup.position(T, ["x"], ["y"], lambda i: 3).run_batch(["··"]).answers == ("UNDEFINED",)
            continue
        for build in (lambda T=T: lookup.position(T, ["x"], ["y"], lambda i: 3), lambda T=T: linear.between(T, [[1]], i=3, j=0)):
            with pytest.raises(ModelError, match="which shorter inputs do not have"):
                build()


# Bad calls -----------------------------------------------------------------------------------------------------------------

BAD: list[Any] = [
    *(None, -1, 0, 7, 10**30, 1.5, float("nan"), float("inf"), True, np.nan, object(), lambda i: -1, lambda i: "a"),
    *("", "x9", "no\n", "\x1b[2J", "\ud800", "a" * 5000, "B", "1e999999999", b"x0"),
    *([], [[]], ["x0", "x0"], ["x9"], [-1], [99], [0.5], [None], [[1, 2], [3]], (0, 1), ((0, True),), [(9, True, True)]),
    ["x0", "x1"],  # good names, and more or fewer than another argument has
    *({}, {"x9": 1}, {"x0": None}, {"x0": "nope"}, {1: 2}, {"x0": float("nan")}, np.zeros((2, 2, 2)), range(10**12), np.array(1)),
]


def call_badly(name: str, place: int, bad: Any) -> None:
    """One argument exchanged (the transformer itself is argument −1): a sentence, or a transformer that is whole."""
    build, good = CASES[name]
    given = [start(), *good]
    given[place + 1] = bad
    said = ""
    try:
        made = build(*given)
    except GlypticError as error:
        said = str(error)
    if said:
        assert said.endswith((".", "…")), said
        assert "\n" not in said
        assert len(said) < 1500
    else:
        assert isinstance(made, Transformer)
        made.run_batch([made.vocabulary[:1]])


ADAPTED = (
    *("free", "closure.threshold", "closure.decision_list", "closure.by_count"),
    *("beside", "reconciled", "compose.sequence", "compose.relay"),
)
PLACES = [(name, place) for name, (_, good) in CASES.items() for place in range(0 if name in ADAPTED else -1, len(good))]


@pytest.mark.parametrize(("name", "place"), PLACES)
def test_a_bad_call_is_one_sentence(name: str, place: int) -> None:
    for bad in random.Random(f"{name} {place}").sample(BAD, 12):
        call_badly(name, place, bad)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "place"), PLACES)
def test_every_bad_call_is_one_sentence(name: str, place: int) -> None:
    for bad in BAD:
        call_badly(name, place, bad)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("parity:99999999", "parity: max_length is 99999999, and must be a whole number from 1 to 16384."),
        ("parity:-1", "parity: max_length is -1, and must be a whole number from 1 to 16384."),
        ("palindromes:16384", "palindromes: max_length is 16384, and must be a whole number from 1 to 512."),
        ("modular:0", "modular: modulus is 0, and must be a whole number of at least 1."),
        ("modular:3,5", "modular: residue 5 modulo 3; it must be below the modulus."),
        ("random:0,99999999", "random: layers is 99999999, and must be a whole number from 0 to 1000."),
        ("parity:8,\x1b[2J", "parity: '\\x1b[2J' is not in the vocabulary '01'."),
    ],
)
def test_sizes_without_end_and_names_with_effect_are_one_true_sentence(name: str, says: str) -> None:
    with pytest.raises(GlypticError) as caught:
        programs.by_name(name, "fixed:4")
    assert str(caught.value) == says


def test_many_deciders_at_once_are_few_layers_and_one_after_another_are_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """a & b & c … grows with the cube of their number, since each step clears all coordinates so far: not without end."""
    T = programs.by_name("first-equals-last:4", "fixed:4")
    many = closure.conjunction(*[T] * 60)
    assert len(many.layers) == len(T.layers) + 2
    assert many.run_batch(["00", "01"]).answers == ("YES", "NO")
    monkeypatch.setattr("glyptic.carve.building.MOST_WEIGHTS", 100_000)
    with pytest.raises(ModelError, match="weights, more than the 100000 that are built; combine fewer, or all at once"):
        reduce(and_, [T] * 60)


def test_numbers_of_few_bits_are_negated_as_numbers() -> None:
    """−1 of eight bits without a sign is 255: once weights were so, without a word."""
    few = (np.uint8(1), np.int8(-128), np.uint64(2**63), np.float32(0.5))
    assert [building.negated(x) for x in few] == [-1, 128, -(2**63), -0.5]  # type: ignore[arg-type]
    units = building.carry("x", {"y": np.uint8(1)})  # type: ignore[dict-item]
    assert Draft("fixed:8", ["x", "y"]).feed_forward(units).w2.tolist() == [[0, 0], [256, -256]]
    rows = [[np.uint8(1), np.uint8(2)], [np.int8(-128), 0]]
    few_bits, plain = (linear.into(blank(Fixed(8), "u v"), m, ["u", "v"], ["y", "z"]) for m in (rows, [[1, 2], [-128, 0]]))
    assert few_bits.same_as(plain)
    for wrong in (None, [], 1j):
        with pytest.raises(GlypticError, match="is not a number"):
            building.negated(wrong)  # type: ignore[arg-type]


def test_weights_written_by_name_know_their_format() -> None:
    """Once a head that was built in fixed:4 was read as codes of fixed:8."""
    head = Draft("fixed:4", ["x", "y"]).head([{"x": 1}], [{"x": 1}], [{"x": 1}], [{"y": 1}])
    units = Draft(Fixed(4), ["x", "y"]).feed_forward([building.Unit({"x": 1}, {"y": 1})])
    for layer in (Layer((head,)), Layer((), units)):
        with pytest.raises(ModelError, match="is in fixed:4, not in fixed:8"):
            Transformer.of("fixed:8", "a", "xy", [[0, 0]], [[0, 0]], ["NO"], layers=[layer])
    with pytest.raises(ModelError, match="twice"):
        Draft(Fixed(4), ["x", "x"]).rows([{"x": 1}])


def test_facts_and_plans_take_formats_by_name_and_know_their_products() -> None:
    assert facts.products_to_top("fixed:2") == 2 and amplify.plan("fixed:8") == amplify.plan(Fixed(8))
    with pytest.raises(GlypticError, match="products='fusd'"):
        amplify.plan(Fixed(8), "fusd")  # type: ignore[arg-type]


def test_a_constant_has_a_name_of_its_own() -> None:
    with pytest.raises(ModelError, match=r"'place.0' is the name of a bit"):
        flags.codes(blank(Fixed(4), "x"), constant="place.0")
