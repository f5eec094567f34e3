"""Claims by states: for every length, against enumeration where that can reach, and where it cannot."""

import time

import numpy as np
import pytest
from tests.states.sampling import harsh, sampled

from glyptic import languages, programs, prove
from glyptic.errors import InputError
from glyptic.exact import Head, Layer, Norm, Options, Transformer
from glyptic.languages import regular
from glyptic.numbers import encode
from glyptic.prove import Claim, Proved, Refuted, Unknown, Vacuous, check, exists, inputs
from glyptic.prove.certificates.rechecking import recheck
from glyptic.prove.certificates.saving import load_certificate, save_certificate
from glyptic.prove.claims import expressions as e
from glyptic.prove.claims.conditions import ClaimError
from glyptic.prove.methods.states import check as search_of_states
from glyptic.prove.questions import decisiveness, defined_attention, equivalence, recognition
from glyptic.states.intended import first_difference, majority


def claims_about(transformer: Transformer, other: Transformer, longest: int) -> list[Claim]:
    """Claims of every kind that a state can decide."""
    last = f"layer.{len(transformer.layers) - 1}.after_feed_forward"
    subject, both = inputs(transformer, max_length=longest), inputs(transformer, other, max_length=longest)
    ends, long = languages.regular(".*01"), inputs(transformer, max_length=longest, min_length=3)
    return [
        decisiveness(transformer, longest),
        defined_attention(transformer, longest),
        recognition(transformer, ends, longest),
        equivalence(transformer, other, longest),
        Claim(subject, e.at(last, "x0", -1) <= e.at("layer.0.after_attention", "x1", -1)),
        Claim(subject, e.defined() >> (e.logit("YES") >= e.logit("NO"))),
        Claim(subject, (e.token(-1) == "1") >> (e.answer() != "NO")),
        Claim(long, e.answer() == "YES", e.accepted(ends)),
        exists(long, (e.answer() == "YES") & e.accepted(ends)),
        Claim(both, (e.answer("a") == "YES") >> (e.answer("b") == "YES")),
    ]


def settled(verdict) -> tuple:
    """What two methods must agree on."""
    example = getattr(verdict, "counterexample", None) or getattr(verdict, "witness", None)
    return type(verdict).__name__, example


@pytest.mark.parametrize("seed", [1, 3, 6, 7, 9, 12, 16])
def test_claims_by_states_are_those_by_enumeration(seed: int) -> None:
    transformer = sampled(seed)
    other = sampled(seed + 100).in_format(transformer.format).replace(name="other")
    for number, claim in enumerate(claims_about(transformer, other, 6)):
        by_states = check(claim, method="states", progress=False)
        if isinstance(by_states, Unknown):
            assert "budget" in by_states.reason, by_states
            continue
        by_inputs = check(claim, method="enumerate", progress=False, backend="sequential")
        assert settled(by_states) == settled(by_inputs), number


def test_undefined_runs_are_told_from_others() -> None:
    refuted = 0
    for seed in range(6):
        transformer = harsh(seed, "softmax", "none")
        for claim in (decisiveness(transformer, 6), defined_attention(transformer, 6)):
            by_states = check(claim, method="states", progress=False)
            by_inputs = check(claim, method="enumerate", progress=False, backend="sequential")
            assert settled(by_states) == settled(by_inputs)
            refuted += isinstance(by_states, Refuted)
    assert refuted >= 4


def test_claims_for_every_length() -> None:
    transformer = programs.open("same-ends", "fixed:2")
    proved = prove.language(transformer, languages.regular(".|0.*0|1.*1"))
    assert isinstance(proved, Proved) and proved.method == "states"
    assert str(proved).startswith("Proved, for every length: language")
    assert prove.decisive(transformer) and prove.never_zero_attention(transformer)
    assert prove.equivalent(transformer, ~~transformer)
    refuted = prove.equivalent(programs.open("at-least:2", "fixed:2"), programs.open("at-least:3", "fixed:2"))
    assert isinstance(refuted, Refuted) and refuted.counterexample.input == ("1", "1") and refuted.smallest == "globally"


