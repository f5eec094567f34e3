"""Claims put to solvers: each kind of answer, limits, missing solvers, and agreement with enumeration to the last digit."""

import os
import signal
import sys
import threading

import numpy as np
import pytest
from tests.prove.examples import identity

from glyptic import prove
from glyptic.errors import InputError
from glyptic.exact import Sizes, random_transformer
from glyptic.numbers import Exact, Fixed, Float, Ieee, Q, number, parse_format
from glyptic.prove import LEAST, B, Claim, Proved, Refuted, Unknown, Vacuous, Values, exp, relu, root, variables
from glyptic.prove.claims import expressions
from glyptic.prove.claims.claim import block, inputs
from glyptic.prove.claims.expressions import after, answer, before, defined, logit, token
from glyptic.prove.methods import smt
from glyptic.prove.methods.smt.exp_staircase import exp_code
from glyptic.prove.methods.smt.solvers import SOLVERS, Limits, Reply, ask
from glyptic.theorems.theorem import plain

x, y, z = variables("x y z")

CLAIMS = [
    ("x y", x + (y - x) == y, prove.TRUE),
    ("x y", (x / y) * y == x, y != 0),
    ("x y", x / y <= x, y >= LEAST),
    ("x", exp(x) * exp(x) == exp(x + x), prove.TRUE),
    ("x", root(x) * root(x) == x, x >= 0),
    ("x y", x * y >= 0, (x > 0) & (y > 0)),
    ("x y", x * y > 0, (x > 0) & (y > 0)),
    ("x", relu(x) - relu(-x) == x, prove.TRUE),
    ("x y", (x < y) >> (exp(x) <= exp(y)), prove.TRUE),
    ("x y", (x + y) - y == x, prove.TRUE),
    ("x y", x / y == x / y, prove.TRUE),
]
LONG = pytest.param(Fixed(2, "even"), marks=pytest.mark.slow)
FORMATS = [Fixed(1), Fixed(1, "even"), Q(1, 1), Float(1, 1), Float(2, 1), Ieee(3, 1, subnormals=False), LONG]


@pytest.mark.parametrize("format", FORMATS, ids=str)
def test_solvers_and_enumeration_agree(format) -> None:
    """The same answer, and of the refuted claims the same smallest counterexample."""
    for names, ensures, requires in CLAIMS:
        claim = Claim(Values(names, format), ensures, requires=requires)
        solved = smt.check(claim, format)
        run = prove.check(claim, method="enumerate", workers=1, progress=False)
        assert type(solved) is type(run), claim
        if isinstance(solved, Refuted):
            assert solved.smallest == "globally"
            assert solved.counterexample == run.counterexample, claim


def test_both_solvers_speak() -> None:
    verdict = smt.check(Claim(Values("x", Fixed(8)), x + B + B - B == 0), Fixed(8))
    assert isinstance(verdict, Proved)
    assert [said.split()[0] for said in verdict.solvers] == ["bitwuzla", "z3"]
    assert all(said.endswith("unsat") for said in verdict.solvers)
    assert not any("one solver" in text for text in verdict.assumptions)


def test_one_solver_alone_is_said() -> None:
    verdict = smt.check(Claim(Values("x", Fixed(8)), x + B + B - B == 0), Fixed(8), solvers=["z3"])
    assert isinstance(verdict, Proved)
    assert any("one solver's word" in text for text in verdict.assumptions)


def test_contradictory_preconditions_prove_nothing() -> None:
    verdict = smt.check(Claim(Values("x", Fixed(8)), x == 0, requires=(x > 1) & (x < 1)), Fixed(8))
    assert isinstance(verdict, Vacuous)
    assert not verdict
    assert isinstance(smt.check(Claim(Values("x", Fixed(4)), x == x, requires=x > B), Fixed(4)), Vacuous)


