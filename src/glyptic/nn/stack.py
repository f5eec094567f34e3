"""A stack of blocks: vectors in, vectors out. Masks and positions are worked out once, here, for all layers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from glyptic.errors import InputError
from glyptic.nn import masks
from glyptic.nn.block import Block
from glyptic.nn.cache import Cache, View
from glyptic.nn.config import ModelConfig
from glyptic.nn.multi_head import Context, Memory
from glyptic.nn.norms import make_norm, refuse_padding
from glyptic.nn.packing import Packing
from glyptic.nn.positions import Alibi, Rotary, T5Bias, sinusoids

RELATIVE = ("shaw", "transformer_xl")  # kinds whose layers need the distances themselves


class Stack(nn.Module):
    """The layers of an encoder or of a decoder, and the norm after them."""

    def __init__(self, config: ModelConfig, layers: int, *, causal: bool, cross: bool = False) -> None:
        super().__init__()
        self.config, self.causal = config, causal
        self.blocks = nn.ModuleList(Block(config, layer, causal, cross) for layer in range(layers))
        self.ln_final = make_norm(config, causal) if config.has_final_norm else nn.Identity()
        self.rotary = Rotary(config) if config.positions == "rotary" else None
        self.score_bias = self._make_score_bias(config)

    def _make_score_bias(self, config: ModelConfig) -> nn.Module | None:
        if config.positions == "alibi":
            return Alibi(config)
        return T5Bias(config, bidirectional=not self.causal) if config.positions == "t5" else None

    def forward(
        self, x: Tensor, view: View, cache: Cache | None = None, memory: Memory | None = None, packed: bool = False
    ) -> Tensor:
        """x [B, T, D]; `view` says what the new tokens may see (from `open_view`)."""
        context = self.context(x, view)
        if packed and view.keys_real is not None:
            return self._forward_packed(x, context, Packing.of(view.keys_real))
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

    def open_view(self, x: Tensor, real: Tensor | None, cache: Cache | None) -> View:
        """What T new tokens see: themselves and the cache; `real` [B, T] is False for padding."""
        batch, new = x.shape[:2]
        if real is not None:
            refuse_padding(self.config, self.training)
            if real.shape != (batch, new) or real.dtype != torch.bool:
                raise InputError(
                    f"padding_mask has shape {tuple(real.shape)} and dtype {real.dtype}; it must be boolean, "
                    f"{(batch, new)}, True where a token is real."
                )
        if cache is not None:
            if cache.keys[0].shape[0] != batch:
                raise InputError(f"the cache was made for batch={cache.keys[0].shape[0]}, not for {batch} rows.")
            return cache.open(new, real)
        positions = None if real is None else masks.positions_of(real)
        return View(0, None, real, positions, new, False)

    def context(self, x: Tensor, view: View) -> Context:
        """Masks, biases and rotations for all layers."""
        config, new, device = self.config, x.shape[1], x.device
        rotation = self._rotation(x, view)
        if view.alone and self.score_bias is None and config.positions not in RELATIVE:
            return Context(rotation=rotation)
        whole = view.key_slots is None and view.span == new and config.sliding_window is None
        query_slots = torch.arange(new, device=device) + view.start
        key_slots = torch.arange(view.span, device=device) if view.key_slots is None else view.key_slots
        mask: Tensor | None = None
        if not whole or view.keys_real is not None:
            mask = masks.visible(query_slots, key_slots, causal=self.causal, window=config.sliding_window)
            if view.keys_real is not None:
                mask = mask & view.keys_real[:, None, None, :]
        if self.score_bias is not None:
            mask = masks.merge(mask, self.score_bias(query_slots, key_slots, x.dtype))
        distances = query_slots[:, None] - key_slots[None, :] if config.positions in RELATIVE else None
        return Context(mask, whole and self.causal, rotation, distances, self._sinusoids(x, view))

    def _rotation(self, x: Tensor, view: View) -> Tensor | None:
        if self.rotary is None:
            return None
        positions, end = self.positions_and_end(x, view)
        return self.rotary(positions, end, x.dtype)

    def _sinusoids(self, x: Tensor, view: View) -> Tensor | None:
        if self.config.positions != "transformer_xl":
            return None
        distances = torch.arange(1 - x.shape[1], view.span, device=x.device)
        return sinusoids(distances, self.config.width).to(x.dtype)

    @staticmethod
    def positions_and_end(x: Tensor, view: View) -> tuple[Tensor, int | None]:
        """Positions of the new tokens, [T] or [B, T], and a bound on them (None: a FixedCache checked it)."""
        if isinstance(view.start, Tensor):
            return torch.arange(x.shape[1], device=x.device) + view.start, None
        end = view.start + x.shape[1]
        if view.positions is not None:
            return view.positions, end
        return torch.arange(view.start, end, device=x.device), end