def test_wrong_only_beyond_what_enumeration_reaches() -> None:
    """Right at every length that could be run, and wrong beyond: told with the shortest input."""
    for name, format, length in (
        ("averaging-majority", "fixed:3", 127),
        ("averaging-majority", "fixed:4", 511),
        ("counting-majority", "fixed:6", 128),
    ):
        wrong = first_difference(programs.open(name, format).machine(), majority("1", "01"))
        assert wrong is not None and len(wrong) == length, (name, format)
        assert programs.open(name, format).answer(wrong) == ("NO" if wrong.count("1") * 2 > len(wrong) else "YES")
    counts = [tuple(min(state + (token == "1"), 65) for token in "01") for state in range(66)]
    exactly = languages.Automaton(("0", "1"), tuple(counts), frozenset({64}), name="exactly 64")
    forced = programs.by_name("exactly:64", "float:5,3", force=True)  # where 64 + 1 rounds to 64
    verdict = prove.language(forced, exactly, progress=False)
    assert isinstance(verdict, Refuted) and verdict.counterexample.input == ("1",) * 65
    assert isinstance(prove.language(programs.open("exactly:64", "float:5,4"), exactly, progress=False), Proved)


def test_tables_of_positions_by_states() -> None:
    """A claim on 2^65 inputs, which enumeration could never do; `auto` takes the states, and says so."""
    transformer = programs.open("contains:101,64", "fixed:6")
    proved = prove.language(transformer, languages.regular(".*101.*"), progress=False)
    assert isinstance(proved, Proved) and proved.method == "states"
    assert proved.over.startswith("all 36,893,488,147,419,103,230 inputs")
    refuted = prove.language(transformer, languages.regular(".*1011.*|.*1010.*"), method="states", progress=False)
    assert isinstance(refuted, Refuted) and refuted.counterexample.input == ("1", "0", "1")


def test_what_states_do_not_hold_is_unknown() -> None:
    transformer = programs.open("occurs", "fixed:2")
    for condition, reason in (
        (e.holds(lambda text: True, "any"), "the Python predicate any"),
        (e.token(0) == "0", "a position other than the last"),
        (e.at("embedding", "letter", 0) >= 0, "a position other than the last"),
        (e.score(0, 0, -1, 0) >= 0, "scores and weights of attention"),
    ):
        verdict = check(Claim(inputs(transformer), condition))
        assert isinstance(verdict, Unknown) and reason in verdict.reason
    nothing = check(Claim(inputs(transformer), e.answer() == "YES", e.answer() == "TIE"))
    assert isinstance(nothing, Vacuous)
    with pytest.raises(InputError, match="infinitely many"):
        check(decisiveness(transformer), method="enumerate", progress=False)
    too_many = check(decisiveness(programs.open("random:0,2,12", "fixed:8").replace(period=1)), progress=False)
    assert isinstance(too_many, Unknown) and "the budget of" in too_many.reason


def test_chains_of_thought_by_states() -> None:
    """A constant number of steps: the machine reads its own answers."""
    for seed in (0, 3, 5, 8):
        transformer = sampled(seed)
        reads = transformer.replace(answers=transformer.vocabulary)
        for steps in (2, 3):
            claim = Claim(inputs(reads, max_length=5, steps=steps), e.answer() != "1")
            by_states, by_inputs = (check(claim, method=m, progress=False) for m in ("states", "enumerate"))
            assert settled(by_states) == settled(by_inputs)
            endless = check(Claim(inputs(reads, steps=steps), e.answer() != "1"), progress=False)
            assert type(endless) is type(by_states) or isinstance(endless, Refuted)


