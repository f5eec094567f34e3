"""The solvers: each reads an SMT-LIB script and says sat (with a model), unsat, or unknown (with the reason), within limits.

All three come with the extra prove. Ctrl-C reaches a solver in the middle of its work. Limits are of processor time,
which a busy machine does not use up, and of memory; whatever else goes wrong in a solver is a reply too, and never an error.

>>> ask("bitwuzla", "(declare-const x (_ BitVec 4)) (assert (= x (bvmul x x))) (assert (bvult (_ bv1 4) x))").status
'unsat'
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from glyptic.errors import GlypticError
from glyptic.extras import advice

SOLVERS = ("bitwuzla", "z3", "cvc5")
AGREEING = 2  # how many must find no solution before the others need not be asked
_POLL = 0.02  # how often z3's processor time is looked at, in seconds


@dataclass(frozen=True)
class SolverLimits:
    """What one question may cost; None is no limit.

    Seconds are of the solver's processor time, and memory is the solver's, whatever else the process holds.
    """

    seconds: float | None = 60.0
    megabytes: int | None = 4096

    @property
    def of_time(self) -> str:
        return f"the limit of {self.seconds:g} s of processor time"

    @property
    def of_memory(self) -> str:
        return "want of memory" if self.megabytes is None else f"the memory limit of {self.megabytes} MB"


@dataclass(frozen=True)
class Reply:
    """A solver's answer to a script."""

    solver: str  # with its version
    status: Literal["sat", "unsat", "unknown", "missing"]
    seconds: float = 0.0  # of processor time
    model: dict[str, int] = field(default_factory=dict)  # unsigned
    reason: str = ""  # of an unknown

    def __str__(self) -> str:
        return f"{self.solver}: {self.status}{f' ({self.reason})' if self.reason else ''}"


def ask(solver: str, script: str, limits: SolverLimits = SolverLimits()) -> Reply:  # noqa: B008 (a frozen value)
    """Put a script to one solver; one that is not installed replies `missing`, one that breaks replies `unknown`."""
    if solver not in _ASK:
        raise GlypticError(f"no solver {solver!r}; there are {', '.join(SOLVERS)}.")
    clock = processor_clock()
    start = clock()
    try:
        reply = _ASK[solver](script, limits)
    except ImportError:
        return Reply(solver, "missing", reason=f"{solver} is not installed; {advice('prove')} brings it")
    except MemoryError:
        return Reply(solver, "unknown", clock() - start, reason=limits.of_memory)
    except Exception as error:  # whatever the bindings raise
        said = str(error) or type(error).__name__
        reason = limits.of_memory if "out of memory" in said else _failed(said)
        return Reply(solver, "unknown", clock() - start, reason=reason)
    seconds = reply.seconds or clock() - start
    return Reply(reply.solver, reply.status, seconds, reply.model, reply.reason)


def ask_each(solver: str, scripts: Sequence[str], limits: SolverLimits = SolverLimits()) -> Reply:  # noqa: B008 (a frozen value)
    """One reply to several scripts, each within the limits: a solution of any of them; that there is none, if none has one."""
    return together(ask(solver, script, limits) for script in scripts)


def together(asked: Iterable[Reply]) -> Reply:
    """One reply out of several, up to the first that settles it."""
    replies: list[Reply] = []
    for reply in asked:
        replies.append(reply)
        if reply.status in ("sat", "missing"):
            break
    last, open = replies[-1], [reply for reply in replies if reply.status == "unknown"]
    found = open[0] if open and last.status == "unsat" else last
    return replace(found, seconds=sum(reply.seconds for reply in replies))


def opinions(
    scripts: Sequence[str],
    limits: SolverLimits = SolverLimits(),  # noqa: B008 (a frozen value)
    solvers: Sequence[str] | None = None,
    asking: Callable[[str, Sequence[str], SolverLimits], Reply] = ask_each,
) -> list[Reply]:
    """The solvers' replies to some scripts, in order, up to the first that finds a solution of one.

    By default the next is asked until two have found none, so the third only speaks where one of the others could not say;
    solvers that are named are all asked. Where questions are large and there are cores for it, they are asked at the same time
    (`portfolio`): who is first is a matter of time, what comes of it is not.
    """
    replies: list[Reply] = []
    enough = AGREEING if solvers is None else len(solvers)
    if asking is ask_each:
        from glyptic.prove.methods.smt import portfolio

        if portfolio.is_worth_while(scripts, enough):
            return portfolio.race(scripts, limits, SOLVERS if solvers is None else solvers, enough)
    for solver in SOLVERS if solvers is None else solvers:
        if sum(reply.status == "unsat" for reply in replies) == enough:
            break
        replies.append(asking(solver, scripts, limits))
        if replies[-1].status == "sat":
            break
    return replies


# Limits and interruption ----------------------------------------------------------------------------------------------------


def processor_clock() -> Callable[[], float]:
    """A clock of the calling thread's processor time, which may be read in any thread."""
    if not hasattr(time, "pthread_getcpuclockid"):  # elsewhere the whole process's will do
        return time.process_time
    clock = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(clock)


def _over(limits: SolverLimits) -> Callable[[], bool]:
    """Whether the calling thread has since used up its time."""
    clock = processor_clock()
    start = clock()
    return lambda: limits.seconds is not None and clock() - start >= limits.seconds


