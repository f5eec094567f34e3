"""Training in the format itself: fewer words are wrong, positions that are not there stay away, Ctrl-C keeps what there is."""

import os
import signal

import numpy as np
import pytest
import torch

from glyptic.distill.calibration import largest_activations
from glyptic.distill.fine_tuning import Interrupted, Tuning, extended, fine_tuned, in_format, losses_of, wrong_words
from glyptic.distill.rescaling import rescaled
from glyptic.distill.straight import latents_of
from glyptic.distill.words import all_words, exact_answers, truth_of
from glyptic.numbers import as_format
from glyptic.train.task import IGNORED
from tests.distill.deciders import ends_in_one, untrained

F = as_format("fixed:4")


def begun(decider, format=F):
    T = decider.unrounded(6)
    words = all_words(decider.alphabet, 6)
    trained = latents_of(T)
    latents = rescaled(T, trained, largest_activations(T, trained, words), format)
    return T, latents, words, truth_of(decider.task.language, words)


@pytest.mark.parametrize("changes", [{}, {"norm": "rms", "feed_forward": "gelu"}, {"positions": "none"}])
def test_a_decider_learns_in_the_format(changes: dict) -> None:
    decider = untrained(scale=8.0, **changes)
    T, latents, words, truth = begun(decider)
    before = wrong_words(in_format(T, latents, F, saturate=True), words, truth)
    tuned = fine_tuned(T, latents, F, decider.task, words, truth, Tuning(steps=150, rate=0.02, every=25), progress=False)
    assert before > 20 and tuned.wrong < before / 4
    low = in_format(T, tuned.best, F, saturate=True)
    assert wrong_words(low, words, truth) == tuned.wrong
    assert changes.get("positions") != "none" or not low.position_embedding.any()


def test_the_loss_is_that_of_what_will_run() -> None:
    """Cross-entropy of the engine's own logits, at every place that has a target."""
    decider = ends_in_one()
    T, latents, _, _ = begun(decider)
    batch = decider.task.batch(0, 0, 8)
    (loss,) = losses_of(T, latents, F, [(batch.inputs[0], batch.targets)])
    low, expected = in_format(T, latents, F), []
    for word, targets in zip(batch.inputs[0].tolist(), batch.targets.tolist(), strict=True):
        for end, target in enumerate(targets):
            logits = torch.tensor([float(x) for x in low.run("".join(map(str, word[: end + 1]))).logits], dtype=torch.float64)
            expected.append(-torch.log_softmax(logits, 0)[target].item())
    assert loss.item() == pytest.approx(np.mean(expected), rel=1e-12)


def test_batches_of_different_lengths_go_together() -> None:
    decider = ends_in_one()
    T, latents, _, _ = begun(decider)
    first, second = ((b.inputs[0], b.targets) for b in (decider.task.batch(0, 0, 4), decider.task.batch(0, 9, 6)))
    short = (first[0][:, :3], first[1][:, :3])
    together = losses_of(T, latents, F, [short, second])
    alone = [losses_of(T, latents, F, [each])[0] for each in (short, second)]
    assert [x.item() for x in together] == pytest.approx([x.item() for x in alone], rel=1e-12)


def test_added_words_count_at_their_own_ends() -> None:
    task = ends_in_one().task
    letters, targets = extended(task, ["01", "1", "00110"], Tuning(seed=3), 0)
    assert letters.shape == targets.shape == (3, 5)
    told = {}
    for word, row in zip(letters.tolist(), targets.tolist(), strict=True):
        (end,) = [place for place, target in enumerate(row) if target != IGNORED]
        told["".join(map(str, word[: end + 1]))] = row[end]
    assert told == {"01": 1, "1": 1, "00110": 0}


def test_ctrl_c_gives_what_there_is() -> None:
    decider = untrained(scale=8.0)
    T, latents, words, truth = begun(decider)

    class Interrupting:
        """The task, during whose fifth batch somebody presses Ctrl-C."""

        language = decider.task.language

        def batch(self, seed: int, step: int, size: int):
            if step == 4:
                os.kill(os.getpid(), signal.SIGINT)
            return decider.task.batch(seed, step, size)

    with pytest.raises(Interrupted) as stopped:
        fine_tuned(T, latents, F, Interrupting(), words, truth, Tuning(steps=50), progress=False)  # type: ignore[arg-type]
    tuned = stopped.value.tuned
    assert tuned.steps == 5 and any(not torch.equal(tuned.last[name], latents[name]) for name in latents)
    assert exact_answers(in_format(T, tuned.best, F, saturate=True), words).shape == truth.shape
