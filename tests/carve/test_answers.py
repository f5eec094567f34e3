"""Answers go by name: in whatever order a decider lists NO and YES, what is made of it is the same by name."""

from itertools import product

import numpy as np
import pytest

from glyptic import programs
from glyptic.carve import closure, compose, normalize
from glyptic.carve.beside import beside
from glyptic.carve.deciding import no_and_yes
from glyptic.errors import GlypticError, ModelError
from glyptic.exact import Options, Sizes, Transformer, random_transformer
from glyptic.numbers import Fixed
from tests.carve.support import all_codes, all_texts, blank, run_added

TEXTS = all_texts(4)


def some(seed: int, answers: tuple[str, ...] = ("NO", "YES"), **options: object) -> Transformer:
    sizes = Sizes(layers=1, width=4, max_length=6, answers=answers)
    return random_transformer(Fixed(6), seed, sizes, Options(attention="average", **options))  # type: ignore[arg-type]


def reversed_answers(T: Transformer) -> Transformer:
    """The same decider by name, listed the other way round."""
    return T.replace(answers=T.answers[::-1], output=T.output[::-1].copy())


COMBINATIONS = {
    "conjunction": lambda says: all(says),
    "disjunction": lambda says: any(says),
    "exclusive": lambda says: says[0] != says[1],
    "majority": lambda says: sum(says) > 1,
}


@pytest.mark.parametrize("orders", product([False, True], repeat=2))
@pytest.mark.parametrize("name", COMBINATIONS)
def test_combinations_are_right_by_name_in_all_orders_of_answers(name: str, orders: tuple[bool, bool]) -> None:
    deciders = [programs.by_name(text, Fixed(4)) for text in ("parity:4", "majority:4")]
    parts = [reversed_answers(T) if turned else T for T, turned in zip(deciders, orders, strict=True)]
    says = [(text.count("1") % 2 == 1, 2 * text.count("1") > len(text)) for text in TEXTS]
    want = tuple("YES" if COMBINATIONS[name](pair) else "NO" for pair in says)
    for order in (parts, parts[::-1]):
        assert getattr(closure, name)(*order).run_batch(TEXTS).answers == want


@pytest.mark.parametrize("answers", [("NO", "YES"), ("YES", "NO"), ("SÍ", "NO"), ("no", "si")], ids=str)
def test_normal_forms_have_no_first_and_yes_second_whatever_the_order(answers: tuple[str, str]) -> None:
    """All pairs of logits of F(2): the coordinates are (T_NO, T_SI), (1, 0 or B), (±B, ∓B) by name."""
    format = Fixed(2)
    T = blank(format, "p q", answers=answers).replace(output=format.code(1) * np.eye(2, dtype=np.int64))
    codes = all_codes(format)
    h = np.stack(np.meshgrid(codes, codes)).reshape(2, 1, -1)
    no, yes = no_and_yes(T)
    of_no, of_yes = h[answers.index(no), 0], h[answers.index(yes), 0]
    says, B = of_yes > of_no, format.max_code
    want = {
        normalize.zero_one: (of_no, of_yes),
        normalize.infinity: (np.full_like(of_no, format.code(1)), np.where(says, B, 0)),
        normalize.plus_minus: (np.where(says, -B, B), np.where(says, B, -B)),
    }
    for build, one_layer in product(want, (False, True)):
        done = build(T, one_layer=one_layer)
        assert done.coordinates[:2] == (no, yes)
        assert set(done.answers) == set(answers)
        got = run_added(T, done, h)
        assert (np.stack([got[no][0], got[yes][0]]) == np.stack(want[build])).all()
        before, after = (t.run_batch(["·"]).answers for t in (T, done))
        assert before == after or "TIE" in before


def test_where_softmax_ties_the_larger_logit_decides_and_equal_logits_are_no() -> None:
    """F(2): the logits (0, 1/4) tie by softmax; the normal forms say YES there, and NO at (1/4, 0) and (0, 0)."""
    format = Fixed(2)
    for no, yes, said in (("0", "1/4", "YES"), ("1/4", "0", "NO"), ("0", "0", "NO")):
        T = Transformer.of(format, "·", ["n", "y"], [[no, yes]], [[1, 0], [0, 1]], ["NO", "YES"], max_length=1)
        assert T.answer("·") == "TIE"
        for build in (normalize.infinity, normalize.plus_minus, closure.conjunction):
            assert build(T).answer("·") == said


def test_a_negation_answers_the_other_under_every_policy() -> None:
    for options in ({}, {"answer": "logits"}, {"ties": "first"}, {"answer": "logits", "ties": "first"}):
        for seed in range(6):
            T = some(seed, **options)
            T = T.replace(output=np.repeat(T.output[:1], 2, axis=0)) if seed == 0 else T  # which ties everywhere
            other = {"NO": "YES", "YES": "NO", "TIE": "TIE", "UNDEFINED": "UNDEFINED"}
            assert [other[said] for said in T.run_batch(TEXTS).answers] == [*(~T).run_batch(TEXTS).answers]


def test_names_that_do_not_say_which_is_yes_are_asked_for() -> None:
    a, b = some(1, ("0", "1")), some(3, ("0", "1"))
    for build in (normalize.infinity, normalize.plus_minus, closure.conjunction, lambda T, **how: compose.sequence(T, b, **how)):
        with pytest.raises(ModelError, match=r"'0' and '1', and neither name says which means YES; .* pass yes='1'"):
            build(a)
        with pytest.raises(GlypticError, match="yes is '7', and must be one of the answers"):
            build(a, yes="7")
    with pytest.raises(ModelError, match="neither name says"):
        a & b
    for yes, join in (("1", all), ("0", lambda says: all(says))):
        said = [t.run_batch(TEXTS).answers for t in (a, b)]
        got = closure.conjunction(a, b, yes=yes).run_batch(TEXTS).answers
        for x, y, z in zip(*said, got, strict=True):
            if {x, y} <= {"0", "1"}:
                assert (z == yes) == join([x == yes, y == yes])
    with pytest.raises(ModelError, match="yes is 'NO', and the names of the answers, NO and YES, say otherwise"):
        normalize.infinity(some(1), yes="NO")


def test_ties_that_go_to_the_first_answer_are_kept_or_refused() -> None:
    """By softmax a tie hides in different logits; by logits NO must come first, for equal logits are NO."""
    for options in ({"ties": "first"}, {"ties": "first", "answer": "logits"}):
        for T in (some(1, **options), reversed_answers(some(1, **options))):
            if T.answers[0] != "NO" or T.options.answer != "logits":
                with pytest.raises(ModelError, match=r"options\.ties is 'first'"):
                    normalize.plus_minus(T)
                continue
            done = normalize.plus_minus(T)
            flat = T.replace(output=np.repeat(T.output[:1], 2, axis=0))
            assert normalize.plus_minus(flat).run_batch(TEXTS).answers == flat.run_batch(TEXTS).answers
            assert done.run_batch(TEXTS).answers == T.run_batch(TEXTS).answers


def test_side_by_side_they_must_read_the_same_tokens_by_number() -> None:
    a, b = some(1), some(3)
    turned = b.replace(vocabulary=("1", "0"))
    with pytest.raises(ModelError, match="list different tokens, or in another order"):
        beside([a, turned])
    assert (beside([a, b]).run("01").logits) == a.run("01").logits + b.run("01").logits
