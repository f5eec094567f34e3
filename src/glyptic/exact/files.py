"""Files: a folder with config.json and model.safetensors, weights as integer codes, everything checked on load.

The config holds format, names, options and the digest of the weights' file, so that a pair that does not belong together, a cut
file, or a hand-edited weight is noticed. The folder is exchanged as a whole (`glyptic.files`): no half-written model.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_tensors
from safetensors.numpy import save as format_tensors

from glyptic.arguments import checked, refused
from glyptic.arguments import shown as brief
from glyptic.errors import FileError, FormatError, GlypticError
from glyptic.exact.history import frames_as_json, frames_from_json
from glyptic.exact.options import Options
from glyptic.exact.parts import choices, newer_parts, parts
from glyptic.exact.transformer import Transformer
from glyptic.exact.weights import FeedForward, Head, Layer, Norm, Weights
from glyptic.files import check_folder, quoted_path, read_bytes, read_json, recover, says, write_folder
from glyptic.numbers import AnyFormat, parse_format
from glyptic.text import printable

KIND = "glyptic.exact"
VERSION = 2  # of what has parts that version 1 does not know; what has none is still written as 1, byte for byte
CONFIG, WEIGHTS = "config.json", "model.safetensors"
_SAID = 700  # characters of a sentence that repeats what a file says
_ours = says(CONFIG, "kind", KIND)


@checked
def save(transformer: Transformer, folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a transformer to a folder, which is made if needed; what it holds must be an exact transformer, or nothing.

    `overwrite` replaces the config.json and model.safetensors of anyone, and keeps other files.
    """
    dtype = _narrowest(transformer.format)
    tensors = {name: np.array(array, dtype, order="C") for name, array, _ in parts(transformer)}
    data = format_tensors(tensors)
    config = {
        "kind": KIND,
        "version": VERSION if newer_parts(transformer) else 1,
        **names_as_json(transformer),
        "layers": [{"heads": len(layer.heads)} for layer in transformer.layers],
        "history": frames_as_json(transformer.history),
        "weights_sha256": hashlib.sha256(data).hexdigest(),
    }
    written = (json.dumps(config, indent=1, ensure_ascii=False) + "\n").encode()
    write_folder(folder, {WEIGHTS: data, CONFIG: written}, _ours, overwrite=overwrite)


