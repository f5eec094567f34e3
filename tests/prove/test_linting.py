"""Each warning on a transformer made to deserve it, and none on one that does not."""

import numpy as np
import pytest
from tests.prove.examples import averaging_majority, last_token

from glyptic.carve import linear, normalize, notes, widen
from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Transformer
from glyptic.exact.random import Sizes, random_transformer
from glyptic.numbers import Exact, Fixed, Float, encode
from glyptic.prove import lint, recogniser, regular, tomita
from glyptic.prove.linting import sample_inputs

F = Fixed(3)


def made(
    coordinates="x y", token_embedding=((0, 1), (1, 0)), layers=(), output=((1, 0), (0, 1)), positions=None, length=4
):
    rest = {"layers": layers, "position_embedding": positions, "max_length": length}
    return Transformer.of(F, "01", coordinates.split(), token_embedding, output, ("NO", "YES"), **rest)


def feed(w1, w2, format=F):
    w1, w2 = np.array(w1), np.array(w2)
    return FeedForward.of(format, w1, np.zeros(len(w1)), w2, np.zeros(len(w2)))


def head(query=((0, 0),), key=((0, 0),), value=((1, 0),), output=((0,), (1,))):
    return Head.of(F, query, key, value, output)


def norm(gain, bias, epsilon):
    return Norm(encode(gain, F), encode(bias, F), encode(epsilon, F))


def kinds(transformer):
    return {warning.kind for warning in lint(transformer, runs=40)}


def the(kind, transformer):
    return [warning for warning in lint(transformer, runs=40) if warning.kind == kind]


def test_nothing_to_warn_of():
    assert lint(last_token(F, 4)) == []
    assert lint(averaging_majority(Exact(), 4), runs=20) == []


def test_coordinates_never_read():
    (warning,) = the("never read", made(output=((1, 0), (0, 0))))
    assert warning.where == "coordinate y"
    read_by_a_layer = made(output=((1, 0), (0, 0)), layers=[Layer((), feed([[0, 1]], [[1], [0]]))])
    assert not the("never read", read_by_a_layer)


def test_dead_heads_and_layers():
    silent = made(layers=[Layer((head(output=((0,), (0,))),), None)])
    (by_weights,) = the("dead head", silent)
    assert by_weights.where == "layer 0, head 0"
    assert "W_V or W_O is 0" in by_weights.message
    assert the("dead layer", silent)[0].where == "layer 0"
    # x is never negative here, so this unit is always off: alive by its weights, dead in every run.
    off = made(layers=[Layer((), feed([[-1, 0]], [[1], [0]]))])
    assert "dead layer" in kinds(off)
    assert "dead layer" not in kinds(made(layers=[Layer((head(),), None)]))
    # The head's value is read from a coordinate that no token, position or layer ever sets.
    nothing = Head.of(F, [[0, 0, 0]], [[0, 0, 0]], [[0, 0, 1]], [[0], [1], [0]])
    tokens, output = ((0, 1, 0), (1, 0, 0)), ((1, 0, 0), (0, 1, 0))
    (in_runs,) = the("dead head", made("x y never", tokens, [Layer((nothing,), None)], output))
    assert in_runs.where == "layer 0, head 0"
    assert (
        in_runs.message == "it writes 0 on all 14 inputs up to length 3 and 26 longer ones, of one token or at random."
    )


def test_flags_left_over():
    positions = np.zeros((4, 2))
    positions[1, 1] = 1
    tokens = ((0, 0), (1, 0))
    kept = made(token_embedding=tokens, positions=positions)
    cleared = made(token_embedding=tokens, positions=positions, layers=[Layer((), feed([[0, 1]], [[0], [-1]]))])
    idle = made(token_embedding=tokens, positions=positions, layers=[Layer((), feed([[1, 0]], [[1], [0]]))])
    assert not the("flag left over", kept)  # no layers: nothing could have cleared it
    assert not the("flag left over", cleared)
    assert the("flag left over", idle)[0].where == "coordinate y"


