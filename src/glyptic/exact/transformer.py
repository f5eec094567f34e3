"""The finite-precision transformer as a value: vocabulary, named coordinates, embeddings, layers, output.

    h_i = θ_TE(x_i) + θ_PE(i)
    each layer:   h_i += Σ_heads W_O Σ_j s_ij (W_V h_j),   s_i = softmax(⟨W_Q h_i, W_K h_1⟩, …)
                  h_i += W_2 relu(W_1 h_i + b_1) + b_2
    answer:       argmax softmax(θ_OUTPUT h_n)

All weights are arrays of codes (`glyptic.numbers`), read-only; a transformer never changes, it is made anew. Matrices act on
columns: W_Q is (d_k, d). Everything is counted from 0, also where the papers and notes count from 1: their first position is
position 0, their h_1 is `residual[…][0]`.

Codes mean numbers only in a format (whatever its tie rule). What `encode` or `Head.of` wrote knows its format, and so does every
part of a transformer: in one of another format it is refused. Plain arrays of codes are taken as codes of the transformer's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from glyptic.arguments import Count, affordable, is_list, refused, shown
from glyptic.errors import FormatError, InputError, ModelError
from glyptic.exact.answers import WORDS_BELOW
from glyptic.exact.history import Frame, texts
from glyptic.exact.options import OptionChanges, Options
from glyptic.numbers import (
    AnyFormat,
    Codes,
    Exact,
    as_format,
    check_codes,
    check_width,
    decode,
    encode,
    same_numbers,
    written,
    written_in,
)
from glyptic.showing import Showing
from glyptic.text import printable

if TYPE_CHECKING:
    from glyptic.exact.running import Batch, Engine, Run
    from glyptic.states.machines import Machine

_MEANINGS = dict(zip(WORDS_BELOW, ("a run that met 0/0", "a tie"), strict=True))
Input = str | Sequence[str]
Trace = bool | str | Sequence[str]  # stages, by name or pattern; all, none
Progress = Callable[[int], Any] | None  # called with the number of inputs that were done


class Weights:
    """Arrays of codes that belong together, and to one format: that of `encode`, or of the first transformer they are in.

    Each array knows the format, so that a part made of another's arrays, by `dataclasses.replace` or by hand, is in it too.
    """

    def __post_init__(self) -> None:
        format = None
        for name, array in vars(self).items():
            if not isinstance(array, np.ndarray | np.generic):
                raise ModelError(
                    f"{name} of a {type(self).__name__} is {shown(array)}, not an array of codes; "
                    f"{type(self).__name__}.of makes one from numbers."
                )
            own = written_in(array)  # type: ignore[arg-type]  # a scalar has none
            if own is not None and format is not None and not same_numbers(own, format):
                raise _of_another_format(name, own, format)
            format = format or own
        _write(self, format)


def _write(part: Weights, format: AnyFormat | None) -> None:
    for name, array in vars(part).items():
        object.__setattr__(part, name, written(array, format))


def _belong(part: Weights, format: AnyFormat, name: str) -> None:
    """A part is in a format from now on; if it was in another, it is refused."""
    for array in vars(part).values():
        own = written_in(array)
        if own is None:
            return _write(part, format)
        if not same_numbers(own, format):
            raise _of_another_format(name, own, format)


def _of_another_format(name: str, own: AnyFormat, other: AnyFormat) -> ModelError:
    return ModelError(
        f"{name} is in {own}, not in {other}, where the same codes are other numbers; "
        "write it in one format, or bring a whole transformer into another by in_format."
    )


def _encoded(format: str | AnyFormat, **numbers: Any) -> Iterator[Codes]:
    return (encode(array, format, name) for name, array in numbers.items())


@dataclass(frozen=True, eq=False)
class Head(Weights):
    """One attention head: query and key (d_k, d), value (d_v, d), output (d, d_v)."""

    query: Codes
    key: Codes
    value: Codes
    output: Codes

    @classmethod
    def of(cls, format: str | AnyFormat, query: Any, key: Any, value: Any, output: Any) -> Head:
        """A head from numbers."""
        return cls(*_encoded(format, query=query, key=key, value=value, output=output))


@dataclass(frozen=True, eq=False)
class FeedForward(Weights):
    """relu between two affine maps: w1 (m, d), b1 (m,), w2 (d, m), b2 (d,)."""

    w1: Codes
    b1: Codes
    w2: Codes
    b2: Codes

    @classmethod
    def of(cls, format: str | AnyFormat, w1: Any, b1: Any, w2: Any, b2: Any) -> FeedForward:
        """A feed-forward from numbers."""
        return cls(*_encoded(format, w1=w1, b1=b1, w2=w2, b2=b2))


@dataclass(frozen=True, eq=False)
class Norm(Weights):
    """LayerNorm's gain γ and bias β, (d,) each, and ε, a code."""

    gain: Codes
    bias: Codes
    epsilon: Codes  # of shape ()

    @classmethod
    def of(cls, format: str | AnyFormat, gain: Any, bias: Any, epsilon: Any = 0) -> Norm:
        """A norm from numbers."""
        return cls(*_encoded(format, gain=gain, bias=bias, epsilon=epsilon))


