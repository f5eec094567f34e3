"""Claims on inputs by decision diagrams: the verdicts and counts of enumeration, and lengths beyond its reach."""

from dataclasses import replace

import numpy as np
import pytest

from glyptic import languages, prove
from glyptic.exact import Options, Sizes, random_transformer
from glyptic.numbers import Exact, Fixed, Float, Q
from glyptic.programs import by_name
from glyptic.prove import Claim, Proved, Refuted, Unknown, Vacuous
from glyptic.prove.claims.claim import exists, inputs
from glyptic.prove.claims.expressions import (
    Attention,
    Defined,
    accepted,
    answer,
    at,
    defined,
    logit,
    maximum,
    parameter,
    token,
    where,
)
from glyptic.prove.methods import symbolic
from glyptic.prove.methods.symbolic.diagrams import Diagrams
from glyptic.prove.questions import decisiveness, equivalence, recognition

DECIDERS = [
    "contains:101,7",
    "first-equals-last:7",
    "majority:7",
    "parity:7",
    "brackets:7",
    "palindromes:7",
    "modular:3,max_length=7",
]


def agree(claim: Claim):
    """Both methods give the same answer, to the last count; what they found."""
    found = prove.check(claim, method="symbolic")
    run = prove.check(claim, method="enumerate", workers=1, progress=False, count_all=True)
    assert type(found) is type(run), (str(claim), found, run)
    for part in ("over", "counterexample", "witness", "failures", "smallest"):
        assert getattr(found, part, None) == getattr(run, part, None), (str(claim), part)
    if getattr(found, "satisfying", None) is not None:
        assert found.satisfying == run.satisfying
    return found


@pytest.mark.parametrize("name", DECIDERS)
def test_every_built_in_decider_as_by_enumeration(name) -> None:
    T = by_name(name, Fixed(4))
    assert isinstance(agree(decisiveness(T, 6)), Proved | Refuted)
    some = inputs(T, max_length=6)
    agree(Claim(some, answer() == T.answers[0]))
    agree(Claim(some, answer() == T.answers[-1], requires=token(0) == token(-1)))
    agree(Claim(some, Defined(attention=True)))
    agree(Claim(some, logit(T.answers[0]) <= logit(T.answers[-1]) + 1))
    agree(exists(some, answer() == T.answers[0], requires=token(-1) == T.vocabulary[-1]))
    if T.vocabulary == ("0", "1"):
        agree(recognition(T, languages.tomita(4), 6, yes=T.answers[-1], no=T.answers[0]))


OPTIONS = [
    Options(),
    Options(mask="full"),
    Options(mask="strict"),
    Options(attention="leftmost", ties="first"),
    Options(attention="rightmost", products="fused", answer="logits"),
    Options(attention="average"),
    Options(attention="max-subtracted", scale=True),
    Options(norm="pre"),
    Options(norm="post", products="fused"),
]
FORMATS = [Fixed(2), Fixed(1, "even"), Q(1, 2), Float(2, 2)]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.attention}-{o.mask}-{o.norm}-{o.products}")
def test_random_transformers_as_by_enumeration(options) -> None:
    """Dense weights, three tokens, every stage and head readable, undefined runs among them."""
    kinds = set()
    turn = OPTIONS.index(options)
    for seed, format in enumerate((FORMATS[turn % 4], FORMATS[(turn + 1) % 4])):
        sizes = Sizes(layers=2, heads=1, width=3, key_width=2, value_width=2, hidden=3, max_length=4, vocabulary="abc")
        T = random_transformer(format, seed, sizes, options)
        some = inputs(T, max_length=3)
        stage = "layer.0.after_attention"
        claims = [
            decisiveness(T, 3),
            Claim(some, at(stage, "x0") <= at("layer.1.after_feed_forward", "x1", 0), requires=defined()),
            Claim(some, (at("embedding", "x2") > 0) == (maximum(at(stage, "x2"), 0) > 0)),
            Claim(some, where(token(0) == "a", logit("YES"), 1) / at("embedding", "x1") != logit("NO")),
            Claim(some, parameter("output", 0, 0) <= at(stage, "x0", 0)),
            Claim(some, answer() != "NO", requires=(token(-1) == "b") & defined()),
        ]
        if options.mask != "strict":
            claims.append(Claim(some, Attention("weight", 1, 0, 0, 0) == 1, requires=defined()))
        kinds |= {type(agree(claim)) for claim in claims}
    assert Refuted in kinds


def test_two_transformers_and_vacuous_claims() -> None:
    T = by_name("parity:6", Fixed(3))
    assert isinstance(agree(equivalence(T, T.with_options(products="fused"), 6)), Proved)
    assert isinstance(agree(equivalence(T, T.with_options(attention="average"), 6)), Proved | Refuted)
    other = replace(T, token_embedding=np.roll(T.token_embedding, 1, axis=0))
    assert isinstance(agree(equivalence(T, other, 6)), Refuted)
    assert isinstance(agree(Claim(inputs(T, max_length=5), answer() == "YES", requires=answer() == "TIE")), Vacuous)


