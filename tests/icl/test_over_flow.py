"""Each kind of learner trains, and its curve is drawn over the exact one."""

import numpy as np
import pytest

from glyptic import figures
from glyptic.icl.experiments.over_flow import LEARNERS, TrainingRun, draw, fit, summary
from glyptic.icl.theory.problem import ProblemError


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_learner_trains_and_is_drawn(learner):
    run = TrainingRun(learner, d=2, N=5, noise_variance=0.5, steps=20, batch=16, layers=1, width=16, rate=0.005)
    _, history = fit(run, progress=False)
    rows = summary(run, history)
    assert rows[0]["risk"] == history[-1]["risk"]
    assert rows[2]["risk"] < rows[1]["risk"]  # ridge is better than linear attention
    _, axes = figures.new()
    data = draw(axes, run, history)
    assert [row["step"] for row in data] == [row["step"] for row in history]
    assert len(axes.lines) >= 2


def test_sgd_is_drawn_over_the_flow():
    run = TrainingRun(d=2, N=8, optimizer="sgd", rate=0.02, steps=200, batch=400)
    _, history = fit(run, progress=False)
    _, axes = figures.new()
    data = draw(axes, run, history)
    assert data[-1]["time"] == pytest.approx(4.0)
    assert data[0]["risk"] == pytest.approx(data[0]["flow"], rel=1e-9, abs=0)
    assert max(abs(row["risk"] / row["flow"] - 1) for row in data) < 0.08
    flow, trained = axes.lines[:2]
    assert np.array_equal(flow.get_xdata(), trained.get_xdata())


def test_the_curriculum_reaches_the_plan():
    assert TrainingRun(curriculum=50).plan.curriculum.at(60, d=5, N=20) == (2, 5)
    assert TrainingRun().plan.curriculum is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: TrainingRun("mamba"), "no learner 'mamba'; there are lsa, softmax"),
        (lambda: TrainingRun("decoder"), "give the task a noise variance"),
        (lambda: fit(TrainingRun(spectrum="cubic"), progress=False), "cubic"),
    ],
)
def test_bad_input_is_one_sentence(call, sentence):
    with pytest.raises(ProblemError, match=sentence):
        call()
