"""Deciders without positions, by softmax: right on inputs of every length, or wrong from a length on that can be told.

All but one add up over a prefix as `parts.total` does: every score is B, so every weight is 1. What need only be known to have
occurred is added up B times, and is 0 or B: so there are few states. `glyptic.states` gives the automaton of each,
and so its language.
"""

from __future__ import annotations

from typing import Annotated

from glyptic.arguments import Count, checked
from glyptic.carve.building import Draft, Row, Unit
from glyptic.carve.examples.parts import (
    NO,
    ONE,
    YES,
    Step,
    assemble,
    both,
    check_vocabulary,
    counting,
    total,
    whole_numbers,
)
from glyptic.carve.frames import stated
from glyptic.carve.spaces import Space
from glyptic.errors import FormatError, InputError
from glyptic.exact import Layer, Options, Transformer
from glyptic.numbers import AnyFormat, as_format

_LONGEST_WORD = 1 << 6
Times = Annotated[int, Count(1, 1 << 14)]


@checked
def occurs(format: AnyFormat | str, letter: str = "1", vocabulary: str = "01", *, force: bool = False) -> Transformer:
    """Whether a letter occurs; one layer, any length.

    >>> T = occurs("fixed:1")
    >>> T.answer("0" * 500), T.answer("0" * 500 + "1" + "0" * 500)
    ('NO', 'YES')
    """
    format, facts = endless_needs("occurs", format, 1, force)
    draft, tokens = _counter("occurs", format, letter, vocabulary)
    nowhere = Unit({ONE: 1, "count": -1}, {NO: 1, YES: -1})
    layer = Layer((total(draft, {"count": {"letter": "B"}}),), draft.feed_forward([nowhere], {YES: 1}))
    return endless(named("occurs", letter, vocabulary), draft, tokens, [("whether it occurred", layer)], facts)


@checked
def at_least(
    format: AnyFormat | str, times: Times = 2, letter: str = "1", vocabulary: str = "01", *, force: bool = False
) -> Transformer:
    """Whether a letter occurs so many times; one layer, any length, in formats with the whole numbers to that.

    >>> T = at_least("fixed:2", 3)
    >>> T.answer("0101"), T.answer("01010" * 40)
    ('NO', 'YES')
    """
    format, facts = endless_needs("at-least", format, times, force)
    draft, tokens = _counter("at-least", format, letter, vocabulary)
    units = [Unit({"count": 1}, {YES: 1}, 1 - times), Unit({"count": -1}, {NO: 1}, times)]
    steps: list[Step] = [("count", Layer((total(draft, {"count": {"letter": 1}}),), draft.feed_forward(units)))]
    return endless(named(f"at-least:{times}", letter, vocabulary), draft, tokens, steps, facts)


@checked
def exactly(
    format: AnyFormat | str, times: Times = 2, letter: str = "1", vocabulary: str = "01", *, force: bool = False
) -> Transformer:
    """Whether a letter occurs exactly so many times; one layer, any length, in formats with the whole numbers to one more.

    >>> T = exactly("fixed:2", 2)
    >>> T.answer("0101"), T.answer("010101")
    ('YES', 'NO')
    """
    format, facts = endless_needs("exactly", format, times + 1, force)
    draft, tokens = _counter("exactly", format, letter, vocabulary)
    other: Row = {NO: 1, YES: "-B"}
    units = [Unit({"count": -1}, other, times), Unit({"count": 1}, other, -times)]
    layer = Layer((total(draft, {"count": {"letter": 1}}),), draft.feed_forward(units, {YES: 1}))
    return endless(named(f"exactly:{times}", letter, vocabulary), draft, tokens, [("count", layer)], facts)


@checked
def subsequence(format: AnyFormat | str, word: str = "01", vocabulary: str = "01", *, force: bool = False) -> Transformer:
    """Whether the letters of a word occur in this order, with anything between them; a layer a letter, any length.

    Under the strict mask, layer k asks whether the first k letters were met before; where the next one stands it goes on.

    >>> T = subsequence("fixed:2", "0110")
    >>> T.answer("01" * 3), T.answer("0010001")
    ('YES', 'NO')
    """
    format, facts = endless_needs("subsequence", format, 1, force)
    if not 1 <= len(word) <= _LONGEST_WORD:
        raise InputError(f"subsequence: the word must have 1 to {_LONGEST_WORD} letters.")
    check_vocabulary("subsequence", vocabulary, *word)
    letters, met = Space("is", vocabulary, "_"), [f"met.{k}" for k in range(1, len(word) + 1)]
    reached = [f"reached.{k}" for k in range(2, len(word) + 1)]
    draft = Draft(format, (ONE, letters, *met, *reached, NO, YES))
    steps, here = [], letters[word[0]]
    for k, (letter, further) in enumerate(zip(word[1:], reached, strict=True)):
        # −B + B·[the letter is here] + met, where met is 0 or B: B where both hold, else at most 0.
        step = Unit({ONE: "-B", letters[letter]: "B", met[k]: 1}, {further: 1})
        steps.append((f"where {word[: k + 2]} ends", Layer((total(draft, {met[k]: {here: "B"}}),), draft.feed_forward([step]))))
        here = further
    nowhere = Unit({ONE: 1, met[-1]: -1, here: -1}, {NO: 1, YES: -1})
    steps.append(("whether it ended", Layer((total(draft, {met[-1]: {here: "B"}}),), draft.feed_forward([nowhere], {YES: 1}))))
    tokens: dict[str, Row] = {letter: letters.one_hot(letter) for letter in vocabulary}
    name = f"subsequence:{word}" + (f",{vocabulary}" if vocabulary != "01" else "")
    return endless(name, draft, tokens, steps, facts, Options(mask="strict"))


