"""Deciders without positions by hard attention: right on inputs of every length, in every format that has a 1.

With equal scores the rightmost key under the strict mask is the position before, the leftmost one the first.
"""

from __future__ import annotations

from glyptic.arguments import checked
from glyptic.carve.building import Draft, Row, Unit
from glyptic.carve.examples.endless import endless, endless_needs
from glyptic.carve.examples.parts import NO, ONE, YES, Step, both, check_vocabulary
from glyptic.carve.spaces import Space
from glyptic.errors import InputError
from glyptic.exact import Head, Layer, Options, Transformer
from glyptic.numbers import AnyFormat

_LONGEST_WORD = 1 << 6
_BEFORE = Options(attention="rightmost", mask="strict")


@checked
def starts_with(format: AnyFormat | str, letter: str = "1", vocabulary: str = "01", *, force: bool = False) -> Transformer:
    """Whether the first token is a letter; one layer, leftmost hard attention.

    >>> starts_with("fixed:1").answer("1" + "0" * 99)
    'YES'
    """
    format, facts = endless_needs("starts-with", format, 1, force)
    check_vocabulary("starts-with", vocabulary, letter)
    draft = Draft(format, (ONE, "letter", "first", NO, YES))
    layer = Layer((fetch(draft, {"first": "letter"}),), draft.feed_forward([Unit({"first": 1}, {NO: -1, YES: 1})], {NO: 1}))
    tokens: dict[str, Row] = {each: {"letter": int(each == letter)} for each in vocabulary}
    name = f"starts-with:{letter}" + (f",{vocabulary}" if vocabulary != "01" else "")
    return endless(name, draft, tokens, [("fetch the first", layer)], facts, Options(attention="leftmost"))


@checked
def last_of(format: AnyFormat | str, letters: str = "ab", vocabulary: str = "abc", *, force: bool = False) -> Transformer:
    """Whether the last token among some letters is the first of these; one layer, rightmost hard attention.

    >>> T = last_of("fixed:1")
    >>> T.answer("abcacc"), T.answer("aabcc"), T.answer("ccc")
    ('YES', 'NO', 'NO')
    """
    format, facts = endless_needs("last-of", format, 1, force)
    check_vocabulary("last-of", vocabulary, *letters)
    draft = Draft(format, (ONE, "wanted", "among", "last", NO, YES))
    head = fetch(draft, {"last": "wanted"}, "among")
    layer = Layer((head,), draft.feed_forward([Unit({"last": 1}, {NO: -1, YES: 1})], {NO: 1}))
    tokens: dict[str, Row] = {x: {"wanted": int(x == letters[:1]), "among": int(x in letters)} for x in vocabulary}
    name = f"last-of:{letters},{vocabulary}"
    return endless(name, draft, tokens, [("fetch the last of them", layer)], facts, Options(attention="rightmost"))


@checked
def ends_with(format: AnyFormat | str, word: str = "01", vocabulary: str = "01", *, force: bool = False) -> Transformer:
    """Whether the input ends with a word; a layer a letter but the first.

    >>> T = ends_with("fixed:1", "011")
    >>> T.answer("0" * 99 + "11"), T.answer("0110")
    ('YES', 'NO')
    """
    format, facts = endless_needs("ends-with", format, 1, force)
    draft, tokens, steps, ended = _endings("ends-with", format, word, vocabulary)
    steps.append(("answer", Layer((), draft.feed_forward([Unit({ended: 1}, {NO: -1, YES: 1})], {NO: 1}))))
    return endless(_named("ends-with", word, vocabulary), draft, tokens, steps, facts, _BEFORE)


@checked
def factor(format: AnyFormat | str, word: str = "101", vocabulary: str = "01", *, force: bool = False) -> Transformer:
    """Whether the input contains a word; a layer a letter. It is `contains` without positions.

    >>> T = factor("fixed:1")
    >>> T.answer("0" * 99 + "101" + "0" * 99), T.answer("1001")
    ('YES', 'NO')
    """
    format, facts = endless_needs("factor", format, 1, force)
    draft, tokens, steps, ended = _endings("factor", format, word, vocabulary)
    nowhere = Unit({ONE: 1, ended: -1, "found": -1}, {NO: 1, YES: -1})
    steps.append(("whether it ended", Layer((fetch(draft, {"found": ended}, ended),), draft.feed_forward([nowhere], {YES: 1}))))
    return endless(_named("factor", word, vocabulary), draft, tokens, steps, facts, _BEFORE)


