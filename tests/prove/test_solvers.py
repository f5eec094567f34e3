"""Solvers one by one: the same answers to the same scripts, limits of processor time, and no script that breaks them."""

import subprocess

import pytest

from glyptic.numbers import Fixed
from glyptic.prove import Claim, Proved, Refuted, Values, variables
from glyptic.prove.methods import smt
from glyptic.prove.methods.smt import bits, solvers
from glyptic.prove.methods.smt.solvers import SOLVERS, Reply, SolverLimits, ask, ask_each, opinions

x, y = variables("x y")
COMBINATIONS = [None, ("bitwuzla",), ("z3",), ("cvc5",), ("z3", "cvc5"), SOLVERS]
EASY = "(set-logic QF_BV)(declare-const v (_ BitVec 8))(assert (= (bvmul v v) (_ bv49 8)))"
HARD = """(set-logic QF_BV)(declare-const x (_ BitVec 44))(declare-const y (_ BitVec 44))
(assert (bvult (_ bv1 44) x))(assert (bvult x (_ bv4194304 44)))(assert (bvult (_ bv1 44) y))(assert (bvult y (_ bv4194304 44)))
(assert (= (bvmul x y) (_ bv549755814007 44)))"""  # a product that is prime: seconds of work for each solver


@pytest.mark.parametrize("solver", SOLVERS)
def test_scripts_without_content_have_their_plain_answers(solver) -> None:
    start = "(set-logic QF_BV)\n"
    assert ask(solver, bits.script([bits.FALSE])).status == "unsat"
    assert ask(solver, bits.script([bits.TRUE])).status == "sat"
    assert ask(solver, bits.script([])).status == "sat"
    declared = start + "(declare-const |v0| (_ BitVec 7))(declare-const |b| Bool)"
    assert ask(solver, declared + "(assert b)").status == "sat"
    assert ask(solver, declared + "(assert false)(assert b)").status == "unsat"
    assert ask(solver, declared + "(assert (= v0 (bvadd v0 (_ bv1 7))))").status == "unsat"
    found = ask(solver, declared + "(assert (= v0 (_ bv93 7)))")
    assert (found.status, found.model["v0"]) == ("sat", 93)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "script", ["(assert", "(assert (bvadd u u))", "(declare-const u (_ BitVec 3))(assert u)", ")", "(get-value (u))"]
)
def test_a_script_that_cannot_be_read_is_an_unknown_with_its_reason(solver, script) -> None:
    reply = ask(solver, script)
    assert reply.status == "unknown"
    assert "a failure of the solver: " in reply.reason
    assert "\n" not in reply.reason


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_script_of_many_nodes_is_read(solver) -> None:
    value = bits.variable("v", 16)
    for k in range(20_000):
        value = bits.add(value, bits.constant(2 * k + 1, 16))
    odd = bits.equal(bits.extract(value, 0), bits.constant(1, 1))
    assert ask(solver, bits.script([odd])).status == "sat"


@pytest.mark.parametrize("chosen", COMBINATIONS, ids=str)
def test_claims_that_fold_are_decided_by_any_solvers(chosen) -> None:
    """z3's model of x − x < 0 in fixed:6 holds terms where numbers are expected."""
    for format in (Fixed(2), Fixed(6)):
        for ensures, kind in [(x - x < 0, Refuted), (x - x == 0, Proved), (x < x, Refuted), (x + y >= y, Refuted)]:
            verdict = smt.check(Claim(Values("x y", format), ensures), format, solvers=chosen)
            assert isinstance(verdict, kind), (str(ensures), verdict)


