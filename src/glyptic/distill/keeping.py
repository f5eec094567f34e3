"""Where a distillation stands, in one file: weights, rounds, formats. The same question again goes on from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from glyptic.distill.straight import Latents
from glyptic.errors import FileError
from glyptic.files import parse_json, quoted_path, read_bytes, write_whole

STATE = "state.safetensors"


@dataclass(frozen=True)
class TuningRound:
    """A round of train, prove, add: how many words were added, on how many it was wrong after it, the smallest of these."""

    number: int  # 0: as it was rounded
    steps: int
    wrong: int
    counterexample: str | None
    added: int = 0
    seconds: float = 0.0
    proved: bool = True  # if nothing is wrong: of all words, or of those that were looked at

    def __str__(self) -> str:
        how = f"round {self.number}: {self.steps} steps" if self.steps else "as it was rounded"
        if self.counterexample is None:
            return f"{how}: right on all words" + ("" if self.proved else " that were looked at; the proof found no end")
        return f"{how}: wrong on {self.wrong:,} words, the smallest is {self.counterexample!r}"


@dataclass(frozen=True)
class Standing:
    """What has been found so far: the last weights, the best ones, words that were added, rounds, rows of formats."""

    last: Latents
    best: Latents
    words: tuple[str, ...] = ()
    rounds: tuple[TuningRound, ...] = ()
    formats: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)

    def with_round(self, one: TuningRound, **changes: Any) -> Standing:
        return replace(self, rounds=(*self.rounds, one), **changes)


def identity_of(latents: Mapping[str, Tensor], **question: Any) -> str:
    """A digest of the weights that it begins with, and of everything that decides what comes of them."""
    digest = hashlib.sha256(json.dumps(question, sort_keys=True, default=str).encode())
    for name in sorted(latents):
        digest.update(f"{name} {tuple(latents[name].shape)}".encode() + latents[name].detach().numpy().tobytes())
    return digest.hexdigest()


def keep(folder: Path, identity: str, standing: Standing) -> None:
    """Write where it stands; the file is always whole."""
    tensors = {f"{kind}.{name}": each.contiguous() for kind in ("last", "best") for name, each in getattr(standing, kind).items()}
    told = {"words": list(standing.words), "rounds": [vars(one) for one in standing.rounds], "formats": list(standing.formats)}
    data = save({name: each.detach().clone() for name, each in tensors.items()}, {"identity": identity, "told": json.dumps(told)})
    write_whole(folder / STATE, data, "where the distillation stands", parents=True)


def kept(folder: Path, identity: str) -> Standing | None:
    """What was kept for this very question; None if nothing was, or for another."""
    path = folder / STATE
    if not path.exists():
        return None
    data = read_bytes(path, what="the state of a distillation")
    try:
        tensors = load(data)
        header = parse_json(data[8 : 8 + int.from_bytes(data[:8], "little")], quoted_path(path), "the state of a distillation")
        said = header.get("__metadata__", {})
        if said.get("identity") != identity:
            return None
        told = json.loads(said["told"])
        sides: dict[str, Latents] = {"last": {}, "best": {}}
        for name, tensor in tensors.items():
            side, _, rest = name.partition(".")
            sides[side][rest] = tensor
        rounds = tuple(TuningRound(**one) for one in told["rounds"])
        return Standing(sides["last"], sides["best"], tuple(told["words"]), rounds, tuple(told["formats"]))
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{quoted_path(path)} is damaged; remove it, and the distillation begins anew.") from None
