"""Whatever fails while a file is written, and whenever the writer is killed: what is there is the old or the new, and whole."""

import errno
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.files.faults import ASKING, ERRORS, calls, failing, killed, snapshot

from glyptic.errors import FileError
from glyptic.exact import Transformer, random_transformer
from glyptic.files import append, folders, write_together, write_whole
from glyptic.numbers import Fixed


class Case(NamedTuple):
    """How version 0 or 1 of something is written into a folder, and how it is loaded."""

    write: Callable[[Path, int], object]
    load: Callable[[Path], object] = lambda folder: None
    first: Callable[[Path], object] = lambda folder: None  # what others have put there before
    together: bool = True  # whether all files change at once
    once: bool = False  # whether what is there whole is never written over


@cache
def transformer(version: int) -> Transformer:
    return random_transformer(Fixed(3), version)


@cache
def trained(version: int) -> Any:
    from tests.nn import small

    return small.scramble(small.model(), version)


@cache
def decided(version: int) -> Any:
    from glyptic.prove import Claim, Values, check, variables

    (x,) = variables("x")
    claim = Claim(Values("x", Fixed(1)), x >= -version)
    return claim, check(claim, progress=False, workers=1)


def _certificate(folder: Path, version: int) -> None:
    from glyptic.prove.certificates.saving import save_certificate

    save_certificate(folder / "proof.json", *decided(version))


def _load_certificate(folder: Path) -> None:
    from glyptic.prove.certificates.saving import load_certificate

    if (folder / "proof.json").exists():
        load_certificate(folder / "proof.json")


def _exported(folder: Path, version: int) -> None:
    from glyptic.prove.exporting import folder as export

    export._write(folder / "out" / str(version), {"README.md": "read", "checker/one.py": "1", "manifest.json": "{}"})


def _sweep(folder: Path, version: int) -> None:
    from glyptic.studies.sweeps import _Cell, _KeptSweep

    _, verdict = decided(version)
    _KeptSweep(folder / "sweep.json", "a sweep").enter("fixed:1", _Cell(f"of version {version}", verdict))


def _cell(folder: Path, version: int) -> None:
    from glyptic.icl.experiments.cells import _write

    _write(folder / "cell.json", [{"risk": version}])


def _table(ending: str) -> Callable[[Path, int], object]:
    def write(folder: Path, version: int) -> None:
        from glyptic.icl.experiments.sweeps import write_table

        write_table([{"risk": float(version)}], folder / "tables" / f"sweep{ending}")

    return write


def _figure(folder: Path, version: int) -> None:
    from glyptic import figures

    figure, axes = figures.new()
    axes.plot([version, 1], [0, 1])
    figures.save(figure, {"x": [version]}, folder / "figures" / "risk")


def _checkpoint(folder: Path, version: int) -> None:
    torch = pytest.importorskip("torch")
    from glyptic.train.checkpoints import Checkpoint

    learner = torch.nn.Linear(2, 1)
    torch.nn.init.constant_(learner.weight, version)
    torch.nn.init.constant_(learner.bias, version)
    optimizer = torch.optim.SGD(learner.parameters(), lr=0.1)
    Checkpoint(folder / "run.safetensors", "a run").save(learner, optimizer, version, [{"step": float(version)}])


def _load_model(folder: Path) -> None:
    if (folder / "model" / "config.json").exists() or (folder / "model" / ".glyptic-new").exists():
        Transformer.load(folder / "model")


def _load_trained(folder: Path) -> None:
    from glyptic import nn

    if (folder / "model").exists():
        nn.load(folder / "model")


def _others(folder: Path) -> None:
    (folder / "model").mkdir()
    (folder / "model" / "notes.txt").write_text("mine")


def _save_trained(folder: Path, version: int) -> None:
    from glyptic import nn

    nn.save(trained(version), folder / "model")


