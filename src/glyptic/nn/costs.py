"""What a model costs: parameters, FLOPs and memory, part by part, from its config alone.

A FLOP is one multiplication or one addition of a matrix product, as torch's `FlopCounterMode` counts (the tests compare
the two on every kind of model); norms and activations count nothing. Causal attention is counted whole, as torch does,
although half of its scores are masked; `blocked` computes, and is counted at, little more than half, and with a sliding
window little more than the window.

    projections        2·BT·D·(H+2G)K + 2·BT·HK·D        linear in the length T
    attention          4·B·H·T²·K                        the lecture's N²D: scores, then the mixture of values
    feed-forward       4·BT·D·F   (6 if gated)           the lecture's ND²

Memory, in numbers: `kept` is what training keeps of a part from the forward to the backward pass (the tests compare it
with torch's saved tensors, for LayerNorm and the `sdpa` backend); `cache` is what generation keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import nn

from glyptic.arguments import Count, checked
from glyptic.nn.config import ModelConfig
from glyptic.nn.models import Model
from glyptic.nn.parts.feed_forward import GATED
from glyptic.nn.parts.positions import TO_INPUT, TO_SCORES
from glyptic.nn.speed.blocked import blocks
from glyptic.text import table

Amount = Annotated[int, Count(1, 2**24)]  # of sequences, or of tokens


@dataclass(frozen=True)
class PartCost:
    """One part of a model, `times` times in it; the figures are those of one."""

    name: str
    kind: str  # projections, attention, feed-forward, or other
    parameters: int = 0
    flops: int = 0
    kept: int = 0
    times: int = 1


@dataclass(frozen=True)
class Cost:
    """The parts of a model and their sums for one forward pass over `batch` sequences of `length` tokens."""

    parts: tuple[PartCost, ...]
    batch: int
    length: int
    cache: int
    """Numbers that a KV cache of `batch` × `length` tokens holds, those of an encoder's memory included."""
    crossover: float
    """The length from which attention's N²D costs more than the feed-forward's ND²."""

    @property
    def parameters(self) -> int:
        return sum(part.times * part.parameters for part in self.parts)

    @property
    def flops(self) -> int:
        """Of a forward pass; the backward pass takes twice as many."""
        return sum(part.times * part.flops for part in self.parts)

    @property
    def kept(self) -> int:
        """Numbers that a training step keeps for its backward pass."""
        return sum(part.times * part.kept for part in self.parts)

    def share(self, kind: str) -> float:
        """Part of all FLOPs that goes to `projections`, `attention`, `feed-forward` or `other`."""
        return sum(part.times * part.flops for part in self.parts if part.kind == kind) / max(self.flops, 1)

    def __str__(self) -> str:
        """The table that `glyptic show` prints."""
        rows = [
            (p.name, f"× {p.times}", f"{p.parameters:,}", _short(p.flops), f"{_percent(p, self)} %", _short(p.kept))
            for p in self.parts
        ]
        total = ("total", "", f"{self.parameters:,}", _short(self.flops), "100.0 %", _short(self.kept))
        head = ["part", "", "parameters", "FLOPs", "of all", "kept"]
        body = table(head, [*rows, total], "llrrrr")
        shares = ", ".join(f"{kind} {100 * self.share(kind):.1f} %" for kind in ("attention", "feed-forward"))
        return (
            f"forward pass, batch {self.batch}, length {self.length}; figures of one of each part\n{body}\n"
            f"{shares}; attention's N²D overtakes the feed-forward's ND² at length {self.crossover:,.0f}\n"
            f"KV cache: {_short(self.cache)} numbers"
        )


