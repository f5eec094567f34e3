"""What the built-in deciders are made of: position codes, two kinds of attention that are exact in finite precision, answers.

*Look-up.* With q = (c_1, 1, c_2, 1, …) and k = B·(c'_1, −1, c'_2, −1, …), codes of ±1, a running score of 0 stays 0
where the codes agree and is −B from the first disagreement on. Wherever [exp(−B)] = 0, softmax is then one-hot and
the value arrives unrounded.

*Total.* Equal scores of 0 give weights [1/n], and n·[1/n] is seldom 1. Equal scores of B saturate: [exp B] = B, B + B
= B, [B/B] = 1. So every weight is 1, and attention adds up the values of all visible positions, in any format that saturates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated

import numpy as np

from glyptic.arguments import Count, shown
from glyptic.carve.building import Draft, Row, Unit, carry, clear
from glyptic.carve.facts import EXP_VANISHES, Broken, Fact
from glyptic.carve.frames import stated
from glyptic.carve.spaces import Space
from glyptic.errors import FormatError, InputError
from glyptic.exact import Head, Layer, Transformer
from glyptic.exact.history import Frame, Touch
from glyptic.numbers import AnyFormat, Exact, as_format

ONE, NO, YES = "one", "no", "yes"


def look_up(draft: Draft, wanted: Space, own: Space, fetched: Mapping[str, str]) -> Head:
    """At each position, from the one whose code `own` is this one's `wanted`: coordinates into others, {to: from}."""
    values: list[Row] = [{source: 1} for source in fetched.values()]
    return draft.matching_head(wanted.coordinates, own.coordinates, ONE, values, [{target: 1} for target in fetched])


def total(draft: Draft, summed: Mapping[str, Row]) -> Head:
    """At each position, the sum of a row over all positions up to it: {to: row}. Every score is B, so every weight is 1."""
    return draft.head([{ONE: "B"}], [{ONE: 1}], list(summed.values()), [{target: 1} for target in summed])


def both(first: str, second: str, writes: Row) -> Unit:
    """1 where two coordinates in {0, 1} are 1."""
    return Unit({ONE: -1, first: 1, second: 1}, writes)


def at_least(threshold: int, row: Mapping[str, int], writes: Mapping[str, int]) -> list[Unit]:
    """1 where a whole number, given as a row, reaches the threshold: relu(x − k + 1) − relu(x − k)."""
    negative = {name: -weight for name, weight in writes.items()}
    return [Unit(row, writes, 1 - threshold), Unit(row, negative, -threshold)]


def exactly(value: int, row: Mapping[str, int], writes: Mapping[str, int]) -> list[Unit]:
    """1 where a whole number is the value: it reaches it, and not the next."""
    negative = {name: -weight for name, weight in writes.items()}
    return at_least(value, row, writes) + at_least(value + 1, row, negative)


def move(source: str, target: str) -> list[Unit]:
    """target ← source, then source ← 0; both in {−1, 0, 1}, so that target + (source − target) is exact."""
    return clear([target]) + carry(source, {target: 1, source: -1})


Step = tuple[str, Layer]  # what a layer does, in a few words, and the layer


def assemble(
    name: str,
    draft: Draft,
    tokens: Mapping[str, Row],
    positions: Sequence[Row],
    steps: Sequence[Step],
    facts: tuple[str, ...],
) -> Transformer:
    """A decider whose answer is in `no` and `yes`: one of them positive, the other not.

    Its logits are (B, −B) or (−B, B). Every step leaves a frame.
    """
    answers: dict[str, Row] = {"NO": {NO: "B", YES: "-B"}, "YES": {NO: "-B", YES: "B"}}
    places: list[Row] = [{ONE: 1, **row} for row in positions]
    history = tuple(_frame(l, step, draft, facts) for l, step in enumerate(steps))
    return draft.transformer(tokens, answers, places, [layer for _, layer in steps], name=name, history=history)