@dataclass(frozen=True, eq=False)
class Layer:
    """Heads, added up in order, then a feed-forward; either may be missing. Norms are there if the options want them."""

    heads: tuple[Head, ...] = ()
    feed_forward: FeedForward | None = None
    attention_norm: Norm | None = None
    feed_forward_norm: Norm | None = None

    def __post_init__(self) -> None:
        if isinstance(self.heads, Weights):
            raise ModelError(f"heads of a layer is one {type(self.heads).__name__}, and must be a tuple: Layer((head,)).")
        object.__setattr__(self, "heads", _tuple_of(Head, self.heads, "heads of a layer"))
        for name, kind in _PARTS_OF_A_LAYER.items():
            given = getattr(self, name)
            if not isinstance(given, kind | None):
                raise ModelError(f"{name} of a layer is {shown(given)}, and must be a {kind.__name__} or None.")


_PARTS_OF_A_LAYER: dict[str, type[Weights]] = {"feed_forward": FeedForward, "attention_norm": Norm, "feed_forward_norm": Norm}


def _tuple_of(kind: type, given: Any, name: str) -> tuple[Any, ...]:
    """The parts of a kind, in order; what is none is refused with its place."""
    try:
        items = tuple(given)
    except TypeError:
        raise ModelError(f"{name} is {shown(given)}, and must be a tuple of {kind.__name__}.") from None
    for i, item in enumerate(items):
        if not isinstance(item, kind):
            raise ModelError(f"{name}[{i}] is a {type(item).__name__}, and must be a {kind.__name__}.")
    return items


class TransformerChanges(TypedDict, total=False):
    """What `Transformer.replace` exchanges."""

    format: str | AnyFormat
    vocabulary: Iterable[str]
    coordinates: Iterable[str]
    token_embedding: Codes
    position_embedding: Codes
    layers: Iterable[Layer]
    output: Codes
    answers: Iterable[str]
    options: Options
    final_norm: Norm | None
    name: str
    history: Iterable[Frame]
    period: int | None


