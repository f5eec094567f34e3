"""Lemmas that a solver proves first: what they settle, and that they settle nothing that is false."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest

from glyptic.prove import Proved
from glyptic.prove.claims.claim import Claim
from glyptic.prove.methods.smt import bits
from glyptic.prove.methods.smt.agreement import points
from glyptic.prove.methods.smt.bits import Bits, constant, variable
from glyptic.prove.methods.smt.lemmas import Lemmas, _Proofs
from glyptic.prove.methods.smt.questions import Question, pose
from glyptic.prove.methods.smt.solvers import Reply, SolverLimits, ask
from glyptic.prove.methods.smt.sweeping import LemmaSweep
from glyptic.theorems.mutation import mutants
from glyptic.theorems.proving import TheoremJob, prove, read_scope, theorem

LIMITS = SolverLimits(20.0, 2048)


def sweep_of(claim: Claim, question: Question) -> LemmaSweep:
    return Lemmas(claim, question, {})._sweep(_Proofs("bitwuzla", LIMITS), points(claim, question) or {})


def test_what_is_too_hard_as_one_question_is_proved_by_lemmas():
    """In fp8_e5m2 five seconds are not enough for one of its conditions, asked as one."""
    row = prove(TheoremJob("linear.into", "fp8_e5m2", seconds=20, terms="plain"))
    assert isinstance(row.verdict, Proved), row.verdict
    assert "lemmas" in row.verdict.solvers[0] and row.mark == "✓1"


@pytest.mark.slow
def test_in_16_bits_a_sum_in_two_parts_is_the_sum():
    """[[y + x⁺] − x⁻] = [y + x], of which a solver makes nothing in plain terms."""
    assert isinstance(prove(TheoremJob("add.copy", "fp16", seconds=20, terms="plain")).verdict, Proved)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["normalize.zero_one", "closure.conjunction", "compose.relay, a's turn"])
def test_in_16_bits_deciders_are_normalized_and_joined(name):
    assert isinstance(prove(TheoremJob(name, "fp16", seconds=60, terms="plain")).verdict, Proved)


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        *((name, "fixed:2") for name in ("add.copy", "linear.in_place", "zero.at")),
        *(("zero.at", scope) for scope in ("fp8_e5m2", "float:2,2/even")),
        *(pytest.param("add.copy", scope, marks=pytest.mark.slow) for scope in ("fp8_e5m2", "float:2,2/even")),
        pytest.param("linear.in_place", "fp8_e5m2", marks=pytest.mark.slow),
    ],
)
def test_a_broken_weight_is_never_swept_away(name, scope):
    """Where a counterexample exists, no lemma makes it impossible, whatever is cut and split."""
    format, products = read_scope(scope)
    found = 0
    for mutant in list(mutants(theorem(name).claim(format, products)))[:4]:
        claim = mutant.claim
        question = pose(claim, format, "plain")
        for part in question.failing_parts:
            if bits.FALSE not in part and ask("bitwuzla", bits.script(part), LIMITS).status == "sat":
                assert not sweep_of(claim, question).refutes(part)
                found += 1
    assert found


def random_condition(rng: random.Random, depth: int, leaves: list[Bits], results: list[Bits]) -> Bits:
    """Some word-level expression over the leaves; every node of it is a result."""
    if depth == 0:
        return rng.choice(leaves)
    a, b = (random_condition(rng, depth - 1, leaves, results) for _ in range(2))
    zero = constant(0, a.width)
    made = rng.choice([
        lambda: bits.add(a, b), lambda: bits.subtract(a, b), lambda: bits.negate(a),
        lambda: bits.choose(bits.less(a, zero), zero, a), lambda: bits.choose(bits.less(a, b), b, a),
        lambda: bits.choose(bits.equal(a, b), a, zero),
    ])()  # fmt: skip
    results.append(made)
    return made


@pytest.mark.parametrize("seed", range(40))
def test_sweeping_says_what_trying_all_values_says(seed):
    """Three values of four bits, so that all are tried; few points, so that much looks equal that is not."""
    rng = random.Random(seed)
    leaves = [variable(name, 4) for name in ("a", "b", "c")]
    results: list[Bits] = []
    left, right = (random_condition(rng, 3, leaves, results) for _ in range(2))
    conditions = [bits.opposite(bits.equal(left, right))]
    everything = dict(zip("abc", np.indices((16, 16, 16)).reshape(3, -1), strict=True))
    met = np.broadcast_to(np.asarray(bits.compute(conditions, everything)[0], bool), (4096,))
    some = {name: np.array([rng.randrange(16) for _ in range(6)]) for name in "abc"}
    proofs = _Proofs("bitwuzla", LIMITS)
    unique = list({id(node): node for node in (*leaves, *results)}.values())
    swept = LemmaSweep(unique, [], some, (-8, 7), proofs.ask).refutes(conditions)
    assert swept == (not met.any())


def test_what_a_case_is_given_stays_given():
    """x < 0 stands in the circuit too, where it becomes `true`; what comes later must still know it."""
    x, zero = variable("x", 8), constant(0, 8)
    size = bits.choose(bits.less(x, zero), bits.negate(x), x)
    same = bits.choose(bits.less(zero, x), constant(5, 8), x)
    total, some = bits.add(same, size), {"x": np.array([200, 130, 255])}
    sweep = LemmaSweep([x, size, same, total], [bits.less(x, zero)], some, (-127, 127), _Proofs("bitwuzla", LIMITS).ask, depth=1)
    assert sweep.refutes([bits.opposite(bits.equal(total, zero))])


def test_a_result_and_its_negative_are_not_cut_apart():
    """(−a)·(−a) = a·a holds of every a, and not of two strangers: a is cut, −a stays what it is of a."""
    v = a = variable("v", 8)
    for k in range(6):
        a = bits.add(bits.multiply(a, v), constant(k, 8))
    opposite = bits.negate(a)
    sides = [bits.add(bits.multiply(x, x), opposite) for x in (opposite, a)]
    conditions = [bits.opposite(bits.equal(*sides))]
    sweep = LemmaSweep([a, opposite], [], {"v": np.array([1, 2, 77])}, (-127, 127), _Proofs("bitwuzla", LIMITS).ask)
    assert sweep.refutes(conditions)
    assert [node is a for node in sweep._shared(conditions)] == [True]


def test_a_lemma_asked_under_other_names_is_asked_once():
    proofs = _Proofs("bitwuzla", LIMITS)
    for name in ("v1", "v2"):
        square = bits.multiply(variable(name, 8), variable(name, 8))
        assert proofs.ask([bits.equal(bits.extract(square, 1, 0), constant(2, 2))], 5).status == "unsat"
    assert len(proofs._known) == 1 and proofs.said == {"unsat": 2}


def test_lemmas_that_have_had_their_time_are_not_asked():
    proofs = _Proofs("bitwuzla", SolverLimits(1e-9))
    x = variable("x", 8)
    assert proofs.ask([bits.less(x, constant(3, 8))], 5).status == "sat"
    assert proofs.ask([bits.less(x, constant(4, 8))], 5).status == "unknown"
    assert proofs.ask([bits.less(x, constant(3, 8))], 5).status == "sat"  # what is known stays known


def many_cases(questions: int = 6) -> tuple[list[Bits], list[Bits]]:
    """Results of several values, every one of which changes its sign, and a condition over all of them."""
    made = [variable(f"v{k}", 8) for k in range(questions)]
    for k in range(questions, 6 * questions):
        made.append(bits.multiply(made[k - questions], made[k - 1]))
    return made, [bits.equal(made[-1], made[-2])]


def test_a_sweep_ends_when_its_time_is_over_though_no_solver_is_asked():
    """A solver that never knows leaves cases of cases of cases: these are many, and take our own time, which is limited too."""
    results, conditions = many_cases()
    proofs, asked = _Proofs("bitwuzla", SolverLimits(0.05)), []

    def never_knows(_: object, __: float) -> Reply:
        asked.append(True)
        assert len(asked) < 20_000, "it goes on and on"
        return Reply("bitwuzla", "unknown")

    points_of = {node.detail: np.arange(-3, 4) * (k + 1) & 255 for k, node in enumerate(results[:6])}
    with proofs.watch:
        sweep = LemmaSweep(results, [], points_of, (-127, 127), never_knows, proofs.over)
        assert not sweep.refutes(conditions)
        assert proofs.watch.seconds < 5
    assert proofs.over()


def test_a_case_of_which_nothing_is_given_is_tried_at_points_too():
    """Where a value is 0, and of no other anything is known, all values are points of the case."""
    x, y = variable("x", 8), variable("y", 8)
    sweep = LemmaSweep([x, y], [], {"x": np.array([-1, 0, 1])}, (-127, 127), _Proofs("bitwuzla", LIMITS).ask)
    more = sweep._more({"x": np.array([0, 0])}, [])
    assert more["x"].shape == (2 + 512,)


def test_a_check_by_lemmas_keeps_to_its_limit(monkeypatch):
    """What was tried for minutes under a limit of a tenth of a second."""
    monkeypatch.setattr("glyptic.prove.methods.smt.lemmas._DIRECT", 1e-3)
    claim = theorem("linear.in_place").claim(*read_scope("fp16"))
    start = time.thread_time()
    question = pose(claim, claim.subject.format, "plain")
    said = Lemmas(claim, question, {bits.script(part): part for part in question.failing_parts[:1]})
    reply = said.asked("bitwuzla", list(said.conditions), SolverLimits(0.1, 2048))
    assert reply.status in ("unknown", "unsat") and time.thread_time() - start < 15
