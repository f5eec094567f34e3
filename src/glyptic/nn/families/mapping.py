"""How a family's tensors become ours and back: a list of reversible entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from glyptic.errors import FileError
from glyptic.nn.config import ModelConfig


@dataclass(frozen=True)
class Entry:
    """One of our parameters, and the tensors of the family that hold it."""

    ours: str
    theirs: tuple[str, ...]
    to_ours: Callable[[Sequence[Tensor]], Tensor]
    to_theirs: Callable[[Tensor], Sequence[Tensor]]


@dataclass(frozen=True)
class Family:
    """A public family: `model_type` in config.json, its config and its tensors in both directions."""

    model_type: str
    choices: Mapping[str, Sequence[str]]
    """Values of our fields that a checkpoint of the family can hold at all; its other limits come out on reading back."""
    read_config: Callable[[dict[str, Any], set[str]], ModelConfig]
    write_config: Callable[[ModelConfig], dict[str, Any]]
    entries: Callable[[ModelConfig], list[Entry]]
    prefix: str = ""
    """Prefix of the base model's names, which files of the base model alone leave out."""
    ignored: tuple[str, ...] = field(default=())
    """Patterns of names that hold nothing learned, or that we have no use for (a pooler)."""
    renamed: tuple[tuple[str, str], ...] = field(default=())
    """Endings of names in old files, and what they are called today."""

    def modern(self, name: str) -> str:
        """Today's name of a tensor."""
        for old, new in self.renamed:
            if name.endswith(old):
                return name.removesuffix(old) + new
        return name


def same(ours: str, theirs: str) -> Entry:
    return Entry(ours, (theirs,), lambda tensors: tensors[0], lambda tensor: [tensor])


def shaped(ours: str, theirs: str, our_shape: tuple[int, ...], their_shape: tuple[int, ...]) -> Entry:
    """The same numbers in another shape."""
    return Entry(ours, (theirs,), lambda t: t[0].reshape(our_shape), lambda t: [t.reshape(their_shape)])


def transposed(ours: str, theirs: str) -> Entry:
    """GPT-2 stores matrices as input × output."""
    return Entry(ours, (theirs,), lambda tensors: tensors[0].t().contiguous(), lambda t: [t.t().contiguous()])


def stacked(ours: str, theirs: Sequence[str], sizes: Sequence[int]) -> Entry:
    """Several matrices above one another in ours: W_q, W_k, W_v, or the gate above W₁."""
    return Entry(ours, tuple(theirs), lambda tensors: torch.cat(list(tensors)), lambda t: t.split(list(sizes)))


def permuted(entry: Entry, order: Tensor) -> Entry:
    """The same entry, our rows being theirs in another order: ours[i] = theirs[order[i]]."""
    inverse = order.argsort()
    return Entry(
        entry.ours,
        entry.theirs,
        lambda tensors: entry.to_ours(tensors)[order],
        lambda tensor: entry.to_theirs(tensor[inverse]),
    )


def repeated(ours: str, theirs: Sequence[str]) -> Entry:
    """One of ours that they hold several times: all the same, or it is another model."""

    def to_ours(tensors: Sequence[Tensor]) -> Tensor:
        first, *rest = tensors
        if not first.is_meta and not all(first.equal(other) for other in rest):
            raise FileError(f"{', '.join(theirs)} differ; only equal ones are supported.")
        return first

    return Entry(ours, tuple(theirs), to_ours, lambda tensor: [tensor.clone() for _ in theirs])


def linear(ours: str, theirs: str, bias: bool = True) -> list[Entry]:
    """A matrix and its bias, or the scale and shift of a norm."""
    parts = ("weight", "bias") if bias else ("weight",)
    return [same(f"{ours}.{part}", f"{theirs}.{part}") for part in parts]


def fused(ours: str, theirs: Sequence[str], sizes: Sequence[int], bias: bool = True) -> list[Entry]:
    """Several matrices, and their biases, stacked in one of ours."""
    parts = ("weight", "bias") if bias else ("weight",)
    return [stacked(f"{ours}.{part}", [f"{name}.{part}" for name in theirs], sizes) for part in parts]


def adjacent_pairs(head_size: int, rotated: int) -> Tensor:
    """Row order within a head: public rotary models pair m with m + R/2, ours 2m with 2m + 1.

    >>> adjacent_pairs(6, 4).tolist()
    [0, 2, 1, 3, 4, 5]
    """
    pairs = torch.arange(rotated).view(2, -1).t().flatten()
    return torch.cat([pairs, torch.arange(rotated, head_size)])


def head_rows(heads: int, head_size: int, within: Tensor) -> Tensor:
    """The order `within` a head, for the rows of all heads."""
    return (torch.arange(heads)[:, None] * head_size + within[None, :]).flatten()


ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
PUBLIC_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu_tanh": "gelu_new", "silu": "silu"}


def activation(fields: dict[str, Any], key: str, default: str) -> str:
    name = fields.get(key, default)
    if name not in ACTIVATIONS:
        raise FileError(f"config.json: {key}={name!r} is not an activation we have ({', '.join(ACTIVATIONS)}).")
    return ACTIVATIONS[name]


def whole(fields: dict[str, Any], key: str) -> int:
    """A size that is calculated with before the config checks it."""
    value = fields[key]
    if not isinstance(value, int) or value < 1:
        raise FileError(f"config.json: {key}={value!r} must be a whole number of at least 1.")
    return value


def require(fields: dict[str, Any], key: str, expected: object, default: object = None) -> None:
    """Refuse a variant of a family that we would compute wrongly."""
    value = fields.get(key, expected if default is None else default)
    if value != expected:
        raise FileError(f"config.json: {key}={value!r} is not supported; only {expected!r} is.")
