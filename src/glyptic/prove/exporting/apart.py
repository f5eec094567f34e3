"""Provers that write proofs, each in a process of its own with limits: CaDiCaL (DRAT) and cvc5 (CPC).

Neither can be stopped in the middle, so each runs as `python apart.py`, which imports nothing of Glyptic: the limit of processor
time ends it, and so does one of the proof's size.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GRACE = 2  # seconds between the limit that is meant and the one that the system enforces


@dataclass(frozen=True)
class Proof:
    """A proof as text; or None, and why there is none."""

    text: str | None
    by: str
    reason: str = ""


def prove_apart(prover: str, question: str, seconds: float, megabytes: float) -> Proof:
    """Ask for a proof that a CNF ("cadical") or a script ("cvc5") has no solution.

    >>> prove_apart("cadical", "p cnf 1 2\\n1 0\\n-1 0\\n", 10, 1).text
    '0\\n'
    """
    task = json.dumps({"prover": prover, "question": question, "seconds": seconds, "characters": int(megabytes * 1e6)})
    alone = [sys.executable, "-I", str(Path(__file__).resolve())]
    run = subprocess.run(alone, input=task.encode(), capture_output=True, start_new_session=True, check=False)
    if run.returncode < 0:
        return Proof(None, prover, f"{prover} was stopped at its limit of {seconds:g} s of processor time")
    if run.returncode:
        errors = run.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        return Proof(None, prover, f"{prover} failed: {errors[-1][:200]}")
    return Proof(**json.loads(run.stdout))


def _cadical(question: str, characters: int) -> dict[str, Any]:
    """CaDiCaL through python-sat, whose proofs are DRAT in text form."""
    import pysat
    from pysat.solvers import Solver

    by = f"CaDiCaL 1.9.5 (python-sat {pysat.__version__})"
    rows = [line for line in question.splitlines() if not line.startswith(("c", "p"))]
    clauses = [[int(word) for word in row.split()[:-1]] for row in rows]
    if [] in clauses:  # nothing to prove: the empty clause is among them
        return {"text": "0\n", "by": by}
    with Solver("cadical195", bootstrap_with=clauses, with_proof=True) as solver:
        if solver.solve():
            return {"text": None, "by": by, "reason": "CaDiCaL finds a solution"}
        lines = solver.get_proof()
    text = "\n".join(lines[: lines.index("0") + 1]) + "\n"
    return _short_enough(text, by, characters)


def _cvc5(question: str, characters: int) -> dict[str, Any]:
    """cvc5's own proof, in the format CPC."""
    import cvc5

    by = f"cvc5 {cvc5.__version__}"
    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("produce-proofs", "true")
    solver.setOption("proof-format-mode", "cpc")
    solver.setOption("proof-granularity", "dsl-rewrite")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, question, "question.smt2")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said += str(command.invoke(solver, parser.getSymbolManager()))
    if "unsat" not in said:
        return {"text": None, "by": by, "reason": f"cvc5 answers {said.strip()}"}
    text = solver.proofToString(solver.getProof()[0])
    return _short_enough(text.decode() if isinstance(text, bytes) else text, by, characters)


def _short_enough(text: str, by: str, characters: int) -> dict[str, Any]:
    if len(text) > characters:
        return {"text": None, "by": by, "reason": f"the proof has {len(text) / 1e6:.0f} MB, above {characters / 1e6:g}"}
    return {"text": text, "by": by}


def _main() -> None:
    import resource  # not there on every system, and needed in this process only

    task = json.loads(sys.stdin.buffer.read())
    limit = int(task["seconds"]) + GRACE
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    provers = {"cadical": _cadical, "cvc5": _cvc5}
    found = provers[task["prover"]](task["question"], task["characters"])
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    _main()
