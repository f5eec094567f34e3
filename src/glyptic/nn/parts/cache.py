"""Keys and values of tokens already seen, so that a new token costs one column of attention and not a whole pass.

    StaticCache   room for `capacity` tokens, filled from the left; attention reads the filled part
    RingCache     the last `sliding_window` tokens; older ones are overwritten, so memory does not grow
    FixedCache    as static, but with tensors of constant shape and a tensor for the length: for torch.compile

A forward pass calls `open` once (what will be seen), `update` in each layer, and `advance` at its end. A cache belongs to the
model and the memory that filled it: another one is refused until it has been rewound to 0.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from glyptic.arguments import Count, refused, shown
from glyptic.errors import InputError, ModelError
from glyptic.nn.config import ModelConfig
from glyptic.nn.parts import masks
from glyptic.nn.shapes import device as usable_device
from glyptic.nn.speed.machine import check_memory

SIZE = Count(1, 2**31 - 1)
NEW = Count(0, 2**31 - 1)


class CacheView(NamedTuple):
    """What the layers will see when `update` has been called. Positions count real tokens; −1 is padding or empty."""

    positions: Tensor  # [T] of the new tokens; [B, T] once there is padding
    keys: Tensor | None  # [S] or [B, S] positions of the keys; None: 0 … span − 1, in order
    span: int  # distances of visible keys are below this
    end: int | None  # positions of new tokens are below this; None: a FixedCache checked it
    alone: bool = False  # the only new token sees every key that `update` returns

    @property
    def padded(self) -> bool:
        """Whether rows have positions of their own."""
        return self.positions.dim() == 2

    @property
    def rows(self) -> Tensor:
        """Rows of a table of positions: padding, whose result nobody reads, takes the first."""
        return self.positions.clamp_min(0) if self.padded else self.positions


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
        if not isinstance(config, ModelConfig) or not config.has_decoder:
            raise refused("config", config, "the ModelConfig of a model with a decoder")
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise refused("dtype", dtype, "a dtype of floating-point numbers")
        self.capacity = config.context if capacity is None else SIZE("capacity", capacity)
        self.window = config.sliding_window
        shape = (SIZE("batch", batch), config.groups, self.capacity, config.head_size)
        if usable_device("device", device).type == "cpu":
            numbers = 2 * config.layers * batch * config.groups * self.capacity * config.head_size
            check_memory(numbers * dtype.itemsize, f"a cache of batch={batch} and capacity={self.capacity}")
        self.keys = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.values = [torch.zeros(shape, dtype=dtype, device=device) for _ in range(config.layers)]
        self.cross: dict[int, tuple[Tensor, Tensor]] = {}  # keys and values of an encoder's memory, by layer
        self.real: Tensor | None = None  # [B, capacity]
        self.length: int | Tensor = 0
        self.filled_by: tuple[Tensor, Tensor | None] | None = None  # a matrix of the model, the vectors of the memory
        self._begin(config, device)

    def _begin(self, config: ModelConfig, device: torch.device | str | None) -> None:
        """What a kind of cache has besides."""

    def claim(self, config: ModelConfig, weight: Tensor, memory: Tensor | None, x: Tensor) -> None:
        """Note whose cache this is: of the model with this config and this matrix, looking at this memory."""
        batch, groups, _, size = self.keys[0].shape
        if (len(self.keys), groups, size) != (config.layers, config.groups, config.head_size):
            raise InputError("the cache was made for a model of another shape; make a new one with model.new_cache.")
        if self.window != config.sliding_window:
            raise InputError(f"the cache was made for sliding_window={self.window}, not for {config.sliding_window}.")
        if batch != x.shape[0]:
            raise InputError(f"the cache was made for batch={batch}, not for {x.shape[0]} rows.")
        if self.keys[0].dtype != x.dtype or self.keys[0].device != x.device:
            here, there = f"{self.keys[0].dtype} on {self.keys[0].device}", f"{x.dtype} on {x.device}"
            raise InputError(f"the cache holds {here} and the model computes in {there}; make it with model.new_cache.")
        if self.filled_by is None or int(self.length) == 0:
            self.filled_by = (weight, memory)
        whose, seen = self.filled_by
        if whose is not weight:
            raise InputError("the cache was filled by another model; make a new one with model.new_cache, or rewind it to 0.")
        if memory is not seen and (memory is None or seen is None or not torch.equal(memory, seen)):
            raise InputError("the cache was filled with another memory; make a new one with model.new_cache, or rewind it to 0.")

    def open(self, new: int, real: Tensor | None = None) -> CacheView:
        """What `new` tokens will see; `real` [B, new] is False for padding."""
        self.check_room(new)
        self._check_real(new, real)
        start = int(self.length)
        end = start + new
        if real is None and self.real is None:
            alone = new == 1 and (self.window is None or end <= self.window)
            return CacheView(torch.arange(start, end, device=self.keys[0].device), None, end, end, alone)
        keys = masks.positions_of.plain(self._note_padding(start, new, real)[:, :end])
        return CacheView(keys[:, start:], keys, end, end)

    def check_room(self, new: int) -> None:
        """Refuse what would be written past the end."""
        end = int(self.length) + NEW("new", new)
        if end > self.capacity:
            raise InputError(
                f"{end} tokens do not fit a cache of capacity={self.capacity}; make it larger, or use a RingCache."
            )

    def _check_real(self, new: int, real: Tensor | None) -> None:
        shape = (self.keys[0].shape[0], new)
        if real is not None and not (isinstance(real, Tensor) and real.dtype == torch.bool and real.shape == shape):
            raise refused("real", real, f"a boolean tensor of shape {shape}, or None")

    def _check_update(self, layer: int, k: Tensor, v: Tensor) -> None:
        """Refuse what is not of this cache."""
        Count(0, len(self.keys) - 1)("layer", layer)
        batch, groups, _, size = self.keys[0].shape
        for name, tensor in (("k", k), ("v", v)):
            shape = tuple(tensor.shape) if isinstance(tensor, Tensor) and tensor.is_floating_point() else ()
            if len(shape) != 4 or shape != (batch, groups, k.shape[2], size):
                wanted = f"a tensor of floating-point numbers [{batch}, {groups}, T, {size}]"
                raise refused(name, tensor, f"{wanted}, T the same in k and v")

    def _note_padding(self, start: int, new: int, real: Tensor | None) -> Tensor:
        """Remember which new tokens are real (None: all); returns the whole record [B, capacity]."""
        if self.real is None:
            batch, device = self.keys[0].shape[0], self.keys[0].device
            self.real = torch.ones(batch, self.capacity, dtype=torch.bool, device=device)
        self.real[:, start : start + new] = True if real is None else real
        return self.real

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write [B, G, T, K] after the filled part; give everything filled so far."""
        self._check_update(layer, k, v)
        self.check_room(k.shape[2])
        return self.write(layer, k, v)

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """`update` with what fits, as layers call it."""
        start = int(self.length)
        end = start + k.shape[2]
        keys, values = self.keys[layer], self.values[layer]
        keys[:, :, start:end] = k
        values[:, :, start:end] = v
        return keys[:, :, :end], values[:, :, :end]

    def advance(self, new: int) -> None:
        """Count `new` tokens that have been written as filled."""
        self.check_room(new)
        self.length = self.length + new

    def reorder(self, rows: Tensor) -> None:
        """Row i becomes the old row rows[i]: beams that survive."""
        self._check_rows(rows)
        self.keys = [k[rows] for k in self.keys]
        self.values = [v[rows] for v in self.values]
        self.cross = {layer: (k[rows], v[rows]) for layer, (k, v) in self.cross.items()}
        if self.real is not None:
            self.real = self.real[rows]
        if self.filled_by is not None and self.filled_by[1] is not None:
            self.filled_by = (self.filled_by[0], self.filled_by[1][rows])

    def _check_rows(self, rows: Tensor) -> None:
        batch = self.keys[0].shape[0]
        if not isinstance(rows, Tensor) or rows.dim() != 1 or rows.dtype not in (torch.int64, torch.int32) or not len(rows):
            raise refused("rows", rows, "a tensor of row numbers, [B]")
        if bool((rows < 0).any() | (rows >= batch).any()):
            raise refused("rows", rows.tolist(), f"row numbers in 0 … {batch - 1}")

    def rewind(self, length: int) -> None:
        """Forget everything after the first `length` tokens; they can be written again."""
        if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= int(self.length):
            raise InputError(f"length={shown(length)} is not between 0 and the {int(self.length)} tokens of the cache.")
        if length == 0:  # a new text may have other padding and another memory
            self.real = None
            self.cross.clear()
        self.length = length


