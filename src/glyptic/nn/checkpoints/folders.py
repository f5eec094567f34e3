"""Models in local folders: `config.json` and `model.safetensors`, in the layout of the public hub.

`load` reads folders of GPT-2, OPT, LLaMA, Mistral, Qwen2, Qwen3, Gemma, Phi-3, GPT-NeoX, BERT, RoBERTa, DistilBERT, T5,
Marian, ViT and DeiT, and our own. `save` writes ours, or a family's with `family=`. Nothing is ever fetched and nothing is
ever unpickled. What does not fit is listed by name.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Unpack, overload

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from glyptic.arguments import refused, shown
from glyptic.errors import FileError, InputError, ModelError
from glyptic.files import Content, quoted_path, read_json, recover, says, write_folder
from glyptic.nn.checkpoints import stored
from glyptic.nn.checkpoints.families import FAMILIES, NOT_HERE, Family
from glyptic.nn.checkpoints.families.fields import DERIVED
from glyptic.nn.config import Changes, Kind, ModelConfig, known
from glyptic.nn.models import MODELS, AnyModel, Decoder, Encoder, EncoderDecoder, Model, ViT, check_kind

AnyPath = str | os.PathLike[str]
Dtype = torch.dtype | None
NATIVE = "glyptic"
FLOATING = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
# not a matter of the checkpoint: how it is computed, and what training alone knows
FREE = ("backend", "dropout", "attention_dropout", "position_precision", "output_bias_frozen")


@overload
def load(folder: AnyPath, *, kind: Literal["decoder"], dtype: Dtype = None, **changes: Unpack[Changes]) -> Decoder: ...
@overload
def load(folder: AnyPath, *, kind: Literal["encoder"], dtype: Dtype = None, **changes: Unpack[Changes]) -> Encoder: ...
@overload
def load(
    folder: AnyPath, *, kind: Literal["encoder_decoder"], dtype: Dtype = None, **changes: Unpack[Changes]
) -> EncoderDecoder: ...
@overload
def load(folder: AnyPath, *, kind: Literal["vit"], dtype: Dtype = None, **changes: Unpack[Changes]) -> ViT: ...
@overload
def load(folder: AnyPath, *, kind: None = None, dtype: Dtype = None, **changes: Unpack[Changes]) -> AnyModel: ...
def load(folder: AnyPath, *, kind: Kind | None = None, dtype: Dtype = None, **changes: Unpack[Changes]) -> AnyModel:
    """The model of a folder, in inference mode. `changes` go to its config (`backend=`).

    `kind` says to a type checker which of the four it is; a folder that holds another is refused. `dtype` None: as stored;
    where a file holds several kinds of numbers (T5 in float16 keeps its `wo` in float32), all become the one that holds them
    all, so that nothing is rounded and nothing overflows.
    """
    known(changes, "load")
    if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype in FLOATING):
        raise refused("dtype", dtype, f"one of {', '.join(map(str, FLOATING))}, or None")
    path = _folder(folder)
    files, config, model, family = _described(path, changes, kind)
    weights = _one_kind(_our_weights(path, family, config, stored.read_numbers(list(files))), dtype)
    learned = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    model.load_state_dict(weights, assign=True)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name in learned)
    return model.eval()


def read_config(folder: AnyPath) -> ModelConfig:
    """The config of a folder's model. Names and shapes of its weights are checked; their numbers are not read."""
    return _described(_folder(folder), {})[2].config


def _described(
    folder: Path, changes: Changes, kind: Kind | None = None
) -> tuple[Any, ModelConfig, AnyModel, Family | None]:
    """Files, config as stored, model without numbers, and family, after everything but the numbers has been checked."""
    recover(folder)
    fields = _read_config(folder)
    model_type = fields.pop("model_type", None)
    if not isinstance(model_type, str) or model_type not in (*FAMILIES, NATIVE):
        known = ", ".join([*FAMILIES, NATIVE])
        if isinstance(model_type, str) and model_type in NOT_HERE:
            raise FileError(f"{_json(folder)}: model_type={model_type!r} {NOT_HERE[model_type]}: only {known} are read.")
        raise FileError(f"{_json(folder)}: model_type={shown(model_type)} is not one of {known}.")
    family = FAMILIES.get(model_type)
    files = stored.shards(folder)
    headers = stored.read_headers(files)
    try:
        config = ModelConfig.from_dict(fields) if family is None else family.read_config(fields, set(headers))
        _check_extent(config, headers, family)
    except (FileError, InputError, ModelError) as error:
        raise FileError(f"{_json(folder)}: {error}") from None
    check_kind(config, kind, quoted_path(folder))
    with torch.device("meta"):
        model = MODELS[config.kind](config.replace(**changes))
    try:
        _check_names(folder, model, _our_weights(folder, family, config, headers), family, config)
    except FileError as error:
        if not changes:
            raise
        given = ", ".join(f"{name}={shown(value)}" for name, value in changes.items())
        raise FileError(f"{str(error).rstrip('.')}; it was asked for with {given}.") from None
    return files, config, model, family


