"""Models that an attacker has made, through every command that reads one: a sentence each, no hang, and no forged line."""

import hashlib
import json
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glyptic.cli import main
from glyptic.errors import FileError, GlypticError
from glyptic.exact import load, random_transformer
from glyptic.numbers import Fixed

COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "run": lambda model: ["run", model, "0"],
    "show": lambda model: ["show", model],
    "frame": lambda model: ["frame", model],
    "normalize": lambda model: ["normalize", model, "--out", "normalized"],
    "combine": lambda model: ["combine", f"'{model}' & parity:2", "--out", "combined"],
    "prove": lambda model: ["prove", model, "--language", "0*", "--max-length", "2", "--workers", "1"],
    "lint": lambda model: ["lint", model, "--runs", "4"],
}
FORGED = "x\nProved: P = NP\x1b[2J\u202e"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    random_transformer(Fixed(3), 1).save(tmp_path / "model")
    return tmp_path / "model"


def config_of(folder: Path) -> Any:
    return json.loads((folder / "config.json").read_text())


def put(folder: Path, config: Any) -> None:
    (folder / "config.json").write_text(json.dumps(config))


TOUCH = {"action": "writes", "coordinates": ["x0"], "positions": "all", "value": "0"}
FRAME = {
    **{"construction": "zero", "first_layer": 0, "layers": 1, "heads": 0, "hidden": 2},
    **{"new_coordinates": [], "touches": [TOUCH], "facts": []},
}
NAMES: dict[str, Callable[[Any], object]] = {
    "its name": lambda config: config.update(name=FORGED),
    "a token": lambda config: config["vocabulary"].__setitem__(0, FORGED),
    "a coordinate": lambda config: config["coordinates"].__setitem__(0, FORGED),
    "an answer": lambda config: config["answers"].__setitem__(0, FORGED),
    "a construction": lambda config: config.update(history=[FRAME | {"construction": FORGED}]),
    "a fact": lambda config: config.update(history=[FRAME | {"facts": [FORGED]}]),
    "a new coordinate": lambda config: config.update(history=[FRAME | {"new_coordinates": [FORGED]}]),
    "positions": lambda config: config.update(history=[FRAME | {"touches": [TOUCH | {"positions": FORGED}]}]),
    "a value": lambda config: config.update(history=[FRAME | {"touches": [TOUCH | {"value": FORGED}]}]),
    "an option": lambda config: config["options"].update({FORGED: 1}),
    "a field": lambda config: config.update(format=FORGED),
    "its kind": lambda config: config.update(version=FORGED),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_names_in_a_model_forge_no_line_and_move_no_cursor(command: str, name: str, model: Path, capsys: Any) -> None:
    config = config_of(model)
    NAMES[name](config)
    put(model, config)
    status = main(COMMANDS[command](str(model)))
    out = capsys.readouterr()
    printed = out.out + out.err
    assert status == 2 and not out.out
    assert printed.count("\n") == 1 and "\nProved" not in printed
    assert all(character.isprintable() or character == "\n" for character in printed)


def test_names_given_in_python_are_held_to_the_same() -> None:
    T = random_transformer(Fixed(3), 1)
    for changes in ({"name": "a\nb"}, {"answers": ("YES\x1b", "NO")}, {"vocabulary": ("\u202e", "1")}, {"name": 3}):
        with pytest.raises(GlypticError, match=r"names are texts without line breaks|name is 3, and must be a text\."):
            T.replace(**changes)
    assert T.replace(name="SÍ, también ∞ → x'").name == "SÍ, también ∞ → x'"


# 200 hostile files -----------------------------------------------------------------------------------------------------

VALUES: list[Any] = [None, True, -1, 10**300, 1.5, "", "x" * 5000, FORGED, [], [[]], [None], {}, {"a": {}}, [{"heads": 1}] * 3]


def sealed(folder: Path, data: bytes) -> None:
    """Weights, with the digest set right, as a careful vandal would."""
    (folder / "model.safetensors").write_bytes(data)
    put(folder, config_of(folder) | {"weights_sha256": hashlib.sha256(data).hexdigest()})


def tensors(header: Any, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def one(**changes: Any) -> dict[str, Any]:
    return {"output": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2], **changes}}


WEIGHTS: dict[str, bytes] = {
    "no bytes": b"",
    "a header of 2^63 bytes": struct.pack("<Q", 1 << 63) + b"{}",
    "a header of all bytes there are": struct.pack("<Q", (1 << 64) - 1),
    "a header nested 50,000 deep": tensors(b"[" * 50_000 + b"]" * 50_000),
    "a header of 6,000 digits": tensors(b'{"a":' + b"9" * 6000 + b"}"),
    "a header that is a list": tensors([]),
    "a header that is no JSON": tensors(b"{{{"),
    "a header that is not UTF-8": tensors(b'{"\xff": 1}'),
    "offsets beyond the end": tensors(one(data_offsets=[0, 1 << 40]), b"ab"),
    "offsets that go back": tensors(one(data_offsets=[2, 0]), b"ab"),
    "offsets below 0": tensors(one(data_offsets=[-1, 1]), b"ab"),
    "a shape beyond the data": tensors(one(shape=[1 << 40]), b"ab"),
    "a shape that overflows": tensors(one(shape=[1 << 32, 1 << 32]), b"ab"),
    "a shape below 0": tensors(one(shape=[-2]), b"ab"),
    "a shape of nothing": tensors(one(shape=[0, 1 << 60], data_offsets=[0, 0])),
    "a type that is none": tensors(one(dtype="I7"), b"ab"),
    "floats": tensors(one(dtype="F16", shape=[1]), b"ab"),
    "bfloats": tensors(one(dtype="BF16", shape=[1]), b"ab"),
    "booleans": tensors(one(dtype="BOOL"), b"ab"),
    "unsigned codes": tensors(one(dtype="U8"), b"ab"),
    "a name that moves the cursor": tensors({FORGED: one()["output"]}, b"ab"),
    "a name twice": tensors(b'{"a":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},"a":1}'),
    "one array only": tensors(one(), b"ab"),
    "bytes that nobody claims": tensors(one(), b"abc"),
}


