"""A sweep that is killed half-way loses no finished cell, and counts none twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from glyptic import figures
from glyptic.cores import WorkerLost
from glyptic.errors import FileError, InputError
from glyptic.icl.experiments.cells import Cell, run
from glyptic.icl.experiments.sweeps import Grid, draw, write_table
from glyptic.icl.theory.problem import ProblemError
from glyptic.parallel import gather

SOURCE = Path(__file__).parents[2] / "src"
GRID = Grid(d=(2, 3), N=(5, 10, 20), M=(10, 40), noise_variance=(0.0, 0.5), prompts=40_000)
SCRIPT = """
import signal
from pathlib import Path
from glyptic.icl.experiments.cells import run
from glyptic.icl.experiments.sweeps import Grid
grid = Grid(d=(2, 3), N=(5, 10, 20), M=(10, 40), noise_variance=(0.0, 0.5), prompts=40_000)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs the tests in the background ignores Ctrl-C
run(grid.cells(), Path({folder!r}), {backend!r}, 2)
"""


def start(folder: Path, backend: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    script = SCRIPT.format(folder=str(folder), backend=backend)
    return subprocess.Popen(
        [sys.executable, "-c", script], env=environment, start_new_session=True, stderr=subprocess.DEVNULL
    )


def wait_for_cells(folder: Path, count: int, process: subprocess.Popen) -> None:
    end = time.monotonic() + 120
    while len(list((folder / "cells").glob("*.json"))) < count:
        assert process.poll() is None, "the sweep ended before it could be killed"
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize(("backend", "how"), [("loky", signal.SIGKILL), ("sequential", signal.SIGINT)])
def test_killed_half_way_nothing_is_lost_and_nothing_counted_twice(tmp_path, backend, how):
    process = start(tmp_path, backend)
    wait_for_cells(tmp_path, 5, process)
    os.killpg(process.pid, how)
    process.wait()
    kept = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "cells").glob("*.json")}
    assert 5 <= len(kept) < len(GRID.cells()) == 24

    rows = run(GRID.cells(), tmp_path, "sequential", 1, progress=False)
    now = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "cells").glob("*.json")}
    assert {name: now[name] for name in kept} == kept  # finished cells were not computed again
    assert len(now) == 24
    seen = [(row["d"], row["N"], row["M"], row["noise_variance"], row["learner"]) for row in rows]
    assert len(seen) == len(set(seen)) == 24 * 3


def dying(folder: Path, times: int) -> list[Cell]:
    """Cells that leave a note each time that they are computed; the worker that has the last dies of it, so many times."""

    class Dying(Cell):
        def rows(self):
            N = dict(self.parameters)["N"]
            tried = len(list(folder.glob(f"{N}-*")))
            (folder / f"{N}-{tried}").touch()
            if N == 8 and tried < times:
                while not list((folder / "sweep" / "cells").glob("*.json")):  # half-way: another cell is there
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGKILL)
            return super().rows()

    return [Dying(cell.measure, cell.parameters) for cell in Grid(N=(2, 4, 6, 8), prompts=20).cells()]


def test_a_killed_worker_loses_its_cell_only_and_that_is_computed_again(tmp_path):
    (tmp_path / "sweep" / "cells").mkdir(parents=True)
    cells = dying(tmp_path, times=1)
    rows = run(cells, tmp_path / "sweep", "loky", 2, progress=False)
    plain = [Cell(cell.measure, cell.parameters) for cell in cells]
    assert rows == run(plain, tmp_path / "other", "sequential", 1, progress=False)
    tries = {N: len(list(tmp_path.glob(f"{N}-*"))) for N in (2, 4, 6, 8)}
    assert tries[8] == 2
    assert min(tries.values()) == 1  # what was there when the worker died is not computed again


def test_a_cell_that_kills_every_worker_ends_the_sweep_and_the_others_stay(tmp_path):
    (tmp_path / "sweep" / "cells").mkdir(parents=True)
    with pytest.raises(WorkerLost, match="a worker of loky died"):
        run(dying(tmp_path, times=99), tmp_path / "sweep", "loky", 2, progress=False)
    assert len(list(tmp_path.glob("8-*"))) == 6
    assert len(list((tmp_path / "sweep" / "cells").glob("*.json"))) == 3


def test_a_restarted_sweep_has_the_rows_of_an_uninterrupted_one(tmp_path):
    grid = Grid(N=(5, 10), noise_variance=(0.0, 1.0), prompts=200)
    run(grid.cells()[:2], tmp_path / "a", "sequential", 1, progress=False)
    resumed = run(grid.cells(), tmp_path / "a", "loky", 2, progress=False)
    whole = run(grid.cells(), tmp_path / "b", "sequential", 1, progress=False)
    assert resumed == whole
    # a cell listed twice is one cell
    assert run([*grid.cells(), *grid.cells()], tmp_path / "b", "sequential", 1, progress=False) == whole


def test_exact_and_sampled_risk_agree(tmp_path):
    grid = Grid(d=(2, 4), N=(10,), M=(5, 30), spectrum=("isotropic", "inverse"), noise_variance=(0.0, 0.7), prompts=20_000)
    rows = run(grid.cells(), tmp_path, "sequential", 1, progress=False)
    exact = {_where(row): row["risk"] for row in rows if row["learner"].endswith("exact")}
    sampled = [row for row in rows if row["learner"].endswith("sampled")]
    assert len(sampled) == len(exact) == 16
    for row in sampled:
        assert abs(row["risk"] - exact[_where(row)]) < 4.5 * row["standard_error"]


def _where(row):
    return row["d"], row["M"], row["spectrum"], row["noise_variance"]


def test_the_training_measure_reaches_the_exact_risk(tmp_path):
    rows = run(Grid("train", d=(3,), N=(15,)).cells(), tmp_path, "sequential", 1, progress=False)
    assert rows[1]["risk"] == pytest.approx(rows[0]["risk"], rel=0.01, abs=0)


def test_tables(tmp_path):
    rows = run(Grid(N=(5, 10), prompts=50).cells(), tmp_path, "sequential", 1, progress=False)
    table = pq.read_table(write_table(rows, tmp_path / "t.parquet"))
    assert table.to_pylist() == rows
    text = write_table(rows, tmp_path / "t.csv").read_text().splitlines()
    assert text[0].split(",") == list(rows[0])
    assert len(text) == 1 + len(rows)
    assert not list(tmp_path.glob("*.part"))


def drawn(grid, folder):
    rows = run(grid.cells(), folder, "sequential", 1, progress=False)
    _, axes = figures.new()
    draw(axes, rows, grid.longest_axis())
    return axes


def test_the_figure_of_a_sweep(tmp_path):
    assert drawn(Grid(prompts=50), tmp_path).get_xlabel() == "training length N = M"  # one N, and M = N
    assert drawn(Grid(N=(5, 10), M=(7,), prompts=50), tmp_path).get_xlabel() == "training length N"
    many = drawn(Grid(N=tuple(range(5, 15)), d=tuple(range(1, 10)), prompts=5), tmp_path)
    colours = {line.get_color() for line in many.lines if line.get_label().startswith("d = ")}
    assert len(colours) == 9


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_ray_and_dask_for_real(tmp_path, backend):
    """Two workers in other processes compute what this process computes."""
    grid = Grid(N=(5, 10), M=(5, 10), noise_variance=(0.0, 1.0), prompts=500)
    process_ids = {*gather(os.getpid, dict.fromkeys(range(6), ()), backend, 2).values()}
    assert os.getpid() not in process_ids
    rows = run(grid.cells(), tmp_path / backend, backend, 2, progress=False)
    assert len(list((tmp_path / backend / "cells").glob("*.json"))) == 8
    assert rows == run(grid.cells(), tmp_path / "here", "sequential", 1, progress=False)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda folder: Grid(d=()), "the axis d of the sweep is empty"),
        (lambda folder: Grid(M=(0,)), r"M\[0\] is 0"),
        (lambda folder: Grid(noise_variance=(-1.0,)), r"noise_variance\[0\] is -1"),
        (lambda folder: Grid(spectrum=("cubic",)), "cubic"),
        (lambda folder: Grid("fly").cells(), "no measure 'fly'; there are risk, train"),
        (lambda folder: Cell.of("depth", {"d": 2, "n": 3}), "depth is of d, N, layers, sparse, steps, seed, and not of n"),
        (lambda folder: Cell.of("depth", {"d": 2, "N": 3}), "depth is of d, N, layers, sparse, steps, seed, and lacks layers"),
        (lambda folder: run(Grid(prompts=9).cells(), folder, "slurm", 2, False), "no backend 'slurm'; there are auto"),
        (lambda folder: run(Grid(prompts=9).cells(), folder, "loky", 0, False), "workers is 0, and must be a whole number"),
    ],
)
def test_bad_input_is_one_sentence(tmp_path, call, sentence):
    with pytest.raises((ProblemError, InputError), match=sentence):
        call(tmp_path)


def test_bad_files_are_one_sentence(tmp_path):
    (cell,) = Grid(d=(2,), N=(5,), prompts=10).cells()
    run([cell], tmp_path, "sequential", 1, progress=False)
    stored = tmp_path / "cells" / f"{cell.key}.json"
    assert json.loads(stored.read_text())[0]["learner"] == "linear attention, exact"
    stored.write_text("{")
    with pytest.raises(FileError, match="is damaged: remove it"):
        run([cell], tmp_path, "sequential", 1, progress=False)
    with pytest.raises(FileError, match=r"has to end in \.parquet or \.csv"):
        write_table([{"a": 1}], tmp_path / "t.xls")
    with pytest.raises(FileError, match="cannot be made"):
        run([cell], stored, "sequential", 1, progress=False)
