"""Keys and values of tokens already seen, so that a new token costs one column of attention and not a whole pass.

    StaticCache   room for `capacity` tokens, filled from the left; attention reads the filled part
    RingCache     the last `sliding_window` tokens; older ones are overwritten, so memory does not grow
    FixedCache    as static, but with tensors of constant shape and a tensor for the length: for torch.compile

A forward pass calls `open` once (what will be seen), `update` in each layer, and `advance` at its end.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from glyptic.errors import InputError, ModelError
from glyptic.nn.config import ModelConfig


class View(NamedTuple):
    """What the layers will see when `update` has been called."""

    start: int | Tensor  # slot of the first new token
    key_slots: Tensor | None  # [S] slot of each key; None: 0 … start + T − 1, in order
    keys_real: Tensor | None  # [B, S] False for padding; None: no padding anywhere
    positions: Tensor | None  # [B, T] positions of new tokens in padded rows; None: their slots
    span: int  # distances of visible keys are below this
    alone: bool  # the only new token sees every key that `update` returns


class StaticCache:
    """Room for `capacity` tokens.

    >>> config = ModelConfig(kind="decoder", layers=1, width=8, heads=2, vocabulary=5)
    >>> cache = StaticCache(config, batch=1, capacity=4)
    >>> view = cache.open(3); k, v = cache.update(0, torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4)); cache.advance(3)
    >>> cache.length, tuple(k.shape)
    (3, (1, 2, 3, 4))
    """

    def __init__(
        self,
        config: ModelConfig,
        batch: int,
        capacity: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        self.capacity = config.context if capacity is None else capacity
        self.window = config.sliding_window
        shape = (batch, config.groups, self.capacity, config.head_size)
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.cross: dict[int, tuple[Tensor, Tensor]] = {}  # keys and values of an encoder's memory, by layer
        self.real: Tensor | None = None  # [B, capacity]
        self.length: int | Tensor = 0

    def open(self, new: int, real: Tensor | None = None) -> View:
        start = int(self.length)
        end = start + new
        self.check_room(new)
        if real is None and self.real is None:
            alone = new == 1 and (self.window is None or end <= self.window)
            return View(start, None, None, None, end, alone)
        before = self._note_padding(start, new, real)
        assert self.real is not None
        positions = (self.real[:, start:end].long().cumsum(-1) - 1 + before[:, None]).clamp_min(0)
        return View(start, None, self.real[:, :end], positions, end, False)

    def check_room(self, new: int) -> None:
        """Refuse what would be written past the end."""
        end = int(self.length) + new
        if end > self.capacity:
            raise InputError(
                f"{end} tokens do not fit a cache of capacity={self.capacity}; make it larger, or use a RingCache."
            )

    def _note_padding(self, start: int, new: int, real: Tensor | None) -> Tensor:
        """Remember which new tokens are real; returns how many real ones each row had before [B]."""
        if self.real is None:
            batch, device = self.keys[0].shape[0], self.keys[0].device
            self.real = torch.ones(batch, self.capacity, dtype=torch.bool, device=device)
        if real is not None:
            self.real[:, start : start + new] = real
        return self.real[:, :start].sum(-1)

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write [B, G, T, K] after the filled part; give everything filled so far."""
        start = int(self.length)
        end = start + k.shape[2]
        keys, values = self.keys[layer], self.values[layer]
        keys[:, :, start:end] = k
        values[:, :, start:end] = v
        return keys[:, :, :end], values[:, :, :end]

    def advance(self, new: int) -> None:
        self.length = self.length + new

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes the old row rows[i]: beams that survive."""
        self.keys = [k[rows] for k in self.keys]
        self.values = [v[rows] for v in self.values]
        self.cross = {layer: (k[rows], v[rows]) for layer, (k, v) in self.cross.items()}
        if self.real is not None:
            self.real = self.real[rows]

    def rewind(self, length: int) -> None:
        """Forget everything after the first `length` tokens; they can be written again."""
        if not 0 <= length <= int(self.length):
            raise InputError(f"length={length} is not between 0 and the {int(self.length)} tokens of the cache.")
        if length == 0:  # a new text may have other padding and another memory
            self.real = None
            self.cross.clear()
        self.length = length


class FixedCache(StaticCache):
    """Constant shapes: every step attends to the whole capacity through a mask, and the length is a tensor."""

    def __init__(
        self,
        config: ModelConfig,
        batch: int,
        capacity: int | None = None,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__(config, batch, capacity, dtype, device)
        if config.positions in ("learned", "sinusoidal", "rotary") and self.capacity > config.context:
            raise ModelError(f"capacity={self.capacity} of a FixedCache exceeds the table of context={config.context}.")
        self.slots = torch.arange(self.capacity, device=device)
        self.length: Tensor = torch.zeros(1, dtype=torch.long, device=device)

    def open(self, new: int, real: Tensor | None = None) -> View:
        if real is not None:
            raise ModelError("a FixedCache takes no padding_mask; use a StaticCache for padded prompts.")
        if not torch.compiler.is_compiling():  # a compiled step cannot look: CompiledSession does it before each
            self.check_room(new)
        return View(self.length, self.slots, None, None, self.capacity, False)

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        index = self.slots[: k.shape[2]] + self.length
        self.keys[layer].index_copy_(2, index, k)
        self.values[layer].index_copy_(2, index, v)
        return self.keys[layer], self.values[layer]

    def advance(self, new: int) -> None:
        self.length.add_(new)

    def rewind(self, length: int) -> None:
        self.length.fill_(length)


class RingCache(StaticCache):
    """The last `sliding_window` tokens: token t lives in place t mod window."""

    def __init__(
        self,
        config: ModelConfig,
        batch: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        if config.sliding_window is None:
            raise ModelError("sliding_window=None: a RingCache forgets, so the model needs a sliding_window.")
        super().__init__(config, batch, config.sliding_window, dtype, device)
        self.slots = torch.full((self.capacity,), -1, device=device)  # slot held in each place; −1: empty
        self.seen: Tensor | None = None  # [B] real tokens so far, once there is padding

    def open(self, new: int, real: Tensor | None = None) -> View:
        start = int(self.length)
        fresh = torch.arange(start, start + new, device=self.slots.device)
        if new == 1:
            self.slots[start % self.capacity] = start
            slots = self.slots[: start + 1]
        else:
            slots = torch.cat([self.slots, fresh])  # the chunk needs the old keys beside all of its own
        keys_real = positions = None
        if real is not None or self.real is not None:
            keys_real, positions = self._open_padded(start, new, real)
        if new > 1:
            self.slots[fresh[-self.capacity :] % self.capacity] = fresh[-self.capacity :]
        return View(start, slots, keys_real, positions, self.capacity + new, new == 1 and keys_real is None)

    def _open_padded(self, start: int, new: int, real: Tensor | None) -> tuple[Tensor, Tensor]:
        batch, device = self.keys[0].shape[0], self.slots.device
        if real is None:
            real = torch.ones(batch, new, dtype=torch.bool, device=device)
        if self.real is None or self.seen is None:
            self.real = torch.ones(batch, self.capacity, dtype=torch.bool, device=device)
            self.seen = torch.full((batch,), start, device=device)
        positions = (real.long().cumsum(-1) - 1 + self.seen[:, None]).clamp_min(0)
        self.seen = self.seen + real.sum(-1)
        before = self.real.clone()
        places = torch.arange(start, start + new, device=device)[-self.capacity :] % self.capacity
        self.real[:, places] = real[:, -self.capacity :]
        keys_real = self.real[:, : start + 1] if new == 1 else torch.cat([before, real], dim=1)
        return keys_real, positions

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        start, new, keys, values = int(self.length), k.shape[2], self.keys[layer], self.values[layer]
        if new == 1:
            place = start % self.capacity
            keys[:, :, place : place + 1] = k
            values[:, :, place : place + 1] = v
            return keys[:, :, : start + 1], values[:, :, : start + 1]
        seen = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        places = torch.arange(start, start + new, device=k.device)[-self.capacity :] % self.capacity
        keys[:, :, places] = k[:, :, -self.capacity :]
        values[:, :, places] = v[:, :, -self.capacity :]
        return seen

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        if self.seen is not None:
            self.seen = self.seen[rows]

    def rewind(self, length: int) -> None:
        raise ModelError(f"a RingCache has forgotten what it overwrote and cannot go back to length={length}.")


Cache = StaticCache
