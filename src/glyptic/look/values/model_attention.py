"""Attention of every layer and head, recorded, measured, and made small enough for a page.

Few weights are kept as k/65535. Many are kept as (k/255)²: never off by more than 1/255, and small ones by much less; since
each row sums to 1, that takes less than six bits a weight. Causal maps send their triangle. What does not fit into the budget
is shown by its thumbnail alone, in which one pixel is the largest weight of a block; the page says so.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.look.pages import pack
from glyptic.nn.models import EncoderDecoder, Model
from glyptic.nn.parts.attention import repeat_heads
from glyptic.nn.parts.masks import distances as distances_of
from glyptic.nn.parts.positions import sinusoids

FEW = 200_000  # weights up to which 16 bits are kept of each
THUMBNAIL = 64  # pixels along a side
_FULL = 1 << 28  # weights beyond which no whole map is kept


@dataclass
class AttentionSite:
    """The attentions of one kind in one stack: of an encoder, of a decoder, or from the one to the other."""

    key: str  # self, encoder, decoder or cross
    path: str  # of a layer's hooks
    modules: list[Any]
    stack: Any
    causal: bool
    rows: int
    columns: int
    queries: int = 0  # which sequence the rows are, and which the columns
    keys: int = 0
    metrics: dict[str, list[float | None]] = field(default_factory=dict)
    maps: list[np.ndarray | None] = field(default_factory=list)
    thumbnails: list[np.ndarray] = field(default_factory=list)
    products: list[tuple[Tensor, Tensor]] = field(default_factory=list)  # q and k of each layer
    outputs: list[Tensor] = field(default_factory=list)  # z of each layer

    @property
    def layers(self) -> int:
        return len(self.modules)

    @property
    def entries(self) -> int:
        """Weights that one head sends."""
        return self.rows * (self.rows + 1) // 2 if self.causal else self.rows * self.columns

    def hook(self, layer: int, name: str) -> str:
        return f"{self.path.format(layer)}.{name}"


def sites_of(model: Model, lengths: list[int]) -> list[AttentionSite]:
    """Where a model attends; lengths of its sequences."""
    if isinstance(model, EncoderDecoder):
        source, target = lengths
        encoder, decoder = list(model.encoder.blocks), list(model.decoder.blocks)
        own = [block.attn for block in encoder], [block.attn for block in decoder]
        across = [block.cross_attn for block in decoder]
        return [
            AttentionSite("encoder", "encoder.{}.attn", own[0], model.encoder, False, source, source),
            AttentionSite("decoder", "decoder.{}.attn", own[1], model.decoder, True, target, target, 1, 1),
            AttentionSite("cross", "decoder.{}.cross_attn", across, model.decoder, False, target, source, 1, 0),
        ]
    stack: Any = model.stack
    modules = [block.attn for block in stack.blocks]
    return [AttentionSite("self", "blocks.{}.attn", modules, stack, stack.causal, lengths[0], lengths[0])]


def listeners(sites: list[AttentionSite], measures: Measures, few: bool) -> Iterator[tuple[str, Callable[[Tensor], Tensor]]]:
    """Name of a hook and what notes its value there; nothing is changed."""
    for site in sites:
        site.products = [None] * site.layers  # type: ignore[list-item]
        site.outputs = [None] * site.layers  # type: ignore[list-item]
        site.maps, site.thumbnails, site.metrics = [], [], {}
        rotated = getattr(site.modules[0], "hook_rot_q", None) is not None
        for layer in range(site.layers):
            yield site.hook(layer, "hook_pattern"), _noting_weights(site, measures, few)
            yield site.hook(layer, "hook_rot_q" if rotated else "hook_q"), _noting_product(site, layer, 0)
            yield site.hook(layer, "hook_rot_k" if rotated else "hook_k"), _noting_product(site, layer, 1)
            yield site.hook(layer, "hook_z"), _noting_output(site, layer)


def _noting_weights(site: AttentionSite, measures: Measures, few: bool) -> Callable[[Tensor], Tensor]:
    def note(weights: Tensor) -> Tensor:
        every = weights[0].detach().float()
        for name, values in measures.of(site, every).items():
            site.metrics.setdefault(name, []).extend(values)
        for head in every.cpu().numpy():
            codes = encode(head, few)
            whole = site.entries * site.layers * len(every) <= _FULL
            site.maps.append((triangle(codes) if site.causal else codes.reshape(-1)) if whole else None)
            site.thumbnails.append(encode(pooled(head), False))
        return weights

    return note


def _noting_product(site: AttentionSite, layer: int, which: int) -> Callable[[Tensor], Tensor]:
    def note(x: Tensor) -> Tensor:
        before = site.products[layer] or (x, x)
        site.products[layer] = (x.detach(), before[1]) if which == 0 else (before[0], x.detach())
        return x

    return note


def _noting_output(site: AttentionSite, layer: int) -> Callable[[Tensor], Tensor]:
    def note(z: Tensor) -> Tensor:
        site.outputs[layer] = z.detach()
        return z

    return note


def encode(weights: np.ndarray, few: bool) -> np.ndarray:
    """Weights as 16 bits, or their roots as 8.

    >>> encode(np.array([0.25, 1.0]), True).tolist(), encode(np.array([0.25, 1.0]), False).tolist()
    ([16384, 65535], [128, 255])
    """
    if few:
        return np.rint(weights * 65535).clip(0, 65535).astype(np.uint16)
    return np.rint(np.sqrt(weights.clip(0, 1)) * 255).astype(np.uint8)


def triangle(matrix: np.ndarray) -> np.ndarray:
    """The entries up to the diagonal, row after row.

    >>> triangle(np.array([[1, 0], [2, 3]])).tolist()
    [1, 2, 3]
    """
    return matrix[np.tril_indices(len(matrix))]


def pooled(matrix: np.ndarray) -> np.ndarray:
    """At most 64 × 64: the largest of each block.

    >>> pooled(np.eye(130)).shape
    (44, 44)
    """
    for axis in (0, 1):
        size = -(-matrix.shape[axis] // THUMBNAIL)
        starts = np.arange(0, matrix.shape[axis], size)
        matrix = np.maximum.reduceat(matrix, starts, axis=axis)
    return matrix


@dataclass(frozen=True)
class Measures:
    """What the wall can be sorted by: one number a head."""

    ids: Tensor | None  # tokens of the sequence that attends to itself, for induction
    side: int | None = None  # patches along the side of an image

    def of(self, site: AttentionSite, weights: Tensor) -> dict[str, list[float | None]]:
        """Weights [H, T, S] → measures of each head."""
        found = {"entropy": _entropy(weights), "first": weights[:, :, 0].mean(1)}
        if site.key != "cross":
            found["itself"] = weights.diagonal(dim1=1, dim2=2).mean(1)
            found["reach"] = (weights * self._away(site.rows).to(weights)).sum(2).mean(1)
        if site.key != "cross" and self.side is None and site.rows > 1:
            found["previous"] = weights.diagonal(offset=-1, dim1=1, dim2=2).mean(1)
            after = self._after_the_same(site)
            if after is not None:
                seen = after.any(1)
                found["induction"] = (weights * after.to(weights)).sum(2)[:, seen].mean(1)
        return {name: [float(f"{value:.5g}") for value in values.tolist()] for name, values in found.items()}

    def _away(self, rows: int) -> Tensor:
        """How far apart two positions are: tokens between them, or patches along the sides."""
        places = torch.arange(rows)
        if self.side is None:
            return (places[:, None] - places[None, :]).abs()
        y, x = (places - 1) // self.side, (places - 1) % self.side
        away = ((y[:, None] - y[None, :]) ** 2 + (x[:, None] - x[None, :]) ** 2).float().sqrt()
        away[0, :], away[:, 0] = 0, 0  # the class token is nowhere
        return away

    def _after_the_same(self, site: AttentionSite) -> Tensor | None:
        """[T, S]: True at the token after an earlier occurrence of the query's own; None where nothing repeats."""
        if self.ids is None or site.key == "encoder" or len(self.ids) != site.rows:
            return None
        ids = self.ids.cpu()
        same = (ids[:, None] == ids[None, :]).tril(-1)
        after = torch.zeros_like(same)
        after[:, 1:] = same[:, :-1]
        return after if bool(after.any()) else None