def factoring(width: int) -> str:
    """A product of two numbers that is prime: no short proof."""
    lines = [f"(declare-const {name} (_ BitVec {2 * width}))" for name in "xy"]
    for name in "xy":
        lines.append(
            f"(assert (bvult (_ bv1 {2 * width}) {name}))(assert (bvult {name} (_ bv{1 << width} {2 * width})))"
        )
    return "\n".join([*lines, f"(assert (= (bvmul x y) (_ bv{(1 << (2 * width - 5)) | 0xB5D} {2 * width})))"])


@pytest.mark.parametrize("solver", SOLVERS)
def test_time_limit(solver: str) -> None:
    reply = ask(solver, factoring(60), Limits(0.5, None))
    assert reply.status == "unknown"
    assert reply.reason == "the limit of 0.5 s of processor time"


@pytest.mark.parametrize("solver", SOLVERS)
def test_memory_limit(solver: str) -> None:
    reply = ask(solver, factoring(200), Limits(60, 20))
    assert reply.status == "unknown"
    assert reply.reason == "the memory limit of 20 MB"


def test_what_the_process_holds_already_is_not_the_solvers() -> None:
    held = np.ones(40_000_000)  # 320 MB
    assert ask("bitwuzla", "(declare-const x (_ BitVec 4)) (assert (= x (bvmul x x)))", Limits(20, 100)).status == "sat"
    assert held[-1] == 1


def test_a_check_at_its_limit_says_what_was_tried(monkeypatch) -> None:
    claim = Claim(
        Values("x y z", parse_format("fp16")), (x * y) * z <= x * (y * z) + y, requires=(x > 1) & (y > 1) & (z > 1)
    )
    verdict = smt.check(claim, claim.subject.format, seconds=0.05)
    assert isinstance(verdict, Unknown)
    assert "the limit of 0.05 s of processor time" in verdict.reason
    assert [tried.split()[0] for tried in verdict.tried] == ["bitwuzla", "z3", "cvc5"]


def test_missing_solvers_are_named(monkeypatch) -> None:
    claim = Claim(Values("x", Fixed(4)), x + 0 == x)
    monkeypatch.setitem(sys.modules, "bitwuzla", None)
    monkeypatch.setitem(sys.modules, "cvc5", None)
    verdict = smt.check(claim, Fixed(4))
    assert isinstance(verdict, Proved)  # z3 alone, and it says so
    assert any("one solver's word, z3" in text for text in verdict.assumptions)
    assert "not installed" in verdict.solvers[0]
    monkeypatch.setitem(sys.modules, "z3", None)
    verdict = smt.check(claim, Fixed(4))
    assert isinstance(verdict, Unknown)
    assert "pip install '.[prove]' in Glyptic's folder brings three" in verdict.reason


@pytest.mark.parametrize("solver", SOLVERS)
def test_interrupting_a_solver(solver: str) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and we inherit that
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            ask(solver, factoring(60), Limits(30, None))
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_solvers_do_not_cover_is_said() -> None:
    transformer = random_transformer(Fixed(2), 1)
    verdict = smt.check(Claim(inputs(transformer, max_length=2), answer() == "YES"), Fixed(2))
    assert isinstance(verdict, Unknown)
    assert "enumerated" in verdict.reason
    verdict = smt.check(Claim(Values("x", Exact()), x + 0 == x), Exact())
    assert isinstance(verdict, Unknown)
    with pytest.raises(prove.ClaimError):
        Claim(block(transformer, free=["x0"]), token(5) == "1")


def test_enclosed_exp() -> None:
    """In fp16 exp has too many steps for a table: what follows from order and enclosure is proved, what does not is left open."""
    fp16 = parse_format("fp16")
    positive = Claim(Values("x", fp16), exp(x) >= 1, requires=x >= 0)
    verdict = smt.check(positive, fp16)
    assert isinstance(verdict, Proved)
    assert any("staircases" in text for text in verdict.assumptions)
    near_0 = Claim(Values("x", fp16), exp(x) + 1 != 3, requires=(x >= 0) & (x <= LEAST * 1000))
    assert isinstance(smt.check(near_0, fp16), Proved)
    refuted = smt.check(Claim(Values("x", fp16), exp(x) <= 2), fp16)
    assert isinstance(refuted, Refuted)
    code = fp16.code(number(refuted.counterexample.values["x"], fp16))
    assert exp_code(code - 1, fp16) == fp16.code(2) < exp_code(code, fp16)  # the first whose exp is above 2
    left_open = smt.check(Claim(Values("x", fp16), exp(x) != 2990), fp16)  # true, but only of exp itself
    assert isinstance(left_open, Unknown)
    assert "only enclosed" in left_open.reason