@dataclass(frozen=True, eq=False)
class Transformer(Showing):
    """A transformer in a finite format. Make one from codes here, or from numbers with `Transformer.of`.

    >>> T = Transformer.of("fixed:4", "ab", ["is_a", "is_b"], token_embedding=[[1, 0], [0, 1]], max_length=5,
    ...                    output=[[1, 0], [0, 1]], answers=["NO", "YES"])
    >>> T.answer("ab")     # without layers it looks at the last token only
    'YES'
    """

    format: AnyFormat
    vocabulary: tuple[str, ...]
    coordinates: tuple[str, ...]
    token_embedding: Codes  # (len(vocabulary), d)
    position_embedding: Codes  # (max_length, d); with a period, what is read first and then the rows that repeat
    layers: tuple[Layer, ...]
    output: Codes  # (len(answers), d)
    answers: tuple[str, ...]
    options: Options = field(default_factory=Options)
    final_norm: Norm | None = None
    name: str = ""
    history: tuple[Frame, ...] = ()  # what constructions did; see `frame`
    period: int | None = None  # so many last rows of the position embedding repeat without end

    @classmethod
    def of(
        cls,
        format: str | AnyFormat,
        vocabulary: Iterable[str],
        coordinates: Iterable[str],
        token_embedding: Any,
        output: Any,
        answers: Iterable[str],
        *,
        position_embedding: Any = None,
        max_length: int | None = None,
        layers: Iterable[Layer] = (),
        options: Options = Options(),  # noqa: B008 (a frozen value)
        final_norm: Norm | None = None,
        name: str = "",
        history: Iterable[Frame] = (),
        period: int | None = None,
    ) -> Transformer:
        """A transformer from numbers; without a position embedding, `max_length` positions of zeros (16 if it is not said).

        With a `period`, the last so many rows of the position embedding repeat, and inputs may have any length:

        >>> T = Transformer.of("fixed:4", "ab", ["even"], [[0], [0]], [[1], [-1]], ["YES", "NO"],
        ...                    position_embedding=[[-1], [1]], period=2)
        >>> T.max_length, T.answer("ab" * 50), T.answer("a" * 101)
        (inf, 'YES', 'NO')
        """
        format, names = as_format(format), _names(coordinates, "coordinates")
        positions = _position_embedding(position_embedding, max_length, len(names), period)
        return cls(
            format,
            _names(vocabulary, "vocabulary"),
            names,
            encode(token_embedding, format, "token_embedding"),
            encode(positions, format, "position_embedding"),
            layers,  # type: ignore[arg-type]  # made a tuple below
            encode(output, format, "output"),
            _names(answers, "answers"),
            options,
            final_norm,
            name,
            history,  # type: ignore[arg-type]  # and this
            period,
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "format", as_format(self.format))
        check_width(self.format)
        _check_kinds(self)
        _check_names(self)
        _check_formats(self)
        for part, array, shape in parts(self):
            if array.dtype != np.int64:
                raise ModelError(
                    f"{part} holds {array.dtype}, not int64 codes; encode numbers with glyptic.numbers.encode."
                )
            if array.shape != shape:
                raise ModelError(f"{part} has shape {array.shape}; it must be {shape}.")
            check_codes(array, self.format, part)
        _check_norms(self)
        _check_scale(self)
        if self.period is not None:
            object.__setattr__(self, "period", Count(1, len(self.position_embedding))("period", self.period))

    # Sizes -------------------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """d, the number of residual coordinates."""
        return len(self.coordinates)

    @property
    def max_length(self) -> float:
        """n_max, the longest input: a whole number, or ∞ (`math.inf`) where positions repeat."""
        return len(self.position_embedding) if self.period is None else inf

    def position_rows(self, first: int, count: int) -> np.ndarray:
        """The rows of the position embedding that positions `first`, `first` + 1, … read.

        >>> T = Transformer.of("fixed:4", "a", ["x"], [[0]], [[1]], ["NO"], position_embedding=[[0], [1], [2]], period=2)
        >>> T.position_rows(0, 7).tolist()
        [0, 1, 2, 1, 2, 1, 2]
        """
        rows, places = len(self.position_embedding), np.arange(first, first + count)
        if self.period is None:
            return places
        return np.where(places < rows, places, rows - self.period + (places - rows) % self.period)

    @property
    def beginning(self) -> int:
        """How many positions there are before those that repeat; where none do, all."""
        return len(self.position_embedding) - (self.period or 0)

    def repeating(self, period: int, beginning: int = 0) -> Transformer:
        """The same transformer, written with another period, and a beginning of so many positions, where that is the same.

        >>> T = Transformer.of("fixed:4", "a", ["x"], [[0]], [[1]], ["NO"], position_embedding=[[1], [2]], period=2)
        >>> T.repeating(4, 1).position_embedding[:, 0].tolist()     # codes: 16 is 1
        [16, 32, 16, 32, 16]
        """
        period, beginning = Count(1)("period", period), Count(0)("beginning", beginning)
        if self.period is None or period % self.period or beginning < self.beginning:
            raise ModelError(f"the positions of {self!r} do not repeat every {period} from position {beginning} on.")
        affordable("position_embedding", beginning + period, self.width)
        return self.replace(position_embedding=self.position_embedding[self.position_rows(0, beginning + period)], period=period)

    def to_length(self, length: int) -> Transformer:
        """The same transformer for inputs up to a length only."""
        length = Count(1)("length", length)
        if length > self.max_length:
            raise ModelError(f"{self!r} has {self.max_length} positions, fewer than {length}.")
        affordable("position_embedding", length, self.width)
        return self.replace(position_embedding=self.position_embedding[self.position_rows(0, length)], period=None)

    def coordinate(self, name: str) -> int:
        """The index of a coordinate; an unknown name is an error that lists the known ones."""
        try:
            return self.coordinates.index(name)
        except ValueError:  # an array, too, which compares with no name
            raise ModelError(f"no coordinate {shown(name)}; there are {', '.join(self.coordinates)}.") from None

    def replace(self, **changes: Unpack[TransformerChanges]) -> Transformer:
        """A transformer with some parts exchanged."""
        _check_known("Transformer.replace", changes, type(self), "part")
        return replace(self, **changes)  # type: ignore[arg-type]  # what holds several is made a tuple

    def with_options(self, **changes: Unpack[OptionChanges]) -> Transformer:
        """The same weights, read otherwise: `T.with_options(attention="leftmost")`."""
        _check_known("Transformer.with_options", changes, Options, "option")
        return replace(self, options=replace(self.options, **changes))

    def in_format(self, format: str | AnyFormat) -> Transformer:
        """Every weight rounded to another format; B stays B and −B stays −B, for ∞ is meant.

        The smallest value of two's complement, −2^m, one step below −B, is rounded like any other number.
        """
        new = as_format(format)
        check_width(new)
        return map_codes(self, lambda codes, _: _convert(codes, self.format, new), format=new)

    def same_as(self, other: Transformer) -> bool:
        """Whether two transformers are equal in every part."""
        if not isinstance(other, Transformer):
            return False
        names = ("format", "vocabulary", "coordinates", "answers", "options", "period")
        if any(getattr(self, name) != getattr(other, name) for name in names) or len(self.layers) != len(other.layers):
            return False
        mine, others = ({name: array for name, array, _ in parts(t)} for t in (self, other))
        return mine.keys() == others.keys() and all(np.array_equal(mine[name], others[name]) for name in mine)

    def __repr__(self) -> str:
        heads = sum(len(layer.heads) for layer in self.layers)
        name, sizes = self.name or "unnamed", f"{len(self.layers)} layers, {heads} heads, d = {self.width}"
        return f"<Transformer {name}: {self.format}, {sizes}>"

    # Running: see glyptic.exact.running ------------------------------------------------------------------------------------

    def tokens(self, text: Input) -> tuple[str, ...]:
        """An input as tokens: a string is read by characters if all tokens are single characters, else by words."""
        tokens = tokens_of(text, self.vocabulary)
        if len(tokens) > self.max_length:
            raise InputError(f"the input has {len(tokens)} tokens; this transformer reads at most {self.max_length}.")
        return tokens

    def run(self, text: Input, *, steps: int = 1, trace: Trace = False, engine: Engine = "auto") -> Run:
        """One input: its answer, chain of thought and trace; see `glyptic.exact.running.run`."""
        from glyptic.exact.running import run

        return run(self, text, steps=steps, trace=trace, engine=engine)

    def answer(self, text: Input, *, steps: int = 1, engine: Engine = "auto") -> str:
        """The answer to one input."""
        return self.run(text, steps=steps, engine=engine).answer

    def run_batch(
        self, texts: Iterable[Input], *, steps: int = 1, trace: Trace = (), engine: Engine = "auto", progress: Progress = None
    ) -> Batch:
        """Many inputs of any lengths at once; see `glyptic.exact.running.run_batch`."""
        from glyptic.exact.running import run_batch

        return run_batch(self, texts, steps=steps, trace=trace, engine=engine, progress=progress)

    # Files and looks ---------------------------------------------------------------------------------------------------

    def save(self, folder: Any, *, overwrite: bool = False) -> None:
        """Write config.json and model.safetensors; see `glyptic.exact.files`."""
        from glyptic.exact.files import save

        save(self, folder, overwrite=overwrite)

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

    def machine(self, states: int | None = None, **limits: Any) -> Machine:
        """The exact automaton of this transformer, in so many states at most; see `glyptic.states.machine`."""
        from glyptic.states.machines import machine

        given: Any = {} if states is None else {"states": states}
        return machine(self, **given, **limits)

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


