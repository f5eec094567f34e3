"""Deciders that compare tokens: does the input contain a word, is its first token its last, is it a palindrome."""

from __future__ import annotations

from glyptic.arguments import checked
from glyptic.carve.building import Draft, Row, Unit, clear
from glyptic.carve.examples.parts import (
    NO,
    ONE,
    YES,
    Length,
    ShortLength,
    Step,
    assemble,
    both,
    check_vocabulary,
    look_up,
    move,
    needs,
    total,
)
from glyptic.carve.spaces import Space
from glyptic.errors import InputError
from glyptic.exact import Layer, Transformer
from glyptic.numbers import AnyFormat, as_format

_LONGEST_WORD = 1 << 8


@checked
def contains(
    format: AnyFormat | str, word: str = "101", max_length: Length = 16, vocabulary: str = "01", *, force: bool = False
) -> Transformer:
    """Whether the input contains a word; as many layers as the word has letters.

    Layer k asks the position before whether the word's first k + 1 letters end there, and appends its own; the last one looks
    for a position where all of it has ended. In any format with [exp(−B)] = 0 and the whole numbers to 2; any length.

    >>> from glyptic.numbers import Fixed
    >>> T = contains(Fixed(2), "101")
    >>> T.answer("0010110"), T.answer("001001")
    ('YES', 'NO')
    """
    format = as_format(format)
    facts = needs("contains", format, max_length, looks_up=True, force=force)
    if not 1 <= len(word) <= _LONGEST_WORD:
        what = "empty; every input contains it" if not word else f"longer than {_LONGEST_WORD} letters"
        raise InputError(f"contains: the word is {what}.")
    check_vocabulary("contains", vocabulary, *word)
    here, before = (Space.binary(name, max_length) for name in ("here", "before"))
    is_letter, ended = Space("is", vocabulary, "_"), [f"ended.{k}" for k in range(2, len(word) + 1)]
    draft = Draft(format, (ONE, "first", is_letter, here, before, "earlier", *ended, "found", NO, YES))

    steps: list[Step] = []
    prefix = is_letter[word[0]]  # where the first letter ends is where it is
    for letter, longer in zip(word[1:], ended, strict=True):
        step = Unit({ONE: -1, "first": -1, is_letter[letter]: 1, "earlier": 1}, {longer: 1})
        head = look_up(draft, before, here, {"earlier": prefix})
        what = f"where {word[: len(steps) + 2]} ends"
        steps.append((what, Layer((head,), draft.feed_forward([step, *clear(["earlier"])]))))
        prefix = longer
    nowhere = Unit({ONE: 1, "found": -1}, {NO: 1, YES: -1})
    search = Layer((total(draft, {"found": {prefix: 1}}),), draft.feed_forward([nowhere], {YES: 1}))
    steps.append((f"whether {word} ended anywhere", search))
    positions: list[Row] = [
        {"first": int(i == 0), **here.signs(i), **before.signs(max(i - 1, 0))} for i in range(max_length)
    ]
    tokens: dict[str, Row] = {letter: is_letter.one_hot(letter) for letter in vocabulary}
    return assemble(f"contains:{word},{max_length}", draft, tokens, positions, steps, facts)


@checked
def first_equals_last(
    format: AnyFormat | str, max_length: Length = 16, vocabulary: str = "01", *, force: bool = False
) -> Transformer:
    """Whether the first token is the last; one layer.

    Every position looks at the first: a score of 0 there, of −B elsewhere. In any format with [exp(−B)] = 0 and a 1;
    any length.

    >>> from glyptic.numbers import Fixed
    >>> T = first_equals_last(Fixed(2))
    >>> T.answer("0010"), T.answer("0011")
    ('YES', 'NO')
    """
    format = as_format(format)
    facts = needs("first-equals-last", format, max_length, counts_to=1, looks_up=True, force=force)
    check_vocabulary("first-equals-last", vocabulary)
    is_letter, first = Space("is", vocabulary, "_"), Space("first", vocabulary, "_")
    draft = Draft(format, (ONE, "later", is_letter, first, NO, YES))
    head = draft.head([{ONE: 1}], [{"later": "-B"}], [{name: 1} for name in is_letter], [{name: 1} for name in first])
    same = [both(own, theirs, {NO: -1, YES: 1}) for own, theirs in zip(is_letter, first, strict=True)]
    steps = [("compare with the first token", Layer((head,), draft.feed_forward(same, {NO: 1})))]
    positions: list[Row] = [{"later": int(i > 0)} for i in range(max_length)]
    tokens: dict[str, Row] = {letter: is_letter.one_hot(letter) for letter in vocabulary}
    return assemble(f"first-equals-last:{max_length}", draft, tokens, positions, steps, facts)


@checked
def palindromes(
    format: AnyFormat | str, max_length: ShortLength = 12, vocabulary: str = "01", *, force: bool = False
) -> Transformer:
    """Whether the input reads the same backwards; a layer for each pair of positions, ⌊max_length / 2⌋.

    Every position i takes itself for the last. Two pointers start at 0 and at i; each layer reads the two tokens, counts a
    disagreement, and moves the pointers: the right one to what the position it points at calls `before`, the left one by adding
    the difference of two codes. When they have met and crossed they compare what was compared already, and at the ends they
    stop. In any format with [exp(−B)] = 0 and the whole numbers to 2 (the count may saturate: only 0 matters).

    >>> from glyptic.numbers import Fixed
    >>> T = palindromes(Fixed(2))
    >>> T.answer("01100110"), T.answer("0111")
    ('YES', 'NO')
    """
    format = as_format(format)
    facts = needs("palindromes", format, max_length, looks_up=True, force=force)
    check_vocabulary("palindromes", vocabulary)
    rounds, codes = max(1, max_length // 2), ("here", "before", "left", "right", "ahead")
    here, before, left, right, ahead = (Space.binary(name, max_length) for name in codes)
    is_letter, at_left, at_right = (Space(name, vocabulary, "_") for name in ("is", "left", "right"))
    reached = [f"reached.{t}" for t in range(1, rounds)]
    draft = Draft(format, (ONE, is_letter, here, before, left, right, ahead, *reached, at_left, at_right, NO, YES))

    def layer(t: int) -> Layer:
        read_left = look_up(draft, left, here, dict(zip(at_left, is_letter, strict=True)))
        read_right = look_up(draft, right, here, dict(zip((*at_right, *ahead), (*is_letter, *before), strict=True)))
        units = [Unit({l: 1, r: -1}, {NO: 1, YES: -1}) for l, r in zip(at_left, at_right, strict=True)]
        units += clear([*at_left, *at_right])
        for new, old in zip(ahead, right, strict=True):
            units += move(new, old)
        if t + 1 < rounds:
            step = {name: left.signs(t + 1)[name] - left.signs(t)[name] for name in left}
            units.append(Unit({f"reached.{t + 1}": 1}, step))
        return Layer((read_left, read_right), draft.feed_forward(units))

    positions: list[Row] = [
        {
            **here.signs(i), **before.signs(max(i - 1, 0)), **left.signs(0), **right.signs(i), YES: 1,
            **{name: int(i >= t) for t, name in enumerate(reached, 1)},
        }
        for i in range(max_length)
    ]  # fmt: skip
    tokens: dict[str, Row] = {letter: is_letter.one_hot(letter) for letter in vocabulary}
    steps = [(f"compare tokens {t} and i − {t}", layer(t)) for t in range(rounds)]
    return assemble(f"palindromes:{max_length}", draft, tokens, positions, steps, facts)
