"""The checker of DRAT proofs: it takes real proofs, and no proof of what has a solution."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path

import pytest

from glyptic.prove.exporting.standalone import drat

pysat = pytest.importorskip("pysat.solvers")
Clause = list[int]


def cnf(clauses: list[Clause], variables: int) -> str:
    lines = [f"p cnf {variables} {len(clauses)}", *(" ".join(map(str, [*clause, 0])) for clause in clauses)]
    return "\n".join(lines) + "\n"


def proof(steps: list[tuple[bool, Clause]]) -> str:
    return "".join("d " * deleted + " ".join(map(str, [*clause, 0])) + "\n" for deleted, clause in steps)


def accepted(clauses: list[Clause], variables: int, steps: list[tuple[bool, Clause]]) -> bool:
    try:
        drat.check(cnf(clauses, variables), proof(steps))
    except drat.Refused:
        return False
    return True


def satisfiable(clauses: list[Clause], variables: int) -> bool:
    for signs in itertools.product((1, -1), repeat=variables):
        if all(any(signs[abs(x) - 1] * x > 0 for x in clause) for clause in clauses):
            return True
    return False


def random_clauses(rng: random.Random, variables: int, count: int, longest: int = 3) -> list[Clause]:
    return [
        [rng.choice((1, -1)) * v for v in rng.sample(range(1, variables + 1), rng.randint(1, min(longest, variables)))]
        for _ in range(count)
    ]


def cadical(clauses: list[Clause]) -> list[tuple[bool, Clause]] | None:
    with pysat.Solver("cadical195", bootstrap_with=clauses, with_proof=True) as solver:
        if solver.solve():
            return None
        lines = solver.get_proof()
    return list(drat.read_proof("\n".join(lines[: lines.index("0") + 1])))


# A second opinion: the definitions of RUP and RAT, written as they stand, over lists --------------------------------------


def propagates_to_nothing(clauses: list[Clause], true: set[int]) -> bool:
    true = set(true)
    while True:
        if any(-x in true for x in true):
            return True
        forced = None
        for clause in clauses:
            left = [x for x in clause if -x not in true]
            if not left:
                return True
            if len(left) == 1 and left[0] not in true and not any(x in true for x in clause):
                forced = left[0]
        if forced is None:
            return False
        true.add(forced)


def may_be_added(clauses: list[Clause], clause: Clause) -> bool:
    if propagates_to_nothing(clauses, {-x for x in clause}):
        return True
    return bool(clause) and all(
        propagates_to_nothing(clauses, {-x for x in clause} | {-x for x in other if x != -clause[0]})
        for other in clauses
        if -clause[0] in other
    )


def accepted_by_definition(clauses: list[Clause], steps: list[tuple[bool, Clause]]) -> bool:
    """Without deletions, which only make RAT easier."""
    held = list(clauses)
    for deleted, clause in steps:
        if deleted:
            continue
        if not may_be_added(held, clause):
            return False
        held.append(clause)
    return bool(steps) and steps[-1] == (False, [])


def test_random_proofs_are_judged_as_by_the_definition() -> None:
    rng = random.Random(1)
    seen = set()
    for _ in range(1500):
        variables = rng.randint(1, 4)
        clauses = random_clauses(rng, variables, rng.randint(2, 14))
        steps = [(False, clause) for clause in random_clauses(rng, variables + rng.randint(0, 1), rng.randint(0, 3), 2)]
        steps.append((False, []))
        said = accepted(clauses, variables, steps)
        assert said == accepted_by_definition(clauses, steps), (clauses, steps)
        assert not (said and satisfiable(clauses, variables))
        seen.add(said)
    assert seen == {True, False}


def test_no_proof_of_what_has_a_solution_is_accepted_whatever_it_deletes() -> None:
    rng = random.Random(2)
    tried = 0
    while tried < 1500:
        variables = rng.randint(1, 4)
        clauses = random_clauses(rng, variables, rng.randint(1, 8))
        if not satisfiable(clauses, variables):
            continue
        tried += 1
        steps = [(False, clause) for clause in random_clauses(rng, variables + 1, rng.randint(1, 5), 2)]
        for clause in rng.sample(clauses, min(len(clauses), 2)):
            steps.insert(rng.randint(0, len(steps)), (True, clause))
        assert not accepted(clauses, variables, [*steps, (False, [])])


def hard(seed: int, variables: int = 30) -> tuple[list[Clause], list[tuple[bool, Clause]]]:
    """Random clauses of three literals without a solution, and CaDiCaL's proof."""
    rng = random.Random(seed)
    while True:
        clauses = [
            [rng.choice((1, -1)) * v for v in rng.sample(range(1, variables + 1), 3)] for _ in range(6 * variables)
        ]
        steps = cadical(clauses)
        if steps is not None and len(steps) > 5:
            return clauses, steps


