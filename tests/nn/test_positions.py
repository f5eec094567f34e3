"""Positions: formulas, independent double loops, public implementations, order, and lengths beyond the trained one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from glyptic import nn
from glyptic.errors import InputError
from glyptic.nn.config import POSITIONS
from glyptic.nn.parts import positions as positions_of_the_room
from glyptic.nn.parts.multi_head import Context, SelfAttention
from glyptic.nn.parts.positions import Alibi, Rotary, rotate, sinusoids
from glyptic.nn.parts.positions.alibi import slopes
from glyptic.nn.parts.positions.t5 import bucket
from tests.nn import small

ORDERED = [kind for kind in POSITIONS if kind != "none"]


def test_every_kind_has_its_row_in_the_room_and_on_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "architecture-on-pytorch.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip().lower().replace("-", "_") for line in page.splitlines() if line.startswith("| ")}
    assert set(POSITIONS) <= rows
    assert set(POSITIONS) <= {line.split()[0] for line in str(positions_of_the_room.__doc__).splitlines() if line}


def test_sinusoids_by_their_formula() -> None:
    table = sinusoids(torch.arange(7), 6)
    for t in range(7):
        for i in range(3):
            angle = t / 10000 ** (2 * i / 6)
            assert abs(table[t, 2 * i].item() - math.sin(angle)) < 1e-15
            assert abs(table[t, 2 * i + 1].item() - math.cos(angle)) < 1e-15
    halves = sinusoids(torch.arange(7), 6, "halves")
    assert torch.equal(halves, torch.cat([table[:, 0::2], table[:, 1::2]], dim=1))


def test_a_shift_of_sinusoids_is_a_rotation() -> None:
    """Vaswani's reason for them: PE(t + k) is a linear function of PE(t), whatever t."""
    table, k = sinusoids(torch.arange(50), 8), 5
    angles = k / 10000 ** (torch.arange(0, 8, 2).double() / 8)
    blocks = [
        torch.tensor([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]], dtype=torch.float64) for a in angles
    ]
    shift = torch.block_diag(*blocks)
    assert (table[:-k] @ shift.T - table[k:]).abs().max() < 1e-14


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("buckets", "distance"), [(32, 128), (8, 12), (10, 50)])
def test_t5_buckets_equal_the_public_ones(bidirectional: bool, buckets: int, distance: int) -> None:
    ahead = torch.arange(-300, 301)
    theirs = T5Attention._relative_position_bucket(ahead, bidirectional, buckets, distance)
    assert torch.equal(bucket(ahead, buckets, distance, bidirectional), theirs)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 8, 12])
def test_alibi_slopes_equal_the_public_ones(heads: int) -> None:
    theirs = build_alibi_tensor(torch.ones(1, 3), heads, torch.float32)[:, 0, 1]  # slope × position 1
    assert torch.allclose(torch.tensor(slopes(heads)), theirs)


def test_alibi_attention_equals_the_public_one() -> None:
    """Bloom adds slope · j, we −slope · (i − j): a row's softmax does not see the difference."""
    config = small.config(positions="alibi", heads=6)
    positions, scores = torch.arange(7), torch.randn(6, 7, 7, dtype=torch.float64)
    future = ~torch.ones(7, 7, dtype=torch.bool).tril()
    theirs = build_alibi_tensor(torch.ones(1, 7), 6, torch.float64)  # [H, 1, S]
    ours = Alibi(config)(positions[:, None] - positions[None, :], torch.float64)
    expected = (scores + theirs).masked_fill(future, -torch.inf).softmax(-1)
    assert ((scores + ours).masked_fill(future, -torch.inf).softmax(-1) - expected).abs().max() < 1e-7
    assert (ours.diagonal(dim1=1, dim2=2) == 0).all()
    assert torch.equal(ours, ours.mT)  # an encoder's bias is symmetric


def test_rotary_scores_depend_on_the_difference_alone() -> None:
    rotary = Rotary(small.config(positions="rotary", width=24, context=100))
    q, k = torch.randn(2, 1, 1, 3, 8, dtype=torch.float64).unbind()

    def score(i: int, j: int) -> torch.Tensor:
        turned = [rotate(x, rotary(torch.tensor([t]), t + 1, torch.float64)) for x, t in ((q, i), (k, j))]
        return (turned[0] * turned[1]).sum(-1)

    assert (score(7, 3) - score(94, 90)).abs().max() < 1e-13
    assert (score(7, 3) - score(8, 3)).abs().max() > 1e-3
    assert (score(500, 496) - score(7, 3)).abs().max() < 1e-12  # beyond the table


