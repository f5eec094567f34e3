"""Each rule on a transformer made to deserve it, and silent on one that does not; on correct deciders, notes with reasons."""

import itertools

import numpy as np
import pytest
from tests.prove.examples import averaging_majority, last_token

from glyptic import notes
from glyptic.carve import add, beside, closure, compose, linear, normalize, widen, zero
from glyptic.errors import FormatError, InputError
from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Transformer
from glyptic.exact.random import Sizes, random_transformer
from glyptic.languages import regular, tomita
from glyptic.lint import RULES, Finding, Suppression, lint, sample_inputs
from glyptic.numbers import Exact, Fixed, Float, encode, parse_format
from glyptic.programs import by_name, recogniser
from glyptic.programs.registry import EXAMPLES

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


def rules(transformer):
    return {finding.rule for finding in lint(transformer, runs=40)}


def the(rule, transformer):
    return [finding for finding in lint(transformer, runs=40) if finding.rule == rule]


def test_nothing_to_warn_of():
    assert not list(lint(last_token(F, 4)))
    assert not list(lint(averaging_majority(Exact(), 4), runs=20))


def test_coordinates_never_read():
    (finding,) = the("never read", made(output=((1, 0), (0, 0))))
    assert finding.where == "coordinate y"
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
    assert "dead layer" in rules(off)
    assert "dead layer" not in rules(made(layers=[Layer((head(),), None)]))
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
    (finding,) = the("fixed last position", made(positions=positions))
    assert "only position 3" in finding.message
    assert not the("fixed last position", made(positions=positions, output=((1, 0), (1, 0))))  # nothing reads it
    positions[2, 1] = 1
    assert not the("fixed last position", made(positions=positions))
    # A flag at an inner position, read where the input ends: it matters to inputs of length 3 only.
    inner = np.zeros((4, 2))
    inner[2, 1] = 1
    (finding,) = the("fixed last position", made(positions=inner))
    assert "inputs of length 3 alone" in finding.message
    # The same flag, which later positions look at as well: position 2 is a place like any other.
    everywhere = made(positions=inner, layers=[Layer((head(value=((0, 1),), output=((0,), (1,))),), None)])
    assert not the("fixed last position", everywhere)


def test_keys_that_can_all_be_masked():
    """The notes' h_j ← M h_i as printed: scores −B off position 1, so position 0 sees only masked keys."""
    positions = np.zeros((4, 3))
    positions[:, 1], positions[[0, 2, 3], 2] = 1, -1
    masking = Head.of(F, [[0, 1, 0]], [[0, 0, "B"]], [[1, 0, 0]], [[0], [0], [0]])
    T = made("x one off", ((0, 0, 0), (1, 0, 0)), [Layer((masking,), None)], ((1, 0, 0), (0, 1, 0)), positions)
    (finding,) = the("masked keys", T)
    assert finding.where == "layer 0, head 0, position 0"
    assert "the input '0' meets 0/0" in finding.message


def test_saturation_and_the_order_of_sums():
    large = made(token_embedding=((0, 1), (7, 7)), layers=[Layer((), feed([[1, 1]], [[1], [0]]))])
    assert {finding.where for finding in the("saturation", large)} == {"coordinate x"}
    # (x + y) − 1 in columns 7, 7 and −7: saturates from the left, not from the right.
    turning = made(
        "x y z", ((0, 0, 0), (7, 7, -7)), [Layer((), feed([[1, 1, 1]], [[0], [0], [0]]))], ((1, 0, 0), (0, 1, 0))
    )
    (finding,) = the("order of a sum", turning)
    assert finding.where == "layer 0, w1"
    assert "7 from right to left" in finding.message
    # Look-up by codes starts its scores at −B and relies on being summed from the left: told, and nothing else of it.
    looking = {finding.where for finding in the("order of a sum", recogniser(tomita(4), Fixed(2), 6))}
    assert looking == {f"layer {l}, head 0, scores" for l in range(3)}


