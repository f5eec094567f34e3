"""The finite-precision transformer as a value: vocabulary, named coordinates, embeddings, layers, output.

    h_i = θ_TE(x_i) + θ_PE(i)
    each layer:   h_i += Σ_heads W_O Σ_j s_ij (W_V h_j),   s_i = softmax(⟨W_Q h_i, W_K h_1⟩, …)
                  h_i += W_2 relu(W_1 h_i + b_1) + b_2
    answer:       argmax softmax(θ_OUTPUT h_n)

All weights are arrays of codes (`glyptic.numbers`), read-only; a transformer never changes, it is made anew. Matrices act on
columns: W_Q is (d_k, d). Everything is counted from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from glyptic.errors import FormatError, InputError, ModelError
from glyptic.exact.history import Frame
from glyptic.exact.options import Options
from glyptic.numbers import AnyFormat, Codes, Exact, check_codes, decode, encode

if TYPE_CHECKING:
    from glyptic.exact.running import Batch, Run

TIE = "TIE"
_WORDS = {TIE: "a tie", "UNDEFINED": "a run that met 0/0"}  # what is said in place of an answer
Input = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Head:
    """One attention head: query and key (d_k, d), value (d_v, d), output (d, d_v)."""

    query: Codes
    key: Codes
    value: Codes
    output: Codes

    @classmethod
    def of(cls, format: AnyFormat, query: Any, key: Any, value: Any, output: Any) -> Head:
        """A head from numbers."""
        matrices = {"query": query, "key": key, "value": value, "output": output}
        return cls(**{name: encode(matrix, format, name) for name, matrix in matrices.items()})


@dataclass(frozen=True, eq=False)
class FeedForward:
    """relu between two affine maps: w1 (m, d), b1 (m,), w2 (d, m), b2 (d,)."""

    w1: Codes
    b1: Codes
    w2: Codes
    b2: Codes

    @classmethod
    def of(cls, format: AnyFormat, w1: Any, b1: Any, w2: Any, b2: Any) -> FeedForward:
        """A feed-forward from numbers."""
        arrays = {"w1": w1, "b1": b1, "w2": w2, "b2": b2}
        return cls(**{name: encode(array, format, name) for name, array in arrays.items()})


@dataclass(frozen=True, eq=False)
class Norm:
    """LayerNorm's gain γ and bias β, (d,) each, and ε, a code."""

    gain: Codes
    bias: Codes
    epsilon: Codes  # of shape ()


@dataclass(frozen=True, eq=False)
class Layer:
    """Heads, added up in order, then a feed-forward; either may be missing. Norms are there if the options want them."""

    heads: tuple[Head, ...] = ()
    feed_forward: FeedForward | None = None
    attention_norm: Norm | None = None
    feed_forward_norm: Norm | None = None


