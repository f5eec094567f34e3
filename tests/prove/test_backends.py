"""Processes and clusters, for real: results, and a worker killed half-way. What takes long is marked slow."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glyptic import programs
from glyptic.errors import InputError
from glyptic.languages import regular
from glyptic.numbers import Fixed
from glyptic.parallel import stream
from glyptic.prove import B, Claim, Proved, Refuted, Values, check, holds, inputs, variables
from glyptic.prove.methods.enumeration import deciding, portions
from glyptic.prove.questions import decisiveness, recognition
from glyptic.studies import sweep

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}


def test_what_is_not_a_backend_is_refused():
    with pytest.raises(InputError, match="no backend 'slurm'; there are auto, threads, loky, ray, dask, sequential"):
        next(stream(pow, [(2, 3)], "slurm"))
    with pytest.raises(InputError, match="workers is 0, and must be a whole number"):
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
    os.write(1, f"{os.getpid()}\\n".encode())  # at once: two write here
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
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_command_interrupted_goes_on_from_its_journal(workers, tmp_path):
    """SIGINT to the whole command, then the same command again."""
    journal = tmp_path / "journal.json"
    script = (
        "import sys; from glyptic.prove.methods.enumeration import portions; portions.INPUTS_IN_PORTION = 256; "
        "from glyptic import cli; cli.COMMANDS['prove'] = ('glyptic.cli.prove:ProveCommand', ''); "
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    words = ["prove", "palindromes:16", "--decisive", "--engine", "fast", "--workers", workers, "--journal", str(journal)]
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


def verdicts_by_threads(claim, **limits):
    return [check(claim, backend=backend, workers=n, progress=False, **limits)
            for backend, n in (("sequential", None), ("auto", 1), ("auto", 2), ("auto", 3), ("threads", 2))]  # fmt: skip


def test_any_number_of_threads_gives_the_same_verdict(monkeypatch):
    """Proved, refuted with the smallest counterexample, counted, over inputs and over values."""
    monkeypatch.setattr(portions, "INPUTS_IN_PORTION", 64)
    monkeypatch.setattr(portions, "VALUES_IN_PORTION", 1 << 9)
    x, y = variables("x y")
    odd, never = programs.open("parity:9", "fixed:4"), holds(lambda text: False)
    claims = {
        Proved: [decisiveness(odd), Claim(Values("x", Fixed(6)), x + B + B - B == 0)],
        Refuted: [recognition(odd, regular("(0|1)*1")), Claim(Values("x y", Fixed(2)), x + (y - x) == y)],
    }
    for kind, ones in claims.items():
        for claim in ones:
            for limits in ({}, {"count_all": True}):
                first, *more = verdicts_by_threads(claim, **limits)
                assert type(first) is kind
                for other in more:
                    assert str(other) == str(first)
                    same = ("inputs", "satisfying", "failures") if kind is Proved or limits else ()
                    assert all(getattr(first, name, 0) == getattr(other, name, 0) for name in same)
    predicate = Claim(inputs(odd, max_length=4), ~never)
    assert str(check(predicate, workers=2, progress=False)) == str(check(predicate, workers=1, progress=False))


def test_threads_are_taken_where_all_the_work_is_compiled(monkeypatch):
    """Predicates, fractions and free weights are Python's work, which threads would do one at a time."""
    odd = programs.open("parity:5", "fixed:4")
    (x,) = variables("x")

    def where(claim, **about):
        return deciding._where(portions.Enumeration(claim, **about), deciding.EnumerationLimits())

    assert where(decisiveness(odd)) == where(Claim(Values("x", Fixed(4)), x == x)) == "threads"
    assert where(decisiveness(odd), engine="reference") == where(Claim(Values("x", Fixed(30)), x == x)) == "loky"
    assert where(Claim(inputs(odd, max_length=4), holds(bool))) == "loky"
    limits = deciding.EnumerationLimits(backend="loky")
    assert deciding._where(portions.Enumeration(decisiveness(odd)), limits) == "loky"


def test_an_error_in_a_thread_comes_out_and_leaves_a_journal(monkeypatch, tmp_path):
    """Work that fails for real: what was done before is kept, and a second run goes on from there."""
    monkeypatch.setattr(portions, "INPUTS_IN_PORTION", 64)
    claim, path = decisiveness(programs.open("parity:10", "fixed:4")), tmp_path / "journal.json"
    work, done = portions.work, []

    def failing(job, portion, known=None):
        done.append(portion)
        if len(done) > 8:
            raise MemoryError("no more")
        return work(job, portion, known)

    monkeypatch.setattr(deciding, "work", failing)
    with pytest.raises(MemoryError, match="no more"):
        check(claim, workers=2, progress=False, journal=path)
    kept = len(json.loads(path.read_text())["done"])
    assert 1 <= kept <= 8
    monkeypatch.setattr(deciding, "work", work)
    verdict = check(claim, workers=3, progress=False, journal=path)
    assert isinstance(verdict, Proved) and verdict.inputs == 2**11 - 2 and not path.exists()
    assert f"{kept} of " in str(verdict.assumptions)
