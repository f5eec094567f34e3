"""Training reaches the exact minimum, follows the exact flow, and can be stopped at any moment."""

import os
import signal

import numpy as np
import pytest
import torch

from glyptic.errors import FileError, InputError
from glyptic.icl.experiments.learners import DeepLinearAttention, LinearAttention
from glyptic.icl.experiments.prompts import ORDINARY, anisotropic
from glyptic.icl.experiments.tasks import LinearTask
from glyptic.icl.experiments.training import Curriculum, PromptPlan, train
from glyptic.icl.theory.loss import loss
from glyptic.icl.theory.optimum import minimum_loss
from glyptic.icl.theory.problem import Problem, spectrum
from glyptic.icl.theory.reduced import reduced_flow
from glyptic.icl.theory.theorem import initial_blocks


@pytest.mark.parametrize(("name", "noise_variance"), [("isotropic", 0.0), ("inverse", 0.0), ("isotropic", 0.5)])
def test_adam_ends_within_one_percent_of_the_exact_minimum(name, noise_variance):
    problem = Problem(spectrum(name, 5), 20, noise_variance=noise_variance)
    learner = LinearAttention(initial_blocks(problem, sigma=0.5))
    plan = PromptPlan(steps=600, rate=0.05)
    train(learner, LinearTask(5, noise_variance), plan, anisotropic(spectrum(name, 5)), progress=False)
    assert 1.0 <= loss(problem, learner.blocks()) / minimum_loss(problem) < 1.01


def test_gradient_descent_follows_the_exact_flow():
    """SGD with rate η after n steps is the flow at time ηn, up to O(η) and the noise of the batches."""
    problem = Problem(spectrum("inverse", 3), 10)
    learner = LinearAttention(initial_blocks(problem, sigma=0.3))
    plan = PromptPlan(steps=600, N=10, batch=512, rate=0.02, optimizer="sgd", decay=False, record=30)
    law = anisotropic(spectrum("inverse", 3))
    history = train(learner, LinearTask(3), plan, law, lambda it: {"exact": loss(problem, it.blocks())}, progress=False)
    times = np.array([plan.rate * row["step"] for row in history])
    flow = reduced_flow(problem, initial_blocks(problem, sigma=0.3), times)
    exact = minimum_loss(problem) + flow.excess()
    measured = np.array([row["exact"] for row in history])
    assert measured[0] == pytest.approx(exact[0], rel=1e-12, abs=0)
    assert exact[0] / exact[-1] > 1.5  # it moved
    assert np.abs(measured / exact - 1).max() < 0.05


def small_run(checkpoint=None, measure=None, steps=60, rate=0.02, shift=ORDINARY, start=0.1):
    learner = DeepLinearAttention(3, 2, step=start)
    plan = PromptPlan(steps=steps, N=6, batch=16, rate=rate, record=10, warmup=5, clip=1.0)
    history = train(learner, LinearTask(3), plan, shift, measure, checkpoint, progress=False)
    return learner, history


def test_the_same_seed_gives_the_same_weights():
    (one, first), (two, second) = small_run(), small_run()
    assert torch.equal(one.preconditioners, two.preconditioners)
    assert first == second
    assert [row["step"] for row in first] == [0, 10, 20, 30, 40, 50, 60]


def test_ctrl_c_loses_nothing(tmp_path):
    """Interrupted in the middle and run again: the same weights and history, to the last bit, as never interrupted."""
    calls = []

    def interrupt(learner):
        calls.append(1)
        if len(calls) == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return {}

    path = tmp_path / "run.safetensors"
    with pytest.raises(KeyboardInterrupt):
        small_run(path, interrupt)
    assert len(calls) < 7
    resumed, history = small_run(path)
    whole, expected = small_run()
    assert torch.equal(resumed.preconditioners, whole.preconditioners)
    # No row of the interruption stays behind, and no mean over nothing.
    assert [row["step"] for row in history] == [row["step"] for row in expected]
    assert [row["loss"] for row in history] == pytest.approx([row["loss"] for row in expected], rel=1e-12, abs=0)
    assert [file.name for file in tmp_path.iterdir()] == ["run.safetensors"]


def test_ctrl_c_between_two_records_leaves_no_row_behind(tmp_path, monkeypatch):
    from glyptic.icl.experiments import training

    real, path = training._step, tmp_path / "run.safetensors"

    def interrupted_at_27(*arguments):
        if arguments[-1] == 27:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(training, "_step", interrupted_at_27)
    with pytest.raises(KeyboardInterrupt):
        small_run(path)
    monkeypatch.setattr(training, "_step", real)
    _, history = small_run(path)
    _, expected = small_run()
    assert [row["step"] for row in history] == [0, 10, 20, 30, 40, 50, 60]
    assert [row["loss"] for row in history] == pytest.approx([row["loss"] for row in expected], rel=1e-12, abs=0)


def test_a_finished_run_is_not_trained_again(tmp_path):
    path = tmp_path / "run.safetensors"
    first, history = small_run(path)
    stamp = path.stat().st_mtime_ns
    again, same = small_run(path)
    assert torch.equal(first.preconditioners, again.preconditioners)
    assert (history, stamp) == (same, path.stat().st_mtime_ns)


def test_checkpoints_of_other_runs_and_damaged_ones_are_refused(tmp_path):
    path = tmp_path / "run.safetensors"
    small_run(path)
    for other in ({"steps": 70}, {"rate": 0.03}, {"start": 0.2}, {"shift": anisotropic(np.array([1.0, 2.0, 3.0]))}):
        with pytest.raises(FileError, match="holds another training run"):
            small_run(path, **other)
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(FileError, match="is not a checkpoint"):
        small_run(path)


def test_curriculum_is_obeyed(monkeypatch):
    from glyptic.icl.experiments import training

    seen = []
    real = training.sample

    def spy(task, rng, prompts, N, shift, active):
        seen.append((active, N))
        return real(task, rng, prompts, N, shift, active)

    monkeypatch.setattr(training, "sample", spy)
    plan = PromptPlan(steps=30, N=8, batch=4, rate=1e-3, curriculum=Curriculum(1, 4, interval=10))
    train(DeepLinearAttention(3, 1), LinearTask(3), plan, progress=False)
    assert seen[1:] == [(1, 4)] * 10 + [(2, 6)] * 10 + [(3, 8)] * 10


def test_every_query_and_its_weights():
    """Weight only on the last query is training on the last query."""
    ends = []
    for extra in ({"every_query": False}, {"every_query": True, "query_weights": (0.0,) * 6 + (7.0,)}):
        learner = DeepLinearAttention(3, 1)
        train(learner, LinearTask(3), PromptPlan(steps=20, N=6, batch=8, rate=0.02, **extra), progress=False)
        ends.append(learner.preconditioners.detach())
    assert torch.allclose(*ends, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: PromptPlan(steps=0), "steps is 0"),
        (lambda: PromptPlan(N=0), "N is 0"),
        (lambda: PromptPlan(rate=float("nan")), "rate is nan"),
        (lambda: small_run(rate=1e300), "the loss is .* use a smaller rate than 1e\\+300"),
        (
            lambda: train(DeepLinearAttention(3, 1), LinearTask(3), PromptPlan(optimizer="lion"), progress=False),  # type: ignore[arg-type]
            "optimizer is 'lion'",
        ),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