@dataclass(frozen=True, eq=False)
class Transformer:
    """A transformer in a finite format. Make one from codes here, or from numbers with `Transformer.of`.

    >>> from glyptic.numbers import Fixed
    >>> T = Transformer.of(Fixed(4), "ab", ["is_a", "is_b"], token_embedding=[[1, 0], [0, 1]], max_length=5,
    ...                    output=[[1, 0], [0, 1]], answers=["NO", "YES"])
    >>> T.answer("ab")     # without layers it looks at the last token only
    'YES'
    """

    format: AnyFormat
    vocabulary: tuple[str, ...]
    coordinates: tuple[str, ...]
    token_embedding: Codes  # (len(vocabulary), d)
    position_embedding: Codes  # (max_length, d)
    layers: tuple[Layer, ...]
    output: Codes  # (len(answers), d)
    answers: tuple[str, ...]
    options: Options = field(default_factory=Options)
    final_norm: Norm | None = None
    name: str = ""
    history: tuple[Frame, ...] = ()  # what constructions did; see `frame`

    @classmethod
    def of(
        cls,
        format: AnyFormat,
        vocabulary: Iterable[str],
        coordinates: Iterable[str],
        token_embedding: Any,
        output: Any,
        answers: Iterable[str],
        *,
        position_embedding: Any = None,
        max_length: int | None = None,
        layers: Iterable[Layer] = (),
        **rest: Any,
    ) -> Transformer:
        """A transformer from numbers; without a position embedding, `max_length` positions of zeros."""
        names = tuple(coordinates)
        if position_embedding is None:
            position_embedding = np.zeros((16 if max_length is None else max_length, len(names)))
        return cls(
            format,
            tuple(vocabulary),
            names,
            encode(token_embedding, format, "token_embedding"),
            encode(position_embedding, format, "position_embedding"),
            tuple(layers),
            encode(output, format, "output"),
            tuple(answers),
            **rest,
        )

    def __post_init__(self) -> None:
        _check_names(self)
        for part, array, shape in parts(self):
            if array.dtype != np.int64:
                raise ModelError(
                    f"{part} holds {array.dtype}, not int64 codes; encode numbers with glyptic.numbers.encode."
                )
            if array.shape != shape:
                raise ModelError(f"{part} has shape {array.shape}; it must be {shape}.")
            if array.flags.writeable:
                array.flags.writeable = False
            check_codes(array, self.format, part)
        _check_norms(self)
        _check_scale(self)

    # Sizes -------------------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """d, the number of residual coordinates."""
        return len(self.coordinates)

    @property
    def max_length(self) -> int:
        """n_max, the longest input."""
        return len(self.position_embedding)

    def coordinate(self, name: str) -> int:
        """The index of a coordinate; an unknown name is an error that lists the known ones."""
        try:
            return self.coordinates.index(name)
        except ValueError:
            raise ModelError(f"no coordinate {name!r}; there are {', '.join(self.coordinates)}.") from None

    def replace(self, **changes: Any) -> Transformer:
        """A transformer with some parts exchanged."""
        return replace(self, **changes)

    def with_options(self, **changes: Any) -> Transformer:
        """The same weights, read otherwise: `T.with_options(attention="leftmost")`."""
        return replace(self, options=replace(self.options, **changes))

    def in_format(self, format: AnyFormat) -> Transformer:
        """Every weight rounded to another format; B stays B, for ∞ is meant."""
        return map_codes(self, lambda codes, _: _convert(codes, self.format, format), format=format)

    def same_as(self, other: Transformer) -> bool:
        """Whether two transformers are equal in every part."""
        own = (self.format, self.vocabulary, self.coordinates, self.answers, self.options, len(self.layers))
        if own != (other.format, other.vocabulary, other.coordinates, other.answers, other.options, len(other.layers)):
            return False
        mine, theirs = ({name: array for name, array, _ in parts(t)} for t in (self, other))
        return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def __repr__(self) -> str:
        heads = sum(len(layer.heads) for layer in self.layers)
        name, sizes = self.name or "unnamed", f"{len(self.layers)} layers, {heads} heads, d = {self.width}"
        return f"<Transformer {name}: {self.format}, {sizes}>"

    # Running: see glyptic.exact.running ------------------------------------------------------------------------------------

    def tokens(self, text: Input) -> tuple[str, ...]:
        """An input as tokens: a string is read by characters if all tokens are single characters, else by words."""
        if isinstance(text, str):
            text = list(text) if all(len(token) == 1 for token in self.vocabulary) else text.split()
        if not text:
            raise InputError("the input is empty; a transformer reads at least one token.")
        for place, token in enumerate(text):
            if token not in self.vocabulary:
                raise InputError(
                    f"unknown token {token!r} at position {place}; the vocabulary is {' '.join(self.vocabulary)}."
                )
        if len(text) > self.max_length:
            raise InputError(f"the input has {len(text)} tokens; this transformer reads at most {self.max_length}.")
        return tuple(text)

    def run(self, text: Input, **settings: Any) -> Run:
        """One input: its answer, chain of thought and trace; see `glyptic.exact.running.run`."""
        from glyptic.exact.running import run

        return run(self, text, **settings)

    def answer(self, text: Input, **settings: Any) -> str:
        """The answer to one input."""
        return self.run(text, **settings).answer

    def run_batch(self, texts: Iterable[Input], **settings: Any) -> Batch:
        """Many inputs of any lengths at once; see `glyptic.exact.running.run_batch`."""
        from glyptic.exact.running import run_batch

        return run_batch(self, texts, **settings)

    # Files and looks ---------------------------------------------------------------------------------------------------

    def save(self, folder: Any) -> None:
        """Write config.json and model.safetensors; see `glyptic.exact.files`."""
        from glyptic.exact.files import save

        save(self, folder)

    @staticmethod
    def load(folder: Any) -> Transformer:
        """Read what `save` wrote, checking everything."""
        from glyptic.exact.files import load

        return load(folder)

    def describe(self) -> str:
        """Sizes, format, coordinates, sparsity and cost, as `glyptic show` prints them."""
        from glyptic.exact.report import describe

        return describe(self)

    # Constructions: see glyptic.carve --------------------------------------------------------------------------------------

    def frame(self) -> str:
        """What each construction in this transformer's history reads, writes, preserves, costs and needs, as a table."""
        from glyptic.carve.frames import report

        return report(self)

    def __invert__(self) -> Transformer:
        """The decider that answers YES where this one answers NO."""
        from glyptic.carve.closure import negation

        return negation(self)

    def __and__(self, other: Transformer) -> Transformer:
        """The decider of both; see `glyptic.carve.closure`."""
        from glyptic.carve.closure import conjunction

        return conjunction(self, other) if isinstance(other, Transformer) else NotImplemented

    def __or__(self, other: Transformer) -> Transformer:
        """The decider of either."""
        from glyptic.carve.closure import disjunction

        return disjunction(self, other) if isinstance(other, Transformer) else NotImplemented

    def __xor__(self, other: Transformer) -> Transformer:
        """The decider of exactly one."""
        from glyptic.carve.closure import exclusive

        return exclusive(self, other) if isinstance(other, Transformer) else NotImplemented