def _entropy(weights: Tensor) -> Tensor:
    """Mean over the queries, in bits."""
    return torch.special.entr(weights).sum(2).mean(1) / np.log(2)


def scores_before_mask(site: AttentionSite, layer: int) -> Tensor:
    """[H, T, S]: what softmax would be given if no key were hidden: products of queries and keys, and what positions add."""
    q, k = (each.transpose(1, 2) for each in site.products[layer])
    module, k = site.modules[layer], repeat_heads(k, q)
    if site.key == "cross":
        return (module.scale * (q @ k.transpose(-2, -1)))[0]
    places = torch.arange(site.rows, device=q.device)
    apart = distances_of.plain(places, places)
    bias: Tensor | float = 0.0
    if module.relative is not None:
        table = sinusoids.plain(torch.arange(1 - site.rows, site.rows, device=q.device), site.stack.config.width).to(q.dtype)
        bias = module.scale * module.relative.bias(q, apart, table)
        q = q + module.relative.u
    elif module.shaw is not None:
        bias = module.scale * module.shaw.bias(q, apart)
    elif site.stack.score_bias is not None:
        bias = site.stack.score_bias(apart, q.dtype)
    return (module.scale * (q @ k.transpose(-2, -1)) + bias)[0]


def packed_sites(sites: list[AttentionSite], few: bool, budget: int) -> list[dict[str, Any]]:
    """The sites as a page has them: whole maps first, the sharpest heads before others; then scores, with what is left."""
    order = _sharpest(sites)
    kept, left = _fitting(((s, n, sites[s].maps[n]) for s, n in order), budget)
    if len(kept) < len(order):  # thumbnails are then needed, and a sixth is for scores
        rest = max(0, budget - sum(_in_page(np.array(site.thumbnails)) for site in sites))
        kept, left = _fitting(((s, n, sites[s].maps[n]) for s, n in order), rest - rest // 6)
        left += rest // 6
    scored, _ = _fitting(((s, n, _coded_scores(sites[s], n, few)) for s, n in order if (s, n) in kept), left)
    return [_packed(site, index, kept, scored, few) for index, site in enumerate(sites)]


def _sharpest(sites: list[AttentionSite]) -> list[tuple[int, int]]:
    """(site, head) by entropy, in parts of the largest there is."""
    heads = [(index, head) for index, site in enumerate(sites) for head in range(len(site.maps))]
    return sorted(heads, key=lambda at: (sites[at[0]].metrics["entropy"][at[1]] or 0.0) / max(np.log2(sites[at[0]].columns), 1))


def _fitting(candidates: Iterator[tuple[int, int, Any]], budget: int) -> tuple[dict[tuple[int, int], Any], int]:
    """As many as the budget holds, in their order: bytes as a page has them, deflated and in base64."""
    kept: dict[tuple[int, int], Any] = {}
    for site, head, found in candidates:
        if found is None:
            continue
        size = _in_page(found[0] if isinstance(found, tuple) else found)
        if size > budget:
            break
        kept[site, head], budget = found, budget - size
    return kept, budget


def _in_page(codes: np.ndarray) -> int:
    return len(zlib.compress(codes.tobytes(), 6)) * 4 // 3


def _coded_scores(site: AttentionSite, head: int, few: bool) -> tuple[np.ndarray, float, float]:
    """Scores of one head as whole parts of their range, and the range."""
    layer, number = divmod(head, site.modules[0].heads)
    scores = scores_before_mask(site, layer)[number].double().cpu().numpy()
    low, high = float(scores.min()), float(scores.max())
    steps = 65535 if few else 255
    codes = np.rint((scores - low) * (steps / (high - low) if high > low else 0.0)).astype(np.uint16 if few else np.uint8)
    return codes.reshape(-1), low, high


def _packed(site: AttentionSite, index: int, kept: dict[Any, Any], scored: dict[Any, Any], few: bool) -> dict[str, Any]:
    whole = sorted(head for place, head in kept if place == index)
    with_scores = sorted(head for place, head in scored if place == index)
    kind = np.uint16 if few else np.uint8
    maps = np.array([kept[index, head] for head in whole], kind).reshape(len(whole), site.entries)
    scores = np.array([scored[index, head][0] for head in with_scores], kind).reshape(len(with_scores), site.rows * site.columns)
    thumbnails = np.array(site.thumbnails) if len(whole) < len(site.maps) else None
    window = site.stack.config.sliding_window if site.key != "cross" else None
    return {
        "key": site.key, "layers": site.layers, "heads": site.modules[0].heads, "groups": site.modules[0].groups,
        "rows": site.rows, "columns": site.columns, "causal": site.causal, "window": window,
        "queries": site.queries, "keys": site.keys, "metrics": site.metrics,
        "whole": whole, "maps": pack(maps), "thumbnails": None if thumbnails is None else pack(thumbnails),
        "scored": with_scores, "scores": pack(scores) if with_scores else None,
        "ranges": [list(scored[index, head][1:]) for head in with_scores],
    }  # fmt: skip
