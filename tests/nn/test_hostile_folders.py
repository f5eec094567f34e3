"""Hostile folders by generation: every one is refused in one printable sentence, or read as if the harm were not there."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from glyptic import nn
from glyptic.cli import main
from glyptic.errors import FileError, GlypticError
from glyptic.nn.checkpoints.families import FAMILIES
from glyptic.nn.checkpoints.families.fields import COMMON, Idle
from tests.nn import oracles, small

NAMES = [*oracles.FAMILIES, "glyptic"]
VALUES: list[Any] = [
    *(None, [], {}, [1], {"a": 1}, "", "x", "\x1b[2J\nProved", True, False, -1, 0, 1.5, -0.5),
    *(10**9, 10**30, 2**31, 2**63, -(10**18), 1e-300, 1e300, "9" * 5000, [[[]]] * 50, "gelu\u202e"),
]


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("originals")
    for name, make in oracles.FAMILIES.items():
        oracles.scramble(make()).save_pretrained(folder / name)
    nn.save(small.model(positions="rotary", sliding_window=4).float(), folder / "glyptic")
    return folder


def copied(originals: Path, name: str, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(originals / name, folder))


def refusal(call: Callable[[], Any]) -> str | None:
    """The sentence that refuses a call; None: it is not refused. Anything but a sentence is a failure of the test."""
    try:
        call()
    except GlypticError as error:
        sentence = str(error)
        assert sentence.isprintable() and len(sentence) < 3000, sentence
        return sentence
    return None


def is_idle(name: str, field: str) -> bool:
    """Whether the family's table says that a field has no effect."""
    if name == "glyptic":
        return False
    family = FAMILIES[name]
    return isinstance({**COMMON, **family.fields}.get(field), Idle)


