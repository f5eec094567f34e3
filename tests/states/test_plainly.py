"""The search, and the same over fractions, a state at a time, find the same machine."""

import numpy as np
import pytest
from tests.states.sampling import harsh, sampled

from glyptic import programs
from glyptic.exact import Transformer
from glyptic.states import TooManyStates, machine
from glyptic.states.plainly import joined, plain_machine


def same(transformer: Transformer, states: int) -> bool:
    """Whether both find one machine, states in the order of discovery; False where there are too many states for a test."""
    try:
        found = machine(transformer, states).minimal()
    except TooManyStates:
        return False
    plain = joined(plain_machine(transformer))
    numbers = [-3 if output is None else output for output in plain.outputs]
    order = [0]
    for state in order:
        order += [t for t in dict.fromkeys(plain.moves[state]) if t >= 0 and t not in order]
    place = {state: k for k, state in enumerate(order)}
    assert np.array_equal(found.moves, [[place.get(t, -1) for t in plain.moves[state]] for state in order])
    assert found.numbers.tolist() == [numbers[state] for state in order]
    return True


def test_both_searches_find_the_same_machine() -> None:
    assert sum(same(sampled(seed), 60) for seed in range(30)) >= 10


@pytest.mark.slow
def test_both_searches_find_the_same_machine_of_many() -> None:
    assert sum(same(sampled(seed), 150) for seed in range(200)) >= 100


@pytest.mark.parametrize("norm", ["none", "pre", "post"])
def test_undefined_runs(norm: str) -> None:
    assert sum(same(harsh(seed, "softmax", norm), 100) for seed in range(8)) >= 3


@pytest.mark.parametrize("name", ["averaging-majority", "nested", "same-ends", "exactly:2", "first-equals-last:4"])
def test_deciders(name: str) -> None:
    assert same(programs.open(name, "fixed:2"), 1000)