def test_a_fixed_last_position():
    positions = np.zeros((4, 2))
    positions[3, 1] = 1
    (warning,) = the("fixed last position", made(positions=positions))
    assert "only position 3" in warning.message
    assert not the("fixed last position", made(positions=positions, output=((1, 0), (1, 0))))  # nothing reads it
    positions[2, 1] = 1
    assert not the("fixed last position", made(positions=positions))
    # A flag at an inner position, read where the input ends: it matters to inputs of length 3 only.
    inner = np.zeros((4, 2))
    inner[2, 1] = 1
    (warning,) = the("fixed last position", made(positions=inner))
    assert "inputs of length 3 alone" in warning.message
    # The same flag, which later positions look at as well: position 2 is a place like any other.
    everywhere = made(positions=inner, layers=[Layer((head(value=((0, 1),), output=((0,), (1,))),), None)])
    assert not the("fixed last position", everywhere)


def test_keys_that_can_all_be_masked():
    """The notes' h_j ← M h_i as printed: scores −B off position 1, so position 0 sees only masked keys."""
    positions = np.zeros((4, 3))
    positions[:, 1], positions[[0, 2, 3], 2] = 1, -1
    masking = Head.of(F, [[0, 1, 0]], [[0, 0, "B"]], [[1, 0, 0]], [[0], [0], [0]])
    T = made("x one off", ((0, 0, 0), (1, 0, 0)), [Layer((masking,), None)], ((1, 0, 0), (0, 1, 0)), positions)
    (warning,) = the("masked keys", T)
    assert warning.where == "layer 0, head 0, position 0"
    assert "the input '0' meets 0/0" in warning.message


def test_saturation_and_the_order_of_sums():
    large = made(token_embedding=((0, 1), (7, 7)), layers=[Layer((), feed([[1, 1]], [[1], [0]]))])
    assert {warning.where for warning in the("saturation", large)} == {"coordinate x"}
    # (x + y) − 1 in columns 7, 7 and −7: saturates from the left, not from the right.
    turning = made(
        "x y z", ((0, 0, 0), (7, 7, -7)), [Layer((), feed([[1, 1, 1]], [[0], [0], [0]]))], ((1, 0, 0), (0, 1, 0))
    )
    (warning,) = the("order of a sum", turning)
    assert warning.where == "layer 0, w1"
    assert "7 from right to left" in warning.message
    # Look-up by codes starts its scores at −B and relies on being summed from the left: told, and nothing else of it.
    looking = {warning.where for warning in the("order of a sum", recogniser(tomita(4), Fixed(2), 6))}
    assert looking == {f"layer {l}, head 0, scores" for l in range(3)}


def order_of(heads, embedding, format=F):
    """Where sums depend on their order, in one layer of heads."""
    made_of = tuple(Head.of(format, *matrices) for matrices in heads)
    rest = {"max_length": 4, "layers": [Layer(made_of, None)]}
    T = Transformer.of(format, "01", ("x", "y"), embedding, np.eye(2), ("NO", "YES"), **rest)
    return {warning.where for warning in the("order of a sum", T)}


def test_the_order_of_every_kind_of_sum():
    """Fixed point by saturation, 7 + 7 − 7; floats by rounding, where a large term takes up small ones one at a time."""
    none, large = [[0, 0]], ((0, 0), (7, 1))
    assert order_of([(none, none, [[1, 0]], [[0], [1]])], large) == set()
    signs = [(none, none, [[1, 0]], [[0], [sign]]) for sign in (1, 1, -1)]
    assert order_of(signs, large) == {"layer 0, the sum of heads"}
    three = [[1, 0], [1, 0], [1, 0]], [[1, 0], [1, 0], [-1, 0]], [[0, 1]], [[0], ["1/8"]]
    assert order_of([three], large) == {"layer 0, head 0, scores"}
    coarse = Float(2, 1)
    uniform = none, none, [[1, 0]], [[0], [1]]
    assert order_of([uniform], ((1, 0), ("1/4", 0)), coarse) == {"layer 0, head 0, mixture"}
    steep = [[0, 1]], [[1, 0]], [[0, 1]], [[0], [1]]
    assert "layer 0, head 0, softmax" in order_of([steep], ((0, 1), (-2, 1)), coarse)