CASES = {
    "an exact model": Case(lambda folder, v: transformer(v).save(folder / "model"), _load_model),
    "an exact model beside other files": Case(
        lambda folder, v: transformer(v).save(folder / "model", overwrite=True), _load_model, _others
    ),
    "a file": Case(lambda folder, v: write_whole(folder / "deep" / "er" / "file", b"%d" % v * 99, parents=True)),
    "files": Case(lambda folder, v: write_together({folder / n: b"%d" % v * 99 for n in "abc"}), together=False),
    "a trained model": Case(_save_trained, _load_trained),
    "a certificate": Case(_certificate, _load_certificate),
    "an exported folder": Case(_exported, once=True),
    "a sweep of proofs": Case(_sweep),
    "a cell": Case(_cell),
    "a table, CSV": Case(_table(".csv")),
    "a table, Parquet": Case(_table(".parquet")),
    "a figure": Case(_figure, together=False),
    "a checkpoint": Case(_checkpoint),
}
KINDS = ("an exact model", "an exact model beside other files", "a file", "files")


REFUSALS = ("cannot write", "cannot read", "is taken", "must be a path that can be written")


@contextmanager
def in_a_sentence(*words: str) -> Iterator[None]:
    """Inside, what is refused is refused in one line with one of these words; not everything that fails matters."""
    try:
        yield
    except FileError as error:
        said = str(error)
    else:
        return
    assert any(word in said for word in words) and "\n" not in said


class Trial:
    """One case over and over: before, the old version is there, or nothing."""

    def __init__(self, case: Case, folder: Path, over_old: bool) -> None:
        self.case, self.work, self.before = case, folder / "work", folder / "before"
        self.before.mkdir()
        case.first(self.before)
        if over_old:
            case.write(self.before, 0)
        self.old = snapshot(self.before)
        self.begin()
        with calls() as counted:
            case.write(self.work, 1)
        self.names, self.count = counted.names, len(counted.names)
        self.new = snapshot(self.work)
        assert self.new != self.old

    def begin(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.before, self.work)

    def whole(self, litter: bool) -> None:
        """The old or the new, and, unless removing was what failed or was cut off, nothing else."""
        self.case.load(self.work)
        now = snapshot(self.work)
        if litter:
            now = {name: data for name, data in now.items() if ".glyptic-" not in name}
            made = {name for name, data in now.items() if data is None} - self.old.keys()
            now = now if now.keys() >= self.new.keys() else {name: now[name] for name in now if name not in made}
        if self.case.together:
            assert now in (self.old, self.new), sorted(now)
        else:
            assert all(data in (self.old.get(name), self.new[name]) for name, data in now.items()), sorted(now)
            assert now.keys() >= self.old.keys()

    def fails(self, at: int, code: int) -> None:
        self.begin()
        with in_a_sentence(*REFUSALS), calls(at, failing(code)) as counted:
            self.case.write(self.work, 1)
        self.whole(litter=counted.removing)

    @property
    def deaths(self) -> list[int]:
        """The calls at which a death may leave something new: not where the call before it changes nothing."""
        return [at for at in range(self.count) if at == 0 or self.names[at - 1] not in ASKING]

    def dies(self, at: int) -> None:
        self.begin()
        killed(lambda: self.case.write(self.work, 1), at)
        self.whole(litter=True)
        done = self.case.once and snapshot(self.work) == self.new
        with pytest.raises(FileError, match="exists and is not an empty folder") if done else nullcontext():
            self.case.write(self.work, 1)
        assert snapshot(self.work) == self.new  # the next write has removed what was left


def every(names: Any) -> Any:
    both = [(name, over_old) for name in names for over_old in (True, False)]
    return pytest.mark.parametrize(("name", "over_old"), both, ids=lambda value: value if isinstance(value, str) else str(value))


@every(name for name in CASES if name != "a figure")  # which takes long to draw, and is written as "files" are
def test_each_call_in_turn_fails(name: str, over_old: bool, tmp_path: Path) -> None:
    trial = Trial(CASES[name], tmp_path, over_old)
    for at in range(trial.count):
        trial.fails(at, ERRORS[at % 3])


@every(KINDS)
def test_each_call_in_turn_is_the_last(name: str, over_old: bool, tmp_path: Path) -> None:
    trial = Trial(CASES[name], tmp_path, over_old)
    for at in trial.deaths:
        trial.dies(at)


