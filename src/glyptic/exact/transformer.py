"""The finite-precision transformer as a value: vocabulary, named coordinates, embeddings, layers, output.

    h_i = θ_TE(x_i) + θ_PE(i)
    each layer:   h_i += Σ_heads W_O Σ_j s_ij (W_V h_j),   s_i = softmax(⟨W_Q h_i, W_K h_1⟩, …)
                  h_i += W_2 relu(W_1 h_i + b_1) + b_2
    answer:       argmax softmax(θ_OUTPUT h_n)

That is the paper's model. What people train has more: biases, other activations, gates, norms of several kinds, rotations and
tables by distance. These are optional weights of the parts below, and words beside them (`choices`); where none is there a
transformer, its files and its digests are what they are without them.

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
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict, Unpack, get_args

import numpy as np

from glyptic.arguments import Count, affordable, is_list, is_word, refused, shown
from glyptic.errors import FormatError, InputError, ModelError
from glyptic.exact.answers import WORDS_BELOW
from glyptic.exact.history import Frame, texts
from glyptic.exact.options import OptionChanges, Options
from glyptic.numbers import (
    Activation,
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
from glyptic.numbers.arithmetic import ACTIVATIONS
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
                raise _of_another_format(name, own, format)
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


def _belong(part: Weights, format: AnyFormat, name: str) -> None:
    """A part is in a format from now on; if it was in another, it is refused."""
    for _, array in part.arrays():
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
        _check_known("Head.of", more, cls, "part")
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
    embedding_norm: Norm | None
    output_bias: Codes | None
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
    embedding_norm: Norm | None = None  # of [θ_TE(x_i) + θ_PE(i)], before the first layer
    output_bias: Codes | None = None  # (len(answers),), added to θ_OUTPUT h_n
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
        embedding_norm: Norm | None = None,
        output_bias: Any = None,
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
            embedding_norm,
            None if output_bias is None else encode(output_bias, format, "output_bias"),
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
        _check_positions(self)

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
        return self.rows_of(np.arange(first, first + count))

    def rows_of(self, places: np.ndarray) -> np.ndarray:
        """The rows of the position embedding that positions read."""
        rows = len(self.position_embedding)
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
        if choices(self) != choices(other):
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
    for prefix, part in weights_of(transformer):
        shapes = _SHAPES[type(part)](part, d)
        for name, array in part.arrays():
            yield f"{prefix}.{name}", array, shapes[name]
    yield "output", transformer.output, (len(transformer.answers), d)
    if transformer.output_bias is not None:
        yield "output_bias", transformer.output_bias, (len(transformer.answers),)


def weights_of(transformer: Transformer) -> Iterator[tuple[str, Weights]]:
    """Every head, feed-forward and norm with its name, in the order of the files."""
    if transformer.embedding_norm is not None:
        yield "embedding_norm", transformer.embedding_norm
    for l, layer in enumerate(transformer.layers):
        yield from ((f"layers.{l}.heads.{h}", head) for h, head in enumerate(layer.heads))
        named = ((f"layers.{l}.{name}", getattr(layer, name)) for name in _PARTS_OF_A_LAYER)
        yield from ((name, part) for name, part in named if part is not None)
    if transformer.final_norm is not None:
        yield "final_norm", transformer.final_norm


def choices(transformer: Transformer) -> dict[str, str | bool]:
    """What is chosen beside the arrays, by name, where it is not the default: {"layers.0.feed_forward.activation": "gelu"}."""
    found: dict[str, str | bool] = {}
    for prefix, part in weights_of(transformer):
        for each in fields(part):  # type: ignore[arg-type]  # of a subclass
            if each.name in part.words and getattr(part, each.name) != each.default:
                found[f"{prefix}.{each.name}"] = getattr(part, each.name)
    found |= {f"layers.{l}.parallel": True for l, layer in enumerate(transformer.layers) if layer.parallel}
    return found


_OF_THE_PAPER = ("query", "key", "value", "output", "w1", "b1", "w2", "b2", "gain", "bias", "epsilon")


def newer_parts(transformer: Transformer) -> list[str]:
    """The parts and choices beyond the paper's matrices, relu and LayerNorm, by name: what older readers would not know."""
    found = [name for name in ("embedding_norm", "output_bias") if getattr(transformer, name) is not None]
    for prefix, part in weights_of(transformer):
        found += [f"{prefix}.{name}" for name, _ in part.arrays() if name not in _OF_THE_PAPER]
    return [*found, *choices(transformer)]


