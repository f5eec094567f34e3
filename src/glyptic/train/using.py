"""A trained model in use: weights and vocabulary out of a folder, text in and text out.

The folder is a run's, or any that holds a model, of a public family too, with the tokenizer.json that belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

import torch

from glyptic import nn
from glyptic.arguments import Count, Seed, checked
from glyptic.errors import FileError, GlypticError, InputError, ModelError
from glyptic.files import quoted_path
from glyptic.train.folders import RUN, RunFolder, Which
from glyptic.train.tasks import registry
from glyptic.train.tasks.arithmetic import ReckoningTask
from glyptic.train.tasks.tokens import Bytes, Pieces, Symbols, Tokens, of_folder
from glyptic.train.tasks.translation import translated

MOST = 200  # new tokens, where nothing else bounds them
Most = Annotated[int, Count(1, 10**6)]
Beams = Annotated[int, Count(1, 1000)]


@dataclass(frozen=True)
class InUse:
    """A model and what its tokens mean."""

    where: str
    model: Any
    tokens: Tokens
    task: ReckoningTask | None = None
    """What it was trained on, if that says where an answer ends."""

    @property
    def decides(self) -> bool:
        return self.model.config.head == "class"


@checked
def in_use(folder: str | Path, which: Which = "best") -> InUse:
    """The model of a run, its best or its last weights, or of any folder that `nn.load` opens."""
    place = Path(folder)
    is_run = (place / RUN).is_file()
    beside = place / which if is_run else place
    model = RunFolder(place).model(which) if is_run else nn.load(place)
    tokens = of_folder(beside)
    if tokens is None:
        wants = "reads images" if model.config.kind == "vit" else "has no vocabulary.json or tokenizer.json beside it"
        raise FileError(f"the model in {quoted_path(beside)} {wants}, so that nothing can be said to it in words.")
    size = model.config.vocabulary
    if size is None or tokens.size > size or (tokens.size < size and isinstance(tokens, Symbols | Bytes | Pieces)):
        raise FileError(f"{quoted_path(beside)} has a vocabulary of {tokens.size} tokens, and its model one of {size}.")
    return InUse(quoted_path(folder), model, tokens, _asks_of(beside, tokens))


def _asks_of(beside: Path, tokens: Tokens) -> ReckoningTask | None:
    """The task of the run that weights are of, if its questions have answers that end; tasks of others are left alone."""
    beside = beside.resolve()
    if not isinstance(tokens, Symbols) or beside.name not in get_args(Which) or not (beside.parent / RUN).is_file():
        return None
    try:
        task = registry.open(RunFolder(beside.parent).task)
    except GlypticError:  # one that was registered elsewhere: the model writes as long as it is asked to
        return None
    return task if isinstance(task, ReckoningTask) and task.reckoning.tokens == tokens.tokens else None


@checked
def answer(used: InUse, text: str) -> str:
    """What a decider says of a word."""
    if not used.decides or used.model.config.kind != "decoder" or not isinstance(used.tokens, Symbols):
        raise ModelError(f"{used.where} is not a decider.")
    numbers = used.tokens.encode(text)
    if not numbers:
        raise InputError("the word is empty; a decider reads at least one letter.")
    with torch.inference_mode():
        said = int(used.model(torch.tensor([numbers])).argmax())
    return used.tokens.answers[said] if said < len(used.tokens.answers) else str(said)


@checked
def continued(
    used: InUse, prompt: str, most: Most | None = None, sampling: nn.Sampling | None = None, seed: Seed | None = None,
    beams: Beams = 1,
) -> Iterator[str]:  # fmt: skip
    """What comes after a prompt, piece by piece; with more than one beam at once, when all are done."""
    config = used.model.config
    if config.kind != "decoder":
        what = f"{used.where} holds a model of kind {config.kind}, which does not go on with a text"
        raise ModelError(f"{what}; `glyptic translate` is for those that translate.")
    numbers = _prompted(used.tokens, prompt)
    room = config.context - len(numbers) if config.positions == "learned" else MOST
    if room < 1:
        raise InputError(f"the prompt has {len(numbers)} tokens, and {used.where} reads {config.context - 1} at most.")
    wanted = min(room, MOST) if most is None else most
    if config.positions == "learned" and wanted > room:
        raise InputError(
            f"{wanted} tokens after {len(numbers)} of the prompt are more than the model's {config.context} places."
        )
    if used.task is not None:
        wanted = min(wanted, used.task.remaining(numbers))
    return _pieces(used, numbers, wanted, sampling or nn.Sampling(), seed, beams)


def _pieces(
    used: InUse, numbers: list[int], most: int, sampling: nn.Sampling, seed: int | None, beams: int
) -> Iterator[str]:
    if beams > 1:
        found = nn.beam_search(used.model, [numbers], most, beams=beams)[0][0]
        yield _spelt(used.tokens, [*numbers, *found.tokens], len(numbers), end=True)
        return
    told, new = "", []
    for token in nn.stream(used.model, [numbers], most, sampling=sampling, seed=seed):
        new.append(int(token))
        text = _spelt(used.tokens, [*numbers, *new], len(numbers), end=len(new) == most)
        yield text[len(told) :]
        told = text


def _spelt(tokens: Tokens, numbers: list[int], after: int, end: bool) -> str:
    """The text of the tokens after the prompt; half a character waits for its other half, unless it is the end."""
    said = tokens.decode(numbers[after:]) if isinstance(tokens, Bytes | Symbols) else _beyond(tokens, numbers, after)
    return said if end else said.rstrip("�")


def _beyond(tokens: Tokens, numbers: list[int], after: int) -> str:
    """Byte pairs are spelt with those before them, since a character may begin in one and end in another."""
    return tokens.decode(numbers)[len(tokens.decode(numbers[:after])) :]


def _prompted(tokens: Tokens, prompt: str) -> list[int]:
    if not prompt and isinstance(tokens, Symbols):
        raise InputError(f"the prompt is empty; give one, of the tokens {' '.join(tokens.tokens[:20])}.")
    return tokens.encode(prompt or "\n")


@checked
def translations(used: InUse, texts: list[str], most: Most | None = None, beams: Beams = 1) -> list[str]:
    """Each text as the model translates it."""
    if used.model.config.kind != "encoder_decoder" or not isinstance(used.tokens, Pieces):
        raise ModelError(f"{used.where} does not translate: it holds a model of kind {used.model.config.kind}.")
    longest = max((len(used.tokens.encode(text)) for text in texts), default=0)
    room = used.model.config.context
    if used.model.config.positions == "learned" and longest > room:
        raise InputError(f"a text has {longest} tokens, and {used.where} reads {room} at most; shorten it.")
    return translated(used.model, used.tokens, texts, most or max(room, 3 * longest), beams)