@pytest.mark.slow
@every(CASES)
def test_each_call_in_turn_fails_in_every_way_or_is_the_last(name: str, over_old: bool, tmp_path: Path) -> None:
    trial = Trial(CASES[name], tmp_path, over_old)
    for at in range(trial.count):
        for code in ERRORS:
            trial.fails(at, code)
        trial.dies(at)


def test_a_line_is_added_or_the_file_is_as_it_was(tmp_path: Path) -> None:
    """What fails leaves the old file or the new; a kill at most a beginning of the line, below all that was there."""
    path, old, line = tmp_path / "rows", b"one\n", b"two and three\n"
    path.write_bytes(old)
    with calls() as counted:
        append(path, line)
    assert path.read_bytes() == old + line
    for at in range(len(counted.names)):
        for code in ERRORS:
            path.write_bytes(old)
            with in_a_sentence("cannot write"), calls(at, failing(code)):
                append(path, line)
            assert path.read_bytes() in (old, old + line)
        path.write_bytes(old)
        killed(lambda: append(path, line), at)
        left = path.read_bytes()
        assert left.startswith(old) and (old + line).startswith(left)
    assert {"open", "write", "fsync", "close"} <= {*counted.names}
    with in_a_sentence("cannot write"):
        append(tmp_path, line)


def test_where_folders_cannot_be_exchanged_files_move_after_one_decision(tmp_path: Path, monkeypatch: Any) -> None:
    def unknown(one: Path, other: Path) -> None:
        raise OSError(errno.EXDEV, "no such call")

    monkeypatch.setattr(folders, "exchange", unknown)
    trial = Trial(CASES["an exact model"], tmp_path, over_old=True)
    for at in range(trial.count):
        trial.fails(at, errno.EIO)
    for at in trial.deaths:
        trial.dies(at)


def _check_with_journal(folder: Path) -> Any:
    from glyptic.prove import check

    return check(decided(0)[0], journal=folder / "journal.json", progress=False, workers=1)


@pytest.mark.parametrize("fate", [failing(errno.ENOSPC), None], ids=["fails", "is the last"])
def test_a_run_with_a_journal_is_taken_up_wherever_it_stopped(fate: Any, tmp_path: Path) -> None:
    """At every seventh call; of what is read and compared on the way no call is refused, for no file is written by it."""
    with calls() as counted:
        whole = str(_check_with_journal(tmp_path))
    written = [at for at, name in enumerate(counted.names) if name not in ASKING]
    for at in written[::7]:
        if fate is None:
            killed(lambda: _check_with_journal(tmp_path), at)
        else:
            with in_a_sentence("cannot write the journal"), calls(at, fate):
                _check_with_journal(tmp_path)
        assert str(_check_with_journal(tmp_path)) == whole
        assert not list(tmp_path.iterdir())


LOOP = """
import sys
from glyptic.exact import random_transformer
from glyptic.numbers import Fixed
models = [random_transformer(Fixed(3), seed) for seed in (0, 1)]
print("ready", flush=True)
while True:
    for model in models:
        model.save(sys.argv[1], overwrite=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("others", [False, True], ids=["alone", "beside other files"])
def test_killed_in_a_tight_loop_a_model_is_one_of_the_two(others: bool, tmp_path: Path) -> None:
    """A real kill -9, a hundred times, at any moment; every reader before the next writer finds a whole model."""
    if others:
        _others(tmp_path)
    chance = np.random.default_rng(0)
    for _ in range(100):
        writer = subprocess.Popen([sys.executable, "-c", LOOP, str(tmp_path / "model")], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
        time.sleep(0.005 + 0.05 * chance.random())
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        if (tmp_path / "model" / "config.json").exists() or (tmp_path / "model" / ".glyptic-new").exists():
            assert Transformer.load(tmp_path / "model").name in ("random-0", "random-1")
    transformer(0).save(tmp_path / "model", overwrite=True)
    transformer(0).save(tmp_path / "model", overwrite=True)
    assert Transformer.load(tmp_path / "model").same_as(transformer(0))
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["model", "model/config.json", "model/model.safetensors", *["model/notes.txt"] * others]
