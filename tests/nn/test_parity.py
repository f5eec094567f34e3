"""Parity is the product: one masked pass gives at all positions what cached steps give one by one, to 1e-12."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from glyptic import nn
from glyptic.errors import ModelError
from glyptic.nn.config import POSITIONS
from tests.nn import small

NORMS = ("layer", "rms", "rms_outside", "group", "batch", "none")
LENGTH = 9
SPLITS = ([1] * LENGTH, [LENGTH], [4, 1, 1, 3], [1, 7, 1])
PADDING = (3, 0, 5)  # tokens of padding on the left of each row
TOLERANCE = 1e-12


class Runner:
    """A decoder, or an encoder–decoder with its source, behind one interface."""

    def __init__(self, model: Any, batch: int) -> None:
        self.model, self.inputs = model, {}
        if model.config.kind == "encoder_decoder":
            source = small.tokens(batch, 6, seed=7)
            real = torch.ones(batch, 6, dtype=torch.bool)
            real[0, 4:] = False
            self.inputs["memory"] = model.encode(source, real)

    def rows(self, row: int) -> Runner:
        """The same for one row of the batch alone."""
        alone = Runner.__new__(Runner)
        alone.model, alone.inputs = self.model, {}
        if "memory" in self.inputs:
            memory = self.inputs["memory"]
            alone.inputs["memory"] = nn.Memory(memory.vectors[row : row + 1], memory.mask[row : row + 1])
        return alone

    def __call__(self, tokens: torch.Tensor, **more: Any) -> torch.Tensor:
        return self.model.logits(self.model.hidden(tokens, **self.inputs, **more))

    def in_steps(self, tokens: torch.Tensor, split: list[int], kind: str, real: torch.Tensor | None) -> torch.Tensor:
        batch, length = tokens.shape
        cache = self.model.new_cache(batch, None if kind == "ring" else length, kind)
        outputs, start = [], 0
        for size in split:
            part = slice(start, start + size)
            mask = None if real is None else real[:, part]
            outputs.append(self(tokens[:, part], padding_mask=mask, cache=cache))
            start += size
        return torch.cat(outputs, dim=1)


def worst(a: torch.Tensor, b: torch.Tensor, real: torch.Tensor | None = None) -> float:
    difference = (a - b).abs()
    return (difference if real is None else difference[real]).max().item()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("place", ["pre", "post"])
@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_parallel_equals_cached(positions: str, kind: str, place: str, norm: str) -> None:
    model = small.model(kind=kind, positions=positions, norm_place=place, norm=norm)
    run, tokens = Runner(model, 3), small.tokens(3, LENGTH)
    parallel = run(tokens)
    assert parallel.std() > 0.05
    for split in SPLITS:
        assert worst(parallel, run.in_steps(tokens, split, "static", None)) < TOLERANCE, split
    assert worst(parallel, run.in_steps(tokens, SPLITS[2], "fixed", None)) < TOLERANCE

    real = torch.arange(LENGTH)[None, :] >= torch.tensor(PADDING)[:, None]
    padded = run(tokens, padding_mask=real)
    assert not padded.isnan().any()
    for split in SPLITS:
        assert worst(padded, run.in_steps(tokens, split, "static", real), real) < TOLERANCE, split
    for row, pad in enumerate(PADDING):
        alone = run.rows(row)(tokens[row : row + 1, pad:])
        assert worst(padded[row : row + 1, pad:], alone) < TOLERANCE, row


@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_sliding_windows_in_every_cache(positions: str, kind: str) -> None:
    model = small.model(kind=kind, positions=positions, sliding_window=3, key_value_heads=1)
    run, tokens = Runner(model, 3), small.tokens(3, LENGTH)
    real = torch.arange(LENGTH)[None, :] >= torch.tensor(PADDING)[:, None]
    for mask, cache, split in itertools.product((None, real), ("static", "ring", "fixed"), SPLITS):
        if cache == "fixed" and mask is not None:
            continue
        parallel = run(tokens, padding_mask=mask)
        assert worst(parallel, run.in_steps(tokens, split, cache, mask), mask) < TOLERANCE, (cache, split)
    wide = small.model(kind=kind, positions=positions, key_value_heads=1)
    if kind == "decoder":
        assert worst(run(tokens)[:, 3:], Runner(wide, 3)(tokens)[:, 3:]) > 1e-3  # the window is not idle


# Padding anywhere: after a right-padded prefill, between two chunks, and alone.
SCATTERED = torch.tensor(
    [
        [1, 1, 0, 0, 1, 1, 1, 1, 1],  # right-padded chunk of 4, then steps
        [1, 1, 1, 1, 1, 0, 0, 1, 1],
        [0, 1, 0, 1, 1, 0, 0, 0, 1],
    ]
).bool()


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder", "encoder"])
@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_padding_anywhere_is_as_if_it_were_not_there(positions: str, kind: str, window: int | None) -> None:
    """Distances and windows count real tokens: each row gives what it gives alone, in one pass and from every cache."""
    model = small.model(kind=kind, positions=positions, sliding_window=window)
    run, tokens = Runner(model, 3), small.tokens(3, LENGTH)
    padded = run(tokens, padding_mask=SCATTERED)
    assert not padded.isnan().any()
    for row, real in enumerate(SCATTERED):
        alone = run.rows(row)(tokens[row : row + 1, real])
        assert worst(padded[row : row + 1, real], alone) < TOLERANCE, row
    if kind == "encoder":
        return
    for cache, split in itertools.product(("static", "ring") if window else ("static",), SPLITS):
        steps = run.in_steps(tokens, split, cache, SCATTERED)
        assert worst(padded, steps, SCATTERED) < TOLERANCE, (cache, split)


@pytest.mark.parametrize("positions", POSITIONS)
@torch.no_grad()
def test_a_right_padded_prefill_then_steps_without_a_mask(positions: str) -> None:
    run, tokens = Runner(small.model(positions=positions), 2), small.tokens(2, 7)
    real = torch.tensor([[True, True, True, True], [True, True, False, False]])
    cache = run.model.new_cache(2, 7)
    run(tokens[:, :4], padding_mask=real, cache=cache)
    steps = torch.cat([run(tokens[:, t : t + 1], cache=cache) for t in (4, 5, 6)], dim=1)
    assert worst(steps[:1], run(tokens[:1])[:, 4:]) < TOLERANCE
    assert worst(steps[1:], run(tokens[1:, [0, 1, 4, 5, 6]])[:, 2:]) < TOLERANCE


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("parallel", [False, True])
@torch.no_grad()
def test_grouped_queries_and_parallel_blocks(groups: int, parallel: bool) -> None:
    fields: dict[str, Any] = {"width": 16, "heads": 4, "key_value_heads": groups, "feed_forward": "swiglu"}
    run = Runner(small.model(positions="rotary", rotary_fraction=0.5, parallel=parallel, **fields), 2)
    tokens = small.tokens(2, LENGTH)
    for split in SPLITS:
        assert worst(run(tokens), run.in_steps(tokens, split, "static", None)) < TOLERANCE


@pytest.mark.parametrize("backend", ["reference", "sdpa", "blocked"])
@torch.no_grad()
def test_every_backend_and_beyond_a_block(backend: str) -> None:
    """150 tokens: more than two blocks of `blocked`."""
    run = Runner(small.model(positions="rotary", backend=backend, context=200), 2)
    tokens = small.tokens(2, 150)
    expected = Runner(small.model(positions="rotary", backend="reference", context=200), 2)(tokens)
    assert worst(run(tokens), expected) < TOLERANCE
    assert worst(expected, run.in_steps(tokens, [70, 1, 1, 78], "static", None)) < TOLERANCE


def test_every_position_depends_on_the_past_only() -> None:
    """The causal claim itself, by gradients: no output knows a later input."""
    for positions in POSITIONS:
        model = small.model(positions=positions, head="none")
        vectors = torch.randn(1, 6, 12, dtype=torch.float64, requires_grad=True)
        hidden = model(vectors=vectors)
        for place in range(6):
            (gradient,) = torch.autograd.grad(hidden[0, place].square().sum(), vectors, retain_graph=True)
            assert gradient[0, place + 1 :].abs().sum() == 0
            assert gradient[0, : place + 1].abs().sum(-1).min() > 0


@pytest.mark.parametrize("place", ["pre", "post"])
@pytest.mark.parametrize("kind", ["decoder", "encoder_decoder"])
def test_what_cannot_be_causal_is_refused(kind: str, place: str) -> None:
    tokens = small.tokens(2, 5)
    with pytest.raises(ModelError, match="norm='instance'"):
        small.config(kind=kind, norm="instance", norm_place=place)
    run = Runner(small.model(kind=kind, norm="batch", norm_place=place), 2)
    run(tokens)
    run.model.train()
    with pytest.raises(ModelError, match="norm='batch' in training"):
        run(tokens)


@pytest.mark.parametrize("place", ["pre", "post"])
def test_an_encoder_may_pool_over_tokens_but_not_over_padding(place: str) -> None:
    tokens, real = small.tokens(2, 5), torch.ones(2, 5, dtype=torch.bool)
    for norm in ("batch", "instance"):
        model = small.model(kind="encoder", norm=norm, norm_place=place).train()
        model(tokens)
        with pytest.raises(ModelError, match="pools over tokens"):
            model(tokens, padding_mask=real)


@torch.no_grad()
def test_the_cost_of_a_cached_step_is_linear_in_the_length() -> None:
    """FLOPs as torch counts them: each further token adds the same, so n tokens after n cost O(n²) and not O(n³)."""
    from torch.utils.flop_counter import FlopCounterMode

    model = small.model(context=64, backend="reference")
    cache, costs = model.new_cache(1, 64), []
    for _ in range(40):
        with FlopCounterMode(display=False) as counter:
            model(small.tokens(1, 1), cache=cache)
        costs.append(counter.get_total_flops())
    growth = {b - a for a, b in itertools.pairwise(costs)}
    assert len(growth) == 1
    assert growth.pop() == 2 * 2 * 2 * 12  # 2 layers, q·k and weights·v, a multiplication and an addition each
