"""Two processes on this machine, as torchrun starts them: DDP and FSDP2, one of them killed and started again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from glyptic import nn
from glyptic.errors import FileError, InputError
from glyptic.train import load_run, train
from glyptic.train.distributed import Team
from glyptic.train.interruption import interruption
from tests.train.small import PLAN, Progressions, digest
from tests.train.worker import ASLEEP

ROOT = Path(__file__).parents[2]


def torchrun(out: Path, strategy: str, *runs: str, processes: int = 2, accumulate: int = 1) -> dict[str, str]:
    """The digests of the weights that some runs of tests.train.worker end with."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command += ["--max-restarts=1", "-m", "tests.train.worker", str(out), strategy, str(accumulate), *runs]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def near(one: torch.nn.Module, other: torch.nn.Module) -> None:
    for (name, a), b in zip(one.state_dict().items(), other.state_dict().values(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-4, msg=lambda text, name=name: f"{name}: {text}")


def _with_a_nan(path: Path) -> bytes:
    """The file, with one of the numbers at its end lost."""
    return path.read_bytes()[:-4] + b"\0\0\xc0\x7f"


CONFIG = Progressions().config().replace(dropout=0.0)


def losses(out: Path) -> list[float]:
    return [row["loss"] for row in load_run(out).rows() if "loss" in row]


@pytest.fixture(scope="module", params=["ddp", "fsdp"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, dict[str, str]]:
    """Three runs on two processes: left alone; one process killed and all started again; stopped in the middle by Ctrl-C."""
    out = tmp_path_factory.mktemp(request.param)
    return request.param, out, torchrun(out, request.param, "whole", "killed", "stopped")


def test_two_processes_of_which_one_is_killed_end_as_if_nothing_had_been(done: Any) -> None:
    """Started again by torchrun: the same weights, bit for bit, as two that were left alone; nothing is left behind."""
    _, out, weights = done
    assert (out / "marker").exists()  # the process that was to die has died
    assert weights["whole"] == weights["killed"] == digest(nn.load(out / "killed" / "last"))
    assert losses(out / "whole") == losses(out / "killed")
    assert sorted(path.name for path in (out / "killed").iterdir()) == ["best", "last", "metrics.jsonl", "run.json"]


def test_two_processes_do_what_one_does(done: Any) -> None:
    """But for the order of sums."""
    _, out, _ = done
    alone = train(Progressions(), PLAN, config=CONFIG, progress=False)
    near(nn.load(out / "whole" / "last"), alone.model)
    assert losses(out / "whole") == pytest.approx([row["loss"] for row in alone.rows if "loss" in row], rel=1e-4)
    best = [load_run(out / "whole").progress().best, alone.best]  # type: ignore[union-attr]
    assert best[0] == pytest.approx(best[1], abs=0.02)


def test_ctrl_c_to_one_of_them_stops_all_and_one_process_alone_goes_on(done: Any) -> None:
    """Shards of moments are read by however many processes there are; no file of a run is a pickle."""
    strategy, out, weights = done
    last, progress = out / "stopped" / "last", load_run(out / "stopped").progress()
    assert progress is not None and progress.step in (13, 14) and "stopped" not in weights
    shards = sorted(path.name for path in last.glob("shard-*"))
    assert (len(shards), (last / "optimizer.safetensors").exists()) == ((2, False) if strategy == "fsdp" else (0, True))
    for path in out.rglob("*"):
        assert path.is_dir() or path.name == "marker" or path.suffix in (".json", ".jsonl", ".safetensors"), path
    for path in out.rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            assert file.keys()
    moments = last / (shards[-1] if shards else "optimizer.safetensors")
    for damage in (None, b"", moments.read_bytes()[:200], moments.read_bytes()[:-40], _with_a_nan(moments)):
        shutil.rmtree(out / "damaged", ignore_errors=True)
        shutil.copytree(out / "stopped", out / "damaged")
        (out / "damaged" / "last" / moments.name).unlink()
        if damage is not None:
            (out / "damaged" / "last" / moments.name).write_bytes(damage)
        with pytest.raises(FileError, match=r"there is no such file|is damaged|is not finite"):
            train(Progressions(), PLAN, config=CONFIG, out=out / "damaged", progress=False)
    alone = train(Progressions(), PLAN, config=CONFIG, out=out / "stopped", progress=False)
    assert sorted(path.name for path in last.glob("*.safetensors")) == ["model.safetensors", "optimizer.safetensors"]
    near(alone.model, nn.load(out / "whole" / "last"))


def test_ctrl_c_in_the_terminal_of_torchrun_saves_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """The signal comes to both workers, which are in a long step, and to torchrun, which tells them once more.

    Workers of torch 2.13 have sessions of their own, so here they are told as a terminal tells those that have none.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "tests.train.worker", str(tmp_path), "ddp", "1", "asleep"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "OMP_NUM_THREADS": "1"}
    given: Any = {"cwd": ROOT, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process, workers = subprocess.Popen(command, start_new_session=True, **given), list[str]()
    until = time.monotonic() + 200
    while len(workers) < 2 and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
        workers = [worker for path in tmp_path.glob("asleep-*") if (worker := path.read_text())]
    for worker in workers:
        os.kill(int(worker), signal.SIGINT)
    time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=100)
    progress = load_run(tmp_path / "asleep").progress()
    assert process.returncode != 0 and "SignalException" in err and (tmp_path / "asleep" / "last").is_dir()
    assert progress is not None and progress.step in (ASLEEP, ASLEEP + 1)  # not 12, when it was saved last
    done = subprocess.run(command, **given, timeout=240, check=False)
    again = load_run(tmp_path / "asleep").progress()
    assert done.returncode == 0 and again is not None and again.step == PLAN.steps, done.stderr[-3000:]
    alone = train(Progressions(), PLAN, config=CONFIG, progress=False)
    near(nn.load(tmp_path / "asleep" / "last"), alone.model)


@pytest.mark.parametrize("torchrun_started_it", [True, False])
def test_ctrl_c_that_comes_twice_at_once_is_one_only_under_torchrun(
    monkeypatch: pytest.MonkeyPatch, torchrun_started_it: bool
) -> None:
    monkeypatch.delenv("TORCHELASTIC_RUN_ID", raising=False)
    if torchrun_started_it:
        monkeypatch.setenv("TORCHELASTIC_RUN_ID", "some")
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with interruption() as interrupted:
        signal.raise_signal(signal.SIGINT)
        assert interrupted()
        if torchrun_started_it:
            signal.raise_signal(signal.SIGINT)
        now[0] += 5 if torchrun_started_it else 0.01
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.slow
def test_a_run_of_one_process_goes_on_in_shards(tmp_path: Path) -> None:
    torchrun(tmp_path, "ddp", "stopped", processes=1)
    torchrun(tmp_path, "fsdp", "stopped-again")
    near(nn.load(tmp_path / "stopped" / "last"), train(Progressions(), PLAN, config=CONFIG, progress=False).model)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ddp", "fsdp"])
def test_accumulation_in_two_processes(tmp_path: Path, strategy: str) -> None:
    found = torchrun(tmp_path, strategy, "whole", "stopped", "stopped-again", accumulate=2)
    assert found["whole"] == found["stopped-again"]
    near(nn.load(tmp_path / "whole" / "last"), train(Progressions(), PLAN, config=CONFIG, progress=False).model)


def test_rows_are_dealt_out_once_each() -> None:
    teams = [Team(torch.device("cpu"), rank=rank, size=3) for rank in range(3)]
    dealt = [row for team in teams for rows in team.rows(24, pieces=4) for row in range(24)[rows]]
    assert dealt == list(range(24))
    with pytest.raises(InputError, match="a batch of 25 cannot be dealt out to 3 processes in 2 equal pieces"):
        teams[0].rows(25, pieces=2)
