"""Stopped anywhere, by anything, a run loses nothing that was saved, and ends where it would have ended."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from glyptic import nn
from glyptic.errors import FileError
from glyptic.train import Plan, Trained, load_run, train
from glyptic.train.folders import RunFolder
from tests.train.small import LONGER, PLAN, Progressions, digest, same

ROOT = Path(__file__).parents[2]


def run(out: Path, task: Progressions | None = None, plan: Plan = PLAN) -> Trained:
    return train(task or Progressions(), plan, out=out, progress=False)


@dataclass(frozen=True)
class Interrupts(Progressions):
    """Ctrl-C comes while a step is computed."""

    at: int = 0

    def __repr__(self) -> str:
        return repr(Progressions(self.modulus, self.measure))  # the same run

    def batch(self, seed: int, step: int, size: int) -> Any:
        if step == self.at:
            os.kill(os.getpid(), signal.SIGINT)
        return super().batch(seed, step, size)


@pytest.mark.parametrize("at", [1, 6, 7, 13, 22])
def test_ctrl_c_loses_nothing(tmp_path: Path, at: int) -> None:
    """Interrupted between two records, in the middle of an epoch: the same weights and rows as never interrupted."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", Interrupts(at=at))
    progress = load_run(tmp_path / "run").progress()
    assert progress is not None and at <= progress.step <= at + 1  # every step that was done
    resumed, whole = run(tmp_path / "run"), run(tmp_path / "whole")
    assert same(resumed.model, whole.model)
    clocks = ("seconds", "tokens_per_second")
    plain = [[{name: row[name] for name in row if name not in clocks} for row in each.rows] for each in (resumed, whole)]
    assert plain[0] == plain[1] and resumed.best == whole.best
    assert (tmp_path / "run" / "metrics.jsonl").read_text().count("\n") == len(whole.rows)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["best", "last", "metrics.jsonl", "run.json"]
    assert same(nn.load(tmp_path / "run" / "best"), nn.load(tmp_path / "whole" / "best"))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_kill_9_at_random_moments(tmp_path: Path, seed: int) -> None:
    words = [sys.executable, "-m", "tests.train.killed", str(tmp_path / "run"), str(seed), "5"]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    environment["OMP_NUM_THREADS"] = str(torch.get_num_threads())  # sums of other threads are other sums
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, check=True, timeout=600)
    found, whole = json.loads(done.stdout), run(tmp_path / "whole", plan=LONGER)
    assert found["weights"] == digest(whole.model)
    assert found["losses"] == [row["loss"] for row in whole.rows if "loss" in row]
    assert len(found["killed"]) >= 2 and max(found["killed"]) < LONGER.steps  # in the middle, not at the end


def test_files_of_the_user_beside_the_weights_stay(tmp_path: Path) -> None:
    """Evaluations, saves and a resume leave them alone; moments that the run itself has left over go."""
    place = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(place, Interrupts(at=9))
    kept = [place / which / name for which in ("best", "last") for name in ("mine.safetensors", "shard-mine.safetensors")]
    kept += [place / "last" / "notes.txt", place / "best" / "optimizer.safetensors"]
    shard = place / "last" / "shard-00001-model-00001-of-00001.safetensors"
    for path in (*kept, shard):
        path.write_bytes(b"mine")
    whole = run(place)
    assert all(path.read_bytes() == b"mine" for path in kept) and not shard.exists()
    assert same(whole.model, run(tmp_path / "other").model)


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first = run(tmp_path / "run")
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = run(tmp_path / "run")
    assert same(first.model, again.model) and first.rows == again.rows and first.best == again.best
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == stamps


def test_a_run_that_ended_early_does_not_go_on(tmp_path: Path) -> None:
    plan = replace(PLAN, reach=0.0)
    assert (run(tmp_path / "run", plan=plan).step, run(tmp_path / "run", plan=plan).ended) == (8, "reach")


