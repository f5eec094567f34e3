"""Where a distillation stands, in one file: weights, rounds, formats. The same question again goes on from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from glyptic.distill.formats import FormatRow
from glyptic.distill.straight import Latents
from glyptic.errors import FileError
from glyptic.files import parse_json, quoted_path, read_bytes, write_whole

STATE, REPORT = "state.safetensors", "report.json"
Row = TypeVar("Row")


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
    formats: tuple[FormatRow, ...] = ()
    taken: int = 0  # steps of a round that Ctrl-C broke off

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
    told = {
        "words": list(standing.words),
        "rounds": [asdict(one) for one in standing.rounds],
        "formats": [asdict(row) for row in standing.formats],
        "taken": standing.taken,
    }
    data = save({name: each.detach().clone() for name, each in tensors.items()}, {"identity": identity, "told": json.dumps(told)})
    write_whole(folder / STATE, data, "where the distillation stands", parents=True)


def kept(
    folder: Path, identity: str, latents: Latents, is_word: Callable[[str], bool], *, overwrite: bool = False
) -> Standing | None:
    """What was kept for this very question, which begins with these weights and asks about such words; None if nothing was.

    What was kept for another question is refused, unless it is to be overwritten.
    """
    path = folder / STATE
    if not path.exists():
        if (folder / REPORT).exists() and not overwrite:
            raise another(folder)
        return None
    data = read_bytes(path, what="the state of a distillation")
    try:
        tensors = load(data)
        header = parse_json(data[8 : 8 + int.from_bytes(data[:8], "little")], quoted_path(path), "the state of a distillation")
        said = header.get("__metadata__", {})
        if said.get("identity") != identity:
            if not overwrite:
                raise another(folder)
            return None
        told = json.loads(said["told"])
        sides = {side: _side(tensors, side, latents) for side in ("last", "best")}
        _need(len(tensors) == 2 * len(latents))
        rounds = tuple(_row(TuningRound, one) for one in told["rounds"])
        words = [_typed(word, str) for word in _typed(told["words"], list)]
        _need(all(map(is_word, [*words, *(one.counterexample for one in rounds if one.counterexample is not None)])))
        return Standing(
            **sides,
            words=tuple(words),
            rounds=rounds,
            formats=tuple(_row(FormatRow, one) for one in told["formats"]),
            taken=_typed(told["taken"], int),
        )
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{quoted_path(path)} is damaged; remove it, and the distillation begins anew.") from None


def another(folder: Path) -> FileError:
    """What is said of a folder that is not to be written."""
    said = "holds the distillation of another decider, or by another plan, and stays as it is"
    return FileError(f"{quoted_path(folder)} {said}; name a new folder, or say --overwrite.")


def _need(right: bool) -> None:
    if not right:
        raise ValueError("not what was written")


def _side(tensors: Mapping[str, Tensor], side: str, latents: Latents) -> Latents:
    """The tensors of a side, which are those of the question: as large, of the same type, and finite."""
    found = {name: tensors[f"{side}.{name}"] for name in latents}
    for name, each in found.items():
        _need(each.shape == latents[name].shape and each.dtype == latents[name].dtype and bool(each.isfinite().all()))
    return found


def _typed(given: Any, kind: type[Row]) -> Row:
    _need(type(given) is kind)
    return given  # type: ignore[no-any-return]


def _row(kind: type[Row], given: Any) -> Row:
    """A dataclass of plain values, of which no number is negative."""
    _need(isinstance(given, dict))
    made = kind(**given)
    for each, admitted in get_type_hints(kind).items():
        value = getattr(made, each)
        allowed = get_args(admitted) or (admitted,)
        _need(type(value) in allowed or (float in allowed and type(value) is int))
        _need(value is None or isinstance(value, str) or (isfinite(value) and value >= 0))
    return made
