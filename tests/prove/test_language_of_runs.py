"""Scores and weights of heads, entries of weight arrays, free weights, witnesses: of blocks and of whole inputs."""

import json
from fractions import Fraction

import numpy as np
import pytest
from tests.prove.examples import doubled, last_token
from tests.prove.making import Making

from glyptic import prove, studies
from glyptic.cli import main
from glyptic.errors import FormatError
from glyptic.exact import FeedForward, Head, Layer, Options, Transformer
from glyptic.exact.parts import parts
from glyptic.exact.random import random_transformer
from glyptic.exact.transformer import map_codes
from glyptic.exact.undefined import Undefined
from glyptic.numbers import Fixed, decode, parse_format
from glyptic.prove import (
    B,
    Claim,
    Proved,
    Refuted,
    Unknown,
    Vacuous,
    Values,
    after,
    answer,
    attention_weight,
    before,
    defined,
    exists,
    inputs,
    layers,
    logit,
    maximum,
    parameter,
    score,
    softmax,
    token,
    variables,
)
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.evaluation import value
from glyptic.prove.elements.batches import setting_of_codes, setting_of_visit, walk_of
from glyptic.prove.elements.trie import whole_visit
from glyptic.prove.portable.claims import claim_from_json, claim_to_json, digest

(x,) = variables("x")
QUIET = {"progress": False, "workers": 1}
W1 = "layers.0.feed_forward.w1"


def both_ways(claim, kind):
    """The answer by enumeration and by solvers: of one kind, with the same example, run in fractions; and after JSON."""
    again = claim_from_json(json.loads(json.dumps(claim_to_json(claim))))
    assert (str(again), digest(again)) == (str(claim), digest(claim))
    run, solved = (prove.check(each, method=m, **QUIET) for each, m in ((claim, "enumerate"), (again, "smt")))
    assert type(run) is type(solved) is kind, (str(run), str(solved))
    for shown in ("counterexample", "witness"):
        assert getattr(run, shown, None) == getattr(solved, shown, None)
    return run


def scored(format, **options):
    """One layer with a head that scores x·x and passes x on to y."""
    head = Head.of(format, [[1, 0]], [[1, 0]], [[1, 0]], [[0], [1]])
    rest = {"layers": [Layer(), Layer((head,), None)], "options": Options(**options), "max_length": 6, "name": "scored"}
    return Transformer.of(format, "01", ("x", "y"), [[1, 0], [-1, 0]], np.eye(2), ("NO", "YES"), **rest)


# Heads -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("attention", ["softmax", "max-subtracted", "leftmost", "average"])
def test_scores_and_weights_of_a_block_are_those_of_its_head(attention, first):
    T = scored(Fixed(2), attention=attention)
    two = layers(T, free=["x"], positions=2, first=first)
    query, keys = before("x", 1), (before("x", 0), before("x", 1))
    both_ways(Claim(two, score(1, 0, 1, 0) == query * keys[0]), Proved)
    said = [query * key for key in keys]
    if attention == "max-subtracted":
        said = [each - maximum(*said) for each in said]
    if attention.startswith(("softmax", "max")):
        shares = softmax(*said)
        for j in (0, 1):
            both_ways(Claim(two, attention_weight(1, 0, 1, j) == shares[j], requires=defined()), Proved)
        both_ways(Claim(two, attention_weight(1, 0, 1, 0) == shares[1], requires=defined()), Refuted)
    else:
        larger = said[0] >= said[1] if attention == "leftmost" else said[0] > said[1]
        both_ways(Claim(two, (attention_weight(1, 0, 1, 0) == 1) == larger), Proved)


def test_a_weight_does_not_exist_where_the_run_met_0_over_0():
    head = Head.of(Fixed(2), [[1, 0]], [["-B", 0]], [[1, 0]], [[0], [1]])
    T = scored(Fixed(2)).replace(layers=(Layer((head,), None),))
    weight = attention_weight(0, 0, 0, 0)
    refuted = both_ways(Claim(layers(T, free=["x"]), weight == weight), Refuted)
    assert refuted.counterexample.observed == {"weight(0.0: 0→0)": "undefined"}
    both_ways(Claim(layers(T, free=["x"]), (weight == weight) == defined(), requires=defined()), Proved)