def test_metrics_that_a_kill_left_ahead_of_the_checkpoint_are_written_once(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", Interrupts(at=12))
    place = load_run(tmp_path / "run")
    place.write_rows([*place.rows(), {"step": 15, "loss": 1.0}, {"step": 16, "evaluation_loss": 2.0}])
    assert [row["step"] for row in run(tmp_path / "run").rows] == [5, 8, 10, 15, 16, 20, 24]


# Other runs, damaged files -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("torn", [b'{"st', b'{"step": 99, "loss": 1.5', b"\0\0\0\0", b'{"step": 99, "loss": 1.5}'])
def test_a_row_that_a_kill_broke_off_is_left_out(torn: bytes, tmp_path: Path) -> None:
    """Rows are added one by one: those before the last are whole, and the last is of a step that is done again."""
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "run", Interrupts(at=13))
    with (tmp_path / "run" / "metrics.jsonl").open("ab") as file:
        file.write(torn)
    resumed, whole = run(tmp_path / "run"), run(tmp_path / "whole")
    assert [row["step"] for row in resumed.rows] == [row["step"] for row in whole.rows]
    assert load_run(tmp_path / "run").rows() == resumed.rows and same(resumed.model, whole.model)


def test_rows_are_added_and_not_all_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    plain = RunFolder.write_rows
    monkeypatch.setattr(RunFolder, "write_rows", lambda self, rows: (written.append(len(rows)), plain(self, rows)))
    done = run(tmp_path / "run", plan=replace(PLAN, record=1))
    assert written == [1] and load_run(tmp_path / "run").rows() == done.rows and len(done.rows) == 24


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_of_another_run_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "run"
    run(out)
    before = snapshot(out)
    config = Progressions().config()
    for call, says in [
        (lambda: run(out, plan=replace(PLAN, rate=1e-4)), r"whose plan has rate 0.003, not 0.0001"),
        (lambda: run(out, Progressions(13)), "of the task 'progressions:11'"),
        (lambda: run(out, Progressions(measure="loss")), "the same task with other data"),
        (lambda: train(Progressions(), PLAN, config=config.replace(layers=1), out=out), "which began with other weights"),
        (lambda: train(Progressions(), PLAN, model=nn.build(config, seed=3), out=out), "which began with other weights"),
        (lambda: train(Progressions(), PLAN, config=config.replace(dropout=0.2), out=out), "model has dropout 0.1, not 0.2"),
    ]:
        with pytest.raises(FileError, match=says) as caught:
            call()
        assert "name another folder" in str(caught.value)
    assert snapshot(out) == before


def test_a_folder_that_holds_anything_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(FileError, match="is taken, and not by a training run"):
        run(tmp_path)
    with pytest.raises(FileError, match="out"):
        run(tmp_path / "thesis.tex")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.fixture(scope="module")
