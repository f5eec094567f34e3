"""Beyond the trained length: a class rates sinusoidal and rotary positions as extrapolating well; measured, they do not.

Sinusoidal falls to chance (1 in 8) at twice the length, rotary at four times; Transformer-XL's relative sinusoids hold.
All eight kinds are in `benchmarks/bench_nn_extrapolation.py`.
"""

from __future__ import annotations

import pytest
from benchmarks.bench_nn_extrapolation import accuracies


@pytest.mark.parametrize(
    ("positions", "good", "lost"),
    [
        ("sinusoidal", [16], [32, 64]),
        ("rotary", [16], [64]),
        pytest.param("transformer_xl", [16, 32, 64], [], marks=pytest.mark.slow),
    ],
)
def test_trained_on_16_tokens(positions: str, good: list[int], lost: list[int]) -> None:
    found = accuracies(positions)
    assert all((found[length] or 0.0) > 0.95 for length in good), found
    assert all((found[length] or 0.0) < 0.5 for length in lost), found