@pytest.mark.parametrize("mask", ["causal", "full", "strict"])
@pytest.mark.parametrize("steps", [1, 2])
def test_scores_and_weights_of_inputs_are_those_of_the_run(mask, steps):
    T = random_transformer(Fixed(3), 5).with_options(mask=mask)
    if steps > 1:
        T = T.replace(answers=T.vocabulary[: len(T.answers)])
    l, nodes = len(T.layers) - 1, []
    pairs = [(-1, 0), (1, 0), (2, 1), (-1, -2)]
    for what, (q, k) in [(what, pair) for what in ("score", "weight") for pair in pairs]:
        nodes.append(e.Attention(what, l, 0, q, k))
    claim = Claim(inputs(T, max_length=4, min_length=3, steps=steps), sum(nodes[1:], nodes[0]) >= 0)
    walk = walk_of(claim)
    tokens = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]])
    setting = setting_of_visit(walk, whole_visit(walk, tokens))
    for item in range(tokens.shape[1]):
        try:
            trace = T.run([T.vocabulary[t] for t in tokens[:, item]], trace=True).trace
        except Undefined:
            trace = None
        for node in nodes:
            found = value(node, setting)
            assert trace is not None or found.missing[item]
            if not found.missing[item] and (mask != "full" or steps == 1):  # a full mask sees what was answered too
                number = decode(setting.arithmetic.codes(found.numbers), T.format)[item]
                assert number == trace[f"layer.{l}.head.0.{node.what}s"][node.query % 3, node.key % 3]


def test_claims_on_weights_of_inputs_are_decided_on_every_input():
    T = last_token(Fixed(2), 4)
    head = Head.of(Fixed(2), [[1, 0]], [[1, 0]], [[1, 0]], [[0], [1]])
    T = T.replace(layers=(Layer((head,), None),))
    even = Claim(inputs(T, max_length=4, min_length=2), attention_weight(0, 0, -1, 0) == attention_weight(0, 0, -1, -1))
    found = prove.check(even, count_all=True, **QUIET)
    unlike = [
        text
        for n in (2, 3, 4)
        for text in (f"{k:0{n}b}" for k in range(2**n))
        if len(set(T.run(text, trace="*.weights").trace["layer.0.head.0.weights"][-1, [0, -1]])) > 1
    ]
    assert found.failures == len(unlike)
    assert "".join(found.counterexample.input) == unlike[0]


# Weights that are free ---------------------------------------------------------------------------------------------------------


def affine(format):
    """y += w2·relu(w1·x + b1) + b2 with every number 0: only what is free makes it do anything."""
    feed = FeedForward.of(format, [[0, 0]], [0], [[0], [0]], [0, 0])
    return Transformer.of(
        format, "01", ("x", "y"), np.zeros((2, 2)), np.eye(2), ("NO", "YES"), layers=[Layer((), feed)]
    )


@pytest.mark.parametrize("name", ["fixed:1", "q:1,1", "fp4_e2m1", pytest.param("float:1,2", marks=pytest.mark.slow)])
@pytest.mark.parametrize("products", ["rounded", "fused"])
def test_for_all_entries_of_a_matrix(name, products):
    T = affine(parse_format(name)).with_options(products=products)
    m, n = parameter(W1, 0, 0), parameter("layers.0.feed_forward.b1", 0)
    free = layers(T, free=["x"], weights=[(W1, (0, 0)), ("layers.0.feed_forward.w2", (1, 0))])
    v = parameter("layers.0.feed_forward.w2", 1, 0)
    hidden = maximum(m * before("x"), 0)
    both_ways(Claim(free, after("y") == v * hidden), Proved)
    both_ways(Claim(free, after("x") == before("x")), Proved)
    both_ways(Claim(free, (n == 0) & (parameter(W1, 0, 1) == 0)), Proved)  # what is not free is what it was
    refuted = both_ways(Claim(free, after("y") == 0), Refuted)
    assert list(refuted.counterexample.values) == ["x@0", f"{W1}[0,0]", "layers.0.feed_forward.w2[1,0]"]
    witness = both_ways(exists(free, (after("y") == 1) & (m == 1)), Proved).witness
    assert witness.values["layers.0.feed_forward.w1[0,0]"] == "1"


