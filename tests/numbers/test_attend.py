"""A head in one call is its scores, weights and mixture one after another, whatever vectors it has and however many inputs."""

import numpy as np
import pytest

from glyptic.numbers import Format, heads, parse_format
from glyptic.numbers.fast import Fast, Variant
from glyptic.numbers.steps import CLAMP_ALL, CLAMP_SUMS, NO_CLAMPS

FORMATS = ["fixed:2", "fixed:8", "fixed:8/even", "q:4,4", "fixed:12", "float:3,3", "fp8_e4m3/zero"]


def operands(fast: Fast, batch: int, n_q: int, n_k: int) -> list[np.ndarray]:
    rng = np.random.default_rng([batch, n_q, n_k])
    format = fast.format
    codes = [rng.integers(format.min_code, format.max_code + 1, (c, n, batch)) for c, n in ((2, n_q), (2, n_k), (5, n_k))]
    codes[0] //= rng.choice([1, 2, 1 << format.precision], batch)  # scores of all sizes: all exps are 0, one is B, or neither
    return [fast.values(each) for each in codes]


def differences(fast: Fast, kind: str = "softmax") -> tuple[int, int]:
    """How many mixtures are not what they should be, and how many denominators were 0."""
    differ = zeros = 0
    for batch in (1, 3, 8, 16, 17, 40):
        for n_q, n_k in ((1, 1), (1, 5), (4, 4), (3, 9)):
            query, key, value = operands(fast, batch, n_q, n_k)
            for visible in (np.arange(n_k)[None] <= np.arange(n_q)[:, None] + n_k - n_q, np.eye(n_q, n_k, -1, bool)):
                weights, zero = fast.attention_weights(fast.scores(query, key, visible), visible, kind)  # type: ignore[arg-type]
                mixed = fast.mixture(weights, value, visible)
                found, found_zero = fast.attend(query, key, value, visible, kind)  # type: ignore[arg-type]
                assert found.shape == mixed.shape and found_zero.shape == zero.shape and found.dtype == mixed.dtype
                differ += int(not np.array_equal(found, mixed)) + int(not np.array_equal(found_zero, zero))
                zeros += int(zero.sum())
    return differ, zeros


@pytest.mark.parametrize("vectors", ["512", "256", "unfused", None])
@pytest.mark.parametrize("name", FORMATS)
def test_one_call_is_three(name: str, vectors) -> None:
    format = parse_format(name)
    assert isinstance(format, Format)
    for clamps in (NO_CLAMPS, CLAMP_SUMS, CLAMP_ALL):
        differ, zeros = differences(Fast(format, variant=Variant(vectors, clamps)))
        assert not differ and (zeros or name not in ("fixed:2", "fixed:8"))


def test_every_other_kind_goes_step_by_step() -> None:
    for kind in ("max-subtracted", "leftmost", "rightmost", "average"):
        assert differences(Fast(parse_format("fixed:4")), kind)[0] == 0  # type: ignore[arg-type]


def test_a_wrong_mixture_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = heads.softmax_attention

    def wrong(*given):
        mixed, totals = right(*given)
        return -mixed, totals

    monkeypatch.setattr(heads, "softmax_attention", wrong)
    assert differences(Fast(parse_format("fixed:4")))[0]