def test_the_inputs_looked_at():
    T = last_token(F, 4)
    every, said = sample_inputs(T, 100)
    assert len(every) == len(set(every)) == 30
    assert said == "all 30 inputs up to length 4"
    some, said = sample_inputs(T, 20)
    assert len(some) == 20
    assert said == "all 6 inputs up to length 2 and 14 longer ones, of one token or at random"
    assert list(some[6:10]) == [("0",) * 4, ("1",) * 4, ("0",) * 3, ("1",) * 3]
    assert some == sample_inputs(T, 20)[0]


def test_keys_masked_by_an_input_that_is_not_in_the_sample():
    """A head that masks everything where 011 is recognised: found by the search, not by the six runs."""
    T = widen(recogniser(regular("011"), F, 5), ["here"], positions={"here": [1] * 5})
    yes, here = np.flatnonzero(T.output[1] > T.output[0]), T.coordinate("here")
    query, key = np.zeros((1, T.width), object), np.zeros((1, T.width), object)
    query[0, yes], key[0, here] = "-B", 1
    masking = Head.of(F, query.tolist(), key.tolist(), [[1] * T.width], np.zeros((T.width, 1)))
    masked = T.replace(layers=(*T.layers, Layer((masking,), None)))
    assert not any(text[:3] == tuple("011") for text in sample_inputs(masked, 6)[0])
    (warning,) = (warning for warning in lint(masked, runs=6) if warning.kind == "masked keys")
    assert "the input '0 1 1'" in warning.message
    assert warning.where.endswith("head 0, position 2")


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_norms_read_every_coordinate(placement):
    """A coordinate that no matrix reads still moves the mean and the variance."""
    layer = Layer((), feed([[1, 0]], [[1], [0]]), None, norm([1, 1], [0, 0], 0.125))
    plain = made(output=((1, 0), (0, 0)), layers=[Layer((), feed([[1, 0]], [[1], [0]]))])
    assert [warning.where for warning in the("never read", plain)] == ["coordinate y"]
    normed = plain.replace(layers=(layer,), options=Options(norm=placement))
    assert not the("never read", normed)


def test_0_over_0_in_a_norm_is_told_as_such():
    layer = Layer((), feed([[1, 0]], [[1], [0]]), None, norm([1, 1], [0, 0], 0))
    normed = made(token_embedding=((0, 0), (1, 0))).replace(layers=(layer,), options=Options(norm="pre"))
    (warning,) = the("0/0", normed)
    assert warning.where == "layer 0, a norm, position 0"
    final = made(token_embedding=((0, 0), (1, 0))).replace(final_norm=norm([1, 1], [0, 0], 0))
    (warning,) = the("0/0", final)
    assert warning.where == "the final norm, position 0"


# The notes as printed ----------------------------------------------------------------------------------------------------------


def found_in(transformer):
    return {(warning.kind, warning.where) for warning in lint(transformer, runs=200)}


def test_the_notes_as_printed_are_warned_of():
    """Each erratum that the linter knows the kind of, found in the construction that has it; and not in what replaces it."""
    T = random_transformer(Fixed(4), 3, Sizes(layers=0, width=3, max_length=6))
    moved = found_in(notes.linear(T, np.eye(3), source=1, target=3))
    assert ("masked keys", "layer 3, head 0, position 0") in moved  # position 0 sees no key but masked ones
    assert {where for kind, where in moved if kind == "flag left over"} >= {
        "coordinate at_source",
        "coordinate at_target",
    }
    assert not any(kind == "masked keys" for kind, _ in found_in(linear.between(T, np.eye(3), 1, 3)))
    cleared = found_in(notes.make_zero(notes.embedding_with_flag(T, 2), "flag"))
    assert any(kind == "saturation" for kind, _ in cleared)
    at_the_end = found_in(notes.zero_one(T, 6))
    assert ("fixed last position", "coordinate at_target") in at_the_end
    assert not any(kind in ("fixed last position", "masked keys") for kind, _ in found_in(normalize.zero_one(T)))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_norms_are_linted_too(norm):
    T = random_transformer(Fixed(3), 3, Sizes(max_length=3, heads=1, layers=1), Options(norm=norm))
    assert all(str(warning).count("\n") == 0 for warning in lint(T, runs=20))