def test_every_array_of_a_block_can_be_free_and_means_the_same_by_both_methods():
    T = random_transformer(Fixed(1), 3)
    arrays = {name: codes for name, codes, _ in parts(T) if name.startswith(("layers.0.", "output"))}
    assert len(arrays) > 10
    for name, codes in arrays.items():
        index = (0,) * codes.ndim
        free = layers(T, free=[(T.coordinates[0], 0)], weights=[(name, index)], last=1)
        said = after(T.coordinates[0]) <= 1
        if name == "output":
            said = answer() == T.answers[0]
        runs = [prove.check(Claim(free, said), method=method, **QUIET) for method in ("enumerate", "smt")]
        assert type(runs[0]) is type(runs[1]), name
        assert getattr(runs[0], "counterexample", None) == getattr(runs[1], "counterexample", None)


def test_free_weights_run_as_each_transformer_with_those_weights_does():
    T = random_transformer(Fixed(1), 4)
    name = "layers.0.heads.0.query"
    free = layers(T, free=[(T.coordinates[0], 0)], weights=[(name, (0, 0)), (name, (0, 1))], last=1)
    claim = Claim(free, after(T.coordinates[1]) >= 0)
    codes = np.random.default_rng(0).integers(T.format.min_code, T.format.max_code + 1, (3, 40))
    for engine in ("auto", "reference"):
        setting = setting_of_codes(claim, codes, engine)
        found = value(claim.ensures.left, setting)
        for item in range(40):
            one = T.layers[0].heads[0].query.copy()
            one[0, :2] = codes[1:, item]
            changed = map_codes(T, lambda codes, part, one=one: one if part == name else codes)
            alone = Claim(layers(changed, free=[(T.coordinates[0], 0)], last=1), claim.ensures)
            single = setting_of_codes(alone, codes[:1, item : item + 1], engine)
            expected = value(claim.ensures.left, single)
            assert found.missing[item] == expected.missing[0]
            if not found.missing[item]:
                assert setting.arithmetic.codes(found.numbers)[item] == single.arithmetic.codes(expected.numbers)[0]


def test_a_free_weight_is_one_value_in_both_transformers_of_that_shape():
    T, other = affine(Fixed(2)), doubled(Fixed(2))
    both = layers(T, other, free=["x"], weights=[(W1, (0, 0))])
    both_ways(Claim(both, parameter(W1, 0, 0, of="a") == parameter(W1, 0, 0, of="b")), Proved)
    both_ways(Claim(both, after("y", of="a") == 0), Proved)
    seen = maximum(parameter(W1, 0, 0, of="a") * before("x", of="b"), 0)
    both_ways(Claim(both, after("y", of="b") == 2 * seen), Proved)
    both_ways(Claim(both, after("y", of="b") == 2 * maximum(before("x", of="b"), 0)), Refuted)
    shape = FeedForward.of(Fixed(2), [[1, 0], [0, 1]], [0, 0], np.zeros((2, 2)), [0, 0])
    other = T.replace(layers=(Layer((), shape),))
    apart = layers(T, other, free=["x"], weights=[(W1, (0, 0))])
    both_ways(
        Claim(apart, parameter(W1, 0, 0, of="b") == 1), Proved
    )  # another shape: it is not the matrix that is meant
    both_ways(Claim(apart, parameter(W1, 0, 0, of="a") == 1), Refuted)


