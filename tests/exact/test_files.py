"""Saved and loaded; damaged in every way that people and disks know."""

import json
import os
import struct

import numpy as np
import pytest
from safetensors.numpy import save as format_tensors

from glyptic.errors import FileError
from glyptic.exact import Options, Transformer, files, random_transformer
from glyptic.exact.parts import parts
from glyptic.numbers import Exact, parse_format


@pytest.mark.parametrize(
    "name", ["fixed:2", "fixed:8/even", "q:4,4", "float:5,10", "fp16", "bf16", "exact:12", "fixed:31"]
)
@pytest.mark.parametrize("norm", ["none", "pre", "post"])
def test_round_trip(tmp_path, name: str, norm: str) -> None:
    before = random_transformer(parse_format(name), 3, options=Options(norm=norm, mask="strict"))  # type: ignore[arg-type]
    before.save(tmp_path / "model")
    after = Transformer.load(tmp_path / "model")
    assert after.same_as(before) and after.name == before.name
    assert sorted(os.listdir(tmp_path / "model")) == ["config.json", "model.safetensors"]  # and nothing temporary


def test_weights_are_narrow_integers(tmp_path) -> None:
    from safetensors.numpy import load_file

    for name, dtype in {"fixed:3": np.int8, "fixed:7": np.int16, "fixed:8": np.int32, "float:5,5": np.int16}.items():
        random_transformer(parse_format(name)).save(tmp_path)
        assert {array.dtype for array in load_file(tmp_path / "model.safetensors").values()} == {np.dtype(dtype)}
    assert files._narrowest(Exact()) is np.int64


@pytest.fixture
def model(tmp_path):
    random_transformer(parse_format("fixed:4"), 1).save(tmp_path)
    return tmp_path


def edit(folder, **changes) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))


def rewrite(folder, change) -> None:
    """Change the tensors as a careful vandal would: with the digest set right."""
    import hashlib

    transformer = Transformer.load(folder)
    tensors = {name: array.astype(np.int16).copy() for name, array, _ in parts(transformer)}
    change(tensors)
    data = format_tensors(tensors)
    (folder / "model.safetensors").write_bytes(data)
    edit(folder, weights_sha256=hashlib.sha256(data).hexdigest())


TOUCH = {"action": "writes", "coordinates": ["x0"], "positions": "all but 2", "value": "0"}
FRAME = {
    **{"construction": "zero", "first_layer": 0, "layers": 1, "heads": 0, "hidden": 2},
    **{"new_coordinates": [], "touches": [TOUCH], "facts": []},
}
CONFIGS = [
    ({"format": "fixed:99999"}, "between 1 and 512"),
    ({"format": "fixed"}, "is not a format"),
    ({"format": 8}, "format must be a str"),
    ({"kind": "other"}, "does not describe an exact transformer"),
    ({"version": 99}, "reads versions 1 to 2"),
    ({"vocabulary": ["0"]}, r"token_embedding has shape \(2, 6\); it must be \(1, 6\)"),
    ({"coordinates": "xyz"}, "coordinates must be a list"),
    ({"options": {"mask": "sideways"}}, "options.mask"),
    ({"options": {"speed": 9}}, "options.speed is not an option"),
    ({"layers": [{"heads": -1}]}, "layers.0.heads must be a count"),
    ({"layers": [{"heads": 2}]}, "which config.json does not know of"),
    ({"layers": [{"heads": 3}, {"heads": 2}]}, "has no layers.0.heads.2.query"),
    ({"weights_sha256": "x"}, "64 hexadecimal digits"),
    ({"weights_sha256": "0" * 64}, "its digest differs"),
    ({"format": "fixed:2"}, "is not in fixed:2"),
    ({"history": "none"}, "history must be a list"),
    ({"history": [{"construction": "add"}]}, "history.0 must have exactly"),
    ({"history": [FRAME | {"layers": -1}]}, "history.0.layers must be a count"),
    ({"history": [FRAME | {"construction": 3}]}, "history.0.construction must be a text"),
    ({"history": [FRAME | {"facts": [1]}]}, "history.0.facts must be a list of texts"),
    ({"history": [FRAME | {"touches": [TOUCH | {"action": "eats"}]}]}, "history.0.touches.0.action must be one of"),
]


@pytest.mark.parametrize(("changes", "message"), CONFIGS, ids=lambda v: str(v)[:40])
def test_edited_configs(model, changes: dict, message: str) -> None:
    edit(model, **changes)
    with pytest.raises(FileError, match=message):
        Transformer.load(model)


def test_history_is_kept(model) -> None:
    edit(model, history=[FRAME])
    (frame,) = Transformer.load(model).history
    assert frame.construction == "zero" and frame.touches[0].covers(1) and not frame.touches[0].covers(2)


def _widen(tensors):
    tensors["output"] = np.zeros((2, 9), np.int16)


def _overflow(tensors):
    tensors["layers.0.heads.1.key"][0, 2] = 4000


