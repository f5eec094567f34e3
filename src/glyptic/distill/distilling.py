"""`distill`: a trained decider becomes an exact transformer, is fine-tuned, proved and normalized; what was found, as one value.

    unrounded → rescaled → rounded → (fine-tuned) → proved → [wrong words added, fine-tuned, proved]*
        → normalized → tried in smaller formats
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np

from glyptic.arguments import Count, FolderToFill, checked
from glyptic.distill.calibration import Calibration, Sizes, calibrated, largest_activations
from glyptic.distill.decider import TrainedDecider
from glyptic.distill.every_length import machine_of
from glyptic.distill.fine_tuning import Interrupted, Tuning, fine_tuned, in_format, suited, wrong_words
from glyptic.distill.formats import FormatRow, in_smaller_formats, smaller, smallest_that_keeps
from glyptic.distill.keeping import Standing, TuningRound, identity_of, keep, kept
from glyptic.distill.proving import NormalForm, Settled, is_language, normal_forms
from glyptic.distill.straight import Latents, latents_of
from glyptic.distill.words import WordSet, automaton_of, exact_answers, float_answers, truth_of, words_for
from glyptic.errors import FormatError, InputError
from glyptic.exact import Transformer
from glyptic.languages import Automaton
from glyptic.numbers import Exact, Format, as_format
from glyptic.numbers.hosts import refusal

ADDED = 64  # of the smallest wrong words, that a round adds


@dataclass(frozen=True)
class Distillation:
    """A distilled decider with everything that was measured and proved of it."""

    name: str
    task: str
    transformer: Transformer
    words: WordSet
    weights: str  # as trained, or rescaled
    calibration: Calibration
    float_accuracy: float
    accuracy: float
    agreement: float
    rounds: tuple[TuningRound, ...]
    language: Settled
    normal: tuple[NormalForm, ...]
    formats: tuple[FormatRow, ...]
    machine: str
    seconds: float

    @property
    def is_proved(self) -> bool:
        """It is its language, and every normal form that there is answers as it does."""
        return self.language.proved and all(form.equal.proved for form in self.normal if form.equal is not None)

    @property
    def smallest(self) -> FormatRow | None:
        """The smallest format that keeps the accuracy."""
        return smallest_that_keeps(self.formats)

    def __str__(self) -> str:
        from glyptic.distill.report import summary

        return summary(self)

    def save(self, folder: FolderToFill, *, overwrite: bool = False) -> None:
        """Write it into a folder, which other commands open as the transformer itself; see `saving`."""
        from glyptic.distill.saving import save

        save(self, folder, overwrite=overwrite)


@dataclass(frozen=True)
class Asked:
    """What is distilled, and what is asked of it: all that does not change while it is worked on."""

    decider: TrainedDecider
    format: Format
    unrounded: Transformer
    words: WordSet
    truth: np.ndarray
    said: np.ndarray  # by the model on PyTorch
    automaton: Automaton
    saturate: bool
    tuning: Tuning

    @property
    def max_length(self) -> int:
        return self.words.max_length

    def is_word(self, word: str) -> bool:
        """Whether it is one of those that are asked about."""
        return 1 <= len(word) <= self.max_length and set(word) <= set(self.words.alphabet)


@checked
def distill(
    decider: TrainedDecider,
    format: Format | str = "fixed:8",
    *,
    max_length: Annotated[int, Count(1, 64)] = 12,
    fine_tune: Annotated[int, Count(0, 10**7)] = 0,
    rounds: Annotated[int, Count(0, 10)] = 10,
    tuning: Tuning | None = None,
    saturate: bool = False,
    sweep: bool = True,
    format_steps: Annotated[int, Count(0, 10**7)] = 0,
    out: FolderToFill | None = None,
    overwrite: bool = False,
    progress: bool = True,
) -> Distillation:
    """The decider in a format: rounded, proved, what is wrong trained away, normalized three ways.

    fine_tune   steps of fine-tuning before anything is proved; those of a round are `tuning`'s, or as many as these
    rounds      of train, prove, add at most, while the proof finds a word that is answered wrongly; 0: tell it and leave it
    saturate    let weights beyond B be B
    sweep       look at smaller formats too, fine-tuning by `format_steps` in those that lose accuracy
    out         where it is kept after every round; the same question goes on from there
    overwrite   let it take the place of another distillation in `out`
    """
    begun = time.perf_counter()
    tuning = tuning or Tuning(**({"steps": fine_tune} if fine_tune else {}))
    question = ask(decider, format, max_length, saturate, tuning, format_steps if sweep else 0)
    way, latents = _begin(question)
    identity = identity_of(latents, task=decider.task.name, format=str(question.format), length=max_length, saturate=saturate,
                           fine_tune=fine_tune, rounds=rounds, tuning=asdict(tuning), format_steps=format_steps)  # fmt: skip
    kept_in = None if out is None else Path(out)
    standing = None if kept_in is None else kept(kept_in, identity, latents, question.is_word, overwrite=overwrite)
    work = _Work(question, standing or Standing(latents, latents), kept_in, identity, progress)
    work.stands(work.standing)  # at once, so that a place that cannot be written is known before the work
    work.tune(fine_tune, rounds)
    transformer = work.as_learned(work.standing.best)  # weights beyond B were refused at the beginning; tuning may pass B
    sizes = largest_activations(question.unrounded, work.standing.best, question.words)
    formats = work.sweep(sizes, format_steps) if sweep else ()
    answers = exact_answers(transformer, question.words)
    return Distillation(
        name=decider.name,
        task=decider.task.name,
        transformer=transformer,
        words=question.words,
        weights=way,
        calibration=calibrated(transformer, sizes, question.words),
        float_accuracy=question.words.share(question.said == question.truth),
        accuracy=question.words.share(answers == question.truth),
        agreement=question.words.share(answers == question.said),
        rounds=work.standing.rounds,
        language=is_language(transformer, question.automaton, question.max_length),
        normal=normal_forms(transformer, question.max_length),
        formats=tuple(formats),
        machine=machine_of(transformer, question.automaton),
        seconds=time.perf_counter() - begun,
    )


def ask(
    decider: TrainedDecider, format: Format | str, max_length: int, saturate: bool, tuning: Tuning, format_steps: int = 0
) -> Asked:
    """The question, with everything that can be refused refused before any work."""
    chosen = as_format(format)
    if isinstance(chosen, Exact):
        raise FormatError("exact rationals round nothing, so there is nothing to distill; choose a finite format: fixed:8.")
    reason = refusal(chosen)
    if reason is not None:  # training needs the compiled engine
        raise FormatError(f"{reason}; choose a smaller format to distill into, such as fixed:8.")
    if format_steps and len(list(smaller(chosen))) == 1:
        raise InputError(f"format_steps has no effect on {chosen}, which has no smaller formats of its kind; leave it out.")
    if max_length > decider.task.max_length:
        raise InputError(
            f"max_length is {max_length}, and {decider.task.name} was learned on words of at most {decider.task.max_length}; "
            "ask for no more."
        )
    language = decider.task.language
    unrounded = decider.unrounded(max_length)
    words = words_for(language, max_length)
    automaton = automaton_of(language, max_length, decider.task.name)
    said = float_answers(decider.model, words)
    return Asked(decider, chosen, unrounded, words, truth_of(language, words), said, automaton, saturate, tuning)


def _begin(question: Asked) -> tuple[str, Latents]:
    """The trained weights, rescaled for the format or not, and which; a weight beyond B is refused here."""
    trained = latents_of(question.unrounded)
    sizes = largest_activations(question.unrounded, trained, question.words)
    return suited(
        question.unrounded, trained, sizes, question.format, question.words, question.truth, saturate=question.saturate
    )


class _Work:
    """A distillation while it is worked on."""

    def __init__(self, question: Asked, standing: Standing, folder: Path | None, identity: str, progress: bool) -> None:
        self.question, self.standing, self.folder, self.identity, self.progress = question, standing, folder, identity, progress

    def tell(self, sentence: str) -> None:
        if self.progress:
            print(f"{self.question.decider.name}: {sentence}", file=sys.stderr, flush=True)

    def stands(self, standing: Standing) -> None:
        self.standing = standing
        if self.folder is not None:
            keep(self.folder, self.identity, standing)

    def tune(self, fine_tune: int, rounds: int) -> None:
        """Round 0 proves what was rounded, or fine-tuned first; each further one adds wrong words, and trains."""
        done = self.standing.rounds
        if not done:
            first = self._tuned(fine_tune, 0, ()) if fine_tune else 0
            self._prove(0, first, 0, 0.0)
        while (last := self.standing.rounds[-1]).counterexample is not None and last.number < rounds:
            begun = time.perf_counter()
            question, before = self.question, self.standing.words
            answers = exact_answers(self.as_learned(self.standing.best), question.words)
            wrong = question.words.shortest(answers != question.truth, ADDED)
            words = tuple(dict.fromkeys([*before, *([last.counterexample] if last.counterexample else []), *wrong]))
            steps = self._tuned(question.tuning.steps, last.number + 1, words)
            self._prove(last.number + 1, steps, len(words) - len(before), time.perf_counter() - begun)

    def _tuned(self, steps: int, number: int, words: tuple[str, ...]) -> int:
        """Fine-tune; Ctrl-C keeps the weights that there are, and the round begins anew with them. How many steps it took."""
        question, standing = self.question, self.standing
        plan = replace(question.tuning, steps=steps, seed=question.tuning.seed + number)

        def better(new: Latents) -> Latents:
            return self._better(standing.best, new, words)

        try:
            found = fine_tuned(
                question.unrounded, standing.last, question.format, question.decider.task, question.words, question.truth, plan,
                also=words, progress=self.progress,
            )  # fmt: skip
        except Interrupted as stop:
            taken = standing.taken + stop.tuned.steps
            self.stands(replace(standing, last=stop.tuned.last, best=better(stop.tuned.best), taken=taken))
            raise
        self.standing = replace(standing, last=found.last, best=better(found.best), words=words, taken=0)
        return standing.taken + found.steps

    def _better(self, old: Latents, new: Latents, also: Sequence[str]) -> Latents:
        """The weights that are wrong on fewer words, those that were added among them; of two that are alike, the newer."""
        words, truth = self._looked_at(also)
        count = [wrong_words(self.as_learned(each), words, truth) for each in (old, new)]
        return new if count[1] <= count[0] else old

    def _looked_at(self, also: Sequence[str]) -> tuple[WordSet, np.ndarray]:
        """The words with some more, and what is right."""
        words = self.question.words.including(also)
        same = words is self.question.words
        return words, self.question.truth if same else truth_of(self.question.decider.task.language, words)

    def as_learned(self, latents: Latents) -> Transformer:
        """As the forward pass of training has them: what is beyond B is B there."""
        return in_format(self.question.unrounded, latents, self.question.format, saturate=True)

    def _prove(self, number: int, steps: int, added: int, seconds: float) -> None:
        question = self.question
        transformer = self.as_learned(self.standing.best)
        proof = is_language(transformer, question.automaton, question.max_length)
        found = () if proof.counterexample is None else (proof.counterexample,)
        words, truth = self._looked_at((*self.standing.words, *found))
        answers = exact_answers(transformer, words)
        wrong = wrong_words(transformer, words, truth)
        smallest = proof.counterexample  # of a proof that found no end, a word that was looked at, if one is wrong
        smallest = smallest or next(iter(words.shortest(answers != truth, 1)), None)
        one = TuningRound(number, steps, wrong, smallest, added, round(seconds, 1), proof.proved)
        self.tell(str(one))
        self.stands(self.standing.with_round(one))

    def sweep(self, sizes: Sizes, steps: int) -> Sequence[FormatRow]:
        question = self.question
        known = self.standing.formats

        def found(row: FormatRow) -> None:
            self.stands(replace(self.standing, formats=(*self.standing.formats, row)))

        return in_smaller_formats(
            question.unrounded, self.standing.best, sizes, question.format, question.words, question.truth, question.said,
            task=question.decider.task, saturate=question.saturate,
            tuning=replace(question.tuning, steps=steps) if steps else None, also=self.standing.words,
            known=known, found=found, progress=self.progress,
        )  # fmt: skip


__all__ = ["Distillation", "distill"]
