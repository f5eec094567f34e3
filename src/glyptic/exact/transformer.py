"""The finite-precision transformer as a value: vocabulary, named coordinates, embeddings, layers, output.

    h_i = θ_TE(x_i) + θ_PE(i)
    each layer:   h_i += Σ_heads W_O Σ_j s_ij (W_V h_j),   s_i = softmax(⟨W_Q h_i, W_K h_1⟩, …)
                  h_i += W_2 relu(W_1 h_i + b_1) + b_2
    answer:       argmax softmax(θ_OUTPUT h_n)

That is the paper's model. What people train has more: biases, other activations, gates, norms of several kinds, rotations and
tables by distance. These are optional weights of its parts (`weights`), and words beside them (`parts.choices`); where none is
there a transformer, its files and its digests are what they are without them.

All weights are arrays of codes (`glyptic.numbers`), read-only; a transformer never changes, it is made anew. Matrices act on
columns: W_Q is (d_k, d). Everything is counted from 0, also where the papers and notes count from 1: their first position is
position 0, their h_1 is `residual[…][0]`.

Codes mean numbers only in a format (whatever its tie rule). What `encode` or `Head.of` wrote knows its format, and so does every
part of a transformer: in one of another format it is refused. Plain arrays of codes are taken as codes of the transformer's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np

from glyptic.arguments import Count, affordable, is_list, refused, shown
from glyptic.errors import InputError, ModelError
from glyptic.exact.checks import check, names_of
from glyptic.exact.history import Frame
from glyptic.exact.options import OptionChanges, Options
from glyptic.exact.parts import choices, parts
from glyptic.exact.weights import FeedForward, Head, Layer, Norm, check_known
from glyptic.numbers import AnyFormat, Codes, Exact, as_format, check_width, decode, encode
from glyptic.showing import Showing
from glyptic.text import printable

if TYPE_CHECKING:
    from glyptic.exact.running import Batch, Engine, Run
    from glyptic.states.machines import Machine

Input = str | Sequence[str]
Trace = bool | str | Sequence[str]  # stages, by name or pattern; all, none
Progress = Callable[[int], Any] | None  # called with the number of inputs that were done


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


PREPARED = "_prepared"  # where `running` keeps what it makes ready of a transformer


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
        format, names = as_format(format), names_of(coordinates, "coordinates")
        positions = _position_embedding(position_embedding, max_length, len(names), period)
        return cls(
            format,
            names_of(vocabulary, "vocabulary"),
            names,
            encode(token_embedding, format, "token_embedding"),
            encode(positions, format, "position_embedding"),
            layers,  # type: ignore[arg-type]  # made a tuple below
            encode(output, format, "output"),
            names_of(answers, "answers"),
            options,
            final_norm,
            name,
            history,  # type: ignore[arg-type]  # and this
            embedding_norm,
            None if output_bias is None else encode(output_bias, format, "output_bias"),
            period,
        )

    def __post_init__(self) -> None:
        check(self)

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
        check_known("Transformer.replace", changes, type(self), "part")
        return replace(self, **changes)  # type: ignore[arg-type]  # what holds several is made a tuple

    def with_options(self, **changes: Unpack[OptionChanges]) -> Transformer:
        """The same weights, read otherwise: `T.with_options(attention="leftmost")`."""
        check_known("Transformer.with_options", changes, Options, "option")
        return replace(self, options=replace(self.options, **changes))

    def in_format(self, format: str | AnyFormat) -> Transformer:
        """Every weight rounded to another format; B stays B and −B stays −B, for ∞ is meant.

        The smallest value of two's complement, −2^m, one step below −B, is rounded like any other number.
        """
        new = as_format(format)
        check_width(new)
        return map_codes(self, lambda codes, _: _convert(codes, self.format, new), format=new)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy or another process is given: the transformer, without what was made of it here to run it."""
        return {name: value for name, value in vars(self).items() if name != PREPARED}

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
        self,
        texts: Iterable[Input],
        *,
        steps: int = 1,
        trace: Trace = (),
        engine: Engine = "auto",
        progress: Progress = None,
        workers: int | None = None,
    ) -> Batch:
        """Many inputs of any lengths at once; see `glyptic.exact.running.run_batch`."""
        from glyptic.exact.running import run_batch

        return run_batch(self, texts, steps=steps, trace=trace, engine=engine, progress=progress, workers=workers)

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


__all__ = ["Input", "Transformer", "TransformerChanges", "map_codes", "tokens_of"]
