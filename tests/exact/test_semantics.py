"""Small transformers whose every number can be checked by hand."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from glyptic.errors import InputError, ModelError
from glyptic.exact import (
    TIE,
    FeedForward,
    Head,
    Layer,
    Norm,
    Options,
    Transformer,
    ZeroAttention,
    ZeroOutput,
    ZeroVariance,
)
from glyptic.exact.forward import visible_pairs
from glyptic.numbers import Fixed, encode

F = Fixed(8)


def reader(head: Head | None = None, feed_forward: FeedForward | None = None, **rest) -> Transformer:
    """Tokens 0 and 1 as x = 0 and 1, the position as p; the answer compares x with 1/2."""
    positions = np.stack([np.zeros(6), np.arange(6), np.ones(6)], axis=1)
    layers = [Layer((head,) if head else (), feed_forward)] if head or feed_forward else []
    return Transformer.of(
        F, "01", ["x", "p", "one"], [[0, 0, 0], [1, 0, 0]], [[-1, 0, "1/2"], [1, 0, "-1/2"]], ["NO", "YES"],
        position_embedding=positions, layers=layers, **rest,
    )  # fmt: skip


MEAN = Head.of(F, [[0, 0, 0]], [[0, 0, 0]], [[1, 0, 0]], [[1], [0], [0]])  # x_i += the mean of x over what i sees


def test_uniform_attention_is_a_rounded_mean() -> None:
    run = reader(MEAN).run("1101", trace=True)
    assert [list(row[: i + 1]) for i, row in enumerate(run.trace["layer.0.head.0.weights"])] == [
        [F.round(Fraction(1, i + 1))] * (i + 1) for i in range(4)
    ]
    third = F.round(Fraction(1, 3))
    assert [position["x"] for position in run.residual["layer.0.after_attention"]] == [
        2,
        2,
        2 * third,
        1 + Fraction(3, 4),
    ]
    assert run.residual["embedding"][2] == {"x": 0, "p": 2, "one": 1}


def test_masks() -> None:
    assert visible_pairs("causal", 0, 3).astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert visible_pairs("strict", 1, 2).astype(int).tolist() == [[1, 0, 0], [1, 1, 0]]
    assert visible_pairs("full", 0, 2).all()
    with pytest.raises(ModelError, match="full mask"):
        visible_pairs("full", 1, 1)
    after = "layer.0.after_attention"
    means = {
        mask: [row["x"] for row in reader(MEAN).with_options(mask=mask).run("100", trace=after).residual[after]]
        for mask in ("causal", "strict", "full")
    }
    third = F.round(Fraction(1, 3))
    assert means == {
        "causal": [2, Fraction(1, 2), third],
        "strict": [1, 1, Fraction(1, 2)],
        "full": [1 + third, third, third],
    }


def test_scores_may_be_scaled() -> None:
    """[⟨q, k⟩ / [√4]] for d_k = 4: half the score."""
    four = Head.of(F, [[0, 0, 1]] * 4, [[1, 0, 0]] * 4, [[1, 0, 0]], [[1], [0], [0]])
    plain, scaled = (reader(four).with_options(scale=s).run("11", trace="*.scores") for s in (False, True))
    assert plain.trace["layer.0.head.0.scores"][1].tolist() == [4, 4]
    assert scaled.trace["layer.0.head.0.scores"][1].tolist() == [2, 2]


def test_the_scale_is_the_rounded_root_of_the_integer() -> None:
    """d_k = 9 is not a value of F(2), whose largest is 15/4; its root is."""
    coarse = Fixed(2)
    nine = Head.of(coarse, [[1]] * 9, [[1]] * 9, [[1]], [[1]])
    model = Transformer.of(
        coarse, "01", ["x"], [[0], ["1/2"]], [[1], [-1]], ["NO", "YES"], max_length=2, layers=[Layer((nine,), None)]
    )
    scores = [model.with_options(scale=s).run("1", trace="*.scores").trace["layer.0.head.0.scores"] for s in (False, True)]
    assert [each.item() for each in scores] == [Fraction(9, 4), Fraction(3, 4)]  # ⟨q, k⟩ = 9 · 1/4, and a third of it


def test_max_subtracted_softmax_survives_low_scores() -> None:
    low = Head.of(F, [[0, 0, "-B"]], [[0, 0, 1]], [[1, 0, 0]], [[1], [0], [0]])
    with pytest.raises(ZeroAttention, match="layer 0, head 0, position 0: every visible score") as caught:
        reader(low).run("01")
    assert caught.value.place == (0, 0, 0)
    survivor = reader(low).with_options(attention="max-subtracted").run("01", trace="*.weights")
    assert survivor.trace["layer.0.head.0.weights"][1].tolist() == [Fraction(1, 2), Fraction(1, 2)]


def test_failures_do_not_stop_a_batch() -> None:
    """Scores −B wherever x = 0 was read: only inputs that begin with 0 fail, at position 0."""
    picky = Head.of(F, [[0, 0, 1]], [["B", 0, "-B"]], [[1, 0, 0]], [[1], [0], [0]])
    batch = reader(picky).run_batch(["01", "10", "1", "0"])
    assert batch.answers == ("UNDEFINED", batch.answers[1], "YES", "UNDEFINED")
    assert {i: error.place for i, error in batch.failures.items()} == {0: (0, 0, 0), 3: (0, 0, 0)}


def test_the_output_may_be_undefined_too() -> None:
    hopeless = reader().replace(output=encode([[0, 0, "-B"], [0, 0, "-B"]], F))
    with pytest.raises(ZeroOutput, match="output, position 1"):
        hopeless.run("01")
    assert hopeless.with_options(answer="logits").answer("01") == TIE
    assert hopeless.with_options(answer="logits", ties="first").answer("01") == "NO"


def test_rounding_ties_what_logits_tell_apart() -> None:
    """T_SI > T_NO does not decide: after rounding, softmax may tie (an erratum of the notes)."""
    close = Transformer.of(F, "a", ["x"], [[1]], [["1/256"], ["2/256"]], ["NO", "YES"], max_length=1)
    assert close.run("a").logits == (Fraction(1, 256), Fraction(1, 128))
    assert close.answer("a") == TIE and close.with_options(answer="logits").answer("a") == "YES"


def test_feed_forward_by_hand() -> None:
    """x += 2·relu(x − 1/2) − 1/4, rounded."""
    ff = FeedForward.of(F, [[1, 0, 0]], ["-1/2"], [[2], [0], [0]], ["-1/4", 0, 0])
    run = reader(None, ff).run("10", trace=True)
    assert [row["x"] for row in run.residual["layer.0.after_feed_forward"]] == [Fraction(7, 4), Fraction(-1, 4)]
    assert run.trace["layer.0.hidden"].tolist() == [[Fraction(1, 2), 0]]


def test_layer_norm_by_hand() -> None:
    """(3, 1): mean 2, variance 1, so (1, −1), times γ plus β; a constant vector with ε = 0 is 0/0."""
    norm = Norm(encode([2, 1], F), encode([0, "1/2"], F), encode(0, F))
    ff = FeedForward.of(F, [[0, 0]], [0], [[0], [0]], [0, 0])
    model = Transformer.of(
        F, "ab", ["x", "y"], [[3, 1], [2, 2]], [[1, 0], [0, 1]], ["X", "Y"], max_length=2,
        layers=[Layer((), ff, None, norm)], options=Options(norm="post"),
    )  # fmt: skip
    after = model.run("a", trace=True).residual["layer.0.after_feed_forward"][0]
    assert after == {"x": 2, "y": Fraction(-1, 2)}
    with pytest.raises(ZeroVariance, match="layer 0, position 1: the variance rounds to 0"):
        model.run("ab")
    final = model.replace(options=Options(norm="pre"), final_norm=norm)
    assert final.run("a", trace=True).residual["final_norm"][0] == {"x": 2, "y": Fraction(-1, 2)}
    with pytest.raises(ZeroVariance, match="the final norm"):
        final.replace(layers=()).run("b")


def test_heads_add_up_in_order() -> None:
    """Three heads that add B, B and −B to x = 0: left to right that is 0, while B alone would stay B."""

    def constant(value: str) -> Head:
        return Head.of(F, [[0, 0, 0]], [[0, 0, 0]], [[0, 0, 1]], [[value], [0], [0]])

    model = reader(MEAN).replace(layers=(Layer((constant("B"), constant("B"), constant("-B"))),))
    assert model.run("0", trace=True).residual["layer.0.after_attention"][0]["x"] == 0
    swapped = model.replace(layers=(Layer((constant("B"), constant("-B"), constant("B"))),))
    assert swapped.run("0", trace=True).residual["layer.0.after_attention"][0]["x"] == F.max


# Chain of thought --------------------------------------------------------------------------------------------------------------

NEGATE = FeedForward.of(F, [[1, 0, 0]], [0], [[-2], [0], [0]], [1, 0, 0])  # x := 1 − x on 0, 1


def thinker() -> Transformer:
    return reader(MEAN, NEGATE).replace(answers=("0", "1"), options=Options(ties="first"))


def test_chain_of_thought_is_repeated_running() -> None:
    """TF^T(x): append the answer and run again; the incremental pass gives what whole passes give, trace included."""
    model = thinker()
    run = model.run("01", steps=4, trace=True)
    text = "01"
    for step in range(4):
        whole = model.run(text, trace=True)
        assert whole.answer == run.chain[step]
        text += whole.answer
    assert "".join(run.tokens) == text[:-1] and run.answer == text[-1]
    assert run.trace.keys() == whole.trace.keys()
    for name in set(run.trace) - {"logits", "probabilities"}:
        assert np.array_equal(run.trace[name], whole.trace[name]), name


def test_chain_of_thought_computes_each_position_once() -> None:
    """O(T·n): the positions that go through the layers are n + T − 1, not the sum of all prefixes."""
    from glyptic.exact import running

    model, passed = thinker(), []
    original = running.forward

    def counting(prepared, residual, *rest, **how):
        passed.append(residual.shape[1])
        return original(prepared, residual, *rest, **how)

    running.forward = counting
    try:
        model.run("01", steps=5)
        assert sum(passed) == 2 + 4
        passed.clear()
        model.with_options(mask="full").run("01", steps=5)
        assert sum(passed) == 2 + 3 + 4 + 5 + 6  # a full mask forbids keeping anything, and the answers are right still
    finally:
        running.forward = original


def test_a_tied_chain_stays_tied() -> None:
    model = thinker().replace(output=encode([[0, 0, 0], [0, 0, 0]], F), options=Options())
    assert model.run("01", steps=3).chain == (TIE, TIE, TIE)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_what_follows_a_tie_is_not_its_fault(engine: str) -> None:
    """From position 2 on every score is −B, but a chain that has tied on two tokens never gets there."""
    low = Head.of(F, [[0, "-B", 0]], [[0, 0, 1]], [[1, 0, 0]], [[1], [0], [0]])
    positions = np.stack([np.zeros(6), np.arange(6) >= 2, np.ones(6)], axis=1).astype(int)
    tied = Transformer.of(
        F, "01", ["x", "late", "one"], [[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [0, 0, 0]], ["0", "1"],
        position_embedding=positions, layers=[Layer((low,), None)],
    )  # fmt: skip
    assert tied.run("01", steps=3, engine=engine).chain == (TIE, TIE, TIE)
    with pytest.raises(ZeroAttention):
        tied.with_options(ties="first").run("01", steps=3, engine=engine)


def test_steps_are_checked() -> None:
    with pytest.raises(InputError, match="at least one"):
        thinker().run("01", steps=0)
    with pytest.raises(InputError, match="at most 5 steps"):
        thinker().run("01", steps=6)
    with pytest.raises(InputError, match="'NO' is not in the vocabulary"):
        reader(MEAN).run("01", steps=2)


# Inputs and values -------------------------------------------------------------------------------------------------------------


def test_inputs_are_checked() -> None:
    model = reader()
    with pytest.raises(InputError, match="the input is empty"):
        model.answer("")
    with pytest.raises(InputError, match="unknown token '2' at position 1; the vocabulary is 0 1"):
        model.answer("021")
    with pytest.raises(InputError, match="7 tokens; this transformer reads at most 6"):
        model.answer("0" * 7)
    words = Transformer.of(F, ["yes", "no"], ["x"], [[1], [0]], [[1], [-1]], ["Y", "N"], max_length=3)
    assert words.answer("no yes") == words.answer(["no", "yes"]) == "Y"
    with pytest.raises(ModelError, match="engine 'warp'"):
        model.run("01", engine="warp")


def test_values_never_change() -> None:
    model = reader(MEAN)
    with pytest.raises(ValueError, match="read-only"):
        model.output[0, 0] = 5
    assert (
        model.same_as(reader(MEAN))
        and not model.same_as(reader())
        and not model.same_as(model.with_options(scale=True))
    )
    assert not model.same_as(model.replace(output=encode([[0, 0, 0], [0, 0, 0]], F)))
    assert "3" in repr(model) and model.coordinate("p") == 1
    with pytest.raises(ModelError, match="no coordinate 'q'; there are x, p, one"):
        model.coordinate("q")


def test_another_format_keeps_infinity() -> None:
    low = reader(Head.of(F, [[0, 0, "-B"]], [[0, 0, "1/256"]], [[1, 0, 0]], [[1], [0], [0]]))
    coarse = low.in_format(Fixed(3))
    assert coarse.layers[0].heads[0].query[0, 2] == Fixed(3).min_code  # −B stays −B
    assert coarse.layers[0].heads[0].key[0, 2] == 0  # 1/256 rounds away
    assert coarse.format == Fixed(3)


ROWLESS = Head.of(F, np.zeros((0, 3)), np.zeros((0, 3)), [[1, 0, 0]], [[1], [0], [0]])
BELOW = Norm(encode([1, 1, 1], F), encode([0, 0, 0], F), encode(-1, F))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocabulary": ("0", "0")}, "vocabulary has '0' twice"),
        ({"coordinates": ("x", "", "one")}, "no name empty"),
        ({"answers": ("TIE", "YES")}, "the word for a tie"),
        ({"output": np.zeros((3, 3), np.int64)}, r"output has shape \(3, 3\); it must be \(2, 3\)"),
        ({"output": np.zeros((2, 3))}, "output holds float64, not int64 codes"),
        ({"output": np.full((2, 3), 1 << 20)}, r"output\[0, 0\]: code 1048576 is not in fixed:8"),
        ({"position_embedding": np.zeros((0, 3), np.int64)}, "position_embedding has no rows"),
        ({"options": Options(norm="pre")}, "layers.0.attention_norm is missing"),
        ({"vocabulary": ()}, "vocabulary must be at least one name"),
        ({"output": np.zeros((), np.int64)}, r"output has shape \(\); it must be \(2, 3\)"),
        ({"layers": (Layer((replace(MEAN, query=np.int64(3) * np.ones((), np.int64)),), None),)}, r"query has shape \(\)"),
        ({"layers": (Layer((ROWLESS,), None),), "options": Options(scale=True)}, "heads.0.query has no rows"),
        ({"layers": (Layer((MEAN,), None, BELOW),), "options": Options(norm="pre")}, "epsilon is -1; under a root"),
    ],
)
def test_parts_must_fit(change: dict, message: str) -> None:
    from glyptic.errors import GlypticError

    with pytest.raises(GlypticError, match=message):
        reader(MEAN).replace(**change)


def test_options_are_checked() -> None:
    with pytest.raises(ModelError, match=r"options.mask: 'sideways' is not one of causal, strict, full"):
        Options(mask="sideways")  # type: ignore[arg-type]
    norm = Norm(encode([1, 1, 1], F), encode([0, 0, 0], F), encode(0, F))
    with pytest.raises(ModelError, match=r"layers.0.attention_norm is there, but options.norm is 'none'"):
        reader(MEAN).replace(layers=(Layer((MEAN,), None, norm),))