def order_of(heads, embedding, format=F):
    """Where sums depend on their order, in one layer of heads."""
    made_of = tuple(Head.of(format, *matrices) for matrices in heads)
    rest = {"max_length": 4, "layers": [Layer(made_of, None)]}
    T = Transformer.of(format, "01", ("x", "y"), embedding, np.eye(2), ("NO", "YES"), **rest)
    return {finding.where for finding in the("order of a sum", T)}


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
    (finding,) = (finding for finding in lint(masked, runs=6) if finding.rule == "masked keys")
    assert "the input '0 1 1'" in finding.message
    assert finding.where.endswith("head 0, position 2")


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_norms_read_every_coordinate(placement):
    """A coordinate that no matrix reads still moves the mean and the variance."""
    layer = Layer((), feed([[1, 0]], [[1], [0]]), None, norm([1, 1], [0, 0], 0.125))
    plain = made(output=((1, 0), (0, 0)), layers=[Layer((), feed([[1, 0]], [[1], [0]]))])
    assert [finding.where for finding in the("never read", plain)] == ["coordinate y"]
    normed = plain.replace(layers=(layer,), options=Options(norm=placement))
    assert not the("never read", normed)


def test_0_over_0_in_a_norm_is_told_as_such():
    layer = Layer((), feed([[1, 0]], [[1], [0]]), None, norm([1, 1], [0, 0], 0))
    normed = made(token_embedding=((0, 0), (1, 0))).replace(layers=(layer,), options=Options(norm="pre"))
    (finding,) = the("0/0", normed)
    assert finding.where == "layer 0, a norm, position 0"
    final = made(token_embedding=((0, 0), (1, 0))).replace(final_norm=norm([1, 1], [0, 0], 0))
    (finding,) = the("0/0", final)
    assert finding.where == "the final norm, position 0"


# The notes as printed ----------------------------------------------------------------------------------------------------------


def found_in(transformer):
    return {(finding.rule, finding.where) for finding in lint(transformer, runs=200)}


def test_the_notes_as_printed_are_warned_of():
    """Each erratum that the linter knows the kind of, found in the construction that has it; and not in what replaces it."""
    T = random_transformer(Fixed(4), 3, Sizes(layers=0, width=3, max_length=6))
    moved = found_in(notes.linear(T, np.eye(3), source=1, target=3))
    assert ("masked keys", "layer 3, head 0, position 0") in moved  # position 0 sees no key but masked ones
    assert {where for rule, where in moved if rule == "flag left over"} >= {
        "coordinate at_source",
        "coordinate at_target",
    }
    assert not any(rule == "masked keys" for rule, _ in found_in(linear.between(T, np.eye(3), i=1, j=3)))
    cleared = found_in(notes.make_zero(notes.embedding_with_flag(T, 2), "flag"))
    assert any(rule == "saturation" for rule, _ in cleared)
    at_the_end = found_in(notes.zero_one(T, 6))
    assert ("fixed last position", "coordinate at_target") in at_the_end
    assert not any(rule in ("fixed last position", "masked keys") for rule, _ in found_in(normalize.zero_one(T)))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_norms_are_linted_too(norm):
    T = random_transformer(Fixed(3), 3, Sizes(max_length=3, heads=1, layers=1), Options(norm=norm))
    assert all(str(finding).count("\n") == 0 for finding in lint(T, runs=20))


# Severities and suppression ----------------------------------------------------------------------------------------------------


def test_severities():
    """What was seen to go wrong is an error; a slip in the weights a warning; what may be intended a note, with its reason."""
    written = made(
        "x y z", ((0, 1, 0), (1, 0, 0)), [Layer((), feed([[1, 0, 0]], [[0], [0], [1]]))], ((1, 0, 0), (0, 1, 0))
    )
    assert [finding.severity for finding in the("never read", written)] == ["warning"]
    assert [finding.severity for finding in the("never read", made(output=((1, 0), (0, 0))))] == ["note"]
    assert not the("never read", written.replace(output=0 * written.output))  # a block: its reader is still to come
    by_weights = made(layers=[Layer((head(output=((0,), (0,))),), None)])
    by_runs = made(layers=[Layer((), feed([[-1, 0]], [[1], [0]]))])
    assert [finding.severity for finding in lint(by_weights, runs=40)] == ["warning", "warning"]
    assert [finding.severity for finding in the("dead layer", by_runs)] == ["note"]
    assert all(finding.reason for T in (written, by_runs) for finding in lint(T) if finding.severity == "note")


