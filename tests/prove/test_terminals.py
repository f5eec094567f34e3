"""The command on terminals and pipes that are not what one is used to: the exit status is the verdict's, and nothing crashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "import sys; from glyptic.cli import main; sys.exit(main())"]
REFUTED = ["prove", "parity:3", "--language", "0*", "--workers", "1"]


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), **more}


def test_a_pipe_that_is_closed_early_does_not_make_a_proof_of_a_refutation() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        words = [*COMMAND, *REFUTED]
        run = subprocess.run(words, stdout=closed, stderr=subprocess.PIPE, env=environment(), text=True, check=False)
    assert run.returncode in (1, 141)  # never 0: that is an answer
    assert "Error" not in run.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1:strict"])
def test_signs_that_a_terminal_does_not_have_are_printed_as_numbers(encoding: str, tmp_path: Path) -> None:
    words = [*COMMAND, *REFUTED, "--certificate", str(tmp_path / "c.json")]
    run = subprocess.run(words, env=environment(PYTHONIOENCODING=encoding), capture_output=True, check=False)
    assert run.returncode == 1 and b"input \\u2208 0*" in run.stdout
    assert (tmp_path / "c.json").exists()


def test_help_on_a_terminal_of_one_column_ends() -> None:
    words = [*COMMAND, "prove", "--help"]
    run = subprocess.run(words, env=environment(COLUMNS="1"), capture_output=True, check=False, timeout=120)
    assert run.returncode == 0
