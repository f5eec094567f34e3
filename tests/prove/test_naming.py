"""What the claim language refuses: one sentence that names the thing, when the claim is made or even before."""

from fractions import Fraction

import numpy as np
import pytest
from tests.prove.examples import doubled, last_token

from glyptic import prove
from glyptic.exact import FeedForward, Head, Layer, Norm, Options, Transformer
from glyptic.numbers import Fixed, encode
from glyptic.prove import (
    LEAST,
    TRUE,
    B,
    Claim,
    ClaimError,
    Values,
    after,
    answer,
    attention_weight,
    exists,
    inputs,
    layers,
    let,
    maximum,
    parameter,
    score,
    softmax,
    variables,
    where,
)
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.evaluation import constant_in

x, y = variables("x y")
W1 = "layers.0.feed_forward.w1"


def attending(mask="causal", norm=None):
    """Two layers, the second with a head; norms only if asked for."""
    head = Head.of(Fixed(2), [[1, 0]], [[1, 0]], [[1, 0]], [[0], [1]])
    feed = FeedForward.of(Fixed(2), [[1, 0]], [0], [[0], [1]], [0, 0])
    given = Norm(encode([1, 1], Fixed(2)), encode([0, 0], Fixed(2)), encode(1, Fixed(2))) if norm else None
    layers = [Layer((), feed, None, given), Layer((head,), None, given, None)]
    options = Options(mask=mask, **({"norm": norm} if norm else {}))
    rest = {"layers": layers, "options": options, "max_length": 6, **({"final_norm": given} if norm == "pre" else {})}
    return Transformer.of(Fixed(2), "01", ("x", "y"), [[1, 0], [-1, 0]], np.eye(2), ("NO", "YES"), **rest)


def of_block(said, T=None, **rest):
    return Claim(layers(T or attending(), free=["x"], positions=3, **rest), said)


def of_inputs(said, T=None, **rest):
    return Claim(inputs(T or attending(), max_length=4, **rest), said)