@checked
def same_ends(format: AnyFormat | str, vocabulary: str = "01", *, force: bool = False) -> Transformer:
    """Whether the first token is the last; two layers under the strict mask, any length.

    The first position sees nothing, so it knows that it is the first; every later one then adds up the letter of the first alone.

    >>> T = same_ends("fixed:2")
    >>> T.answer("0010"), T.answer("0011"), T.answer("1")
    ('YES', 'NO', 'YES')
    """
    format, facts = endless_needs("same-ends", format, 1, force)
    check_vocabulary("same-ends", vocabulary)
    letters, first, began = (Space(name, vocabulary, "_") for name in ("is", "first", "began"))
    draft = Draft(format, (ONE, letters, "earlier", first, began, NO, YES))
    alone = [Unit({own: 1, "earlier": -1}, {f: 1}) for own, f in zip(letters, first, strict=True)]
    same = [both(own, theirs, {NO: -1, YES: 1}) for own, theirs in zip(letters, began, strict=True)]
    same += [Unit({f: 1}, {NO: -1, YES: 1}) for f in first]
    sums: dict[str, Row] = {target: {source: 1} for target, source in zip(began, first, strict=True)}
    steps: list[Step] = [
        ("which is the first", Layer((total(draft, {"earlier": {ONE: "B"}}),), draft.feed_forward(alone))),
        ("compare with it", Layer((total(draft, sums),), draft.feed_forward(same, {NO: 1}))),
    ]
    tokens: dict[str, Row] = {letter: letters.one_hot(letter) for letter in vocabulary}
    return endless(f"same-ends:{vocabulary}", draft, tokens, steps, facts, Options(mask="strict"))


@checked
def averaging_majority(format: AnyFormat | str, letter: str = "1", vocabulary: str = "01", *, force: bool = False) -> Transformer:
    """Majority as it is often drawn: the average of votes of ±1, by attention with equal weights; it is wrong on long inputs.

    The denominator saturates at B, so the weights are [1/n] up to there and then [1/B], and the sum saturates too. From where on
    it is wrong differs from format to format: `glyptic machine averaging-majority --formats fixed:1,fixed:2 --language majority`.

    >>> T = averaging_majority("fixed:3")
    >>> T.answer("1" * 63 + "0" * 62), T.answer("1" * 64 + "0" * 63)
    ('YES', 'NO')
    """
    format, facts = endless_needs("averaging-majority", format, 1, force)
    check_vocabulary("averaging-majority", vocabulary, letter)
    draft = Draft(format, (ONE, "vote", "average", NO, YES))
    head = draft.head([{}], [{}], [{"vote": 1}], [{"average": 1}])
    more = Unit({"average": 1}, {NO: "-B", YES: "B"})  # twice, for B times the smallest average may be 1/2
    tokens: dict[str, Row] = {each: {"vote": 1 if each == letter else -1} for each in vocabulary}
    steps: list[Step] = [("average", Layer((head,), draft.feed_forward([more, more], {NO: 1})))]
    return endless(named("averaging-majority", letter, vocabulary), draft, tokens, steps, facts)


@checked
def counting_majority(format: AnyFormat | str, letter: str = "1", vocabulary: str = "01", *, force: bool = False) -> Transformer:
    """Majority by a count of votes of ±1, which saturates at ±B: right as long as no prefix is further ahead than that.

    >>> T = counting_majority("fixed:3")
    >>> T.answer("0110111"), T.answer("1" * 9 + "0" * 8)     # nine votes saturate at 7 7/8
    ('YES', 'NO')
    """
    format, facts = endless_needs("counting-majority", format, 1, force)
    check_vocabulary("counting-majority", vocabulary, letter)
    draft = Draft(format, (ONE, "vote", "count", NO, YES))
    more = Unit({"count": 1}, {NO: "-B", YES: "B"})
    tokens: dict[str, Row] = {each: {"vote": 1 if each == letter else -1} for each in vocabulary}
    layer = Layer((total(draft, {"count": {"vote": 1}}),), draft.feed_forward([more, more], {NO: 1}))
    return endless(named("counting-majority", letter, vocabulary), draft, tokens, [("count the votes", layer)], facts)


def _counter(name: str, format: AnyFormat, letter: str, vocabulary: str) -> tuple[Draft, dict[str, Row]]:
    check_vocabulary(name, vocabulary, letter)
    return Draft(format, (ONE, "letter", "count", NO, YES)), {each: {"letter": int(each == letter)} for each in vocabulary}


def named(word: str, letter: str, vocabulary: str) -> str:
    """The name by which a decider of a letter is opened, what it takes anyway left out."""
    given = [*([letter] if letter != "1" or vocabulary != "01" else []), *([vocabulary] if vocabulary != "01" else [])]
    joint = "," if ":" in word else ":"
    return word + (joint + ",".join(given) if given else "")


def endless(
    name: str, draft: Draft, tokens: dict[str, Row], steps: list[Step], facts: tuple[str, ...], options: Options | None = None
) -> Transformer:
    """A decider whose one position repeats."""
    return assemble(name, draft, tokens, [{}], steps, facts).replace(period=1, options=options or Options())


def endless_needs(name: str, format: AnyFormat | str, counts_to: int, force: bool) -> tuple[AnyFormat, tuple[str, ...]]:
    """The format, and what a decider rests on in it; where that is false it is refused, unless forced."""
    made_in = as_format(format)
    if whole_numbers(made_in) < counts_to and not force:
        raise FormatError(
            f"{name} counts to {counts_to}, and {made_in} has the whole numbers only up to {whole_numbers(made_in)}; "
            "choose a wider format or a smaller number."
        )
    return made_in, (stated(counting(counts_to), made_in),)
