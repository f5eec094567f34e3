"""Rows told to TensorBoard and to Weights & Biases, read back by their own readers; packages that are not there."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from glyptic.errors import MissingExtra
from glyptic.train import train
from glyptic.train.metrics import LOGS, open_logs
from tests.train.small import PLAN, Progressions
from tests.train.test_resume import Interrupts


def test_tensorboard_reads_what_was_told_also_after_a_resume(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with pytest.raises(KeyboardInterrupt):
        train(Interrupts(at=17), PLAN, out=tmp_path / "run", logs=["tensorboard"], progress=False)
    trained = train(Progressions(), PLAN, out=tmp_path / "run", logs=["tensorboard"], progress=False)
    read = EventAccumulator(str(tmp_path / "run" / "tensorboard")).Reload()
    for name in ("loss", "evaluation_accuracy"):
        told = [(event.step, event.value) for event in read.Scalars(name)]
        rows = [(row["step"], row[name]) for row in trained.rows if name in row]
        assert [step for step, _ in told] == [step for step, _ in rows]
        assert [value for _, value in told] == pytest.approx([value for _, value in rows], rel=1e-6)


def test_wandb_offline_writes_into_the_run_and_sends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    train(Progressions(), replace(PLAN, steps=8), out=tmp_path / "run", logs=["wandb"], progress=False)
    assert list((tmp_path / "run" / "wandb").glob("offline-run-*/*.wandb"))


@pytest.mark.parametrize("name", LOGS)
def test_a_package_that_is_not_there_is_one_sentence(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(MissingExtra, match=f"logging to {name} needs the package {name}, which is not installed"):
        open_logs([name], tmp_path, 0)  # type: ignore[list-item]


def test_nothing_of_them_is_loaded_unless_asked_for() -> None:
    says = "import glyptic.train.trainer, sys; print([n for n in ('tensorboard', 'wandb') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", says], capture_output=True, text=True, env=dict(os.environ), check=True)
    assert done.stdout.strip() == "[]"