def test_all_entries_of_an_array_are_free_by_its_name():
    free = layers(affine(Fixed(1)), free=[], weights=[W1, "output"])
    assert [e.entry_name(*entry) for entry in free.free_weights] == [
        *(f"{W1}[0,0]", f"{W1}[0,1]"),
        *(f"output[{i},{j}]" for i in (0, 1) for j in (0, 1)),
    ]
    assert "values of layers.0.feed_forward.w1[0,0], " in str(free)


def test_a_claim_with_free_weights_is_read_in_another_format():
    claim = Claim(layers(affine(Fixed(1)), free=["x"], weights=[(W1, (0, 0))]), after("y") == 0)
    assert prove.check(claim, "fixed:2", **QUIET).inputs == 31**2


def small(format, seed):
    """A layer with a head and a feed-forward of random weights in two coordinates."""
    random = np.random.default_rng(seed)
    given = lambda *shape: random.integers(-1, 2, shape)  # noqa: E731
    head = Head.of(format, given(1, 2), given(1, 2), given(1, 2), given(2, 1))
    feed = FeedForward.of(format, given(1, 2), given(1), given(2, 1), given(2))
    rest = {"layers": [Layer((head,), feed)], "max_length": 4, "name": f"small-{seed}"}
    return Transformer.of(format, "01", ("x", "y"), given(2, 2), given(2, 2), ("NO", "YES"), **rest)


@pytest.mark.parametrize("name", ["fixed:1", "q:1,1", "fp4_e2m1"])
def test_random_claims_on_blocks_come_out_the_same_by_both_methods(name):
    weights = [(W1, (0, 0)), ("layers.0.heads.0.key", (0, 1)), ("output", (0, 0)), ("layers.0.feed_forward.b2", (1,))]
    for seed in range(15):
        T = small(parse_format(name), seed)
        free = weights[seed % 4]
        subject = layers(T, free=[("x", 0), ("x", 1)][: 1 + (seed % 3 == 0)], positions=2, weights=[free])
        read = [before("x", 1), after("x", 0), after("y", 1), logit("NO"), parameter(free[0], *free[1])]
        read += [score(0, 0, 1, 0), attention_weight(0, 0, 1, 1), parameter("output", 1, 1)]
        making = Making(f"{name} {seed}", read=read)
        quantifier = "some" if seed % 4 == 3 else "all"
        claim = Claim(subject, making.condition(2), making.condition(1) if seed % 2 else e.TRUE, quantifier=quantifier)
        run, solved = (prove.check(claim, method=method, **QUIET) for method in ("enumerate", "smt"))
        assert type(run) is type(solved), (str(run), str(solved))
        for shown in ("counterexample", "witness"):
            assert getattr(run, shown, None) == getattr(solved, shown, None)


# Existence ---------------------------------------------------------------------------------------------------------------------


def test_a_witness_among_inputs_is_the_shortest_and_first():
    T = last_token(Fixed(2), 4)
    found = prove.check(exists(inputs(T, max_length=4), answer() == "1", requires=token(0) == "0"), **QUIET)
    assert isinstance(found, Proved)
    assert found.witness.input == ("0", "1")
    assert str(found).endswith("smallest witness: input '01': token@0 is 0, answer is 1")
    none = prove.check(exists(inputs(T, max_length=4), answer() == "TIE"), **QUIET)
    assert isinstance(none, Refuted)
    assert none.counterexample is None
    assert none.inputs == 30
    assert "nothing makes it true" in str(none)


def test_a_precondition_that_nothing_meets_has_no_witness():
    for method in ("enumerate", "smt"):
        found = prove.check(exists(Values("x"), x == x, requires=x > B), "fixed:2", method=method, **QUIET)
        assert isinstance(found, Refuted)
        assert found.counterexample is None


def test_a_witness_far_beyond_enumeration():
    found = prove.check(exists(Values("x"), x * x == 2, requires=x > 0), "fixed:10", method="smt", **QUIET)
    exact = [k for k in range(1, 2**20) if rounded_square(k) == 2 * 2**10]
    assert isinstance(found, Proved) == bool(exact)
    if exact:
        assert found.witness.values == {"x": str(Fraction(exact[0], 2**10))}


