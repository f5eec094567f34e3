"""Curves and their bands."""

import numpy as np
import pytest

from glyptic.icl.experiments.curves import bootstrap, curve, wrong_sign
from glyptic.icl.experiments.prompts import sample
from glyptic.icl.experiments.tasks import Classification, LinearTask
from glyptic.icl.theory.problem import ProblemError


def test_bands_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    errors = rng.exponential(2.0, (120, 400))  # 400 experiments of 120 prompts, mean 2
    _, low, high = bootstrap(errors, confidence=0.9, resamples=1000, seed=1)
    covered = np.mean((low <= 2.0) & (high >= 2.0))
    assert 0.84 < covered < 0.94


def test_bands_resample_whole_prompts_and_are_seeded():
    errors = np.random.default_rng(0).random((50, 1)) * np.ones((1, 3))  # perfectly correlated along the prompt
    mean, low, high = bootstrap(errors, 0.9, 500, seed=3)
    assert np.ptp(low) < 1e-12
    assert np.ptp(high) < 1e-12
    assert (low < mean).all()
    assert (mean < high).all()
    assert np.array_equal(bootstrap(errors, 0.9, 500, seed=3)[1], low)


def test_what_has_no_answer_drops_out():
    prompts = sample(LinearTask(2), np.random.default_rng(0), 30, 4)
    answer = np.zeros((30, 3))
    answer[:, 1] = np.nan
    rows = curve("one", answer, prompts, [0, 2, 4]).rows()
    assert [row["k"] for row in rows] == [0, 4]
    assert all(row["low"] <= row["mean"] <= row["high"] for row in rows)


def test_error_rate_of_a_classifier():
    prompts = sample(Classification(2), np.random.default_rng(0), 100, 4)
    target = prompts.target[:, [0]]
    for answer, rate in ((target, 0.0), (-3 * target, 1.0), (0 * target, 0.5)):
        assert curve("c", answer, prompts, [0], wrong_sign).mean[0] == rate


def test_bad_input_is_one_sentence():
    with pytest.raises(ProblemError, match=r"confidence of 1\.5 is not between 0 and 1"):
        bootstrap(np.zeros((3, 1)), 1.5, 10, 0)
