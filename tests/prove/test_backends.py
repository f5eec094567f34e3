"""Processes and clusters, for real: results, and a worker killed half-way. What takes long is marked slow."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glyptic.errors import InputError
from glyptic.parallel import stream
from glyptic.prove import B, Claim, Values, variables
from glyptic.studies import sweep

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}


def test_what_is_not_a_backend_is_refused():
    with pytest.raises(InputError, match="no backend 'slurm'; there are loky, ray, dask, sequential"):
        next(stream(pow, [(2, 3)], "slurm"))
    with pytest.raises(InputError, match="0 workers"):
        next(stream(pow, [(2, 3)], "loky", 0))


def test_arguments_are_taken_as_results_come():
    taken = []

    def arguments():
        for n in range(5):
            taken.append(n)
            yield (n, 2)

    results = stream(pow, arguments(), "sequential")
    assert next(results) == 0
    assert taken == [0]
    assert list(results) == [1, 4, 9, 16]


def test_two_processes_give_all_results():
    assert sorted(stream(pow, ((n, 2) for n in range(9)), "loky", 2)) == [n * n for n in range(9)]


def with_a_death(what, backend, folder):
    """What `deaths.py` prints."""
    command = [sys.executable, str(HERE / "deaths.py"), what, backend, str(folder)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "ray", "dask"])
def test_a_worker_killed_half_way_loses_nothing_and_nothing_counts_twice(backend, tmp_path):
    result = with_a_death("language", backend, tmp_path)
    (done,) = result["done_at_death"]  # one death, about half-way through the 65 portions
    assert 28 <= len(done) <= 44
    assert result["workers"] > 2  # a worker that began after it: there was work left
    assert (result["answer"], result["inputs"]) == ("Proved", 2**15 - 2)


ORPHANS = """
import os, sys, time
from glyptic.parallel import stream

def work(n):
    print(os.getpid(), flush=True)
    time.sleep(0.1 if n < 2 else 600)

list(stream(work, [(n,) for n in range(4)], "loky", 2))
"""


def alive(pid):
    """Whether a process runs; one that has ended and is not yet waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_soon_after_their_parent_is_killed():
    """With kill -9, which tells nobody; at work or idle."""
    process = subprocess.Popen([sys.executable, "-c", ORPHANS], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    workers = {int(process.stdout.readline()) for _ in range(4)}
    assert len(workers) == 2
    assert all(map(alive, workers))
    process.kill()
    process.wait()
    until = time.monotonic() + 60
    while any(map(alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, workers))


CLUSTERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("ray", "dask")]


@pytest.mark.parametrize("backend", ["loky", *CLUSTERS])
def test_a_worker_killed_in_a_sweep_loses_nothing_and_nothing_is_done_twice(backend, tmp_path):
    result = with_a_death("sweep", backend, tmp_path)
    (done,) = result["done_at_death"]
    assert 4 <= len(done) < 10
    assert result["workers"] >= 2  # the one that is left may be done before another has taken the dead one's place
    assert result["holds_in"] == [f"fixed:{s}" for s in range(1, 11)]
    assert result["inputs"] == [2 * 4**s - 1 for s in range(1, 11)]
    assert all(result["made"].count(format) == 1 for format in done)  # what was kept is not done again
    assert sum(result["made"].count(f"fixed:{s}") > 1 for s in range(1, 11)) <= 8  # and of the rest, what was under way


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "ray", "dask"])
def test_an_error_in_the_work_is_no_death(backend):
    """It comes out as it is, at once, and the work is not tried again as if a worker had died."""
    with pytest.raises(ZeroDivisionError):
        list(stream(divmod, [(1, 1), (1, 0)], backend, 2))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "ray", "dask"])
def test_a_sweep_on_two_workers(backend):
    (x,) = variables("x")
    found = sweep(Claim(Values("x"), x + B + B - B == 0), "fixed:1..8", backend=backend, workers=2, progress=False)
    assert found.holds_in == tuple(f"fixed:{s}" for s in range(1, 9))
    assert [verdict.inputs for verdict in found.verdicts.values()] == [2 * 4**s - 1 for s in range(1, 9)]


@pytest.mark.slow
def test_a_command_interrupted_goes_on_from_its_journal(tmp_path):
    """SIGINT to the whole command, then the same command again."""
    journal = tmp_path / "journal.json"
    script = (
        "import sys; from glyptic.prove.methods.enumeration import portions; portions.INPUTS_IN_PORTION = 256; "
        "from glyptic import cli; cli.COMMANDS['prove'] = ('glyptic.cli.prove:ProveCommand', ''); "
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    words = ["prove", "palindromes:16", "--decisive", "--engine", "fast", "--workers", "1", "--journal", str(journal)]
    command = [sys.executable, "-c", script, *words]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(1200):
        time.sleep(0.05)
        if journal.exists() and len(json.loads(journal.read_text())["done"]) >= 3:
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    kept = json.loads(journal.read_text())["done"]
    assert 3 <= len(kept) < 513
    again = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert again.returncode == 0, again.stderr[-2000:]
    assert "131,070 inputs run" in again.stdout
    assert not journal.exists()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["ray", "dask"])
def test_a_command_on_a_cluster(backend):
    """`glyptic prove … --backend`, from the shell: the same verdict as in one process."""
    words = ["prove", "palindromes:14", "--decisive", "--backend", backend, "--workers", "2"]
    command = [sys.executable, "-m", "glyptic", *words]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "32,766 inputs run" in done.stdout
