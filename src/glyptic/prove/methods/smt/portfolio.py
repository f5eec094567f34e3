"""Solvers asked at the same time, each in a process of its own: the first answer counts as soon as there is enough of it.

What is enough does not change: a solution by anyone, or so many solvers that find none. Every solver gets all the scripts,
one after the other, with the same limits as alone; so which verdict comes out is the same as if they were asked in turn, and
only its time, and whose names stand in it, depend on who is first. Whoever is not needed any more is ended, whatever happens.
"""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from glyptic.extras import advice
from glyptic.parallel import cores
from glyptic.prove.methods.smt.solvers import APART, Reply, SolverLimits, named, question_apart, reply_apart, together

LARGE = 700  # lines of a script from which on a process, which takes a third of a second to begin, is worth its while
_HARD = 100  # lines that one product or quotient of two free values counts for
_POLL = 0.01  # seconds between two looks at who has finished


def is_worth_while(scripts: Sequence[str], enough: int) -> bool:
    """Whether several solvers are wanted, there are cores for them, and what they are asked is large.

    >>> is_worth_while(["(assert true)"], 2)
    False
    """
    alone = multiprocessing.current_process().name != "MainProcess"  # a worker among others, which keep all cores busy
    return enough > 1 and not alone and cores() > 1 and max(map(_size, scripts), default=0) >= LARGE


def _size(script: str) -> int:
    return script.count("\n") + _HARD * sum(map(script.count, ("bvmul", "bvudiv")))


def race(scripts: Sequence[str], limits: SolverLimits, solvers: Sequence[str], enough: int) -> list[Reply]:
    """The replies, in the order of the solvers, of those who came to an end before there was enough; as `solvers.opinions`."""
    waiting, running, ended = list(solvers), list[_Contestant](), dict[str, Reply]()
    try:
        while not _settled(ended, enough) and (waiting or running):
            while waiting and len(running) < max(2, cores()):
                running.append(_Contestant(waiting.pop(0), scripts, limits))
            for one in list(running):
                reply = one.look()
                if reply is not None:
                    ended[one.solver] = reply
                    running.remove(one)
            if running and not _settled(ended, enough):
                time.sleep(_POLL)
    finally:
        for one in running:
            one.end()
    return [ended[solver] for solver in solvers if solver in ended]


def _settled(ended: dict[str, Reply], enough: int) -> bool:
    said = [reply.status for reply in ended.values()]
    return "sat" in said or said.count("unsat") >= enough


@dataclass
class _Contestant:
    """One solver that works through the scripts, a process for each."""

    solver: str
    scripts: Sequence[str]
    limits: SolverLimits
    replies: list[Reply] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None
    _files: tuple[Any, ...] = ()

    def look(self) -> Reply | None:
        """Its reply to all scripts, if it is there; else it is seen to that it goes on."""
        if find_spec(self.solver) is None:
            return Reply(self.solver, "missing", reason=f"{self.solver} is not installed; {advice('prove')} brings it")
        if self._process is not None:
            status = self._process.poll()
            if status is None:
                return None
            self.replies.append(self._read(status))
        if len(self.replies) == len(self.scripts) or (self.replies and self.replies[-1].status == "sat"):
            return together(self.replies)
        self._begin(self.scripts[len(self.replies)])
        return None

    def _begin(self, script: str) -> None:
        self._files = tuple(tempfile.TemporaryFile() for _ in range(3))  # noqa: SIM115 (closed by `end`)
        question, said, errors = self._files
        question.write(question_apart(self.solver, script, self.limits))
        question.seek(0)
        with _uninterrupted():
            self._process = subprocess.Popen(APART, stdin=question, stdout=said, stderr=errors, start_new_session=True)

    def _read(self, status: int) -> Reply:
        _, said, errors = self._files
        for file in (said, errors):
            file.seek(0)
        reply = reply_apart(named(self.solver), status, said.read(), errors.read(), self.limits)
        self.end()
        return reply

    def end(self) -> None:
        """End its process, if it has one, and close its files."""
        if self._process is not None:
            self._process.kill()  # nothing, if it has ended
            self._process.wait()
        for file in self._files:
            file.close()
        self._process, self._files = None, ()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until a process that is being started is known, so that it can be ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