SENTENCES = [
    # Heads
    (lambda: of_block(score(2, 0, 0, 0) == 0), "no layer 2 is run here; those that are: 0 to 1"),
    (lambda: of_block(score(-1, 0, 0, 0) == 0), "no layer -1 is run here"),
    (lambda: of_block(score(0, 0, 0, 0) == 0, first=1), "no layer 0 is run here; those that are: 1 to 1"),
    (lambda: of_block(score(0, 0, 0, 0) == 0, first=2), "no layer 0 is run here; those that are: none"),
    (lambda: of_block(score(0, 0, 0, 0) == 0), "layer 0 has 0 heads, from 0"),
    (lambda: of_block(score(1, 1, 0, 0) == 0), "layer 1 has 1 heads, from 0"),
    (lambda: of_block(score(1, 0, 0, 1) == 0), "of 3 positions the causal mask hides that key from that query"),
    (lambda: of_block(score(1, 0, 1, 1) == 0, attending("strict")), "the strict mask hides"),
    (lambda: of_block(score(1, 0, 3, 1) == 0), "position 3 is not among the positions 0 to 2"),
    (lambda: of_block(score(1, 0, 0, 0, of="b") == 0), "no transformer 'b'"),
    (lambda: of_inputs(attention_weight(1, 0, 2, 1) == 0), "position 2 does not exist .* min_length=3"),
    (lambda: of_inputs(attention_weight(1, 0, 0, -1) == 0, min_length=1), "of 2 positions the causal mask hides"),
    (lambda: of_inputs(attention_weight(1, 0, -1, 0) == 0, attending("strict")), "of 1 positions the strict mask"),
    (lambda: Claim(Values("x"), score(0, 0, 0, 0) == x), "needs a transformer"),
    # Weights
    (lambda: of_block(parameter("layers.0.w1", 0, 0) == 0), "no weights 'layers.0.w1'; there are token_embedding"),
    (lambda: of_block(parameter(W1, 1, 0) == 0), r"no entry layers.0.feed_forward.w1\[1,0\]; the array has the shape"),
    (lambda: of_block(parameter(W1, 0) == 0), r"no entry layers.0.feed_forward.w1\[0\]"),
    (lambda: of_block(parameter(W1, 0, -1) == 0), "counted from 0"),
    (lambda: of_block(parameter(W1, 0, 0, of="b") == 0), "no transformer 'b'"),
    (lambda: Claim(Values("x"), parameter(W1, 0, 0) == x), "needs a transformer"),
    (lambda: of_block(after("y") == 0, weights=["layers.0.w1"]), "no weights 'layers.0.w1'; there are"),
    (lambda: of_block(after("y") == 0, weights=[(W1, (0, 2))]), "no entry"),
    (lambda: of_block(after("y") == 0, weights=[W1, (W1, (0, 0))]), "named twice among the free weights"),
    (lambda: of_block(after("y") == 0, weights=[W1], first=1), "is not run in these layers"),
    (lambda: of_block(after("y") == 0, weights=["token_embedding"]), "is not run in these layers"),
    (
        lambda: of_block(after("y") == 0, attending(norm="pre"), weights=["final_norm.epsilon"]),
        "final_norm.epsilon is never negative, so it cannot be free",
    ),
    (
        lambda: of_block(after("y") == 0, attending(norm="pre"), weights=["final_norm.gain"], last=1),
        "final_norm.gain is not run in these layers",
    ),
    # Names
    (lambda: Claim(Values("x"), e.Local("d") == x), "d is read outside of its let; nothing is bound here"),
    (
        lambda: Claim(Values("x"), let("d", x, lambda d: let("f", e.Local("g"), lambda f: f == d))),
        "g is read outside of its let; here these are bound: d",
    ),
    (lambda: Claim(Values("x"), let("x", x + 1, lambda d: d == x)), "x is a variable already"),
    (lambda: Claim(Values("x"), let("d", x, lambda d: let("d", x, lambda f: f == d))), "d is bound twice"),
    (
        lambda: Claim(Values("x"), let("d", x, lambda d: d > 0), requires=let("d", -x, lambda d: d > 0)),
        "d is bound twice",
    ),
    (lambda: Claim(Values("x"), let("B", x, lambda d: d > 0)), "one word of letters, none of B, least"),
    (lambda: Claim(Values("x"), let("two words", x, lambda d: d > 0)), "one word of letters"),
    (lambda: Claim(Values("x"), e.SameWord(e.Text("x"), e.Text("y"))), "compares two words"),
    # What is no condition, or no value
    (lambda: (x > 0) & True, "True is Python's bool, not a condition"),
    (lambda: True & (x > 0), "True is Python's bool, not a condition"),
    (lambda: (x > 0) | x, "x is a value, not a condition"),
    (lambda: (x > 0) >> None, "None is Python's NoneType, not a condition"),
    (lambda: True >> (x > 0), "True is Python's bool"),
    (lambda: (x > 0) == True, "True is Python's bool, not a condition"),  # noqa: E712
    (lambda: (x > 0) != None, "None is Python's NoneType"),  # noqa: E711
    (lambda: x > 0 & y, "y is a value; & | ~ >> combine conditions, in parentheses"),
    (lambda: (x > 0) & y > 0, "y is a value, not a condition; comparisons go in parentheses"),
    (lambda: ~x, "x is a value; & | ~ >> combine conditions"),
    (lambda: x >> y, "x is a value"),
    (lambda: x | y, "x is a value"),
    (lambda: 0 < x < 1, "is not a bool: write & | ~ >> for and, or, not, implies; no a < b < c"),
    (lambda: x == y == 0, "is not a bool"),
    (lambda: x > 0 and y > 0, "is not a bool"),
    (lambda: not x, "x is not a bool: compare it"),
    (lambda: x and y, "x is not a bool: compare it"),
    (lambda: bool(answer()), "answer is not a bool"),
    (lambda: (x > 0) < (y > 0), "the condition x > 0 is not a number"),
    (lambda: x + (y > 0), "y > 0 is not a value"),
    (lambda: x + True, "True is not a value"),
    (lambda: x == None, "None is not a value"),  # noqa: E711
    (lambda: x + float("nan"), "nan is not a value"),
    (lambda: x + float("inf"), "inf is not a value"),
    (lambda: x + "--B", "'--B' is not a value"),
    (lambda: where(x, 1, 0), "x is a value, not a condition"),
    (lambda: where(True, 1, 0), "True is Python's bool"),
    (lambda: where(x > 0, x > 0, 0), "x > 0 is not a value"),
    (lambda: let("d", x > 0, lambda d: d), "x > 0 is not a value"),
    (lambda: let("d", x, lambda d: None), "None is not a value"),
    (lambda: softmax(), "softmax of nothing"),
    (lambda: Claim(Values("x"), True), "`ensures` is True, not a condition"),
    (lambda: Claim(Values("x"), x), "`ensures` is .*, not a condition"),
    (lambda: Claim(Values("x"), x > 0, requires=None), "`requires` is None, not a condition"),
    (lambda: Claim("x", x > 0), "'x' is nothing to range over"),
    (lambda: Claim(Values("x"), x > 0, quantifier="most"), "the quantifier 'most' is not one of all, some"),
    (lambda: exists(Values("x"), True), "`ensures` is True"),
    # What no operator makes, but a file could say
    (lambda: Claim(Values("x"), e.Operation("__init__", (x,)) == 0), "'__init__' is not an operation; there are add"),
    (lambda: Claim(Values("x"), e.Operation("add", (x, x, x)) == 0), "add takes 2 operands, not 3"),
    (lambda: Claim(Values("x"), e.Operation("exp", ()) == 0), "exp takes 1 operands, not 0"),
    (lambda: Claim(Values("x"), e.Constant("1000") == x), "'1000' is not a constant"),
    (lambda: Claim(Values("x"), e.Constant(True) == x), "number of Constant is True, not what belongs there"),
    (lambda: Claim(Values("x"), e.Constant(0.5) == x), "number of Constant is 0.5"),
    (lambda: Claim(Values("x"), e.Comparison("~", x, x)), "how of Comparison is '~', none of =, ≠"),
    (lambda: Claim(Values("x"), e.Comparison("and", x, x)), "how of Comparison is 'and'"),
    (lambda: Claim(Values("x"), e.Comparison("=", x, 1)), "right of Comparison is 1, not what belongs there"),
    (lambda: Claim(Values("x"), e.Comparison("=", x > 0, x)), "left of Comparison is x > 0, not what belongs"),
    (lambda: Claim(Values("x"), e.Junction("xor", (x > 0,))), "how of Junction is 'xor', none of and, or"),
    (lambda: Claim(Values("x"), e.Junction("and", [x > 0])), "conditions of Junction is .*, not a tuple"),
    (lambda: Claim(Values("x"), e.Junction("and", (x,))), "conditions of Junction is x, not what belongs"),
    (lambda: Claim(Values("x"), e.Negation(x)), "part of Negation is x"),
    (lambda: Claim(Values("x"), e.Variable(3) == 0), "name of Variable is 3"),
    (lambda: of_block(e.Attention("values", 1, 0, 0, 0) == 0), "what of Attention is 'values', none of score, weight"),
    (lambda: of_block(e.Attention("score", 1, 0, True, 0) == 0), "query of Attention is True"),
    (lambda: of_block(e.Parameter(W1, (0, 0.5)) == 0), "index of Parameter is 0.5"),
    (lambda: of_block(e.Parameter(W1, [0, 0]) == 0), r"index of Parameter is \[0, 0\], not a tuple"),
]


