"""Kinds of positions beyond the trained length: deciders trained on words to 16 letters, asked about words to 64.

Two languages: in one two neighbours matter (the word 11 occurs), in the other no order does (most letters are 1). Long words with
11 in them would have it many times, also among their first letters; so those that are asked about have it once, anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from glyptic import figures
from glyptic.languages import regular
from glyptic.train.experiments.seeds import band, mean, values
from glyptic.train.experiments.study import Row, Trial
from glyptic.train.plan import Plan
from glyptic.train.tasks.deciders import LanguageTask
from glyptic.train.tasks.languages import FormalLanguage, Letters, Regular

CLAIM = (
    "Sinusoidal, relative and rotary positions extrapolate well to longer sequences; learned ones are limited "
    "(deep-learning class)."
)
KINDS = ("learned", "sinusoidal", "rotary", "t5", "shaw", "transformer_xl", "alibi", "none")
_TASKS = {"the word 11 occurs": "contains:11,16,held_out=0", "majority": "majority:16,held_out=0"}
_LENGTHS = (8, 16, 24, 32, 48, 64)
_TRAINED, _WORDS = 16, 512
_ONCE = "(0|10)*11(0(0|10)*1?)?"


def trials(small: bool) -> list[Trial]:
    plan = Plan(steps=4 if small else 1000, batch=64, rate=0.003, evaluate=10**9, record=10**9)
    return [
        Trial(
            {"language": language, "positions": kind},
            name,
            {"layers": 2, "width": 32, "heads": 4, "context": _LENGTHS[-1], "positions": kind}
            | ({"backend": "reference"} if kind == "shaw" else {}),
            plan,
            {"lengths": _LENGTHS, "members": _ONCE},
        )
        for language, name in _TASKS.items()
        for kind in (("learned", "rotary") if small else KINDS)
    ]


def measured(trial: Trial) -> Row:
    """Accuracy on words of each length, half of them members."""
    model, task = trial.trained()
    assert isinstance(task, LanguageTask)
    found: Row = {}
    for length in _LENGTHS:
        words = _asked(task.language, length)
        truth = torch.from_numpy(task.language.beginnings(words)[:, -1])
        with torch.no_grad():
            said = model(torch.from_numpy(words)).argmax(-1).bool()
        found[str(length)] = float((said == truth).double().mean())
    return found


def _asked(language: FormalLanguage, length: int) -> Letters:
    """Half members, half others."""
    rng, half = np.random.default_rng([1, length]), _WORDS // 2
    members = language if not isinstance(language, Regular) else Regular(regular(_ONCE))
    found = members.members(rng, length, half), language.others(rng, length, half)
    return np.concatenate([words for words in found if words is not None])


def draw(rows: Sequence[Row]) -> Any:
    figure, axes = figures.new(1, len(_TASKS))
    colours = dict(zip(KINDS, figures.distinct(len(KINDS)), strict=True))
    for place, language in zip(axes, _TASKS, strict=True):
        for kind in dict.fromkeys(row["positions"] for row in rows):
            found = [values(rows, str(length), language=language, positions=kind) for length in _LENGTHS]
            band(place, _LENGTHS, found, colours[kind], kind)
        place.axvline(_TRAINED, color=figures.COLOURS["muted"], lw=1, ls=":")
        place.set_xlabel("letters in a word (trained to 16)")
        place.set_ylabel("accuracy, balanced words")
        place.set_ylim(0.4, 1.03)
        figures.plain_ticks(place.xaxis, _LENGTHS)
        place.set_title(language)
    figures.titled(axes[-1], legend="beside")
    return figure


def verdict(rows: Sequence[Row]) -> str:
    """A kind goes on well in a language if it does so with every seed; what is said of them are means."""
    kinds = list(dict.fromkeys(row["positions"] for row in rows))
    said = []
    for language in _TASKS:
        at = {kind: [mean(values(rows, n, language=language, positions=kind)) for n in ("32", "64")] for kind in kinds}
        far = ", ".join(f"{kind} {near:.0%} and {longest:.0%}" for kind, (near, longest) in at.items())
        said.append(f"{language}, at 32 and at 64 letters: {far}")
    promised = [kind for kind in ("sinusoidal", "rotary", "t5", "transformer_xl") if kind in kinds]
    good = [min(values(rows, "64", language=name, positions=kind)) >= 0.95 for name in _TASKS for kind in promised]
    what = "confirmed" if good and all(good) else "refuted as it is said"
    return f"{what} ({sum(good)} of {len(good)} are above 95 % at four times the length): {'; '.join(said)}"
