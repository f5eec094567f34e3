"""What enters a transformer and a run: formats by name, parts that know their format, arguments that cannot be meant."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from glyptic.errors import GlypticError, InputError, ModelError
from glyptic.exact import (
    FeedForward,
    Head,
    Layer,
    Norm,
    Options,
    Sizes,
    Transformer,
    describe,
    random_transformer,
    run,
    run_batch,
    show_run,
    show_trace,
    stages,
)
from glyptic.numbers import Fixed, Q, encode, parse_format, written_in

EYE = [[1, 0], [0, 1]]


def head(format: str) -> Head:
    return Head.of(format, [[0, 0]], [[0, 0]], [[1, 0]], [[1], [0]])


def model(format: str = "fixed:8", **rest) -> Transformer:
    return Transformer.of(format, "ab", ["x", "y"], EYE, EYE, ["NO", "YES"], **rest)


# Formats by name --------------------------------------------------------------------------------------------------------


def test_a_format_may_be_given_by_its_name_everywhere() -> None:
    named, made = (model(format, layers=[Layer((Head.of(format, *[EYE] * 4),))]) for format in ("fixed:4", Fixed(4)))  # type: ignore[arg-type]
    assert named.format == Fixed(4) and named.same_as(made)
    assert named.in_format("fp16").same_as(made.in_format(parse_format("fp16")))
    assert np.array_equal(encode([1], "fixed:4"), encode([1], Fixed(4)))
    assert random_transformer("fixed:4").same_as(random_transformer(Fixed(4)))
    assert made.replace(format="fixed:4").format == Fixed(4)
    assert np.array_equal(Norm.of("fixed:4", [1], [0]).gain, [16]) and FeedForward.of("fixed:4", [[1]], [0], [[1]], [0]).w1 == 16


# Parts know their format ------------------------------------------------------------------------------------------------

PARTS = {
    "heads": lambda format: {"layers": [Layer((head(format),))]},
    "feed_forward": lambda format: {"layers": [Layer((), FeedForward.of(format, EYE, [0, 0], EYE, [0, 0]))]},
    "feed_forward_norm": lambda format: {
        "layers": [Layer((), FeedForward.of("fixed:8", EYE, [0, 0], EYE, [0, 0]), None, Norm.of(format, [1, 1], [0, 0], 1))],
        "options": Options(norm="pre"),
    },
    "final_norm": lambda format: {"final_norm": Norm.of(format, [1, 1], [0, 0], 1), "options": Options(norm="pre")},
}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_written_in_another_format_is_refused(part: str) -> None:
    """Once 1 of fixed:4 became 1/16 of fixed:8, without a word."""
    assert model("fixed:8", **PARTS[part]("fixed:8")).format == Fixed(8)
    assert model("fixed:8", **PARTS[part]("fixed:8/even")).format == Fixed(8)  # the same numbers, and so the same codes
    for other in ("fixed:4", "q:8,8", "fp16"):
        with pytest.raises(ModelError, match=rf"{part}.* is in {other}, not in fixed:8"):
            model("fixed:8", **PARTS[part](other))


@pytest.mark.parametrize("name", ["token_embedding", "position_embedding", "output"])
def test_an_array_written_in_another_format_is_refused(name: str) -> None:
    with pytest.raises(ModelError, match=f"{name} is in fixed:4, not in fixed:8"):
        model().replace(**{name: encode(EYE, "fixed:4")})
    with pytest.raises(ModelError, match=f"{name} is in fixed:4, not in fixed:8"):
        model().replace(**{name: encode(EYE, "fixed:4").T[:, ::-1]})  # a view keeps what it knows
    assert model().replace(**{name: encode(EYE, "fixed:8")}).format == Fixed(8)


def test_a_part_of_two_formats_is_refused_at_once() -> None:
    with pytest.raises(ModelError, match="key is in fixed:8, not in fixed:4"):
        Head(encode(EYE, "fixed:4"), encode(EYE, "fixed:8"), *[encode(EYE, "fixed:4")] * 2)


def test_the_parts_of_a_transformer_are_of_its_format_whoever_made_them() -> None:
    """Plain codes, as constructions and files have them, belong to the first transformer that they are in."""
    plain = Head(*(np.zeros((2, 2), np.int64) for _ in range(4)))
    small = model("fixed:4", layers=[Layer((plain,))])
    assert model("fixed:4", layers=small.layers).same_as(small)
    with pytest.raises(ModelError, match=r"layers.0.heads.0 is in fixed:4, not in fixed:8"):
        model("fixed:8", layers=small.layers)
    with pytest.raises(ModelError, match="is in fixed:2, not in fixed:3"):
        random_transformer("fixed:3").replace(layers=random_transformer("fixed:2").layers)
    assert small.in_format("fixed:8").layers[0].heads[0].query.tolist() == [[0, 0], [0, 0]]


def test_arrays_in_a_transformer_know_its_format_and_are_read_only() -> None:
    made = model(layers=[Layer((head("fixed:8"), Head(*(np.zeros((2, 2), np.int64) for _ in range(4)))))])
    for array in (made.output, *(head.query for head in made.layers[0].heads)):
        assert written_in(array) == Fixed(8) and not array.flags.writeable
        assert written_in(pickle.loads(pickle.dumps(array))) == Fixed(8)  # as it goes to other processes


def test_a_part_made_anew_from_anothers_arrays_is_in_the_same_format() -> None:
    """Once `replace` forgot it, and so did arrays that were taken out of a transformer."""
    small, plain = head("fixed:4"), np.array([[16, 0]])
    for again in (replace(small, query=plain), Head(plain, plain, plain, small.output[:, :1])):
        assert model("fixed:4", layers=[Layer((again,))]).format == Fixed(4)
        with pytest.raises(ModelError, match=r"layers.0.heads.0 is in fixed:4, not in fixed:8"):
            model("fixed:8", layers=[Layer((again,))])
    adopted = model("fixed:4", layers=[Layer((Head(plain, plain, plain, plain.T),))]).layers[0]
    for again in (replace(adopted), replace(adopted, heads=(replace(adopted.heads[0], key=plain),))):
        with pytest.raises(ModelError, match=r"layers.0.heads.0 is in fixed:4, not in fixed:8"):
            model("fixed:8", layers=[again])
    with pytest.raises(ModelError, match="token_embedding is in fixed:4, not in fixed:8"):
        model("fixed:4").replace(format="fixed:8")
    with pytest.raises(ModelError, match="output is in fixed:4, not in fixed:8"):
        model("fixed:8").replace(output=model("fixed:4").output)


def test_nobody_can_write_to_the_weights_of_a_transformer() -> None:
    """A view of an array was kept as it was, and changed when the array did, also after runs and proofs."""
    mine = np.array([[16, 0], [0, 16]])
    layer = Layer((Head(*[mine[:]] * 4),))
    made = Transformer(Fixed(4), ("a", "b"), ("x", "y"), mine[:], mine.view(), (layer,), mine.T, ("NO", "YES"))
    mine[:] = 3
    for array in (made.token_embedding, made.position_embedding, made.output, made.layers[0].heads[0].query):
        assert array.tolist() == [[16, 0], [0, 16]]


def test_a_code_that_stands_alone_is_checked_as_well() -> None:
    """The place of a wrong ε is empty, and was taken for no place."""
    norm = Norm(np.array([3, 3]), np.array([0, 0]), np.array(16))
    with pytest.raises(GlypticError, match=r"final_norm.epsilon: code 16 is not in fixed:2"):
        Transformer.of("fixed:2", "a", "xy", [[0, 0]], EYE, ["NO", "YES"], final_norm=norm, options=Options(norm="pre"))


# Kinds of parts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layer(head("fixed:8")), r"heads of a layer is one Head, and must be a tuple: Layer\(\(head,\)\)"),
        (lambda: Layer(3), "heads of a layer is 3, and must be a tuple of Head"),  # type: ignore[arg-type]
        (lambda: Layer((Layer(),)), r"heads of a layer\[0\] is a Layer, and must be a Head"),  # type: ignore[arg-type]
        (lambda: Layer((), head("fixed:8")), "feed_forward of a layer is .*, and must be a FeedForward or None"),  # type: ignore[arg-type]
        (lambda: Head([[1]], [[1]], [[1]], [[1]]), r"query of a Head is \[\[1\]\], not an array of codes; Head.of makes one"),  # type: ignore[arg-type]
        (lambda: model(layers=[head("fixed:8")]), r"layers\[0\] is a Head, and must be a Layer"),
        (lambda: model(layers=head("fixed:8")), "layers is one Head, and must be a tuple"),
        (lambda: model(layers=Layer()), "layers is one Layer, and must be a tuple"),
        (lambda: model(layers=5), "layers is 5, and must be a tuple of Layer"),
        (lambda: model(options={"mask": "full"}), "options is .*, and must be Options"),
        (lambda: model(final_norm=3), "final_norm is 3, and must be a Norm or None"),
        (lambda: model(name=3), "name is 3, and must be a text"),
        (lambda: model().replace(output=EYE), "output is .*, and must be an array of codes"),
        (lambda: model().replace(outputs=EYE), "there is no part 'outputs'; there are format, vocabulary"),
        (lambda: model().with_options(msak="full"), "there is no option 'msak'; there are products, attention"),
        (lambda: Transformer.of("fixed:8", 3, ["x"], [[1]], [[1]], ["A"]), "vocabulary is 3, and must be a list of names"),  # type: ignore[arg-type]
        (lambda: model("fixed:4", max_length=0), "max_length is 0, and must be a whole number of at least 1"),
        (lambda: model("fixed:4", max_length=2.5), "max_length is 2.5"),
        (lambda: model(position_embedding=[[float("nan"), 0]]), r"position_embedding\[0, 0\]: nan is not a number"),
        (lambda: model("fixed:32"), "65-bit codes"),
        (lambda: model().in_format("float:5,40"), "86-bit codes"),
        (lambda: model().replace(format=parse_format("ieee:11,60")), "72-bit codes"),
        (lambda: random_transformer("q:40,40"), "81-bit codes"),
        (lambda: model().in_format("nope"), "'nope' is not a format"),
    ],
)
def test_a_part_of_another_kind_is_said_in_a_sentence(make, message: str) -> None:
    with pytest.raises(GlypticError, match=message):
        make()


def test_a_longest_input_beside_positions_must_agree_with_them() -> None:
    """`max_length` was once ignored beside `position_embedding`."""
    with pytest.raises(ModelError, match="max_length is 7, and position_embedding has 3 rows"):
        model(position_embedding=np.zeros((3, 2)), max_length=7)
    assert model(position_embedding=np.zeros((3, 2)), max_length=3).max_length == 3


# Another format ---------------------------------------------------------------------------------------------------------


def test_minus_infinity_stays_itself_in_twos_complement() -> None:
    """−B of fixed:8 once became −2^m of Q(m, f), one step below its −B."""
    low = model().replace(output=encode([["-B", "B"], ["-1/2", 0]], "fixed:8"))
    q = low.in_format(Q(4, 4))
    assert q.output.tolist() == [[-Q(4, 4).max_code, Q(4, 4).max_code], [-8, 0]]
    assert q.in_format(Fixed(8)).output[0].tolist() == [-Fixed(8).max_code, Fixed(8).max_code]


@pytest.mark.parametrize(("name", "expected"), [("q:4,4", -16), ("q:8,2", -16), ("fixed:8", -16), ("fixed:3", -Fixed(3).max)])
def test_the_smallest_value_of_twos_complement_is_rounded_like_any_other(name: str, expected: Fraction) -> None:
    smallest = Transformer.of("q:4,4", "a", ["x"], [[-16]], [[0]], ["A"])
    assert smallest.in_format(name).run("a", trace="embedding").residual["embedding"][0]["x"] == expected


# Runs -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trace", ["nope", ["embedding", "nope"], "layer.7.hidden", "layer.0.hidden", "*.nope", "final_norm", ""])
def test_a_trace_of_what_is_not_there_is_refused_with_the_stages(trace) -> None:
    for attempt in (lambda: model().run("ab", trace=trace), lambda: model().run_batch(["ab"], trace=trace)):
        with pytest.raises(InputError, match=r"is no stage of this transformer; stages are embedding, .* logits, probabilities"):
            attempt()


def test_what_may_be_traced_is_what_a_run_records() -> None:
    for options in (Options(), Options(norm="pre", attention="leftmost"), Options(answer="logits")):
        for sizes in (Sizes(layers=2), Sizes(layers=1, heads=0), Sizes(layers=1, hidden=0), Sizes(layers=0)):
            made = random_transformer("fixed:4", 1, sizes, replace(options, attention="leftmost"))
            if made.options.norm == "none":
                assert tuple(made.run("01", trace=True).trace) == stages(made)
            else:
                assert set(made.run_batch(["01"], trace=True).trace) == set(stages(made))
    some = random_transformer("fixed:4", 1, Sizes(layers=1), Options(attention="leftmost"))
    assert set(some.run("01", trace=["*.weights", "final_norm"]).trace) == {f"layer.0.head.{h}.weights" for h in (0, 1)}
    assert some.run("01", trace=False).trace == some.run("01", trace=[]).trace == {}


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda T: T.run("ab", steps=-1), "steps is -1; a run takes at least one"),
        (lambda T: T.run("ab", steps=1.5), "steps is 1.5, and must be a whole number"),
        (lambda T: T.run("ab", steps=True), "steps is True, and must be a whole number"),
        (lambda T: T.run("ab", steps="2"), "steps is '2', and must be a whole number"),
        (lambda T: T.run_batch(["ab"], steps=-1), "steps is -1"),
        (lambda T: T.run_batch(["ab"], steps=0), "steps is 0"),
        (lambda T: T.run_batch(["ab"], steps=None), "steps is None"),
        (lambda T: T.run_batch([], steps=-1), "steps is -1"),
        (lambda T: T.run(None), "the input is None, and must be a text or a list of tokens"),
        (lambda T: T.run(7), "the input is 7"),
        (lambda T: T.run({"a"}), "the input is"),
        (lambda T: T.run(b"ab"), "the input is b'ab'"),
        (lambda T: T.run([1, 2]), "unknown token 1 at position 0"),
        (lambda T: T.run([["a"]]), r"unknown token \['a'\] at position 0"),
        (lambda T: T.run([]), "the input is empty"),
        (lambda T: T.answer("\x1b[2J"), r"unknown token '\\x1b' at position 0"),
        (lambda T: T.run_batch("abab"), "texts is 'abab', and must be a list of inputs; for one there is run"),
        (lambda T: T.run_batch(5), "texts is 5"),
        (lambda T: T.run_batch(["ab", ""]), "the input is empty"),
        (lambda T: T.run("ab", trace=5), "trace is 5, and must be True, False, the name of a stage"),
        (lambda T: T.run("ab", trace=[5]), r"trace is \[5\]"),
        (lambda T: T.run("ab", engine=5), "engine 5 is not one of auto, fast, reference"),
        (lambda _: run("ab", "ab"), "transformer is 'ab', and must be a Transformer"),
        (lambda _: run_batch(None, ["ab"]), "transformer is None"),
        (lambda _: random_transformer("fixed:4", -1), "seed is -1"),
        (lambda _: random_transformer("fixed:4", 0.5), "seed is 0.5"),
        (lambda _: random_transformer("fixed:4", 0, {"layers": 2}), "sizes is .*, and must be a Sizes"),
        (lambda _: Sizes(layers=-1), "layers is -1, and must be a whole number from 0"),
        (lambda _: Sizes(width=0), "width is 0, and must be a whole number from 1"),
        (lambda _: Sizes(width=10**9), "width is 1000000000"),
        (lambda _: Sizes(density=float("nan")), "density is nan"),
        (lambda _: Sizes(hidden=2.5), "hidden is 2.5"),
    ],
)
def test_arguments_that_cannot_be_meant_are_said_in_a_sentence(attempt, message: str) -> None:
    with pytest.raises(GlypticError, match=message) as caught:
        attempt(model())
    assert str(caught.value).endswith(".") and len(str(caught.value)) < 400


def test_a_batch_of_nothing_is_empty() -> None:
    assert model().run_batch([]).answers == ()


# Arrays and objects where words, lists and paths belong -----------------------------------------------------------------


@pytest.mark.parametrize("wrong", [np.zeros((2, 2)), np.array([]), np.array(1), [0] * 5000, "a" * 5000, 1, None])
def test_what_is_no_word_no_list_and_no_path_is_refused_in_one_short_line(wrong: object) -> None:
    made = model(max_length=3)
    calls = [lambda name=name: made.with_options(**{name: wrong}) for name in ("products", "mask", "scale", "ties")]
    calls += [lambda: made.run("ab", engine=wrong), lambda: made.coordinate(wrong)]  # type: ignore[arg-type]
    if not isinstance(wrong, str):
        calls += [lambda: Transformer.load(wrong), lambda: made.run("ab", steps=0 if isinstance(wrong, int) else wrong)]
    if wrong is not None:
        calls += [lambda: run_batch(made, ["ab"], progress=wrong)]  # type: ignore[arg-type]
    if np.ndim(wrong) == 0:  # type: ignore[arg-type]
        calls += [lambda: made.run(wrong), lambda: run_batch(made, wrong), lambda: made.replace(history=wrong)]  # type: ignore[arg-type]
    for call in calls:
        with pytest.raises(GlypticError) as caught:
            call()
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400


def test_an_option_is_true_or_false_and_nothing_like_it() -> None:
    """1 and numpy's True were taken, and could not be saved or loaded."""
    for wrong in (1, 0, np.True_):
        with pytest.raises(ModelError, match=r"options.scale"):
            Options(scale=wrong)  # type: ignore[arg-type]