class FixedCache(StaticCache):
    """Constant shapes: every step attends to the whole capacity through a mask, and the length is a tensor."""

    length: Tensor

    def _begin(self, config: ModelConfig, device: torch.device | str | None) -> None:
        if config.positions in ("learned", "sinusoidal", "rotary") and self.capacity > config.context:
            raise ModelError(f"capacity={self.capacity} of a FixedCache exceeds the table of context={config.context}.")
        self.slots = torch.arange(self.capacity, device=device)
        self.length = torch.zeros(1, dtype=torch.long, device=device)

    def open(self, new: int, real: Tensor | None = None) -> CacheView:
        if real is not None:
            raise ModelError("a FixedCache takes no padding_mask; use a StaticCache for padded prompts.")
        if not torch.compiler.is_compiling():  # a compiled step cannot look: CompiledSession does it before each
            self.check_room(new)
        return CacheView(self.slots[:new] + self.length, self.slots, self.capacity, None)

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        index = self.slots[: k.shape[2]] + self.length
        self.keys[layer].index_copy_(2, index, k)
        self.values[layer].index_copy_(2, index, v)
        return self.keys[layer], self.values[layer]

    def advance(self, new: int) -> None:
        if not torch.compiler.is_compiling():
            self.check_room(new)
        self.length.add_(new)

    def rewind(self, length: int) -> None:
        filled = self.length
        super().rewind(length)
        self.length = filled.fill_(length)  # the same tensor: a compiled step holds it


