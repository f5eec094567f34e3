"""A stack of blocks: vectors in, vectors out. Masks and positions are worked out once, here, for all layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glyptic.arguments import refused
from glyptic.errors import InputError
from glyptic.nn.config import ModelConfig
from glyptic.nn.parts import masks
from glyptic.nn.parts.block import Block
from glyptic.nn.parts.cache import Cache, CacheView
from glyptic.nn.parts.hook_point import HookPoint
from glyptic.nn.parts.multi_head import Context, Memory
from glyptic.nn.parts.norms import make_norm, refuse_padding
from glyptic.nn.parts.positions import TO_INPUT, TO_SCORES, Rotary, sinusoids
from glyptic.nn.speed.packing import Packing

RELATIVE = ("shaw", "transformer_xl")  # kinds whose layers need the distances themselves


class Stack(nn.Module):
    """The layers of an encoder or of a decoder, and the norm after them."""

    def __init__(self, config: ModelConfig, layers: int, *, causal: bool, cross: bool = False) -> None:
        super().__init__()
        self.config, self.causal = config, causal
        self.blocks = nn.ModuleList(Block(config, layer, causal, cross) for layer in range(layers))
        self.ln_final = make_norm(config, causal) if config.has_final_norm else nn.Identity()
        self.rotary = Rotary(config) if config.positions == "rotary" else None
        make = TO_SCORES.get(config.positions)
        self.score_bias = None if make is None else make(config, causal)
        self.hook_embed = HookPoint()
        self.hook_pos_embed = HookPoint() if config.positions in TO_INPUT else None

    def forward(
        self, x: Tensor, view: CacheView, cache: Cache | None = None, memory: Memory | None = None, packed: bool = False
    ) -> Tensor:
        """x [B, T, D]; `view` says what the new tokens may see (from `open_view`)."""
        context = self.context(x, view)
        if packed and view.padded:
            return self._forward_packed(x, context, Packing.of(view.positions >= 0))
        for block in self.blocks:
            x = block(x, context, cache, memory)
        if cache is not None:
            cache.advance(x.shape[1])
        return self.ln_final(x)

    def _forward_packed(self, x: Tensor, context: Context, packing: Packing) -> Tensor:
        """The same on real tokens alone; see `packing.py`."""
        x, context = packing.gather(x), context._replace(packing=packing)
        for block in self.blocks:
            x = block(x, context)
        return packing.spread(self.ln_final(x))

    def open_view(self, x: Tensor, real: Tensor | None, cache: Cache | None, memory: Memory | None = None) -> CacheView:
        """What T new tokens see: themselves and the cache; `real` [B, T] is False for padding."""
        batch, new = x.shape[:2]
        weight: Tensor = self.blocks[0].attn.qkv.weight  # type: ignore[union-attr, assignment]
        if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
            raise InputError(f"the input holds {x.dtype} and the model computes in {weight.dtype}; convert one of them.")
        if real is not None:
            refuse_padding(self.config, self.training)
            if not isinstance(real, Tensor):
                raise refused("padding_mask", real, f"a boolean tensor of shape {(batch, new)}, True where a token is real")
            if real.shape != (batch, new) or real.dtype != torch.bool:
                raise InputError(
                    f"padding_mask has shape {tuple(real.shape)} and dtype {real.dtype}; it must be boolean, "
                    f"{(batch, new)}, True where a token is real."
                )
        if cache is not None:
            if not isinstance(cache, Cache):
                raise refused("cache", cache, "a cache that model.new_cache made")
            if not torch.compiler.is_compiling():  # a compiled step belongs to one model and one cache
                cache.claim(self.config, weight, None if memory is None else memory.vectors, x)
            return cache.open(new, real)
        if real is None:
            return CacheView(torch.arange(new, device=x.device), None, new, new)
        positions = masks.positions_of.plain(real)
        return CacheView(positions, positions, new, new)

    def context(self, x: Tensor, view: CacheView) -> Context:
        """Masks, biases and rotations for all layers."""
        config, positions = self.config, self.config.positions
        rotation = None if self.rotary is None else self.rotary(view.rows, view.end, x.dtype)
        if view.alone and self.score_bias is None and positions not in RELATIVE:
            return Context(rotation=rotation)
        whole = view.keys is None and view.span == x.shape[1]
        keys = torch.arange(view.span, device=x.device) if view.keys is None else view.keys
        mask: Tensor | None = None
        banded = whole and config.backend == "blocked"  # which skips what a window hides, and needs no mask for it
        if not whole or (config.sliding_window is not None and not banded):
            mask = masks.visible.plain(view.positions, keys, causal=self.causal, window=config.sliding_window)
            mask = mask[:, None] if view.padded else mask  # [B, 1, T, S], the same for all heads
        causal = whole and mask is None and self.causal
        window = config.sliding_window if banded else None
        if self.score_bias is None and positions not in RELATIVE:
            return Context(mask, causal, window, rotation)
        distances = masks.distances.plain(view.positions, keys)
        if self.score_bias is not None:
            return Context(masks.merge.plain(mask, self.score_bias(distances, x.dtype)), causal, window)
        distances = distances[:, None] if view.padded else distances
        return Context(mask, causal, window, None, distances, self._sinusoids(x, view))

    def _sinusoids(self, x: Tensor, view: CacheView) -> Tensor | None:
        if self.config.positions != "transformer_xl":
            return None
        distances = torch.arange(1 - x.shape[1], view.span, device=x.device)
        return sinusoids.plain(distances, self.config.width).to(x.dtype)
