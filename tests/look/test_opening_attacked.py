"""`glyptic look` under attack: everything that can be named wrongly is told in one sentence, and nothing is half written."""

from __future__ import annotations

import copy
import json
import os
import struct
from pathlib import Path

import pytest
import torch
from tests.look.test_model_page import small

from glyptic.cli import main
from glyptic.errors import GlypticError, InputError
from glyptic.look.opening import open_page
from glyptic.look.pages import as_script
from glyptic.look.values.model import model_view


def looked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit status of the command, and all that it said."""
    try:
        status = main(["look", *words, "--no-open"])
    except SystemExit as end:
        status = end.code
    out, err = capsys.readouterr()
    return int(status or 0), out + err


def test_two_transformers_on_the_same_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As documentation has it: --against, with an input and with none."""
    for given in (["0110"], []):
        status, said = looked(
            capsys, "parity:4", *given, "--against", "contains:11,4", "-o", str(tmp_path / "both.html")
        )
        assert status == 0, said
    page = open_page("parity:4", "0110", against="contains:11,4")
    assert [side["input"] for side in page.views[0].data["sides"]] == [list("0110")] * 2
    status, said = looked(capsys, "parity:4", "0110", "--against", "contains:11,2", "-o", str(tmp_path / "x.html"))
    assert status == 2 and "at most 2" in said and not (tmp_path / "x.html").exists()


def test_a_folder_of_mixed_files(tmp_path: Path) -> None:
    """Rows of training are found among other files; a folder without any is told what it lacks."""
    (tmp_path / "mixed" / "b").mkdir(parents=True)
    (tmp_path / "mixed" / "a.jsonl").write_text('{"step": 0, "loss": 1}\n')
    (tmp_path / "mixed" / "b" / "metrics.jsonl").write_text('{"step": 0, "loss": 2}\n')
    (tmp_path / "mixed" / "notes.txt").write_text("x")
    assert [run["name"] for run in open_page(str(tmp_path / "mixed")).views[0].data["runs"]] == ["a", "b"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(GlypticError, match="neither a transformer"):
        open_page(str(tmp_path / "empty"))
    with pytest.raises(GlypticError, match="has no effect"):
        open_page(str(tmp_path / "mixed"), "0110")


def test_every_flag_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "theirs.html").write_text("mine")
    out = ["-o", str(tmp_path / "page.html")]
    wrong = [
        [], ["nosuch", *out], ["", *out], ["parity:4", "", *out], ["parity:4", "012", *out], ["parity:4", "01101", *out],
        ["parity:4", "01", "--format", "fixed:0", *out], ["parity:4", "01", "--format", "exact", *out],
        ["parity:4", "01", "--language", "fr", *out], ["parity:4", "01", "--against", "nosuch", *out],
        ["positions", "01", *out], ["lab", "--format", "fixed:8", *out], ["norms", "--against", "parity:4", *out],
        ["parity:4", "01", "-o", str(tmp_path)], ["parity:4", "01", "-o", str(tmp_path / "theirs.html")],
        ["parity:4", "01", "-o", "/dev/full"], ["parity:4", "01", "-o", str(tmp_path / "x.txt")],
        ["parity:4", "01", "-o", str(tmp_path / "no" / "x.html")], ["parity:4", "\x1b[2J", *out], ["a\x1b[2Jb", *out],
    ]  # fmt: skip
    for words in wrong:
        status, said = looked(capsys, *words)
        assert status == 2 and said.count("\n") <= 1 and "Traceback" not in said and "\x1b" not in said, (words, said)
    assert sorted(os.listdir(tmp_path)) == ["theirs.html"] and (tmp_path / "theirs.html").read_text() == "mine"


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "{}",
        "[" * 100_000,
        '{"a":' + "1" * 6000 + "}",
        "\0" * 1000,
        '{"kind": "certificate"}',
        '{"claim": {"name": "<script>"}}',
        "NaN",
    ],
)
def test_hostile_certificates(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.json").write_text(text)
    status, said = looked(capsys, str(tmp_path / "c.json"), "-o", str(tmp_path / "p.html"))
    assert status == 2 and said.count("\n") <= 1 and not (tmp_path / "p.html").exists(), said


@pytest.mark.parametrize(
    "config", ["[1]", '{"model_type": "constructor"}', '{"model_type": "gpt2"}', '{"model_type": ["gpt2"]}', "{"]
)
@pytest.mark.parametrize("shape", [[10**9, 10**9], [-1], ["x"], None])
def test_hostile_folders_of_models(
    tmp_path: Path, config: str, shape: object, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(config)
    header = json.dumps({"wte.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, 8]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(
        struct.pack("<Q", 2**62 if shape is None else len(header)) + header + b"0" * 8
    )
    status, said = looked(capsys, str(tmp_path), "-o", str(tmp_path / "p.html"))
    assert status == 2 and said.count("\n") <= 1 and not (tmp_path / "p.html").exists(), said


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e30])
def test_a_model_that_is_not_finite_has_no_page(number: float) -> None:
    """NaN is not shown as 0: the place where it is met first is told."""
    model = copy.deepcopy(small("decoder"))
    with torch.no_grad():
        model.embedding.token.weight[1, 0] = number
    with pytest.raises(InputError, match=r"NaN, ∞ or numbers beyond float32 at \S*hook"):
        model_view(model, [1, 2, 3])


@pytest.mark.parametrize("vocabulary", [5, object(), [1, 2], {1: 3}, lambda number: None])
def test_what_is_no_vocabulary_is_refused(vocabulary: object) -> None:
    with pytest.raises(InputError, match="vocabulary"):
        model_view(small("decoder"), [1, 2, 3], vocabulary=vocabulary)


def test_data_that_json_cannot_hold() -> None:
    with pytest.raises(InputError, match="NaN or ∞"):
        as_script({"x": float("nan")})