def _frame(number: int, step: Step, draft: Draft, facts: tuple[str, ...]) -> Frame:
    """What a layer reads (columns with a weight) and writes (rows with one); the rest it preserves."""
    what, layer = step
    readers = [matrix for head in layer.heads for matrix in (head.query, head.key, head.value)]
    writers = [head.output for head in layer.heads]
    ff = layer.feed_forward
    if ff is not None:
        readers.append(ff.w1)
        writers += [ff.w2, ff.b2[:, None]]
    read = np.any([matrix.any(axis=0) for matrix in readers], axis=0)
    written = np.any([matrix.any(axis=1) for matrix in writers], axis=0)

    def chosen(mask: np.ndarray) -> tuple[str, ...]:
        return tuple(name for name, inside in zip(draft.coordinates, mask, strict=True) if inside)

    touches = (Touch("reads", chosen(read)), Touch("writes", chosen(written)), Touch("preserves", chosen(~written)))
    hidden = len(ff.w1) if ff is not None else 0
    return Frame(what, number, 1, len(layer.heads), hidden, (), touches, facts if number == 0 else ())


# What a decider asks of its format and its length ---------------------------------------------------------------


def whole_numbers(format: str | AnyFormat) -> int:
    """The largest N such that 0, 1, …, N are all values.

    >>> from glyptic.numbers import Fixed, Float
    >>> whole_numbers(Fixed(4)), whole_numbers(Float(5, 2)), whole_numbers(Float(2, 1))
    (15, 16, 3)
    """
    format = as_format(format)
    if isinstance(format, Exact):
        raise FormatError("exact has no largest value B, which the built-in deciders saturate at; choose fixed:8.")
    if format.value(1) > 1 or format.max < 1:
        return 0
    return min(int(format.max), 1 << format.precision)


Length = Annotated[int, Count(1, 1 << 14)]  # of the longest input
ShortLength = Annotated[int, Count(1, 1 << 9)]  # where layers or coordinates are as many
_MOST_LETTERS = 1 << 8


def needs(
    name: str,
    format: AnyFormat,
    max_length: int,
    *,
    counts_to: int = 2,
    looks_up: bool = False,
    force: bool = False,
) -> tuple[str, ...]:
    """What a decider rests on, as statements; a format in which one is false is refused, unless forced, when that is said."""
    if whole_numbers(format) < counts_to and not force:
        raise FormatError(
            f"{name} of inputs up to {max_length} counts to {counts_to}, and {format} has the whole numbers only up to "
            f"{whole_numbers(format)}; choose a wider format or a smaller max_length."
        )
    if looks_up and not force and EXP_VANISHES.broken(format):
        raise FormatError(
            f"{name} looks up positions, which needs [exp(−B)] = 0, and it is not 0 in {format}; choose a wider format."
        )
    return tuple(stated(fact, format) for fact in (counting(counts_to), *([EXP_VANISHES] if looks_up else [])))


def counting(most: int) -> Fact:
    """The fact that one can count."""

    def broken(format: AnyFormat) -> Broken | None:
        last = whole_numbers(format)
        return None if last >= most else Broken(Fraction(last), f"{last} is the last of them")

    return Fact("whole", f"the whole numbers to {most} are values", broken)


def check_vocabulary(name: str, vocabulary: str, *letters: str) -> None:
    """Single, different characters that can be printed, and the decider's own letters among them."""
    if not vocabulary or len(set(vocabulary)) < len(vocabulary):
        raise InputError(f"{name}: the vocabulary {shown(vocabulary)} must be one or more different characters.")
    if len(vocabulary) > _MOST_LETTERS or not vocabulary.isprintable():
        raise InputError(f"{name}: the vocabulary {shown(vocabulary)} must be at most {_MOST_LETTERS} printable characters.")
    for letter in letters:
        if len(letter) != 1 or letter not in vocabulary:
            raise InputError(f"{name}: {shown(letter)} is not in the vocabulary {shown(vocabulary)}.")