def test_a_flag_that_is_cleared_in_some_places_only():
    positions = np.zeros((4, 2))
    positions[1:3, 1] = 1
    tokens, output = ((0, 0), (1, 0)), ((1, 0), (1, 0))
    partly = feed([[1, 1]], [[0], [-1]])  # y ← y − relu(x + y): cleared after token 0, made −1 after token 1
    T = made(token_embedding=tokens, positions=positions, layers=[Layer((), partly)], output=output)
    (finding,) = the("flag left over", T)
    assert finding.severity == "warning"
    assert "changes it in some places" in finding.message
    idle = made(token_embedding=tokens, positions=positions, layers=[Layer((), feed([[1, 0]], [[1], [0]]))], output=output)
    assert [finding.severity for finding in the("flag left over", idle)] == ["note"]
    read = idle.replace(output=made().output)
    assert [finding.severity for finding in the("flag left over", read)] == ["warning"]


def test_the_worst_comes_first():
    found = [finding.severity for finding in lint(notes_with_everything(), runs=200)]
    assert found == sorted(found, key=["error", "warning", "note"].index)
    assert set(found) == {"error", "warning", "note"}


def notes_with_everything():
    T = random_transformer(Fixed(4), 3, Sizes(layers=0, width=3, max_length=6))
    return notes.linear(T, np.eye(3), source=1, target=3)


def test_suppression_by_rule_and_by_place():
    T = notes_with_everything()
    everything = lint(T, runs=200)
    by_rule = lint(T, runs=200, ignore=["flag left over"])
    assert {finding.rule for finding in by_rule.suppressed} == {"flag left over"}
    assert len(by_rule) + len(by_rule.suppressed) == len(everything)
    assert f"{len(by_rule.suppressed)} suppressed" in str(by_rule)
    at_a_place = lint(T, runs=200, ignore="flag-left-over@coordinate at_source")
    assert [finding.where for finding in at_a_place.suppressed] == ["coordinate at_source"]
    assert not Suppression("dead head", "layer 1").covers(Finding("dead head", "note", "layer 10, head 0", ""))
    around = lint(T, runs=200, ignore=["masked keys@layer 3"])  # a place covers what lies in it
    assert [finding.rule for finding in around.suppressed] == ["masked keys"]
    in_vain = lint(T, runs=200, ignore=["masked keys@layer 30", "0/0"])
    assert len(in_vain) == len(everything)
    assert in_vain.summary().endswith("ignored in vain: masked keys@layer 30, 0/0")


@pytest.mark.parametrize("ignore", ["saturatoin", "", "@layer 0", "saturation@", "saturation@ "])
def test_a_suppression_that_names_no_rule_is_refused(ignore):
    with pytest.raises(InputError, match="the rules are masked keys, 0/0, ") as caught:
        lint(last_token(F, 4), ignore=[ignore])
    assert all(rule in str(caught.value) for rule in RULES)


def test_at_least_one_run():
    with pytest.raises(InputError, match="runs is 0, and must be a whole number from 1"):
        lint(last_token(F, 4), runs=0)


def test_runs_that_are_all_undefined_say_nothing_of_what_is_written():
    masking = Head.of(F, [[0, 1]], [[0, "-B"]], [[1, 0]], [[0], [1]])
    T = made(token_embedding=((0, 1), (1, 1)), layers=[Layer((masking,), None)], positions=np.zeros((4, 2)))
    assert rules(T) == {"masked keys"}


# Correct deciders --------------------------------------------------------------------------------------------------------------