def tokens_of(text: Input, vocabulary: tuple[str, ...]) -> tuple[str, ...]:
    """A text, or a list of tokens, as tokens of a vocabulary; one at least."""
    if isinstance(text, str):
        text = list(text) if all(len(token) == 1 for token in vocabulary) else text.split()
    if not isinstance(text, Sequence | np.ndarray) or not is_list(text):
        raise refused("the input", text, "a text or a list of tokens")
    if not len(text):
        raise InputError("the input is empty; a transformer reads at least one token.")
    for place, token in enumerate(text):
        if not isinstance(token, str) or token not in vocabulary:
            known = printable(" ".join(vocabulary))
            raise InputError(f"unknown token {shown(token)} at position {place}; the vocabulary is {known}.")
    return tuple(text)


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


def map_codes(
    transformer: Transformer, change: Callable[[Codes, str], Codes], **rest: Unpack[TransformerChanges]
) -> Transformer:
    """A transformer with every array passed through `change(codes, name)`, and other parts exchanged."""

    def mapped(value: Any, name: str) -> Any:
        if isinstance(value, np.ndarray):
            return change(value, name)
        if isinstance(value, tuple):
            return tuple(mapped(item, f"{name}.{i}") for i, item in enumerate(value))
        if isinstance(value, Head | FeedForward | Norm | Layer):
            return type(value)(**{f.name: mapped(getattr(value, f.name), f"{name}.{f.name}") for f in fields(value)})
        return value

    arrays = ("token_embedding", "position_embedding", "layers", "output", "final_norm")
    return transformer.replace(**{name: mapped(getattr(transformer, name), name) for name in arrays}, **rest)