def test_certificates_of_every_length(tmp_path) -> None:
    transformer = programs.open("same-ends", "fixed:2")
    for number, language in enumerate((".|0.*0|1.*1", "1.*")):
        claim = recognition(transformer, languages.regular(language))
        verdict = check(claim, progress=False)
        path = tmp_path / f"{number}.json"
        save_certificate(path, claim, verdict)
        _, again = load_certificate(path)
        assert again == verdict
        assert recheck(path).agrees


def test_every_length_from_some_length_on() -> None:
    occurs = programs.open("occurs", "fixed:2")
    verdict = prove.language(occurs, languages.regular("1|(0|1)(0|1).*"), min_length=3, progress=False)
    assert isinstance(verdict, Refuted)
    assert "'000'" in str(verdict)
    assert isinstance(prove.language(occurs, languages.regular(".*1.*"), min_length=3, progress=False), Proved)
    assert isinstance(prove.decisive(occurs, min_length=10**30, seconds=0.5, progress=False), Unknown)
    reads = Transformer.of("fixed:2", "ab", ["x"], [[1], [0]], [[0], [1]], ["a", "b"], period=1)
    with pytest.raises(ClaimError, match="about one step"):
        Claim(inputs(reads, min_length=2, steps=2), defined_attention(reads).ensures)


def test_lengths_beyond_the_budget_are_refused_before_anything_is_made() -> None:
    from glyptic.prove.elements.counting import describe
    from glyptic.prove.questions import decisiveness
    from glyptic.states import TooManyStates

    endless = programs.open("occurs", "fixed:2")
    with pytest.raises(TooManyStates, match=r"100,000,000 positions of 2 tokens are 200,000,001 states, .* smaller length"):
        endless.machine(length=10**8)
    assert "more than 2^15000" in describe(decisiveness(endless, max_length=15_000))


def test_long_inputs_are_decided_or_given_up_in_time() -> None:
    """2^20,000 inputs and more: not counted length by length, nor run; a chain of states is made small in n log n steps."""
    occurs = programs.open("occurs", "fixed:2")
    assert isinstance(prove.decisive(occurs, 20_000, progress=False), Proved)
    start = time.process_time()
    late = prove.decisive(occurs, 90_000, seconds=1e-3, progress=False)
    assert isinstance(late, Unknown) and "time limit" in late.reason and time.process_time() - start < 10


def test_long_counterexamples_are_confirmed_within_the_time() -> None:
    """In fractions where they can be; else by the compiled engine, which the verdict says; else it is no counterexample yet."""
    occurs = programs.open("occurs", "fixed:2")

    def refuted(length: int, seconds: float | None):
        start = time.process_time()
        verdict = prove.language(occurs, languages.regular("0*"), min_length=length, seconds=seconds, progress=False)
        assert time.process_time() - start < 30
        return verdict

    assert isinstance(refuted(5, 60.0), Refuted) and not any("compiled" in one for one in refuted(5, 60.0).assumptions)
    long = refuted(2000, 20.0)
    assert isinstance(long, Refuted) and long.counterexample.input[:-1] == ("0",) * 1999
    assert "run by the compiled engine alone" in long.assumptions[-1] and "'0000" in str(long)
    exhausted = refuted(2000, 1e-9)
    assert isinstance(exhausted, Unknown) and "time limit" in exhausted.reason


def test_a_counterexample_that_no_run_confirms_in_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from glyptic.prove.methods.states import deciding

    monkeypatch.setattr(deciding, "_run_within", lambda *given: None)
    verdict = prove.language(programs.open("occurs", "fixed:2"), languages.regular("0*"), progress=False)
    assert isinstance(verdict, Unknown) and "no run confirmed it" in verdict.reason and "input '0'" in str(verdict)


def test_a_counterexample_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from glyptic.prove.verdicts import minimise

    runs, run = [], minimise.visit_in_pieces
    monkeypatch.setattr(minimise, "visit_in_pieces", lambda walk, *more: runs.append(walk) or run(walk, *more))
    monkeypatch.setattr(minimise, "whole_visit", None)
    assert isinstance(prove.language(programs.open("occurs", "fixed:2"), languages.regular("0*"), progress=False), Refuted)
    assert len(runs) == 1