# For each decider, at any size and in any format: the notes that it may get, and why they are intended.
LOOKS_UP = {"order of a sum": "a look-up by codes stays at −B from the first disagreement on, if summed from the left"}
ALLOWED = {
    "contains": LOOKS_UP
    | {
        "flag left over": "`first` marks a position for good",
        "never read": "a word of one letter needs no codes; the letters outside the word are not looked at",
        "saturation": "`found` counts ends of the word, and only 0 matters",
        "dead layer": "a word longer than the inputs is never found",
        "dead head": "a word longer than the inputs is never found",
    },
    "first-equals-last": {"flag left over": "`later` marks positions for good"},
    "majority": {
        "saturation": "in fixed:2 totals of 4 and more stop at 15/4, and keep their sign",
        "order of a sum": "where a total stops depends on the order of the votes, its sign does not",
    },
    "modular": {"order of a sum": "in fixed:2 one more than a count of 3 saturates; NO and YES keep their signs"},
    "parity": LOOKS_UP
    | {
        "flag left over": "`complete` marks stretches that begin at 0: from the start at position 0, elsewhere later",
    },
    "brackets": LOOKS_UP
    | {
        "saturation": "`all_bad` counts what is bad, and only 0 matters",
    },
    "palindromes": LOOKS_UP
    | {
        "flag left over": "`reached.t` marks positions for good",
        "saturation": "`no` counts disagreements, and only 0 matters",
        "dead layer": "one token is a palindrome",
    },
}  # fmt: skip
SIZES = {
    "contains": ["1,5", "101,6", "101,12", "0110,max_length=9", "101,2", "ab,6,vocabulary=abc", "11,1"],
    "first-equals-last": ["1", "2", "3", "16", "6,abc"],
    "majority": ["1", "2", "3", "7", "12", "15"],
    "modular": ["3,0,12", "2,1,5", "5,2,12", "1,0,3", "7,0,3", "3,2,1"],
    "parity": ["1", "2", "3", "8", "13"],
    "brackets": ["1", "2", "3", "7", "12", "8,2,()[]", "9,1"],
    "palindromes": ["1", "2", "3", "5", "12", "6,abc"],
}
DECIDER_FORMATS = ["fixed:2", "fixed:4", "fixed:8", "float:3,3", "float:2,4/even", "q:4,4", "fp16", "fp8_e4m3"]


def test_every_decider_is_linted():
    assert {*ALLOWED, "random"} == set(EXAMPLES) == {*SIZES, "random"}  # `random` decides nothing


@pytest.mark.parametrize("name", SIZES)
def test_correct_deciders_get_notes_only_and_each_has_its_reason(name):
    met = set()
    for size, format in itertools.product(SIZES[name], DECIDER_FORMATS):
        try:
            T = by_name(f"{name}:{size}", parse_format(format))
        except FormatError:
            continue  # the decider refuses the format
        for finding in lint(T, runs=100):
            assert finding.severity == "note", (T.name, format, str(finding))
            assert finding.reason
            met.add(finding.rule)
    assert met == set(ALLOWED[name])  # no note without a reason above, and no reason for a note that is never met


BUILT = {
    "add.vector": lambda T: add.vector(T, {T.coordinates[0]: 1}, at=1),
    "add.overwrite": lambda T: add.overwrite(T, {T.coordinates[0]: 1}, at=1),
    "zero.at": lambda T: zero.at(T, [T.coordinates[0]], at=1),
    "normalize.zero_one": normalize.zero_one,
    "normalize.zero_one, one layer": lambda T: normalize.zero_one(T, one_layer=True),
    "normalize.infinity": normalize.infinity,
    "normalize.plus_minus": normalize.plus_minus,
    "closure.negation": closure.negation,
    "closure.conjunction": lambda T: closure.conjunction(T, by_name("majority:6", T.format)),
    "closure.disjunction": lambda T: closure.disjunction(T, by_name("majority:6", T.format)),
    "closure.exclusive": lambda T: closure.exclusive(T, by_name("majority:6", T.format)),
    "closure.majority": lambda T: closure.majority(T, by_name("majority:6", T.format), by_name("palindromes:6", T.format)),
    "beside": lambda T: beside.beside([T, by_name("majority:6", T.format)]),
    "compose.sequence": lambda T: compose.sequence(T, by_name("majority:6", T.format).replace(vocabulary=T.answers)),
    "compose.relay": lambda T: compose.relay(*(t.replace(answers=("0", "1")) for t in (T, by_name("majority:6", T.format)))),
}


@pytest.mark.parametrize("construction", BUILT)
@pytest.mark.parametrize("decider", ["parity:6", "contains:101,6", "majority:6", "first-equals-last:6"])
def test_constructions_on_correct_deciders_get_notes_only(construction, decider):
    for format in (Fixed(4), Float(3, 3)):
        T = BUILT[construction](by_name(decider, format))
        assert [str(finding) for finding in lint(T, runs=80).at_least("warning")] == []


@pytest.mark.parametrize("number", range(1, 8))
def test_recognisers_get_notes_only(number):
    for length in (1, 4, 7):
        assert not lint(recogniser(tomita(number), Fixed(2), length), runs=80).at_least("warning")