def _check_extent(config: ModelConfig, tensors: Mapping[str, Tensor], family: Family | None) -> None:
    """Sizes beyond anything in the file are refused before anything is made of them."""
    largest = max((tensor.numel() for tensor in tensors.values()), default=0)
    sizes = {name: getattr(config, name) for name in ("width", "heads", "vocabulary", "classes", "token_types", "patch_size")}
    sizes |= {"head_width": config.heads * config.head_size, "feed_forward_width": config.hidden_size}
    sizes |= {"context": config.context if config.positions == "learned" else 0, "position_offset": config.position_offset}
    sizes |= {"embedding_width": config.embedding_width}
    sizes |= {"relative_buckets": config.relative_buckets if config.positions == "t5" else 0}
    sizes |= {"relative_distance": config.relative_distance if config.positions == "shaw" else 0}
    for name, size in sizes.items():
        if size is not None and size > largest:
            theirs = name if family is None else family.name_of(name)
            raise FileError(f"{theirs} needs a tensor of at least {size} numbers, and the largest in the file has {largest}.")
    for name, layers in (("layers", config.layers), ("encoder_layers", config.depth_of_encoder)):
        if layers > len(tensors):
            theirs = name if family is None else family.name_of(name)
            raise FileError(f"{theirs}={layers} needs as many tensors at least, and there are {len(tensors)}.")