@pytest.mark.parametrize("steps", [1, 3])
def test_runs_in_pieces_are_whole_runs(steps: int) -> None:
    from glyptic.prove.elements.batches import judge, setting_of_visit, walk_of
    from glyptic.prove.elements.trie import visit_in_pieces, whole_visit

    for seed in range(12):
        made = harsh(seed, "softmax", ("none", "pre", "post")[seed % 3]) if seed % 2 else sampled(seed)
        transformer = made.replace(answers=made.vocabulary)
        claim = Claim(inputs(transformer, max_length=9, steps=steps), e.answer() == "1", e.answer() != "0")
        tokens = np.random.default_rng(seed).integers(0, len(transformer.vocabulary), (9, 50))
        walk = walk_of(claim)
        whole = judge(claim, setting_of_visit(walk, whole_visit(walk, tokens)))
        for size in (1, 2, 4, 9):
            pieces = judge(claim, setting_of_visit(walk, visit_in_pieces(walk, tokens, size, lambda: None)))
            assert all(np.array_equal(a, b) for a, b in zip(whole, pieces, strict=True))


def test_more_positions_than_there_are_are_refused() -> None:
    with pytest.raises(InputError, match=r"length is 9, and .* has 6 positions; give a smaller length"):
        programs.open("first-equals-last:6", "fixed:2").machine(length=9)


def test_lengths_beyond_all_bounds_are_refused_at_once() -> None:
    occurs = programs.open("occurs", "fixed:2")
    for most in (10**6 + 1, 10**9, 10**30):
        with pytest.raises(ClaimError, match=r"max_length is .*leave max_length out, for every length"):
            prove.language(occurs, regular(".*1.*"), most, seconds=3)


def test_an_automaton_must_know_every_token() -> None:
    occurs = programs.open("occurs", "fixed:2")
    for method in ("auto", "states", "enumerate"):
        with pytest.raises(ClaimError, match="the token '0' is not in the alphabet 1; give the automaton all tokens"):
            prove.language(occurs, regular(".*1.*", alphabet="1"), 4, method=method)


@pytest.mark.parametrize("kind", ["softmax", "max-subtracted", "leftmost", "average"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_coordinates_where_every_input_is_undefined_are_never_read(kind: str, norm: str) -> None:
    """The first layer's norm is 0/0 for every input: what comes after it, the final norm included, holds for none of them."""
    one, head = encode([1], "fixed:1"), Head.of("fixed:1", [[1]], [[1]], [[1]], [[1]])
    never = Norm(one, encode([0], "fixed:1"), encode(0, "fixed:1"), "layer")
    layer, options = Layer((head,), None, never, None), Options(norm=norm, attention=kind)  # type: ignore[arg-type]
    final = never if norm == "pre" else None
    parts = ("fixed:1", "01", ["x"], [[1], [1]], [[1], [-1]], ["YES", "NO"])
    transformer = Transformer.of(*parts, layers=[layer, layer], period=1, options=options, final_norm=final)
    for stage in ("layer.1.after_attention", *(["final_norm"] if final else [])):
        for max_length in (None, 4):
            claim = Claim(inputs(transformer, max_length=max_length), e.at(stage, "x") >= 0, name="c")
            by_states = check(claim, method="states")
            assert isinstance(by_states, Refuted) and by_states.counterexample.input == ("0",)
        assert isinstance(check(claim, method="enumerate"), Refuted)


def test_an_unknown_answer_names_no_option_that_there_is_not() -> None:
    claim = recognition(programs.open("averaging-majority", "fixed:8"), regular(".*1.*"))
    for states, seconds, raised in ((1000, None, "smaller format; a"), (10**8, 0.3, ", or raise the time limit; a")):
        found = search_of_states(claim, states=states, seconds=seconds)
        assert isinstance(found, Unknown) and raised in found.reason and "states=" not in found.reason
