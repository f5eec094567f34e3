"""Positions that act inside attention, as the tables of an exact head: angles by position, or additions by distance.

    rotary           cosine, sine (positions, pairs), each rounded once
    alibi, t5        distance_scores: −slope·(i−j), or the bucket's bias
    shaw             distance_keys, distance_values: the vectors of the clipped distance
    transformer_xl   score_ij = ((q_i + u)·k_j + (q_i + v)·r_(i−j)) · scale with r = W_r R. With q' = q + u for the query:
                     (q'_i·k_j + q'_i·r) · scale + (v − u)·r · scale; so u is the query's bias, r are distance_keys, and the last
                     term, which no token enters, is a number by distance: distance_scores

The tables are computed by nn's own modules, in float64 (rotary: in the precision of the config), and then rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.nn import Decoder
from glyptic.nn.parts.positions import sinusoids

Matrix = np.ndarray  # of float64


def as_array(tensor: Tensor) -> Matrix:
    """A tensor's numbers in float64."""
    return tensor.detach().double().cpu().numpy()


def attention_of(model: Decoder, layer: int) -> Any:
    """The self-attention of a layer."""
    return model.get_submodule(f"stack.blocks.{layer}.attn")


@torch.no_grad()
def tables(model: Decoder, layer: int, head: int, length: int) -> dict[str, Matrix]:
    """What positions give to a head besides its matrices; `query_bias`, where it is there, is one more bias of the query."""
    make: dict[str, Callable[[Decoder, Any, int, int], dict[str, Matrix]]]
    make = {"rotary": _rotary, "alibi": _of_scores, "t5": _of_scores, "shaw": _shaw, "transformer_xl": _transformer_xl}
    kind = model.config.positions
    return make[kind](model, attention_of(model, layer), head, length) if kind in make else {}


def turned_rows(model: Decoder) -> int:
    """How many rows of each head's W_Q and W_K rotary positions turn."""
    return 0 if model.stack.rotary is None else model.stack.rotary.width


def _rotary(model: Decoder, attention: Any, head: int, length: int) -> dict[str, Matrix]:
    assert model.stack.rotary is not None
    turns = model.stack.rotary.compute(torch.arange(length))
    return {"cosine": as_array(turns.real), "sine": as_array(turns.imag)}


def _of_scores(model: Decoder, attention: Any, head: int, length: int) -> dict[str, Matrix]:
    assert model.stack.score_bias is not None
    every = model.stack.score_bias(torch.arange(length)[:, None], torch.float64)  # [H, T, 1]: one key, at distances 0, 1, …
    return {"distance_scores": as_array(every[head, :, 0])}


def _shaw(model: Decoder, attention: Any, head: int, length: int) -> dict[str, Matrix]:
    rows = attention.shaw.index(torch.arange(min(length, attention.shaw.clip + 1)))
    return {f"distance_{name}": as_array(getattr(attention.shaw, name)[rows]) for name in ("keys", "values")}


def _transformer_xl(model: Decoder, attention: Any, head: int, length: int) -> dict[str, Matrix]:
    relative, config = attention.relative, model.config
    projection = as_array(relative.project.weight).reshape(config.heads, config.head_size, config.width)[head]
    rows = as_array(sinusoids.plain(torch.arange(length), config.width)) @ projection.T  # (length, K)
    u, v = (as_array(x)[head, 0] for x in (relative.u, relative.v))
    return {"distance_keys": rows, "distance_scores": rows @ (v - u) * config.scale, "query_bias": u}