def configs(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every field of a config as something else, or not there."""
    good = config_of(folder)
    for field in good:
        yield f"without {field}", lambda field=field: put(folder, {k: v for k, v in good.items() if k != field})
        for value in VALUES:
            yield f"{field} is {str(value)[:20]}", lambda field=field, value=value: put(folder, good | {field: value})
    for option in good["options"]:
        for value in VALUES:
            changed = good["options"] | {option: value}
            yield f"options.{option} is {str(value)[:20]}", lambda changed=changed: put(folder, good | {"options": changed})
    for value in VALUES:
        yield f"a token is {str(value)[:20]}", lambda value=value: put(folder, good | {"vocabulary": ["0", value]})
        yield f"a frame has {str(value)[:20]}", lambda value=value: put(folder, good | {"history": [FRAME | {"touches": value}]})


def oddities(folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """What is no file of text, where one belongs."""

    def instead(name: str, make: Callable[[Path], object]) -> Callable[[], object]:
        def change() -> None:
            (folder / name).unlink()
            make(folder / name)

        return change

    kinds: dict[str, Callable[[Path], object]] = {
        "a pipe": os.mkfifo,
        "a folder": Path.mkdir,
        "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
        "a link to itself": lambda path: path.symlink_to(path),
        "a link to nothing": lambda path: path.symlink_to("nothing"),
        "a terabyte of holes": lambda path: (path.touch(), os.truncate(path, 1 << 40)),
        "nothing": lambda path: None,
        "brackets 50,000 deep": lambda path: path.write_bytes(b"[" * 50_000 + b"]" * 50_000),
        "6,000 digits": lambda path: path.write_bytes(b"9" * 6000),
        "NaN": lambda path: path.write_bytes(b"NaN"),
        "not UTF-8": lambda path: path.write_bytes(b'{"kind": "\xff"}'),
        "cut short": lambda path: path.write_bytes(b'{"kind": "glyptic.exact'),
        "a field twice": lambda path: path.write_bytes(b'{"kind": "glyptic.exact", "kind": "glyptic.exact"}'),
        "half a character": lambda path: path.write_bytes(rb'{"kind": "glyptic.exact", "name": "\ud800"}'),
    }
    for name in ("config.json", "model.safetensors"):
        for kind, make in kinds.items():
            yield f"{name} is {kind}", instead(name, make)


def hostile(folder: Path) -> list[tuple[str, Callable[[], object]]]:
    weights = [(f"weights: {name}", lambda data=data: sealed(folder, data)) for name, data in WEIGHTS.items()]
    return [*configs(folder), *oddities(folder), *weights]


def anew(folder: Path) -> None:
    """A whole model again, whatever was made of the last."""
    for path in folder.iterdir():
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    random_transformer(Fixed(3), 1).save(folder)


# What still describes a model: other names, no history, and options that are left out, which are the defaults.
HARMLESS = {
    *("name is ", "name is xxxxxxxxxxxxxxxxxxxx", "a token is xxxxxxxxxxxxxxxxxxxx", "without history", "history is []"),
    *("a frame has []", "options is {}", "options.scale is True"),
}


def test_hostile_files_are_one_sentence_each(model: Path) -> None:
    """Hundreds of them; the few that still describe a model may be loaded."""
    changes = hostile(model)
    assert len(changes) > 200
    loaded = []
    for name, change in changes:
        anew(model)
        change()
        try:
            load(model)
        except FileError as error:
            said = str(error)
        else:
            loaded.append(name)
            continue
        assert "\n" not in said and said.endswith(".") and len(said) < 1000, (name, said)
    assert set(loaded) <= HARMLESS


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_hostile_files_are_one_sentence_each_in_every_command(command: str, model: Path, capsys: Any) -> None:
    for name, change in hostile(model):
        anew(model)
        change()
        status = main(COMMANDS[command](str(model)))
        out = capsys.readouterr()
        if name not in HARMLESS:
            assert status == 2 and out.err.count("\n") == 1, (name, out.err)
        assert status in (0, 1, 2) and "did not foresee" not in out.err, (name, out.err)


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_model_that_never_ends_is_not_waited_for(command: str, kind: str, model: Path, capsys: Any) -> None:
    (model / "config.json").unlink()
    if kind == "pipe":
        os.mkfifo(model / "config.json")
    elif kind == "link":
        (model / "config.json").symlink_to("/dev/zero")
    else:
        model = Path("/dev/zero")
    assert main(COMMANDS[command](str(model))) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_weights_of_zeros_are_loaded_as_they_are(model: Path) -> None:
    """The changes above are refused for what they change: the model itself is whole."""
    anew(model)
    assert np.array_equal(load(model).output, random_transformer(Fixed(3), 1).output)
