"""A model in the middle of a text: its weights, its cache and, for an encoder–decoder, what it translates.

Session           eager, any cache
CompiledSession   one step compiled by torch with constant shapes; several times faster for small models
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from glyptic.arguments import refused, shown
from glyptic.errors import InputError, ModelError
from glyptic.nn.models import Decoder, EncoderDecoder
from glyptic.nn.parts.hook_point import HookPoint
from glyptic.nn.parts.multi_head import Memory
from glyptic.nn.speed import linear


def check_ends(padding_mask: Tensor | None) -> None:
    """Refuse rows that end in padding, after which there is nothing to say."""
    if padding_mask is None:
        return
    if not isinstance(padding_mask, Tensor) or padding_mask.dim() != 2 or padding_mask.dtype != torch.bool:
        raise refused("padding_mask", padding_mask, "a boolean tensor [B, T], True where a token is real")
    if padding_mask.shape[1] and not bool(padding_mask[:, -1].all()):
        raise InputError("padding_mask is False at the end of a row, after which there is nothing to say; pad on the left.")


class Session:
    """Feed tokens, get the logits of the next one."""

    def __init__(
        self,
        model: Decoder | EncoderDecoder,
        batch: int,
        capacity: int | None = None,
        *,
        cache: str = "static",
        source: Tensor | None = None,
        source_mask: Tensor | None = None,
        packed: bool = False,
    ) -> None:
        """`packed`: copy large matrices, as they are now, into a layout for steps of `batch` rows (`speed/linear.py`)."""
        if not isinstance(model, Decoder | EncoderDecoder):
            raise refused("model", model, "a decoder or an encoder–decoder of glyptic.nn")
        if model.training:
            raise ModelError("generation needs inference mode; call model.eval() first.")
        if model.config.head not in ("linear", "mlm"):
            raise ModelError(f"head={model.config.head!r} gives no logits over tokens to generate from; use head='linear'.")
        if not isinstance(packed, bool):
            raise refused("packed", packed, "True or False")
        if isinstance(model, EncoderDecoder) != (source is not None):
            raise InputError("an encoder–decoder generates from source=, and only an encoder–decoder does.")
        if source is None and source_mask is not None:
            raise InputError("source_mask is of a source; give source too, or neither.")
        self.of = model
        self.cache = model.new_cache(batch, capacity, cache)
        self.model = linear.packed(model, batch) if packed else model
        self.inputs: dict[str, Any] = {}
        if isinstance(model, EncoderDecoder) and source is not None:
            self.inputs["memory"] = model.encode(source, source_mask)

    def feed(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """tokens [B, T] → logits [B, V] after the last of them, which must be real in every row."""
        check_ends(padding_mask)
        hidden = self.model.hidden(tokens, padding_mask=padding_mask, cache=self.cache, **self.inputs)
        return self.model.logits(hidden[:, -1])

    def reorder(self, rows: Tensor) -> None:
        """Row i continues the old row rows[i]."""
        self.cache.reorder(rows)
        memory = self.inputs.get("memory")
        if memory is not None:
            mask = None if memory.mask is None else memory.mask[rows]
            filled = self.cache.filled_by  # the cache has reordered what it saw: the same tensor is known again
            vectors = memory.vectors[rows] if filled is None or filled[1] is None else filled[1]
            self.inputs["memory"] = Memory(vectors, mask)

    def reset(self) -> None:
        """Forget the text, keep the memory and the storage."""
        self.cache.rewind(0)


class CompiledSession(Session):
    """A decoder whose single-token step is compiled, its weights frozen into it; every step attends to `capacity` keys.

    The first step compiles, which takes tens of seconds unless torch has kept the result of an earlier run. Changing the
    weights afterwards has no effect: make a new one.
    `mode`: `default`, or `max-autotune` to let torch measure several kernels for each product.
    """

    def __init__(self, model: Decoder, batch: int, capacity: int | None = None, mode: str = "default") -> None:
        super().__init__(model, batch, capacity, cache="fixed")
        if not isinstance(mode, str) or mode not in ("default", "max-autotune"):
            raise ModelError(f"mode={shown(mode)} is not one of default, max-autotune.")
        self.mode, self.shape = mode, (batch, 1)
        self.compiled: Callable[[Tensor], Tensor] | None = None

    @torch.inference_mode()
    def feed(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        fits = isinstance(tokens, Tensor) and tokens.shape == self.shape and tokens.dtype == torch.int64
        if not fits or padding_mask is not None:
            return super().feed(tokens, padding_mask)
        self.cache.check_room(1)
        return self._first_step(tokens) if self.compiled is None else self.compiled(tokens)

    def _first_step(self, tokens: Tensor) -> Tensor:
        """Compiles. Freezing must be a global setting meanwhile: as an option it does not reach the weights."""
        import torch._inductor.config as inductor  # slow to import, so only here

        if any(isinstance(at, HookPoint) and at.listener for part in self.model.modules() for at in vars(part).values()):
            raise ModelError("a step compiled while activations are read or edited would keep that for good; use a Session.")
        self.compiled = self._compile()
        with inductor.patch(freezing=True):
            return self.compiled(tokens)

    def _compile(self) -> Callable[[Tensor], Tensor]:
        """The step as one C++ function. torch's guards, which cost as much as a layer, are left out: model and cache
        belong to this session, and `feed` lets in one shape and dtype only."""
        model, cache = self.model, self.cache

        def step(tokens: Tensor) -> Tensor:
            return model.logits(model.hidden(tokens, cache=cache)[:, -1])

        options: dict[str, Any] = {
            "cpp_wrapper": True,
            "max_autotune": self.mode == "max-autotune",
            "guard_filter_fn": lambda guards: [False] * len(guards),
        }
        own = types.FunctionType(step.__code__.replace(), step.__globals__, "step", None, step.__closure__)
        return torch.compile(own, fullgraph=True, dynamic=False, options=options)  # own code: torch keeps steps by code
