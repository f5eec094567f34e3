"""Solvers at the same time: the verdict of asking in turn, whoever is first; and nobody is left behind."""

import os
import signal
import subprocess
import sys
import time
from itertools import permutations
from pathlib import Path

import pytest

from glyptic.exact import Sizes, random_transformer
from glyptic.numbers import Fixed
from glyptic.prove import Claim, Proved, Refuted, after, before, layers
from glyptic.prove.methods import smt
from glyptic.prove.methods.smt import portfolio, solvers
from glyptic.prove.methods.smt.portfolio import race
from glyptic.prove.methods.smt.solvers import AGREEING, SOLVERS, Reply, SolverLimits, ask, opinions

from .test_solvers import EASY, HARD

NONE = "(set-logic QF_BV)(declare-const v (_ BitVec 8))(assert (= (bvmul v v) (_ bv2 8)))"
LIMITS = SolverLimits(20, 2048)


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


def children() -> set[int]:
    """The solvers' processes that this one has started and that still run."""
    return started_by(os.getpid())


def started_by(parent: int) -> set[int]:
    pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return {pid for pid in pids if _runs(pid) and _fields(pid)[1:2] == [str(parent)]}


def _fields(pid: int) -> list[str]:
    """State, parent, …: what /proc says of a process behind its name; nothing of one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _runs(pid: int) -> bool:
    try:
        solver = b"solver_apart" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return solver and _fields(pid)[:1] not in ([], ["Z"])


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_apart_says_what_it_says_here(solver) -> None:
    for scripts in ([EASY], [NONE], [NONE, NONE], [NONE, EASY], ["(assert"]):
        (apart,), here = race(scripts, LIMITS, [solver], 1), solvers.ask_each(solver, scripts, LIMITS)
        assert apart.status == here.status
        assert apart.solver.split()[0] == solver
        assert apart.solver == here.solver or here.status == "unknown"
        assert apart.status != "sat" or apart.model["v"] ** 2 % 256 == 49
        assert apart.status != "unknown" or "a failure of the solver: " in apart.reason


@pytest.mark.parametrize("solver", SOLVERS)
def test_limits_hold_apart(solver) -> None:
    (reply,) = race([HARD], SolverLimits(0.4, None), [solver], 1)
    assert (reply.status, reply.reason) == ("unknown", "the limit of 0.4 s of processor time")


def test_two_agree_and_the_third_is_ended() -> None:
    replies = race([NONE], LIMITS, SOLVERS, AGREEING)
    assert [reply.status for reply in replies] == ["unsat"] * len(replies)
    assert len(replies) >= AGREEING
    assert children() == set()


class Scripted:
    """A contestant that replies after so many looks."""

    log: list[str] = []  # noqa: RUF012

    def __init__(self, plan, solver) -> None:
        self.solver = solver
        self.status, self.left = plan[solver]

    def look(self):
        self.left -= 1
        return Reply(self.solver, self.status) if self.left < 0 else None

    def end(self) -> None:
        self.log.append(self.solver)


@pytest.mark.parametrize("count", [2, 3])
def test_who_is_first_changes_no_verdict(count, monkeypatch) -> None:
    """Whatever each would say, in whatever order: what comes of it is what asking in turn comes to."""
    monkeypatch.setattr(portfolio, "cores", lambda: count)
    monkeypatch.setattr(portfolio, "_POLL", 0)
    for said in (("unsat", "unsat", "unsat"), ("unsat", "unknown", "unsat"), ("unknown", "unsat", "unsat"),
                 ("unsat", "unknown", "unknown"), ("unknown",) * 3, ("sat", "sat", "sat"), ("sat", "unknown", "sat"),
                 ("missing", "unsat", "unsat"), ("unknown", "missing", "sat")):  # fmt: skip
        status = dict(zip(SOLVERS, said, strict=True))
        monkeypatch.setattr(solvers, "ask", lambda solver, script, limits, of=status: Reply(solver, of[solver]))
        in_turn = _outcome(opinions([""], LIMITS))
        for times in permutations((0, 3, 9)):
            plan = {solver: (status[solver], wait) for solver, wait in zip(SOLVERS, times, strict=True)}
            monkeypatch.setattr(portfolio, "_Contestant", lambda solver, scripts, limits, p=plan: Scripted(p, solver))
            assert _outcome(race([""], LIMITS, SOLVERS, AGREEING)) == in_turn, (said, times)


def _outcome(replies: list[Reply]) -> object:
    said = [reply.status for reply in replies]
    return "sat" if "sat" in said else min(said.count("unsat"), AGREEING)


def test_whoever_is_not_needed_is_ended(monkeypatch) -> None:
    plan = {"bitwuzla": ("sat", 0), "z3": ("unsat", 99), "cvc5": ("unsat", 99)}
    monkeypatch.setattr(portfolio, "_Contestant", lambda solver, scripts, limits: Scripted(plan, solver))
    Scripted.log.clear()
    assert [reply.solver for reply in race([""], LIMITS, SOLVERS, AGREEING)] == ["bitwuzla"]
    assert "z3" in Scripted.log


def test_an_error_in_the_middle_leaves_no_process(monkeypatch) -> None:
    def interrupted(seconds: float) -> None:
        assert children()
        raise KeyboardInterrupt

    monkeypatch.setattr(portfolio.time, "sleep", interrupted)
    with pytest.raises(KeyboardInterrupt):
        race([HARD], LIMITS, SOLVERS, AGREEING)
    assert children() == set()


ASKING = """
from glyptic.prove.methods.smt.portfolio import race
from glyptic.prove.methods.smt.solvers import SOLVERS, SolverLimits
print("begun", flush=True)
race([{script!r}], SolverLimits(None, None), SOLVERS, 2)
"""


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_and_a_kill_leave_no_process_behind(by) -> None:
    hard = HARD.replace("44)", "64)").replace("549755814007", "1152921515344265237")
    asking = subprocess.Popen([sys.executable, "-c", ASKING.format(script=hard)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert asking.stdout is not None
    asking.stdout.readline()
    started = _wait(lambda: started_by(asking.pid), bool)
    assert len(started) >= 1
    time.sleep(1.0)  # so that they work
    started |= started_by(asking.pid)
    asking.send_signal(by)
    asking.communicate(timeout=30)
    left = _wait(lambda: {pid for pid in started if _runs(pid)}, lambda found: not found)
    assert left == set()


def _wait(look, good, seconds: float = 20.0):
    """What is looked at, as soon as it is good, or at the end."""
    end = time.monotonic() + seconds
    while not good(found := look()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def test_claims_are_decided_alike_at_the_same_time_and_in_turn(monkeypatch) -> None:
    sizes = Sizes(layers=1, heads=0, width=3, hidden=3, density=1.0)
    near = (abs(before("x0")) <= 2) & (abs(before("x1")) <= 2)
    T = random_transformer(Fixed(4), 2, sizes)
    for ensures, kind in ((after("x0") <= 15, Proved), (after("x0") <= 3, Refuted)):
        claim = Claim(layers(T), ensures, requires=near)
        in_turn = smt.check(claim, Fixed(4))
        monkeypatch.setattr(portfolio, "LARGE", 0)
        at_once = smt.check(claim, Fixed(4))
        monkeypatch.undo()
        assert isinstance(in_turn, kind)
        assert isinstance(at_once, kind)
        if kind is Refuted:
            assert str(at_once.counterexample) == str(in_turn.counterexample)


def test_small_questions_and_single_solvers_start_no_process(monkeypatch) -> None:
    monkeypatch.setattr(portfolio, "race", lambda *_: pytest.fail("a race"))
    assert [reply.status for reply in opinions([NONE], LIMITS)] == ["unsat", "unsat"]
    large = NONE + "\n" * (2 * portfolio.LARGE)
    assert [reply.status for reply in opinions([large], LIMITS, ["bitwuzla"])] == ["unsat"]
    monkeypatch.setattr(portfolio, "cores", lambda: 1)
    assert [reply.status for reply in opinions([large], LIMITS)] == ["unsat", "unsat"]
    assert ask("z3", EASY).status == "sat"