@pytest.mark.parametrize(("make", "sentence"), SENTENCES)
def test_what_cannot_be_claimed_is_refused_in_one_sentence(make, sentence):
    with pytest.raises(ClaimError, match=sentence) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_one_name_for_one_value_may_be_read_in_several_places():
    size = let("d", x - y, lambda d: maximum(d, -d))
    claim = Claim(Values("x y"), (size >= 0) & (size == abs(x - y)), requires=size > LEAST)
    assert prove.check(claim, "fixed:1", progress=False)


def test_what_is_nested_too_deep_is_refused_and_what_is_not_is_decided():
    deep = x
    for _ in range(140):
        deep = deep + 0
    claim = Claim(Values("x"), deep == x)
    for method in ("enumerate", "smt"):
        assert prove.check(claim, "fixed:1", method=method, progress=False)
    for _ in range(5000):
        deep = deep + 0
    with pytest.raises(ClaimError, match="nested more than 150 deep"):
        Claim(Values("x"), deep == x)


def test_a_constant_by_name_is_one_of_four():
    assert [constant_in(name, Fixed(2)) for name in ("B", "-B", "least", "-least")] == [
        *(Fraction(15, 4), Fraction(-15, 4)),
        *(Fraction(1, 4), Fraction(-1, 4)),
    ]
    for wrong in ("1000", "--B", "", "b", "-", "leastB"):
        with pytest.raises(ClaimError, match="is not a constant"):
            constant_in(wrong, Fixed(2))


