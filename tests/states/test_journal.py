"""An interrupted search goes on where it was, and finds the same machine."""

import numpy as np
import pytest
from tests.states.sampling import sampled

from glyptic import programs
from glyptic.errors import FileError
from glyptic.states import TooManyStates, machine, search


def same(a, b) -> bool:
    return np.array_equal(a.moves, b.moves) and np.array_equal(a.numbers, b.numbers) and np.array_equal(a.place, b.place)


def test_a_search_over_its_budget_goes_on(tmp_path) -> None:
    transformer = programs.open("averaging-majority", "fixed:3")
    path = tmp_path / "journal"
    for states in (40, 100, 200):
        with pytest.raises(TooManyStates):
            machine(transformer, states, journal=path)
    assert same(machine(transformer, journal=path), machine(transformer))
    assert same(machine(transformer, journal=path), machine(transformer))  # finished: nothing is searched again


def test_an_interrupted_search_goes_on(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at every so many steps, in each layer of several transformers."""
    for seed in (1, 6, 14):
        transformer, path = sampled(seed), tmp_path / str(seed)
        right, moved, interruptions = machine(transformer), search.LayerSearch._moved, 0
        steps = 0

        def interrupted(self, rows, token, moved=moved):
            nonlocal steps
            steps += 1
            if steps % 4 == 0:
                raise KeyboardInterrupt
            return moved(self, rows, token)

        monkeypatch.setattr(search.LayerSearch, "_moved", interrupted)
        while True:
            try:
                found = machine(transformer, journal=path)
                break
            except KeyboardInterrupt:
                interruptions += 1
        monkeypatch.undo()
        assert same(found, right) and interruptions, seed


def test_journals_of_others_are_refused(tmp_path) -> None:
    path = tmp_path / "journal"
    machine(programs.open("occurs", "fixed:2"), journal=path)
    with pytest.raises(FileError, match="journal of another transformer"):
        machine(programs.open("occurs", "fixed:3"), journal=path)
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(FileError, match="damaged"):
        machine(programs.open("occurs", "fixed:2"), journal=path)
    path.write_text("something else")
    with pytest.raises(FileError, match="no journal of a search"):
        machine(programs.open("occurs", "fixed:2"), journal=path)
