"""Output that cannot be written: a full device, a reader who has seen enough, folders that are not ours."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from glyptic.cli import main
from glyptic.exact import Transformer

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-c", "import sys; from glyptic.cli import main; sys.exit(main())"]


def run(words: list[str], **streams: Any) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([*COMMAND, *words], env=environment, text=True, check=False, timeout=300, **streams)


PRINTING = (["--version"], ["--help"], ["icl"], ["run", "--help"], ["run", "parity:2", "01"])


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_output_to_a_full_device_is_a_sentence_and_a_status(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = run(words, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 74
    assert done.stderr.count("\n") == 1 and "the output cannot be written: No space left on device." in done.stderr


def test_nothing_can_be_said_where_errors_cannot_be_written() -> None:
    with open("/dev/full", "w") as full:
        assert run(["run", "nowhere", "01"], stdout=full, stderr=full).returncode == 2
        assert run(["run", "parity:2", "01"], stdout=full, stderr=full).returncode == 74


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["frame", "parity:8"]], ids=" ".join)
def test_a_reader_who_has_seen_enough_sees_no_traceback(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = run(words, stdout=closed, stderr=subprocess.PIPE)
    assert done.stderr == "" and done.returncode in (0, 141)


@pytest.mark.parametrize("name", ["n" * 3000, "n/" * 3000, "a\0b"], ids=["long", "deep", "NUL"])
def test_paths_that_cannot_be_are_one_sentence(name: str, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["normalize", "parity:2", "--out", name], ["combine", "parity:2", "--out", name]):
        assert main(words) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and len(said.err) < 1000
    assert not list(tmp_path.iterdir())


WRITING = {"normalize": ["normalize", "parity:2"], "combine": ["combine", "~parity:2"]}


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_a_model_of_others_is_overwritten_only_if_one_says_so(words: list[str], tmp_path: Path, capsys: Any) -> None:
    theirs = {"config.json": json.dumps({"model_type": "gpt2"}), "model.safetensors": "weights", "tokenizer.json": "{}"}
    for name, text in theirs.items():
        (tmp_path / name).write_text(text)
    assert main([*words, "--out", str(tmp_path)]) == 2
    assert "is not ours to replace" in capsys.readouterr().err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == theirs
    assert main([*words, "--out", str(tmp_path), "--overwrite"]) == 0
    assert Transformer.load(tmp_path).answer("01") in ("YES", "NO")
    assert (tmp_path / "tokenizer.json").read_text() == "{}"


@pytest.mark.parametrize("words", WRITING.values(), ids=WRITING)
def test_what_glyptic_wrote_is_written_anew(words: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        assert main([*words, "--out", str(tmp_path / "model")]) == 0
    assert sorted(os.listdir(tmp_path / "model")) == ["config.json", "model.safetensors"]


def test_a_sentence_does_not_go_to_the_output_where_errors_are_closed() -> None:
    for words in (["nope"], ["run", "nope", "01"]):
        done = run(words, stdout=subprocess.PIPE, preexec_fn=lambda: os.close(2))
        assert done.returncode == 2 and done.stdout == ""
