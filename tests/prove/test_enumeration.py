"""Enumeration against running every input by itself, in the other engine; and what happens on the way."""

import io
import json
import re
from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from tests.prove.examples import doubled, identity, last_token
from tqdm.auto import tqdm

from glyptic import prove
from glyptic.errors import FileError, InputError
from glyptic.exact import Options
from glyptic.exact.random import Sizes, random_transformer
from glyptic.exact.running import prepared_for
from glyptic.languages import regular, tomita
from glyptic.numbers import Fixed, Float, number, parse_format
from glyptic.programs import recogniser
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
    at,
    before,
    holds,
    inputs,
    layers,
    logit,
    token,
    variables,
)
from glyptic.prove.elements import batches as settings_module
from glyptic.prove.elements import trie as trie_module
from glyptic.prove.methods.enumeration import portions as portions_module
from glyptic.prove.portable.reading import sealed
from glyptic.prove.verdicts.minimise import fails, minimised

QUIET = {"progress": False, "workers": 1}
SMALL = Sizes(layers=2, heads=1, width=4, key_width=2, value_width=2, hidden=3, max_length=8)


def inputs_of(transformer, max_length, min_length=1):
    lengths = range(min_length, max_length + 1)
    return [text for n in lengths for text in product(transformer.vocabulary, repeat=n)]


@pytest.fixture(
    params=["wide fronts", "wide, level by level", "narrow, level by level", "narrow fronts", "two levels", "narrow, two levels"]
)
def fronts(request, monkeypatch):
    """Every way of walking: breadth-first only, depth-first in many small portions, levels in one pass or two, or one by one."""
    if "level by level" in request.param:
        monkeypatch.setattr(trie_module, "levels_at_once", lambda _: 0)
    if "two levels" in request.param:  # from the beginning, whose front then grows, and to the end
        monkeypatch.setattr(trie_module, "levels_at_once", lambda _: 2)
    if "narrow" in request.param:
        monkeypatch.setattr(trie_module, "_WIDEST", 2)
        monkeypatch.setattr(portions_module, "INPUTS_IN_PORTION", 4)


@cache
def compared_one_by_one(mask, seed):
    """Two random transformers, all inputs up to length 4, and those that they answer differently, in fractions."""
    T, U = (random_transformer(Fixed(2), number, SMALL, Options(mask=mask)) for number in (seed, seed + 50))
    texts = inputs_of(T, 4)
    mine, theirs = (each.run_batch(texts, engine="reference").answers for each in (T, U))
    return T, U, texts, [text for text, a, b in zip(texts, mine, theirs, strict=True) if a != b]


@pytest.mark.parametrize("mask", ["causal", "strict", "full"])
@pytest.mark.parametrize("seed", range(2))
def test_every_input_is_judged_as_it_is_by_itself(fronts, mask, seed):
    T, U, texts, different = compared_one_by_one(mask, seed)
    verdict = prove.equivalent(T, U, 4, count_all=True, **QUIET)
    assert isinstance(verdict, Refuted)
    assert (verdict.inputs, verdict.failures) == (len(texts), len(different))
    assert verdict.counterexample.input == different[0]  # texts are in order: shortest first, then the vocabulary's
    hasty = prove.equivalent(T, U, 4, **QUIET)
    assert hasty.counterexample == verdict.counterexample


@pytest.mark.parametrize("seed", range(2))
def test_chain_of_thought_is_walked_as_it_is_run(fronts, seed):
    sizes = Sizes(layers=2, heads=1, width=4, key_width=2, value_width=2, hidden=3, max_length=8, answers=("0", "1"))
    T = random_transformer(Float(2, 3), seed, sizes)
    texts = inputs_of(T, 4)
    by_length = [
        T.run_batch([t for t in texts if len(t) == n], steps=1 + n % 3, engine="reference") for n in range(1, 5)
    ]
    ones = sum(batch.answers.count("1") for batch in by_length)
    claim = Claim(inputs(T, max_length=4, steps=lambda n: 1 + n % 3), answer() != "1")
    verdict = prove.check(claim, count_all=True, **QUIET)
    assert (verdict.failures if isinstance(verdict, Refuted) else 0) == ones