def parts(transformer: Transformer) -> Iterator[tuple[str, Codes, tuple[int, ...]]]:
    """Every array with its name and the shape it must have; names are those of the files."""
    d = transformer.width
    yield "token_embedding", transformer.token_embedding, (len(transformer.vocabulary), d)
    yield "position_embedding", transformer.position_embedding, (_rows(transformer.position_embedding), d)
    for l, layer in enumerate(transformer.layers):
        for h, head in enumerate(layer.heads):
            d_k, d_v = _rows(head.query), _rows(head.value)
            shapes: dict[str, tuple[int, ...]]
            shapes = {"query": (d_k, d), "key": (d_k, d), "value": (d_v, d), "output": (d, d_v)}
            for name, shape in shapes.items():
                yield f"layers.{l}.heads.{h}.{name}", getattr(head, name), shape
        if layer.feed_forward is not None:
            m = _rows(layer.feed_forward.w1)
            shapes = {"w1": (m, d), "b1": (m,), "w2": (d, m), "b2": (d,)}
            for name, shape in shapes.items():
                yield f"layers.{l}.feed_forward.{name}", getattr(layer.feed_forward, name), shape
        for norm_name in ("attention_norm", "feed_forward_norm"):
            yield from _norm_parts(f"layers.{l}.{norm_name}", getattr(layer, norm_name), d)
    yield from _norm_parts("final_norm", transformer.final_norm, d)
    yield "output", transformer.output, (len(transformer.answers), d)


def _rows(matrix: Codes) -> int:
    return len(matrix) if matrix.ndim else 0  # a number instead of a matrix is an error of shape, told later


def _norm_parts(prefix: str, norm: Norm | None, d: int) -> Iterator[tuple[str, Codes, tuple[int, ...]]]:
    if norm is not None:
        for name, shape in {"gain": (d,), "bias": (d,), "epsilon": ()}.items():
            yield f"{prefix}.{name}", getattr(norm, name), shape


def map_codes(transformer: Transformer, change: Any, **rest: Any) -> Transformer:
    """A transformer with every array passed through `change(codes, name)`."""

    def mapped(value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray):
            return change(value, name)
        if isinstance(value, tuple):
            return tuple(mapped(item, f"{name}.{i}") for i, item in enumerate(value))
        if isinstance(value, Head | FeedForward | Norm | Layer):
            return type(value)(**{f.name: mapped(getattr(value, f.name), f"{name}.{f.name}") for f in fields(value)})
        return value

    arrays = ("token_embedding", "position_embedding", "layers", "output", "final_norm")
    return replace(transformer, **{name: mapped(getattr(transformer, name), name) for name in arrays}, **rest)


def _convert(codes: Codes, old: AnyFormat, new: AnyFormat) -> Codes:
    if isinstance(old, Exact) or isinstance(new, Exact):
        return encode(decode(codes, old), new, nearest=isinstance(old, Exact))
    known: dict[int, int] = {0: 0, old.max_code: new.max_code, old.min_code: new.min_code}
    for code in np.unique(codes).tolist():
        if code not in known:
            known[code] = new.code(new.round(Fraction(old.value(code))))
    found, inverse = np.unique(codes, return_inverse=True)
    return np.array([known[code] for code in found.tolist()], np.int64)[inverse].reshape(codes.shape)


def _check_names(transformer: Transformer) -> None:
    for what in ("vocabulary", "coordinates", "answers"):
        names = getattr(transformer, what)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ModelError(f"{what} must be at least one name, and no name empty; it is {names!r}.")
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ModelError(f"{what} has {twice[0]!r} twice; names must differ.")
    for word, meaning in _WORDS.items():
        if word in transformer.answers:
            raise ModelError(f"answers has {word!r}, which is the word for {meaning}; choose another name.")
    if _rows(transformer.position_embedding) == 0:
        raise ModelError("position_embedding has no rows; it needs one for each position that may occur.")


def _check_scale(transformer: Transformer) -> None:
    if transformer.options.scale:
        for l, layer in enumerate(transformer.layers):
            for h, head in enumerate(layer.heads):
                if len(head.query) == 0:
                    raise ModelError(f"layers.{l}.heads.{h}.query has no rows, so scores cannot be divided by √0; unset scale.")


def _check_norms(transformer: Transformer) -> None:
    wanted = transformer.options.norm != "none"
    for name, codes, _ in parts(transformer):
        if name.endswith(".epsilon") and codes < 0:
            raise ModelError(f"{name} is {transformer.format.value(int(codes))}; under a root it must not be negative.")
    for l, layer in enumerate(transformer.layers):
        needs = {"attention_norm": bool(layer.heads), "feed_forward_norm": layer.feed_forward is not None}
        for name, used in needs.items():
            there = getattr(layer, name) is not None
            if wanted and used and not there:
                raise ModelError(f"layers.{l}.{name} is missing, and options.norm is {transformer.options.norm!r}.")
            if there and not wanted:
                raise ModelError(f"layers.{l}.{name} is there, but options.norm is 'none'; choose 'pre' or 'post'.")


__all__ = ["TIE", "FeedForward", "FormatError", "Head", "Input", "Layer", "Norm", "Transformer", "map_codes", "parts"]