def half_done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was stopped in the middle."""
    out = tmp_path_factory.mktemp("half") / "run"
    with pytest.raises(KeyboardInterrupt):
        run(out, Interrupts(at=12))
    return out


OTHER = Progressions().config().replace(layers=1)
DAMAGES: dict[str, tuple[str, Any, str]] = {
    "empty weights": ("last/model.safetensors", b"", "is damaged or not a safetensors file"),
    "cut weights": ("last/model.safetensors", lambda data: data[: len(data) // 2], "is damaged or not a safetensors file"),
    "a pickle": ("last/model.safetensors", b"\x80\x04cos\nsystem\n(S'false'\ntR.", "is damaged or not a safetensors file"),
    "empty moments": ("last/optimizer.safetensors", b"", "is damaged or not a safetensors file"),
    "moments of other weights": ("last/optimizer.safetensors", None, "are not those of its weights"),
    "no moments": ("last/optimizer.safetensors", "gone", "cannot read|is damaged"),
    "empty state": ("last/state.json", b"", "is not a JSON file"),
    "state of another kind": ("last/state.json", b"[1]", "must be an object"),
    "a step that is none": ("last/state.json", lambda d: d.replace(b'"step": ', b'"step": -'), "step is -"),
    "losses that are none": ("last/state.json", lambda d: d.replace(b'"losses": [', b'"losses": ["x", '), "losses"),
    "a field too many": ("last/state.json", lambda d: b'{"a": 1, ' + d[1:], "other fields than this version"),
    "moments elsewhere": ("last/state.json", lambda d: d.replace(b"optimizer", b"../optimizer"), "files beside it"),
    "moments without a name": ("last/state.json", lambda d: d.replace(b'["optimizer.safetensors"]', b"[]"), "names no moments"),
    "a step beyond the last": ("last/state.json", lambda d: d.replace(b'"step": ', b'"step": 9'), "and the run has"),
    "no state": ("last/state.json", "gone", "cannot read"),
    "another config": ("last/config.json", lambda d: d.replace(b'"dropout": 0.1', b'"dropout": 0.5'), "its dropout is 0.5"),
    "no config": ("last/config.json", "gone", "no config.json"),
    "hostile rows": ("metrics.jsonl", b'{"step": 1}\n{"step": "\x1b[31m"}\n', "is not a"),
    "rows cut short": ("metrics.jsonl", b'{"step": 1}\n{"step": 2, "lo\n', r"line 2 of .* was cut short; remove that line"),
    "rows that are none": ("metrics.jsonl", b"[]\n", "a row is an object with a step"),
    "half a run.json": ("run.json", lambda data: data[:50], "run.json is not a JSON file"),
    "a run.json of others": ("run.json", b'{"name": "package"}', "not that of a training run"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_or_hostile_run_is_one_sentence_and_stays_as_it_is(half_done: Path, tmp_path: Path, name: str) -> None:
    from safetensors.torch import load, save

    out = tmp_path / "run"
    shutil.copytree(half_done, out)
    file, change, says = DAMAGES[name]
    if change == "gone":
        (out / file).unlink()
    elif change is None:
        found = load((out / file).read_bytes())
        (out / file).write_bytes(save({name: value[..., :1].clone() if value.dim() else value for name, value in found.items()}))
    else:
        (out / file).write_bytes(change if isinstance(change, bytes) else change((out / file).read_bytes()))
    before = snapshot(out)
    with pytest.raises(FileError, match=says) as caught:
        run(out)
    assert "\n" not in str(caught.value) and "\x1b" not in str(caught.value)
    assert snapshot(out) == before


# Disks -------------------------------------------------------------------------------------------------------------------------


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """The system writes no larger ones: a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("file", ["model.safetensors", "optimizer.safetensors", "../metrics.jsonl"])
def test_a_full_disk_leaves_the_checkpoint_before_and_the_run_goes_on_from_it(
    half_done: Path, tmp_path: Path, file: str
) -> None:
    """The disk is full when one of the files is to be written; those before it in the same checkpoint had room."""
    out = tmp_path / "run"
    shutil.copytree(half_done, out)
    before, size = snapshot(out / "last"), (half_done / "last" / file).stat().st_size
    place = re.escape(str(out))
    limit = files_of_at_most(size - 1 if "metrics" not in file else size)
    with limit, pytest.raises(FileError, match=f"^cannot write .*{place}.*: File too large"):
        run(out)
    assert snapshot(out / "last") == before
    assert same(run(out).model, run(tmp_path / "whole").model)
    assert not list(out.rglob(".*"))


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_all_files_of_a_run_have_the_mode_that_the_user_gives_files(umask: int, tmp_path: Path) -> None:
    """Who may read its config may read its weights, the second time as the first."""
    before = os.umask(umask)
    try:
        run(tmp_path / "run")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert "model.safetensors" in modes and set(modes.values()) == {0o666 & ~umask}, modes


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Root writes anywhere; nobody does not."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_read_only_folder_is_one_sentence(half_done: Path) -> None:
    with tempfile.TemporaryDirectory() as home:  # pytest's own are closed to others
        os.chmod(home, 0o755)
        shutil.copytree(half_done, Path(home) / "run")
        folders = [Path(home) / "run", *(path for path in (Path(home) / "run").rglob("*") if path.is_dir())]
        for path in Path(home).rglob("*.safetensors"):
            path.chmod(0o644)
        for folder in folders:
            folder.chmod(0o555)
        before = snapshot(Path(home))
        try:
            with as_somebody_else(), pytest.raises(FileError, match="Permission denied"):
                run(Path(home) / "run")
            assert snapshot(Path(home)) == before
        finally:
            for folder in folders:
                folder.chmod(0o755)


