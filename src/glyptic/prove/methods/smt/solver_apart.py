"""One solver on one script, in a process of its own: a question as JSON on standard input, the reply as JSON on standard output.

Run as a file, by `solvers` and `portfolio`: it imports nothing of Glyptic. The system ends it when its processor time or memory
is used up, and when whoever asked has died.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import math
import os
import resource
import signal
import sys
import time
from typing import Any


def bound(seconds: float | None, megabytes: int | None, held: int = 0) -> None:
    """Limits that the system keeps: a timer of processor time, a second limit should it be lost, and the address space."""
    if seconds is not None:
        signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001))  # SIGPROF ends the process
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds) + 1, math.ceil(seconds) + 2))
    if megabytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes + held << 20, megabytes + held << 20))


def held() -> int:
    """The megabytes of address space that this process has now; 0 where no file tells."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE") >> 20
    except (OSError, ValueError):
        return 0


def orphaned(parent: int | None) -> None:
    """Die with the process that asks, where the system can arrange that (Linux: PR_SET_PDEATHSIG)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:  # it died before that
        sys.exit(1)


def cvc5_says(script: str) -> dict[str, Any]:
    import cvc5

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


def bitwuzla_says(script: str) -> dict[str, Any]:
    import bitwuzla

    options = bitwuzla.Options()
    options.set(bitwuzla.Option.PRODUCE_MODELS, True)
    parser = bitwuzla.Parser(bitwuzla.TermManager(), options)
    parser.parse(script, True, False)
    solver = parser.bitwuzla()
    status = str(solver.check_sat())
    if status == "sat":
        variables = [term for term in parser.get_declared_funs() if term.is_const() and term.sort().is_bv()]
        model = {term.symbol().strip("|"): int(solver.get_value(term).value(10)) for term in variables}
        return {"status": "sat", "model": model}
    return {"status": "unsat"} if status == "unsat" else {"status": "unknown", "reason": "out of memory"}


def z3_says(script: str) -> dict[str, Any]:
    import z3

    solver = z3.SolverFor("QF_BV")
    solver.from_string(script)
    status = solver.check()
    if status == z3.sat:
        found = solver.model()
        constants = [declared() for declared in found.decls() if declared.arity() == 0]
        values = {str(x): found.eval(x, model_completion=True) for x in constants if z3.is_bv(x)}
        return {"status": "sat", "model": {x: value.as_long() for x, value in values.items() if z3.is_bv_value(value)}}
    return {"status": "unsat"} if status == z3.unsat else {"status": "unknown", "reason": solver.reason_unknown()}


SAYS = {"bitwuzla": bitwuzla_says, "z3": z3_says, "cvc5": cvc5_says}


def main() -> None:
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    question = json.load(sys.stdin)
    orphaned(question.get("parent"))
    name = question["solver"]
    importlib.import_module(name)  # before memory is bounded: what a solver brings with it is not the question's
    bound(question["seconds"], question["megabytes"], 0 if name == "cvc5" else held())
    try:
        reply = SAYS[name](question["script"])
    except MemoryError:
        reply = {"status": "unknown", "reason": "out of memory"}
    except Exception as error:
        reply = {"status": "unknown", "reason": str(error) or type(error).__name__}
    json.dump({**reply, "seconds": time.process_time()}, sys.stdout)


if __name__ == "__main__":
    main()