# Blocks ----------------------------------------------------------------------------------------------------------------------


def test_a_random_layer_by_solvers_and_by_enumeration() -> None:
    """Dense random weights, softmax scores free: 0/0 refutes unless it is spoken of."""
    format = Fixed(1)
    for seed in range(6):
        sizes = Sizes(layers=1, heads=1, width=2, key_width=1, value_width=1, hidden=2, max_length=2)
        transformer = random_transformer(format, seed, sizes)
        subject = block(transformer, free=["x0", "x1"], positions=2)
        claims = [
            Claim(subject, after("x0", 1) <= before("x1", 1) + 1),
            Claim(subject, answer() != "YES"),
            Claim(subject, (answer() == "UNDEFINED") | (logit("YES") >= logit("NO")) | (answer() != "YES")),
            Claim(subject, defined()),
            Claim(subject, after("x0", 0) == before("x0", 0), requires=(before("x0", 0) > 0) & defined()),
        ]
        for claim in claims:
            solved = smt.check(claim, format)
            run = prove.check(claim, method="enumerate", workers=1, progress=False)
            assert type(solved) is type(run), (seed, str(claim))
            if isinstance(solved, Refuted):
                assert solved.counterexample == run.counterexample


def test_fused_and_rounded_products_are_told_apart() -> None:
    """[x + y/2] with the product rounded or not: one claim, two readings of the same weights."""
    said = logit("YES") == before("x") + before("y") * 0.5
    verdicts = {}
    for products in ("rounded", "fused"):
        transformer = plain(Fixed(2), products, output=[[1, 0], [1, "1/2"]]).with_options(answer="logits")
        verdicts[products] = smt.check(Claim(block(transformer, free=["x", "y"]), said), Fixed(2))
    assert isinstance(verdicts["rounded"], Proved)
    assert isinstance(verdicts["fused"], Refuted)


# What a verdict rests on -------------------------------------------------------------------------------------------------------


def test_a_precondition_that_nobody_can_decide_proves_nothing(monkeypatch) -> None:
    """x·y = 1 has solutions; but if no solver finds one in time, what follows from it may follow from nothing."""
    claim = Claim(Values("x y", Fixed(8)), x != 0, requires=x * y == 1)
    assert isinstance(smt.check(claim, Fixed(8)), Proved)
    asked = []

    def short_of_time(solver, script, limits):
        asked.append(script)
        return ask(solver, script, limits) if len(asked) <= 2 else Reply(solver, "unknown", reason="the time limit")

    monkeypatch.setattr("glyptic.prove.methods.smt.solvers.ask", short_of_time)
    verdict = smt.check(claim, Fixed(8))
    assert isinstance(verdict, Unknown)
    assert "no values are known that meet it" in verdict.reason
    assert [tried.split()[0] for tried in verdict.tried] == ["bitwuzla", "z3", "the", "the", "the"]


def test_a_precondition_met_by_an_enclosure_only_is_not_met() -> None:
    """In fp16 exp is only enclosed: a solver thinks that it may be 2990, between exp 8 and exp of the next number."""
    fp16 = parse_format("fp16")
    eight = fp16.code(8)
    assert exp_code(eight, fp16) < fp16.code(2990) < exp_code(eight + 1, fp16)
    verdict = smt.check(Claim(Values("x", fp16), x > 0, requires=exp(x) == 2990), fp16)
    assert isinstance(verdict, Unknown)
    assert "no values are known that meet it" in verdict.reason


