"""The one map between exact's names of stages (`exact.stages`) and nn's names of hooks (`nn.hook_names`), both ways.

    exact                         nn                                 of it
    embedding                     blocks.0.hook_resid_pre            all; with a norm there, it is embedding_norm's
    layer.L.head.H.query          blocks.L.attn.hook_q               head H, times a factor: nn scales scores, exact divides them
                                                                     (rotary: hook_rot_q; Transformer-XL: plus u)
    layer.L.head.H.key, value     blocks.L.attn.hook_k, hook_v       the group that head H reads (rotary: hook_rot_k)
    layer.L.head.H.scores         blocks.L.attn.hook_attn_scores     head H; 0 here and −∞ there where nothing is seen
    layer.L.head.H.weights        blocks.L.attn.hook_pattern         head H
    layer.L.head.H.mixed          blocks.L.attn.hook_z               head H
    layer.L.attention             blocks.L.hook_attn_out             all
    layer.L.after_attention       blocks.L.hook_resid_mid            all; in post-norm ln1.hook_normalized, times γ plus β; not in
                                                                     parallel layers, which have no such sum
    layer.L.hidden                blocks.L.mlp.hook_post             all
    layer.L.feed_forward          blocks.L.hook_mlp_out              all
    layer.L.after_feed_forward    blocks.L.hook_resid_post           all; in post-norm hook_normalized_resid_post
    final_norm                    ln_final.hook_normalized           all, times γ plus β

Exact arrays are (coordinates, positions), nn's [B, T, …]; heads are apart there and one axis here. A side may have more
coordinates than the other (padding with zeros, the coordinate `one`): what both have comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from glyptic.arguments import checked, refused, shown
from glyptic.bridge.scale import root
from glyptic.errors import InputError, ModelError
from glyptic.exact import Transformer, stages
from glyptic.nn import Decoder, hook_names
from glyptic.nn.parts.positions import halves
from glyptic.text import table

ONLY_EXACT = {
    "output": "what one head adds; nn has the sum over heads, hook_attn_out",
    "embedding": "the sum before the embedding's norm; nn has what is behind it",
    "after_attention": "nn adds both parts of a parallel layer at once",
    "logits": "what the model itself gives, not a hook",
    "probabilities": "nn leaves the softmax of the answer to its user",
}
ONLY_NN = {
    "hook_embed": "the token alone, and embedding has its position added",
    "hook_pos_embed": "the position alone, and embedding has the token added",
    "hook_pre": "before the activation, and hidden is after it",
    "hook_pre_linear": "before it is multiplied by the gate, and hidden is after it",
    "hook_q": "before positions turn it, and query is after that",
    "hook_k": "before positions turn it, and key is after that",
    "hook_normalized": "what a norm gives is not traced in exact, but where it is the residual",
    "hook_resid_mid": "the sum before a post-norm, and after_attention is behind it",
    "hook_resid_post": "the sum before a post-norm, and after_feed_forward is behind it",
}


@dataclass(frozen=True)
class SamePlace:
    """One place in both: the stage, the hook, and what of the hook's activation it is."""

    stage: str
    hook: str
    size: int | None = None  # coordinates that both have; None: weights between positions
    head: int | None = None  # on the hook's axis of heads
    factor: float = 1.0
    gain: Tensor | None = None  # γ and β of the norm, which nn's hook is before (RMSNorm has no β)
    bias: Tensor | None = None
    order: tuple[int, ...] | None = None  # where each coordinate stands in the hook, which has rotary ones in the public order
    shift: Tensor | None = None  # what is added in exact already: Transformer-XL's u

    def read(self, activations: Mapping[str, Tensor], row: int = 0) -> np.ndarray:
        """The values that `nn.record` kept of a row of the batch, as exact's trace has them, in float64."""
        if self.hook not in activations:
            raise InputError(f"{self.stage} is read from {self.hook}, which was not recorded: nn.record(…, names={self.hook!r}).")
        if not 0 <= row < len(activations[self.hook]):
            raise refused("row", row, f"the number of a row, of which the batch has {len(activations[self.hook])}")
        found = activations[self.hook][row]
        if self.size is None:  # [H, T, S]
            return found[self.head].detach().double().nan_to_num(neginf=0.0).cpu().numpy()
        found = found if self.head is None else found[:, self.head]
        found = found.detach().double()
        if self.gain is not None:
            found = found * self.gain.detach().double()
        for added in (self.bias, self.shift):
            found = found if added is None else found + added.detach().double()
        if self.order is not None:
            found = found[:, list(self.order)]
        return (found[:, : self.size] * self.factor).T.cpu().numpy()


@dataclass(frozen=True)
class PlaceMap:
    """The map for one pair, and what has no counterpart, with the reason."""

    both: tuple[SamePlace, ...]
    only_exact: Mapping[str, str]
    only_nn: Mapping[str, str]

    def hook(self, stage: str) -> SamePlace:
        """Where nn has a stage of exact; a stage that it has nowhere is an error that says why."""
        for place in self.both:
            if place.stage == stage:
                return place
        raise InputError(f"{shown(stage)} has no hook: {self.only_exact.get(stage, 'it is no stage of this transformer')}.")

    def stages(self, hook: str) -> tuple[SamePlace, ...]:
        """What exact has of a hook of nn: one stage, or one for each head."""
        found = tuple(place for place in self.both if place.hook == hook)
        if not found:
            raise InputError(f"{shown(hook)} has no stage: {self.only_nn.get(hook, 'it is no hook of this model')}.")
        return found

    def __str__(self) -> str:
        rows = [(place.stage, place.hook, "" if place.head is None else f"head {place.head}") for place in self.both]
        rows += [(stage, "–", why) for stage, why in self.only_exact.items()]
        return table(["exact", "nn", ""], [*rows, *(("–", hook, why) for hook, why in self.only_nn.items())], "lll")