def layer(positions: str, seed: int = 0, **more: Any) -> SelfAttention:
    config = small.config(positions=positions, backend="reference", **more)
    return small.scramble(SelfAttention(config, 0).double(), seed)


def heads_of(attention: SelfAttention, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """q, k, v as [H, T, K]."""
    qkv = attention.qkv(x).view(len(x), -1, attention.size).transpose(0, 1)
    return qkv.split([attention.heads] * 3)


@pytest.mark.parametrize("causal", [True, False])
@torch.no_grad()
def test_shaw_against_a_naive_double_loop(causal: bool) -> None:
    attention, x = layer("shaw"), torch.randn(8, 12, dtype=torch.float64)
    q, k, v = heads_of(attention, x)
    assert attention.shaw is not None
    a_k, a_v, clip = attention.shaw.keys, attention.shaw.values, 3
    outputs = torch.zeros(8, 3, 4, dtype=torch.float64)
    for h in range(3):
        for i in range(8):
            scores = []
            for j in range(i + 1 if causal else 8):
                row = max(-clip, min(clip, j - i)) + clip
                scores.append(math.exp(float(q[h, i] @ (k[h, j] + a_k[row])) / 2))  # √K = 2
            for j, score in enumerate(scores):
                row = max(-clip, min(clip, j - i)) + clip
                outputs[i, h] += score / sum(scores) * (v[h, j] + a_v[row])
    expected = attention.out(outputs.flatten(1))
    slots = torch.arange(8)
    context = Context(causal=causal, distances=slots[:, None] - slots[None, :])
    assert (attention(x[None], context)[0] - expected).abs().max() < 1e-13


@pytest.mark.parametrize("length", [3, 8])  # below K = 4 the projection is carried to the queries
@pytest.mark.parametrize("causal", [True, False])
@torch.no_grad()
def test_transformer_xl_against_a_naive_double_loop(length: int, causal: bool) -> None:
    attention, x = layer("transformer_xl"), torch.randn(length, 12, dtype=torch.float64)
    q, k, v = heads_of(attention, x)
    relative = attention.relative
    assert relative is not None
    outputs = torch.zeros(length, 3, 4, dtype=torch.float64)
    for h in range(3):
        for i in range(length):
            scores = []
            for j in range(i + 1 if causal else length):
                r = torch.tensor(
                    [f((i - j) / 10000 ** (2 * (m // 2) / 12)) for m, f in zip(range(12), [math.sin, math.cos] * 6)],  # noqa: B905
                    dtype=torch.float64,
                )
                projected = (relative.project.weight @ r).view(3, 4)[h]
                content = (q[h, i] + relative.u[h, 0]) @ k[h, j]
                position = (q[h, i] + relative.v[h, 0]) @ projected
                scores.append(math.exp(float(content + position) / 2))
            for j, score in enumerate(scores):
                outputs[i, h] += score / sum(scores) * v[h, j]
    expected = attention.out(outputs.flatten(1))
    slots = torch.arange(length)
    context = Context(
        causal=causal,
        distances=slots[:, None] - slots[None, :],
        sinusoids=sinusoids(torch.arange(1 - length, length), 12),
    )
    assert (attention(x[None], context)[0] - expected).abs().max() < 1e-13


@torch.no_grad()
def test_transformer_xl_carries_its_memory_over_segments() -> None:
    """Segments through a ring of keys equal one pass with a window: the recurrence of the paper."""
    model = small.model(positions="transformer_xl", sliding_window=5)
    tokens = small.tokens(2, 15)
    cache = model.new_cache(2, kind="ring")
    segments = torch.cat([model(tokens[:, i : i + 5], cache=cache) for i in (0, 5, 10)], dim=1)
    assert (segments - model(tokens)).abs().max() < 1e-12


@torch.no_grad()
def test_without_positions_order_is_not_seen() -> None:
    """Permuting tokens permutes outputs of an encoder, if and only if it has no positions."""
    permutation = torch.tensor([3, 0, 4, 1, 2])
    tokens = torch.tensor([[5, 1, 8, 3, 9]])
    for positions in ("none", *ORDERED):
        model = small.model(kind="encoder", positions=positions)
        difference = (model(tokens)[:, permutation] - model(tokens[:, permutation])).abs().max()
        assert bool(difference < 1e-12) is (positions == "none"), positions


@torch.no_grad()
def test_beyond_the_trained_length() -> None:
    """A learned table ends; all other kinds are defined at any length, in one pass and from a cache."""
    tokens = small.tokens(1, 40)
    for positions in ("none", *ORDERED):
        model = small.model(positions=positions, context=16)
        if positions == "learned":
            with pytest.raises(InputError, match="40 tokens is longer than the learned table of context=16"):
                model(tokens)
            cache = model.new_cache(1, 40)
            model(tokens[:, :16], cache=cache)
            with pytest.raises(InputError, match="17 tokens"):
                model(tokens[:, 16:17], cache=cache)
            continue
        whole = model(tokens)
        assert whole.isfinite().all()
        cache = model.new_cache(1, 40)
        steps = torch.cat(
            [model(tokens[:, :20], cache=cache), *(model(tokens[:, i : i + 1], cache=cache) for i in range(20, 40))], 1
        )
        assert (whole - steps).abs().max() < 1e-12, positions


@torch.no_grad()
def test_clipped_and_bucketed_distances_are_alike_far_away() -> None:
    """Shaw and T5 see no difference between two distances beyond their limit; ALiBi and XL do."""
    far = {"shaw": True, "t5": True, "alibi": False, "transformer_xl": False}
    for positions, alike in far.items():
        model = small.model(positions=positions, layers=1, backend="reference", relative_distance=6, relative_buckets=4)
        a, b = torch.full((1, 30), 2), torch.full((1, 30), 2)
        a[0, 1], b[0, 2] = 7, 7  # the only unlike token, 28 or 27 back from the last
        difference = (model(a)[0, -1] - model(b)[0, -1]).abs().max()
        assert bool(difference < 1e-12) is alike, positions


@pytest.mark.parametrize("kind", ["linear", "ntk", "llama3", "yarn"])
def test_rotary_scaling_slows_the_slowest_pair_by_its_factor(kind: str) -> None:
    scaling = nn.RotaryScaling(kind, 4.0, original_context=64)
    fields: dict[str, Any] = {"positions": "rotary", "width": 64, "heads": 1, "rotary_base": 100000.0}
    plain, scaled = Rotary(small.config(**fields)), Rotary(small.config(**fields, rotary_scaling=scaling))
    ratio = plain.frequencies / scaled.frequencies
    assert abs(ratio[-1].item() - 4.0) < 1e-9
    assert abs(ratio[0].item() - (4.0 if kind == "linear" else 1.0)) < 1e-9


def test_ntk_scaling_is_another_base_for_every_pair() -> None:
    """θ_m = (base · factor^{R/(R−2)})^{−2m/R}: bloc97's formula, pair by pair."""
    scaling = nn.RotaryScaling("ntk", 4.0)
    rotary = Rotary(small.config(positions="rotary", width=16, heads=1, rotary_base=500.0, rotary_scaling=scaling))
    for m, frequency in enumerate(rotary.frequencies.tolist()):
        assert math.isclose(frequency, (500.0 * 4.0 ** (16 / 14)) ** (-2 * m / 16), rel_tol=1e-12)


def learns(kind: str) -> bool:
    """What the table of the room says of it."""
    lines = str(positions_of_the_room.__doc__).splitlines()
    column = next(line.index("learned") for line in lines if line.startswith("kind "))
    return next(line for line in lines if line.startswith(f"{kind} "))[column:].startswith("yes ")


@pytest.mark.parametrize("positions", ORDERED)
def test_gradients(positions: str) -> None:
    sizes: dict[str, Any] = {"layers": 1, "width": 4, "heads": 2, "relative_buckets": 4, "relative_distance": 3}
    model = small.model(positions=positions, head="none", **sizes)
    vectors = torch.randn(1, 4, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: model(vectors=x), (vectors,))
    without = dict(small.model(positions="none", head="none", **sizes).named_parameters())
    named = {name: parameter for name, parameter in model.named_parameters() if name not in without}
    assert bool(named) is learns(positions)
    if named:

        def of_parameters(*values: torch.Tensor) -> torch.Tensor:
            parameters = dict(zip(named, values, strict=True))
            return torch.func.functional_call(model, parameters, kwargs={"vectors": vectors.detach()})

        assert torch.autograd.gradcheck(of_parameters, tuple(named.values()))