@pytest.mark.parametrize("mask", ["causal", "full"])
def test_traced_values_are_those_of_the_runs(fronts, mask):
    T = random_transformer(Fixed(3), 4, SMALL, Options(mask=mask))
    stage = "layer.1.after_attention"
    claim = Claim(
        inputs(T, max_length=4, min_length=2), (at(stage, "x1", 1) <= at(stage, "x2", -2)) & (logit("NO") < 1)
    )
    failing = 0
    for text in inputs_of(T, 4, 2):
        try:
            run = T.run(text, trace=stage, engine="reference")
        except ArithmeticError:
            failing += 1  # 0/0 refutes a claim that does not speak of it
            continue
        residual = run.residual[stage]
        failing += not (residual[1]["x1"] <= residual[-2]["x2"] and run.logits[0] < 1)
    verdict = prove.check(claim, count_all=True, **QUIET)
    assert 0 < failing == verdict.failures


def test_preconditions_on_tokens_and_predicates():
    T = last_token(Fixed(2), 6)
    claim = Claim(inputs(T, max_length=6), answer() == "1", requires=token(-1) == "1")
    verdict = prove.check(claim, **QUIET)
    assert isinstance(verdict, Proved)
    assert (verdict.inputs, verdict.satisfying) == (126, 63)
    palindrome = Claim(inputs(T, max_length=6), answer() == token(0), requires=holds(lambda text: text == text[::-1]))
    assert prove.check(palindrome, **QUIET)


def test_contradictory_preconditions_are_vacuous_and_never_proved():
    (x,) = variables("x")
    verdict = prove.check(Claim(Values("x"), x * x == 3, requires=(x > 1) & (x < 1)), Fixed(3), **QUIET)
    assert isinstance(verdict, Vacuous)
    assert not verdict
    assert "nothing meets the precondition x > 1 ∧ x < 1" in str(verdict)
    T = last_token(Fixed(2), 4)
    nothing = Claim(inputs(T, max_length=4), answer() == "1", requires=(token(0) == "1") & (token(0) == "0"))
    assert isinstance(prove.check(nothing, **QUIET), Vacuous)


def test_values_put_into_a_block():
    T = doubled(Fixed(3))
    claim = Claim(layers(T, free=["x"]), after("y") == before("x") + before("x"), requires=before("x") >= 0)
    verdict = prove.check(claim, **QUIET)
    assert (verdict.inputs, verdict.satisfying) == (127, 64)
    negative = prove.check(
        Claim(layers(T, free=["x"]), after("y") == before("x") + before("x")), count_all=True, **QUIET
    )
    assert negative.failures == 63
    assert negative.counterexample.values == {"x@0": "-1/8"}
    assert negative.smallest == "globally"
    fixed = Claim(layers(T, free=["x"], fixed={("y", 0): -4}), after("y") <= 0)
    assert prove.check(fixed, **QUIET).counterexample.values == {"x@0": "17/8"}  # −4 + [2·17/8] is the first above 0


def test_a_block_answers_as_the_run_does():
    T = identity(Fixed(2))
    given = before("NO") < before("YES")
    verdict = prove.check(Claim(layers(T), answer() == "YES", requires=given), count_all=True, **QUIET)
    # The errata's table: of the 465 pairs, 73 tie after rounding and 21 are 0/0.
    assert (verdict.satisfying, verdict.failures) == (465, 73 + 21)


def test_a_time_limit_is_unknown_and_says_how_far(monkeypatch):
    monkeypatch.setattr(portions_module, "INPUTS_IN_PORTION", 64)
    T = recogniser(tomita(5), Fixed(2), 16)
    assert prove.language(T, tomita(5), max_length=6, **QUIET)  # kernels are loaded before the limit counts
    verdict = prove.language(T, tomita(5), seconds=0.3, **QUIET)
    assert isinstance(verdict, Unknown)
    assert "time limit" in verdict.reason
    assert 0 < verdict.inputs < 131070
    assert "portions" in verdict.tried[0]
    with pytest.raises(InputError, match="must be a number above 0"):
        prove.language(T, tomita(5), seconds=0, **QUIET)


def test_interrupted_and_resumed_nothing_is_lost_or_counted_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(portions_module, "INPUTS_IN_PORTION", 32)
    T, journal = recogniser(regular("(0*10*1)*0*"), Fixed(2), 9), tmp_path / "journal.json"
    seen, honest = {"judged": 0, "stop": 150}, settings_module.judge

    def judging(claim, setting):
        seen["judged"] += setting.size
        if seen["judged"] >= seen["stop"]:
            raise KeyboardInterrupt
        return honest(claim, setting)

    monkeypatch.setattr(portions_module, "judge", judging)
    with pytest.raises(KeyboardInterrupt):
        prove.language(T, even_ones, journal=journal, **QUIET)
    before_the_interruption = seen["judged"]
    seen["stop"] = 10**9
    verdict = prove.language(T, even_ones, journal=journal, **QUIET)
    assert isinstance(verdict, Proved)
    assert verdict.inputs == 2**10 - 2
    assert "portions were taken from the journal" in verdict.assumptions[-1]
    assert before_the_interruption > 64
    assert 0 < seen["judged"] - (2**10 - 2) <= 64  # repeated: at most the portion that was interrupted
    assert not list(tmp_path.iterdir())  # it has served