@checked
def cost(
    of: ModelConfig | Model, batch: Amount = 1, length: Amount | None = None, source_length: Amount | None = None
) -> Cost:
    """The cost of a forward pass over tokens [batch, length]; None: the model's context.

    >>> from glyptic.nn import preset
    >>> gpt2 = cost(preset("gpt2"), length=1024)
    >>> gpt2.parameters, round(gpt2.flops / 1e9), gpt2.crossover
    (124439808, 292, 3072.0)
    """
    config = of.config if isinstance(of, Model) else of
    if config.kind == "vit":
        length = (config.image_size // config.patch_size) ** 2 + 1 + config.distillation_token
    length = config.context if length is None else length
    source = length if source_length is None else source_length
    parts = tuple(p for p in _parts(config, batch, length, source) if p.parameters or p.flops or p.kept)
    seen = {"decoder": length, "encoder_decoder": length + source}.get(config.kind, 0)
    cache = 2 * config.layers * batch * seen * config.groups * config.head_size
    return Cost(parts, batch, length, cache, _crossover(config))


def _crossover(config: ModelConfig) -> float:
    """4·T²·HK = 2·m·T·D·F with m = 2 or 3 matrices."""
    matrices = 3 if config.feed_forward in GATED else 2
    return matrices * config.width * config.hidden_size / (2 * config.heads * config.head_size)


def _parts(config: ModelConfig, batch: int, length: int, source: int) -> Iterator[PartCost]:
    yield from _embedding(config, batch, length, source)
    if config.kind == "encoder_decoder":
        yield from _stack(config, config.depth_of_encoder, batch, source, None, "encoder: ", causal=False)
        yield from _stack(config, config.layers, batch, length, source, "decoder: ", causal=True)
    else:
        yield from _stack(config, config.layers, batch, length, None, "", causal=config.kind == "decoder")
    yield from _output(config, batch, length)


def _embedding(config: ModelConfig, batch: int, length: int, source: int) -> Iterator[PartCost]:
    D, narrow = config.width, config.embedding_width or 0
    if config.vocabulary and config.kind != "vit":
        read = batch * (length + source if config.kind == "encoder_decoder" else length)
        table = config.vocabulary * (narrow or D) + narrow * D
        yield PartCost("token embedding", "other", table, 2 * read * narrow * D, read * narrow)
    if config.token_types:
        yield PartCost("type embedding", "other", config.token_types * D)
    if config.positions in TO_INPUT:
        sized = config.replace(context=length) if config.kind == "vit" else config
        yield PartCost("position embedding", "other", _learned(lambda: TO_INPUT[config.positions](sized)))
    if config.embedding_norm:
        yield PartCost("embedding norm", "other", _norm_parameters(config), 0, batch * length * D)
    if config.kind == "vit":
        pixels = config.channels * config.patch_size**2
        learned = 1 + config.distillation_token
        parameters = pixels * D + D + learned * D  # matrix, bias, class token and DeiT's other one
        patches = batch * (length - learned)
        yield PartCost("patch embedding", "other", parameters, 2 * patches * pixels * D, patches * pixels)


def _learned(make: Callable[[], nn.Module]) -> int:
    """How many numbers a part learns, by its own declaration."""
    with torch.device("meta"):  # shapes without numbers
        return sum(parameter.numel() for parameter in make().parameters())


def _stack(
    config: ModelConfig, layers: int, batch: int, length: int, source: int | None, prefix: str, *, causal: bool
) -> Iterator[PartCost]:
    """One layer's parts, `layers` times, and what a stack has once."""
    tokens, D = batch * length, config.width
    norm = PartCost(f"{prefix}norms", "other", _norm_parameters(config), 0, tokens * (D + 2))
    yield from _self_attention(config, batch, length, prefix, layers, causal)
    if source is not None:
        yield from _cross_attention(config, batch, length, source, prefix, layers)
    yield _feed_forward(config, tokens, prefix, layers)
    yield _times(norm, layers * (2 if source is None else 3))
    if config.has_final_norm:
        yield _times(norm, 1, f"{prefix}final norm")
    if config.positions in TO_SCORES:
        learned = _learned(lambda: TO_SCORES[config.positions](config, causal))
        yield PartCost(f"{prefix}position biases", "other", learned)


def _self_attention(
    config: ModelConfig, batch: int, length: int, prefix: str, layers: int, causal: bool
) -> Iterator[PartCost]:
    D, H, G, K, tokens = config.width, config.heads, config.groups, config.head_size, batch * length
    wide = (H + 2 * G) * K
    parameters = D * wide + config.attention_bias * wide + H * K * D + config.attention_output_bias * D
    parameters += 2 * K * config.query_key_norm
    flops = 2 * tokens * D * wide + 2 * tokens * H * K * D
    kept = tokens * (D + wide + H * K)  # the norm's output; q, k and v; the mixture
    kept += tokens * (H + G) * (K + 2) * config.query_key_norm
    yield PartCost(f"{prefix}attention projections", "projections", parameters, flops, kept, layers)
    pairs, saved = length * length, tokens * H  # sdpa keeps one logarithm a row
    if config.backend == "blocked":
        found = blocks(length, length, causal, config.sliding_window)
        pairs = sum((end - start) * (seen - first) for start, end, first, seen in found)
        saved = batch * H * pairs
    elif config.backend == "reference":
        saved = batch * H * pairs
    yield PartCost(f"{prefix}attention N²D", "attention", 0, 4 * batch * H * pairs * K, saved, layers)
    yield _times(_relative(config, batch, length, prefix), layers)


def _relative(config: ModelConfig, batch: int, length: int, prefix: str) -> PartCost:
    """What Shaw's and Transformer-XL's positions add to each layer."""
    D, H, K = config.width, config.heads, config.head_size
    name, queries = f"{prefix}relative positions", batch * H * length
    if config.positions == "shaw":
        distances = 2 * config.relative_distance + 1
        return PartCost(name, "attention", 2 * distances * K, 4 * queries * distances * K)
    if config.positions != "transformer_xl":
        return PartCost(name, "attention")
    distances = 2 * length - 1
    if length < K:  # the cheaper order of products, as positions/transformer_xl.py takes it
        flops = 2 * queries * K * D + 2 * queries * D * distances
    else:
        flops = 2 * distances * D * H * K + 2 * queries * K * distances
    return PartCost(name, "attention", D * H * K + 2 * H * K, flops)


def _cross_attention(
    config: ModelConfig, batch: int, length: int, source: int, prefix: str, layers: int
) -> Iterator[PartCost]:
    D, H, G, K = config.width, config.heads, config.groups, config.head_size
    biases = config.attention_bias * (H + 2 * G) * K + config.attention_output_bias * D
    parameters = 2 * D * H * K + 2 * D * G * K + biases
    flops = 2 * batch * (2 * length * D * H * K + 2 * source * D * G * K)
    kept = batch * (length * (D + 2 * H * K) + 2 * source * G * K)
    yield PartCost(f"{prefix}cross-attention projections", "projections", parameters, flops, kept, layers)
    saved = batch * H * length * (1 if config.backend == "sdpa" else source)
    yield PartCost(f"{prefix}cross-attention NMD", "attention", 0, 4 * batch * H * length * source * K, saved, layers)


def _feed_forward(config: ModelConfig, tokens: int, prefix: str, layers: int) -> PartCost:
    D, F, gated = config.width, config.hidden_size, config.feed_forward in GATED
    into = 2 * F if gated else F
    parameters = D * into + F * D + config.feed_forward_bias * (into + D)
    kept_inside = 4 * F if gated else F if config.feed_forward == "relu" else 2 * F  # relu keeps its output only
    return PartCost(
        f"{prefix}feed-forward ND²",
        "feed-forward",
        parameters,
        2 * tokens * D * (into + F),
        tokens * (D + kept_inside),
        layers,
    )


def _norm_parameters(config: ModelConfig) -> int:
    if config.norm == "none":
        return 0
    return config.width * (1 if config.norm.startswith("rms") else 2)


def _output(config: ModelConfig, batch: int, length: int) -> Iterator[PartCost]:
    if config.head == "none":
        return
    D = config.width
    E, classifies = config.embedding_width or D, config.head in ("class", "distilled")
    size, rows = (config.classes, batch) if classifies else (config.vocabulary or 0, batch * length)
    biased = config.output_bias or classifies or config.head == "mlm"
    parameters = (0 if config.tied and not classifies else size * E) + size * biased
    flops, kept = 2 * rows * E * size, rows * E
    if config.embedding_width is not None:  # first narrowed
        parameters, flops, kept = parameters + D * E, flops + 2 * rows * D * E, kept + rows * D
    if config.head == "distilled":  # two classifiers
        parameters, flops, kept = 2 * parameters, 2 * flops, 2 * kept
    if config.head == "mlm":  # BERT's extra layer: dense, GELU, norm
        parameters, flops, kept = parameters + D * D + 3 * D, flops + 2 * rows * D * D, kept + 3 * rows * D
    yield PartCost("output", "other", parameters, flops, kept)


def _times(part: PartCost, times: int, name: str | None = None) -> PartCost:
    return PartCost(name or part.name, part.kind, part.parameters, part.flops, part.kept, times)


def _percent(part: PartCost, whole: Cost) -> str:
    return f"{100 * part.times * part.flops / max(whole.flops, 1):.1f}"


def _short(number: float) -> str:
    """1,234,567 → 1.23 M."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:g}"