def test_a_folder_that_cannot_be_made_is_one_sentence() -> None:
    with pytest.raises(FileError, match="cannot write"):
        run(Path("/proc/run"))


def test_digests_differ(tmp_path: Path) -> None:
    """The test's own eyes: weights of two steps are not taken for the same."""
    one, two = (train(Progressions(), replace(PLAN, steps=n), progress=False) for n in (23, 24))
    assert digest(one.model) != digest(two.model)


@dataclass(frozen=True)
class Removes(Progressions):
    """Somebody removes the folder of the run while it is trained."""

    place: Path = Path()
    seen: list[int] = field(default_factory=list)

    def loss(self, model: Any, batch: Any, smoothing: float = 0.0) -> Any:
        self.seen.append(0)
        if len(self.seen) == 9:
            shutil.rmtree(self.place)
        return super().loss(model, batch, smoothing)


def test_a_run_whose_folder_is_removed_does_not_write_half_a_run_there(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with pytest.raises(FileError, match=r"run.json has been removed while the run was training"):
        run(place, Removes(place=place))
    assert not place.exists()


def test_weights_of_a_checkpoint_that_are_no_numbers_are_told_as_such(half_done: Path, tmp_path: Path) -> None:
    shutil.copytree(half_done, tmp_path / "run")
    path = tmp_path / "run" / "last" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\xc0\x7f")
    with pytest.raises(FileError, match=r"last: .* is not finite; remove that folder"):
        run(tmp_path / "run")


def test_two_processes_do_not_train_in_one_folder(tmp_path: Path) -> None:
    """Two that read and wrote each other's halves ended with other weights, without a word."""
    from glyptic.train import Plan, load_run, train
    from glyptic.train.tasks import registry

    task, plan = registry.open("parity"), Plan(steps=2, batch=4, record=1, evaluate=2)
    train(task, plan, out=tmp_path / "run", progress=False)
    with load_run(tmp_path / "run").held(), pytest.raises(FileError, match="is being trained by another process"):
        train(task, plan, out=tmp_path / "run", progress=False)
    train(task, plan, out=tmp_path / "run", progress=False)  # and then it is free again


def test_numbers_that_are_not_finite_are_no_checkpoint(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    from glyptic.train import Plan, evaluate, train
    from glyptic.train.tasks import registry

    place = tmp_path / "run"
    train(registry.open("parity"), Plan(steps=2, batch=4, record=1, evaluate=2), out=place, progress=False)
    tensors = load_file(place / "best" / "model.safetensors")
    first = next(iter(tensors))
    lost = {**tensors, first: tensors[first] * float("nan")}
    save_file(lost, place / "best" / "model.safetensors", {"format": "pt"})
    with pytest.raises(FileError, match=f"{first} is not finite"):
        evaluate(place)


def test_a_run_whose_data_have_changed_is_not_evaluated_on_what_it_has_learned(tmp_path: Path) -> None:
    """A text that grew has another last tenth: evaluated on it, the run would be judged by others than it was kept from."""
    from glyptic.train import Plan, evaluate, train
    from glyptic.train.tasks import registry

    book, place = tmp_path / "book.txt", tmp_path / "run"
    book.write_text("".join(f"{k * 7919 % 10007} and so on. " for k in range(200)))
    task = registry.open(f"text:{book},context=16")
    small = task.config().replace(layers=1, width=8, heads=1)
    trained = train(task, Plan(steps=2, batch=4, evaluate=2), config=small, out=place, progress=False)
    before = book.read_bytes()
    book.write_bytes(before + b"and so forth. " * 20)
    with pytest.raises(FileError, match=r"was trained on other data than 'text:.*bring those data back"):
        evaluate(place)
    book.write_bytes(before)
    assert evaluate(place)["loss"] == trained.best