def even_ones(text):
    return text.count("1") % 2 == 0


def test_a_journal_of_another_job_is_refused(tmp_path):
    T, journal = recogniser(tomita(4), Fixed(2), 16), tmp_path / "journal.json"
    assert isinstance(prove.language(T, tomita(4), journal=journal, seconds=0.01, **QUIET), Unknown)
    assert journal.exists()
    with pytest.raises(FileError, match="journal of another claim or model"):
        prove.language(T, tomita(7), journal=journal, **QUIET)
    content = json.loads(journal.read_text())
    journal.write_text(json.dumps({**content, "done": {"99999": [1, 1, 0, None, False]}}))
    with pytest.raises(FileError, match="its digest differs from what it holds"):
        prove.language(T, tomita(4), journal=journal, **QUIET)
    journal.write_text(json.dumps(sealed({**content, "done": {"99999": [1, 1, 0, None, False]}})))
    with pytest.raises(FileError, match="a portion that is none of the job's; delete it, or name another"):
        prove.language(T, tomita(4), journal=journal, **QUIET)
    journal.write_text("{")
    with pytest.raises(FileError, match="is not a journal: it is not JSON"):
        prove.language(T, tomita(4), journal=journal, **QUIET)
    with pytest.raises(FileError, match=r"journal is .*there is no folder"):
        prove.language(T, tomita(4), journal=tmp_path / "no" / "journal.json", **QUIET)


def test_very_many_values_stop_at_a_counterexample_and_minimise_it(monkeypatch):
    monkeypatch.setattr("glyptic.prove.methods.enumeration.deciding._SEARCHED_WHOLE", 1)
    monkeypatch.setattr(portions_module, "VALUES_IN_PORTION", 500)
    x, y = variables("x y")
    verdict = prove.check(Claim(Values("x y"), x + (y - x) == y), Fixed(3), method="enumerate", **QUIET)
    assert verdict.smallest == "locally"
    assert verdict.inputs < 127**2
    codes = [int(Fixed(3).code(number(text, Fixed(3)))) for text in verdict.counterexample.values.values()]
    claim = Claim(Values("x y", Fixed(3)), x + (y - x) == y)
    assert fails(claim, codes)
    for k, code in enumerate(codes):  # and nothing one step nearer to 0 fails
        nearer = [*codes[:k], code - (code > 0) + (code < 0), *codes[k + 1 :]]
        assert code == 0 or not fails(claim, nearer)


def test_both_engines_agree():
    x, y = variables("x y")
    claim = Claim(Values("x y"), x * y + B >= y, requires=x / y <= 1)
    for format in (Fixed(2), Float(2, 2)):
        fast, slow = (prove.check(claim, format, engine=e, count_all=True, **QUIET) for e in ("fast", "reference"))
        assert (fast.failures, fast.satisfying, fast.counterexample) == (
            slow.failures,
            slow.satisfying,
            slow.counterexample,
        )


def test_the_plan_covers_every_input_once():
    for vocabulary in ("01", "abc"):
        T = random_transformer(Fixed(2), 0, Sizes(max_length=12, vocabulary=vocabulary))
        for max_length, min_length in ((1, 1), (5, 2), (12, 1), (12, 11)):
            claim = Claim(inputs(T, max_length=max_length, min_length=min_length), answer() == "YES")
            portions = portions_module.plan(claim)
            assert sum(portions_module.size_of(claim, portion) for portion in portions) == claim.subject.count
            assert len(set(portions)) == len(portions)


def test_what_is_too_much_to_enumerate_is_one_sentence():
    T = random_transformer(Fixed(2), 0, Sizes(max_length=64))
    with pytest.raises(InputError, match=r"3\.7e[+]19 elements are too many to enumerate; shorten max_length"):
        prove.decisive(T, 64, seconds=0.5, **QUIET)  # which diagrams do not need to give up
    x, y, z = variables("x y z")
    with pytest.raises(InputError, match="free fewer places, or use method='smt'"):
        prove.check(Claim(Values("x y z"), x + y == z), Fixed(8), method="enumerate", **QUIET)
    long = Claim(inputs(T, max_length=36), answer() == "YES")
    assert len(portions_module.plan(long)) <= 2 * portions_module._MOST_PORTIONS + 1


