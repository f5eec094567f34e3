"""The GPT-style learner: it sees exactly k examples, learns, and comes near the best possible."""

import time

import numpy as np
import pytest
import torch

from glyptic.icl.experiments.bayes import ridge_answers
from glyptic.icl.experiments.decoder import DecoderLearner, DecoderSize, decoder_plan
from glyptic.icl.experiments.prompts import Prompts, sample
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.experiments.training import answers, train
from glyptic.icl.theory.problem import ProblemError

SMALL = DecoderSize(width=32, layers=2, heads=2)


def prompts_of(count=6, N=5, d=3) -> Prompts:
    return sample(LinearTask(d, 0.5), np.random.default_rng(0), count, N)


def test_query_k_sees_exactly_the_first_k_examples():
    prompts, learner = prompts_of(), DecoderLearner(3, 5, SMALL)
    before = answers(learner, prompts, range(6))
    for index in range(5):
        labels = prompts.context_y.copy()
        labels[:, index] += 3.0
        after = answers(learner, Prompts(prompts.context_x, labels, prompts.query_x, prompts.target), range(6))
        changed = np.abs(after - before).max(axis=0) > 1e-6
        assert changed.tolist() == [k > index for k in range(6)]


def test_all_queries_at_once_are_each_query_alone():
    prompts, learner = prompts_of(), DecoderLearner(3, 5, SMALL)
    together = answers(learner, prompts, range(6))
    x, y, query = (torch.from_numpy(a).float() for a in (prompts.context_x, prompts.context_y, prompts.query_x))
    with torch.no_grad():
        alone = torch.stack([learner(x[:, :k], y[:, :k], query[:, k]) for k in range(6)], dim=1)
    assert np.allclose(together, alone.numpy(), atol=1e-5)


def test_the_seed_decides_the_start():
    one, same, other = (DecoderLearner(3, 5, SMALL, seed) for seed in (0, 0, 1))
    first, second, third = (answers(learner, prompts_of(), [5]) for learner in (one, same, other))
    assert np.array_equal(first, second)
    assert not np.allclose(first, third)


def test_it_learns():
    d, noise_variance, N = 1, 0.25, 5
    learner = DecoderLearner(d, N, SMALL)
    train(learner, LinearTask(d, noise_variance), decoder_plan(d, noise_variance, N, steps=400, batch=32), progress=False)
    test = sample(LinearTask(d, noise_variance), np.random.default_rng(1), 2000, N)
    error = ((answers(learner, test, [N])[:, 0] - test.target[:, -1]) ** 2).mean()
    assert error < 0.45  # answering 0 has risk 1, ridge 0.06


@pytest.mark.slow
def test_within_fifteen_percent_of_bayes_optimal_ridge(tmp_path):
    """d = 5, 10 examples, s² = 0.25, in ten minutes of one thread (docs/in-context-experiments.md has the table)."""
    d, noise_variance, N = 5, 0.25, 10
    learner, threads = DecoderLearner(d, N), torch.get_num_threads()
    torch.set_num_threads(1)
    begin = time.process_time()
    plan = decoder_plan(d, noise_variance, N, steps=14_000)
    train(learner, LinearTask(d, noise_variance), plan, checkpoint=tmp_path / "it.safetensors")
    assert time.process_time() - begin < 600
    torch.set_num_threads(threads)
    test = sample(LinearTask(d, noise_variance), np.random.default_rng(99), 4000, N)
    counts = range(N + 1)
    decoder = ((answers(learner, test, counts) - test.target) ** 2).mean(axis=0)
    ridge = ((ridge_answers(test, noise_variance, counts) - test.target) ** 2).mean(axis=0)
    assert decoder.mean() < 1.15 * ridge.mean()
    assert decoder[d:].mean() < 1.15 * ridge[d:].mean()
    assert (decoder < 1.15 * ridge).all()  # after every number of examples, without the noise that would hide the rest


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: DecoderSize(width=30, heads=4), "a width that the heads divide"),
        (lambda: answers(DecoderLearner(3, 4, SMALL), prompts_of(), [5]), "positions for 4 examples, not 5"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ProblemError, match=sentence):
        call()