@checked
def nested(format: AnyFormat | str, pair: str = "()", *, force: bool = False) -> Transformer:
    """Whether brackets are balanced, and never more than two are open; three layers.

    A double letter, (( or )), leads from a depth of 0 and 1 in turn to one of 1 and 2 in turn, or back: the last double, if
    there was any, and the present letter tell the depth.

    >>> T = nested("fixed:1")
    >>> T.answer("(()())()" * 50), T.answer("(()"), T.answer("((()))"), T.answer("())(")
    ('YES', 'NO', 'NO', 'NO')
    """
    format, facts = endless_needs("nested", format, 1, force)
    if len(pair) != 2:
        raise InputError("nested: the pair must be an opening and a closing bracket, as in ().")
    check_vocabulary("nested", pair)
    names = ("open", "close", "open.before", "close.before", "opens", "closes", "high", "closed", "error", "wrong")
    draft = Draft(format, (ONE, *names, NO, YES))
    doubles = [both("open", "open.before", {"opens": 1}), both("close", "close.before", {"closes": 1})]
    begins = Unit({"close": 1, "open.before": -1, "close.before": -1}, {"error": 1})
    depths = [
        both("opens", "high", {"error": 1}),
        Unit({"closes": 1, "high": -1}, {"error": 1}),
        Unit({"close": 1, "high": -1}, {"closed": 1}),
        both("closes", "high", {"closed": 1}),
    ]
    right = Unit({"closed": 1, "error": -1, "wrong": -1}, {NO: -1, YES: 1})
    double = Head(draft.rows([{ONE: 1}]), draft.rows([{"opens": 1, "closes": 1}]), *_values(draft, {"high": "opens"}))
    steps: list[Step] = [
        ("the letter before", Layer((fetch(draft, _BRACKETS_BEFORE),), draft.feed_forward([*doubles, begins]))),
        ("the last double", Layer((double,), draft.feed_forward(depths))),
        ("errors before", Layer((fetch(draft, {"wrong": "error"}, "error"),), draft.feed_forward([right], {NO: 1}))),
    ]
    tokens: dict[str, Row] = {pair[0]: {"open": 1}, pair[1]: {"close": 1}}
    return endless(f"nested:{pair}", draft, tokens, steps, facts, _BEFORE)


_BRACKETS_BEFORE = {"open.before": "open", "close.before": "close"}


def fetch(draft: Draft, fetched: dict[str, str], score: str = "") -> Head:
    """Coordinates of the chosen position into others, {to: from}; it is one where a coordinate is largest, if one is named."""
    key: Row = {score: 1} if score else {}
    return Head(draft.rows([{ONE: 1}]), draft.rows([key]), *_values(draft, fetched))


def _values(draft: Draft, fetched: dict[str, str]) -> tuple:
    return draft.rows([{source: 1} for source in fetched.values()]), draft.rows([{target: 1} for target in fetched]).T.copy()


def _endings(
    name: str, format: AnyFormat, word: str, vocabulary: str
) -> tuple[Draft, dict[str, Row], list[Step], str]:
    """Layers that find where a word's beginnings end, and the coordinate where all of it does."""
    if not 1 <= len(word) <= _LONGEST_WORD:
        raise InputError(f"{name}: the word must have 1 to {_LONGEST_WORD} letters.")
    check_vocabulary(name, vocabulary, *word)
    letters = Space("is", vocabulary, "_")
    ended, before = ([f"{what}.{k}" for k in range(2, len(word) + 1)] for what in ("ended", "before"))
    draft = Draft(format, (ONE, letters, *ended, *before, "found", NO, YES))
    steps: list[Step] = []
    here = letters[word[0]]
    for letter, longer, earlier in zip(word[1:], ended, before, strict=True):
        layer = Layer((fetch(draft, {earlier: here}),), draft.feed_forward([both(letters[letter], earlier, {longer: 1})]))
        steps.append((f"where {word[: len(steps) + 2]} ends", layer))
        here = longer
    return draft, {letter: letters.one_hot(letter) for letter in vocabulary}, steps, here


def _named(word: str, of: str, vocabulary: str) -> str:
    return f"{word}:{of}" + (f",{vocabulary}" if vocabulary != "01" else "")