@pytest.mark.parametrize("seed", range(5))
def test_real_proofs_are_accepted_and_changed_ones_are_judged_rightly(seed: int) -> None:
    clauses, steps = hard(seed)
    assert accepted(clauses, 30, steps)
    assert not accepted(clauses, 30, steps[:-1])  # the empty clause is absent
    assert not accepted(clauses, 30, [*steps, (False, [1])])
    assert not accepted(clauses, 30, [(False, [])])  # propagation alone does not find it
    rng = random.Random(seed)
    refused = 0
    for _ in range(40):
        changed = [(deleted, list(clause)) for deleted, clause in steps if not deleted]
        place = rng.randrange(len(changed) - 1)
        if rng.random() < 0.5:
            literal = rng.randrange(len(changed[place][1]))
            changed[place][1][literal] *= -1
        else:
            del changed[place]
        said = accepted(clauses, 30, changed)
        assert said == accepted_by_definition(clauses, changed)
        refused += not said
    assert refused


@pytest.mark.parametrize("seed", range(3))
def test_a_proof_is_refused_when_the_clauses_lose_what_made_them_contradict(seed: int) -> None:
    clauses, steps = hard(seed)
    kept = list(clauses)
    for clause in clauses:  # clauses that can go, go: then each of the rest matters
        without = [other for other in kept if other is not clause]
        if cadical(without) is not None:
            kept = without
    steps = cadical(kept)
    assert steps is not None and accepted(kept, 30, steps)
    for place in range(len(kept)):
        assert not accepted(kept[:place] + kept[place + 1 :], 30, [step for step in steps if not step[0]])


def test_a_clause_that_is_not_there_cannot_be_taken_away() -> None:
    clauses = [[1, 2], [-1, 2], [1, -2], [-1, -2]]
    assert accepted(clauses, 2, [(False, [2]), (True, [2, 1]), (False, [])])
    assert not accepted(clauses, 2, [(False, [2]), (True, [1]), (False, [])])
    assert not accepted(clauses, 2, [(True, [1, 2]), (True, [1, 2]), (False, [2]), (False, [])])


def test_what_is_taken_away_no_longer_helps() -> None:
    clauses = [[1, 2], [-1, 2], [1, -2], [-1, -2]]
    assert not accepted(clauses, 2, [(True, [1, 2]), (False, []), (False, [])])
    assert not accepted(clauses, 2, [(True, [1, 2]), (True, [-1, 2]), (False, [2]), (False, [])])


@pytest.mark.parametrize(
    ("clauses", "steps"),
    [
        ("p cnf 1 2\n1 0\n", "0\n"),
        ("p cnf 1 2\n1 0\n-2 0\n", "0\n"),
        ("1 0\n-1 0\n", "0\n"),
        ("p cnf 1 2\n1 0\n-1 0\n", "1\n0\n"),
        ("p cnf 1 2\n1 0\n-1 0\n", "one 0\n0\n"),
        ("p cnf 1 2\n1 0\n-1 0\n", ""),
        ("p dnf 1 2\n1 0\n-1 0\n", "0\n"),
        ("p cnf 1 2\n1 0\n-1 0\n1", "0\n"),
    ],
)
def test_damaged_files_are_refused(clauses: str, steps: str) -> None:
    with pytest.raises(drat.Refused):
        drat.check(clauses, steps)


def test_the_command_says_what_it_found(tmp_path: Path) -> None:
    clauses, steps = tmp_path / "a.cnf", tmp_path / "a.drat"
    clauses.write_text("p cnf 1 2\n1 0\n-1 0\n")
    steps.write_text("0\n")
    command = [sys.executable, "-I", "-S", drat.__file__, str(clauses), str(steps)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0 and run.stdout.startswith("verified")
    clauses.write_text("p cnf 1 1\n1 0\n")
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and run.stdout.startswith("REFUSED")
