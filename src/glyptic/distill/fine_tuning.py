"""Fine-tuning in the arithmetic itself: each step runs the transformer as the engine will, and gradients go straight through."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from glyptic.arguments import Count, Number, Seed, check_fields
from glyptic.distill.calibration import Sizes
from glyptic.distill.rescaling import rescaled
from glyptic.distill.straight import Latents, logits_everywhere
from glyptic.distill.words import WordSet, exact_answers, truth_of
from glyptic.errors import ModelError
from glyptic.exact import Transformer
from glyptic.exact.transformer import map_codes
from glyptic.numbers import Format, encode
from glyptic.progress import progress_bar
from glyptic.train.schedule import rate_at
from glyptic.train.stepping import run_steps, update
from glyptic.train.task import IGNORED
from glyptic.train.tasks.deciders import LanguageTask


@dataclass(frozen=True)
class Tuning:
    """How long and how fast."""

    steps: Annotated[int, Count(1, 10**7)] = 400
    batch: Annotated[int, Count(1, 10**5)] = 64
    rate: Annotated[float, Number(above=0, most=1e3)] = 2e-3
    every: Annotated[int, Count(1, 10**7)] = 50
    """Steps between two looks at all words; a decider that is right on all of them is done."""
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Tuned:
    """What fine-tuning has come to: the weights that were wrong on the fewest of the words that were looked at, and the last."""

    best: Latents
    last: Latents
    wrong: int  # words, of the best
    steps: int


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with what there was by then."""

    def __init__(self, tuned: Tuned) -> None:
        super().__init__()
        self.tuned = tuned


def in_format(
    transformer: Transformer, latents: Mapping[str, Tensor], format: Format, *, saturate: bool = False
) -> Transformer:
    """The transformer with these weights, each rounded to the format; one beyond B is refused with its place, or is B."""

    def rounded_codes(_: Any, name: str) -> Any:
        numbers = latents[name].detach().numpy()
        beyond = np.argwhere((numbers > float(format.max)) | (numbers < float(format.min)))
        if len(beyond) and not saturate:
            place = tuple(int(i) for i in beyond[np.abs(numbers[tuple(beyond.T)]).argmax()])
            raise ModelError(
                f"{name}{list(place)} is {numbers[place]:.6g}, and {format} ends at {float(format.max):g}; choose a wider "
                "format, or let such weights be B (saturate)."
            )
        return encode(numbers, format, name, nearest=True)

    return map_codes(transformer, rounded_codes, format=format)


def suited(
    transformer: Transformer,
    latents: Mapping[str, Tensor],
    sizes: Sizes,
    format: Format,
    words: WordSet,
    truth: np.ndarray,
    *,
    saturate: bool = True,
) -> tuple[str, Latents]:
    """Of the trained weights and of two ways to rescale them, that which is wrong on the fewest words when rounded; its name.

    Without `saturate` only what has no weight beyond B is chosen; where all have, the weights as trained are refused.
    """
    ways = {
        "rescaled, within B": rescaled(transformer, latents, sizes, format),
        "rescaled": rescaled(transformer, latents, sizes, format, shrink=False),
        "as trained": dict(latents),
    }
    if not saturate:
        fitting = {way: each for way, each in ways.items() if not _is_beyond(each, format)}
        ways = fitting or {"as trained": dict(latents)}
        in_format(transformer, next(iter(ways.values())), format)
    wrong = {way: wrong_words(in_format(transformer, each, format, saturate=True), words, truth) for way, each in ways.items()}
    chosen = min(ways, key=lambda way: wrong[way])  # the first of those that are alike
    return chosen, ways[chosen]


def _is_beyond(latents: Mapping[str, Tensor], format: Format) -> bool:
    ends = float(format.min), float(format.max)
    return any(bool(((each < ends[0]) | (each > ends[1])).any()) for each in latents.values())


def learned(transformer: Transformer, latents: Mapping[str, Tensor]) -> list[str]:
    """The weights that are learned: all, but for positions where there are none, and what stands under a root."""
    without = {"position_embedding"} if not bool(latents["position_embedding"].any()) else set()
    return [name for name in latents if name not in without and not name.endswith(".epsilon")]


