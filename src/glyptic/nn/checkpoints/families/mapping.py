"""How a family's tensors become ours and back: a list of reversible entries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from glyptic.errors import FileError, ModelError
from glyptic.nn.checkpoints.families.fields import Field, Read, Words, judged, written
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
    choices: Mapping[str, Sequence[Any]]
    """Values of our fields that a checkpoint of the family can hold at all; its other limits come out on reading back."""
    fields: Mapping[str, Field]
    """Every field of its config.json, judged (`fields.py`)."""
    derive: Callable[[dict[str, Any], set[str]], dict[str, Any]]
    """Our other fields: from the values of theirs, and the names of the tensors in the file."""
    also: Callable[[ModelConfig], dict[str, Any]]
    """What is written besides the fields that are read into ours: `architectures`, and what is worked out of several."""
    entries: Callable[[ModelConfig], list[Entry]]
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of fields."""
    prefix: str = ""
    """Prefix of the base model's names, which files of the base model alone leave out."""
    ignored: tuple[str, ...] = ()
    """Patterns of names that hold nothing learned, or that we have no use for (a pooler)."""
    copies: Mapping[str, str] = field(default_factory=dict)
    """Tensors that may be there a second time, and the ones that they must equal where the output is tied."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Endings of names in old files, and what they are called today."""
    check: Callable[[ModelConfig, Mapping[str, Tensor]], None] | None = None
    """What else must hold of the tensors."""

    def read_config(self, fields: Mapping[str, Any], names: set[str]) -> ModelConfig:
        """Our config of theirs; whatever is wrong is said of their fields."""
        values = judged(self.fields, self.aliases, fields, self.model_type)
        ours = {our: values[name] for name, their in self.fields.items() if isinstance(their, Read) for our in their.ours}
        try:
            return ModelConfig(**{**ours, **self.derive(values, names)})
        except ModelError as error:
            raise FileError(self._in_their_words(str(error))) from None

    def write_config(self, config: ModelConfig) -> dict[str, Any]:
        """Their config of ours: what is read into a field of ours is written from it, and then what is said `also`."""
        return {"model_type": self.model_type, **written(self.fields, config), **self.also(config)}

    def _in_their_words(self, sentence: str) -> str:
        """A sentence about our fields, said of theirs; advice that they have no words for is left out."""
        reason, *advice = sentence.rstrip(".").split("; ")
        kept = [part for part in advice if not any(re.search(rf"\b{name}\b", part) for name in ModelConfig.__dataclass_fields__)]
        said = "; ".join([reason, *kept]) + "."
        return re.sub(r"\b(\w+)=", lambda found: f"{self.name_of(found[1])}=", said)

    def name_of(self, our: str) -> str:
        """Their name of a field of ours; ours, where they have none."""
        return next((name for name, each in self.fields.items() if isinstance(each, Read) and our in each.ours), our)

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

    def to_ours(tensors: Sequence[Tensor]) -> Tensor:
        return _of_sizes(tensors[0], their_shape).reshape(our_shape)

    return Entry(ours, (theirs,), to_ours, lambda tensor: [tensor.reshape(their_shape)])


def transposed(ours: str, theirs: str) -> Entry:
    """GPT-2 stores matrices as input × output."""
    return Entry(ours, (theirs,), lambda tensors: tensors[0].t().contiguous(), lambda t: [t.t().contiguous()])


def stacked(ours: str, theirs: Sequence[str], sizes: Sequence[int]) -> Entry:
    """Several matrices above one another in ours: W_q, W_k, W_v, or the gate above W₁."""

    def to_ours(tensors: Sequence[Tensor]) -> Tensor:
        return torch.cat([_of_sizes(tensor, (size,)) for tensor, size in zip(tensors, sizes, strict=True)])

    return Entry(ours, tuple(theirs), to_ours, lambda tensor: tensor.split(list(sizes)))


def _of_sizes(tensor: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The tensor, if its first sides have these sizes: other rows may have the same sum."""
    if tuple(tensor.shape[: len(sizes)]) != sizes:
        raise RuntimeError(f"{tuple(tensor.shape)} does not begin with {sizes}")
    return tensor


def permuted(entry: Entry, order: Tensor) -> Entry:
    """The same entry, our rows being theirs in another order: ours[i] = theirs[order[i]]."""
    inverse = order.argsort()
    return Entry(
        entry.ours,
        entry.theirs,
        lambda tensors: _of_sizes(entry.to_ours(tensors), (len(order),))[order],
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


def linears(ours: str, theirs: str, names: Mapping[str, str], bias: bool = True) -> list[Entry]:
    """The same for several parts of a layer: our name to theirs."""
    return [entry for our, their in names.items() for entry in linear(f"{ours}.{our}", f"{theirs}.{their}", bias)]


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


def rotary_qkv(ours: str, theirs: Sequence[str], config: ModelConfig) -> list[Entry]:
    """W_q, W_k, W_v of rotary positions, and their biases, stacked in ours: queries and keys turn, values do not."""
    K = config.head_size
    sizes = [config.heads * K, config.groups * K, config.groups * K]
    rotated = head_rows(config.heads + config.groups, K, adjacent_pairs(K, int(config.rotary_fraction * K)))
    order = torch.cat([rotated, torch.arange(len(rotated), sum(sizes))])
    return [permuted(entry, order) for entry in fused(ours, theirs, sizes, config.attention_bias)]


def rotary_scale(ours: str, theirs: str, config: ModelConfig) -> Entry:
    """The scale of a norm on queries or keys that are turned: one number for each row of a head, in the rows' order."""
    K = config.head_size
    return permuted(same(f"{ours}.weight", f"{theirs}.weight"), adjacent_pairs(K, int(config.rotary_fraction * K)))


# their word for each function of ours is the first that stands for it
ACTIVATION = Words(
    {"relu": "relu", "gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh"}
    | {"silu": "silu", "swish": "silu"}
)
# the function of the gate
GATE = Words({"silu": "swiglu", "swish": "swiglu", "gelu_pytorch_tanh": "geglu", "gelu_new": "geglu"})
