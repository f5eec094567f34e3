"""cvc5 on one script, in a process of its own: a question as JSON on standard input, the reply as JSON on standard output.

Run as a file, by `solvers`: it imports nothing of Glyptic. The system ends it when its processor time or memory is used up, and
when whoever asked has died.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import resource
import signal
import sys
import time
from typing import Any

import cvc5


def bound(seconds: float | None, megabytes: int | None) -> None:
    """Limits that the system keeps: a timer of processor time, a second limit should it be lost, and the address space."""
    if seconds is not None:
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001))  # SIGPROF ends the process
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds) + 1, math.ceil(seconds) + 2))
    if megabytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


def orphaned() -> None:
    """Die with the process that asks, where the system can arrange that (Linux: PR_SET_PDEATHSIG)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def answer(script: str) -> dict[str, Any]:
    """The reply's fields."""
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("produce-models", "true")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "question")
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        said = command.invoke(solver, symbols)
        if "error" in str(said):
            raise ValueError(said)
    result = solver.checkSat()
    if result.isSat():
        variables = [term for term in symbols.getDeclaredTerms() if term.getSort().isBitVector()]
        model = {x.getSymbol().strip("|"): int(solver.getValue(x).getBitVectorValue(10)) for x in variables}
        return {"status": "sat", "model": model}
    if result.isUnsat():
        return {"status": "unsat"}
    return {"status": "unknown", "reason": str(result.getUnknownExplanation())}


def main() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    question = json.load(sys.stdin)
    orphaned()
    bound(question["seconds"], question["megabytes"])
    try:
        reply = answer(question["script"])
    except MemoryError:
        reply = {"status": "unknown", "reason": "out of memory"}
    except Exception as error:
        reply = {"status": "unknown", "reason": str(error)}
    json.dump({**reply, "seconds": time.process_time()}, sys.stdout)


if __name__ == "__main__":
    main()