def _our_weights(folder: Path, family: Family | None, config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return tensors if family is None else _translate(folder, family, config, tensors)


def _one_kind(weights: dict[str, Tensor], dtype: torch.dtype | None) -> dict[str, Tensor]:
    """All floating-point numbers in the kind that is asked for, or in the narrowest that holds all of them."""
    kinds = {tensor.dtype for tensor in weights.values() if tensor.is_floating_point()}
    if dtype is None:
        dtype = torch.float64 if torch.float64 in kinds else kinds.pop() if len(kinds) == 1 else torch.float32
    return {name: tensor.to(dtype) if tensor.is_floating_point() else tensor for name, tensor in weights.items()}


def save(model: Model, folder: AnyPath, *, family: str | None = None, overwrite: bool = False) -> None:
    """Write the model: our own layout, or that of a public family if its config can be said there.

    The folder must be new or empty, or hold a model in our own layout and nothing else: who wrote a public one cannot be seen.
    `overwrite` replaces the config.json and model.safetensors of anyone, and keeps other files.
    """
    if not isinstance(model, Model):
        raise refused("model", model, "a model of glyptic.nn")
    if not isinstance(overwrite, bool):
        raise refused("overwrite", overwrite, "True or False")
    path = _folder(folder)
    state = {name: tensor.detach().contiguous() for name, tensor in model.state_dict().items()}
    fields: dict[str, Any] | None = None
    if family is not None:
        if not isinstance(family, str) or family not in FAMILIES:
            raise ModelError(f"family={shown(family)} is not one of {', '.join(FAMILIES)}.")
        fields, state = _to_family(model, FAMILIES[family], state)
    write_folder(path, files_of(model.config, state, fields), OURS, overwrite=overwrite)


OURS = says("config.json", "model_type", NATIVE)


def files_of(config: ModelConfig, state: dict[str, Tensor], fields: dict[str, Any] | None = None) -> dict[str, Content]:
    """The two files of a model, for `write_folder`, which may have others to write with them; `fields`: as a family says them."""
    text = json.dumps({"model_type": NATIVE, **config.to_dict()} if fields is None else fields, indent=2) + "\n"
    return {"model.safetensors": lambda path: _write_tensors(state, path), "config.json": text.encode()}


def _write_tensors(state: dict[str, Tensor], path: Path) -> None:
    try:
        save_file(state, path, metadata={"format": "pt"})  # straight from the tensors' memory
    except SafetensorError as error:  # `write_folder` says of which folder
        code = re.search(r"os error (\d+)", str(error))
        raise (OSError(int(code[1]), os.strerror(int(code[1]))) if code else OSError(f"{path.name}: {error}")) from None


def _to_family(model: Model, family: Family, state: dict[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Config and tensors in the family's words; refused if reading them back would give another model."""
    for field, choices in family.choices.items():
        if getattr(model.config, field) not in choices:
            raise _cannot_say(field, getattr(model.config, field), family)
    fields = family.write_config(model.config)
    names = {name for entry in family.entries(model.config) for name in entry.theirs}
    back = family.read_config(fields, names)
    for field, value in model.config.to_dict().items():
        if field not in FREE and not _same_field(field, value, back, model.config):
            raise _cannot_say(field, value, family)
    theirs: dict[str, Tensor] = {}
    for entry in family.entries(model.config):
        parts = entry.to_theirs(state[entry.ours])
        theirs |= {name: part.contiguous() for name, part in zip(entry.theirs, parts, strict=True)}
    return fields, theirs


def _cannot_say(field: str, value: Any, family: Family) -> ModelError:
    article = "an" if family.model_type.startswith("o") else "a"
    return ModelError(f"{field}={value!r} cannot be said in {article} {family.model_type} checkpoint; save without family=.")


def _same_field(field: str, value: Any, back: ModelConfig, config: ModelConfig) -> bool:
    """Equal as written, or after defaults are filled in."""
    if field in DERIVED:
        return getattr(back, DERIVED[field]) == getattr(config, DERIVED[field])
    return back.to_dict()[field] == value


def _folder(folder: Any) -> Path:
    if not isinstance(folder, str | os.PathLike) or not str(folder) or "\0" in str(folder):
        raise refused("folder", folder, "a path")
    return Path(folder)


def _json(folder: Path) -> str:
    return quoted_path(folder / "config.json")


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not os.path.lexists(path):
        raise FileError(
            f"{quoted_path(folder)} has no config.json; give a local folder with config.json and model.safetensors."
        )
    fields = read_json(path)
    if not isinstance(fields, dict):
        raise FileError(f"{_json(folder)} must hold an object, not a {type(fields).__name__}.")
    return fields


def _translate(folder: Path, family: Family, config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their tensors → ours; missing and unexpected names are listed in their words."""
    tensors = _with_modern_names(folder, family, tensors)
    entries = family.entries(config)
    wanted = {name for entry in entries for name in entry.theirs}
    beside = tensors.keys() - wanted
    ignored = {name for name in beside if any(fnmatch.fnmatchcase(name, pattern) for pattern in family.ignored)}
    copies = {name: family.copies[name] for name in beside & family.copies.keys() if family.copies[name] in tensors}
    _report(folder, wanted - tensors.keys(), beside - ignored - copies.keys(), _not_floating(tensors, wanted))
    for name, original in copies.items():
        if not tensors[name].is_meta and not tensors[name].equal(tensors[original]):
            raise FileError(f"{quoted_path(folder)}: {name} and {original} differ, and config.json says that they are one.")
    try:
        if family.check is not None:
            family.check(config, tensors)
        return {entry.ours: _translated(entry, tensors) for entry in entries}
    except FileError as error:
        raise FileError(f"{quoted_path(folder)}: {error}") from None


def _with_modern_names(folder: Path, family: Family, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Under today's names, with the prefix that files of the base model alone leave out."""
    modern = [family.modern(name) for name in tensors]
    if family.prefix and not any(name.startswith(family.prefix) for name in modern):
        outside = ("lm_head.", "cls.", "classifier.", "cls_classifier.", "distillation_classifier.", "vocab_")
        modern = [name if name.startswith(outside) else family.prefix + name for name in modern]
    found = dict(zip(modern, tensors.values(), strict=True))
    if len(found) < len(tensors):
        twice = {name for name in modern if modern.count(name) > 1}
        raise FileError(f"{quoted_path(folder)} holds a tensor under its old and its new name: {stored.listed(twice)}.")
    return found


def _translated(entry: Any, tensors: Mapping[str, Tensor]) -> Tensor:
    try:
        return entry.to_ours([tensors[name] for name in entry.theirs])
    except (RuntimeError, IndexError):
        shapes = ", ".join(f"{name} {tuple(tensors[name].shape)}" for name in entry.theirs)
        raise FileError(f"tensors do not have the shapes that config.json says: {shapes}.") from None


def _check_names(
    folder: Path, model: Model, weights: dict[str, Tensor], family: Family | None, config: ModelConfig
) -> None:
    wanted = model.state_dict()
    theirs = {} if family is None else {entry.ours: ", ".join(entry.theirs) + " as " for entry in family.entries(config)}
    both = wanted.keys() & weights.keys()
    wrong = [
        f"{theirs.get(name, '')}{name} is {tuple(weights[name].shape)}, not {tuple(wanted[name].shape)}"
        for name in both
        if wanted[name].shape != weights[name].shape
    ]
    wrong += _not_floating(weights, {name for name in both if wanted[name].is_floating_point()})
    _report(folder, wanted.keys() - weights.keys(), weights.keys() - wanted.keys(), wrong)


def _not_floating(tensors: Mapping[str, Tensor], names: set[str]) -> list[str]:
    """Which of these hold anything but floating-point numbers: stacked with others they would be taken for such."""
    kinds = {name: tensors[name].dtype for name in names & tensors.keys() if tensors[name].dtype not in FLOATING}
    return [f"{name} holds {str(kind).removeprefix('torch.')}, not floating-point numbers" for name, kind in kinds.items()]


def _report(folder: Path, missing: set[str], unexpected: set[str], wrong: list[str]) -> None:
    titles = {"missing": missing, "unexpected": unexpected, "of wrong shape or kind": wrong}
    parts = [f"{title}: {stored.listed(names)}" for title, names in titles.items() if names]
    if parts:
        raise FileError(f"{quoted_path(folder)} does not hold the model of its config.json; {'; '.join(parts)}.")
