"""`glyptic show` on folders of public models and of our own: the table of costs, or one sentence and exit status 2."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

from glyptic import nn
from glyptic.cli import main

SIZES = {"n_layer": 2, "n_embd": 16, "n_head": 2, "vocab_size": 11, "n_positions": 24}


@pytest.fixture(params=["public", "native"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The same tiny GPT-2, as transformers and as we write it."""
    path = tmp_path / "public"
    transformers.GPT2LMHeadModel(transformers.GPT2Config(**SIZES)).save_pretrained(path)
    if request.param == "native":
        nn.save(nn.load(path), tmp_path / "native")
    return tmp_path / request.param


def test_the_table(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("weights are read")

    expected = str(nn.cost(nn.load(folder), length=24))  # the context, which is below 256
    monkeypatch.setattr(nn, "load", refuse)
    capsys.readouterr()
    assert main(["show", str(folder)]) == 0
    out = capsys.readouterr().out
    assert out.strip() == expected
    parameters = sum(p.numel() for p in transformers.GPT2Model(transformers.GPT2Config(**SIZES)).parameters())
    assert "attention N²D" in out
    assert f"{parameters:,}" in next(line for line in out.splitlines() if line.startswith("total"))


def test_batch_and_length(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(folder), "--batch", "3", "--length", "100"]) == 0
    assert "batch 3, length 100" in capsys.readouterr().out


@pytest.mark.parametrize("damage", ["cut", "renamed", "not JSON", "unknown"])
def test_a_damaged_folder(folder: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    weights, config = folder / "model.safetensors", folder / "config.json"
    if damage == "cut":
        weights.write_bytes(weights.read_bytes()[:-50])
    elif damage == "renamed":
        from safetensors.torch import load_file, save_file

        tensors = load_file(weights)
        name = sorted(tensors)[0]
        save_file({**tensors, "other": torch.zeros(1), name: torch.zeros(2, 2)}, weights)
    elif damage == "unknown":
        config.write_text('{"model_type": "mamba"}')
    else:
        config.write_text('{"model_type": ')
    capsys.readouterr()
    assert main(["show", str(folder)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1
    assert "Traceback" not in captured.err


def test_a_format_is_not_ignored_in_silence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(folder), "--format", "fp16"]) == 2
    assert "is not an exact transformer and has no format" in capsys.readouterr().err


def test_a_length_below_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(folder), "--length", "0"]) == 2
    assert "--length is 0, and must be" in capsys.readouterr().err
