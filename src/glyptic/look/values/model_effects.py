"""What each head matters: its output set to zero, to its mean over the positions, or to that of another input; then the change
of the model's output, once for every head, so that a page shows it on a click.

The change is the divergence KL(as it is ‖ changed) of the predicted distributions, in nats, at each position; of a model without
an output, the distance of the hidden states as a part of their length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from glyptic.look.pages import pack
from glyptic.look.values.model_attention import AttentionSite
from glyptic.look.values.model_inputs import ModelInput
from glyptic.nn.hooks import edited
from glyptic.nn.models import Model

_MOST_LOGITS = 1 << 25  # numbers of one batch of outputs


@dataclass(frozen=True)
class Outcome:
    """What a model says at the measured positions: logarithms of probabilities [P, V], or hidden states [P, D]."""

    values: Tensor
    predicts: bool

    @classmethod
    def of(cls, output: Tensor, positions: list[int], predicts: bool) -> Outcome:
        """An output [B, T, V] or, of a class, [B, V]; B stays in front."""
        chosen = output[:, None] if output.dim() == 2 else output[:, positions]
        return cls(chosen.float().log_softmax(-1) if predicts else chosen.float(), predicts)

    def change(self, other: Outcome) -> Tensor:
        """[B, P]: how far the other's are from ours."""
        if self.predicts:
            return (self.values.exp() * (self.values - other.values)).sum(-1).clamp_min(0)
        return (self.values - other.values).norm(dim=-1) / self.values.norm(dim=-1).clamp_min(1e-12)


@dataclass(frozen=True)
class Effects:
    """One way of changing heads: for each head and position the change, the token then on top, and what is left of ours."""

    mode: str
    change: np.ndarray  # [N, P], NaN where it was not computed
    top: np.ndarray | None  # [N, P]
    left: np.ndarray | None  # [N, P], the probability then of the token that was on top

    def packed(self) -> dict[str, Any]:
        return {
            "mode": self.mode,
            "change": pack(four_digits(self.change)),
            "top": None if self.top is None else pack(self.top.astype(np.int32)),
            "left": None if self.left is None else pack(np.rint(self.left * 65535).astype(np.uint16)),
        }


def four_digits(values: np.ndarray) -> np.ndarray:
    """Numbers to four digits, whose last bits are zero, so that they deflate well.

    >>> float(abs(four_digits(np.array([np.pi])) / np.pi - 1)[0]) < 2**-12
    True
    """
    bits = np.asarray(values, np.float32).view(np.uint32)
    return np.where(np.isnan(values), np.float32("nan"), ((bits + 0x800) & np.uint32(0xFFFFF000)).view(np.float32))


def effects_of(
    model: Model,
    given: ModelInput,
    sites: list[AttentionSite],
    heads: list[tuple[int, int]],
    positions: list[int],
    mode: str,
    others: list[list[Tensor]] | None = None,
) -> Effects:
    """Change the heads (site, number) one by one; those that are not listed are NaN. `others`: z of another input."""
    predicts = model.output is not None
    base = Outcome.of(given.run(model), positions, predicts)
    count, places = sum(len(site.maps) for site in sites), base.values.shape[1]
    change = np.full((count, places), np.nan, np.float32)
    top, left = np.zeros((count, places), np.int64), np.zeros((count, places))
    first = [sum(len(site.maps) for site in sites[:index]) for index in range(len(sites))]
    before = base.values.argmax(-1)
    for index, layer, chosen in _batches(sites, heads, max(1, _MOST_LOGITS // _size(model, given))):
        value = None if others is None else others[index][layer]
        changes = {sites[index].hook(layer, "hook_z"): lambda z, h=chosen, v=value: changed(z, h, mode, v)}
        with edited(model, changes):
            after = Outcome.of(given.run(model, len(chosen)), positions, predicts)
        at = [first[index] + layer * sites[index].modules[0].heads + head for head in chosen]
        change[at] = base.change(after).cpu().numpy()
        if predicts:
            top[at] = after.values.argmax(-1).cpu().numpy()
            left[at] = after.values.gather(-1, before.expand(len(chosen), -1)[..., None])[..., 0].exp().cpu().numpy()
    return Effects(mode, change, top if predicts else None, left if predicts else None)


def _size(model: Model, given: ModelInput) -> int:
    """Numbers of one output, and of what attention holds on the way."""
    longest = max(each.shape[1] for each in given.tensors) if model.config.kind != "vit" else model.config.context
    return max(longest * (model.config.vocabulary or model.config.width), 2 * model.config.heads * longest * longest)


def _batches(sites: list[AttentionSite], heads: list[tuple[int, int]], most: int) -> Iterator[tuple[int, int, list[int]]]:
    """Heads of one layer at a time, at most so many: (site, layer, heads)."""
    by_layer: dict[tuple[int, int], list[int]] = {}
    for index, number in heads:
        layer, head = divmod(number, sites[index].modules[0].heads)
        by_layer.setdefault((index, layer), []).append(head)
    for (index, layer), chosen in sorted(by_layer.items()):
        for start in range(0, len(chosen), most):
            yield index, layer, sorted(chosen)[start : start + most]


def changed(z: Tensor, heads: list[int], mode: str, other: Tensor | None = None) -> Tensor:
    """z [B, T, H, K] with head b of the list changed in row b."""
    z = z.clone()
    for row, head in enumerate(heads):
        if mode == "mean":
            z[row, :, head] = z[row, :, head].mean(0)
        elif mode == "patch":
            assert other is not None
            z[row, :, head] = other[0, :, head]
        else:
            z[row, :, head] = 0.0
    return z


def difference(model: Model, given: ModelInput, other: ModelInput, positions: list[int]) -> list[float]:
    """The change at each position if all is taken from the other input: what a patch of one head is a part of."""
    predicts = model.output is not None
    both = [Outcome.of(each.run(model), positions, predicts) for each in (given, other)]
    return [float(f"{value:.4g}") for value in both[0].change(both[1])[0].tolist()]


def no_gradients() -> Any:
    """Nothing here is learned from."""
    return torch.inference_mode()
