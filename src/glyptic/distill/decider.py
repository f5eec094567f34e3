"""A trained decider: its model, the language that it was to learn, and the same weights as an exact transformer's, unrounded."""

from __future__ import annotations

import os
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glyptic import nn
from glyptic.arguments import checked
from glyptic.bridge import to_exact
from glyptic.errors import FileError, InputError, ModelError
from glyptic.exact import Transformer
from glyptic.exact.files import is_exact
from glyptic.files import quoted_path, read_json
from glyptic.numbers import Ieee
from glyptic.train import load_run
from glyptic.train.folders import RUN
from glyptic.train.tasks import registry
from glyptic.train.tasks.deciders import ANSWERS, LanguageTask
from glyptic.train.tasks.tokens import VOCABULARY

DOUBLE = Ieee(10, 52)  # 53 bits, as a float64 has, and sizes down to 2^−562: weights lose nothing


@dataclass(frozen=True)
class TrainedDecider:
    """A model with two classes, and the task that says which words are which."""

    name: str
    model: nn.Decoder
    task: LanguageTask

    def __post_init__(self) -> None:
        self.task.check(self.model.config)

    @property
    def alphabet(self) -> tuple[str, ...]:
        return tuple(self.task.language.alphabet)

    def unrounded(self, max_length: int) -> Transformer:
        """As an exact transformer, whose codes are those of doubles; what the bridge does not take is refused with its reason.

        Of two logits that are equal the first counts, as torch's argmax has it, and as normalization does.
        """
        length = self.model.config.context if self.model.config.positions == "learned" else max_length
        if max_length > length:
            raise InputError(
                f"max_length is {max_length}, and the model was trained with a context of {length}, of which every position has "
                f"a vector of its own; ask for at most {length}."
            )
        return to_exact(
            deepcopy(self.model).double(), DOUBLE, vocabulary=self.alphabet, answers=ANSWERS, max_length=length, ties="first"
        ).replace(name=self.name)


def language_task(name: str) -> LanguageTask:
    """The task of a name, which must be to decide a language."""
    task = registry.open(name)
    if not isinstance(task, LanguageTask):
        raise InputError(f"the task {name} is no language to decide, and only deciders are distilled: train tomita:4, say.")
    return task


@checked
def open_decider(folder: str | os.PathLike[str], task: str | None = None) -> TrainedDecider:
    """The best model of a run, or the one in a bare checkpoint, of which the task must be said."""
    place = Path(folder)
    if (place / RUN).exists():
        run = load_run(place)
        if task is not None and registry.open(task).name != run.task:
            raise InputError(f"--task {task} has no effect on {quoted_path(place)}, a run of the task {run.task}; leave it out.")
        found = language_task(run.task)
        run.check_data(found)
        return _decider(place.resolve().name, run.model(), found)
    if not (place / "config.json").exists():
        raise FileError(f"{quoted_path(place)} is neither a training run nor a checkpoint: it has no {RUN} and no config.json.")
    if is_exact(place):
        raise InputError(f"{quoted_path(place)} is an exact transformer already; distill takes a trained model.")
    if task is None:
        raise InputError(f"{quoted_path(place)} is a checkpoint, which does not say what it was trained for; give it: --task.")
    found = language_task(task)
    _check_vocabulary(place, found)
    return _decider(place.resolve().name, nn.load(place), found)


def _check_vocabulary(place: Path, task: LanguageTask) -> None:
    """A checkpoint that says what its letters are must say what the task's are, in their order: they are its numbers."""
    path = place / VOCABULARY
    if not path.exists():
        return
    said = read_json(path)
    tokens = said.get("tokens") if isinstance(said, dict) else None
    if tokens != [*task.language.alphabet]:
        named = " ".join(map(str, tokens))[:100] if isinstance(tokens, list) else "none"
        raise InputError(
            f"{quoted_path(path)} has the letters {named}, and {task.name} has {' '.join(task.language.alphabet)}, so ordered; "
            "name the task that it was trained for."
        )


def _decider(name: str, model: Any, task: LanguageTask) -> TrainedDecider:
    if not isinstance(model, nn.Decoder):
        raise ModelError(f"{name} has kind={model.config.kind!r}, and only decoders are distilled; train kind='decoder'.")
    return TrainedDecider(name, model.eval(), task)
