"""Progress: a bar on a terminal, lines in a log, nothing in either of what is quick."""

import io
import os
import pty
import re
import subprocess
import sys
import termios
from contextlib import suppress

import pytest

from glyptic import progress

TRAINING = ["-m", "glyptic", "train", "parity:8", "--steps", "60", "--evaluate", "30", "--batch", "4", "--out"]


@pytest.fixture
def clock(monkeypatch):
    """Seconds that pass when the test says so."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_line_at_most_every_half_minute(clock, monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    bar = progress.progress_bar(total=1000, desc="training")
    with bar:
        for _ in range(1000):
            clock[0] += 0.1
            bar.set_postfix_str("loss 0.5", refresh=False)
            bar.update()
    lines = log.getvalue().splitlines()
    assert "\r" not in log.getvalue() and 3 <= len(lines) <= 4
    left = re.fullmatch(r"training: (\d+) of 1,000 \(30 %\), loss 0.5, 1:(\d\d) left", lines[0])
    assert left and int(left[1]) in (300, 301) and int(left[2]) in (9, 10)


def test_what_is_quick_writes_nothing_and_items_come_through(monkeypatch):
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    assert list(progress.progress_bar(iter("abc"), desc="letters")) == ["a", "b", "c"]
    assert log.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", None)
    assert list(progress.progress_bar("abc")) == ["a", "b", "c"]


def test_a_log_that_cannot_be_written_stops_nothing(clock):
    closed = io.StringIO()
    closed.close()
    lines = progress.Lines(total=2, file=closed)
    clock[0] += 31
    lines.update()
    full = open("/dev/full", "w")  # noqa: SIM115  # it cannot be closed without an error either
    progress.Lines(total=2, file=full).tell("x")
    with suppress(OSError):
        full.close()


def test_every_bar_is_this_one():
    root = progress.__file__.removesuffix("progress.py")
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".py") and name != "progress.py":
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    assert "import tqdm" not in file.read(), f"{folder}/{name}"


def test_training_into_a_log_tells_evaluations_in_lines(tmp_path):
    done = subprocess.run([sys.executable, *TRAINING, tmp_path / "run"], capture_output=True, text=True, check=True)
    assert "\r" not in done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("training: ")]
    assert [line.partition(",")[0] for line in told] == ["training: 30 of 60 (50 %)", "training: 60 of 60 (100 %)"]
    assert all("evaluation: loss " in line and "balanced " in line for line in told)


def test_training_on_a_terminal_draws_a_bar():
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    os.set_blocking(ours, False)
    code = (
        "import time; from glyptic.progress import progress_bar, tell\n"
        "with progress_bar(total=4, desc='training') as bar:\n"
        "    for _ in range(4): time.sleep(0.5); bar.update(); tell(bar, 'evaluation: x')"
    )
    subprocess.run([sys.executable, "-c", code], stderr=theirs, check=True)
    shown = os.read(ours, 1 << 16).decode()
    os.close(theirs), os.close(ours)
    assert "\r" in shown and "training:" in shown and "evaluation" not in shown