def test_steps_of_few_bits_are_steps() -> None:
    made = Transformer.of("fixed:4", ["NO", "YES"], "xy", EYE, EYE, ["NO", "YES"], max_length=200)
    assert made.run(["YES"], steps=np.int8(100)).chain == made.run(["YES"], steps=100).chain  # type: ignore[arg-type]
    assert run_batch(made, [["YES"]], steps=np.int8(100)).answers == ("YES",)  # type: ignore[arg-type]


def test_lengths_that_no_machine_has_are_refused() -> None:
    for length in (10**30, 10**12):
        with pytest.raises(GlypticError, match=r"max_length|position_embedding"):
            model(max_length=length)


@pytest.mark.parametrize("show", [describe, stages, show_run, show_trace])
def test_what_shows_a_transformer_or_a_run_is_given_one(show) -> None:
    for wrong in (None, 3, "model", [], model(max_length=1) if show in (show_run, show_trace) else object()):
        with pytest.raises(InputError, match=r"transformer is|run is"):
            show(wrong)


def test_what_is_computed_from_codes_is_what_it_is_of_any_array():
    weights = random_transformer("fixed:4").layers[0].feed_forward.w1
    assert type(weights.any()) is np.bool_ and type(weights.sum()) is np.int64 and type(weights == 0) is np.ndarray
    assert (-weights).format == weights.format and str(weights[0, 0]) == repr(weights[0, 0].item())