def _convert(codes: Codes, old: AnyFormat, new: AnyFormat) -> Codes:
    if isinstance(old, Exact) or isinstance(new, Exact):
        return encode(decode(codes, old), new, nearest=isinstance(old, Exact))
    known: dict[int, int] = {0: 0, old.max_code: new.max_code, -old.max_code: -new.max_code}
    for code in np.unique(codes).tolist():
        if code not in known:
            known[code] = new.code(new.round(Fraction(old.value(code))))
    found, inverse = np.unique(codes, return_inverse=True)
    return np.array([known[code] for code in found.tolist()], np.int64)[inverse].reshape(codes.shape)


def _check_known(called: str, changes: Mapping[str, Any], kind: type, what: str) -> None:
    known = [each.name for each in fields(kind)]
    for name in changes:
        if name not in known:
            raise ModelError(f"{called}(): there is no {what} {shown(name)}; there are {', '.join(known)}.")


_ARRAYS = ("token_embedding", "position_embedding", "output")


def _names(given: Any, what: str) -> tuple[Any, ...]:
    try:
        return tuple(given)
    except TypeError:
        raise ModelError(f"{what} is {shown(given)}, and must be a list of names.") from None


def _position_embedding(given: Any, max_length: int | None, width: int, period: int | None = None) -> Any:
    """What is given, or zeros; where both are said they must agree."""
    if period is not None:
        if max_length is not None:
            raise ModelError("max_length and period are both said, and with a period inputs have any length; leave one out.")
        period = Count(1)("period", period)
        affordable("position_embedding", period, width)
        return np.zeros((period, width)) if given is None else given
    if max_length is not None:
        max_length = Count(1)("max_length", max_length)
    if given is None:
        length = 16 if max_length is None else max_length
        affordable("position_embedding", length, width)
        return np.zeros((length, width))
    rows = len(given) if is_list(given) and hasattr(given, "__len__") else 0
    if max_length is not None and max_length != rows:
        raise ModelError(
            f"max_length is {max_length}, and position_embedding has {rows} rows, one a position; leave one of them out."
        )
    return given