def check_fields(name: str, originals: Path, folder: Path, tries: int, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    copied(originals, name, folder)
    config = json.loads((folder / "config.json").read_text())
    before = nn.read_config(folder)
    for _ in range(tries):
        field, value = rng.choice([*config, "unheard_of", "model_type"]), rng.choice(VALUES)
        (folder / "config.json").write_text(json.dumps({**config, field: value}))
        sentence = refusal(lambda: nn.read_config(folder))
        if sentence is None:  # then it says what it said, or something that a model may be
            after = nn.read_config(folder)
            known = is_idle(name, field) or value is None or isinstance(value, bool | int | float)
            assert known or after == before, (field, value)
        else:
            assert "config.json" in sentence, sentence


@pytest.mark.parametrize("name", NAMES)
def test_a_field_of_any_kind_is_read_or_refused(name: str, originals: Path, tmp_path: Path) -> None:
    check_fields(name, originals, tmp_path / "copy", 40, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_thousands_of_fields_of_any_kind_are_read_or_refused(name: str, originals: Path, tmp_path: Path) -> None:
    check_fields(name, originals, tmp_path / "copy", 1500, 1)


TEXTS = {
    **{"empty": b"", "cut": b'{"model_type": "gpt2"', "list": b"[]", "number": b"7", "null": b"null", "text": b'"gpt2"'},
    "not UTF-8": b'\xff\xfe{"model_type": "gpt2"}',
    "deep": b'{"model_type": "gpt2", "n_layer": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "digits": b'{"model_type": "gpt2", "n_layer": ' + b"9" * 6_000 + b"}",
    "NaN": b'{"model_type": "gpt2", "layer_norm_epsilon": NaN}',
    "infinite": b'{"model_type": "gpt2", "layer_norm_epsilon": 1e999}',
    "twice": b'{"model_type": "gpt2", "model_type": "bert"}',
    "half a character": b'{"model_type": "gpt2", "\\ud800": 1}',
    "no kind": b'{"n_layer": 3}',
    "a list as kind": b'{"model_type": ["gpt2"]}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_config_that_is_no_object_of_json_is_refused(text: bytes, originals: Path, tmp_path: Path) -> None:
    folder = copied(originals, "gpt2", tmp_path / "copy")
    (folder / "config.json").write_bytes(text)
    for read in (nn.load, nn.read_config):
        sentence = refusal(lambda read=read: read(folder))
        assert sentence is not None and "config.json" in sentence


def header(fields: Any, data: bytes = b"", size: int | None = None) -> bytes:
    text = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def entry(shape: list[Any], offsets: list[int], kind: str = "F32") -> dict[str, Any]:
    return {"transformer.wte.weight": {"dtype": kind, "shape": shape, "data_offsets": offsets}}


TENSORS = {
    "empty": b"",
    "short": b"\x01",
    "zeros": b"\0" * 64,
    "a header without end": header({}, size=2**63),
    "a header of a gigabyte": header({}, size=2**30),
    "a list": header([]),
    "deep": header(b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
    "a shape that lies": header(entry([37, 20], [0, 16]), b"\0" * 16),
    "offsets that lie": header(entry([2, 2], [0, 16]), b"\0" * 8),
    "offsets backwards": header(entry([2, 2], [16, 0]), b"\0" * 16),
    "a huge shape": header(entry([2**40, 2**40], [0, 16]), b"\0" * 16),
    "a negative shape": header(entry([-1, 4], [0, 16]), b"\0" * 16),
    "a shape of texts": header(entry(["a"], [0, 16]), b"\0" * 16),
    "an unknown kind": header(entry([4], [0, 16], "F33"), b"\0" * 16),
    "tensors without numbers": header(entry([0, 20], [0, 0])),
    "a name to obey": header({"\x1b[2J\n": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4),
    "no tensors": header({}),
}


@pytest.mark.parametrize("data", TENSORS.values(), ids=TENSORS)
def test_a_file_of_tensors_that_lies_is_refused(data: bytes, originals: Path, tmp_path: Path) -> None:
    folder = copied(originals, "gpt2", tmp_path / "copy")
    (folder / "model.safetensors").write_bytes(data)
    for read in (nn.load, nn.read_config):
        assert refusal(lambda read=read: read(folder)) is not None


def one_wrong(tensors: dict[str, torch.Tensor], rng: random.Random) -> None:
    """Harm to one tensor: its shape, its kind or its name."""
    name = rng.choice(sorted(tensors))
    tensor = tensors[name]
    harms: list[Callable[[], Any]] = [
        lambda: tensors.update({name: tensor[:0].clone()}),
        lambda: tensors.update({name: torch.cat([tensor, tensor])}),
        lambda: tensors.update({name: tensor[None].clone()}),
        lambda: tensors.update({name: torch.zeros(())}),
        lambda: tensors.update({name: tensor.to(torch.int32)}),
        lambda: tensors.update({name: tensor.to(torch.complex64)}),
        lambda: tensors.update({name: tensor.bool()}),
        lambda: tensors.pop(name),
        lambda: tensors.update({f"{name}\n\x1b[2J": tensor.clone()}),
        lambda: tensors.update({name + "x" * 5000: torch.zeros(0, 7)}),
    ]
    rng.choice(harms)()


def check_tensors(name: str, originals: Path, folder: Path, tries: int, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    copied(originals, name, folder)
    whole = load_file(folder / "model.safetensors")
    for _ in range(tries):
        tensors = dict(whole)
        one_wrong(tensors, rng)
        save_file(tensors, folder / "model.safetensors")
        assert refusal(lambda: nn.load(folder)) is not None, sorted(tensors.keys() ^ whole.keys())


@pytest.mark.parametrize("name", NAMES)
def test_a_tensor_of_another_shape_kind_or_name_is_refused(name: str, originals: Path, tmp_path: Path) -> None:
    check_tensors(name, originals, tmp_path / "copy", 12, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_hundreds_of_tensors_of_another_shape_kind_or_name_are_refused(name: str, originals: Path, tmp_path: Path) -> None:
    check_tensors(name, originals, tmp_path / "copy", 300, 1)


def test_rows_that_add_up_though_each_is_wrong_are_refused(originals: Path, tmp_path: Path) -> None:
    """Queries of 8 rows and values of 24, where the config has 24 and 8: stacked, they would have the right shape."""
    folder = copied(originals, "llama", tmp_path / "copy")
    tensors = load_file(folder / "model.safetensors")
    names = [f"model.layers.0.self_attn.{part}_proj.weight" for part in "qv"]
    tensors |= dict(zip(names, [tensors[name].clone() for name in reversed(names)], strict=True))
    save_file(tensors, folder / "model.safetensors")
    for read in (nn.load, nn.read_config):
        with pytest.raises(FileError, match="do not have the shapes that config"):
            read(folder)


@pytest.mark.parametrize(
    ("name", "copy", "original"),
    [
        ("gpt2", "lm_head.weight", "transformer.wte.weight"),
        ("bert", "cls.predictions.decoder.bias", "cls.predictions.bias"),
        ("t5", "encoder.embed_tokens.weight", "shared.weight"),
        ("marian", "model.decoder.embed_tokens.weight", "model.shared.weight"),
    ],
)
def test_a_second_copy_that_differs_is_not_passed_over(
    name: str, copy: str, original: str, originals: Path, tmp_path: Path
) -> None:
    folder = copied(originals, name, tmp_path / "copy")
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, copy: tensors[original].clone()}, folder / "model.safetensors")
    nn.load(folder)
    save_file({**tensors, copy: tensors[original] + 1}, folder / "model.safetensors")
    with pytest.raises(FileError, match=f"{copy} and {original} differ"):
        nn.load(folder)


def sharded(folder: Path, weight_map: Any, **files: dict[str, torch.Tensor]) -> Path:
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(tensors)
    parts = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, held in parts.items():
        save_file({name: tensors[name] for name in held}, folder / file)
    right = {name: file for file, held in parts.items() for name in held}
    found = weight_map(right) if callable(weight_map) else weight_map
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": found}))
    return folder


INDEXES: dict[str, Any] = {
    **{"null": None, "a list": [], "nothing": {}, "numbers": {"a": 1}, "a list inside": {"a": ["a.safetensors"]}},
    "a missing shard": lambda right: {**right, "more": "c.safetensors"},
    "a tensor that is not there": lambda right: {**right, "more": "a.safetensors"},
    "the other shard": lambda right: dict.fromkeys(right, "a.safetensors"),
    "a tensor left out": lambda right: dict(list(right.items())[1:]),
    "a folder above": lambda right: {**right, "more": "../other.safetensors"},
    "an absolute path": lambda right: {**right, "more": "/etc/passwd"},
    "two points": lambda right: {**right, "more": ".."},
    "no name": lambda right: {**right, "more": ""},
    "a NUL": lambda right: {**right, "more": "a\0b"},
    "a name of 5,000": lambda right: {**right, "more": "x" * 5000},
    "a folder inside": lambda right: {**right, "more": "sub/a.safetensors"},
}


def test_a_right_index_is_read(originals: Path, tmp_path: Path) -> None:
    folder = sharded(copied(originals, "gpt2", tmp_path / "copy"), lambda right: right)
    assert nn.read_config(folder) == nn.load(folder).config


@pytest.mark.parametrize("weight_map", INDEXES.values(), ids=INDEXES)
def test_an_index_that_lies_is_refused(weight_map: Any, originals: Path, tmp_path: Path) -> None:
    folder = sharded(copied(originals, "gpt2", tmp_path / "copy"), weight_map)
    for read in (nn.load, nn.read_config):
        assert refusal(lambda read=read: read(folder)) is not None


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("harm", [loop, fifo, directory, device], ids=lambda harm: harm.__name__)
def test_what_is_not_a_file_is_neither_waited_for_nor_read(
    file: str, harm: Any, originals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(originals, "gpt2", tmp_path / "copy")
    harm(folder / file)
    for read in (nn.load, nn.read_config):
        sentence = refusal(lambda read=read: read(folder))
        assert sentence is not None and file in sentence
    assert main(["show", str(folder)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("path", ["", "\0", "x" * 5000, "/dev/null", "/proc/self/mem", None, 3, b"b", [], Path("/")], ids=repr)
def test_what_is_not_a_folder_is_refused(path: Any) -> None:
    for read in (nn.load, nn.read_config):
        assert refusal(lambda read=read: read(path)) is not None


def test_sizes_beyond_the_file_are_refused_before_anything_is_made(originals: Path, tmp_path: Path) -> None:
    for name in NAMES:
        folder = copied(originals, name, tmp_path / name)
        config = json.loads((folder / "config.json").read_text())
        for field, value in config.items():
            if isinstance(value, int) and not isinstance(value, bool):
                (folder / "config.json").write_text(json.dumps({**config, field: 2_000_000_000}))
                assert refusal(lambda folder=folder: nn.read_config(folder)) or field not in ("n_layer", "layers"), (name, field)


@pytest.mark.parametrize("name", ["gpt2", "glyptic"])
def test_the_command_shows_hostile_checkpoints_as_one_sentence(
    name: str, originals: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(originals, name, tmp_path / "copy")
    for text in TEXTS.values():
        (folder / "config.json").write_bytes(text)
        assert main(["show", str(folder)]) == 2
        captured = capsys.readouterr()
        assert captured.out == "" and len(captured.err.splitlines()) == 1 and "did not foresee" not in captured.err


def test_t5_in_two_kinds_of_numbers_runs(originals: Path, tmp_path: Path) -> None:
    """Its `wo` stays in float32 beside float16, as the public library writes it: all become float32, and nothing is rounded."""
    folder = copied(originals, "t5", tmp_path / "copy")
    tensors = {k: v if k.endswith("wo.weight") else v.half() for k, v in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors")
    model, tokens = nn.load(folder), torch.randint(3, 30, (2, 7))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    theirs = oracles.t5()
    theirs.load_state_dict({k: v.float() for k, v in tensors.items()}, strict=False)
    with torch.no_grad():
        them = theirs.eval()(input_ids=tokens, decoder_input_ids=tokens).logits
        assert (model(tokens, tokens) - them).abs().max() < 1e-5
    assert nn.load(folder, dtype=torch.bfloat16)(tokens, tokens).dtype == torch.bfloat16


def test_the_bias_on_marians_logits_is_not_trained(originals: Path, tmp_path: Path) -> None:
    model = nn.load(originals / "marian")
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    assert frozen == ["output.bias"]
    nn.save(model, tmp_path / "ours")
    again = nn.load(tmp_path / "ours").train()
    tokens = torch.randint(3, 30, (2, 7))
    again(tokens, tokens).square().mean().backward()
    assert again.output.bias.grad is None and again.embedding.token.weight.grad is not None


def test_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    model = small.model()
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below", "\0", "x" * 5000, None, 3):
        assert refusal(lambda path=path: nn.save(model, path)) is not None  # type: ignore[arg-type]
    for family in ("mamba", 3, [], ""):
        assert refusal(lambda family=family: nn.save(model, tmp_path / "there", family=family)) is not None  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_head_that_we_do_not_have_is_not_left_out_in_silence(tmp_path: Path) -> None:
    import transformers

    sizes = {"vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(**sizes, max_position_embeddings=16)
    transformers.BertForNextSentencePrediction(config).save_pretrained(tmp_path / "next")
    said = refusal(lambda: nn.load(tmp_path / "next"))
    assert said is not None
    assert "cls.seq_relationship" in said
    transformers.BertForPreTraining(config).save_pretrained(tmp_path / "both")  # whose other head we have
    assert nn.load(tmp_path / "both").config.head == "mlm"


@pytest.mark.parametrize("field", ["scale_decoder_outputs", "dense_act_fn", "is_gated_act"])
def test_null_is_not_taken_for_absent_where_the_public_library_reads_it(field: str, originals: Path, tmp_path: Path) -> None:
    folder = copied(originals, "t5", tmp_path / "t5")
    fields = json.loads((folder / "config.json").read_text())
    for value, read in ((None, False), (fields.pop(field, None), True)):
        (folder / "config.json").write_text(json.dumps(fields if read else {**fields, field: value}))
        said = refusal(lambda: nn.load(folder))
        assert said is None if read else said is not None and f"{field} is None" in said


def test_tensors_that_must_be_one_and_differ_are_refused_with_their_folder(originals: Path, tmp_path: Path) -> None:
    folder = copied(originals, "marian", tmp_path / "marian")
    tensors = load_file(folder / "model.safetensors")
    tensors["model.encoder.embed_positions.weight"] = torch.zeros(4, 4)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    said = refusal(lambda: nn.load(folder))
    assert said is not None
    assert said.startswith(str(folder))