def losses_of(
    transformer: Transformer, latents: Mapping[str, Tensor], format: Format, batches: Sequence[tuple[Tensor, Tensor]]
) -> list[Tensor]:
    """Cross-entropy of what is said after every letter, of each of some batches: tokens and targets [B, T].

    They go through in one pass: what is shorter is made as long as the longest, with letters that are no targets.
    """
    length = max(tokens.shape[1] for tokens, _ in batches)
    tokens, targets = (
        torch.cat([pad(each[part], (0, length - each[part].shape[1]), value=fill) for each in batches])
        for part, fill in ((0, 0), (1, IGNORED))
    )
    logits = logits_everywhere(transformer, latents, format, np.ascontiguousarray(tokens.numpy().T)).permute(2, 1, 0)
    sizes = [len(each[0]) for each in batches]
    return [
        cross_entropy(said.flatten(0, 1), right.flatten(), ignore_index=IGNORED)
        for said, right in zip(logits.split(sizes), targets.split(sizes), strict=True)
    ]


def fine_tuned(
    transformer: Transformer,
    latents: Mapping[str, Tensor],
    format: Format,
    task: LanguageTask,
    words: WordSet,
    truth: np.ndarray,
    tuning: Tuning,
    *,
    also: Sequence[str] = (),
    progress: bool = True,
) -> Tuned:
    """Learn the task in the format, and the words `also`, which count as much as a whole batch.

    Ctrl-C waits for the end of a step, and is raised then; what is best by then is in the error's `tuned`.
    """
    now = {name: latent.detach().clone() for name, latent in latents.items()}
    names = learned(transformer, now)
    for name in names:
        now[name].requires_grad_()
    weights = [now[name] for name in names]
    optimizer = torch.optim.AdamW(weights, lr=tuning.rate, betas=(0.9, 0.98), weight_decay=0.0)
    best, taken = _copied(now), 0
    looked_at = words.including(also)
    truth = truth if looked_at is words else truth_of(task.language, looked_at)
    fewest = wrong_words(in_format(transformer, best, format, saturate=True), looked_at, truth)

    def advance(step: int, interrupted: Callable[[], bool]) -> bool:
        batch = task.batch(tuning.seed, step, tuning.batch)

        def backward() -> float:
            batches = [(batch.inputs[0], batch.targets), *([extended(task, also, tuning, step)] if also else [])]
            loss = sum(losses_of(transformer, now, format, batches), torch.zeros(()))
            loss.backward()
            return float(loss.detach())

        rate = rate_at(step, tuning.rate, tuning.steps, min(20, tuning.steps // 4), "cosine")
        update(weights, optimizer, rate, 1.0, backward, step)
        return interrupted()

    def after(step: int, stop: bool) -> bool:
        nonlocal fewest, best, taken
        taken = step
        if step % tuning.every and step != tuning.steps and not stop:
            return False
        wrong = wrong_words(in_format(transformer, now, format, saturate=True), looked_at, truth)
        if wrong <= fewest:
            fewest, best = wrong, _copied(now)
        return fewest == 0

    if fewest:
        try:
            bar = progress_bar(total=tuning.steps, desc="fine-tuning", disable=not progress)
            run_steps(0, tuning.steps, advance, after, bar)
        except KeyboardInterrupt:
            raise Interrupted(Tuned(best, _copied(now), fewest, taken)) from None
    return Tuned(best, best if fewest == 0 else _copied(now), fewest, taken)


def extended(task: LanguageTask, also: Sequence[str], tuning: Tuning, step: int) -> tuple[Tensor, Tensor]:
    """Some of the words, with any letters after them so that all have one length; the target is at their own ends alone."""
    alphabet, rng = task.language.alphabet, np.random.default_rng([tuning.seed, step, 1])
    chosen = [also[i] for i in rng.permutation(len(also))[: tuning.batch]]
    letters = rng.integers(0, len(alphabet), (len(chosen), max(map(len, chosen))))
    targets = np.full(letters.shape, IGNORED)
    for row, word in enumerate(chosen):
        letters[row, : len(word)] = [alphabet.index(letter) for letter in word]
        targets[row, len(word) - 1] = task.language.beginnings(letters[row : row + 1])[0, len(word) - 1]
    return torch.from_numpy(letters), torch.from_numpy(targets)


def _copied(latents: Mapping[str, Tensor]) -> Latents:
    return {name: latent.detach().clone() for name, latent in latents.items()}


def wrong_words(transformer: Transformer, words: WordSet, truth: np.ndarray) -> int:
    """On how many words the answer is not the right one; 0/0 is never right."""
    return int(((exact_answers(transformer, words) != truth) & words.counted).sum())