def test_iff_was_silently_false():
    """`cond == cond` was Python's False, and a claim of it a claim of nothing."""
    said = (x > 0) == (x > 0)
    assert isinstance(said, e.Equivalence)
    assert prove.check(Claim(Values("x"), said), "fixed:2", progress=False)
    assert prove.check(Claim(Values("x"), ~((x > 0) != (x > 0))), "fixed:2", progress=False)
    assert not prove.check(Claim(Values("x"), (x > 0) == (x >= 0)), "fixed:2", progress=False)


def test_conditions_and_claims_can_still_be_kept_in_sets():
    one, two = x > 0, x > 0
    assert len({one, two, TRUE}) == 3
    claims = [Claim(Values("x"), one), Claim(Values("x"), one)]
    assert len(set(claims)) == 2
    assert claims[0] == claims[0]
    assert claims[0] != claims[1]


def test_every_pair_that_the_mask_shows_can_be_claimed():
    for mask in ("causal", "full", "strict"):
        for i, j in np.ndindex(3, 3):
            seen = {"causal": j <= i, "full": True, "strict": j < i}[mask]
            try:
                of_block(score(1, 0, int(i), int(j)) == 0, attending(mask))
            except ClaimError:
                assert not seen
            else:
                assert seen


def test_other_words_are_as_they_were():
    assert prove.check(Claim(inputs(last_token(Fixed(2), 4), max_length=2), answer().among("0", "1")), progress=False)
    assert str(Claim(Values(["a b", "B"]), e.Variable("a b") == B)) == "for all 'a b', 'B': 'a b' = B"
    assert str(Claim(layers(doubled(Fixed(2)), free=["x"]), after("y") == B)).endswith("after.y@0 = B")


def test_a_claim_that_grows_by_doubling_is_refused_and_by_let_is_not():
    def doublings(count, term):
        return term if count == 0 else doublings(count - 1, term + term)

    def named(count, term):
        return term >= 0 if count == 0 else prove.let(f"d{count}", term + term, lambda d: named(count - 1, d))

    (x,) = prove.variables("x")
    with pytest.raises(ClaimError, match=r"more than 262,144 parts, written out; name those that come again with let"):
        Claim(Values("x"), doublings(60, x) >= 0)
    assert prove.check(Claim(Values("x"), named(60, x), requires=x >= 0), "fixed:2", progress=False)


def test_a_format_may_be_given_by_its_name():
    (x,) = prove.variables("x")
    assert Values("x", "fixed:2/even").format == Fixed(2, "even")
    assert prove.check(Claim(Values("x", "fixed:2"), x == x), "fixed:2", progress=False)


def test_what_is_said_of_layers_alone_is_said_of_one_step():
    several = inputs(last_token(Fixed(2), 4), max_length=2, steps=2)
    with pytest.raises(ClaimError, match=r"no 0/0 in attention or a norm is about one step, and these inputs take several"):
        Claim(several, e.Defined(attention=True))
    assert prove.check(Claim(several, e.Defined()), progress=False)