def test_a_million_million_million_inputs() -> None:
    """All inputs up to 64 tokens, 2^65 of them, against the automaton; one wrong answer among them is found."""
    T = by_name("parity:64", Fixed(7))
    odd = languages.regular("0*1(0*10*1)*0*")
    verdict = prove.language(T, odd)  # nobody enumerates these
    assert isinstance(verdict, Proved)
    assert (verdict.method, verdict.inputs) == ("symbolic", None)
    assert "all 36,893,488,147,419,103,230 inputs" in verdict.over
    never = languages.regular("0*1(0*10*1)*0*").complement()
    refuted = prove.language(T, never)
    assert refuted.failures == 2**65 - 2
    assert refuted.counterexample.input == ("0",)
    ends = Claim(inputs(T, max_length=64, min_length=64), answer() == "YES", requires=accepted(odd) & (token(-1) == "0"))
    assert prove.check(ends).satisfying == 2**62


def test_what_is_not_a_function_of_the_tokens_is_said_and_enumerated() -> None:
    T = by_name("parity:4", Fixed(3))
    predicate = recognition(T, lambda text: text.count("1") % 2 == 1, 4)
    verdict = prove.check(predicate, method="symbolic")
    assert isinstance(verdict, Unknown)
    assert "predicate" in verdict.reason
    chain = Claim(inputs(random_transformer(Fixed(2), 1, Sizes(answers=("0", "1"))), max_length=2, steps=2), answer() == "0")
    assert "several steps" in prove.check(chain, method="symbolic").reason
    exact = Claim(inputs(random_transformer(Exact(), 1), max_length=2), answer() == "YES")
    assert "rationals" in prove.check(exact, method="symbolic").reason
    x = prove.variables("x")[0]
    assert "values" in prove.check(Claim(prove.Values("x", Fixed(2)), x == x), method="symbolic").reason


def test_diagrams_that_grow_too_large_are_left_for_enumeration(monkeypatch) -> None:
    T = random_transformer(Fixed(8), 3, Sizes(max_length=8))
    claim = decisiveness(T, 6)
    verdict = symbolic.check(claim, nodes=200)
    assert isinstance(verdict, Unknown)
    assert verdict.reason == "the limit of 200 nodes of decision diagrams"
    assert symbolic.check(claim, seconds=0).reason == "the limit of 0 s of processor time"
    monkeypatch.setattr("glyptic.prove.checking.ENUMERATED", 10)
    monkeypatch.setattr("glyptic.prove.checking.FEW_STATES", 1)  # nor are there states to go by
    few = {"seconds": None, "nodes": 200}
    monkeypatch.setattr("glyptic.prove.methods.symbolic.deciding.check.__wrapped__.__kwdefaults__", few)
    assert prove.check(claim, workers=1, progress=False).method == "enumeration"


def test_a_fault_in_the_arithmetic_is_seen_before_anything_is_proved(monkeypatch) -> None:
    claim = decisiveness(by_name("parity:8", Fixed(4)))
    monkeypatch.setattr("glyptic.prove.methods.symbolic.inputs.Runs.failed", lambda self, length: length > 4)
    verdict = symbolic.check(Claim(claim.subject, answer() == "UNDEFINED", requires=token(0) != token(0)))
    assert isinstance(verdict, Vacuous)
    verdict = symbolic.check(Claim(inputs(by_name("parity:8", Fixed(4)), max_length=8, min_length=5), ~defined()))
    assert isinstance(verdict, Unknown)
    assert "a fault in the diagrams" in verdict.reason


def test_a_certificate_is_rechecked_by_diagrams(tmp_path) -> None:
    claim = decisiveness(by_name("parity:32", Fixed(6)))
    verdict = prove.check(claim)
    prove.save_certificate(tmp_path / "c.json", claim, verdict)
    again = prove.recheck(tmp_path / "c.json")
    assert again.proved
    assert again.said.method == "symbolic"
    refuted = Claim(claim.subject, answer() == "NO", name="never odd")
    prove.save_certificate(tmp_path / "r.json", refuted, prove.check(refuted))
    again = prove.recheck(tmp_path / "r.json")
    assert again.agrees
    assert f"its counts are confirmed: {2**32 - 1:,} of {2**33 - 2:,} fail" in " ".join(again.details)


def test_diagrams_are_functions() -> None:
    """Every operation at every input, truth values kept apart from numbers."""
    chance, D = np.random.default_rng(0), Diagrams(3)
    table = chance.integers(0, 3, (2, 3, 3, 3))

    def diagram(values, position=0):
        return int(values) if position == 3 else D.token(position, [diagram(part, position + 1) for part in values])

    a, b = map(diagram, table)
    total, same = D.apply("sum", lambda x, y: x + y, a, b), D.apply("same", lambda x, y: x == y, a, b)
    for place in np.ndindex(3, 3, 3):
        assert D.at(total, place) == table[0][place] + table[1][place]
        assert D.at(same, place) is bool(table[0][place] == table[1][place])
    assert D.count(same, 3) == (table[0] == table[1]).sum()
    assert D.first(same, 3) == tuple(np.argwhere(table[0] == table[1])[0])
    assert D.token(0, (True, False, False)) is not D.token(0, (1, 0, 0))
    assert D.first(False, 2) is None
