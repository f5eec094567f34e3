"""`glyptic run` and `glyptic show`, and what happens when they are given what they cannot use."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load_file, save_file

from glyptic.cli import COMMANDS, main
from glyptic.exact import Head, Layer, Sizes, Transformer, random_transformer
from glyptic.numbers import Fixed


@pytest.fixture
def folder(tmp_path):
    sizes = Sizes(layers=1, heads=1, width=3, hidden=2, answers=("0", "1"), max_length=6)
    random_transformer(Fixed(4), 2, sizes).with_options(attention="leftmost").save(tmp_path / "model")
    return str(tmp_path / "model")


def test_run(folder, capsys) -> None:
    assert main(["run", folder, "011"]) == 0
    out = capsys.readouterr().out
    assert "logits" in out and "answer" in out and "/16" in out


def test_trace_and_steps(folder, capsys) -> None:
    assert main(["run", folder, "011", "--trace", "--steps", "3", "--engine", "reference"]) == 0
    out = capsys.readouterr().out
    assert "layer.0.after_feed_forward" in out and "layer.0.head.0.weights" in out and "chain" in out


def test_another_format_and_attention(folder, capsys) -> None:
    assert main(["run", folder, "011", "--format", "fp16/zero", "--attention", "average"]) == 0
    assert main(["show", folder, "--format", "float:5,10"]) == 0
    assert "float:5,10" in capsys.readouterr().out


def test_built_in(capsys) -> None:
    assert main(["run", "parity:8", "0111"]) == 0
    assert "YES" in capsys.readouterr().out
    assert main(["show", "parity:8"]) == 0
    assert "coordinates" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["011a"], "unknown token 'a' at position 3"),
        ([""], "the input is empty"),
        (["0110110"], "reads at most 6"),
        (["011", "--format", "fixed:x"], "'fixed:x' is not a format"),
        (["011", "--steps", "9"], "at most 4 steps"),
        (["011", "--format", "fixed:20", "--engine", "fast"], "use the reference engine"),
    ],
)
def test_bad_input(folder, capsys, arguments: list[str], message: str) -> None:
    assert main(["run", folder, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and "Traceback" not in error


def truncated(folder: Path) -> str:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:60])
    return "its digest differs"


def outside(folder: Path) -> str:
    """A code that the format does not have, in a file whose digest is right."""
    tensors = load_file(folder / "model.safetensors")
    tensors["output"][0, 0] = 4000
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["weights_sha256"] = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    (folder / "config.json").write_text(json.dumps(config))
    return "output[0, 0]: code 4000 is not in fixed:4"


def masked(folder: Path) -> str:
    """Every visible score is −B at position 1."""
    F = Fixed(4)
    low = Head.of(F, [[0, "-B"]], [[1, 0]], [[1, 0]], [[1], [0]])
    inside = {"position_embedding": [[0, 0], [0, 1], [0, 0]], "layers": [Layer((low,), None)]}
    Transformer.of(F, "01", ["x", "p"], [[1, 0], [1, 0]], [[1, 0], [0, 1]], ["NO", "YES"], **inside).save(folder)
    return "ZeroAttention: layer 0, head 0, position 1"


@pytest.mark.parametrize("damage", [truncated, outside, masked])
def test_what_cannot_run_is_one_sentence(folder, capsys, damage) -> None:
    message = damage(Path(folder))
    assert main(["run", folder, "011"]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1 and "Traceback" not in error


def test_a_damaged_model_by_subprocess(folder) -> None:
    """As a user meets it: one sentence, status 2, no traceback."""
    config = f"{folder}/config.json"
    with open(config) as file:
        text = json.load(file)
    text["coordinates"] = text["coordinates"][:-1]
    with open(config, "w") as file:
        json.dump(text, file)
    done = subprocess.run([sys.executable, "-m", "glyptic", "run", folder, "01"], capture_output=True, text=True)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "it must be (2, 2)" in done.stderr and done.stderr.count("\n") == 1


def test_what_was_not_foreseen_is_neither_an_answer_nor_bad_input(monkeypatch, capsys) -> None:
    """Status 70: 1 would mean "not proved", and 2 that the question cannot be asked."""

    def crash(*_: object) -> int:
        raise ZeroDivisionError("in the\nmiddle")

    monkeypatch.setattr("glyptic.cli._run", crash)
    monkeypatch.delenv("GLYPTIC_DEBUG", raising=False)
    assert main(["prove", "parity:4", "--decisive"]) == 70
    error = capsys.readouterr().err
    assert "ZeroDivisionError: in the middle; GLYPTIC_DEBUG=1 shows where." in error
    assert error.count("\n") == 1
    monkeypatch.setenv("GLYPTIC_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["prove", "parity:4", "--decisive"])


def test_the_list_of_commands(capsys) -> None:
    assert main([]) == main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in COMMANDS)
    assert main(["icl"]) == 0
    assert "icl flow" in capsys.readouterr().out
    assert main(["icl", "fly"]) == 2 and main(["fly"]) == 2
    assert "no command 'fly'" in capsys.readouterr().err
    assert main(["--version"]) == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*name.split(), "--help"])
    assert stop.value.code == 0
    assert len(capsys.readouterr().out) > 200


def test_import_is_light() -> None:
    """`import glyptic` touches neither torch nor numba."""
    code = "import sys, glyptic; sys.exit(any(m in sys.modules for m in ('torch', 'numba', 'sklearn', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
