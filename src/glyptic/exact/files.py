"""Files: a folder with config.json and model.safetensors, weights as integer codes, everything checked on load.

The config holds format, names, options and the digest of the weights' file, so that a pair that does not belong together, a cut
file, or a hand-edited weight is noticed. Files are written under a temporary name and renamed: no half-written model.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as format_tensors

from glyptic.errors import FileError, FormatError, GlypticError
from glyptic.exact.history import frames_as_json, frames_from_json
from glyptic.exact.options import Options
from glyptic.exact.transformer import FeedForward, Head, Layer, Norm, Transformer, parts
from glyptic.numbers import AnyFormat, parse_format

KIND = "glyptic.exact"
VERSION = 1
CONFIG, WEIGHTS = "config.json", "model.safetensors"


def save(transformer: Transformer, folder: str | os.PathLike[str]) -> None:
    """Write a transformer to a folder, which is made if needed."""
    target = Path(folder)
    dtype = _narrowest(transformer.format)
    tensors = {name: np.array(array, dtype, order="C") for name, array, _ in parts(transformer)}
    data = format_tensors(tensors)
    config = {
        "kind": KIND,
        "version": VERSION,
        "name": transformer.name,
        "format": str(transformer.format),
        "vocabulary": list(transformer.vocabulary),
        "coordinates": list(transformer.coordinates),
        "answers": list(transformer.answers),
        "options": asdict(transformer.options),
        "layers": [{"heads": len(layer.heads)} for layer in transformer.layers],
        "history": frames_as_json(transformer.history),
        "weights_sha256": hashlib.sha256(data).hexdigest(),
    }
    try:
        target.mkdir(parents=True, exist_ok=True)
        written = (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode()
        write_together({target / WEIGHTS: data, target / CONFIG: written})
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    write_together({path: data})


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write files of which none takes its place before all are written: a full disk leaves the old ones as they were."""
    temporary = {path: path.with_name(f".{path.name}.{os.getpid()}.tmp") for path in files}
    try:
        for path, data in files.items():
            temporary[path].write_bytes(data)
        for path in files:
            os.replace(temporary[path], path)
    finally:
        for each in temporary.values():
            each.unlink(missing_ok=True)


def load(folder: str | os.PathLike[str]) -> Transformer:
    """Read a transformer; anything missing, damaged or out of place is a FileError that names it."""
    source = Path(folder)
    config = _read_config(source / CONFIG)
    data = _read_bytes(source / WEIGHTS)
    if hashlib.sha256(data).hexdigest() != config["weights_sha256"]:
        raise FileError(
            f"{source / WEIGHTS} is not the file that {CONFIG} was written with (its digest differs): it is damaged, cut short, "
            "edited, or of another model; restore the pair."
        )
    try:
        tensors = parse_tensors(data)
    except (SafetensorError, ValueError) as error:
        raise FileError(f"{source / WEIGHTS} is not a whole safetensors file ({error}); restore it.") from None
    wrong = [name for name, array in tensors.items() if array.dtype.kind != "i"]
    if wrong:
        raise FileError(f"{source / WEIGHTS}: {wrong[0]} holds {tensors[wrong[0]].dtype}; weights are integer codes.")
    try:
        return _assemble(config, {name: array.astype(np.int64) for name, array in tensors.items()})
    except GlypticError as error:
        raise FileError(f"{source}: {error}") from None


def _assemble(config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Transformer:
    def take(name: str) -> np.ndarray:
        if name not in tensors:
            raise FileError(f"{WEIGHTS} has no {name}.")
        return tensors.pop(name)

    def take_all(kind: type, prefix: str) -> Any:
        return kind(**{field.name: take(f"{prefix}.{field.name}") for field in fields(kind)})

    def take_if_there(kind: type, prefix: str) -> Any:
        return take_all(kind, prefix) if any(name.startswith(prefix + ".") for name in tensors) else None

    layers = []
    for l, layer in enumerate(config["layers"]):
        heads = tuple(take_all(Head, f"layers.{l}.heads.{h}") for h in range(layer["heads"]))
        feed_forward = take_if_there(FeedForward, f"layers.{l}.feed_forward")
        norms = (take_if_there(Norm, f"layers.{l}.{name}") for name in ("attention_norm", "feed_forward_norm"))
        layers.append(Layer(heads, feed_forward, *norms))
    transformer = Transformer(
        parse_format(config["format"]),
        tuple(config["vocabulary"]),
        tuple(config["coordinates"]),
        take("token_embedding"),
        take("position_embedding"),
        tuple(layers),
        take("output"),
        tuple(config["answers"]),
        _options(config["options"]),
        take_if_there(Norm, "final_norm"),
        config["name"],
        frames_from_json(config.get("history", [])),
    )
    if tensors:
        raise FileError(f"{WEIGHTS} has {next(iter(tensors))}, which {CONFIG} does not know of.")
    return transformer


def _options(given: dict[str, Any]) -> Options:
    known = {field.name for field in fields(Options)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise FileError(f"{CONFIG}: options.{unknown[0]} is not an option; there are {', '.join(sorted(known))}.")
    return Options(**given)


_FIELDS: dict[str, type] = {
    "name": str,
    "format": str,
    "vocabulary": list,
    "coordinates": list,
    "answers": list,
    "options": dict,
    "layers": list,
    "weights_sha256": str,
}


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(_read_bytes(path))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{path} is not JSON ({error}); restore it.") from None
    if not isinstance(config, dict) or config.get("kind") != KIND:
        raise FileError(f"{path} does not describe an exact transformer (its kind is not {KIND!r}).")
    if config.get("version") != VERSION:
        raise FileError(f"{path} has version {config.get('version')!r}; this Glyptic reads version {VERSION}.")
    for name, kind in _FIELDS.items():
        if not isinstance(config.get(name), kind):
            raise FileError(f"{path}: {name} must be a {kind.__name__}, and it is {config.get(name)!r}.")
    for l, layer in enumerate(config["layers"]):
        heads = layer.get("heads") if isinstance(layer, dict) else None
        if not isinstance(heads, int) or isinstance(heads, bool) or heads < 0:
            raise FileError(f"{path}: layers.{l}.heads must be a count, and it is {heads!r}.")
    if not re.fullmatch(r"[0-9a-f]{64}", config["weights_sha256"]):
        raise FileError(f"{path}: weights_sha256 must be 64 hexadecimal digits.")
    return config


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from None


def _narrowest(format: AnyFormat) -> type[np.signedinteger]:
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        info = np.iinfo(dtype)
        if info.min <= format.min_code and format.max_code <= info.max:
            return dtype
    raise FormatError(f"{format} has codes wider than 64 bits, which files do not hold.")