def _real(tensors):
    tensors["output"] = tensors["output"].astype(np.float32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_widen, r"output has shape \(2, 9\)"),
        (_overflow, r"layers.0.heads.1.key\[0, 2\]: code 4000 is not in fixed:4"),
        (lambda tensors: tensors.pop("output"), "model.safetensors has no output"),
        (_real, "output holds float32; weights are integer codes"),
    ],
)
def test_edited_weights(model, change, message: str) -> None:
    rewrite(model, change)
    with pytest.raises(FileError, match=message):
        Transformer.load(model)


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_truncated_weights(model, keep: int) -> None:
    import hashlib

    whole = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(whole[:keep])
    with pytest.raises(FileError, match="digest differs"):
        Transformer.load(model)
    edit(model, weights_sha256=hashlib.sha256(whole[:keep]).hexdigest())
    with pytest.raises(FileError, match="not a whole safetensors file"):
        Transformer.load(model)


def test_a_header_that_lies(model) -> None:
    import hashlib

    data = struct.pack("<Q", 1 << 60) + b"{}"
    (model / "model.safetensors").write_bytes(data)
    edit(model, weights_sha256=hashlib.sha256(data).hexdigest())
    with pytest.raises(FileError, match="not a whole safetensors file"):
        Transformer.load(model)


def test_missing_and_unreadable(model, tmp_path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*nowhere"):
        Transformer.load(tmp_path / "nowhere")
    (model / "config.json").write_text("{")
    with pytest.raises(FileError, match="is not JSON"):
        Transformer.load(model)
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    with pytest.raises(FileError, match="cannot write"):
        random_transformer(parse_format("fixed:4")).save(blocked)


def another() -> Transformer:
    return random_transformer(parse_format("fixed:4"), 2)


@pytest.fixture
def theirs(tmp_path):
    """A folder of a model that others have trained."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "gpt2"}')
    (folder / "model.safetensors").write_bytes(b"months of work")
    return folder


def held(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_others_wrote_is_not_overwritten_without_a_word(theirs) -> None:
    before = held(theirs)
    with pytest.raises(FileError, match=r'theirs is taken, for it holds "config.json", .* or say --overwrite'):
        another().save(theirs)
    assert held(theirs) == before
    another().save(theirs, overwrite=True)
    assert Transformer.load(theirs).same_as(another())


def test_what_is_ours_is_replaced_and_what_else_is_there_is_kept(tmp_path) -> None:
    folder = tmp_path / "model"
    random_transformer(parse_format("fixed:4"), 1).save(folder)
    (folder / ".hidden").write_text("kept")
    another().save(folder)
    assert Transformer.load(folder).same_as(another())
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match=r'holds "notes.txt", which is not ours to replace'):
        random_transformer(parse_format("fixed:4"), 1).save(folder)
    random_transformer(parse_format("fixed:4"), 1).save(folder, overwrite=True)
    assert Transformer.load(folder).same_as(random_transformer(parse_format("fixed:4"), 1))
    assert sorted(os.listdir(folder)) == [".hidden", "config.json", "model.safetensors", "notes.txt"]
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"kind": 1}', b"", b"\xff"])
def test_a_config_that_cannot_be_read_is_not_ours(theirs, content: bytes) -> None:
    (theirs / "config.json").write_bytes(content)
    with pytest.raises(FileError, match="is taken"):
        another().save(theirs)


def test_places_where_no_folder_can_be(tmp_path, theirs) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "folder" / "config.json").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    for place in ("file", "file/below", "folder", "pipe", "a\0b", "n" * 3000, "n/" * 3000):
        with pytest.raises(FileError, match="cannot write"):
            another().save(tmp_path / place, overwrite=True)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "pipe", "theirs"]


def test_the_working_folder_stays_the_one_that_it_was(tmp_path, monkeypatch) -> None:
    """Were it exchanged, the shell would stand in a folder that is gone."""
    monkeypatch.chdir(tmp_path)
    before = os.stat(tmp_path).st_ino
    for model in (random_transformer(parse_format("fixed:4"), 1), another()):
        model.save(".")
        assert Transformer.load(".").same_as(model) and os.stat(tmp_path).st_ino == before
    assert sorted(os.listdir()) == ["config.json", "model.safetensors"]


def test_a_link_to_a_folder_stays_a_link(tmp_path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "model")
    for _ in range(2):
        another().save(tmp_path / "link")
        assert (tmp_path / "link").is_symlink() and Transformer.load(tmp_path / "model").same_as(another())


def test_a_folder_that_says_it_is_unfinished_leads_nowhere_else(tmp_path, model) -> None:
    """`.glyptic-new` is what a killed writer had decided; one that is a link to elsewhere is not followed."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("stays")
    folder = tmp_path / "model"
    another().save(folder)
    (folder / ".glyptic-new").symlink_to(elsewhere)
    assert Transformer.load(folder).same_as(another())
    assert (elsewhere / "secret").exists()


@pytest.mark.parametrize("positions", ["all but ²", "all but " + "1" * 5000, "¹ ١", "1" * 5000])
def test_positions_that_are_no_numbers_are_not_read_as_such(positions: str) -> None:
    """A file may say them of its history; `isdigit` is true of all of these, and `int` takes none."""
    from glyptic.exact.history import Touch

    assert Touch("writes", ("x",), positions).covers(1) == positions.startswith("all")
