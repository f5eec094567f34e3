"""A model in the middle of a text: its weights, its cache and, for an encoder–decoder, what it translates.

Session           eager, any cache
CompiledSession   one step compiled by torch with constant shapes; several times faster for small models
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from glyptic.errors import InputError, ModelError
from glyptic.nn.models import Decoder, EncoderDecoder
from glyptic.nn.multi_head import Memory


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
    ) -> None:
        if model.training:
            raise ModelError("generation needs inference mode; call model.eval() first.")
        if isinstance(model, EncoderDecoder) != (source is not None):
            raise InputError("an encoder–decoder generates from source=, and only an encoder–decoder does.")
        self.model = model
        self.cache = model.new_cache(batch, capacity, cache)
        self.inputs: dict[str, Any] = {}
        if isinstance(model, EncoderDecoder) and source is not None:
            self.inputs["memory"] = model.encode(source, source_mask)

    def feed(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        """tokens [B, T] → logits [B, V] after the last of them."""
        hidden = self.model.hidden(tokens, padding_mask=padding_mask, cache=self.cache, **self.inputs)
        return self.model.logits(hidden[:, -1])

    def reorder(self, rows: Tensor) -> None:
        """Row i continues the old row rows[i]."""
        self.cache.reorder(rows)
        memory = self.inputs.get("memory")
        if memory is not None:
            mask = None if memory.mask is None else memory.mask[rows]
            self.inputs["memory"] = Memory(memory.vectors[rows], mask)

    def reset(self) -> None:
        """Forget the text, keep the memory and the storage."""
        self.cache.rewind(0)
        self.cache.real = None


class CompiledSession(Session):
    """A decoder whose single-token step is compiled, its weights frozen into it.

    The first step takes some ten seconds to compile. Changing the weights afterwards has no effect: make a new one.
    """

    def __init__(self, model: Decoder, batch: int, capacity: int | None = None, mode: str = "default") -> None:
        super().__init__(model, batch, capacity, cache="fixed")
        self.mode = mode
        self.compiled: Callable[[Tensor], Tensor] | None = None

    def feed(self, tokens: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        if tokens.shape[1] > 1 or padding_mask is not None:
            return super().feed(tokens, padding_mask)
        if self.compiled is None:
            self.compiled = self._compile()
        return self.compiled(tokens)

    def _compile(self) -> Callable[[Tensor], Tensor]:
        model, cache = self.model, self.cache

        def step(tokens: Tensor) -> Tensor:
            return model.logits(model.hidden(tokens, cache=cache)[:, -1])

        options: dict[str, Any] = {"freezing": True}
        if self.mode == "max-autotune":
            options |= {"max_autotune": True}
        return torch.compile(step, fullgraph=True, options=options)