def rounded_square(k):
    """[x·x] in units, for x of k units of 2^−10, ties to the smaller."""
    whole, rest = divmod(k * k, 2**10)
    return min(whole + (rest > 2**9), 2**20 - 1)


def test_existence_runs_out_of_time_as_such():
    slow = exists(inputs(last_token(Fixed(2), 20), max_length=20), answer() == "TIE", requires=token(0) == "0")
    found = prove.check(slow, seconds=0.05, backend="sequential", **QUIET)
    assert isinstance(found, Unknown)
    assert "no witness among them" in found.tried[0]
    assert found.claim == str(slow)


def test_certificates_of_existence_are_checked_again(tmp_path):
    T = last_token(Fixed(2), 4)
    for said, kind in ((answer() == "1", Proved), (answer() == "TIE", Refuted)):
        claim = exists(inputs(T, max_length=3), said)
        verdict = prove.check(claim, **QUIET)
        assert isinstance(verdict, kind)
        prove.save_certificate(tmp_path / "one.json", claim, verdict)
        again, read = prove.load_certificate(tmp_path / "one.json")
        assert (str(again), read) == (str(claim), verdict)
        assert prove.recheck(tmp_path / "one.json", **QUIET).agrees


# Sweeps ------------------------------------------------------------------------------------------------------------------------


def test_a_sweep_is_one_verdict():
    amplified = Claim(Values("x"), x * B * B == B, requires=x > 0, name="amplify")

    def over(claim, formats, **means):
        return studies.sweep(claim, formats, workers=1, progress=False, backend="sequential", **means)

    proved = over(amplified, "fixed:2..4").verdict
    assert isinstance(proved, Proved)
    assert (proved.over, proved.inputs) == ("formats fixed:2 fixed:3 fixed:4", 31 + 127 + 511)
    assert proved.assumptions
    refuted = over(amplified, "fixed:4 float:2,2 fixed:1 fixed:2")
    assert isinstance(refuted.verdict, Refuted)
    assert refuted.verdict.counterexample == refuted.verdicts["fixed:1"].counterexample  # the smallest format
    assert refuted.conclusion.startswith("Refuted: amplify, in each of the formats: not in fixed:1; x = 1/2")
    left = over(lambda f: Claim(Values("x"), x * 1 == x) if f == Fixed(2) else Claim(Values("q"), x == x), "fixed:1..2")
    assert isinstance(left.verdict, Unknown)
    assert left.verdict.tried == ("open in fixed:1",)
    assert isinstance(over(Claim(Values("x"), x == x, requires=x > B), "fixed:1..2").verdict, Vacuous)
    some = over(exists(Values("x"), x * x == x, requires=x > 1), "fixed:1..2")
    assert isinstance(some.verdict, Proved)
    assert "smallest witness" in str(some)
    none = over(exists(Values("x"), x > B), "fixed:1..2").verdict
    assert isinstance(none, Refuted)
    assert none.counterexample is None


def test_a_sweep_over_no_formats_is_refused():
    with pytest.raises(FormatError, match="no formats are given"):
        studies.sweep(Claim(Values("x"), x == x), [])


def test_the_command_ends_with_the_one_verdict(capsys):
    for formats, status, said in (
        ("fixed:2..3", 0, "Proved: parity:3 is decisive, in each of the formats"),
        ("fixed:1..2", 1, "fixed:1"),
    ):
        assert main(["prove", "parity:3", "--decisive", "--formats", formats, "--backend", "sequential"]) == status
        last = capsys.readouterr().out.splitlines()[-1]
        assert said in last
        assert last.startswith("Proved: " if status == 0 else ("Refuted: ", "Unknown: "))


def test_an_entry_of_a_weight_array_is_a_constant_of_inputs():
    T = last_token(Fixed(2), 4)
    both = inputs(T, T, max_length=2)
    assert prove.check(Claim(both, parameter("output", 0, 0, of="a") == 1), **QUIET)
    assert not prove.check(Claim(both, parameter("output", 0, 1, of="b") == 1), **QUIET)