def _resident() -> int:
    """The megabytes that this process holds now; where no file tells, the most that it ever held."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20
    except (OSError, ValueError):
        import resource  # not there on every system

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (20 if sys.platform == "darwin" else 10)


def _failed(said: str) -> str:
    return f"a failure of the solver: {' '.join(said.split())[:200]}"


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """A function that says whether Ctrl-C was pressed meanwhile; if so, KeyboardInterrupt follows at the end.

    bitwuzla asks it every few milliseconds; an exception raised inside that call would be lost.
    """
    pressed: list[bool] = []
    main = threading.current_thread() is threading.main_thread()
    before: Any = signal.signal(signal.SIGINT, lambda *_: pressed.append(True)) if main else None
    try:
        yield lambda: bool(pressed)
    finally:
        if main:
            signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


@contextmanager
def _watched(over: Callable[[], bool], stop: Callable[[], None]) -> Iterator[list[bool]]:
    """A second thread that stops a solver when its time is over, and says that it did."""
    done, stopped = threading.Event(), list[bool]()

    def watch() -> None:
        while not done.wait(_POLL):
            if over():
                stopped.append(True)
                stop()  # again and again: one that comes before the solver has begun is lost

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield stopped
    finally:
        done.set()
        watcher.join()


# The solvers -----------------------------------------------------------------------------------------------------------------


def _ask_bitwuzla(script: str, limits: SolverLimits) -> Reply:
    import bitwuzla

    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    if limits.megabytes is not None:
        # bitwuzla counts all that the process holds: a notebook's arrays are not the question's
        options.set(bitwuzla.Option.MEMORY_LIMIT, limits.megabytes + _resident())
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(script, True, False)
    solver, over = parser.bitwuzla(), _over(limits)
    with _interruptible() as pressed:
        solver.configure_terminator(lambda: pressed() or over())
        status = str(solver.check_sat())
    name = f"bitwuzla {bitwuzla.version()}"
    if status == "sat":
        variables = [term for term in parser.get_declared_funs() if term.is_const() and term.sort().is_bv()]
        values = {term.symbol().strip("|"): int(solver.get_value(term).value(10)) for term in variables}
        return Reply(name, "sat", model=values)
    if status == "unsat":
        return Reply(name, "unsat")
    return Reply(name, "unknown", reason=limits.of_time if over() else limits.of_memory)


def _ask_z3(script: str, limits: SolverLimits) -> Reply:
    import z3

    context = z3.Context()  # its own, so that stopping it stops nothing else
    solver = z3.SolverFor("QF_BV", ctx=context)
    solver.from_string(script)
    if limits.megabytes is not None:
        solver.set("max_memory", limits.megabytes)
    with _watched(_over(limits), context.interrupt) as stopped:
        status = solver.check()
    name = f"z3 {z3.get_version_string()}"
    if status == z3.sat:
        found = solver.model()
        constants = [declared() for declared in found.decls() if declared.arity() == 0]
        values = {str(x): found.eval(x, model_completion=True) for x in constants if z3.is_bv(x)}
        return Reply(name, "sat", model={x: value.as_long() for x, value in values.items() if z3.is_bv_value(value)})
    if status == z3.unsat:
        return Reply(name, "unsat")
    if not stopped and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    said = solver.reason_unknown()
    other = limits.of_memory if "memory" in said or "canceled" in said else _failed(said)
    return Reply(name, "unknown", reason=limits.of_time if stopped else other)


def _ask_cvc5(script: str, limits: SolverLimits) -> Reply:
    """cvc5 cannot be stopped in the middle, so it works in a process of its own, which can."""
    name, question = named("cvc5"), question_apart("cvc5", script, limits)
    run = subprocess.run(APART, input=question, capture_output=True, start_new_session=True, check=False)
    return reply_apart(name, run.returncode, run.stdout, run.stderr, limits)


def named(solver: str) -> str:
    """A solver with its version."""
    module = import_module(solver)
    version = {"bitwuzla": "version", "z3": "get_version_string"}.get(solver)
    return f"{solver} {module.__version__ if version is None else getattr(module, version)()}"


APART = [sys.executable, "-I", str(Path(__file__).with_name("solver_apart.py"))]  # a solver in a process of its own


def question_apart(solver: str, script: str, limits: SolverLimits) -> bytes:
    """What such a process reads."""
    about = {"seconds": limits.seconds, "megabytes": limits.megabytes, "parent": os.getpid()}
    return json.dumps({"solver": solver, "script": script, **about}).encode()


def reply_apart(solver: str, status: int, said: bytes, errors: bytes, limits: SolverLimits) -> Reply:
    """What it has replied, or how it ended."""
    if status == 0:
        fields = {"solver": solver, **json.loads(said)}
        if fields["status"] == "unknown":
            reason = fields["reason"]
            of_memory = any(sign in reason for sign in ("memory", "canceled"))
            fields["reason"] = limits.of_memory if of_memory else _failed(reason)
        return Reply(**fields)
    if status in (-signal.SIGPROF, -signal.SIGXCPU):
        return Reply(solver, "unknown", limits.seconds or 0.0, reason=limits.of_time)
    text = errors.decode(errors="replace").strip() or f"it ended with status {status}"
    of_memory = any(sign in text.lower() for sign in ("alloc", "memory"))
    return Reply(solver, "unknown", reason=limits.of_memory if of_memory else _failed(text.splitlines()[-1]))


_ASK: dict[str, Callable[[str, SolverLimits], Reply]] = {"bitwuzla": _ask_bitwuzla, "z3": _ask_z3, "cvc5": _ask_cvc5}
