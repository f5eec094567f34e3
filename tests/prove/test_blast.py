"""SMT-LIB to clauses: every operation on every value of small widths, against Python and against the solvers."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path

import pytest

from glyptic.prove.exporting.standalone import blast, drat
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.solvers import ask

pysat = pytest.importorskip("pysat.solvers")

BINARY = {
    "bvadd": bits.add,
    "bvsub": bits.subtract,
    "bvmul": bits.multiply,
    "bvudiv": bits.quotient,
    "bvurem": bits.remainder,
    "bvor": bits.either_bits,
    "bvshl": bits.shift_left,
    "bvlshr": bits.shift_right,
    "bvashr": bits.shift_signed,
    "=": bits.equal,
    "bvslt": bits.less,
    "bvult": bits.below,
}


def script_of(width: int, term: str, sort: str) -> str:
    declared = f"(declare-const x (_ BitVec {width})) (declare-const y (_ BitVec {width}))"
    return f"{declared} (define-fun r () {sort} {term})"


def results(text: str, columns: dict[str, list[int]]) -> list[int]:
    script = blast.Reader(text)
    found = script.values["r"]
    rows = blast.run(script, columns, found if isinstance(found, list) else [found])
    return [sum(bit << k for k, bit in enumerate(lane)) for lane in zip(*rows, strict=True)]


@pytest.mark.parametrize("operation", BINARY)
@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_every_operation_on_every_value(operation: str, width: int) -> None:
    pairs = list(itertools.product(range(1 << width), repeat=2))
    columns = {"x": [a for a, _ in pairs], "y": [b for _, b in pairs]}
    node = BINARY[operation](bits.variable("x", width), bits.variable("y", width))
    sort = "Bool" if node.width == 0 else f"(_ BitVec {node.width})"
    right = [int(bits.compute([node], {"x": a, "y": b})[0]) for a, b in pairs]
    assert results(script_of(width, f"({operation} x y)", sort), columns) == right


@pytest.mark.parametrize(
    ("term", "computed"),
    [
        ("(bvneg x)", lambda x, y: -x % 16),
        ("(bvnot x)", lambda x, y: 15 - x),
        ("(bvand x y)", lambda x, y: x & y),
        ("(bvxor x y)", lambda x, y: x ^ y),
        ("(ite (bvult x y) x y)", lambda x, y: min(x, y)),
        ("(ite (and (bvult x y) (or (= x (_ bv1 4)) true)) x y)", lambda x, y: min(x, y)),
        ("(ite (=> (bvult x y) false) x y)", max),
        ("(ite (bvsle x y) x y)", lambda x, y: min(x, y, key=lambda n: n - 16 * (n > 7))),
        ("(let ((a (bvadd x y))) (let ((b (bvadd a a)) (c a)) (bvsub b c)))", lambda x, y: (x + y) % 16),
        ("((_ extract 4 1) ((_ sign_extend 2) x))", lambda x, y: (((x ^ 8) - 8) >> 1) % 16),
        ("((_ extract 5 2) ((_ zero_extend 2) x))", lambda x, y: x >> 2),
    ],
)
def test_the_other_forms(term: str, computed) -> None:
    pairs = list(itertools.product(range(16), repeat=2))
    columns = {"x": [a for a, _ in pairs], "y": [b for _, b in pairs]}
    assert results(script_of(4, term, "(_ BitVec 4)"), columns) == [computed(a, b) for a, b in pairs]


def test_functions_are_called_with_their_arguments_in_place() -> None:
    text = "(define-fun twice ((a (_ BitVec 4)) (b (_ BitVec 4))) (_ BitVec 4) (bvadd (bvadd a a) b))"
    text += script_of(4, "(twice y (twice x y))", "(_ BitVec 4)")
    assert results(text, {"x": [1, 3], "y": [2, 5]}) == [(4 + 2 + 2) % 16, (10 + 6 + 5) % 16]


def random_term(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["x", "y", f"(_ bv{rng.randrange(8)} 3)"])
    a, b = (random_term(rng, depth - 1) for _ in range(2))
    kind = rng.choice([*list(BINARY)[:9], "ite"])
    return f"(ite (bvslt {a} {b}) {b} {a})" if kind == "ite" else f"({kind} {a} {b})"


def test_random_questions_get_the_answer_of_a_solver_and_of_all_values() -> None:
    rng = random.Random(3)
    seen = set()
    for _ in range(60):
        term = f"(= {random_term(rng, 2)} {random_term(rng, 2)})"
        text = script_of(3, term, "Bool") + " (assert (and r (not (= x y)))) (assert (bvult x y))"
        clauses, variables = drat.read_cnf(blast.dimacs(text))
        with pysat.Solver("cadical195", bootstrap_with=[c for c in clauses if c]) as solver:
            found = [] not in clauses and solver.solve()
        pairs = list(itertools.product(range(8), repeat=2))
        script = blast.Reader(text)
        held = blast.run(script, {"x": [a for a, _ in pairs], "y": [b for _, b in pairs]})
        assert found == any(all(row[k] for row in held) for k in range(64))
        assert ask("bitwuzla", text).status == ("sat" if found else "unsat")
        assert variables >= 6
        seen.add(found)
    assert seen == {True, False}


def test_the_same_text_gives_the_same_clauses() -> None:
    text = script_of(4, "(bvmul x (bvudiv y x))", "(_ BitVec 4)") + "(assert (= r (_ bv3 4)))"
    assert blast.dimacs(text) == blast.dimacs(text)
    assert blast.dimacs("; a comment\n" + text) == blast.dimacs(text)


@pytest.mark.parametrize(
    "text",
    [
        "(assert x)",
        "(declare-const x (_ BitVec 4)) (assert x)",
        "(declare-const x (_ BitVec 4)) (assert (= x (_ bv0 5)))",
        "(declare-const x (_ BitVec 4)) (declare-const x (_ BitVec 4))",
        "(declare-const x Int)",
        "(assert (forall ((x Bool)) x))",
        "(assert true",
        "(assert true))",
        "(push 1)",
        "(define-fun f ((a Bool)) Bool a) (assert (f true true))",
        "(declare-const x (_ BitVec 4)) (define-fun y () (_ BitVec 3) x)",
    ],
)
def test_what_is_not_of_that_part_of_the_language_is_refused(text: str) -> None:
    with pytest.raises(blast.Refused):
        blast.dimacs(text)


def test_the_command_makes_the_clauses_again_and_compares(tmp_path: Path) -> None:
    question, clauses = tmp_path / "question.smt2", tmp_path / "question.cnf"
    question.write_text(script_of(2, "(bvadd x y)", "(_ BitVec 2)") + "(assert (= r (_ bv3 2)))")
    command = [sys.executable, "-I", "-S", blast.__file__, str(question)]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    clauses.write_text(made)
    assert subprocess.run([*command, str(clauses)], capture_output=True, check=False).returncode == 0
    clauses.write_text(made.replace("p cnf", "c\np cnf"))
    assert subprocess.run([*command, str(clauses)], capture_output=True, check=False).returncode == 1