class RingCache(StaticCache):
    """The last `sliding_window` real tokens: the one at position p lives in place p mod window, padding nowhere."""

    def __init__(
        self,
        config: ModelConfig,
        batch: int,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        if isinstance(config, ModelConfig) and config.sliding_window is None:
            raise ModelError("sliding_window=None: a RingCache forgets, so the model needs a sliding_window.")
        super().__init__(config, batch, getattr(config, "sliding_window", None), dtype, device)
        self.held = torch.full((self.capacity,), -1, device=device)  # position in each place; [B, capacity] if padded
        self.seen: Tensor | None = None  # [B] real tokens so far, once there is padding
        self.writes: tuple[Tensor, ...] = ()  # rows, places and new tokens of what `update` writes
        self.after: tuple[Tensor, Tensor | None] = (self.held, None)  # held and seen, once the pass has ended well

    def open(self, new: int, real: Tensor | None = None) -> CacheView:
        self.check_room(new)
        self._check_real(new, real)
        start, batch = int(self.length), self.keys[0].shape[0]
        positions, before, seen = torch.arange(start, start + new, device=self.held.device), self.held, self.seen
        if real is not None or seen is not None:
            positions, seen = self._count(start, positions, real)
            before = before.expand(batch, -1)
        newest = self._newest(positions)
        held = torch.where(newest < 0, before, positions.gather(-1, newest.clamp_min(0)))
        newest = newest.expand(batch, -1)
        row, place = (newest >= 0).nonzero(as_tuple=True)
        self.writes, self.after = (row, place, newest[row, place]), (held, seen)
        keys = held[..., : start + 1] if new == 1 else torch.cat([before, positions], dim=-1)
        return CacheView(positions, keys, self.capacity + new, start + new, new == 1 and positions.dim() == 1)

    def check_room(self, new: int) -> None:
        """There is always room: the oldest go."""
        NEW("new", new)

    def advance(self, new: int) -> None:
        super().advance(new)
        self.held, self.seen = self.after

    def _count(self, start: int, slots: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor]:
        """From the first padding on each row counts its own real tokens: positions [B, T], and how many then [B]."""
        batch = self.keys[0].shape[0]
        seen = torch.full((batch,), start, device=slots.device) if self.seen is None else self.seen
        if real is None:
            return seen[:, None] + slots - start, seen + len(slots)
        return (masks.positions_of.plain(real) + seen[:, None]).masked_fill(~real, -1), seen + real.sum(-1)

    def _newest(self, positions: Tensor) -> Tensor:
        """For each place, the last new token that belongs there, by its index among the new ones; −1: none."""
        index = torch.arange(positions.shape[-1], device=positions.device).expand_as(positions)
        place = torch.where(positions < 0, self.capacity, positions % self.capacity)  # padding: beyond the last place
        newest = torch.full((*positions.shape[:-1], self.capacity + 1), -1, device=positions.device)
        return newest.scatter_reduce(-1, place, index, "amax")[..., :-1]

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        if not self.writes:
            raise InputError("a RingCache must be opened before it is written to: call open(new) first.")
        return super().update(layer, k, v)

    def write(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        keys, values = self.keys[layer], self.values[layer]
        # a chunk sees the old tokens beside its own; a single one only what the ring then holds
        chunk = None if k.shape[2] == 1 else (torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2))
        row, place, token = self.writes
        keys[row, :, place], values[row, :, place] = k[row, :, token], v[row, :, token]
        filled = int(self.length) + 1
        return chunk or (keys[:, :, :filled], values[:, :, :filled])

    def reorder(self, rows: Tensor) -> None:
        super().reorder(rows)
        if self.seen is not None:
            self.seen, self.held = self.seen[rows], self.held[rows]

    def rewind(self, length: int) -> None:
        if length != 0:
            raise ModelError(f"a RingCache has forgotten what it overwrote and cannot go back to length={length}.")
        super().rewind(0)
        self.seen, self.held = None, torch.full((self.capacity,), -1, device=self.held.device)


Cache = StaticCache