def test_every_verdict_of_solvers_names_what_it_rests_on() -> None:
    T = identity(Fixed(2)).with_options(products="fused")
    U = identity(Fixed(2)).with_options(products="fused", answer="logits")
    subject = block(T, U)
    for claim, kind in [
        (Claim(subject, logit("NO", "a") == logit("NO", "b")), Proved),
        (Claim(subject, answer("a") == answer("b")), Refuted),
        (Claim(subject, answer("a") == answer("b"), requires=logit("NO", "a") < logit("NO", "b")), Vacuous),
    ]:
        verdict = smt.check(claim, Fixed(2))
        assert isinstance(verdict, kind)
        said = " ".join(verdict.assumptions)
        parts = (
            "ties to the smaller",
            "transformer a is read",
            "answer softmax",
            "transformer b is read",
            "answer logits",
            "exp",
        )
        for part in (*parts, "word alone" if kind is Refuted else "circuits"):
            assert part in said, (part, said)
    alone = Claim(Values("x", Fixed(2)), x == x, requires=(x < 1) & (x > 1))
    assert "one solver's word, z3" in " ".join(smt.check(alone, Fixed(2), solvers=["z3"]).assumptions)
    values = smt.check(Claim(Values("x", Fixed(2, "even")), exp(x) >= 0), Fixed(2, "even"))
    assert "ties to even" in values.assumptions[0]
    assert "exp is correctly rounded" in values.assumptions[1]


def test_limits_reach_every_question(monkeypatch) -> None:
    """Of time and of memory: the claim itself, its precondition, and the search for the smallest counterexample."""
    seen = []

    def noted(solver, script, limits):
        seen.append(limits)
        return ask(solver, script, limits)

    for module in ("solvers", "smallest"):
        monkeypatch.setattr(f"glyptic.prove.methods.smt.{module}.ask", noted)
    claim = Claim(Values("x y", Fixed(8)), x + (y - x) == y, requires=x > 0)
    assert isinstance(prove.check(claim, method="smt", seconds=7, megabytes=900), Refuted)
    assert len(seen) > 5
    assert all(limits.seconds <= 7 and limits.megabytes == 900 for limits in seen)


def test_a_check_at_its_memory_limit_says_so() -> None:
    fp16 = parse_format("fp16")
    claim = Claim(Values("x y z", fp16), (x * y) * z <= x * (y * z) + y, requires=(x > 1) & (y > 1) & (z > 1))
    verdict = smt.check(claim, fp16, seconds=60, megabytes=20, solvers=["z3"])
    assert isinstance(verdict, Unknown)
    assert verdict.reason == "the memory limit of 20 MB"
    with pytest.raises(InputError, match="megabytes"):
        prove.check(Claim(Values("x", Fixed(2)), x == x), method="enumerate", megabytes=20)


@pytest.mark.parametrize("name", ["a|b", "x\\y", "exp.0", "n1", "(x)", "é"])
def test_any_name_will_do(name) -> None:
    v = expressions.Variable(name)
    claim = Claim(Values([name], Fixed(4)), exp(v) >= 1)
    assert smt.check(claim, Fixed(4)).counterexample.values == {name: "-1/16"}


def test_the_smallest_of_three_values_is_that_of_enumeration() -> None:
    """Both sums of distances are 3, and both first values are ½ from 0: the positive one comes first, whatever follows."""
    positive_first = (x == 0.5) & (y == 1) & (z == 0)
    nearer_second = (x == -0.5) & (y == 0.5) & (z == 0.5)
    claim = Claim(Values("x y z", Fixed(1)), ~(positive_first | nearer_second))
    found = [prove.check(claim, method=method, progress=False) for method in ("enumerate", "smt")]
    assert [one.smallest for one in found] == ["globally"] * 2
    assert [one.counterexample.values for one in found] == [{"x": "1/2", "y": "1", "z": "0"}] * 2


def test_terms_of_more_than_62_bits_are_tried_against_runs() -> None:
    claim = Claim(Values("x"), root(abs(x)) >= 0)
    assert isinstance(prove.check(claim, "q:0,31", method="smt", seconds=20), Proved)