@checked
def places(transformer: Transformer, model: Decoder) -> PlaceMap:
    """The map between an exact transformer and the decoder that it became (`to_nn`) or was (`to_exact`).

    >>> from glyptic import bridge, nn
    >>> from glyptic.exact import Sizes, random_transformer
    >>> T = random_transformer("fixed:8", 0, Sizes(width=6, layers=1))
    >>> model = nn.with_backend(bridge.to_nn(T), "reference")
    >>> here = places(T, model)
    >>> here.hook("layer.0.head.1.weights").hook, [place.stage for place in here.stages("blocks.0.attn.hook_z")]
    ('blocks.0.attn.hook_pattern', ['layer.0.head.0.mixed', 'layer.0.head.1.mixed'])
    >>> kept = nn.record(model, bridge.ids(T, ["01"]), names="*").activations
    >>> exact = T.run("01", trace=True).trace["embedding"]
    >>> bool((here.hook("embedding").read(kept) == exact.astype(float)).all())
    True
    """
    config = model.config
    heads = max((len(layer.heads) for layer in transformer.layers), default=0)
    if len(transformer.layers) > config.layers or transformer.width < config.width or heads > config.heads:
        raise ModelError(
            f"the transformer has {len(transformer.layers)} layers of width {transformer.width} with up to {heads} heads, and "
            f"the decoder {config.layers} of width {config.width} with {config.heads}: neither was made from the other."
        )
    both = tuple(_pairs(transformer, model))
    here, there = {place.stage for place in both}, {place.hook for place in both}
    only_exact = {name: ONLY_EXACT[name.rpartition(".")[2]] for name in stages(transformer) if name not in here}
    return PlaceMap(both, only_exact, {name: _why(name, transformer) for name in hook_names(model) if name not in there})


def _pairs(transformer: Transformer, model: Decoder) -> Iterator[SamePlace]:
    width, post = model.config.width, transformer.options.norm == "post"
    embedded = "embedding" if transformer.embedding_norm is None else "embedding_norm"
    yield SamePlace(embedded, "blocks.0.hook_resid_pre", width)
    for l, layer in enumerate(transformer.layers):
        exact, ours = f"layer.{l}", f"blocks.{l}"
        yield from _heads(transformer, model, l)
        if layer.heads:
            yield SamePlace(f"{exact}.attention", f"{ours}.hook_attn_out", width)
        if post and layer.attention_norm is not None:
            norm = model.get_submodule(f"stack.blocks.{l}.ln1")
            yield _normed(f"{exact}.after_attention", f"{ours}.ln1.hook_normalized", width, norm)
        elif not model.config.parallel:
            yield SamePlace(f"{exact}.after_attention", f"{ours}.hook_resid_mid", width)
        if layer.feed_forward is not None:
            yield SamePlace(f"{exact}.hidden", f"{ours}.mlp.hook_post", len(layer.feed_forward.w1))
            yield SamePlace(f"{exact}.feed_forward", f"{ours}.hook_mlp_out", width)
        behind = "hook_normalized_resid_post" if post else "hook_resid_post"
        yield SamePlace(f"{exact}.after_feed_forward", f"{ours}.{behind}", width)
        if l + 1 < len(transformer.layers):  # the same value once more, where the next layer takes it
            yield SamePlace(f"{exact}.after_feed_forward", f"blocks.{l + 1}.hook_resid_pre", width)
    if transformer.final_norm is not None:
        yield _normed("final_norm", "ln_final.hook_normalized", width, model.stack.ln_final)


def _heads(transformer: Transformer, model: Decoder, layer: int) -> Iterator[SamePlace]:
    config, scaled = model.config, transformer.options.scale
    attention: Any = model.get_submodule(f"stack.blocks.{layer}.attn")
    turned, order = "", None
    if model.stack.rotary is not None:
        turned, order = "rot_", tuple(np.argsort(halves(config.head_size, model.stack.rotary.width)).tolist())
    for h, head in enumerate(transformer.layers[layer].heads):
        exact, ours, group = f"layer.{layer}.head.{h}", f"blocks.{layer}.attn", h * config.groups // config.heads
        keys, values = (min(len(matrix), config.head_size) for matrix in (head.query, head.value))
        factor = config.scale * (float(root(len(head.query), transformer.format)) if scaled else 1.0)
        shift = None if attention.relative is None else attention.relative.u[h, 0]
        yield SamePlace(f"{exact}.query", f"{ours}.hook_{turned}q", keys, h, factor, order=order, shift=shift)
        yield SamePlace(f"{exact}.key", f"{ours}.hook_{turned}k", keys, group, order=order)
        yield SamePlace(f"{exact}.value", f"{ours}.hook_v", values, group)
        yield SamePlace(f"{exact}.scores", f"{ours}.hook_attn_scores", None, h)
        yield SamePlace(f"{exact}.weights", f"{ours}.hook_pattern", None, h)
        yield SamePlace(f"{exact}.mixed", f"{ours}.hook_z", values, h)


def _normed(stage: str, hook: str, width: int, norm: Any) -> SamePlace:
    gain = 1 + norm.weight if getattr(norm, "plus_one", False) else norm.weight
    return SamePlace(stage, hook, width, gain=gain, bias=getattr(norm, "bias", None))


def _why(hook: str, transformer: Transformer) -> str:
    """Why exact has nothing there: it has no such layer or part, or nn has a value more."""
    kind = hook.rpartition(".")[2]
    layer = int(hook.split(".")[1]) if hook.startswith("blocks.") else None
    if layer is not None and layer >= len(transformer.layers):
        return "the transformer has no such layer"
    return ONLY_NN.get(kind, "the layer has no such part")
