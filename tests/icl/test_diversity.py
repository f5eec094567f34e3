"""Few training tasks make a decoder that memorises; the threshold is where it becomes closer to ridge."""

import pytest

from glyptic.icl.experiments.diversity import measure_pool, threshold


def row(tasks, to_dmmse, to_ridge):
    return {"tasks": tasks, "new_decoder_to_dmmse": to_dmmse, "new_decoder_to_ridge": to_ridge}


def test_threshold():
    assert threshold([row(16, 4, 1), row(4, 1, 4)]) == pytest.approx(8)
    assert threshold([row(1, 1, 2), row(4, 1, 2)]) is None
    assert threshold([row(2, 2, 1), row(4, 2, 1)]) == 2
    assert threshold([row(1, 1, 9), row(10, 1, 1), row(100, 9, 1)]) == pytest.approx(10)


def test_one_training_task_is_memorised():
    found = measure_pool(d=2, tasks=1, noise_variance=0.25, N=4, steps=150, seed=0, prompts=300)
    assert found["pool_dmmse"] == pytest.approx(0, abs=1e-12)  # one task: nothing to infer
    assert found["pool_decoder"] < 0.05
    assert found["new_decoder_to_dmmse"] < 0.2 * found["new_decoder_to_ridge"]
    assert found["new_decoder"] > 3 * found["new_ridge"]