def test_the_third_opinion_is_asked_where_one_could_not_say(monkeypatch) -> None:
    status = {"bitwuzla": "unsat", "z3": "unsat", "cvc5": "unsat"}
    monkeypatch.setattr(solvers, "ask", lambda solver, script, limits: Reply(solver, status[solver]))
    said = lambda chosen=None: [reply.solver for reply in opinions([""], SolverLimits(), chosen)]  # noqa: E731
    assert said() == ["bitwuzla", "z3"]
    assert said(SOLVERS) == ["bitwuzla", "z3", "cvc5"]
    for one in ("bitwuzla", "z3"):
        for cannot in ("unknown", "missing"):
            monkeypatch.setitem(status, one, cannot)
            assert said() == ["bitwuzla", "z3", "cvc5"]
        monkeypatch.setitem(status, one, "sat")
        assert said() == ["bitwuzla", "z3"][: 1 + (one == "z3")]
        monkeypatch.setitem(status, one, "unsat")


def test_a_proof_by_cvc5_and_one_other_counts_as_two(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "z3", None)
    verdict = smt.check(Claim(Values("x", Fixed(6)), x - x == 0), Fixed(6))
    assert isinstance(verdict, Proved)
    assert [said.split(":")[0].split()[0] for said in verdict.solvers] == ["bitwuzla", "z3", "cvc5"]
    assert not any("one solver" in text for text in verdict.assumptions)


@pytest.mark.parametrize("solver", ["bitwuzla", "z3"])
def test_the_limit_is_of_processor_time_and_not_of_the_clock(solver, monkeypatch) -> None:
    """Where no processor time passes, no limit is met, however long it takes; where much passes, at once."""
    monkeypatch.setattr(solvers, "processor_clock", lambda: lambda: 0.0)
    assert ask(solver, EASY, SolverLimits(1e-9, None)).status == "sat"
    times = iter(range(0, 10**9, 1000))
    monkeypatch.setattr(solvers, "processor_clock", lambda: lambda: next(times))
    reply = ask(solver, HARD, SolverLimits(999, None))
    assert (reply.status, reply.reason) == ("unknown", "the limit of 999 s of processor time")


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_below_what_is_needed_stops_each_solver(solver) -> None:
    reply = ask(solver, HARD, SolverLimits(0.05, None))
    assert (reply.status, reply.reason) == ("unknown", "the limit of 0.05 s of processor time")


def test_cvc5_is_told_its_limits_and_a_death_is_a_reply(monkeypatch) -> None:
    asked = []

    def died(command, input, **rest):
        asked.append(input)
        return subprocess.CompletedProcess(command, -11, b"", b"")

    monkeypatch.setattr(solvers.subprocess, "run", died)
    reply = ask("cvc5", EASY, SolverLimits(7, 900))
    assert (reply.status, reply.reason) == ("unknown", "a failure of the solver: it ended with status -11")
    assert b'"seconds": 7, "megabytes": 900' in asked[0]


def test_a_solver_that_breaks_in_any_way_is_an_unknown(monkeypatch) -> None:
    def broken(error):
        def solve(script, limits):
            raise error

        return solve

    for error, reason in [
        (RuntimeError("no\nluck"), "a failure of the solver: no luck"),
        (AttributeError(""), "a failure of the solver: AttributeError"),
        (MemoryError(), "the memory limit of 9 MB"),
        (Exception("out of memory"), "the memory limit of 9 MB"),
    ]:
        monkeypatch.setitem(solvers._ASK, "z3", broken(error))
        assert ask("z3", EASY, SolverLimits(1, 9)).reason == reason
    monkeypatch.setitem(solvers._ASK, "z3", broken(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        ask("z3", EASY)


def test_one_reply_to_several_scripts_is_that_of_the_one_that_decides(monkeypatch) -> None:
    def said(*statuses: str) -> str:
        replies = iter(Reply("z3", status, 1.0) for status in statuses)
        monkeypatch.setattr(solvers, "ask", lambda *_: next(replies))
        return ask_each("z3", [""] * len(statuses)).status

    assert said("unsat", "unsat") == "unsat"
    assert said("unsat", "unknown", "unsat") == "unknown"
    assert said("unknown", "sat", "unsat") == "sat"
    assert said("unknown", "unsat", "unknown") == "unknown"
    assert said("missing", "unsat") == "missing"
