"""Each warning on a transformer made to deserve it, and none on one that does not."""

import numpy as np
import pytest
from tests.prove.examples import averaging_majority, last_token

from glyptic.exact import FeedForward, Head, Layer, Transformer
from glyptic.numbers import Exact, Fixed, encode
from glyptic.prove import lint, recogniser, tomita
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
    positions[2, 1] = 1
    assert not the("fixed last position", made(positions=positions))


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
    assert not the("order of a sum", recogniser(tomita(4), Fixed(2), 6))


def test_the_inputs_looked_at():
    T = last_token(F, 4)
    every, said = sample_inputs(T, 100)
    assert len(every) == len(set(every)) == 30
    assert said == "all 30 inputs up to length 4"
    some, said = sample_inputs(T, 20)
    assert len(some) == 20
    assert said == "all 6 inputs up to length 2 and 14 longer ones at random"
    assert some == sample_inputs(T, 20)[0]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_norms_are_linted_too(norm):
    from glyptic.exact import Options
    from glyptic.exact.random import Sizes, random_transformer

    T = random_transformer(Fixed(3), 3, Sizes(max_length=3, heads=1, layers=1), Options(norm=norm))
    assert encode(0, F) == 0
    assert all(str(warning).count("\n") == 0 for warning in lint(T, runs=20))