def _check_kinds(transformer: Transformer) -> None:
    """Each part is of its kind, and what holds several is a tuple."""
    for name in ("vocabulary", "coordinates", "answers"):
        object.__setattr__(transformer, name, _names(getattr(transformer, name), name))
    object.__setattr__(transformer, "history", _tuple_of(Frame, transformer.history, "history"))
    if isinstance(transformer.layers, Weights | Layer):
        raise ModelError(f"layers is one {type(transformer.layers).__name__}, and must be a tuple: layers=[Layer((head,))].")
    object.__setattr__(transformer, "layers", _tuple_of(Layer, transformer.layers, "layers"))
    codes = (np.ndarray | np.generic, "an array of codes; Transformer.of makes one from numbers")
    kinds: dict[str, tuple[Any, str]] = dict.fromkeys(_ARRAYS, codes)
    kinds |= {"options": (Options, "Options"), "final_norm": (Norm | None, "a Norm or None"), "name": (str, "a text")}
    for name, (kind, wanted) in kinds.items():
        given = getattr(transformer, name)
        if not isinstance(given, kind):
            raise ModelError(f"{name} is {shown(given)}, and must be {wanted}.")


def _check_formats(transformer: Transformer) -> None:
    """What was written in another format is refused; what did not know its format is of this one from now on."""
    format = transformer.format
    for name in _ARRAYS:
        array = getattr(transformer, name)
        own = written_in(array)
        if own is not None and not same_numbers(own, format):
            raise _of_another_format(name, own, format)
        object.__setattr__(transformer, name, written(array, own or format))
    named: list[tuple[str, Weights | None]] = [("final_norm", transformer.final_norm)]
    for l, layer in enumerate(transformer.layers):
        named += [(f"layers.{l}.heads.{h}", head) for h, head in enumerate(layer.heads)]
        named += [(f"layers.{l}.{name}", getattr(layer, name)) for name in _PARTS_OF_A_LAYER]
    for name, part in named:
        if part is not None:
            _belong(part, format, name)


def _check_names(transformer: Transformer) -> None:
    for what in ("vocabulary", "coordinates", "answers"):
        names = getattr(transformer, what)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise ModelError(f"{what} must be at least one name, and no name empty; it is {shown(names)}.")
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise ModelError(f"{what} has {shown(twice[0])} twice; names must differ.")
        _check_texts(what, names)
    _check_texts("name", [transformer.name])
    for number, frame in enumerate(transformer.history):
        _check_texts(f"history.{number}", texts(frame))
    for word, meaning in _MEANINGS.items():
        if word in transformer.answers:
            raise ModelError(f"answers has {word!r}, which is the word for {meaning}; choose another name.")
    if _rows(transformer.position_embedding) == 0:
        raise ModelError("position_embedding has no rows; it needs one for each position that may occur.")


def _check_texts(what: str, given: Iterable[str]) -> None:
    """Names are printed in tables, sentences and verdicts: none begins a line of its own, or moves a terminal's cursor."""
    for text in given:
        if not isinstance(text, str) or not text.isprintable():
            raise ModelError(f"{what} has {shown(text)}; names are texts without line breaks, control and direction characters.")


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


__all__ = ["FeedForward", "FormatError", "Head", "Input", "Layer", "Norm", "Transformer", "map_codes", "parts"]
