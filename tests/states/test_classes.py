"""Classes of states that no word tells apart: against splitting by hand until nothing splits, and fast on one long chain."""

import time

import numpy as np
import pytest

from glyptic.states import TooManyStates
from glyptic.states.budget import Budget
from glyptic.states.classes import classes, refine


def by_hand(moves: np.ndarray, outputs: np.ndarray) -> list[int]:
    """The class of each state, numbered as they come: of equal outputs, split until nothing splits (Moore, 1956)."""
    kinds = [int(output) for output in outputs]
    while True:
        signatures = [(kinds[s], *(None if t < 0 else kinds[t] for t in row)) for s, row in enumerate(moves.tolist())]
        names = {signature: k for k, signature in enumerate(dict.fromkeys(signatures))}
        finer = [names[signature] for signature in signatures]
        if len(set(finer)) == len(set(kinds)):
            return finer
        kinds = finer


def reached(moves: np.ndarray) -> list[int]:
    found = [0]
    for state in found:
        found += [t for t in dict.fromkeys(moves[state].tolist()) if t >= 0 and t not in found]
    return found


def test_classes_are_those_split_by_hand() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1500):
        states, tokens, said = int(rng.integers(1, 30)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
        moves = rng.integers(-int(rng.integers(0, 2)), states, (states, tokens)).astype(np.int32)
        if rng.integers(2):  # copies of states, so that there is something to join
            moves = np.concatenate([moves, moves + (moves >= 0) * (rng.integers(0, 2, moves.shape) * states)]).astype(np.int32)
        outputs = rng.integers(0, said, states) if len(moves) == states else np.tile(rng.integers(0, said, states), 2)
        number, chosen, joined = classes(moves, outputs)
        right, order = by_hand(moves, outputs), reached(moves)
        assert all((number[a] == number[b]) == (right[a] == right[b]) for a in order for b in order)
        met = {right[state] for state in order}
        assert (number >= 0).tolist() == [kind in met for kind in right]
        assert list(dict.fromkeys(number[s] for s in order)) == list(range(len(chosen)))  # as they are discovered
        assert [int(number[s]) for s in chosen] == list(range(len(chosen)))
        for state in order:
            assert outputs[chosen[number[state]]] == outputs[state]
            assert [-1 if t < 0 else number[t] for t in moves[state]] == joined[number[state]].tolist()


def test_a_long_chain_is_no_square() -> None:
    """Refined a round at a time, the chain of 300,000 states would take as many rounds."""
    count = 300_000
    chain = np.minimum(np.arange(1, count + 1), count - 1)[:, None].astype(np.int32)
    classes(chain[:4].clip(max=3), np.zeros(4))
    start = time.process_time()
    assert len(classes(chain, (np.arange(count) == count - 1).astype(int))[1]) == count
    assert len(classes(chain, np.zeros(count))[1]) == 1
    assert time.process_time() - start < 5


def test_a_limit_is_asked_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glyptic.states.classes._FUEL", 100)
    chain = np.minimum(np.arange(1, 1001), 999)[:, None].astype(np.int32)
    asked = []
    assert len(classes(chain, np.arange(1000) == 999, lambda: asked.append(1))[1]) == 1000
    assert len(asked) > 10
    with pytest.raises(TooManyStates, match="time limit"):
        classes(chain, np.arange(1000) == 999, Budget(seconds=1e-9).ask)


def test_a_split_that_forgets_the_smaller_part_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The refinement broken on purpose: classes that wait no more split nothing."""

    def hasty(part, *more):
        part.counts[1] = min(part.counts[1], 1)
        return refine(part, *more)

    monkeypatch.setattr("glyptic.states.classes.refine", hasty)
    with pytest.raises(AssertionError):
        test_classes_are_those_split_by_hand()
