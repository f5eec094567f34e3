"""Norms against torch and against their formulas; what the lectures say of them, checked."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from glyptic.nn.parts.norms import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm
from tests.nn import small

X = torch.randn(3, 5, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 + 1


def ready(module: Any) -> Any:
    return small.scramble(module.double())


def test_layer_norm_by_its_formula() -> None:
    norm = ready(LayerNorm(8, eps=0.1))
    mean, variance = X.mean(-1, keepdim=True), X.var(-1, keepdim=True, unbiased=False)
    expected = norm.weight * (X - mean) / (variance + 0.1).sqrt() + norm.bias
    assert (norm(X) - expected).abs().max() < 1e-14


def test_rms_norm_has_eps_inside_or_outside_the_root() -> None:
    """Inside as torch has it; outside as the Zaragoza course's code has it. They differ, most for small vectors."""
    inside, outside = ready(RMSNorm(8, 0.1)), ready(RMSNorm(8, 0.1, outside=True))
    theirs = torch.nn.RMSNorm(8, eps=0.1).double()
    theirs.weight = inside.weight
    assert (inside(X) - theirs(X)).abs().max() < 1e-14
    # the Zaragoza course, slide "Layer normalization", line by line
    lecture = X / (torch.sqrt(torch.mean(X**2, dim=-1, keepdim=True)) + 0.1) * outside.weight
    assert (outside(X) - lecture).abs().max() < 1e-14
    tiny = 0.01 * X
    assert (inside(tiny) / outside(tiny)).abs().max() < 0.5


def test_rms_norm_by_one_more_than_its_weight() -> None:
    """Gemma's: a fresh one has weights 0, and in bfloat16 a weight far below 2⁻⁸ still counts, which 1 + it would swallow."""
    norm = RMSNorm(8, 0.1, plus_one=True)
    assert not norm.weight.any()
    norm = ready(norm)
    assert (norm(X) - X / (X.square().mean(-1, keepdim=True) + 0.1).sqrt() * (1 + norm.weight)).abs().max() < 1e-14
    plain, small_weight = RMSNorm(8, 0.1).bfloat16(), RMSNorm(8, 0.1, plus_one=True).bfloat16()
    torch.nn.init.constant_(small_weight.weight, 3e-3)
    torch.nn.init.constant_(plain.weight, 1 + 3e-3)
    half = X.bfloat16()
    assert torch.equal(plain(half), RMSNorm(8, 0.1).bfloat16()(half)) and not torch.equal(small_weight(half), plain(half))


def test_group_norm_of_each_token() -> None:
    norm = ready(GroupNorm(4, 8, eps=0.1))
    theirs = torch.nn.functional.group_norm(X.reshape(15, 8), 4, norm.weight, norm.bias, 0.1).view(3, 5, 8)
    assert (norm(X) - theirs).abs().max() < 1e-14
    one = ready(GroupNorm(1, 8, eps=0.1))
    assert (one(X) - torch.nn.functional.layer_norm(X, (8,), one.weight, one.bias, 0.1)).abs().max() < 1e-14


def test_batch_norm_over_tokens() -> None:
    norm = ready(BatchNorm(8, eps=0.1)).train()
    flat = X.reshape(15, 8)
    expected = norm.weight * (flat - flat.mean(0)) / (flat.var(0, unbiased=False) + 0.1).sqrt() + norm.bias
    trained = norm(X)
    assert (trained.view(15, 8) - expected).abs().max() < 1e-14
    assert (norm.eval()(X) - trained).abs().max() > 0.1  # the deep-learning class: train ≠ inference


def test_instance_norm_over_the_tokens_of_a_sequence() -> None:
    norm = ready(InstanceNorm(8, eps=0.1))
    mean, variance = X.mean(1, keepdim=True), X.var(1, keepdim=True, unbiased=False)
    expected = norm.weight * (X - mean) / (variance + 0.1).sqrt() + norm.bias
    assert (norm(X) - expected).abs().max() < 1e-14


def test_batch_norm_at_batch_one_fails_only_without_tokens_to_pool() -> None:
    """The deep-learning class: it fails at batch 1. So it does for one token and over positions kept apart, not over tokens."""
    sequence = X[:1]  # one sequence of five tokens
    assert BatchNorm(8).double().train()(sequence).isfinite().all()
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        BatchNorm(8).double().train()(sequence[:, :1])
    by_position = torch.nn.BatchNorm1d(5 * 8).double().train()  # statistics per position and feature, over the batch
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        by_position(sequence.reshape(1, 40))


def test_a_token_is_normalized_alone_or_not() -> None:
    """Changing token 4 changes token 0 in the norms that pool over tokens, and in no other."""
    changed = X.clone()
    changed[:, 4] += torch.randn(8, dtype=torch.float64)
    for norm, pools in (
        (LayerNorm(8), False),
        (RMSNorm(8), False),
        (GroupNorm(2, 8), False),
        (InstanceNorm(8), True),
        (BatchNorm(8).train(), True),
    ):
        norm = norm.double()
        assert bool((norm(X)[:, 0] - norm(changed)[:, 0]).abs().max() > 1e-6) is pools


@pytest.mark.parametrize(
    "norm",
    [LayerNorm(6), RMSNorm(6), RMSNorm(6, 0.1, outside=True), GroupNorm(3, 6), BatchNorm(6), InstanceNorm(6)],
    ids=["layer", "rms", "rms_outside", "group", "batch", "instance"],
)
def test_gradients(norm: torch.nn.Module) -> None:
    norm = ready(norm).train()
    x = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(norm, (x,))
    names = [name for name, _ in norm.named_parameters()]

    def of_parameters(*values: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(norm, dict(zip(names, values, strict=True)), (x.detach(),))

    assert torch.autograd.gradcheck(of_parameters, tuple(norm.parameters()))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_rms_norm_sums_in_float32(dtype: torch.dtype) -> None:
    big = torch.full((1, 1, 1024), 60.0, dtype=dtype)  # the sum of squares, 3.7 million, overflows float16
    assert torch.equal(RMSNorm(1024).to(dtype)(big), torch.ones_like(big))
