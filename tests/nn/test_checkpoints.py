"""Folders that are not what they say: one sentence, with names; nothing fetched, nothing unpickled."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from glyptic import nn
from glyptic.errors import FileError, ModelError
from glyptic.nn.checkpoints.families import FAMILIES
from tests.nn import oracles, small


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    oracles.scramble(oracles.gpt2()).save_pretrained(tmp_path)
    return tmp_path


def change_tensors(folder: Path, change: Any) -> None:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def change_config(folder: Path, **fields: Any) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({k: v for k, v in {**config, **fields}.items() if v is not ...}))


@pytest.mark.parametrize("name", [*oracles.FAMILIES, "glyptic"])
def test_missing_and_unexpected_names_are_listed(name: str, tmp_path: Path) -> None:
    if name == "glyptic":
        nn.save(small.model().float(), tmp_path)
    else:
        oracles.scramble(oracles.FAMILIES[name]()).save_pretrained(tmp_path)
    lost = next(key for key in sorted(load_file(tmp_path / "model.safetensors")) if "0" in key and key.endswith("weight"))
    change_tensors(tmp_path, lambda tensors: tensors.update({"not.ours": tensors.pop(lost)}))
    prefix = "vit." if name == "vit" else ""
    assert lost.startswith(prefix)
    message = f"missing: {re.escape(lost)}; unexpected: not.ours."
    for read in (nn.load, nn.read_config):
        with pytest.raises(FileError, match=message):
            read(tmp_path)


@pytest.mark.parametrize("kind", [torch.int8, torch.int64, torch.float8_e4m3fn], ids=str)
def test_quantized_weights_are_named(folder: Path, kind: torch.dtype) -> None:
    change_tensors(folder, lambda t: t.update({"transformer.wpe.weight": torch.ones(23, 20).to(kind)}))
    message = r"of wrong shape or kind: transformer.wpe.weight holds (int|float8)"
    with pytest.raises(FileError, match=message):
        nn.load(folder)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"layers": ...}, "config.json: layers is missing; ModelConfig has no default for it."),
        ({"colour": "red"}, "config.json: colour='red' is not a field of ModelConfig."),
        ({"rotary_scaling": {"kind": "linear", "factor": 2.0, "speed": 1}}, "speed=1 is not a field of RotaryScaling."),
        ({"rotary_scaling": {"kind": "linear"}}, "factor is missing; RotaryScaling has no default for it."),
        ({"rotary_scaling": {"kind": "linear", "factor": None}}, "rotary_scaling.factor=None must be a number."),
        ({"rotary_scaling": "linear"}, "rotary_scaling='linear' must be a RotaryScaling or None."),
        ({"norm_eps": None}, "norm_eps=None must be a number."),
        ({"dropout": "half"}, "dropout='half' must be a number."),
        ({"tied": 1}, "tied=1 must be true or false."),
        ({"layers": True}, "layers=True must be a whole number."),
        ({"kind": None}, "kind=None must be a text."),
    ],
)
def test_a_native_config_with_bad_fields_gets_a_sentence(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    nn.save(small.model(), tmp_path)
    change_config(tmp_path, **fields)
    with pytest.raises(FileError, match=re.escape(message)):
        nn.load(tmp_path)


NO_FACTOR = "config.json: rope_parameters.factor is missing, which rope_type='linear' needs"


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("llama", {"rope_parameters": {"rope_type": "linear", "factor": None}}, NO_FACTOR),
        ("llama", {"rope_parameters": {"rope_type": "linear"}}, NO_FACTOR),
        ("llama", {"rope_parameters": "fast"}, "config.json: rope_parameters is 'fast', and must be an object"),
        ("llama", {"rms_norm_eps": "small"}, "config.json: rms_norm_eps is 'small', and must be a number of at least 0"),
        ("t5", {"d_model": None}, "config.json: d_model is None, and must be a whole number"),
        ("vit", {"patch_size": 0}, "config.json: patch_size is 0, and must be a whole number"),
        ("vit", {"image_size": [15, 15]}, "config.json: image_size is [15, 15], and must be a whole number"),
        ("bert", {"hidden_size": None}, "config.json: hidden_size is None, and must be a whole number"),
        ("mistral", {"sliding_window": 0}, "config.json: sliding_window is 0, and must be a whole number"),
        ("mistral", {"num_key_value_heads": ...}, "config.json: num_key_value_heads=8 does not divide num_attention_heads=6"),
        ("mistral", {"attention_bias": True}, "config.json: attention_bias=True is not a field of mistral that we know"),
        ("qwen2", {"use_sliding_window": True, "sliding_window": 4, "layer_types": None, "max_window_layers": 1},
         "config.json: max_window_layers=1 gives some layers a sliding window; only all of them or none"),
        ("qwen2", {"layer_types": ["full_attention"]}, "config.json: layer_types has 1 entries, and num_hidden_layers=3."),
        ("qwen2", {"layer_types": ["sliding_attention", "full_attention", "full_attention"]},
         "config.json: layer_types has layers with a sliding window and layers without"),
        ("qwen2", {"layer_types": ["sliding_attention"] * 3}, "and use_sliding_window and sliding_window give it no window"),
        ("qwen2", {"layer_types": ["chunked_attention"] * 3}, "must be a list of full_attention and sliding_attention"),
        ("qwen3", {"head_dim": None}, "config.json: head_dim is None, and must be a whole number"),
        ("qwen3", {"head_dim": 9}, "head_dim has 9 of 9 coordinates of a head turned, which must be in pairs"),
        ("gemma", {"use_bidirectional_attention": True}, "use_bidirectional_attention=True is not supported; only False is."),
        ("gemma", {"hidden_activation": "relu"}, "hidden_activation is 'relu', and must be one of gelu_pytorch_tanh"),
        ("gemma", {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping=50.0 is not a field of gemma that we know"),
        ("gemma", {"model_type": "gemma2"}, "model_type='gemma2' caps scores and logits by tanh"),
        ("phi3", {"rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}},
         "config.json: rope_scaling.type='longrope' is not supported; only default are"),
        ("phi3", {"rope_parameters": {"partial_rotary_factor": 0.3}}, "rope_parameters: partial_rotary_factor has 1 of 4"),
        ("opt", {"layer_norm_elementwise_affine": False}, "layer_norm_elementwise_affine=False is not supported; only True is."),
        ("opt", {"word_embed_proj_dim": 0}, "config.json: word_embed_proj_dim is 0, and must be a whole number"),
        ("roberta", {"pad_token_id": None}, "config.json: pad_token_id is None, and must be a whole number"),
        ("roberta", {"pad_token_id": 18}, "pad_token_id=18 leaves no position in a table of max_position_embeddings=19 rows."),
        ("roberta", {"hidden_act": "gelu_new"}, "hidden_act='gelu_new' is not supported beside lm_head, which has gelu."),
        ("roberta", {"is_decoder": True}, "config.json: is_decoder=True is not supported; only False is."),
        ("distilbert", {"activation": "tanh"}, "config.json: activation is 'tanh', and must be one of relu"),
        ("distilbert", {"hidden_size": 22}, "config.json: hidden_size=22 and dim=21 are the same field and differ."),
        ("deit", {"image_size": 16}, "config.json: patch_size=5 does not divide image_size=16."),
    ],
)
def test_a_public_config_with_bad_fields_gets_a_sentence(
    tmp_path: Path, name: str, fields: dict[str, Any], message: str
) -> None:
    oracles.FAMILIES[name]().save_pretrained(tmp_path)
    change_config(tmp_path, **fields)
    with pytest.raises((FileError, ModelError), match=re.escape(message)):
        nn.load(tmp_path)


@pytest.mark.parametrize("family", oracles.FAMILIES)
@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "decoder", "head_width": 3},
        {"kind": "decoder", "feed_forward": "geglu"},
        {"kind": "encoder", "head": "class", "classes": 2},
        {"kind": "encoder_decoder", "feed_forward": "gelu"},
        {"kind": "vit", "image_size": 8, "patch_size": 4, "head": "none", "feed_forward": "swiglu"},
    ],
    ids=str,
)
def test_what_a_family_cannot_say_is_named(family: str, fields: dict[str, Any], tmp_path: Path) -> None:
    model = small.model(**fields)
    with pytest.raises(ModelError, match=rf"^\w+=.* cannot be said in an? {family} checkpoint; save without family=\."):
        nn.save(model, tmp_path / "there", family=family)
    assert not (tmp_path / "there").exists()


def test_an_activation_that_a_family_lacks_is_named_by_our_field(tmp_path: Path) -> None:
    for family, kind in (("gpt2", "decoder"), ("bert", "encoder")):
        with pytest.raises(ModelError, match="feed_forward='swiglu' cannot be said"):
            nn.save(small.model(kind=kind, feed_forward="swiglu"), tmp_path, family=family)


def test_linear_scaling_without_a_trained_length_is_saved(tmp_path: Path) -> None:
    scaling = nn.RotaryScaling("linear", 2.0)
    config = nn.preset("llama", layers=1, width=12, heads=3, vocabulary=9, feed_forward_width=7, rotary_scaling=scaling)
    nn.save(nn.build(config.replace(head_width=4, key_value_heads=3)), tmp_path, family="llama")
    assert nn.load(tmp_path).config.rotary_scaling == scaling


def test_a_config_is_read_without_the_numbers(folder: Path) -> None:
    assert nn.read_config(folder) == nn.load(folder).config


def test_long_lists_are_cut(folder: Path) -> None:
    change_config(folder, n_layer=5)
    with pytest.raises(FileError, match="and 16 more"):
        nn.load(folder)


def test_wrong_shapes_are_named(folder: Path) -> None:
    change_tensors(folder, lambda t: t.update({"transformer.wpe.weight": torch.zeros(7, 20)}))
    with pytest.raises(FileError, match=r"embedding.position.weight is \(7, 20\), not \(23, 20\)"):
        nn.load(folder)


def test_a_truncated_file(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match=r"model.safetensors is damaged"):
        nn.load(folder)


def test_a_pickle_is_refused_unopened(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch owned'\ntR.")
    with pytest.raises(FileError, match="pickled weights only, which can run code"):
        nn.load(folder)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"model_type": "mamba"},
            f"model_type='mamba' is not one of {', '.join(FAMILIES)}, glyptic",
        ),
        ({"n_head": 3}, "config.json: n_head=3 does not divide n_embd=20."),
        ({"n_embd": ...}, "config.json: n_embd is missing, which gpt2 needs"),
        ({"activation_function": "mish"}, "activation_function is 'mish', and must be one of relu, gelu, "),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True is not supported"),
    ],
)
def test_configs_that_we_would_compute_wrongly(folder: Path, fields: dict[str, Any], message: str) -> None:
    change_config(folder, **fields)
    with pytest.raises((FileError, ModelError), match=message):
        nn.load(folder)


def test_a_marian_model_with_two_embeddings_is_refused(tmp_path: Path) -> None:
    model = oracles.scramble(oracles.marian(tie_word_embeddings=False))
    torch.nn.init.normal_(model.model.encoder.embed_tokens.weight)
    model.save_pretrained(tmp_path)
    with pytest.raises(FileError, match=r"model.encoder.embed_tokens.weight, .* differ; only equal ones"):
        nn.load(tmp_path)


def test_angles_that_change_with_the_length_are_refused(tmp_path: Path) -> None:
    oracles.llama(rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}).save_pretrained(tmp_path)
    with pytest.raises(FileError, match="rope_type='dynamic' is not supported"):
        nn.load(tmp_path)


def test_no_folder_no_json(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"has no config.json; give a local folder"):
        nn.load("gpt2")  # a name is a folder here, never an address
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(FileError, match="is not JSON"):
        nn.load(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(FileError, match=r"has no model.safetensors\."):
        nn.load(tmp_path)


def test_an_index_cannot_point_outside_its_folder(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder.parent / "other.safetensors")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../other.safetensors"}}')
    with pytest.raises(FileError, match="outside its folder"):
        nn.load(folder)


def test_old_names_that_hold_nothing_learned_are_passed_over(folder: Path) -> None:
    before = nn.load(folder)

    def change(tensors: dict[str, torch.Tensor]) -> None:
        tensors["transformer.h.0.attn.bias"] = torch.ones(1, 1, 23, 23)
        tensors["transformer.h.0.attn.masked_bias"] = torch.tensor(-1e4)
        tensors["lm_head.weight"] = tensors["transformer.wte.weight"].clone()

    change_tensors(folder, change)
    assert all(map(torch.equal, before.state_dict().values(), nn.load(folder).state_dict().values()))


def test_bert_files_of_its_first_years(tmp_path: Path) -> None:
    oracles.scramble(oracles.bert()).save_pretrained(tmp_path)
    before = nn.load(tmp_path)

    def change(tensors: dict[str, torch.Tensor]) -> None:
        for name in [name for name in tensors if "LayerNorm" in name]:
            old = name.replace(".weight", ".gamma").replace(".bias", ".beta")
            tensors[old] = tensors.pop(name)
        tensors["bert.embeddings.position_ids"] = torch.arange(19)[None]

    change_tensors(tmp_path, change)
    assert all(map(torch.equal, before.state_dict().values(), nn.load(tmp_path).state_dict().values()))


def test_rotary_settings_of_older_configs(tmp_path: Path) -> None:
    oracles.llama(rope_parameters={"rope_type": "linear", "rope_theta": 500.0, "factor": 3.0}).save_pretrained(tmp_path)
    today = nn.load(tmp_path).config
    assert (today.rotary_base, today.rotary_scaling) == (500.0, nn.RotaryScaling("linear", 3.0))
    change_config(tmp_path, rope_parameters=..., rope_theta=500.0, rope_scaling={"type": "linear", "factor": 3.0})
    assert nn.load(tmp_path).config == today
    oracles.gpt_neox().save_pretrained(tmp_path / "neox")
    today = nn.load(tmp_path / "neox").config
    change_config(tmp_path / "neox", rope_parameters=..., rotary_pct=0.25, rotary_emb_base=10000)
    assert nn.load(tmp_path / "neox").config == today


def test_t5_with_an_output_matrix_of_its_own(tmp_path: Path) -> None:
    sizes = {"layers": 1, "width": 12, "heads": 2, "head_width": 5, "vocabulary": 9, "feed_forward_width": 7}
    config = nn.preset("t5", **sizes, tied=False, output_scale=1.0, feed_forward="geglu")
    model = small.scramble(nn.build(config)).eval()
    nn.save(model, tmp_path, family="t5")
    again = nn.load(tmp_path)
    assert not again.config.tied
    assert all(map(torch.equal, model.state_dict().values(), again.state_dict().values()))


@pytest.mark.parametrize("positions", ["shaw", "alibi", "transformer_xl", "t5", "rotary", "sinusoidal"])
def test_our_layout_holds_what_no_family_can_say(positions: str, tmp_path: Path) -> None:
    model = small.model(positions=positions, norm="group", sliding_window=4)
    with pytest.raises(ModelError, match="cannot be said in a gpt2 checkpoint"):
        nn.save(model, tmp_path / "gpt2", family="gpt2")
    assert not (tmp_path / "gpt2").exists()
    nn.save(model, tmp_path / "ours")
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == ["config.json", "model.safetensors"]
    again = nn.load(tmp_path / "ours")
    assert again.config == model.config
    tokens = small.tokens(2, 9)
    assert torch.equal(again(tokens), model(tokens))
    with pytest.raises(ModelError, match="family='mamba'"):
        nn.save(model, tmp_path, family="mamba")


def test_a_loaded_model_can_be_trained_and_its_config_changed(folder: Path) -> None:
    model = nn.load(folder, backend="blocked", dtype=torch.bfloat16).train()
    assert model.config.backend == "blocked"
    model(torch.randint(0, 30, (2, 9))).float().square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


def test_a_public_model_is_overwritten_only_if_one_says_so(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{}")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for family in (None, "gpt2"):
        with pytest.raises(FileError, match="is not ours to replace; name a new folder, or say --overwrite"):
            nn.save(nn.load(folder), folder, family=family)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    nn.save(small.model(), folder, overwrite=True)
    assert nn.load(folder).config == small.model().config and (folder / "tokenizer.json").read_text() == "{}"


def test_a_model_in_our_own_layout_is_written_anew(tmp_path: Path) -> None:
    for _ in range(2):
        nn.save(small.model(), tmp_path / "model")
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["config.json", "model.safetensors"]
