"""The solvers: each reads an SMT-LIB script and says sat (with a model), unsat, or unknown (with the reason), within limits.

Both come with the extra glyptic[prove]. Ctrl-C reaches a solver in the middle of its work.

>>> ask("bitwuzla", "(declare-const x (_ BitVec 4)) (assert (= x (bvmul x x))) (assert (bvult (_ bv1 4) x))").status
'unsat'
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from glyptic.errors import GlypticError, MissingExtra

SOLVERS = ("bitwuzla", "z3")


@dataclass(frozen=True)
class Limits:
    """What one question may cost; None is no limit. Memory is the whole process's for bitwuzla, its own for z3."""

    seconds: float | None = 60.0
    megabytes: int | None = 4096


@dataclass(frozen=True)
class Reply:
    """A solver's answer to a script."""

    solver: str  # with its version
    status: Literal["sat", "unsat", "unknown", "missing"]
    seconds: float = 0.0
    model: dict[str, int] = field(default_factory=dict)  # unsigned
    reason: str = ""  # of an unknown

    def __str__(self) -> str:
        return f"{self.solver}: {self.status}{f' ({self.reason})' if self.reason else ''}"


def ask(solver: str, script: str, limits: Limits = Limits()) -> Reply:  # noqa: B008 (a frozen value)
    """Put a script to one solver; a solver that is not installed replies `missing`."""
    if solver not in _ASK:
        raise GlypticError(f"no solver {solver!r}; there are {', '.join(SOLVERS)}.")
    start = time.perf_counter()
    try:
        name, status, model = _ASK[solver](script, limits)
    except ImportError:
        return Reply(solver, "missing", reason=f"{solver} is not installed; install glyptic[prove]")
    seconds = time.perf_counter() - start
    reason = "" if status != "unknown" else _why(seconds, limits)
    return Reply(name, status, seconds, model, reason)  # type: ignore[arg-type]


def require_any(solvers: tuple[str, ...]) -> None:
    """Raise, in one sentence, if none of the solvers is installed."""
    missing = []
    for solver in solvers:
        try:
            __import__(solver)
        except ImportError:
            missing.append(solver)
    if len(missing) == len(solvers):
        raise MissingExtra(f"no solver is installed ({', '.join(missing)}); pip install 'glyptic[prove]' brings both.")


def _why(seconds: float, limits: Limits) -> str:
    if limits.seconds is not None and seconds >= 0.9 * limits.seconds:
        return f"the time limit of {limits.seconds:g} s"
    return f"the memory limit of {limits.megabytes} MB" if limits.megabytes is not None else "the solver gave up"


Answer = tuple[str, str, dict[str, int]]


def _ask_bitwuzla(script: str, limits: Limits) -> Answer:
    import bitwuzla

    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    if limits.seconds is not None:
        options.set(bitwuzla.Option.TIME_LIMIT_PER, max(1, int(1000 * limits.seconds)))
    if limits.megabytes is not None:
        options.set(bitwuzla.Option.MEMORY_LIMIT, limits.megabytes)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(script, True, False)
    solver = parser.bitwuzla()
    with _interruptible() as stopped:
        solver.configure_terminator(stopped)
        status = str(solver.check_sat())
    model = {}
    if status == "sat":
        variables = [term for term in parser.get_declared_funs() if term.is_const()]
        model = {term.symbol().strip("|"): int(solver.get_value(term).value(10)) for term in variables}
    return f"bitwuzla {bitwuzla.version()}", status, model


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


def _ask_z3(script: str, limits: Limits) -> Answer:
    import z3

    solver = z3.SolverFor("QF_BV")
    solver.from_string(script)
    if limits.seconds is not None:
        solver.set("timeout", max(1, int(1000 * limits.seconds)))
    if limits.megabytes is not None:
        solver.set("max_memory", limits.megabytes)
    status = str(solver.check())
    if status == "unknown" and "interrupted" in solver.reason_unknown():
        raise KeyboardInterrupt
    model = {}
    if status == "sat":
        found = solver.model()
        model = {str(name): found[name].as_long() for name in found.decls() if name.arity() == 0 and z3.is_bv(name())}
    return f"z3 {z3.get_version_string()}", status, model


_ASK: dict[str, Callable[[str, Limits], Answer]] = {"bitwuzla": _ask_bitwuzla, "z3": _ask_z3}
