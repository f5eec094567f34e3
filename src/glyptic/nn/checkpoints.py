"""Models in local folders: `config.json` and `model.safetensors`, in the layout of the public hub.

`load` reads GPT-2, BERT, T5, LLaMA, GPT-NeoX, ViT and Marian folders, and our own. `save` writes ours, or a family's
with `family=`. Nothing is ever fetched and nothing is ever unpickled. What does not fit is listed by name.
"""

from __future__ import annotations

import fnmatch
import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from glyptic.errors import FileError, ModelError
from glyptic.nn.config import ModelConfig
from glyptic.nn.families import FAMILIES, Family
from glyptic.nn.models import MODELS, Model

NATIVE = "glyptic"
SHOWN = 8  # names in an error before "and 12 more"
KINDS = {"F64": torch.float64, "F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16, "I64": torch.int64}
FLOATING = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
FREE = ("backend", "dropout", "attention_dropout", "position_precision")  # not a matter of the checkpoint


def load(folder: str | os.PathLike[str], *, dtype: torch.dtype | None = None, **changes: Any) -> Any:
    """The model of a folder, in inference mode; `dtype` None: as stored. `changes` go to its config (`backend=`)."""
    model = _load(Path(folder), changes, headers=False)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    return (model if dtype is None else model.to(dtype)).eval()


def read_config(folder: str | os.PathLike[str]) -> ModelConfig:
    """The config of a folder's model. Names and shapes of its weights are checked; their numbers are not read."""
    return _load(Path(folder), {}, headers=True).config


def _load(folder: Path, changes: dict[str, Any], *, headers: bool) -> Model:
    fields, tensors = _read_config(folder), _read_tensors(folder, headers)
    model_type = fields.pop("model_type", None)
    if model_type == NATIVE:
        config, weights = _native_config(folder, fields), tensors
    elif model_type in FAMILIES:
        family = FAMILIES[model_type]
        config = _config(folder, family, fields, set(tensors))
        weights = _translate(folder, family, config, tensors)
    else:
        known = ", ".join([*FAMILIES, NATIVE])
        raise FileError(f"{folder}/config.json: model_type={model_type!r} is not one of {known}.")
    with torch.device("meta"):
        model = MODELS[config.kind](config.replace(**changes))
    _check_names(folder, model, weights)
    model.load_state_dict(weights, assign=True)
    return model


def save(model: Model, folder: str | os.PathLike[str], *, family: str | None = None) -> None:
    """Write the model: our own layout, or that of a public family if its config can be said there."""
    folder = Path(folder)
    state = {name: tensor.detach().contiguous() for name, tensor in model.state_dict().items()}
    if family is None:
        fields: dict[str, Any] = {"model_type": NATIVE, **model.config.to_dict()}
    else:
        if family not in FAMILIES:
            raise ModelError(f"family={family!r} is not one of {', '.join(FAMILIES)}.")
        fields, state = _to_family(model, FAMILIES[family], state)
    folder.mkdir(parents=True, exist_ok=True)
    _replace(folder / "model.safetensors", lambda path: save_file(state, path, metadata={"format": "pt"}))
    text = json.dumps(fields, indent=2) + "\n"
    _replace(folder / "config.json", lambda path: path.write_text(text, encoding="utf-8"))


def _to_family(model: Model, family: Family, state: dict[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Config and tensors in the family's words; refused if reading them back would give another model."""
    for field, choices in family.choices.items():
        if getattr(model.config, field) not in choices:
            raise _cannot_say(field, getattr(model.config, field), family)
    fields = {"model_type": family.model_type, **family.write_config(model.config)}
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
    return ModelError(f"{field}={value!r} cannot be said in a {family.model_type} checkpoint; save without family=.")


def _same_field(field: str, value: Any, back: ModelConfig, config: ModelConfig) -> bool:
    """Equal as written, or after defaults are filled in."""
    derived = {
        "head_width": "head_size",
        "key_value_heads": "groups",
        "feed_forward_width": "hidden_size",
        "final_norm": "has_final_norm",
        "encoder_layers": "depth_of_encoder",
        "attention_scale": "scale",
    }
    if field in derived:
        return getattr(back, derived[field]) == getattr(config, derived[field])
    return back.to_dict()[field] == value


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    if not path.is_file():
        raise FileError(f"{folder} has no config.json; give a local folder with config.json and model.safetensors.")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise FileError(f"{path} is not JSON: {error}.") from None
    if not isinstance(fields, dict):
        raise FileError(f"{path} must hold an object, not a {type(fields).__name__}.")
    return fields


def _read_tensors(folder: Path, headers: bool) -> dict[str, Tensor]:
    """All tensors of model.safetensors, or of the shards that its index names; `headers`: without their numbers."""
    tensors: dict[str, Tensor] = {}
    for path in _files(folder):
        try:
            with safe_open(path, framework="pt") as file:
                for name in file.keys():  # noqa: SIM118 (not a dict)
                    # a copy is aligned in memory and independent of the file, which a view into it is not
                    tensors[name] = _header(file.get_slice(name)) if headers else file.get_tensor(name).clone()
        except (SafetensorError, OSError) as error:
            raise FileError(f"{path} is damaged or not a safetensors file: {error}.") from None
    return tensors


def _header(stored: Any) -> Tensor:
    """Shape and kind of a tensor in a file."""
    return torch.empty(stored.get_shape(), dtype=KINDS.get(stored.get_dtype(), torch.int8), device="meta")


def _files(folder: Path) -> list[Path]:
    single, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if single.is_file():
        return [single]
    if index.is_file():
        try:
            shards = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, AttributeError):
            raise FileError(f"{index} has no weight_map.") from None
        if any(Path(shard).name != shard for shard in shards):
            raise FileError(f"{index} names a file outside its folder.")
        return [folder / shard for shard in shards]
    if list(folder.glob("*.bin")) or list(folder.glob("*.pt")):
        raise FileError(f"{folder} holds pickled weights only, which can run code; convert them to model.safetensors.")
    raise FileError(f"{folder} has no model.safetensors.")


def _config(folder: Path, family: Family, fields: dict[str, Any], names: set[str]) -> ModelConfig:
    try:
        return family.read_config(fields, names)
    except KeyError as error:
        raise FileError(f"{folder}/config.json has no {error.args[0]!r}, which {family.model_type} needs.") from None


def _native_config(folder: Path, fields: dict[str, Any]) -> ModelConfig:
    try:
        return ModelConfig.from_dict(fields)
    except ModelError as error:
        raise FileError(f"{folder}/config.json: {error}") from None


def _translate(folder: Path, family: Family, config: ModelConfig, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their tensors → ours; missing and unexpected names are listed in their words."""
    tensors = {family.modern(name): tensor for name, tensor in tensors.items()}
    strip = bool(family.prefix) and not any(name.startswith(family.prefix) for name in tensors)
    if strip:
        tensors = {_with_prefix(name, family): tensor for name, tensor in tensors.items()}
    entries = family.entries(config)
    wanted = {name for entry in entries for name in entry.theirs}
    ignored = {n for n in tensors.keys() - wanted if any(fnmatch.fnmatchcase(n, p) for p in family.ignored)}
    tied = {"lm_head.weight", "embed_out.weight", "cls.predictions.decoder.weight"} if config.tied else set()
    _report(folder, wanted - tensors.keys(), tensors.keys() - wanted - ignored - tied, [])
    weights: dict[str, Tensor] = {}
    for entry in entries:
        try:
            weights[entry.ours] = entry.to_ours([tensors[name] for name in entry.theirs])
        except (RuntimeError, IndexError):
            shapes = ", ".join(f"{name} {tuple(tensors[name].shape)}" for name in entry.theirs)
            raise FileError(f"{folder}: tensors do not have the shapes that config.json says: {shapes}.") from None
    return weights


def _with_prefix(name: str, family: Family) -> str:
    outside = ("lm_head.", "cls.", "classifier.")
    return name if name.startswith(outside) else family.prefix + name


def _check_names(folder: Path, model: Model, weights: dict[str, Tensor]) -> None:
    wanted = model.state_dict()
    wrong = [
        f"{name} is {tuple(weights[name].shape)}, not {tuple(wanted[name].shape)}"
        for name in wanted.keys() & weights.keys()
        if wanted[name].shape != weights[name].shape
    ]
    wrong += [
        f"{name} holds {str(weights[name].dtype).removeprefix('torch.')}, not floating-point numbers"
        for name in wanted.keys() & weights.keys()
        if wanted[name].is_floating_point() and weights[name].dtype not in FLOATING
    ]
    _report(folder, wanted.keys() - weights.keys(), weights.keys() - wanted.keys(), sorted(wrong))


def _report(folder: Path, missing: set[str], unexpected: set[str], wrong: list[str]) -> None:
    parts = []
    for title, names in (("missing", sorted(missing)), ("unexpected", sorted(unexpected)), ("of wrong shape or kind", wrong)):
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            parts.append(f"{title}: {', '.join(names[:SHOWN])}{more}")
    if parts:
        raise FileError(f"{folder} does not hold the model of its config.json; {'; '.join(parts)}.")


def _replace(path: Path, write: Any) -> None:
    """Write under another name, then rename: a reader never sees half a file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