def is_exact(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder is one of ours, by what its config.json says."""
    return _ours(Path(folder))


def names_as_json(transformer: Transformer) -> dict[str, Any]:
    """What a transformer is besides its weights, as plain JSON values; choices are there if one is not the default."""
    chosen = choices(transformer)
    return {
        "name": transformer.name,
        "format": str(transformer.format),
        "vocabulary": list(transformer.vocabulary),
        "coordinates": list(transformer.coordinates),
        "answers": list(transformer.answers),
        "options": asdict(transformer.options),
        **({"choices": chosen} if chosen else {}),
        **({} if transformer.period is None else {"period": transformer.period}),
    }


def check_place(folder: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse what `save` would refuse, before there is anything to save."""
    check_folder(folder, (CONFIG, WEIGHTS), _ours, overwrite=overwrite)


def load(folder: str | os.PathLike[str], *, within: str | os.PathLike[str] | None = None) -> Transformer:
    """Read a transformer; anything missing, damaged or out of place is a FileError that names it.

    With `within`, no file outside of that folder is read, wherever links lead.
    """
    if not isinstance(folder, str | os.PathLike):
        raise refused("folder", folder, "a path")
    source = Path(folder)
    weights = quoted_path(source / WEIGHTS)
    recover(source)
    config = _read_config(source / CONFIG, within)
    data = read_bytes(source / WEIGHTS, within=within)
    if hashlib.sha256(data).hexdigest() != config["weights_sha256"]:
        raise FileError(
            f"{weights} is not the file that {CONFIG} was written with (its digest differs): it is damaged, cut short, "
            "edited, or of another model; restore the pair."
        )
    codes = _codes(data, weights)
    try:
        return _assemble(config, codes)
    except GlypticError as error:
        said = printable(str(error))
        raise FileError(f"{quoted_path(source)}: {said if len(said) <= _SAID else said[:_SAID] + '….'}") from None


def _codes(data: bytes, place: str) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file, which hold integers."""
    try:
        tensors = parse_tensors(data)
        wrong = [name for name, array in tensors.items() if array.dtype.kind != "i"]
        codes = {} if wrong else {name: array.astype(np.int64) for name, array in tensors.items()}
    except (SafetensorError, ValueError, KeyError, TypeError) as error:  # types and shapes that numpy does not have
        raise FileError(f"{place} is not a whole safetensors file ({brief(str(error))}); restore it.") from None
    if wrong:
        raise FileError(f"{place}: {printable(wrong[0])} holds {tensors[wrong[0]].dtype}; weights are integer codes.")
    return codes


@dataclass
class StoredArrays:
    """The arrays of a transformer in a file, each to be taken once."""

    place: str
    left: dict[str, Any]
    chosen: dict[str, Any] = field(default_factory=dict)  # of the choices beside them, by name; each to be taken once

    def take(self, name: str) -> np.ndarray:
        if name not in self.left:
            raise FileError(f"{self.place} has no {name}.")
        return self.read(self.left.pop(name))

    def read(self, stored: Any) -> np.ndarray:
        """The codes of an array as the file has it."""
        return stored

    def gathered(self, kind: type[Weights], prefix: str) -> Any:
        """A part: all its arrays, the optional ones as far as they are there, and what is chosen of it."""
        needed = [each.name for each in fields(kind) if each.default is MISSING]  # type: ignore[arg-type]
        arrays = {name: self.take(f"{prefix}.{name}") for name in needed}
        others = [each.name for each in fields(kind) if each.default is None]  # type: ignore[arg-type]
        arrays |= {name: self.take(f"{prefix}.{name}") for name in others if f"{prefix}.{name}" in self.left}
        words = {name: self.chosen.pop(f"{prefix}.{name}") for name in kind.words if f"{prefix}.{name}" in self.chosen}
        return kind(**arrays, **words)

    def optional(self, kind: type[Weights], prefix: str) -> Any:
        return self.gathered(kind, prefix) if any(name.startswith(prefix + ".") for name in self.left) else None

    def layers(self, heads: Iterable[int]) -> tuple[Layer, ...]:
        """The layers, by the numbers of their heads."""
        return tuple(
            Layer(
                tuple(self.gathered(Head, f"layers.{l}.heads.{h}") for h in range(count)),
                self.optional(FeedForward, f"layers.{l}.feed_forward"),
                self.optional(Norm, f"layers.{l}.attention_norm"),
                self.optional(Norm, f"layers.{l}.feed_forward_norm"),
                self.chosen.pop(f"layers.{l}.parallel", False),
            )
            for l, count in enumerate(heads)
        )


def _assemble(config: dict[str, Any], tensors: dict[str, np.ndarray]) -> Transformer:
    arrays = StoredArrays(WEIGHTS, tensors, dict(config.get("choices", {})))
    layers = arrays.layers(layer["heads"] for layer in config["layers"])
    transformer = Transformer(
        parse_format(config["format"]),
        tuple(config["vocabulary"]),
        tuple(config["coordinates"]),
        arrays.take("token_embedding"),
        arrays.take("position_embedding"),
        layers,
        arrays.take("output"),
        tuple(config["answers"]),
        _options(config["options"]),
        arrays.optional(Norm, "final_norm"),
        config["name"],
        frames_from_json(config.get("history", [])),
        arrays.optional(Norm, "embedding_norm"),
        arrays.take("output_bias") if "output_bias" in arrays.left else None,
        config.get("period"),
    )
    if arrays.chosen:
        raise FileError(f"{CONFIG}: choices.{printable(next(iter(arrays.chosen)))} is a choice that no part of it has.")
    if arrays.left:
        raise FileError(f"{WEIGHTS} has {printable(next(iter(arrays.left)))}, which {CONFIG} does not know of.")
    return transformer


def _options(given: dict[str, Any]) -> Options:
    known = {each.name for each in fields(Options)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise FileError(f"{CONFIG}: options.{printable(unknown[0])} is not an option; there are {', '.join(sorted(known))}.")
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


def _read_config(path: Path, within: str | os.PathLike[str] | None) -> dict[str, Any]:
    shown, config = quoted_path(path), read_json(path, within=within)
    if not isinstance(config, dict) or config.get("kind") != KIND:
        raise FileError(f"{shown} does not describe an exact transformer (its kind is not {KIND!r}).")
    if type(config.get("version")) is not int or not 1 <= config["version"] <= VERSION:
        raise FileError(f"{shown} has version {brief(config.get('version'))}; this Glyptic reads versions 1 to {VERSION}.")
    if not isinstance(config.get("choices", {}), dict):
        raise FileError(f"{shown}: choices must be an object of names and words, and it is {brief(config['choices'])}.")
    for name, kind in _FIELDS.items():
        if not isinstance(config.get(name), kind):
            raise FileError(f"{shown}: {name} must be a {kind.__name__}, and it is {brief(config.get(name))}.")
    for l, layer in enumerate(config["layers"]):
        heads = layer.get("heads") if isinstance(layer, dict) else None
        if not isinstance(heads, int) or isinstance(heads, bool) or heads < 0:
            raise FileError(f"{shown}: layers.{l}.heads must be a count, and it is {brief(heads)}.")
    period = config.get("period")
    if period is not None and (type(period) is not int or period < 1):
        raise FileError(f"{shown}: period must be a count, and it is {brief(period)}.")
    if not re.fullmatch(r"[0-9a-f]{64}", config["weights_sha256"]):
        raise FileError(f"{shown}: weights_sha256 must be 64 hexadecimal digits.")
    return config


def _narrowest(format: AnyFormat) -> type[np.signedinteger]:
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        info = np.iinfo(dtype)
        if info.min <= format.min_code and format.max_code <= info.max:
            return dtype
    raise FormatError(f"{format} has codes wider than 64 bits, which files do not hold.")
