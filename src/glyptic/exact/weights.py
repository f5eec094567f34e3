"""The weights of a transformer: heads, feed-forwards, norms, and the layers that they make up.

All are arrays of codes (`glyptic.numbers`), read-only. Codes mean numbers only in a format: what `encode` or `Head.of` wrote
knows its format, and a part whose arrays are of two is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from glyptic.arguments import is_word, shown
from glyptic.errors import ModelError
from glyptic.numbers import Activation, AnyFormat, Codes, encode, same_numbers, written, written_in
from glyptic.numbers.arithmetic import ACTIVATIONS


class Weights:
    """Arrays of codes that belong together, and to one format: that of `encode`, or of the first transformer they are in.

    Each array knows the format, so that a part made of another's arrays, by `dataclasses.replace` or by hand, is in it too.
    """

    words: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # fields that choose how the arrays are read, and their choices

    def __post_init__(self) -> None:
        for name, known in self.words.items():
            if not is_word(getattr(self, name), known):
                given = shown(getattr(self, name))
                raise ModelError(f"{name} of a {type(self).__name__} is {given}, and must be one of {', '.join(known)}.")
        format = None
        for name, array in self.arrays():
            if not isinstance(array, np.ndarray | np.generic):
                raise ModelError(
                    f"{name} of a {type(self).__name__} is {shown(array)}, not an array of codes; "
                    f"{type(self).__name__}.of makes one from numbers."
                )
            own = written_in(array)  # type: ignore[arg-type]  # a scalar has none
            if own is not None and format is not None and not same_numbers(own, format):
                raise of_another_format(name, own, format)
            format = format or own
        _write(self, format)

    def arrays(self) -> Iterator[tuple[str, Codes]]:
        """The arrays that there are, by name."""
        optional = {each.name for each in fields(self) if each.default is None}  # type: ignore[arg-type]  # of a subclass
        for name, array in vars(self).items():
            if name not in self.words and not (array is None and name in optional):
                yield name, array


def _write(part: Weights, format: AnyFormat | None) -> None:
    for name, array in list(part.arrays()):
        object.__setattr__(part, name, written(array, format))


def belong(part: Weights, format: AnyFormat, name: str) -> None:
    """A part is in a format from now on; if it was in another, it is refused."""
    for _, array in part.arrays():
        own = written_in(array)
        if own is None:
            return _write(part, format)
        if not same_numbers(own, format):
            raise of_another_format(name, own, format)


def of_another_format(name: str, own: AnyFormat, other: AnyFormat) -> ModelError:
    return ModelError(
        f"{name} is in {own}, not in {other}, where the same codes are other numbers; "
        "write it in one format, or bring a whole transformer into another by in_format."
    )


def _encoded(format: str | AnyFormat, numbers: Mapping[str, Any]) -> dict[str, Codes]:
    return {name: encode(array, format, name) for name, array in numbers.items() if array is not None}


@dataclass(frozen=True, eq=False)
class Head(Weights):
    """One attention head: query and key (d_k, d), value (d_v, d), output (d, d_v); and what some heads have besides.

        q_i = [W_Q h_i + query_bias], likewise k and v; if there are angles, the first pairs (q_0, q_1), (q_2, q_3), … are turned
            by those of position i: ([[q_0·cos] − [q_1·sin]], [[q_0·sin] + [q_1·cos]]), and so are those of k_j by position j's
        score_ij = ⟨q_i, k_j⟩, + ⟨q_i, distance_keys[i−j]⟩, divided by [√d_k] with the option `scale`, + distance_scores[i−j]
        out_i = W_O (Σ_j s_ij v_j, + Σ_j s_ij distance_values[i−j]), + output_bias

    Every + is one rounded sum. A table by distance has a row for each distance from 0, and its last row is for all beyond.
    """

    query: Codes
    key: Codes
    value: Codes
    output: Codes
    query_bias: Codes | None = None  # (d_k,)
    key_bias: Codes | None = None  # (d_k,)
    value_bias: Codes | None = None  # (d_v,)
    output_bias: Codes | None = None  # (d,)
    cosine: Codes | None = None  # (positions, r), 2r ≤ d_k: rotary positions
    sine: Codes | None = None  # likewise
    distance_scores: Codes | None = None  # (distances,): T5, ALiBi
    distance_keys: Codes | None = None  # (distances, d_k): Shaw, Transformer-XL
    distance_values: Codes | None = None  # (distances, d_v): Shaw

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.cosine is None) != (self.sine is None):
            raise ModelError("a Head has a cosine without a sine, or a sine without a cosine; give both, or neither.")

    @classmethod
    def of(cls, format: str | AnyFormat, query: Any, key: Any, value: Any, output: Any, **more: Any) -> Head:
        """A head from numbers; `more` are those of the optional weights that it has."""
        check_known("Head.of", more, cls, "part")
        return cls(**_encoded(format, {"query": query, "key": key, "value": value, "output": output, **more}))


@dataclass(frozen=True, eq=False)
class FeedForward(Weights):
    """An activation between two affine maps: w1 (m, d), b1 (m,), w2 (d, m), b2 (d,); with a gate (m, d) beside the first or not.

        W_2 f(W_1 h + b_1) + b_2          W_2 [f(W_g h + b_g) · (W_1 h + b_1)] + b_2
    """

    w1: Codes
    b1: Codes
    w2: Codes
    b2: Codes
    gate: Codes | None = None  # (m, d)
    gate_bias: Codes | None = None  # (m,)
    activation: Activation = "relu"

    words = {"activation": ACTIVATIONS}  # noqa: RUF012 (of the class)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gate is None and self.gate_bias is not None:
            raise ModelError("a FeedForward has a gate_bias and no gate; give a gate, or no bias for it.")

    @classmethod
    def of(
        cls,
        format: str | AnyFormat,
        w1: Any,
        b1: Any,
        w2: Any,
        b2: Any,
        *,
        gate: Any = None,
        gate_bias: Any = None,
        activation: Activation = "relu",
    ) -> FeedForward:
        """A feed-forward from numbers."""
        numbers = {"w1": w1, "b1": b1, "w2": w2, "b2": b2, "gate": gate, "gate_bias": gate_bias}
        return cls(**_encoded(format, numbers), activation=activation)


Normalization = Literal["layer", "rms", "rms_outside"]


@dataclass(frozen=True, eq=False)
class Norm(Weights):
    """A norm's gain γ and bias β, (d,) each, and ε, a code.

    layer         γ (x − mean) / √(variance + ε) + β
    rms           γ x / √(mean of squares + ε) + β
    rms_outside   γ x / (√(mean of squares) + ε) + β
    """

    gain: Codes
    bias: Codes
    epsilon: Codes  # of shape ()
    kind: Normalization = "layer"

    words = {"kind": get_args(Normalization)}  # noqa: RUF012 (of the class)

    @classmethod
    def of(cls, format: str | AnyFormat, gain: Any, bias: Any, epsilon: Any = 0, kind: Normalization = "layer") -> Norm:
        """A norm from numbers."""
        return cls(**_encoded(format, {"gain": gain, "bias": bias, "epsilon": epsilon}), kind=kind)


@dataclass(frozen=True, eq=False)
class Layer:
    """Heads, added up in order, then a feed-forward; either may be missing. Norms are there if the options want them.

    In a `parallel` layer the feed-forward reads what the heads read, h + ATTN(h) + FF(h), as in GPT-NeoX.
    """

    heads: tuple[Head, ...] = ()
    feed_forward: FeedForward | None = None
    attention_norm: Norm | None = None
    feed_forward_norm: Norm | None = None
    parallel: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.parallel, bool):
            raise ModelError(f"parallel of a layer is {shown(self.parallel)}, and must be True or False.")
        if isinstance(self.heads, Weights):
            raise ModelError(f"heads of a layer is one {type(self.heads).__name__}, and must be a tuple: Layer((head,)).")
        object.__setattr__(self, "heads", tuple_of(Head, self.heads, "heads of a layer"))
        for name, kind in PARTS_OF_A_LAYER.items():
            given = getattr(self, name)
            if not isinstance(given, kind | None):
                raise ModelError(f"{name} of a layer is {shown(given)}, and must be a {kind.__name__} or None.")


PARTS_OF_A_LAYER: dict[str, type[Weights]] = {"feed_forward": FeedForward, "attention_norm": Norm, "feed_forward_norm": Norm}


def tuple_of(kind: type, given: Any, name: str) -> tuple[Any, ...]:
    """The parts of a kind, in order; what is none is refused with its place."""
    try:
        items = tuple(given)
    except TypeError:
        raise ModelError(f"{name} is {shown(given)}, and must be a tuple of {kind.__name__}.") from None
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise ModelError(f"{name}[{i}] is a {type(item).__name__}, and must be a {kind.__name__}.")
    return items


def check_known(called: str, changes: Mapping[str, Any], kind: type, what: str) -> None:
    known = [each.name for each in fields(kind)]
    for name in changes:
        if name not in known:
            raise ModelError(f"{called}(): there is no {what} {shown(name)}; there are {', '.join(known)}.")


def rows_of(array: Codes | None) -> int:
    return len(array) if array is not None and array.ndim else 0  # a number in place of an array is told later, as its shape


def columns_of(matrix: Codes | None) -> int:
    return matrix.shape[1] if matrix is not None and matrix.ndim == 2 else 0


def _head_shapes(head: Head, d: int) -> dict[str, tuple[int, ...]]:
    d_k, d_v, turned = rows_of(head.query), rows_of(head.value), (rows_of(head.cosine), columns_of(head.cosine))
    return {
        **{"query": (d_k, d), "key": (d_k, d), "value": (d_v, d), "output": (d, d_v)},
        **{"query_bias": (d_k,), "key_bias": (d_k,), "value_bias": (d_v,), "output_bias": (d,)},
        **{"cosine": turned, "sine": turned, "distance_scores": (rows_of(head.distance_scores),)},
        **{"distance_keys": (rows_of(head.distance_keys), d_k), "distance_values": (rows_of(head.distance_values), d_v)},
    }


def _feed_forward_shapes(of: FeedForward, d: int) -> dict[str, tuple[int, ...]]:
    m = rows_of(of.w1)
    return {"w1": (m, d), "b1": (m,), "w2": (d, m), "b2": (d,), "gate": (m, d), "gate_bias": (m,)}


SHAPES: dict[type[Weights], Callable[[Any, int], dict[str, tuple[int, ...]]]] = {
    Head: _head_shapes,
    FeedForward: _feed_forward_shapes,
    Norm: lambda _, d: {"gain": (d,), "bias": (d,), "epsilon": ()},
}
