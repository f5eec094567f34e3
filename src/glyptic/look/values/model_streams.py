"""The residual stream of a model: how long its vectors are after each block, and what the output would say of them already.

The logit lens (nostalgebraist 2020) gives the residual after each layer to the final norm and the output matrix, as if the layers
that follow were not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.look.pages import pack
from glyptic.look.values.model_effects import four_digits
from glyptic.nn.models import EncoderDecoder, Model


@dataclass
class ResidualStream:
    """One stack's residual: before the first layer and after each, and what attention and feed-forward have added."""

    key: str  # self, encoder or decoder
    sequence: int
    layers: int
    residual: list[Tensor] = field(default_factory=list)
    added: dict[str, list[Tensor]] = field(default_factory=dict)

    def packed(self) -> dict[str, Any]:
        """Lengths of vectors: [layers + 1, T] of the residual, [layers, T] of what each part adds."""
        added = {name: pack(four_digits(_lengths(found))) for name, found in self.added.items()}
        residual = pack(four_digits(_lengths(self.residual)))
        return {"key": self.key, "sequence": self.sequence, "residual": residual, "added": added}


def _lengths(found: list[Tensor]) -> np.ndarray:
    return torch.stack([each[0].float().norm(dim=-1) for each in found]).cpu().numpy()


def streams_of(model: Model) -> list[ResidualStream]:
    if isinstance(model, EncoderDecoder):
        return [ResidualStream("encoder", 0, len(model.encoder.blocks)), ResidualStream("decoder", 1, len(model.decoder.blocks))]
    stack: Any = model.stack
    return [ResidualStream("self", 0, len(stack.blocks))]


def stream_listeners(model: Model, streams: list[ResidualStream]) -> Iterator[tuple[str, Callable[[Tensor], Tensor]]]:
    """Name of a hook and what notes its value there; nothing is changed."""
    end = "hook_normalized_resid_post" if model.config.norm_place == "post" else "hook_resid_post"
    for stream in streams:
        prefix = "blocks" if stream.key == "self" else stream.key
        yield f"{prefix}.0.hook_resid_pre", _noting(stream.residual)
        parts = {"attention": "hook_attn_out", "feed_forward": "hook_mlp_out"}
        if stream.key == "decoder":
            parts["cross"] = "hook_cross_attn_out"
        for layer in range(stream.layers):
            for part, hook in parts.items():
                yield f"{prefix}.{layer}.{hook}", _noting(stream.added.setdefault(part, []))
            yield f"{prefix}.{layer}.{end}", _noting(stream.residual)


def _noting(into: list[Tensor]) -> Callable[[Tensor], Tensor]:
    def note(x: Tensor) -> Tensor:
        into.append(x.detach())
        return x

    return note


@dataclass(frozen=True)
class Lens:
    """At each layer and chosen position the likeliest outputs, [L + 1, P, k], and what the last layer's favourite has there."""

    ids: np.ndarray
    probabilities: np.ndarray
    final: np.ndarray  # [L + 1, P]
    positions: list[int]

    def packed(self) -> dict[str, Any]:
        shares = [pack(np.rint(each * 65535).astype(np.uint16)) for each in (self.probabilities, self.final)]
        ids = pack(self.ids.astype(np.int32))
        return {"ids": ids, "probabilities": shares[0], "final": shares[1], "positions": self.positions}


def lens_of(model: Model, stream: ResidualStream, positions: list[int], k: int) -> Lens | None:
    """None for a model without an output."""
    if model.output is None:
        return None
    stack: Any = getattr(model, "decoder", None) or getattr(model, "stack", None)
    table = None if model.embedding.token is None else model.embedding.token.weight
    rows = [model.output(stack.ln_final(each)[0, positions], table).float().softmax(-1) for each in stream.residual]
    favourite = rows[-1].argmax(-1)[:, None]
    best = [row.topk(min(k, row.shape[-1]), dim=-1) for row in rows]
    ids = torch.stack([each.indices for each in best]).cpu().numpy()
    probabilities = torch.stack([each.values for each in best]).cpu().numpy()
    return Lens(ids, probabilities, torch.stack([row.gather(-1, favourite)[:, 0] for row in rows]).cpu().numpy(), positions)
