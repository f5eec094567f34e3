"""An interrupted search goes on where it was, and finds the same machine."""

import contextlib
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.states.sampling import sampled

from glyptic import programs
from glyptic.errors import FileError
from glyptic.states import TooManyStates, machine, search
from glyptic.states.journal import SearchJournal, question


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
        right, moved, interruptions = machine(transformer), search.LayerSearch._go_on, 0
        steps = 0

        def interrupted(self, moved=moved):
            nonlocal steps
            steps += 1
            if steps % 2 == 0:
                raise KeyboardInterrupt
            return moved(self)

        monkeypatch.setattr(search, "_CELLS", 10)
        monkeypatch.setattr(search.LayerSearch, "_go_on", interrupted)
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


def test_any_damaged_bit_is_told_in_a_sentence(tmp_path) -> None:
    """One bit of each byte of the header, and of some bytes of what follows."""
    transformer, path = programs.open("occurs", "fixed:2"), tmp_path / "journal"
    machine(transformer, journal=path)
    whole = path.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in (*range(header), *range(header, len(whole), 37)):
        data = bytearray(whole)
        data[place] ^= 1 << place % 7
        path.write_bytes(bytes(data))
        if not whole[place : place + 1].isspace():  # the header is filled up with spaces
            with pytest.raises(FileError, match="is damaged"):
                machine(transformer, journal=path)


def test_impossible_numbers_are_refused_although_they_are_sealed(tmp_path) -> None:
    """Whoever can write a journal can seal it: numbers that lead out of a table do not come to compiled code."""
    transformer, refused = programs.open("averaging-majority", "fixed:2"), 0
    path = tmp_path / "journal"
    for states, names in ((40, ("now.rows", "now.moves", "now.asked", "now.outcomes")), (200_000, ("0.moves", "0.outputs"))):
        for name in names:
            for value in (10**6, -(10**6)):
                path.unlink(missing_ok=True)
                with contextlib.suppress(TooManyStates):
                    machine(transformer, states, journal=path)
                kept = SearchJournal(path, question(transformer, None, ()))
                array = kept.arrays[name].copy()
                array[len(array) // 2] = value
                kept.arrays[name] = array
                kept.write()
                with pytest.raises(FileError, match="no search of this transformer finds"):
                    machine(transformer, journal=path)
                refused += 1
    assert refused == 12


def test_a_killed_search_goes_on(tmp_path) -> None:
    """The process is killed as soon as there is a journal; what was written is whole, and the search goes on from it."""
    path = tmp_path / "journal"
    code = (
        "import sys; from glyptic import programs; from glyptic.states import journal, machine, search\n"
        "journal._EVERY, search._CELLS = 0, 400\n"
        "machine(programs.open('averaging-majority', 'fixed:5'), journal=sys.argv[1])\n"
        "print('finished')"
    )
    killed = 0
    for pause in (0.0, 0.05, 0.2):
        process = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
        before = path.stat().st_mtime_ns if path.exists() else 0
        while process.poll() is None and (path.stat().st_mtime_ns if path.exists() else 0) == before:
            time.sleep(0.002)
        time.sleep(pause)
        process.kill()
        killed += "finished" not in process.communicate()[0]
    assert killed and path.exists()
    transformer = programs.open("averaging-majority", "fixed:5")
    assert same(machine(transformer, journal=path), machine(transformer))
    assert [each.name for each in tmp_path.iterdir() if not each.name.startswith(".")] == ["journal"]