def _rows(array: Codes | None) -> int:
    return len(array) if array is not None and array.ndim else 0  # a number in place of an array is told later, as its shape


def _columns(matrix: Codes | None) -> int:
    return matrix.shape[1] if matrix is not None and matrix.ndim == 2 else 0


def _head_shapes(head: Head, d: int) -> dict[str, tuple[int, ...]]:
    d_k, d_v, turned = _rows(head.query), _rows(head.value), (_rows(head.cosine), _columns(head.cosine))
    return {
        **{"query": (d_k, d), "key": (d_k, d), "value": (d_v, d), "output": (d, d_v)},
        **{"query_bias": (d_k,), "key_bias": (d_k,), "value_bias": (d_v,), "output_bias": (d,)},
        **{"cosine": turned, "sine": turned, "distance_scores": (_rows(head.distance_scores),)},
        **{"distance_keys": (_rows(head.distance_keys), d_k), "distance_values": (_rows(head.distance_values), d_v)},
    }


def _feed_forward_shapes(of: FeedForward, d: int) -> dict[str, tuple[int, ...]]:
    m = _rows(of.w1)
    return {"w1": (m, d), "b1": (m,), "w2": (d, m), "b2": (d,), "gate": (m, d), "gate_bias": (m,)}


_SHAPES: dict[type[Weights], Callable[[Any, int], dict[str, tuple[int, ...]]]] = {
    Head: _head_shapes,
    FeedForward: _feed_forward_shapes,
    Norm: lambda _, d: {"gain": (d,), "bias": (d,), "epsilon": ()},
}


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

    arrays = ("token_embedding", "position_embedding", "layers", "output", "final_norm", "embedding_norm", "output_bias")
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
    kinds |= {"options": (Options, "Options"), "name": (str, "a text")}
    kinds |= dict.fromkeys(("final_norm", "embedding_norm"), (Norm | None, "a Norm or None"))
    kinds["output_bias"] = (np.ndarray | None, codes[1])
    for name, (kind, wanted) in kinds.items():
        given = getattr(transformer, name)
        if not isinstance(given, kind):
            raise ModelError(f"{name} is {shown(given)}, and must be {wanted}.")


def _check_formats(transformer: Transformer) -> None:
    """What was written in another format is refused; what did not know its format is of this one from now on."""
    format = transformer.format
    for name in (*_ARRAYS, *(["output_bias"] if transformer.output_bias is not None else [])):
        array = getattr(transformer, name)
        own = written_in(array)
        if own is not None and not same_numbers(own, format):
            raise _of_another_format(name, own, format)
        object.__setattr__(transformer, name, written(array, own or format))
    for name, part in weights_of(transformer):
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
        if layer.parallel and transformer.options.norm == "post":
            raise ModelError(f"layers.{l} is parallel, and options.norm is 'post', which goes between its parts; choose 'pre'.")


def _check_positions(transformer: Transformer) -> None:
    """Angles for every position and within the head; tables by distance have rows, and speak of earlier positions only."""
    for prefix, part in weights_of(transformer):
        if not isinstance(part, Head):
            continue
        if part.cosine is not None and (len(part.cosine) < transformer.max_length or 2 * _columns(part.cosine) > len(part.query)):
            raise ModelError(
                f"{prefix}.cosine has shape {part.cosine.shape}; it needs a row for each of the {transformer.max_length} "
                f"positions, and at most half as many columns as query has rows, {len(part.query)}."
            )
        for name in ("distance_scores", "distance_keys", "distance_values"):
            table = getattr(part, name)
            if table is not None and not len(table):
                raise ModelError(f"{prefix}.{name} has no rows; it needs one for distance 0, and its last is for all beyond.")
            if table is not None and transformer.options.mask == "full":
                said = f"{prefix}.{name} is by the distance to an earlier position, and options.mask is 'full'"
                raise ModelError(f"{said}; choose 'causal' or 'strict'.")


__all__ = [
    "FeedForward",
    "FormatError",
    "Head",
    "Input",
    "Layer",
    "Norm",
    "Transformer",
    "choices",
    "map_codes",
    "newer_parts",
    "parts",
    "weights_of",
]