def test_numbered_inputs_are_in_the_order_of_the_vocabulary():
    rows = trie_module.numbered((2,), 3, 3, 0, 9)
    assert rows.T.tolist() == [[2, a, b] for a in range(3) for b in range(3)]
    assert np.array_equal(trie_module.numbered((2,), 3, 3, 4, 6), rows[:, 4:6])


def test_a_counterexample_that_fractions_do_not_confirm_is_none(monkeypatch):
    """The kernels are made to lie: what fails there does not fail in fractions, so nothing is refuted."""
    T = last_token(Fixed(2), 4)
    honest = settings_module.judge

    def lying(claim, setting):
        satisfying, failing = honest(claim, setting)
        return satisfying, failing if type(setting.arithmetic).__name__ == "Reference" else satisfying

    monkeypatch.setattr(portions_module, "judge", lying)
    (x,) = variables("x")
    for claim in (
        Claim(inputs(T, max_length=3), answer() != "TIE"),
        Claim(Values("x", Fixed(2)), x == x),
        Claim(layers(T), before("zero") == after("zero")),
    ):
        verdict = prove.check(claim, **QUIET)
        assert isinstance(verdict, Unknown)
        assert "does not fail in exact fractions" in verdict.reason


def test_minimising_is_quick_and_bounded():
    """A lone counterexample far from 0 is reached by halving steps, not one by one; and never for longer than allowed."""
    (x,) = variables("x")
    fp16 = parse_format("fp16")
    far = Claim(Values("x", fp16), x <= 1000)
    assert minimised(far, [fp16.code(60000)]) == (fp16.code(1000) + 1,)
    assert minimised(far, [fp16.code(60000)], seconds=0) == (fp16.code(60000),)
    calls = []
    negative = Claim(Values("x", fp16), x >= -1000)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("glyptic.prove.verdicts.minimise.fails", lambda *given: calls.append(given) or fails(*given))
        assert minimised(negative, [fp16.code(-60000)]) == (fp16.code(-1000) - 1,)
    assert len(calls) < 300


def test_a_progress_bar_shows_the_time_left(monkeypatch):
    """On stderr, after a second; here at once and in full, to read it."""
    shown = io.StringIO()
    bar = partial(tqdm, file=shown, mininterval=0, ncols=80)
    monkeypatch.setattr("glyptic.prove.methods.enumeration.deciding.progress_bar", lambda **given: bar(**{**given, "delay": 0}))
    monkeypatch.setattr(portions_module, "INPUTS_IN_PORTION", 16)
    claim = Claim(inputs(last_token(Fixed(2), 8), max_length=8), answer() != "TIE")
    assert prove.check(claim, workers=1)
    states = re.findall(r"(\d+)%\|.*?\| (\S+)/510 \[\d\d:\d\d<(\d\d:\d\d|\?)", shown.getvalue())
    done = [float(count) for _, count, _ in states]
    assert len(done) > 10
    assert done == sorted(done)
    assert states[-1] == ("100", "510", "00:00")
    shown.truncate(0)
    assert prove.check(claim, workers=1, progress=False)
    assert shown.getvalue().strip("\0") == ""


@pytest.mark.parametrize("format", [Float(2, 2), Fixed(14)], ids=str)
def test_two_transformers_in_different_arithmetics_are_compared_by_value(format):
    """Fused products run in another host, or, in F(14), in fractions: the same numbers, whatever stands for them."""
    T = last_token(format, 3)
    U = T.with_options(products="fused")
    names = [(type(a).__name__, getattr(a, "host", None)) for a in (prepared_for(each).arithmetic for each in (T, U))]
    assert names[0] != names[1]
    for one, other in ((T, U), (U, T)):
        both = inputs(one, other, max_length=2)
        said = [logit("0", "a") == logit("0", "b"), at("embedding", "one", 0, "a") == at("embedding", "one", 0, "b")]
        said.append(logit("0", "a") + logit("1", "b") == 1)
        said.append(logit("0", "a") - at("embedding", "zero", -1, "b") == 0)
        for each in said:
            assert isinstance(prove.check(Claim(both, each), **QUIET), Proved), each
            assert isinstance(prove.check(Claim(both, ~each), **QUIET), Refuted), each
        if format.size < 100:
            free = layers(one, other)
            sums = logit("0", "a") + logit("1", "b") == after("zero", of="b") + after("one", of="a")
            assert isinstance(prove.check(Claim(free, sums), **QUIET), Proved)
            assert isinstance(prove.check(Claim(free, ~sums), **QUIET), Refuted)
